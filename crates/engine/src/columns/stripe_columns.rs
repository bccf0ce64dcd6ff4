//! The new values of a stripe's vertices, and what follows from them: signals, flags and totals.

use std::ops::Range;

use crate::edges::graph::{Graph, Stripe};
use crate::kernels::seam::{Kernel, Segment};
use crate::kernels::shape::KernelShape;

/// Columns of a stripe that follow from the values of its vertices, as bytes.
pub(crate) struct StripeColumns<'a> {
    pub(crate) stripe: &'a Stripe,
    pub(crate) signals: &'a mut [u8],
    pub(crate) active: &'a mut [u8],
    /// By segment.
    pub(crate) totals: &'a mut [u8],
    pub(crate) active_count: u64,
}

impl StripeColumns<'_> {
    /// Sets values, and what follows from them, before the first iteration. `degrees`: of the
    /// stripe's vertices.
    pub(crate) fn init(
        &mut self,
        (graph, kernel): (&Graph, &dyn Kernel),
        degrees: &[u32],
        values: &mut [u8],
    ) {
        let base = self.stripe.vertices.start;
        self.each_segment((graph, kernel), values, |vertices, columns| {
            kernel.init(columns, base + vertices.start as u64, &degrees[vertices])
        });
    }

    /// Sets values to what an iteration makes of them and of what was gathered.
    pub(crate) fn apply(
        &mut self,
        (graph, kernel): (&Graph, &dyn Kernel),
        (accums, last): (&[u8], &[u8]),
        values: &mut [u8],
    ) {
        let width = kernel.shape().accum;
        self.each_segment((graph, kernel), values, |vertices, columns| {
            let accums = &accums[vertices.start * width..vertices.end * width];
            kernel.apply(columns, accums, last)
        });
    }

    /// Sets what follows from values and flags that are there.
    pub(crate) fn resume(&mut self, kernel: &dyn Kernel, values: &[u8]) {
        let (shape, width) = (kernel.shape(), self.stripe.width());
        kernel.signal(&values[..width * shape.value], &mut self.signals[..width * shape.signal]);
        if shape.capabilities.frontier {
            self.active_count = self.active[..width].iter().map(|flag| u64::from(*flag)).sum();
        }
    }

    /// No update came: in a monotone program vertices are what they were, and silent. `signals`:
    /// what all of them said last. `none`: the totals of no vertex.
    pub(crate) fn stay(&mut self, shape: &KernelShape, signals: &[u8], none: &[u8]) {
        let (width, Range { start, end }) = (shape.signal, self.stripe.vertices.clone());
        self.signals.copy_from_slice(&signals[start as usize * width..end as usize * width]);
        self.active.fill(0);
        let totals = self.totals.chunks_exact_mut(none.len().max(1));
        totals.for_each(|total| total.copy_from_slice(none));
        self.active_count = 0;
    }

    /// Hands the columns of each segment to `each`, which says how many of its vertices are active.
    fn each_segment(
        &mut self,
        (graph, kernel): (&Graph, &dyn Kernel),
        values: &mut [u8],
        each: impl Fn(Range<usize>, Segment<'_>) -> u64,
    ) {
        let shape = kernel.shape();
        let first = self.stripe.vertices.start;
        let mut count = 0;
        for (number, vertices) in segments(graph, self.stripe).enumerate() {
            let bytes = |width: usize| vertices.start * width..vertices.end * width;
            let flags = shape.capabilities.frontier.into();
            let columns = Segment {
                values: &mut values[bytes(shape.value)],
                signals: &mut self.signals[bytes(shape.signal)],
                active: &mut self.active[bytes(flags)],
                total: &mut self.totals[number * shape.total..(number + 1) * shape.total],
                multiplicity: graph.implicit_multiplicity(
                    &(first + vertices.start as u64..first + vertices.end as u64),
                ),
            };
            count += each(vertices, columns);
        }
        if shape.capabilities.frontier {
            self.active_count = count;
        }
    }
}

/// The vertices of each segment of a stripe, relative to the stripe.
fn segments<'a>(graph: &'a Graph, stripe: &'a Stripe) -> impl Iterator<Item = Range<usize>> + 'a {
    let place = |segment| (graph.vertices.segment_start(segment) - stripe.vertices.start) as usize;
    stripe.segments.clone().map(move |segment| place(segment)..place(segment + 1))
}
