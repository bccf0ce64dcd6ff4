//! Pulls that are open at a time are bounded, in all and at each storage engine.
//!
//! ```text
//! open(x, y, c)   pulls of x for any chunk of c at y, which y has not answered
//!
//! |open(x, y, c)| <= each          sum over y and c of |open(x, y, c)| <= all
//! each = min(depth, streams)       all = max(machines, min(streams, machines each))
//! ```
//!
//! A window that is forced is the bound where it is smaller than `all`.
//!
//! Not checked: pulls of a machine at itself; whether another engine could have been asked first;
//! chunks that came and wait to be streamed; how many pulls a directory sends to one engine; pulls
//! of epochs that have ended.

use std::collections::{BTreeMap, BTreeSet};

use welter_protocol::config::Config;
use welter_protocol::ids::{Cell, Epoch, Step};
use welter_protocol::messages::{Effect, Envelope, Message};
use welter_protocol::placement::Placement;
use welter_protocol::window::Width;
use welter_protocol::{Event, Rank};

use super::scene::Scene;

/// Pulls of each process in its newest step that have no answer.
pub struct OpenPulls {
    /// At one engine for a cell; none where a directory says at whom they are.
    each: Option<usize>,
    all: usize,
    processes: BTreeMap<usize, Asked>,
}

/// Pulls of a process in a step, and answers to them. All of the step before are answered when it
/// takes up another one.
#[derive(Default)]
struct Asked {
    now: Option<(Epoch, Step)>,
    /// Number of the newest message to each engine that asked: one that is sent again asks for no
    /// more.
    newest: BTreeMap<Rank, u64>,
    /// Numbers of messages that answered: one that comes again answers nothing.
    answers: BTreeSet<(Rank, u64)>,
    open: BTreeMap<(Rank, Cell), usize>,
    all: usize,
}

impl OpenPulls {
    /// Of machines with these settings.
    pub fn new(config: &Config) -> Self {
        let (machines, streams) = (config.machines(), config.streams);
        let each = streams.min(config.depth).max(1);
        let all = machines.max(streams.min(machines * each));
        let all = match config.width {
            Width::Forced(width) => width.clamp(1, all),
            Width::Measured => all,
        };
        let each = (config.placement != Placement::Directory).then_some(each);
        Self { each, all, processes: BTreeMap::new() }
    }

    /// Something happens to a machine.
    pub fn event(&mut self, process: usize, event: &Event) {
        match event {
            Event::Start { .. } => self.entered(process),
            Event::Message(Envelope {
                from,
                epoch,
                number,
                message: Message::Chunk { pull, .. } | Message::NoChunk { pull, .. },
                ..
            }) => {
                if let Some(asked) = self.processes.get_mut(&process)
                    && asked.now == Some((*epoch, pull.step))
                    && asked.answers.insert((*from, *number))
                    && let Some(open) = asked.open.get_mut(&(*from, pull.cell))
                    && *open > 0
                {
                    *open -= 1;
                    asked.all -= 1;
                }
            }
            _ => {}
        }
    }

    /// A machine has entered an epoch: pulls that it had open before belong to the one that ended.
    pub fn entered(&mut self, process: usize) {
        self.processes.remove(&process);
    }

    /// A machine wants something done.
    ///
    /// # Errors
    /// When it has more pulls open than it may.
    pub fn effect(&mut self, scene: Scene, effect: &Effect) -> Result<(), String> {
        let Effect::Send(Envelope { to, epoch, number, message: Message::Pull(pull), .. }) = effect
        else {
            return Ok(());
        };
        let (now, asked) = ((*epoch, pull.step), self.processes.entry(scene.process).or_default());
        if *epoch != scene.epoch || asked.now.is_some_and(|newest| newest > now) {
            return Ok(());
        }
        if asked.now != Some(now) {
            *asked = Asked { now: Some(now), ..Asked::default() };
        }
        let newest = asked.newest.entry(*to).or_default();
        if *number <= *newest {
            return Ok(());
        }
        *newest = *number;
        let open = asked.open.entry((*to, pull.cell)).or_default();
        *open += 1;
        asked.all += 1;
        let (rank, cell, step) = (scene.rank, pull.cell, pull.step);
        if let Some(each) = self.each.filter(|each| *open > *each) {
            let open = *open;
            return Err(format!(
                "{rank} has {open} pulls open at {to} for {cell} in {step}, not {each} at most"
            ));
        }
        if asked.all > self.all {
            let (open, all) = (asked.all, self.all);
            return Err(format!("{rank} has {open} pulls open in {step}, not {all} at most"));
        }
        Ok(())
    }
}
