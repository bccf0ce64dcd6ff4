//! Calls of a machine's threads that may never end, of its disk and of its input, while they are
//! under way.
//!
//! ```text
//! thread    file ──> CallUnderWay ── call of the system ── drop
//! watch     age of each call += time since the last look      overdue: age > patience + allowance
//! ```
//!
//! Threads of an epoch are waited for when it ends, and one that is in such a call never ends,
//! while its machine shows others by its beats that it is there. So a call is entered here before
//! it is made, and the watch of the machine (`call_watch`) looks at all of them.
//!
//! A call has the time in which machines of other routes must have an answer of their disks, and
//! what the slowest disk takes for all bytes that are under way there: those of all calls, which
//! wait for each other, and those of stored edges that the system may still hold back, for which a
//! file that is made durable waits as well. Ages grow by looks, so a process that was stopped finds
//! no call overdue when it goes on.
//!
//! A piece of the input may be a reading of all edges, by each thread, where parallel ones are
//! merged. So calls for pieces begin anew with each batch that the input gives, to any of them.
//!
//! **Invariant:** a call is under way until its guard is dropped, after a panic too. Tested by
//! `a_call_is_overdue_as_long_as_it_is_under_way`. **Invariant:** a piece has as long as batches
//! come, and no longer. Tested by `a_piece_has_as_long_as_batches_come`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use welter_store::io::Faults;

use crate::batches::BatchCounter;

/// Bytes that the slowest disk moves in a second.
const BYTES_PER_SECOND: u64 = 8 << 20;

/// Bytes of files that nothing has made durable which the system holds back, at most.
const HELD_BACK_MAX: u64 = 1 << 30;

/// Patience with the input between two batches, in those with a call of the disk. Readers sort
/// meanwhile: of merged edges each thread 256 MiB.
const INPUT_TIMES: u32 = 10;

/// Calls that are under way in the threads of a machine. A clone shares them.
#[derive(Clone, Debug, Default)]
pub(super) struct CallsUnderWay(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// Number of the next call.
    next: u64,
    /// By number, so that the first one that is overdue is the oldest.
    calls: BTreeMap<u64, Call>,
    /// Bytes that were written and not made durable.
    held_back: u64,
    /// Batches of the input, and how many of them had come by the last look.
    batches: BatchCounter,
    seen: u64,
}

/// A call, and for how long it has been looked at.
#[derive(Debug)]
struct Call {
    answerer: Answerer,
    age: Duration,
}

/// Side of a call that has to answer.
#[derive(Debug)]
enum Answerer {
    /// The disk, of a call on this file that moves this number of bytes.
    Disk(PathBuf, u64),
    Input,
}

/// Guard of a call, which ends when this is dropped.
#[must_use = "a call is under way as long as its guard is there"]
#[derive(Debug)]
pub(super) struct CallUnderWay {
    calls: CallsUnderWay,
    number: u64,
}

impl CallsUnderWay {
    /// No call yet, in a process whose input counts its batches here.
    pub(super) fn new(batches: BatchCounter) -> Self {
        Self(Arc::new(Mutex::new(State { batches, ..State::default() })))
    }

    /// A call of the disk on a file that moves up to `bytes` bytes.
    pub(super) fn disk(&self, file: &Path, bytes: u64) -> CallUnderWay {
        self.begin(Answerer::Disk(file.to_owned(), bytes))
    }

    /// A call for a piece of the input.
    pub(super) fn input(&self) -> CallUnderWay {
        self.begin(Answerer::Input)
    }

    /// Lets all calls grow older by the time since the last look. Sentence about one that has taken
    /// longer than `patience` allows.
    pub(super) fn look(&self, passed: Duration, patience: Duration) -> Option<String> {
        let mut state = self.lock();
        let batches = state.batches.so_far();
        let is_given = std::mem::replace(&mut state.seen, batches) != batches;
        for call in state.calls.values_mut() {
            let begins_anew = is_given && matches!(call.answerer, Answerer::Input);
            call.age = if begins_anew { Duration::ZERO } else { call.age + passed };
        }
        let bytes = state.held_back.min(HELD_BACK_MAX);
        let bytes = state.calls.values().fold(bytes, |all, call| all.saturating_add(call.bytes()));
        let of_disk = patience + Duration::from_secs(bytes / BYTES_PER_SECOND);
        let bounds = (of_disk, patience * INPUT_TIMES);
        state.calls.values().find_map(|call| call.overdue(bounds))
    }

    /// Notes bytes that were written and are not made durable.
    pub(super) fn hold_back(&self, bytes: u64) {
        let mut state = self.lock();
        state.held_back = state.held_back.saturating_add(bytes);
    }

