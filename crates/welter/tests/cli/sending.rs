//! Runs whose updates are messages (`--route send`): the results of a run in one process, over each
//! kind of lanes, what is refused, and what a report says.

use serde_json::Value;

use crate::cluster::{Same, difference, rows, write_tables};
use crate::sandbox::{Ended, Sandbox};

/// Words of `run` of all programs, and what of the result is the same.
pub(crate) const CASES: &[(&str, Same)] = &[
    ("pagerank G --iterations 5", Same::Within(1e-12)),
    ("pagerank G --precision f32 --iterations 5 --dangling unnormalized", Same::Within(1e-5)),
    ("pagerank G --weighted --dangling drop --iterations 5", Same::Within(1e-12)),
    ("pagerank G", Same::Within(1e-9)),
    ("bfs G --source 3 --direction both", Same::Bits),
    ("bfs G --source 3 --source 8 --parents", Same::Bits),
    ("sssp G --source 3", Same::Bits),
    ("sssp G --source 3 --parents --direction both", Same::Bits),
    ("wcc G --method label-propagation", Same::Bits),
    ("spmv G", Same::Bits),
    ("spmv G --vector random --iterations 3 --precision f32", Same::Within(1e-5)),
    ("hyperball G --registers 16", Same::Bits),
    ("mis G --seed 7", Same::Bits),
    ("conductance G", Same::Bits),
    ("conductance G --weighted --direction out", Same::Bits),
    ("cdlp G --iterations 4", Same::Bits),
    ("kcore G", Same::Bits),
    ("kcore G --undirected", Same::Bits),
    ("wcc G", Same::Bits),
    ("scc G", Same::Bits),
    ("mcst G", Same::Rows),
    ("mcst G --cost maximum --method label-propagation", Same::Rows),
    ("triangles G", Same::Bits),
    ("triangles G --undirected", Same::Bits),
    ("lcc G", Same::Bits),
    ("lcc G --undirected", Same::Bits),
    ("bp G --priors-from priors.csv --states 3 --damping 0.5", Same::Within(1e-4)),
    ("bp G --priors-from priors.csv --states 3 --messages vertex", Same::Within(1e-9)),
    ("als ratings.mtx --factors 16 --iterations 3", Same::Within(1e-6)),
];

/// A graph with parallel edges, also in the opposite direction, and loops; weights are integers,
/// whose sums are exact.
const GRAPH: &str = "rmat:6,factor=5,weights=9";

/// Machines with these options, and these faults between them, have the answer of one process.
pub(crate) fn answers(
    sandbox: &Sandbox,
    (words, same): &(&str, Same),
    (options, faults): (&str, &str),
) {
    let line = format!("run {} -q -o -", words.replace('G', GRAPH));
    let expected = sandbox.must(&line);
    let line = format!("{line} --route send {options}");
    let mut command = sandbox.command(&line);
    if !faults.is_empty() {
        command.env("WELTER_TEST_FAULTS", faults);
    }
    let ended = Ended::waited(command.spawn().unwrap());
    assert_eq!(ended.code, Some(0), "{line}, {faults}: {}", ended.stderr);
    let found = ended.stdout;
    match same {
        Same::Bits => assert_eq!(found, expected, "{line}"),
        Same::Rows => assert_eq!(rows(&found), rows(&expected), "{line}"),
        Same::Within(most) => {
            let error = difference(&found, &expected);
            assert!(error <= *most, "{line}: {error:e}");
        }
    }
}

/// Machines with these options end as one where a bucket is folded twice, and say where.
pub(crate) fn a_second_fold_is_found(sandbox: &Sandbox, options: &str) {
    let line = format!("run pagerank {GRAPH} --iterations 5 -q -o out.csv --route send {options}");
    let mut command = sandbox.command(&line);
    command.env("WELTER_TEST_FAULTS", "refolded=2");
    let ended = Ended::waited(command.spawn().unwrap());
    assert_eq!(ended.code, Some(70), "{line}: {}", ended.stderr);
    assert!(ended.stderr.contains("iteration 2: sub-range"), "{line}: {}", ended.stderr);
    assert!(!sandbox.files().contains(&"out.csv".to_owned()), "{line}");
}

#[test]
fn messages_have_the_answers_of_one_process() {
    let sandbox = Sandbox::new();
    write_tables(&sandbox);
    let lanes = ["tcp", "shared", "udp"];
    for (number, case) in CASES.iter().enumerate() {
        // Over UDP all programs have faults, below.
        let count = if number % 3 == 0 { 3 } else { 2 };
        for (at, transport) in lanes.iter().enumerate().take(count) {
            let machines = 2 + (number + at) % 3;
            // Edges of every other one are read from the disk in each iteration.
            let memory = ["", "--edge-memory 0"][(number + at) % 2];
            // So do sender threads for two of four.
            let senders = ["", "--senders 1"][usize::from((number + at) % 4 >= 2)];
            let options = format!("--cluster local:{machines} --transport {transport}");
            answers(&sandbox, case, (&format!("{options} {memory} {senders}"), ""));
        }
    }
    let files = ["priors.csv", "ratings.mtx", "some.csv"];
    assert_eq!(sandbox.files(), files, "machines leave nothing");
}

