//! The kernel: what happens at an edge.
//!
//! A tile's keys are packed, or decoded through a buffer that stays in the first-level cache; then
//! each edge is one load of a signal (first-level cache: a block of sources), and one load,
//! addition and store of an accumulator (second-level cache: a stripe of destinations).
//!
//! Keys are fetched ahead by hand. The processor does that by itself within a page of 4 KiB only,
//! and on a graph with near ids, whose other columns are in the first-level cache, waiting for keys
//! at every page was most of what could be saved. A bare loop over all tiles, `f32`, 2 threads, ns
//! an edge and core, in turns:
//!
//! | graph | before | ahead | signals alone | and ahead |
//! |---|---:|---:|---:|---:|
//! | web-like 22 | 1.04 | 0.83 | 0.73 | 0.53 |
//! | web-like 24 | 1.18 | 0.94 | | 0.60 |
//! | R-MAT 22 | 0.93 | 0.77 | 0.70 | 0.49 |
//! | R-MAT scrambled 22 | 1.06 to 1.12 | 0.98 to 1.1 | 0.65 | 0.45 |
//!
//! 1, 2, 4 or 8 KiB ahead came out alike; past all but the first-level cache was slower (1.0 to
//! 1.6), and unrolling alone took web-like 22 to 0.97. Adding to the same few targets one after the
//! other is not what takes the time: edges that were dealt out anew, so that equal targets lay 2 to
//! 32 places apart, took 0.96 to 1.07. Folding two stripes in turns took 0.86 on near ids without
//! fetching ahead, but 1.27 on scrambled R-MAT, whose accumulators then leave the second-level
//! cache. What is left on web-like 24 is 0.72 for the tiles near the diagonal and 0.3 for a tenth
//! of the edges, far from it, each of which finds its signal in a line of its own: fetching those
//! signals ahead changed nothing.
//!
//! Invariant: no key, right or wrong, leads outside the columns: either these are as long as what a
//! key can tell apart, or keys are checked against them first ([`crate::kernels::keys`]). Tested by
//! `no_key_leads_outside_columns_of_its_width`,
//! `a_run_is_kept_exactly_if_none_of_its_keys_leads_outside` and
//! `keys_that_lead_outside_are_errors`.
#![expect(unsafe_code, reason = "indexes columns that keys lead nowhere outside of")]

use std::ops::Range;

use welter_model::program::Program;
use welter_store::chunk::Tile;
use welter_store::codec::{Decoder, SimdLevel};
use welter_store::header::{Encoding, Label};
use welter_store::weights::WeightKind;

use crate::kernels::keys::{ColumnLengths, Keys, Reach, Width};
use crate::machine::dispatch::dispatched;

/// Keys that are handed on at a time, at most: 4 KiB of them.
pub(crate) const BUFFER: usize = 1024;

/// Keys that are decoded at a time. What they are decoded from is asked of memory meanwhile, and a
/// core can wait for about a dozen lines: those of 1024 keys are four times as many. Ten iterations
/// of R-MAT 24 in memory, `f32`, 2 threads, took 1.8 s short and compressed, with 1024 keys 2.2 and
/// 2.0 (packed 1.5).
const DECODED: usize = 256;

/// Buffers of one worker in which keys and weights are decoded.
#[derive(Debug)]
pub struct DecodeBuffers {
    keys: Box<[u32; BUFFER]>,
    weights: Box<[f64; BUFFER]>,
    level: SimdLevel,
}

impl Default for DecodeBuffers {
    fn default() -> Self {
        Self {
            keys: Box::new([0; BUFFER]),
            weights: Box::new([1.0; BUFFER]),
            level: SimdLevel::detect(),
        }
    }
}

impl DecodeBuffers {
    pub(crate) fn new() -> Self {
        Self::default()
    }
}

/// Coding of the edges of a tile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coding {
    pub(crate) encoding: Encoding,
    pub(crate) weights: WeightKind,
    pub(crate) target_bits: u32,
}

impl Coding {
    /// The coding of a chunk's tiles for a program that may not look at weights.
    pub(crate) fn of<P: Program>(label: &Label) -> Self {
        Self::weighted(label, P::WEIGHTED)
    }

