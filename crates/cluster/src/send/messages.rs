//! Records in buckets: a sink of messages, and the records of a run that has arrived.
//!
//! ```text
//! room of a segment for c messages     records, c of them | destinations (u32), c of them
//! a run of k messages as it travels    records, k of them | destinations (u32), k of them
//! ```
//!
//! Kernels fill both parts in place, so a record is written once, into the bucket that travels, and
//! folded from the buffer that it arrived in. Only the last segment of an iteration is not full:
//! its second part is moved up to the first. Records of a width that 4 does not divide follow
//! their destinations instead, so that either part begins where its elements may.
//!
//! **Invariant:** rooms of any size give the same messages, in the same order, as an update chunk
//! does. Tested by `rooms_of_any_size_give_the_messages_of_an_update_chunk`.

use std::ops::Range;

use welter_engine::EngineError;
use welter_engine::chunks::{Column, Outgoing};
use welter_transport::{Destination, LaneError, RingGroup, TxLane};

use super::error::Stop;
use super::message_runs::{TARGET_BYTES, sections};

/// Updates that were sent, the messages that stand for them, and bytes of these, by ring.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) updates: Vec<u64>,
    pub(super) messages: Vec<u64>,
    pub(super) bytes: Vec<u64>,
}

impl Sent {
    fn none(rings: usize) -> Self {
        Self { updates: vec![0; rings], messages: vec![0; rings], bytes: vec![0; rings] }
    }

    /// Counts of two iterations of the lanes, which are one of the run.
    pub(super) fn and(mut self, other: &Self) -> Self {
        let sums = [
            (&mut self.updates, &other.updates),
            (&mut self.messages, &other.messages),
            (&mut self.bytes, &other.bytes),
        ];
        for (all, more) in sums {
            all.iter_mut().zip(more).for_each(|(all, more)| *all += more);
        }
        self
    }
}

/// Messages that are written elsewhere before they travel in linked buckets.
#[derive(Default)]
struct Long {
    targets: Vec<u32>,
    records: Column,
    /// One of them, as a run.
    message: Vec<u8>,
}

/// Bytes of long messages that are written at a time.
const LONG_BYTES: usize = 64 << 10;

impl Long {
    fn room(&mut self, most: usize, record_bytes: usize) -> (&mut [u32], &mut [u8]) {
        let count = most.min((LONG_BYTES / record_bytes).max(1));
        self.targets.resize(count, 0);
        self.records.resize(count * record_bytes);
        (&mut self.targets, &mut self.records)
    }

    /// The message of this number, as a run of one.
    fn message(&mut self, number: usize, record_bytes: usize) -> &[u8] {
        let (target, record) = sections(record_bytes, 1);
        self.message.resize(target.len() + record.len(), 0);
        self.message[target].copy_from_slice(&self.targets[number].to_ne_bytes());
        let from = number * record_bytes;
        self.message[record].copy_from_slice(&self.records[from..from + record_bytes]);
        &self.message
    }
}

/// Rings of a thread, each with messages that are being written.
pub(super) struct Messages<L> {
    rings: RingGroup<L>,
    record_bytes: usize,
    /// Messages in the open room of each ring.
    open: Vec<usize>,
    /// Bytes of a record at most, of which a bucket has room for one.
    short_bytes_max: usize,
    /// Room for messages that are longer, which travel one by one.
    long: Option<Long>,
    /// Updates and messages that were sent in this iteration, by ring.
    sent: Sent,
    /// Reason why nothing can be sent any more.
    failed: Option<LaneError>,
}

impl<L: TxLane> Messages<L> {
    /// Messages with records of `record_bytes` bytes, by these lanes, one a destination. Buckets
    /// have room for one with a record of `short_bytes_max` bytes.
    pub(super) fn new(
        lanes: L,
        destinations: &[Destination],
        (record_bytes, short_bytes_max): (usize, usize),
    ) -> Self {
        let count = destinations.len();
        Self {
            rings: RingGroup::new(lanes, destinations, ring_width(record_bytes, short_bytes_max)),
            record_bytes,
            short_bytes_max,
            long: (record_bytes > short_bytes_max).then(Long::default),
            open: vec![0; count],
            sent: Sent::none(count),
            failed: None,
        }
    }

    /// Records have another width from the next iteration on; of 0 bytes where bundles are sent.
    pub(super) fn set_record_bytes(&mut self, record_bytes: usize) {
        self.record_bytes = record_bytes;
        self.long = (record_bytes > self.short_bytes_max).then(Long::default);
        self.rings.set_width(ring_width(record_bytes, self.short_bytes_max));
    }

