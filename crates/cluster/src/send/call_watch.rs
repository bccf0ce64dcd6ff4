//! The watch of a machine: a thread that ends the machine's life where a call of its disk or its
//! input is overdue.
//!
//! The machine's own thread may be in such a call itself, or wait for one that is, so neither it
//! nor a barrier can say so. The watch reports the failure to the host as the machine would, and
//! all machines end with it: the host says the verdict, and leaves threads that do not end to the
//! end of their process (`leaving`).
//!
//! **Invariant:** a machine that is alive has no call that is overdue for longer than a look of the
//! watch. Tested by `a_machine_ends_when_a_call_of_it_is_overdue`.

use std::io;
use std::thread::{Builder, sleep};
use std::time::{Duration, Instant};

use welter_protocol::failure::{Exit, Failure};

use super::calls::CallsUnderWay;
use super::ending::Ending;
use super::seat::LOOK;
use crate::report::{Report, Reports};

/// Time between two looks that counts, at most: in a longer one this process was stopped, and so
/// were its calls.
const PASSED_MAX: Duration = Duration::from_secs(1);

/// The watch of a machine.
pub(super) struct CallWatch {
    pub(super) calls: CallsUnderWay,
    /// Time in which a call must have its answer.
    pub(super) patience: Duration,
    pub(super) ending: Ending,
    pub(super) reports: Reports,
}

impl CallWatch {
    /// Starts its thread, which ends soon after the machine.
    ///
    /// # Errors
    /// When the system has no thread.
    pub(super) fn start(self) -> io::Result<()> {
        let thread = Builder::new().name(format!("watch-{}", self.reports.rank));
        thread.spawn(move || self.run()).map(|_| ())
    }

    fn run(&self) {
        let mut looked = Instant::now();
        loop {
            sleep(LOOK);
            if self.ending.is_of_machine() {
                return;
            }
            let now = Instant::now();
            let passed = now.duration_since(looked).min(PASSED_MAX);
            looked = now;
            if let Some(what) = self.calls.look(passed, self.patience) {
                let (why, rank, what) = (Exit::Stalled, self.reports.rank, what.into());
                self.reports.say(Report::Ended(Some(Failure { why, rank, what })));
                return self.ending.end_machine();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::mpsc::channel;

    use super::*;
    use crate::report::{Reported, RequestCounter};

    #[test]
    fn a_machine_ends_when_a_call_of_it_is_overdue() {
        let (host, reported) = channel();
        let (calls, ending) = (CallsUnderWay::default(), Ending::default());
        let objects = RequestCounter::default();
        let reports = Reports { rank: 2, incarnation: 1, host, objects };
        let patience = Duration::from_millis(250);
        let (watched, ends) = (calls.clone(), ending.clone());
        CallWatch { calls: watched, patience, ending: ends, reports }.start().unwrap();
        let _hung = calls.disk(Path::new("disk/7-0"), 9);
        let Ok(Reported { rank: 2, report, .. }) = reported.recv_timeout(Duration::from_mins(1))
        else {
            panic!("it says why it ends");
        };
        let Report::Ended(Some(failure)) = report else { panic!("{report:?}") };
        assert_eq!((failure.why, failure.rank), (Exit::Stalled, 2));
        assert_eq!(&*failure.what, "its disk has not answered for 0.25 s: disk/7-0");
        // The thread has ended, and with it the only sender.
        assert!(reported.recv_timeout(Duration::from_mins(1)).is_err());
        assert!(ending.is_of_machine());
    }
}
