//! Memory of runs against the most that their plans stated.
//!
//! One test, because the meter counts what the whole process holds.
#![expect(clippy::unwrap_used, reason = "a test")]

use welter_algorithms::Bfs;
use welter_algorithms::pagerank::{Dangling, PageRank};
use welter_engine::plan::{IndexMode, Layout, Plan, Settings, Shape};
use welter_engine::{Graph, Workers, meter, run};
use welter_model::edges::{EdgeList, EdgeStream, Reading};
use welter_model::ids::IdMap;
use welter_model::program::Program;
use welter_progress::Progress;
use welter_store::header::Encoding;
use welter_testing::executors::MACHINE;
use welter_testing::patterns::Pattern;

/// Runs a program and returns the plan's peak and the meter's.
fn run_once<P: Program>(
    list: EdgeList,
    settings: &Settings,
    undirected: bool,
    program: impl FnOnce(&Graph) -> P,
) -> (u64, u64, String) {
    let shape = Shape {
        slots: list.slots().unwrap(),
        edges: list.edges() * if undirected { 2 } else { 1 },
        weighted: list.weighted(),
        estimated: false,
        // The list is not on the meter.
        input_bytes: 0,
    };
    let plan = Plan::new(shape, Layout::of::<P>(), settings, &MACHINE).unwrap();
    let workers = Workers::new(plan.premises.threads).unwrap();
    let reading = Reading { undirected, ..Reading::default() };
    let progress = Progress::new();
    meter::restart();
    let before = meter::held_bytes();
    let graph =
        Graph::ingest(Box::new(list), &IdMap::Declared, reading, &plan, &workers, &progress)
            .unwrap();
    let ingest = meter::peak_bytes() - before;
    run(&graph, &program(&graph), &workers, &progress).unwrap();
    let shown = format!("{:?}, ingest {ingest}, {graph:?}", plan.memory);
    (plan.memory.peak(), meter::peak_bytes() - before, shown)
}

fn ranks(graph: &Graph) -> PageRank<f64> {
    PageRank::new(graph.vertices(), 0.85, 2, 0.0, Dangling::Spread)
}

/// From where the stars have their middle.
fn search(_: &Graph) -> Bfs {
    Bfs::new(vec![17])
}

#[test]
fn no_run_takes_more_than_its_plan_says() {
    let mut nearest: f64 = 0.0;
    for (count, slots) in
        [(1 << 20, 5000), (1 << 20, 300_000), (1 << 13, 4_000_000), (1 << 21, 1_500_000)]
    {
        for (case, pattern) in Pattern::all(64).into_iter().enumerate() {
            for threads in [1, 8] {
                let weighted = (case + threads) % 3 == 0;
                let undirected = case % 2 == 1;
                let encoding = if threads == 8 { Encoding::Compressed } else { Encoding::Packed };
                let settings = Settings {
                    threads: Some(threads),
                    encoding: Some(encoding),
                    stripe_bits: (case == 2).then_some(12),
                    index: if case > 2 { IndexMode::Rows } else { IndexMode::Auto },
                    ..Settings::default()
                };
                let list = pattern.edges(count, slots, weighted);
                let (planned, taken, shown) = if threads == 1 && case % 2 == 0 {
                    run_once(list, &settings, undirected, ranks)
                } else {
                    run_once(list, &settings, undirected, search)
                };
                assert!(
                    taken <= planned,
                    "{count} edges, {slots} slots, {pattern:?}, {settings:?}: \
                     {taken} taken, {planned} planned: {shown}"
                );
                nearest = nearest.max(taken as f64 / planned as f64);
            }
        }
    }
    // A bound that no run comes near to would refuse what fits.
    assert!(nearest > 0.5, "no run took more than {nearest:.2} of its plan");
}
