//! An edge on its way into a tile: how it waits in a bin, and how it is sorted.
//!
//! Bins are written a cache line at a time, and the first touch of their memory is the dearest part
//! of ingest where a hypervisor has to find it (2 to 3 s a GB were seen), so edges wait as narrow
//! as they can. A bin's edges begin in one group and end in one stripe; when neither is wider than
//! 2^20 slots, 20 bits of each slot tell which it is, and a line holds 12 edges instead of 8.

use std::fmt::Debug;

use bytemuck::{Pod, Zeroable, cast, cast_mut, cast_ref};

use crate::nontemporal::LINE_BYTES;

/// A cache line of waiting edges.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(64))]
pub(crate) struct Line(pub(crate) [u8; LINE_BYTES]);

/// An edge that is sorted: source and destination in one ordered key, and its weight.
pub(crate) trait Record: Pod + Send + Sync + Debug {
    /// Whether records carry weights.
    const WEIGHTED: bool;
    /// A record. `weight` is dropped by records without.
    fn new(key: u64, weight: f64) -> Self;
    /// Source in the high bits, destination in the low ones.
    fn key(&self) -> u64;
    /// The weight, 1 without.
    fn weight(&self) -> f64;
}

impl Record for u64 {
    const WEIGHTED: bool = false;

    #[inline(always)]
    fn new(key: u64, _: f64) -> Self {
        key
    }

    #[inline(always)]
    fn key(&self) -> u64 {
        *self
    }

    #[inline(always)]
    fn weight(&self) -> f64 {
        1.0
    }
}

/// An edge with its weight.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Weighted {
    key: u64,
    weight: f64,
}

impl Record for Weighted {
    const WEIGHTED: bool = true;

    #[inline(always)]
    fn new(key: u64, weight: f64) -> Self {
        Self { key, weight }
    }

    #[inline(always)]
    fn key(&self) -> u64 {
        self.key
    }

    #[inline(always)]
    fn weight(&self) -> f64 {
        self.weight
    }
}

/// How edges wait in a line.
pub(crate) trait Waiting: Send + Sync {
    /// What they become to be sorted.
    type Record: Record;
    /// Edges in a line.
    const PER_LINE: usize;
    /// Low bits of a slot that a line keeps.
    const SLOT_BITS: u32;
    /// Writes an edge to a line.
    fn write(line: &mut Line, place: usize, source: u32, target: u32, weight: f64);
    /// Low bits of source and destination of an edge, and its weight.
    fn read(line: &Line, place: usize) -> (u32, u32, f64);
}

/// Twelve edges a line: 20 bits of each slot, split into words and single bytes.
pub(crate) struct Narrow;

impl Narrow {
    const BITS: u32 = 20;
    const BYTES_FROM: usize = 48;
}

impl Waiting for Narrow {
    type Record = u64;

    const PER_LINE: usize = 12;
    const SLOT_BITS: u32 = Self::BITS;

    #[inline(always)]
    fn write(Line(line): &mut Line, place: usize, source: u32, target: u32, _: f64) {
        let mask = (1 << Self::BITS) - 1;
        let key = u64::from(source & mask) << Self::BITS | u64::from(target & mask);
        let words: &mut [u32; 16] = cast_mut(line);
        words[place] = key as u32;
        line[Self::BYTES_FROM + place] = (key >> 32) as u8;
    }

    #[inline(always)]
    fn read(Line(line): &Line, place: usize) -> (u32, u32, f64) {
        let words: &[[u8; 4]; 16] = cast_ref(line);
        let low: u32 = cast(words[place]);
        let key = u64::from(line[Self::BYTES_FROM + place]) << 32 | u64::from(low);
        ((key >> Self::BITS) as u32, key as u32 & ((1 << Self::BITS) - 1), 1.0)
    }
}

/// Eight edges a line.
pub(crate) struct Wide;

impl Waiting for Wide {
    type Record = u64;

    const PER_LINE: usize = 8;
    const SLOT_BITS: u32 = u32::BITS;

    #[inline(always)]
    fn write(Line(line): &mut Line, place: usize, source: u32, target: u32, _: f64) {
        let pairs: &mut [[[u8; 4]; 2]; 8] = cast_mut(line);
        pairs[place] = [source.to_ne_bytes(), target.to_ne_bytes()];
    }

    #[inline(always)]
    fn read(Line(line): &Line, place: usize) -> (u32, u32, f64) {
        let pairs: &[[[u8; 4]; 2]; 8] = cast_ref(line);
        let [source, target] = pairs[place];
        (u32::from_ne_bytes(source), u32::from_ne_bytes(target), 1.0)
    }
}

/// Four edges a line, each with its weight.
pub(crate) struct WideWeighted;

impl Waiting for WideWeighted {
    type Record = Weighted;

    const PER_LINE: usize = 4;
    const SLOT_BITS: u32 = u32::BITS;

    #[inline(always)]
    fn write(Line(line): &mut Line, place: usize, source: u32, target: u32, weight: f64) {
        let edges: &mut [[[u8; 8]; 2]; 4] = cast_mut(line);
        let key = u64::from(source) << 32 | u64::from(target);
        edges[place] = [key.to_ne_bytes(), weight.to_ne_bytes()];
    }

    #[inline(always)]
    fn read(Line(line): &Line, place: usize) -> (u32, u32, f64) {
        let edges: &[[[u8; 8]; 2]; 4] = cast_ref(line);
        let key = u64::from_ne_bytes(edges[place][0]);
        ((key >> 32) as u32, key as u32, f64::from_ne_bytes(edges[place][1]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip<W: Waiting>() {
        let mut line = Line([0xff; LINE_BYTES]);
        let mask = (1_u64 << W::SLOT_BITS) - 1;
        let edge = |place: usize| {
            let slot = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(place as u64 + 1);
            ((slot & mask) as u32, (slot >> 32 & mask) as u32, place as f64)
        };
        for place in 0..W::PER_LINE {
            let (source, target, weight) = edge(place);
            W::write(&mut line, place, source, target, weight);
        }
        for place in 0..W::PER_LINE {
            let (source, target, weight) = edge(place);
            let expected = (source, target, if W::Record::WEIGHTED { weight } else { 1.0 });
            assert_eq!(W::read(&line, place), expected);
        }
    }

    #[test]
    fn lines_give_back_what_was_written() {
        round_trip::<Narrow>();
        round_trip::<Wide>();
        round_trip::<WideWeighted>();
    }
}
