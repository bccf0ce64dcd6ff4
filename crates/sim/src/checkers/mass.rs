//! Updates are conserved: as many are gathered as were made, in each iteration of an epoch.
//!
//! ```text
//! made(i)      sum over scatter(i), and gather(i - 1) of programs that carry, of what was made,
//!              before it was combined
//! stored(i)    sum over both of what the records stand for that kernels handed out
//! gathered(i)  sum over gather(i) of what the records stood for that were met
//! made = stored = gathered
//! ```
//!
//! Likewise as many edges are stored as were made of what was split.
//!
//! Updates of a checkpoint were made in one epoch and are gathered in another.
//!
//! Not checked: which updates; route `fold`, where updates wait nowhere; and what an epoch made
//! that ended before the barrier of its step, unless a checkpoint took it along.

use std::collections::BTreeMap;

use welter_protocol::ids::{Epoch, Phase, Step};
use welter_protocol::work::Filled;
use welter_protocol::{Outcome, Work};

use super::scene::Scene;

/// Sums of an iteration.
#[derive(Clone, Copy, Default)]
struct Sums {
    made: u64,
    stored: u64,
    gathered: u64,
    /// The epoch that made what was gathered.
    from: Option<Epoch>,
}

/// An iteration, and whether edges are split before it: those are no updates of its own.
type Part = (u32, bool);

fn part(step: Step) -> Part {
    (step.iteration, step.phase == Phase::Split)
}

/// Sums of the newest iterations.
#[derive(Default)]
pub struct Mass {
    sums: BTreeMap<(Epoch, Part), Sums>,
    newest: Option<(Epoch, Step)>,
}

impl Mass {
    /// A program has done something.
    ///
    /// # Errors
    /// When updates were lost or made up.
    pub fn work(&mut self, scene: Scene, work: &Work, outcome: &Outcome) -> Result<(), String> {
        let Some(step) = scene.step else { return Ok(()) };
        let (made, gathered, filled) = match outcome {
            Outcome::Streamed { made, gathered, filled, .. } => (*made, *gathered, &filled[..]),
            Outcome::Applied { made, filled } => (*made, 0, &filled[..]),
            Outcome::Flushed { filled, .. } => (0, 0, &filled[..]),
            _ => (0, 0, &[][..]),
        };
        // Updates that a gather makes are gathered one iteration later.
        let next = step.iteration + u32::from(step.phase == Phase::Gather);
        let next_part = part(Step { iteration: next, ..step });
        let sums = self.sums.entry((scene.epoch, next_part)).or_default();
        sums.made += made;
        sums.stored += stands_for(filled);
        let sums = self.sums.entry((scene.epoch, part(step))).or_default();
        sums.gathered += gathered;
        if let (Work::Stream { block, .. }, Phase::Gather) = (work, step.phase) {
            sums.from = Some(block.name.epoch);
        }
        let now = (scene.epoch, step);
        let opens = matches!(work, Work::Open { .. });
        if !opens || self.newest.is_some_and(|newest| newest >= now) {
            return Ok(());
        }
        self.newest.replace(now).map_or(Ok(()), |last| self.step_ended(last, now))
    }

    /// The last step of this epoch is complete too.
    ///
    /// # Errors
    /// When updates were lost or made up.
    pub fn finished(&mut self, epoch: Epoch) -> Result<(), String> {
        self.newest.map_or(Ok(()), |last| self.step_ended(last, (epoch, last.1)))
    }

    fn step_ended(
        &mut self,
        (epoch, last): (Epoch, Step),
        now: (Epoch, Step),
    ) -> Result<(), String> {
        let of = |epoch| self.sums.get(&(epoch, part(last))).copied().unwrap_or_default();
        let Sums { gathered, from, .. } = of(epoch);
        let Sums { made, stored, .. } = of(from.unwrap_or(epoch));
        let right = match last.phase {
            Phase::Gather => made == stored && stored == gathered,
            _ => made == stored,
        };
        if epoch == now.0 && !right {
            let found = format!("{made} updates made, {stored} stored, {gathered} gathered");
            return Err(format!("{found} in {last}"));
        }
        Ok(())
    }
}

fn stands_for(filled: &[Filled]) -> u64 {
    filled.iter().map(|filled| u64::from(filled.records)).sum()
}
