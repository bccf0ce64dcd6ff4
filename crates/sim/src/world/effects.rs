//! Effects of machines, carried out: by the disk, the network, the program and the host.

use welter_protocol::ids::{Epoch, Phase};
use welter_protocol::messages::{Envelope, Message};
use welter_protocol::{Effect, Event, Outcome, Rank, Time, Work};

use super::{Happening, Process, World};
use crate::checkers::{Scene, checkpoints};
use crate::describe;
use crate::fault_counts::Kind;
use crate::faults::Stuck;
use crate::network::Arrival;
use crate::schedule::MILLIS;

impl World<'_> {
    pub(super) fn effect(&mut self, at: usize, effect: Effect) {
        let Process { rank, incarnation, disk, .. } = self.processes[at];
        if let Some(trace) = &mut self.trace {
            trace.extend(describe::effect(self.now, rank, incarnation, &effect));
        }
        self.check(at, &effect);
        let now = self.now;
        // A request that is never answered may be done all the same.
        let is_stuck = self.is_stuck(at, &effect);
        if let Some((done, ticket)) = self.disks[disk].ask(now, &effect, &mut self.random) {
            let waits = (!is_stuck).then_some(at);
            return self.put(done, Happening::Disk(waits, disk, ticket));
        }
        let (done, event) = match effect {
            Effect::Send(envelope) => return self.send(envelope),
            Effect::Consult { token } => {
                (now + self.schedule.directory_nanos, Event::Consulted { token })
            }
            Effect::Work { token, epoch, work } => {
                let Some((done, outcome)) = self.work(at, epoch, &work) else { return };
                (done, Event::Done { token, outcome })
            }
            Effect::Suspect(rank) => return self.suspect(rank),
            Effect::Finished(manifest) => {
                self.processes[at].finished = true;
                self.result = Some(manifest);
                return;
            }
            Effect::Exit(failure) => return self.exit(at, failure.why),
            _ => return,
        };
        if !is_stuck {
            self.put(done, Happening::Event(at, Box::new(event)));
        }
    }

    /// Lets the worker of a process work: when that is done, and its outcome; none where it failed.
    fn work(&mut self, at: usize, epoch: Epoch, work: &Work) -> Option<(Time, Outcome)> {
        let Process { rank, disk, .. } = self.processes[at];
        let now = self.now;
        self.worked = self.worked.max(Some(epoch));
        if let Work::Open { step, .. } = work {
            self.processes[at].step = Some((epoch, *step));
            if !matches!(step.phase, Phase::Ingest | Phase::Split) {
                self.iterates.get_or_insert(now);
            }
            let names = self.disks[disk].names();
            self.checkers.opened(at, epoch, names);
        }
        let process = &mut self.processes[at];
        let outcome = match process.worker.work(work) {
            Ok(outcome) => outcome,
            Err(error) => {
                let what = format!("{rank} works: {}: {error}", describe::asked(work));
                self.checkers.note(Err(what));
                return None;
            }
        };
        let step = process.step.filter(|step| step.0 == epoch).map(|step| step.1);
        let (schedule, records) = (self.schedule, process.worker.looked_at());
        let nanos = schedule.job.work_nanos(work, records);
        let mut took = 2000 + nanos.unwrap_or(records * schedule.record_nanos);
        if self.schedule.late_works > 0 && self.random.chance(self.schedule.late_works) {
            took += self.random.below(20 * MILLIS);
        }
        let scene = Scene { now, process: at, rank, epoch, step };
        self.checkers.work(scene, work, &outcome, process.worker.held());
        let core = self.processes[at].cores.iter_mut().min();
        let done = core.map_or(now + took, |core| {
            *core = now.max(*core) + took;
            *core
        });
        Some((done.max(self.input_read(disk, &outcome)), outcome))
    }

    /// When a piece of the input has been read, while it is worked on.
    fn input_read(&mut self, disk: usize, outcome: &Outcome) -> Time {
        match outcome {
            Outcome::Ingested { read, .. } if self.schedule.input_edge_bytes > 0 => {
                let bytes = read * self.schedule.input_edge_bytes;
                self.disks[disk].stream(self.now, bytes, &mut self.random)
            }
            _ => 0,
        }
    }

    /// Shows an effect to the checkers that look at such.
    fn check(&mut self, at: usize, effect: &Effect) {
        let rank = self.processes[at].rank;
        let epoch = self.processes[at].machine.epoch();
        let scene = Scene { now: self.now, process: at, rank, epoch, step: None };
        // A coordinator that was replaced may believe anything.
        let looks = self.current[rank] == Some(at) && checkpoints::looks_at_disks(effect);
        let members = looks.then(|| self.members(epoch));
        let disk_of = |at: &usize| &self.disks[self.processes[*at].disk];
        let disks = members.map(|all| all.iter().map(disk_of).collect::<Vec<_>>());
        self.checkers.effect(scene, effect, disks.as_deref());
    }

    /// The process of each rank in an epoch: the newest one, unless no machine has received that
    /// yet, and the one that it replaces is still a member.
    fn members(&self, epoch: Epoch) -> Vec<usize> {
        let member = |(rank, newest): (Rank, &Option<usize>)| {
            let is_one = |one: &Process| one.rank == rank && one.machine.epoch() == epoch;
            self.processes.iter().rposition(is_one).or(*newest)
        };
        self.current.iter().enumerate().filter_map(member).collect()
    }

    /// Whether the answer that a process will wait for is the one that never comes.
    fn is_stuck(&mut self, at: usize, effect: &Effect) -> bool {
        let of_program = matches!(effect, Effect::Work { .. });
        let of_disk = matches!(
            effect,
            Effect::Read { .. }
                | Effect::Write { .. }
                | Effect::Sync { .. }
                | Effect::Persist { .. }
        );
        let stuck = self.processes[at].stuck.take_if(|stuck| match stuck {
            Stuck::Program => of_program,
            Stuck::Disk => of_disk,
        });
        if stuck.is_some() {
            self.fault_counts.count(Kind::Stuck);
            self.excuses.stalled = true;
        }
        stuck.is_some()
    }

    /// Puts an envelope on its way.
    fn send(&mut self, envelope: Envelope) {
        let bytes = self.bytes(&envelope.message);
        let ends = [envelope.from, envelope.to];
        let [first, second] = self.network.comes(self.now, ends, bytes, &mut self.random);
        let Some(first) = first else { return };
        let machines = self.schedule.config.machines();
        let envelope = match self.network.carried(envelope, machines, &mut self.random) {
            Ok(Some(envelope)) => Box::new(envelope),
            Ok(None) => return,
            Err(failure) => return self.checkers.note(Err(failure)),
        };
        if let Some(second) = second {
            self.put(second, Happening::Switch(envelope.clone(), bytes, 0));
        }
        self.put(first, Happening::Switch(envelope, bytes, 0));
    }

    /// Sends bytes of a message again that were dropped.
    pub(super) fn retransmit(&mut self, envelope: Box<Envelope>, bytes: usize, dropped: u32) {
        let ends = [envelope.from, envelope.to];
        let [first, _] = self.network.comes(self.now, ends, bytes, &mut self.random);
        if let Some(first) = first {
            self.put(first, Happening::Switch(envelope, bytes, dropped));
        }
    }

    /// Bytes of a message on the network.
    fn bytes(&self, message: &Message) -> usize {
        let payload_bytes = message.payload().map_or(0, |payload| payload.len());
        HEAD_BYTES + self.schedule.conditions.unit as usize * payload_bytes
    }

    /// An envelope is at the switch, or what was dropped of it, for all processes that have, or
    /// think they have, its rank.
    pub(super) fn switch(&mut self, envelope: Box<Envelope>, bytes: usize, dropped: u32) {
        let Arrival { at: arrives, lost } = self.network.arrives(self.now, envelope.to, bytes);
        if lost > 0 {
            let again = self.now + self.network.time_out(dropped);
            return self.put(again, Happening::Retransmit(envelope, lost, dropped + 1));
        }
        let mut last = None;
        for place in 0..self.of_rank[envelope.to].len() {
            let at = self.of_rank[envelope.to][place];
            if self.processes[at].alive
                && let Some(at) = last.replace(at)
            {
                let event = Box::new(Event::Message(Envelope::clone(&envelope)));
                self.put(arrives, Happening::Event(at, event));
            }
        }
        if let Some(at) = last {
            self.put(arrives, Happening::Event(at, Box::new(Event::Message(*envelope))));
        }
    }
}

/// Bytes that a message has besides what it carries along.
const HEAD_BYTES: usize = 100;
