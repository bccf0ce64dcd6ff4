//! The computation engine of a machine (Chaos, section 5 and Figure 4).
//!
//! ```text
//! for each of my partitions p:     load vertices(p); stream; in gather: collect, merge, apply
//! then, until no master needs help:
//!   for each foreign partition p in random order:
//!     if the master of p accepts:  load vertices(p); stream; in gather: wait, hand over
//! arrive at the barrier
//!
//! stream, on route fold:           for each cell (p, s) with an active source: pull, and when the
//!                                  first chunk has come, load vertices(s) for their signals
//! ```
//!
//! Loading, streaming and what comes after are stages of one [`Task`]; the program works on as many
//! chunks at a time as it has cores for (`Config::streams`) while pulls for the next ones are open,
//! as many as these cores and the disks of all want ([`crate::window`]).
//!
//! **Invariant:** what is no stream is alone: a cell is left, and a partition flushed or applied,
//! when all chunks that were begun are streamed. Asserted in `ComputationEngine::advance`.
//!
//! **Invariant:** no piece of the input is read and no chunk streamed while as many bytes are under
//! way to storage as the window of stores allows ([`storing`]). Checked in `Storing::is_full`, and
//! by the simulator in `Stores::effect`.
//! **Invariant:** an engine arrives only when every chunk that it was handed is streamed and every
//! block that it made is stored. Asserted in `ComputationEngine::arrive`.

mod loading;
mod stealing;
mod storing;
mod task;
#[cfg(test)]
mod tests;
mod under_way;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use self::task::{Stage, Task};
use self::under_way::Storing;
use crate::accumulators::Owned;
use crate::audit::Worked;
use crate::carrying;
use crate::config::Handover;
use crate::context::Context;
use crate::counters::Path;
use crate::ids::{Block, BlockName, Phase, Rank, Step, Time};
use crate::ingest::Ingest;
use crate::messages::{Begin, Message, PartitionOutcome, Pull, Stock};
use crate::payload::Payload;
use crate::planted::Bug;
use crate::steal::Rounds;
use crate::times::{Clock, Spent};
use crate::window::Window;
use crate::work::{Outcome, Work};

/// State of a computation engine.
pub(crate) struct ComputationEngine {
    begin: Option<Begin>,
    arrived: bool,
    /// Own partitions that are not begun.
    waiting: VecDeque<u32>,
    owned: BTreeMap<u32, Owned>,
    task: Option<Task>,
    rounds: Rounds,
    /// Proposals that came before their step was begun here.
    early: Vec<(Rank, Step, u32)>,
    /// Partitions of which masters asked for accumulators.
    collected: BTreeSet<u32>,
    ingest: Ingest,
    /// Token of the piece of work that the program is at, but for chunks that it streams.
    working: Option<u64>,
    streaming: BTreeMap<u64, Block>,
    storing: Storing,
    /// Chunks for which a directory is asked, where there is one.
    placing: BTreeMap<BlockName, (Block, Payload)>,
    worked: Worked,
    made: Vec<PartitionOutcome>,
    /// Bytes of the vertex sets that it made last, by partition: of vertices with what they hold.
    set_bytes: BTreeMap<u32, u64>,
    window: Window,
    pub(crate) clock: Clock,
}

impl ComputationEngine {
    pub(crate) fn new(cx: &Context) -> Self {
        Self {
            begin: None,
            arrived: false,
            waiting: VecDeque::new(),
            owned: BTreeMap::new(),
            task: None,
            rounds: Rounds::default(),
            early: Vec::new(),
            collected: BTreeSet::new(),
            ingest: Ingest::default(),
            working: None,
            streaming: BTreeMap::new(),
            storing: Storing::default(),
            placing: BTreeMap::new(),
            worked: Worked::default(),
            made: Vec::new(),
            set_bytes: BTreeMap::new(),
            window: Window::new(cx.config.width, cx.machines(), cx.config.depth, cx.config.streams),
            clock: Clock::default(),
        }
    }

    /// Forgets all that belongs to the epoch that ends.
    pub(crate) fn leave_epoch(&mut self, cx: &Context) {
        let mut clock = self.clock;
        clock.turn(cx.now, Spent::Idle);
        *self = Self { clock, window: self.window.clone(), ..Self::new(cx) };
    }

