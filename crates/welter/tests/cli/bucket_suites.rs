//! Results that validation suites state, by commands on graphs that are kept in a bucket and
//! streamed from there.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use welter_testing::answers::{is_near, shared_data, sizes};
use welter_testing::bucket::BucketServer;
use welter_testing::samples::{self, Shape};
use welter_testing::validation::{Case, Outcome, cases, lagraph};

use crate::bucket_answers::{ingested, table, values, write_edges};
use crate::objects::must;
use crate::sandbox::Sandbox;

/// Compares all results of one graph, and returns how many these are.
fn compared(cases: &[Case]) -> usize {
    let sandbox = Sandbox::new();
    let Case { rows, ids, undirected, .. } = &cases[0];
    write_edges(&sandbox, rows.pairs.iter().copied(), &rows.weights);
    let vertices: String = ids.iter().map(|id| id.to_string() + "\n").collect();
    sandbox.write("v.txt", vertices);
    let weight = if rows.weights.is_empty() { "" } else { "--weight 3" };
    // Lists of neighbours have an edge at both ends.
    let simple = "--undirected --drop-self-loops --drop-duplicates=min";
    let direction = if *undirected { simple } else { "" };
    let server = ingested(&sandbox, &format!("e.tsv --vertices-from v.txt {weight} {direction}"));
    for case in cases {
        let source = || case.ids[case.source()];
        let run = match case.outcome {
            Outcome::Depths => format!("bfs --source {}", source()),
            Outcome::Distances => format!("sssp --source {}", source()),
            Outcome::Components => "wcc".to_owned(),
            Outcome::Communities { iterations } => format!("cdlp --iterations {iterations}"),
            Outcome::Clustering => "lcc".to_owned(),
            Outcome::Ranks { iterations, .. } => format!("pagerank --iterations {iterations}"),
        };
        let found = values(&sandbox, &server, &run, &case.ids);
        assert!(case.accepts(&found), "{}", case.name);
    }
    cases.len()
}

#[test]
fn the_outputs_of_ldbc_and_libgrape_from_a_bucket() {
    let mut graphs = BTreeMap::<_, Vec<Case>>::new();
    for case in cases() {
        graphs.entry((case.input, case.undirected)).or_default().push(case);
    }
    let count: usize = graphs.values().map(|cases| compared(cases)).sum();
    let graphs = graphs.len();
    // Twelve graphs with one result, a directed and an undirected example with six, and a large
    // graph with two where it is directed and six where it is not.
    assert!(graphs == 0 || (graphs, count) == (16, 32), "{count} results of {graphs} graphs");
}

#[test]
fn the_numbers_of_lagraph_from_a_bucket() {
    let Some(known) = lagraph() else { return };
    let mut count = 0;
    for (path, expected) in &known.components {
        let sandbox = Sandbox::new();
        let server = ingested(&sandbox, path.to_str().unwrap());
        let rows = table(&sandbox, &server, "wcc");
        let labels: Vec<u64> = rows.iter().map(|row| row[1] as u64).collect();
        assert_eq!(sizes(&labels).len() as u64, *expected, "{}", path.display());
        count += 1;
        if *path == known.karate {
            let ids: Vec<u64> = (1..=34).collect();
            let found = values(&sandbox, &server, "bfs --source 31", &ids);
            let expected = known.levels.iter().map(|level| *level as f64);
            assert!(found.iter().copied().eq(expected), "{found:?}");
            count += 1;
        }
    }
    // Components of twelve matrices, and levels of one of them.
    assert_eq!(count, 13, "results");
}

/// Keeps a matrix in a bucket, and returns the rows that a run on it writes.
fn of_matrix(path: &Path, run: &str) -> Vec<Vec<f64>> {
    let sandbox = Sandbox::new();
    let server = ingested(&sandbox, path.to_str().unwrap());
    table(&sandbox, &server, run)
}

/// Whether a run on a matrix writes these values of its rows, no further from them than `error`.
fn has(path: &Path, run: &str, expected: &[f64], error: f64) -> bool {
    let rows = of_matrix(path, run);
    let near = |(row, expected): (&Vec<f64>, &f64)| is_near(row[1], *expected, error);
    rows.iter().map(|row| row[0] as usize).eq(1..=expected.len())
        && rows.iter().zip(expected).all(near)
}

