//! Nothing of an old epoch takes effect, and nothing of a process that was replaced, or for one.
//!
//! ```text
//! newest(x, r) = the largest incarnation of rank r of which anything was handed to process x
//!
//! a message m that is handed to x has no effect but a sign of life, if
//!     epoch(m) < epoch(x), or epoch(m) > epoch(x) and m is numbered, unless m ends the run
//!     incarnation(m) < newest(x, from(m))                    who sent it was replaced
//!     for(m) is neither 0 nor the incarnation of x           who should have it was replaced
//! ```
//!
//! The first word of a new process may make a coordinator begin an epoch, whatever it says.
//!
//! Not checked: what a fenced process does to its own disk, which is no one else's; what machines
//! learn of processes from the coordinator's incarnations alone; and state that changes without an
//! effect at once (the others would show by chunks that are streamed twice, sums or the answer).

use welter_protocol::ids::Epoch;
use welter_protocol::messages::{Envelope, Message};
use welter_protocol::{Effect, Rank};

/// Header of an envelope.
#[derive(Clone, Copy, Debug)]
pub struct Outside {
    from: Rank,
    incarnation: u32,
    to_incarnation: u32,
    epoch: Epoch,
    is_numbered: bool,
    /// Whether it says why the run ends, which holds in any epoch.
    ends: bool,
}

impl Outside {
    /// Of this one.
    pub fn of(envelope: &Envelope) -> Self {
        Self {
            from: envelope.from,
            incarnation: envelope.from_incarnation,
            to_incarnation: envelope.to_incarnation,
            epoch: envelope.epoch,
            is_numbered: envelope.number > 0,
            ends: matches!(
                envelope.message,
                Message::Fail(_) | Message::Abort(_) | Message::Aborting
            ),
        }
    }
}

/// A process, as it was when a message was handed to it.
#[derive(Debug)]
pub struct Receiver<'a> {
    /// Whether the process is of rank 0.
    pub coordinates: bool,
    /// Incarnation of the process.
    pub incarnation: u32,
    /// Epoch of the process.
    pub epoch: Epoch,
    /// Newest incarnation of each rank that the process has received messages from.
    pub sender_incarnations: &'a mut [u32],
}

/// A message was handed to a process, and had these effects.
///
/// # Errors
/// When it should have had none.
pub fn delivered(
    outside: &Outside,
    receiver: &mut Receiver<'_>,
    effects: &[Effect],
) -> Result<(), String> {
    let &Outside { from, incarnation, to_incarnation, epoch, is_numbered, ends } = outside;
    let newest = receiver.sender_incarnations[from];
    receiver.sender_incarnations[from] = newest.max(incarnation);
    if receiver.coordinates && incarnation > newest {
        return Ok(());
    }
    let why = if incarnation < newest {
        "a process that was replaced"
    } else if to_incarnation != 0 && to_incarnation != receiver.incarnation {
        "a message for another process"
    } else if epoch < receiver.epoch && !ends {
        "a message of an older epoch"
    } else if epoch > receiver.epoch && is_numbered {
        "a message of an epoch that was not joined"
    } else {
        return Ok(());
    };
    let is_harmless = |effect: &Effect| match effect {
        Effect::Exit(_) => true,
        Effect::Send(answer) => matches!(answer.message, Message::Ping | Message::Pong),
        _ => false,
    };
    if effects.iter().all(is_harmless) {
        return Ok(());
    }
    let now = receiver.epoch;
    Err(format!("{why} took effect: {from}#{incarnation} in {epoch} said it to one in {now}"))
}
