//! Four computers in networks of their own: every algorithm has the answer of one process, from
//! Parquet and from text, on each route and within a budget.
//!
//! `WELTER_SCALE=16` takes graphs of that scale and all cases; without it they are small and few.

use crate::cluster::{CASES, Same, is_same, write_tables};
use crate::cluster_faults::stated;
use crate::computers::{ended, in_networks};
use crate::sandbox::Sandbox;

/// One of so many cases is looked at where no scale is stated.
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
        sandbox.must(&format!("{line} -o one.csv"));
        let line = format!("{line} {} -o many.csv", options(words, turn));
        for (rank, ended) in ended(net.start(&sandbox, &line)).iter().enumerate() {
            assert_eq!(ended.code, Some(0), "{line}, {rank}: {}", ended.stderr);
        }
        let [one, many] = ["one.csv", "many.csv"].map(|name| written(&sandbox, name));
        // Floats that are added up in another order differ by more where there are more of them.
        let same = match same {
            Same::Within(most) if scale > 7 => Same::Within(most * 1e3),
            same => *same,
        };
        is_same(&line, [&many, &one], same);
    }
}
