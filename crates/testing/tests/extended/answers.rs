//! The answers of the interpreter, by all executors and routes.

use proptest::prelude::*;
use welter_engine::kept::{self, KeptGraph};
use welter_engine::plan::{Layout, OutOfCore, Plan, Route, Settings, SpillPlan, StorageMode};
use welter_engine::{EngineError, extend};
use welter_model::edges::Reading;
use welter_progress::Progress;
use welter_store::header::Encoding;
use welter_testing::executors::{Folder, MACHINE, Memory, judge_extended, workers};
use welter_testing::graph::Graph;
use welter_testing::hashed::Hashed;
use welter_testing::interpreter::interpret_extended;
use welter_testing::strategies::wide_graphs;

fn directed() -> Reading {
    Reading::default()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn random_graphs(graph in wide_graphs(60, 120), iterations in 0_u64..4) {
        judge_extended(&graph, directed(), &Hashed(iterations));
    }
}

/// A graph of `vertices` vertices and `edges` edges. A tenth of the edges leave a few hubs, as
/// parallel edges do, and the first half of the sources has most of the others, so that partitions
/// are unlike each other.
fn random(vertices: u32, edges: u64) -> Graph {
    let mut state = 7_u64;
    let mut below = move |most: u32| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as u32 % most
    };
    let pairs: Vec<[u32; 2]> = (0..edges)
        .map(|edge| {
            let source = match edge % 10 {
                0 => 70_000 * below(8) % vertices,
                1..6 => below(vertices / 2),
                _ => below(vertices),
            };
            [source, if edge % 97 == 0 { source } else { below(vertices) }]
        })
        .collect();
    let weights = pairs.iter().map(|pair| f64::from(pair[0] % 50) + 0.25);
    let weights = Some(weights.collect());
    Graph { weights, ..Graph::new(vertices as usize, pairs) }
}

/// The hashes of all vertices, by the interpreter.
fn hashes(graph: &Graph, program: &Hashed) -> Vec<u64> {
    interpret_extended(graph, program).values.iter().map(|value| value.0).collect()
}

/// Hashes of a graph that is kept, by a plan.
fn run(kept: &KeptGraph, plan: &Plan, program: &Hashed) -> Vec<u64> {
    let workers = workers(plan.premises.threads);
    let held = kept.load(plan, workers, &Progress::new()).unwrap();
    let found = extend(&held, program, workers, &Progress::new()).unwrap();
    found.values.whole().unwrap().iter().map(|value| value.0).collect()
}

fn memory(settings: Settings) -> Memory {
    Memory { settings, part_edges_max: 10_000, slots_stated: true, blind: false }
}

/// The settings with as little memory as will do for some plan.
fn least(settings: Settings, plan: impl Fn(&Settings) -> Result<Plan, EngineError>) -> Settings {
    let none = Settings { memory_bytes: Some(1), ..settings };
    let Err(EngineError::Budget { need, .. }) = plan(&none) else { panic!("a byte is enough") };
    Settings { memory_bytes: Some(need), ..settings }
}

/// Route `ranges` once lost edges wherever there were two windows, and no test had two.
#[test]
fn more_than_one_of_everything_gives_the_same_bits() {
    const VERTICES: u32 = 400_000;
    let graph = random(VERTICES, 1_200_000);
    let program = Hashed(3);
    let expected = hashes(&graph, &program);
    let spill = |combined, fused| Route::Spill { combined, fused };
    for (threads, stripe_bits, encoding, route) in [
        (1, 14, Encoding::Compressed, spill(true, true)),
        (3, 16, Encoding::Packed, spill(true, true)),
        (2, 16, Encoding::Short, spill(true, false)),
        (2, 17, Encoding::Compressed, spill(false, true)),
        (3, 17, Encoding::Packed, spill(false, false)),
        (2, 16, Encoding::Compressed, Route::Ranges),
    ] {
        let (encoding, chunk_bytes) = (Some(encoding), Some(1 << 14));
        let stripe_bits = Some(stripe_bits);
        let kept = Settings { encoding, chunk_bytes, stripe_bits, ..Settings::default() };
        let folder = Folder::new();
        let kept = memory(kept::settings(&kept)).keep(&graph, directed(), &folder).unwrap();
        let storage = StorageMode::Always { cache_bytes: 0, values: true };
        let (threads, route) = (Some(threads), Some(route));
        let settings = Settings { threads, route, storage, ..Settings::default() };
        let plan =
            |settings: &Settings| kept.plan(Layout::of_extended::<Hashed>(), settings, &MACHINE);
        let plan = plan(&least(settings, plan)).unwrap();
        let stripes = u64::from(VERTICES) >> plan.premises.edges.stripe_bits;
        assert!(stripes >= 3, "{plan}");
        match plan.out_of_core().unwrap() {
            OutOfCore::Ranges(ranges) => {
                assert!(ranges.window_sources * 3 < VERTICES.into(), "{plan}");
            }
            OutOfCore::Spill(SpillPlan { sources, combined, .. }) => {
                let partitions = u64::from(VERTICES) / sources;
                assert!(partitions >= 3, "{plan}");
                // Some partitions send to a stripe in more than one chunk, of 256 KiB at most.
                let cells = (partitions + 1) * (stripes + 1);
                assert!(combined || plan.premises.shape.edges / cells > (256 << 10) / 12, "{plan}");
            }
            OutOfCore::Triangles(_) => panic!("rows of triangles: {plan}"),
        }
        let chunks = kept.manifest().chunks;
        assert!(chunks > 3 * stripes, "{chunks} chunks, {plan}");
        let found = run(&kept, &plan, &program);
        assert!(found == expected, "other bits with {threads:?} threads by {route:?}, {plan}");
    }
}

/// With none, some and all of the states of edges in memory, and some chunks.
#[test]
fn budgets_change_no_bit() {
    const EDGES: u64 = 1_000_000;
    let graph = random(200_000, EDGES);
    let program = Hashed(2);
    let expected = hashes(&graph, &program);
    let folder = Folder::new();
    let kept = kept::settings(&Settings { stripe_bits: Some(15), ..Settings::default() });
    let kept = memory(kept).keep(&graph, directed(), &folder).unwrap();
    let plan = |settings: &Settings| kept.plan(Layout::of_extended::<Hashed>(), settings, &MACHINE);
    for route in [Route::Ranges, Route::Spill { combined: true, fused: true }] {
        let (threads, route) = (Some(2), Some(route));
        let storage = StorageMode::Auto;
        let settings = Settings { threads, route, storage, ..Settings::default() };
        let least = least(settings, plan);
        let with = |more: u64| {
            let memory_bytes = least.memory_bytes.map(|bytes| bytes + more);
            plan(&Settings { memory_bytes, ..settings }).unwrap()
        };
        let states = |plan: &Plan| plan.storage().unwrap().edge_states_bytes;
        let between = |plan: &Plan| states(plan) > 0 && states(plan) < 8 * EDGES;
        let some = (0..60).map(|more| with(more << 19)).filter(between).step_by(3);
        let some: Vec<Plan> = some.take(3).collect();
        assert!(!some.is_empty(), "no plan has some states in memory");
        for plan in some.into_iter().chain([with(0), with(40 << 20)]) {
            let (found, bytes) = (run(&kept, &plan, &program), states(&plan));
            assert!(found == expected, "other bits by {route:?} with {bytes} bytes of states");
        }
    }
}
