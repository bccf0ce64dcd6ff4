//! The validation suites of LDBC Graphalytics, libgrape and `LAGraph`.

use std::fs;
use std::path::Path;

use welter_testing::answers::{shared_data, sizes};
use welter_testing::graph::Graph;
use welter_testing::samples::{self, Shape};
use welter_testing::validation::{Outcome, cases, lagraph};

use crate::{components, depths, distances};

#[test]
fn the_outputs_of_ldbc_and_libgrape() {
    for case in cases() {
        let weights = (!case.rows.weights.is_empty()).then(|| case.rows.weights.clone());
        let graph = Graph::from_ids(&case.ids, &case.rows.pairs, weights);
        let source = || case.source() as u64;
        let found: Vec<f64> = match case.outcome {
            Outcome::Depths => {
                let depths = depths(&graph, case.undirected, source());
                depths.into_iter().map(|depth| depth as f64).collect()
            }
            Outcome::Distances => distances(&graph, case.undirected, source()),
            Outcome::Components => {
                components(&graph).into_iter().map(|label| label as f64).collect()
            }
            // Results that are compared where their programs are.
            Outcome::Communities { .. } | Outcome::Clustering | Outcome::Ranks { .. } => continue,
        };
        assert!(case.accepts(&found), "{}", case.name);
    }
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
    let Some(known) = lagraph() else { return };
    assert_eq!(known.components.len(), 12);
    for (path, count) in &known.components {
        let found = sizes(&components(&matrix(path))).len() as u64;
        assert_eq!(found, *count, "{}", path.display());
    }
    assert_eq!(depths(&matrix(&known.karate), false, 30), known.levels);
}

/// The graph of the GAP suite, whose outputs state its size only: distances fit each other and the
/// edges, with weights and without.
#[test]
fn the_graph_of_gap_in_two_formats() {
    let Some(data) = shared_data() else { return };
    let folder = data.join("suites/gapbs");
    let read = |name: &str, shape| samples::read(&folder.join("graphs").join(name), shape);
    let weighted = read("4.wel", Shape::Weighted);
    let ids: Vec<u64> = (0..14).collect();
    let ones = Graph::from_ids(&ids, &read("4.el", Shape::Pairs(0)).pairs, None);
    let heavy = Graph::from_ids(&ids, &weighted.pairs, Some(weighted.weights));
    let output = fs::read_to_string(folder.join("reference/graph-4.el.out"));
    let edges = ones.simple().pairs.len();
    let line = format!("Graph has 14 nodes and {edges} directed edges");
    assert!(output.expect("there is an output").starts_with(&line), "{line}");
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
