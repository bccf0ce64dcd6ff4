//! Answers of all graphs of the shared data, by commands on graphs that are kept in a bucket and
//! streamed from there.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::Value;
use welter_testing::answers::{Answers, is_near};
use welter_testing::bucket::BucketServer;
use welter_testing::samples::{Sample, samples};

use crate::objects::must;
use crate::sandbox::Sandbox;

/// Algorithms whose answers are integers, with their options and the name of the answer.
const INTEGERS: [(&str, &str); 7] = [
    ("bfs", "bfs_depth"),
    ("wcc", "wcc_min_id"),
    ("scc", "scc_min_id"),
    ("kcore", "core"),
    ("triangles", "tri_per_vertex"),
    ("cdlp --iterations 10", "cdlp"),
    ("sssp", "sssp"),
];
/// Algorithms whose answers are floats, and the largest relative difference from one.
const FLOATS: [(&str, &str, f64); 4] = [
    ("pagerank --iterations 20", "pr20", 1e-11),
    ("pagerank --iterations 1000 --tolerance 1e-13", "pr_converged", 1e-9),
    ("lcc", "lcc_ldbc_directed", 1e-12),
    ("sssp", "sssp", 1e-12),
];
/// Largest difference of a mean from its answer.
const NEAR: f64 = 1e-9;

/// Keeps a graph in a bucket of its own: what `input` names, with options on how it is read.
pub(crate) fn ingested(sandbox: &Sandbox, input: &str) -> BucketServer {
    let server = BucketServer::start().unwrap();
    must(sandbox, &server, &format!("ingest {input} -q -o s3://box/graph"));
    server
}

/// Table that a run on that graph writes, with its edges read from the bucket whenever they are
/// needed.
fn written(sandbox: &Sandbox, server: &BucketServer, run: &str) -> String {
    must(sandbox, server, &format!("run {run} s3://box/graph -q --edge-memory 0 -o r.csv"));
    String::from_utf8(sandbox.read("r.csv")).unwrap()
}

/// Rows of that table.
pub(crate) fn table(sandbox: &Sandbox, server: &BucketServer, run: &str) -> Vec<Vec<f64>> {
    let text = written(sandbox, server, run);
    let row = |line: &str| line.split(',').map(|value| value.parse().unwrap()).collect();
    text.lines().skip(1).map(row).collect()
}

/// Values that a run on that graph writes, of the vertices with these ids and no others. There may
/// be millions.
pub(crate) fn values(sandbox: &Sandbox, server: &BucketServer, run: &str, ids: &[u64]) -> Vec<f64> {
    let text = written(sandbox, server, run);
    let rows = || text.lines().skip(1).map(|line| line.split_once(',').unwrap());
    let found = rows().map(|(id, _)| id.parse::<u64>().unwrap());
    assert!(found.eq(ids.iter().copied()), "{run}: ids");
    rows().map(|(_, value)| value.parse().unwrap()).collect()
}

/// Writes edges as rows of `e.tsv`, with weights where there are any.
pub(crate) fn write_edges(
    sandbox: &Sandbox,
    pairs: impl Iterator<Item = (u64, u64)>,
    weights: &[f64],
) {
    let (mut text, mut weights) = (String::new(), weights.iter());
    for (from, to) in pairs {
        match weights.next() {
            Some(weight) => writeln!(text, "{from}\t{to}\t{weight}").unwrap(),
            None => writeln!(text, "{from}\t{to}").unwrap(),
        }
    }
    sandbox.write("e.tsv", text);
}

/// A kept graph in a bucket, and where searches of it begin.
struct Kept<'a> {
    sandbox: &'a Sandbox,
    server: &'a BucketServer,
    source: i64,
    weighted: bool,
}

impl Kept<'_> {
    /// Values of an algorithm, in the order of ids, which are compared with those of the answers.
    fn values(&self, algorithm: &str, answers: &Answers) -> Vec<f64> {
        let starts = matches!(algorithm, "bfs" | "sssp");
        let source = if starts { format!("--source {}", self.source) } else { String::new() };
        values(self.sandbox, self.server, &format!("{algorithm} {source}"), &answers.ids())
    }
}

