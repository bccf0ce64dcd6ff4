//! The threads of one sub-range, alone: what they find out, and do, while they wait for an order.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use welter_algorithms::Cdlp;
use welter_model::group::Grouped;
use welter_protocol::partitions::Partitions;
use welter_transport::{Bucket, Destination, LaneError, Layout, MemoryTx, TxLane, memory_lanes};

use super::*;
use crate::disk::folder::Folder;
use crate::send::calls::CallsUnderWay;
use crate::send::checkpoint::Checkpoints;
use crate::send::computing::Computing;
use crate::send::edges::{Gathering, OwnedEnd, Room, record_bytes};
use crate::send::ending::{Ending, Over};
use crate::send::error::Stop;
use crate::send::folding::Folding;
use crate::send::messages::Messages;
use crate::send::scattering::Scattering;
use crate::send::threads::{Threads, spawn};
use crate::send::turns::{Answer, Channels, Ended, Order, Turn, Turns};

/// Time in which something happens that does not depend on time.
const PATIENCE: Duration = Duration::from_mins(1);

/// A lane that counts the last buckets of iterations, and finds out, when it is polled, that its
/// other end acknowledges nothing any more.
struct Watched {
    lanes: MemoryTx,
    lasts: Arc<AtomicU64>,
    is_cut: Arc<AtomicBool>,
}

impl TxLane for Watched {
    fn bucket(&mut self, to: usize) -> Option<Bucket> {
        self.lanes.bucket(to)
    }

    fn commit(&mut self, to: usize, bucket: Bucket) -> Result<(), LaneError> {
        self.lasts.fetch_add(bucket.header().last.into(), Ordering::AcqRel);
        self.lanes.commit(to, bucket)
    }

    fn poll(&mut self) -> Result<(), LaneError> {
        if self.is_cut.load(Ordering::Acquire) {
            return Err(LaneError::Closed(0));
        }
        self.lanes.poll()
    }

    fn is_idle(&self) -> bool {
        self.lanes.is_idle()
    }
}

/// The threads as a test has them.
struct Alone {
    threads: Threads,
    lasts: Arc<AtomicU64>,
    is_cut: Arc<AtomicBool>,
}

impl Alone {
    fn answer(&self) -> Answer {
        self.threads.answers.recv_timeout(PATIENCE).expect("it has an answer")
    }

    fn turn(&self) -> Turn {
        match self.answer() {
            Answer::Turn(turn) => *turn,
            Answer::Failed(stop) => panic!("{stop:?}"),
            Answer::Ended(_) => panic!("an end before its order"),
        }
    }

    /// Waits until this number of iterations have been sent, edges among them.
    fn sent(&self, iterations: u64) {
        let until = Instant::now() + PATIENCE;
        while self.lasts.load(Ordering::Acquire) < iterations && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(self.lasts.load(Ordering::Acquire), iterations);
    }
}

/// Runs the threads of a machine that is alone and has one sub-range, while `look` looks at them.
fn alone<T>(job: Job, look: impl FnOnce(&Alone) -> T) -> T {
    let directory = TempDir::new().unwrap();
    let folder = Arc::new(Folder::open(directory.path(), None).unwrap());
    let checkpoints = Checkpoints::new(folder, 1, CallsUnderWay::default()).unwrap();
    let Job { kernel, input, vertices, settings, .. } = job;
    let MessageKernel::Fold(kernel) = kernel else { panic!("it folds") };
    let cut = Arc::new(Partitions::fitting(1, vertices, 1, vertices).unwrap());
    let (mut lanes, mut sinks) = memory_lanes(1, 1, 4, Layout::WHOLE);
    let (lasts, is_cut) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let is_over = Arc::new(AtomicBool::new(false));
    let lanes = Watched { lanes: lanes.remove(0), lasts: lasts.clone(), is_cut: is_cut.clone() };
    let ([answer, failed], answers) = {
        let (answer, answers) = channel();
        ([answer.clone(), answer], answers)
    };
    let ((whole, is_whole), (empty, is_empty), (order, orders)) = (channel(), channel(), channel());
    let directory = checkpoints.directory().clone();
    let room = Room {
        chunk_edges: 99,
        stripe_vertices: 4,
        memory_bytes: u64::MAX,
        state_bytes: 0,
        directory,
    };
    let edge_bytes = record_bytes(false);
    let folding = Folding {
        lanes: sinks.remove(0),
        core: None,
        sources: 1,
        edges: Gathering::new(cut.clone(), (0, OwnedEnd::Source), (false, room)),
        edge_bytes,
        message_bytes_max: 64,
        empty: is_empty,
        whole,
        is_over: is_over.clone(),
        faults: None,
    };
    let messages = Messages::new(lanes, &[Destination::default()], (edge_bytes, 64));
    let ways = Channels { orders, answers: answer, whole: is_whole, empty, core: None };
    let send = (settings.combine, settings.transport);
    let scattering = Scattering::new(kernel.clone(), (cut.clone(), 0), send);
    let own = (scattering, checkpoints, u64::MAX);
    let computing = Computing::new(kernel, Turns::new((cut, (0, 0)), messages, ways), own);
    std::thread::scope(|scope| {
        // Also after a panic, which waits for the threads.
        let _over = Over { ending: &Ending::default(), is_over: &is_over };
        spawn(scope, "accumulator", &failed, move || folding.run()).unwrap();
        let share = input((0, 1));
        spawn(scope, "computation", &failed, move || computing.run(share, None)).unwrap();
        let threads = Threads { orders: vec![order], answers };
        look(&Alone { threads, lasts, is_cut })
    })
}

