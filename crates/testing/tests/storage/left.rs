//! Edges of stream programs that are left are written anew, and what that saves.

use welter_algorithms::{Mcst, Scc};
use welter_engine::{EngineError, Generation, StreamOutcome, pass};
use welter_model::edges::EdgeList;
use welter_model::program::Value;
use welter_progress::FailureKind;
use welter_store::io::{Call, Fault, Faults};

use crate::{Progress, Setup, Task, edges, folder, folder_in_memory, is_empty};

const EDGES: u32 = 600_000;
const SLOTS: u32 = 400_000;

/// The input: with few edges a vertex, strong components take several rounds; and of a path with
/// the weights of a ruler each pass of Boruvka's algorithm leaves half.
fn input(task: Task) -> EdgeList {
    if task == Task::Strong {
        return edges(EDGES, SLOTS, false);
    }
    let pairs = (0..SLOTS - 1).map(|vertex| [vertex, vertex + 1]).collect();
    let weights = (1..SLOTS).map(|number| f64::from(number.trailing_zeros())).collect();
    let mut list = EdgeList::new(Some(SLOTS.into()), true);
    list.push(pairs, weights);
    list
}

/// Result of a run: answer, edges of each generation, and bytes that were read and written when the
/// graph was there.
pub(crate) struct RunOutcome {
    pub(crate) answer: Vec<u8>,
    pub(crate) left: Vec<Generation>,
    pub(crate) read: u64,
    pub(crate) written: u64,
}

fn run(way: &Setup, task: Task) -> Result<RunOutcome, EngineError> {
    run_on(way, task, input(task))
}

/// Runs on another input.
pub(crate) fn run_on(way: &Setup, task: Task, input: EdgeList) -> Result<RunOutcome, EngineError> {
    fn told<V: Value + bytemuck::Pod>(
        passed: StreamOutcome<V>,
    ) -> Result<(Vec<u8>, Vec<Generation>), EngineError> {
        Ok((bytemuck::cast_slice(&passed.values.whole()?).to_vec(), passed.left))
    }
    let progress = Progress::new();
    let (graph, workers) = way.ingest(task, Box::new(input), &progress)?;
    let tally = &workers.storage().unwrap().io.totals;
    let before = tally.stats();
    let (answer, left) = match task {
        Task::Strong => told(pass(&graph, &Scc::with_rest(0), &workers, &progress)?)?,
        _ => told(pass(&graph, &Mcst::default(), &workers, &progress)?)?,
    };
    let after = tally.stats();
    let read = after.bytes_read - before.bytes_read;
    let written = after.bytes_written - before.bytes_written;
    Ok(RunOutcome { answer, left, read, written })
}

#[test]
fn what_is_left_is_written_and_less_is_read() {
    for task in [Task::Strong, Task::Forest] {
        let directory = folder();
        for (threads, stripe_bits) in [(1, 12), (2, 14), (3, 18)] {
            let way = Setup { threads, stripe_bits, ..Setup::stored(0, &directory) };
            let expected = Setup::memory();
            let expected = expected.run(task, Box::new(input(task)));
            let all = run(&Setup { keeps_edges: true, ..way.clone() }, task).unwrap();
            let found = run(&way, task).unwrap();
            assert!(found.answer == all.answer && found.answer == expected.unwrap(), "{way:?}");
            assert_eq!((all.left.len(), all.written), (0, 0), "{task:?}");
            assert!(!found.left.is_empty(), "{task:?}: nothing was written anew");
            let left = &found.left;
            // Nothing is parallel on a path.
            assert!(left.iter().all(|left| left.parallel.is_none()), "{left:?}");
            assert!(left.is_sorted_by(|more, less| less.edges <= more.edges / 4), "{left:?}");
            assert!(left[0].edges <= u64::from(EDGES) / 4);
            // Few edges are left of a path soon, and passes are many.
            let share = if task == Task::Forest { 2 } else { 1 };
            let moved = (found.read + found.written) * share;
            assert!(moved < all.read, "{task:?}: {moved} bytes moved for {}", all.read);
            assert!(is_empty(directory.path()));
        }
    }
}

#[test]
fn what_does_not_fit_in_memory_is_written() {
    let directory = folder();
    let way = Setup { threads: 2, ..Setup::stored(0, &directory) };
    let fits = run(&way, Task::Forest).unwrap();
    let plan = way.plan(Task::Forest, &input(Task::Forest)).unwrap();
    let mut written = 0;
    for spare in [0_u64, 2, 4, 8, 9, 10] {
        let memory_bytes = Some(plan.memory.peak() + (spare << 20));
        let found = run(&Setup { memory_bytes, ..way.clone() }, Task::Forest).unwrap();
        assert!(found.answer == fits.answer, "{spare} MiB");
        written = written.max(found.written);
    }
    assert_eq!(fits.written, 0);
    assert!(written > 0);
}

#[test]
fn writes_that_fail_are_errors_of_the_device_and_leave_nothing() {
    let directory = folder_in_memory();
    let way = Setup { threads: 2, ..Setup::stored(0, &directory) };
    let plan = way.plan(Task::Forest, &input(Task::Forest)).unwrap();
    let with = |spare: u64| {
        let memory_bytes = Some(plan.memory.peak() + (spare << 20));
        let way = Setup { memory_bytes, ..way.clone() };
        let found = run(&way, Task::Forest).unwrap();
        (found.written > 0).then_some((way, found))
    };
    let (way, expected) = (0..16).find_map(with).expect("room for buffers, and none for edges");
    let storage = Some(FailureKind::Storage);
    for (fault, kind) in
        [(Fault::Errno(5), storage), (Fault::Errno(28), storage), (Fault::Short, None)]
    {
        let mut failed = 0;
        for nth in 1.. {
            let faults = Faults::nth_of(Call::Write, nth, fault);
            let came = run(&way.with_faults(&faults), Task::Forest);
            assert!(is_empty(directory.path()));
            match came {
                Ok(found) => assert!(found.answer == expected.answer),
                Err(error) => {
                    assert_eq!(Some(error.kind()), kind, "{error}");
                    failed += 1;
                }
            }
            if !faults.fired() {
                break;
            }
        }
        assert!(failed > 0 || kind.is_none());
    }
}
