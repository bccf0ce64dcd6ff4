//! A run that ends before its time ends on all machines, within a bound, and with one reason.
//!
//! ```text
//! x exits with w, y exits with v
//!                     =>   w = v, or one is `Absent` or `Cut`, and they could not talk, or a
//!                          machine was replaced while it lived
//! x exits at t                     =>   every machine has exited by t + 4 patience
//! ```
//!
//! Not checked: processes that were replaced; machines that are gone; and which of several failures
//! becomes the reason.

use welter_protocol::messages::Exit;

/// End of one machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    /// The machine exited.
    Exited(Exit),
    /// The machine lives on.
    Alive,
    /// The machine is gone, or was replaced.
    Gone,
}

/// Judges the ends of all machines; `parted`: whether some could not talk to others for good, or
/// died or were replaced before they had sent the reason, or received it.
///
/// # Errors
/// When one lives on, or two give different reasons.
pub fn judge(ends: &[Last], parted: bool) -> Result<(), String> {
    let mut reasons: Vec<Exit> = Vec::new();
    for (rank, end) in ends.iter().enumerate() {
        match end {
            Last::Alive => return Err(format!("machine {rank} did not end with the others")),
            Last::Exited(Exit::Absent | Exit::Cut) if parted => {}
            Last::Exited(why) => reasons.push(*why),
            Last::Gone => {}
        }
    }
    reasons.dedup();
    if reasons.len() > 1 {
        return Err(format!("machines ended with different reasons: {reasons:?}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_one_and_nobody_is_left() {
        let (bad, absent) = (Last::Exited(Exit::BadInput), Last::Exited(Exit::Absent));
        assert!(judge(&[bad, bad, Last::Gone], false).is_ok());
        assert!(judge(&[bad, Last::Alive], true).is_err());
        assert!(judge(&[bad, absent], false).is_err());
        assert!(judge(&[bad, absent], true).is_ok());
        assert!(judge(&[bad, Last::Exited(Exit::Budget)], true).is_err());
    }
}