/// Faults of datagrams that builds with debug assertions plant, by the share of a thousand that is
/// lost.
pub(crate) const LOSSES: [&str; 3] = [
    "lost=0,repeated=100,late=100,seed=1",
    "lost=10,repeated=50,late=100,seed=2",
    "lost=200,repeated=50,late=100,seed=3",
];

#[test]
fn lost_datagrams_change_no_answer() {
    let sandbox = Sandbox::new();
    write_tables(&sandbox);
    for (number, case) in CASES.iter().enumerate() {
        // Each run is many times as long as without.
        let options = format!("--cluster local:{} --transport udp", 2 + number % 3);
        answers(&sandbox, case, (&options, LOSSES[number % LOSSES.len()]));
    }
}

#[test]
fn a_bucket_that_is_folded_twice_ends_the_run() {
    let sandbox = Sandbox::new();
    for (machines, transport) in [(2, "tcp"), (3, "udp"), (2, "shared")] {
        let options = format!("--cluster local:{machines} --transport {transport}");
        a_second_fold_is_found(&sandbox, &options);
    }
}

#[test]
fn damaged_datagrams_change_no_answer() {
    let sandbox = Sandbox::new();
    write_tables(&sandbox);
    let faults = "lost=50,damaged=50,repeated=50,late=50,seed=4";
    for (number, case) in CASES.iter().enumerate().step_by(4) {
        let options = format!("--cluster local:{} --transport udp", 2 + number % 3);
        answers(&sandbox, case, (&options, faults));
    }
}

#[test]
fn options_that_send_does_not_have_are_refused_by_name() {
    let sandbox = Sandbox::new();
    for (line, message) in [
        ("wcc rmat:5 --method union-find --cluster local:2 --route send", "union-find"),
        ("pagerank rmat:5 --route send", "--route send"),
        ("pagerank rmat:5 --cluster local:2 --transport udp", "--transport"),
        ("pagerank rmat:5 --cluster local:2 --route send --checkpoint d", "--checkpoint"),
        ("pagerank rmat:5 --cluster local:2 --edge-memory 0", "--edge-memory"),
    ] {
        let ended = sandbox.run(&format!("run {line}"));
        assert_eq!(ended.code, Some(2), "{line}: {}", ended.stderr);
        assert!(ended.stderr.contains(message), "{line}: {}", ended.stderr);
    }
}

#[test]
fn a_report_says_route_messages_and_bytes() {
    let sandbox = Sandbox::new();
    let line = "run pagerank rmat:8 --iterations 3 --cluster local:3 --route send";
    let ended = sandbox.run(&format!("{line} --transport udp --report r.json"));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("messages sent by udp"), "{}", ended.stderr);
    let report: Value = serde_json::from_slice(&sandbox.read("r.json")).unwrap();
    let cluster = &report["cluster"];
    assert_eq!((&cluster["route"], &cluster["transport"]), (&"send".into(), &"udp".into()));
    let machines = cluster["machines"].as_array().unwrap();
    for machine in machines {
        let plan = &machine["plan"];
        assert!(plan["memory_bytes"].as_u64() > Some(0), "{machine}");
        // No more messages are sent than edges lead to others, but edges themselves are among them.
        let sent = [plan, machine].map(|of| of["iteration_bytes_sent"].as_u64().unwrap());
        assert!(sent[0] > 0 && sent[1] > 0 && sent[1] <= 3 * sent[0], "{machine}");
        assert!(machine["resident_bytes_max"].as_u64() > Some(1 << 20), "{machine}");
        let processor = &machine["processor_seconds"];
        let roles = ["computation", "accumulator"].map(|role| processor[role].as_f64());
        assert!(roles.iter().all(|spent| *spent > Some(0.0)), "{machine}");
        assert!(processor["sender"].is_null(), "{machine}");
    }
    let sum = |of: &str| machines.iter().map(|machine| machine[of].as_u64().unwrap()).sum::<u64>();
    // Edges to their owners once, of 8 bytes, and updates of 12.
    let (messages, bytes) = (sum("messages_sent"), sum("bytes_sent"));
    assert!(messages > 0 && (8 * messages..12 * messages).contains(&bytes), "{report}");
    // A run that takes longer than a second has written checkpoints, and none is read.
    assert_eq!(sum("bytes_read"), 0);
    for transport in ["tcp", "udp", "shared"] {
        let options = format!("--transport {transport} --senders 1");
        let ended = sandbox.run(&format!("{line} {options} --report s.json"));
        assert_eq!(ended.code, Some(0), "{options}: {}", ended.stderr);
        let report: Value = serde_json::from_slice(&sandbox.read("s.json")).unwrap();
        for machine in report["cluster"]["machines"].as_array().unwrap() {
            let spent = machine["processor_seconds"]["sender"].as_f64();
            assert!(spent > Some(0.0), "{options}: {machine}");
        }
    }
}

