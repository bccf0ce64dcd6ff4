//! The scale model of route `send`: an iteration of messages through threads of three roles and the
//! links between machines, in virtual time.
//!
//! ```text
//! worker ── ring ──> sender ──> link out ── latency ──> link in ──> accumulator
//!    ^                                                                   |
//!    └──────────── the bucket is free again (an acknowledgement) ────────┘
//! ```
//!
//! Each station serves buckets in the order in which they come, one at a time. A worker that has no
//! free bucket for its next destination waits. Buckets to sub-ranges of the same machine pass no
//! sender and no link. Without senders a worker sends its buckets itself.
//!
//! Costs are nanoseconds of one thread for a message, from measurements ([`super::measured`]), and
//! a thread has a core of its own. Bytes on a link are those of the message and its part of the
//! heads of a datagram. Destinations are even: skew is in [`Traffic::most`], the share of the
//! fullest machine by that of the mean.
//!
//! **Invariant:** each bucket that was filled is folded once. Checked in `Run::ended`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Bytes of a segment of a bucket, as it is sent in a datagram.
const SEGMENT_BYTES: f64 = 1408.0;

/// Head of a segment.
const SEGMENT_HEAD_BYTES: f64 = 16.0;

/// Heads of Ethernet, IP and UDP, the check sum of a frame, its preamble and the gap after it.
const FRAME_BYTES: f64 = 42.0 + 24.0;

/// Nanoseconds until a frame begins to arrive, and an acknowledgement too.
const LATENCY: u64 = 25_000;

/// Nanoseconds of an iteration without messages: there and back.
const EMPTY: u64 = 2 * LATENCY;

/// Buckets that a ring has.
const RING: u32 = 2;

/// Buckets of a ring in an iteration: real ones are smaller and more.
const BUCKETS: u32 = 4;

/// Threads of a machine by role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Roles {
    /// Apply, scatter, and write messages.
    pub workers: u32,
    /// Hand full buckets to the network. None: workers do so.
    pub senders: u32,
    /// Fold messages.
    pub accumulators: u32,
}

impl Roles {
    /// Threads that suffice for 40 Gb/s in the paper.
    pub const PAPER: Self = Self { workers: 6, senders: 4, accumulators: 6 };
}

/// Nanoseconds of a thread for a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// Of a worker.
    pub generate: f64,
    /// Of a sender.
    pub send: f64,
    /// Of an accumulator.
    pub fold: f64,
}

/// Machines and what is between them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machines {
    /// Number of machines.
    pub count: u32,
    /// Threads of a machine.
    pub roles: Roles,
    /// Costs of a message to these threads, in nanoseconds.
    pub costs: Costs,
    /// Gigabits a second of a link, in each direction.
    pub gigabits: f64,
}

/// Messages of an iteration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Traffic {
    /// Of all machines.
    pub messages: f64,
    /// Bytes of one.
    pub message_bytes: f64,
    /// Messages to the fullest machine, as a multiple of the mean.
    pub most: f64,
}

/// Outcome of an iteration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IterationFigures {
    /// Seconds.
    pub seconds: f64,
    /// Share of it in which links sent, on average.
    pub link: f64,
    /// Share of it in which workers, senders and accumulators were busy, on average.
    pub busy: [f64; 3],
}

impl IterationFigures {
    /// Seconds of an iteration that has this share of the messages: all but latency is in
    /// proportion to them.
    pub fn of_share(&self, share: f64) -> f64 {
        let empty = EMPTY as f64 / 1e9;
        if share == 0.0 { 0.0 } else { empty + share * (self.seconds - empty) }
    }
}

/// Stations of a bucket, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Station {
    /// The bucket is filled: to its sender, or at home to its accumulator.
    Filled,
    Out,
    In,
    Arrived,
    /// The ring of the bucket has it again.
    Free,
}

/// A bucket at a station: machine and worker it comes from, machine and accumulator it goes to.
type Event = (u64, u64, Station, [u32; 4]);

/// A thread that makes messages.
#[derive(Clone, Default)]
struct Worker {
    /// Buckets that were filled.
    filled: u32,
    free_at: u64,
    /// Whether it waits for a bucket of its next destination.
    waits: bool,
    /// Buckets under way, by destination.
    under_way: Vec<u32>,
}

