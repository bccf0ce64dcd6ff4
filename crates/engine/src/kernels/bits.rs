//! Answers of states about the ends of edges, as bits: those of 16 million slots are 2 MiB, which a
//! core keeps in its second-level cache, where their states would be 16 MiB or more. Of few sources
//! they are folded as well, into a table that the first-level cache keeps: a search of R-MAT 24
//! meets all edges for one source, for 97, and for 237 thousand.
//!
//! Invariant: bits are those of states before a step, but for targets into which no edge can be a
//! candidate since: these may lose theirs. States may say no before that; they are asked again.
//! Tested by `components_are_those_of_a_search` and `depths_are_those_of_a_queue`.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::EngineError;
use crate::machine::arena::Buffer;

/// Bits of the folded table: 16 KiB.
const FOLDED: usize = 1 << 17;
/// Sources that are folded, at most: of others one in sixteen has a bit in the table too.
const FEW: u64 = FOLDED as u64 / 16;

/// A bit for each slot: as a source, and as a target.
pub(crate) struct Bits {
    sources: Buffer<u64>,
    targets: Buffer<AtomicU64>,
    /// The sources by their low bits, where they are few.
    folded: Option<Box<[u64; FOLDED / 64]>>,
}

impl Bits {
    /// No bits of `slots` slots.
    pub(crate) fn new(slots: usize) -> Result<Self, EngineError> {
        let words = slots.div_ceil(64);
        Ok(Self { sources: Buffer::zeroed(words)?, targets: Buffer::zeroed(words)?, folded: None })
    }

    /// Parts with the bits of `slots` slots each, a multiple of 64.
    pub(crate) fn parts(&mut self, slots: usize) -> impl Iterator<Item = BitsPart<'_>> {
        let sources = self.sources.chunks_mut(slots / 64);
        let both = sources.zip(self.targets.chunks_mut(slots / 64));
        both.map(|(sources, targets)| BitsPart { sources, targets })
    }

    /// Folds the sources that have a bit, `count` of them, where they are few.
    pub(crate) fn fold(&mut self, count: u64) {
        self.folded = (count <= FEW).then(|| {
            let mut folded = Box::new([0; FOLDED / 64]);
            for (place, word) in self.sources.iter().enumerate() {
                folded[place % (FOLDED / 64)] |= word;
            }
            folded
        });
    }

    /// Whether a slot has a bit as this end of an edge.
    #[inline(always)]
    pub(crate) fn has(&self, end: End, slot: u32) -> bool {
        let word = slot as usize / 64;
        let word = match end {
            End::Source => self.sources[word],
            End::Target => self.targets[word].load(Relaxed),
        };
        word >> (slot % 64) & 1 == 1
    }

    /// Sources by their low bits, where they are few.
    #[inline(always)]
    pub(crate) fn few(&self) -> Option<Few<'_>> {
        self.folded.as_deref().map(Few)
    }

    /// Takes its bit from a target.
    #[inline(always)]
    pub(crate) fn done(&self, target: u32) {
        self.targets[target as usize / 64].fetch_and(!(1 << (target % 64)), Relaxed);
    }
}

/// The bits of some slots.
pub(crate) struct BitsPart<'a> {
    sources: &'a mut [u64],
    targets: &'a mut [AtomicU64],
}

impl BitsPart<'_> {
    /// Asks all states, and says how many have a bit as a source.
    #[inline(always)]
    pub(crate) fn ask<C>(&mut self, states: &[C], bits: impl Fn(&C) -> [bool; 2]) -> u64 {
        let mut count = 0;
        let words = self.sources.iter_mut().zip(self.targets.iter_mut());
        for ((source, target), states) in words.zip(states.chunks(64)) {
            let mut both = [0_u64; 2];
            for (place, state) in states.iter().enumerate() {
                let [one, other] = bits(state).map(u64::from);
                both[0] |= one << place;
                both[1] |= other << place;
            }
            count += u64::from(both[0].count_ones());
            (*source, *target) = (both[0], both[1].into());
        }
        count
    }
}

/// Few sources by their low bits.
#[derive(Clone, Copy)]
pub(crate) struct Few<'a>(&'a [u64; FOLDED / 64]);

impl Few<'_> {
    /// Whether a slot may have a bit as a source.
    #[inline(always)]
    pub(crate) fn may_have(self, slot: u32) -> bool {
        self.0[slot as usize % FOLDED / 64] >> (slot % 64) & 1 == 1
    }
}

/// An end of an edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum End {
    #[default]
    Source,
    Target,
}

/// End of edges that is looked at first: the one that fewer have a bit of, going by a run of edges
/// now and then.
#[derive(Default)]
pub(crate) struct Looks {
    runs: u32,
    first: End,
}

/// One run in `COUNTED` is counted.
const COUNTED: u32 = 64;

impl Looks {
    /// The end for the next run.
    #[inline(always)]
    pub(crate) fn first(&mut self, bits: &Bits, pairs: &[[u32; 2]]) -> End {
        if self.runs.is_multiple_of(COUNTED) {
            self.first = fewer(bits, pairs);
        }
        self.runs = self.runs.wrapping_add(1);
        self.first
    }
}

fn fewer(bits: &Bits, pairs: &[[u32; 2]]) -> End {
    let sources = pairs.iter().filter(|[source, _]| bits.has(End::Source, *source)).count();
    let targets = pairs.iter().filter(|[_, target]| bits.has(End::Target, *target)).count();
    if sources <= targets { End::Source } else { End::Target }
}
