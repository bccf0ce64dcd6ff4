//! Help is accepted only where there is something to do: on the disk of the master lies a chunk of
//! the partition that has an active source and was not read in this step.
//!
//! ```text
//! accepted(p, s) at x and t
//!   =>  there is b in disk(x):  partition(b) = p,  sources(b) & active(s) > 0,
//!                               b was not read by x between the beginning of s and t
//! ```
//!
//! The master estimates from its own disk, so its estimate `D` was 0 where there is none.
//!
//! Not checked: whether the help was worth its price; and chunks that an engine handed out before
//! it heard of the step, which count as not read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use welter_protocol::messages::{Begin, Effect, Envelope, Message};
use welter_protocol::names::{Block, BlockName, Epoch, Kind, Phase, Role, Step};
use welter_protocol::{Event, Rank};

use super::scene::Scene;

/// The disks of processes, and what they read in the step that began last.
#[derive(Default)]
pub struct Stealing {
    disks: BTreeMap<usize, BTreeMap<BlockName, Block>>,
    read: BTreeMap<usize, BTreeSet<BlockName>>,
    /// Numbers of the answers of each process to others, the last of each: what is sent again is no
    /// news.
    answers: BTreeMap<(usize, Rank), (Epoch, u64)>,
    /// Active ranges of the partitions, by the step that they are of.
    active: BTreeMap<(Epoch, Step), Arc<[u64]>>,
}

impl Stealing {
    /// Something happens to a machine.
    pub fn event(&mut self, process: usize, event: &Event) {
        match event {
            Event::Start { blocks, .. } => {
                let blocks = blocks.iter().map(|block| (block.name, *block)).collect();
                self.disks.insert(process, blocks);
                self.answers.retain(|(of, _), _| *of != process);
            }
            Event::Message(Envelope { message: Message::Begin(_), .. }) => {
                self.read.remove(&process);
            }
            _ => {}
        }
    }

    /// A machine wants something done.
    ///
    /// # Errors
    /// When it accepts help where nothing is left.
    pub fn effect(&mut self, scene: Scene, effect: &Effect) -> Result<(), String> {
        let process = scene.process;
        match effect {
            Effect::Write { block, .. } => {
                self.disks.entry(process).or_default().insert(block.name, *block);
            }
            Effect::Delete(name) => {
                self.disks.entry(process).or_default().remove(name);
            }
            Effect::Read { name, .. } => {
                self.read.entry(process).or_default().insert(*name);
            }
            Effect::Send(Envelope { epoch, to, number, message, .. }) => match message {
                // The coordinator begins the step itself when it first says so.
                Message::Begin(Begin { step, active, .. })
                    if self.active.insert((*epoch, *step), active.clone()).is_none() =>
                {
                    self.read.remove(&process);
                }
                Message::Proposed { step, partition, accepted: true } => {
                    let last = self.answers.entry((process, *to)).or_default();
                    if (*epoch, *number) <= *last {
                        return Ok(());
                    }
                    *last = (*epoch, *number);
                    return self.accepted(scene, *step, *partition);
                }
                _ => {}
            },
            _ => {}
        }
        Ok(())
    }

    fn accepted(&self, scene: Scene, step: Step, partition: u32) -> Result<(), String> {
        let active = self.active.get(&(scene.epoch, step));
        let read = self.read.get(&scene.process);
        let kind = match step.phase {
            Phase::Split => Kind::Rough,
            Phase::Gather => Kind::Updates,
            _ => Kind::Edges,
        };
        let is_left = |block: &Block| {
            let BlockName { kind: of, role, .. } = block.name;
            let cell = block.name.cell();
            let sources = active.and_then(|active| active.get(cell.sources() as usize));
            let active = if kind == Kind::Edges { sources.copied().unwrap_or(0) } else { u64::MAX };
            (of, role, cell.partition) == (kind, Role::Primary, partition)
                && block.sources & active != 0
                && read.is_none_or(|read| !read.contains(&block.name))
        };
        let mut blocks = self.disks.get(&scene.process).into_iter().flat_map(BTreeMap::values);
        if blocks.any(is_left) {
            return Ok(());
        }
        let rank = scene.rank;
        Err(format!("{rank} accepts help with partition {partition} in {step}, and has none of it"))
    }
}
