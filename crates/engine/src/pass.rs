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

mod learnt;
mod left;
mod order;
mod resume;
mod stale;

use std::cell::{Cell, RefCell};
use std::sync::{Mutex, PoisonError};

use welter_model::edges::Pair;
use welter_model::program::Value;
use welter_model::stream::{Again, Edge, Known, Next, Seen, Stream};
use welter_progress::{Phase, Progress, Unit};
use welter_store::chunk::Chunk;

use self::left::{Left, Writer};
use self::order::{Order, Share};
use self::stale::Stale;
use crate::EngineError;
use crate::arena::Buffer;
use crate::graph::{Graph, Stripe};
use crate::kernel::{Coding, Scratch};
use crate::keys::Width;
use crate::read_ahead::ReadAhead;
use crate::results::Values;
use crate::sift::{Sides, sift_tile};
use crate::workers::{Workers, lock};

pub use self::resume::pass_resumable;

pub(crate) use self::learnt::{Learnt, add_up};
pub(crate) use self::left::WORKER_BYTES as LEFT_BYTES;

/// Cells that are made or settled in one task.
pub(crate) const CELLS: usize = 1 << 16;

/// Bytes that an edge takes while all that are left are handed over: its ends in lists that grow
/// and are joined, and what a program makes of them.
pub(crate) const REST_BYTES: u64 = 64;

/// What a stream program leaves.
#[derive(Debug)]
pub struct Passed<V: Value> {
    /// Values of all vertices, or of those that have a row ([`Value::LISTED`]).
    pub values: Values<V>,
    /// Passes over the edges that were made.
    pub passes: u64,
    /// Edges of each generation that was written of those that were left.
    pub left: Vec<u64>,
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
    /// What is read instead of the graph, once few of its edges can be news.
    newer: Option<Graph>,
    /// Edges of all that there were.
    left: Vec<u64>,
    /// Whether a few edges were shown, and not yet the others.
    begun: bool,
    passes: u64,
}

/// What a worker has in a pass.
struct Bench<'p> {
    chunks: ReadAhead<'p>,
    hand: Hand,
    /// What takes the edges that are left, where they are written.
    writer: Option<Writer<'p>>,
}

/// What it needs beside chunks.
struct Hand {
    scratch: Scratch,
    /// What it has seen in a step.
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
            graph.vertices() + (graph.signal_padding() as u64).max(1 << graph.plan.stripe_bits);
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
        loop {
            let passes = self.passes;
            let (step, seen) = match next {
                Next::Few(step) => (step, self.pass(step, true)?),
                Next::Pass(step) => (step, self.pass(step, false)?),
                Next::Settle(step) => (step, self.settle(step)?),
                Next::Rest(step) => (step, self.rest(step)?),
                Next::Stop => return self.end(),
            };
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
        self.begun = few;
        self.passes += u64::from(!few);
        let (program, known) = (self.program, self.known());
        let writes = self.passes > 1 && left::pays(self.edges(), share, program.again(step));
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
        self.stale.end_pass();
        if let Some(newer) = newer {
            self.stale = Stale::new(&newer);
            self.left.push(newer.edges());
            self.newer = Some(newer);
        }
        Ok(self.seen())
    }

    /// What passes read.
    fn edges(&self) -> &Graph {
        self.newer.as_ref().unwrap_or(self.graph)
    }

