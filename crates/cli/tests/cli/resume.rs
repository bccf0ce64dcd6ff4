//! Runs that `welter resume` refuses: edges that are others, and checkpoints of others.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::process::Command;

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
