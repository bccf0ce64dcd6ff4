//! The host of a cluster: who starts machines, and others in their place.
//!
//! ```text
//! a machine says          the host
//! Suspected(rank)         counts it: a process that lives and is silent is left to `patience`
//! Finished(manifest)      waits for the others, has the result handed out, and stops all
//! Ended, its storage      starts another process of the rank, on the same folder
//! Ended, else             stops all: this is the verdict of the run
//! (it died)               starts another process of the rank
//! ```
//!
//! A rank whose processes end one after another, while the run comes to no later iteration, ends
//! the run after `RESTARTS_MAX` restarts.
//!
//! Words of a process that was replaced are left unheard.
//!
//! **Invariant:** each process of a rank has a larger incarnation than all before it, and no two
//! use one folder at a time. Checked in `Folder::incarnation` and `Folder::open`. **Invariant:**
//! the result is taken only when the newest processes of all ranks have finished with one
//! manifest. Checked in `Seats::finished`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use welter_progress::{Progress, Unit};
use welter_protocol::checkpoint::Manifest;
use welter_protocol::failure::{Exit, Failure};
use welter_protocol::ids::Bytes;
use welter_protocol::{Payload, Rank};

use crate::activity::Activity;
use crate::error::ClusterError;
use crate::live::Live;
use crate::moved::MovedByIteration;
use crate::recoveries::{Recoveries, Recovery};
use crate::report::{Report, Reported};
pub use crate::starter::{Host, Started};
use crate::taking::{ResultPlace, fetched, written};

/// Starts of the machine of a rank after its first, while the run comes to no later iteration.
const RESTARTS_MAX: u32 = 8;

/// Time after which a host that has nothing to report is asked again.
const WAIT: Duration = Duration::from_millis(100);

/// Result of a run.
#[derive(Debug)]
pub struct Finished {
    /// List of all that it consists of.
    pub manifest: Arc<Manifest>,
    /// Decisions of the program at the beginning, and after each iteration. In the place of a word
    /// that was lost with its machine stands the next one.
    pub decided: Vec<Bytes>,
    /// Chunks of vertex sets, by partition and place in it; none where machines wrote the result.
    pub parts: BTreeMap<(u32, u64), Payload>,
    /// Activity of each machine, by rank: of all its processes, as far as was heard of those that
    /// were replaced.
    pub activities: Vec<Activity>,
    /// Number of times that machines were started again.
    pub restarts: u32,
    /// Number of times that a machine was silent for long.
    pub suspicions: u32,
    /// Machines that were lost or silent, with the time until the run came further: 256 at most.
    pub recoveries: Vec<Recovery>,
    /// Seconds from the start of the machines to the first decision, and between two that follow
    /// each other, with the iterations that were done by then. What was done again counts to the
    /// iteration that it belongs to.
    pub iteration_times: Vec<(u32, f64)>,
    /// Bytes that each machine moved, by rank and iteration, as far as was heard of those that were
    /// replaced. What was done again counts once more to its iteration.
    pub moved: Vec<MovedByIteration>,
}

impl Finished {
    /// Vertices in the order of their numbers, as the program stores them.
    pub fn vertices(&self) -> Vec<u8> {
        let bytes = self.parts.values().map(|part| part.len()).sum();
        let mut all = Vec::with_capacity(bytes);
        self.parts.values().for_each(|part| all.extend_from_slice(part));
        all
    }
}

/// The process of a rank, as the host knows it.
#[derive(Debug)]
struct Seat {
    started: Started,
    restarts: u32,
    /// Restarts since the run last came to an iteration that was later than all before.
    restarts_in_a_row: u32,
    /// Activity of the process.
    did: Activity,
    /// Activity of all processes of the rank before it.
    did_before: Activity,
    finished: Option<Arc<Manifest>>,
}

impl Seat {
    /// Activity of all processes of the rank.
    fn activity(&self) -> Activity {
        self.did.with_replaced(&self.did_before)
    }
}

struct Seats<'h> {
    host: &'h mut dyn Host,
    all: Vec<Seat>,
    /// Bytes of all processes of each rank.
    moved: Vec<MovedByIteration>,
    suspicions: u32,
    recoveries: Recoveries,
    /// Decisions of the program, by iterations, and by which process that was said.
    decided: BTreeMap<u32, (u32, Bytes)>,
    began: Instant,
    /// Time when a decision was last received, by iterations.
    decision_times: BTreeMap<u32, Instant>,
    live: Live,
}

/// Runs a cluster of `machines` machines to its end, unless `progress` is cancelled, and has the
/// result handed out. No machine is left then.
///
/// # Errors
/// When machines cannot be started, or end with a verdict.
pub fn run(
    host: &mut dyn Host,
    machines: usize,
    progress: &Progress,
) -> Result<Finished, ClusterError> {
    watched(host, machines, (progress, &Live::default()), &mut ResultPlace::Here)
}

