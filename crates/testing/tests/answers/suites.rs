//! The validation suites of LDBC Graphalytics, libgrape and `LAGraph`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use welter_testing::answers::shared_data;
use welter_testing::graph::Graph;
use welter_testing::samples::{self, Shape};

use crate::{components, depths, distances, sizes};

use Shape::{Adjacency, Weighted};

/// Result that is looked for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum What {
    Depths,
    Distances,
    Components,
}

const LDBC: &str = "suites/ldbc-validation";
const LIBGRAPE: &str = "suites/libgrape-p2p-31";
const P2P: &str = "graphs/p2p-31/p2p-31.e.zst";

/// Input, its shape, whether it is undirected, output.
type Case = (What, &'static str, Shape, bool, &'static str);

const CASES: [Case; 17] = [
    (What::Depths, "bfs/dir-input", Adjacency, false, "bfs/dir-output"),
    (What::Depths, "bfs/undir-input", Adjacency, true, "bfs/undir-output"),
    (What::Distances, "sssp/dir-input.e", Weighted, false, "sssp/dir-output"),
    (What::Distances, "sssp/undir-input.e", Weighted, true, "sssp/undir-output"),
    (What::Components, "wcc/dir-input", Adjacency, false, "wcc/dir-output"),
    (What::Components, "wcc/undir-input", Adjacency, true, "wcc/undir-output"),
    (What::Depths, "example/example-directed.e", Weighted, false, "example/example-directed-BFS"),
    (
        What::Distances,
        "example/example-directed.e",
        Weighted,
        false,
        "example/example-directed-SSSP",
    ),
    (
        What::Components,
        "example/example-directed.e",
        Weighted,
        false,
        "example/example-directed-WCC",
    ),
    (
        What::Depths,
        "example/example-undirected.e",
        Weighted,
        true,
        "example/example-undirected-BFS",
    ),
    (
        What::Distances,
        "example/example-undirected.e",
        Weighted,
        true,
        "example/example-undirected-SSSP",
    ),
    (
        What::Components,
        "example/example-undirected.e",
        Weighted,
        true,
        "example/example-undirected-WCC",
    ),
    (What::Depths, P2P, Weighted, false, "p2p-31-BFS-directed.zst"),
    (What::Depths, P2P, Weighted, true, "p2p-31-BFS.zst"),
    (What::Distances, P2P, Weighted, false, "p2p-31-SSSP-directed.zst"),
    (What::Distances, P2P, Weighted, true, "p2p-31-SSSP.zst"),
    (What::Components, P2P, Weighted, true, "p2p-31-WCC.zst"),
];

/// Number for a vertex that no path leads to in a column of depths.
const UNREACHED: f64 = i64::MAX as f64;

#[test]
fn the_outputs_of_ldbc_and_libgrape() {
    let Some(data) = shared_data() else { return };
    for (what, input, shape, undirected, output) in CASES {
        let is_p2p = input == P2P;
        let input = if is_p2p { data.join(P2P) } else { data.join(LDBC).join(input) };
        let output = data.join(if is_p2p { LIBGRAPE } else { LDBC }).join(output);
        let name = output.display();
        let (ids, expected) = samples::values(&output);
        let rows = samples::read(&input, shape);
        let weights = (!rows.weights.is_empty()).then_some(rows.weights);
        let graph = Graph::from_ids(&ids, &rows.pairs, weights);
        // A search begins at the only vertex that is 0 away.
        let source = || {
            let mut zeros = (0..expected.len()).filter(|vertex| expected[*vertex] == 0.0);
            let source = zeros.next().expect("a search has a source");
            assert_eq!(zeros.next(), None, "{name}");
            source as u64
        };
        match what {
            What::Depths => {
                let depth = |depth: &f64| if *depth >= UNREACHED { -1 } else { *depth as i64 };
                let expected: Vec<i64> = expected.iter().map(depth).collect();
                assert_eq!(depths(&graph, undirected, source()), expected, "{name}");
            }
            What::Distances => {
                let found = distances(&graph, undirected, source());
                let near = |(found, expected): (&f64, &f64)| {
                    (found.is_infinite() && expected.is_infinite())
                        || (found - expected).abs() <= 1e-4 * expected
                };
                assert!(found.iter().zip(&expected).all(near), "{name}");
            }
            What::Components => assert!(alike(&components(&graph), &expected), "{name}"),
        }
    }
}

