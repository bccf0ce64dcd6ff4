//! Threads of a machine in an epoch, as it hears and tells them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread::{Builder, Scope};

use super::ending::Ending;
use super::error::Stop;
use super::seat::LOOK;
use super::table::Table;
use super::turns::{Answer, Order};
use crate::program::panic_message;

/// Ways to the threads and from them.
pub(super) struct Threads {
    pub(super) orders: Vec<Sender<Order>>,
    pub(super) answers: Receiver<Answer>,
}

impl Threads {
    /// Gives an order to each computation thread.
    pub(super) fn tell(&self, order: impl Fn() -> Order) {
        // A thread that has ended has said why.
        self.orders.iter().for_each(|to| drop(to.send(order())));
    }

    /// An answer of each computation thread. Lanes that end are no loss of a machine, since those
    /// of a machine that is done end too; so machines are looked at meanwhile.
    pub(super) fn gather<T>(
        &self,
        (table, ending): (&mut Table, &Ending),
        of: impl Fn(Answer) -> Option<T>,
    ) -> Result<Vec<T>, Stop> {
        let mut answers = Vec::new();
        while answers.len() < self.orders.len() {
            match self.answers.recv_timeout(LOOK) {
                Ok(Answer::Failed(stop)) => return Err(self.worst(stop)),
                Ok(answer) => {
                    let answer = of(answer);
                    answers.push(answer.ok_or_else(|| Stop::broken("another answer"))?);
                }
                Err(RecvTimeoutError::Timeout) if !ending.is_set() => table.look()?,
                Err(_) => return Err(Stop::Over),
            }
        }
        Ok(answers)
    }

    /// Finds out whether a thread has failed, while none has an answer to give.
    ///
    /// # Errors
    /// Failure of a thread.
    pub(super) fn look(&self) -> Result<(), Stop> {
        match self.answers.try_recv() {
            Ok(Answer::Failed(stop)) => Err(self.worst(stop)),
            Ok(_) => Err(Stop::broken("an answer before its question")),
            Err(_) => Ok(()),
        }
    }

    /// The most telling reason, of those that are there in a moment.
    fn worst(&self, stop: Stop) -> Stop {
        let mut worst = stop;
        while let Ok(answer) = self.answers.recv_timeout(LOOK) {
            if let Answer::Failed(stop) = answer {
                worst = worst.or(stop);
            }
        }
        worst
    }
}

/// Starts a thread that says why it ends, where that is no result.
pub(super) fn spawn<'s>(
    scope: &'s Scope<'s, '_>,
    name: &str,
    answers: &Sender<Answer>,
    run: impl FnOnce() -> Result<(), Stop> + Send + 's,
) -> Result<(), Stop> {
    let answers = answers.clone();
    let spawned = Builder::new().name(name.to_owned()).spawn_scoped(scope, move || {
        let run = AssertUnwindSafe(run);
        let ended = catch_unwind(run);
        let ended = ended.unwrap_or_else(|panic| Err(Stop::broken(panic_message(&*panic))));
        if let Err(stop) = ended {
            // A machine that has ended has no use for it.
            let _ = answers.send(Answer::Failed(stop));
        }
    });
    spawned.map(|_| ())?;
    Ok(())
}
