//! A sender thread of a machine: it sends buckets that computation threads have filled, several of
//! which it serves, and does nothing else (section V-A of the paper).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use welter_transport::{Patience, Sender};

use super::cores::bind;
use super::ending::Ending;
use super::error::Stop;
use super::outward::Outward;
use super::processor::ProcessorTime;
use crate::links::counts::{Counted, Counts};

/// Looks at queues and lanes between two words about its time, which is asked of the system. They
/// take half a second where nothing is to be sent.
const LOOKS: u32 = 1024;

/// The thread, with the queues and lanes that it serves.
pub(super) struct SenderThread {
    pub(super) sender: Sender<Outward>,
    /// Core of the thread, if it has one of its own.
    pub(super) core: Option<usize>,
    pub(super) ending: Ending,
    /// Whether nothing more will come.
    pub(super) is_over: Arc<AtomicBool>,
    /// Counts of who came to the lanes and is no machine.
    pub(super) counts: Arc<Counts>,
    /// Nanoseconds of processor time of all sender threads of the machine, of all epochs.
    pub(super) spent: Arc<AtomicU64>,
}

impl Drop for SenderThread {
    fn drop(&mut self) {
        self.counts.add(Counted::Stranger, self.sender.lanes_mut().strangers());
    }
}

impl SenderThread {
    /// Sends until nothing more will come.
    pub(super) fn run(mut self) -> Result<(), Stop> {
        bind(self.core);
        let mut processor = ProcessorTime::default();
        let sent = self.send(&mut processor);
        self.spent.fetch_add(processor.take(), Ordering::Relaxed);
        sent
    }

    fn send(&mut self, processor: &mut ProcessorTime) -> Result<(), Stop> {
        let (mut patience, mut looks) = (Patience::default(), 0_u32);
        while !self.is_over.load(Ordering::Acquire) {
            if self.ending.is_set() {
                return Err(Stop::Over);
            }
            let sent = self.sender.poll()?;
            patience.wait_unless(sent > 0);
            looks += 1;
            if looks == LOOKS {
                looks = 0;
                self.spent.fetch_add(processor.take(), Ordering::Relaxed);
            }
        }
        Ok(())
    }
}
