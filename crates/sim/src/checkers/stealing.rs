//! Help is accepted only where there is something to do, and is not declined for want of it by a
//! master that could know better: from its own disk, and from the last answer to a pull of the
//! partition that it has acknowledged to each other machine.
//!
//! ```text
//! left(y, p, s, t) = { b in disk(y):  partition(b) = p,  sources(b) & active(s) > 0,
//!                                     y did not read b between the beginning of s and t }
//! told(x, y) = when y gave the last answer to a pull of p in s that x has acknowledged
//!
//! accepted(p, s) at x and t  =>  |left(x, p, s, t)| > 0, or there is y with
//!                                |left(y, p, s, told(x, y))| > 0, the beginning where none is told
//! declined(p, s) at x and t, where alpha is infinite
//!                            =>  for all y with told(x, y):  |left(y, p, s, t)| = 0
//! ```
//!
//! So `D` was 0 where help is declined that is always welcome, and was not where it is accepted.
//!
//! Not checked: whether help was worth its price, so how large `D` was; chunks that an engine
//! handed out before it received the step, which count as not read where help is accepted; help
//! that is accepted after a block could not be read or others have left the epoch; help that is
//! declined where a directory says who has chunks, for it may have promised the last ones to
//! others, who did not come for them yet; and help that is declined where updates are kept up to a
//! bound, which a machine that has helped leaves chunks for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use welter_protocol::config::Config;
use welter_protocol::ids::{Block, BlockName, Epoch, Generation, Kind, Phase, Role, Step};
use welter_protocol::messages::{Begin, Effect, Envelope, Message, Pull};
use welter_protocol::placement::Placement;
use welter_protocol::steal::Bias;
use welter_protocol::{Event, Rank};

use super::scene::Scene;

/// Number of an effect, in the order in which effects are seen.
type Moment = u64;

/// The disk of a process, and how far it is with it.
#[derive(Default)]
struct DiskView {
    blocks: BTreeMap<BlockName, Block>,
    /// Blocks that were read in this epoch since the last step was closed, and when.
    read: BTreeMap<BlockName, Moment>,
    epoch: Epoch,
    closed: (Epoch, Option<Step>),
    /// Time when it last received the begin of a step.
    began: Moment,
    /// A read failed in this epoch.
    failed: Epoch,
}

impl DiskView {
    /// Nothing that was read before belongs to the step that comes, unless that was said already.
    fn close(&mut self, epoch: Epoch, step: Step) {
        if self.epoch == epoch && self.closed < (epoch, Some(step)) {
            self.closed = (epoch, Some(step));
            self.read.clear();
        }
    }
}

/// Way of messages: from a process of a rank to one of another, by their incarnations, in an epoch.
type Direction = (Epoch, [(Rank, u32); 2]);

/// Answer to a pull: its number, who gave it, when, of which step and partition.
type Answer = (u64, usize, Moment, Step, u32);

/// A step of an epoch.
type Now = (Epoch, Step);

/// Moments by partition and process.
type Moments = BTreeMap<(u32, usize), Moment>;

/// Processes, by their numbers, and what they received.
pub struct Stealing {
    always: bool,
    now: Moment,
    views: BTreeMap<usize, DiskView>,
    /// Numbers of the verdicts of each process on others, the last of each: what is sent again is
    /// no news.
    verdicts: BTreeMap<(usize, Rank), (Epoch, u64)>,
    /// Active ranges of the partitions, and edges, by the step that they are of.
    steps: BTreeMap<Now, (Arc<[u64]>, Generation)>,
    /// The newest answer on each way, and those that were not acknowledged. One that is sent again
    /// says what it said the first time.
    under_way: BTreeMap<Direction, (u64, Vec<Answer>)>,
    /// Of the step that each process is at, its partitions and other processes: when these gave the
    /// last answer that it has acknowledged.
    answer_times: BTreeMap<usize, (Now, Moments)>,
}

impl Stealing {
    /// Of masters with these settings.
    pub fn new(config: &Config) -> Self {
        let directory = config.placement == Placement::Directory;
        let bounded = config.kept_updates_max < u64::MAX;
        Self {
            always: config.bias == Bias::Always && !directory && !bounded,
            now: 0,
            views: BTreeMap::new(),
            verdicts: BTreeMap::new(),
            steps: BTreeMap::new(),
            under_way: BTreeMap::new(),
            answer_times: BTreeMap::new(),
        }
    }

    /// Something happens to a machine.
    pub fn event(&mut self, process: usize, event: &Event) {
        let view = self.views.entry(process).or_default();
        match event {
            Event::Start { blocks, .. } => {
                let blocks = blocks.iter().map(|block| (block.name, *block)).collect();
                *view = DiskView { blocks, ..DiskView::default() };
                self.verdicts.retain(|(of, _), _| *of != process);
            }
            Event::Message(Envelope { epoch, message, .. }) => match message {
                Message::Begin(_) => view.began = self.now,
                Message::Close { step, .. } => view.close(*epoch, *step),
                _ => {}
            },
            Event::Read { result: Err(_), .. } => view.failed = view.epoch,
            _ => {}
        }
    }

