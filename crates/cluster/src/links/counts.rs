//! Numbers of what happened on the links of a machine.

use std::sync::atomic::{AtomicU64, Ordering};

/// Event on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Counted {
    /// A peer was reached, and let this machine in.
    Connected,
    /// A connection to a peer broke, or could not be had.
    Broken,
    /// A peer did not let this machine in.
    RefusedByPeer,
    /// A peer was not let in.
    Refused,
    /// A connection began with anything but a handshake.
    Stranger,
    /// A connection was not accepted, because there are too many.
    Crowded,
    /// A frame was none, or of another sender.
    Malformed,
    /// A message had no room in the queue to its peer.
    Dropped,
    /// A message was sent.
    Sent,
    /// A message came.
    Received,
}

const KINDS: usize = Counted::Received as usize + 1;

/// Counts of what happened on the links of a machine.
#[derive(Debug, Default)]
pub struct Counts([AtomicU64; KINDS]);

impl Counts {
    pub(crate) fn count(&self, event: Counted) {
        self.add(event, 1);
    }

    /// Counts an event that happened this number of times.
    pub(crate) fn add(&self, event: Counted, times: u64) {
        self.0[event as usize].fetch_add(times, Ordering::Relaxed);
    }

    /// Number of times that it happened.
    pub fn get(&self, event: Counted) -> u64 {
        self.0[event as usize].load(Ordering::Relaxed)
    }

    /// Number of connections and messages that were of no machine of the run.
    pub fn strangers(&self) -> u64 {
        let strange = [Counted::Stranger, Counted::Refused, Counted::Malformed];
        strange.into_iter().map(|event| self.get(event)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_are_all_who_are_of_no_machine_of_the_run() {
        let counts = Counts::default();
        for (event, strangers) in [
            (Counted::Stranger, 1),
            (Counted::Refused, 2),
            (Counted::Malformed, 3),
            (Counted::Received, 3),
            (Counted::Broken, 3),
        ] {
            counts.count(event);
            assert_eq!(counts.strangers(), strangers, "{event:?}");
        }
        counts.add(Counted::Stranger, 4);
        assert_eq!((counts.strangers(), counts.get(Counted::Stranger)), (7, 5));
    }
}
