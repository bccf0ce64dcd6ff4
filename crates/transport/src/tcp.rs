//! Lanes over TCP: one connection a pair of threads, which only one of them sends messages by.
//!
//! ```text
//! commit -> queue of the lane -> written from the buckets, several in one call -> free again
//! arrive -> read into a bucket, as far as it goes -> tag holds? -> folded from there
//! ```
//!
//! TCP sends again and keeps the order, so a bucket is free when the kernel has taken it, and the
//! ring and the kernel's buffers are the flow control. A bucket is read by a call that asks for a
//! full one: of a shorter one the beginning of the next comes along, and is moved to the front.
//! Buckets of others, of a thread that sends for them (`queues`), go the same way and back.
//!
//! **Invariant:** buckets of a lane are folded in the order of their numbers, each after its tag
//! was verified; anything else ends the lane. Checked in `Receiving::fold_one`; tested by
//! `a_stream_that_is_changed_ends`.

use std::collections::VecDeque;
use std::io::{self, IoSlice, Read, Write};
use std::net::TcpStream;

use crate::bucket::{Arrived, Bucket, Layout};
use crate::guard::{End, Guard, Protection, Secret};
use crate::header::{HEAD_BYTES, Header};
use crate::lane::{LaneError, RxLane, TxLane};

/// Buckets in one call.
const BATCH: usize = 8;

/// Milliseconds for which a bucket may be on its way. Receivers always read, so a longer time is
/// that of a machine that is gone or of a link that is cut; the system itself tries for a quarter
/// of an hour.
const UNREAD_MILLIS: u32 = 20_000;

/// Settings that both ends of a lane have in common.
#[derive(Clone)]
pub struct StreamSettings {
    /// Membership of the cluster.
    pub epoch: u32,
    /// Layout of buckets: one segment.
    pub layout: Layout,
    /// Protection of buckets.
    pub protection: Protection,
    /// Secret of the run.
    pub secret: Secret,
}

/// Sending ends of one thread, one a destination.
pub struct TcpTx {
    here: End,
    settings: StreamSettings,
    lanes: Vec<Sending>,
}

struct Sending {
    stream: TcpStream,
    guard: Guard,
    number: u64,
    free: Vec<Bucket>,
    /// Full buckets, of the first of which `written` bytes are on their way.
    queue: VecDeque<Bucket>,
    written: usize,
}

/// Receiving ends of one thread, one a source.
pub struct TcpRx {
    here: End,
    settings: StreamSettings,
    lanes: Vec<Receiving>,
}

struct Receiving {
    stream: TcpStream,
    guard: Guard,
    peer: End,
    number: u64,
    buffer: Vec<u8>,
    filled: usize,
    is_closed: bool,
}

impl TcpTx {
    /// No lane yet. `here` is the machine and the thread.
    pub fn new(here: End, settings: StreamSettings) -> Self {
        Self { here, settings, lanes: Vec::new() }
    }

    /// Adds the lane to the next destination, with `buckets` buckets: none where it carries those
    /// of others.
    ///
    /// # Errors
    /// If the system refuses its settings.
    pub fn push(&mut self, stream: TcpStream, to: End, buckets: usize) -> Result<(), LaneError> {
        let StreamSettings { epoch, layout, protection, secret } = &self.settings;
        if layout.segments != 1 {
            return Err(LaneError::Settings("buckets on a stream have one segment"));
        }
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        rustix::net::sockopt::set_tcp_user_timeout(&stream, UNREAD_MILLIS)
            .map_err(io::Error::from)?;
        let guard = Guard::new(*protection, secret, self.here, to, *epoch);
        let free = (0..buckets).map(|_| Bucket::new(*layout)).collect();
        let queue = VecDeque::with_capacity(buckets);
        self.lanes.push(Sending { stream, guard, number: 0, free, queue, written: 0 });
        Ok(())
    }
}

impl TxLane for TcpTx {
    fn bucket(&mut self, to: usize) -> Option<Bucket> {
        let lane = &mut self.lanes[to];
        lane.free.pop()
    }

