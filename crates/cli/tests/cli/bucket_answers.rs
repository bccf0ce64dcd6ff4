//! Answers of all graphs of the shared data, by commands on graphs that are kept in a bucket and
//! streamed from there.

use welter_testing::answers::Answers;
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
/// Algorithms whose answers are floats.
const FLOATS: [(&str, &str); 3] =
    [("pagerank --iterations 20", "pr20"), ("lcc", "lcc_ldbc_directed"), ("sssp", "sssp")];
/// Largest difference of a float from its answer.
const NEAR: f64 = 1e-9;

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
        let line = format!("run {algorithm} {source} s3://box/graph -q --edge-memory 0 -o r.csv");
        must(self.sandbox, self.server, &line);
        let text = String::from_utf8(self.sandbox.read("r.csv")).unwrap();
        let row = |line: &str| {
            let (id, value) = line.split_once(',').unwrap();
            (id.parse::<u64>().unwrap(), value.parse::<f64>().unwrap())
        };
        let (ids, values): (Vec<_>, Vec<_>) = text.lines().skip(1).map(row).unzip();
        assert!(ids == answers.ids(), "{algorithm}: ids");
        values
    }
}

/// Compares all answers that a graph has, and returns how many these are.
fn compared(sample: &Sample) -> usize {
    let (sandbox, server) = (Sandbox::new(), BucketServer::start().unwrap());
    let answers = sample.answers();
    let undirected = if answers.directed() { "" } else { "--undirected" };
    let path = sample.path.display();
    let line = format!(
        "ingest {path} -q --drop-self-loops --drop-duplicates {undirected} -o s3://box/graph"
    );
    must(&sandbox, &server, &line);
    let kept = Kept {
        sandbox: &sandbox,
        server: &server,
        source: answers.json["source_id"].as_i64().unwrap(),
        weighted: !answers.json["sssp"]["weights"].as_str().unwrap().contains("derived"),
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
    for (algorithm, name) in FLOATS.into_iter().filter(|(algorithm, _)| has(algorithm)) {
        let Some(expected) = answers.floats(name) else { continue };
        let found = kept.values(algorithm, &answers);
        let near = |(found, expected): (&f64, &f64)| {
            (found.is_infinite() && expected.is_infinite())
                || (found - expected).abs() <= NEAR * expected.abs().max(1.0)
        };
        assert!(found.iter().zip(expected).all(near), "{} {algorithm}", sample.name);
        count += 1;
    }
    count
}

#[test]
fn all_answers_come_from_graphs_in_a_bucket() {
    let all = samples();
    let count: usize = all.iter().map(compared).sum();
    // Six of each of ten undirected graphs, eight of each of ten directed ones, and distances of
    // five that have weights.
    assert!(all.is_empty() || count == 145, "{count} answers of {} graphs", all.len());
}