/// Whether vertices have the same label where they have the same smallest vertex, and only there.
fn alike(found: &[u64], expected: &[f64]) -> bool {
    // Labels are ids, so their bits tell them apart.
    let (mut labels, mut firsts) = (BTreeMap::new(), BTreeMap::new());
    found.len() == expected.len()
        && found.iter().zip(expected).all(|(found, expected)| {
            let expected = expected.to_bits();
            *labels.entry(*found).or_insert(expected) == expected
                && *firsts.entry(expected).or_insert(*found) == *found
        })
}

/// A matrix of `LAGraph` as a graph whose vertices are all rows.
fn matrix(path: &Path) -> Graph {
    let text = fs::read_to_string(path).expect("a matrix is text");
    let size = text.lines().find(|line| !line.starts_with('%')).expect("a matrix has a size");
    let rows: u64 = size.split_whitespace().next().and_then(|n| n.parse().ok()).expect("rows");
    let ids: Vec<u64> = (1..=rows).collect();
    Graph::from_ids(&ids, &samples::parse(&text, Shape::MatrixMarket).pairs, None)
}

#[test]
fn the_numbers_of_lagraph() {
    let Some(data) = shared_data() else { return };
    let folder = data.join("suites/lagraph");
    let text = fs::read(folder.join("known_results.json")).expect("there are results");
    let known: serde_json::Value = serde_json::from_slice(&text).expect("results are JSON");
    let counts = known["connected_components"].as_object().expect("there are counts");
    assert_eq!(counts.len(), 12);
    for (file, count) in counts {
        let found = sizes(&components(&matrix(&folder.join(file)))).len();
        assert_eq!(Some(found as u64), count.as_u64(), "{file}");
    }
    let levels = known["bfs_levels_karate_source30_0based"].as_array().expect("there are levels");
    let levels: Vec<i64> = levels.iter().filter_map(serde_json::Value::as_i64).collect();
    assert_eq!(depths(&matrix(&folder.join("karate.mtx")), false, 30), levels);
}

/// The graph of the GAP suite, whose outputs state its size only: distances fit each other and the
/// edges, with weights and without.
#[test]
fn the_graph_of_gap_in_two_formats() {
    let Some(data) = shared_data() else { return };
    let folder = data.join("suites/gapbs");
    let read = |name: &str, shape| samples::read(&folder.join("graphs").join(name), shape);
    let weighted = read("4.wel", Weighted);
    let ids: Vec<u64> = (0..14).collect();
    let ones = Graph::from_ids(&ids, &read("4.el", Shape::Pairs(0)).pairs, None);
    let heavy = Graph::from_ids(&ids, &weighted.pairs, Some(weighted.weights));
    let output = fs::read_to_string(folder.join("reference/graph-4.el.out"));
    let edges = ones.simple().pairs.len();
    let said = format!("Graph has 14 nodes and {edges} directed edges");
    assert!(output.expect("there is an output").starts_with(&said), "{said}");
    assert_eq!(heavy.simple().pairs, ones.simple().pairs);
    for source in 0..14 {
        let depths = depths(&ones, false, source);
        let hops = distances(&ones, false, source);
        let lengths = distances(&heavy, false, source);
        for vertex in 0..14 {
            let reached = depths[vertex] >= 0;
            let hop = hops[vertex];
            assert_eq!(if hop.is_finite() { hop as i64 } else { -1 }, depths[vertex]);
            assert_eq!(lengths[vertex].is_finite(), reached);
        }
        // No edge leads to a vertex by a shorter way.
        for (edge, &[from, to]) in heavy.pairs.iter().enumerate() {
            assert!(lengths[to as usize] <= lengths[from as usize] + heavy.weight(edge));
        }
    }
}