    fn begin(&self, answerer: Answerer) -> CallUnderWay {
        let mut state = self.lock();
        let number = state.next;
        state.next += 1;
        state.calls.insert(number, Call { answerer, age: Duration::ZERO });
        CallUnderWay { calls: self.clone(), number }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Call {
    fn bytes(&self) -> u64 {
        if let Answerer::Disk(_, bytes) = self.answerer { bytes } else { 0 }
    }

    fn overdue(&self, (of_disk, of_input): (Duration, Duration)) -> Option<String> {
        let bound = match self.answerer {
            Answerer::Disk(..) => of_disk,
            Answerer::Input => of_input,
        };
        if self.age <= bound {
            return None;
        }
        let seconds = bound.as_secs_f64();
        Some(match &self.answerer {
            Answerer::Disk(file, _) => {
                format!("its disk has not answered for {seconds} s: {}", file.display())
            }
            Answerer::Input => format!("its input has not been read on for {seconds} s"),
        })
    }
}

impl Drop for CallUnderWay {
    fn drop(&mut self) {
        self.calls.lock().calls.remove(&self.number);
    }
}

/// Directory of a machine on whose files calls are made.
#[derive(Clone, Debug)]
pub(super) struct WatchedDirectory {
    path: PathBuf,
    calls: CallsUnderWay,
    faults: Option<Arc<Faults>>,
}

impl WatchedDirectory {
    /// The directory of this path. `faults` are for tests.
    pub(super) fn new(path: PathBuf, calls: CallsUnderWay, faults: Option<Arc<Faults>>) -> Self {
        Self { path, calls, faults }
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Faults of calls on its files.
    pub(super) fn faults(&self) -> Option<&Arc<Faults>> {
        self.faults.as_ref()
    }

    /// Notes bytes that were written to a file of it and are not made durable.
    pub(super) fn hold_back(&self, bytes: u64) {
        self.calls.hold_back(bytes);
    }

    /// A call on a file of it that moves up to `bytes` bytes.
    pub(super) fn call(&self, file: &Path, bytes: u64) -> CallUnderWay {
        self.calls.disk(file, bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use welter_model::edges::{EdgeList, EdgeStream};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    #[test]
    fn a_call_is_overdue_as_long_as_it_is_under_way() {
        let calls = CallsUnderWay::default();
        let look = |seconds| calls.look(Duration::from_secs(seconds), PATIENCE);
        assert_eq!(look(100), None, "no call is under way");
        let first = calls.disk(Path::new("disk/7-0"), 100);
        assert_eq!(look(29), None);
        let other = calls.disk(Path::new("disk/7-1"), 100);
        let overdue = Some("its disk has not answered for 30 s: disk/7-0".to_owned());
        assert_eq!((look(1), look(1)), (None, overdue));
        drop(first);
        assert_eq!((look(28), look(1).is_some()), (None, true), "the other one is");
        drop(other);
        for panics in [false, true] {
            let ended = catch_unwind(AssertUnwindSafe(|| {
                let _call = calls.input();
                assert!(!panics, "a planted panic");
            }));
            assert_eq!((ended.is_err(), look(10_000)), (panics, None));
        }
    }

    #[test]
    fn long_calls_have_longer() {
        let calls = CallsUnderWay::default();
        let look = |seconds| calls.look(Duration::from_secs(seconds), PATIENCE);
        let large = calls.disk(Path::new("disk/7-0"), 100 * BYTES_PER_SECOND);
        // Another one waits behind it, and both wait for what the system holds back.
        let other = calls.disk(Path::new("disk/7-1"), 50 * BYTES_PER_SECOND);
        calls.hold_back(20 * BYTES_PER_SECOND);
        assert_eq!(look(200), None);
        assert!(look(1).is_some_and(|it| it.contains("for 200 s")));
        calls.hold_back(u64::MAX);
        assert_eq!(look((HELD_BACK_MAX / BYTES_PER_SECOND) - 21), None);
        drop((large, other));
        let _input = calls.input();
        assert_eq!(look(300), None);
        let overdue = look(1);
        assert_eq!(overdue.as_deref(), Some("its input has not been read on for 300 s"));
    }

    #[test]
    fn a_piece_has_as_long_as_batches_come() {
        let batches = BatchCounter::default();
        let edges = batches.counted(Arc::new(EdgeList::from_pairs(vec![[0, 1]])));
        let calls = CallsUnderWay::new(batches);
        let look = |seconds| calls.look(Duration::from_secs(seconds), PATIENCE);
        let input = calls.input();
        for _ in 0..20 {
            edges.read(0, &mut |_| true).unwrap();
            assert_eq!(look(299), None);
        }
        assert_eq!(look(300), None);
        let overdue = look(1);
        assert_eq!(overdue.as_deref(), Some("its input has not been read on for 300 s"));
        drop(input);
        // A disk that hangs gains nothing by them.
        let _hung = calls.disk(Path::new("disk/7-0"), 9);
        edges.read(0, &mut |_| true).unwrap();
        assert_eq!(look(30), None);
        edges.read(0, &mut |_| true).unwrap();
        assert!(look(1).is_some_and(|it| it.contains("disk/7-0")));
    }
}
