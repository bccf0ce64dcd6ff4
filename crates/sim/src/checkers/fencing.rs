//! Nothing of an old epoch takes effect.
//!
//! ```text
//! a numbered message of an epoch before the receiver's  =>  no effect but a sign of life
//! ```
//!
//! Not checked: what a fenced process does to its own disk, which is no one else's; messages of a
//! process that was replaced in the same epoch (the others would tell by chunks that are streamed
//! twice, sums or the answer); those without a number, and of epochs that the receiver has not
//! joined yet; and state that changes without an effect at once.

use welter_protocol::Effect;
use welter_protocol::messages::{Envelope, Message};
use welter_protocol::names::Epoch;

/// A message was handed to a machine that was in this epoch.
///
/// # Errors
/// When an old message did something.
pub fn delivered(envelope: &Envelope, epoch: Epoch, effects: &[Effect]) -> Result<(), String> {
    if envelope.number == 0 || envelope.epoch >= epoch {
        return Ok(());
    }
    let is_harmless = |effect: &Effect| match effect {
        Effect::Exit(_) => true,
        Effect::Send(answer) => matches!(answer.message, Message::Ping | Message::Pong),
        _ => false,
    };
    if effects.iter().all(is_harmless) {
        return Ok(());
    }
    let old = envelope.epoch;
    Err(format!("a message of {old} from {} took effect in {epoch}", envelope.from))
}
