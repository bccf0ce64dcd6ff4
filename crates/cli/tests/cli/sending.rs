//! Runs whose updates are messages (`--route send`): the results of a run in one process, over each
//! kind of lanes, what is refused, and what a report says.

use serde_json::Value;

use crate::cluster::{Same, difference, rows};
use crate::sandbox::Sandbox;

/// Words of `run` of all programs that fold, and what of the result is the same.
const CASES: &[(&str, Same)] = &[
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
];

#[test]
fn messages_have_the_answers_of_one_process() {
    let sandbox = Sandbox::new();
    // Parallel edges, also in the opposite direction, and loops; integers, whose sums are exact.
    let graph = "rmat:6,factor=5,weights=9";
    let lanes = ["tcp", "udp", "shared"];
    for (number, (words, same)) in CASES.iter().enumerate() {
        let line = format!("run {} -q -o -", words.replace('G', graph));
        let expected = sandbox.must(&line);
        let (machines, transport) = (2 + number % 3, lanes[number % lanes.len()]);
        let line =
            format!("{line} --cluster local:{machines} --route send --transport {transport}");
        let found = sandbox.must(&line);
        match same {
            Same::Bits => assert_eq!(found, expected, "{line}"),
            Same::Rows => assert_eq!(rows(&found), rows(&expected), "{line}"),
            Same::Within(most) => {
                let error = difference(&found, &expected);
                assert!(error <= *most, "{line}: {error:e}");
            }
        }
    }
    assert!(sandbox.files().is_empty(), "machines leave nothing");
}

#[test]
fn programs_that_cannot_send_are_refused_by_name() {
    let sandbox = Sandbox::new();
    for (line, said) in [
        ("cdlp rmat:5 --cluster local:2 --route send", "cdlp cannot send"),
        ("kcore rmat:5 --cluster local:2 --route send", "kcore cannot send"),
        ("triangles rmat:5 --cluster local:2 --route send", "triangles cannot send"),
        ("wcc rmat:5 --cluster local:2 --route send", "wcc cannot send"),
        ("mcst rmat:5,weights=3 --cluster local:2 --route send", "mcst cannot send"),
        ("pagerank rmat:5 --route send", "--route send"),
        ("pagerank rmat:5 --cluster local:2 --transport udp", "--transport"),
        ("pagerank rmat:5 --cluster local:2 --route send --checkpoint d", "--checkpoint"),
    ] {
        let ended = sandbox.run(&format!("run {line}"));
        assert_eq!(ended.code, Some(2), "{line}: {}", ended.stderr);
        assert!(ended.stderr.contains(said), "{line}: {}", ended.stderr);
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
    let sum = |of: &str| machines.iter().map(|machine| machine[of].as_u64().unwrap()).sum::<u64>();
    // Edges to their owners once, of 8 bytes, and updates of 12.
    let (messages, bytes) = (sum("messages_sent"), sum("bytes_sent"));
    assert!(messages > 0 && (8 * messages..12 * messages).contains(&bytes), "{report}");
    // A run that takes longer than a second has written checkpoints, and none is read.
    assert_eq!(sum("bytes_read"), 0);
}
