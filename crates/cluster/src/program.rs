//! The program of a machine: threads that do the protocol's work.
//!
//! ```text
//! asked     pieces of work in the order in which they were asked for
//! threads   take the next one each; a chunk is streamed by a part of the worker that is borrowed
//!           for it, all else by the worker itself, which one thread has at a time
//! ```
//!
//! The protocol asks for one thing at a time, or for several chunks of one cell
//! ([`welter_protocol::Config::streams`]), so threads beyond the first have chunks alone, and lend
//! a hand where the worker cuts what it does into parts ([`crate::resources`]). A worker that lends
//! none of its parts streams its chunks one after the other. Work of a new epoch comes only when
//! that of the one before has ended: the protocol waits for the answer, so nothing here is broken
//! off.
//!
//! Invariants:
//! - Each piece of work is answered, by its outcome or by the failure of the machine, also where it
//!   panics. Checked in `caught`. Tested by `panics_and_errors_are_failures`.
//! - Chunks are streamed side by side, and nothing beside other work. Tested by
//!   `chunks_are_streamed_side_by_side_and_all_else_alone`.

use std::any::Any;
use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

use welter_engine::EngineError;
use welter_progress::FailureKind;
use welter_protocol::failure::Exit;
use welter_protocol::{Event, Outcome, Work};
use welter_worker::Worker;

/// The threads of a program. They end, after the pieces of work that they are at, when this is
/// dropped.
pub(crate) struct Program {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// Worker, and what it is asked for.
struct Shared {
    worker: Mutex<Box<dyn Worker>>,
    asked: Mutex<Asked>,
    is_asked: Condvar,
}

#[derive(Default)]
struct Asked {
    works: VecDeque<(u64, Work)>,
    /// Whether nothing is asked any more, nor answered.
    is_stopped: bool,
}

impl Program {
    /// Starts `threads` threads of a worker, which answer by `events`.
    pub(crate) fn new(
        worker: Box<dyn Worker>,
        threads: usize,
        events: &SyncSender<Event>,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            worker: Mutex::new(worker),
            asked: Mutex::default(),
            is_asked: Condvar::new(),
        });
        // Threads that have started end with it where one cannot be had.
        let mut program = Self { shared, threads: Vec::new() };
        for number in 0..threads.max(1) {
            let (shared, events) = (program.shared.clone(), events.clone());
            let thread = Builder::new().name(format!("program-{number}"));
            program.threads.push(thread.spawn(move || shared.serve(&events))?);
        }
        Ok(program)
    }

    /// Asks for a piece of work.
    pub(crate) fn ask(&self, token: u64, work: Work) {
        lock(&self.shared.asked).works.push_back((token, work));
        self.shared.is_asked.notify_one();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        lock(&self.shared.asked).is_stopped = true;
        self.shared.is_asked.notify_all();
        for thread in self.threads.drain(..) {
            // The thread catches panics.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn serve(&self, events: &SyncSender<Event>) {
        while let Some((token, work)) = self.next() {
            let event = caught(token, || self.done(&work));
            if lock(&self.asked).is_stopped || events.send(event).is_err() {
                return;
            }
        }
    }

    /// The next piece of work, once there is one.
    fn next(&self) -> Option<(u64, Work)> {
        let mut asked = lock(&self.asked);
        loop {
            if asked.is_stopped {
                return None;
            }
            if let Some(work) = asked.works.pop_front() {
                return Some(work);
            }
            asked = self.is_asked.wait(asked).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Does a piece of work.
    fn done(&self, work: &Work) -> Result<Outcome, EngineError> {
        let mut worker = lock(&self.worker);
        let Work::Stream { payload, .. } = work else { return worker.work(work) };
        let Some(mut streamer) = worker.borrow_streamer() else { return worker.work(work) };
        drop(worker);
        let streamed = streamer.stream(payload);
        // Before it is answered: other work may follow.
        lock(&self.worker).take_back(streamer);
        streamed
    }
}

/// Takes a lock. After a panic nothing is asked of a worker any more: the machine has failed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The event of a piece of work that is done so.
fn caught(token: u64, work: impl FnOnce() -> Result<Outcome, EngineError>) -> Event {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(outcome)) => Event::Done { token, outcome },
        Ok(Err(error)) => Event::Fail { why: exit(error.kind()), what: error.to_string().into() },
        Err(panic) => Event::Fail { why: Exit::Broken, what: panic_message(&*panic).into() },
    }
}

/// Words of a panic.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    format!("panicked: {}", text.unwrap_or("without a word"))
}