/// State of an iteration.
struct Run {
    machines: Machines,
    workers: Vec<Worker>,
    senders: Vec<u64>,
    out: Vec<u64>,
    into: Vec<u64>,
    accumulators: Vec<u64>,
    /// Nanoseconds of work by role, and of links.
    busy: [u64; 4],
    events: BinaryHeap<Reverse<Event>>,
    /// Events with the same time keep their order.
    number: u64,
    folded: u64,
    /// Messages of a bucket to a machine.
    of_machine: Vec<f64>,
    frame_bytes: f64,
    now: u64,
}

impl Machines {
    /// An iteration of such messages.
    ///
    /// # Panics
    /// When a bucket is lost on the way: the figures would be of another route.
    pub fn pass(self, traffic: Traffic) -> IterationFigures {
        let mut run = Run::new(self, traffic);
        for worker in 0..run.workers.len() as u32 {
            run.fill(worker / self.roles.workers, worker % self.roles.workers, 0);
        }
        while let Some(Reverse((at, _, station, bucket))) = run.events.pop() {
            run.now = at;
            run.step(at, station, bucket);
        }
        run.ended()
    }

    /// Bytes that a message takes on a link.
    pub fn link_bytes(message_bytes: f64) -> f64 {
        let messages = ((SEGMENT_BYTES - SEGMENT_HEAD_BYTES) / message_bytes).floor().max(1.0);
        (SEGMENT_BYTES + FRAME_BYTES) / messages
    }
}

/// Begins at a station that may be busy, and takes so long: when it ends.
fn serve(station: &mut u64, at: u64, nanos: f64) -> u64 {
    *station = (*station).max(at) + nanos as u64;
    *station
}

impl Run {
    fn new(machines: Machines, traffic: Traffic) -> Self {
        let Machines { count, roles, .. } = machines;
        let destinations = count * roles.accumulators;
        // Messages of the fullest machine, and the rest evenly.
        let even = traffic.messages / f64::from(count);
        let others = f64::from(count - 1).max(1.0);
        let rest = if count > 1 { (f64::from(count) - traffic.most) / others } else { 1.0 };
        let threads = f64::from(count * roles.workers * roles.accumulators * BUCKETS);
        let of = |machine| even * if machine == 0 && count > 1 { traffic.most } else { rest };
        let worker = Worker { under_way: vec![0; destinations as usize], ..Worker::default() };
        let each = |threads: u32| vec![0; (count * threads) as usize];
        Self {
            machines,
            workers: vec![worker; (count * roles.workers) as usize],
            senders: each(roles.senders),
            out: each(1),
            into: each(1),
            accumulators: each(roles.accumulators),
            busy: [0; 4],
            events: BinaryHeap::new(),
            number: 0,
            folded: 0,
            of_machine: (0..count).map(|machine| of(machine) / threads).collect(),
            frame_bytes: Machines::link_bytes(traffic.message_bytes),
            now: 0,
        }
    }

    fn later(&mut self, at: u64, station: Station, bucket: [u32; 4]) {
        self.number += 1;
        self.events.push(Reverse((at, self.number, station, bucket)));
    }

    /// A worker fills its next bucket, if its ring has one. Each begins with another destination.
    fn fill(&mut self, machine: u32, worker: u32, at: u64) {
        let Machines { count, roles, costs, .. } = self.machines;
        let place = machine * roles.workers + worker;
        let destinations = count * roles.accumulators;
        let this = &mut self.workers[place as usize];
        if this.filled == destinations * BUCKETS {
            return;
        }
        let to = (place + this.filled) % destinations;
        if this.under_way[to as usize] == RING {
            this.waits = true;
            return;
        }
        this.under_way[to as usize] += 1;
        this.filled += 1;
        this.waits = false;
        let (target, accumulator) = (to % count, to / count);
        let messages = self.of_machine[target as usize];
        let own = roles.senders == 0 && target != machine;
        let nanos = messages * (costs.generate + if own { costs.send } else { 0.0 });
        let end = serve(&mut this.free_at, at, nanos);
        self.busy[0] += nanos as u64;
        self.later(end, Station::Filled, [machine, worker, target, accumulator]);
    }