    /// The step at work, unless all that can be done in it is.
    pub(crate) fn at_work(&self) -> Option<Step> {
        self.begin.as_ref().filter(|_| !self.arrived).map(|begin| begin.step)
    }

    /// Whether the step at work rewrites edges.
    fn rewrites(&self) -> bool {
        self.begin.as_ref().is_some_and(|begin| begin.rewrites)
    }

    fn step(&self) -> Option<Step> {
        self.begin.as_ref().map(|begin| begin.step)
    }

    pub(crate) fn begin(&mut self, cx: &mut Context, begin: Begin) {
        let own: Vec<u32> = cx.config.partitions.of_master(cx.rank).collect();
        self.owned = own.iter().map(|&partition| (partition, Owned::default())).collect();
        self.arrived = false;
        self.task = None;
        self.working = None;
        self.streaming.clear();
        self.rounds = Rounds::default();
        self.collected.clear();
        self.worked = Worked::default();
        self.made.clear();
        if begin.step.phase == Phase::Ingest {
            self.ingest.begin(cx, begin.edges_only);
            self.waiting.clear();
            self.task = Some(Task::new(0, false, Stage::Reading));
        } else {
            self.waiting = own.into();
        }
        self.begin = Some(begin);
        self.advance(cx);
    }

    /// Does what can be done now.
    pub(crate) fn advance(&mut self, cx: &mut Context) {
        let Some(step) = self.at_work() else { return };
        if self.working.is_none() && cx.may_work() {
            self.advance_task(cx, step);
        }
        let works = self.working.is_some();
        let is_alone = self.streaming.is_empty() || cx.config.tolerates(Bug::StreamsNotAwaited);
        assert!(!works || is_alone, "what is no stream is alone");
        let spent = self.task.as_ref().map_or(Spent::Idle, |task| task.spent(works));
        self.clock.turn(cx.now, spent);
    }

    fn advance_task(&mut self, cx: &mut Context, step: Step) {
        while self.working.is_none() {
            let Some(task) = &mut self.task else {
                if !self.next_task(cx, step) {
                    return;
                }
                continue;
            };
            let partition = task.partition;
            match task.stage {
                Stage::Reading => {
                    let first = !std::mem::replace(&mut self.ingest.begun, true);
                    if first || !self.storing.is_full(cx) {
                        self.working = Some(cx.work(Work::Ingest { first }));
                    }
                    return;
                }
                Stage::Streaming
                    if self.owned.get(&partition).is_some_and(|owned| owned.interrupts(cx)) =>
                {
                    self.interrupt(cx, partition);
                    return;
                }
                Stage::Streaming => {
                    if !self.stream(cx, step) {
                        return;
                    }
                }
                Stage::Waiting => {
                    if !self.collected.remove(&partition) {
                        return;
                    }
                    task.stage = Stage::HandingOver;
                    self.working = Some(cx.work(Work::HandOver));
                }
                Stage::Applying => {
                    // The next part of it.
                    if !self.storing.is_full(cx) {
                        self.working = Some(cx.work(Work::Apply));
                    }
                    return;
                }
                Stage::Collecting => return self.merge_next(cx, partition),
                Stage::Turning => return self.fill(cx, step),
                _ => return,
            }
        }
    }

    /// Merges accumulators that came, between chunks and not beside one.
    fn interrupt(&mut self, cx: &mut Context, partition: u32) {
        let Some(task) = &mut self.task else { return };
        if self.streaming.is_empty()
            && let Some(payload) = self.owned.get_mut(&partition).and_then(Owned::merge)
        {
            cx.counters.count(Path::Interrupted);
            task.stage = Stage::Interrupted;
            self.working = Some(cx.work(Work::Merge(payload)));
        }
    }

    /// Streams the next chunk, or goes to the next cell when the input of one has ended. False
    /// where there is nothing to do but wait.
    fn stream(&mut self, cx: &mut Context, step: Step) -> bool {
        self.fill(cx, step);
        let Some(task) = &mut self.task else { return false };
        let streams = self.streaming.len();
        if streams >= cx.config.streams.max(1) || self.storing.is_full(cx) {
            return false;
        }
        if task.pulls.has_next() && task.needs_signals() {
            self.load_signals(cx);
            return false;
        }
        if let Some((block, payload)) = task.pulls.next() {
            assert!(!task.needs_signals(), "signals are there before chunks are");
            let token = cx.work(Work::Stream { block, payload });
            self.streaming.insert(token, block);
            if streams > 0 {
                cx.counters.count(Path::StreamedTogether);
            }
            return true;
        }
        let waits = streams > 0 && !cx.config.has(Bug::StreamsNotAwaited);
        if waits || !task.pulls.ended() {
            return false;
        }
        if task.needs_signals() {
            cx.counters.count(Path::NotLoaded);
        }
        self.next_cell(cx, step);
        true
    }

