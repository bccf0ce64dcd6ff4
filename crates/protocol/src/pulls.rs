//! The input of a partition or cell as a computation engine sees it (Chaos, sections 6.3 and 6.5):
//! chunks from anywhere, until no engine has one.
//!
//! ```text
//! engines = open + { e : asked(e) > 0 } + said "none"      open: disjoint from both others
//! ended  <=>  all engines said "none", every pull is answered, and every chunk that came was
//!             streamed
//! said "none" of a cell: with the last chunk, instead of one, or with what else it has (`holders`)
//! asked(e) <= places.each
//! asked <= places.asked                             of all cells together
//! asked + waiting <= places.all                     of a cell, and of those before it when it asks
//! ```
//!
//! Cells that come next are asked for when all that can be asked are for the ones before. A first
//! answer may then say that an engine has more, and open several pulls in place of one: pulls that
//! are open for later cells leave fewer places ([`Places::beside`]).
//!
//! Several pulls are open at an engine only when there is none left at which no pull is, and only
//! where the engine has said that it has more ([`crate::window`]). It answers at once those for
//! which it has no chunk left.
//!
//! **Invariant:** at an engine there are no more pulls open than places for them. Asserted in
//! `Pulls::fill`; checked by the simulator in `OpenPulls::effect`. (A directory may say that an
//! engine has several.)
//!
//! **Invariant:** each pull has an answer of its own. A "none" holds for the rest of the step:
//! nothing is added to what a step streams once it has begun. But other pulls that are open at that
//! engine may still be answered by chunks. Asserted in `ChunkSet::add`; checked by the simulator in
//! `ExactlyOnce::work`. Tested by `an_engine_that_says_none_owes_the_other_answers`.

