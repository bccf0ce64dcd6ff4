//! Runs that `welter resume` refuses: edges that are others, and checkpoints of others; and options
//! that it takes for what is left of a run.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::process::Command;

use serde_json::Value;

use crate::checkpoint::begun;
use crate::interrupt::{ended, signal};
use crate::sandbox::Sandbox;

const LINE: &str = "run pagerank graph.tsv --iterations 400 --tolerance 0 -o ranks.csv";

/// A run of which checkpoints are left.
fn left(sandbox: &Sandbox) {
    let child = begun(sandbox, LINE);
    signal(&child, "KILL");
    ended(child);
}

#[test]
fn edges_that_were_rewired_under_the_size_and_time_of_then_are_noticed() {
    let sandbox = Sandbox::new();
    // A ring, so that degrees are the same whatever two edges swap their targets.
    let edge = |at: u32| format!("{:04}\t{:04}\n", at, (at + 1) % 2000);
    let ring: String = (0..2000).map(edge).collect();
    sandbox.write("graph.tsv", &ring);
    left(&sandbox);
    let path = sandbox.path().join("graph.tsv");
    let then = fs::metadata(&path).unwrap().modified().unwrap();
    let write = |text: &str| {
        fs::write(&path, text).unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(then).unwrap();
    };
    write(&ring.replace("0007\t0008", "0007\t0108").replace("0107\t0108", "0107\t0008"));
    let refused = sandbox.run("resume kept.run");
    assert_eq!(refused.code, Some(65), "{}", refused.stderr);
    assert!(refused.stderr.contains("and other edges"), "{}", refused.stderr);
    write(&ring);
    sandbox.must("resume kept.run -q --threads 1");
}

/// Ranks by vertex.
fn ranks(sandbox: &Sandbox) -> Vec<f64> {
    let text = String::from_utf8(sandbox.read("ranks.csv")).unwrap();
    let rank = |line: &str| line.rsplit_once(',').unwrap().1.parse().unwrap();
    text.lines().skip(1).map(rank).collect()
}

#[test]
fn what_is_said_of_edges_and_of_routes_holds_for_the_rest_of_a_run() {
    let sandbox = Sandbox::new();
    sandbox.must("generate rmat 12 -q -o graph.tsv");
    let line = LINE.replace("400", "200");
    sandbox.must(&format!("{line} -q"));
    let expected = ranks(&sandbox);
    for (then, now, taken) in [
        ("", "--edge-memory 0", "fold"),
        ("", "--route ranges", "ranges"),
        ("", "--route spill --no-combine --no-fuse --vertices-in-memory", "spill"),
        ("--route spill --no-combine", "--route fold", "fold"),
    ] {
        fs::remove_file(sandbox.path().join("ranks.csv")).unwrap();
        let child = begun(&sandbox, &format!("{line} {then}"));
        signal(&child, "KILL");
        ended(child);
        for (wrong, message) in [
            ("--no-combine", "--route"),
            ("--route fold --no-fuse", "--no-fuse is of --route spill"),
            ("--route send", "--route send: messages travel between the machines"),
        ] {
            let refused = sandbox.run(&format!("resume kept.run {wrong}"));
            assert_eq!(refused.code, Some(2), "{wrong}: {}", refused.stderr);
            assert!(refused.stderr.contains(message), "{wrong}: {}", refused.stderr);
        }
        sandbox.must(&format!("resume kept.run -q --report report.json {now}"));
        let report: Value = serde_json::from_slice(&sandbox.read("report.json")).unwrap();
        assert!(report["checkpoints"]["resumed_at"].as_u64() >= Some(2), "{then} {now}: {report}");
        assert_eq!(report["plan"]["route"], taken, "{then} {now}");
        let is_moved = report["storage"]["bytes_read"].as_u64() > Some(0);
        assert_eq!(is_moved, now != "--route fold", "{then} {now}: {report}");
        // By another route sums may be rounded otherwise.
        for (found, expected) in ranks(&sandbox).iter().zip(&expected) {
            assert!((found - expected).abs() <= 1e-12, "{then} {now}: {found} {expected}");
        }
    }
}

#[test]
fn checkpoints_of_another_user_do_not_say_where_results_go() {
    let sandbox = Sandbox::new();
    sandbox.must("generate rmat 12 -q -o graph.tsv");
    left(&sandbox);
    let kept = sandbox.path().join("kept.run");
    let user = fs::metadata(&kept).unwrap().uid();
    if Command::new("id").arg("-u").output().unwrap().stdout != b"0\n" {
        let required = std::env::var("WELTER_REQUIRE").unwrap_or_default();
        assert!(required.split(',').all(|it| it != "root"), "WELTER_REQUIRE asks for root");
        eprintln!("SKIPPED: nobody lets this test give files to another user");
        return;
    }
    for path in [kept.join("checkpoint"), kept.clone()] {
        chown(&path, Some(4711), None).unwrap();
        let refused = sandbox.run("resume kept.run");
        assert_eq!(refused.code, Some(77), "{}", refused.stderr);
        assert!(refused.stderr.contains("belongs to user 4711"), "{}", refused.stderr);
        assert!(!sandbox.path().join("ranks.csv").exists());
        chown(&path, Some(user), None).unwrap();
    }
    chown(&kept, Some(4711), None).unwrap();
    sandbox.must("resume kept.run -q -o mine.csv");
    assert_eq!(sandbox.files(), ["graph.tsv", "mine.csv"]);
}
