//! Inputs of runs on a cluster: ids of every kind, formats, and edges that are dropped, each with
//! the answer of a run in one process.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use crate::cluster::difference;
use crate::computers::together;
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
            let of_rows = ["local:3", "local:3 --route spill"][number % 2];
            compare(&sandbox, &line, if waits { of_rows } else { cluster }, *most);
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

/// Rows of many edges between ids that are made of numbers below some thousands.
fn many_rows(edges: u64, id: impl Fn(u64) -> String) -> String {
    let row = |at: u64| format!("{},{}\n", id(at * at % 4_999), id(at * 7 % 5_003));
    (0..edges).map(row).collect()
}

fn packed(text: &str) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(text.as_bytes()).unwrap();
    packed.finish().unwrap()
}

/// Bytes of the input that each machine has parsed, where each has parsed its share.
fn parsed(sandbox: &Sandbox) -> Option<Vec<u64>> {
    let report: Value = serde_json::from_slice(&sandbox.read("r.json")).unwrap();
    let machines = report["cluster"]["machines"].as_array().unwrap();
    machines.iter().map(|machine| machine["bytes_parsed"].as_u64()).collect()
}

/// Whether parts are those of a whole, of which each of `readers` has about as much: 4 KiB of the
/// share behind its own, at most, are looked at too.
fn are_even(parts: &[u64], whole: u64, readers: u64) -> bool {
    let share = whole / readers;
    let sum: u64 = parts.iter().sum();
    let is_whole = (whole..=whole + 8192 * readers).contains(&sum);
    is_whole && parts.iter().all(|bytes| (share * 9 / 10..=share * 11 / 10).contains(bytes))
}

#[test]
fn each_machine_parses_its_share_of_a_file() {
    let sandbox = Sandbox::new();
    let name = |id: u64| format!("vertex-{}", id * 7919 % 10_007);
    let sparse = |id: u64| (id * 700_000_000_003 % 999_983_000_017).to_string();
    let files = [
        ("names.csv", format!("from,to\n{}", many_rows(30_000, name))),
        ("sparse.csv", many_rows(30_000, sparse)),
        ("holes.csv", many_rows(60_000, |id| (id * 3 + 5).to_string())),
        ("dense.csv", many_rows(60_000, |id| id.to_string())),
    ];
    for (number, (file, text)) in files.iter().enumerate() {
        sandbox.write(file, text);
        for line in [format!("wcc {file}"), format!("pagerank {file} --iterations 4")] {
            let expected = sandbox.must(&format!("run {line} -q -o -"));
            let options = ["", "--route spill", "--route fold", "--memory 1GiB"][number];
            let line = format!("run {line} --cluster local:3 {options} -q -o - --report r.json");
            let found = sandbox.must(&line);
            if line.contains("wcc") {
                assert_eq!(found, expected, "{line}");
            } else {
                assert!(difference(&found, &expected) <= 1e-12, "{line}");
            }
            let parts = parsed(&sandbox).unwrap_or_else(|| panic!("{line}: all is read by each"));
            assert!(are_even(&parts, text.len() as u64, 3), "{line}: {parts:?}");
        }
    }
}

#[test]
fn files_that_cannot_be_cut_are_dealt_out() {
    let sandbox = Sandbox::new();
    let name = |id: u64| format!("vertex-{}", id * 7919 % 10_007);
    let [first, second, third] = [20_000, 19_000, 21_000].map(|edges| many_rows(edges, name));
    sandbox.write("a.csv.gz", packed(&first));
    sandbox.write("b.csv.gz", packed(&second));
    sandbox.write("c.csv.gz", packed(&third));
    sandbox.write("d.csv", &second);
    let sizes = ["a.csv.gz", "b.csv.gz", "c.csv.gz"].map(|name| sandbox.read(name).len() as u64);
    let all = "wcc a.csv.gz b.csv.gz c.csv.gz";
    compare(&sandbox, &format!("{all} --report r.json"), "local:3", 0.0);
    assert_eq!(parsed(&sandbox).unwrap(), sizes);
    // One file is whole on one machine, and others have no edges.
    for cluster in ["local:3", "local:3 --route spill", "local:4 --route send"] {
        compare(&sandbox, "wcc a.csv.gz --report r.json", cluster, 0.0);
        let mut parts = parsed(&sandbox).unwrap();
        parts.sort_unstable_by(|a, b| b.cmp(a));
        assert_eq!((parts[0], parts[1]), (sizes[0], 0), "{cluster}: {parts:?}");
    }
    // Text beside it is cut between what is left.
    compare(&sandbox, "wcc d.csv a.csv.gz --report r.json", "local:4", 0.0);
    let parts = parsed(&sandbox).unwrap();
    let whole = second.len() as u64 + sizes[0];
    assert!((whole..whole + 4 * 8192).contains(&parts.iter().sum::<u64>()), "{parts:?} of {whole}");
    assert!(parts.iter().all(|bytes| *bytes > 0), "{parts:?}");
}

