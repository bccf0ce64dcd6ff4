//! Four computers in networks of their own: every algorithm has the answer of one process, from
//! Parquet and from text, on each route and within a budget, and so have real graphs.
//!
//! `WELTER_SCALE=16` takes graphs of that scale and all cases; without it they are small and few.

use welter_testing::answers::{repository, shared_data};

use crate::cluster::{CASES, Same, is_same, write_tables};
use crate::cluster_faults::stated;
use crate::computers::{Net, ended, in_networks};
use crate::sandbox::Sandbox;

/// Number of cases of which one is looked at where no scale is stated.
const STRIDE: usize = 4;

/// The graph of a case: a file, but where a table names vertices that a file need not have.
fn graph(words: &str, turn: usize, scale: u64) -> String {
    if words.contains(".csv") {
        return format!("rmat:{scale},factor=5,weights=9");
    }
    ["graph.parquet", "graph.tsv"][turn % 2].to_owned()
}

/// Options of a case: a route, or a budget.
fn options(words: &str, turn: usize) -> &'static str {
    let is_by_rows = words.starts_with("triangles") || words.starts_with("lcc");
    if is_by_rows { "" } else { ["--route fold", "--route spill", "--memory 1GiB", ""][turn % 4] }
}

fn written(sandbox: &Sandbox, name: &str) -> String {
    String::from_utf8(sandbox.read(name)).unwrap()
}

/// Runs a line in one process and, with these options, on the computers, and compares results.
fn compare(net: &Net, sandbox: &Sandbox, (line, options): (&str, &str), same: Same) {
    sandbox.must(&format!("{line} -o one.csv"));
    let line = format!("{line} {options} -o many.csv");
    for (rank, ended) in ended(net.start(sandbox, &line)).iter().enumerate() {
        assert_eq!(ended.code, Some(0), "{line}, {rank}: {}", ended.stderr);
    }
    let [one, many] = ["one.csv", "many.csv"].map(|name| written(sandbox, name));
    is_same(&line, [&many, &one], same);
}

#[test]
fn every_algorithm_has_its_answer_on_four_computers() {
    let Some((net, sandbox)) = in_networks() else { return };
    let scale = stated("WELTER_SCALE", 0);
    let (stride, scale) = if scale == 0 { (STRIDE, 7) } else { (1, scale) };
    for file in ["graph.parquet", "graph.tsv"] {
        sandbox.must(&format!("generate rmat {scale} --factor 5 --weights 9 -q -o {file}"));
    }
    write_tables(&sandbox);
    for (turn, (words, same)) in CASES.iter().step_by(stride).enumerate() {
        let line = format!("run {} -q", words.replace('G', &graph(words, turn, scale)));
        // Floats that are added up in another order differ by more where there are more of them.
        let same = match same {
            Same::Within(most) if scale > 7 => Same::Within(most * 1e3),
            same => *same,
        };
        compare(&net, &sandbox, (&line, options(words, turn)), same);
    }
}

/// Real graphs, by their files below the shared data, with words of `run` and what is the same.
const REAL: [(&str, &str, Same); 6] = [
    ("wiki-Vote/wiki-Vote.txt.zst", "pagerank G --iterations 5", Same::Within(1e-9)),
    ("p2p-31/p2p-31.e.zst", "cdlp G --iterations 3", Same::Bits),
    ("email-Enron/email-Enron.txt.zst", "wcc G", Same::Bits),
    ("osm-andorra/osm-andorra.wel.zst", "sssp G --source 51110488", Same::Bits),
    ("rome99-half/rome99.gr.zst", "scc G", Same::Bits),
    ("facebook_combined/facebook_combined.txt.gz", "kcore G", Same::Bits),
];

#[test]
fn real_graphs_have_the_answers_of_one_process_on_four_computers() {
    let Some((net, sandbox)) = in_networks() else { return };
    // Its ids are names.
    let packages = repository().join("examples/debian-depends.tsv.zst");
    let mut runs = vec![
        (packages.clone(), "pagerank G --iterations 5", Same::Within(1e-9)),
        (packages, "wcc G", Same::Bits),
    ];
    if let Some(data) = shared_data() {
        let graphs = data.join("graphs");
        runs.extend(REAL.iter().map(|&(file, words, same)| (graphs.join(file), words, same)));
    }
    for (turn, (path, words, same)) in runs.into_iter().enumerate() {
        let line = format!("run {} -q", words.replace('G', &path.display().to_string()));
        compare(&net, &sandbox, (&line, options(words, turn)), same);
    }
}
