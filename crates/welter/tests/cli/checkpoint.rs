//! `--checkpoint` and `welter resume`: interrupted runs, and what is refused.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Child;

use crate::interrupt::{ended, signal, wait_until};
use crate::kept::Small;
use crate::sandbox::{Sandbox, example};

/// Iterations of the checkpoint in a directory, the last one.
pub(crate) fn last(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten();
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let numbers = names.filter_map(|name| name.strip_prefix("state-")?.parse().ok());
    numbers.max().unwrap_or(0)
}

/// Starts a run that writes a checkpoint after every iteration, and waits for the third.
pub(crate) fn begun(sandbox: &Sandbox, line: &str) -> Child {
    let line = format!("{line} --checkpoint kept.run --checkpoint-every 1");
    let child = sandbox.command(&line).spawn().unwrap();
    wait_until("checkpoints", || last(&sandbox.path().join("kept.run")) >= 3);
    child
}

/// More iterations than end in a test, were it not for `resume`.
const LONG: &str = "run pagerank graph.tsv --iterations 400 -o ranks.csv";

fn graph(sandbox: &Sandbox) {
    sandbox.must("generate rmat 12 -q -o graph.tsv");
}

#[test]
fn an_interrupted_run_goes_on_to_the_same_file() {
    let sandbox = Sandbox::new();
    graph(&sandbox);
    sandbox.must(&format!("{LONG} -q"));
    let expected = sandbox.read("ranks.csv");
    sandbox.must("ingest graph.tsv -q -o graph");
    for (kind, input) in [("INT", "graph.tsv"), ("TERM", "graph"), ("KILL", "graph.tsv")] {
        fs::remove_file(sandbox.path().join("ranks.csv")).unwrap();
        let child = begun(&sandbox, &LONG.replace("graph.tsv", input));
        signal(&child, kind);
        let ended = ended(child);
        if kind == "KILL" {
            assert_eq!(ended.code, None);
        } else {
            assert_eq!(ended.code, Some(75), "{}", ended.stderr);
            let message = "error: interrupted; the last checkpoint is of iteration ";
            assert!(ended.stderr.starts_with(message), "{}", ended.stderr);
            let hint = "hint: `welter resume kept.run` resumes it\n";
            assert!(ended.stderr.ends_with(hint), "{}", ended.stderr);
        }
        assert!(!sandbox.path().join("ranks.csv").exists());
        // From another directory, with other threads.
        let line = format!("resume {} --threads 1", sandbox.path().join("kept.run").display());
        let elsewhere = Sandbox::new();
        let resumed = elsewhere.run(&line);
        assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
        assert!(resumed.stderr.contains("resumed from iteration "), "{}", resumed.stderr);
        assert!(resumed.stderr.contains("400 iterations"), "{}", resumed.stderr);
        assert!(sandbox.read("ranks.csv") == expected, "{kind} {input}");
        assert_eq!(sandbox.files(), ["graph", "graph.tsv", "ranks.csv"]);
        assert_eq!(elsewhere.files(), [""; 0]);
    }
}

/// A path whose edges weigh as much as halving continues, so that passes halve the trees and no
/// more, and both ways so that all reach each other.
fn halving(sandbox: &Sandbox, vertices: u32) {
    let edge =
        |at: u32| format!("{at},{},{}\n{},{at},{}\n", at + 1, at.trailing_zeros(), at + 1, 40);
    sandbox.write("path.csv", (1..vertices).map(edge).collect::<String>());
}

/// A path both ways whose vertices have no order, so that what spreads takes many passes.
fn far(sandbox: &Sandbox, bits: u32) {
    let name = |at: u32| at.wrapping_mul(0x9e37_79b1) >> (32 - bits);
    let edge = |at: u32| format!("{},{}\n{},{}\n", name(at), name(at + 1), name(at + 1), name(at));
    let pairs: String = (0..(1 << bits) - 1).map(edge).collect();
    sandbox.write("far.csv", pairs);
}

