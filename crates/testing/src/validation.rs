//! Searches and components that validation suites state: those of LDBC Graphalytics, libgrape and
//! `LAGraph`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use crate::answers::{is_near, shared_data, shared_json};
use crate::samples::{self, Rows, Shape};

use Outcome::{Components, Depths, Distances};
use Shape::{Adjacency, Weighted};

/// Kind of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Numbers of edges from a vertex.
    Depths,
    /// Sums of weights from a vertex.
    Distances,
    /// Labels of weakly connected components.
    Components,
}

const LDBC: &str = "suites/ldbc-validation";
const LIBGRAPE: &str = "suites/libgrape-p2p-31";
const P2P: &str = "graphs/p2p-31/p2p-31.e.zst";

/// Kind, input, its shape, whether it is undirected, output.
type Entry = (Outcome, &'static str, Shape, bool, &'static str);

const ENTRIES: [Entry; 17] = [
    (Depths, "bfs/dir-input", Adjacency, false, "bfs/dir-output"),
    (Depths, "bfs/undir-input", Adjacency, true, "bfs/undir-output"),
    (Distances, "sssp/dir-input.e", Weighted, false, "sssp/dir-output"),
    (Distances, "sssp/undir-input.e", Weighted, true, "sssp/undir-output"),
    (Components, "wcc/dir-input", Adjacency, false, "wcc/dir-output"),
    (Components, "wcc/undir-input", Adjacency, true, "wcc/undir-output"),
    (Depths, "example/example-directed.e", Weighted, false, "example/example-directed-BFS"),
    (Distances, "example/example-directed.e", Weighted, false, "example/example-directed-SSSP"),
    (Components, "example/example-directed.e", Weighted, false, "example/example-directed-WCC"),
    (Depths, "example/example-undirected.e", Weighted, true, "example/example-undirected-BFS"),
    (Distances, "example/example-undirected.e", Weighted, true, "example/example-undirected-SSSP"),
    (Components, "example/example-undirected.e", Weighted, true, "example/example-undirected-WCC"),
    (Depths, P2P, Weighted, false, "p2p-31-BFS-directed.zst"),
    (Depths, P2P, Weighted, true, "p2p-31-BFS.zst"),
    (Distances, P2P, Weighted, false, "p2p-31-SSSP-directed.zst"),
    (Distances, P2P, Weighted, true, "p2p-31-SSSP.zst"),
    (Components, P2P, Weighted, true, "p2p-31-WCC.zst"),
];

/// Number for a vertex that no path leads to in a column of depths.
const UNREACHED: f64 = i64::MAX as f64;
/// Largest relative difference of a distance, as LDBC Graphalytics has it.
const DISTANCE_ERROR_MAX: f64 = 1e-4;

/// A graph and one result of its vertices.
#[derive(Debug)]
pub struct Case {
    /// File of the result.
    pub name: &'static str,
    /// File of the edges; cases of one file are of one graph.
    pub input: &'static str,
    /// Edges as the file has them.
    pub rows: Rows,
    /// Whether the result is of the graph read as undirected.
    pub undirected: bool,
    /// Kind of the result.
    pub outcome: Outcome,
    /// Ids of all vertices, ascending.
    pub ids: Vec<u64>,
    /// Values by vertex. Where no path leads, a depth is -1 and a distance infinite.
    pub expected: Vec<f64>,
}

impl Case {
    /// Place among the vertices of the only one that is 0 away, where a search begins.
    ///
    /// # Panics
    /// When there is none, or more than one.
    pub fn source(&self) -> usize {
        let mut zeros = (0..self.expected.len()).filter(|vertex| self.expected[*vertex] == 0.0);
        let source = zeros.next().expect("a search has a source");
        assert_eq!(zeros.next(), None, "{}", self.name);
        source
    }

    /// Whether values, by vertex, are those of the result: distances nearly, and components
    /// whatever their labels are.
    pub fn accepts(&self, found: &[f64]) -> bool {
        let expected = &self.expected;
        found.len() == expected.len()
            && match self.outcome {
                Depths => found.iter().eq(expected),
                Distances => found.iter().zip(expected).all(|(found, expected)| {
                    is_near(*found, *expected, DISTANCE_ERROR_MAX * expected)
                }),
                Components => alike(found, expected),
            }
    }
}

