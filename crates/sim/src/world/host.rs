//! The host of a simulated cluster: starts processes and others in their place, and makes faults
//! happen.

use welter_protocol::config::{Copies, Loss};
use welter_protocol::messages::Exit;
use welter_protocol::{Event, Machine, Rank};
use welter_worker::MemoryScratch;

use super::{Happening, Process, World};
use crate::disk::{self, Disk, Full, Slow};
use crate::fault_counts::Kind;
use crate::faults::{FOR_GOOD, Fault};
use crate::network::Cut;
use crate::planted;
use crate::schedule::MILLIS;

impl World<'_> {
    /// The host starts a process; its predecessor may still be alive, and not know.
    pub(super) fn start(&mut self, rank: Rank, replaced: bool) {
        if self.current[rank].is_some_and(|at| self.processes[at].alive) && !replaced {
            return;
        }
        if self.exited.is_some() {
            // A run that has ended is not begun again.
            return;
        }
        self.incarnations[rank] += 1;
        let disk = match self.current[rank] {
            Some(before) if !replaced => self.processes[before].disk,
            None => rank,
            Some(before) => self.empty_disk(rank, before),
        };
        let bug = self.schedule.config.planted;
        self.disks[disk].lies = planted::lies(bug);
        self.disks[disk].trusts = planted::trusts(bug);
        self.disks[disk].overtakes(planted::overtakes(bug));
        let incarnation = self.incarnations[rank];
        let machine = Machine::new(self.schedule.config.clone(), rank, incarnation);
        let cut = planted::cut(&self.schedule.config, self.schedule.cut.clone());
        let mut worker = self.schedule.job.worker(cut, rank, bug);
        let kept = planted::kept_updates(bug, self.schedule.config.kept_updates_max);
        worker.keep_at_most(kept, Box::new(MemoryScratch::default()));
        let at = self.processes.len();
        self.processes.push(Process {
            rank,
            incarnation,
            machine,
            worker,
            disk,
            alive: true,
            paused_until: 0,
            cores: vec![0; self.schedule.cores.max(1)],
            finished: false,
            exited: None,
            stuck: None,
            step: None,
            sender_incarnations: vec![0; self.current.len()],
        });
        self.current[rank] = Some(at);
        self.of_rank[rank].push(at);
        let event = self.disks[disk].start();
        self.step(at, event);
        let first = self.random.below(self.schedule.config.timing.resend / 2);
        self.put(self.now + first, Happening::Tick(at));
    }

    /// A rank begins anew on an empty disk; `before` had the one that is lost.
    fn empty_disk(&mut self, rank: Rank, before: usize) -> usize {
        let config = &self.schedule.config;
        if self.processes[before].alive {
            self.fault_counts.count(Kind::Stranger);
        }
        self.fault_counts.count(Kind::DiskLost);
        if config.machines() > 1 {
            self.fault_counts.count(match config.copies {
                Copies::NONE => Kind::LostWithoutCopies,
                Copies::VERTICES => Kind::LostWithVertices,
                Copies::EDGES => Kind::LostWithEdges,
                Copies::BOTH => Kind::LostWithBoth,
            });
        }
        self.checkers.disk_lost(rank);
        self.disks.push(Disk::new(self.schedule.speeds[rank]));
        self.disks.len() - 1
    }

    /// The host is notified that a rank is silent. A hasty one starts another process, on another
    /// machine, though the first may only be slow.
    pub(super) fn suspect(&mut self, rank: Rank) {
        let alive = self.current[rank].is_some_and(|at| self.processes[at].alive);
        if alive && self.replacements == 0 && self.random.chance(self.schedule.hasty) {
            self.replacements += 1;
            self.excuses.lost |= self.schedule.config.loss == Loss::Refuse;
            self.put(self.now + MILLIS, Happening::Start(rank, true));
        }
    }

    pub(super) fn exit(&mut self, at: usize, why: Exit) {
        let Process { rank, disk, .. } = self.processes[at];
        self.processes[at].alive = false;
        match why {
            Exit::Fenced => {}
            Exit::Storage => {
                self.disks[disk].crash(self.now, &mut self.random);
                let back = self.now + self.random.below(10 * MILLIS);
                self.put(back, Happening::Start(rank, false));
            }
            // One that was replaced, and cannot know, speaks for itself alone.
            _ if self.current[rank] == Some(at) => {
                self.processes[at].exited = Some(why);
                let by = self.now + 4 * self.schedule.config.timing.patience;
                self.exited.get_or_insert((why, by));
            }
            _ => {}
        }
    }

    pub(super) fn fault(&mut self, fault: Fault) {
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{:>10.3} ms      !! {fault:?}", self.now as f64 / 1e6));
        }
        match fault {
            Fault::Crash { rank, back_after, replaced } => {
                if let Some(at) = self.current[rank] {
                    self.count_crash(rank, at);
                    self.processes[at].alive = false;
                    self.processes[at].finished = false;
                    let disk = self.processes[at].disk;
                    self.disks[disk].crash(self.now, &mut self.random);
                }
                if let Some(after) = back_after {
                    self.put(self.now + after, Happening::Start(rank, replaced));
                } else {
                    self.fault_counts.count(Kind::Gone);
                    self.excuses.absent = true;
                }
            }
            Fault::Pause { rank, time } => {
                if let Some(at) = self.current[rank].filter(|&at| self.processes[at].alive) {
                    self.fault_counts.count(Kind::Pause);
                    self.processes[at].paused_until = self.now + time;
                }
            }
            Fault::Stuck { rank, stuck } => {
                if let Some(at) = self.current[rank] {
                    self.processes[at].stuck = Some(stuck);
                }
            }
            Fault::Fails { rank, why } => self.fail(rank, why),
            Fault::Cut { rank, other, both, time } => {
                let until = self.now.saturating_add(time);
                if time == FOR_GOOD {
                    self.fault_counts.count(Kind::CutForGood);
                    self.excuses.cut = true;
                }
                self.network.cuts.push(Cut { from: rank, to: other, both, until });
            }
            Fault::Disk(rank, fault) => {
                if let Some(disk) = self.disk_of(rank) {
                    disk.fault = Some(fault);
                }
                if fault == disk::Fault::Misdirected {
                    self.checkers.disk_harmed();
                }
            }
            Fault::Full { rank, time, ours } => {
                let until = self.now + time;
                if let Some(disk) = self.disk_of(rank) {
                    disk.full = Some(Full { until, ours });
                }
            }
            Fault::Rot(rank) => {
                self.checkers.disk_harmed();
                if let Some(at) = self.current[rank] {
                    self.disks[self.processes[at].disk].rot(&mut self.random);
                }
            }
            Fault::RotManifest(rank) => {
                self.checkers.disk_harmed();
                if let Some(at) = self.current[rank] {
                    self.disks[self.processes[at].disk].rot_manifest(&mut self.random);
                }
            }
            Fault::Slow { rank, times, time } => {
                let until = self.now + time;
                if let Some(disk) = self.disk_of(rank) {
                    disk.slow = Some(Slow { until, times });
                }
            }
        }
    }

    /// A machine learns that it cannot continue.
    fn fail(&mut self, rank: Rank, why: Exit) {
        let Some(at) = self.current[rank] else { return };
        if self.processes[at].alive && !self.processes[at].finished {
            self.fault_counts.count(Kind::Fails);
            self.excuses.fails(why);
            let event = Event::Fail { why, what: "edges.tsv:7: expected an integer".into() };
            self.put(self.now, Happening::Event(at, Box::new(event)));
        }
    }

    fn disk_of(&mut self, rank: Rank) -> Option<&mut Disk> {
        self.current[rank].map(|at| &mut self.disks[self.processes[at].disk])
    }

    fn count_crash(&mut self, rank: Rank, at: usize) {
        if self.processes[at].alive {
            let coordinates = rank == 0;
            let kind = if coordinates { Kind::CoordinatorCrash } else { Kind::Crash };
            self.fault_counts.count(kind);
            if self.is_recovering() {
                self.fault_counts.count(Kind::RecoveryCrash);
            }
        }
    }

    /// Whether an epoch is being begun after one in which there was work: from when its coordinator
    /// summons the first time until its first step.
    fn is_recovering(&self) -> bool {
        self.worked.is_some_and(|worked| worked < self.newest)
    }
}
