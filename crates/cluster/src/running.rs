//! A machine that runs in this process: its driver's thread and all that it started.
//!
//! It listens at once, and begins when it knows where all others listen: these may read their input
//! before they do, each in its own time, and machines that have begun wait for each other no longer
//! than their protocol does.
//!
//! **Invariant:** no machine misses another one that does not listen yet. Checked in
//! `Driven::locate`. Tested by `a_machine_that_begins_late_is_waited_for`.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use welter_protocol::checkpoint::Manifest;
use welter_protocol::failure::{Exit, Failure};
use welter_protocol::payload::checksum;
use welter_protocol::placement::Placement;
use welter_protocol::{Config, Event, Machine, Payload, Rank, wire};
use welter_worker::Worker;

use crate::activity::Activity;
use crate::batches::BatchCounter;
use crate::clock::Clock;
use crate::credentials::Trust;
use crate::disk::Disk;
use crate::disk::copies::Copies;
use crate::disk::folder::{Folder, Parts};
use crate::driver::{Driver, tick};
use crate::error::ClusterError;
use crate::leaving::left;
use crate::links::counts::Counts;
use crate::links::{Bounds, Identity, Links, listen};
use crate::moved::MovedAccount;
use crate::pool::pool_bytes;
use crate::program::{Program, panic_message};
use crate::report::{Report, Reported, Reports, RequestCounter};
use crate::resources::HostResources;
use crate::scratch_file::ScratchFile;
use crate::send::Sending;
use crate::task::Task;

/// Events that wait for a machine; who has another waits to hand it over.
const EVENTS_MAX: usize = 256;

/// Run that machines are part of.
#[derive(Clone, Debug)]
pub struct Run {
    /// Settings that all machines agree on.
    pub config: Arc<Config>,
    /// Program, its options and the graph, in words: the same on all machines.
    pub words: String,
    /// Number of the contents of the input as this machine has read it, by which machines of
    /// several computers find out that one has another copy.
    pub contents: u64,
    /// Bounds of what waits for peers.
    pub bounds: Bounds,
    /// Where machines are, and why they trust each other.
    pub reach: Reach,
    /// Requests of this process to stores of objects.
    pub objects: RequestCounter,
    /// Batches that the input of this process has given, by which one that hangs is noticed.
    pub batches: BatchCounter,
    /// Where checkpoints are copied to, if they are.
    pub copies: Option<Copies>,
}

/// Where machines listen, and why they trust each other.
#[derive(Clone, Debug)]
pub struct Reach {
    /// Address where this machine listens; a port of 0 is any.
    pub at: SocketAddr,
    /// Proof that is asked of others.
    pub trust: Trust,
}

impl Default for Reach {
    /// Any port of this computer alone.
    fn default() -> Self {
        Self { at: SocketAddr::from(([127, 0, 0, 1], 0)), trust: Trust::default() }
    }
}

impl Run {
    /// Number that two runs share only if all of it is the same, but for the placement of chunks
    /// (a machine places its own, by what it knows, and all look for chunks everywhere) and for the
    /// chunks that a machine streams at a time, which are its own matter.
    pub fn digest(&self) -> u64 {
        let Self { config, words, .. } = self;
        let config = Config { streams: 0, placement: Placement::Even, ..Config::clone(config) };
        checksum(format!("{} {config:?} {words}", wire::VERSION).as_bytes())
    }
}

/// A machine that runs. It ends at once, as in a crash, when this is dropped.
pub struct RunningMachine {
    incarnation: u32,
    kind: Kind,
}

/// Machine by the means by which it works with others.
enum Kind {
    Protocol(Driven),
    Sending(Sending),
}

