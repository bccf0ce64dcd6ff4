//! Plans of graphs of many shapes and budgets.

use welter_store::header::Encoding;

use super::*;
use crate::EngineError;
use crate::machine::figures::Machine;

const MACHINE: Machine = Machine {
    cores: 2,
    l1_bytes: 48 << 10,
    l2_bytes: 2 << 20,
    l3_bytes: 64 << 20,
    memory_bytes: 16 << 30,
};
const SHAPE: Shape =
    Shape { slots: 1 << 24, edges: 1 << 28, weighted: false, estimated: false, input_bytes: 0 };

fn layout() -> Layout {
    folding(8, FoldLayout { signal: 4, accum: 4, ..FoldLayout::default() })
}

fn folding(value: u64, fold: FoldLayout) -> Layout {
    Layout { value, kind: ProgramKind::Fold(fold), ..Layout::kept() }
}

/// The plan of a graph of 2^26 encoded edges, of which memory keeps none.
pub(super) fn streamed(settings: Settings) -> Plan {
    let shape = Shape { slots: 1 << 22, edges: 1 << 26, ..SHAPE };
    let layout = folding(4, FoldLayout { signal: 4, accum: 4, ..FoldLayout::default() });
    let settings = Settings {
        threads: Some(2),
        encoding: Some(Encoding::Compressed),
        storage: StorageMode::Always { cache_bytes: 0, values: true },
        ..settings
    };
    Plan::new(shape, layout, &settings, &MACHINE).unwrap()
}

#[test]
fn widths_follow_the_caches() {
    let plan = Plan::new(SHAPE, layout(), &Settings::default(), &MACHINE).unwrap();
    assert_eq!(
        (plan.premises.edges.stripe_bits, plan.premises.edges.block_bits, plan.premises.threads),
        (17, 12, 2)
    );
    for (l2_bytes, bits) in [(1 << 20, 17), (512 << 10, 20)] {
        let small_l2 = Machine { l2_bytes, l3_bytes: 32 << 20, ..MACHINE };
        let plan = Plan::new(SHAPE, layout(), &Settings::default(), &small_l2).unwrap();
        assert_eq!(plan.premises.edges.stripe_bits, bits);
    }
}

#[test]
fn what_cannot_fit_is_refused_with_the_budget_that_would() {
    let settings = |bytes| Settings { memory_bytes: Some(bytes), ..Settings::default() };
    let Err(EngineError::Budget { need, budget, .. }) =
        Plan::new(SHAPE, layout(), &settings(1 << 30), &MACHINE)
    else {
        panic!("must be refused")
    };
    assert_eq!(budget, 1 << 30);
    assert!(Plan::new(SHAPE, layout(), &settings(need), &MACHINE).is_ok());
    assert!(Plan::new(SHAPE, layout(), &settings(need - 1), &MACHINE).is_err());
}

#[test]
fn with_storage_more_memory_is_never_worse() {
    for (edges, threads) in [(1 << 28, 2), (1 << 24, 4), (3 << 20, 3), (1 << 31, 1)] {
        let shape = Shape { slots: 1 << 24, edges, weighted: threads == 3, ..SHAPE };
        let plan = |bytes| {
            let settings = Settings {
                memory_bytes: Some(bytes),
                threads: Some(threads),
                storage: StorageMode::Auto,
                ..Settings::default()
            };
            Plan::new(shape, layout(), &settings, &MACHINE)
        };
        let Err(EngineError::Budget { need, .. }) = plan(1 << 20) else {
            panic!("must be refused")
        };
        assert!(plan(need - 1).is_err());
        for step in 0..2000 {
            assert!(plan(need + step * need / 500).is_ok(), "{edges} edges, step {step}");
        }
    }
}

