//! Graphs that break programs: empty, all in one place, full of holes.

use welter_algorithms::pagerank::Dangling;
use welter_algorithms::spmv::Vector;
use welter_algorithms::{PageRank, Spmv};
use welter_engine::plan::{FoldLayout, FrontierKind, Layout, Plan, ProgramKind, Settings, Shape};
use welter_model::edges::{Duplicates, EdgeList, Reading};
use welter_model::ids::IdMap;
use welter_progress::Progress;
use welter_testing::executors::{MACHINE, Nearness, integers, judge, workers};
use welter_testing::graph::Graph;

use crate::programs::SmallestLabel;

const PLAIN: Reading = Reading {
    undirected: false,
    stated_directed: false,
    reversed: false,
    drop_self_loops: false,
    duplicates: Duplicates::Keep,
};

fn ranks(graph: &Graph) -> Vec<f64> {
    let vertices = graph.vertices() as u64;
    let program = PageRank::<f64>::new(vertices, 0.85, 3, 0.0, Dangling::Spread);
    judge(graph, PLAIN, &program, Nearness::Within(1e-12)).numbers()
}

fn in_degrees(graph: &Graph) -> Vec<f64> {
    judge(graph, PLAIN, &Spmv::<f64>::new(Vector::Ones, 1), Nearness::Bits).numbers()
}

#[test]
fn no_vertices() {
    let nothing = Graph::new(0, vec![]);
    assert!(ranks(&nothing).is_empty());
    assert!(in_degrees(&nothing).is_empty());
}

#[test]
fn slots_but_no_vertices() {
    let nothing = Graph { present: vec![false; 10_000], ..Graph::default() };
    assert!(ranks(&nothing).is_empty());
    assert!(in_degrees(&nothing).is_empty());
}

#[test]
fn vertices_but_no_edges() {
    for vertices in [1, 2, 4096, 4097, 9000] {
        let isolated = Graph::new(vertices, vec![]);
        assert!(ranks(&isolated).iter().all(|rank| (rank * vertices as f64 - 1.0).abs() < 1e-12));
        assert_eq!(in_degrees(&isolated), vec![0.0; vertices]);
    }
}

#[test]
fn one_vertex_with_and_without_a_loop() {
    let alone = Graph::new(1, vec![]);
    let looped = Graph::new(1, vec![[0, 0]; 3]);
    for graph in [alone, looped] {
        assert!((ranks(&graph)[0] - 1.0).abs() < 1e-12);
    }
    assert_eq!(in_degrees(&Graph::new(1, vec![[0, 0]; 3])), [3.0]);
}

#[test]
fn a_hundred_thousand_edges_into_one_vertex_and_out_of_it() {
    let (leaves, hub) = (100_000, 777);
    let pairs: Vec<[u32; 2]> = (0..=leaves).filter(|&v| v != hub).map(|v| [v, hub]).collect();
    let star = Graph::new(leaves as usize + 1, pairs);
    let found = in_degrees(&star);
    assert_eq!((found[777].to_bits(), found[778].to_bits()), (1e5_f64.to_bits(), 0));
    let outwards = Graph { pairs: star.pairs.iter().map(|&[v, hub]| [hub, v]).collect(), ..star };
    let found = in_degrees(&outwards);
    assert_eq!(found.iter().sum::<f64>().to_bits(), 1e5_f64.to_bits());
}

#[test]
fn a_hundred_thousand_parallel_edges() {
    let weights = (0..100_000).map(|edge| f64::from(edge % 10)).collect();
    let pairs = vec![[5000, 4]; 100_000];
    let mut graph = Graph { weights: Some(weights), ..Graph::new(6000, pairs) };
    assert_eq!(in_degrees(&graph)[4].to_bits(), 450_000_f64.to_bits());
    for (duplicates, sum) in [(Duplicates::Sum, 450_000.0), (Duplicates::First, 0.0)] {
        let reading = Reading { duplicates, ..PLAIN };
        let found = judge(&graph, reading, &Spmv::<f64>::new(Vector::Ones, 1), Nearness::Bits);
        assert_eq!(found.numbers()[4].to_bits(), f64::to_bits(sum), "{duplicates:?}");
    }
    graph.present = graph.used();
    assert_eq!(in_degrees(&graph), [450_000.0, 0.0]);
    graph.weights = None;
    for (duplicates, sum) in [(Duplicates::Sum, 100_000.0), (Duplicates::Minimum, 1.0)] {
        let reading = Reading { duplicates, ..PLAIN };
        let found = judge(&graph, reading, &Spmv::<f64>::new(Vector::Ones, 1), Nearness::Bits);
        assert_eq!(found.numbers()[0].to_bits(), f64::to_bits(sum), "{duplicates:?}");
    }
}

