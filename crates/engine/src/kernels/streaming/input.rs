//! The kernel of a stream program over the input.

use welter_model::stream::{Edge, OverInput, StepStats};

use super::Streaming;
use crate::kernels::bits::BitsPart;
use crate::kernels::kernel::BUFFER;
use crate::kernels::pairs::{PairRun, filter_pairs};
use crate::kernels::seam::elements_mut;
use crate::kernels::stream::{InputKernel, ShownCounts};
use crate::kernels::vertices::Vertices;
use crate::machine::dispatch::dispatched;

impl<S: OverInput> Streaming<'_, S> {
    #[inline(always)]
    fn show_pairs(&self, run: PairRun<'_>, found: &mut [u32; BUFFER]) -> ShownCounts {
        let (program, step, view) = (self.program, self.own_step(), self.view());
        let weights = run.weights.filter(|_| S::WEIGHTED);
        let is_candidate = |source: &S::VertexState, target: &S::VertexState| {
            program.is_candidate(step, source, target)
        };
        let found = filter_pairs(view.states, (run.bits, true), run.pairs, found, is_candidate);
        let mut shown = ShownCounts { candidates: found.len() as u64, changes: 0 };
        for &place in found {
            let [source, target] = run.pairs[place as usize];
            let weight = weights.map_or(1.0, |weights| weights[place as usize]);
            let changes = program.edge(step, view, Edge { source, target, weight });
            shown.changes += u64::from(changes);
            // A target that no edge can change any more loses its bit, so that its states are left.
            if let Some((bits, _)) = run.bits.filter(|_| changes)
                && let [_, false] = program.bits(step, &view.states[target as usize])
            {
                bits.done(target);
            }
        }
        shown
    }
}

impl<S: OverInput> InputKernel for Streaming<'_, S> {
    fn keeps(&self) -> bool {
        S::RETAINS
    }

    fn has_bits(&self) -> bool {
        S::BITS
    }

    fn ask(&self, first: usize, bits: &mut BitsPart<'_>) -> u64 {
        let (program, step) = (self.program, self.own_step());
        bits.ask(&self.states[first..], |state| program.bits(step, state))
    }

    fn show_run(&self, run: PairRun<'_>, found: &mut [u32; BUFFER]) -> ShownCounts {
        dispatched(
            #[inline(always)]
            || self.show_pairs(run, found),
        )
    }

    fn find_candidates(&self, run: PairRun<'_>, found: &mut [u32; BUFFER]) -> usize {
        let (program, step, states) = (self.program, self.own_step(), &self.states[..]);
        let is_candidate = |source: &S::VertexState, target: &S::VertexState| {
            program.is_candidate(step, source, target)
        };
        dispatched(
            #[inline(always)]
            || filter_pairs(states, (run.bits, true), run.pairs, found, is_candidate).len(),
        )
    }

    fn find_later(&self, run: PairRun<'_>, found: &mut [u32; BUFFER]) -> usize {
        let (program, step, states) = (self.program, self.own_step(), &self.states[..]);
        let later =
            |source: &S::VertexState, target: &S::VertexState| program.later(step, source, target);
        dispatched(
            #[inline(always)]
            || filter_pairs(states, (run.bits, false), run.pairs, found, later).len(),
        )
    }

    fn should_fall_back(&self, stats: &StepStats<()>) -> bool {
        self.program.should_fall_back(self.own_step(), &self.own_stats(*stats))
    }

    fn foreseen(&self, stats: &StepStats<()>, vertices: u64) -> u64 {
        self.program.foreseen(self.own_step(), &self.own_stats(*stats), vertices)
    }

    fn slot_values(&self, slots: &[u32], vertices: &Vertices, values: &mut [u8]) {
        let view = self.view();
        let number = |slot: u32| vertices.index(slot.into()) as u32;
        for (&slot, value) in slots.iter().zip(elements_mut::<S::Value>(values)) {
            *value = self.program.numbered(self.program.value(view, slot), number);
        }
    }
}
