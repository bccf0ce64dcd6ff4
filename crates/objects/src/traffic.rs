//! Requests that this process has made of stores, and bytes that went there and came back.
//!
//! Stores are paid by requests, those included that were made again: so they are counted where they
//! are sent. Removals are free, and not counted.

use std::sync::atomic::{AtomicU64, Ordering};

use http::{Method, Uri};

static READS: AtomicU64 = AtomicU64::new(0);
static WRITES: AtomicU64 = AtomicU64::new(0);
static RECEIVED: AtomicU64 = AtomicU64::new(0);
static SENT: AtomicU64 = AtomicU64::new(0);

/// Requests and bytes of bodies, of all stores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Requests for objects or their heads.
    pub reads: u64,
    /// Requests that put something, begin or end an upload, copy or list.
    pub writes: u64,
    /// Bytes that came.
    pub bytes_received: u64,
    /// Bytes that went.
    pub bytes_sent: u64,
}

impl Traffic {
    /// Traffic since the process began.
    pub fn so_far() -> Self {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Self {
            reads: of(&READS),
            writes: of(&WRITES),
            bytes_received: of(&RECEIVED),
            bytes_sent: of(&SENT),
        }
    }

    /// The requests and bytes since an earlier look.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            reads: self.reads - earlier.reads,
            writes: self.writes - earlier.writes,
            bytes_received: self.bytes_received - earlier.bytes_received,
            bytes_sent: self.bytes_sent - earlier.bytes_sent,
        }
    }
}

/// Notes a request that is sent, with `bytes` bytes in its body.
pub(crate) fn sends(method: &Method, uri: &Uri, bytes: u64) {
    SENT.fetch_add(bytes, Ordering::Relaxed);
    let counter = match *method {
        Method::DELETE => return,
        Method::GET | Method::HEAD if !lists(uri) => &READS,
        _ => &WRITES,
    };
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Notes bytes that came.
pub(crate) fn received(bytes: usize) {
    RECEIVED.fetch_add(bytes as u64, Ordering::Relaxed);
}

/// Whether a request lists a bucket, which is paid like one that writes.
fn lists(uri: &Uri) -> bool {
    let query = uri.query().unwrap_or_default();
    query.split('&').any(|word| word.starts_with("list-type=") || word == "comp=list")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_told_from_objects() {
        for (uri, is_list) in [
            ("http://box/a?list-type=2&prefix=x", true),
            ("http://box/c?restype=container&comp=list", true),
            ("http://box/list-type=2", false),
            ("http://box/a?partNumber=1&uploadId=list-type", false),
        ] {
            assert_eq!(lists(&uri.parse().unwrap()), is_list, "{uri}");
        }
    }
}