#[test]
fn ranks_communities_and_triangles_of_lagraph_from_a_bucket() {
    let Some(known) = lagraph() else { return };
    let mut count = 0;
    for (path, expected) in &known.triangles {
        let corners: f64 = of_matrix(path, "triangles").iter().map(|row| row[1]).sum();
        assert_eq!(corners as u64, 3 * expected, "{}", path.display());
        count += 1;
    }
    for (path, expected) in &known.ranks {
        let run = "pagerank --tolerance 1e-12";
        assert!(has(path, run, expected, 5e-5), "{}", path.display());
        count += 1;
    }
    let settled = "cdlp --iterations 100";
    for ((path, expected), run, error) in [
        // Answers have six digits.
        (&known.clustering, "lcc", 1e-6),
        (&known.communities, settled, 0.0),
        (&known.strong, "scc", 0.0),
    ] {
        assert!(has(path, run, expected, error), "{}: {run}", path.display());
        count += 1;
    }
    let (path, expected) = &known.forest;
    let edge = |row: &Vec<f64>| [row[0].min(row[1]) as u64, row[0].max(row[1]) as u64];
    let rows = of_matrix(path, "mcst");
    let mut edges: Vec<[u64; 2]> = rows.iter().map(edge).collect();
    edges.sort_unstable();
    assert_eq!(edges, *expected, "{}", path.display());
    assert!(rows.iter().all(|row| is_near(row[2], 1.0, 0.0)), "{rows:?}");
    count += 1;
    // Triangles of nine matrices, ranks of three, and one result each of four more kinds.
    assert_eq!(count, 16, "results");
}

/// The graph of the GAP suite, whose outputs state its size only.
#[test]
fn the_graph_of_gap_has_its_size_in_a_bucket() {
    let Some(data) = shared_data() else { return };
    let folder = data.join("suites/gapbs");
    let mut count = 0;
    for name in ["4.el", "4.wel", "4.gr", "4.graph", "4.mtx", "4w.graph", "4w.mtx"] {
        let text = fs::read_to_string(folder.join(format!("reference/graph-{name}.out"))).unwrap();
        let words: Vec<&str> = text.split_whitespace().collect();
        let ["Graph", "has", nodes, "nodes", "and", edges, "directed", "edges", ..] = words[..]
        else {
            panic!("{text}")
        };
        let sandbox = Sandbox::new();
        let path = folder.join("graphs").join(name);
        // Rows alone do not say which vertices have no edges.
        let vertices = if name.ends_with("el") { "--vertices 14" } else { "" };
        let simple = "--drop-self-loops --drop-duplicates=min";
        let server = ingested(&sandbox, &format!("{} {vertices} {simple}", path.display()));
        let info = must(&sandbox, &server, "info s3://box/graph");
        for (what, expected) in [("vertices", nodes), ("edges", edges)] {
            let is_it = |line: &str| line.split_whitespace().take(2).eq([what, expected]);
            assert!(info.lines().any(is_it), "{name}: {info}");
        }
        count += 1;
    }
    assert_eq!(count, 7, "formats");
}

/// Searches of that graph, with weights and without: they fit each other and the edges.
#[test]
fn searches_of_the_graph_of_gap_in_a_bucket_fit_its_edges() {
    let Some(data) = shared_data() else { return };
    let graphs = data.join("suites/gapbs/graphs");
    let [ones, heavy] = ["4.el", "4.wel"].map(|name| {
        let sandbox = Sandbox::new();
        let path = graphs.join(name);
        let server = ingested(&sandbox, &format!("{} --vertices 14", path.display()));
        (sandbox, server)
    });
    let ids: Vec<u64> = (0..14).collect();
    let of = |(sandbox, server): &(Sandbox, BucketServer), run: &str, source: u64| {
        values(sandbox, server, &format!("{run} --source {source}"), &ids)
    };
    let rows = samples::read(&graphs.join("4.wel"), Shape::Weighted);
    assert_eq!(rows.pairs.len(), 256);
    for source in 0..14 {
        let depths = of(&ones, "bfs", source);
        let lengths = of(&heavy, "sssp", source);
        for (depth, length) in depths.iter().zip(&lengths) {
            assert_eq!(*depth >= 0.0, length.is_finite(), "from {source}");
        }
        for ((from, to), weight) in rows.pairs.iter().zip(&rows.weights) {
            let [from, to] = [*from as usize, *to as usize];
            assert!(lengths[to] <= lengths[from] + weight, "from {source}");
            assert!(depths[from] < 0.0 || depths[to] <= depths[from] + 1.0, "from {source}");
        }
    }
}
