//! PageRank by messages: each machine is a worker thread and an accumulator thread, with two
//! accumulators a vertex that swap (section III of the paper, and its algorithms 1 and 2).
//!
//! ```text
//! worker       apply: value = 0.15 + 0.85 input[i]    scatter: value / degree to each neighbour
//! accumulator  receiving[i] += message                whole when each worker's last bucket came
//!              worker <-- the whole accumulators -- accumulator;   -- empty ones --> back
//! ```
//!
//! Accumulators themselves go from thread to thread, so no lock is on them. Messages of the next
//! iteration may come while others of this one are missing, and never messages of the one after: to
//! send them, a machine needs the last buckets of ours, and we send these when the accumulators are
//! empty again. Numbers are whole, so that the order of messages makes no difference.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use welter_transport::{Arrived, Destination, RingGroup, RxLane, TxLane};

const VERTICES: u32 = 3000;
const ITERATIONS: u32 = 8;
const ONE: u64 = 1 << 32;

/// Neighbours of a vertex: few or many, with repetitions.
fn neighbours(vertex: u32) -> impl ExactSizeIterator<Item = u32> {
    let degree = 1 + vertex % 7 * (vertex % 5);
    let first = vertex.wrapping_mul(2_654_435_761);
    (0..degree).map(move |edge| first.wrapping_add(edge * edge * 977) % VERTICES)
}

fn apply(input: u64) -> u64 {
    ONE * 15 / 100 + input * 85 / 100
}

/// The answer of one thread, which gathers and knows no message.
pub(crate) fn sequential() -> Vec<u64> {
    let mut ranks = vec![ONE; VERTICES as usize];
    for _ in 0..ITERATIONS {
        let mut sums = vec![0; VERTICES as usize];
        for vertex in 0..VERTICES {
            let share = ranks[vertex as usize] / neighbours(vertex).len() as u64;
            neighbours(vertex).for_each(|target| sums[target as usize] += share);
        }
        ranks = sums.into_iter().map(apply).collect();
    }
    ranks
}

/// Accumulators of a machine's vertices.
type Accumulators = Vec<u64>;

/// One of the machines: the vertices that it owns, which are those of its number modulo all.
#[derive(Clone, Copy)]
pub(crate) struct Machine {
    pub(crate) rank: u32,
    pub(crate) machines: u32,
}

impl Machine {
    fn vertices(self) -> impl Iterator<Item = u32> {
        (self.rank..VERTICES).step_by(self.machines as usize)
    }

    /// Applies and scatters, iteration by iteration. The lanes lead to all machines by their rank.
    fn work<T: TxLane>(
        self,
        lanes: T,
        whole: &Receiver<Accumulators>,
        empty: &Sender<Accumulators>,
    ) -> Vec<u64> {
        let to: Vec<Destination> =
            (0..self.machines as u16).map(|rank| Destination { rank, sub_range: 0 }).collect();
        let mut group = RingGroup::new(lanes, &to, 12);
        let mut ranks: Vec<u64> = self.vertices().map(|_| ONE).collect();
        for _ in 0..ITERATIONS {
            for (vertex, rank) in self.vertices().zip(&ranks) {
                let share = rank / neighbours(vertex).len() as u64;
                for target in neighbours(vertex) {
                    let mut message = [0; 12];
                    message[..4].copy_from_slice(&target.to_le_bytes());
                    message[4..].copy_from_slice(&share.to_le_bytes());
                    group.send((target % self.machines) as usize, &message).unwrap();
                }
            }
            group.end_iteration().unwrap();
            group.drain().unwrap();
            let mut input = whole.recv().unwrap();
            for (rank, input) in ranks.iter_mut().zip(&mut input) {
                *rank = apply(std::mem::take(input));
            }
            // The accumulator thread may have ended with the last iteration.
            drop(empty.send(input));
        }
        ranks
    }

    /// Folds what comes, until each iteration is whole.
    fn accumulate<R: RxLane>(
        self,
        mut lanes: R,
        whole: &Sender<Accumulators>,
        empty: &Receiver<Accumulators>,
    ) -> R {
        let mut receiving = empty.recv().unwrap();
        let mut early: Option<Accumulators> = None;
        let mut ends = [0, 0];
        for iteration in 0..ITERATIONS {
            while ends[0] < self.machines {
                let mut fold = |arrived: &Arrived<'_>| {
                    let ahead = arrived.header().iteration - iteration;
                    let sums = match ahead {
                        0 => &mut receiving,
                        1 => early.get_or_insert_with(|| empty.recv().unwrap()),
                        _ => panic!("a machine is two iterations ahead"),
                    };
                    for message in arrived.messages::<12>() {
                        let (vertex, share) = message.split_at(4);
                        let vertex = u32::from_le_bytes(vertex.try_into().unwrap());
                        let share = u64::from_le_bytes(share.try_into().unwrap());
                        assert_eq!(vertex % self.machines, self.rank);
                        sums[(vertex / self.machines) as usize] += share;
                    }
                    ends[ahead as usize] += u32::from(arrived.header().last);
                };
                if lanes.poll(&mut fold).unwrap() == 0 {
                    thread::yield_now();
                }
            }
            ends = [ends[1], 0];
            let next = if iteration + 1 < ITERATIONS {
                early.take().unwrap_or_else(|| empty.recv().unwrap())
            } else {
                Accumulators::new()
            };
            whole.send(std::mem::replace(&mut receiving, next)).unwrap();
        }
        // Others may still wait for the acknowledgement of their last buckets.
        (0..50).for_each(|_| {
            thread::sleep(std::time::Duration::from_millis(1));
            lanes.poll(&mut |_| panic!("nothing follows the last bucket")).unwrap();
        });
        lanes
    }

    /// Both threads of the machine: ranks of its vertices.
    pub(crate) fn run<T, R>(self, sender: T, receiver: R) -> Vec<u64>
    where
        T: TxLane + Send + 'static,
        R: RxLane + Send + 'static,
    {
        let (give, whole) = channel();
        let (give_back, empty) = channel();
        let count = self.vertices().count();
        (0..2).for_each(|_| give_back.send(vec![0; count]).unwrap());
        let accumulating = thread::spawn(move || self.accumulate(receiver, &give, &empty));
        let ranks = self.work(sender, &whole, &give_back);
        drop(accumulating.join().unwrap());
        ranks
    }

    /// Whether these are the ranks of its vertices.
    pub(crate) fn is_right(self, ranks: &[u64]) -> bool {
        let expected = sequential();
        self.vertices().map(|vertex| &expected[vertex as usize]).eq(ranks)
    }
}
