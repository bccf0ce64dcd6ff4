//! The world of a schedule: virtual time, processes, their disks, the network between them, and a
//! host that starts others in their place.
//!
//! Events happen in the order of their times, and of those at one time in the order in which they
//! were put into the queue. Nothing else decides anything, so a seed always gives the same run.

mod effects;
mod host;
mod restart;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use welter_protocol::config::Loss;
use welter_protocol::counters::Counters;
use welter_protocol::ids::{Epoch, Step};
use welter_protocol::messages::{Envelope, Exit};
use welter_protocol::random::{Random, mix};
use welter_protocol::times::Times;
use welter_protocol::{Effect, Event, Machine, Rank, Time};

use crate::checkers::endings::Last;
use crate::checkers::fencing::{Outside, Receiver};
use crate::checkers::progress::{End, Excuses, judge};
use crate::checkers::{Checkers, answer, endings, fencing};
use crate::describe;
use crate::disk::Disk;
use crate::fault_counts::FaultCounts;
use crate::faults::{Fault, Stuck};
use crate::job::Worker;
use crate::network::Network;
use crate::planted;
use crate::schedule::{MILLIS, Overrides, Schedule};

/// Event of the world that is about to happen.
enum Happening {
    /// To a process.
    Event(usize, Box<Event>),
    /// To a request to a disk, made by a process that waits for the answer.
    Disk(Option<usize>, usize, u64),
    /// To this number of bytes of a message at the switch, dropped this often before.
    Switch(Box<Envelope>, usize, u32),
    /// To this number of bytes of a message that were dropped, and are sent again.
    Retransmit(Box<Envelope>, usize, u32),
    /// A process looks at its clock.
    Tick(usize),
    /// Something goes wrong.
    Fault(Fault),
    /// The host starts a process.
    Start(Rank, bool),
}

/// A process that runs, or ran.
struct Process {
    rank: Rank,
    incarnation: u32,
    machine: Machine,
    worker: Box<dyn Worker>,
    disk: usize,
    alive: bool,
    paused_until: Time,
    /// When each core is free.
    cores: Vec<Time>,
    finished: bool,
    exited: Option<Exit>,
    /// Something that it asks for next is never answered.
    stuck: Option<Stuck>,
    step: Option<(Epoch, Step)>,
    /// The newest process of each rank that it has received.
    sender_incarnations: Vec<u32>,
}

/// A run of a schedule.
pub struct World<'a> {
    schedule: &'a Schedule,
    now: Time,
    queue: BinaryHeap<Reverse<(Time, u64, usize)>>,
    happenings: Vec<Option<Happening>>,
    free: Vec<usize>,
    put: u64,
    random: Random,
    /// When the power of all machines goes.
    until: Time,
    processes: Vec<Process>,
    /// The newest process of each rank, and all that it had.
    current: Vec<Option<usize>>,
    of_rank: Vec<Vec<usize>>,
    incarnations: Vec<u32>,
    disks: Vec<Disk>,
    network: Network,
    checkers: Checkers,
    excuses: Excuses,
    /// Reason why the first machine ended before its time, and when all must have.
    exited: Option<(Exit, Time)>,
    result: Option<std::sync::Arc<welter_protocol::checkpoint::Manifest>>,
    replacements: u32,
    hash: u64,
    events: u64,
    /// Room for what a machine wants done.
    effects: Vec<Effect>,
    /// Faults that happened, but for those that network and disks count.
    fault_counts: FaultCounts,
    /// The newest epoch that a machine is in, and the one in which there was work last.
    newest: Epoch,
    worked: Option<Epoch>,
    /// When the first partition of an iteration was taken up.
    iterates: Option<Time>,
    /// Paths that processes before the restart of all took.
    counters: Counters,
    trace: Option<Vec<String>>,
}

/// Report of a run.
#[derive(Clone, Debug)]
pub struct Report {
    /// Failure that a checker found.
    pub failure: Option<String>,
    /// End of the run.
    pub end: End,
    /// Whether there was a result, whole, that was compared with the reference.
    pub judged: bool,
    /// Hash of all events, in order.
    pub hash: u64,
    /// Number of events.
    pub events: u64,
    /// Virtual nanoseconds of the run.
    pub time: Time,
    /// Virtual nanoseconds since the first partition of an iteration was taken up.
    pub iterated: Time,
    /// Paths that machines took.
    pub counters: Counters,
    /// Faults that happened.
    pub fault_counts: FaultCounts,
    /// Virtual nanoseconds of the computation engines by activity, one a rank.
    pub times: Vec<Times>,
    /// Nanoseconds that disks were busy, one a rank.
    pub busy: Vec<Time>,
    /// Bytes that disks transferred, one a rank.
    pub bytes: Vec<u64>,
    /// Trace of what happened, if it was wanted.
    pub trace: Vec<String>,
}

