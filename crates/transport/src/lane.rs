//! The two ends of a lane, and why one fails.
//!
//! A lane leads from one thread to one sub-range of destinations of a machine; who folds there owns
//! the sub-range alone. Several lanes of one thread are one object, so that they can share a socket
//! and be polled together.

use std::io;

use crate::bucket::{Arrived, Bucket};

/// Sending ends of the lanes of one thread, by the number of their destination.
pub trait TxLane {
    /// An empty bucket for this destination, or none while its ring is under way.
    fn bucket(&mut self, to: usize) -> Option<Bucket>;

    /// Sends a bucket that `bucket` gave for this destination.
    ///
    /// # Errors
    /// If the other end is gone.
    fn commit(&mut self, to: usize, bucket: Bucket) -> Result<(), LaneError>;

    /// Does what waits: full windows, acknowledgements, buckets that are sent again.
    ///
    /// # Errors
    /// If the other end is gone, or does not answer.
    fn poll(&mut self) -> Result<(), LaneError>;

    /// Whether nothing is under way that the other end could still lack.
    fn is_idle(&self) -> bool;
}

/// Receiving ends of the lanes of one thread.
pub trait RxLane {
    /// Hands on the buckets that have come, each once, and says how many. Their messages are valid
    /// inside the call.
    ///
    /// # Errors
    /// If the other end is gone, or says what no sender says.
    fn poll(&mut self, fold: &mut dyn FnMut(&Arrived<'_>)) -> Result<usize, LaneError>;
}

/// Reason for which a lane ends.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaneError {
    /// The other end was dropped, or has closed its connection.
    #[error("the other end of the lane to destination {0} is gone")]
    Closed(usize),
    /// A peer has not acknowledged anything for longer than a peer may.
    #[error("machine {rank} has not answered on lane {lane} for {millis} ms")]
    Silent {
        /// Machine at the other end.
        rank: u16,
        /// Lane.
        lane: u16,
        /// Silence, in milliseconds.
        millis: u64,
    },
    /// Bytes on a stream are no bucket, or not the next one, or their tag is wrong.
    #[error("lane from source {from}: {reason}")]
    Malformed {
        /// Index of the source.
        from: usize,
        /// Expectation that does not hold.
        reason: &'static str,
    },
    /// Settings that do not go together.
    #[error("{0}")]
    Settings(&'static str),
    /// The system's reason.
    #[error("a lane: {0}")]
    Io(#[from] io::Error),
}
