//! Snapshot of strong components between passes.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use welter_model::checkpointable::{Checkpointable, STEP_WORDS};

use super::{DECIDED, Scc, Stage, Step, VertexState};

/// All stages; each is kept as its place here, so new ones come last.
const STAGES: [Stage; 13] = [
    Stage::Trim,
    Stage::Trimmed,
    Stage::Seed,
    Stage::Reach,
    Stage::Part,
    Stage::Colour,
    Stage::Forward,
    Stage::Split,
    Stage::Backward,
    Stage::Decide,
    Stage::Rest,
    Stage::Alone,
    Stage::Name,
];

impl Checkpointable for Scc {
    /// The part and the colour.
    type Snapshot = [u32; 2];

    fn snapshot(&self, state: &VertexState, (): &()) -> [u32; 2] {
        [state.part.load(Relaxed), state.colour.load(Relaxed)]
    }

    /// Colours of undecided vertices mean different things in each step, so they are looked at when
    /// they are used.
    fn restored(&self, [part, colour]: [u32; 2], vertices: u64) -> Option<(VertexState, ())> {
        let is_there = part != DECIDED || u64::from(colour) < vertices;
        is_there.then(|| {
            (VertexState { part: AtomicU32::new(part), colour: AtomicU32::new(colour) }, ())
        })
    }

    fn encode_step(Step { stage, pivot, edges, live, looked }: Step) -> [u64; STEP_WORDS] {
        let place = STAGES.iter().position(|other| *other == stage);
        // A stage that has no place is none when it is restored.
        let place = place.unwrap_or(STAGES.len()) as u64;
        [place, pivot.into(), edges, live, looked]
    }

    fn decode_step([place, pivot, edges, live, looked]: [u64; STEP_WORDS]) -> Option<Step> {
        let stage = *STAGES.get(usize::try_from(place).ok()?)?;
        Some(Step { stage, pivot: u32::try_from(pivot).ok()?, edges, live, looked })
    }
}

#[cfg(test)]
mod tests {
    use welter_model::checkpointable::{decode, encode};
    use welter_model::stream::Next;

    use super::*;

    #[test]
    fn no_vertex_is_decided_to_be_of_a_component_that_is_not_there() {
        let again = |kept| {
            Scc::default().restored(kept, 9).map(|(state, ())| Scc::default().snapshot(&state, &()))
        };
        for kept in [[DECIDED, 8], [8, 0], [3, u32::MAX]] {
            assert_eq!(again(kept), Some(kept));
        }
        assert_eq!(again([DECIDED, 9]), None);
    }

    #[test]
    fn steps_that_were_kept_are_restored_and_others_are_none() {
        for stage in STAGES {
            let step = Step { stage, pivot: u32::MAX, edges: 1, live: u64::MAX, looked: 3 };
            for next in [Next::Pass(step), Next::Finalize(step), Next::FinishInMemory(step)] {
                assert_eq!(decode::<Scc>(encode::<Scc>(next)), Some(next));
            }
        }
        let many = STAGES.len() as u64;
        for odd in [[1, many, 0, 0, 0, 0], [2, 0, 1 << 32, 0, 0, 0], [7, 0, 0, 0, 0, 0]] {
            assert_eq!(decode::<Scc>(odd), None);
        }
    }
}
