//! A stream program at work: its kernel, and the edges that it reads.

use std::sync::Mutex;

use welter_model::edges::Pair;
use welter_model::stream::{Edge, Seen};

use super::contracted::Contracted;
use super::stale::Stale;
use super::state::{add_up, init};
use crate::EngineError;
use crate::edges::graph::Graph;
use crate::kernels::kernel::Scratch;
use crate::kernels::stream::AnyStream;
use crate::machine::arena::Buffer;
use crate::machine::sync::lock;
use crate::schedules::context::Context;

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
pub(super) struct StreamRun<'a> {
    pub(super) context: Context<'a>,
    pub(super) kernel: AnyStream<'a>,
    pub(super) tools: Mutex<Vec<Tools>>,
    pub(super) stale: Stale,
    /// Graph that is read instead of the first one, once few of its edges can be news.
    pub(super) newer: Option<Graph>,
    /// Links that are read instead of both, once few of them are not parallel.
    pub(super) contracted: Option<Contracted>,
    /// All generations that there were.
    pub(super) left: Vec<Generation>,
    /// Whether a few edges were shown, and not yet the others.
    pub(super) begun: bool,
    pub(super) passes: u64,
}

/// Tools that a worker keeps from pass to pass.
#[derive(Default)]
pub(super) struct Tools {
    pub(super) scratch: Scratch,
    /// Counts of the edges that it has seen in a step.
    pub(super) seen: Seen<()>,
    /// Edges that it found for the rest.
    pub(super) rest: Vec<Pair>,
    /// Edges of a chunk that are news, where these are written.
    pub(super) found: Vec<Edge>,
}

/// Outcome of a run, of which values are bytes.
pub(crate) struct Ended {
    pub(crate) values: Buffer<u8>,
    pub(crate) passes: u64,
    pub(crate) left: Vec<Generation>,
}

/// Vertices whose state there is room for: a damaged key names some place of it, and none outside.
pub(super) fn places(graph: &Graph) -> usize {
    graph.vertices() as usize + graph.signal_padding().max(1 << graph.layout.stripe_bits)
}

impl<'a> StreamRun<'a> {
    /// A run before its first step.
    pub(super) fn new(
        context: Context<'a>,
        mut kernel: AnyStream<'a>,
    ) -> Result<Self, EngineError> {
        let Context { graph, workers, progress, .. } = context;
        init(kernel.kernel_mut(), &graph.degrees, (workers, progress))?;
        Ok(Self {
            context,
            kernel,
            tools: Mutex::new((0..workers.threads()).map(|_| Tools::default()).collect()),
            stale: Stale::new(graph),
            newer: None,
            contracted: None,
            left: Vec::new(),
            begun: false,
            passes: 0,
        })
    }

    /// The graph that passes read.
    pub(super) fn edges(&self) -> &Graph {
        self.newer.as_ref().unwrap_or(self.context.graph)
    }

    /// Counts of all workers since they were asked last.
    pub(super) fn seen(&self) -> Seen<()> {
        let room = self.context.graph.free_bytes() / REST_BYTES;
        add_up(lock(&self.tools).iter_mut().map(|tools| &mut tools.seen), room)
    }
}
