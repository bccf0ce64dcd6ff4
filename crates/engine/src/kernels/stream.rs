//! The seam of stream programs.
//!
//! A kernel of a stream program has the state of all vertices, the step that is under way and what
//! finalized vertices add up to; a pass decides which edges it is shown, when and by which thread.
//! It is called for a tile, a run of edges or of vertices: an edge calls nothing.
//!
//! | program | kernel |
//! |---|---|
//! | `model::stream::Stream` | [`StreamKernel`], by [`streaming`](super::streaming) |
//! | `model::checkpointable::Checkpointable` | [`ResumableKernel`], likewise |
//! | `model::stream::OverInput` | [`InputKernel`], likewise |
//!
//! States are the kernel's own and no column of bytes, unlike values of other programs: threads
//! write them while others read them, so they are atomic, and no slice of bytes may lie over such.
//! What is kept of a vertex, and its value, are bytes of a known width.

use std::ops::Range;

use welter_model::checkpointable::EncodedStep;
use welter_model::limit::Limit;
use welter_model::stream::{ContractedEdge, Edge, Next, RevisitPolicy, StepStats};
use welter_store::chunk::Tile;

use crate::EngineError;
use crate::kernels::bits::BitsPart;
use crate::kernels::changes::ChangedBlocks;
use crate::kernels::gather::VisitOrder;
use crate::kernels::kernel::{BUFFER, Coding, DecodeBuffers};
use crate::kernels::pairs::PairRun;
use crate::kernels::shape::StreamShape;
use crate::kernels::vertices::Vertices;

/// Edges of a tile that are shown.
pub(crate) struct TilePass<'a> {
    pub(crate) tile: &'a Tile<'a>,
    pub(crate) coding: Coding,
    /// The number of the first target.
    pub(crate) target_base: u32,
    pub(crate) look: VisitOrder,
    /// Blocks in which edges change something.
    pub(crate) changed: &'a ChangedBlocks,
}

/// Counts of edges that were shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ShownCounts {
    pub(crate) candidates: u64,
    pub(crate) changes: u64,
}

/// The state of some vertices, before the first step.
pub(crate) trait StatePart: Send {
    /// Sets it. Vertices that have no degree have no edges.
    fn init(&mut self, degrees: &[u32]);
}

/// Calls that passes make of any stream program.
pub(crate) trait StreamKernel: Sync {
    /// Widths and capabilities.
    fn shape(&self) -> &StreamShape;

    /// The passes that a run takes at most.
    fn limit(&self) -> Limit;

    /// The state of all vertices, in parts of `vertices` vertices, each with the number of its
    /// first.
    fn parts(&mut self, vertices: usize) -> Vec<(usize, Box<dyn StatePart + '_>)>;

    /// The step that is under way, by when edges can be candidates again in it.
    fn step(&self) -> Next<RevisitPolicy>;

    /// Ends a step in which this was seen, and begins the next.
    fn end_step(&mut self, stats: StepStats<()>) -> Result<(), EngineError>;

    /// Shows the edges of a tile that are candidates, and adds them to `found`, if that is there.
    fn show(
        &self,
        edges: &TilePass<'_>,
        scratch: &mut DecodeBuffers,
        found: Option<&mut Vec<Edge>>,
    ) -> ShownCounts;

    /// Adds the edges of a tile that are candidates to `found`.
    fn find(&self, edges: &TilePass<'_>, scratch: &mut DecodeBuffers, found: &mut Vec<Edge>);

    /// Adds edges that are candidates to `contracted`, between the components of their ends.
    fn contract(&self, edges: &[Edge], contracted: &mut Vec<ContractedEdge>);

    /// Shows contracted edges that lie between two components, and adds them to `found`, between
    /// these.
    fn show_contracted(
        &self,
        edges: &[ContractedEdge],
        found: &mut Vec<ContractedEdge>,
    ) -> ShownCounts;

    /// Takes into the state all that candidates among the edges say.
    fn rest(&self, edges: Vec<[u32; 2]>);

    /// Finalizes vertices.
    fn finalize(&self, vertices: Range<usize>);

    /// Sets values of vertices, of which `first` is the number of the first one.
    fn values(&self, first: usize, values: &mut [u8]);
}

/// Calls that checkpoints make of a stream program.
pub(crate) trait ResumableKernel: StreamKernel {
    /// Bytes in which a vertex is kept.
    fn snapshot_bytes(&self) -> usize;

    /// Sets bytes to what is kept of vertices, of which `first` is the number of the first one.
    fn snapshot(&self, first: usize, kept: &mut [u8]);

    /// Sets the state of vertices to what was kept of them. Whether that can be, in a graph of
    /// `vertices` vertices.
    fn restore(&mut self, first: usize, kept: &[u8], vertices: u64) -> bool;

    /// The step that is under way, to be kept.
    fn encoded_step(&self) -> EncodedStep;

    /// Begins the step of which this was kept. Whether there is one.
    fn resume(&mut self, kept: EncodedStep) -> bool;
}

/// Calls that passes over the input make of a stream program. Slots stand for vertices there.
pub(crate) trait InputKernel: StreamKernel {
    /// Whether edges that may be candidates in a later step are kept.
    fn keeps(&self) -> bool;

    /// Whether bits are looked at before states are.
    fn has_bits(&self) -> bool;

    /// Asks the states of slots for their bits, of which `first` is the first one. Number of slots
    /// that have a bit as a source.
    fn ask(&self, first: usize, bits: &mut BitsPart<'_>) -> u64;

    /// Shows the edges of a run that are candidates.
    fn show_run(&self, run: PairRun<'_>, found: &mut [u32; BUFFER]) -> ShownCounts;

    /// Notes the places of the edges of a run that are candidates. Number of these.
    fn find_candidates(&self, run: PairRun<'_>, found: &mut [u32; BUFFER]) -> usize;

    /// Notes the places of the edges that are no candidates, and may be in a later step. Number of
    /// these.
    fn find_later(&self, run: PairRun<'_>, found: &mut [u32; BUFFER]) -> usize;

    /// Whether more passes are to be feared than a graph is worth, after a step in which this was
    /// seen.
    fn should_fall_back(&self, stats: &StepStats<()>) -> bool;

    /// Passes that can be foreseen, on a graph of `vertices` vertices.
    fn foreseen(&self, stats: &StepStats<()>, vertices: u64) -> u64;

    /// Sets the values of the vertices in some slots.
    fn slot_values(&self, slots: &[u32], vertices: &Vertices, values: &mut [u8]);
}

/// A kernel with checkpoints, or without.
pub(crate) enum AnyStream<'k> {
    Plain(Box<dyn StreamKernel + 'k>),
    Resumable(Box<dyn ResumableKernel + 'k>),
}

impl AnyStream<'_> {
    /// The calls that both have.
    pub(crate) fn kernel(&self) -> &dyn StreamKernel {
        match self {
            Self::Plain(kernel) => &**kernel,
            Self::Resumable(kernel) => &**kernel,
        }
    }

    /// The kernel, to change it.
    pub(crate) fn kernel_mut(&mut self) -> &mut dyn StreamKernel {
        match self {
            Self::Plain(kernel) => &mut **kernel,
            Self::Resumable(kernel) => &mut **kernel,
        }
    }
}
