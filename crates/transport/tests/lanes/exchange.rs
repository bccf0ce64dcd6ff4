//! The body of the tests: senders and receivers on threads of this process.

use std::thread;

use welter_transport::{Carrier, Layout, RxLane, Sender, TxLane, queues};

pub(crate) use crate::sums::Case;
use crate::sums::{check, receiving, send};

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
