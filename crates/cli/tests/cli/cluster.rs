//! Runs on a cluster of processes: the results of a run in one, and what is refused.

use crate::sandbox::Sandbox;

/// Rows of a table, of which the last field is a number.
fn rows(table: &str) -> Vec<(String, f64)> {
    let row = |line: &str| {
        let (vertex, value) = line.rsplit_once(',').unwrap();
        (vertex.to_owned(), value.parse().unwrap())
    };
    table.lines().skip(1).map(row).collect()
}

#[test]
fn results_are_those_of_a_run_in_one_process() {
    let sandbox = Sandbox::new();
    let raw: Vec<u8> = (0..400_u32).flat_map(|at| (at * 7919 % 50).to_le_bytes()).collect();
    sandbox.write("pairs.u32", raw);
    let spill = "--cluster local:3 --route spill";
    for (graph, ids, clusters) in [
        ("rmat:7", "", &["--cluster local:2", spill][..]),
        ("pairs.u32", "--vertices 60", &[spill]),
    ] {
        for algorithm in [
            "pagerank GRAPH --iterations 5",
            "bfs GRAPH --source 3 --direction both",
            "bfs GRAPH --source 3 --source 8 --parents",
            "wcc GRAPH",
            "wcc GRAPH --method labels",
        ] {
            let line = format!("run {} {ids} -q -o -", algorithm.replace("GRAPH", graph));
            let expected = sandbox.must(&line);
            for options in clusters {
                let found = sandbox.must(&format!("{line} {options}"));
                if algorithm.starts_with("pagerank") {
                    // Sums in another order.
                    let (found, expected) = (rows(&found), rows(&expected));
                    assert_eq!(found.len(), expected.len(), "{line} {options}");
                    for (found, expected) in found.iter().zip(&expected) {
                        let error = (found.1 - expected.1).abs();
                        assert!(found.0 == expected.0 && error < 1e-12, "{line} {options}");
                    }
                } else {
                    assert_eq!(found, expected, "{line} {options}");
                }
            }
        }
    }
    assert_eq!(sandbox.files(), ["pairs.u32"], "machines leave nothing");
}

#[test]
fn ids_may_count_from_one() {
    let sandbox = Sandbox::new();
    let edges = "%%MatrixMarket matrix coordinate pattern general\n4 4 2\n1 2\n4 2\n";
    sandbox.write("g.mtx", edges);
    for line in ["wcc g.mtx", "bfs g.mtx --source 4"] {
        let line = format!("run {line} -q -o -");
        let expected = sandbox.must(&line);
        assert_eq!(sandbox.must(&format!("{line} --cluster local:2")), expected, "{line}");
        assert!(expected.contains("\n4,"), "{expected}");
    }
}

#[test]
fn a_cluster_says_what_it_did() {
    let sandbox = Sandbox::new();
    let ended = sandbox.run("run pagerank rmat:7 --iterations 3 --cluster local:2 -o ranks.csv");
    let said = &ended.stderr;
    assert_eq!(ended.code, Some(0), "{said}");
    assert!(said.contains("on 2 machines") && said.contains("3 iterations"), "{said}");
    assert!(said.contains("ranks.csv") && sandbox.read("ranks.csv").starts_with(b"vertex,rank"));
    let unsettled =
        sandbox.run("run pagerank rmat:7 --iterations 1 --tolerance 1e-9 --cluster local:2");
    assert!(unsettled.stderr.contains("have not settled"), "{}", unsettled.stderr);
}

#[test]
fn a_cluster_refuses_what_it_cannot_do() {
    let sandbox = Sandbox::new();
    sandbox.write("links.tsv", "1\t2\n2\t3\n");
    for (line, said) in [
        ("pagerank rmat:5 --report r.json", "--report"),
        ("pagerank rmat:5 --checkpoint d", "--checkpoint"),
        ("pagerank rmat:5 --memory 1GiB", "--memory"),
        ("pagerank rmat:5 --compression zstd", "--compression"),
        ("pagerank rmat:5 --drop-duplicates", "--drop-duplicates"),
        ("pagerank rmat:5 --route ranges", "routes fold and spill"),
        ("pagerank rmat:5 --weighted", "pagerank with these options"),
        ("wcc rmat:5 --method union-find", "wcc with these options"),
        ("mis rmat:5", "mis with these options"),
        ("pagerank links.tsv", "--vertices N"),
    ] {
        let ended = sandbox.run(&format!("run {line} --cluster local:2"));
        assert_eq!(ended.code, Some(2), "{line}: {}", ended.stderr);
        assert!(ended.stderr.contains(said), "{line}: {}", ended.stderr);
    }
    let ended = sandbox.run("run bfs rmat:5 --source 99 --cluster local:2");
    assert_eq!(ended.code, Some(65), "{}", ended.stderr);
    let ended = sandbox.run("run pagerank rmat:5 --cluster 10.0.0.1:4");
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
}