#[test]
fn rows_of_triangles_travel_where_vertices_have_no_place() {
    let layout = Layout { value: 8, kind: ProgramKind::Triangles, ..Layout::kept() };
    let spill = Route::Spill { combined: true, fused: true };
    let plan = |weighted, route, threads, bytes| {
        let (memory_bytes, storage) = (Some(bytes), StorageMode::Auto);
        let settings = Settings { threads, memory_bytes, storage, route, ..Settings::default() };
        let shape = Shape { edges: 1 << 29, weighted, ..SHAPE };
        Plan::new(shape, layout, &settings, &MACHINE)
    };
    // Edges with weights take more to be sorted, whatever is done with them then.
    for (weighted, budget) in [(false, 256 << 20), (true, 288 << 20)] {
        let small = |route| plan(weighted, route, None, budget);
        assert!(matches!(small(Some(Route::Ranges)), Err(EngineError::Route { .. })));
        for route in [None, Some(spill)] {
            let made = small(route).unwrap();
            assert_eq!((made.route(), made.degrees_stored()), ("spill", true));
            assert!(made.memory.peak() <= budget);
            let known = made.counted(8_870_942, |_| Ok((Throughput::of_core(), u64::MAX))).unwrap();
            let (before, after) = (rows_of(&made), rows_of(&known));
            assert!(after.ranges <= before.ranges, "{after:?} after {before:?}");
            assert!(after.ranges < 40, "{after:?}");
        }
        // In large ones nothing travels, and in between nothing is refused.
        assert_eq!(plan(weighted, None, None, 14 << 30).unwrap().route(), "fold");
        for threads in [1, 2] {
            let plan = |bytes| plan(weighted, None, Some(threads), bytes);
            let Err(EngineError::Budget { need, .. }) = plan(1 << 20) else {
                panic!("must be refused")
            };
            for step in 0..1000 {
                let bytes = need + step * need / 100;
                assert!(plan(bytes).is_ok(), "{threads} threads, {bytes} bytes");
            }
        }
    }
}

