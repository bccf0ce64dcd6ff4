//! Files that are read and written in large pieces, past the page cache.
//!
//! ```text
//! Volume   append-only files, striped over directories; hands out places     (one, shared)
//! Queue    requests in flight: reads and writes of places, in any order      (one a thread)
//! Memory   what a request reads into or writes from; the queue owns it meanwhile
//! ```
//! Three ways of doing a request ([`IoMode`]) give the same bytes and the same errors: `io_uring`,
//! plain threads, and the calling thread itself.
//!
//! Invariants: every place begins at a multiple of [`ALIGN`], on every file system and with or
//! without direct I/O, so that a volume can be read elsewhere · memory that a request uses belongs
//! to the queue until the request is done, also where the queue is dropped before · short reads
//! and writes are continued · a read that meets the end of a file is damage ([`StoreError::Ended`])
//! and not an error of the device.

mod blocking;
mod closing;
mod faults;
mod file;
mod memory;
mod plain;
mod queue;
mod ring;
mod stats;
mod threads;
mod transfer;
mod volume;

use std::sync::Arc;

pub use closing::Closing;
pub(crate) use faults::check;
pub use faults::{Call, Fault, Faults};
pub(crate) use file::parent;
pub use file::sync_directory;
pub use memory::{Memory, Pages};
pub(crate) use plain::{read_exact, write_all};
pub use queue::{Done, Queue};
pub use stats::{Tally, VolumeStats};
pub use volume::Volume;

use crate::StoreError;

/// Offsets of places, addresses of memory and lengths of requests are multiples of this many bytes.
///
/// No common device asks for more. A file system that does is used through the page cache, because
/// then a volume that was written here can still be read there.
pub const ALIGN: usize = 4096;

/// Where bytes lie in a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// Number of the file in the volume.
    pub file: u16,
    /// Where they begin; a multiple of [`ALIGN`].
    pub offset: u64,
    /// How many, as asked for. Requests move this rounded up to a multiple of [`ALIGN`].
    pub bytes: u32,
}

impl Place {
    /// Bytes that a request for this place moves, and that its memory must have.
    pub fn rounded_bytes(&self) -> usize {
        (self.bytes as usize).next_multiple_of(ALIGN)
    }
}

/// How requests are done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IoMode {
    /// `io_uring` for [reads](Queue::reading), where the system allows it, and else threads, which
    /// depend on less of the kernel.
    #[default]
    Auto,
    /// `io_uring`, or an error.
    Ring,
    /// A few threads a queue that read and write.
    Threads,
    /// The calling thread, inside `read` and `write`: nothing overlaps.
    Blocking,
}

/// How files are opened and requests are done.
#[derive(Clone, Debug)]
pub struct IoOptions {
    /// How requests are done.
    pub mode: IoMode,
    /// Past the page cache, where the file system can.
    pub direct: bool,
    /// Calls that fail on purpose, for tests.
    pub faults: Option<Arc<Faults>>,
    /// What all volumes moved that were opened with these options, or copies of them.
    pub tally: Tally,
    /// Volumes that are being closed meanwhile.
    pub closing: Closing,
}

impl Default for IoOptions {
    fn default() -> Self {
        let (tally, closing) = (Tally::default(), Closing::default());
        Self { mode: IoMode::Auto, direct: true, faults: None, tally, closing }
    }
}

/// Whether the system lets this process use `io_uring`.
///
/// # Errors
/// When it does not: what it says.
pub fn ring_allowed() -> Result<(), StoreError> {
    ring::Ring::<Pages>::new(1).map(drop)
}