    /// The coding of a chunk's tiles, weights included where they are looked at.
    pub(crate) fn weighted(label: &Label, weighted: bool) -> Self {
        let weights = if weighted { label.weights } else { WeightKind::None };
        Self { weights, ..Self::all(label) }
    }

    /// The coding of a chunk's tiles, weights included.
    pub(crate) fn all(label: &Label) -> Self {
        let Label { encoding, weights, target_bits, .. } = *label;
        Self { encoding, weights, target_bits }
    }

    /// Hands the keys of some edges of a tile to `visit`, a run at a time, with their weights where
    /// there are any.
    #[inline(always)]
    pub(crate) fn keys(
        self,
        tile: &Tile<'_>,
        edges: Range<usize>,
        scratch: &mut DecodeBuffers,
        visit: impl FnMut(&[u32], Option<&[f64]>),
    ) {
        self.runs(tile, edges, DECODED, scratch, visit);
    }

    /// Shows edges in runs of at most [`BUFFER`], and of at most `most` where keys are decoded (a
    /// multiple of 16).
    #[inline(always)]
    pub(crate) fn runs(
        self,
        tile: &Tile<'_>,
        edges: Range<usize>,
        most: usize,
        scratch: &mut DecodeBuffers,
        mut visit: impl FnMut(&[u32], Option<&[f64]>),
    ) {
        let DecodeBuffers { keys, weights, level } = scratch;
        let weighted = self.weights != WeightKind::None;
        if self.encoding == Encoding::Packed && !weighted {
            return visit(&tile.packed()[edges], None);
        }
        let mut decoder =
            Decoder::new(self.encoding, self.target_bits, tile.keys, tile.edges, *level);
        // Where keys lead to each other, all before the first that is wanted are decoded.
        let mut done = decoder.as_mut().map_or(edges.start, |decoder| decoder.skip(edges.start));
        while done < edges.end {
            let run = match &mut decoder {
                Some(decoder) => {
                    let room = (edges.end - done).next_multiple_of(16).min(most);
                    let count = decoder.fill(&mut keys[..room]);
                    &keys[..count]
                }
                None => &tile.packed()[done..edges.end.min(done + BUFFER)],
            };
            let next = done + run.len();
            let wanted = edges.start.clamp(done, next) - done..edges.end.min(next) - done;
            let first = done + wanted.start;
            let run = &run[wanted];
            let weights = weighted.then(|| {
                let out = &mut weights[..run.len()];
                self.weights.decode(&tile.weights[first * self.weights.bytes()..], out);
                &*out
            });
            if !run.is_empty() {
                visit(run, weights);
            }
            done = next;
        }
    }
}

/// Signals of sources, from the first one of a tile on (or, of a
/// [pulled](crate::columns::chunks::Pulled) chunk, of its cell).
#[derive(Clone, Copy, Debug)]
pub struct Sources<'a, S> {
    /// Signal of each source.
    pub signals: &'a [S],
    /// Sources that are active; `None` when all are.
    pub active: Option<&'a [u8]>,
}

/// Folds some edges of a tile into the accumulators of its stripe, `2^target_bits` of them, by what
/// `2^(32 - target_bits)` sources say.
pub(crate) fn fold_tile<P: Program>(
    program: &P,
    tile: &Tile<'_>,
    edges: Range<usize>,
    coding: Coding,
    sources: Sources<'_, P::Signal>,
    accums: &mut [P::Accum],
    scratch: &mut DecodeBuffers,
) {
    fold_within(program, tile, edges, (coding, &Width), sources, accums, scratch);
}

/// Folds a tile into columns that may end before what a key can name. Says which key led outside,
/// which is none of the graph's; the keys beside it are left out too.
pub(crate) fn fold_short<P: Program>(
    program: &P,
    tile: &Tile<'_>,
    coding: Coding,
    sources: Sources<'_, P::Signal>,
    accums: &mut [P::Accum],
    scratch: &mut DecodeBuffers,
) -> Option<u32> {
    let columns = ColumnLengths::new([sources.signals.len(), accums.len()]);
    fold_within(program, tile, 0..tile.edges, (coding, &columns), sources, accums, scratch);
    columns.outside()
}