    /// Merges the next accumulators of a partition, or applies once all have come.
    fn merge_next(&mut self, cx: &mut Context, partition: u32) {
        let Some(task) = &mut self.task else { return };
        assert!(!task.stolen, "only a master applies");
        let Some(owned) = self.owned.get_mut(&partition) else { return };
        if let Some(payload) = owned.merge() {
            cx.counters.count(Path::Merged);
            self.working = Some(cx.work(Work::Merge(payload)));
        } else if owned.is_whole() {
            task.stage = Stage::Applying;
            self.working = Some(cx.work(Work::Apply));
        }
    }

    /// Begins what comes next. False where there is nothing to do but wait.
    fn next_task(&mut self, cx: &mut Context, step: Step) -> bool {
        if step.phase == Phase::Ingest {
            if let Some((partition, work)) = self.ingest.next(cx) {
                self.task = Some(Task::new(partition, false, Stage::Making));
                self.working = Some(cx.work(work));
                return true;
            }
            if self.ingest.ended() {
                self.arrive(cx, step);
            }
            return false;
        }
        if let Some(partition) = self.waiting.pop_front() {
            // Where edges lie by cells these are left out one by one, by their sources.
            let by_sources = step.phase == Phase::Scatter && !cx.config.rewrites();
            if by_sources && !self.is_active(partition) {
                cx.counters.count(Path::Skipped);
                if let Some(owned) = self.owned.get_mut(&partition) {
                    owned.done();
                }
                if self.waiting.is_empty() {
                    self.begin_round(cx);
                }
            } else {
                self.take_up(cx, partition, false);
            }
            return true;
        }
        if self.rounds.proposed.is_some() {
            return false;
        }
        self.propose(cx, step);
        false
    }

    fn arrive(&mut self, cx: &mut Context, step: Step) {
        if !self.storing.is_empty() && !cx.config.has(Bug::StoresNotAwaited) {
            return;
        }
        assert!(self.task.is_none() && self.waiting.is_empty(), "all partitions are done");
        assert!(self.streaming.is_empty() && self.placing.is_empty(), "all chunks are streamed");
        assert!(self.rounds.have_ended(), "no master needs help");
        self.arrived = true;
        let (worked, made) = (self.worked, std::mem::take(&mut self.made));
        cx.send(0, Message::Arrive { step, worked, made });
    }

    /// All storage engines have said "none", and all that came is streamed.
    fn input_ended(&mut self, cx: &mut Context, step: Step) {
        let bins_edges = self.rewrites() && cx.config.contracts();
        let Some(task) = &mut self.task else { return };
        let partition = task.partition;
        if task.stolen {
            let master = cx.config.partitions.master(partition);
            cx.send(master, Message::Ended { step, partition });
        }
        if step.phase.stores() || bins_edges || carrying::carries(&cx.config, step.phase) {
            task.stage = Stage::Flushing;
            self.working = Some(cx.work(Work::Flush));
        } else {
            self.gathered(cx, step);
        }
    }

    /// All that was to be gathered here is in accumulators.
    fn gathered(&mut self, cx: &mut Context, step: Step) {
        let Some(task) = &mut self.task else { return };
        let partition = task.partition;
        if !task.stolen {
            task.stage = Stage::Collecting;
            if let Some(owned) = self.owned.get_mut(&partition) {
                owned.collect(cx, step, partition);
            }
        } else if cx.config.handover != Handover::Memory {
            task.stage = Stage::HandingOver;
            self.working = Some(cx.work(Work::HandOver));
        } else {
            task.stage = Stage::Waiting;
            let asked = self.collected.contains(&partition);
            cx.counters.count(if asked { Path::CollectedEarly } else { Path::StealerWaited });
        }
    }

