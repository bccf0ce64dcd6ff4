//! The program of a machine: a thread that does the protocol's work, one piece after the other.
//!
//! A worker is one state for one partition ([`Worker::work`] wants it alone), so a machine streams
//! one chunk at a time. Work of a new epoch comes only when that of the one before has ended: the
//! protocol waits for the answer, so nothing here is broken off.
//!
//! **Invariant:** each piece of work is answered, by its outcome or by the failure of the machine,
//! also where it panics. Checked in `done`. Tested by `panics_and_errors_are_failures`.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel};
use std::thread::{Builder, JoinHandle};

use welter_progress::FailureKind;
use welter_protocol::failure::Exit;
use welter_protocol::{Event, Work};
use welter_worker::Worker;

/// The thread of a program. It ends, after the piece of work that it is at, when this is dropped.
pub(crate) struct Program {
    works: Option<Sender<(u64, Work)>>,
    is_stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Program {
    /// Starts the thread of a worker, which answers by `events`.
    pub(crate) fn new(worker: Box<dyn Worker>, events: SyncSender<Event>) -> io::Result<Self> {
        let (works, asked) = channel();
        let is_stopped = Arc::new(AtomicBool::new(false));
        let stopped = is_stopped.clone();
        let thread = Builder::new().name("program".to_owned());
        let thread = thread.spawn(move || serve(worker, &asked, &stopped, &events))?;
        Ok(Self { works: Some(works), is_stopped, thread: Some(thread) })
    }

    /// Asks for a piece of work.
    pub(crate) fn ask(&self, token: u64, work: Work) {
        if let Some(works) = &self.works {
            // It ends only when this does.
            let _ = works.send((token, work));
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        self.works = None;
        // The thread catches panics.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn serve(
    mut worker: Box<dyn Worker>,
    asked: &Receiver<(u64, Work)>,
    is_stopped: &AtomicBool,
    events: &SyncSender<Event>,
) {
    while let Ok((token, work)) = asked.recv() {
        if is_stopped.load(Ordering::Relaxed)
            || events.send(done(&mut *worker, token, &work)).is_err()
        {
            return;
        }
    }
}

/// Does a piece of work.
fn done(worker: &mut dyn Worker, token: u64, work: &Work) -> Event {
    // After a panic nothing is asked of the worker any more: the machine has failed.
    match catch_unwind(AssertUnwindSafe(|| worker.work(work))) {
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
    use std::sync::mpsc::sync_channel;
    use std::time::Duration;

    use welter_engine::EngineError;
    use welter_protocol::Outcome;

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

    #[test]
    fn panics_and_errors_are_failures() {
        let (sender, events) = sync_channel(1);
        let program = Program::new(Box::new(Odd), sender).unwrap();
        let next = || events.recv_timeout(Duration::from_secs(30)).unwrap();
        program.ask(3, Work::HandOver);
        assert!(matches!(next(), Event::Done { token: 3, outcome: Outcome::Merged }));
        for (work, expected) in [
            (Work::Flush, (Exit::BadInput, "edges.tsv:7: expected an integer")),
            (Work::Apply, (Exit::Broken, "panicked: no more")),
        ] {
            program.ask(4, work);
            let Event::Fail { why, what } = next() else { panic!("it fails") };
            assert_eq!((why, &*what), expected);
        }
    }
}
