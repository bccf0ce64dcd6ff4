//! Machines that are killed before all edges are where they belong.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use welter_engine::EngineError;
use welter_progress::FailureKind;
use welter_protocol::Rank;
use welter_protocol::checkpoint::Manifest;
use welter_worker::InputEdge;

use super::*;
use crate::Parts;
use crate::host::{Host, Started};
use crate::report::Reported;
use crate::send::losses::VAIN;

/// The machine that is killed.
const VICTIM: Rank = 1;

/// A share that hands out no edge before it is released.
struct Held {
    inner: Box<dyn Input>,
    is_released: Arc<AtomicBool>,
}

impl Input for Held {
    fn begin(&mut self) {
        self.inner.begin();
    }

    fn piece(&mut self, edges_max: usize) -> Result<(&[InputEdge], bool), EngineError> {
        if self.is_released.load(Ordering::Acquire) {
            return self.inner.piece(edges_max);
        }
        std::thread::sleep(Duration::from_millis(5));
        Ok((&[], false))
    }
}

/// A host that kills each process of a machine when it has lived for a time.
struct Killer {
    inner: Threads,
    life: Duration,
    /// Kills that are left; shares are released after the last one.
    kills: u32,
    started: Instant,
    is_released: Arc<AtomicBool>,
}

impl Host for Killer {
    fn start(&mut self, rank: Rank, above: u32) -> Result<Started, ClusterError> {
        let started = self.inner.start(rank, above);
        if rank == VICTIM {
            self.started = Instant::now();
        }
        started
    }

    fn locate(&mut self, rank: Rank, peer: Rank, address: SocketAddr) -> Result<(), ClusterError> {
        self.inner.locate(rank, peer, address)
    }

    fn next(&mut self, wait: Duration) -> Option<Reported> {
        let is_there = self.inner.machine(VICTIM).is_some();
        if self.kills > 0 && is_there && self.started.elapsed() > self.life {
            self.inner.kill(VICTIM);
            self.kills -= 1;
            self.is_released.store(self.kills == 0, Ordering::Release);
        }
        self.inner.next(wait)
    }

    fn vertices(&mut self, rank: Rank, manifest: &Manifest) -> Result<Parts, ClusterError> {
        self.inner.vertices(rank, manifest)
    }

    fn stop(&mut self, rank: Rank) {
        self.inner.stop(rank);
    }
}

/// End of a run whose machine is killed as often, while it reads the input.
fn killed(kills: u32, life: Duration) -> Result<Finished, ClusterError> {
    let directory = TempDir::new().unwrap();
    let is_released = Arc::new(AtomicBool::new(false));
    let released = is_released.clone();
    let task = move |_| {
        let job = job(Transport::Tcp, 4);
        let (make, released) = (job.input.clone(), released.clone());
        let input = move |me: (usize, usize)| -> Box<dyn Input> {
            Box::new(Held { inner: make(me), is_released: released.clone() })
        };
        Ok(Task::from(Job { input: Arc::new(input), ..job }))
    };
    let inner = Threads::new(run_of(MACHINES), directory.path(), Box::new(task));
    let mut host = Killer { inner, life, kills, started: Instant::now(), is_released };
    run(&mut host, MACHINES, &Progress::new())
}

#[test]
fn early_kills_that_lie_apart_end_no_run() {
    let finished = killed(2, VAIN * 2).unwrap();
    assert_eq!((finished.restarts, finished.manifest.records), (2, 600));
}

#[test]
fn a_machine_that_is_killed_for_ever_ends_the_run() {
    let error = killed(u32::MAX, Duration::from_millis(50)).unwrap_err();
    assert_eq!(error.kind(), FailureKind::Resumable);
    assert_eq!(error.to_string(), "machine 1 has ended 9 times in a row");
}
