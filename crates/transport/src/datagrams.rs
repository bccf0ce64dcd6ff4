//! Datagrams that the reliability layer stands on: datagrams that may be lost, repeated and
//! reordered.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::bucket::{Bucket, Layout};
use crate::connection::Nanos;

/// Datagrams to and from a few peers.
pub trait Datagrams {
    /// Sends a bucket to a peer, each segment in a datagram of its own. `false`: there is no room
    /// now, and nothing was sent.
    ///
    /// # Errors
    /// If nothing can be sent any more.
    fn send(&mut self, to: usize, image: &[u8], segment_bytes: usize) -> io::Result<bool>;

    /// Reads what has come, if anything: datagrams of one peer side by side, all of
    /// `segment_bytes` but the last one.
    ///
    /// # Errors
    /// If nothing can be received any more.
    fn receive(&mut self, into: &mut [u8]) -> io::Result<Option<Came>>;

    /// A bucket of this layout, in memory that can be sent from if there is such memory.
    fn bucket(&mut self, layout: Layout) -> Bucket {
        Bucket::new(layout)
    }

    /// Sends a bucket, as `send` does, from where it lies if that can be.
    ///
    /// # Errors
    /// If nothing can be sent any more.
    fn send_bucket(&mut self, to: usize, bucket: &mut Bucket) -> io::Result<bool> {
        self.send(to, bucket.image(), bucket.layout().segment_bytes)
    }

    /// Bytes and length of a segment, as of `receive`, but in `into` or where they have come, until
    /// the next call.
    ///
    /// # Errors
    /// If nothing can be received any more.
    fn receive_in_place<'a>(
        &'a mut self,
        into: &'a mut [u8],
    ) -> io::Result<Option<(&'a mut [u8], usize)>> {
        let came = self.receive(into)?;
        Ok(came.map(|came| (&mut into[..came.bytes], came.segment_bytes)))
    }
}

/// Datagrams that have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Came {
    /// Bytes of all.
    pub bytes: usize,
    /// Bytes of each but the last.
    pub segment_bytes: usize,
}

/// Source of the time that is handed to connections.
#[derive(Clone, Debug)]
pub enum Clock {
    /// The time since this moment.
    Real(Instant),
    /// Whatever a caller sets.
    Set(Arc<AtomicU64>),
}

impl Clock {
    /// The system's clock.
    pub fn real() -> Self {
        Self::Real(Instant::now())
    }

    /// The time.
    pub fn now(&self) -> Nanos {
        match self {
            Self::Real(beginning) => {
                u64::try_from(beginning.elapsed().as_nanos()).unwrap_or(u64::MAX)
            }
            Self::Set(time) => time.load(Ordering::Relaxed),
        }
    }
}
