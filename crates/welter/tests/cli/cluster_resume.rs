//! Runs on machines of one command whose command dies, or is interrupted, and is resumed.

use std::fs;
use std::path::Path;
use std::process::Child;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use welter_protocol::payload::checksum;
use welter_testing::bucket::{BucketServer, Fault, Request};

use crate::objects::{must, refused, text};
use crate::sandbox::{Ended, Sandbox};

const RUN: &str = "run pagerank rmat:12 --iterations 40 --tolerance 0 -q -o ranks.csv \
                   --cluster local:2 --checkpoint kept";

/// Manifests that a machine has stored so far.
pub(crate) fn manifests(machine: &Path) -> usize {
    let names = fs::read_dir(machine.join("manifests")).into_iter().flatten().flatten();
    names.filter(|it| !it.file_name().to_string_lossy().contains("part")).count()
}

/// Starts the run, and waits until a checkpoint of it is there.
fn begun(sandbox: &Sandbox, line: &str) -> Child {
    let mut command = sandbox.command(line).spawn().unwrap();
    let begun = Instant::now();
    let machine = sandbox.path().join("kept/machine-0");
    while manifests(&machine) == 0 {
        assert!(command.try_wait().unwrap().is_none(), "it had checkpoints before it ended");
        assert!(begun.elapsed() < Duration::from_mins(2));
        std::thread::sleep(Duration::from_millis(1));
    }
    command
}

/// Changes words of a run that is kept, with the sum of its description.
pub(crate) fn change(directory: &Path, from: &str, to: &str) {
    let path = directory.join("cluster.json");
    let text = fs::read_to_string(&path).unwrap();
    let (description, _) = text.trim_end().rsplit_once('\n').unwrap();
    assert!(description.contains(from), "{text}");
    let changed = description.replace(from, to);
    let sum = checksum(changed.as_bytes());
    fs::write(path, format!("{changed}\n{sum:016x}\n")).unwrap();
}

/// Ranks by vertex.
fn ranks(bytes: &[u8]) -> Vec<f64> {
    let text = std::str::from_utf8(bytes).unwrap();
    let rank = |line: &str| line.rsplit_once(',').unwrap().1.parse().unwrap();
    text.lines().skip(1).map(rank).collect()
}

#[test]
fn a_run_goes_on_after_the_process_that_started_it_died() {
    let sandbox = Sandbox::new();
    sandbox.must(&RUN.replace("--cluster local:2 --checkpoint kept", ""));
    let expected = ranks(&sandbox.read("ranks.csv"));
    fs::remove_file(sandbox.path().join("ranks.csv")).unwrap();
    let line = RUN.replace("--iterations 40", "--iterations 4000");
    for (signal, code) in [(Signal::KILL, None), (Signal::INT, Some(75))] {
        // The run is as long as it takes to be ended; what is compared is one that ends.
        let command = begun(&sandbox, &line);
        kill_process(Pid::from_child(&command), signal).unwrap();
        let ended = Ended::waited(command);
        assert_eq!(ended.code, code, "{}", ended.stderr);
        assert!(
            code.is_none() || ended.stderr.contains("`welter resume kept`"),
            "{}",
            ended.stderr
        );
        let again = sandbox.run(&line);
        assert_eq!(again.code, Some(73), "{}", again.stderr);
        // Words that it was told are changed where they are kept, so that it ends.
        change(&sandbox.path().join("kept"), "4000", "40");
        for option in [
            "--route spill",
            "--edge-memory 0",
            "--memory 1GiB",
            "--scratch .",
            "--compression zstd",
            "--encoding short",
            "--in-flight 2",
        ] {
            let refused = sandbox.run(&format!("resume kept {option}"));
            assert_eq!(refused.code, Some(2), "{option}: {}", refused.stderr);
            let message = "machines of a cluster continue as they were told at first";
            assert!(refused.stderr.contains(message), "{option}: {}", refused.stderr);
        }
        fs::create_dir(sandbox.path().join("elsewhere")).unwrap();
        let mut resume = sandbox.command("resume ../kept -q");
        resume.current_dir(sandbox.path().join("elsewhere"));
        let resumed = Ended::of(resume.output().unwrap());
        assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
        let found = ranks(&sandbox.read("ranks.csv"));
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            assert!((found - expected).abs() <= 1e-12, "{found} {expected}");
        }
        assert!(!sandbox.path().join("kept").exists());
        fs::remove_dir(sandbox.path().join("elsewhere")).unwrap();
        fs::remove_file(sandbox.path().join("ranks.csv")).unwrap();
    }
}

