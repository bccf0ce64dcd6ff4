//! Where the chunks of a cluster lie: answers, plans and reports by each placement, and the bytes
//! and times of machines.

use std::process::Child;
use std::slice::from_ref;

use serde_json::Value;
use welter_store::probe::{Probe, Rate};

use crate::computers::{alike, ended, free_port, machine, with_key};
use crate::sandbox::Sandbox;

fn report(sandbox: &Sandbox) -> Value {
    serde_json::from_slice(&sandbox.read("r.json")).unwrap()
}

#[test]
fn chunks_may_lie_anywhere() {
    let sandbox = Sandbox::new();
    let placements = ["even", "random", "owner", "weighted", "weighted:1,0,3"];
    for (number, what) in
        ["pagerank rmat:9 --iterations 4", "wcc rmat:9", "bfs rmat:9 --source 3"].iter().enumerate()
    {
        sandbox.must(&format!("run {what} -q -o one.csv"));
        for (turn, placement) in placements.iter().enumerate() {
            let route = if (number + turn) % 2 == 0 { "fold" } else { "spill" };
            let cluster = format!("--cluster local:3 --route {route} --placement {placement}");
            sandbox.must(&format!("run {what} -q -o many.csv --report r.json {cluster}"));
            alike(&sandbox, ["one.csv", "many.csv"]);
            let report = report(&sandbox);
            let name = placement.split(':').next().unwrap();
            assert_eq!(report["cluster"]["placement"], name, "{cluster}: {report}");
            assert_eq!(report["cluster"]["placement_reason"], "it is stated", "{report}");
        }
    }
    // Where chunks are to lie makes no difference to machines that store none.
    let line = "run pagerank rmat:9 --iterations 4 -q -o many.csv --report r.json";
    sandbox.must(&format!("{line} --cluster local:2 --placement owner"));
    assert_eq!(report(&sandbox)["cluster"]["route"], "fold", "it is not of route send");
    sandbox.must(&format!("{line} --cluster local:2 --route send"));
    assert!(report(&sandbox)["cluster"].get("placement").is_none());
}

#[test]
fn placements_that_cannot_be_had_are_refused() {
    let sandbox = Sandbox::new();
    for (line, message) in [
        ("--cluster local:2 --placement weighted:1,2,3", "3 weights of 2 machines"),
        ("--cluster local:2 --placement owner --route send", "--placement: machines of --route"),
        ("--cluster local:2 --placement sideways", "expected even, random, owner"),
        ("--placement even", "--cluster"),
        ("--network 1GB", "--cluster"),
    ] {
        let ended = sandbox.run(&format!("run pagerank rmat:5 {line}"));
        assert_eq!(ended.code, Some(2), "{line}: {}", ended.stderr);
        assert!(ended.stderr.contains(message), "{line}: {}", ended.stderr);
    }
}

#[test]
fn reports_have_the_bytes_of_each_iteration_and_machine() {
    let sandbox = Sandbox::new();
    let line = "run pagerank rmat:9 --iterations 4 --tolerance 0 -q -o out.csv --cluster local:2";
    for route in ["fold", "spill", "send"] {
        sandbox.must(&format!("{line} --route {route} --report r.json"));
        let report = report(&sandbox);
        for machine in report["cluster"]["machines"].as_array().unwrap() {
            let entries = machine["iteration_bytes"].as_array().unwrap();
            let of = |entry: &Value, key: &str| entry[key].as_u64().unwrap();
            for key in ["bytes_read", "bytes_written", "bytes_sent"] {
                let sum: u64 = entries.iter().map(|entry| of(entry, key)).sum();
                // Of what is said last the host may have heard one half.
                assert!(sum >= of(machine, key), "{key}: {machine}");
            }
            let sent = entries.iter().map(|entry| of(entry, "bytes_sent")).filter(|it| *it > 0);
            assert!(sent.count() > 2, "{machine}");
            let plan = &machine["plan"];
            assert!(plan["iteration_seconds"].as_f64() > Some(0.0), "{machine}");
            if route == "send" {
                continue;
            }
            let numbers: Vec<u64> = entries.iter().map(|entry| of(entry, "iteration")).collect();
            assert_eq!(numbers, [0, 1, 2, 3, 4], "{machine}");
            assert!(entries.iter().all(|entry| of(entry, "iterations") == 1), "{machine}");
            assert!(entries[1..].iter().all(|entry| of(entry, "bytes_read") > 0), "{machine}");
            assert!(of(plan, "iteration_bytes_read") > 0, "{machine}");
        }
    }
    sandbox.must(&format!("{line} --route fold --report r.html"));
    let page = String::from_utf8(sandbox.read("r.html")).unwrap();
    for what in ["from disks", "to disks", "to other machines"] {
        assert!(page.contains(&format!("Megabytes an iteration {what}")), "{what}: {page}");
    }
}

