//! Vertices of a partition: their first values, and those that an iteration gives them.

use super::Kernel;
use crate::kernels::seam::Segment;

/// Columns of consecutive vertices.
#[derive(Debug)]
pub struct Vertices<'a> {
    /// Values of the vertices.
    pub values: &'a mut [u8],
    /// Signals of the vertices.
    pub signals: &'a mut [u8],
    /// Flags of the active ones, in a program whose vertices fall inactive; else nothing.
    pub active: &'a mut [u8],
}

/// Totals of vertices that have new values, and how many are active.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VertexTotals {
    /// The total of all.
    pub total: Vec<u8>,
    /// Number of active vertices, in a program whose vertices fall inactive.
    pub active: u64,
}

/// Sets the values of vertices before the first iteration. `first`: the number of the first one;
/// `degrees`: edges that leave each.
///
/// # Panics
/// When there are fewer degrees than vertices, or columns are not of one length, which is a bug of
/// the caller.
pub fn init(kernel: &Kernel, first: u64, degrees: &[u32], vertices: Vertices<'_>) -> VertexTotals {
    segment_totals(kernel, vertices, |segment| kernel.object().init(segment, first, degrees))
}

/// Sets what an iteration makes of the values of vertices and of what was gathered for them.
/// `last`: the totals of the iteration before.
///
/// # Panics
/// When there are fewer accumulators than vertices, or columns are not of one length, which is a
/// bug of the caller.
pub fn apply(kernel: &Kernel, last: &[u8], accums: &[u8], vertices: Vertices<'_>) -> VertexTotals {
    segment_totals(kernel, vertices, |segment| kernel.object().apply(segment, accums, last))
}

fn segment_totals(
    kernel: &Kernel,
    vertices: Vertices<'_>,
    apply: impl FnOnce(Segment<'_>) -> u64,
) -> VertexTotals {
    let Vertices { values, signals, active } = vertices;
    let shape = kernel.shape();
    let count = values.len() / shape.value;
    assert_eq!(signals.len(), count * shape.signal, "a signal for each value");
    let flags = if shape.capabilities.frontier { count } else { 0 };
    assert_eq!(active.len(), flags, "a flag for each value where vertices fall inactive");
    let mut total = vec![0; shape.total];
    let active = apply(Segment { values, signals, active, total: &mut total, multiplicity: 1 });
    VertexTotals { total, active }
}
