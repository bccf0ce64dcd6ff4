//! What is kept of strong components between passes.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use welter_model::lasting::{Lasting, STEP_WORDS};

use super::{Cell, Scc, Stage, Step};

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

impl Lasting for Scc {
    /// The part and the colour.
    type Kept = [u32; 2];

    fn kept(&self, cell: &Cell, (): &()) -> [u32; 2] {
        [cell.part.load(Relaxed), cell.colour.load(Relaxed)]
    }

    fn restored(&self, [part, colour]: [u32; 2]) -> (Cell, ()) {
        (Cell { part: AtomicU32::new(part), colour: AtomicU32::new(colour) }, ())
    }

    fn words(Step { stage, pivot, edges, live, looked }: Step) -> [u64; STEP_WORDS] {
        let place = STAGES.iter().position(|other| *other == stage);
        // A stage that has no place is none when it is restored.
        let place = place.unwrap_or(STAGES.len()) as u64;
        [place, pivot.into(), edges, live, looked]
    }

    fn step([place, pivot, edges, live, looked]: [u64; STEP_WORDS]) -> Option<Step> {
        let stage = *STAGES.get(usize::try_from(place).ok()?)?;
        Some(Step { stage, pivot: u32::try_from(pivot).ok()?, edges, live, looked })
    }
}

#[cfg(test)]
mod tests {
    use welter_model::lasting::{decode, encode};
    use welter_model::stream::Next;

    use super::*;

    #[test]
    fn steps_that_were_kept_are_restored_and_others_are_none() {
        for stage in STAGES {
            let step = Step { stage, pivot: u32::MAX, edges: 1, live: u64::MAX, looked: 3 };
            for next in [Next::Pass(step), Next::Settle(step), Next::Rest(step)] {
                assert_eq!(decode::<Scc>(encode::<Scc>(next)), Some(next));
            }
        }
        let many = STAGES.len() as u64;
        for odd in [[1, many, 0, 0, 0, 0], [2, 0, 1 << 32, 0, 0, 0], [7, 0, 0, 0, 0, 0]] {
            assert_eq!(decode::<Scc>(odd), None);
        }
    }
}
