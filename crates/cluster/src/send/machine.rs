//! A machine of route `send`: its thread, epoch by epoch, and what its host asks it for.
//!
//! ```text
//! come to rank 0, or wait there -> epoch -> finished: stay until all others may be stopped
//!        ^                           |             |
//!        +---- a machine is gone ----+-------------+
//! ```
//!
//! An epoch that loses a machine is followed by one with the machine that its host starts in the
//! place of the lost one, from the last checkpoint that all have, as long as that may come further
//! (`losses`). A failure that would come again ends the machine, and with it the run.

use std::cell::Cell;
use std::net::{IpAddr, SocketAddr};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle, sleep};
use std::time::{Duration, Instant};

use welter_protocol::checkpoint::Manifest;
use welter_protocol::failure::{Exit, Failure};
use welter_protocol::ids::Epoch as Number;
use welter_protocol::{Payload, Rank};

use super::Job;
use super::account::Account;
use super::call_watch::CallWatch;
use super::calls::CallsUnderWay;
use super::checkpoint::Checkpoints;
use super::ending::Ending;
use super::epoch::{Epoch, Finished};
use super::error::Stop;
use super::losses::{EpochProgress, Losses};
use super::table::{Entrance, Table, come};
use super::watched_input::watched;
use crate::batches::BatchCounter;
use crate::credentials::Trust;
use crate::disk::folder::{Folder, Parts};
use crate::error::ClusterError;
use crate::leaving::left;
use crate::links::counts::Counts;
use crate::links::handshake::Hello;
use crate::links::listen;
use crate::program::panic_message;
use crate::report::{Report, Reports};

/// Epochs of a process at most: a byte of their number counts them.
const EPOCHS_MAX: u32 = 255;

/// Time in which rank 0 is reached.
const PATIENCE: Duration = Duration::from_secs(35);

/// Time between two looks at what others have to say.
const PAUSE: Duration = Duration::from_millis(20);

/// A machine that runs. It ends when this is dropped.
pub(crate) struct Sending {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// State that the host asks for, and changes.
struct Shared {
    rank: Rank,
    address: SocketAddr,
    trust: Trust,
    /// Where the other machines are, as far as the host has said.
    peers: Mutex<Vec<Option<SocketAddr>>>,
    result: Mutex<Option<(Arc<Manifest>, Parts)>>,
    counts: Arc<Counts>,
    ending: Ending,
}

/// The thread of a machine.
struct Living {
    shared: Arc<Shared>,
    job: Job,
    run: u64,
    machines: usize,
    incarnation: u32,
    reports: Reports,
    entrance: Entrance,
    checkpoints: Checkpoints,
    account: Account,
}

impl Sending {
    /// Starts a machine of a run, of this digest and number of machines, which reports to its host.
    /// A call of its disk has `patience` for its answer, and its input ten times that for the next
    /// of its `batches`; then the machine ends.
    ///
    /// # Errors
    /// When a socket or a thread cannot be had.
    pub(crate) fn start(
        (run, machines, patience): (u64, usize, Duration),
        batches: BatchCounter,
        (at, trust): (SocketAddr, Trust),
        (rank, incarnation): (Rank, u32),
        (folder, job): (Arc<Folder>, Job),
        reports: Reports,
    ) -> Result<Self, ClusterError> {
        let calls = CallsUnderWay::new(batches);
        let checkpoints = Checkpoints::new(folder, run, calls.clone())?;
        let input = watched(job.input.clone(), calls.clone());
        let job = Job { input, ..job };
        let listener = listen(at, &trust)?;
        let me = (run, rank, machines);
        let counts = Arc::new(Counts::default());
        let entrance = Entrance::new(listener, me, trust.clone(), counts.clone());
        let entrance = entrance.map_err(ClusterError::Start)?;
        let account = Account::new(reports.clone(), counts.clone());
        let shared = Arc::new(Shared {
            rank,
            address: entrance.address(),
            trust,
            peers: Mutex::new(vec![None; machines]),
            result: Mutex::default(),
            counts,
            ending: Ending::default(),
        });
        let ending = shared.ending.clone();
        let watch = CallWatch { calls, patience, ending, reports: reports.clone() };
        let living = Living {
            shared: shared.clone(),
            job,
            run,
            machines,
            incarnation,
            reports,
            entrance,
            checkpoints,
            account,
        };
        let thread = Builder::new().name(format!("machine-{rank}"));
        let thread = Some(thread.spawn(move || living.live()).map_err(ClusterError::Start)?);
        let machine = Self { shared, thread };
        watch.start().map_err(ClusterError::Start)?;
        Ok(machine)
    }

    /// Ends it. Whether its thread has ended in this time; else it is left to the end of its
    /// process.
    pub(crate) fn leave(mut self, within: Duration) -> bool {
        self.shared.ending.end_machine();
        left(&mut self.thread, within)
    }

    /// Where it listens for other machines.
    pub(crate) fn address(&self) -> SocketAddr {
        self.shared.address
    }

    /// Sends it the address where another machine listens, from now on.
    ///
    /// # Errors
    /// When peers that are trusted so may not be there.
    pub(crate) fn locate(&self, peer: Rank, address: SocketAddr) -> Result<(), ClusterError> {
        self.shared.trust.check(address)?;
        if let Some(place) = lock(&self.shared.peers).get_mut(peer) {
            *place = Some(address);
        }
        Ok(())
    }

    /// Sends it word that another process of this rank makes its task. All machines come to rank 0,
    /// and this one looks for it where the host will say.
    pub(crate) fn awaits(&self, peer: Rank) {
        let mut peers = lock(&self.shared.peers);
        if peer == 0
            && self.shared.rank != 0
            && let Some(first) = peers.first_mut()
        {
            *first = None;
        }
    }

