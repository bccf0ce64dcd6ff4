//! Kernels of input scans: what edges add up to in one scan of the input.
//!
//! A scan puts the updates of the edges of a part of the input into [`UpdateBuckets`], one for each
//! range of slots, and then delivers them to the ranges. The buckets are the kernel's own, so that
//! updates have their type; accumulators, values and totals are bytes.

use bytemuck::bytes_of;
use welter_model::input_scan::InputScan;
use welter_model::program::Total;

use crate::kernels::apply::repeated;
use crate::kernels::buckets::{Buckets, SlotRanges, UpdateBuckets};
use crate::kernels::folded::merged;
use crate::kernels::seam::{elements, elements_mut};
use crate::kernels::shape::ScanShape;

/// Vertices whose results are made.
pub(crate) struct SlotResults<'a> {
    /// Slots of the vertices.
    pub(crate) slots: &'a [u32],
    pub(crate) values: &'a mut [u8],
    pub(crate) total: &'a mut [u8],
    /// Number of vertices that the last one stands for.
    pub(crate) multiplicity: u64,
}

/// Calls that a scan makes of an input scan.
pub(crate) trait ScanKernel: Sync {
    /// Widths of columns.
    fn shape(&self) -> &ScanShape;

    /// Buckets without updates.
    fn buckets(&self, cut: SlotRanges) -> Box<dyn UpdateBuckets + '_>;

    /// Makes the results of vertices, by the accumulators of all slots.
    fn results(&self, vertices: SlotResults<'_>, accums: &[u8]);

    /// Totals merged in their order.
    fn total(&self, totals: &[u8]) -> Vec<u8>;
}

/// An input scan as a kernel.
pub(crate) struct Scanning<'p, P> {
    program: &'p P,
    shape: ScanShape,
}

impl<'p, P: InputScan> Scanning<'p, P> {
    pub(crate) fn new(program: &'p P) -> Self {
        Self { program, shape: ScanShape::of::<P>() }
    }
}

impl<P: InputScan> ScanKernel for Scanning<'_, P> {
    fn shape(&self) -> &ScanShape {
        &self.shape
    }

    fn buckets(&self, cut: SlotRanges) -> Box<dyn UpdateBuckets + '_> {
        Box::new(Buckets::new(self.program, cut))
    }

    fn results(&self, vertices: SlotResults<'_>, accums: &[u8]) {
        let SlotResults { slots, values, total, multiplicity } = vertices;
        let accums = elements::<P::Accum>(accums);
        let (mut sum, mut last) = (P::Total::default(), P::Total::default());
        for (value, &slot) in elements_mut::<P::Value>(values).iter_mut().zip(slots) {
            (*value, last) = self.program.value(slot, accums[slot as usize]);
            sum = sum.merge(last);
        }
        total.copy_from_slice(bytes_of(&sum.merge(repeated(last, multiplicity - 1))));
    }

    fn total(&self, totals: &[u8]) -> Vec<u8> {
        merged::<P::Total>(totals)
    }
}
