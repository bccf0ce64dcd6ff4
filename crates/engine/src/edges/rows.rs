//! Rows: every edge once more, by its source or by its target, for runs that look vertices up.
//!
//! In a tile the edges of one vertex are a few of thousands, and finding them costs as much as
//! folding some tens of edges in passing. Rows hold the other ends of each vertex's edges side by
//! side (compressed sparse rows), for 4 bytes an edge and a vertex, and about as much time to
//! make as one or two dense iterations take. They pay where a graph is searched again and again, or
//! one search has thousands of levels. Graphs of 2^32 edges or more get none.
//!
//! Invariants: an edge is in one row once; a row by target ascends by source; every end is the
//! number of a vertex. Tested by `every_edge_is_in_its_rows_with_its_weight`,
//! `edges_that_run_both_ways_have_one_set_of_rows` and
//! `edges_to_no_vertex_are_found_in_every_encoding`.

use std::ops::{ControlFlow, Range};

use welter_store::weights::WeightKind;

use crate::kernels::kernel::fetch;
use crate::machine::arena::Buffer;

/// Rows of all vertices.
#[derive(Debug)]
pub(crate) struct Rows {
    /// First edge of each vertex, and the number of edges.
    pub(super) starts: Buffer<u32>,
    pub(super) ends: Buffer<u32>,
    /// One type for all weights; no bytes where it is [`WeightKind::None`].
    pub(super) kind: WeightKind,
    pub(super) weights: Buffer<u8>,
}

impl Rows {
    /// The rows, to look things up in.
    pub(crate) fn view(&self) -> View<'_> {
        View { starts: &self.starts, ends: &self.ends, kind: self.kind, weights: &self.weights }
    }
}

/// Rows as loops want them: a copy of its own stays in registers.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    starts: &'a [u32],
    ends: &'a [u32],
    kind: WeightKind,
    weights: &'a [u8],
}

impl View<'_> {
    /// Where the edges of a vertex lie.
    #[inline(always)]
    pub(crate) fn range(self, vertex: u32) -> Range<usize> {
        let vertex = vertex as usize;
        self.starts[vertex] as usize..self.starts[vertex + 1] as usize
    }

    /// Asks memory for where the row of a vertex lies.
    #[inline(always)]
    pub(crate) fn fetch_start(self, vertex: u32) {
        fetch(self.starts, vertex as usize);
    }

    /// Asks memory for the row of a vertex.
    #[inline(always)]
    pub(crate) fn fetch_row(self, vertex: u32) {
        fetch(self.ends, self.starts[vertex as usize] as usize);
    }

    /// The ends of a vertex's edges, each with the one that comes `ahead` edges later, in another
    /// row perhaps: memory may be asked for it.
    #[inline(always)]
    pub(crate) fn ends_ahead(self, vertex: u32, ahead: usize) -> impl Iterator<Item = (u32, u32)> {
        let row = self.range(vertex);
        let (last, ends) = (self.ends.len().saturating_sub(1), self.ends);
        row.map(move |edge| (ends[edge], ends[(edge + ahead).min(last)]))
    }

    /// The first end in a row that is not empty.
    #[inline(always)]
    pub(crate) fn first(self, vertex: u32) -> u32 {
        self.ends[self.starts[vertex as usize] as usize]
    }

    /// Shows some edges to `visit`, the other end and the weight of each, until it breaks off.
    /// Weights are 1 where they are not `weighted`.
    #[inline(always)]
    pub(crate) fn visit(
        self,
        edges: Range<usize>,
        weighted: bool,
        mut visit: impl FnMut(u32, f64) -> ControlFlow<()>,
    ) {
        let ends = &self.ends[edges.clone()];
        let bytes = self.kind.bytes();
        // The value that a loop broke off with tells nothing that `visit` does not know.
        let _ = match self.kind {
            kind if !weighted || kind == WeightKind::None => {
                ends.iter().try_for_each(|&end| visit(end, 1.0))
            }
            WeightKind::U8 => {
                let mut pairs = ends.iter().zip(&self.weights[edges]);
                pairs.try_for_each(|(&end, &weight)| visit(end, weight.into()))
            }
            kind => {
                let weights = &self.weights[edges.start * bytes..edges.end * bytes];
                let mut runs = ends.chunks(RUN).zip(weights.chunks(RUN * bytes));
                runs.try_for_each(|(ends, weights)| {
                    let mut wide = [1.0; RUN];
                    kind.decode(weights, &mut wide[..ends.len()]);
                    ends.iter().zip(&wide).try_for_each(|(&end, &weight)| visit(end, weight))
                })
            }
        };
    }
}

/// Weights that are decoded at a time.
const RUN: usize = 64;
