//! Threads and memory that a host lends its worker.
//!
//! A worker has no thread: it cuts work that may be done side by side into parts, each with columns
//! of its own, and its host runs them. Buffers of payloads come from the host too, which has pages
//! of those that are gone.

use welter_protocol::payload::Buffer;

/// A part of some work. Parts may run side by side, in any order.
pub type WorkPart<'p> = Box<dyn FnOnce() + Send + 'p>;

/// Threads and memory of a host.
pub trait Resources: Send + Sync {
    /// Runs all parts, and returns when each of them has ended.
    fn run(&self, parts: Vec<WorkPart<'_>>);

    /// A buffer of `bytes` bytes, whatever they are, for callers that fill it.
    fn buffer(&self, bytes: usize) -> Buffer;
}

/// The thread of the caller, and memory as it comes.
#[derive(Clone, Copy, Debug, Default)]
pub struct CallerAlone;

impl Resources for CallerAlone {
    fn run(&self, parts: Vec<WorkPart<'_>>) {
        for part in parts {
            part();
        }
    }

    fn buffer(&self, bytes: usize) -> Buffer {
        Buffer::zeroed(bytes)
    }
}