/// Keeps in a directory that its disk moves this many bytes a second.
fn keep_rate(directory: &std::path::Path, bytes_per_second: f64) {
    let rate = Rate { request_bytes: 1 << 20, depth: 4, bytes_per_second, processor_share: 0.1 };
    let probe = Probe { read: vec![rate], write: vec![rate], ..Probe::default() };
    probe.keep_beside(from_ref(&directory.to_owned())).unwrap();
}

#[test]
fn a_plan_says_where_chunks_lie_and_how_long_an_iteration_takes() {
    let sandbox = Sandbox::new();
    let what = "explain pagerank rmat:12,factor=64 --cluster local:2 --route spill --scratch .";
    let explain = |more: &str, parts: &[&str]| {
        let text = sandbox.must(&format!("{what} {more}"));
        for part in parts {
            assert!(text.contains(part), "{more}: {part:?} is not in {text}");
        }
        text
    };
    explain(
        "",
        &[
            "\nplacement even: machines share one disk, which was not measured\n",
            "\ntime      about ",
            "\n          disk not foreseen: machines share one disk, which was not measured\n",
            " of its processor\n",
        ],
    );
    keep_rate(sandbox.path(), 1e6);
    let text = explain(
        "",
        &[
            "\nplacement even: machines share one disk\n",
            "at least; the limit is the disk\n",
            "\n          each machine: ",
        ],
    );
    assert!(!text.contains("not foreseen"), "{text}");
    let limit = "at least; the limit is the network\n";
    explain("--network 1", &["\nplacement owner: the network is the limit: ", limit]);
    explain("--network 1 --placement random", &["\nplacement random: it is stated\n", limit]);
    let sent = |placement: &str| {
        let text = explain(&format!("--placement {placement}"), &["\nnetwork   "]);
        let (_, rest) = text.split_once("\nnetwork   ").unwrap();
        rest.split_once(" from").unwrap().0.to_owned()
    };
    assert_ne!(sent("even"), sent("owner"), "chunks of owners are not sent");
    explain("--placement weighted:1,3", &["\n          machine 0: ", "\n          machine 1: "]);
    // Programs whose work was not measured, and rows whose number no plan knows.
    let text = sandbox.must("explain wcc rmat:9 --cluster local:2");
    assert!(text.contains("\n          processor not foreseen: "), "{text}");
    let text = sandbox.must("explain lcc rmat:9 --cluster local:2 --route spill");
    assert!(text.contains("\ntime      not foreseen"), "{text}");
    // Computers compare their disks when they begin.
    sandbox.write("peers", "127.0.0.1:7000\n127.0.0.1:7001\n");
    let text = sandbox.must("explain pagerank rmat:9 --cluster static:peers");
    let unknown = "rates of other machines' disks are not known here\n";
    assert!(text.contains(&format!("\nplacement even: {unknown}")), "{text}");
    assert!(text.contains(&format!("\n          disk not foreseen: {unknown}")), "{text}");
    assert!(text.contains("\n          network not foreseen: no rate is stated"), "{text}");
}

#[test]
fn computers_tell_each_other_the_rates_of_their_disks() {
    let sandbox = with_key();
    sandbox.must("generate rmat 10 -q -o graph.tsv");
    sandbox.must("run wcc graph.tsv -q -o one.csv");
    let disk = |rank: usize| sandbox.path().join(format!("disk-{rank}"));
    (0..3).for_each(|rank| std::fs::create_dir(disk(rank)).unwrap());
    let run = |more: &str| {
        let port = free_port();
        let line = format!("run wcc graph.tsv --credentials key -q -o many.csv {more}");
        let start = |rank: usize| -> Child {
            let mut command = machine(&sandbox, &line, (rank, 3, port));
            command.env("TMPDIR", disk(rank)).spawn().unwrap()
        };
        for ended in ended((0..3).rev().map(start).collect()) {
            assert_eq!(ended.code, Some(0), "{more}: {}", ended.stderr);
        }
        alike(&sandbox, ["one.csv", "many.csv"]);
        let report = report(&sandbox);
        let of = |key: &str| report["cluster"][key].as_str().unwrap().to_owned();
        (of("placement"), of("placement_reason"))
    };
    [1e9, 1e9].iter().enumerate().for_each(|(rank, rate)| keep_rate(&disk(rank), *rate));
    let even = |why: &str| ("even".to_owned(), why.to_owned());
    let found = run("--report r.json --route fold");
    assert_eq!(found, even("the disk of machine 2 was not measured"));
    keep_rate(&disk(2), 1e9);
    let found = run("--report r.json --route spill");
    assert_eq!(found, even("no disk is much slower than the mean"));
    keep_rate(&disk(2), 1e8);
    let (placement, why) = run("--report r.json --route fold");
    assert_eq!((&*placement, &*why), ("weighted", "the slowest disk has 14 % of the mean rate"));
    // Each reads all where parallel edges are dropped, and tells nothing.
    let found = run("--report r.json --placement weighted --drop-duplicates");
    assert_eq!(found, even("rates of other machines' disks are not known here"));
}
