//! The way of 8-byte messages (a vertex of 4 bytes, a value of 4) from a worker to accumulators: by
//! lanes, and by lanes with the overheads that the paper counts, each of which can be switched on
//! alone.

use std::sync::{Arc, Mutex};

use welter_transport::{Arrived, Destination, RingGroup, RxLane, TxLane};

/// Accumulators of a sub-range: a quarter of L2, as stripes are.
pub(crate) const VERTICES: usize = 1 << 16;

/// A range of accumulators.
pub(crate) struct Sums {
    pub(crate) sums: Box<[f32; VERTICES]>,
    /// Two queues a vertex, of vertex programs with a gather stage.
    queues: Vec<Vec<f32>>,
}

impl Sums {
    pub(crate) fn new() -> Self {
        let sums = vec![0.0; VERTICES].into_boxed_slice().try_into();
        let sums = sums.expect("a slice of this length");
        Self { sums, queues: vec![Vec::new(); VERTICES] }
    }

    #[inline(always)]
    fn add(&mut self, vertex: u32, value: f32) {
        self.sums[vertex as usize % VERTICES] += value;
    }
}

/// A message as 8 bytes.
#[inline(always)]
pub(crate) fn message(vertex: u32, value: f32) -> [u8; 8] {
    (u64::from(value.to_bits()) << 32 | u64::from(vertex)).to_le_bytes()
}

#[inline(always)]
fn parsed(message: [u8; 8]) -> (u32, f32) {
    let both = u64::from_le_bytes(message);
    (both as u32, f32::from_bits((both >> 32) as u32))
}

/// A way of messages, both ends on one thread.
pub(crate) trait Pipe {
    /// Sends a message to each target.
    fn send(&mut self, targets: &[u32], value: f32);

    /// Folds what has come, and says how many messages.
    fn receive(&mut self, sums: &mut Sums) -> usize;
}

/// Overheads of the paper (II-B), and its message queues.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Overheads {
    /// Messages are made in one place and copied to a buffer and from there on, twice at each side.
    pub(crate) copies: bool,
    /// Workers share a buffer: a lock is taken for each message.
    pub(crate) locks: bool,
    /// A parser puts messages into the queue of their vertex, from which they are gathered.
    pub(crate) queues: bool,
}

/// Lanes to one destination.
pub(crate) struct Lanes<T, R> {
    group: Shared<RingGroup<T>>,
    receiver: R,
    overheads: Overheads,
    made: Vec<[u8; 8]>,
    buffered: Vec<[u8; 8]>,
    arrived: Vec<u8>,
    messages: Vec<(u32, f32)>,
}

/// Something of a worker, or of all of them.
enum Shared<T> {
    Own(T),
    Locked(Arc<Mutex<T>>),
}

impl<T: TxLane, R: RxLane> Lanes<T, R> {
    pub(crate) fn new(sender: T, receiver: R, overheads: Overheads) -> Self {
        let group = RingGroup::new(sender, &[Destination::default()], 8);
        let group = if overheads.locks {
            Shared::Locked(Arc::new(Mutex::new(group)))
        } else {
            Shared::Own(group)
        };
        let (made, buffered) = (Vec::new(), Vec::new());
        let (arrived, messages) = (Vec::new(), Vec::new());
        Self { group, receiver, overheads, made, buffered, arrived, messages }
    }
}

impl<T: TxLane, R: RxLane> Pipe for Lanes<T, R> {
    fn send(&mut self, targets: &[u32], value: f32) {
        let Self { group, overheads, made, buffered, .. } = self;
        if overheads.copies {
            // A part at a time, so that the copies stay in the cache.
            for part in targets.chunks(1024) {
                made.clear();
                made.extend(part.iter().map(|&target| message(target, value)));
                buffered.clear();
                buffered.extend_from_slice(std::hint::black_box(&*made));
                group.send(std::hint::black_box(&*buffered), |message| *message);
            }
        } else {
            group.send(targets, |&target| message(target, value));
        }
        group.poll();
    }

    fn receive(&mut self, sums: &mut Sums) -> usize {
        let Self { receiver, overheads, arrived: copy, messages, .. } = self;
        let mut count = 0;
        let mut fold = |arrived: &Arrived<'_>| {
            for run in arrived.runs() {
                count += run.len() / 8;
                match (overheads.copies, overheads.queues) {
                    (false, false) => fold_run(run, sums),
                    (true, false) => {
                        copied(run, copy, messages);
                        for &(vertex, value) in &*messages {
                            sums.add(vertex, value);
                        }
                    }
                    (false, true) => dispatch(run, sums),
                    (true, true) => {
                        copied(run, copy, messages);
                        for &(vertex, value) in &*messages {
                            sums.queues[vertex as usize % VERTICES].push(value);
                        }
                    }
                }
            }
        };
        while receiver.poll(&mut fold).expect("lanes hold") > 0 {}
        if overheads.queues {
            gather(sums);
        }
        count
    }
}

impl<L: TxLane> Shared<RingGroup<L>> {
    /// Sends in runs, as the kernels of the engine make them; but one by one where each takes a
    /// lock.
    fn send<F>(&mut self, from: &[F], message: impl Fn(&F) -> [u8; 8]) {
        match self {
            Self::Own(group) => {
                let mut left = from;
                while !left.is_empty() {
                    let room = group.room(0).expect("lanes hold").as_chunks_mut::<8>().0;
                    let count = room.len().min(left.len());
                    let (now, later) = left.split_at(count);
                    room.iter_mut().zip(now).for_each(|(slot, from)| *slot = message(from));
                    group.filled(0, 8 * count, count as u64);
                    left = later;
                }
            }
            Self::Locked(group) => {
                for from in from {
                    let mut group = group.lock().expect("nobody panicked");
                    group.send(0, &message(from)).expect("lanes hold");
                }
            }
        }
    }

    fn poll(&mut self) {
        match self {
            Self::Own(group) => group.lanes_mut().poll(),
            Self::Locked(group) => group.lock().expect("nobody panicked").lanes_mut().poll(),
        }
        .expect("lanes hold");
    }
}

#[inline]
pub(crate) fn fold_run(run: &[u8], sums: &mut Sums) {
    for message in run.as_chunks::<8>().0 {
        let (vertex, value) = parsed(*message);
        sums.add(vertex, value);
    }
}

/// Two copies: to a buffer of the process, and from there into messages.
fn copied(run: &[u8], copy: &mut Vec<u8>, messages: &mut Vec<(u32, f32)>) {
    copy.clear();
    copy.extend_from_slice(run);
    messages.clear();
    let copy = std::hint::black_box(&*copy);
    messages.extend(copy.as_chunks::<8>().0.iter().map(|message| parsed(*message)));
}

/// The parser: each message to the queue of its vertex.
fn dispatch(run: &[u8], sums: &mut Sums) {
    for message in run.as_chunks::<8>().0 {
        let (vertex, value) = parsed(*message);
        sums.queues[vertex as usize % VERTICES].push(value);
    }
}

/// The gather stage: each vertex sums its queue, which keeps its memory.
fn gather(sums: &mut Sums) {
    let Sums { sums, queues } = sums;
    for (sum, queue) in sums.iter_mut().zip(queues) {
        *sum += queue.drain(..).sum::<f32>();
    }
}
