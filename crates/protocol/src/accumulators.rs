//! Machines that work on a partition, and how accumulators come together (Chaos, section 5.3).
//!
//! ```text
//! master    Open --own part done--> Collecting --all stealers have handed over--> Done
//! stealer   streams --input ended--> waits --master asks--> hands over
//! H = 1 + stealers, as long as the partition is Open
//!
//! if interrupted:
//! stealer   streams --input ended--> hands over      master    merges between its chunks
//! ```
//!
//! A stealer keeps its accumulators in memory until the master asks, and does nothing else until
//! then: the wait is short, because all engines on a partition see the end of its input at the same
//! time. Stored accumulators, and masters that are interrupted, are the alternatives that the paper
//! rejects; they are here to be measured.
//!
//! **Invariant:** the accumulators that are applied are those of the master and of every stealer
//! that it accepted, each once. Asserted in `Owned::received`; checked in `is_whole`.
//! **Invariant:** only the master applies. Asserted in `ComputationEngine::merge_next`.

use std::collections::{BTreeMap, VecDeque};

use crate::config::Handover;
use crate::context::Context;
use crate::counters::Path;
use crate::ids::{BlockName, Rank, Step};
use crate::messages::Message;
use crate::payload::Payload;
use crate::planted::Bug;
use crate::steal::accepts;

/// A partition as its master sees it in one step.
#[derive(Debug, Default)]
pub(crate) struct Owned {
    stealers: Vec<Stealer>,
    stage: Stage,
    /// Stored accumulators that stealers reported.
    parked: Vec<(BlockName, Rank)>,
    /// Accumulators that came and are not merged yet.
    received: VecDeque<Payload>,
    /// Bytes that were left at other engines when these said so last.
    left: BTreeMap<Rank, u64>,
}

/// A machine whose help was accepted.
#[derive(Clone, Copy, Debug)]
struct Stealer {
    rank: Rank,
    help: Help,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Help {
    /// The stealer streams, as far as the master knows.
    Streaming,
    /// The stealer has found nothing left to stream.
    Ended,
    /// The stealer was asked for its accumulators.
    Asked,
    /// Accumulators of the stealer have arrived at the master.
    HandedOver,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Open,
    Collecting,
    Done,
}

impl Owned {
    /// An engine has said how much of the partition it has left. It never gets more in a step, so
    /// of two answers the one that says less is the later one.
    pub(crate) fn note_bytes(&mut self, engine: Rank, bytes: u64) {
        let left = self.left.entry(engine).or_insert(bytes);
        *left = bytes.min(*left);
    }

    /// `D`: bytes that are left of the partition on all engines, of which `here` on this one. None
    /// once a stealer found nothing: what engines said last may be older, and a machine that helps
    /// whenever something is left would come again and again.
    pub(crate) fn remaining(&self, cx: &Context, here: u64) -> u64 {
        if self.stealers.iter().any(|stealer| stealer.help != Help::Streaming) {
            return 0;
        }
        let own_alone = cx.config.has(Bug::OwnDiskAlone);
        let others = self.left.iter().filter(|(engine, _)| **engine != cx.rank && !own_alone);
        let known = others.map(|(engine, bytes)| (*engine, *bytes)).chain([(cx.rank, here)]);
        cx.config.placement.remaining(known, cx.machines())
    }

    /// Answers a proposal of help. `remaining`: bytes that are left to be read.
    pub(crate) fn propose(
        &mut self,
        cx: &mut Context,
        from: Rank,
        remaining: u64,
        vertex_bytes: u64,
    ) -> bool {
        if self.stage != Stage::Open {
            cx.counters.count(Path::StealTooLate);
            return false;
        }
        let stays = cx.config.has(Bug::StealersStay);
        let at_work = |stealer: &&Stealer| stays || stealer.help == Help::Streaming;
        let engines = 1 + self.stealers.iter().filter(at_work).count() as u32;
        let accepted = accepts(cx.config.bias, vertex_bytes, remaining, engines);
        cx.counters.count(if accepted { Path::StealAccepted } else { Path::StealDeclined });
        if accepted {
            self.stealers.push(Stealer { rank: from, help: Help::Streaming });
        }
        accepted
    }

    /// A stealer has found nothing left to stream. Where the master has not begun the partition
    /// (`waits`), it takes the accumulators now, so that the stealer need not wait for it.
    pub(crate) fn ended(
        &mut self,
        cx: &mut Context,
        from: Rank,
        (step, partition): (Step, u32),
        waits: bool,
    ) {
        let is_streaming =
            |stealer: &&mut Stealer| (stealer.rank, stealer.help) == (from, Help::Streaming);
        let Some(stealer) = self.stealers.iter_mut().find(is_streaming) else { return };
        stealer.help = Help::Ended;
        let hands_over = !step.phase.stores() && cx.config.handover == Handover::Memory;
        if waits && hands_over && !cx.config.has(Bug::StealersStay) {
            cx.counters.count(Path::CollectedBefore);
            stealer.help = Help::Asked;
            cx.send(from, Message::Collect { step, partition });
        }
    }

    /// The master has done its own part.
    pub(crate) fn collect(&mut self, cx: &mut Context, step: Step, partition: u32) {
        self.stage = Stage::Collecting;
        if cx.config.has(Bug::NotCollected) {
            return self.stealers.clear();
        }
        if !self.all_handed_over() {
            cx.counters.count(Path::MasterWaited);
        }
        match cx.config.handover {
            Handover::Memory => {
                for stealer in &mut self.stealers {
                    if matches!(stealer.help, Help::Streaming | Help::Ended) {
                        stealer.help = Help::Asked;
                        cx.send(stealer.rank, Message::Collect { step, partition });
                    }
                }
            }
            // Accumulators of interrupted stealers come unasked.
            Handover::Interrupt => {}
            Handover::Storage => {
                for (name, engine) in std::mem::take(&mut self.parked) {
                    cx.send(engine, Message::Get(name));
                }
            }
        }
    }