#[test]
fn a_stream_program_goes_on_between_its_passes() {
    let sandbox = Sandbox::new();
    halving(&sandbox, 1 << 18);
    far(&sandbox, 18);
    for (algorithm, input) in [("mcst", "path.csv"), ("scc", "far.csv")] {
        let line = format!("run {algorithm} {input} -o found.csv");
        sandbox.must(&format!("{line} -q"));
        let expected = sandbox.read("found.csv");
        for kind in ["INT", "KILL"] {
            fs::remove_file(sandbox.path().join("found.csv")).unwrap();
            let child = begun(&sandbox, &line);
            signal(&child, kind);
            let ended = ended(child);
            assert_eq!(ended.code, Some(75).filter(|_| kind == "INT"), "{}", ended.stderr);
            assert!(!sandbox.path().join("found.csv").exists());
            let refused = sandbox.run("resume kept.run --route spill");
            assert_eq!(refused.code, Some(2), "{}", refused.stderr);
            let message = "--route: the run was begun by method passes, which has route fold alone";
            assert!(refused.stderr.contains(message), "{}", refused.stderr);
            let resumed = sandbox.run("resume kept.run --threads 1");
            assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
            assert!(resumed.stderr.contains("resumed from iteration "), "{}", resumed.stderr);
            assert!(sandbox.read("found.csv") == expected, "{algorithm} {kind}");
            assert_eq!(sandbox.files(), ["far.csv", "found.csv", "path.csv"]);
        }
    }
}

#[test]
fn messages_of_edges_are_gone_on_with_where_edges_lie_alike() {
    let sandbox = Sandbox::new();
    graph(&sandbox);
    let line = "run bp graph.tsv --iterations 200 --tolerance 0 -o beliefs.csv";
    sandbox.must(&format!("{line} -q"));
    let expected = sandbox.read("beliefs.csv");
    fs::remove_file(sandbox.path().join("beliefs.csv")).unwrap();
    let child = begun(&sandbox, line);
    signal(&child, "INT");
    assert_eq!(ended(child).code, Some(75));
    for other in ["--encoding compressed", "--route ranges"] {
        let refused = sandbox.run(&format!("resume kept.run {other}"));
        assert_eq!(refused.code, Some(65), "{other}: {}", refused.stderr);
        assert!(refused.stderr.contains("in another order"), "{other}: {}", refused.stderr);
    }
    let resumed = sandbox.run("resume kept.run --threads 1");
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    assert!(resumed.stderr.contains("resumed from iteration "), "{}", resumed.stderr);
    assert!(sandbox.read("beliefs.csv") == expected);
    for (then, now) in [("1GiB", "64MiB"), ("64MiB", "1GiB"), ("1GiB", "32MiB")] {
        fs::remove_file(sandbox.path().join("beliefs.csv")).unwrap();
        let child = begun(&sandbox, &format!("{line} --memory {then}"));
        signal(&child, "INT");
        assert_eq!(ended(child).code, Some(75));
        let resumed = sandbox.run(&format!("resume kept.run --memory {now}"));
        assert_eq!(resumed.code, Some(0), "{then} {now}: {}", resumed.stderr);
        assert!(resumed.stderr.contains("resumed from iteration "), "{}", resumed.stderr);
        assert!(sandbox.read("beliefs.csv") == expected, "{then} {now}");
    }
}

#[test]
fn results_may_go_elsewhere_and_a_run_that_ends_leaves_nothing() {
    let sandbox = Sandbox::new();
    graph(&sandbox);
    let child = begun(&sandbox, LONG);
    signal(&child, "INT");
    assert_eq!(ended(child).code, Some(75));
    sandbox.must("resume kept.run -q -o other.tsv --report report.json");
    assert_eq!(sandbox.files(), ["graph.tsv", "other.tsv", "report.json"]);
    let report = String::from_utf8(sandbox.read("report.json")).unwrap();
    assert!(report.contains("\"resumed_at\": "), "{report}");
    for run in [
        "pagerank graph.tsv --precision f32",
        "bfs graph.tsv --source 0 --parents",
        "sssp graph.tsv --source 0",
        "spmv graph.tsv --iterations 3",
        "wcc graph.tsv --method label-propagation",
        "wcc graph.tsv --route ranges",
        "scc graph.tsv",
        "scc graph.tsv --memory 64M",
        "mcst graph.tsv",
        "scc graph.tsv --method label-propagation",
        "scc graph.tsv --route spill",
        "pagerank graph.tsv --route ranges",
        "bfs graph.tsv --source 0 --route spill",
        "bp graph.tsv --iterations 4",
        "bp graph.tsv --iterations 4 --route ranges",
        "bp graph.tsv --iterations 4 --route spill",
    ] {
        let [plain, kept] = ["", "--checkpoint kept.run --checkpoint-every 1"].map(|checkpoint| {
            sandbox.must(&format!("run {run} {checkpoint} -q -o out.csv"));
            sandbox.read("out.csv")
        });
        assert!(plain == kept, "{run}");
        assert!(!sandbox.path().join("kept.run").exists(), "{run}");
    }
}

