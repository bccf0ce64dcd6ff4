//! Every run ends within a bound of virtual time and of events after the last fault: with a result,
//! or with a reason that its faults explain.
//!
//! Not checked: how soon within the bound.

use welter_protocol::Time;
use welter_protocol::messages::Exit;

/// Events after which nothing more is expected.
pub const EVENTS_MAX: u64 = 400_000;

/// End of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The run ended with a result.
    Finished,
    /// The run ended with a reason.
    Exited(Exit),
    /// The run did not end.
    Stuck {
        /// Virtual nanoseconds of the run.
        after: Time,
        /// Number of events of the run.
        events: u64,
    },
}

/// Reasons that the faults of a schedule explain.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "faults go together as they like")]
pub struct Excuses {
    /// A machine does not come back.
    pub absent: bool,
    /// Something is lost, and is not to be read again.
    pub lost: bool,
    /// Storage of a cluster of another shape is not to be read.
    pub reshaped: bool,
    /// Two machines never receive from each other again.
    pub cut: bool,
    /// A disk or a program never answers.
    pub stalled: bool,
    /// Machines were notified that they cannot continue, for these reasons: a bit each.
    pub failed: u32,
}

impl Excuses {
    /// A machine is notified that it cannot continue.
    pub fn fails(&mut self, why: Exit) {
        self.failed |= 1 << why as u32;
    }

    fn has_failed(self, why: Exit) -> bool {
        self.failed >> why as u32 & 1 == 1
    }
}

/// Judges an end.
///
/// # Errors
/// When it is none, or not to be explained.
pub fn judge(end: End, excuses: Excuses) -> Result<(), String> {
    match end {
        End::Finished => Ok(()),
        End::Exited(Exit::Absent | Exit::Cut) if excuses.absent || excuses.cut => Ok(()),
        End::Exited(Exit::Lost) if excuses.lost => Ok(()),
        End::Exited(Exit::Reshaped) if excuses.reshaped => Ok(()),
        End::Exited(Exit::Stalled) if excuses.stalled => Ok(()),
        End::Exited(why) if excuses.has_failed(why) => Ok(()),
        End::Exited(why) => Err(format!("ended with {why:?}, for no reason")),
        End::Stuck { after, events } => {
            Err(format!("did not end after {} ms and {events} events", after / 1_000_000))
        }
    }
}