    /// The place for messages to a destination.
    pub(super) fn to(&mut self, ring: usize) -> Ring<'_, L> {
        self.stripe(ring, 0)
    }

    /// The place for messages to a destination whose own are counted from this vertex of it on.
    pub(super) fn stripe(&mut self, ring: usize, first: u32) -> Ring<'_, L> {
        Ring { messages: self, number: ring, first }
    }

    /// Sends one message.
    ///
    /// # Errors
    /// Failure of a lane.
    pub(super) fn send(
        &mut self,
        ring: usize,
        target: u32,
        record: &[u8],
    ) -> Result<(), EngineError> {
        let mut place = self.to(ring);
        let (targets, records) = place.room(1)?;
        targets[0] = target;
        records[..record.len()].copy_from_slice(record);
        place.keep(1)
    }

    /// Sends messages: destinations, and as many records.
    ///
    /// # Errors
    /// Failure of a lane.
    pub(super) fn send_all(
        &mut self,
        ring: usize,
        (targets, records): (&[u32], &[u8]),
    ) -> Result<(), EngineError> {
        let (record_bytes, mut first) = (self.record_bytes, 0);
        while first < targets.len() {
            let mut place = self.to(ring);
            let (to_targets, to_records) = place.room(targets.len() - first)?;
            let end = first + to_targets.len();
            to_targets.copy_from_slice(&targets[first..end]);
            to_records.copy_from_slice(&records[first * record_bytes..end * record_bytes]);
            place.keep(end - first)?;
            first = end;
        }
        Ok(())
    }

    /// Messages of a ring that were sent in this iteration.
    pub(super) fn sent(&self, ring: usize) -> u64 {
        self.sent.messages[ring]
    }

    /// Messages of a ring stand for `more` updates more than there are messages.
    pub(super) fn stand_for(&mut self, ring: usize, more: u64) {
        self.rings.stand_for(ring, more);
        self.sent.updates[ring] += more;
    }

    /// Sends a bundle of any length that stands for `updates` updates, at least one, by itself.
    ///
    /// # Errors
    /// Failure of a lane.
    pub(super) fn send_bundle(
        &mut self,
        ring: usize,
        bundle: &[u8],
        updates: u64,
    ) -> Result<(), LaneError> {
        self.rings.send_long(ring, bundle)?;
        self.sent.updates[ring] += 1;
        self.sent.messages[ring] += 1;
        self.sent.bytes[ring] += bundle.len() as u64;
        self.stand_for(ring, updates.saturating_sub(1));
        Ok(())
    }

    /// Ends the iteration: all that is open goes out. What was sent.
    ///
    /// # Errors
    /// Failure of a lane.
    pub(super) fn end_iteration(&mut self) -> Result<Sent, LaneError> {
        for ring in 0..self.open.len() {
            self.close(ring)?;
        }
        self.rings.end_iteration()?;
        let none = Sent::none(self.open.len());
        Ok(std::mem::replace(&mut self.sent, none))
    }

    /// Ends the iteration of a ring to which nothing more is sent in it.
    ///
    /// # Errors
    /// Failure of a lane.
    pub(super) fn end_ring(&mut self, ring: usize) -> Result<(), LaneError> {
        self.close(ring)?;
        self.rings.end_ring(ring)
    }

    /// Polls until all that was sent has arrived.
    ///
    /// # Errors
    /// Failure of a lane.
    pub(super) fn drain(&mut self) -> Result<(), LaneError> {
        self.rings.drain()
    }

    /// Finds out whether what was sent has arrived or may still do so.
    pub(super) fn poll(&mut self) -> Result<(), LaneError> {
        self.rings.poll()
    }

    /// The reason of a lane, where that is why messages could not be sent; else the error.
    pub(super) fn stop(&mut self, error: EngineError) -> Stop {
        self.failed.take().map_or_else(|| error.into(), Into::into)
    }

    /// Moves the parts of what is open together, and hands it to the ring.
    fn close(&mut self, ring: usize) -> Result<(), LaneError> {
        let count = std::mem::take(&mut self.open[ring]);
        if count == 0 {
            return Ok(());
        }
        let message_bytes = self.record_bytes + TARGET_BYTES;
        let room = self.rings.room(ring)?;
        let most = room.len() / message_bytes;
        if count < most {
            let of = |(targets, records): (Range<usize>, Range<usize>)| {
                if targets.start > records.start { targets } else { records }
            };
            let (from, to) =
                (of(sections(self.record_bytes, most)), of(sections(self.record_bytes, count)));
            room.copy_within(from.start..from.start + to.len(), to.start);
        }
        self.rings.filled(ring, count * message_bytes, count as u64);
        Ok(())
    }
}

/// Width of the short messages of rings. Where all are long there are none, and the empty bucket
/// that ends an iteration must not name a width that its segments have no room for.
fn ring_width(record_bytes: usize, short_bytes_max: usize) -> u16 {
    width(if record_bytes > short_bytes_max { 0 } else { record_bytes })
}