use std::collections::{BTreeMap, VecDeque};

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
    /// Engines that may have a chunk, and at which no pull is open.
    open: Vec<Rank>,
    /// Engines at which pulls are open, each as often as there are.
    asked: Vec<Rank>,
    /// Engines that have said whether they have more: not those that a directory names.
    have_more: BTreeMap<Rank, bool>,
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

    /// Asks engines as often as there are places for, which cells before and after have left.
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
        while self.left_of(places).asked > 0
            && let Some(engine) = self.draw(cx, places.each)
        {
            if cell.source.is_some_and(|source| !holders.may_have(engine, source)) {
                self.have_more.insert(engine, false);
                continue;
            }
            let open = self.asked_at(engine);
            assert!(open < places.each, "no more pulls are open at an engine than may be");
            if open > 0 {
                cx.counters.count(Path::AskedAgain);
            }
            let lists = cell.source.is_some() && holders.is_unlisted(engine);
            self.ask(cx, engine, (step, cell, active), lists);
        }
    }

    /// An engine that can be asked: any at which no pull is open, or, where there is none, one of
    /// those that have more and have the fewest open, `each` at most.
    fn draw(&mut self, cx: &mut Context, each: usize) -> Option<Rank> {
        if !self.open.is_empty() {
            return Some(draw(&mut self.open, &mut cx.random));
        }
        if each <= 1 {
            return None;
        }
        let having = self.have_more.iter().filter(|(_, has)| **has);
        let having = having.map(|(engine, _)| (self.asked_at(*engine), *engine));
        let having: Vec<(usize, Rank)> = having.filter(|(asked, _)| *asked < each).collect();
        let fewest = having.iter().map(|(asked, _)| *asked).min()?;
        let engines = having.into_iter().filter(|(asked, _)| *asked == fewest);
        let engines: Vec<Rank> = engines.map(|(_, engine)| engine).collect();
        Some(*cx.random.pick(&engines))
    }

    /// Number of pulls that are open at an engine.
    fn asked_at(&self, engine: Rank) -> usize {
        self.asked.iter().filter(|asked| **asked == engine).count()
    }

    /// Number of pulls that are open, and of questions to a directory that lead to one.
    pub(crate) fn under_way(&self) -> usize {
        self.asked.len() + self.directory.as_ref().map_or(0, |directory| directory.asked)
    }

    /// Places that are left for cells that come next.
    pub(crate) fn left_of(&self, places: Places) -> Places {
        places.left(self.under_way(), self.waiting.len())
    }

    /// Whether all engines that can be asked are asked already: where places are left, as often as
    /// they may be.
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

    /// Whether an engine was asked, and has answered one of its pulls now.
    fn answered(&mut self, engine: Rank) -> bool {
        let place = self.asked.iter().position(|asked| *asked == engine);
        place.map(|place| self.asked.swap_remove(place)).is_some()
    }

    /// A chunk has come from an engine that has more of them, or not. Of answers to several pulls
    /// one that says so may be older than one that says that none is left, which holds.
    pub(crate) fn chunk(&mut self, engine: Rank, chunk: (Block, Payload), more: bool) {
        if self.answered(engine) && self.directory.is_none() {
            let has = self.have_more.entry(engine).or_insert(more);
            *has &= more;
            if *has && !self.asked.contains(&engine) {
                self.open.push(engine);
            }
        }
        self.waiting.push_back(chunk);
    }

    /// Asks no further engine. Chunks that were asked for still come.
    pub(crate) fn stop(&mut self) {
        self.open.clear();
        self.have_more.clear();
        if let Some(directory) = &mut self.directory {
            directory.ended = true;
        }
    }

    /// An engine has none.
    pub(crate) fn none(&mut self, cx: &Context, engine: Rank) {
        if cx.config.has(Bug::NoneForAll) {
            self.asked.retain(|asked| *asked != engine);
        }
        self.answered(engine);
        match &mut self.directory {
            Some(directory) => directory.none.push(engine),
            None => {
                self.have_more.insert(engine, false);
            }
        }
        if cx.config.has(Bug::FirstNoneEnds) {
            self.open.clear();
            self.have_more.clear();
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::config::of_two;
    use crate::ids::{BlockName, Phase};
    use crate::messages::{Effect, Envelope};

    const STEP: Step = Step { iteration: 0, phase: Phase::Scatter };

    fn context() -> Context {
        Context::new(Arc::new(of_two()), 0, 1)
    }

    fn chunk() -> (Block, Payload) {
        (Block::of(BlockName::of_edges(1), 1, 1, &Payload::default()), Payload::default())
    }

    /// Fills places, and says which machines were asked.
    fn fill(cx: &mut Context, pulls: &mut Pulls, places: Places) -> Vec<Rank> {
        pulls.fill(cx, places, (STEP, Cell::all(0), 1), &Holders::default());
        let own = std::mem::take(&mut cx.local).into_iter();
        let own = own.filter(|message| matches!(message, Message::Pull(_))).map(|_| 0);
        let sent = |effect| match effect {
            Effect::Send(Envelope { to, message: Message::Pull(_), .. }) => Some(to),
            _ => None,
        };
        own.chain(std::mem::take(&mut cx.effects).into_iter().filter_map(sent)).collect()
    }

    #[test]
    fn engines_that_have_more_are_asked_again_up_to_their_bound() {
        // (places at an engine, places in all) -> pulls at first, and when both have said "more"
        for ((each, asked), (first, then)) in [
            ((1, 1), (1, 1)),
            ((1, 2), (2, 2)),
            ((1, 9), (2, 2)),
            ((2, 1), (1, 1)),
            ((2, 2), (2, 2)),
            ((2, 3), (2, 3)),
            ((2, 4), (2, 4)),
            ((2, 9), (2, 4)),
            ((3, 5), (2, 5)),
            ((3, 9), (2, 6)),
        ] {
            let what = format!("{each} at an engine, {asked} in all");
            let (mut cx, mut pulls) = (context(), Pulls::of_all(&context(), 0));
            let places = Places { asked, all: 99, each };
            let once = fill(&mut cx, &mut pulls, places);
            assert_eq!(once.len(), first, "none has said that it has more: {what}");
            assert!(once.iter().all(|engine| pulls.asked_at(*engine) == 1), "{what}");
            assert!(fill(&mut cx, &mut pulls, places).is_empty(), "nothing has come: {what}");
            for engine in &once {
                pulls.chunk(*engine, chunk(), true);
            }
            let again = fill(&mut cx, &mut pulls, places);
            assert_eq!(again.len(), then, "{what}");
            let open = [0, 1].map(|engine| pulls.asked_at(engine));
            assert!(open[0].abs_diff(open[1]) <= 1, "those with the fewest come first: {open:?}");
            let twice = open.iter().map(|open| open.saturating_sub(1)).sum::<usize>();
            assert_eq!(cx.counters.get(Path::AskedAgain), twice as u64, "{what}");
        }
    }

    #[test]
    fn chunks_that_wait_leave_no_place_for_other_pulls() {
        // Places of chunks that come or wait -> pulls beside two chunks that wait
        for (all, expected) in [(2, 0), (3, 1), (5, 3), (9, 6)] {
            let (mut cx, mut pulls) = (context(), Pulls::of_all(&context(), 0));
            let places = Places { asked: 6, all, each: 3 };
            for engine in fill(&mut cx, &mut pulls, places) {
                pulls.chunk(engine, chunk(), true);
            }
            assert_eq!(fill(&mut cx, &mut pulls, places).len(), expected, "{all} places");
        }
    }

    #[test]
    fn an_engine_that_says_none_owes_the_other_answers() {
        let (mut cx, mut pulls) = (context(), Pulls::of_all(&context(), 0));
        let places = Places { asked: 9, all: 99, each: 3 };
        assert_eq!(fill(&mut cx, &mut pulls, places).len(), 2);
        pulls.none(&cx, 0);
        pulls.chunk(1, chunk(), true);
        assert_eq!(fill(&mut cx, &mut pulls, places), [1, 1, 1]);
        // The second pull finds nothing left while the disk is at the chunk of the first one.
        pulls.none(&cx, 1);
        while pulls.next().is_some() {}
        assert!(!pulls.ended(), "two pulls have no answer");
        // Its answer was under way longer, and there was another chunk when it was given.
        pulls.chunk(1, chunk(), true);
        assert!(fill(&mut cx, &mut pulls, places).is_empty(), "none is left since");
        assert!(pulls.next().is_some() && !pulls.ended(), "one pull has no answer");
        pulls.chunk(1, chunk(), false);
        assert!(fill(&mut cx, &mut pulls, places).is_empty() && !pulls.ended(), "a chunk waits");
        assert!(pulls.next().is_some() && pulls.ended());
    }
}