/// Compares all answers that a graph has, and returns how many these are.
fn compared(sample: &Sample) -> usize {
    let (sandbox, answers) = (Sandbox::new(), sample.answers());
    let undirected = if answers.directed() { "" } else { "--undirected" };
    let path = sample.path.display();
    let input = format!("{path} --drop-self-loops --drop-duplicates {undirected}");
    let server = ingested(&sandbox, &input);
    let kept = Kept {
        sandbox: &sandbox,
        server: &server,
        source: answers.json["source_id"].as_i64().unwrap(),
        weighted: !answers.derives_weights(),
    };
    let has = |algorithm: &str| algorithm != "sssp" || kept.weighted;
    let mut count = 0;
    for (algorithm, name) in INTEGERS.into_iter().filter(|(algorithm, _)| has(algorithm)) {
        let Some(expected) = answers.integers(name) else { continue };
        let found = kept.values(algorithm, &answers);
        let expected = expected.iter().map(|value| *value as f64);
        assert!(found.into_iter().eq(expected), "{} {algorithm}", sample.name);
        count += 1;
    }
    for (algorithm, name, error) in FLOATS.into_iter().filter(|(algorithm, ..)| has(algorithm)) {
        let Some(expected) = answers.floats(name) else { continue };
        let found = kept.values(algorithm, &answers);
        let near =
            |(found, expected): (&f64, &f64)| is_near(*found, *expected, error * expected.abs());
        assert!(found.iter().zip(expected).all(near), "{} {algorithm}", sample.name);
        count += 1;
    }
    count
}

/// Compares counts and sums of both directions, and of edges with the weights of the answers, and
/// returns how many these are.
fn compared_sums(sample: &Sample) -> usize {
    let (sandbox, answers, mut count) = (Sandbox::new(), sample.answers(), 0);
    let (ids, graph) = (answers.ids(), answers.weighted(&sample.load(&answers)));
    let id = |slot: &u32| ids[*slot as usize];
    let pairs = graph.pairs.iter().map(|[from, to]| (id(from), id(to)));
    write_edges(&sandbox, pairs, graph.weights.as_deref().unwrap_or_default());
    let undirected = if answers.directed() { "" } else { "--undirected" };
    let input = "e.tsv --weight 3 --drop-self-loops --drop-duplicates=min";
    let server = ingested(&sandbox, &format!("{input} {undirected}"));
    let columns = |run: &str| table(&sandbox, &server, run);
    let source = answers.json["source_id"].as_u64().unwrap();
    if answers.directed() {
        let expected = &answers.json["bfs_undirected_view"]["count_by_depth"];
        let rows = columns(&format!("bfs --direction both --source {source}"));
        let expected: Vec<usize> = expected
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_u64)
            .map(|n| n as usize)
            .collect();
        let at = |depth: usize| rows.iter().filter(|row| row[1] as i64 == depth as i64).count();
        let found: Vec<usize> = (0..expected.len()).map(at).collect();
        assert_eq!(found, expected, "{}", sample.name);
        count += 1;
    }
    // The mean is that of edges without directions.
    let rows = columns("lcc --undirected");
    let expected = answers.json["lcc"]["mean_over_all_V_deg_lt_2_counts_0"].as_f64().unwrap();
    let mean = rows.iter().map(|row| row[1]).sum::<f64>() / ids.len() as f64;
    assert!((mean - expected).abs() < NEAR, "{}: {mean} for {expected}", sample.name);
    count += 1;
    if answers.derives_weights() {
        let integers =
            || answers.integers("sssp").map(|all| all.iter().map(|d| *d as f64).collect());
        let floats: Option<Vec<f64>> = answers.floats("sssp").map(<[f64]>::to_vec);
        let expected = floats.or_else(integers).unwrap();
        let rows = columns(&format!("sssp --source {source}"));
        let found: BTreeMap<u64, f64> = rows.iter().map(|row| (row[0] as u64, row[1])).collect();
        // Sums of integers are exact. Vertices without edges are in no row of the file.
        let of = |id: &u64| found.get(id).copied().unwrap_or(f64::INFINITY);
        assert!(ids.iter().map(of).eq(expected), "{}", sample.name);
        count += 1;
    }
    let (expected, rows) = (&answers.json["msf"], columns("mcst"));
    assert_eq!(Some(rows.len() as u64), expected["edges"].as_u64(), "{}", sample.name);
    let total: f64 = rows.iter().map(|row| row[2]).sum();
    assert!((total - expected["total_weight"].as_f64().unwrap()).abs() < 0.5, "{}", sample.name);
    count + 1
}

#[test]
fn sums_and_counts_come_from_graphs_in_a_bucket() {
    let all = samples();
    let count: usize = all.iter().map(compared_sums).sum();
    // A forest and a mean of clustering coefficients of each graph, a search both ways of each
    // directed one, and distances of those whose weights follow from ids.
    assert!(all.is_empty() || count == 65, "{count} answers of {} graphs", all.len());
}

#[test]
fn all_answers_come_from_graphs_in_a_bucket() {
    let all = samples();
    let count: usize = all.iter().map(compared).sum();
    // Seven of each of ten undirected graphs, nine of each of ten directed ones, the largest of
    // which has no settled ranks, and distances of five that have weights.
    assert!(all.is_empty() || count == 164, "{count} answers of {} graphs", all.len());
}