#[test]
fn a_thread_that_waits_for_an_order_finds_out_that_its_lane_was_cut() {
    let ended = alone(job(Transport::Tcp, 9), |alone| {
        alone.turn();
        assert!(alone.threads.look().is_ok(), "nothing is wrong yet");
        alone.is_cut.store(true, Ordering::Release);
        let until = Instant::now() + PATIENCE;
        loop {
            match alone.threads.look() {
                Ok(()) if Instant::now() < until => std::thread::sleep(Duration::from_millis(5)),
                ended => break ended,
            }
        }
    });
    assert!(matches!(ended, Err(Stop::Gone(_))), "{ended:?}");
}

/// Ranks after an iteration, of threads that have sent the second one before they were told that
/// there is none.
fn after_one(job: Job) -> Vec<u8> {
    alone(job, |alone| {
        let total: Arc<[u8]> = alone.turn().total.into();
        assert_eq!(alone.lasts.load(Ordering::Acquire), 1, "edges alone were sent");
        alone.threads.tell(|| Order::Iterate(0, total.clone(), None));
        let turn = alone.turn();
        assert!(turn.sent.updates.iter().sum::<u64>() > 0);
        assert_eq!(turn.sent.updates, [turn.folded.updates]);
        alone.sent(3);
        assert!(alone.threads.look().is_ok(), "it waits for the order");
        alone.threads.tell(|| Order::End);
        match alone.answer() {
            Answer::Ended(Ended { vertices, .. }) => vertices,
            Answer::Turn(_) => panic!("an iteration that was not ordered"),
            Answer::Failed(stop) => panic!("{stop:?}"),
        }
    })
}

#[test]
fn the_next_iteration_is_sent_before_its_order_and_applied_after_it() {
    let ranks = |vertices: &[u8]| -> Vec<f64> {
        let width = Job::vertex_bytes(&job(Transport::Tcp, 1).kernel) as usize;
        let values = vertices.chunks_exact(width).map(|it| it[..8].try_into().unwrap());
        values.map(f64::from_ne_bytes).collect()
    };
    let expected = ranks(&ended(|| job(Transport::Tcp, 1)).unwrap().vertices());
    let other = ranks(&ended(|| job(Transport::Tcp, 2)).unwrap().vertices());
    let is_same = |one: &[f64], other: &[f64]| {
        one.len() == other.len() && one.iter().zip(other).all(|(a, b)| (a - b).abs() < 1e-12)
    };
    let found = ranks(&after_one(job(Transport::Tcp, 9)));
    assert!(is_same(&found, &expected) && !is_same(&found, &other));
}

#[test]
fn grouped_updates_are_sent_when_they_are_ordered() {
    let kernel = FoldKernel::of(Arc::new(Grouped(Cdlp::new(3))));
    let job = job_of(kernel.into(), Reading::default(), Transport::Tcp);
    alone(job, |alone| {
        for iteration in 0..3 {
            let total: Arc<[u8]> = alone.turn().total.into();
            // Edges, and the iterations that were ordered.
            assert_eq!(alone.lasts.load(Ordering::Acquire), 1 + iteration);
            alone.threads.tell(|| Order::Iterate(iteration, total.clone(), None));
        }
        alone.turn();
        alone.threads.tell(|| Order::End);
        assert!(matches!(alone.answer(), Answer::Ended(_)));
        alone.sent(4);
    });
}