    /// Hands over the edges that are news.
    fn rest(&mut self, step: S::Step) -> Result<Seen<S::Total>, EngineError> {
        self.passes += 1;
        let (program, known) = (self.program, self.known());
        self.each_chunk(step, (Share::All, false), |hand, part| {
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

    /// Shows the chunks in which there may be news; `show` says how much there was. What is left is
    /// a new generation, if it was written.
    fn each_chunk(
        &self,
        step: S::Step,
        (share, writes): (Share, bool),
        show: impl Fn(&mut Hand, &Part<'_, '_>) -> u64 + Sync,
    ) -> Result<Option<Graph>, EngineError> {
        let (graph, stale) = (self.edges(), &self.stale);
        let again = self.program.again(step);
        let order = Order::new(graph, share, again, self.passes);
        let begin = || Left::begin(graph, self.workers, self.free_bytes());
        let left = if writes { begin()? } else { None };
        let keep = left.as_ref().map(Left::keep);
        let hands = std::mem::take(&mut *lock(&self.hands));
        let benches = hands.into_iter().map(|hand| {
            let written = left.as_ref().zip(keep.as_ref());
            let writer = written.map(|(left, keep)| Writer::new(left, keep, S::WEIGHTED));
            let (chunks, writer) = (ReadAhead::new(graph)?, writer.transpose()?);
            Ok(Mutex::new(Bench { chunks, hand, writer }))
        });
        let benches = benches.collect::<Result<Vec<_>, EngineError>>()?;
        self.workers.tasks_ahead(
            order.stripes.len(),
            self.progress,
            &benches,
            |Bench { chunks, hand, writer }, task, next| {
                let at = (order.stripes[task], next.map(|task| order.stripes[task]));
                let wants = |number| {
                    let wants = move |&chunk: &usize| stale.wants(graph, (number, chunk), again);
                    order.chunks(number).filter(wants)
                };
                let mut numbers = wants(at.0);
                chunks.stripe(at, wants, |stripe, chunk| {
                    let place = (at.0, numbers.next().unwrap_or_default());
                    let is_written = writer.is_some();
                    let order = &order;
                    let part =
                        Part { graph, stale, again, order, place, stripe, chunk, is_written };
                    let news = show(hand, &part);
                    stale.show(place, news, again);
                    let edges = part.chunk.edges();
                    hand.seen.looked += edges;
                    hand.seen.news += news;
                    self.phase.add(edges);
                    if let Some(writer) = writer {
                        let first = stripe.chunks[place.1].sources.start;
                        writer.chunk(part.chunk.label(), (first, edges), &hand.found)?;
                        hand.found.clear();
                    }
                    Ok(())
                })?;
                writer.as_mut().map_or(Ok(()), Writer::end_stripe)
            },
        )?;
        let mut placed = Vec::new();
        for bench in benches {
            let bench = bench.into_inner().unwrap_or_else(PoisonError::into_inner);
            lock(&self.hands).push(bench.hand);
            placed.extend(bench.writer.map_or(Ok(Vec::new()), Writer::finish)?);
        }
        left.map_or(Ok(None), |left| left.end(placed))
    }

    /// Lets all vertices be settled.
    fn settle(&mut self, step: S::Step) -> Result<Seen<S::Total>, EngineError> {
        let vertices = self.graph.vertices() as usize;
        let tools = (self.workers, self.progress);
        let total = self.learnt.settle(self.program, step, vertices, tools)?;
        self.stale.begin_anew();
        Ok(Seen { total, ..self.seen() })
    }

    /// What workers have seen since they were asked last.
    fn seen(&self) -> Seen<S::Total> {
        let room = self.free_bytes() / REST_BYTES;
        add_up(lock(&self.hands).iter_mut().map(|hand| &mut hand.seen), room)
    }

    /// Bytes of memory that nobody has asked for.
    fn free_bytes(&self) -> u64 {
        let Graph { plan, arena, .. } = self.graph;
        let taken = plan.memory.left_by_ingest(arena.backed_bytes());
        plan.budget_bytes.saturating_sub(taken)
    }

    /// The values.
    fn end(self) -> Result<Passed<S::Value>, EngineError> {
        let Self { graph, program, workers, progress, passes, .. } = self;
        drop(self.newer);
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

/// A chunk of a stripe that is shown.
struct Part<'r, 'c> {
    graph: &'r Graph,
    stale: &'r Stale,
    again: Again,
    order: &'r Order<'r>,
    /// Numbers of the stripe and of the chunk in it.
    place: (usize, usize),
    stripe: &'r Stripe,
    chunk: Chunk<'c>,
    /// Whether what is left of it is written anew.
    is_written: bool,
}

impl Part<'_, '_> {
    /// Finds the edges that are news, tile by tile: source, target and weight.
    ///
    /// These are handed on one by one. As an [`Edge`], whose words are stored apart and were then
    /// loaded as one, each waited for both stores: strong components of R-MAT 22 took 0.87 s
    /// instead of 0.70.
    fn sift<S: Stream>(
        &self,
        program: &S,
        step: S::Step,
        cells: &[S::Cell],
        scratch: &mut Scratch,
        show: impl Fn(u32, u32, f64) + Copy,
    ) {
        let coding = Coding::weighted(self.chunk.label(), S::WEIGHTED);
        let target_base = self.stripe.vertices.start as u32;
        let targets = &cells[target_base as usize..];
        let mut tiles: Vec<_> = self.graph.tiles_of(&self.chunk).collect();
        self.order.turn(&mut tiles);
        for (tile, sources) in tiles {
            if !self.stale.wants_tile(self.place, &sources, self.again) {
                continue;
            }
            let source_base = tile.source as u32;
            let sources = &cells[source_base as usize..];
            let sides = Sides { sources, targets, look: self.order.look::<S>() };
            sift_tile(
                &tile,
                (coding, &Width),
                &sides,
                scratch,
                #[inline(always)]
                |source, target| program.news(step, source, target),
                #[inline(always)]
                |source, target, weight| {
                    show(source_base + source, target_base + target, weight);
                },
            );
        }
    }
}
