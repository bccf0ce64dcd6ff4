//! `welter probe`: a table for people, JSON for programs, and nothing left behind.

use serde_json::Value;

use crate::sandbox::Sandbox;

#[test]
fn a_directory_is_measured() {
    let sandbox = Sandbox::new();
    let table = sandbox.must("probe . --bytes 2MiB");
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].starts_with(".: ") && lines[0].contains("the page cache, measured in "));
    let sizes: Vec<String> = lines[4..7].iter().map(|line| line[..9].trim().to_owned()).collect();
    assert_eq!(sizes, ["64 KiB", "256 KiB", "1 MiB"]);
    assert_eq!(table.matches("%*").count(), 2, "{table}");
    assert!(lines.iter().all(|line| line.chars().count() <= 120), "{table}");
    assert_eq!(sandbox.files(), [""; 0]);
}

#[test]
fn a_kept_graph_keeps_its_rates() {
    let sandbox = Sandbox::new();
    sandbox.must("ingest rmat:10 -o graph");
    let expected = sandbox.must("run pagerank graph -o -");
    let explained = || sandbox.must("explain pagerank graph --cache 0");
    assert!(!explained().contains("what the probe found"), "{}", explained());
    let table = sandbox.must("probe graph --bytes 2MiB");
    assert!(table.ends_with("\nkept with the graph: its runs are planned with that\n"), "{table}");
    assert_eq!(sandbox.must("check graph").lines().count(), 1);
    assert_eq!(sandbox.must("run pagerank graph --cache 0 -o -"), expected);
    assert!(explained().contains("an iteration, after what the probe found"), "{}", explained());
    // Measured again, in place of what was there.
    sandbox.must("probe graph --bytes 1MiB");
    let mut bytes = sandbox.read("graph/rates");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    sandbox.write("graph/rates", bytes);
    for line in ["check graph", "run pagerank graph --cache 0 -o -"] {
        let ended = sandbox.run(line);
        assert_eq!(ended.code, Some(70), "{line}: {}", ended.stderr);
        assert!(ended.stderr.contains("rates"), "{line}: {}", ended.stderr);
    }
}

#[test]
fn several_directories_are_measured_together_for_programs() {
    let sandbox = Sandbox::new();
    for name in ["a", "b"] {
        std::fs::create_dir(sandbox.path().join(name)).unwrap();
    }
    let json = sandbox.must("probe a b --bytes 300KiB --json");
    let found: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(found["directories"], serde_json::json!(["a", "b"]));
    for direction in ["read", "write"] {
        let rates = found[direction].as_array().unwrap();
        assert_eq!(rates.len(), 4);
        assert!(rates.iter().all(|rate| rate["bytes_per_second"].as_f64().unwrap() > 0.0));
        let best = &found[format!("best_{direction}")];
        assert!(rates.contains(best), "{json}");
    }
    assert_eq!(sandbox.files(), ["a", "b"]);
}

#[test]
fn what_cannot_be_measured_is_said() {
    let sandbox = Sandbox::new();
    sandbox.write("file", "");
    for (line, code, said) in [
        ("probe", 2, "<DIR>"),
        ("probe . --bytes 1000", 2, "at least 64KiB"),
        ("probe nowhere", 73, "nowhere"),
        ("probe file", 73, "file"),
        ("probe . --bytes 500000TiB", 74, "bytes of space are needed"),
    ] {
        let ended = sandbox.run(line);
        assert_eq!(ended.code, Some(code), "{line}: {}", ended.stderr);
        assert!(ended.stderr.contains(said), "{line}: {}", ended.stderr);
        assert_eq!(ended.stdout, "", "{line}");
    }
    assert_eq!(sandbox.files(), ["file"]);
}
