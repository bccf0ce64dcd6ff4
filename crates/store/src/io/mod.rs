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
//! and not an error of the device. Tested by `places_are_aligned_and_spread_over_all_folders`,
//! `a_queue_that_is_dropped_has_written_what_it_began`,
//! `calls_that_are_interrupted_or_do_less_are_continued` and `a_file_that_was_cut_short_is_damage`.

mod at_once;
mod blocking;
mod closing;
mod faults;
mod file;
mod flights;
mod joined;
mod memory;
mod options;
mod place;
mod plain;
mod queue;
mod remote;
mod remote_requests;
mod request;
mod request_buffer;
mod requests;
mod ring;
mod stats;
mod threads;
mod transfer;
mod volume;

pub use closing::Closing;
pub use faults::{Call, Fault, Faults, check};
pub(crate) use file::parent;
pub use file::sync_directory;
pub use memory::{Memory, Pages};
pub use options::{IoMode, IoOptions};
pub use place::{ALIGN, Place};
pub use plain::{read_exact, write_all};
pub use queue::Queue;
pub use remote::{Remote, RemoteVersion, RemoteWriter};
pub use remote_requests::{JOINED_BYTES, RemoteRequests};
pub use request::Done;
pub use requests::{IN_FLIGHT_MOST, REQUEST_BYTES_LEAST, REQUEST_BYTES_MOST, Requests};
pub use stats::{IoTotals, VolumeStats};
pub use volume::Volume;

use crate::StoreError;

/// Whether the system lets this process use `io_uring`.
///
/// # Errors
/// When it does not: what it says.
pub fn ring_allowed() -> Result<(), StoreError> {
    ring::Ring::<Pages>::new(1).map(drop)
}
