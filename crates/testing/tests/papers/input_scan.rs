//! Programs on graphs that stay in their input, against plain loops over the edges that were
//! listed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;
use welter_algorithms::spmv::{Product, Vector};
use welter_algorithms::{Bfs, Float, Levels, Wcc};
use welter_engine::plan::{InputScanCost, Layout, Plan, Settings, Shape};
use welter_engine::{pass_over, run};
use welter_model::edges::{Batch, EdgeList, EdgeStream, Reading, StreamError};
use welter_model::ids::IdMap;
use welter_model::program::Value;
use welter_model::table::ColumnData;
use welter_progress::{FailureKind, Progress};
use welter_testing::executors::{MACHINE, Memory, Room, workers};
use welter_testing::graph::Graph;
use welter_testing::plain;
use welter_testing::strategies::wide_graphs;

/// Several numbers of threads, and lengths of parts.
fn executors() -> [Memory; 3] {
    [(1, 1000, true), (2, 7, false), (3, 1, true)].map(|(threads, part_edges_max, slots_stated)| {
        let settings = Settings { threads: Some(threads), ..Settings::default() };
        Memory { settings, part_edges_max, slots_stated, blind: threads == 3 }
    })
}

/// The edges as they are read: numbers of vertices, and weights.
fn arcs(graph: &Graph, reading: Reading) -> Vec<(usize, usize, f64)> {
    let numbers = graph.numbers();
    let mut arcs = Vec::new();
    for (edge, pair) in graph.pairs.iter().enumerate() {
        let [source, target] = pair.map(|slot| numbers[slot as usize]);
        if source == target && reading.drop_self_loops {
            continue;
        }
        let weight = graph.weight(edge);
        if reading.undirected || !reading.reversed {
            arcs.push((source, target, weight));
        }
        if reading.reversed && !reading.undirected || reading.undirected && source != target {
            arcs.push((target, source, weight));
        }
    }
    arcs
}

/// For each slot of an input with these ids something of its vertex; `none` where there is none.
fn by_slot<T: Clone>(graph: &Graph, ids: &IdMap, of_vertices: &[T], none: &T) -> Vec<T> {
    if *ids != IdMap::Same {
        return of_vertices.to_vec();
    }
    let mut of_vertices = of_vertices.iter();
    let mut of = |present: &bool| if *present { of_vertices.next() } else { None };
    graph.present.iter().map(|present| of(present).unwrap_or(none).clone()).collect()
}

/// Products have the bits of a loop in the order of the input.
fn products<F: Float + PartialEq + std::fmt::Debug>(
    graph: &Graph,
    reading: Reading,
    vector: Option<Vector>,
) {
    let mut sums = vec![F::default(); graph.vertices()];
    for (source, target, weight) in arcs(graph, reading) {
        let weight = F::of(weight);
        let element = vector.map(|vector| F::of(vector.at(source as u64)));
        let product = element.map_or(weight, |element| weight * element);
        sums[target] = sums[target] + product;
    }
    let elements: Vec<f64> = (0..graph.vertices() as u64)
        .map(|vertex| vector.map_or(1.0, |vector| vector.at(vertex)))
        .collect();
    for executor in executors() {
        let answer = executor.count(graph, reading, |ids| {
            let elements = by_slot(graph, ids, &elements, &f64::NAN);
            Product::<F>::new(vector.map(|_| elements.into_iter()))
        });
        let expected = F::column(sums.clone());
        assert_eq!(Value::columns(&answer.values), [("value", expected)], "{executor:?}");
    }
}

/// Components have the smallest numbers of a search from each vertex.
fn components(graph: &Graph, reading: Reading) {
    let expected = ColumnData::Vertices(plain::components(graph));
    for executor in executors() {
        let program = (|_: &IdMap| Wcc, Layout::of_stream::<Wcc>(), Room::All, false);
        let labels = executor.pass_over(graph, reading, program, |_, _| panic!("gave up"));
        let columns = Value::columns(&labels.expect("components need one pass"));
        assert_eq!(columns, [("component", expected.clone())], "{executor:?}");
    }
}

/// Depths by a queue; -1 where nothing leads.
fn depths(graph: &Graph, reading: Reading, sources: &[usize]) -> Vec<i64> {
    let mut rows = vec![Vec::new(); graph.vertices()];
    for (source, target, _) in arcs(graph, reading) {
        rows[source].push(target);
    }
    let mut depths = vec![-1; graph.vertices()];
    let mut queue: Vec<usize> = Vec::new();
    for &source in sources {
        if depths[source] < 0 {
            depths[source] = 0;
            queue.push(source);
        }
    }
    let mut next = 0;
    while let Some(&vertex) = queue.get(next) {
        for &target in &rows[vertex] {
            if depths[target] < 0 {
                depths[target] = depths[vertex] + 1;
                queue.push(target);
            }
        }
        next += 1;
    }
    depths
}

