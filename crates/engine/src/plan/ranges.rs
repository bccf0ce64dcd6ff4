//! What route `ranges` takes, and how its memory is divided.
//!
//! Accumulators and windows of signals share what the workers leave. Every further range of
//! destinations reads all signals once more, every chunk that stays in memory is not read again:
//! of all numbers of ranges the one is taken that reads least.

use welter_store::header::KEY_BITS;

use super::{Plan, Traffic, memory};
use crate::columns::footprint::{COLUMNS, PIECE, WINDOWS};
use crate::kernels::vertices::SEGMENT_BITS;
use crate::machine::storage::DEPTH;

/// Sources of the narrowest window.
const WINDOW_LEAST: u64 = 1 << 16;

/// Bytes of the largest signal of which a window has as many as a key can name.
const SIGNAL_PADDED: u64 = 8;

/// How destinations are cut into ranges, and sources into windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangesPlan {
    /// Stripes that each worker has in a range.
    pub stripes: usize,
    /// Sources of a window, at most.
    pub window_sources: u64,
    /// Ranges at most: so often are all signals read in an iteration.
    pub ranges: u64,
}

impl RangesPlan {
    /// The division of `spare` bytes that reads least, beside `chunk_bytes` of chunks of which what
    /// is left can stay in memory; the narrowest one where nothing fits.
    pub(super) fn new(plan: &Plan, spare: u64, chunk_bytes: u64) -> Self {
        let threads = plan.threads as u64;
        let segments = plan.shape.slots.div_ceil(1 << SEGMENT_BITS).max(1);
        let stripes = memory::stripes_most(plan, segments);
        let mut window_sources = WINDOW_LEAST;
        let of = |stripes_each: u64, window_sources| Self {
            stripes: stripes_each as usize,
            window_sources,
            ranges: stripes.div_ceil(threads * stripes_each),
        };
        // Wide windows save little: a look at each stripe, and pages that are read twice.
        let narrow = of(1, WINDOW_LEAST).bytes(plan);
        while window_sources < plan.vertices
            && of(1, 2 * window_sources).bytes(plan) - narrow < spare.saturating_sub(narrow) / 4
        {
            window_sources *= 2;
        }
        let signals = plan.vertices * (plan.layout.signal + plan.layout.active);
        let read = |ranges: &Self| {
            let cache = spare.saturating_sub(ranges.bytes(plan));
            chunk_bytes.saturating_sub(cache) + ranges.ranges * signals
        };
        let each_most = stripes.div_ceil(threads).max(1);
        let choices = (0..).map(|power| 1 << power).take_while(|each| *each < each_most);
        let choices = choices.chain([each_most]).map(|each| of(each, window_sources));
        let fitting = choices.filter(|ranges| ranges.bytes(plan) <= spare);
        fitting.min_by_key(read).unwrap_or_else(|| of(1, WINDOW_LEAST))
    }

    /// Bytes of state in memory, but for the accumulators of one stripe a worker.
    pub(super) fn bytes(&self, plan: &Plan) -> u64 {
        let (layout, bits, threads) = (plan.layout, plan.stripe_bits, plan.threads as u64);
        let scattered = layout.signal + layout.active;
        let padding = plan.window_margin() + (1 << plan.block_bits);
        let windows = WINDOWS as u64 * (self.window_sources + padding) * scattered;
        let pieces = (DEPTH * PIECE) as u64 * scattered;
        // And the degrees, at first.
        let columns = COLUMNS as u64 * (layout.value + scattered + 4) + layout.active;
        let accums = (self.stripes as u64 - 1) * layout.accum;
        let masks = if plan.frontier { (plan.vertices >> plan.block_bits) * 16 } else { 0 };
        windows + pieces + masks + threads * ((columns + accums) << bits)
    }

    /// Bytes that signals move in an iteration in which all vertices are active, and values beside
    /// what each route reads of them: accumulators that begin from values want them once more.
    pub(super) fn traffic(&self, plan: &Plan) -> Traffic {
        let signals = plan.vertices * (plan.layout.signal + plan.layout.active);
        let again = if plan.layout.told > 0 { plan.vertices * plan.layout.value } else { 0 };
        Traffic { read: self.ranges * signals + again, written: signals }
    }
}

impl Plan {
    /// Signals that a window has beyond the sources whose tiles begin in it: as many as a key can
    /// name, so that no key leads outside. Where that would take much, because stripes are narrow
    /// and signals large, and tiles are of one block, those of a block do, and keys are looked at.
    pub(crate) fn window_margin(&self) -> u64 {
        let few = !self.wide_tiles && self.layout.signal > SIGNAL_PADDED;
        1 << if few { self.block_bits } else { KEY_BITS - self.stripe_bits }
    }
}
