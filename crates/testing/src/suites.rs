//! Graphs with their ranks after a number of iterations, from the suites of others.

use crate::answers::shared_data;
use crate::graph::Graph;
use crate::samples::{self, Shape};

/// A graph and its ranks, damping 0.85, lost rank spread.
#[derive(Clone, Debug)]
pub struct Case {
    /// File of the answer.
    pub name: &'static str,
    /// The edges as the file has them. All slots are vertices.
    pub graph: Graph,
    /// Whether the ranks are those of the graph read as undirected, parallel edges merged.
    pub undirected: bool,
    /// Number of iterations.
    pub iterations: u32,
    /// Ranks by slot.
    pub ranks: Vec<f64>,
    /// How near an answer must be, relatively. The validation graphs come with LDBC's tolerance.
    pub error_max: f64,
}

/// Input, shape, whether undirected, iterations, output, tolerance.
type Entry = (&'static str, Shape, bool, u32, &'static str, f64);

const ENTRIES: [Entry; 5] = [
    (
        "ldbc-validation/pr/dir-input",
        Shape::Adjacency,
        false,
        14,
        "ldbc-validation/pr/dir-output",
        1e-4,
    ),
    (
        "ldbc-validation/pr/undir-input",
        Shape::Adjacency,
        true,
        26,
        "ldbc-validation/pr/undir-output",
        1e-4,
    ),
    (
        "ldbc-validation/example/example-directed.e",
        Shape::Weighted,
        false,
        2,
        "ldbc-validation/example/example-directed-PR",
        1e-12,
    ),
    (
        "ldbc-validation/example/example-undirected.e",
        Shape::Weighted,
        true,
        2,
        "ldbc-validation/example/example-undirected-PR",
        1e-12,
    ),
    (
        "../graphs/p2p-31/p2p-31.e.zst",
        Shape::Weighted,
        true,
        10,
        "libgrape-p2p-31/p2p-31-PR.zst",
        1e-12,
    ),
];

/// All cases, or none where the shared data is missing (which is said loudly).
pub fn suites() -> Vec<Case> {
    let Some(data) = shared_data() else { return Vec::new() };
    let suites = data.join("suites");
    let case = |(input, shape, undirected, iterations, name, error_max): Entry| {
        let (ids, ranks): (Vec<u64>, Vec<f64>) = samples::values(&suites.join(name));
        let rows = samples::read(&suites.join(input), shape);
        let graph = Graph::from_ids(&ids, &rows.pairs, None);
        Case { name, graph, undirected, iterations, ranks, error_max }
    };
    ENTRIES.map(case).to_vec()
}
