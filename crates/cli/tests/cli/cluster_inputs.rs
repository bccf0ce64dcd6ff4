//! Inputs of runs on a cluster: ids of every kind, formats, and edges that are dropped, each with
//! the answer of a run in one process.

use crate::cluster::difference;
use crate::sandbox::Sandbox;

/// Ends of the edges of a graph with loops, parallel edges and vertices of many.
fn pairs() -> Vec<[u64; 2]> {
    let ends = |at: u64| [at * at % 31, at * 7 % 29 % (1 + at % 23)];
    (0..150).map(ends).chain([[3, 4], [4, 3], [3, 4], [5, 5]]).collect()
}

/// Rows of edges with weights, whose sums are exact.
fn rows(separator: &str, id: impl Fn(u64) -> String) -> String {
    let row = |(at, [source, target]): (usize, &[u64; 2])| {
        let (source, target) = (id(*source), id(*target));
        format!("{source}{separator}{target}{separator}{}\n", 1 + at * 5 % 9)
    };
    pairs().iter().enumerate().map(row).collect()
}

/// One graph by many kinds of ids, and in many formats. Each has a vertex of the id that `source`
/// names.
fn graphs() -> Sandbox {
    let sandbox = Sandbox::new();
    // In another order than their numbers, and some the beginnings of others.
    let name = |id| format!("n{}", id * 37 % 101);
    sandbox.write("names.csv", format!("from,to,weight\n{}", rows(",", name)));
    sandbox
        .write("sparse.tsv", rows("\t", |id| (id * 700_000_000_003 % 999_983_000_017).to_string()));
    sandbox.write("holes.tsv", rows("\t", |id| (id * 3 + 5).to_string()));
    sandbox.must("convert names.csv -q -o names.parquet");
    sandbox.must("convert sparse.tsv -q -o sparse.arrow");
    let raw = pairs().iter().flatten().flat_map(|id| (*id as u32 * 2 + 1).to_le_bytes()).collect();
    sandbox.write("pairs.u32", Vec::<u8>::clone(&raw));
    sandbox
}

/// Inputs, with the id of a vertex.
const INPUTS: [[&str; 2]; 6] = [
    ["names.csv", "n37"],
    ["sparse.tsv", "700000000003"],
    ["holes.tsv", "8"],
    ["names.parquet", "n37"],
    ["sparse.arrow", "700000000003"],
    ["pairs.u32", "3"],
];

/// Words of `run`, and by how much of the largest a number may differ.
const CASES: [(&str, f64); 19] = [
    ("wcc G", 0.0),
    ("wcc G --method label-propagation", 0.0),
    ("scc G", 0.0),
    ("bfs G --source V --parents --direction both", 0.0),
    ("sssp G --source V --direction both", 0.0),
    ("pagerank G --iterations 5", 1e-12),
    ("pagerank G --weighted --iterations 5", 1e-12),
    ("cdlp G --iterations 4", 0.0),
    ("kcore G", 0.0),
    ("triangles G", 0.0),
    ("lcc G", 0.0),
    ("mis G --seed 7", 0.0),
    ("hyperball G --registers 16", 0.0),
    ("spmv G", 0.0),
    ("spmv G --vector random --iterations 2", 1e-12),
    ("conductance G", 0.0),
    ("mcst G --method label-propagation", 0.0),
    ("bp G --priors-from P --states 3 --messages vertex", 1e-9),
    ("bfs G --sources-from P", 0.0),
];

/// Runs a line on a cluster, and holds its table to that of one process.
fn compare(sandbox: &Sandbox, line: &str, cluster: &str, most: f64) {
    let line = format!("run {line} -q -o -");
    let expected = sandbox.must(&line);
    let line = format!("{line} --cluster {cluster}");
    let found = sandbox.must(&line);
    if most > 0.0 {
        let error = difference(&found, &expected);
        assert!(error <= most, "{line}: {error:e}");
    } else {
        assert_eq!(found, expected, "{line}");
    }
}

