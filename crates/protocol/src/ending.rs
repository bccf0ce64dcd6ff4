//! The end of a run before its time: one reason, with which all machines end.
//!
//! A machine fails when its input is malformed, its budget too small, the user has had enough, or a
//! wait is too long. It does nothing more then but to report to the coordinator, until it is
//! answered. The coordinator takes the first failure that it receives as the verdict, and sends it
//! to all machines until all have received it, or patience ends.
//!
//! ```text
//! fails(x) at t       =>  x begins no work after t
//! verdict             =   the first failure that the coordinator hears of, its own included
//! exits(x, why) at t  =>  why = verdict, or x has heard nothing of the coordinator for `patience`
//! ```
//!
//! **Invariant:** every wait is bounded by `patience`: of an answer to a message (each is
//! acknowledged, so a cut between any two machines is seen by the one that sends), of the machine's
//! own disk and its own program ([`Waits`]), and of signs of life ([`crate::membership`]). Checked
//! in `Machine::watch` and `Membership::tick`, and by the simulator in `progress::judge`.

use std::collections::BTreeMap;

use crate::context::Context;
use crate::counters::Path;
use crate::failure::Failure;
use crate::ids::{Rank, Time};
use crate::messages::{Effect, Event, Message};
use crate::planted::Bug;

/// The way from a failure to the exit.
pub(crate) struct Ending {
    failure: Failure,
    since: Time,
    last_sent: Option<Time>,
    /// Machines that have received the verdict; the coordinator's alone.
    acknowledged: Vec<bool>,
}

impl Ending {
    pub(crate) fn new(cx: &mut Context, failure: Failure) -> Self {
        cx.counters.count(Path::Failed);
        let mut acknowledged = vec![false; cx.machines()];
        acknowledged[cx.rank] = true;
        Self { failure, since: cx.now, last_sent: None, acknowledged }
    }

    /// Says it, again and again, until that is answered or patience ends.
    pub(crate) fn tick(&mut self, cx: &mut Context) {
        let timing = cx.config.timing;
        let all_heard = cx.rank == 0 && self.acknowledged.iter().all(|acknowledged| *acknowledged);
        if all_heard || cx.now > self.since + timing.patience || cx.config.has(Bug::EndsAlone) {
            return cx.exit(self.failure.clone());
        }
        if self.last_sent.is_some_and(|last_sent| cx.now < last_sent + timing.resend) {
            return;
        }
        self.last_sent = Some(cx.now);
        if cx.rank != 0 {
            return cx.send_unreliable(0, Message::Fail(self.failure.clone()));
        }
        for rank in (0..self.acknowledged.len()).filter(|&rank| !self.acknowledged[rank]) {
            cx.send_unreliable(rank, Message::Abort(self.failure.clone()));
        }
    }

    /// A machine has received the verdict.
    pub(crate) fn on_verdict_heard(&mut self, cx: &mut Context, from: Rank) {
        self.acknowledged[from] = true;
        self.tick(cx);
    }
}

/// Requests of a machine to its disk and its program, with their times.
#[derive(Default)]
pub(crate) struct Waits(BTreeMap<u64, (Time, &'static str)>);

impl Waits {
    /// An answer has come.
    pub(crate) fn answered(&mut self, event: &Event) {
        match event {
            Event::Read { token, .. }
            | Event::Written { token, .. }
            | Event::Consulted { token }
            | Event::Done { token, .. } => {
                self.0.remove(token);
            }
            Event::Start { .. }
            | Event::Tick
            | Event::Message(_)
            | Event::Awaited(_)
            | Event::Fail { .. } => {}
        }
    }

    /// Something is asked.
    pub(crate) fn asked(&mut self, now: Time, effect: &Effect) {
        let (token, what) = match effect {
            Effect::Read { token, .. } => (token, "its disk has not read a block"),
            Effect::Write { token, .. } => (token, "its disk has not written a block"),
            Effect::Sync { token, .. } => (token, "its disk has not made blocks durable"),
            Effect::Persist { token, .. } => (token, "its disk has not kept a manifest"),
            Effect::Consult { token } => (token, "its directory has not answered"),
            Effect::Work { token, .. } => (token, "its program has not ended a piece of work"),
            _ => return,
        };
        if *token != 0 {
            self.0.insert(*token, (now, what));
        }
    }

    /// Request without an answer for longer than patience allows.
    pub(crate) fn overdue(&self, now: Time, patience: Time) -> Option<&'static str> {
        let mut waits = self.0.values();
        waits.find(|(since, _)| now > since + patience).map(|(_, what)| *what)
    }
}
