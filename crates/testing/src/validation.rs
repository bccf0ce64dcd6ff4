//! Results that validation suites state: those of LDBC Graphalytics, libgrape and `LAGraph`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use crate::answers::{is_near, shared_data, shared_json};
use crate::samples::{self, Rows, Shape};

use Outcome::{Clustering, Communities, Components, Depths, Distances, Ranks};
use Shape::{Adjacency, Weighted};

/// Kind of a result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome {
    /// Numbers of edges from a vertex.
    Depths,
    /// Sums of weights from a vertex.
    Distances,
    /// Labels of weakly connected components.
    Components,
    /// Labels of communities, which are ids.
    Communities {
        /// Number of iterations.
        iterations: u32,
    },
    /// Local clustering coefficients.
    Clustering,
    /// Ranks with damping 0.85, lost rank spread.
    Ranks {
        /// Number of iterations.
        iterations: u32,
        /// Largest relative difference of a rank.
        error_max: f64,
    },
}

const LDBC: &str = "suites/ldbc-validation";
const LIBGRAPE: &str = "suites/libgrape-p2p-31";
const P2P: &str = "graphs/p2p-31/p2p-31.e.zst";

/// Kind, input, its shape, whether it is undirected, output.
type Entry = (Outcome, &'static str, Shape, bool, &'static str);

/// Edges of the examples of LDBC Graphalytics.
const DIRECTED: &str = "example/example-directed.e";
const UNDIRECTED: &str = "example/example-undirected.e";

const ENTRIES: [Entry; 32] = [
    (Depths, "bfs/dir-input", Adjacency, false, "bfs/dir-output"),
    (Depths, "bfs/undir-input", Adjacency, true, "bfs/undir-output"),
    (Distances, "sssp/dir-input.e", Weighted, false, "sssp/dir-output"),
    (Distances, "sssp/undir-input.e", Weighted, true, "sssp/undir-output"),
    (Components, "wcc/dir-input", Adjacency, false, "wcc/dir-output"),
    (Components, "wcc/undir-input", Adjacency, true, "wcc/undir-output"),
    (Depths, DIRECTED, Weighted, false, "example/example-directed-BFS"),
    (Distances, DIRECTED, Weighted, false, "example/example-directed-SSSP"),
    (Components, DIRECTED, Weighted, false, "example/example-directed-WCC"),
    (Depths, UNDIRECTED, Weighted, true, "example/example-undirected-BFS"),
    (Distances, UNDIRECTED, Weighted, true, "example/example-undirected-SSSP"),
    (Components, UNDIRECTED, Weighted, true, "example/example-undirected-WCC"),
    (Depths, P2P, Weighted, false, "p2p-31-BFS-directed.zst"),
    (Depths, P2P, Weighted, true, "p2p-31-BFS.zst"),
    (Distances, P2P, Weighted, false, "p2p-31-SSSP-directed.zst"),
    (Distances, P2P, Weighted, true, "p2p-31-SSSP.zst"),
    (Components, P2P, Weighted, true, "p2p-31-WCC.zst"),
    (Communities { iterations: 5 }, "cdlp/dir-input", Adjacency, false, "cdlp/dir-output"),
    (Communities { iterations: 5 }, "cdlp/undir-input", Adjacency, true, "cdlp/undir-output"),
    (Communities { iterations: 2 }, DIRECTED, Weighted, false, "example/example-directed-CDLP"),
    (Communities { iterations: 2 }, UNDIRECTED, Weighted, true, "example/example-undirected-CDLP"),
    (Communities { iterations: 10 }, P2P, Weighted, true, "p2p-31-CDLP.zst"),
    (Clustering, "lcc/dir-input", Adjacency, false, "lcc/dir-output"),
    (Clustering, "lcc/undir-input", Adjacency, true, "lcc/undir-output"),
    (Clustering, DIRECTED, Weighted, false, "example/example-directed-LCC"),
    (Clustering, UNDIRECTED, Weighted, true, "example/example-undirected-LCC"),
    (Clustering, P2P, Weighted, true, "p2p-31-LCC.zst"),
    (loose(14), "pr/dir-input", Adjacency, false, "pr/dir-output"),
    (loose(26), "pr/undir-input", Adjacency, true, "pr/undir-output"),
    (close(2), DIRECTED, Weighted, false, "example/example-directed-PR"),
    (close(2), UNDIRECTED, Weighted, true, "example/example-undirected-PR"),
    (close(10), P2P, Weighted, true, "p2p-31-PR.zst"),
];

