//! Machines that are lost in the middle of a run.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use welter_protocol::Rank;
use welter_protocol::checkpoint::Manifest;

use super::*;
use crate::Parts;
use crate::host::{Host, Started};
use crate::report::{Report, Reported};

/// Iterations of the runs: more than are done before a kill is.
const ITERATIONS: u32 = 600;

/// A host that kills a machine when this iteration is decided on, and may take its folder away.
pub(super) struct Killer {
    inner: Threads,
    directory: PathBuf,
    /// Machine, iteration, whether its files go too.
    kills: Vec<(Rank, u32, bool)>,
    /// The iteration that was decided on last.
    last: Option<u32>,
    /// Iterations with which epochs began, but for the first one: no later one was heard before.
    began: Vec<u32>,
}

impl Killer {
    /// A host of machines in this directory, of which these are killed.
    pub(super) fn new(inner: Threads, directory: &Path, kills: &[(Rank, u32, bool)]) -> Self {
        let (directory, kills) = (directory.to_owned(), kills.to_vec());
        Self { inner, directory, kills, last: None, began: Vec::new() }
    }
}

impl Host for Killer {
    fn start(&mut self, rank: Rank, above: u32) -> Result<Started, ClusterError> {
        self.inner.start(rank, above)
    }

    fn locate(&mut self, rank: Rank, peer: Rank, address: SocketAddr) -> Result<(), ClusterError> {
        self.inner.locate(rank, peer, address)
    }

    fn next(&mut self, wait: Duration) -> Option<Reported> {
        let reported = self.inner.next(wait);
        let Some(Reported { report: Report::Decided(iteration, _), .. }) = &reported else {
            return reported;
        };
        if self.last.replace(*iteration).is_some_and(|last| last >= *iteration) {
            self.began.push(*iteration);
        }
        if let Some(&(rank, at, loses)) = self.kills.first()
            && at <= *iteration
            // One that has ended already, and waits to be heard of, cannot be killed.
            && self.inner.machine(rank).is_some()
        {
            self.kills.remove(0);
            self.inner.kill(rank);
            if loses {
                std::fs::remove_dir_all(self.directory.join(format!("machine-{rank}"))).unwrap();
            }
        }
        reported
    }

    fn vertices(&mut self, rank: Rank, manifest: &Manifest) -> Result<Parts, ClusterError> {
        self.inner.vertices(rank, manifest)
    }

    fn stop(&mut self, rank: Rank) {
        self.inner.stop(rank);
    }
}

/// A run in which machines are lost so, which makes a checkpoint as often as it can.
fn survived(transport: Transport, kills: &[(Rank, u32, bool)]) -> (Finished, Vec<u32>) {
    survived_by(move || job(transport, ITERATIONS), kills)
}

/// As [`survived`], of these jobs.
fn survived_by(
    make: impl Fn() -> Job + Send + 'static,
    kills: &[(Rank, u32, bool)],
) -> (Finished, Vec<u32>) {
    let directory = TempDir::new().unwrap();
    let it = run_of(MACHINES);
    let task = move |_| {
        let mut job = make();
        job.settings.checkpoint_every = Duration::ZERO;
        // One kind of lanes has a sender thread.
        job.settings.senders = usize::from(job.settings.transport == Transport::Udp);
        Ok(Task::from(job))
    };
    let inner = Threads::new(it, directory.path(), Box::new(task));
    let mut host = Killer::new(inner, directory.path(), kills);
    let finished = run(&mut host, MACHINES, &Progress::new()).unwrap();
    assert!(host.kills.is_empty(), "the run is longer");
    (finished, host.began)
}

#[test]
fn a_machine_that_is_lost_costs_no_iteration_before_a_checkpoint() {
    let (expected, began) = survived(Transport::Tcp, &[]);
    assert_eq!((expected.restarts, began), (0, vec![]));
    assert_eq!(expected.decided.len(), 1 + ITERATIONS as usize);
    assert!(expected.activities.iter().all(|activity| activity.written_bytes > 0));
    let width = Job::vertex_bytes(&job(Transport::Tcp, 1).kernel) as usize;
    let value = |finished: &Finished, at: usize| {
        let bytes = finished.vertices();
        assert_eq!(bytes.len(), VERTICES as usize * width);
        f64::from_ne_bytes(bytes[width * at..][..8].try_into().unwrap())
    };
    let sum: f64 = (0..VERTICES as usize).map(|at| value(&expected, at)).sum();
    assert!((sum - 1.0).abs() < 1e-12, "ranks of all vertices are 1 together: {sum}");
    let cases = [(Transport::Tcp, 1), (Transport::Udp, 0), (Transport::Shared, 2)];
    for (transport, rank) in cases {
        let kills = [(rank, 40, false), (rank, 120, false)];
        let (finished, began) = survived(transport, &kills);
        assert_eq!((finished.restarts, began.len()), (2, 2), "{transport:?}");
        // Checkpoints are made as soon as twenty times of what the last one took have gone by.
        assert!(began[0] > 0 && began[1] >= began[0], "{transport:?}: {began:?}");
        assert_eq!(finished.decided.len(), expected.decided.len());
        for at in 0..VERTICES as usize {
            let [found, right] = [&finished, &expected].map(|of| value(of, at));
            assert!((found - right).abs() < 1e-12, "vertex {at}: {found} for {right}");
        }
    }
}

#[test]
fn a_machine_that_is_lost_often_ends_no_run_that_comes_further() {
    let kills: Vec<(Rank, u32, bool)> = (0..10).map(|at| (1, 40 + 55 * at, false)).collect();
    let (finished, _) = survived(Transport::Tcp, &kills);
    // More often than it is started again where the run comes no further.
    assert!(finished.restarts > 8, "{} restarts", finished.restarts);
    assert_eq!(finished.decided.len(), 1 + ITERATIONS as usize);
}

#[test]
fn a_machine_that_is_lost_with_its_files_begins_the_run_anew() {
    let (finished, began) = survived(Transport::Tcp, &[(1, 40, true)]);
    assert_eq!((finished.restarts, began), (1, vec![0]));
}

#[test]
fn programs_that_do_not_fold_begin_anew_when_a_machine_is_lost() {
    let value = |bytes: &[u8]| f64::from_ne_bytes(bytes[..8].try_into().unwrap());
    let beliefs = || beliefs(Transport::Tcp, ITERATIONS);
    let (expected, began) = survived_by(beliefs, &[]);
    assert_eq!((expected.restarts, began), (0, vec![]));
    let (finished, began) = survived_by(beliefs, &[(1, 40, false)]);
    assert_eq!((finished.restarts, began), (1, vec![0]));
    let (found, right) = (finished.vertices(), expected.vertices());
    assert!(found.len() == right.len() && found.len() >= 8 * VERTICES as usize);
    for (found, right) in found.chunks_exact(8).zip(right.chunks_exact(8)) {
        let [found, right] = [found, right].map(value);
        assert!((found - right).abs() < 1e-5, "{found} for {right}");
    }
}
