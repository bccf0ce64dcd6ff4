//! The kernel of a program whose updates are messages, of one of three kinds.
//!
//! | kind | edges are at the owner of their | messages | thread |
//! |---|---|---|---|
//! | fold, groups included | source | updates, or accumulators of some | `computing` |
//! | extended | target | signals, once for each sub-range with edges | `extending` |
//! | over triangles | source, both ways | degrees, rows in bundles, counts | `closing` |
//!
//! In this file is what the rest of a machine asks of any of them: widths, and when a run ends.

use welter_engine::chunks::{ExtendedKernel, FoldKernel, IntersectKernel, Kernel, KernelShape};
use welter_model::program::Next;
use welter_protocol::partitions::Partitions;

use super::bundles;
use super::corners::shown_bytes;
use super::edges::{OwnedEnd, record_bytes};
use super::rounds::Rounds;

/// Bytes of a vertex over triangles before its value: its degree u32, its neighbours u32, and the
/// edges between these u64, as machines of other routes store them.
pub(super) const CORNER_BYTES: usize = 16;

/// The kernel of a program that sends. A clone shares the program.
#[derive(Clone)]
pub enum MessageKernel {
    /// Of a fold program, groups included.
    Fold(FoldKernel),
    /// Of a program whose edges have states.
    Extended(ExtendedKernel),
    /// Of a program over triangles.
    Intersect(IntersectKernel),
}

impl From<FoldKernel> for MessageKernel {
    fn from(kernel: FoldKernel) -> Self {
        Self::Fold(kernel)
    }
}

impl From<ExtendedKernel> for MessageKernel {
    fn from(kernel: ExtendedKernel) -> Self {
        Self::Extended(kernel)
    }
}

impl From<IntersectKernel> for MessageKernel {
    fn from(kernel: IntersectKernel) -> Self {
        Self::Intersect(kernel)
    }
}

impl MessageKernel {
    /// Widths and capabilities, of a program that has columns of vertices.
    pub(super) fn shape(&self) -> Option<&KernelShape> {
        match self {
            Self::Fold(kernel) => Some(kernel.shape()),
            Self::Extended(kernel) => Some(kernel.shape()),
            Self::Intersect(_) => None,
        }
    }

    /// Whether edges have weights. Over triangles they say which ways an edge leads.
    pub(super) fn is_weighted(&self) -> bool {
        match self {
            Self::Intersect(kernel) => kernel.is_directed(),
            _ => self.shape().is_some_and(|shape| shape.capabilities.weighted),
        }
    }

    /// Bytes of the record of an edge on its way to its owner.
    pub(super) fn edge_bytes(&self) -> usize {
        record_bytes(self.is_weighted())
    }

    /// Bytes of the state of an edge; 0 where edges have none.
    pub(super) fn state_bytes(&self) -> usize {
        self.shape().map_or(0, |shape| shape.state)
    }

    /// End of edges whose owner has them.
    pub(super) fn owned_end(&self) -> OwnedEnd {
        if let Self::Extended(_) = self { OwnedEnd::Target } else { OwnedEnd::Source }
    }

    /// Whether edges lie by stripes of their destinations, and not by whole sub-ranges: where they
    /// are folded, or their messages are, accumulators of a stripe stay in a cache.
    pub(super) fn has_stripes(&self) -> bool {
        matches!(self, Self::Fold(_))
    }

    /// Bytes of a record in an iteration over all edges, or of signals of all vertices.
    pub(super) fn record_bytes(&self) -> usize {
        match self {
            Self::Fold(kernel) => kernel.shape().record(),
            Self::Extended(kernel) => kernel.shape().signal,
            Self::Intersect(kernel) => shown_bytes(kernel.is_directed()),
        }
    }

    /// Bytes of a vertex in the result: as machines of other routes store it.
    pub(super) fn vertex_bytes(&self) -> usize {
        match self {
            Self::Fold(kernel) => kernel.shape().value + 1,
            Self::Extended(kernel) => kernel.shape().value,
            Self::Intersect(kernel) => CORNER_BYTES + kernel.value_bytes(),
        }
    }

    /// Bytes of a vertex in a checkpoint; none of a program of which nothing is kept at barriers,
    /// since its edges have states, or its rows are made anew of edges.
    pub(super) fn kept_bytes(&self) -> Option<u64> {
        let Self::Fold(kernel) = self else { return None };
        let shape = kernel.shape();
        Some((shape.value + shape.signal + 1) as u64)
    }

    /// Bytes of the totals.
    pub(super) fn total_bytes(&self) -> usize {
        self.shape().map_or(0, |shape| shape.total)
    }

    /// Totals, one behind the other, merged in their order, and whether to continue after
    /// `iterations` iterations, the last of which left `active` vertices that scatter. `rounds`:
    /// those of rows, over triangles.
    pub(super) fn decide(
        &self,
        (iterations, active): (u64, u64),
        totals: &[u8],
        rounds: &Rounds,
    ) -> (Vec<u8>, bool) {
        let kernel = match self {
            Self::Fold(kernel) => Kernel::Fold(kernel.clone()),
            Self::Extended(kernel) => Kernel::Extended(kernel.clone()),
            Self::Intersect(_) => return (Vec::new(), iterations < rounds.iterations()),
        };
        let total = kernel.total(totals);
        let goes_on = kernel.next(iterations, &total) == Next::Iterate;
        (total, goes_on && active > 0)
    }

    /// Bytes of a message at most, in a graph that is cut so.
    pub(super) fn message_bytes_max(&self, cut: &Partitions) -> usize {
        match self {
            Self::Intersect(_) => bundles::bytes_max(cut.vertices()),
            _ => self.record_bytes() + size_of::<u32>(),
        }
    }
}
