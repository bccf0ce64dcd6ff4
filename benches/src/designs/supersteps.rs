//! Supersteps of a vertex program on several workers, over any buffers and carriers.
//!
//! ```text
//! worker     thread that computes: takes its messages, applies, puts messages to neighbours
//!            parser: puts what has come where the worker takes from in the next superstep
//! superstep  compute - say the end - take over from the parser - barrier - count - barrier
//! ```
//!
//! **Invariant:** no message is put where another thread takes from: the parser owns what it fills,
//! and hands it over at the end of the superstep. Tested by
//! `all_designs_have_the_answers_of_plain_loops`.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use super::arrivals::Arrivals;
use super::buffers::Outgoing;
use super::carriers::Incoming;
use super::program::{VertexProgram, message};
use super::rows::{Partitions, Rows};

/// Barrier and count of all workers.
struct Common {
    barrier: Barrier,
    /// Messages since the beginning.
    sent: AtomicU64,
}

/// Channels between a worker and its parser.
struct Handover<A> {
    empty: Sender<A>,
    filled: Receiver<A>,
}

/// Runs a program, a worker for each part of the graph, and returns the values of each.
pub(super) fn run<P, A, O>(
    graph: &Partitions,
    program: &P,
    ends: Vec<(O, Box<dyn Incoming>)>,
) -> Vec<Vec<f32>>
where
    P: VertexProgram,
    A: Arrivals,
    O: Outgoing,
{
    let workers = graph.parts().len();
    let common = Common { barrier: Barrier::new(workers), sent: AtomicU64::new(0) };
    thread::scope(|scope| {
        let mut computing = Vec::new();
        for (part, (outgoing, incoming)) in graph.parts().iter().zip(ends) {
            let ((empty, to_fill), (full, filled)) = (channel::<A>(), channel::<A>());
            scope.spawn(move || parse::<P, A>(incoming, &to_fill, &full));
            let (handover, common) = (Handover { empty, filled }, &common);
            let compute = move || compute::<P, A, O>(part, program, outgoing, &handover, common);
            computing.push(scope.spawn(compute));
        }
        let values = computing.into_iter().map(|one| one.join().expect("workers do not panic"));
        values.collect()
    })
}

/// The parser of a worker, until the worker is done.
fn parse<P: VertexProgram, A: Arrivals>(
    mut incoming: Box<dyn Incoming>,
    to_fill: &Receiver<A>,
    full: &Sender<A>,
) {
    while let Ok(mut arrivals) = to_fill.recv() {
        incoming.superstep(&mut |messages| arrivals.put::<P>(messages));
        if full.send(arrivals).is_err() {
            return;
        }
    }
}

/// All supersteps of a worker.
fn compute<P: VertexProgram, A: Arrivals, O: Outgoing>(
    part: &Rows,
    program: &P,
    mut outgoing: O,
    handover: &Handover<A>,
    common: &Common,
) -> Vec<f32> {
    let start = |local: usize| program.start(part.id(local));
    let mut values: Vec<f32> = (0..part.count()).map(|local| start(local).0).collect();
    let (mut current, mut spare) = (A::new::<P>(part.count()), A::new::<P>(part.count()));
    let mut before = 0;
    for superstep in 0..program.supersteps() {
        handover.empty.send(spare).expect("the parser waits for it");
        let mut sent = 0;
        for (local, value) in values.iter_mut().enumerate() {
            let (new, sends) = if superstep == 0 {
                start(local)
            } else {
                program.apply(*value, current.take::<P>(local))
            };
            *value = new;
            if sends {
                sent += scatter(part, local, program, new, &mut outgoing);
            }
        }
        outgoing.end();
        let filled = handover.filled.recv().expect("the parser hands over");
        spare = std::mem::replace(&mut current, filled);
        common.sent.fetch_add(sent, Ordering::Relaxed);
        // Between the two no worker counts.
        common.barrier.wait();
        let all = common.sent.load(Ordering::Relaxed);
        common.barrier.wait();
        if all == before {
            break;
        }
        before = all;
    }
    for (local, value) in values.iter_mut().enumerate() {
        *value = program.apply(*value, current.take::<P>(local)).0;
    }
    values
}

/// Sends a message along each edge of a vertex, and says how many.
#[inline(always)]
fn scatter<P: VertexProgram, O: Outgoing>(
    part: &Rows,
    local: usize,
    program: &P,
    value: f32,
    outgoing: &mut O,
) -> u64 {
    let row = part.row(local);
    let value = program.message(value, row.len());
    for &target in row {
        outgoing.put(part.owner(target), message(part.local(target), value));
    }
    row.len() as u64
}
