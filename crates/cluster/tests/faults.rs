//! Faults: machines that are killed, input that cannot be read, strangers at the door. The answer
//! is the reference's, or all machines end with one reason.

mod common;

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tempfile::TempDir;
use welter_cluster::host::Started;
use welter_cluster::{
    ClusterError, Counted, Host, MakeTask, Parts, Recovery, Reported, RunningMachine, Task, Threads,
};
use welter_engine::EngineError;
use welter_protocol::checkpoint::Manifest;
use welter_protocol::config::Route;
use welter_protocol::failure::Exit;
use welter_protocol::{Config, Outcome, Rank, Work};
use welter_worker::Worker;

use common::{Job, graph, job};

/// A worker that says when it begins its `n`th piece of work, and is slow then.
struct Telling {
    inner: Box<dyn Worker>,
    left: u32,
    tell: Sender<()>,
}

impl Worker for Telling {
    fn work(&mut self, work: &Work) -> Result<Outcome, EngineError> {
        self.left = self.left.wrapping_sub(1);
        if self.left == 0 {
            // The host may have ended.
            let _ = self.tell.send(());
            std::thread::sleep(Duration::from_millis(30));
        }
        self.inner.work(work)
    }

    fn looked_at(&self) -> u64 {
        self.inner.looked_at()
    }
}

/// A host that kills a machine when its worker says so.
struct Killer {
    inner: Threads,
    rank: Rank,
    signals: Receiver<()>,
    kills: u32,
}

impl Host for Killer {
    fn start(&mut self, rank: Rank, above: u32) -> Result<Started, ClusterError> {
        let started = self.inner.start(rank, above)?;
        assert!(started.incarnation > above);
        Ok(started)
    }

    fn locate(&mut self, rank: Rank, peer: Rank, address: SocketAddr) -> Result<(), ClusterError> {
        self.inner.locate(rank, peer, address)
    }

    fn next(&mut self, wait: Duration) -> Option<Reported> {
        if self.signals.try_recv().is_ok() {
            self.inner.kill(self.rank);
            self.kills += 1;
        }
        self.inner.next(wait.min(Duration::from_millis(2)))
    }

    fn vertices(&mut self, rank: Rank, manifest: &Manifest) -> Result<Parts, ClusterError> {
        self.inner.vertices(rank, manifest)
    }

    fn stop(&mut self, rank: Rank) {
        self.inner.stop(rank);
    }
}

/// Workers of a job, of which that of `rank` reports its works with these numbers, one a process.
fn telling(job: &Job, rank: Rank, numbers: Vec<u32>) -> (MakeTask, Receiver<()>) {
    let (tell, signals) = channel();
    let mut make = job.workers();
    let mut numbers = numbers.into_iter();
    let workers = move |of| {
        let Task::Chunks(inner) = make(of)? else { unreachable!("it pulls chunks") };
        let left = if of == rank { numbers.next().unwrap_or(0) } else { 0 };
        Ok(Task::Chunks(Box::new(Telling { inner, left, tell: tell.clone() })))
    };
    (Box::new(workers), signals)
}

#[test]
fn a_machine_that_is_killed_in_the_middle_is_replaced() {
    let graph = graph(7, 300, 4000);
    for (name, rank, numbers) in [
        ("pagerank", 1, vec![3]),
        ("pagerank", 0, vec![40]),
        ("bfs", 2, vec![6, 5]),
        ("contraction", 3, vec![30]),
    ] {
        for route in [Route::Fold, Route::Spill] {
            let directory = TempDir::new().expect("there is a place for it");
            let job = job(name, &graph, 4, route);
            let kills = numbers.len() as u32;
            let (workers, signals) = telling(&job, rank, numbers.clone());
            let inner = Threads::new(job.run.clone(), directory.path(), workers);
            let mut host = Killer { inner, rank, signals, kills: 0 };
            let finished = job.check(&mut host);
            let what = format!("{name}, machine {rank}, {route:?}");
            assert_eq!((host.kills, finished.restarts), (kills, kills), "{what}");
            let recoveries = &finished.recoveries;
            let is_it = |it: &Recovery| it.rank == rank && it.is_restart && it.seconds > 0.0;
            assert!(recoveries.iter().any(is_it), "{what}: {recoveries:?}");
        }
    }
}

#[test]
fn all_machines_end_with_the_reason_of_the_first() {
    struct Fails(EngineErrorOnce);
    type EngineErrorOnce = Mutex<Option<EngineError>>;
    impl Worker for Fails {
        fn work(&mut self, _: &Work) -> Result<Outcome, EngineError> {
            let error = self.0.lock().expect("nobody panics").take();
            Err(error.unwrap_or(EngineError::Cancelled))
        }

        fn looked_at(&self) -> u64 {
            0
        }
    }
    let directory = TempDir::new().expect("there is a place for it");
    let job = job("pagerank", &graph(1, 50, 100), 4, Route::Fold);
    let mut make = job.workers();
    let workers = move |rank| match rank {
        2 => {
            let error = EngineError::Input("edges.tsv:7: expected an integer".into());
            Ok(Task::Chunks(Box::new(Fails(Mutex::new(Some(error))))))
        }
        _ => make(rank),
    };
    let mut host = Threads::new(job.run.clone(), directory.path(), Box::new(workers));
    let Err(ClusterError::Failed(failure)) = job.end(&mut host) else { panic!("it fails") };
    assert_eq!((failure.why, failure.rank), (Exit::BadInput, 2));
    assert_eq!(&*failure.what, "edges.tsv:7: expected an integer");
}