#[test]
fn every_kind_of_id_has_its_answer_on_a_cluster() {
    let sandbox = graphs();
    for [input, source] in INPUTS {
        let priors = format!("id,a,b,c\n{source},8,1,1\n");
        sandbox.write(&format!("{input}.csv"), priors);
    }
    let weighs = |words: &str| words.contains("--weighted") || words.starts_with("bp");
    for (number, (words, most)) in CASES.iter().enumerate() {
        // All with names, and each with another kind.
        for input in [0, 1 + number % 5] {
            let [input, source] = INPUTS[input];
            if input == "pairs.u32" && weighs(words) {
                continue;
            }
            let line = words.replace('G', input).replace('V', source);
            let line = line.replace('P', &format!("{input}.csv"));
            let cluster = ["local:2", "local:3 --route spill", "local:2 --route fold"][number % 3];
            let waits = words.starts_with("triangles") || words.starts_with("lcc");
            compare(&sandbox, &line, if waits { "local:3" } else { cluster }, *most);
        }
    }
}

#[test]
fn what_is_dropped_is_dropped_on_a_cluster() {
    let sandbox = graphs();
    let sums = "--drop-duplicates=sum";
    for (number, line) in [
        "spmv names.csv --drop-duplicates".to_owned(),
        "spmv holes.tsv --drop-duplicates=min --drop-self-loops".to_owned(),
        format!("spmv names.parquet {sums}"),
        format!("spmv pairs.u32 {sums} --undirected"),
        format!("spmv names.csv --no-weights {sums}"),
        format!("sssp holes.tsv {sums} --source 8 --undirected"),
        format!("sssp holes.tsv {sums} --source 8 --direction both"),
        format!("sssp sparse.tsv {sums} --source 700000000003 --direction in"),
        "cdlp names.csv --drop-duplicates --iterations 3".to_owned(),
        "cdlp names.csv --drop-duplicates --iterations 3 --undirected".to_owned(),
        "kcore holes.tsv --drop-duplicates".to_owned(),
        "scc names.csv --drop-duplicates".to_owned(),
        format!("lcc names.csv {sums}"),
        format!("conductance names.csv --weighted {sums}"),
        format!("mcst names.csv --method label-propagation --undirected {sums}"),
        format!("mcst names.csv --method label-propagation {sums}"),
    ]
    .iter()
    .enumerate()
    {
        compare(&sandbox, line, ["local:2", "local:3 --route fold"][number % 2], 0.0);
    }
    let line = "pagerank names.csv --drop-duplicates=min --weighted --iterations 4";
    compare(&sandbox, line, "local:3", 1e-12);
}

#[test]
fn two_kinds_of_vertices_have_their_answer_on_a_cluster() {
    let sandbox = Sandbox::new();
    let edges = "ann,ann,5\nann,bob,3\nbob,ann,4\nbob,cy,1\ncy,bob,5\n";
    sandbox.write("named.csv", format!("user,item,weight\n{edges}"));
    for line in [
        "bfs named.csv --bipartite --direction both --parents --source source:ann",
        "kcore named.csv --bipartite",
        "spmv named.csv --bipartite",
    ] {
        compare(&sandbox, line, "local:2", 0.0);
    }
    // Sides are words, so they are left out of what is compared by numbers.
    let line = "run als named.csv --bipartite --factors 4 --iterations 3 -q -o -";
    let [expected, found] =
        ["", " --cluster local:2"].map(|on| sandbox.must(&format!("{line}{on}")));
    let numbered = |table: &str| table.replace(",source,", ",0,").replace(",target,", ",1,");
    assert_eq!(found.lines().next(), expected.lines().next());
    let error = difference(&numbered(&found), &numbered(&expected));
    assert!(error <= 1e-6 && found.contains("ann,source,"), "{error:e}: {found}");
}

#[test]
fn vertices_without_edges_are_there_on_a_cluster() {
    let sandbox = graphs();
    sandbox.write("all.csv", "id\nn37\nalone\nzero\n");
    for line in ["wcc names.csv --vertices-from all.csv", "kcore holes.tsv --vertices 200"] {
        compare(&sandbox, line, "local:2", 0.0);
    }
}
