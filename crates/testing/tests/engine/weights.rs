//! The mean weight that a sample of chunks shows.

use welter_algorithms::Sssp;
use welter_engine::plan::Layout;
use welter_model::edges::Reading;
use welter_progress::Progress;
use welter_testing::executors::{Executor, Memory, executors, workers};
use welter_testing::graph::Graph;

fn mean(memory: &Memory, graph: &Graph) -> f64 {
    held(memory, graph).mean_weight().unwrap()
}

fn held(memory: &Memory, graph: &Graph) -> welter_engine::Graph {
    let (list, ids) = memory.input(graph);
    let plan = memory.plan(graph, Reading::default(), Layout::of::<Sssp<f64>>()).unwrap();
    let (workers, progress) = (workers(plan.premises.threads), Progress::new());
    let list = Box::new(list);
    let held =
        welter_engine::Graph::ingest(list, &ids, Reading::default(), &plan, workers, &progress);
    held.unwrap()
}

#[test]
fn weights_add_up_at_the_vertices_that_edges_leave_to_the_same_bits() {
    let pairs: Vec<[u32; 2]> = (0..60_000_u32).map(|e| [e * e % 997, e * 31 % 9001]).collect();
    let weights: Vec<f64> = (0..60_000_u32).map(|edge| f64::from(edge % 1013) / 3.0).collect();
    let graph = Graph { weights: Some(weights), ..Graph::new(9001, pairs) };
    let numbers = graph.numbers();
    let mut expected = vec![0.0; graph.vertices()];
    for (edge, [from, _]) in graph.pairs.iter().enumerate() {
        expected[numbers[*from as usize]] += graph.weight(edge);
    }
    let mut first: Option<Vec<f64>> = None;
    for executor in executors() {
        let Executor::Memory(memory) = executor else { continue };
        let found = held(&memory, &graph).out_weights().unwrap();
        let error = welter_testing::relative_error(&expected, &found);
        assert!(error < 1e-12, "{error} by {memory:?}");
        assert_eq!(first.get_or_insert_with(|| found.clone()), &found, "by {memory:?}");
    }
    let none = held(&memory_of_default(), &Graph::new(3, vec![[0, 1], [0, 2]]));
    assert_eq!(none.out_weights().unwrap(), [2.0, 0.0, 0.0]);
}

#[test]
fn the_mean_weight_is_about_that_of_all_edges() {
    let pairs: Vec<[u32; 2]> = (0..60_000_u32).map(|e| [e * 7 % 9001, e * 31 % 9001]).collect();
    let weights = |weight: fn(u32) -> f64| Some((0..60_000).map(weight).collect());
    let graph = |weights| Graph { weights, ..Graph::new(9001, pairs.clone()) };
    for executor in executors() {
        let Executor::Memory(memory) = executor else { continue };
        let near = |weights, expected: f64| {
            let found = mean(&memory, &graph(weights));
            assert!((found - expected).abs() < 0.05 * expected, "{found} by {memory:?}");
        };
        near(None, 1.0);
        near(weights(|_| 0.25), 0.25);
        near(weights(|edge| f64::from(edge % 101)), 50.0);
        near(weights(|edge| if edge % 3 == 0 { f64::INFINITY } else { 8.0 }), 8.0);
        near(weights(|_| f64::INFINITY), 1.0);
    }
    assert!((mean(&memory_of_default(), &Graph::new(3, vec![])) - 1.0).abs() < 1e-9);
}

fn memory_of_default() -> Memory {
    let memory = executors().into_iter().find_map(|executor| match executor {
        Executor::Memory(memory) => Some(memory),
        Executor::Reference | Executor::Kept(..) => None,
    });
    memory.unwrap()
}
