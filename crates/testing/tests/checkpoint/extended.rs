//! Programs whose edges have state: resumed runs against undisturbed ones, other plans, damage.

use std::fs;

use welter_engine::plan::{Route, Settings, StorageMode};
use welter_engine::{Checkpoints, EngineError};
use welter_store::io::{Call, Fault, Faults};
use welter_testing::executors::{Executor, Folder, Memory};
use welter_testing::graph::Graph;
use welter_testing::hashed::Hashed;

use crate::{JOB, PLAIN, alone, begin, ladder, names, options, place};
use welter_progress::FailureKind;

const PROGRAM: Hashed = Hashed(5);

/// An engine on `threads` threads, with stripes that do not depend on the plan.
fn engine(threads: usize, storage: StorageMode, route: Option<Route>) -> Memory {
    let Executor::Memory(memory) = alone() else { panic!("no engine") };
    let settings = Settings {
        threads: Some(threads),
        stripe_bits: Some(12),
        block_bits: Some(12),
        encoding: Some(welter_store::header::Encoding::Compressed),
        storage,
        route,
        ..memory.settings
    };
    Memory { settings, ..memory }
}

/// In memory, with the states of edges on storage, and with those of vertices there too. The first
/// ones have edges in one order, the last ones have orders of their own.
fn engines() -> [Memory; 7] {
    let stored = |values| StorageMode::Always { cache_bytes: 0, values };
    let spill = |combined, fused| Some(Route::Spill { combined, fused });
    [
        engine(1, StorageMode::Never, None),
        engine(2, stored(false), None),
        engine(1, stored(false), None),
        engine(1, stored(true), spill(true, true)),
        engine(2, stored(true), spill(false, false)),
        engine(1, stored(true), Some(Route::Ranges)),
        engine(2, stored(true), Some(Route::Ranges)),
    ]
}

/// Engines that have edges in the same order.
const ALIKE: usize = 5;

fn hashes(memory: &Memory, graph: &Graph) -> Vec<u64> {
    let answer = memory.extend_resumable(graph, PLAIN, &PROGRAM, None).unwrap();
    answer.values.iter().map(|value| value.0).collect()
}

/// Runs that end by force after each checkpoint and continue elsewhere.
fn judge([first, second]: [&Memory; 2], graph: &Graph, expected: &[u64]) {
    for checkpoints in 0..PROGRAM.0 {
        let folder = Folder::new();
        // The directory, the first manifest, and two files for each checkpoint.
        let faults = Faults::nth_of(Call::Create, 3 + 2 * checkpoints, Fault::Errno(5));
        let begun = Checkpoints::begin(&options(&place(&folder), Some(faults.clone())), JOB);
        let begun = begun.unwrap();
        let ended = first.extend_resumable(graph, PLAIN, &PROGRAM, Some(&begun));
        assert!(ended.is_err() && faults.fired(), "after {checkpoints}");
        let last = Some(checkpoints).filter(|count| *count > 0);
        assert_eq!(begun.last(), last);
        drop(begun);
        let opened = Checkpoints::open(&place(&folder), None).unwrap();
        let found = second.extend_resumable(graph, PLAIN, &PROGRAM, Some(&opened)).unwrap();
        let what = format!("after {checkpoints}: {first:?}, {second:?}");
        assert!(found.values.iter().map(|value| value.0).eq(expected.iter().copied()), "{what}");
        assert_eq!((found.iterations, found.totals.len()), (PROGRAM.0, 1 + PROGRAM.0 as usize));
        assert_eq!((opened.stats().resumed_at, opened.notes().len()), (last, 0), "{what}");
    }
}

#[test]
fn a_run_that_goes_on_ends_as_an_undisturbed_one() {
    let (engines, graph) = (engines(), ladder(13_000, 6));
    let expected = hashes(&engines[0], &graph);
    for (number, first) in engines.iter().enumerate() {
        judge([first, first], &graph, &expected);
        if number < ALIKE {
            judge([first, &engines[(number + 1) % ALIKE]], &graph, &expected);
        }
    }
}

#[test]
fn where_edges_lie_otherwise_a_run_is_not_gone_on_with() {
    let (engines, graph) = (engines(), ladder(13_000, 6));
    let wide = {
        let settings = Settings { stripe_bits: Some(13), ..engines[0].settings };
        Memory { settings, ..engines[0].clone() }
    };
    let [one, two] = [&engines[ALIKE], &engines[ALIKE + 1]];
    for [first, second] in
        [[&engines[0], &wide], [&engines[1], one], [one, two], [two, &engines[3]]]
    {
        let folder = Folder::new();
        let begun = begin(&place(&folder));
        first.extend_resumable(&graph, PLAIN, &PROGRAM, Some(&begun)).unwrap();
        drop(begun);
        let opened = Checkpoints::open(&place(&folder), None).unwrap();
        let refused = second.extend_resumable(&graph, PLAIN, &PROGRAM, Some(&opened));
        let error = refused.map(drop).unwrap_err();
        assert_eq!(error.kind(), FailureKind::Input, "{error}");
        assert!(error.to_string().contains("in another order"), "{error}");
    }
}

fn go(memory: &Memory, checkpoints: &Checkpoints) -> Result<Vec<u64>, EngineError> {
    let answer = memory.extend_resumable(&ladder(5_000, 5), PLAIN, &PROGRAM, Some(checkpoints))?;
    Ok(answer.values.iter().map(|value| value.0).collect())
}

#[test]
fn a_call_that_fails_leaves_the_checkpoint_before() {
    let memory = engine(1, StorageMode::Never, None);
    let expected = go(&memory, &begin(&place(&Folder::new()))).unwrap();
    for nth in 1.. {
        let (folder, what) = (Folder::new(), format!("call {nth}"));
        let faults = Faults::nth(nth, Fault::Errno(5));
        let begun = Checkpoints::begin(&options(&place(&folder), Some(faults.clone())), JOB);
        let done = begun.map_err(EngineError::from).and_then(|begun| go(&memory, &begun));
        if !faults.fired() {
            assert!(done.unwrap() == expected && nth > 30, "{what}");
            return;
        }
        assert!(
            [FailureKind::Output, FailureKind::Storage].contains(&done.expect_err(&what).kind()),
            "{what}"
        );
        if place(&folder).join("checkpoint").exists() {
            let opened = Checkpoints::open(&place(&folder), None).expect(&what);
            assert!(go(&memory, &opened).unwrap() == expected, "{what}: another answer");
            assert_eq!(opened.notes(), [""; 0], "{what}");
        }
    }
}

#[test]
fn a_damaged_state_is_passed_over_for_the_one_before() {
    for memory in [&engines()[1], &engines()[3], &engines()[5]] {
        let folder = Folder::new();
        let expected = go(memory, &begin(&place(&folder))).unwrap();
        let directory = place(&folder);
        let last = directory.join(format!("state-{}", PROGRAM.0));
        assert!(names(&directory).contains(&format!("state-{}", PROGRAM.0)));
        let whole = fs::read(&last).unwrap();
        for at in (0..whole.len()).step_by(whole.len() / 20) {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            fs::write(&last, bytes).unwrap();
            let opened = Checkpoints::open(&directory, None).unwrap();
            assert!(go(memory, &opened).unwrap() == expected, "byte {at}");
            assert_eq!(opened.notes().len(), 1, "byte {at}: {:?}", opened.notes());
        }
    }
}
