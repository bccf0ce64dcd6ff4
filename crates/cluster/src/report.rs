//! The report of a machine to its host.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use welter_protocol::Rank;
use welter_protocol::checkpoint::Manifest;
use welter_protocol::failure::Failure;
use welter_protocol::ids::Bytes;

use crate::activity::Activity;

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
    /// The result is committed. The machine stays, so that others can finish, until it is stopped.
    Finished(Arc<Manifest>),
    /// The machine has ended, for this reason; none where it died.
    Ended(Option<Failure>),
}

/// A report with who makes it.
#[derive(Clone, Debug)]
pub struct Reported {
    /// Rank of the machine.
    pub rank: Rank,
    /// Which process of that rank.
    pub incarnation: u32,
    /// Its word.
    pub report: Report,
}

/// A machine's way to its host.
#[derive(Clone, Debug)]
pub(crate) struct Reports {
    pub(crate) rank: Rank,
    pub(crate) incarnation: u32,
    pub(crate) host: Sender<Reported>,
}

impl Reports {
    pub(crate) fn say(&self, report: Report) {
        let Self { rank, incarnation, ref host } = *self;
        // A host that is gone has no use for it.
        let _ = host.send(Reported { rank, incarnation, report });
    }
}
