//! `welter probe`: tables for people, JSON for programs, a page, and nothing left behind.

use std::time::Duration;

use serde_json::Value;
use welter_testing::bucket::{BucketServer, Fault};

use crate::graphs;
use crate::interrupt::{ended, signal, wait_until};
use crate::objects::{command, must, refused, run};
use crate::sandbox::Sandbox;

#[test]
fn a_directory_is_measured() {
    let sandbox = Sandbox::new();
    let text = sandbox.must("probe . --bytes 2MiB --seconds 1");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with(".: ") && lines[0].contains("the page cache, measured in "));
    assert_eq!(lines[2], "reading, MB/s, by requests at a time");
    assert!(lines[4].starts_with("    4 KiB "), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("    4 KiB ")).count(), 2, "{text}");
    assert!(!text.contains("4 MiB"), "{text}");
    for label in ["best reads: ", "best writes: ", "first byte: ", " s of a core a GB"] {
        assert!(text.contains(label), "{label}: {text}");
    }
    assert!(lines.iter().all(|line| line.chars().count() <= 120), "{text}");
    assert!(
        text.ends_with("kept there: runs with --scratch there are planned with that\n"),
        "{text}"
    );
    assert_eq!(sandbox.files(), [".welter-rates"]);
}

#[test]
fn requests_of_64_mib_are_among_the_sizes() {
    let sandbox = Sandbox::new();
    // The bytes end each measurement in memory; the time is there for loaded machines alone.
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let folder = folder.path().display();
    let text = sandbox.must(&format!("probe {folder} --bytes 128MiB --seconds 60 -q --json -"));
    let found: Value = serde_json::from_str(&text).unwrap();
    for direction in ["read", "write"] {
        let rates = found["targets"][0][direction].as_array().unwrap();
        let largest = rates.iter().map(|rate| rate["request_bytes"].as_u64().unwrap()).max();
        assert_eq!(largest, Some(64 << 20), "{direction}: {text}");
    }
}

#[test]
fn a_kept_graph_keeps_its_rates() {
    let sandbox = Sandbox::new();
    sandbox.must("ingest rmat:10 -o graph");
    let expected = sandbox.must("run pagerank graph -o -");
    let explained = || sandbox.must("explain pagerank graph --edge-memory 0");
    assert!(!explained().contains("what the probe found"), "{}", explained());
    let text = sandbox.must("probe graph --bytes 2MiB --seconds 1");
    assert!(text.ends_with("\nkept with the graph: its runs are planned with that\n"), "{text}");
    assert_eq!(sandbox.must("check graph").lines().count(), 1);
    assert_eq!(sandbox.must("run pagerank graph --edge-memory 0 -o -"), expected);
    assert!(explained().contains("an iteration, after what the probe found"), "{}", explained());
    // Measured again, in place of what was there.
    sandbox.must("probe graph --bytes 1MiB --seconds 1");
    let mut bytes = sandbox.read("graph/rates");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    sandbox.write("graph/rates", bytes);
    for line in ["check graph", "run pagerank graph --edge-memory 0 -o -"] {
        let ended = sandbox.run(line);
        assert_eq!(ended.code, Some(70), "{line}: {}", ended.stderr);
        assert!(ended.stderr.contains("rates"), "{line}: {}", ended.stderr);
    }
}