/// The protocol's reason for a failure of this kind.
pub(crate) fn exit(kind: FailureKind) -> Exit {
    match kind {
        FailureKind::Usage => Exit::Usage,
        FailureKind::Input | FailureKind::Missing => Exit::BadInput,
        FailureKind::Output | FailureKind::Storage | FailureKind::Permission => Exit::Storage,
        FailureKind::Budget => Exit::Budget,
        FailureKind::Cancelled => Exit::Cancelled,
        FailureKind::Damaged => Exit::Damaged,
        FailureKind::Internal | FailureKind::Resumable => Exit::Broken,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::mpsc::{Receiver, sync_channel};
    use std::time::Duration;

    use welter_protocol::Payload;
    use welter_protocol::ids::{Block, BlockName, Epoch, Kind, Role};
    use welter_protocol::work::Rewritten;
    use welter_worker::Streamer;

    use super::*;

    /// Merges, fails to flush, and panics else.
    struct Odd;

    impl Worker for Odd {
        fn work(&mut self, work: &Work) -> Result<Outcome, EngineError> {
            match work {
                Work::HandOver => Ok(Outcome::Merged),
                Work::Flush => Err(EngineError::Input("edges.tsv:7: expected an integer".into())),
                _ => panic!("no {}", "more"),
            }
        }

        fn looked_at(&self) -> u64 {
            0
        }
    }

    fn next(events: &Receiver<Event>) -> Event {
        events.recv_timeout(Duration::from_secs(30)).unwrap()
    }

    #[test]
    fn panics_and_errors_are_failures() {
        for threads in [1, 3] {
            let (sender, events) = sync_channel(1);
            let program = Program::new(Box::new(Odd), threads, &sender).unwrap();
            program.ask(3, Work::HandOver);
            assert!(matches!(next(&events), Event::Done { token: 3, outcome: Outcome::Merged }));
            for (work, expected) in [
                (Work::Flush, (Exit::BadInput, "edges.tsv:7: expected an integer")),
                (Work::Apply, (Exit::Broken, "panicked: no more")),
            ] {
                program.ask(4, work);
                let Event::Fail { why, what } = next(&events) else { panic!("it fails") };
                assert_eq!((why, &*what), expected);
            }
        }
    }

    /// Lends parts, each of which waits at a barrier for the others, and counts those that are out.
    struct Lending {
        meeting: Arc<Barrier>,
        borrowed: usize,
    }

    struct Waiting(Arc<Barrier>);

    impl Streamer for Waiting {
        fn stream(&mut self, _: &[u8]) -> Result<Outcome, EngineError> {
            self.0.wait();
            let (rewritten, filled) = (Rewritten::Not, Vec::new());
            Ok(Outcome::Streamed { made: 0, gathered: 1, rewritten, filled })
        }
    }

    impl Worker for Lending {
        fn work(&mut self, _: &Work) -> Result<Outcome, EngineError> {
            assert_eq!(self.borrowed, 0, "all parts are back");
            Ok(Outcome::Merged)
        }

        fn borrow_streamer(&mut self) -> Option<Box<dyn Streamer>> {
            self.borrowed += 1;
            Some(Box::new(Waiting(self.meeting.clone())))
        }

        fn take_back(&mut self, _: Box<dyn Streamer>) {
            self.borrowed -= 1;
        }

        fn looked_at(&self) -> u64 {
            0
        }
    }

    #[test]
    fn chunks_are_streamed_side_by_side_and_all_else_alone() {
        const THREADS: usize = 3;
        let (sender, events) = sync_channel(THREADS);
        // Were they streamed one after the other, the first one would wait for ever.
        let worker = Lending { meeting: Arc::new(Barrier::new(THREADS)), borrowed: 0 };
        let program = Program::new(Box::new(worker), THREADS, &sender).unwrap();
        let payload = Payload::default();
        let name = BlockName {
            kind: Kind::Edges,
            role: Role::Primary,
            epoch: Epoch::default(),
            iteration: 0,
            partition: 0,
            source: None,
            number: 0,
        };
        let block = Block::of(name, 1, u64::MAX, &payload);
        for round in 0..4 {
            for token in 0..THREADS as u64 {
                program.ask(token, Work::Stream { block, payload: payload.clone() });
            }
            for _ in 0..THREADS {
                let event = next(&events);
                let is_streamed =
                    matches!(event, Event::Done { outcome: Outcome::Streamed { .. }, .. });
                assert!(is_streamed, "{round}");
            }
            program.ask(9, Work::Apply);
            assert!(matches!(next(&events), Event::Done { token: 9, outcome: Outcome::Merged }));
        }
    }
}