#[test]
fn a_hostile_peer_changes_nothing_and_is_counted() {
    /// A host that shows where machines listen.
    struct Open {
        inner: Threads,
        doors: Arc<Mutex<Vec<SocketAddr>>>,
        strangers: u64,
    }

    impl Host for Open {
        fn start(&mut self, rank: Rank, above: u32) -> Result<Started, ClusterError> {
            let started = self.inner.start(rank, above)?;
            self.doors.lock().expect("nobody panics").push(started.address);
            Ok(started)
        }

        fn locate(
            &mut self,
            rank: Rank,
            peer: Rank,
            address: SocketAddr,
        ) -> Result<(), ClusterError> {
            self.inner.locate(rank, peer, address)
        }

        fn next(&mut self, wait: Duration) -> Option<Reported> {
            self.inner.next(wait)
        }

        fn vertices(&mut self, rank: Rank, manifest: &Manifest) -> Result<Parts, ClusterError> {
            let counts = self.inner.machine(rank).map(RunningMachine::counts);
            self.strangers += counts.map_or(0, |counts| counts.get(Counted::Stranger));
            self.inner.vertices(rank, manifest)
        }

        fn stop(&mut self, rank: Rank) {
            self.inner.stop(rank);
        }
    }

    let doors: Arc<Mutex<Vec<SocketAddr>>> = Arc::default();
    let (is_over, thrown) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
    let hostile = std::thread::spawn({
        let (doors, is_over, thrown) = (doors.clone(), is_over.clone(), thrown.clone());
        move || {
            let garbage: Vec<u8> = (0..5000_u32).map(|byte| ((byte * 31) >> 3) as u8).collect();
            while !is_over.load(Ordering::Relaxed) {
                for door in doors.lock().expect("nobody panics").clone() {
                    // A machine may have ended, or hung up already.
                    let stream = TcpStream::connect(door);
                    if stream.and_then(|mut stream| stream.write_all(&garbage)).is_ok() {
                        thrown.fetch_add(1, Ordering::Relaxed);
                    }
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    });
    let directory = TempDir::new().expect("there is a place for it");
    let job = job("pagerank", &graph(3, 300, 4000), 2, Route::Spill);
    let inner = Threads::new(job.run.clone(), directory.path(), job.workers());
    let mut host = Open { inner, doors, strangers: 0 };
    job.check(&mut host);
    is_over.store(true, Ordering::Relaxed);
    hostile.join().expect("it does not panic");
    assert!(thrown.load(Ordering::Relaxed) > 0 && host.strangers > 0);
}

/// A host that starts the last machine long after all others.
struct Late {
    inner: Threads,
    last: Rank,
    by: Duration,
}

impl Host for Late {
    fn start(&mut self, rank: Rank, above: u32) -> Result<Started, ClusterError> {
        if rank == self.last {
            std::thread::sleep(self.by);
        }
        self.inner.start(rank, above)
    }

    fn locate(&mut self, rank: Rank, peer: Rank, address: SocketAddr) -> Result<(), ClusterError> {
        self.inner.locate(rank, peer, address)
    }

    fn next(&mut self, wait: Duration) -> Option<Reported> {
        self.inner.next(wait)
    }

    fn vertices(&mut self, rank: Rank, manifest: &Manifest) -> Result<Parts, ClusterError> {
        self.inner.vertices(rank, manifest)
    }

    fn stop(&mut self, rank: Rank) {
        self.inner.stop(rank);
    }
}

#[test]
fn a_machine_that_begins_late_is_waited_for() {
    let patience = Duration::from_secs(6);
    let directory = TempDir::new().expect("there is a place for it");
    let mut job = job("pagerank", &graph(5, 300, 4000), 3, Route::Fold);
    let mut config = Config::clone(&job.run.config);
    config.timing.patience = patience.as_nanos() as u64;
    job.run.config = Arc::new(config);
    let inner = Threads::new(job.run.clone(), directory.path(), job.workers());
    let finished = job.check(&mut Late { inner, last: 2, by: patience + patience / 2 });
    assert_eq!(finished.restarts, 0);
}

#[test]
fn a_directory_that_another_process_uses_is_refused() {
    let directory = TempDir::new().expect("there is a place for it");
    let job = job("pagerank", &graph(3, 30, 40), 2, Route::Spill);
    let _used = welter_cluster::Folder::open(&directory.path().join("machine-1"), None);
    let mut host = Threads::new(job.run.clone(), directory.path(), job.workers());
    assert!(matches!(job.end(&mut host), Err(ClusterError::InUse(_))));
}