/// As [`run`], with a picture of the run for who looks at it meanwhile, and the result `taken` in
/// either way.
///
/// # Errors
/// As of [`run`].
pub fn watched(
    host: &mut dyn Host,
    machines: usize,
    (progress, live): (&Progress, &Live),
    taken: &mut ResultPlace<'_>,
) -> Result<Finished, ClusterError> {
    live.change(|picture| picture.activities = vec![Activity::default(); machines]);
    let began = Instant::now();
    let mut seats = Seats {
        host,
        all: Vec::new(),
        moved: vec![MovedByIteration::default(); machines],
        suspicions: 0,
        recoveries: Recoveries::new(began),
        decided: BTreeMap::new(),
        began,
        decision_times: BTreeMap::new(),
        live: live.clone(),
    };
    let ended = seats.begin(machines).and_then(|()| seats.live(progress, taken));
    for rank in 0..machines {
        seats.host.stop(rank);
    }
    progress.note(None);
    ended
}

impl Seats<'_> {
    fn begin(&mut self, machines: usize) -> Result<(), ClusterError> {
        for rank in 0..machines {
            let started = self.host.start(rank, 0)?;
            let nothing = Activity::default();
            self.all.push(Seat {
                started,
                restarts: 0,
                restarts_in_a_row: 0,
                did: nothing,
                did_before: nothing,
                finished: None,
            });
        }
        (0..machines).try_for_each(|rank| self.introduce(rank))
    }

    /// Sends the addresses of all others to the process of a rank, and its address to these.
    fn introduce(&mut self, rank: Rank) -> Result<(), ClusterError> {
        for peer in (0..self.all.len()).filter(|&peer| peer != rank) {
            let [mine, other] = [rank, peer].map(|rank| self.all[rank].started.address);
            self.host.locate(rank, peer, other)?;
            self.host.locate(peer, rank, mine)?;
        }
        Ok(())
    }

    fn live(
        &mut self,
        progress: &Progress,
        taken: &mut ResultPlace<'_>,
    ) -> Result<Finished, ClusterError> {
        let phase = progress.phase("iterate", Unit::Iterations, None);
        let mut shown = 0;
        loop {
            if progress.cancelled() {
                return Err(ClusterError::Cancelled);
            }
            if let Some(manifest) = self.finished() {
                match self.hand_out(manifest, taken) {
                    // It died while it was asked: another one finds what it has stored.
                    Err(ClusterError::Silent { rank }) => self.restart(rank, None)?,
                    ended => return ended,
                }
                continue;
            }
            if let Some(reported) = self.host.next(WAIT) {
                let is_new = matches!(reported.report, Report::Did(_) | Report::Decided(..));
                self.receive(reported)?;
                if is_new {
                    let picture = self.live.look();
                    phase.add(picture.iterations.saturating_sub(shown).into());
                    shown = shown.max(picture.iterations);
                    progress.note(picture.line());
                }
            }
        }
    }

    fn receive(
        &mut self,
        Reported { rank, incarnation, report }: Reported,
    ) -> Result<(), ClusterError> {
        if let Report::Decided(iterations, control) = report {
            let now = Instant::now();
            if self.decided.last_key_value().is_none_or(|(&latest, _)| latest < iterations) {
                self.all.iter_mut().for_each(|seat| seat.restarts_in_a_row = 0);
                self.recoveries.advance(iterations, now);
            }
            // The iteration that follows was done before the machines went back, and is done again.
            self.decision_times.retain(|&after, _| after < iterations);
            self.decision_times.insert(iterations, now);
            self.live.change(|picture| picture.iterations = iterations);
            // Also of a process that was replaced: those after it may begin with this.
            let decision = self.decided.entry(iterations).or_insert((incarnation, control.clone()));
            if decision.0 <= incarnation {
                *decision = (incarnation, control);
            }
            return Ok(());
        }
        let seat = &mut self.all[rank];
        if incarnation != seat.started.incarnation {
            // Another process has its rank by now.
            return Ok(());
        }
        match report {
            Report::Suspected(silent) => {
                self.suspicions += 1;
                self.recoveries.notice(silent, false, Instant::now());
                self.live.change(|picture| picture.suspicions += 1);
            }
            Report::Decided(..) => {}
            Report::Did(activity) => {
                seat.did = *activity;
                let of_all = seat.activity();
                self.live.change(|picture| picture.activities[rank] = of_all);
            }
            Report::Moved(all) => {
                let moved = &mut self.moved[rank];
                for (iteration, bytes) in all {
                    moved.add(iteration, bytes);
                }
            }
            Report::Finished(manifest) => seat.finished = Some(manifest),
            Report::Ended(Some(failure)) if !may_return(failure.why) => {
                return Err(ClusterError::Failed(failure));
            }
            Report::Ended(why) => self.restart(rank, why)?,
        }
        Ok(())
    }

    fn restart(&mut self, rank: Rank, why: Option<Failure>) -> Result<(), ClusterError> {
        self.recoveries.notice(rank, true, Instant::now());
        self.host.stop(rank);
        let Seat { started, restarts, restarts_in_a_row: before, .. } = self.all[rank];
        let did_before = self.all[rank].activity();
        if before == RESTARTS_MAX {
            return Err(ClusterError::Restarts { rank, times: before + 1, last: why });
        }
        let started = self.host.start(rank, started.incarnation)?;
        self.live.change(|picture| picture.restarts += 1);
        let (restarts, restarts_in_a_row) = (restarts + 1, before + 1);
        let (did, finished) = (Activity::default(), None);
        self.all[rank] = Seat { started, restarts, restarts_in_a_row, did, did_before, finished };
        // All will say it again, in the epoch that this begins.
        self.all.iter_mut().for_each(|seat| seat.finished = None);
        self.introduce(rank)
    }

    fn iteration_times(&self) -> Vec<(u32, f64)> {
        let ends = self.decision_times.values();
        let begins = std::iter::once(&self.began).chain(self.decision_times.values());
        let took = ends.zip(begins).map(|(end, begin)| (*end - *begin).as_secs_f64());
        self.decision_times.keys().copied().zip(took).collect()
    }

    /// The manifest with which all have finished.
    fn finished(&self) -> Option<Arc<Manifest>> {
        let first = self.all.first()?.finished.as_ref()?;
        let with_it = |seat: &Seat| seat.finished.as_ref() == Some(first);
        self.all.iter().all(with_it).then(|| first.clone())
    }

    fn hand_out(
        &mut self,
        manifest: Arc<Manifest>,
        taken: &mut ResultPlace<'_>,
    ) -> Result<Finished, ClusterError> {
        let machines = self.all.len();
        self.recoveries.advance(manifest.version, Instant::now());
        self.decided.insert(manifest.version, (u32::MAX, manifest.control.clone()));
        let decided =
            |after| self.decided.range(after..).next().map(|(_, (_, control))| control.clone());
        let decided: Vec<Bytes> = (0..=manifest.version).filter_map(decided).collect();
        let parts = match taken {
            ResultPlace::Here => fetched(self.host, machines, &manifest)?,
            ResultPlace::Parts(look) => {
                written(self.host, machines, (&manifest, &decided), &mut **look)?;
                BTreeMap::new()
            }
        };
        let restarts = self.all.iter().map(|seat| seat.restarts).sum();
        let activities = self.all.iter().map(Seat::activity).collect();
        Ok(Finished {
            manifest,
            decided,
            parts,
            activities,
            restarts,
            suspicions: self.suspicions,
            recoveries: self.recoveries.ended().to_vec(),
            iteration_times: self.iteration_times(),
            moved: self.moved.clone(),
        })
    }
}

