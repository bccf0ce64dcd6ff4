//! Members of an epoch: signs of life, and leaving it for the next.
//!
//! The host says who fills a rank, and gives each process a larger incarnation than the one before.
//! The coordinator (rank 0) names epochs. A process that has just started, or cannot continue, says
//! hello; the coordinator summons all machines into a new epoch, and each that follows has
//! forgotten all of the old one but what is stored.
//!
//! ```text
//! epoch(x, t)       that machine x is in                                           never goes back
//! newest(x, r, t)   the largest incarnation of rank r that x has heard of          never goes back
//! ```
//!
//! **Invariant:** nothing of an older epoch, of a process that was replaced, or for one that was,
//! takes effect. For a message `m` that comes to `x` at `t`:
//!
//! ```text
//! m takes effect  =>  incarnation(m) >= newest(x, from(m), t)
//!                     for(m) = incarnation(x), or 0, which is any
//!                     epoch(m) = epoch(x, t)             if it is numbered, or joins
//!                     epoch(m) >= epoch(x, t)            if it summons
//!                     any epoch                          if it says why the run ends
//! ```
//!
//! Asserted in `Context::enter`; checked in `Machine::envelope`, and by the simulator in
//! `fencing::delivered`. Tested by `a_roster_never_goes_back`.
//!
//! An answer that gives a sign of life is no effect; nor is that a coordinator learns from whatever
//! a *new* process says that there is one, and begins an epoch. So a machine that was paused or cut
//! off and is thought dead can do no harm when it comes back: it is *fenced*, and ends when it
//! learns that.
//!
//! Chaos needs the storage of all machines, so an epoch begins when all ranks have joined: there is
//! no majority to be asked. What is not there in time ends the run (resumably), since nothing waits
//! without a bound. A host that has started a process in the place of a rank, and waits until it
//! begins, says so ([`Event::Awaited`](crate::messages::Event::Awaited)): the bound is the host's.

use crate::context::Context;
use crate::counters::Path;
use crate::ids::{Rank, Time};
use crate::messages::{Effect, Exit, Message};

/// Knowledge of a machine of the others' lives.
pub(crate) struct Membership {
    last_received: Vec<Time>,
    suspected: Vec<Time>,
    last_sent: Time,
    /// Summoned at least once since this process started.
    pub(crate) joined: bool,
}

impl Membership {
    pub(crate) fn new(machines: usize, now: Time) -> Self {
        let since = vec![now; machines];
        Self { last_received: since.clone(), suspected: since, last_sent: now, joined: false }
    }

    /// A machine lives.
    pub(crate) fn note_contact(&mut self, rank: Rank, now: Time) {
        self.last_received[rank] = now;
    }

    /// Whether the coordinator has been silent for longer than patience allows.
    pub(crate) fn is_alone(&self, cx: &Context) -> bool {
        cx.rank != 0 && cx.now - self.last_received[0] > cx.config.timing.patience
    }

    /// Time has passed: says hello where that is not answered yet, gives signs of life, and watches
    /// those of others.
    pub(crate) fn tick(&mut self, cx: &mut Context) {
        let timing = cx.config.timing;
        if cx.now >= self.last_sent + timing.ping {
            self.last_sent = cx.now;
            if cx.rank == 0 {
                for rank in 1..cx.machines() {
                    cx.send_unreliable(rank, Message::Ping);
                }
            } else if !self.joined || cx.needs_new_epoch {
                cx.send_unreliable(0, Message::Hello { needs_new_epoch: cx.needs_new_epoch });
            } else {
                cx.send_unreliable(0, Message::Pong);
            }
        }
        let watched = if cx.rank == 0 { 1..cx.machines() } else { 0..1 };
        for rank in watched {
            let silent = cx.now - self.last_received[rank];
            if silent > timing.patience {
                let what = format!("machine {rank} has given no sign of life for {}", ms(silent));
                cx.fail(Exit::Absent, what);
            } else if silent > timing.suspect && cx.now > self.suspected[rank] + timing.suspect {
                self.suspected[rank] = cx.now;
                cx.counters.count(Path::Suspected);
                cx.effects.push(Effect::Suspect(rank));
            }
        }
    }
}

/// A time in words.
fn ms(time: Time) -> String {
    format!("{} ms", time / 1_000_000)
}