/// A machine of the protocol: its driver's thread.
struct Driven {
    rank: Rank,
    machines: usize,
    folder: Arc<Folder>,
    links: Arc<Links>,
    events: SyncSender<Event>,
    /// Machines of which it does not know yet where they listen.
    unlocated: Mutex<BTreeSet<Rank>>,
    has_begun: Arc<AtomicBool>,
    is_stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl RunningMachine {
    /// Starts a machine on a folder, with an incarnation that no process of its rank had. It
    /// reports to `host`.
    ///
    /// # Errors
    /// When the folder cannot be read, or a socket or a thread cannot be had.
    pub fn start(
        run: &Run,
        (rank, incarnation): (Rank, u32),
        folder: Arc<Folder>,
        task: Task,
        host: Sender<Reported>,
    ) -> Result<Self, ClusterError> {
        let me = (rank, incarnation);
        let kind = match task {
            Task::Chunks(worker) => Kind::Protocol(Driven::start(run, me, folder, worker, host)?),
            Task::Messages(job) => {
                let objects = run.objects.clone();
                let reports = Reports { rank, incarnation, host, objects };
                let patience = Duration::from_nanos(run.config.timing.patience);
                let of = (run.digest(), run.config.machines(), patience);
                let reach = (run.reach.at, run.reach.trust.clone());
                let batches = run.batches.clone();
                Kind::Sending(Sending::start(of, batches, reach, me, (folder, *job), reports)?)
            }
        };
        Ok(Self { incarnation, kind })
    }

    /// Ends it. A thread of it that does not end in this time, because a call of the system does
    /// not, is left to the end of its process. Whether there is none.
    pub(crate) fn leave(self, within: Duration) -> bool {
        match self.kind {
            Kind::Protocol(mut machine) => {
                machine.is_stopped.store(true, Ordering::Relaxed);
                left(&mut machine.thread, within)
            }
            Kind::Sending(machine) => machine.leave(within),
        }
    }

    /// Incarnation of its rank that the process is.
    pub fn incarnation(&self) -> u32 {
        self.incarnation
    }

    /// Where it listens for other machines.
    pub fn address(&self) -> SocketAddr {
        match &self.kind {
            Kind::Protocol(machine) => machine.links.address(),
            Kind::Sending(machine) => machine.address(),
        }
    }

    /// Sends it the address where another machine listens, from now on.
    ///
    /// # Errors
    /// When peers that are trusted so may not be there.
    pub fn locate(&self, peer: Rank, address: SocketAddr) -> Result<(), ClusterError> {
        match &self.kind {
            Kind::Protocol(machine) => machine.locate(peer, address),
            Kind::Sending(machine) => machine.locate(peer, address),
        }
    }

    /// Sends it word that a process makes its task in the place of another machine, which it does
    /// not miss meanwhile.
    pub(crate) fn awaits(&self, peer: Rank) {
        match &self.kind {
            Kind::Protocol(machine) => machine.awaits(peer),
            Kind::Sending(machine) => machine.awaits(peer),
        }
    }

    /// Numbers of what has happened on its links.
    pub fn counts(&self) -> &Arc<Counts> {
        match &self.kind {
            Kind::Protocol(machine) => machine.links.counts(),
            Kind::Sending(machine) => machine.counts(),
        }
    }

    /// Chunks of the result that it has, by partition and place in it, ascending.
    pub(crate) fn places(&self, manifest: &Manifest) -> Vec<(u32, u64)> {
        let mut places = match &self.kind {
            Kind::Protocol(machine) => {
                Folder::places(manifest, (machine.rank, machine.machines)).collect()
            }
            Kind::Sending(machine) => machine.places(manifest),
        };
        places.sort_unstable();
        places
    }

    /// A chunk of the result that it has.
    ///
    /// # Errors
    /// When it is not there any more.
    pub(crate) fn chunk(
        &self,
        manifest: &Manifest,
        place: (u32, u64),
    ) -> Result<Payload, ClusterError> {
        match &self.kind {
            Kind::Protocol(machine) => {
                let read = machine.folder.read(manifest.name(place.0, place.1));
                read.map(|(_, payload)| payload).map_err(|unread| ClusterError::Result {
                    rank: machine.rank,
                    what: unread.to_string(),
                })
            }
            Kind::Sending(machine) => machine.chunk(manifest, place),
        }
    }

    /// The part of the result that it has.
    ///
    /// # Errors
    /// When it is not there any more.
    pub fn vertices(&self, manifest: &Manifest) -> Result<Parts, ClusterError> {
        match &self.kind {
            Kind::Protocol(machine) => machine.vertices(manifest),
            Kind::Sending(machine) => machine.vertices(manifest),
        }
    }
}

/// Threads of a worker, which has the memory and the disk of its machine.
fn program(
    mut worker: Box<dyn Worker>,
    (config, folder): (&Config, &Arc<Folder>),
    sender: &SyncSender<Event>,
) -> Result<Program, ClusterError> {
    worker.keep_at_most(config.kept_updates_max, Box::new(ScratchFile::new(folder.clone())));
    let threads = config.streams.max(1);
    worker.lend(Arc::new(HostResources::new(threads, folder.pool().clone())));
    Program::new(worker, threads, sender).map_err(ClusterError::Start)
}

impl Driven {
    fn start(
        run: &Run,
        (rank, incarnation): (Rank, u32),
        folder: Arc<Folder>,
        worker: Box<dyn Worker>,
        host: Sender<Reported>,
    ) -> Result<Self, ClusterError> {
        let config = run.config.clone();
        let machines = config.machines();
        let start = folder.start()?;
        let listener = listen(run.reach.at, &run.reach.trust)?;
        let (sender, events) = sync_channel(EVENTS_MAX);
        let me = Identity { run: run.digest(), rank, incarnation, machines };
        let pool_bytes = pool_bytes(config.store_window_bytes);
        folder.pool_up_to(pool_bytes);
        let bounds = (run.bounds, pool_bytes);
        let links = Links::new(listener, (me, run.reach.trust.clone()), bounds, sender.clone());
        let links = Arc::new(links.map_err(ClusterError::Start)?);
        let disk = Disk::new(folder.clone(), sender.clone()).map_err(ClusterError::Start)?;
        let program = program(worker, (&config, &folder), &sender)?;
        let unlocated: BTreeSet<Rank> = (0..machines).filter(|&peer| peer != rank).collect();
        let has_begun = Arc::new(AtomicBool::new(unlocated.is_empty()));
        let is_stopped = Arc::new(AtomicBool::new(false));
        let driver = Driver {
            tick: tick(&config.timing),
            machine: Machine::new(config, rank, incarnation),
            clock: Clock::new(),
            disk,
            program,
            links: links.clone(),
            reports: Reports { rank, incarnation, host, objects: run.objects.clone() },
            has_begun: has_begun.clone(),
            is_stopped: is_stopped.clone(),
            deciding: (0, 0),
            activity: Activity::default(),
            moved: MovedAccount::default(),
        };
        let reports = driver.reports.clone();
        let thread = Builder::new().name(format!("machine-{rank}")).spawn(move || {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| driver.run(start, events))) {
                let what = panic_message(&*panic).into();
                reports.say(Report::Ended(Some(Failure { why: Exit::Broken, rank, what })));
            }
        });
        let thread = Some(thread.map_err(ClusterError::Start)?);
        let unlocated = Mutex::new(unlocated);
        Ok(Self {
            rank,
            machines,
            folder,
            links,
            events: sender,
            unlocated,
            has_begun,
            is_stopped,
            thread,
        })
    }

    fn awaits(&self, peer: Rank) {
        if peer < self.machines && peer != self.rank {
            // One that has much else to look at hears the next word.
            let _ = self.events.try_send(Event::Awaited(peer));
        }
    }

    /// Learns where a peer listens. It begins with the last one.
    fn locate(&self, peer: Rank, address: SocketAddr) -> Result<(), ClusterError> {
        self.links.locate(peer, address)?;
        let mut unlocated = self.unlocated.lock().unwrap_or_else(PoisonError::into_inner);
        unlocated.remove(&peer);
        if unlocated.is_empty() && !self.has_begun.swap(true, Ordering::AcqRel) {
            self.thread.iter().for_each(|thread| thread.thread().unpark());
        }
        Ok(())
    }

    /// The part of the result that lies on its disk.
    fn vertices(&self, manifest: &Manifest) -> Result<Parts, ClusterError> {
        let rank = self.rank;
        self.folder
            .vertices(manifest, (rank, self.machines))
            .map_err(|unread| ClusterError::Result { rank, what: unread.to_string() })
    }
}

impl Drop for Driven {
    fn drop(&mut self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        // The thread catches panics.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
