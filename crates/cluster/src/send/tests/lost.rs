//! Machines that are lost in the middle of a run.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use welter_protocol::Rank;
use welter_protocol::checkpoint::Manifest;
use welter_protocol::partitions::Partitions;

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
    survived_by(move |_| job(transport, ITERATIONS), kills)
}

/// As [`survived`], of these jobs of machines, by rank.
fn survived_by(
    mut make: impl FnMut(Rank) -> Job + Send + 'static,
    kills: &[(Rank, u32, bool)],
) -> (Finished, Vec<u32>) {
    let directory = TempDir::new().unwrap();
    let it = run_of(MACHINES);
    let task = move |rank| {
        let mut job = make(rank);
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
    let beliefs = |_: Rank| beliefs(Transport::Tcp, ITERATIONS);
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

/// A job of edges of which the first half lead among the first half of the vertices, and lie in one
/// long part, or in several as all others do.
fn job_in_parts(is_long: bool) -> Job {
    let half = VERTICES / 2;
    let pair = |edge: u32| {
        let first = if edge < 300 { 0 } else { half };
        [first + edge * 7 % half, first + edge * edge % half]
    };
    let pairs: Vec<[u32; 2]> = (0..600).map(pair).collect();
    let mut edges = EdgeList::new(None, false);
    let (long, short) = pairs.split_at(if is_long { 300 } else { 0 });
    edges.push(long.to_vec(), Vec::new());
    short.chunks(10).for_each(|pairs| edges.push(pairs.to_vec(), Vec::new()));
    job_on(edges, ranks(ITERATIONS), Reading::default(), Transport::Tcp)
}

/// Bounds of sub-ranges by shares of these edges, those of machine 1 in parts as it has them.
fn weighed_bounds(is_long: bool) -> Arc<[u64]> {
    let shares = (0..2 * MACHINES).map(|share| {
        let job = job_in_parts(is_long && share % MACHINES == 1);
        (job.input)((share, 2 * MACHINES))
    });
    let ending = ending::Ending::default();
    let word = cutting::weighed(shares, VERTICES.into(), &ending, || Ok(())).unwrap().end();
    let widest = u64::from(VERTICES).div_ceil(2 * MACHINES as u64);
    let even = Partitions::fitting(MACHINES, VERTICES.into(), 1, widest).unwrap();
    let answer = cutting::bounds(&even, &[word]).unwrap().end();
    cutting::bounds_of(&cutting::cut(MACHINES, &answer).unwrap())
}

#[test]
fn a_machine_whose_input_has_other_parts_continues_as_it_was_cut() {
    assert_ne!(weighed_bounds(true), weighed_bounds(false), "samples are of parts");
    let (expected, _) = survived_by(|_| job_in_parts(false), &[]);
    let mut starts = [0; MACHINES];
    let make = move |rank: Rank| {
        starts[rank] += 1;
        job_in_parts(starts[rank] > 1)
    };
    let (finished, began) = survived_by(make, &[(1, 40, false)]);
    assert_eq!((finished.restarts, began.len()), (1, 1));
    assert!(began[0] > 0, "it begins with a checkpoint: {began:?}");
    assert_eq!(finished.manifest.shape.bounds, expected.manifest.shape.bounds);
    let (found, right) = (finished.vertices(), expected.vertices());
    let width = Job::vertex_bytes(&ranks(1)) as usize;
    assert_eq!((found.len(), right.len()), (VERTICES as usize * width, found.len()));
    for (found, right) in found.chunks_exact(width).zip(right.chunks_exact(width)) {
        let [found, right] =
            [found, right].map(|bytes| f64::from_ne_bytes(bytes[..8].try_into().unwrap()));
        assert!((found - right).abs() < 1e-12, "{found} for {right}");
    }
}
