//! Lanes between processes of one machine: the ring of buckets is memory that both map.
//!
//! ```text
//! page 0:  written   folded   sender is gone   receiver is gone        (counters)
//! slots:   bucket 0, bucket 1, ...             bucket n lies in slot n modulo their number
//! ```
//!
//! A worker writes into the slot, and the accumulator folds from it. The slots from `folded` to
//! `written` are the receiver's, all others the sender's. Both sides are processes of one run, and
//! trust each other with their memory as threads do; what a head says is checked all the same.
//! Buckets of others, of a thread that sends for them (`queues`), are copied into a slot.
//!
//! **Invariant:** a slot has one owner at a time. Asserted in `SharedTx::commit`; tested by
//! `a_ring_of_slots_is_full_and_empty`.
#![expect(unsafe_code, reason = "slots of a mapped region are taken and given back")]

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Release};

use crate::bucket::{Arrived, Bucket, HEADROOM_BYTES, Layout};
use crate::guard::End;
use crate::header::Header;
use crate::lane::{LaneError, RxLane, TxLane};
use crate::memory::{LINE_BYTES, Memory};
use crate::region::{COUNTERS_BYTES, Region};

/// Counters of a region.
const WRITTEN: usize = 0;
const FOLDED: usize = 1;
const TX_GONE: usize = 2;
const RX_GONE: usize = 3;

/// Slots of a region, seen from one side.
struct Slots {
    region: Arc<Region>,
    layout: Layout,
    count: u64,
}

/// Sending ends, one a destination.
#[derive(Default)]
pub struct SharedTx {
    lanes: Vec<TxEnd>,
    here: End,
    /// Buckets of others that were copied.
    done: Vec<Bucket>,
}

struct TxEnd {
    slots: Slots,
    written: u64,
    is_open: bool,
}

/// Receiving ends, one a source.
#[derive(Default)]
pub struct SharedRx {
    lanes: Vec<RxEnd>,
}

struct RxEnd {
    slots: Slots,
    folded: u64,
}

impl Slots {
    fn slot_bytes(layout: Layout) -> usize {
        (HEADROOM_BYTES + layout.bytes()).next_multiple_of(LINE_BYTES)
    }

    fn region_bytes(buckets: usize, layout: Layout) -> usize {
        COUNTERS_BYTES + buckets * Self::slot_bytes(layout)
    }

    /// The bucket of this number.
    ///
    /// # Safety
    /// The slot is this side's, and no bucket is on it.
    unsafe fn bucket(&self, number: u64) -> Bucket {
        let bytes = Self::slot_bytes(self.layout);
        let offset = COUNTERS_BYTES + (number % self.count) as usize * bytes;
        // SAFETY: slots do not overlap, and the caller says that this one is free.
        let memory = unsafe { Memory::slot(&self.region, offset, bytes) };
        Bucket::in_memory(memory, self.layout)
    }

    fn load(&self, counter: usize) -> u64 {
        self.region.counter(counter).load(Acquire)
    }

    fn store(&self, counter: usize, value: u64) {
        self.region.counter(counter).store(value, Release);
    }
}

impl SharedTx {
    /// Lanes of this machine and thread, of which there are none yet. Buckets say whose they are.
    pub fn of(here: End) -> Self {
        Self { lanes: Vec::new(), here, done: Vec::new() }
    }

    /// Makes the lane to the next destination, of `buckets` buckets.
    ///
    /// # Errors
    /// If the system has no memory for it.
    pub fn create(&mut self, buckets: usize, layout: Layout) -> io::Result<BorrowedFd<'_>> {
        let region = Arc::new(Region::create(Slots::region_bytes(buckets, layout))?);
        let slots = Slots { region, layout, count: buckets as u64 };
        self.lanes.push(TxEnd { slots, written: 0, is_open: false });
        let index = self.lanes.len() - 1;
        Ok(self.lanes[index].slots.region.file())
    }
}

impl SharedRx {
    /// Opens the lane of the next source, whose file `create` gave.
    ///
    /// # Errors
    /// If it is not the region of such a lane.
    pub fn open(&mut self, file: OwnedFd, buckets: usize, layout: Layout) -> io::Result<()> {
        let region = Arc::new(Region::open(file, Slots::region_bytes(buckets, layout))?);
        let slots = Slots { region, layout, count: buckets as u64 };
        self.lanes.push(RxEnd { slots, folded: 0 });
        Ok(())
    }
}

impl TxLane for SharedTx {
    fn bucket(&mut self, to: usize) -> Option<Bucket> {
        let lane = &mut self.lanes[to];
        let is_full = lane.written - lane.slots.load(FOLDED) >= lane.slots.count;
        if lane.is_open || is_full {
            return None;
        }
        lane.is_open = true;
        // SAFETY: the receiver has folded what was in the slot, and no bucket is open.
        Some(unsafe { lane.slots.bucket(lane.written) })
    }