/// Searches with room for some numbers of edges; says how many gave up.
fn searches(graph: &Graph, reading: Reading, sources: &[usize], rooms: &[Room]) -> usize {
    let expected = ColumnData::I64(depths(graph, reading, sources));
    let (mut gave_up, layout) = (0, Layout::of::<Bfs>());
    for executor in executors() {
        for (&room, begun) in rooms.iter().flat_map(|room| [(room, false), (room, true)]) {
            let program = |ids: &IdMap| {
                let is_source: Vec<bool> =
                    (0..graph.vertices()).map(|vertex| sources.contains(&vertex)).collect();
                let is_source = by_slot(graph, ids, &is_source, &false);
                let slots = is_source.iter().enumerate().filter(|(_, is_source)| **is_source);
                Levels::new(slots.map(|(slot, _)| slot as u64).collect())
            };
            let found = executor.pass_over(
                graph,
                reading,
                (program, layout, room, begun),
                |made, workers| {
                    gave_up += 1;
                    let sources = sources.iter().map(|&source| source as u64).collect();
                    let outcome = run(made, &Bfs::new(sources), workers, &Progress::new());
                    let values =
                        outcome.and_then(|outcome| Ok(outcome.values.whole()?.into_owned()));
                    let columns = Value::columns(&values.expect("the graph was made"));
                    assert_eq!(columns, [("depth", expected.clone())], "{executor:?}, {room:?}");
                },
            );
            if let Some(values) = found {
                let columns = Value::columns(&values);
                assert_eq!(columns, [("depth", expected.clone())], "{executor:?}, {room:?}");
            }
        }
    }
    gave_up
}