/// Folds edges of a tile into columns that reach as far as `reach` says.
pub(crate) fn fold_within<P: Program>(
    program: &P,
    tile: &Tile<'_>,
    edges: Range<usize>,
    (coding, reach): (Coding, &impl Reach),
    sources: Sources<'_, P::Signal>,
    accums: &mut [P::Accum],
    scratch: &mut DecodeBuffers,
) {
    coding.keys(tile, edges, scratch, |keys, weights| {
        fold_any(program, reach.hold(keys, coding.target_bits), weights, sources, accums);
    });
}

fn fold_any<P: Program>(
    program: &P,
    keys: Keys<'_>,
    weights: Option<&[f64]>,
    sources: Sources<'_, P::Signal>,
    accums: &mut [P::Accum],
) {
    dispatched(
        #[inline(always)]
        || match (weights, sources.active) {
            (None, None) => fold(program, keys, |_| 1.0, sources, |_| true, accums),
            (Some(weights), None) => {
                let weight = |edge: usize| weights[edge];
                fold(program, keys, weight, sources, |_| true, accums);
            }
            (weights, Some(active)) => {
                let weight = |edge: usize| weights.map_or(1.0, |weights| weights[edge]);
                let active = |source: usize| active[source] != 0;
                fold(program, keys, weight, sources, active, accums);
            }
        },
    );
}

#[inline(always)]
fn fold<P: Program>(
    program: &P,
    keys: Keys<'_>,
    weight: impl Fn(usize) -> f64,
    sources: Sources<'_, P::Signal>,
    active: impl Fn(usize) -> bool,
    accums: &mut [P::Accum],
) {
    let (target_bits, mask) = (keys.target_bits(), keys.mask());
    let signals = &sources.signals[..keys.sources()];
    let accums = &mut accums[..keys.targets()];
    let mut add = |edge: usize, key: u32| {
        let source = (key >> target_bits) as usize;
        if !active(source) {
            return;
        }
        // SAFETY: the source of each of these keys is below `keys.sources()`, to which `signals`
        // was cut.
        let signal = unsafe { *signals.get_unchecked(source) };
        if let Some(update) = program.scatter(signal, weight(edge)) {
            // SAFETY: the target of each is below `keys.targets()`, to which `accums` was cut.
            let accum = unsafe { accums.get_unchecked_mut((key & mask) as usize) };
            *accum = program.gather(*accum, update);
        }
    };
    let keys = keys.keys();
    let ahead = Ahead::of(keys);
    let (lines, rest) = keys.as_chunks::<LINE>();
    for (number, line) in lines.iter().enumerate() {
        ahead.fetch(line);
        for (place, &key) in line.iter().enumerate() {
            add(number * LINE + place, key);
        }
    }
    for (place, &key) in rest.iter().enumerate() {
        add(lines.len() * LINE + place, key);
    }
}

/// Keys that are looked at between two fetches: half a cache line of them.
pub(crate) const LINE: usize = 8;

/// Distance from the keys that are looked at to those whose memory is asked for.
#[derive(Clone, Copy)]
pub(crate) struct Ahead(usize);

impl Ahead {
    /// Far enough that keys come from memory in time, and no farther than a tile of usual size is
    /// long: what follows a few keys of a sparse iteration is not wanted.
    #[inline(always)]
    pub(crate) fn of(keys: &[u32]) -> Self {
        Self(if keys.len() >= 512 { 512 } else { 0 })
    }

    #[inline(always)]
    pub(crate) fn fetch(self, line: &[u32]) {
        fetch(line, self.0);
    }
}

/// Asks memory for what is at a place of a column, or behind it.
#[inline(always)]
pub(crate) fn fetch<T>(column: &[T], place: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let address = column.as_ptr().wrapping_add(place);
        // SAFETY: a prefetch is a hint. It reads nothing and faults nowhere.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (column, place);
}