/// Whether vertices have one label in both where they have one in either.
fn alike(found: &[f64], expected: &[f64]) -> bool {
    // Labels are ids, so their bits tell them apart.
    let (mut labels, mut firsts) = (BTreeMap::new(), BTreeMap::new());
    found.iter().zip(expected).all(|(found, expected)| {
        let (found, expected) = (found.to_bits(), expected.to_bits());
        *labels.entry(found).or_insert(expected) == expected
            && *firsts.entry(expected).or_insert(found) == found
    })
}

/// Cases of LDBC Graphalytics and libgrape, or none where the shared data is missing (which is said
/// loudly).
pub fn cases() -> Vec<Case> {
    let Some(data) = shared_data() else { return Vec::new() };
    let case = |(outcome, input, shape, undirected, name): Entry| {
        let is_p2p = input == P2P;
        let folder = data.join(if is_p2p { LIBGRAPE } else { LDBC });
        let edges = if is_p2p { data.join(P2P) } else { folder.join(input) };
        let (ids, mut expected) = samples::values(&folder.join(name));
        if outcome == Depths {
            for depth in expected.iter_mut().filter(|depth| **depth >= UNREACHED) {
                *depth = -1.0;
            }
        }
        let rows = samples::read(&edges, shape);
        Case { name, input, rows, undirected, outcome, ids, expected }
    };
    ENTRIES.map(case).into()
}

/// Results of the test programs of `LAGraph`.
#[derive(Debug)]
pub struct Lagraph {
    /// Symmetric matrices, and how many components each has.
    pub components: Vec<(PathBuf, u64)>,
    /// Matrix of the karate club, which is one of them.
    pub karate: PathBuf,
    /// Depths of the rows of that matrix in a search from row 31, where the first row is 1.
    pub levels: Vec<i64>,
}

/// Results of `LAGraph`, or `None` where the shared data is missing (which is said loudly).
///
/// # Panics
/// When they cannot be read.
pub fn lagraph() -> Option<Lagraph> {
    let folder = shared_data()?.join("suites/lagraph");
    let known = shared_json("suites/lagraph/known_results.json")?;
    let integer = |value: &Value| value.as_i64().expect("results are integers");
    let count = |(file, count): (&String, &Value)| (folder.join(file), integer(count) as u64);
    let counts = known["connected_components"].as_object().expect("there are counts");
    let levels = known["bfs_levels_karate_source30_0based"].as_array().expect("there are levels");
    Some(Lagraph {
        components: counts.iter().map(count).collect(),
        karate: folder.join("karate.mtx"),
        levels: levels.iter().map(integer).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(outcome: Outcome, expected: &[f64]) -> Case {
        let ids = (1..=expected.len() as u64).collect();
        let (rows, expected) = (Rows::default(), expected.to_vec());
        Case { name: "a", input: "b", rows, undirected: false, outcome, ids, expected }
    }

    #[test]
    fn depths_are_exact_and_distances_near() {
        let depths = case(Depths, &[1.0, 0.0, -1.0]);
        assert_eq!(depths.source(), 1);
        assert!(depths.accepts(&[1.0, 0.0, -1.0]));
        assert!(!depths.accepts(&[1.0, 0.0, 2.0]) && !depths.accepts(&[1.0, 0.0]));
        let distances = case(Distances, &[0.0, 2.0, f64::INFINITY]);
        assert!(distances.accepts(&[0.0, 2.0001, f64::INFINITY]));
        for wrong in [[0.0, 2.001, f64::INFINITY], [0.0, 2.0, 9.0], [0.0, f64::INFINITY, 9.0]] {
            assert!(!distances.accepts(&wrong), "{wrong:?}");
        }
    }

    #[test]
    fn components_are_alike_whatever_their_labels_are() {
        let components = case(Components, &[7.0, 7.0, 9.0]);
        assert!(components.accepts(&[1.0, 1.0, 3.0]));
        for wrong in [[1.0, 1.0, 1.0], [1.0, 2.0, 3.0], [1.0, 3.0, 3.0]] {
            assert!(!components.accepts(&wrong), "{wrong:?}");
        }
    }

    #[test]
    fn every_case_has_a_value_of_each_vertex() {
        for case in cases() {
            let ends = case.rows.pairs.iter().flat_map(|(from, to)| [from, to]);
            let mut ends = ends.filter(|id| case.ids.binary_search(id).is_err());
            assert_eq!(ends.next(), None, "{}", case.name);
            assert!(case.accepts(&case.expected), "{}", case.name);
        }
    }
}
