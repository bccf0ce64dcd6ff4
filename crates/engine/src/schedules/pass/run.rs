//! A stream program at work: what it has learnt, and what it reads.

use std::sync::Mutex;

use welter_model::edges::Pair;
use welter_model::stream::{Known, Seen, Stream};
use welter_progress::{Phase, Progress};

use super::contracted::Contracted;
use super::learnt::{Learnt, add_up};
use super::stale::Stale;
use crate::EngineError;
use crate::edges::graph::Graph;
use crate::kernels::kernel::Scratch;
use crate::machine::sync::lock;
use crate::machine::workers::Workers;

/// Bytes that an edge takes while all that are left are handed over: its ends in lists that grow
/// and are joined, and what a program makes of them.
pub(crate) const REST_BYTES: u64 = 64;

/// Edges that are read instead of the graph, or of an older generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generation {
    /// How many.
    pub edges: u64,
    /// Of contracted ones, edges that were still news and are not among these, because better ones
    /// lie between the same two components; `None` where edges are as they were.
    pub parallel: Option<u64>,
}

/// A stream program at work.
pub(super) struct Run<'a, S: Stream> {
    pub(super) graph: &'a Graph,
    pub(super) program: &'a S,
    pub(super) workers: &'a Workers,
    pub(super) progress: &'a Progress,
    pub(super) phase: &'a Phase,
    pub(super) learnt: Learnt<S>,
    pub(super) hands: Mutex<Vec<Hand>>,
    pub(super) stale: Stale,
    /// Graph that is read instead of the first one, once few of its edges can be news.
    pub(super) newer: Option<Graph>,
    /// Links that are read instead of both, once few of them are not parallel.
    pub(super) contracted: Option<Contracted>,
    /// All of these that there were.
    pub(super) left: Vec<Generation>,
    /// Whether a few edges were shown, and not yet the others.
    pub(super) begun: bool,
    pub(super) passes: u64,
}

/// Tools that a worker needs beside chunks.
pub(super) struct Hand {
    pub(super) scratch: Scratch,
    /// Counts of the edges that it has seen in a step.
    pub(super) seen: Seen<()>,
    /// Edges that it found for the rest.
    pub(super) rest: Vec<Pair>,
    /// Edges of a chunk that are left.
    pub(super) found: Vec<(u32, u32, f64)>,
}

impl<'a, S: Stream> Run<'a, S> {
    pub(super) fn new(
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

    pub(super) fn known(&self) -> Known<'_, S> {
        self.learnt.known()
    }

    /// The graph that passes read.
    pub(super) fn edges(&self) -> &Graph {
        self.newer.as_ref().unwrap_or(self.graph)
    }

    /// Counts of all workers since they were asked last.
    pub(super) fn seen(&self) -> Seen<S::Total> {
        let room = self.graph.free_bytes() / REST_BYTES;
        add_up(lock(&self.hands).iter_mut().map(|hand| &mut hand.seen), room)
    }
}
