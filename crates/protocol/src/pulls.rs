//! The input of a partition or cell as a computation engine sees it (Chaos, sections 6.3 and 6.5):
//! chunks from anywhere, until no engine has one.
//!
//! ```text
//! engines = open + asked + said "none"           disjoint
//! ended  <=>  all engines said "none", and every chunk that came was streamed
//! said "none" of a cell: with the last chunk, instead of one, or with what else it has (`holders`)
//! asked <= places.asked          asked + waiting <= places.all          of all cells together
//! ```
//!
//! **Invariant:** one pull at a time is open at an engine. A "none" holds for the rest of the step:
//! nothing is added to what a step streams once it has begun. Asserted in `Pulls::ask` and
//! `ChunkSet::add`. (A directory may say that an engine has several.)

use std::collections::VecDeque;

use crate::context::Context;
use crate::counters::Path;
use crate::holders::Holders;
use crate::ids::{Block, Cell, Rank, Step};
use crate::messages::{Message, Pull};
use crate::payload::Payload;
use crate::placement::Placement;
use crate::planted::Bug;
use crate::window::{Places, draw};

/// Pulls of one engine for one partition or cell.
#[derive(Default)]
pub(crate) struct Pulls {
    /// Iterations that made the edges that are pulled.
    generation: u32,
    open: Vec<Rank>,
    asked: Vec<Rank>,
    waiting: VecDeque<(Block, Payload)>,
    directory: Option<Finding>,
}

/// Question to a directory, where there is one.
#[derive(Default)]
struct Finding {
    asked: usize,
    /// Engines that said "none".
    none: Vec<Rank>,
    /// No engine has any.
    ended: bool,
}

impl Pulls {
    pub(crate) fn of_all(cx: &Context, generation: u32) -> Self {
        let directory = cx.config.placement == Placement::Directory;
        let open = if directory { Vec::new() } else { (0..cx.machines()).collect() };
        let directory = directory.then(Finding::default);
        Self { generation, open, directory, ..Self::default() }
    }

    /// Of a cell of these sources: engines that have reported that they have no chunk of it are not
    /// asked.
    pub(crate) fn of(cx: &mut Context, generation: u32, holders: &Holders, source: u32) -> Self {
        if cx.config.placement == Placement::Directory {
            return Self::of_all(cx, generation);
        }
        let open = holders.of(source);
        if open.len() < cx.machines() {
            cx.counters.count(Path::NotAsked);
        }
        Self { generation, open, ..Self::default() }
    }

    /// Asks as many engines as there are places for, which other cells have left.
    pub(crate) fn fill(
        &mut self,
        cx: &mut Context,
        places: Places,
        (step, cell, active): (Step, Cell, u64),
        holders: &Holders,
    ) {
        while self.left_of(places).asked > 0
            && let Some(directory) = self.directory.as_mut().filter(|directory| !directory.ended)
        {
            directory.asked += 1;
            cx.counters.count(Path::Directed);
            let none = directory.none.clone();
            cx.send(0, Message::Find { step, cell, none });
        }
        while !self.open.is_empty() && self.left_of(places).asked > 0 {
            let engine = draw(&mut self.open, &mut cx.random);
            if cell.source.is_some_and(|source| !holders.may_have(engine, source)) {
                continue;
            }
            let lists = cell.source.is_some() && holders.is_unlisted(engine);
            self.ask(cx, engine, (step, cell, active), lists);
        }
    }

    /// Places that are left for other cells.
    pub(crate) fn left_of(&self, places: Places) -> Places {
        let finding = self.directory.as_ref().map_or(0, |directory| directory.asked);
        places.left(self.asked.len() + finding, self.waiting.len())
    }

    /// Whether all engines that can be asked are asked already.
    pub(crate) fn all_asked(&self) -> bool {
        self.open.is_empty() && self.directory.as_ref().is_none_or(|directory| directory.ended)
    }

    fn ask(
        &mut self,
        cx: &mut Context,
        engine: Rank,
        (step, cell, active): (Step, Cell, u64),
        lists: bool,
    ) {
        let again = self.directory.is_none() && self.asked.contains(&engine);
        assert!(!again, "one pull is open at an engine");
        let generation = self.generation;
        let pull = Pull { step, cell, generation, active, sent: cx.now, lists };
        self.asked.push(engine);
        cx.send(engine, Message::Pull(pull));
    }

    /// The directory has answered.
    pub(crate) fn found(
        &mut self,
        cx: &mut Context,
        engine: Option<Rank>,
        what: (Step, Cell, u64),
    ) {
        let Some(directory) = &mut self.directory else { return };
        directory.asked = directory.asked.saturating_sub(1);
        match engine {
            Some(engine) => self.ask(cx, engine, what, false),
            None => directory.ended = true,
        }
    }

    /// Whether an engine was asked, and has answered now.
    fn answered(&mut self, engine: Rank) -> bool {
        let place = self.asked.iter().position(|asked| *asked == engine);
        place.map(|place| self.asked.swap_remove(place)).is_some()
    }

    /// A chunk has come from an engine that has more of them, or not.
    pub(crate) fn chunk(&mut self, engine: Rank, chunk: (Block, Payload), more: bool) {
        if self.answered(engine) && self.directory.is_none() && more {
            self.open.push(engine);
        }
        self.waiting.push_back(chunk);
    }

    /// Asks no further engine. Chunks that were asked for still come.
    pub(crate) fn stop(&mut self) {
        self.open.clear();
        if let Some(directory) = &mut self.directory {
            directory.ended = true;
        }
    }

    /// An engine has none.
    pub(crate) fn none(&mut self, cx: &Context, engine: Rank) {
        self.answered(engine);
        if let Some(directory) = &mut self.directory {
            directory.none.push(engine);
        }
        if cx.config.has(Bug::FirstNoneEnds) {
            self.open.clear();
        }
    }

    /// Whether there is a chunk to stream.
    pub(crate) fn has_next(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The next chunk to stream.
    pub(crate) fn next(&mut self) -> Option<(Block, Payload)> {
        self.waiting.pop_front()
    }

    pub(crate) fn ended(&self) -> bool {
        let is_answered =
            self.directory.as_ref().is_none_or(|found| found.ended && found.asked == 0);
        is_answered && self.open.is_empty() && self.asked.is_empty() && self.waiting.is_empty()
    }
}