    /// The program has done what was asked.
    pub(crate) fn done(&mut self, cx: &mut Context, token: u64, outcome: Outcome) {
        let block = self.streaming.remove(&token);
        if block.is_none() && self.working.take_if(|waited| *waited == token).is_none() {
            // It was asked for in an epoch before, and now others can be.
            return self.advance(cx);
        }
        let (Some(step), Some(mut task)) = (self.step(), self.task.take()) else { return };
        let partition = task.partition;
        match outcome {
            Outcome::Ingested { read, filled, degrees } => {
                let again = self.ingest.edges_only;
                if !(again && cx.config.has(Bug::PieceSkipped) && cx.random.chance(300)) {
                    self.worked.made += read;
                    self.store_edges(cx, step, filled);
                }
                match degrees {
                    Some(degrees) => self.ingest.read(cx, degrees),
                    None => self.task = Some(task),
                }
            }
            Outcome::Opened => {
                self.task = Some(task);
                self.next_cell(cx, step);
            }
            Outcome::Turned => {
                task.stage = Stage::Streaming;
                task.turned = true;
                self.task = Some(task);
            }
            Outcome::Streamed { made, gathered, rewritten, filled } => {
                if let Some(block) = block {
                    self.worked.consumed.add(&block);
                    if !(task.stolen && cx.config.has(Bug::RewriteDropped)) {
                        self.store_rewritten(cx, step, (block, rewritten));
                    }
                }
                self.worked.made += made;
                self.worked.gathered += gathered;
                self.task = Some(task);
                self.store_filled(cx, step, filled);
            }
            Outcome::Flushed { filled, rewritten } => {
                if !(task.stolen && cx.config.has(Bug::StealerDrops)) {
                    self.store_filled(cx, step, filled);
                    self.store_contracted(cx, (step, partition), rewritten);
                }
                if !step.phase.stores() {
                    self.task = Some(task);
                    self.gathered(cx, step);
                } else if let Some(owned) = self.owned.get_mut(&partition) {
                    owned.done();
                }
            }
            Outcome::Applied { made, filled } => {
                cx.counters.count(Path::AppliedInParts);
                self.worked.made += made;
                self.task = Some(task);
                self.store_filled(cx, step, filled);
            }
            Outcome::HandedOver(payload) => self.hand_over(cx, step, partition, payload),
            Outcome::Made { vertices, total, active } => {
                self.store_vertices(cx, step, partition, vertices);
                self.made.push(PartitionOutcome { partition, total, active });
                self.ingest.without_values = self.ingest.without_values.saturating_sub(1);
                if let Some(owned) = self.owned.get_mut(&partition) {
                    owned.done();
                }
            }
            Outcome::Merged | Outcome::Decided { .. } => {
                if task.stage == Stage::Interrupted {
                    task.stage = Stage::Streaming;
                }
                self.task = Some(task);
            }
        }
        if self.task.is_none() && self.waiting.is_empty() && step.phase != Phase::Ingest {
            // After each partition, own or stolen, all machines are asked anew.
            self.begin_round(cx);
        }
        self.advance(cx);
    }

    /// An engine has answered a pull: with a chunk, the time that it waited for others and the time
    /// that it took, or with nothing.
    pub(crate) fn pulled(
        &mut self,
        cx: &mut Context,
        from: Rank,
        pull: Pull,
        chunk: Option<(Block, Payload, [Time; 2])>,
        stock: &Stock,
    ) {
        let step = self.step();
        let Some(task) = &mut self.task else { return };
        if step != Some(pull.step) {
            return;
        }
        if pull.lists && task.partition == pull.cell.partition {
            task.holders.note_cells(from, &stock.cells);
        }
        if let Some(left) = stock.left
            && let Some(owned) = self.owned.get_mut(&pull.cell.partition)
        {
            owned.note_bytes(from, left);
        }
        task.taken += chunk.as_ref().map_or(0, |(block, ..)| u64::from(block.records));
        let Some(pulls) = task.pulls_of(pull.cell) else { return };
        match chunk {
            Some((block, payload, served)) => {
                self.window.measured(cx.now - pull.sent, served, !pulls.has_next());
                pulls.chunk(from, (block, payload), stock.more);
            }
            None => pulls.none(cx, from),
        }
        self.advance(cx);
    }

    pub(crate) fn degrees(
        &mut self,
        cx: &mut Context,
        from: Rank,
        partition: u32,
        payload: Payload,
    ) {
        self.ingest.degrees(from, partition, payload);
        self.advance(cx);
    }
}
