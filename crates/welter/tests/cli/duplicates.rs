//! Duplicates are those of the graph as it was stated, whatever an algorithm reads.

use crate::sandbox::Sandbox;

/// The table that a run prints.
fn table(sandbox: &Sandbox, line: &str) -> String {
    sandbox.must(&format!("run {line} -q -o -"))
}

/// A directed graph with reciprocal edges, a loop, and each edge once, with a weight; and the same
/// with some edges again, with greater weights.
fn reciprocal() -> Sandbox {
    let sandbox = Sandbox::new();
    let edges = "5 9 1\n9 5 4\n5 1 2\n5 2 2\n2 2 1\n1 7 3\n7 1 3\n7 9 2.5\n9 1 1\n";
    sandbox.write("once.txt", edges);
    let again = "9 5 6\n5 9 1\n5 9 8\n2 2 5\n7 9 3\n1 7 4\n";
    sandbox.write("again.txt", format!("{edges}{again}"));
    sandbox
}

#[test]
fn opposite_edges_of_a_directed_graph_are_two() {
    let sandbox = Sandbox::new();
    sandbox.write("f.tsv", "5\t9\n9\t5\n5\t1\n5\t2\n");
    let communities = "vertex,community\n1,5\n2,5\n5,9\n9,5\n";
    for options in ["", "--drop-duplicates", "--drop-duplicates=sum", "--directed"] {
        let line = format!("cdlp f.tsv --iterations 1 {options}");
        assert_eq!(table(&sandbox, &line), communities, "{options}");
    }
    // Of an undirected graph it is the same edge twice.
    let once = "vertex,community\n1,5\n2,5\n5,1\n9,5\n";
    let line = "cdlp f.tsv --iterations 1 --undirected";
    assert_eq!(table(&sandbox, &format!("{line} --drop-duplicates")), once);
    assert_eq!(table(&sandbox, line), communities);
}

#[test]
fn what_is_left_is_the_graph_without_them_for_every_algorithm_and_route() {
    let sandbox = reciprocal();
    sandbox.must("ingest again.txt -q -o kept");
    sandbox.must("ingest again.txt --drop-duplicates -q -o merged");
    let algorithms = [
        "cdlp IN --iterations 2",
        "cdlp IN --iterations 1 --drop-self-loops",
        "conductance IN --direction both",
        "conductance IN --direction both --weighted",
        "sssp IN --direction both --source 9",
        "bfs IN --direction both --source 9",
        "wcc IN --method label-propagation",
        "mcst IN --method label-propagation",
        "mcst IN --method passes",
        "pagerank IN",
        "spmv IN",
    ];
    for algorithm in algorithms {
        let run = |input: &str, options: &str| {
            let line = format!("{} {options}", algorithm.replace("IN", input));
            (table(&sandbox, &line), line)
        };
        let (expected, _) = run("once.txt", "");
        for options in ["", "--threads 1", "--edge-memory 0 --memory 1G"] {
            for input in ["again.txt", "kept", "merged"] {
                let (found, line) = run(input, &format!("{options} --drop-duplicates"));
                assert_eq!(found, expected, "{line}");
            }
            let (found, line) = run("merged", options);
            assert_eq!(found, expected, "{line}");
        }
    }
}

#[test]
fn weights_of_each_way_are_merged_for_themselves() {
    let sandbox = reciprocal();
    let distance = |input: &str, options: &str| {
        let line = format!("sssp {input} --direction both --source 5 {options}");
        table(&sandbox, &line).lines().find(|line| line.starts_with("9,")).unwrap().to_owned()
    };
    sandbox.write("sums.txt", "5 9 7\n9 5 4\n5 9 7\n");
    // 14 one way and 4 the other: the shorter one is taken.
    assert_eq!(distance("sums.txt", "--drop-duplicates=sum"), "9,4.0");
    assert_eq!(distance("sums.txt", "--drop-duplicates"), "9,4.0");
    assert_eq!(distance("sums.txt", "--drop-duplicates --undirected"), "9,7.0");
    assert_eq!(distance("sums.txt", "--drop-duplicates=sum --undirected"), "9,18.0");
    // Stored once from whichever end, two edges of an undirected graph are merged all the same.
    for method in ["label-propagation", "passes"] {
        let line = |options: &str| format!("mcst sums.txt --method {method} {options}");
        let total = |options: &str| table(&sandbox, &line(options));
        assert!(total("--undirected --drop-duplicates=sum").contains("18.0"), "{method}");
        assert!(total("--drop-duplicates=sum").contains("4.0"), "{method}");
    }
}

#[test]
fn a_kept_graph_of_which_the_first_is_not_known_any_more_says_so() {
    let sandbox = reciprocal();
    sandbox.must("ingest again.txt -q -o kept");
    let ended = sandbox.run("run sssp kept --source 5 --undirected --drop-duplicates");
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("the order of edges in the input was not kept"));
    // Each way for itself, it is known.
    let line = "sssp kept --source 5 --direction both --drop-duplicates";
    let expected = table(&sandbox, "sssp once.txt --source 5 --direction both");
    assert_eq!(table(&sandbox, line), expected);
}
