//! The body of the tests: senders and receivers on threads, and what must come of it.

use std::thread;

use welter_transport::{
    Arrived, Carrier, Destination, Layout, RingGroup, RxLane, Sender, TxLane, queues,
};

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
struct Sums {
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

fn send<T: TxLane>(case: Case, source: usize, sinks: usize, lanes: T) -> RingGroup<T> {
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

/// Folds until each source has ended its last iteration, and for a while answers those that ask
/// again.
fn receive<R: RxLane>(case: Case, ends: usize, mut lanes: R) -> (Vec<Sums>, R) {
    let mut sums = vec![Sums::default(); case.iterations as usize];
    while sums.iter().any(|sums| sums.ends < ends) {
        poll(&mut sums, &mut lanes);
    }
    (0..50).for_each(|_| {
        thread::sleep(std::time::Duration::from_millis(1));
        poll(&mut sums, &mut lanes);
    });
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

/// Sends from each sender to each receiver.
pub(crate) fn exchange<T, R>(case: Case, senders: Vec<T>, receivers: Vec<R>)
where
    T: TxLane + Send + 'static,
    R: RxLane + Send + 'static,
{
    let (sources, sinks) = (senders.len(), receivers.len());
    let receiving = receiving(case, sources, receivers);
    let sending: Vec<_> = senders
        .into_iter()
        .enumerate()
        .map(|(source, lanes)| thread::spawn(move || send(case, source, sinks, lanes)))
        .collect();
    let groups: Vec<_> = sending.into_iter().map(|thread| thread.join().unwrap()).collect();
    check(case, sources, receiving);
    drop(groups);
}

/// Sends from workers that hand buckets to one sender thread.
pub(crate) fn exchange_by_senders<C, R>(
    case: Case,
    workers: usize,
    layout: Layout,
    lanes: C,
    receivers: Vec<R>,
) where
    C: Carrier + Send + 'static,
    R: RxLane + Send + 'static,
{
    let sinks = receivers.len();
    let receiving = receiving(case, workers, receivers);
    let (queued, served): (Vec<_>, Vec<_>) =
        (0..workers as u16).map(|group| queues(group, sinks as u16, 3, layout)).unzip();
    let sender = thread::spawn(move || Sender::new(lanes, served).run());
    let sending: Vec<_> = queued
        .into_iter()
        .enumerate()
        .map(|(source, lanes)| thread::spawn(move || drop(send(case, source, sinks, lanes))))
        .collect();
    for thread in sending {
        thread.join().unwrap();
    }
    sender.join().unwrap().unwrap();
    check(case, workers, receiving);
}

type Receiving<R> = Vec<thread::JoinHandle<(Vec<Sums>, R)>>;

fn receiving<R: RxLane + Send + 'static>(
    case: Case,
    ends: usize,
    receivers: Vec<R>,
) -> Receiving<R> {
    let receive = |lanes| thread::spawn(move || receive(case, ends, lanes));
    receivers.into_iter().map(receive).collect()
}

/// Each message of each source came once, in its iteration.
fn check<R>(case: Case, sources: usize, receiving: Receiving<R>) {
    let sinks = receiving.len();
    for (sink, thread) in receiving.into_iter().enumerate() {
        let (sums, _lanes) = thread.join().unwrap();
        let mut expected = Sums { ends: sources, ..Sums::default() };
        for source in 0..sources {
            let numbers = (0..case.messages).filter(|number| *number as usize % sinks == sink);
            numbers.for_each(|number| add(&mut expected, &message(source, number)));
        }
        expected.updates = expected.messages;
        assert_eq!(sums, vec![expected; case.iterations as usize], "sink {sink}");
    }
}
