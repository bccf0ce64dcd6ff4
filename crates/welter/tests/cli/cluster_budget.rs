//! The memory of machines of a cluster: what they are said to take, what they take, and which runs
//! are refused.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::sandbox::Sandbox;

/// Number in KiB of a line of the status of a process, as bytes.
fn status(process: u32, name: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim_matches([':', ' ', '\t', 'k', 'B']).parse().ok()?;
    Some(kib << 10)
}

/// Processes that a process has started.
fn children(process: u32) -> Vec<u32> {
    let path = format!("/proc/{process}/task/{process}/children");
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().filter_map(|id| id.parse().ok()).collect()
}

/// The most that each machine of a command held at any time, without pages of files.
fn peaks(mut command: Child) -> Vec<u64> {
    let mut peaks = BTreeMap::<u32, u64>::new();
    while command.try_wait().unwrap().is_none() {
        for machine in children(command.id()) {
            let held = status(machine, "VmHWM").zip(status(machine, "RssFile"));
            if let Some((most, files)) = held {
                let peak = peaks.entry(machine).or_default();
                *peak = (*peak).max(most.saturating_sub(files));
            }
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(command.wait().unwrap().success());
    peaks.into_values().collect()
}

/// The least budget that a refusal names.
fn least(sandbox: &Sandbox, line: &str) -> String {
    let refused = sandbox.run(&format!("{line} --memory 1MiB"));
    assert_eq!(refused.code, Some(78), "{line}: {}", refused.stderr);
    let (_, rest) = refused.stderr.split_once("give each --memory ").unwrap();
    rest.split_whitespace().next().unwrap().to_owned()
}

/// A size as it is written for people, without a space.
fn bytes(size: &str) -> u64 {
    let at = size.find(|digit: char| digit.is_ascii_alphabetic()).unwrap();
    let (number, unit) = size.split_at(at);
    let unit = ["B", "KiB", "MiB", "GiB"].iter().position(|name| *name == unit).unwrap();
    (number.parse::<f64>().unwrap() * f64::from(1 << (10 * unit))) as u64
}

#[test]
fn machines_keep_the_budget_that_a_refusal_names() {
    let sandbox = Sandbox::new();
    sandbox.must("generate rmat 14 -o graph.tsv");
    keep(
        &sandbox,
        &[
            ("pagerank rmat:17 --iterations 2", "local:2 --route fold"),
            ("pagerank rmat:17 --iterations 2", "local:3 --route spill"),
            ("sssp rmat:16,weights=9 --source 1", "local:2 --route fold"),
            ("wcc rmat:16", "local:2"),
            ("pagerank rmat:17 --iterations 2", "local:2"),
            ("bfs graph.tsv --source 1", "local:2 --route spill"),
            // Updates of a partition that have no room in memory.
            ("kcore rmat:14", "local:2 --route fold"),
            ("cdlp rmat:14 --iterations 2", "local:3 --route spill"),
        ],
    );
}

#[test]
fn machines_that_send_keep_their_budget() {
    let sandbox = Sandbox::new();
    sandbox.must("generate rmat 14 -o graph.tsv");
    keep(
        &sandbox,
        &[
            ("pagerank rmat:17 --iterations 2", "local:2 --route send"),
            ("sssp rmat:16,weights=9 --source 1", "local:3 --route send --transport udp"),
            ("wcc graph.tsv", "local:2 --route send --transport shared --senders 1"),
            ("wcc graph.tsv", "local:2 --route send --transport udp --senders 1"),
            ("cdlp rmat:14 --iterations 2", "local:2 --route send"),
            ("kcore rmat:14", "local:3 --route send"),
            ("triangles rmat:14", "local:2 --route send"),
            ("lcc graph.tsv", "local:3 --route send --transport shared"),
            ("bp rmat:14 --iterations 2", "local:2 --route send"),
        ],
    );
}

/// Machines take no more than the least budgets.
fn keep(sandbox: &Sandbox, runs: &[(&str, &str)]) {
    for (algorithm, options) in runs {
        let line = format!("run {algorithm} --cluster {options}");
        let budget = least(sandbox, &line);
        let line = format!("{line} --memory {budget} -q");
        let mut command = sandbox.command(&line);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let peaks = peaks(command.spawn().unwrap());
        let most = peaks.iter().max().copied().unwrap_or(0);
        assert!(most > 0 && most <= bytes(&budget), "{line}: {peaks:?} of {}", bytes(&budget));
    }
}

#[test]
fn answers_do_not_depend_on_the_budget_of_machines() {
    let sandbox = Sandbox::new();
    for line in
        ["bfs rmat:15 --source 1 --parents", "wcc rmat:15", "kcore rmat:13", "triangles rmat:13"]
    {
        let rows = line.starts_with("triangles");
        let line = format!("run {line} -q -o -");
        let expected = sandbox.must(&line);
        for cluster in [
            "--cluster local:2",
            "--cluster local:2 --route fold",
            "--cluster local:3 --route spill",
            "--cluster local:2 --route send",
        ] {
            // Rows of triangles keep a budget as messages alone.
            if rows && (cluster.contains("fold") || cluster.contains("spill")) {
                continue;
            }
            let line = format!("{line} {cluster}");
            let budget = least(&sandbox, &line);
            assert!(sandbox.must(&format!("{line} --memory {budget}")) == expected, "{line}");
        }
    }
}

#[test]
fn the_plan_of_a_machine_says_memory_disk_and_network() {
    let sandbox = Sandbox::new();
    for cluster in ["local:2 --route fold", "local:4 --route spill", "local:2 --route send"] {
        let what = "pagerank rmat:16";
        let plan = sandbox.must(&format!("explain {what} --cluster {cluster} --memory 1GiB"));
        let size = |label: &str| {
            let line = plan.lines().find_map(|line| line.strip_prefix(label)).unwrap();
            let words: Vec<&str> = line.split_whitespace().take(2).collect();
            bytes(&words.concat())
        };
        assert!(plan.contains(" of 1.00 GiB a machine\n"), "{plan}");
        assert!(size("memory") < 1 << 30, "{plan}");
        let has_bins = plan.contains(" edges, bins of 8 chunks\n");
        assert_eq!(has_bins, cluster.contains("fold"), "{plan}");
        if cluster.contains("send") {
            // Updates meet before they are sent, as far as that is cheaper.
            continue;
        }
        let iterations = 5;
        let run = format!("run {what} --iterations {iterations} --tolerance 0 -q");
        sandbox.must(&format!("{run} --cluster {cluster} --memory 1GiB --report it.json"));
        let report: Value = serde_json::from_slice(&sandbox.read("it.json")).unwrap();
        let machines = report["cluster"]["machines"].as_array().unwrap();
        let sent: u64 = machines.iter().map(|it| it["bytes_sent"].as_u64().unwrap()).sum();
        let sent = sent / machines.len() as u64 / iterations;
        let forecast = size("network");
        assert!(sent / 3 <= forecast && forecast <= 3 * sent, "{sent} bytes an iteration: {plan}");
        for machine in machines {
            let planned = &machine["plan"];
            for (of, label) in [
                ("memory_bytes", "memory"),
                ("disk_bytes", "disk"),
                ("iteration_bytes_sent", "network"),
            ] {
                // Texts have three digits.
                let (exact, shown) = (planned[of].as_u64().unwrap(), size(label));
                assert!(exact.abs_diff(shown) <= shown / 50, "{of}: {machine}, {plan}");
            }
            assert_eq!(planned["budget_bytes"], 1 << 30);
            let resident = machine["resident_bytes_max"].as_u64().unwrap();
            assert!(resident > 1 << 20 && resident < 1 << 30, "{machine}");
        }
    }
    let spill = "--cluster local:2 --route spill";
    let refused = sandbox.run(&format!("explain triangles rmat:10 {spill} --memory 1GiB"));
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(sandbox.must(&format!("explain lcc rmat:10 {spill}")).contains("not foreseen"));
    let refused = sandbox.run("explain triangles rmat:12 --cluster local:2 --memory 10MiB");
    assert_eq!(refused.code, Some(78), "{}", refused.stderr);
    let refused = sandbox.run("explain pagerank rmat:16 --cluster local:2 --memory 10MiB");
    assert_eq!(refused.code, Some(78), "{}", refused.stderr);
}

#[test]
fn a_plan_says_which_route_is_taken_and_why_others_are_not() {
    let sandbox = Sandbox::new();
    for (what, taken, words) in [
        ("pagerank rmat:16 --memory 1GiB", "send", "not taken: send comes first"),
        ("pagerank rmat:16", "send", "not taken: send comes first"),
        // States of all vertices are more than that, on two machines.
        ("pagerank rmat:22 --memory 240MiB", "fold", "send: not taken: a machine takes"),
        ("pagerank rmat:16 --mirror vertices", "fold", "it does not take --mirror"),
        ("pagerank rmat:16 --route spill", "spill", "not taken: --route spill is stated"),
        ("wcc rmat:16", "fold", "send: not taken: its edges become edges between other vertices"),
        ("triangles rmat:10", "send", "fold: not taken: rows of triangles wait on storage"),
        ("lcc rmat:10 --memory 1GiB", "send", "spill: not taken: rows of triangles are bounded by"),
        ("lcc rmat:10 --mirror vertices", "spill", "; not taken: it does not take --mirror"),
        ("bp rmat:10", "send", "fold: "),
    ] {
        let plan = sandbox.must(&format!("explain {what} --cluster local:2"));
        assert!(plan.contains(&format!("\nroute     {taken}: ")), "{what}: {plan}");
        assert!(plan.contains(words), "{what}: {plan}");
        for route in ["send", "fold", "spill"] {
            assert!(plan.contains(&format!("\n          {route}: ")), "{what}: {plan}");
        }
        assert!(plan.contains(" to others in an iteration"), "{what}: {plan}");
    }
    // Several computers are not told what one of them has chosen.
    sandbox.write("peers", "127.0.0.1:7000\n127.0.0.1:7001\n");
    let line = "explain pagerank rmat:16 --cluster static:peers";
    let plan = sandbox.must(line);
    assert!(plan.contains("\nroute     fold: not send: what memory each machine has"), "{plan}");
    let plan = sandbox.must(&format!("{line} --memory 2GiB"));
    assert!(plan.contains("\nroute     send: "), "{plan}");
}
