//! The report of a machine to its host.

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use welter_engine::resident_bytes_max;
use welter_protocol::Rank;
use welter_protocol::checkpoint::Manifest;
use welter_protocol::failure::Failure;
use welter_protocol::ids::Bytes;

use crate::activity::Activity;
use crate::moved::Moves;

/// Word of a machine to its host.
#[derive(Clone, Debug)]
pub enum Report {
    /// A machine has been silent for long.
    Suspected(Rank),
    /// The decision of the program after this number of iterations. Also for what is done again
    /// after a recovery.
    Decided(u32, Bytes),
    /// Activity of the machine until it finished, which it says next.
    Did(Box<Activity>),
    /// Bytes that were moved since the last such word, by iterations.
    Moved(Moves),
    /// The result is committed. The machine stays, so that others can finish, until it is stopped.
    Finished(Arc<Manifest>),
    /// The machine has ended, for this reason; none where it died.
    Ended(Option<Failure>),
}

/// A report with the process that makes it.
#[derive(Clone, Debug)]
pub struct Reported {
    /// Rank of the machine.
    pub rank: Rank,
    /// Incarnation of the process.
    pub incarnation: u32,
    /// Report of the process.
    pub report: Report,
}

/// Counter of the requests of this process to stores of objects, in the order of
/// [`Activity::objects`]; zeros by default. This crate makes none, but inputs that it reads may.
#[derive(Clone)]
pub struct RequestCounter(Arc<dyn Fn() -> [u64; 4] + Send + Sync>);

impl RequestCounter {
    /// A counter that asks this.
    pub fn new(counts: impl Fn() -> [u64; 4] + Send + Sync + 'static) -> Self {
        Self(Arc::new(counts))
    }

    fn so_far(&self) -> [u64; 4] {
        (self.0)()
    }
}

impl Default for RequestCounter {
    fn default() -> Self {
        Self::new(|| [0; 4])
    }
}

impl fmt::Debug for RequestCounter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("RequestCounter").field(&self.so_far()).finish()
    }
}

/// A machine's way to its host.
#[derive(Clone, Debug)]
pub(crate) struct Reports {
    pub(crate) rank: Rank,
    pub(crate) incarnation: u32,
    pub(crate) host: Sender<Reported>,
    pub(crate) objects: RequestCounter,
}

impl Reports {
    /// Says what the machine did, with requests that others count for it, and the memory that the
    /// system counts.
    pub(crate) fn say_activity(&self, activity: Activity) {
        let objects = self.objects.so_far();
        let resident_bytes_max = resident_bytes_max().unwrap_or(0);
        self.say(Report::Did(Box::new(Activity { objects, resident_bytes_max, ..activity })));
    }

    /// Says what was moved, if anything was.
    pub(crate) fn say_moves(&self, moves: Moves) {
        if !moves.is_empty() {
            self.say(Report::Moved(moves));
        }
    }

    pub(crate) fn say(&self, report: Report) {
        let Self { rank, incarnation, ref host, .. } = *self;
        // A host that is gone has no use for it.
        let _ = host.send(Reported { rank, incarnation, report });
    }
}
