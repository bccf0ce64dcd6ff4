//! The Nth call fails, for each N: an error with the right exit code, or the right answer.

use std::sync::Arc;

use welter_engine::EngineError;
use welter_store::frame::Compression;
use welter_store::io::{Call, Fault, Faults};

use crate::{IoOptions, Setup, Task, edges, folder_in_memory, is_empty, modes};
use welter_progress::FailureKind;

const EDGES: u32 = 250_000;
const SLOTS: u32 = 40_000;
const EIO: Fault = Fault::Errno(5);
const ENOSPC: Fault = Fault::Errno(28);

/// Runs with a fault in the Nth call, for each N, and hands over what came of each: the answer, if
/// it is the right one. The ways of doing requests take turns. The first forty calls are those of
/// ingest and of the first iteration; of the others, which are reads, every fifth fails.
fn for_each_call(
    task: Task,
    faults: impl Fn(u64) -> Arc<Faults>,
    mut check: impl FnMut(u64, Result<(), EngineError>),
) {
    // Rows of triangles are written in small chunks, so there are many calls.
    let few = if task == Task::Corners { 8 } else { 1 };
    let input = || Box::new(edges(EDGES / few, SLOTS / few, task == Task::Paths));
    let directory = folder_in_memory();
    let expected = Setup::memory().run(task, input()).unwrap();
    let modes = modes();
    let mut over = vec![false; modes.len()];
    let numbers = (1..40).chain((40..).step_by(5));
    for (run, nth) in numbers.enumerate() {
        let turn = run % modes.len();
        let (mode, direct) = (modes[turn], (run / modes.len()).is_multiple_of(2));
        if over.iter().all(|over| *over) {
            assert!(nth > 15, "{nth} calls were made, and counted");
            return;
        }
        let faults = faults(nth);
        let way = Setup::stored(0, &directory);
        let way = match run / modes.len() / 2 % 3 {
            // The requests of the others are as everywhere.
            _ if task == Task::Corners => way.by_spill(),
            0 => way,
            1 => way.by_ranges(),
            // Sums of floats are others there.
            _ if matches!(task, Task::Ranks32 | Task::Ranks64) => way,
            _ => way.by_spill(),
        };
        let io = IoOptions { mode, direct, ..IoOptions::default() };
        let codecs = [
            Compression::Zstd,
            Compression::None,
            Compression::Lz4,
            Compression::Zlib,
            Compression::Snappy,
        ];
        let compression = codecs[nth as usize % codecs.len()].into();
        let way = Setup { io, compression, ..way };
        let came = way.with_faults(&faults).run(task, input());
        assert!(is_empty(directory.path()));
        if let Ok(found) = &came {
            assert!(*found == expected, "call {nth}: a wrong answer by {way:?}");
        }
        if faults.fired() {
            if let Err(error) = &came {
                // A volume that could not be made has the name of its directory, as its files do.
                let place = directory.path().display().to_string();
                assert!(error.to_string().starts_with(&place), "{error}");
            }
            check(nth, came.map(drop));
        } else {
            came.unwrap();
            over[turn] = true;
        }
    }
}

#[test]
fn a_call_that_fails_is_an_error_of_the_device() {
    for task in [Task::Ranks32, Task::Paths, Task::Components, Task::Rewritten, Task::Corners] {
        for_each_call(
            task,
            |nth| Faults::nth(nth, EIO),
            |nth, came| {
                // A chunk that could not be read ahead is tried again.
                let Err(error) = came else { return };
                let made = error.to_string().contains("cannot create it");
                let expected = if made { FailureKind::Output } else { FailureKind::Storage };
                assert_eq!(error.kind(), expected, "call {nth}: {error}");
            },
        );
    }
}

#[test]
fn a_disk_that_becomes_full_is_named() {
    for lasting in [false, true] {
        let faults = |nth| {
            if lasting {
                Faults::from(Call::Write, nth, ENOSPC)
            } else {
                Faults::nth_of(Call::Write, nth, ENOSPC)
            }
        };
        for task in [Task::Ranks32, Task::Corners] {
            for_each_call(task, faults, |nth, came| {
                let error = came.unwrap_err();
                assert_eq!(error.kind(), FailureKind::Storage, "call {nth}");
                assert!(error.to_string().ends_with("its file system is full"), "{error}");
            });
        }
    }
}

#[test]
fn calls_that_do_less_or_are_interrupted_are_continued() {
    for task in [Task::Ranks64, Task::Rewritten, Task::Corners] {
        for_each_call(task, |nth| Faults::nth(nth, Fault::Short), |_, came| came.unwrap());
    }
    let eintr = Fault::Errno(4);
    let faults = |nth| Faults::nth_of(Call::Read, nth, eintr);
    for_each_call(Task::Search, faults, |_, came| came.unwrap());
}

#[test]
fn a_bit_that_is_another_one_is_found() {
    let cases = [
        (Task::Ranks32, 0),
        (Task::Paths, 8 * 5000 + 3),
        (Task::Search, u64::MAX),
        (Task::Rewritten, 8 * 3000),
        (Task::Corners, 8 * 100),
    ];
    for (task, bit) in cases {
        let mut found = 0;
        for_each_call(
            task,
            |nth| Faults::nth(nth, Fault::FlipBit(bit)),
            |nth, came| {
                if let Err(error) = came {
                    assert_eq!(error.kind(), FailureKind::Damaged, "read {nth}: {error}");
                    found += 1;
                }
            },
        );
        assert!(found > 0, "no damage was found");
    }
}

#[test]
fn every_call_failing_from_the_first_on_is_one_error() {
    let directory = folder_in_memory();
    for call in [Call::Create, Call::Read, Call::Write] {
        for mode in modes() {
            let io = IoOptions {
                mode,
                direct: true,
                faults: Some(Faults::from(call, 1, EIO)),
                ..IoOptions::default()
            };
            let way = Setup { io, ..Setup::stored(0, &directory) };
            let input = Box::new(edges(EDGES, SLOTS, false));
            let error = way.run(Task::Ranks32, input).map(drop).unwrap_err();
            let expected =
                if call == Call::Create { FailureKind::Output } else { FailureKind::Storage };
            assert_eq!(error.kind(), expected, "{call:?}, {mode:?}: {error}");
        }
    }
}