/// Runs a seed, and says what is wrong. What panics is wrong too, and must not take the other seeds
/// along.
///
/// # Errors
/// Text of the panic.
pub fn attempt(seed: u64, overrides: &Overrides) -> Result<Report, String> {
    let run = || World::run(&Schedule::of(seed, overrides), false);
    std::panic::catch_unwind(run).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        format!("panicked: {}", text.unwrap_or("without a word"))
    })
}

impl<'a> World<'a> {
    /// Runs a schedule; `traced` remembers what happened.
    pub fn run(schedule: &'a Schedule, traced: bool) -> Report {
        let mut world = Self::new(schedule);
        world.trace = traced.then(Vec::new);
        if let Some(before) = &schedule.before {
            world.inherit(before);
        }
        let end = world.live();
        world.report(end)
    }

    /// Lets all of the schedule happen, from now on.
    fn live(&mut self) -> End {
        let began = self.now;
        for rank in self.schedule.ranks() {
            let at = began + self.random.below(MILLIS / 4);
            self.put(at, Happening::Start(rank, false));
        }
        for (at, fault) in &self.schedule.faults {
            self.put(began + *at, Happening::Fault(*fault));
        }
        let last = self.schedule.faults.iter().map(|fault| fault.0).max().unwrap_or(0);
        self.go_on(began + last + self.schedule.time_max)
    }

    fn new(schedule: &'a Schedule) -> Self {
        let machines = schedule.config.machines();
        let conditions = schedule.conditions;
        let refuses = schedule.config.loss == Loss::Refuse;
        let lost = refuses && schedule.has_bad_disks();
        let rows_bytes = schedule.job.rows_bytes(&schedule.cut);
        Self {
            schedule,
            now: 0,
            queue: BinaryHeap::new(),
            happenings: Vec::new(),
            free: Vec::new(),
            put: 0,
            random: Random::new(mix(schedule.seed) ^ 1),
            until: Time::MAX,
            processes: Vec::new(),
            current: vec![None; machines],
            of_rank: vec![Vec::new(); machines],
            incarnations: vec![0; machines],
            disks: schedule.speeds.iter().map(|&speed| Disk::new(speed)).collect(),
            network: Network::new(conditions, planted::unsummed(schedule.config.planted)),
            checkers: Checkers::new(
                &schedule.config,
                &*schedule.job,
                schedule.cut.chunk_records,
                rows_bytes,
            ),
            excuses: Excuses { lost, ..Excuses::default() },
            exited: None,
            result: None,
            replacements: 0,
            hash: 0,
            events: 0,
            effects: Vec::new(),
            fault_counts: FaultCounts::default(),
            newest: Epoch::default(),
            worked: None,
            iterates: None,
            counters: Counters::default(),
            trace: None,
        }
    }

    /// Whether the input is not to be read again.
    fn refuses(&self) -> bool {
        self.schedule.config.loss == Loss::Refuse
    }

