//! Who works on a partition, and how accumulators come together (Chaos, section 5.3).
//!
//! ```text
//! master    Open --own part done--> Collecting --all stealers have handed over--> Done
//! stealer   streams --input ended--> waits --master asks--> hands over
//! H = 1 + stealers, as long as the partition is Open
//! ```
//!
//! A stealer keeps its accumulators in memory until the master asks, and does nothing else until
//! then: the wait is short, because all engines on a partition see the end of its input at the same
//! time. Stored accumulators are the alternative that the paper rejects; it is here to be measured.
//!
//! **Invariant:** the accumulators that are applied are those of the master and of every stealer
//! that it accepted, each once. **Invariant:** only the master applies.

use std::collections::VecDeque;

use crate::config::Handover;
use crate::context::Context;
use crate::counters::Path;
use crate::messages::Message;
use crate::names::{BlockName, Payload, Phase, Rank, Step};
use crate::planted::Bug;
use crate::steal::accepts;

/// A partition as its master sees it in one step.
#[derive(Debug, Default)]
pub(crate) struct Owned {
    stealers: Vec<Stealer>,
    stage: Stage,
    /// Stored accumulators that stealers told of.
    parked: Vec<(BlockName, Rank)>,
    /// Accumulators that came and are not merged yet.
    received: VecDeque<Payload>,
}

/// A machine whose help was accepted.
#[derive(Clone, Copy, Debug)]
struct Stealer {
    rank: Rank,
    help: Help,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Help {
    /// It streams, as far as the master knows.
    Streaming,
    /// It has found nothing left to stream.
    Ended,
    /// It was asked for its accumulators.
    Asked,
    /// Its accumulators are here.
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
        let hands_over = step.phase != Phase::Scatter && cx.config.handover == Handover::Memory;
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
        if let Some(stealer) = self.stealers.iter_mut().find(is_missing) {
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

    /// Whether all stealers have handed over, and all is merged.
    pub(crate) fn is_whole(&self) -> bool {
        self.all_handed_over() && self.received.is_empty()
    }

    pub(crate) fn done(&mut self) {
        self.stage = Stage::Done;
    }
}
