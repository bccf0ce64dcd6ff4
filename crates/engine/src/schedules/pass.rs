//! Passes over all edges, for stream programs.
//!
//! A task is a stripe, so what a thread learns of targets stays in its second-level cache. Steps
//! whose edges have no order begin each stripe at another place of its list: sources are
//! everybody's, and were all to begin with the first ones, threads would write the same lines, one
//! after the other. A program may want to see a few edges of each vertex first, those of the same
//! few sources in all stripes, so that it can tidy up before it sees the others.
//!
//! Steps that hand on what changed sweep over the edges, up and down in turns: what one vertex
//! learns the next one hears of in the same pass, wherever ids tell who is near whom.
//!
//! Components of R-MAT scrambled 22 with 2 threads, in an early form: 245 ms without either (137
//! with one thread), 165 with the turned order, 63 with a few edges first as well (113). With a
//! 32nd or an eighth of the edges first instead of a sixteenth it took 80 and 87; letting each
//! stripe first spread the smallest number along its own edges, without joining anything, 64 to 77.
//! First edges from about the diagonal instead of the same sources made 24 million edges news on
//! R-MAT scrambled 24 instead of 10 million, of 8.9 million vertices.

mod contract;
mod contracted;
mod learnt;
mod left;
mod links;
mod order;
mod resume;
mod run;
mod show;
mod stale;

use std::cell::{Cell, RefCell};

use welter_model::program::Value;
use welter_model::stream::{Again, Edge, Next, Seen, Stream};
use welter_progress::{Progress, Unit};

use self::learnt::fill;
use self::order::Share;
use self::run::Run;
use self::show::{Newer, Writes};
use self::stale::Stale;
use crate::EngineError;
use crate::columns::results::Values;
use crate::edges::graph::Graph;
use crate::machine::affinity::PinnedWorkers;
use crate::machine::arena::Buffer;
use crate::machine::sync::lock;
use crate::machine::workers::Workers;
use crate::schedules::limit::check_limit;

pub use self::resume::pass_resumable;
pub use self::run::Generation;

pub(crate) use self::learnt::{CELLS, Learnt, add_up, check};
pub(crate) use self::run::REST_BYTES;

/// Outcome of a stream program.
#[derive(Debug)]
pub struct Passed<V: Value> {
    /// Values of all vertices, or of those that have a row ([`Value::LISTED`]).
    pub values: Values<V>,
    /// Passes over the edges that were made.
    pub passes: u64,
    /// Each generation that was made of the edges that were left.
    pub left: Vec<Generation>,
}

/// Runs a stream program.
///
/// # Errors
/// When memory runs out, a chunk is damaged, or the run is cancelled.
pub fn pass<S: Stream>(
    graph: &Graph,
    program: &S,
    workers: &Workers,
    progress: &Progress,
) -> Result<Passed<S::Value>, EngineError> {
    let edges = S::PASSES.map(|passes| passes * graph.edges());
    let phase = progress.phase("pass", Unit::Edges, edges);
    let run = Run::new(graph, program, workers, (progress, &phase))?;
    run.go(program.first(), |_, _| Ok(()))
}