fn readings() -> impl Strategy<Value = Reading> {
    any::<[bool; 3]>().prop_map(|[undirected, reversed, drop_self_loops]| Reading {
        undirected,
        reversed,
        drop_self_loops,
        ..Reading::default()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn products_are_those_of_a_loop(
        graph in wide_graphs(60, 200),
        reading in readings(),
        narrow in any::<bool>(),
        seed in proptest::option::of(any::<u64>()),
    ) {
        let vector = seed.map(|seed| Vector::Random { seed });
        if narrow {
            products::<f32>(&graph, reading, vector);
        } else {
            products::<f64>(&graph, reading, vector);
        }
    }

    #[test]
    fn components_are_those_of_a_search(graph in wide_graphs(80, 120), reading in readings()) {
        components(&graph, reading);
    }

    #[test]
    fn depths_are_those_of_a_queue(
        graph in wide_graphs(80, 240),
        reading in readings(),
        picks in proptest::collection::vec(any::<prop::sample::Index>(), 1..3),
    ) {
        if graph.vertices() > 0 {
            let sources: Vec<usize> =
                picks.iter().map(|pick| pick.index(graph.vertices())).collect();
            let some = Room::Edges(graph.pairs.len() as u64 / 3);
            searches(&graph, reading, &sources, &[Room::Edges(0), some, Room::All]);
        }
    }
}

#[test]
fn a_search_that_does_not_spread_gives_up() {
    // A path, whose edges are listed from its end so that no pass gets farther than a level, beside
    // more edges that lead nowhere than there is room for.
    let (path, others) = (200, 1_000_000);
    let along = (1..path).rev().map(|vertex| [vertex - 1, vertex]);
    let beside = (0..others).map(|edge| [path + edge % 5000, path + 5000 + edge % 7001]);
    let graph = Graph::new((path + 12_001) as usize, along.chain(beside).collect());
    assert_eq!(searches(&graph, Reading::default(), &[0], &[Room::ToBeMade]), 6);
}

#[test]
fn a_search_that_spreads_ends_over_the_input() {
    // Each vertex leads to the sixteen below it, and to one that was reached long before.
    let vertices = 1 << 16;
    let tree = (1..vertices).map(|vertex| [(vertex - 1) / 16, vertex]);
    let back = (1..vertices).map(|vertex| [vertex, vertex / 512]);
    let graph = Graph::new(vertices as usize, tree.chain(back).collect());
    let rooms = [Room::Edges(0), Room::Edges(30_000), Room::All];
    assert_eq!(searches(&graph, Reading::default(), &[0], &rooms), 0);
}

/// Edges that count how often all of them are read, and note what may be kept of them.
struct Counted {
    edges: EdgeList,
    read: Arc<AtomicU64>,
    spared: Arc<AtomicU64>,
}

impl EdgeStream for Counted {
    fn parts(&self) -> usize {
        self.edges.parts()
    }

    fn edges(&self) -> u64 {
        self.edges.edges()
    }

    fn weighted(&self) -> bool {
        false
    }

    fn slots(&self) -> Option<u64> {
        self.edges.slots()
    }

    fn spare_memory(&self, bytes: u64) {
        self.spared.store(bytes, Ordering::Relaxed);
    }

    fn read(
        &self,
        part: usize,
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        self.edges.read(part, &mut |batch| {
            self.read.fetch_add(batch.pairs.len() as u64, Ordering::Relaxed);
            visit(batch)
        })
    }
}

#[test]
fn an_input_is_read_once_less_where_the_first_edges_were_noted() {
    let slots = 1 << 16;
    // Each vertex leads to the sixteen below it: four levels.
    let tree = (1..slots).map(|vertex| [(vertex - 1) / 16, vertex]);
    let pairs: Vec<[u32; 2]> = tree.collect();
    let edges = pairs.len() as u64;
    let input_scan = InputScanCost { always: true, ..InputScanCost::of_stream::<Levels>() };
    let layout = Layout { input_scan: Some(input_scan), ..Layout::of::<Bfs>() };
    let shape =
        Shape { slots: u64::from(slots), edges, weighted: false, estimated: false, input_bytes: 0 };
    let plan = |memory_bytes| {
        let settings = Settings { threads: Some(2), memory_bytes, ..Settings::default() };
        Plan::new(shape, layout, &settings, &MACHINE).unwrap()
    };
    // Too little to keep edges before the last level.
    let spare_bytes = 1 << 20;
    let plan = plan(Some(plan(None).memory.peak() + spare_bytes));
    assert!(plan.scans_input());
    let (workers, progress) = (workers(2), Progress::new());
    let read = |begins: &[u64]| {
        let (read, spared) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
        let mut list = EdgeList::from_pairs(pairs.clone());
        list.set_slots(u64::from(slots));
        let stream = Counted { edges: list, read: read.clone(), spared: spared.clone() };
        let held = welter_engine::Graph::ingest_for_search(
            (Box::new(stream), begins),
            &IdMap::Declared,
            Reading::default(),
            &plan,
            workers,
            &progress,
        );
        let found = pass_over(&held.unwrap(), &Levels::new(vec![0]), workers, &progress).unwrap();
        assert!(found.is_some());
        assert_eq!(spared.load(Ordering::Relaxed), spare_bytes);
        read.load(Ordering::Relaxed) / edges
    };
    let [unknown, other, noted] = [&[][..], &[1], &[0]].map(read);
    assert_eq!((other, noted), (unknown, unknown - 1));
}

/// Number of times that the input is read until a search from slot 0, with room for these passes
/// and for nothing else, is refused.
fn read_until_refused(slots: u32, pairs: Vec<[u32; 2]>) -> u64 {
    let reading = Reading { undirected: true, ..Reading::default() };
    let input_scan = InputScanCost { always: true, ..InputScanCost::of_stream::<Levels>() };
    let layout = Layout { input_scan: Some(input_scan), ..Layout::of::<Bfs>() };
    let edges = pairs.len() as u64;
    let shape = Shape {
        slots: slots.into(),
        edges: 2 * edges,
        weighted: false,
        estimated: false,
        input_bytes: 0,
    };
    let plan = |memory_bytes| {
        let settings = Settings { threads: Some(1), memory_bytes, ..Settings::default() };
        Plan::new(shape, layout, &settings, &MACHINE).expect("passes fit")
    };
    let plan = plan(Some(plan(None).memory.peak()));
    assert!(plan.scans_input() && plan.instead().is_none());
    let (workers, progress) = (workers(1), Progress::new());
    let (read, spared) = (Arc::<AtomicU64>::default(), Arc::default());
    let mut list = EdgeList::from_pairs(pairs);
    list.set_slots(slots.into());
    let stream = Box::new(Counted { edges: list, read: read.clone(), spared });
    let held =
        welter_engine::Graph::ingest(stream, &IdMap::Declared, reading, &plan, workers, &progress);
    let held = held.expect("the graph stays in its input");
    let passed = pass_over(&held, &Levels::new(vec![0]), workers, &progress);
    let error = passed.expect_err("there is no room for a graph");
    assert_eq!(error.kind(), FailureKind::Budget, "{error}");
    assert!(error.to_string().contains("for a graph instead of more than 64 passes"), "{error}");
    read.load(Ordering::Relaxed) / edges
}

#[test]
fn a_search_that_would_take_too_many_passes_is_refused_as_soon_as_that_is_foreseen() {
    let side = 256;
    let grid = (0..side * side).flat_map(|at| {
        let right = (at % side + 1 < side).then_some([at, at + 1]);
        let below = (at + side < side * side).then_some([at, at + side]);
        [right, below].into_iter().flatten()
    });
    // Once for the vertices; the levels of a path do not grow, and say nothing.
    assert_eq!(read_until_refused(side * side, grid.collect()), 1 + 16);
    let path = (1..60_000).map(|vertex| [vertex - 1, vertex]);
    assert_eq!(read_until_refused(60_000, path.collect()), 1 + 64);
}