    fn commit(&mut self, to: usize, mut bucket: Bucket) -> Result<(), LaneError> {
        let lane = &mut self.lanes[to];
        assert!(lane.is_open, "a bucket is committed once");
        lane.written += 1;
        bucket.header.number = lane.written;
        (bucket.header.rank, bucket.header.lane) = self.here;
        bucket.seal_heads();
        drop(bucket);
        lane.is_open = false;
        lane.slots.store(WRITTEN, lane.written);
        Ok(())
    }

    fn poll(&mut self) -> Result<(), LaneError> {
        // An end that has folded all before it went has lost nothing.
        let is_lost =
            |lane: &TxEnd| lane.slots.load(RX_GONE) != 0 && lane.slots.load(FOLDED) != lane.written;
        let gone = self.lanes.iter().position(is_lost);
        gone.map_or(Ok(()), |to| Err(LaneError::Closed(to)))
    }

    fn is_idle(&self) -> bool {
        self.lanes.iter().all(|lane| lane.slots.load(FOLDED) == lane.written)
    }
}

// A path in place of an import: both traits have methods of one name.
impl crate::queues::Carrier for SharedTx {
    fn carry(&mut self, to: usize, bucket: Bucket) -> Result<Option<Bucket>, LaneError> {
        let Some(mut slot) = self.bucket(to) else { return Ok(Some(bucket)) };
        slot.copy_from(&bucket);
        self.commit(to, slot)?;
        self.done.push(bucket);
        Ok(None)
    }

    fn done(&mut self) -> Option<Bucket> {
        self.done.pop()
    }

    fn poll(&mut self) -> Result<(), LaneError> {
        TxLane::poll(self)
    }

    fn is_idle(&self) -> bool {
        TxLane::is_idle(self)
    }
}

impl RxLane for SharedRx {
    fn poll(&mut self, fold: &mut dyn FnMut(&Arrived<'_>)) -> Result<usize, LaneError> {
        let mut folded = 0;
        for (from, lane) in self.lanes.iter_mut().enumerate() {
            let malformed = |reason| LaneError::Malformed { from, reason };
            let is_gone = lane.slots.load(TX_GONE) != 0;
            let written = lane.slots.load(WRITTEN);
            if written - lane.folded > lane.slots.count {
                return Err(malformed("more buckets are written than the ring has"));
            }
            if is_gone && written == lane.folded {
                continue;
            }
            while lane.folded < written {
                // SAFETY: the sender has written the slot, and waits until it is folded.
                let mut bucket = unsafe { lane.slots.bucket(lane.folded) };
                let buffer = bucket.buffer();
                let end = Header::read(buffer).map_or(0, |head| head.end as usize);
                let arrived = buffer.get(..end).and_then(Arrived::open);
                match arrived {
                    Some(arrived) if arrived.header().number == lane.folded + 1 => fold(&arrived),
                    _ => return Err(malformed("a slot does not hold the next bucket")),
                }
                drop(bucket);
                lane.folded += 1;
                folded += 1;
                lane.slots.store(FOLDED, lane.folded);
            }
        }
        Ok(folded)
    }
}

impl Drop for TxEnd {
    fn drop(&mut self) {
        self.slots.region.counter(TX_GONE).store(1, Release);
    }
}

impl Drop for RxEnd {
    fn drop(&mut self) {
        self.slots.region.counter(RX_GONE).store(1, Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_of_slots_is_full_and_empty() {
        let (mut tx, mut rx) = (SharedTx::default(), SharedRx::default());
        let file = tx.create(2, Layout::DATAGRAM).unwrap().try_clone_to_owned().unwrap();
        rx.open(file, 2, Layout::DATAGRAM).unwrap();
        for round in 0..5_u64 {
            for number in 0..2 {
                let mut bucket = tx.bucket(0).unwrap();
                assert!(tx.bucket(0).is_none());
                bucket.clear();
                bucket.header.width = 8;
                assert!(bucket.push(&(2 * round + number).to_le_bytes()));
                tx.commit(0, bucket).unwrap();
            }
            assert!(tx.bucket(0).is_none() && !tx.is_idle());
            let mut got = Vec::new();
            let mut fold = |bucket: &Arrived<'_>| {
                got.extend(bucket.messages::<8>().map(|message| u64::from_le_bytes(*message)));
            };
            assert_eq!(rx.poll(&mut fold).unwrap(), 2);
            assert_eq!(got, [2 * round, 2 * round + 1]);
            assert!(tx.is_idle());
        }
        drop(rx);
        tx.poll().unwrap();
        let bucket = tx.bucket(0).unwrap();
        tx.commit(0, bucket).unwrap();
        assert!(matches!(tx.poll(), Err(LaneError::Closed(0))));
    }

    #[test]
    fn another_ring_is_refused() {
        let (mut tx, mut rx) = (SharedTx::default(), SharedRx::default());
        let file = tx.create(2, Layout::DATAGRAM).unwrap().try_clone_to_owned().unwrap();
        assert!(rx.open(file, 3, Layout::DATAGRAM).is_err());
    }
}
