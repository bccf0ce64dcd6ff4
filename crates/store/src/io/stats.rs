//! Traffic to and from a volume.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Bytes and requests to and from a volume since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VolumeStats {
    /// Bytes that finished reads moved, with what rounding added.
    pub bytes_read: u64,
    /// Bytes that finished writes moved, with what rounding added.
    pub bytes_written: u64,
    /// Reads that finished well.
    pub reads: u64,
    /// Writes that finished well.
    pub writes: u64,
    /// Reads among these of files that lie elsewhere.
    pub fetches: u64,
    /// Time that threads spent in [`Queue::wait`](super::Queue::wait), added up, on requests of
    /// this volume.
    pub waited: Duration,
}

impl VolumeStats {
    /// The bytes and requests since an earlier look.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            bytes_read: self.bytes_read - earlier.bytes_read,
            bytes_written: self.bytes_written - earlier.bytes_written,
            reads: self.reads - earlier.reads,
            writes: self.writes - earlier.writes,
            fetches: self.fetches - earlier.fetches,
            waited: self.waited.saturating_sub(earlier.waited),
        }
    }
}

/// Bytes and requests to and from all volumes that were opened with the same options, those that
/// are gone included.
#[derive(Clone, Debug, Default)]
pub struct IoTotals(Arc<Counters>);

impl IoTotals {
    /// Totals up to now.
    pub fn stats(&self) -> VolumeStats {
        self.0.read()
    }
}

/// The counters behind [`VolumeStats`].
#[derive(Debug, Default)]
pub(crate) struct Counters {
    bytes_read: AtomicU64,
    bytes_written: AtomicU64,
    reads: AtomicU64,
    writes: AtomicU64,
    fetches: AtomicU64,
    waited_nanos: AtomicU64,
    /// Where the same is counted once more.
    totals: Option<IoTotals>,
}

impl Counters {
    pub(crate) fn new(totals: &IoTotals) -> Self {
        Self { totals: Some(totals.clone()), ..Self::default() }
    }

    pub(crate) fn moved(&self, bytes: usize, wrote: bool) {
        if let Some(IoTotals(all)) = &self.totals {
            all.moved(bytes, wrote);
        }
        let (requests, moved) = if wrote {
            (&self.writes, &self.bytes_written)
        } else {
            (&self.reads, &self.bytes_read)
        };
        requests.fetch_add(1, Ordering::Relaxed);
        moved.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Notes a range of a file that lies elsewhere, with the gaps in it.
    pub(crate) fn fetched(&self, bytes: u64) {
        self.moved(bytes as usize, false);
        let all = self.totals.iter().map(|IoTotals(all)| &all.fetches);
        all.chain([&self.fetches]).for_each(|fetches| {
            fetches.fetch_add(1, Ordering::Relaxed);
        });
    }

    pub(crate) fn waited(&self, time: Duration) {
        if let Some(IoTotals(all)) = &self.totals {
            all.waited(time);
        }
        self.waited_nanos.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> VolumeStats {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        VolumeStats {
            bytes_read: of(&self.bytes_read),
            bytes_written: of(&self.bytes_written),
            reads: of(&self.reads),
            writes: of(&self.writes),
            fetches: of(&self.fetches),
            waited: Duration::from_nanos(of(&self.waited_nanos)),
        }
    }
}
