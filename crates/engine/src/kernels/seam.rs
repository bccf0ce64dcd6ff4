//! The seam between schedules and programs: kernels.
//!
//! A schedule decides which edges meet which columns, when and on which thread. A kernel is what a
//! program does with them: a tile, a segment of vertices or a run of records a call. Columns are
//! bytes, as wide as the kernel's [shape](KernelShape) says, so schedules are compiled once, and
//! programs are compiled into their kernels only: generic below the tile, erased above it. A call
//! costs some nanoseconds and is made for 256 edges at least where a tile has them.
//!
//! | program | kernel |
//! |---|---|
//! | `model::program::Program` | [`FoldKernel`], by [`folded`](super::folded) |
//! | `model::extended::Extended` | [`ExtendedKernel`], by [`extension`](super::extension) |
//! | `model::stream::Stream` | [`StreamKernel`](super::stream::StreamKernel) |
//! | `model::input_scan::InputScan` | [`ScanKernel`](super::scan::ScanKernel) |
//! | `model::intersect::Intersect` | [`TriangleKernel`](super::triangles::TriangleKernel) |
//!
//! Invariant: columns that a kernel is given hold whole elements of the kernel's own widths, and
//! begin where such elements may begin. Anything else is a bug, on which the kernel panics. Checked
//! in `seam::elements` and `seam::elements_mut`.

use std::ops::Range;

use bytemuck::{Pod, cast_slice, cast_slice_mut};
use welter_model::limit::Limit;
use welter_model::program::Next;
use welter_store::chunk::Tile;

use crate::EngineError;
use crate::kernels::groups::Groups;
use crate::kernels::kernel::{Coding, DecodeBuffers, Sources};
use crate::kernels::keys::{ColumnLengths, Keys};
use crate::kernels::shape::KernelShape;
use crate::kernels::sink::{RecordRun, Sink};

/// Columns of the vertices of a segment, and where its totals go.
pub(crate) struct Segment<'a> {
    pub(crate) values: &'a mut [u8],
    pub(crate) signals: &'a mut [u8],
    /// Flags of active vertices, in a program whose vertices fall inactive; else nothing.
    pub(crate) active: &'a mut [u8],
    pub(crate) total: &'a mut [u8],
    /// Number of vertices that the last one stands for.
    pub(crate) multiplicity: u64,
}

/// Calls that schedules make of any program.
pub(crate) trait Kernel: Sync {
    /// Widths of columns, and capabilities.
    fn shape(&self) -> &KernelShape;

    /// Whether to continue after `iterations` iterations, the last of which had these totals.
    fn next(&self, iterations: u64, total: &[u8]) -> Next;

    /// The iterations that a run takes at most.
    fn limit(&self) -> Limit;

    /// The totals of all segments, merged in their order.
    fn total(&self, segments: &[u8]) -> Vec<u8>;

    /// Sets the first values of vertices, of which `first` is the number of the first one, and what
    /// follows from them. Number of active vertices.
    fn init(&self, vertices: Segment<'_>, first: u64, degrees: &[u32]) -> u64;

    /// Sets values to what an iteration makes of them and of accumulators, and what follows from
    /// them. Number of active vertices.
    fn apply(&self, vertices: Segment<'_>, accums: &[u8], last: &[u8]) -> u64;

    /// Makes signals of values.
    fn signal(&self, values: &[u8], signals: &mut [u8]);

    /// Makes all accumulators the one that has met no update.
    fn clear(&self, accums: &mut [u8]);
}

/// Edges of a tile that are folded, and what their sources say.
pub(crate) struct TileFold<'a> {
    pub(crate) tile: &'a Tile<'a>,
    pub(crate) edges: Range<usize>,
    pub(crate) coding: Coding,
    /// Whether columns may end before what a key can name.
    pub(crate) is_short: bool,
    pub(crate) sources: Sources<'a, u8>,
}

/// Calls that schedules make of a fold program.
pub(crate) trait FoldKernel: Kernel {
    /// Begins accumulators from the values of their vertices, in a program that wants it.
    fn begin(&self, values: &[u8], accums: &mut [u8]);

