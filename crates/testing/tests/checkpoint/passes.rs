//! Stream programs: resumed runs against undisturbed ones, calls that fail between passes, damage.

use std::fs;

use bytemuck::{Pod, bytes_of};
use welter_algorithms::mcst::Cost;
use welter_algorithms::{Mcst, Scc};
use welter_engine::plan::{Settings, StorageMode};
use welter_engine::{Checkpoints, EngineError};
use welter_model::checkpointable::Checkpointable;
use welter_store::io::{Call, Fault, Faults};
use welter_testing::executors::{Executor, Folder, Memory};
use welter_testing::graph::Graph;

use crate::{JOB, PLAIN, alone, begin, ladder, names, options, place, strands};
use welter_progress::FailureKind;

/// In memory and with edges on storage, on one thread and on two.
fn engines() -> Vec<Memory> {
    let Executor::Memory(memory) = alone() else { panic!("no engine") };
    let stored = StorageMode::Always { cache_bytes: 0, values: false };
    let ways = [(1, StorageMode::Never), (2, stored), (2, StorageMode::Never), (1, stored)];
    let engine = |(threads, storage)| {
        let (threads, stripe_bits) = (Some(threads), Some(12));
        let settings = Settings { threads, stripe_bits, storage, ..memory.settings };
        Memory { settings, ..memory.clone() }
    };
    ways.into_iter().map(engine).collect()
}

/// The bytes of an answer.
fn bits<V: Pod>((values, _): (Vec<V>, u64)) -> Vec<u8> {
    values.iter().flat_map(|value| bytes_of(value).to_vec()).collect()
}

/// Graphs on which programs take several passes.
fn graphs() -> [Graph; 3] {
    let count = 13_000_u32;
    let pairs: Vec<_> = (0..count).flat_map(|v| [[v, v ^ 1], [v, (v * 7 + 1) % count]]).collect();
    [ladder(13_000, 6), strands(3, 40, 6), Graph::new(count as usize, pairs)]
}

/// Runs that end by force after each checkpoint and continue elsewhere, against an undisturbed one;
/// also how many checkpoints there were at most.
fn judge<S: Checkpointable<Value: Pod>>(
    [first, second]: [&Memory; 2],
    graph: &Graph,
    program: &S,
) -> u64 {
    let (values, passes) = first.pass_resumable(graph, PLAIN, program, None).unwrap();
    let expected = bits((values, passes));
    // The number of passes may differ by the threads' luck.
    for checkpoints in (0..passes).step_by((passes as usize / 4).max(1)) {
        let folder = Folder::new();
        // The directory, the first manifest, and two files for each checkpoint.
        let faults = Faults::nth_of(Call::Create, 3 + 2 * checkpoints, Fault::Errno(5));
        let begun = Checkpoints::begin(&options(&place(&folder), Some(faults.clone())), JOB);
        let begun = begun.unwrap();
        let ended = first.pass_resumable(graph, PLAIN, program, Some(&begun));
        assert_eq!(ended.is_err(), faults.fired(), "after {checkpoints} of {passes}");
        let last = begun.last();
        if faults.fired() {
            assert_eq!(last, Some(checkpoints).filter(|count| *count > 0));
        }
        drop(begun);
        let opened = Checkpoints::open(&place(&folder), None).unwrap();
        let found = second.pass_resumable(graph, PLAIN, program, Some(&opened)).unwrap();
        assert!(bits(found) == expected, "after {checkpoints}: {first:?}, {second:?}");
        assert_eq!((opened.stats().resumed_at, opened.notes().len()), (last, 0));
    }
    passes
}

#[test]
fn a_run_that_goes_on_ends_as_an_undisturbed_one() {
    let engines = engines();
    let mut most = [0; 3];
    for graph in graphs() {
        for (number, first) in engines.iter().enumerate() {
            for second in [first, &engines[(number + 1) % engines.len()]] {
                let pair = [first, second];
                most[0] = most[0].max(judge(pair, &graph, &Mcst::new(Cost::Maximum)));
                most[1] = most[1].max(judge(pair, &graph, &Scc::default()));
                most[2] = most[2].max(judge(pair, &graph, &Scc::with_rest(0)));
            }
        }
    }
    assert!(most[0] > 3 && most[1] > 1 && most[2] > 5, "{most:?}");
}

fn program() -> Scc {
    Scc::with_rest(0)
}

fn go(checkpoints: &Checkpoints) -> Result<Vec<u8>, EngineError> {
    let graph = ladder(300, 5);
    Ok(bits(engines()[0].pass_resumable(&graph, PLAIN, &program(), Some(checkpoints))?))
}

#[test]
fn a_call_that_fails_leaves_the_checkpoint_before() {
    let expected = go(&begin(&place(&Folder::new()))).unwrap();
    for nth in 1.. {
        let (folder, what) = (Folder::new(), format!("call {nth}"));
        let faults = Faults::nth(nth, Fault::Errno(5));
        let begun = Checkpoints::begin(&options(&place(&folder), Some(faults.clone())), JOB);
        let done = begun.map_err(EngineError::from).and_then(|begun| go(&begun));
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
            assert!(go(&opened).unwrap() == expected, "{what}: another answer");
            assert_eq!(opened.notes(), [""; 0], "{what}");
        }
    }
}

#[test]
fn a_damaged_checkpoint_is_passed_over_for_the_one_before_and_two_are_an_error() {
    let folder = Folder::new();
    let expected = go(&begin(&place(&folder))).unwrap();
    let directory = place(&folder);
    let mut states = names(&directory);
    states.retain(|name| name.starts_with("state-"));
    states.sort_by_key(|name| (name.len(), name.clone()));
    let [before, last] = [0, 1].map(|number| directory.join(&states[number]));
    let whole = fs::read(&last).unwrap();
    let damage = |path, place: usize| {
        let mut bytes = fs::read(path).unwrap();
        bytes[place] ^= 1;
        fs::write(path, bytes).unwrap();
    };
    for place in (0..whole.len()).step_by(whole.len() / 100) {
        fs::write(&last, &whole).unwrap();
        damage(&last, place);
        let opened = Checkpoints::open(&directory, None).unwrap();
        assert!(go(&opened).unwrap() == expected, "byte {place}");
        assert_eq!(opened.notes().len(), 1, "byte {place}: {:?}", opened.notes());
    }
    damage(&last, 100);
    damage(&before, 100);
    let error = go(&Checkpoints::open(&directory, None).unwrap()).unwrap_err();
    assert_eq!(error.kind(), FailureKind::Damaged, "{error}");
}

#[test]
fn another_program_is_refused() {
    let folder = Folder::new();
    go(&begin(&place(&folder))).unwrap();
    let opened = Checkpoints::open(&place(&folder), None).unwrap();
    let other =
        engines()[0].pass_resumable(&ladder(300, 5), PLAIN, &Mcst::default(), Some(&opened));
    let error = other.unwrap_err();
    assert_eq!(error.kind(), FailureKind::Input, "{error}");
    assert!(error.to_string().contains("another version of this program"), "{error}");
}