#[test]
fn a_run_that_cannot_begin_keeps_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("some.tsv", "1\t2\n2\tx\n");
    let line = "run bfs rmat:5 --source 99 --cluster local:2 --checkpoint kept";
    let ended = sandbox.run(line);
    assert_eq!(ended.code, Some(65), "{}", ended.stderr);
    fs::create_dir_all(sandbox.path().join("full/of")).unwrap();
    let ended = sandbox.run(&line.replace("kept", "full").replace("99", "1"));
    assert_eq!(ended.code, Some(73), "{}", ended.stderr);
    for options in ["--route send --checkpoint d", "--checkpoint https://example.org/run"] {
        let ended = sandbox.run(&format!("run bfs rmat:5 --source 1 --cluster local:2 {options}"));
        assert_eq!(ended.code, Some(2), "{options}: {}", ended.stderr);
    }
    assert!(!sandbox.path().join("d").exists());
}

/// Whether a request puts a checkpoint of a cluster.
fn is_manifest(request: &Request) -> bool {
    request.path == "box/ck/manifest" && request.method == "PUT"
}

#[test]
fn machines_of_a_command_go_on_from_a_bucket() {
    let (sandbox, server) = (Sandbox::new(), BucketServer::start().unwrap());
    sandbox.write("e.tsv", text(30_000));
    sandbox.must("run pagerank e.tsv --iterations 6 -q -o ranks.csv");
    let expected = ranks(&sandbox.read("ranks.csv"));
    let is_right = |sandbox: &Sandbox| {
        let found = ranks(&sandbox.read("ranks.csv"));
        assert_eq!(found.len(), expected.len());
        found.iter().zip(&expected).all(|(found, expected)| (found - expected).abs() <= 1e-12)
    };
    let line = "run pagerank e.tsv --iterations 6 -q -o ranks.csv --cluster local:2 \
                --checkpoint s3://box/ck/";
    must(&sandbox, &server, line);
    assert!(is_right(&sandbox));
    assert!(server.paths().is_empty(), "{:?}", server.paths());
    // The third checkpoint after the beginning is refused.
    let puts = AtomicU32::new(0);
    server.fail(move |request| {
        let is_late = is_manifest(request) && puts.fetch_add(1, Ordering::Relaxed) >= 3;
        is_late.then_some(Fault::Status(403))
    });
    let stderr = refused(&sandbox, &server, line, 74);
    assert!(stderr.contains("s3://box/ck/manifest") && stderr.contains("access is denied"));
    assert!(stderr.contains("`welter resume s3://box/ck` resumes it"), "{stderr}");
    server.fail(|_| None);
    let paths = server.paths();
    for begin in ["box/ck/cluster.json", "box/ck/manifest", "box/ck/machine-"] {
        assert!(paths.iter().any(|path| path.starts_with(begin)), "{paths:?}");
    }
    assert!(!paths.iter().any(|path| path.contains("edges-")), "edges are in the input");
    assert!(refused(&sandbox, &server, line, 73).contains("`welter resume s3://box/ck`"));
    let stderr = refused(&sandbox, &server, "resume s3://box/ck --memory 1GiB", 2);
    assert!(stderr.contains("continue as they were told at first"), "{stderr}");
    let kept = server.get("box/ck/cluster.json").unwrap();
    let mut flipped = kept.clone();
    flipped[0] ^= 1;
    server.put("box/ck/cluster.json", flipped);
    let stderr = refused(&sandbox, &server, "resume s3://box/ck -q", 70);
    assert!(stderr.contains("s3://box/ck/cluster.json: damaged"), "{stderr}");
    server.put("box/ck/cluster.json", kept);
    // Another place has nothing but the input, by the name that the run has for it.
    fs::remove_file(sandbox.path().join("ranks.csv")).unwrap();
    server.take_requests();
    must(&sandbox, &server, "resume s3://box/ck -q");
    assert!(is_right(&sandbox));
    assert!(server.paths().is_empty(), "{:?}", server.paths());
    let asked: Vec<_> = server.take_requests();
    let manifests = asked.iter().filter(|request| is_manifest(request));
    // Manifests of iterations 3 to 6, and of edges that were read again, each over the last one.
    let conditions: Vec<bool> = manifests.map(|request| request.if_match.is_some()).collect();
    assert!((4..=5).contains(&conditions.len()) && conditions.iter().all(|is_set| *is_set));
    server.put("box/ck/other", b"mine".to_vec());
    assert!(refused(&sandbox, &server, line, 73).contains("is not empty"));
}