    fn put(&mut self, at: Time, happening: Happening) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.happenings.push(None);
            self.happenings.len() - 1
        });
        let before = self.happenings[slot].replace(happening);
        assert!(before.is_none(), "a free slot has no happening");
        self.put += 1;
        self.queue.push(Reverse((at.max(self.now), self.put, slot)));
    }

    fn go_on(&mut self, until: Time) -> End {
        while let Some(Reverse((at, _, slot))) = self.queue.pop() {
            assert!(at >= self.now, "time does not run back");
            self.now = at;
            self.events += 1;
            self.free.push(slot);
            let happening = self.happenings[slot].take();
            assert!(happening.is_some(), "a slot of the queue has a happening");
            if let Some(happening) = happening {
                self.happen(happening);
            }
            let all =
                |process: &Option<usize>| process.is_some_and(|at| self.processes[at].finished);
            if self.current.iter().all(all) {
                return End::Finished;
            }
            if let Some((why, by)) = self.exited
                && (self.now > by || self.ends().iter().all(|end| *end != Last::Alive))
            {
                return End::Exited(why);
            }
            if self.checkers.failure.is_some()
                || self.events > self.schedule.events_max
                || self.now > until.min(self.until)
            {
                break;
            }
        }
        if let Some((why, _)) = self.exited {
            return End::Exited(why);
        }
        if self.queue.is_empty() && self.excuses.absent {
            // The last one is gone, and no machine is left to say so.
            return End::Exited(Exit::Absent);
        }
        End::Stuck { after: self.now, events: self.events }
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Start(rank, replaced) => self.start(rank, replaced),
            Happening::Fault(fault) => self.fault(fault),
            Happening::Tick(at) if self.processes[at].alive => {
                let next = self.now + self.schedule.config.timing.resend / 2;
                if self.now < self.processes[at].paused_until {
                    let until = self.processes[at].paused_until;
                    return self.put(until, Happening::Tick(at));
                }
                self.put(next, Happening::Tick(at));
                self.step(at, Event::Tick);
            }
            Happening::Switch(envelope, bytes, dropped) => self.switch(envelope, bytes, dropped),
            Happening::Retransmit(envelope, bytes, dropped) => {
                self.retransmit(envelope, bytes, dropped);
            }
            Happening::Disk(at, disk, ticket) => {
                let event = self.disks[disk].done(self.now, ticket, &mut self.random);
                if let (Some(at), Some(event)) = (at, event) {
                    self.happen(Happening::Event(at, Box::new(event)));
                }
            }
            Happening::Event(at, event) if self.processes[at].alive => {
                let until = self.processes[at].paused_until;
                if self.now < until {
                    return self.put(until, Happening::Event(at, event));
                }
                self.step(at, *event);
            }
            Happening::Tick(_) | Happening::Event(..) => {}
        }
    }

    /// Lets something happen to a process, and does what it wants done.
    fn step(&mut self, at: usize, event: Event) {
        let process = &mut self.processes[at];
        self.hash = mix(self.hash ^ self.now ^ (at as u64) << 48 ^ describe::digest(&event));
        if let Some(trace) = &mut self.trace {
            let line = describe::event(self.now, process.rank, process.incarnation, &event);
            trace.extend(line);
        }
        let before = process.machine.epoch();
        let mut effects = std::mem::take(&mut self.effects);
        let envelope = match &event {
            Event::Message(envelope) => Some(Outside::of(envelope)),
            _ => None,
        };
        self.checkers.event(at, &event);
        process.machine.step(self.now, event, &mut effects);
        self.newest = self.newest.max(process.machine.epoch());
        if let Some(outside) = envelope {
            let mut receiver = Receiver {
                coordinates: process.rank == 0,
                incarnation: process.incarnation,
                epoch: before,
                sender_incarnations: &mut process.sender_incarnations,
            };
            self.checkers.note(fencing::delivered(&outside, &mut receiver, &effects));
        }
        for effect in effects.drain(..) {
            self.effect(at, effect);
        }
        self.effects = effects;
        if self.processes[at].machine.epoch() != before {
            self.checkers.entered(at);
        }
    }

    /// End of each machine.
    fn ends(&self) -> Vec<Last> {
        let end = |current: &Option<usize>| match current.map(|at| &self.processes[at]) {
            Some(process) if process.alive && !process.finished => Last::Alive,
            Some(process) => process.exited.map_or(Last::Gone, Last::Exited),
            None => Last::Gone,
        };
        self.current.iter().map(end).collect()
    }

    fn report(mut self, end: End) -> Report {
        if self.checkers.failure.is_none() {
            self.checkers.note(judge(end, self.excuses));
        }
        if let (End::Exited(_), Some(_)) = (end, self.exited) {
            let deaths = |disk: &Disk| disk.fault_counts.any_death();
            let died = self.fault_counts.any_death() || self.disks.iter().any(deaths);
            // A hasty host may have replaced the one that knew why, or one that was to receive it.
            let parted = self.excuses.cut || died || self.replacements > 0;
            self.checkers.note(endings::judge(&self.ends(), parted));
        }
        let mut judged = false;
        if let (End::Finished, Some(manifest)) = (end, &self.result) {
            self.checkers.finished(manifest.committed);
            for process in self.current.iter().flatten().map(|&at| &self.processes[at]) {
                let names = self.disks[process.disk].names();
                self.checkers.left(process.rank, manifest.committed, names);
            }
            let of =
                |current: &Option<usize>| current.map(|at| &self.disks[self.processes[at].disk]);
            let disks: Vec<&Disk> = self.current.iter().filter_map(of).collect();
            let strictly = !self.schedule.has_bad_disks() && self.replacements == 0;
            let (job, cut) = (&*self.schedule.job, &self.schedule.cut);
            let found = answer::check(job, cut, manifest, &disks, strictly);
            judged = found == Ok(true);
            self.checkers.note(found.map(|_| ()));
        }
        let mut counters = self.counters;
        for process in &self.processes {
            counters.add(process.machine.counters());
        }
        let mut fault_counts = self.fault_counts;
        fault_counts.add(&self.network.fault_counts);
        self.disks.iter().for_each(|disk| fault_counts.add(&disk.fault_counts));
        let current = self.current.iter().flatten().map(|&at| &self.processes[at]);
        let times = current.clone().map(|process| process.machine.times(self.now)).collect();
        let busy = current.clone().map(|process| self.disks[process.disk].busy()).collect();
        let bytes = current.map(|process| self.disks[process.disk].bytes()).collect();
        Report {
            failure: self.checkers.failure,
            end,
            judged,
            hash: self.hash,
            events: self.events,
            time: self.now,
            iterated: self.iterates.map_or(0, |began| self.now - began),
            counters,
            fault_counts,
            times,
            busy,
            bytes,
            trace: self.trace.unwrap_or_default(),
        }
    }
}
