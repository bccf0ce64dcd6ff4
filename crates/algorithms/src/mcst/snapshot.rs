//! Snapshot of a spanning forest between passes.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

use welter_model::checkpointable::{Checkpointable, STEP_WORDS};

use super::{BUSY, Best, Mcst, NO_EDGE, Step, ends};

impl Checkpointable for Mcst {
    /// The label, and the rank of the best edge.
    type Snapshot = [u64; 3];

    fn snapshot(&self, label: &AtomicU32, best: &Best) -> [u64; 3] {
        let (weight, ends) = best.get();
        [label.load(Relaxed).into(), weight, ends]
    }

    fn restored(
        &self,
        [label, weight, edge]: [u64; 3],
        vertices: u64,
    ) -> Option<(AtomicU32, Best)> {
        let ends = ends(edge).map(u64::from);
        let is_there = weight == NO_EDGE || ends.iter().all(|end| *end < vertices);
        let best = Best { weight: AtomicU64::new(weight), ends: AtomicU64::new(edge) };
        (label < vertices && weight != BUSY && is_there)
            .then(|| (AtomicU32::new(label as u32), best))
    }

    fn encode_step(step: Step) -> [u64; STEP_WORDS] {
        match step {
            Step::Offer { growing } => [0, growing, 0, 0, 0],
            Step::Hook { growing } => [1, growing, 0, 0, 0],
            Step::Flatten { growing, rounds } => [2, growing, rounds, 0, 0],
        }
    }

    fn decode_step(words: [u64; STEP_WORDS]) -> Option<Step> {
        match words {
            [0, growing, 0, 0, 0] => Some(Step::Offer { growing }),
            [1, growing, 0, 0, 0] => Some(Step::Hook { growing }),
            [2, growing, rounds, 0, 0] => Some(Step::Flatten { growing, rounds }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use welter_model::checkpointable::{decode, encode};
    use welter_model::stream::Next;

    use super::*;

    #[test]
    fn steps_that_were_kept_are_restored_and_others_are_none() {
        let growing = u64::MAX;
        for step in
            [Step::Offer { growing }, Step::Hook { growing }, Step::Flatten { growing, rounds: 3 }]
        {
            for next in [
                Next::SamplePass(step),
                Next::Pass(step),
                Next::Finalize(step),
                Next::FinishInMemory(step),
            ] {
                assert_eq!(decode::<Mcst>(encode::<Mcst>(next)), Some(next));
            }
        }
        assert_eq!(decode::<Mcst>(encode::<Mcst>(Next::Stop)), Some(Next::Stop));
        let odd = [[0, 0, 0, 0, 0, 1], [5, 0, 0, 0, 0, 0], [2, 3, 0, 0, 0, 0], [3, 1, 1, 1, 0, 0]];
        assert!(odd.iter().all(|words| decode::<Mcst>(*words).is_none()));
    }

    #[test]
    fn what_was_kept_is_restored_and_what_is_of_another_graph_is_not() {
        let program = Mcst::default();
        let again =
            |kept| program.restored(kept, 9).map(|(label, best)| program.snapshot(&label, &best));
        let edge = |one: u64, other: u64| one << 32 | other;
        for kept in [[8, 7, edge(0, 8)], [0, NO_EDGE, edge(9, 9)]] {
            assert_eq!(again(kept), Some(kept));
        }
        for kept in
            [[9, 7, 0], [1 << 32, 7, 0], [0, 7, edge(0, 9)], [0, 7, edge(9, 0)], [0, BUSY, 0]]
        {
            assert_eq!(again(kept), None, "{kept:?}");
        }
    }
}
