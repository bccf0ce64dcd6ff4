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
mod order;
mod resume;
mod show;
mod stale;

use std::cell::{Cell, RefCell};
use std::sync::Mutex;

use welter_model::edges::Pair;
use welter_model::program::Value;
use welter_model::stream::{Again, Edge, Known, Next, Seen, Stream};
use welter_progress::{Phase, Progress, Unit};

use self::contracted::Contracted;
use self::order::Share;
use self::show::{Newer, Writes};
use self::stale::Stale;
use crate::EngineError;
use crate::columns::results::Values;
use crate::edges::graph::Graph;
use crate::kernels::kernel::Scratch;
use crate::machine::affinity::OwnCores;
use crate::machine::arena::Buffer;
use crate::machine::sync::lock;
use crate::machine::workers::Workers;
use crate::schedules::limit::check_limit;

pub use self::resume::pass_resumable;

pub(crate) use self::learnt::{Learnt, add_up, check};

/// Cells that are made or settled in one task.
pub(crate) const CELLS: usize = 1 << 16;

/// Bytes that an edge takes while all that are left are handed over: its ends in lists that grow
/// and are joined, and what a program makes of them.
pub(crate) const REST_BYTES: u64 = 64;

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

/// Edges that are read instead of the graph, or of an older generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generation {
    /// How many.
    pub edges: u64,
    /// Of contracted ones, edges that were still news and are not among these, because better ones
    /// lie between the same two components; `None` where edges are as they were.
    pub parallel: Option<u64>,
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

/// A stream program at work.
struct Run<'a, S: Stream> {
    graph: &'a Graph,
    program: &'a S,
    workers: &'a Workers,
    progress: &'a Progress,
    phase: &'a Phase,
    learnt: Learnt<S>,
    hands: Mutex<Vec<Hand>>,
    stale: Stale,
    /// Graph that is read instead of the first one, once few of its edges can be news.
    newer: Option<Graph>,
    /// Links that are read instead of both, once few of them are not parallel.
    contracted: Option<Contracted>,
    /// All of these that there were.
    left: Vec<Generation>,
    /// Whether a few edges were shown, and not yet the others.
    begun: bool,
    passes: u64,
}

/// Tools that a worker needs beside chunks.
struct Hand {
    scratch: Scratch,
    /// Counts of the edges that it has seen in a step.
    seen: Seen<()>,
    /// Edges that it found for the rest.
    rest: Vec<Pair>,
    /// Edges of a chunk that are left.
    found: Vec<(u32, u32, f64)>,
}

impl<'a, S: Stream> Run<'a, S> {
    fn new(
        graph: &'a Graph,
        program: &'a S,
        workers: &'a Workers,
        (progress, phase): (&'a Progress, &'a Phase),
    ) -> Result<Self, EngineError> {
        // A damaged key names some place of the state and none outside it.
        let places =
            graph.vertices() + (graph.signal_padding() as u64).max(1 << graph.layout.stripe_bits);
        let degree = |place: u32| graph.degrees.get(place as usize).copied().unwrap_or(0);
        let learnt = Learnt::new(program, places as usize, degree, (workers, progress))?;
        let hand = || Hand {
            scratch: Scratch::new(),
            seen: Seen::default(),
            rest: Vec::new(),
            found: Vec::new(),
        };
        Ok(Self {
            graph,
            program,
            workers,
            progress,
            phase,
            learnt,
            hands: Mutex::new((0..workers.threads()).map(|_| hand()).collect()),
            stale: Stale::new(graph),
            newer: None,
            contracted: None,
            left: Vec::new(),
            begun: false,
            passes: 0,
        })
    }

    /// Does what comes next, to the end. `passed` hears of the end of each pass, and of what comes
    /// then.
    fn go(
        mut self,
        mut next: Next<S::Step>,
        mut passed: impl FnMut(&Self, Next<S::Step>) -> Result<(), EngineError>,
    ) -> Result<Passed<S::Value>, EngineError> {
        let _own_cores = OwnCores::new(self.workers, self.graph.is_streamed());
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

    fn known(&self) -> Known<'_, S> {
        self.learnt.known()
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

    /// The graph that passes read.
    fn edges(&self) -> &Graph {
        self.newer.as_ref().unwrap_or(self.graph)
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

    /// Counts of all workers since they were asked last.
    fn seen(&self) -> Seen<S::Total> {
        let room = self.graph.free_bytes() / REST_BYTES;
        add_up(lock(&self.hands).iter_mut().map(|hand| &mut hand.seen), room)
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

/// Sets every element of a column.
pub(crate) fn fill<T: Send>(
    column: &mut [T],
    workers: &Workers,
    progress: &Progress,
    value: impl Fn(u32) -> T + Sync,
) -> Result<(), EngineError> {
    let parts: Vec<Mutex<&mut [T]>> = column.chunks_mut(CELLS).map(Mutex::new).collect();
    workers.tasks(parts.len(), progress, &workers.states(|| Ok(()))?, |(), task| {
        for (place, element) in lock(&parts[task]).iter_mut().enumerate() {
            *element = value((task * CELLS + place) as u32);
        }
        Ok(())
    })
}