#[test]
fn a_run_that_changed_is_refused() {
    let sandbox = Sandbox::new();
    graph(&sandbox);
    sandbox.write("more.tsv", "1\t2\n");
    sandbox.must("ingest graph.tsv -q -o graph");
    let refused = |code: i32, message: &str| {
        let ended = sandbox.run("resume kept.run");
        assert_eq!(ended.code, Some(code), "{}", ended.stderr);
        assert!(ended.stderr.starts_with(&format!("error: {message}")), "{}", ended.stderr);
    };
    refused(66, "");
    let child = begun(&sandbox, &LONG.replace("graph.tsv", "graph.tsv '*ore.tsv'"));
    signal(&child, "KILL");
    ended(child);
    let whole = sandbox.read("more.tsv");
    sandbox.write("more.tsv", "1\t3\n");
    refused(65, "more.tsv: has changed since the run was begun");
    sandbox.write("core.tsv", "1\t3\n");
    fs::remove_file(sandbox.path().join("more.tsv")).unwrap();
    refused(65, "more.tsv: is no input any more since the run was begun");
    fs::remove_file(sandbox.path().join("core.tsv")).unwrap();
    refused(66, "*ore.tsv");
    // A file that is not there is one thing, one that came back later another.
    sandbox.write("more.tsv", whole);
    refused(65, "more.tsv: has changed");
    let manifest = sandbox.read("kept.run/checkpoint");
    let mut odd = manifest.clone();
    odd[80] ^= 1;
    sandbox.write("kept.run/checkpoint", &odd);
    let path = sandbox.path().join("kept.run/checkpoint");
    refused(70, &format!("{}: damaged at offset 64", path.display()));
    fs::remove_dir_all(sandbox.path().join("kept.run")).unwrap();

    let child = begun(&sandbox, &LONG.replace("graph.tsv", "graph"));
    signal(&child, "KILL");
    ended(child);
    fs::remove_dir_all(sandbox.path().join("graph")).unwrap();
    refused(66, "graph");
    sandbox.must("ingest graph.tsv -q -o graph");
    refused(65, "graph: has changed since the run was begun");
}

#[test]
fn a_damaged_checkpoint_is_passed_over() {
    let sandbox = Sandbox::new();
    graph(&sandbox);
    sandbox.must(&format!("{LONG} -q"));
    let expected = sandbox.read("ranks.csv");
    let child = begun(&sandbox, LONG);
    signal(&child, "INT");
    assert_eq!(ended(child).code, Some(75));
    let name = format!("kept.run/state-{}", last(&sandbox.path().join("kept.run")));
    let mut bytes = sandbox.read(&name);
    bytes[99] ^= 1;
    sandbox.write(&name, bytes);
    let resumed = sandbox.run("resume kept.run");
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    let message = format!("/{name}: damaged at offset 64");
    assert!(resumed.stderr.contains(&message), "{}", resumed.stderr);
    assert!(resumed.stderr.contains("going on from the one before"), "{}", resumed.stderr);
    assert!(sandbox.read("ranks.csv") == expected);
}

