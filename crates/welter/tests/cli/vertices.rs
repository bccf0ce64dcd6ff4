//! Vertices without edges, stated by a table beside the edges, whatever ids are.

use crate::sandbox::Sandbox;

/// The table that a run prints.
fn table(sandbox: &Sandbox, line: &str) -> String {
    sandbox.must(&format!("run {line} -q -o -"))
}

#[test]
fn names_without_edges_are_vertices_and_count_in_every_total() {
    let sandbox = Sandbox::new();
    sandbox.write("edges.csv", "src,dst\nann,bob\n");
    sandbox.write("people.txt", "zoe\nann\nbob\ncy\nzoe\n");
    sandbox.write("people.csv", "age,name\n31,zoe\n4,ann\n5,bob\n9,cy\n");
    let components = "vertex,component\nann,ann\nbob,ann\ncy,cy\nzoe,zoe\n";
    for from in ["people.txt", "people.csv --vertex-column name", "people.csv --vertex-column 2"] {
        let line = format!("wcc edges.csv --vertices-from {from}");
        assert_eq!(table(&sandbox, &line), components, "{from}");
    }
    let depths = table(&sandbox, "bfs edges.csv --source ann --vertices-from people.txt");
    assert_eq!(depths, "vertex,depth\nann,0\nbob,1\ncy,-1\nzoe,-1\n");
    let ranks = table(&sandbox, "pagerank edges.csv --vertices-from people.txt");
    let sum: f64 = ranks
        .lines()
        .skip(1)
        .map(|row| row.split(',').nth(1).unwrap().parse::<f64>().unwrap())
        .sum();
    assert!((sum - 1.0).abs() < 1e-9 && ranks.lines().count() == 5, "{ranks}");
    // Lines on standard input, and a table as Parquet.
    let ended = sandbox.run_with("run wcc edges.csv --vertices-from - -q -o -", b"cy\nzoe\n");
    assert_eq!(ended.stdout, components);
    sandbox.must("run wcc edges.csv --vertices-from people.txt -q -o people.parquet");
    assert_eq!(table(&sandbox, "wcc edges.csv --vertices-from people.parquet"), components);
}

#[test]
fn ends_of_edges_that_no_table_lists_are_vertices_and_counted() {
    let sandbox = Sandbox::new();
    sandbox.write("edges.txt", "1000000 7\n7 12\n");
    sandbox.write("ids.txt", "7\n99\n");
    let ended = sandbox.run("run wcc edges.txt --vertices-from ids.txt -o -");
    assert_eq!(ended.stdout, "vertex,component\n7,7\n12,7\n99,99\n1000000,7\n");
    assert!(ended.stderr.contains("2 vertices are in no table of vertices"), "{}", ended.stderr);
    sandbox.write("all.txt", "7\n99\n12\n1000000\n");
    let ended = sandbox.run("run wcc edges.txt --vertices-from all.txt -o -");
    assert!(!ended.stderr.contains("in no table"), "{}", ended.stderr);
    // A kept graph has them as well.
    sandbox.must("ingest edges.txt --vertices-from ids.txt -q -o kept");
    assert_eq!(table(&sandbox, "wcc kept"), "vertex,component\n7,7\n12,7\n99,99\n1000000,7\n");
}

#[test]
fn tables_of_integers_give_what_a_number_of_vertices_gives() {
    let sandbox = Sandbox::new();
    let row = |e: u64| format!("{} {}\n", e * 37 % 90, e * e % 90);
    let edges: String = (0..200).map(row).collect();
    sandbox.write("dense.txt", &edges);
    // Names, and integers far apart, in the same order.
    let far = |id: &str| id.parse::<u64>().unwrap() * 1_000_003;
    let name = |id: &str| format!("v{:03}", id.parse::<u64>().unwrap());
    let mapped = |of: &dyn Fn(&str) -> String| -> String {
        let row = |row: &str| row.split(' ').map(of).collect::<Vec<_>>().join(" ") + "\n";
        edges.lines().map(row).collect()
    };
    sandbox.write("far.txt", mapped(&|id| far(id).to_string()));
    sandbox.write("names.txt", mapped(&name));
    let ids = |of: &dyn Fn(u64) -> String| -> String { (0..100).map(|id| of(id) + "\n").collect() };
    sandbox.write("all.txt", ids(&|id| id.to_string()));
    sandbox.write("far-ids.txt", ids(&|id| (id * 1_000_003).to_string()));
    sandbox.write("name-ids.txt", ids(&|id| format!("v{id:03}")));
    let values = |line: String| -> Vec<String> {
        let text = table(&sandbox, &line);
        text.lines().map(|row| row.split_once(',').unwrap().1.to_owned()).collect()
    };
    for algorithm in ["pagerank", "kcore", "hyperball", "lcc"] {
        let expected = values(format!("{algorithm} dense.txt --vertices 100"));
        assert_eq!(expected.len(), 101);
        for (edges, vertices) in [("dense", "all"), ("far", "far-ids"), ("names", "name-ids")] {
            for options in ["", "--memory 64M --edge-memory 0"] {
                let line =
                    format!("{algorithm} {edges}.txt --vertices-from {vertices}.txt {options}");
                assert_eq!(values(line.clone()), expected, "{line}");
            }
        }
    }
}

#[test]
fn what_makes_no_sense_is_refused_with_what_decides() {
    let sandbox = Sandbox::new();
    sandbox.write("edges.csv", "src,dst\nann,bob\n");
    sandbox.write("far.txt", "5 1000000\n");
    sandbox.write("m.mtx", "%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n");
    sandbox.must("ingest far.txt -q -o kept");
    for (line, code, message) in [
        ("edges.csv --vertices 6", 2, "--vertices-from"),
        ("far.txt --vertices 6", 65, "--vertices-from"),
        ("far.txt --vertices-from missing.txt", 66, "missing.txt"),
        ("far.txt --vertices-from m.mtx", 65, "expected a table of vertices"),
        ("far.txt --vertex-column 2", 2, "--vertices-from"),
        ("far.txt --vertices 9 --vertices-from edges.csv", 2, "cannot be used with"),
        ("kept --vertices-from edges.csv", 2, "has been read"),
        ("rmat:4 --vertices-from edges.csv", 2, "--vertices-from"),
        ("- --vertices-from -", 2, "standard input"),
        ("far.txt --target-vertices-from far.txt", 2, "--bipartite"),
    ] {
        let ended = sandbox.run(&format!("run wcc {line}"));
        assert_eq!(ended.code, Some(code), "{line}: {}", ended.stderr);
        assert!(ended.stderr.contains(message), "{line}: {}", ended.stderr);
    }
}

#[test]
fn a_table_that_cannot_be_read_again_is_for_no_run_that_goes_on() {
    let sandbox = Sandbox::new();
    sandbox.write("edges.csv", "src,dst\nann,bob\nbob,cy\n");
    let ended = sandbox.run("run pagerank edges.csv --vertices-from - --checkpoint kept.run -q");
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("standard input cannot be read again"), "{}", ended.stderr);
}
