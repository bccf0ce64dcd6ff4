//! All graphs of the shared data.

use serde_json::Value;
use welter_algorithms::{BfsTree, Sssp};
use welter_model::table::{ColumnData, NO_VERTEX};
use welter_testing::answers::{Answers, by_depth, derived_weight, is_near, sizes};
use welter_testing::executors::Executor;
use welter_testing::graph::Graph;
use welter_testing::samples::{Sample, samples};

use crate::{
    columns, components, depths, distances, engines, forest, simple, strong_components,
    strong_labels,
};

/// A graph with the vertex that searches begin at.
fn each(mut test: impl FnMut(&Sample, &Answers, &Graph, u64)) {
    for sample in samples() {
        let answers = sample.answers();
        let graph = sample.load(&answers);
        let id = answers.json["source_id"].as_u64().expect("answers have a source");
        let source = answers.ids().binary_search(&id).expect("the source is a vertex") as u64;
        test(&sample, &answers, &graph, source);
    }
}

fn counts(value: &Value) -> Vec<u64> {
    value.as_array().expect("a list").iter().filter_map(Value::as_u64).collect()
}

#[test]
fn derived_weights_are_those_of_the_answers() {
    for (from, to, weight) in [
        (0, 1, 37.0),
        (1, 2, 151.0),
        (2, 1, 151.0),
        (30, 1412, 195.0),
        (3, 8297, 77.0),
        (26_860_698, 625_022, 117.0),
    ] {
        assert!((derived_weight(from, to) - weight).abs() < 0.5, "{from} {to}");
    }
}

#[test]
fn depths_of_every_graph() {
    each(|sample, answers, graph, source| {
        let found = depths(graph, !answers.directed(), source);
        assert_eq!(Some(&found[..]), answers.integers("bfs_depth"), "{}", sample.name);
        assert_eq!(by_depth(&found), counts(&answers.json["bfs"]["count_by_depth"]));
        if answers.directed() {
            let found = depths(graph, true, source);
            let expected = counts(&answers.json["bfs_undirected_view"]["count_by_depth"]);
            assert_eq!(by_depth(&found), expected, "{} undirected", sample.name);
        }
    });
}

#[test]
fn parents_of_every_graph_lie_one_edge_nearer() {
    each(|sample, answers, graph, source| {
        let Some(depths) = answers.integers("bfs_depth") else { return };
        let reading = simple(!answers.directed());
        let executor = Executor::Memory(engines(graph)[0].clone());
        let values = executor.run(graph, reading, &BfsTree::new(vec![source])).values;
        let parents = <_ as welter_model::program::Value>::columns(&values[..]).into_iter();
        let Some((_, ColumnData::Vertices(parents))) = parents.last() else {
            panic!("parents are vertices")
        };
        // The smallest of the sources of edges from one level up.
        let mut expected = vec![NO_VERTEX; depths.len()];
        expected[source as usize] = source;
        for &[from, to] in &graph.pairs {
            let both = [[from, to], [to, from]];
            for [from, to] in &both[..if reading.undirected { 2 } else { 1 }] {
                let (near, far) = (depths[*from as usize], depths[*to as usize]);
                if near >= 0 && near + 1 == far {
                    let least = &mut expected[*to as usize];
                    *least = (*least).min((*from).into());
                }
            }
        }
        assert!(parents == expected, "{}", sample.name);
    });
}

#[test]
fn distances_of_every_graph() {
    each(|sample, answers, graph, source| {
        let graph = answers.weighted(graph);
        // Integers where every vertex is reached.
        let integers =
            || answers.integers("sssp").map(|all| all.iter().map(|d| *d as f64).collect());
        let floats: Option<Vec<f64>> = answers.floats("sssp").map(<[f64]>::to_vec);
        let expected = floats.or_else(integers).expect("answers have distances");
        assert!(expected.iter().all(|distance| *distance >= 0.0));
        // All weights are integers, so sums are exact.
        let found = distances(&graph, !answers.directed(), source);
        assert!(found == expected, "{}", sample.name);
        let executor = Executor::Memory(engines(&graph)[0].clone());
        let program = Sssp::<f32>::new(vec![source], 100.0);
        let values = executor.run(&graph, simple(!answers.directed()), &program).values;
        let ColumnData::F32(narrow) = columns(&values) else { panic!("f32 makes f32") };
        let near = |(found, expected): (&f32, &f64)| {
            is_near(f64::from(*found), *expected, 1e-4 * expected)
        };
        assert!(narrow.iter().zip(&expected).all(near), "{} in f32", sample.name);
    });
}

#[test]
fn strong_components_of_every_graph() {
    each(|sample, answers, graph, _| {
        let ids = answers.ids();
        let found = strong_components(graph, !answers.directed());
        assert!(strong_labels(graph, !answers.directed()) == found, "{} by labels", sample.name);
        let labels: Vec<i64> = found.iter().map(|label| ids[*label as usize] as i64).collect();
        // Where edges have no direction, whatever hangs together is strongly connected.
        let (name, figures) =
            if answers.directed() { ("scc_min_id", "scc") } else { ("wcc_min_id", "wcc") };
        assert_eq!(Some(&labels[..]), answers.integers(name), "{}", sample.name);
        let (sizes, figures) = (sizes(&found), &answers.json[figures]);
        assert_eq!(Some(sizes.len() as u64), figures["count"].as_u64(), "{}", sample.name);
        let largest = counts(&figures["largest_sizes"]);
        assert_eq!(sizes[..largest.len()], largest, "{}", sample.name);
    });
}

#[test]
fn forests_of_every_graph() {
    each(|sample, answers, graph, _| {
        let weights = forest(&answers.weighted(graph));
        let expected = &answers.json["msf"];
        assert_eq!(Some(weights.len() as u64), expected["edges"].as_u64(), "{}", sample.name);
        // All weights are integers, so sums are exact.
        let total = expected["total_weight"].as_f64().expect("a number");
        assert!((weights.iter().sum::<f64>() - total).abs() < 0.5, "{}", sample.name);
    });
}

#[test]
fn components_of_every_graph() {
    each(|sample, answers, graph, _| {
        let ids = answers.ids();
        let found = components(graph);
        let labels: Vec<i64> = found.iter().map(|label| ids[*label as usize] as i64).collect();
        assert_eq!(Some(&labels[..]), answers.integers("wcc_min_id"), "{}", sample.name);
        let sizes = sizes(&found);
        assert_eq!(Some(sizes.len() as u64), answers.json["wcc"]["count"].as_u64());
        let largest = counts(&answers.json["wcc"]["largest_sizes"]);
        assert_eq!(sizes[..largest.len()], largest, "{}", sample.name);
    });
}