    /// A stealer has stored its accumulators.
    pub(crate) fn parked(&mut self, cx: &mut Context, name: BlockName, engine: Rank) {
        match self.stage {
            Stage::Open => self.parked.push((name, engine)),
            _ => cx.send(engine, Message::Get(name)),
        }
    }

    /// Accumulators of a stealer have come.
    pub(crate) fn received(&mut self, cx: &Context, from: Rank, payload: Payload) {
        if cx.config.has(Bug::MergedTwice) {
            self.received.push_back(payload.clone());
        }
        // One that comes again after its accumulators were taken has an entry for each time.
        let is_missing =
            |stealer: &&mut Stealer| stealer.rank == from && stealer.help != Help::HandedOver;
        let stealer = self.stealers.iter_mut().find(is_missing);
        assert!(stealer.is_some() || cx.config.has(Bug::NotCollected), "each hands over once");
        if let Some(stealer) = stealer {
            stealer.help = Help::HandedOver;
        }
        self.received.push_back(payload);
    }

    fn all_handed_over(&self) -> bool {
        self.stealers.iter().all(|stealer| stealer.help == Help::HandedOver)
    }

    /// The next accumulators to merge.
    pub(crate) fn merge(&mut self) -> Option<Payload> {
        self.received.pop_front()
    }

    /// Whether there is something to merge before the master continues.
    pub(crate) fn interrupts(&self, cx: &Context) -> bool {
        cx.config.handover == Handover::Interrupt && !self.received.is_empty()
    }

    /// Whether all stealers have handed over, and all is merged.
    pub(crate) fn is_whole(&self) -> bool {
        self.all_handed_over() && self.received.is_empty()
    }

    pub(crate) fn done(&mut self) {
        self.stage = Stage::Done;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::config::{Config, of_two};
    use crate::ids::Phase;
    use crate::messages::{Effect, Envelope};
    use crate::partitions::Partitions;

    const STEP: Step = Step { iteration: 0, phase: Phase::Gather };

    /// Machines that were asked for accumulators since the last look.
    fn asked(cx: &mut Context) -> Vec<Rank> {
        let asked = |effect| match effect {
            Effect::Send(Envelope { to, message: Message::Collect { .. }, .. }) => Some(to),
            _ => None,
        };
        std::mem::take(&mut cx.effects).into_iter().filter_map(asked).collect()
    }

    #[test]
    fn engines_that_have_ended_are_no_more_at_work() {
        let mut cx = Context::new(Arc::new(of_two()), 0, 1);
        let mut owned = Owned::default();
        // alpha = 1 accepts while V < D / (H (H + 1)): of H = 1, 2 and 3 below 50, 16 and 8.
        assert!(owned.propose(&mut cx, 1, 100, 40));
        assert!(!owned.propose(&mut cx, 1, 100, 40), "two engines are at work");
        owned.ended(&mut cx, 1, (STEP, 0), false);
        assert!(owned.propose(&mut cx, 1, 100, 40), "one is again");
        assert_eq!(asked(&mut cx), [], "the master is at work on the partition itself");
    }

    #[test]
    fn what_is_left_is_what_is_here_and_what_others_said_last() {
        let partitions = Partitions::fitting(4, 64, 8, 1024).expect("eight bytes a vertex fit");
        let cx = Context::new(Arc::new(Config { partitions, ..of_two() }), 0, 1);
        let mut owned = Owned::default();
        assert_eq!(owned.remaining(&cx, 10), 40, "nobody has said anything");
        owned.note_bytes(1, 30);
        assert_eq!(owned.remaining(&cx, 0), 60, "as much on those that have not");
        owned.note_bytes(1, 40);
        assert_eq!(owned.remaining(&cx, 0), 60, "what came late is older");
        owned.note_bytes(0, 99);
        assert_eq!(owned.remaining(&cx, 0), 60, "the own disk is known as it is");
        owned.note_bytes(2, 0);
        owned.note_bytes(3, 6);
        assert_eq!(owned.remaining(&cx, 4), 40, "all have said so");
        let mut cx = cx;
        owned.stealers.push(Stealer { rank: 3, help: Help::Streaming });
        owned.ended(&mut cx, 3, (STEP, 0), false);
        assert_eq!(owned.remaining(&cx, 4), 0, "a stealer found nothing");
    }

    #[test]
    fn stealers_of_a_partition_that_waits_are_collected_when_they_have_ended() {
        for (phase, waits, collected) in [
            (Phase::Gather, true, true),
            (Phase::Fold, true, true),
            (Phase::Gather, false, false),
            (Phase::Scatter, true, false),
        ] {
            let mut cx = Context::new(Arc::new(of_two()), 0, 1);
            let mut owned = Owned::default();
            let step = Step { phase, ..STEP };
            assert!(owned.propose(&mut cx, 1, 100, 0));
            owned.ended(&mut cx, 1, (step, 0), waits);
            let expected: &[Rank] = if collected { &[1] } else { &[] };
            assert_eq!(asked(&mut cx), expected, "{phase:?}, waits: {waits}");
            if phase == Phase::Scatter {
                continue;
            }
            // When the master has done its own part, it asks who was not asked, and waits for all.
            owned.collect(&mut cx, step, 0);
            assert_eq!(asked(&mut cx).is_empty(), collected);
            assert!(!owned.is_whole());
            owned.received(&cx, 1, Payload::from([7]));
            assert!(!owned.is_whole() && owned.merge().is_some() && owned.is_whole());
        }
    }
}
