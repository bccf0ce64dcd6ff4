//! Work on one partition: loading its vertex set, and the cells that are streamed for it.
//!
//! ```text
//! cells(p) = spill, scatter   (p, -)           gather (p, -)      split (p, -)
//!            fold             (p, s) for each s with an active vertex; likewise in the scatter of
//!                             programs that rewrite edges, because these see both their ends
//! ```
//!
//! With cells a machine needs accumulators of one partition and signals of one other at a
//! time. Masters take cells in order from their own on, stealers in random order, so that they meet
//! late; who finds nothing left in a cell does not load its sources.
//!
//! When all engines are asked for what is left of a cell, those that have more as often as may be
//! ([`crate::window::PullBounds`]), chunks of the next ones are pulled too, of as many cells as the
//! window has room for: on many machines a cell has few chunks. The first that comes of the very
//! next one makes that its signals are asked for: else disks would have nothing to do at the end of
//! each cell until all engines have said "none" and a vertex set has come. So a machine holds
//! signals of one cell and the vertex set of another, at most.
//!
//! **Invariant:** a chunk is asked for only while there is a place for it, of all cells:
//!
//! ```text
//! sum of asked(cell) < places.asked          sum of asked(cell) + waiting(cell) < places.all
//! ```
//!
//! Tested by `the_next_cell_is_asked_for_when_all_are_for_the_one_at_work` and
//! `cells_have_more_places_and_chunks_that_wait_leave_theirs`.
//! **Invariant:** chunks of a vertex set that were asked for and have not come are as many as pulls
//! by cells may be, and no more than machines: `|asked| <= Window::of_sets`.
//! Tested by `vertex_sets_are_asked_for_by_the_window`;
//! checked by the simulator in `Windows::effect`.
//! **Invariant:** a machine that helps where updates are kept takes no further chunk once it has as
//! many as it may hand over: `taken < helped_updates_max + records of one chunk`. Checked in
//! `ComputationEngine::fill`. Tested by `who_helps_takes_no_more_than_it_may_hand_over`.
//! **Invariant:** a chunk is streamed only when the signals of its sources are in memory. Asserted
//! in `ComputationEngine::stream`.
//! **Invariant:** a cell is left out only if no source in it is active; storage engines prove that
//! at the barrier, from what they have ([`crate::audit`]). Checked in `audit`. Tested by
//! `only_cells_of_active_sources_are_asked_for_and_loaded`.

use std::collections::VecDeque;

use super::ComputationEngine;
use super::task::{Ahead, Stage, Task};
use crate::checkpoint::vertices;
use crate::context::Context;
use crate::counters::Path;
use crate::holders::Holders;
use crate::ids::{BlockName, Cell, Kind, Phase, Rank, Step};
use crate::messages::Message;
use crate::payload::Payload;
use crate::placement::{Placement, vertex_engine};
use crate::planted::Bug;
use crate::pulls::Pulls;
use crate::rewriting::by_cells;
use crate::window::Places;
use crate::work::Work;

impl ComputationEngine {
    /// Ranges of a partition that have active vertices.
    fn active(&self, partition: u32) -> u64 {
        self.begin.as_ref().map_or(0, |begin| begin.active_of(partition))
    }

    /// Iterations that made the edges which this step streams.
    fn generation(&self) -> u32 {
        self.begin.as_ref().map_or(0, |begin| begin.generation.iteration)
    }

    pub(super) fn is_active(&self, partition: u32) -> bool {
        self.active(partition) != 0
    }

    /// Takes up a partition.
    pub(super) fn take_up(&mut self, cx: &mut Context, partition: u32, stolen: bool) {
        let Some(begin) = &self.begin else { return };
        let phase = begin.step.phase;
        let mut task = Task::new(partition, stolen, Stage::Loading);
        if stolen {
            let scatter = phase.stores();
            cx.counters.count(if scatter { Path::StolenScatter } else { Path::StolenGather });
        }
        if by_cells(&cx.config, phase) {
            task.cells = self.cells(cx, partition, stolen);
            task.holders = Holders::of_all(cx);
        }
        self.task = Some(task);
        // Values are for who applies, and signals of sources come by cells.
        let applies_not = stolen && phase == Phase::Fold && !cx.config.rewrites();
        if applies_not || phase == Phase::Split {
            self.loaded(cx);
        } else {
            self.load(cx, partition);
        }
    }

