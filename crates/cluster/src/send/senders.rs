//! A sender thread of a machine: it sends buckets that computation threads have filled, several of
//! which it serves, and does nothing else (section V-A of the paper).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use welter_transport::Sender;

use super::cores::bind;
use super::ending::Ending;
use super::error::Stop;
use super::outward::Outward;
use super::patience::Patience;
use super::processor::ProcessorTime;

/// The thread, with the queues and lanes that it serves.
pub(super) struct SenderThread {
    pub(super) sender: Sender<Outward>,
    /// Core of the thread, if it has one of its own.
    pub(super) core: Option<usize>,
    pub(super) ending: Ending,
    /// Whether nothing more will come.
    pub(super) is_over: Arc<AtomicBool>,
    /// Nanoseconds of processor time of all sender threads that have ended.
    pub(super) spent: Arc<AtomicU64>,
}

impl SenderThread {
    /// Sends until nothing more will come.
    pub(super) fn run(mut self) -> Result<(), Stop> {
        bind(self.core);
        let mut patience = Patience::default();
        while !self.is_over.load(Ordering::Acquire) {
            if self.ending.is_set() {
                return Err(Stop::Over);
            }
            let sent = self.sender.poll()?;
            patience.wait_unless(sent > 0);
        }
        self.spent.fetch_add(ProcessorTime::default().take(), Ordering::Relaxed);
        Ok(())
    }
}
