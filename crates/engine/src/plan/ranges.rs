//! Memory of route `ranges`, and how it is divided.
//!
//! Accumulators and windows of signals share what the workers leave. Every further range of
//! destinations reads all signals once more, every chunk that stays in memory is not read again:
//! of all numbers of ranges the one is taken that reads least.

use super::premises::Premises;
use super::traffic::Traffic;
use crate::footprints::columns as footprint;
use crate::footprints::schedules::masks;

/// Sources of the narrowest window.
const WINDOW_LEAST: u64 = 1 << 16;

/// Ranges of destinations, and windows of sources.
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
    pub(super) fn new(premises: &Premises, spare: u64, chunk_bytes: u64) -> Self {
        let threads = premises.threads as u64;
        let stripes = premises.stripes_most();
        let mut window_sources = WINDOW_LEAST;
        let of = |stripes_each: u64, window_sources| Self {
            stripes: stripes_each as usize,
            window_sources,
            ranges: stripes.div_ceil(threads * stripes_each),
        };
        // Wide windows save little: a look at each stripe, and pages that are read twice.
        let narrow = of(1, WINDOW_LEAST).bytes(premises);
        while window_sources < premises.vertices
            && of(1, 2 * window_sources).bytes(premises) - narrow < spare.saturating_sub(narrow) / 4
        {
            window_sources *= 2;
        }
        let signals = premises.vertices * (premises.program.signal() + premises.program.active());
        let read = |ranges: &Self| {
            let cache = spare.saturating_sub(ranges.bytes(premises));
            chunk_bytes.saturating_sub(cache) + ranges.ranges * signals
        };
        let each_most = stripes.div_ceil(threads).max(1);
        let choices = (0..).map(|power| 1 << power).take_while(|each| *each < each_most);
        let choices = choices.chain([each_most]).map(|each| of(each, window_sources));
        let fitting = choices.filter(|ranges| ranges.bytes(premises) <= spare);
        fitting.min_by_key(read).unwrap_or_else(|| of(1, WINDOW_LEAST))
    }

    /// Bytes of state in memory, but for the accumulators of one stripe a worker.
    pub(super) fn bytes(&self, premises: &Premises) -> u64 {
        let (layout, bits) = (premises.program, premises.edges.stripe_bits);
        let scattered = layout.signal() + layout.active();
        let padding =
            premises.edges.window_margin(layout.signal()) + (1 << premises.edges.block_bits);
        let accums = (self.stripes as u64 - 1) * layout.accum();
        let masked = if premises.program.has_frontier() { premises.vertices } else { 0 };
        premises
            .account()
            .shared(footprint::windows(self.window_sources + padding, scattered))
            .shared(footprint::piece_reader(scattered, &premises.settings.requests))
            .shared(masks(masked, premises.edges.block_bits))
            // And the degrees, at first.
            .each_worker(footprint::column_io(layout.value + scattered + 4, bits))
            .each_worker((layout.active() + accums) << bits)
            .bytes()
    }

    /// Bytes that signals move in an iteration in which all vertices are active, and values beside
    /// what each route reads of them: accumulators that begin from values want them once more.
    pub(super) fn traffic(&self, premises: &Premises) -> Traffic {
        let signals = premises.vertices * (premises.program.signal() + premises.program.active());
        let again = if premises.program.single() > 0 {
            premises.vertices * premises.program.value
        } else {
            0
        };
        Traffic { read: self.ranges * signals + again, written: signals }
    }
}
