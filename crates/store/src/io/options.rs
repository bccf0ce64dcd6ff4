//! Options by which files are opened and requests are done.

use std::sync::Arc;

use super::closing::Closing;
use super::faults::Faults;
use super::remote::Remote;
use super::requests::Requests;
use super::stats::IoTotals;

/// Mode in which requests are done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IoMode {
    /// `io_uring` for [reads](super::Queue::reading), where the system allows it, and else threads,
    /// which depend on less of the kernel.
    #[default]
    Auto,
    /// `io_uring`, or an error.
    Ring,
    /// A few threads a queue that read and write.
    Threads,
    /// The calling thread, inside `read` and `write`: nothing overlaps.
    Blocking,
}

/// Options by which files are opened and requests are done.
#[derive(Clone, Debug)]
pub struct IoOptions {
    /// Mode in which requests are done.
    pub mode: IoMode,
    /// Past the page cache, where the file system can and the requests do not say otherwise.
    pub direct: bool,
    /// Size of requests, and number of those in flight.
    pub requests: Requests,
    /// Whether scratch files are memory, whatever directories are named: for columns that code
    /// which reads and writes files shall find there.
    pub in_memory: bool,
    /// Calls that fail on purpose, for tests.
    pub faults: Option<Arc<Faults>>,
    /// Where files to be read lie, if not on this machine.
    pub remote: Option<Arc<dyn Remote>>,
    /// Bytes and requests of all volumes that were opened with these options, or copies of them.
    pub totals: IoTotals,
    /// Volumes that are being closed meanwhile.
    pub closing: Closing,
}

impl Default for IoOptions {
    fn default() -> Self {
        let (totals, closing) = (IoTotals::default(), Closing::default());
        let (mode, requests) = (IoMode::Auto, Requests::default());
        let (direct, in_memory) = (true, false);
        let (faults, remote) = (None, None);
        Self { mode, direct, requests, in_memory, faults, remote, totals, closing }
    }
}