#[test]
fn what_cannot_be_kept_is_refused_before_anything_is_read() {
    let sandbox = Sandbox::new();
    graph(&sandbox);
    fs::create_dir(sandbox.path().join("full")).unwrap();
    sandbox.write("full/notes.txt", "mine");
    for (line, code, message) in [
        ("run wcc graph.tsv --checkpoint d", 2, "components by union-find take one pass"),
        ("run pagerank - --checkpoint d", 2, "standard input cannot be read again"),
        ("run pagerank graph.tsv --checkpoint-every 3", 2, "--checkpoint"),
        ("run pagerank graph.tsv --checkpoint d --checkpoint-every 0", 2, "--checkpoint-every"),
        ("run pagerank graph.tsv --checkpoint full", 73, "full: cannot create it"),
        ("run pagerank graph.tsv --checkpoint no/where", 73, "no/where: cannot create it"),
        ("run bfs graph.tsv --source x --checkpoint d", 65, "--source x"),
        ("run pagerank graph.tsv --memory 1KiB --checkpoint d", 78, "this run needs"),
        ("resume full", 66, "full: there are no checkpoints of a run"),
        ("resume graph.tsv", 66, "graph.tsv: there are no checkpoints"),
    ] {
        let ended = sandbox.run(line);
        assert_eq!(ended.code, Some(code), "{line}: {}", ended.stderr);
        assert!(ended.stderr.contains(message), "{line}: {}", ended.stderr);
    }
    assert_eq!(sandbox.files(), ["full", "graph.tsv"]);
    // However long the others take, it continues.
    let child = begun(&sandbox, &LONG.replace("400", "1000000000"));
    for line in ["resume kept.run", "run pagerank graph.tsv --checkpoint kept.run"] {
        let ended = sandbox.run(line);
        assert!([Some(73), Some(74)].contains(&ended.code), "{line}: {}", ended.stderr);
    }
    signal(&child, "INT");
    assert_eq!(ended(child).code, Some(75));
    let ended = sandbox.run("run pagerank graph.tsv --checkpoint kept.run");
    assert_eq!(ended.code, Some(73), "{}", ended.stderr);
    let hint = "hint: a run is kept there: `welter resume kept.run` resumes it\n";
    assert!(ended.stderr.ends_with(hint), "{}", ended.stderr);
}

#[test]
fn a_full_disk_is_told_with_the_command_that_goes_on() {
    let sandbox = Sandbox::new();
    let at = sandbox.path().join("small");
    fs::create_dir(&at).unwrap();
    // Of 59,445 vertices with 16 bytes each, a checkpoint takes 930 KiB.
    let Some(mounted) = Small::mount(&at, 2048) else {
        let required = std::env::var("WELTER_REQUIRE").unwrap_or_default();
        assert!(required.split(',').all(|it| it != "mount"), "WELTER_REQUIRE asks for mounts");
        eprintln!("SKIPPED: nobody lets this test mount a small file system");
        return;
    };
    let line = format!("run pagerank {} --iterations 9 -q -o ranks.csv", example());
    let kept = format!("{line} --checkpoint small/run --checkpoint-every 1");
    let ended = sandbox.run(&kept);
    assert_eq!(ended.code, Some(74), "{}", ended.stderr);
    assert!(ended.stderr.contains("bytes of space are needed here"), "{}", ended.stderr);
    assert_eq!(fs::read_dir(&at).unwrap().count(), 0);
    drop(mounted);

    // There is room at first, and then another file takes it.
    let Some(_mounted) = Small::mount(&at, 3072) else { return };
    let child = sandbox.command(&kept.replace("--iterations 9", "--iterations 900")).spawn();
    wait_until("checkpoints", || last(&at.join("run")) >= 3);
    // Bit by bit: between two checkpoints there is room for a moment only.
    let mut others = fs::File::create(at.join("of others")).unwrap();
    let mut left = 128;
    wait_until("a full disk", || {
        while left > 0 && others.write_all(&[1; 4 << 10]).is_ok() {
            left -= 1;
        }
        left == 0
    });
    let ended = crate::interrupt::ended(child.unwrap());
    assert_eq!(ended.code, Some(74), "{}", ended.stderr);
    let hint = "hint: the last checkpoint is of iteration ";
    assert!(ended.stderr.contains(hint), "{}", ended.stderr);
    drop(others);
    fs::remove_file(at.join("of others")).unwrap();
    assert_eq!(fs::read_dir(at.join("run")).unwrap().count(), 3);
    sandbox.must("resume small/run -q");
    let resumed = sandbox.read("ranks.csv");
    sandbox.must(&line.replace("--iterations 9", "--iterations 900"));
    assert!(sandbox.read("ranks.csv") == resumed);
}