/// Ranks with the tolerance of LDBC Graphalytics, whose validation graphs need it.
const fn loose(iterations: u32) -> Outcome {
    Ranks { iterations, error_max: 1e-4 }
}

/// Ranks to the last digits.
const fn close(iterations: u32) -> Outcome {
    Ranks { iterations, error_max: 1e-12 }
}

/// Number for a vertex that no path leads to in a column of depths.
const UNREACHED: f64 = i64::MAX as f64;
/// Largest relative difference of a distance, as LDBC Graphalytics has it.
const DISTANCE_ERROR_MAX: f64 = 1e-4;
/// Largest difference of a clustering coefficient.
const CLUSTERING_ERROR_MAX: f64 = 1e-12;

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

    /// Whether values, by vertex, are those of the result: components whatever their labels are,
    /// and what is no integer nearly.
    pub fn accepts(&self, found: &[f64]) -> bool {
        let expected = &self.expected;
        found.len() == expected.len()
            && match self.outcome {
                Depths | Communities { .. } => found.iter().eq(expected),
                Distances => all_near(found, expected, |value| DISTANCE_ERROR_MAX * value),
                Components => alike(found, expected),
                Clustering => all_near(found, expected, |_| CLUSTERING_ERROR_MAX),
                Ranks { error_max, .. } => all_near(found, expected, |value| error_max * value),
            }
    }
}

