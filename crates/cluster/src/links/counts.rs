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
    pub(super) fn count(&self, event: Counted) {
        self.0[event as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Number of times that it happened.
    pub fn get(&self, event: Counted) -> u64 {
        self.0[event as usize].load(Ordering::Relaxed)
    }
}
