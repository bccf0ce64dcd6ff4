//! A stream program at work: its kernel, and the edges that it reads.

use std::sync::Mutex;

use welter_model::edges::Pair;
use welter_model::stream::{Edge, StepStats};

use super::contracted::Contracted;
use super::stale::Stale;
use crate::checkpoint::{Checkpoints, RunProgress, Shape};
use crate::edges::graph::Graph;
use crate::kernels::kernel::DecodeBuffers;
use crate::kernels::stream::{AnyStream, ShownCounts};
use crate::schedules::context::Context;
use crate::schedules::steps::Generation;

/// A stream program at work.
pub(super) struct StreamRun<'a, 'k> {
    pub(super) context: Context<'a>,
    pub(super) kernel: AnyStream<'k>,
    pub(super) tools: Mutex<Vec<Tools>>,
    pub(super) stale: Stale,
    /// Graph that is read instead of the first one, once few of its edges can be candidates.
    pub(super) newer: Option<Graph>,
    /// Contracted edges that are read instead of both, once few of them are not parallel.
    pub(super) contracted: Option<Contracted>,
    /// All generations that there were.
    pub(super) left: Vec<Generation>,
    /// Whether a few edges were shown, and not yet the others.
    pub(super) begun: bool,
    /// Checkpoints, where it writes any.
    pub(super) kept: Option<KeptRun<'a>>,
}

/// Tools that a worker keeps from pass to pass.
#[derive(Default)]
pub(super) struct Tools {
    pub(super) scratch: DecodeBuffers,
    /// Counts of the edges that it has seen in a step.
    pub(super) stats: StepStats<()>,
    /// Edges that it found for the rest.
    pub(super) rest: Vec<Pair>,
    /// Edges of a chunk that are candidates, where these are written.
    pub(super) found: Vec<Edge>,
}

impl Tools {
    /// Counts a chunk of `edges` edges that was shown, and returns their number.
    pub(super) fn count(&mut self, edges: u64, shown: ShownCounts) -> u64 {
        self.stats.looked += edges;
        self.stats.candidates += shown.candidates;
        self.stats.changes += shown.changes;
        edges
    }
}

/// Checkpoints of a run, and how far it has come.
pub(super) struct KeptRun<'a> {
    pub(super) checkpoints: &'a Checkpoints,
    pub(super) shape: Shape,
    pub(super) reached: RunProgress,
}

/// Vertices whose state there is room for: a damaged key names some place of it, and none outside.
pub(super) fn places(graph: &Graph) -> usize {
    graph.vertices() as usize + graph.signal_padding().max(1 << graph.layout.stripe_bits)
}

impl<'a, 'k> StreamRun<'a, 'k> {
    /// A run before its first step, of a kernel whose states are made.
    pub(super) fn new(context: Context<'a>, kernel: AnyStream<'k>) -> Self {
        let Context { graph, workers, .. } = context;
        Self {
            context,
            kernel,
            tools: Mutex::new((0..workers.threads()).map(|_| Tools::default()).collect()),
            stale: Stale::new(graph),
            newer: None,
            contracted: None,
            left: Vec::new(),
            begun: false,
            kept: None,
        }
    }

    /// The graph that passes read.
    pub(super) fn edges(&self) -> &Graph {
        self.newer.as_ref().unwrap_or(self.context.graph)
    }
}