    /// Numbers of what has happened at its entrance and its lanes.
    pub(crate) fn counts(&self) -> &Arc<Counts> {
        &self.shared.counts
    }

    /// The part of the result that it has.
    ///
    /// # Errors
    /// When it has another one.
    pub(crate) fn vertices(&self, manifest: &Manifest) -> Result<Parts, ClusterError> {
        self.of_result(manifest, Clone::clone)
    }

    /// Chunks of the result that are here.
    pub(crate) fn places(&self, manifest: &Manifest) -> Vec<(u32, u64)> {
        let places = |parts: &Parts| parts.iter().map(|(at, _)| *at).collect();
        self.of_result(manifest, places).unwrap_or_default()
    }

    /// A chunk of the result.
    pub(crate) fn chunk(
        &self,
        manifest: &Manifest,
        place: (u32, u64),
    ) -> Result<Payload, ClusterError> {
        let find = |parts: &Parts| {
            parts.iter().find(|(at, _)| *at == place).map(|(_, payload)| payload.clone())
        };
        let what = || format!("chunk {} of partition {} is not here", place.1, place.0);
        self.of_result(manifest, find)?
            .ok_or_else(|| ClusterError::Result { rank: self.shared.rank, what: what() })
    }

    fn of_result<T>(
        &self,
        manifest: &Manifest,
        take: impl FnOnce(&Parts) -> T,
    ) -> Result<T, ClusterError> {
        let result = lock(&self.shared.result);
        let parts = result.as_ref().filter(|(of, _)| **of == *manifest);
        let lacking = || {
            let what = "it has begun anew".to_owned();
            ClusterError::Result { rank: self.shared.rank, what }
        };
        parts.map(|(_, parts)| take(parts)).ok_or_else(lacking)
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        self.shared.ending.end_machine();
        // The thread catches panics.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Living {
    fn live(self) {
        let rank = self.shared.rank;
        let lived = catch_unwind(AssertUnwindSafe(|| self.epochs()));
        let lived = lived.unwrap_or_else(|panic| Err(Stop::broken(panic_message(&*panic))));
        if let Err(Stop::Failed { why, what }) = lived {
            let what = what.into();
            self.reports.say(Report::Ended(Some(Failure { why, rank, what })));
        }
    }

    /// Goes through epochs until the machine is stopped, or the run cannot continue.
    fn epochs(&self) -> Result<(), Stop> {
        let ending = &self.shared.ending;
        let (mut count, mut losses) = (0, Losses::default());
        while !ending.is_of_machine() {
            count += 1;
            let progress = EpochProgress::default();
            match self.epoch(count, &progress) {
                Err(Stop::Gone(what)) => {
                    let mut counted = losses.count(&progress, Instant::now());
                    if count >= EPOCHS_MAX {
                        counted = Err(format!("{count} epochs were lost"));
                    }
                    let cut = |why: String| format!("{what}; {why}");
                    counted.map_err(|why| Stop::Failed { why: Exit::Cut, what: cut(why) })?;
                    sleep(PAUSE);
                }
                Err(Stop::Over) => sleep(PAUSE),
                ended => ended?,
            }
        }
        Ok(())
    }

    /// An epoch, and the time after it in which all others may still need this machine.
    fn epoch(&self, count: u32, progress: &EpochProgress) -> Result<(), Stop> {
        let Shared { rank, ref trust, ref ending, .. } = *self.shared;
        let ending = ending.of_next_epoch();
        let (mut table, first) = self.table(&ending)?;
        let addresses = self.addresses(first, &ending)?;
        let epoch = Epoch {
            job: &self.job,
            rank,
            machines: self.machines,
            reports: &self.reports,
            trust,
            at: self.shared.address.ip(),
            addresses,
            number: Number { coordinator: self.incarnation, count },
            ending: ending.clone(),
            checkpoints: &self.checkpoints,
            progress,
            account: &self.account,
            edges: Cell::new(0),
        };
        let Finished { manifest, parts } = epoch.run(&mut table)?;
        *lock(&self.shared.result) = Some((manifest.clone(), parts));
        self.account.tell();
        self.reports.say(Report::Finished(manifest));
        while !ending.is_set() {
            table.look()?;
            sleep(PAUSE);
        }
        Ok(())
    }

    /// The barrier of an epoch, and the address of rank 0 where that is another machine.
    fn table(&self, ending: &Ending) -> Result<(Table, Option<IpAddr>), Stop> {
        let Shared { rank, ref trust, ref peers, .. } = *self.shared;
        if rank == 0 {
            return Ok((Table::wait(&self.entrance, self.machines, ending)?, None));
        }
        let hello = Hello { run: self.run, from: rank, incarnation: self.incarnation, to: 0 };
        let first = || lock(peers).first().copied().flatten();
        let (table, first) = come(first, (trust, &hello), (PATIENCE, ending))?;
        Ok((table, Some(first.ip())))
    }

    /// Addresses of all machines.
    fn addresses(&self, first: Option<IpAddr>, ending: &Ending) -> Result<Vec<IpAddr>, Stop> {
        let Shared { rank, address, ref peers, .. } = *self.shared;
        while !ending.is_set() {
            let mut known: Vec<Option<IpAddr>> =
                lock(peers).iter().map(|peer| peer.map(|address| address.ip())).collect();
            known[rank] = Some(address.ip());
            if let (Some(first), Some(place)) = (first, known.first_mut()) {
                *place = Some(first);
            }
            if let Some(all) = known.into_iter().collect() {
                return Ok(all);
            }
            sleep(PAUSE);
        }
        Err(Stop::Over)
    }
}
