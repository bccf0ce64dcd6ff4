//! Each chunk is streamed exactly once in an (epoch, step), by master or stealer.
//!
//! ```text
//! streamed twice                 never
//! streamed when the step ends  = stored, of the generation or iteration, with an active source,
//!                                or all of the generation, where it is rewritten
//! ```
//!
//! The active sources are those that the programs that made them said, not what machines sent each
//! other: a cell that was not asked for, though it has one, is missing here.
//!
//! Not checked: that what was streamed also reached an accumulator ([`super::mass`], and the
//! answer), steps of an epoch that ended before their barrier, and edges of a step in which none
//! was streamed.

use std::collections::{BTreeMap, BTreeSet};

use welter_protocol::ids::{Block, BlockName, Epoch, Kind, Phase, Role, Step};
use welter_protocol::{Outcome, Work};

use super::scene::Scene;

/// Chunks that were stored and streamed.
#[derive(Default)]
pub struct ExactlyOnce {
    /// Sources of all chunks that machines wrote.
    stored: BTreeMap<BlockName, u64>,
    /// Chunks of the newest step, and who streamed them.
    streamed: BTreeMap<BlockName, usize>,
    /// Active ranges by partition and number of iterations.
    active: BTreeMap<(u32, u32), u64>,
    /// Iterations that rewrite edges, by what programs decided.
    rewrite: BTreeSet<u32>,
    newest: Option<(Epoch, Step)>,
    opened: BTreeMap<usize, u32>,
}

impl ExactlyOnce {
    /// A machine writes a block.
    pub fn stored(&mut self, block: &Block) {
        let name = block.name;
        if name.role == Role::Primary
            && matches!(name.kind, Kind::Edges | Kind::Rough | Kind::Updates)
        {
            self.stored.insert(name, block.sources);
        }
    }

    /// A program has done something.
    ///
    /// # Errors
    /// What was streamed twice, or not at all.
    pub fn work(&mut self, scene: Scene, work: &Work, outcome: &Outcome) -> Result<(), String> {
        if let (Work::Init { partition, .. }, Outcome::Made { active, .. }) = (work, outcome) {
            self.active.insert((0, *partition), *active);
        }
        if let (Work::Decide { iterations, .. }, Outcome::Decided { rewrites, .. }) =
            (work, outcome)
        {
            // Of those that go back and decide anew the last counts.
            self.rewrite.remove(iterations);
            self.rewrite.extend(rewrites.then_some(iterations));
        }
        let Some(step) = scene.step else { return Ok(()) };
        let now = (scene.epoch, step);
        if let Work::Open { partition, .. } = work {
            self.opened.insert(scene.process, *partition);
            if self.newest.is_none_or(|newest| newest < now) {
                self.step_ended(now)?;
            }
        }
        if let (Outcome::Made { active, .. }, Work::Apply) = (outcome, work)
            && let Some(partition) = self.opened.get(&scene.process)
        {
            self.active.insert((step.iteration + 1, *partition), *active);
        }
        let Work::Stream { block, .. } = work else { return Ok(()) };
        if self.newest != Some(now) {
            // Of an epoch that has ended elsewhere: it counts for nothing.
            return Ok(());
        }
        match self.streamed.insert(block.name, scene.process) {
            None => Ok(()),
            Some(other) => {
                Err(format!("{} streamed twice in {step}: {other}, {}", block.name, scene.process))
            }
        }
    }

    /// The last step of this epoch is complete too.
    ///
    /// # Errors
    /// Block that was not streamed.
    pub fn finished(&mut self, epoch: Epoch) -> Result<(), String> {
        let Some((_, step)) = self.newest else { return Ok(()) };
        self.step_ended((epoch, step))
    }

    /// A newer step has begun somewhere, so the last one must be complete, if its epoch lasts.
    fn step_ended(&mut self, next: (Epoch, Step)) -> Result<(), String> {
        let streamed = std::mem::take(&mut self.streamed);
        let Some((epoch, step)) = self.newest.replace(next) else { return Ok(()) };
        let missing = if step.phase == Phase::Split {
            let of = |name: &BlockName| (name.kind, name.epoch) == (Kind::Rough, epoch);
            self.stored.keys().find(|name| of(name) && !streamed.contains_key(name)).copied()
        } else if step.phase == Phase::Gather {
            // Of this epoch, or of one before that a checkpoint had.
            let made = streamed.keys().next().map_or(epoch, |name| name.epoch);
            let of = |name: &BlockName| {
                (name.kind, name.epoch, name.iteration) == (Kind::Updates, made, step.iteration)
            };
            self.stored.keys().find(|name| of(name) && !streamed.contains_key(name)).copied()
        } else {
            let generation = streamed.keys().next().map(BlockName::generation);
            let wanted = |(name, sources): (&BlockName, &u64)| {
                let of = (step.iteration, name.cell().sources());
                let ranges = self.active.get(&of).copied().unwrap_or(0);
                let is_asked = name.kind == Kind::Edges && Some(name.generation()) == generation;
                let all = self.rewrite.contains(&step.iteration);
                is_asked && (all || sources & ranges != 0)
            };
            let missing = |(name, _): &(&BlockName, &u64)| !streamed.contains_key(name);
            let mut all = self.stored.iter();
            all.find(|entry| wanted(*entry) && missing(entry)).map(|(name, _)| *name)
        };
        match missing {
            Some(name) if epoch == next.0 => Err(format!("{name} was not streamed in {step}")),
            _ => Ok(()),
        }
    }
}