    /// A machine wants something done.
    ///
    /// # Errors
    /// When it accepts help where nothing is left, or declines it where there is.
    pub fn effect(&mut self, scene: Scene, effect: &Effect) -> Result<(), String> {
        self.now += 1;
        let now = self.now;
        let view = self.views.entry(scene.process).or_default();
        if view.epoch != scene.epoch {
            view.epoch = scene.epoch;
            view.read.clear();
        }
        match effect {
            Effect::Write { block, .. } => {
                view.blocks.insert(block.name, *block);
            }
            Effect::Delete(name) => {
                view.blocks.remove(name);
            }
            Effect::Read { name, .. } => {
                view.read.insert(*name, now);
            }
            Effect::Send(envelope) => return self.says(scene, envelope),
            _ => {}
        }
        Ok(())
    }

    fn says(&mut self, scene: Scene, envelope: &Envelope) -> Result<(), String> {
        let Envelope { from, from_incarnation, to, to_incarnation, epoch, number, message, .. } =
            envelope;
        let ends = [(*from, *from_incarnation), (*to, *to_incarnation)];
        self.acknowledged(scene.process, (*epoch, [ends[1], ends[0]]), envelope.ack.received);
        let view = self.views.entry(scene.process).or_default();
        match message {
            // The coordinator begins and closes a step itself when it first says so.
            Message::Begin(Begin { step, active, generation, .. }) => {
                let begun = (active.clone(), *generation);
                if self.steps.insert((*epoch, *step), begun).is_none() {
                    view.began = self.now;
                }
            }
            Message::Close { step, .. } => view.close(*epoch, *step),
            Message::Chunk { pull, stock, .. } | Message::NoChunk { pull, stock }
                if stock.left.is_some() =>
            {
                let Pull { step, cell, .. } = *pull;
                let answer = (*number, scene.process, self.now, step, cell.partition);
                let (newest, answers) = self.under_way.entry((*epoch, ends)).or_default();
                if *number > *newest {
                    *newest = *number;
                    answers.push(answer);
                }
            }
            Message::Proposed { step, partition, accepted } => {
                let last = self.verdicts.entry((scene.process, *to)).or_default();
                if (*epoch, *number) > *last {
                    *last = (*epoch, *number);
                    return self.decided(scene, *step, *partition, *accepted);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// A process says that it has received all messages on a way up to a number.
    fn acknowledged(&mut self, process: usize, way: Direction, received: u64) {
        let Some((_, answers)) = self.under_way.get_mut(&way) else { return };
        for (_, by, at, step, partition) in answers.extract_if(.., |one| one.0 <= received) {
            let now = (way.0, step);
            let times = self.answer_times.entry(process).or_insert_with(|| (now, BTreeMap::new()));
            if times.0 < now {
                *times = (now, BTreeMap::new());
            }
            if times.0 == now {
                let last = times.1.entry((partition, by)).or_default();
                *last = at.max(*last);
            }
        }
    }

    /// A master has taken help, or not.
    fn decided(
        &self,
        scene: Scene,
        step: Step,
        partition: u32,
        accepted: bool,
    ) -> Result<(), String> {
        if !accepted && !self.always {
            return Ok(());
        }
        let now = (scene.epoch, step);
        let Some((active, generation)) = self.steps.get(&now) else { return Ok(()) };
        let of = |block: &Block| is_streamed(block, now, partition, active, *generation, accepted);
        let times = self.answer_times.get(&scene.process).filter(|times| times.0 == now);
        let answer_time = |other: usize| times.and_then(|times| times.1.get(&(partition, other)));
        let rank = scene.rank;
        let mut found = BTreeSet::new();
        for (&other, view) in &self.views {
            // A process of a later epoch has forgotten what it read in this one.
            let is_later = view.epoch > scene.epoch;
            if accepted && (is_later || view.failed == scene.epoch) {
                return Ok(());
            }
            if is_later {
                continue;
            }
            let is_own = other == scene.process;
            let is_left = |name: &BlockName| match view.read.get(name) {
                None => true,
                // It reads only what it has begun to hand out.
                Some(_) if !accepted => false,
                Some(&at) if is_own => at <= view.began,
                Some(&at) => at <= view.began || answer_time(other).is_none_or(|&time| time < at),
            };
            let has = view.blocks.values().any(|block| of(block) && is_left(&block.name));
            if has && (accepted || is_own || answer_time(other).is_some()) {
                found.insert(other);
            }
        }
        match (accepted, found.first()) {
            (true, None) => {
                Err(format!("{rank} accepts help with {partition} in {step}, and nobody has any"))
            }
            (false, Some(other)) => Err(format!(
                "{rank} declines help with {partition} in {step}, of which process {other} has some"
            )),
            _ => Ok(()),
        }
    }
}

/// Whether a block is one that is streamed for a partition in a step.
fn is_streamed(
    block: &Block,
    (epoch, step): (Epoch, Step),
    partition: u32,
    active: &[u64],
    generation: Generation,
    early: bool,
) -> bool {
    let BlockName { kind, role, .. } = block.name;
    let cell = block.name.cell();
    if (role, cell.partition) != (Role::Primary, partition) {
        return false;
    }
    let of_epoch = block.name.epoch == epoch;
    match step.phase {
        Phase::Split => kind == Kind::Rough && of_epoch,
        Phase::Gather => {
            kind == Kind::Updates && block.name.iteration == step.iteration && (early || of_epoch)
        }
        _ => {
            let sources = active.get(cell.sources() as usize).copied().unwrap_or(0);
            kind == Kind::Edges
                && block.name.generation() == generation
                && block.sources & sources != 0
        }
    }
}