/// Ids at the edges of segments, words and stripes.
#[test]
fn vertices_at_the_edges_of_everything() {
    let slots = [0, 63, 64, 65, 4095, 4096, 8191, 8192, 12_287, 12_288, 16_383, 16_384, 262_143];
    let pairs: Vec<[u32; 2]> =
        slots.iter().flat_map(|from| slots.iter().map(|to| [*from, *to])).collect();
    let mut graph = Graph::new(262_144, pairs);
    graph.present = graph.used();
    assert_eq!(in_degrees(&graph), [13.0; 13]);
    judge(&graph, PLAIN, &SmallestLabel, Nearness::Bits);
    let declared = Graph { present: vec![true; 262_144], ..graph };
    assert_eq!(in_degrees(&declared).iter().sum::<f64>().to_bits(), 169_f64.to_bits());
}

/// A list of edges held in memory with these settings.
fn held(list: EdgeList, ids: &IdMap, slots: u64, settings: &Settings) -> welter_engine::Graph {
    held_for(FrontierKind::All, list, ids, slots, settings)
}

/// Graph held for programs with such a frontier.
fn held_for(
    frontier: FrontierKind,
    list: EdgeList,
    ids: &IdMap,
    slots: u64,
    settings: &Settings,
) -> welter_engine::Graph {
    let edges = list.pairs().count() as u64;
    let shape = Shape { slots, edges, weighted: false, estimated: false, input_bytes: 0 };
    let fold = FoldLayout { signal: 8, accum: 8, frontier, ..FoldLayout::default() };
    let layout = Layout { value: 8, kind: ProgramKind::Fold(fold), ..Layout::kept() };
    let plan = Plan::new(shape, layout, settings, &MACHINE).unwrap();
    let workers = workers(plan.premises.threads);
    let progress = Progress::new();
    welter_engine::Graph::ingest(Box::new(list), ids, PLAIN, &plan, workers, &progress).unwrap()
}

/// The largest slots that 32 bits can name: one graph of three edges, four thousand million slots.
#[test]
fn the_last_slots_of_all() {
    let last = u32::MAX;
    let pairs = vec![[last, 0], [last - 1, last], [0, last], [last, 0]];
    let settings = Settings { threads: Some(2), ..Settings::default() };
    // A plan for that many vertices would be refused; the ids of an input like this are mapped.
    let graph = held(EdgeList::from_pairs(pairs), &IdMap::Same, 3, &settings);
    let ids = integers(&graph.vertex_column(&IdMap::Same));
    assert_eq!(ids, [0, u64::from(last) - 1, u64::from(last)]);
    let program = Spmv::<f64>::new(Vector::Ones, 2);
    let found = welter_engine::run(&graph, &program, workers(2), &Progress::new()).unwrap();
    let found = welter_testing::interpreter::Answer {
        values: found.values.whole().unwrap().into_owned(),
        in_step: true,
        iterations: found.iterations,
        total: found.total,
        totals: found.totals,
    };
    assert_eq!(found.numbers(), [4.0, 0.0, 2.0]);
}

/// Tiles of a single edge, which programs with a frontier get: their entries in the directory take
/// more room than their keys. For others a tile continues until it is worth its entry.
#[test]
fn a_chunk_of_lonely_edges_fits_its_slab() {
    let slots = 300_000 * 64;
    let pairs = (0..300_000).map(|block| [block * 64, 0]).collect();
    let mut list = EdgeList::from_pairs(pairs);
    list.set_slots(slots);
    let settings = Settings { threads: Some(1), block_bits: Some(6), ..Settings::default() };
    let graph = held_for(FrontierKind::Active, list.clone(), &IdMap::Declared, slots, &settings);
    assert_eq!((graph.edges(), graph.tiles()), (300_000, 300_000));
    let graph = held_for(FrontierKind::All, list, &IdMap::Declared, slots, &settings);
    assert_eq!(graph.edges(), 300_000);
    assert!(graph.tiles() < 3000, "{} tiles", graph.tiles());
}

/// One graph while another is held in the memory of the same workers, and after it is gone.
#[test]
fn graphs_that_share_workers_do_not_share_edges() {
    let settings = Settings { threads: Some(2), ..Settings::default() };
    let list = |step: u32| {
        let mut list = EdgeList::from_pairs((0..50_000).map(|v| [v, v * step % 50_000]).collect());
        list.set_slots(50_000);
        list
    };
    let sums = |graph: &welter_engine::Graph| {
        let program = Spmv::<f64>::new(Vector::Random { seed: 4 }, 3);
        let found = welter_engine::run(graph, &program, workers(2), &Progress::new()).unwrap();
        bytemuck::cast_slice::<_, u64>(&found.values.whole().unwrap()).to_vec()
    };
    let first = held(list(7), &IdMap::Declared, 50_000, &settings);
    let before = sums(&first);
    let second = held(list(11), &IdMap::Declared, 50_000, &settings);
    assert_eq!(sums(&first), before);
    let other = sums(&second);
    drop(first);
    let third = held(list(7), &IdMap::Declared, 50_000, &settings);
    assert_eq!((sums(&third), sums(&second)), (before, other));
}
