//! Programs whose vertices fall silent: the engine must skip exactly what is inactive.
//!
//! All sums are of integers and all else are minima, so every executor gives the same bits.

use proptest::prelude::*;
use welter_algorithms::Bfs;
use welter_engine::plan::{Index, IndexMode, Layout, Settings};
use welter_engine::{EngineError, Graph as Held, IterationStats, Mode, Workers};
use welter_model::edges::Reading;
use welter_progress::Progress;
use welter_testing::executors::{Executor, Memory, Nearness, executors, judge, workers};
use welter_testing::graph::Graph;
use welter_testing::strategies::{cases, wide_graphs};

use crate::programs::{Classes, Depth, Distance, Flicker, SmallestLabel};

const PLAIN: Reading = Reading {
    undirected: false,
    stated_directed: false,
    reversed: false,
    drop_self_loops: false,
    duplicates: welter_model::edges::Duplicates::Keep,
};
const UNDIRECTED: Reading = Reading { undirected: true, ..PLAIN };

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn smallest_labels(graph in wide_graphs(40, 120), undirected in any::<bool>()) {
        let reading = if undirected { UNDIRECTED } else { PLAIN };
        judge(&graph, reading, &SmallestLabel, Nearness::Bits);
    }

    #[test]
    fn depths(graph in wide_graphs(40, 120), source in 0_u64..40) {
        let program = Depth { source: source % graph.vertices() as u64 };
        judge(&graph, PLAIN, &program, Nearness::Bits);
    }

    #[test]
    fn distances(graph in wide_graphs(40, 120), source in 0_u64..40) {
        let program = Distance { source: source % graph.vertices() as u64 };
        judge(&graph, PLAIN, &program, Nearness::Bits);
    }

    #[test]
    fn nobody_speaks_out_of_turn(
        graph in wide_graphs(40, 120),
        one_in in 1_u64..20,
        rounds in 0_u64..12,
    ) {
        judge(&graph, PLAIN, &Flicker { one_in, rounds }, Nearness::Bits);
    }

    #[test]
    fn wide_accumulators(graph in wide_graphs(40, 120)) {
        judge(&graph, UNDIRECTED, &Classes, Nearness::Bits);
    }
}

#[test]
fn a_path_is_walked_to_its_end() {
    let pairs = (0..300).map(|v| [v, v + 1]).collect();
    let path = Graph::new(301, pairs).spread(50, false);
    let answer = judge(&path, PLAIN, &Depth { source: 0 }, Nearness::Bits);
    assert_eq!(answer.iterations, 301);
    assert_eq!(
        answer.values.iter().map(|value| value.0).collect::<Vec<_>>(),
        (0..301).collect::<Vec<i64>>()
    );
    let answer = judge(&path, UNDIRECTED, &SmallestLabel, Nearness::Bits);
    assert_eq!(answer.iterations, 301);
    assert!(answer.values.iter().all(|value| value.0 == 0));
}

#[test]
fn a_run_ends_when_nobody_is_active() {
    let answer = judge(&Graph::new(5, vec![]), PLAIN, &SmallestLabel, Nearness::Bits);
    assert_eq!(answer.iterations, 1);
}

/// A graph that was ingested for searches.
fn held(graph: &Graph, reading: Reading, settings: Settings) -> (Held, &'static Workers) {
    let executor = executors().into_iter().find_map(|executor| match executor {
        Executor::Memory(memory) => Some(memory),
        Executor::Reference | Executor::Kept(..) => None,
    });
    let memory = Memory { settings, ..executor.unwrap() };
    let (list, ids) = memory.input(graph);
    let plan = memory.plan(graph, reading, Layout::of::<Bfs>()).unwrap();
    let workers = workers(plan.premises.threads);
    let progress = Progress::new();
    let held = Held::ingest(Box::new(list), &ids, reading, &plan, workers, &progress).unwrap();
    (held, workers)
}

/// Levels of a search, one an iteration.
fn searched(graph: &Graph, reading: Reading, settings: Settings) -> Vec<IterationStats> {
    let (held, workers) = held(graph, reading, settings);
    welter_engine::run(&held, &Bfs::new(vec![0]), workers, &Progress::new()).unwrap().levels
}

#[test]
fn rows_alone_serve_no_program_that_must_skip_who_is_silent() {
    let graph = Graph::new(50, (1..50).map(|v| [v / 2, v]).collect());
    let settings = Settings { index: IndexMode::Rows, ..Settings::default() };
    let (held, workers) = held(&graph, PLAIN, settings);
    let program = Flicker { one_in: 3, rounds: 4 };
    let refused = welter_engine::run(&held, &program, workers, &Progress::new());
    assert!(matches!(refused, Err(EngineError::Internal(_))));
}

#[test]
fn rows_read_each_edge_about_once() {
    // A hub that leads to all, a path that leads away, and edges back that are never followed.
    let mut pairs: Vec<_> = (1..3000).map(|v| [0, v]).collect();
    pairs.extend((3000..4000).map(|v| [v - 1, v]));
    pairs.extend((1..3000).flat_map(|v| (1..9).map(move |back| [v, (v * 7 + back) % 3000])));
    let graph = Graph::new(4000, pairs);
    let edges = graph.pairs.len() as u64;
    let settings = |index| Settings { threads: Some(2), index, ..Settings::default() };
    let levels = searched(&graph, PLAIN, settings(IndexMode::Rows));
    assert_eq!(levels.len(), 1002);
    assert!(levels.iter().any(|level| level.mode == Mode::Pull), "{:?}", &levels[..3]);
    let looked: u64 = levels.iter().map(|level| level.edges).sum();
    assert!(looked <= 3 * edges / 2, "{looked} of {edges}");
    // By bands, and by rows once a thousand lookups have paid for them.
    let levels = searched(&graph, PLAIN, settings(IndexMode::Auto));
    assert_eq!(levels.len(), 1002);
    assert!(levels.iter().all(|level| level.mode != Mode::Pull));
    let tail: u64 = levels[levels.len() - 100..].iter().map(|level| level.edges).sum();
    assert!(tail <= 100, "{tail}");
}

#[test]
fn where_rows_do_not_fit_bands_do() {
    let pairs: Vec<_> = (1..60_000).map(|v| [v / 2, v]).collect();
    let graph = Graph::new(60_000, pairs);
    let memory =
        |bytes| Settings { memory_bytes: bytes, index: IndexMode::Rows, ..Settings::default() };
    let executor =
        Memory { settings: memory(None), part_edges_max: 999, slots_stated: true, blind: false };
    let plan = executor.plan(&graph, PLAIN, Layout::of::<Bfs>()).unwrap();
    assert_eq!(plan.index(), Index::Rows { both_directions: true });
    assert!(plan.memory.rows > 60_000 * 8);
    let most = plan.memory.peak() - 1;
    let executor = Memory { settings: memory(Some(most)), ..executor };
    let plan = executor.plan(&graph, PLAIN, Layout::of::<Bfs>()).unwrap();
    assert!(!plan.index().has_rows() && plan.memory.peak() <= most);
    let levels = searched(&graph, PLAIN, memory(Some(most)));
    assert_eq!(levels.len(), 17);
}
