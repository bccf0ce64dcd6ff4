//! Messages of a source, what a sink folds them into, and what must come of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use welter_transport::{Arrived, Destination, RingGroup, RxLane, TxLane};

/// Size of an exchange.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    pub(crate) iterations: u32,
    pub(crate) messages: u64,
}

impl Default for Case {
    fn default() -> Self {
        Self { iterations: 3, messages: 20_000 }
    }
}

/// Folded by a sink: two sums, one an iteration that is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    messages: u64,
    updates: u64,
    numbers: u64,
    squares: u64,
    ends: usize,
}

/// Message `number` of a source, as its 12 bytes: a long vertex and a short value.
fn message(source: usize, number: u64) -> [u8; 12] {
    let mut bytes = [0; 12];
    bytes[..8].copy_from_slice(&(number << 8 | source as u64).to_le_bytes());
    bytes[8..].copy_from_slice(&(number as u32 ^ 0x5a5a).to_le_bytes());
    bytes
}

fn add(sums: &mut Sums, message: &[u8; 12]) {
    let (number, value) = message.split_at(8);
    let number = u64::from_le_bytes(number.try_into().unwrap());
    let value = u32::from_le_bytes(value.try_into().unwrap());
    assert_eq!((number >> 8) as u32 ^ 0x5a5a, value, "a message that nobody sent");
    sums.messages += 1;
    sums.numbers = sums.numbers.wrapping_add(number);
    sums.squares = sums.squares.wrapping_add(number.wrapping_mul(number));
}

/// Sends all messages of a source, and waits until they have arrived.
pub(crate) fn send<T: TxLane>(case: Case, source: usize, sinks: usize, lanes: T) -> RingGroup<T> {
    let to: Vec<Destination> =
        (0..sinks as u16).map(|sub_range| Destination { rank: 0, sub_range }).collect();
    let mut group = RingGroup::new(lanes, &to, 12);
    for _ in 0..case.iterations {
        for number in 0..case.messages {
            group.send(number as usize % sinks, &message(source, number)).unwrap();
        }
        group.end_iteration().unwrap();
    }
    group.drain().unwrap();
    group
}

/// Folds until each source has ended its last iteration, and answers those that ask again until all
/// have received theirs.
fn receive<R: RxLane>(case: Case, ends: usize, stop: &AtomicBool, mut lanes: R) -> (Vec<Sums>, R) {
    let mut sums = vec![Sums::default(); case.iterations as usize];
    while sums.iter().any(|sums| sums.ends < ends) || !stop.load(Ordering::Acquire) {
        poll(&mut sums, &mut lanes);
    }
    (sums, lanes)
}

fn poll<R: RxLane>(sums: &mut [Sums], lanes: &mut R) {
    let mut fold = |bucket: &Arrived<'_>| {
        let header = bucket.header();
        let sums = &mut sums[header.iteration as usize];
        bucket.messages::<12>().for_each(|message| add(sums, message));
        sums.updates += header.updates;
        sums.ends += usize::from(header.last);
    };
    if lanes.poll(&mut fold).unwrap() == 0 {
        thread::yield_now();
    }
}

/// Threads that fold.
pub(crate) struct Receiving<R> {
    threads: Vec<thread::JoinHandle<(Vec<Sums>, R)>>,
    stop: Arc<AtomicBool>,
}

pub(crate) fn receiving<R: RxLane + Send + 'static>(
    case: Case,
    ends: usize,
    receivers: Vec<R>,
) -> Receiving<R> {
    let stop = Arc::new(AtomicBool::new(false));
    let receive = |lanes| {
        let stop = stop.clone();
        thread::spawn(move || receive(case, ends, &stop, lanes))
    };
    let threads = receivers.into_iter().map(receive).collect();
    Receiving { threads, stop }
}

/// Once all messages of the sources are acknowledged: each came once, in its iteration.
/// Gives the lanes back.
pub(crate) fn check<R>(case: Case, sources: usize, receiving: Receiving<R>) -> Vec<R> {
    let Receiving { threads, stop } = receiving;
    stop.store(true, Ordering::Release);
    let sinks = threads.len();
    let mut all = Vec::new();
    for (sink, thread) in threads.into_iter().enumerate() {
        let (sums, lanes) = thread.join().unwrap();
        all.push(lanes);
        let mut expected = Sums { ends: sources, ..Sums::default() };
        for source in 0..sources {
            let numbers = (0..case.messages).filter(|number| *number as usize % sinks == sink);
            numbers.for_each(|number| add(&mut expected, &message(source, number)));
        }
        expected.updates = expected.messages;
        assert_eq!(sums, vec![expected; case.iterations as usize], "sink {sink}");
    }
    all
}