#[test]
fn a_run_begins_where_another_was_killed_as_it_began_or_ended() {
    let sandbox = Sandbox::new();
    graph(&sandbox);
    let child = begun(&sandbox, LONG);
    signal(&child, "KILL");
    ended(child);
    let state = fs::read_dir(sandbox.path().join("kept.run")).unwrap();
    let mut names = state.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let state = format!("kept.run/{}", names.find(|name| name.starts_with("state-")).unwrap());
    let state = sandbox.read(&state);
    let line = "run pagerank graph.tsv --iterations 3 --checkpoint kept.run -q -o ranks.csv";
    for (name, bytes, code) in [
        (".checkpoint.tmp-77", &b"half of a mani"[..], 0),
        (".state-4.tmp-77", &state[..99], 0),
        ("state-4", &state, 0),
        ("state-4", b"of somebody else", 73),
        ("notes.txt", b"mine", 73),
    ] {
        let _ = fs::remove_dir_all(sandbox.path().join("kept.run"));
        fs::create_dir(sandbox.path().join("kept.run")).unwrap();
        sandbox.write(&format!("kept.run/{name}"), bytes);
        assert_eq!(sandbox.run("resume kept.run").code, Some(66));
        let ended = sandbox.run(line);
        assert_eq!(ended.code, Some(code), "{name}: {}", ended.stderr);
        if code == 73 {
            assert_eq!(sandbox.read(&format!("kept.run/{name}")), bytes);
        }
    }
}

#[test]
fn an_older_checkpoint_that_is_gone_is_not_missed() {
    let sandbox = Sandbox::new();
    graph(&sandbox);
    sandbox.must(&format!("{LONG} -q"));
    let expected = sandbox.read("ranks.csv");
    let child = begun(&sandbox, LONG);
    signal(&child, "INT");
    assert_eq!(ended(child).code, Some(75));
    let kept = sandbox.path().join("kept.run");
    let mut states: Vec<_> = fs::read_dir(&kept).unwrap().map(|it| it.unwrap().path()).collect();
    states.retain(|path| path.file_name().unwrap().to_str().unwrap().starts_with("state-"));
    let newest = kept.join(format!("state-{}", last(&kept)));
    for older in states.iter().filter(|path| **path != newest) {
        fs::remove_file(older).unwrap();
    }
    sandbox.must("resume kept.run -q");
    assert!(sandbox.read("ranks.csv") == expected);
    assert!(!kept.exists());
}

#[test]
fn checkpoints_lie_on_several_disks() {
    let sandbox = Sandbox::new();
    for disk in ["a", "b"] {
        fs::create_dir(sandbox.path().join(disk)).unwrap();
    }
    sandbox.must("generate rmat 12 -q -o graph.tsv");
    let run = "run pagerank graph.tsv --iterations 400 -q";
    let expected = sandbox.must(&format!("{run} -o -"));
    let disks = "--checkpoint-disk a --checkpoint-disk b";
    let mut child = begun(&sandbox, &format!("{run} {disks} -o ranks.csv"));
    child.kill().unwrap();
    child.wait().unwrap();
    let on = |disk: &str| fs::read_dir(sandbox.path().join(disk)).unwrap().count();
    assert_eq!((on("a"), on("b")), (1, 1));
    sandbox.must("resume kept.run -q");
    assert!(sandbox.read("ranks.csv") == expected.as_bytes());
    assert_eq!((on("a"), on("b")), (0, 0));
    assert!(!sandbox.path().join("kept.run").exists());
    for (more, code, message) in [
        ("--checkpoint kept --checkpoint-disk nowhere", 73, "no directory for a part"),
        ("--checkpoint kept --checkpoint-disk s3://box/part", 2, "in no bucket"),
        ("--checkpoint-disk a", 2, "--checkpoint"),
        ("--checkpoint kept --checkpoint-disk a --cluster local:2", 2, "--checkpoint-disk"),
    ] {
        let ended = sandbox.run(&format!("{run} {more} -o -"));
        assert_eq!(ended.code, Some(code), "{more}: {}", ended.stderr);
        assert!(ended.stderr.contains(message), "{more}: {}", ended.stderr);
    }
}
