//! The loop of a machine: events in, one at a time; effects out, to those who do them.
//!
//! ```text
//! links, disk, program --event--> Machine::step --effect--> links, disk, program, host
//! ```
//!
//! **Invariant:** the loop waits for nothing but the next event or tick: messages wait in queues
//! that drop what has no room, and requests to the disk and the program in those that the protocol
//! bounds (one piece of work, or as many chunks as are streamed at a time, and the window of
//! stores). So a caller that hands it an event may wait.
//! Tested by `a_hostile_peer_changes_nothing_and_is_counted`.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread::{park_timeout, sleep};
use std::time::Duration;

use welter_protocol::config::Timing;
use welter_protocol::failure::Failure;
use welter_protocol::ids::{Phase, Step};
use welter_protocol::{Effect, Event, Machine, Outcome, Time, Work};

use crate::activity::Activity;
use crate::clock::Clock;
use crate::disk::Disk;
use crate::links::Links;
use crate::moved::MovedAccount;
use crate::program::Program;
use crate::report::{Report, Reports};

/// Time in which the last words of a machine leave it.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Time between two looks of a machine that has not begun at whether it was stopped.
const LOOK: Duration = Duration::from_millis(20);

/// Nanoseconds between two words about what the machine has done.
const REPORT_INTERVAL: Time = 500_000_000;

/// A machine with all that it needs.
pub(crate) struct Driver {
    pub(crate) machine: Machine,
    pub(crate) clock: Clock,
    /// Nanoseconds between two ticks.
    pub(crate) tick: Time,
    pub(crate) disk: Disk,
    pub(crate) program: Program,
    pub(crate) links: Arc<Links>,
    pub(crate) reports: Reports,
    /// Whether it knows where all others listen, and may miss one.
    pub(crate) has_begun: Arc<AtomicBool>,
    pub(crate) is_stopped: Arc<AtomicBool>,
    /// The decision that was last asked for: its token, and after how many iterations it is.
    pub(crate) deciding: (u64, u32),
    /// Account of the disk and the links until now.
    pub(crate) activity: Activity,
    /// Its bytes by iterations.
    pub(crate) moved: MovedAccount,
}

/// Number of the iteration that a step is of: 0 of the beginning.
fn iteration_of(Step { iteration, phase }: Step) -> u32 {
    match (phase, iteration) {
        (Phase::Ingest, _) | (Phase::Split, 0) => 0,
        _ => iteration.saturating_add(1),
    }
}

/// Nanoseconds between two ticks of machines of this timing.
pub(crate) fn tick(timing: &Timing) -> Time {
    (timing.ping.min(timing.resend) / 2).max(1)
}

impl Driver {
    /// Lets the machine live until it exits or is stopped.
    pub(crate) fn run(mut self, start: Event, events: Receiver<Event>) {
        while !self.has_begun.load(Ordering::Acquire) && !self.is_stopped.load(Ordering::Relaxed) {
            park_timeout(LOOK);
        }
        // Time before it began is none of its life.
        self.clock = Clock::new();
        let mut effects = Vec::new();
        let mut next_tick = self.clock.now() + self.tick;
        let mut next_word = next_tick;
        let mut soon = VecDeque::from([start]);
        while !self.is_stopped.load(Ordering::Relaxed) {
            let event = match soon.pop_front() {
                Some(event) => event,
                None if self.clock.now() >= next_tick => {
                    next_tick = self.clock.now() + self.tick;
                    if self.clock.now() >= next_word {
                        next_word = self.clock.now() + REPORT_INTERVAL;
                        self.report_activity();
                    }
                    Event::Tick
                }
                None => match events.recv_timeout(self.clock.until(next_tick)) {
                    Ok(event) => event,
                    Err(RecvTimeoutError::Timeout) => continue,
                    // All who could send anything are gone.
                    Err(RecvTimeoutError::Disconnected) => return,
                },
            };
            self.look_at(&event);
            self.machine.step(self.clock.now(), event, &mut effects);
            self.turn();
            for effect in effects.drain(..) {
                if let Some(failure) = self.effect(effect, &mut soon) {
                    self.end(failure);
                    // Threads that wait to hand on an event end when the channel does.
                    return drop(events);
                }
            }
        }
        drop(events);
    }

    /// Counts what an event says, and reports to the host what the program decided.
    fn look_at(&mut self, event: &Event) {
        self.activity.look_at_event(event);
        let Event::Done { token, outcome: Outcome::Decided { control, .. } } = event else {
            return;
        };
        let (asked, iterations) = self.deciding;
        if *token == asked {
            self.reports.say(Report::Decided(iterations, control.clone()));
        }
    }

    /// Counts what was moved until now to the iteration that the machine has left, if it has left
    /// one.
    fn turn(&mut self) {
        let Some(step) = self.machine.at_work() else { return };
        if self.moved.turn(iteration_of(step), self.activity.moved()) {
            self.report_activity();
        }
    }

    /// Reports to the host what the machine has done so far.
    fn report_activity(&mut self) {
        let (times, counters) = (self.machine.times(self.clock.now()), self.machine.counters());
        let strangers = self.links.counts().strangers();
        let activity = Activity { strangers, ..self.activity.with(times, counters) };
        self.reports.say_moves(self.moved.take(activity.moved()));
        self.reports.say_activity(activity);
    }

    /// Has an effect done. The failure with which the machine exits, if that was it.
    fn effect(&mut self, effect: Effect, soon: &mut VecDeque<Event>) -> Option<Failure> {
        self.activity.look_at_effect(&effect);
        match self.disk.ask(effect)? {
            Effect::Send(envelope) => self.links.send(envelope),
            Effect::Work { token, work, .. } => {
                if let Work::Decide { iterations, .. } = &work {
                    self.deciding = (token, *iterations);
                }
                self.program.ask(token, work);
            }
            Effect::Consult { token } => soon.push_back(Event::Consulted { token }),
            Effect::Suspect(rank) => self.reports.say(Report::Suspected(rank)),
            Effect::Finished(manifest) => {
                self.report_activity();
                self.reports.say(Report::Finished(manifest));
            }
            Effect::Exit(failure) => return Some(failure),
            // The disk took them.
            Effect::Read { .. }
            | Effect::Write { .. }
            | Effect::Sync { .. }
            | Effect::Persist { .. }
            | Effect::Forget(_)
            | Effect::Delete(_) => {}
        }
        None
    }

    /// Lets the last words leave, and says why this was the end.
    fn end(&self, failure: Failure) {
        let until = self.clock.now() + LAST_WORDS.as_nanos() as Time;
        while self.links.is_sending() && self.clock.now() < until {
            sleep(Duration::from_millis(1));
        }
        let what = match self.disk.trouble() {
            Some(trouble) => format!("{}: {trouble}", failure.what).into(),
            None => failure.what,
        };
        self.reports.say(Report::Ended(Some(Failure { what, ..failure })));
    }
}
