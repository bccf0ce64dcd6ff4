//! Proposals, and accumulators on their way, as a computation engine sees them (Chaos, section
//! 5.3).
//!
//! ```text
//! engine i                           master of p
//! propose(p)                 ---->   D, V, H -> accepts?            steal
//! takes p up, streams        <----   yes
//! waits                      <----   collect(p): own part is done   accumulators
//! hands over                 ---->   merges, applies
//! ```

use super::ComputationEngine;
use crate::config::{Handover, Route};
use crate::context::Context;
use crate::counters::Path;
use crate::messages::Message;
use crate::names::{Block, BlockName, Cell, Kind, Payload, Rank, Step};

impl ComputationEngine {
    /// Proposes help with the next foreign partition, or arrives when nobody needs any.
    pub(super) fn propose(&mut self, cx: &mut Context, step: Step) {
        match self.rounds.propose() {
            Some(partition) => {
                let master = cx.config.partitions.master(partition);
                cx.send(master, Message::Propose { step, partition });
            }
            None => self.arrive(cx, step),
        }
    }

    pub(super) fn begin_round(&mut self, cx: &mut Context) {
        let partitions = cx.config.partitions;
        let foreign = (0..partitions.count()).filter(|&p| partitions.master(p) != cx.rank);
        self.rounds.begin(foreign.collect(), &mut cx.random);
    }

    /// Somebody proposes help with a partition of which `remaining` bytes are left.
    pub(crate) fn proposal(
        &mut self,
        cx: &mut Context,
        from: Rank,
        (step, partition): (Step, u32),
        remaining: u64,
    ) {
        let mut accepted = false;
        if self.step() == Some(step) {
            let partitions = cx.config.partitions;
            // On route `fold` a stealer loads the sources of cells, and no values.
            let sets = match cx.config.route {
                Route::Spill => 1,
                Route::Fold => (0..partitions.count()).filter(|&of| self.is_active(of)).count(),
            };
            let bytes = partitions.width() * sets as u64 * cx.config.vertex_bytes;
            if let Some(owned) = self.owned.get_mut(&partition) {
                accepted = owned.propose(cx, from, remaining, bytes);
            }
        } else {
            cx.counters.count(Path::StealTooEarly);
        }
        cx.send(from, Message::Proposed { step, partition, accepted });
    }

    /// A master has answered a proposal.
    pub(crate) fn proposed(&mut self, cx: &mut Context, step: Step, partition: u32, yes: bool) {
        if self.step() != Some(step) {
            return;
        }
        self.rounds.answered();
        if yes {
            self.take_up(cx, partition, true);
        }
        self.advance(cx);
    }

    /// A master asks for accumulators.
    pub(crate) fn collect(&mut self, cx: &mut Context, step: Step, partition: u32) {
        if self.step() == Some(step) {
            self.collected.insert(partition);
            self.advance(cx);
        }
    }

    /// A stealer has handed over.
    pub(crate) fn accumulators(&mut self, cx: &mut Context, partition: u32, payload: Payload) {
        if let Some(owned) = self.owned.get_mut(&partition) {
            owned.received(cx, payload);
        }
        self.advance(cx);
    }

    /// A stealer has stored its accumulators.
    pub(crate) fn parked(&mut self, cx: &mut Context, name: BlockName, engine: Rank) {
        if let Some(owned) = self.owned.get_mut(&name.partition) {
            owned.parked(cx, name, engine);
        }
    }

    pub(super) fn hand_over(
        &mut self,
        cx: &mut Context,
        step: Step,
        partition: u32,
        payload: Payload,
    ) {
        let master = cx.config.partitions.master(partition);
        cx.counters.count(Path::HandedOver);
        if cx.config.handover == Handover::Memory {
            return cx.send(master, Message::Accumulators { step, partition, payload });
        }
        cx.counters.count(Path::Parked);
        let name = cx.name(Kind::Accumulators, step.iteration, Cell::all(partition));
        self.store(cx, Block::of(name, 0, u64::MAX, &payload), payload);
    }
}