    /// Source partitions with active vertices, in the order in which this engine takes them.
    fn cells(&mut self, cx: &mut Context, partition: u32, stolen: bool) -> VecDeque<u32> {
        let count = cx.config.partitions.count();
        let all = (0..count).map(|place| (partition + place) % count);
        let (mut active, idle): (Vec<u32>, Vec<u32>) = all.partition(|&one| self.is_active(one));
        for _ in idle {
            cx.counters.count(Path::Skipped);
        }
        if cx.config.has(Bug::CellSkipped) && cx.random.chance(20) {
            active.pop();
        }
        if stolen {
            cx.random.shuffle(&mut active);
        }
        active.into()
    }

    fn load(&mut self, cx: &mut Context, of: u32) {
        let (Some(task), Some(begin)) = (&mut self.task, &self.begin) else { return };
        let (made, version) = (begin.made, begin.step.iteration);
        let chunks = 0..cx.config.vertex_chunks(of);
        task.unasked = chunks.map(|chunk| vertices(made, version, of, chunk)).collect();
        task.loading = task.unasked.iter().map(|name| (*name, None)).collect();
        if task.unasked.len() > self.window.of_sets() {
            cx.counters.count(Path::SetInParts);
        }
        self.ask_for_vertices(cx);
    }

    /// Asks for as many chunks of the vertex set as the window allows.
    fn ask_for_vertices(&mut self, cx: &mut Context) {
        let Some(task) = &mut self.task else { return };
        while task.asked < self.window.of_sets() || cx.config.has(Bug::SetsUnbounded) {
            let Some(name) = task.unasked.pop_front() else { return };
            task.asked += 1;
            if cx.config.placement == Placement::Directory {
                cx.counters.count(Path::VerticesDirected);
                cx.send(0, Message::Place(name));
                continue;
            }
            let engine = vertex_engine(cx.machines(), name.partition, name.number);
            cx.send(engine, Message::Get(name));
        }
    }

    /// Loads the sources of the cell at work, of which a chunk has come.
    pub(super) fn load_signals(&mut self, cx: &mut Context) {
        let Some(task) = &mut self.task else { return };
        task.stage = Stage::Turning;
        let of = task.cell().sources();
        self.load(cx, of);
    }

    /// A named block has come: vertices, or stored accumulators.
    pub(crate) fn got(&mut self, cx: &mut Context, name: BlockName, payload: Payload) {
        if name.kind == Kind::Accumulators {
            return self.accumulators(cx, name.maker(), name.partition, payload);
        }
        let Some(task) = &mut self.task else { return };
        let Some(place) = task.loading.get_mut(&name) else { return };
        if place.replace(payload).is_none() {
            task.asked -= 1;
            self.ask_for_vertices(cx);
        }
        let Some(task) = &mut self.task else { return };
        // The set of the next cell waits until the cell at work has ended.
        if task.is_loaded() && matches!(task.stage, Stage::Loading | Stage::Turning) {
            self.loaded(cx);
        }
    }

    /// All that was to be loaded is there.
    fn loaded(&mut self, cx: &mut Context) {
        let (Some(task), Some(begin)) = (&mut self.task, &self.begin) else { return };
        let vertices = std::mem::take(&mut task.loading).into_values().flatten().collect();
        let work = if let Some(source) = task.source {
            Work::Turn { source, vertices }
        } else {
            task.stage = Stage::Opening;
            let (step, partition, control) = (begin.step, task.partition, begin.control.clone());
            Work::Open { step, partition, vertices, control }
        };
        self.working = Some(cx.work(work));
    }