impl<S: Stream> Run<'_, S> {
    /// Does what comes next, to the end. `passed` hears of the end of each pass, and of what comes
    /// then.
    fn go(
        mut self,
        mut next: Next<S::Step>,
        mut passed: impl FnMut(&Self, Next<S::Step>) -> Result<(), EngineError>,
    ) -> Result<Passed<S::Value>, EngineError> {
        let _own_cores = PinnedWorkers::new(self.workers, self.graph.is_streamed());
        loop {
            let passes = self.passes;
            let (step, seen) = match next {
                Next::Few(step) => (step, self.pass(step, true)?),
                Next::Pass(step) => (step, self.pass(step, false)?),
                Next::Settle(step) => (step, self.settle(step)?),
                Next::Rest(step) => (step, self.rest(step)?),
                Next::Stop => return self.end(),
            };
            check(self.program, step, &seen)?;
            next = self.program.next(step, &seen);
            if self.passes > passes {
                passed(&self, next)?;
            }
        }
    }

    /// Shows edges that may be news.
    fn pass(&mut self, step: S::Step, few: bool) -> Result<Seen<S::Total>, EngineError> {
        let share = match (few, self.begun) {
            (true, _) => Share::Few,
            (false, true) => Share::Others,
            (false, false) => Share::All,
        };
        if !few {
            self.begin_pass()?;
        }
        self.begun = few;
        let (program, known) = (self.program, self.known());
        let again = program.again(step);
        if let Some(contracted) = &self.contracted
            && again == Again::Never
        {
            let newer = self.pass_contracted(step, contracted)?.map(Newer::Links);
            return Ok(self.end_pass(newer));
        }
        let is_first = self.passes == 1;
        let writes = Writes {
            edges: !is_first && left::pays(self.edges(), share, again),
            links: !is_first && S::CONTRACTS && contract::pays(self.edges(), share, again),
        };
        let newer = self.each_chunk(step, (share, writes), |hand, part| {
            let (news, changes) = (Cell::new(0), Cell::new(0));
            let show = |source, target, weight| {
                let edge = Edge { source, target, weight };
                news.set(news.get() + 1);
                if program.edge(step, known, edge) {
                    changes.set(changes.get() + 1);
                    part.stale.change(edge, part.again);
                }
            };
            if part.is_written {
                let found = RefCell::new(&mut hand.found);
                part.sift(
                    program,
                    step,
                    known.cells,
                    &mut hand.scratch,
                    |source, target, weight| {
                        found.borrow_mut().push((source, target, weight));
                        show(source, target, weight);
                    },
                );
            } else {
                part.sift(program, step, known.cells, &mut hand.scratch, show);
            }
            hand.seen.changes += changes.get();
            news.get()
        })?;
        Ok(self.end_pass(newer))
    }

    /// Counts a pass, unless there were too many.
    fn begin_pass(&mut self) -> Result<(), EngineError> {
        check_limit(self.program.limit(), self.graph, self.passes)?;
        self.passes += 1;
        Ok(())
    }

    /// Goes over to what is newer.
    fn end_pass(&mut self, newer: Option<Newer>) -> Seen<S::Total> {
        self.stale.end_pass();
        match newer {
            Some(Newer::Edges(graph)) => {
                self.left.push(Generation { edges: graph.edges(), parallel: None });
                self.stale = Stale::new(&graph);
                self.newer = Some(*graph);
            }
            Some(Newer::Links(links)) => {
                let parallel = Some(links.parallel);
                self.left.push(Generation { edges: links.links, parallel });
                self.contracted = Some(links);
            }
            None => {}
        }
        self.seen()
    }

    /// Hands over the edges that are news.
    fn rest(&mut self, step: S::Step) -> Result<Seen<S::Total>, EngineError> {
        self.begin_pass()?;
        let (program, known) = (self.program, self.known());
        self.each_chunk(step, (Share::All, Writes::NOTHING), |hand, part| {
            let before = hand.rest.len();
            let rest = RefCell::new(&mut hand.rest);
            part.sift(program, step, known.cells, &mut hand.scratch, |source, target, _| {
                rest.borrow_mut().push([source, target]);
            });
            (hand.rest.len() - before) as u64
        })?;
        self.stale.end_pass();
        let mut edges = Vec::new();
        for hand in &mut *lock(&self.hands) {
            edges.append(&mut std::mem::take(&mut hand.rest));
        }
        program.rest(self.known(), edges);
        Ok(self.seen())
    }

    /// Lets all vertices be settled.
    fn settle(&mut self, step: S::Step) -> Result<Seen<S::Total>, EngineError> {
        let vertices = self.graph.vertices() as usize;
        let tools = (self.workers, self.progress);
        let total = self.learnt.settle(self.program, step, vertices, tools)?;
        self.stale.begin_anew();
        Ok(Seen { total, ..self.seen() })
    }

    /// The values.
    fn end(self) -> Result<Passed<S::Value>, EngineError> {
        let Self { graph, program, workers, progress, passes, .. } = self;
        drop((self.newer, self.contracted));
        let known = self.learnt.known();
        let mut values = Buffer::used(graph.vertices() as usize, &graph.arena)?;
        graph.arena.drop_columns();
        fill(&mut values, workers, progress, |vertex| program.value(known, vertex))?;
        let values = Values::resident(values).rows()?;
        Ok(Passed { values, passes, left: self.left })
    }
}
