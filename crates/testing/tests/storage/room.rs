//! Room on storage: as much as a plan asks for is enough, and a byte less is refused beforehand.
//!
//! File systems are exactly as large as a plan says, so a run that takes more meets a full disk.

use std::path::Path;

use welter_algorithms::LabelPropagation;
use welter_engine::kept::{self, KeepOptions, KeptGraph};
use welter_engine::plan::DiskUsage;

use super::*;
use crate::disks::Disk;

/// Size that file systems are multiples of.
const PAGE: u64 = 4096;

const ROUTES: [Route; 6] = [
    Route::Fold,
    Route::Ranges,
    Route::Spill { combined: true, fused: true },
    Route::Spill { combined: true, fused: false },
    Route::Spill { combined: false, fused: true },
    Route::Spill { combined: false, fused: false },
];

/// A file system in memory of exactly `bytes` bytes, if one can be mounted here.
fn disk(bytes: u64) -> Option<Disk> {
    static SAID: Once = Once::new();
    Disk::new("tmpfs", bytes).map_err(|why| skipped("mount", &why, &SAID)).ok()
}

/// Runs where a plan has the room that it asks for, and where it has a page less.
fn judge(plan: &Plan, what: &str, run: impl Fn(&Plan, &Path) -> Result<Vec<u8>, EngineError>) {
    let room = plan.storage().unwrap().room;
    let need = room.peak();
    assert!(need > 100 << 10, "{what}: {room:?}");
    let plenty = folder_in_memory();
    let expected = run(plan, plenty.path()).unwrap();
    let Some(exact) = disk(need.next_multiple_of(PAGE)) else { return };
    let found = run(plan, exact.path()).unwrap_or_else(|error| panic!("{what}, {room:?}: {error}"));
    assert!(found == expected, "{what}: other bits");
    assert!(is_empty(exact.path()), "{what}");
    let Some(small) = disk((need - 1) / PAGE * PAGE) else { return };
    match run(plan, small.path()) {
        Err(EngineError::Disk { need: asked, .. }) if asked == need => {}
        other => panic!("{what}, {room:?}: {:?}", other.map(|_| "ran")),
    }
    assert!(is_empty(small.path()), "{what}");
}

/// Edges from the first sixteenth of the slots to the last quarter, mostly: all of the updates of
/// an iteration wait while those of the next one are made.
fn forward(count: u32, slots: u32) -> EdgeList {
    let mut state = 3_u64;
    let mut random = move |below: u32| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as u32 % below
    };
    let mut list = EdgeList::new(Some(slots.into()), false);
    for _ in 0..16 {
        let mut pair = || [random(slots / 16), slots - 1 - random(slots / 4)];
        let mut pairs: Vec<_> = (0..count / 16).map(|_| pair()).collect();
        pairs[0] = [slots - 1, 0];
        list.push(pairs, Vec::new());
    }
    list
}

/// The bytes of the answer of a program on a kept graph.
fn answer<P: Program>(
    kept: &KeptGraph,
    program: &P,
    plan: &Plan,
    directory: &Path,
) -> Result<Vec<u8>, EngineError> {
    let directories = vec![directory.to_owned()];
    let storage = Storage { directories, io: IoOptions::default() };
    let workers = Workers::new(plan.premises.threads)?.with_storage(storage);
    let progress = Progress::new();
    let graph = kept.load(plan, &workers, &progress)?;
    let outcome = welter_engine::run(&graph, program, &workers, &progress)?;
    Ok(bytemuck::cast_slice(&outcome.values.whole()?).to_vec())
}

fn judge_program<P: Program>(kept: &KeptGraph, program: &P, threads: usize, what: &str) {
    for route in ROUTES {
        let settings = Settings {
            threads: Some(threads),
            storage: StorageMode::Always { cache_bytes: 0, values: true },
            route: Some(route),
            ..Settings::default()
        };
        let plan = |settings| kept.plan(Layout::of::<P>(), settings, &MACHINE);
        let tiny = Settings { memory_bytes: Some(1), ..settings };
        let Err(EngineError::Budget { need, .. }) = plan(&tiny) else { panic!("a byte is enough") };
        // Narrow partitions, so that some are scattered before the others are gathered.
        let plan = plan(&Settings { memory_bytes: Some(need), ..settings }).unwrap();
        let DiskUsage { bins, chunks, values, .. } = plan.storage().unwrap().room;
        assert_eq!((bins, chunks), (0, 0), "they are there");
        assert!(values > kept.manifest().vertices * size_of::<P::Value>() as u64);
        let what = format!("{what}, {route:?}, {threads} threads");
        judge(&plan, &what, |plan, directory| answer(kept, program, plan, directory));
    }
}