    fn commit(&mut self, to: usize, mut bucket: Bucket) -> Result<(), LaneError> {
        let lane = &mut self.lanes[to];
        lane.number += 1;
        let header = &mut bucket.header;
        (header.rank, header.lane) = self.here;
        header.epoch = self.settings.epoch;
        header.number = lane.number;
        header.sealed = lane.guard.seals();
        bucket.seal_heads();
        lane.guard.seal(bucket.image_mut());
        lane.queue.push_back(bucket);
        lane.write(to)
    }

    fn poll(&mut self) -> Result<(), LaneError> {
        let mut lanes = self.lanes.iter_mut().enumerate();
        lanes.try_for_each(
            |(to, lane)| if lane.queue.is_empty() { lane.look() } else { lane.write(to) },
        )
    }

    fn is_idle(&self) -> bool {
        self.lanes.iter().all(|lane| lane.queue.is_empty())
    }
}

// A path in place of an import: both traits have methods of one name.
impl crate::queues::Carrier for TcpTx {
    fn carry(&mut self, to: usize, bucket: Bucket) -> Result<Option<Bucket>, LaneError> {
        if self.lanes[to].queue.len() >= BATCH {
            return Ok(Some(bucket));
        }
        self.commit(to, bucket).map(|()| None)
    }

    fn done(&mut self) -> Option<Bucket> {
        self.lanes.iter_mut().find_map(|lane| lane.free.pop())
    }

    fn poll(&mut self) -> Result<(), LaneError> {
        TxLane::poll(self)
    }

    fn is_idle(&self) -> bool {
        TxLane::is_idle(self)
    }
}

impl Sending {
    /// Finds out whether what the kernel took has not arrived for too long.
    fn look(&self) -> Result<(), LaneError> {
        self.stream.take_error()?.map_or(Ok(()), |error| Err(error.into()))
    }

    /// Writes as much as the kernel takes.
    fn write(&mut self, to: usize) -> Result<(), LaneError> {
        while !self.queue.is_empty() {
            let mut slices = [IoSlice::new(&[]); BATCH];
            let images = self.queue.iter().enumerate();
            for (slice, (index, bucket)) in slices.iter_mut().zip(images) {
                let skipped = if index == 0 { self.written } else { 0 };
                *slice = IoSlice::new(&bucket.image()[skipped..]);
            }
            let count = self.queue.len().min(BATCH);
            match self.stream.write_vectored(&slices[..count]) {
                Ok(0) => return Err(LaneError::Closed(to)),
                Ok(bytes) => self.wrote(bytes),
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => break,
                    io::ErrorKind::Interrupted => {}
                    io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => {
                        return Err(LaneError::Closed(to));
                    }
                    _ => return Err(error.into()),
                },
            }
        }
        Ok(())
    }

    fn wrote(&mut self, bytes: usize) {
        self.written += bytes;
        while let Some(first) = self.queue.front()
            && self.written >= first.image().len()
        {
            self.written -= first.image().len();
            self.free.extend(self.queue.pop_front());
        }
    }
}

impl TcpRx {
    /// No lane yet. `here` is the machine and the thread.
    pub fn new(here: End, settings: StreamSettings) -> Self {
        Self { here, settings, lanes: Vec::new() }
    }

    /// Adds the lane of the next source.
    ///
    /// # Errors
    /// If the system refuses its settings.
    pub fn push(&mut self, stream: TcpStream, peer: End) -> Result<(), LaneError> {
        let StreamSettings { epoch, layout, protection, secret } = &self.settings;
        stream.set_nonblocking(true)?;
        let guard = Guard::new(*protection, secret, self.here, peer, *epoch);
        let buffer = vec![0; layout.bytes()];
        let lane =
            Receiving { stream, guard, peer, number: 0, buffer, filled: 0, is_closed: false };
        self.lanes.push(lane);
        Ok(())
    }
}