#[test]
fn several_directories_are_measured_side_by_side_or_together() {
    let sandbox = Sandbox::new();
    for name in ["a", "b"] {
        std::fs::create_dir(sandbox.path().join(name)).unwrap();
    }
    let small = "--bytes 300KiB --seconds 1";
    let text = sandbox.must(&format!("probe a b {small} --json out.json --html out.html"));
    assert!(text.contains("\nside by side") && text.contains("\nb: "), "{text}");
    let found: Value = serde_json::from_slice(&sandbox.read("out.json")).unwrap();
    let targets = found["targets"].as_array().unwrap();
    assert_eq!(targets.len(), 2);
    assert_eq!(targets[1]["directories"], serde_json::json!(["b"]));
    for target in targets {
        for direction in ["read", "write"] {
            let rates = target[direction].as_array().unwrap();
            assert_eq!(rates[0]["request_bytes"], 4096);
            for figure in ["bytes_per_second", "requests_per_second", "processor_seconds_per_gb"] {
                assert!(rates.iter().all(|rate| rate[figure].as_f64().is_some()), "{figure}");
            }
            let best = &target[format!("best_{direction}")];
            assert!(rates.contains(best), "{target}");
        }
        assert!(target["first_byte_seconds"].as_f64().unwrap() > 0.0);
    }
    let page = String::from_utf8(sandbox.read("out.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    assert_eq!(page.matches("<svg").count(), 6);
    assert!(!page.contains("<script") && !page.contains("http"));
    let together = sandbox.must(&format!("probe a b {small} --together --json -"));
    let found: Value = serde_json::from_str(&together).unwrap();
    assert_eq!(found["targets"].as_array().unwrap().len(), 1);
    assert_eq!(found["targets"][0]["directories"], serde_json::json!(["a", "b"]));
    assert_eq!(sandbox.files(), ["a", "b", "out.html", "out.json"]);
    let kept = |name: &str| std::fs::read_dir(sandbox.path().join(name)).unwrap().count();
    assert_eq!((kept("a"), kept("b")), (2, 1));
}

#[test]
fn what_cannot_be_measured_is_said() {
    let sandbox = Sandbox::new();
    sandbox.write("file", "");
    for (line, code, message) in [
        ("probe", 2, "<DIR>"),
        ("probe . --bytes 1000", 2, "at least 64KiB"),
        ("probe . --seconds 0", 2, "1..=3600"),
        ("probe nowhere", 73, "nowhere"),
        ("probe file", 73, "file"),
        ("probe . --html no/page.html", 73, "no"),
        ("probe . --html -", 2, "standard output"),
        ("probe . --bytes 500000TiB", 74, "bytes of space are needed"),
    ] {
        let ended = sandbox.run(line);
        assert_eq!(ended.code, Some(code), "{line}: {}", ended.stderr);
        assert!(ended.stderr.contains(message), "{line}: {}", ended.stderr);
        assert_eq!(ended.stdout, "", "{line}");
    }
    assert_eq!(sandbox.files(), ["file"]);
}

#[test]
fn a_bucket_is_measured_beside_a_directory() {
    let (sandbox, server) = (Sandbox::new(), BucketServer::start().unwrap());
    server.put("box/there/mine", "mine");
    let before = server.paths();
    let small = "--bytes 300KiB --seconds 1 --json out.json";
    let text = must(&sandbox, &server, &format!("probe s3://box/there . {small}"));
    assert!(text.starts_with("s3://box/there: by requests for objects, measured in "), "{text}");
    assert!(text.contains("\nside by side") && text.contains("first byte: "), "{text}");
    let note = "kept there: runs on graphs below, and ingests into them, are planned with that\n";
    assert!(text.contains(note), "{text}");
    assert_eq!(server.paths(), ["box/there/.welter-rates", "box/there/mine"]);
    let found: Value = serde_json::from_slice(&sandbox.read("out.json")).unwrap();
    for direction in ["read", "write"] {
        let rates = found["targets"][0][direction].as_array().unwrap();
        assert_eq!(rates[0]["request_bytes"], 4096);
        assert!(rates.last().unwrap()["request_bytes"].as_u64().unwrap() <= 262_144);
        assert!(rates.iter().all(|rate| rate["bytes_per_second"].as_f64().unwrap() > 0.0));
    }
    let message = refused(&sandbox, &server, "probe s3://box/there . --together", 2);
    assert!(message.contains("a bucket is measured by itself"), "{message}");
    server.fail(|request| (request.method == "PUT").then_some(Fault::Status(403)));
    let message = refused(&sandbox, &server, "probe s3://box/there --seconds 1", 74);
    assert!(message.contains("s3://box/there/welter-probe-"), "{message}");
    assert_eq!(server.paths().len(), before.len() + 1);
}

#[test]
fn a_probe_of_a_slow_bucket_that_is_interrupted_leaves_nothing() {
    let (sandbox, server) = (Sandbox::new(), BucketServer::start().unwrap());
    // The first removals take longer than loops have to end.
    let mut slow = 3;
    server.fail(move |request| {
        let is_slow = request.method == "DELETE" && slow > 0;
        slow -= i32::from(is_slow);
        is_slow.then_some(Fault::Silent(Duration::from_millis(900)))
    });
    let child = command(&sandbox, &server, "probe s3://box/there -q").spawn().unwrap();
    wait_until("writing", || !server.paths().is_empty());
    signal(&child, "INT");
    let ended = ended(child);
    assert_eq!((ended.code, &*ended.stderr), (Some(130), "error: interrupted\n"));
    assert_eq!(server.paths(), [""; 0]);
}

#[test]
fn what_a_killed_probe_left_in_a_bucket_is_removed_by_another() {
    let (sandbox, server) = (Sandbox::new(), BucketServer::start().unwrap());
    // Like what is left, and not of ours.
    server.put("box/there/welter-probe-mine/edges-0", "mine");
    let left = || {
        let paths = server.paths().into_iter();
        paths.filter(|path| path.contains("/welter-probe-") && !path.contains("-mine/")).count()
    };
    let mut child = command(&sandbox, &server, "probe s3://box/there -q").spawn().unwrap();
    wait_until("objects", || left() > 0);
    child.kill().unwrap();
    child.wait().unwrap();
    let probe = || {
        let ended = run(&sandbox, &server, "probe s3://box/there --bytes 300KiB --seconds 1");
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        ended.stderr
    };
    // A probe may be at work on objects that are young.
    let stderr = probe();
    let note = " below s3://box/there (welter-probe-*) are of a probe that is at work, or that";
    assert!(stderr.contains(note) && left() > 0, "{stderr}");
    server.all_written_at("2020-01-01T00:00:00.000Z");
    let stderr = probe();
    let note = " below s3://box/there, which a probe left that did not end\n";
    assert!(stderr.contains("note: removed ") && stderr.contains(note), "{stderr}");
    let names = ["box/there/.welter-rates", "box/there/welter-probe-mine/edges-0"];
    assert_eq!(server.paths(), names);
    assert!(!probe().contains("note: "));
}

#[test]
fn a_graph_in_a_bucket_keeps_its_rates() {
    let (sandbox, server) = graphs::begin();
    let run = "run pagerank s3://box/a/graph --iterations 3 --edge-memory 0 -q -o -";
    let expected = must(&sandbox, &server, run);
    let explained = || must(&sandbox, &server, "explain pagerank s3://box/a/graph --edge-memory 0");
    assert!(!explained().contains("what the probe found"), "{}", explained());
    let probe = "probe s3://box/a/graph --bytes 300KiB --seconds 1 -q";
    let text = must(&sandbox, &server, probe);
    assert!(text.ends_with("\nkept with the graph: its runs are planned with that\n"), "{text}");
    assert!(server.paths().contains(&"box/a/graph/rates".to_owned()));
    assert!(explained().contains("an iteration, after what the probe found"), "{}", explained());
    assert_eq!(must(&sandbox, &server, run), expected);
    let checked = must(&sandbox, &server, "check s3://box/a/graph");
    assert_eq!(checked.lines().count(), 1, "{checked}");
    // A user who may only read runs all the same, also where rates are refused.
    for hidden in [false, true] {
        server.fail(move |request| {
            let refused = request.method != "GET" && request.method != "HEAD";
            let is_rates = hidden && request.path.ends_with("rates");
            (refused || is_rates).then_some(Fault::Status(403))
        });
        assert_eq!(must(&sandbox, &server, run), expected);
        assert_eq!(explained().contains("what the probe found"), !hidden);
    }
    let message = refused(&sandbox, &server, probe, 74);
    assert!(message.contains("access is denied"), "{message}");
    server.fail(|_| None);
    // Damage of what belongs to the graph is an error, as in a directory.
    let mut bytes = server.get("box/a/graph/rates").unwrap();
    bytes[40] ^= 1;
    server.put("box/a/graph/rates", bytes);
    let message = refused(&sandbox, &server, run, 70);
    assert!(message.contains("s3://box/a/graph/rates"), "{message}");
    must(&sandbox, &server, "remove s3://box/a/graph");
    assert_eq!(server.paths(), Vec::<String>::new());
}

#[test]
fn a_web_file_is_read_and_nothing_is_written() {
    let (sandbox, server) = (Sandbox::new(), BucketServer::start().unwrap());
    server.publish("box");
    server.put("box/edges.bin", vec![7; 3 << 20]);
    server.put("box/short", "a");
    let small = "--seconds 1 --json out.json --html out.html";
    let text = must(&sandbox, &server, &format!("probe {}/box/edges.bin . {small}", server.url()));
    assert!(text.contains("by requests for objects, measured in "), "{text}");
    let (web, _) = text.split_once("\n.: ").unwrap();
    assert!(web.contains("best reads: ") && !web.contains("writing"), "{web}");
    assert!(!web.contains("kept"), "{web}");
    assert!(server.take_requests().iter().all(|request| request.method == "GET"));
    let found: Value = serde_json::from_slice(&sandbox.read("out.json")).unwrap();
    let target = &found["targets"][0];
    assert_eq!((&target["write"], &target["best_write"]), (&Value::Array(vec![]), &Value::Null));
    let rates = target["read"].as_array().unwrap();
    assert_eq!(rates[0]["request_bytes"], 4096);
    assert!(rates.iter().all(|rate| rate["request_bytes"].as_u64().unwrap() <= 2 << 20));
    let page = String::from_utf8(sandbox.read("out.html")).unwrap();
    assert_eq!(page.matches("<svg").count(), 5);
    for (name, code, message) in
        [("short", 2, "has 1 bytes"), ("none", 66, "no such"), ("", 2, "expected an object")]
    {
        let line = format!("probe {}/box/{name}", server.url());
        let stderr = refused(&sandbox, &server, &line, code);
        assert!(stderr.contains(message), "{stderr}");
    }
}