/// Width of messages in the heads of buckets.
pub(super) fn width(record_bytes: usize) -> u16 {
    u16::try_from(record_bytes + TARGET_BYTES).unwrap_or(u16::MAX)
}

/// Bytes of a record, at most.
pub(super) const RECORD_BYTES_MAX: usize = 1 << 20;

/// The place for messages to one destination.
pub(super) struct Ring<'m, L> {
    messages: &'m mut Messages<L>,
    number: usize,
    /// Vertex of the destination that others are counted from.
    first: u32,
}

impl<L: TxLane> Ring<'_, L> {
    fn failed(&mut self, error: LaneError) -> EngineError {
        let what = EngineError::internal(&error);
        self.messages.failed = Some(error);
        what
    }
}

impl<L: TxLane> Outgoing for Ring<'_, L> {
    fn room(&mut self, most: usize) -> Result<(&mut [u32], &mut [u8]), EngineError> {
        let record_bytes = self.messages.record_bytes;
        if self.messages.long.is_some() {
            let long = self.messages.long.get_or_insert_default();
            return Ok(long.room(most, record_bytes));
        }
        let first = self.messages.open[self.number];
        // Asked for first, since a room that is handed out stays borrowed.
        if let Err(error) = self.messages.rings.room(self.number) {
            return Err(self.failed(error));
        }
        let room = self.messages.rings.room(self.number);
        let room = room.map_err(|error| EngineError::internal(error))?;
        let all = room.len() / (record_bytes + TARGET_BYTES);
        let end = all.min(first + most);
        let (targets, records) = sections(record_bytes, all);
        let (front, back) = room.split_at_mut(targets.start.max(records.start));
        let (targets, records) =
            if targets.start > records.start { (back, front) } else { (front, back) };
        let targets = &mut targets[first * TARGET_BYTES..end * TARGET_BYTES];
        let targets = bytemuck::try_cast_slice_mut(targets)
            .map_err(|_| EngineError::internal("buckets begin where numbers may"))?;
        Ok((targets, &mut records[first * record_bytes..end * record_bytes]))
    }

    fn keep(&mut self, count: usize) -> Result<(), EngineError> {
        if self.first > 0 && count > 0 {
            let first = self.first;
            let (targets, _) = self.room(count)?;
            targets[..count].iter_mut().for_each(|target| *target += first);
        }
        let Self { messages, number: ring, .. } = self;
        messages.sent.updates[*ring] += count as u64;
        messages.sent.messages[*ring] += count as u64;
        messages.sent.bytes[*ring] += (count * (messages.record_bytes + TARGET_BYTES)) as u64;
        let Messages { rings, long, record_bytes, .. } = &mut **messages;
        if let Some(long) = long {
            let mut sent = (0..count)
                .map(|number| rings.send_long(*ring, long.message(number, *record_bytes)));
            return sent.try_for_each(|sent| sent).map_err(|error| self.failed(error));
        }
        messages.open[*ring] += count;
        let room = messages.rings.room(*ring).map(|room| room.len());
        let all = match room {
            Ok(bytes) => bytes / (messages.record_bytes + TARGET_BYTES),
            Err(error) => return Err(self.failed(error)),
        };
        if self.messages.open[self.number] == all
            && let Err(error) = self.messages.close(self.number)
        {
            return Err(self.failed(error));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use welter_algorithms::Spmv;
    use welter_algorithms::spmv::Vector;
    use welter_engine::chunks::{Cell, DecodeBuffers, EdgeWriter, FoldKernel, Form, Sources};
    use welter_model::stream::Edge;
    use welter_store::header::{CellId, Encoding};
    use welter_transport::{Joined, Layout, RxLane, memory_lanes};

    use super::*;
    use crate::send::message_runs::Reader;

    const VERTICES: u64 = 40;

    fn chunk(edges: &[(u32, u32)]) -> (Cell, Column) {
        let id = CellId { source_partition: 0, stripe: 0 };
        let cell = Cell { graph: 1, id, sources: 0..VERTICES, targets: 0..VERTICES };
        let edges = edges.iter().map(|&(source, target)| Edge { source, target, weight: 1.0 });
        let mut writer = EdgeWriter::new(Form::usual(Encoding::Packed), false);
        let mut bytes = Column::default();
        bytes.extend(writer.write(&cell, 1, &edges.collect::<Vec<_>>()).unwrap());
        (cell, bytes)
    }

    /// Messages of a bucket, one by one.
    fn taken(run: &[u8], record_bytes: usize, shift: usize) -> Vec<(u32, Vec<u8>)> {
        // At an address that suits, or not.
        let mut moved = Column::default();
        moved.extend(&vec![0; shift]);
        moved.extend(run);
        let mut reader = Reader::default();
        let (targets, records) = reader.read(&moved[shift..], record_bytes);
        let records = records.chunks_exact(record_bytes).map(<[u8]>::to_vec);
        targets.iter().copied().zip(records).collect()
    }

    #[test]
    fn combined_messages_stand_for_all_updates() {
        // Of 10 updates each: none, some and many messages, in one bucket or several.
        for count in [0, 1, 9, 70] {
            let layout = Layout { segment_bytes: 208, segments: 1 };
            let (mut senders, mut receivers) = memory_lanes(1, 1, 1000, layout);
            let to = [Destination::default()];
            let mut messages = Messages::new(senders.remove(0), &to, (8, 64));
            (0..count).for_each(|target| messages.send(0, target, &[7; 8]).unwrap());
            let more = 9 * u64::from(count) + 5;
            messages.stand_for(0, more);
            let sent = messages.end_iteration().unwrap();
            let (mut updates, mut came) = (0, 0);
            receivers[0]
                .poll(&mut |bucket| {
                    updates += bucket.header().updates;
                    came += bucket.runs().map(|run| run.len() as u64 / 12).sum::<u64>();
                })
                .unwrap();
            assert_eq!((updates, came), (u64::from(count) + more, count.into()));
            assert_eq!((&sent.updates[..], &sent.messages[..]), (&[updates][..], &[came][..]));
        }
    }

    proptest! {
        #[test]
        fn rooms_of_any_size_give_the_messages_of_an_update_chunk(
            edges in prop::collection::vec((0..VERTICES as u32, 0..VERTICES as u32), 0..400),
            segment in 15..60_usize, segments in 1..5_usize, shift in 0..9_usize,
        ) {
            let kernel = FoldKernel::of(Arc::new(Spmv::<f64>::new(Vector::Random { seed: 1 }, 1)));
            let width = kernel.shape().record();
            let signals: Vec<u8> =
                (0..VERTICES).flat_map(|vertex| (vertex as f64).to_ne_bytes()).collect();
            let mut column = Column::default();
            column.extend(&signals);
            let sources = Sources { signals: &column[..], active: None };
            let (cell, bytes) = chunk(&edges);
            let pulled = cell.open(&bytes).unwrap();
            let mut expected = Vec::new();
            let put = |targets: &[u32], records: &[u8]| {
                let records = records.chunks_exact(width).map(<[u8]>::to_vec);
                expected.extend(targets.iter().copied().zip(records));
            };
            pulled.scatter(&kernel, sources, &mut DecodeBuffers::default(), put).unwrap();

            let layout = Layout { segment_bytes: 16 * segment, segments };
            let (mut senders, mut receivers) = memory_lanes(1, 1, 1000, layout);
            let to = [Destination::default()];
            let mut messages = Messages::new(senders.remove(0), &to, (width, 64));
            let mut ring = messages.to(0);
            pulled.send(&kernel, sources, &mut DecodeBuffers::default(), &mut ring).unwrap();
            prop_assert_eq!(messages.end_iteration().unwrap().updates, [edges.len() as u64]);
            let (mut found, mut updates) = (Vec::new(), 0);
            receivers[0].poll(&mut |bucket| {
                updates += bucket.header().updates;
                bucket.runs().for_each(|run| found.extend(taken(run, width, shift)));
            }).unwrap();
            prop_assert_eq!((found, updates), (expected, edges.len() as u64));
        }

        #[test]
        fn records_of_any_width_come_back(
            record_bytes in 1..20_usize, count in 0..200_usize, shift in 0..9_usize,
            long in 0..2_usize,
        ) {
            // Long ones go in linked buckets, of which the last one of the iteration is none.
            let record_bytes = record_bytes + 500 * long;
            let layout = Layout { segment_bytes: 208, segments: 3 };
            let (mut senders, mut receivers) = memory_lanes(1, 1, 1000, layout);
            let to = [Destination::default()];
            let mut messages = Messages::new(senders.remove(0), &to, (record_bytes, 100));
            let message = |number: usize| (number as u32, vec![number as u8; record_bytes]);
            for (target, record) in (0..count).map(message) {
                messages.send(0, target, &record).unwrap();
            }
            messages.end_iteration().unwrap();
            let mut found = Vec::new();
            let mut joined = Joined::new(record_bytes + TARGET_BYTES);
            receivers[0].poll(&mut |bucket| {
                if bucket.header().width == 0 {
                    let message = joined.add(bucket).unwrap();
                    found.extend(message.into_iter().flat_map(|it| taken(it, record_bytes, shift)));
                    return;
                }
                bucket.runs().for_each(|run| found.extend(taken(run, record_bytes, shift)));
            }).unwrap();
            prop_assert!(joined.is_whole());
            prop_assert!(found.into_iter().eq((0..count).map(message)));
        }
    }
}
