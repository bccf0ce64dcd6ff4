//! A thread that waits for its machine while a bucket of it does not arrive.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use welter_protocol::partitions::Partitions;
use welter_transport::{Bucket, Destination, LaneError, Layout, MemoryTx, TxLane, memory_lanes};

use super::*;
use crate::disk::folder::Folder;
use crate::send::calls::CallsUnderWay;
use crate::send::checkpoint::Checkpoints;
use crate::send::computing::Computing;
use crate::send::edges::{Gathering, OwnedEnd, Room, record_bytes};
use crate::send::error::Stop;
use crate::send::folding::Folding;
use crate::send::messages::Messages;
use crate::send::scattering::Scattering;
use crate::send::threads::{Threads, spawn};
use crate::send::turns::{Answer, Channels, Turns};

/// A lane that finds out, when it is polled, that its other end acknowledges nothing any more.
struct Cut {
    lanes: MemoryTx,
    is_cut: Arc<AtomicBool>,
}

impl TxLane for Cut {
    fn bucket(&mut self, to: usize) -> Option<Bucket> {
        self.lanes.bucket(to)
    }

    fn commit(&mut self, to: usize, bucket: Bucket) -> Result<(), LaneError> {
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

#[test]
fn a_thread_that_waits_for_an_order_finds_out_that_its_lane_was_cut() {
    let directory = TempDir::new().unwrap();
    let folder = Arc::new(Folder::open(directory.path(), None).unwrap());
    let checkpoints = Checkpoints::new(folder, 1, CallsUnderWay::default()).unwrap();
    let Job { kernel, input, vertices, settings, .. } = job(Transport::Tcp, 9);
    let MessageKernel::Fold(kernel) = kernel else { panic!("it folds") };
    let cut = Arc::new(Partitions::fitting(1, vertices, 1, vertices).unwrap());
    let (mut lanes, mut sinks) = memory_lanes(1, 1, 4, Layout::WHOLE);
    let is_cut = Arc::new(AtomicBool::new(false));
    let is_over = Arc::new(AtomicBool::new(false));
    let lanes = Cut { lanes: lanes.remove(0), is_cut: is_cut.clone() };
    let ([answer, failed], answers) = {
        let (answer, answers) = channel();
        ([answer.clone(), answer], answers)
    };
    let ((whole, is_whole), (empty, is_empty), (order, orders)) = (channel(), channel(), channel());
    let directory = checkpoints.directory().clone();
    let room = Room { chunk_edges: 99, memory_bytes: u64::MAX, state_bytes: 0, directory };
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
        spawn(scope, "accumulator", &failed, move || folding.run()).unwrap();
        let share = input((0, 1));
        spawn(scope, "computation", &failed, move || computing.run(share, None)).unwrap();
        let threads = Threads { orders: vec![order], answers };
        let first = threads.answers.recv_timeout(Duration::from_mins(1));
        assert!(matches!(first, Ok(Answer::Turn(_))), "edges have arrived");
        assert!(threads.look().is_ok(), "nothing is wrong yet");
        is_cut.store(true, Ordering::Release);
        let until = Instant::now() + Duration::from_mins(1);
        let ended = loop {
            match threads.look() {
                Ok(()) if Instant::now() < until => std::thread::sleep(Duration::from_millis(5)),
                ended => break ended,
            }
        };
        is_over.store(true, Ordering::Release);
        assert!(matches!(ended, Err(Stop::Gone(_))), "{ended:?}");
    });
}
