//! Graphs of more than 2^32 vertices.

use std::io::{BufRead, BufReader};

use crate::sandbox::Sandbox;

/// A path from 3 over 4,999,999,998 to 7, and a loop, of five billion vertices.
const EDGES: &str = "3 4999999998\n4999999998 7\n7 7\n";
const MANY: &str = "--vertices 5000000000";

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("web.txt", EDGES);
    sandbox
}

/// Output of a run, and its messages.
fn shown(sandbox: &Sandbox, line: &str) -> (String, String) {
    let ended = sandbox.run(&format!("run {line}"));
    assert_eq!(ended.code, Some(0), "welter run {line}\n{}", ended.stderr);
    (ended.stdout, ended.stderr)
}

/// The first rows of a table of all vertices.
fn first_rows(sandbox: &Sandbox, line: &str, count: usize) -> Vec<String> {
    let mut child = sandbox.command(&format!("run {line} -q -o -")).spawn().unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    let rows = stdout.lines().take(count + 1).map(Result::unwrap).collect::<Vec<_>>();
    // The pipe was closed, and no reader would take five billion rows.
    child.wait().unwrap();
    rows[1..].to_vec()
}

#[test]
fn five_billion_vertices_take_the_memory_of_those_with_edges() {
    let sandbox = sandbox();
    let info = sandbox.must(&format!("info web.txt {MANY}"));
    for line in [
        "vertices     5,000,000,000\n",
        "ids          integers, from 0 to 4999999999, non-compact\n",
        "out-degrees  0.00 on average, 1 at most (vertex 3), 4,999,999,997 vertices have none\n",
    ] {
        assert!(info.contains(line), "{info}");
    }
    let (ranks, stderr) = shown(&sandbox, &format!("pagerank web.txt {MANY} --memory 64M"));
    assert!(ranks.contains("(4,999,999,997 others)"), "{ranks}");
    assert!(stderr.contains("5,000,000,000 vertices, 3 edges"), "{stderr}");
    let (components, stderr) = shown(&sandbox, &format!("wcc web.txt {MANY}"));
    let rows: Vec<&str> = components.lines().skip(1).map(str::trim).collect();
    let parts = rows.iter().map(|row| row.split("  ").map(str::trim).filter(|p| !p.is_empty()));
    let parts: Vec<Vec<&str>> = parts.map(Iterator::collect).collect();
    assert_eq!(parts, [["1", "3", "3"], ["2", "(4,999,999,997 others)", "1 each"]]);
    assert!(stderr.contains("4,999,999,998 components, the largest with 3 vertices"), "{stderr}");
}

#[test]
fn every_vertex_has_a_row_of_its_own() {
    let sandbox = sandbox();
    let rows = first_rows(&sandbox, &format!("wcc web.txt {MANY}"), 9);
    assert_eq!(rows, ["0,0", "1,1", "2,2", "3,3", "4,4", "5,5", "6,6", "7,3", "8,8"]);
    let rows = first_rows(&sandbox, &format!("bfs web.txt {MANY} --source 3 --parents"), 8);
    assert_eq!(rows[2..], ["2,-1,", "3,0,3", "4,-1,", "5,-1,", "6,-1,", "7,2,4999999998"]);
    // The sum of all ranks is 1, and 7 has most of it.
    let rows = first_rows(&sandbox, &format!("pagerank web.txt {MANY}"), 8);
    let rank = |row: &str| row.split_once(',').unwrap().1.parse::<f64>().unwrap();
    let ranks: Vec<f64> = rows.iter().map(|row| rank(row)).collect();
    assert!(
        (ranks[0] * 5e9 - 1.0).abs() < 1e-6 && ranks[0].to_bits() == ranks[6].to_bits(),
        "{ranks:?}"
    );
    assert!(ranks[7] > 4.0 * ranks[0], "{ranks:?}");
}

#[test]
fn sources_without_edges_are_vertices_too() {
    let sandbox = sandbox();
    for algorithm in ["bfs", "sssp"] {
        let (top, stderr) =
            shown(&sandbox, &format!("{algorithm} web.txt {MANY} --source 4000000000"));
        assert!(top.contains("4000000000"), "{top}");
        assert!(stderr.contains("reached 1 of 5,000,000,000 vertices from 1 source"), "{stderr}");
    }
    sandbox.write("sources", "3\n4999999999\n");
    let ended = sandbox.run(&format!("run bfs web.txt {MANY} --sources-from sources"));
    assert_eq!(ended.code, Some(65));
    assert!(
        ended.stderr.contains("sources: row 2: expected the id of a vertex with edges"),
        "{}",
        ended.stderr
    );
    let ended = sandbox.run(&format!("run bfs web.txt {MANY} --source 5000000000"));
    assert_eq!(ended.code, Some(65), "{}", ended.stderr);
    // A vector says nothing of vertices that no edge asks.
    sandbox.write("vector", "3 2\n7 10\n4999999998 5\n12 99\n");
    let (top, _) = shown(&sandbox, &format!("spmv web.txt {MANY} --vector-from vector"));
    let first: Vec<&str> = top.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(first, ["1", "7", "15"]);
}

#[test]
fn they_are_kept_and_run_again() {
    let sandbox = sandbox();
    let stderr = sandbox.run(&format!("ingest web.txt {MANY} -o web")).stderr;
    assert!(stderr.contains("5,000,000,000 vertices"), "{stderr}");
    sandbox.must("check web");
    let answers = |graph: &str| {
        ["pagerank", "bfs --source 3", "wcc", "spmv"].map(|line| {
            let (top, _) = shown(&sandbox, &format!("{line} {graph}"));
            top
        })
    };
    assert_eq!(answers("web"), answers(&format!("web.txt {MANY}")));
    // A kept graph has no state of its own for a vertex that no edge named.
    let ended = sandbox.run("run bfs web --source 9");
    assert_eq!(ended.code, Some(65), "{}", ended.stderr);
    let what = "--source 9: expected the id of a vertex with edges";
    assert!(ended.stderr.contains(what), "{}", ended.stderr);
    // Reading it again, because a run wants edges both ways, knows all vertices still.
    let rows = first_rows(&sandbox, "bfs web --source 7 --direction both", 8);
    assert_eq!(rows[3..], ["3,2", "4,-1", "5,-1", "6,-1", "7,0"]);
}

#[test]
fn formats_that_state_very_many_vertices() {
    let sandbox = Sandbox::new();
    let banner = "%%MatrixMarket matrix coordinate pattern general";
    sandbox.write("web.mtx", format!("{banner}\n6000000000 6000000000 2\n1 6000000000\n2 1\n"));
    let info = sandbox.must("info web.mtx");
    assert!(info.contains("ids          integers, from 1 to 6000000000, non-compact\n"), "{info}");
    sandbox.must("convert web.mtx -o web.tsv");
    assert_eq!(sandbox.read("web.tsv"), b"source\ttarget\n1\t6000000000\n2\t1\n");
    let ended = sandbox.run("convert web.mtx -o web.gr");
    assert_eq!(ended.code, Some(73), "{}", ended.stderr);
    assert!(ended.stderr.contains("6000000000 vertices are more than a file"), "{}", ended.stderr);
}