    fn step(&mut self, at: u64, station: Station, bucket: [u32; 4]) {
        let [machine, worker, target, accumulator] = bucket;
        let Machines { roles, costs, gigabits, count } = self.machines;
        let messages = self.of_machine[target as usize];
        let wire = messages * self.frame_bytes * 8.0 / gigabits;
        match station {
            Station::Filled => {
                let mut next = (at, Station::Out);
                if target == machine {
                    next.1 = Station::Arrived;
                } else if roles.senders > 0 {
                    // A sender serves the rings of several workers.
                    let sender = machine * roles.senders + worker % roles.senders;
                    let nanos = messages * costs.send;
                    next.0 = serve(&mut self.senders[sender as usize], at, nanos);
                    self.busy[1] += nanos as u64;
                }
                self.later(next.0, next.1, bucket);
                self.fill(machine, worker, at);
            }
            Station::Out => {
                let sent = serve(&mut self.out[machine as usize], at, wire);
                self.busy[3] += wire as u64;
                // A switch passes frames on as they come.
                self.later(sent - wire as u64 + LATENCY, Station::In, bucket);
            }
            Station::In => {
                let come = serve(&mut self.into[target as usize], at, wire);
                self.later(come, Station::Arrived, bucket);
            }
            Station::Arrived => {
                let of = target * roles.accumulators + accumulator;
                let nanos = messages * costs.fold;
                let folded = serve(&mut self.accumulators[of as usize], at, nanos);
                self.busy[2] += nanos as u64;
                let back = if target == machine { 0 } else { LATENCY };
                self.later(folded + back, Station::Free, bucket);
            }
            Station::Free => {
                self.folded += 1;
                let place = (machine * roles.workers + worker) as usize;
                let to = (accumulator * count + target) as usize;
                self.workers[place].under_way[to] -= 1;
                if self.workers[place].waits {
                    self.fill(machine, worker, at);
                }
            }
        }
    }

    fn ended(self) -> IterationFigures {
        let Machines { count, roles, .. } = self.machines;
        let buckets = count * roles.workers * count * roles.accumulators * BUCKETS;
        assert_eq!(self.folded, u64::from(buckets), "buckets of the scale model");
        let share = |busy: u64, of: u32| busy as f64 / (self.now as f64 * f64::from(of.max(1)));
        let [workers, senders, accumulators, links] = self.busy;
        IterationFigures {
            seconds: self.now as f64 / 1e9,
            link: share(links, count),
            busy: [
                share(workers, count * roles.workers),
                share(senders, count * roles.senders),
                share(accumulators, count * roles.accumulators),
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHEAP: Costs = Costs { generate: 0.001, send: 0.001, fold: 0.001 };
    const TRAFFIC: Traffic = Traffic { messages: 1e9, message_bytes: 12.0, most: 1.0 };

    fn pass(costs: Costs, gigabits: f64, count: u32) -> IterationFigures {
        Machines { count, roles: Roles::PAPER, costs, gigabits }.pass(TRAFFIC)
    }

    #[test]
    fn what_is_slowest_takes_all_the_time() {
        // 7/8 of the messages of a machine leave it.
        let bytes = 7.0 / 8.0 * 1e9 / 8.0 * Machines::link_bytes(12.0);
        let passed = pass(CHEAP, 10.0, 8);
        let least = bytes * 8.0 / 10e9;
        assert!((least..1.04 * least).contains(&passed.seconds), "{least} {passed:?}");
        assert!(passed.link > 0.96, "{passed:?}");
        for role in 0..3 {
            let mut costs = [0.001; 3];
            costs[role] = 100.0;
            let [generate, send, fold] = costs;
            let passed = pass(Costs { generate, send, fold }, 1000.0, 8);
            let threads = [6.0, 4.0, 6.0][role];
            let messages = if role == 1 { 7.0 / 8.0 } else { 1.0 };
            // Six workers on four senders: two of these serve two each.
            let uneven = if role == 1 { 8.0 / 6.0 } else { 1.0 };
            let least = uneven * messages * 1e9 / 8.0 * 100e-9 / threads;
            let found = passed.seconds / least;
            assert!((0.99..1.1).contains(&found), "role {role}: {found} {passed:?}");
        }
    }

    #[test]
    fn one_machine_has_no_link_and_a_full_machine_holds_up_all() {
        let one = pass(CHEAP, 1.0, 1);
        assert_eq!((one.link, one.busy[1]), (0.0, 0.0));
        let machines = Machines { count: 8, roles: Roles::PAPER, costs: CHEAP, gigabits: 10.0 };
        let even = machines.pass(TRAFFIC).seconds;
        let full = machines.pass(Traffic { most: 2.0, ..TRAFFIC }).seconds;
        assert!((1.8..2.1).contains(&(full / even)), "{full} {even}");
        let whole = machines.pass(TRAFFIC);
        for share in [0.5, 0.01] {
            let messages = share * TRAFFIC.messages;
            let found = machines.pass(Traffic { messages, ..TRAFFIC }).seconds;
            assert!((found / whole.of_share(share) - 1.0).abs() < 0.02, "{found} {whole:?}");
        }
    }
}