impl RxLane for TcpRx {
    fn poll(&mut self, fold: &mut dyn FnMut(&Arrived<'_>)) -> Result<usize, LaneError> {
        let mut folded = 0;
        let epoch = self.settings.epoch;
        for (from, lane) in self.lanes.iter_mut().enumerate() {
            // Bounded, so that each source has its turn.
            for _ in 0..BATCH {
                if !lane.read()? {
                    break;
                }
                while lane.fold_one(from, epoch, fold)? {
                    folded += 1;
                }
            }
            if lane.is_closed && lane.filled > 0 {
                let reason = "the stream ends inside a bucket";
                return Err(LaneError::Malformed { from, reason });
            }
        }
        Ok(folded)
    }
}

impl Receiving {
    /// Reads what has come, and says whether anything has.
    fn read(&mut self) -> Result<bool, LaneError> {
        if self.is_closed {
            return Ok(false);
        }
        match self.stream.read(&mut self.buffer[self.filled..]) {
            Ok(0) => {
                self.is_closed = true;
                Ok(false)
            }
            Ok(bytes) => {
                self.filled += bytes;
                Ok(true)
            }
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(false),
                _ => Err(error.into()),
            },
        }
    }

    /// Folds the bucket at the front of the buffer, if it is whole.
    fn fold_one(
        &mut self,
        from: usize,
        epoch: u32,
        fold: &mut dyn FnMut(&Arrived<'_>),
    ) -> Result<bool, LaneError> {
        if self.filled < HEAD_BYTES {
            return Ok(false);
        }
        let malformed = |reason| LaneError::Malformed { from, reason };
        let header = Header::read(&self.buffer).ok_or(malformed("no bucket begins here"))?;
        let end = header.end as usize;
        if end > self.buffer.len() {
            return Err(malformed("a bucket is longer than buckets are"));
        }
        if self.filled < end {
            return Ok(false);
        }
        let is_next = header.number == self.number + 1
            && header.epoch == epoch
            && (header.rank, header.lane) == self.peer
            && !header.bare;
        if !is_next {
            return Err(malformed("a bucket is not the next one of its sender"));
        }
        let image = &mut self.buffer[..end];
        if !self.guard.open(image) {
            return Err(malformed("the tag of a bucket does not hold"));
        }
        let arrived = Arrived::open(image).ok_or(malformed("a bucket is not whole"))?;
        fold(&arrived);
        self.number += 1;
        self.buffer.copy_within(end..self.filled, 0);
        self.filled -= end;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn settings(protection: Protection) -> StreamSettings {
        let secret = Secret::new([1; 32]);
        StreamSettings { epoch: 3, layout: Layout::WHOLE, protection, secret }
    }

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (stream, listener.accept().unwrap().0)
    }

    /// The bytes of a lane with two buckets.
    fn sent() -> Vec<u8> {
        let (stream, mut other) = pair();
        let mut tx = TcpTx::new((0, 0), settings(Protection::Sealed));
        tx.push(stream, (1, 0), 2).unwrap();
        for number in 0..2_u64 {
            let mut bucket = tx.bucket(0).unwrap();
            bucket.clear();
            bucket.header.width = 8;
            (0..10).for_each(|_| assert!(bucket.push(&number.to_le_bytes())));
            tx.commit(0, bucket).unwrap();
        }
        assert!(tx.is_idle());
        drop(tx);
        let mut bytes = Vec::new();
        other.read_to_end(&mut bytes).unwrap();
        bytes
    }

    /// Messages that are folded from these bytes, and whether the lane failed.
    fn received(bytes: &[u8]) -> (usize, bool) {
        let (mut stream, other) = pair();
        let mut rx = TcpRx::new((1, 0), settings(Protection::Sealed));
        rx.push(other, (0, 0)).unwrap();
        stream.write_all(bytes).unwrap();
        drop(stream);
        let mut messages = 0;
        while !rx.lanes[0].is_closed {
            let fold = &mut |arrived: &Arrived<'_>| messages += arrived.messages::<8>().count();
            if rx.poll(fold).is_err() {
                return (messages, true);
            }
        }
        (messages, false)
    }

    #[test]
    fn a_stream_that_is_changed_ends() {
        let bytes = sent();
        assert_eq!(received(&bytes), (20, false));
        for at in [3, 20, 40, 70, 130] {
            let mut changed = bytes.clone();
            changed[at] ^= 4;
            assert_eq!(received(&changed), (0, true), "byte {at}");
        }
        let half = bytes.len() / 2;
        assert_eq!(received(&bytes[..half + 30]), (10, true));
        assert_eq!(received(&[&bytes[..half], &bytes[..half]].concat()), (10, true));
        assert_eq!(received(&bytes[half..]), (0, true));
    }
}
