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
//!
//! `D` is what is left on its own disk, and what other engines said that they have left when they
//! answered its pulls last; those that have not answered yet are taken to have as much as these do.
//! A master that has asked no machine yet knows its own disk alone, as in the paper.
//!
//! A master that has not begun the step yet knows of no `D`, and holds the proposal until it has: a
//! "no" would end the proposer's rounds for good.
//!
//! **Invariant:** `i` arrives only after each master has answered no to its last proposal, in a
//! step that this master had begun:
//!
//! ```text
//! arrives(i, s)  =>  for all p not of i: the last answer for (i, s, p) is no,
//!                    and was given at or after begins(master(p), s)
//! ```
//!
//! Asserted in `ComputationEngine::arrive`. Tested by `a_proposal_before_the_step_waits_for_it`.

use super::ComputationEngine;
use crate::config::Handover;
use crate::context::Context;
use crate::counters::Path;
use crate::ids::{Block, BlockName, Cell, Kind, Phase, Rank, Step};
use crate::messages::Message;
use crate::payload::Payload;
use crate::rewriting::by_cells;
use crate::steal::{Bias, Remaining};

impl ComputationEngine {
    /// Proposes help with the next foreign partition, or arrives when no master needs any.
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
        let partitions = &cx.config.partitions;
        // Where help is never taken partitions are static, and no machine asks.
        let count = if cx.config.bias == Bias::NEVER { 0 } else { partitions.count() };
        let foreign = (0..count).filter(|&p| partitions.master(p) != cx.rank);
        self.rounds.begin(foreign.collect(), &mut cx.random);
    }

    /// A machine proposes help with a partition of which so much is left here.
    pub(crate) fn proposal(
        &mut self,
        cx: &mut Context,
        from: Rank,
        (step, partition): (Step, u32),
        left: Remaining,
    ) {
        if self.step().is_none_or(|now| now < step) {
            cx.counters.count(Path::StealTooEarly);
            return self.early.push((from, step, partition));
        }
        let mut accepted = false;
        if self.step() == Some(step) {
            let made = self.set_bytes.get(&partition).copied();
            let bytes = copied_bytes(cx, (step.phase, partition), &left, made);
            if let Some(owned) = self.owned.get_mut(&partition) {
                let remaining = owned.remaining(cx, left.bytes);
                accepted = owned.propose(cx, from, remaining, bytes);
            }
        }
        cx.send(from, Message::Proposed { step, partition, accepted });
    }

    /// The proposals that were kept for the step that has begun.
    pub(crate) fn held(&mut self) -> Vec<(Rank, Step, u32)> {
        std::mem::take(&mut self.early)
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

    /// A stealer has found nothing left of a partition of this master.
    pub(crate) fn ended(&mut self, cx: &mut Context, from: Rank, step: Step, partition: u32) {
        if self.step() != Some(step) {
            return;
        }
        let waits = self.waiting.contains(&partition);
        if let Some(owned) = self.owned.get_mut(&partition) {
            owned.ended(cx, from, (step, partition), waits);
        }
    }

    /// A master asks for accumulators.
    pub(crate) fn collect(&mut self, cx: &mut Context, step: Step, partition: u32) {
        if self.step() == Some(step) {
            self.collected.insert(partition);
            self.advance(cx);
        }
    }

    /// A stealer has handed over.
    pub(crate) fn accumulators(
        &mut self,
        cx: &mut Context,
        from: Rank,
        partition: u32,
        payload: Payload,
    ) {
        if let Some(owned) = self.owned.get_mut(&partition) {
            owned.received(cx, from, payload);
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
        if cx.config.handover != Handover::Storage {
            return cx.send(master, Message::Accumulators { step, partition, payload });
        }
        cx.counters.count(Path::Parked);
        let name = cx.name(Kind::Accumulators, step.iteration, Cell::all(partition));
        self.store(cx, Block::of(name, 0, u64::MAX, &payload), payload);
    }
}

/// `V`: bytes that a stealer copies and others would not, with which the time that it saves is
/// compared.
///
/// ```text
/// V = bytes of a vertex * (|partition| + (sources of the cells that are left) / (these cells))
/// ```
///
/// Vertices of programs that carry updates hold more than others, rows of neighbours for instance:
/// there the set of the partition has the bytes that its master made last, where these are more.
///
/// The vertex set of the partition it loads, or hands over as accumulators. Where edges lie by
/// cells it loads the signals of a cell's sources too, those of one cell: cells that are left are
/// begun by one engine or the other, so signals of further ones are not more than without help. (A
/// split of edges looks at no vertex.)
fn copied_bytes(
    cx: &Context,
    (phase, partition): (Phase, u32),
    left: &Remaining,
    made: Option<u64>,
) -> u64 {
    if phase == Phase::Split {
        return 0;
    }
    let range = cx.config.partitions.range(partition);
    // Where other machines alone have cells left, theirs are taken to be as wide as the mean.
    let mean = cx.config.partitions.vertices() / u64::from(cx.config.partitions.count());
    let of_a_cell = left.sources.checked_div(left.cells).unwrap_or(mean);
    let signals = if by_cells(&cx.config, phase) { of_a_cell } else { 0 };
    let held = made.filter(|_| cx.config.carries).unwrap_or(0);
    let set = held.max((range.end - range.start) * cx.config.vertex_bytes);
    set + signals * cx.config.vertex_bytes
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::config::{Config, Edges, Route, of_two};
    use crate::ids::{Bytes, Epoch, Generation};
    use crate::messages::{Begin, Effect, Envelope};

    fn begin(step: Step, active: u64) -> Begin {
        Begin {
            step,
            control: Bytes::from([]),
            made: Epoch::default(),
            generation: Generation::default(),
            rewrites: false,
            edges_only: false,
            active: Arc::from([active; 2]),
            committed: None,
        }
    }

    /// The answers of machine 0, which it forgets.
    fn answers(cx: &mut Context) -> Vec<bool> {
        let answer = |effect| match effect {
            Effect::Send(Envelope { message: Message::Proposed { accepted, .. }, .. }) => {
                Some(accepted)
            }
            _ => None,
        };
        std::mem::take(&mut cx.effects).into_iter().filter_map(answer).collect()
    }

    #[test]
    fn a_proposal_before_the_step_waits_for_it() {
        let mut cx = Context::new(Arc::new(of_two()), 0, 1);
        let mut engine = ComputationEngine::new(&cx);
        let scatter = Step { iteration: 0, phase: Phase::Scatter };
        let gather = Step { iteration: 0, phase: Phase::Gather };
        engine.proposal(&mut cx, 1, (scatter, 0), left(1 << 20, 1));
        assert_eq!(answers(&mut cx), [], "nothing was begun");
        engine.begin(&mut cx, begin(scatter, 1));
        assert_eq!(engine.held(), [(1, scatter, 0)]);
        engine.proposal(&mut cx, 1, (scatter, 0), left(1 << 20, 1));
        assert_eq!(answers(&mut cx), [true], "much is left");
        engine.proposal(&mut cx, 1, (gather, 0), left(1 << 20, 1));
        assert_eq!(answers(&mut cx), [], "another step was begun");
        assert_eq!(engine.held(), [(1, gather, 0)]);
        engine.proposal(&mut cx, 1, (scatter, 0), left(0, 0));
        assert_eq!(answers(&mut cx), [false], "nothing is left");
    }

    /// Bytes that are left, of `cells` cells with 32 sources each.
    fn left(bytes: u64, cells: u64) -> Remaining {
        Remaining { bytes, cells, sources: 32 * cells }
    }

    /// Whether a master accepts help where so much is left on both machines.
    fn accepts(config: Config, phase: Phase, left: Remaining) -> bool {
        let left = Remaining { bytes: left.bytes / 2, ..left };
        let mut cx = Context::new(Arc::new(config), 0, 1);
        let mut engine = ComputationEngine::new(&cx);
        let step = Step { iteration: 0, phase };
        engine.begin(&mut cx, begin(step, 1));
        engine.proposal(&mut cx, 1, (step, 0), left);
        answers(&mut cx) == [true]
    }

    #[test]
    fn help_costs_the_rows_that_vertices_hold() {
        let step = |iteration| Step { iteration, phase: Phase::Gather };
        for (carries, set) in [(false, 32 * 8), (true, 1000)] {
            let takes = |bytes: u64| {
                let mut cx = Context::new(Arc::new(Config { carries, ..of_two() }), 0, 1);
                let mut engine = ComputationEngine::new(&cx);
                let rows = [600, 400].map(|bytes| Payload::from(vec![0_u8; bytes]));
                engine.store_vertices(&mut cx, step(0), 0, rows.to_vec());
                engine.begin(&mut cx, begin(step(1), 1));
                engine.proposal(&mut cx, 1, (step(1), 0), left(bytes / 2, 1));
                answers(&mut cx) == [true]
            };
            assert!(!takes(2 * set) && takes(2 * set + 2), "{set} bytes, carries: {carries}");
        }
    }

    #[test]
    fn help_costs_the_accumulators_and_the_signals_of_a_cell() {
        const SET: u64 = 32 * 8;
        let fold = || Config { route: Route::Fold, ..of_two() };
        let rewrites = || Config { edges: Edges::Rewritten, ..of_two() };
        let cases = [
            (of_two(), Phase::Scatter, 1, 1),
            (of_two(), Phase::Gather, 1, 1),
            (rewrites(), Phase::Scatter, 2, 2),
            (rewrites(), Phase::Gather, 1, 1),
            (fold(), Phase::Fold, 2, 2),
            (fold(), Phase::Fold, 1, 2),
        ];
        for (config, phase, cells, sets) in cases {
            // Of one engine, the paper's criterion is V < D / 2.
            let bound = 2 * sets * SET;
            let takes = |bytes| accepts(config.clone(), phase, left(bytes, cells));
            assert!(!takes(bound) && takes(bound + 2), "{phase:?}, {cells} cells, {sets} sets");
        }
        // Of two cells one has a quarter of the sources.
        let narrow = Remaining { bytes: 1000, cells: 2, sources: 40 };
        assert!(accepts(fold(), Phase::Fold, narrow));
        assert!(!accepts(fold(), Phase::Fold, Remaining { sources: 64, ..narrow }));
    }
}
