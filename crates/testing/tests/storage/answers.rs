//! Bits as in memory, wherever edges wait and however they are read.

use welter_engine::EngineError;
use welter_engine::plan::{OutOfCore, Plan, Route, StorageMode};
use welter_model::edges::EdgeStream;

use crate::{IoMode, IoOptions, Setup, TASKS, Task, edges, folder, is_empty, modes};

const EDGES: u32 = 2_000_000;
const SLOTS: u32 = 150_000;

fn input(task: Task) -> Box<dyn EdgeStream> {
    // Rows of triangles are written in small chunks.
    let edges_each = if task == Task::Corners { EDGES / 8 } else { EDGES };
    Box::new(edges(edges_each, SLOTS, task == Task::Paths))
}

/// Bytes of all chunks of a graph that was planned so.
fn chunk_bytes(plan: &Plan) -> u64 {
    plan.memory.chunks_stored
}

#[test]
fn every_task_gives_the_same_bits_as_in_memory() {
    for task in TASKS {
        let expected = Setup::memory().run(task, input(task)).unwrap();
        for threads in [1, 3] {
            let directory = folder();
            let none = Setup { threads, ..Setup::stored(0, &directory) };
            let half = chunk_bytes(&none.plan(task, &*input(task)).unwrap()) / 2;
            let storage = StorageMode::Always { cache_bytes: half, values: false };
            let half = Setup { threads, storage, ..Setup::stored(0, &directory) };
            let mut ways = vec![none.clone().by_ranges(), half.clone().by_ranges()];
            // Other programs add floats in another order there.
            if matches!(task, Task::Rewritten | Task::Corners) {
                ways.extend([none.clone().by_spill(), half.clone().by_spill()]);
            }
            ways.extend([none, half]);
            for way in ways {
                let found = way.run(task, input(task)).unwrap();
                assert!(found == expected, "other bits of {task:?} by {way:?}");
                assert!(is_empty(directory.path()));
            }
        }
    }
}

/// Windows of signals end anywhere in chunks, and tiles of one block or of many begin on both
/// sides.
#[test]
fn many_windows_give_the_same_bits() {
    const SLOTS: u32 = 600_000;
    let mut many = 0;
    for task in [Task::Ranks32, Task::Search, Task::Rewritten] {
        let input = || Box::new(edges(800_000, SLOTS, false));
        let expected = Setup::memory().run(task, input()).unwrap();
        for (threads, stripe_bits) in [(1, 13), (2, 15), (2, 17)] {
            let directory = folder();
            let way = Setup { threads, stripe_bits, ..Setup::stored(0, &directory).by_ranges() };
            let with = |bytes| Setup { memory_bytes: Some(bytes), ..way.clone() };
            let Err(EngineError::Budget { need, .. }) = with(1).plan(task, &*input()) else {
                panic!("a byte is enough")
            };
            let plan = with(need).plan(task, &*input()).unwrap();
            let Some(OutOfCore::Ranges(ranges)) = plan.out_of_core() else { panic!("{plan}") };
            many += u32::from(ranges.window_sources < u64::from(SLOTS) / 2);
            let found = with(need).run(task, input()).unwrap();
            assert!(found == expected, "other bits of {task:?}, {threads} threads, {ranges:?}");
        }
    }
    assert!(many > 3, "only {many} runs had more than two windows");
}

#[test]
fn every_way_of_doing_requests_gives_the_same_bits() {
    let folders = [folder(), folder()];
    let all = folders.each_ref().map(|folder| folder.path().to_owned());
    for task in [Task::Ranks32, Task::Paths] {
        let expected = Setup::memory().run(task, input(task)).unwrap();
        for (number, mode) in modes().into_iter().enumerate() {
            for direct in [true, false] {
                // One and two directories in turn.
                let directories = all[(number + usize::from(direct)) % 2..].to_vec();
                let io = IoOptions { mode, direct, ..IoOptions::default() };
                let cache = if mode == IoMode::Auto { 3 << 20 } else { 0 };
                let way = Setup { io, directories, ..Setup::stored(cache, &folders[0]) };
                let way = if direct { way } else { way.by_ranges() };
                let found = way.run(task, input(task)).unwrap();
                assert!(found == expected, "other bits of {task:?} by {way:?}");
            }
        }
    }
    assert!(folders.iter().all(|folder| is_empty(folder.path())));
}

#[test]
fn budgets_that_force_edges_to_storage_change_no_bit() {
    const MANY: u32 = 6_000_000;
    let directory = folder();
    for task in [Task::Ranks32, Task::Components] {
        let input = || Box::new(edges(MANY, SLOTS, false));
        let in_memory = Setup { stripe_bits: 12, ..Setup::memory() };
        let expected = in_memory.run(task, input()).unwrap();
        let directories = vec![directory.path().to_owned()];
        let stored = Setup { storage: StorageMode::Auto, directories, ..in_memory };
        let with = |bytes| Setup { memory_bytes: Some(bytes), ..stored.clone() };
        let plan = |bytes| with(bytes).plan(task, &*input());
        let least = least_budget(&plan);
        let mut stored = 0;
        for budget in [least, least + (4 << 20), least + (16 << 20), least + (64 << 20)] {
            stored += usize::from(plan(budget).unwrap().storage().is_some());
            let found = with(budget).run(task, input()).unwrap();
            assert!(found == expected, "other bits of {task:?} with {budget} bytes");
        }
        assert!(stored >= 2, "edges of {stored} of the runs were stored");
        assert!(is_empty(directory.path()));
    }
}

#[test]
fn a_state_whose_signals_do_not_fit_is_cut_into_ranges() {
    const VERTICES: u32 = 3_000_000;
    let directory = folder();
    let directories = vec![directory.path().to_owned()];
    for task in [Task::Ranks64, Task::Paths] {
        let input = || Box::new(edges(1_000_000, VERTICES, task == Task::Paths));
        let in_memory = Setup { stripe_bits: 15, ..Setup::memory() };
        let expected = in_memory.run(task, input()).unwrap();
        let directories = directories.clone();
        let stored = Setup { storage: StorageMode::Auto, directories, ..in_memory };
        let least = |route| {
            let with = |bytes| Setup { memory_bytes: Some(bytes), route, ..stored.clone() };
            least_budget(&|bytes| with(bytes).plan(task, &*input()))
        };
        // Route `spill`, which the plan may take, adds floats in another order.
        let route = Some(Route::Ranges);
        let (least, before) = (least(route), least(Some(Route::Fold)));
        assert!(least < before * 3 / 4, "{least} bytes suffice, {before} did before");
        for budget in [least, least.midpoint(before)] {
            let way = Setup { memory_bytes: Some(budget), route, ..stored.clone() };
            let plan = way.plan(task, &*input()).unwrap();
            assert!(plan.out_of_core().is_some(), "{plan}");
            let found = way.run(task, input()).unwrap();
            assert!(found == expected, "other bits of {task:?} with {budget} bytes");
        }
        assert!(is_empty(directory.path()));
    }
}

/// The smallest budget that a plan accepts, to a few KiB.
fn least_budget<E>(plan: &dyn Fn(u64) -> Result<Plan, E>) -> u64 {
    let (mut refused, mut accepted) = (0_u64, 1_u64 << 40);
    while accepted - refused > 4096 {
        let middle = refused.midpoint(accepted);
        if plan(middle).is_ok() { accepted = middle } else { refused = middle }
    }
    accepted
}