    /// Folds edges into accumulators. A key that leads outside of columns, if there is one.
    fn fold(
        &self,
        edges: TileFold<'_>,
        accums: &mut [u8],
        scratch: &mut DecodeBuffers,
    ) -> Option<u32>;

    /// Puts a record of the update of each edge of a tile into a sink: the update, or the
    /// accumulator that has met it alone. Where columns are short, a run of keys that leads outside
    /// is left out, and noted by the `ColumnLengths`.
    fn scatter(
        &self,
        edges: (&Tile<'_>, Coding, Option<&ColumnLengths>),
        sources: Sources<'_, u8>,
        scratch: &mut DecodeBuffers,
        sink: &mut dyn Sink,
    ) -> Result<(), EngineError>;

    /// Moves accumulators that have met an update to a sink, and clears them.
    fn drain(&self, accums: &mut [u8], sink: &mut dyn Sink) -> Result<(), EngineError>;

    /// Merges accumulators into those of their destinations. Whether all have one.
    fn merge(&self, records: (&[u32], &[u8]), accums: &mut [u8]) -> bool;

    /// Gathers updates. Whether all have a destination.
    fn gather(&self, records: (&[u32], &[u8]), accums: &mut [u8]) -> bool;

    /// Puts updates beside those of their destinations.
    fn put(&self, records: (&[u32], &[u8]), groups: &mut Groups);

    /// Sets the accumulators of a piece of a stripe to what its groups of updates make of values.
    fn group(
        &self,
        groups: &mut Groups,
        degrees: &[u32],
        values: &[u8],
        accums: &mut [u8],
    ) -> Result<(), EngineError>;
}

/// Signals of the sources of edges.
#[derive(Clone, Copy)]
pub(crate) enum SourceSignals<'a> {
    /// Signals by source, from the first source of a tile on.
    Sources(&'a [u8]),
    /// Signals by edge.
    Edges(&'a [u8]),
}

/// Signals at both ends of edges.
#[derive(Clone, Copy)]
pub(crate) struct EndpointColumns<'a> {
    /// The numbers of the first source and of the first target.
    pub(crate) base: [usize; 2],
    pub(crate) source_signals: SourceSignals<'a>,
    pub(crate) targets: &'a [u8],
}

/// Calls that schedules make of an extended program.
pub(crate) trait ExtendedKernel: Kernel {
    /// Shows edges with as many states, which they may change, and folds their updates.
    fn extend(
        &self,
        edges: (Keys<'_>, Option<&[f64]>),
        ends: EndpointColumns<'_>,
        states: &mut [u8],
        accums: &mut [u8],
    );

    /// Shows edges with as many states, which they may change, and fills a run with the update of
    /// each for its target. Number of records.
    fn scatter_edges(
        &self,
        edges: (Keys<'_>, Option<&[f64]>),
        ends: EndpointColumns<'_>,
        states: &mut [u8],
        run: RecordRun<'_>,
    ) -> usize;

    /// Gathers the updates of edges. Whether all have a destination.
    fn gather(&self, records: (&[u32], &[u8]), accums: &mut [u8]) -> bool;
}

/// A kernel of either kind.
#[derive(Clone, Copy)]
pub(crate) enum AnyKernel<'k> {
    Fold(&'k dyn FoldKernel),
    Extended(&'k dyn ExtendedKernel),
}

impl<'k> AnyKernel<'k> {
    /// The calls that both kinds have.
    pub(crate) fn kernel(self) -> &'k dyn Kernel {
        match self {
            Self::Fold(kernel) => kernel,
            Self::Extended(kernel) => kernel,
        }
    }
}

/// Elements of a column.
pub(crate) fn elements<T: Pod>(column: &[u8]) -> &[T] {
    cast_slice(column)
}

/// Elements of a column, to write.
pub(crate) fn elements_mut<T: Pod>(column: &mut [u8]) -> &mut [T] {
    cast_slice_mut(column)
}