#[test]
fn row_groups_are_dealt_out() {
    let sandbox = Sandbox::new();
    let name = |id: u64| format!("vertex-{}", id * 7919 % 10_007);
    sandbox.write("some.csv", format!("from,to\n{}", many_rows(5_000, name)));
    sandbox.must("convert some.csv -q -o some.parquet");
    compare(&sandbox, "cdlp some.parquet --iterations 3 --report r.json", "local:2", 0.0);
    let parts = parsed(&sandbox).unwrap();
    assert_eq!(parts.iter().sum::<u64>(), sandbox.read("some.parquet").len() as u64, "{parts:?}");
}

#[test]
fn what_is_not_read_in_shares_is_read_by_each() {
    let sandbox = graphs();
    sandbox.write("all.csv", "id\nn37\nalone\n");
    for line in [
        "wcc names.csv --vertices-from all.csv",
        "spmv names.csv --drop-duplicates",
        "pagerank names.csv --weighted --iterations 2",
        "wcc pairs.u32",
        "kcore names.csv --bipartite",
    ] {
        let most = if line.starts_with("pagerank") { 1e-12 } else { 0.0 };
        compare(&sandbox, &format!("{line} --report r.json"), "local:2", most);
        assert_eq!(parsed(&sandbox), None, "{line}");
    }
}

#[test]
fn a_bad_line_is_named_by_its_place_in_the_file() {
    let sandbox = Sandbox::new();
    let rows = many_rows(20_000, |id| id.to_string());
    // Behind the middle, so that no sample has it.
    let (begin, rest) = rows.split_at(rows[..rows.len() * 2 / 3].rfind('\n').unwrap() + 1);
    sandbox.write("wrong.csv", format!("{begin}7,seven\n{rest}8\n"));
    let line = "run wcc wrong.csv --ids integers -q -o -";
    let expected = sandbox.run(line);
    let number = begin.lines().count() + 1;
    assert!(expected.stderr.contains(&format!("wrong.csv:{number}: ")), "{}", expected.stderr);
    let found = sandbox.run(&format!("{line} --cluster local:4"));
    assert_eq!((found.code, &found.stderr), (expected.code, &expected.stderr));
}

#[test]
fn computers_parse_their_shares() {
    let sandbox = Sandbox::new();
    let name = |id: u64| format!("vertex-{}", id * 7919 % 10_007);
    let text = many_rows(30_000, name);
    sandbox.write("names.csv", &text);
    for (line, options) in [
        ("wcc names.csv", "--route fold"),
        ("bfs names.csv --source vertex-7919 --direction both", "--route send"),
    ] {
        sandbox.must(&format!("run {line} -q -o one.csv"));
        let line = format!("run {line} {options} -q -o many.csv --report r.json");
        for (rank, ended) in together(&sandbox, &line, 3).iter().enumerate() {
            assert_eq!(ended.code, Some(0), "{line}, {rank}: {}", ended.stderr);
        }
        assert_eq!(sandbox.read("many.csv"), sandbox.read("one.csv"), "{line}");
        let parts = parsed(&sandbox).unwrap_or_else(|| panic!("{line}: all is read by each"));
        assert!(are_even(&parts, text.len() as u64, 3), "{line}: {parts:?}");
    }
}