/// Plan for the rows of triangles.
fn rows_of(plan: &Plan) -> TrianglesPlan {
    match plan.out_of_core() {
        Some(OutOfCore::Triangles(rows)) => rows,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_small_budget_takes_fewer_threads_unless_their_number_is_said() {
    let machine = Machine { cores: 64, ..MACHINE };
    let plan = |bytes, threads| {
        let (memory_bytes, storage) = (Some(bytes), StorageMode::Auto);
        let settings = Settings { threads, memory_bytes, storage, ..Settings::default() };
        Plan::new(SHAPE, layout(), &settings, &machine).map(|plan| plan.premises.threads)
    };
    assert_eq!(plan(16 << 30, None).unwrap(), 64);
    assert_eq!(plan(512 << 20, None).unwrap(), 4);
    assert!(plan(512 << 20, Some(64)).is_err());
    let Err(EngineError::Budget { need, .. }) = plan(1 << 20, None) else {
        panic!("must be refused")
    };
    assert_eq!(plan(need, None).unwrap(), 1);
}

#[test]
fn stripes_are_as_wide_as_fits_where_nobody_says_how_wide() {
    let (frontier, updates) = (FrontierKind::Active, Updates::Merged);
    let wide = folding(48, FoldLayout { signal: 32, accum: 32, frontier, updates });
    let route = Some(Route::Ranges);
    for slots in [1 << 11, 1 << 22] {
        let shape = Shape { slots, edges: 16 * slots, weighted: true, ..SHAPE };
        let plan = |memory_bytes, stripe_bits| {
            let threads = Some(3);
            let settings =
                Settings { threads, memory_bytes, stripe_bits, route, ..Settings::default() };
            Plan::new(shape, wide, &settings, &MACHINE)
        };
        let by_caches = plan(None, None).unwrap();
        let need = |bits| match plan(Some(1 << 20), bits) {
            Err(EngineError::Budget { need, .. }) => need,
            other => panic!("must be refused: {other:?}"),
        };
        let least = need(None);
        assert!(least < need(Some(by_caches.premises.edges.stripe_bits)), "{slots} slots");
        let fitting = plan(Some(least), None).unwrap();
        assert_ne!(fitting.premises.edges.stripe_bits, by_caches.premises.edges.stripe_bits);
        assert_eq!(need(Some(fitting.premises.edges.stripe_bits)), least);
    }
}

#[test]
fn windows_of_large_signals_have_room_for_a_tile_and_not_for_all_that_keys_name() {
    // Factors of ratings, of which a stripe holds 2^12: keys name 2^20 sources, 64 MiB of signals.
    let (frontier, updates) = (FrontierKind::Active, Updates::Merged);
    let factors = folding(72, FoldLayout { signal: 64, accum: 360, frontier, updates });
    let shape = Shape { slots: 1 << 22, edges: 1 << 27, weighted: true, ..SHAPE };
    let storage = StorageMode::Auto;
    let settings = Settings { memory_bytes: Some(128 << 20), storage, ..Settings::default() };
    let plan = Plan::new(shape, factors, &settings, &MACHINE).unwrap();
    let layout = plan.premises.edges;
    let margin = |layout: EdgeLayout| layout.window_margin(factors.signal());
    assert_eq!((layout.stripe_bits, margin(layout)), (12, 1 << layout.block_bits));
    let wide = EdgeLayout { wide_tiles: true, ..layout };
    assert_eq!(margin(wide), 1 << 20, "tiles of kept graphs are of several blocks");
}

#[test]
fn what_the_caller_holds_counts() {
    let plan = |held_bytes| {
        let settings = Settings { held_bytes, ..Settings::default() };
        Plan::new(SHAPE, layout(), &settings, &MACHINE).unwrap()
    };
    assert_eq!(plan(1 << 20).memory.peak(), plan(0).memory.peak() + (1 << 20));
    assert!(plan(1 << 20).to_string().contains("1.00 MiB  ids"));
}

#[test]
fn settings_out_of_range_are_refused() {
    for settings in [
        Settings { threads: Some(0), ..Settings::default() },
        Settings { stripe_bits: Some(25), ..Settings::default() },
        Settings { block_bits: Some(5), ..Settings::default() },
        Settings { chunk_bytes: Some(1), ..Settings::default() },
    ] {
        let error = Plan::new(SHAPE, layout(), &settings, &MACHINE).unwrap_err();
        assert!(matches!(error, EngineError::Setting { .. }), "{settings:?}");
    }
}

#[test]
fn edges_that_are_read_in_each_iteration_are_compressed_unless_storage_is_fast() {
    let encoding = |mib: u64, read| {
        let settings = Settings {
            memory_bytes: Some(mib << 20),
            storage: StorageMode::Auto,
            ..Settings::default()
        };
        let plan = Plan::new(SHAPE, layout(), &settings, &MACHINE).unwrap();
        // The virtual machine whose figures `forecast` has; its cores beside storage as alone.
        let (cores_beside, read_beside) = (1000, 1000);
        let throughput =
            Throughput { core_picos: 1150, read, write: 3_800_000_000, cores_beside, read_beside };
        let premises = Premises { vertices: 8_870_942, ..plan.premises };
        storage::faster(&premises, &throughput, u64::MAX).premises.edges.encoding
    };
    assert_eq!(encoding(256, 3_200_000_000), Encoding::Compressed);
    assert_eq!(encoding(512, 3_200_000_000), Encoding::Compressed);
    assert_ne!(encoding(256, 20_000_000_000), Encoding::Compressed);
}

#[test]
fn bins_of_which_nearly_all_stay_take_no_more_room_than_all() {
    let bins = |memory_bytes| {
        let (threads, storage) = (Some(1), StorageMode::Kept);
        let memory_bytes = Some(memory_bytes);
        let settings = Settings { threads, memory_bytes, storage, ..Settings::default() };
        let plan = Plan::new(SHAPE, layout(), &settings, &MACHINE).unwrap();
        plan.storage().unwrap().room.bins
    };
    let rooms: Vec<u64> = (0..1200).map(|step| bins((1 << 30) + (step << 21))).collect();
    let all = SHAPE.edges * 8 / 64 * 65;
    assert!(rooms.iter().all(|room| *room <= all), "{rooms:?}");
    assert!(rooms[0] > 1 << 30);
    assert_eq!(rooms.last(), Some(&0));
}

#[test]
fn passes_over_an_input_are_known_but_for_searches() {
    let passes = |always, memory_bytes| {
        let input_scan = Some(InputScanCost { always, slot: 8, update: 0 });
        let layout = Layout { input_scan, ..layout() };
        let settings = Settings { threads: Some(2), memory_bytes, ..Settings::default() };
        let plan = Plan::new(SHAPE, layout, &settings, &MACHINE).unwrap();
        (plan.scans_input(), plan.input_passes())
    };
    assert_eq!(passes(true, None), (true, InputPasses { least: 2, exact: true }));
    assert_eq!(passes(false, Some(512 << 20)), (true, InputPasses { least: 1, exact: false }));
    // With memory for a graph, one is made.
    assert_eq!(passes(false, None), (false, InputPasses::ONE));
}