/// Whether each value differs from the right one by no more than what is allowed of that one.
fn all_near(found: &[f64], expected: &[f64], error: impl Fn(f64) -> f64) -> bool {
    let mut pairs = found.iter().zip(expected);
    pairs.all(|(found, expected)| is_near(*found, *expected, error(*expected)))
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

/// Results of the test programs of `LAGraph`. Vertices are rows, of which the first is 1.
#[derive(Debug)]
pub struct Lagraph {
    /// Symmetric matrices, and how many components each has.
    pub components: Vec<(PathBuf, u64)>,
    /// Symmetric matrices, and how many triangles each has.
    pub triangles: Vec<(PathBuf, u64)>,
    /// Matrix of the karate club, which is one of them.
    pub karate: PathBuf,
    /// Depths of the rows of that matrix in a search from row 31.
    pub levels: Vec<i64>,
    /// Matrices, and the settled ranks of their rows (damping 0.85, lost rank spread).
    pub ranks: Vec<(PathBuf, Vec<f64>)>,
    /// A matrix, and the clustering coefficients of its rows in six digits.
    pub clustering: (PathBuf, Vec<f64>),
    /// A matrix, and the settled communities of its rows, each with the name of a row.
    pub communities: (PathBuf, Vec<f64>),
    /// A matrix, and the strong component of each row, named by its first row.
    pub strong: (PathBuf, Vec<f64>),
    /// A matrix whose weights are all 1, and the edges of its forest in order, the smaller row
    /// first.
    pub forest: (PathBuf, Vec<[u64; 2]>),
}

/// Results of `LAGraph`, or `None` where the shared data is missing (which is said loudly).
///
/// # Panics
/// When they cannot be read.
pub fn lagraph() -> Option<Lagraph> {
    let folder = shared_data()?.join("suites/lagraph");
    let known = shared_json("suites/lagraph/known_results.json")?;
    let counts = |key: &str| -> Vec<(PathBuf, u64)> {
        let counts = known[key].as_object().expect("there are counts");
        counts.iter().map(|(file, count)| (folder.join(file), integer(count) as u64)).collect()
    };
    let values = |file: &str, key: &str| -> (PathBuf, Vec<f64>) {
        let value = |value: &Value| value.as_f64().expect("results are numbers");
        (folder.join(file), list(&known[key]).iter().map(value).collect())
    };
    // Numbers of rows begin with 0 there.
    let rows = |file: &str, key: &str| -> (PathBuf, Vec<f64>) {
        let (path, rows) = values(file, key);
        (path, rows.into_iter().map(|row| row + 1.0).collect())
    };
    let edge = |edge: &Value| {
        let mut ends = [0, 1].map(|end: usize| integer(&edge[end]) as u64 + 1);
        ends.sort_unstable();
        ends
    };
    let forest = list(&known["msf_A_mtx_edges_0based_weight1"]);
    let mut forest: Vec<[u64; 2]> = forest.iter().map(edge).collect();
    forest.sort_unstable();
    let directed = "pagerank_ldbc_directed_example_d0.85_dangling_uniform";
    let levels = list(&known["bfs_levels_karate_source30_0based"]);
    Some(Lagraph {
        components: counts("connected_components"),
        triangles: counts("triangles"),
        karate: folder.join("karate.mtx"),
        levels: levels.iter().map(integer).collect(),
        ranks: vec![
            values("karate.mtx", "pagerank_karate_matlab_d0.85"),
            values("west0067.mtx", "pagerank_west0067_matlab_d0.85"),
            values("ldbc-directed-example.mtx", directed),
        ],
        clustering: values("west0067.mtx", "lcc_west0067"),
        communities: rows("jagmesh7.mtx", "cdlp_jagmesh7_0based"),
        strong: rows("cover.mtx", "scc_cover_0based_label"),
        forest: (folder.join("A.mtx"), forest),
    })
}

fn integer(value: &Value) -> i64 {
    value.as_i64().expect("results are integers")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("results are lists")
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
    fn communities_are_exact_and_shares_near() {
        let communities = case(Communities { iterations: 1 }, &[7.0, 7.0, 9.0]);
        assert!(communities.accepts(&[7.0, 7.0, 9.0]) && !communities.accepts(&[1.0, 1.0, 3.0]));
        let clustering = case(Clustering, &[0.0, 0.5]);
        assert!(clustering.accepts(&[1e-13, 0.5]) && !clustering.accepts(&[1e-11, 0.5]));
        let (ranks, nearer) = (case(loose(1), &[0.25, 0.75]), case(close(1), &[0.25, 0.75]));
        assert!(ranks.accepts(&[0.250_02, 0.75]) && !ranks.accepts(&[0.250_03, 0.75]));
        assert!(nearer.accepts(&[0.25, 0.75]) && !nearer.accepts(&[0.250_02, 0.75]));
        assert!(!ranks.accepts(&[f64::NAN, 0.75]));
    }

    /// The strong components that the authors of `WebGraph` found in a graph of theirs.
    #[test]
    fn strong_components_of_cnr_2000_are_those_of_webgraph() {
        let Some(sample) = samples::sample("cnr-2000") else { return };
        let file = std::fs::File::open(sample.path.with_file_name("cnr-2000.scc.zst")).unwrap();
        let bytes = zstd::stream::decode_all(file).unwrap();
        let label = |bytes: &[u8]| f64::from(i32::from_be_bytes(bytes.try_into().unwrap()));
        let theirs: Vec<f64> = bytes.chunks(4).map(label).collect();
        let answers = sample.answers();
        let ours = answers.integers("scc_min_id").unwrap();
        let ours: Vec<f64> = ours.iter().map(|label| *label as f64).collect();
        assert_eq!((theirs.len(), ours.len()), (325_557, 325_557));
        assert!(alike(&theirs, &ours));
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