#[test]
fn the_state_of_a_run_takes_what_its_plan_says() {
    for (number, list) in
        [edges(400_000, 150_000, false), forward(3_000_000, 300_000)].into_iter().enumerate()
    {
        let directory = folder_in_memory();
        let io = IoOptions::default();
        let place = directory.path().join("graph");
        let shape = Shape {
            slots: list.slots().unwrap(),
            edges: list.edges(),
            weighted: false,
            estimated: false,
            input_bytes: 0,
        };
        let settings = Settings { threads: Some(2), stripe_bits: Some(13), ..Settings::default() };
        let plan = Plan::new(shape, Layout::kept(), &kept::settings(&settings), &MACHINE).unwrap();
        let options =
            KeepOptions { directory: place.clone(), io: io.clone(), ..KeepOptions::default() };
        let (workers, reading) = (Workers::new(2).unwrap(), Reading::default());
        let storage = Storage { directories: vec![directory.path().to_owned()], io: io.clone() };
        let (workers, progress) = (workers.with_storage(storage), Progress::new());
        let list = Box::new(list);
        kept::keep(list, &IdMap::Declared, reading, &plan, &options, &workers, &progress).unwrap();
        let kept = KeptGraph::open(&place, &io).unwrap();
        let ranks = PageRank::<f64>::new(kept.manifest().vertices, 0.85, 3, 0.0, Dangling::Spread);
        judge_program(&kept, &ranks, 2 - number, "ranks");
        judge_program(&kept, &LabelPropagation, 3, "labels");
    }
}

#[test]
fn states_of_edges_take_what_their_plan_says() {
    let spill = |combined, fused| Some(Route::Spill { combined, fused });
    for (threads, some, route) in [
        (1, false, None),
        (3, false, None),
        (2, true, None),
        (2, false, Some(Route::Ranges)),
        (2, false, spill(true, true)),
        (3, false, spill(false, true)),
        (1, true, spill(true, false)),
    ] {
        let none = folder();
        let input = || Box::new(edges(5_000_000, 100_000, false));
        let mut way = Setup { threads, route, ..Setup::stored(0, &none) };
        if some {
            way = Setup { storage: StorageMode::Auto, memory_bytes: Some(1), ..way };
            let refused = way.plan(Task::Rewritten, &*input());
            let Err(EngineError::Budget { need, .. }) = refused else { panic!("a byte is enough") };
            way.memory_bytes = Some(need + (1 << 20));
        }
        let plan = way.plan(Task::Rewritten, &*input()).unwrap();
        let stored = plan.storage().unwrap();
        assert_eq!((stored.room.edges > 0, stored.edge_states_bytes > 0), (true, some), "{plan}");
        judge(&plan, &format!("states by {way:?}"), |_, directory| {
            let directories = vec![directory.to_owned()];
            Setup { directories, ..way.clone() }.run(Task::Rewritten, input())
        });
    }
}

#[test]
fn ingest_takes_what_its_plan_says() {
    for task in [Task::Ranks32, Task::Paths] {
        for (threads, route, some_stay) in [
            (1, None, false),
            (3, Some(Route::Ranges), false),
            (2, Some(Route::Spill { combined: false, fused: true }), false),
            (2, Some(Route::Ranges), true),
        ] {
            let none = folder();
            let input = || Box::new(edges(1_500_000, 100_000, task == Task::Paths));
            let way = |memory_bytes| {
                let storage = match memory_bytes {
                    Some(_) => StorageMode::Auto,
                    None => StorageMode::Always { cache_bytes: 0, values: true },
                };
                Setup { threads, storage, route, memory_bytes, ..Setup::stored(0, &none) }
            };
            let bins = |plan: &Plan| plan.storage().unwrap().room.bins;
            let all = |plan: &Plan| {
                plan.premises.shape.edges * if task == Task::Paths { 48 } else { 16 } / 3
            };
            let stays = |memory_bytes: &u64| {
                let plan = way(Some(*memory_bytes)).plan(task, &*input());
                plan.is_ok_and(|plan| bins(&plan) > 0 && bins(&plan) < all(&plan))
            };
            // The least budget, of some MiB, with which some bins stay in memory, and not all.
            let memory_bytes =
                some_stay.then(|| (8..128).map(|mib| mib << 20).find(stays).unwrap());
            let way = way(memory_bytes);
            let plan = way.plan(task, &*input()).unwrap();
            assert_eq!(bins(&plan) > all(&plan), !some_stay, "{} {way:?}", bins(&plan));
            judge(&plan, &format!("{task:?} by {way:?}"), |_, directory| {
                Setup { directories: vec![directory.to_owned()], ..way.clone() }.run(task, input())
            });
        }
    }
}

#[test]
fn rows_that_travel_take_what_their_plan_says() {
    for (threads, combined, count) in [(1, true, 200_000), (3, false, 200_000), (2, true, 40_000)] {
        let none = folder();
        let route = Some(Route::Spill { combined, fused: true });
        let way = Setup { threads, route, ..Setup::stored(0, &none) };
        let input = || Box::new(edges(count, 60_000, false));
        let plan = way.plan(Task::Corners, &*input()).unwrap();
        assert!(plan.storage().unwrap().room.updates > 8 * u64::from(count), "{plan}");
        judge(&plan, &format!("triangles by {way:?}"), |_, directory| {
            let directories = vec![directory.to_owned()];
            Setup { directories, ..way.clone() }.run(Task::Corners, input())
        });
    }
}