    /// Asks for chunks of the cell at work, and of those that come next where all are asked for
    /// what is left of the ones before; and for the signals of the next one when it has a chunk.
    pub(super) fn fill(&mut self, cx: &mut Context, step: Step) {
        let generation = self.generation();
        let Some(task) = &mut self.task else { return };
        let what = (step, task.cell(), task.active);
        let most = cx.config.helped_updates_max();
        let is_bounded = task.stolen && !step.phase.stores() && most < u64::MAX;
        if is_bounded && task.taken >= most {
            task.stop();
        }
        let mut places =
            if is_bounded { Places::ONE } else { self.window.places(task.source.is_some()) };
        if cx.config.has(Bug::PullsUnbounded) {
            places = places.too_many();
        }
        let later = task.asked_after(0);
        task.pulls.fill(cx, places.beside(later), what, &task.holders);
        let (mut left, mut all_asked) = (task.pulls.left_of(places), task.pulls.all_asked());
        let mut place = 0;
        while all_asked && left.asked > 0 {
            if place == task.ahead.len() {
                let Some(source) = task.cells.pop_front() else { break };
                let active = self.begin.as_ref().map_or(0, |begin| begin.active_of(source));
                let pulls = Pulls::of(cx, generation, &task.holders, source);
                task.ahead.push_back(Ahead { source, active, pulls, loads: false });
                cx.counters.count(if place == 0 { Path::LookedAhead } else { Path::LookedFar });
            }
            let later = task.asked_after(place + 1);
            let Ahead { source, active, pulls, .. } = &mut task.ahead[place];
            let cell = Cell { partition: task.partition, source: Some(*source) };
            pulls.fill(cx, left.beside(later), (step, cell, *active), &task.holders);
            (left, all_asked) = (pulls.left_of(left), pulls.all_asked());
            place += 1;
        }
        if task.turned
            && let Some(next) = task.ahead.front_mut()
            && next.pulls.has_next()
            && !next.loads
        {
            next.loads = true;
            let source = next.source;
            self.load(cx, source);
        }
    }

    /// A directory has said who has a chunk.
    pub(crate) fn found(
        &mut self,
        cx: &mut Context,
        (step, cell): (Step, Cell),
        engine: Option<Rank>,
    ) {
        let at_work = self.step() == Some(step);
        let Some(task) = &mut self.task else { return };
        let ahead = task.ahead.iter().find(|ahead| Some(ahead.source) == cell.source);
        let active = match ahead {
            Some(ahead) if task.cell() != cell => ahead.active,
            _ => task.active,
        };
        if at_work && let Some(pulls) = task.pulls_of(cell) {
            pulls.found(cx, engine, (step, cell, active));
            self.advance(cx);
        }
    }

    /// Turns to the cell of which chunks were asked for already. False where there is none.
    fn turn_ahead(&mut self, cx: &mut Context) -> bool {
        let Some(task) = &mut self.task else { return false };
        let Some(Ahead { source, active, pulls, loads }) = task.ahead.pop_front() else {
            return false;
        };
        (task.source, task.active, task.pulls, task.turned) = (Some(source), active, pulls, false);
        task.stage = if loads { Stage::Turning } else { Stage::Streaming };
        if loads && task.is_loaded() {
            self.loaded(cx);
        }
        true
    }

    /// Turns to the next cell, if there is one.
    pub(super) fn next_cell(&mut self, cx: &mut Context, step: Step) {
        if self.turn_ahead(cx) {
            return;
        }
        let of_sources = |task: &Task| self.active(task.cell().sources());
        let Some(task) = &self.task else { return };
        let first = task.stage == Stage::Opening;
        let active = match step.phase {
            Phase::Split | Phase::Gather => first.then_some(u64::MAX),
            phase if by_cells(&cx.config, phase) => {
                task.cells.front().map(|&source| self.active(source))
            }
            _ => first.then(|| of_sources(task)),
        };
        let Some(active) = active else { return self.input_ended(cx, step) };
        let generation = self.generation();
        let Some(task) = &mut self.task else { return };
        task.source = task.cells.pop_front();
        task.turned = false;
        task.active = active;
        task.pulls = match task.source {
            Some(source) => Pulls::of(cx, generation, &task.holders, source),
            None => Pulls::of_all(cx, generation),
        };
        task.stage = Stage::Streaming;
    }
}
