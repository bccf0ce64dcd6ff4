//! Account of a machine that sends: what it has done, of which its host hears while it runs.
//!
//! It is of all epochs of the process, since what is done again has been done.
//!
//! **Invariant:** a host hears of what a machine does twice a second at most, or after a thousand
//! iterations, and of all of it in the end. Checked in `Account::add`. Tested by
//! `a_host_hears_now_and_then_and_in_the_end`.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::position::MachinePosition;
use super::turns::Turn;
use crate::activity::Activity;
use crate::links::counts::Counts;
use crate::moved::MovedAccount;
use crate::report::Reports;

/// Time between two words about what the machine has done, at least.
const TELLING: Duration = Duration::from_millis(500);

/// Account of a machine.
pub(super) struct Account {
    activity: Cell<Activity>,
    /// Its bytes by iterations.
    moved: RefCell<MovedAccount>,
    /// When the host last heard of it.
    told: Cell<Instant>,
    reports: Reports,
    counts: Arc<Counts>,
    /// Nanoseconds of processor time of sender threads, which add theirs.
    sending: Arc<AtomicU64>,
}

impl Account {
    /// The account of a machine that has done nothing yet, with counts of who came and is none.
    pub(super) fn new(reports: Reports, counts: Arc<Counts>) -> Self {
        let (activity, moved, told) =
            (Cell::default(), RefCell::default(), Cell::new(Instant::now()));
        Self { activity, moved, told, reports, counts, sending: Arc::default() }
    }

    /// Counts of who came and is no machine.
    pub(super) fn counts(&self) -> &Arc<Counts> {
        &self.counts
    }

    /// Nanoseconds of processor time of sender threads, to which these add theirs.
    pub(super) fn sending(&self) -> &Arc<AtomicU64> {
        &self.sending
    }

    /// Adds an iteration of this number, of the threads of a machine at this place. The first one
    /// of an epoch has written edges.
    pub(super) fn add(
        &self,
        turns: &[Turn],
        place: MachinePosition,
        (is_first, iteration): (bool, u32),
    ) {
        // All that was counted before is of those before.
        let before = self.activity.get().moved();
        let is_full = self.moved.borrow_mut().turn(iteration, before);
        let mut activity = self.activity.get();
        let threads = turns.len().max(1) as u64;
        for turn in turns {
            let to_others = |sent: &[u64]| -> u64 {
                let others = sent.iter().enumerate();
                let others = others.filter(|(to, _)| to % place.machines != place.rank);
                others.map(|(_, sent)| sent).sum()
            };
            activity.sent += to_others(&turn.sent.messages);
            activity.sent_bytes += to_others(&turn.sent.bytes);
            activity.stood_for += to_others(&turn.sent.updates);
            activity.combined += turn.combined.updates;
            activity.saved += turn.combined.gain / threads;
            turn.count_disk(&mut activity, is_first);
            activity.times.own += turn.times[0] / threads;
            activity.times.idle += turn.times[1] / threads;
            activity.computation += turn.processor;
            activity.accumulation += turn.folded.processor;
        }
        self.activity.set(activity);
        if is_full || self.told.get().elapsed() >= TELLING {
            self.tell();
        }
    }

    /// Reports to the host what the machine has done so far.
    pub(super) fn tell(&self) {
        self.told.set(Instant::now());
        let moves = self.moved.borrow_mut().take(self.activity.get().moved());
        self.reports.say_moves(moves);
        let (strangers, sending) = (self.counts.strangers(), self.sending.load(Ordering::Relaxed));
        self.reports.say_activity(Activity { strangers, sending, ..self.activity.get() });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;
    use crate::links::counts::Counted;
    use crate::moved::Moved;
    use crate::report::{Report, Reported, RequestCounter};
    use crate::send::messages::Sent;

    #[test]
    fn a_host_hears_now_and_then_and_in_the_end() {
        let (host, heard) = channel();
        let objects = RequestCounter::default();
        let reports = Reports { rank: 1, incarnation: 1, host, objects };
        let account = Account::new(reports, Arc::default());
        let place = MachinePosition { rank: 1, machines: 2, sub_ranges: 1, senders: 1 };
        // Three messages to the other machine, and one of its own.
        let sent = Sent { updates: vec![5, 1], messages: vec![3, 1], bytes: vec![36, 12] };
        let turns = [Turn { sent, times: [70, 30], ..Turn::default() }];
        account.add(&turns, place, (true, 0));
        assert!(heard.try_recv().is_err(), "it has just begun");
        let before = account.told.get();
        account.told.set(before.checked_sub(TELLING).unwrap());
        account.add(&turns, place, (false, 1));
        account.add(&turns, place, (false, 2));
        account.counts().count(Counted::Stranger);
        account.sending().fetch_add(40, Ordering::Relaxed);
        account.tell();
        let (mut told, mut moved) = (Vec::new(), Vec::new());
        for Reported { report, .. } in heard.try_iter() {
            match report {
                Report::Did(activity) => told.push(*activity),
                Report::Moved(all) => moved.push(all),
                report => panic!("{report:?}"),
            }
        }
        let sent = |sent| Moved { sent, ..Moved::default() };
        assert_eq!(moved, [vec![(0, sent(36)), (1, sent(36))], vec![(2, sent(36))]]);
        let told: [Activity; 2] = told.try_into().unwrap();
        let figures = told.iter().map(|it| (it.sent, it.sent_bytes, it.stood_for, it.times.own));
        assert_eq!(figures.collect::<Vec<_>>(), [(6, 72, 10, 140), (9, 108, 15, 210)]);
        assert_eq!(told.map(|it| (it.strangers, it.sending)), [(0, 0), (1, 40)]);
    }
}