/// Whether a machine that ends so is started again.
fn may_return(why: Exit) -> bool {
    why == Exit::Storage
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::net::SocketAddr;

    use super::*;
    use crate::live::Picture;

    /// A host of one machine, whose processes report this.
    struct Scripted {
        started: u32,
        reports: VecDeque<(u32, Report)>,
    }

    impl Host for Scripted {
        fn start(&mut self, _: Rank, above: u32) -> Result<Started, ClusterError> {
            assert_eq!(above, self.started);
            self.started += 1;
            let address = SocketAddr::from(([127, 0, 0, 1], 9));
            Ok(Started { incarnation: self.started, address })
        }

        fn locate(&mut self, _: Rank, _: Rank, _: SocketAddr) -> Result<(), ClusterError> {
            Ok(())
        }

        fn next(&mut self, _: Duration) -> Option<Reported> {
            let (incarnation, report) = self.reports.pop_front()?;
            Some(Reported { rank: 0, incarnation, report })
        }

        fn stop(&mut self, _: Rank) {}
    }

    #[test]
    fn a_machine_that_was_replaced_keeps_what_it_did() {
        let did = |read_bytes, resident_bytes_max| {
            let activity = Activity { read_bytes, resident_bytes_max, ..Activity::default() };
            Report::Did(Box::new(activity))
        };
        let (why, what) = (Exit::BadInput, "it ends".into());
        let reports = VecDeque::from([
            (1, did(3, 50)),
            (1, did(5, 60)),
            (1, Report::Ended(None)),
            // Of a process that is not there any more.
            (1, did(900, 900)),
            (2, did(1, 70)),
            (2, Report::Ended(None)),
            (3, did(2, 40)),
            (3, Report::Ended(Some(Failure { why, rank: 0, what }))),
        ]);
        let (live, progress) = (Live::default(), Progress::new());
        let mut host = Scripted { started: 0, reports };
        let ended = watched(&mut host, 1, (&progress, &live), &mut ResultPlace::Here);
        assert!(matches!(ended, Err(ClusterError::Failed(_))), "{ended:?}");
        let Picture { activities, restarts, .. } = live.look();
        let [activity] = activities[..] else { panic!("{activities:?}") };
        assert_eq!((activity.read_bytes, activity.resident_bytes_max, restarts), (8, 70, 2));
    }
}