#[test]
fn combined_or_singly_the_answer_is_one() {
    let sandbox = Sandbox::new();
    for (algorithm, same) in [
        ("pagerank rmat:8,factor=20 --iterations 3", Same::Within(1e-12)),
        ("wcc rmat:8,factor=20 --method label-propagation", Same::Bits),
    ] {
        let line = format!("run {algorithm} -q -o -");
        let expected = sandbox.must(&line);
        let [singly, combined] = ["never", "always"].map(|choice| {
            let options = format!("--cluster local:2 --route send --combine {choice}");
            let found = sandbox.must(&format!("{line} {options} --report {choice}.json"));
            match same {
                Same::Within(most) => assert!(difference(&found, &expected) <= most, "{choice}"),
                _ => assert_eq!(found, expected, "{choice}"),
            }
            let name = format!("{choice}.json");
            let report: Value = serde_json::from_slice(&sandbox.read(&name)).unwrap();
            let machines = report["cluster"]["machines"].as_array().unwrap().clone();
            ["messages_sent", "updates_sent", "updates_combined"].map(|of| {
                machines.iter().map(|machine| machine[of].as_u64().unwrap_or(0)).sum::<u64>()
            })
        });
        assert!(singly[0] == singly[1] && singly[2] == 0, "{singly:?}");
        // Twenty edges a vertex are few messages.
        assert!(2 * combined[0] < combined[1] && combined[2] > 0, "{combined:?}");
        assert!(combined[1] >= singly[1], "{combined:?} for {singly:?}");
    }
    for option in ["--combine always", "--senders 1", "--route send --senders 17"] {
        let refused = sandbox.run(&format!("run pagerank rmat:5 --cluster local:2 {option}"));
        assert_eq!(refused.code, Some(2), "{option}: {}", refused.stderr);
    }
}

#[test]
fn the_route_that_is_chosen_changes_no_answer() {
    let sandbox = Sandbox::new();
    let line = "run bfs rmat:8 --source 3 --parents -q -o -";
    let expected = sandbox.must(line);
    for (options, route) in [
        ("", "send"),
        ("--memory 1GiB", "send"),
        ("--route send", "send"),
        ("--route fold", "fold"),
        ("--route spill", "spill"),
        ("--metrics 127.0.0.1:0", "send"),
        // Options that `send` does not take, or that say nothing there.
        ("--mirror vertices", "fold"),
        ("--steal-bias 2", "fold"),
        ("--checkpoint kept", "fold"),
    ] {
        let found = sandbox.must(&format!("{line} --cluster local:2 --report r.json {options}"));
        assert_eq!(found, expected, "{options}");
        let report: Value = serde_json::from_slice(&sandbox.read("r.json")).unwrap();
        assert_eq!(report["cluster"]["route"], route, "{options}: {report}");
        let reason = report["cluster"]["route_reason"].as_str().unwrap();
        let is_stated = options.starts_with("--route");
        assert_eq!(reason == "it is stated", is_stated, "{options}: {reason}");
    }
    // Grouped updates have room, or the route is another one.
    for (algorithm, memory, route) in [
        ("cdlp rmat:8 --iterations 3", "1GiB", "send"),
        ("wcc rmat:8", "1GiB", "fold"),
        ("kcore rmat:8", "1GiB", "send"),
        ("triangles rmat:8", "1GiB", "send"),
    ] {
        let line = format!("run {algorithm} -q -o -");
        let expected = sandbox.must(&line);
        let options = format!("--cluster local:3 --memory {memory} --report r.json");
        assert_eq!(sandbox.must(&format!("{line} {options}")), expected, "{algorithm}");
        let report: Value = serde_json::from_slice(&sandbox.read("r.json")).unwrap();
        assert_eq!(report["cluster"]["route"], route, "{algorithm}: {report}");
    }
}

#[test]
fn a_route_that_is_forced_is_refused_where_it_has_no_room_or_the_program_has_none() {
    let sandbox = Sandbox::new();
    for (line, code, message) in [
        ("pagerank rmat:8 --route send --memory 2MiB", 78, "give each --memory"),
        ("pagerank rmat:8 --route fold --memory 2MiB", 78, "give each --memory"),
        ("triangles rmat:8 --route send --memory 2MiB", 78, "give each --memory"),
        ("triangles rmat:5 --route fold", 2, "rows of triangles travel"),
    ] {
        for command in ["run", "explain"] {
            let ended = sandbox.run(&format!("{command} {line} --cluster local:2"));
            assert_eq!(ended.code, Some(code), "{command} {line}: {}", ended.stderr);
            assert!(ended.stderr.contains(message), "{command} {line}: {}", ended.stderr);
        }
    }
}
