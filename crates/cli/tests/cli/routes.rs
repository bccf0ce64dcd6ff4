//! Routes that are forced: taken, or refused, and never left for another without a word.

use crate::sandbox::Sandbox;

#[test]
fn a_route_that_a_program_does_not_have_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("edges.csv", "source,target,weight\n1,2,3\n2,3,1\n3,1,2\n");
    sandbox.must("ingest edges.csv -q -o kept");
    let cells = "lies in memory, where all edges find it";
    let rows = "neighbours of one vertex against those of another";
    for (program, why, take) in [
        ("wcc", cells, "fold"),
        ("scc", cells, "fold"),
        ("mcst", cells, "fold"),
        ("triangles", rows, "fold"),
        ("lcc", rows, "fold"),
        ("bp", "edges of this program have state", "fold"),
    ] {
        for route in ["ranges", "spill", "spill-combined", "spill-fused", "spill-plain"] {
            for (command, input) in
                [("run", "edges.csv"), ("explain", "edges.csv"), ("run", "kept"), ("run", "rmat:8")]
            {
                let line = format!("{command} {program} {input} --route {route}");
                let ended = sandbox.run(&line);
                assert_eq!(ended.code, Some(2), "{line}: {}", ended.stderr);
                assert!(ended.stderr.contains(why), "{line}: {}", ended.stderr);
                let hint = format!("hint: take {take}, or leave --route out");
                assert!(ended.stderr.contains(&hint), "{line}: {}", ended.stderr);
                assert_eq!(ended.stdout, "", "{line}");
            }
        }
        sandbox.must(&format!("run {program} edges.csv -q --route fold"));
    }
}

#[test]
fn a_graph_is_kept_for_all_routes() {
    let sandbox = Sandbox::new();
    sandbox.write("edges.csv", "1,2\n2,3\n");
    let refused = sandbox.run("ingest edges.csv -o kept --route spill");
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("kept for all programs and routes"), "{}", refused.stderr);
    assert!(!sandbox.path().join("kept").exists());
    sandbox.must("ingest edges.csv -q -o kept --route fold");
}
