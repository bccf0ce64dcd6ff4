//! An edge on its way into a tile: how it waits in a bin, and how it is sorted.
//!
//! Bins are written a cache line at a time, and the first touch of their memory is the dearest part
//! of ingest where a hypervisor has to find it (2 to 3 s a GB were seen), so edges wait as narrow
//! as they can. A bin's edges begin in one group and end in one stripe; when neither is wider than
//! 2^20 slots, 20 bits of each slot tell which it is, and a line holds 12 edges instead of 8.

use std::fmt::Debug;
use std::marker::PhantomData;

use bytemuck::{Pod, Zeroable, cast, cast_mut, cast_ref};

use crate::machine::nontemporal::LINE_BYTES;

/// A cache line of waiting edges.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(64))]
pub(crate) struct Line(pub(crate) [u8; LINE_BYTES]);

/// An edge that is sorted: source and destination in one ordered key, and its weight.
pub(crate) trait Record: Pod + Send + Sync + Debug {
    /// True where records carry weights.
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

/// Form of edges that wait in a line.
pub(crate) trait Waiting: Send + Sync {
    /// Record that they become to be sorted.
    type Record: Record;
    /// Edges in a line.
    const PER_LINE: usize;
    /// Low bits of a slot that a line keeps.
    const SLOT_BITS: u32;
    /// Whether arcs that are reverses of edges are marked.
    const SEPARATES_WAYS: bool = false;
    /// Writes an edge to a line.
    fn write(line: &mut Line, place: usize, source: u32, target: u32, weight: f64);
    /// Low bits of source and destination of an edge, and its weight.
    fn read(line: &Line, place: usize) -> (u32, u32, f64);
    /// Notes whether the edge just written is the reverse of one of the input.
    #[inline(always)]
    fn write_way(_line: &mut Line, _place: usize, _is_reverse: bool) {}
    /// Whether an edge is the reverse of one of the input; `false` where that is not told apart.
    #[inline(always)]
    fn is_reverse(_line: &Line, _place: usize) -> bool {
        false
    }
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

/// Edges that wait as in `W`, and say whether they are reverses of edges of the input.
pub(crate) struct BothWays<W>(PhantomData<W>);

/// A kind of line with a bit to spare for each edge.
pub(crate) trait Sparing: Waiting {
    /// Low bits of a slot that are left.
    const BITS_LEFT: u32;
    /// The byte and the bit.
    fn spare(place: usize) -> (usize, u8);
}

impl Sparing for Narrow {
    const BITS_LEFT: u32 = Self::SLOT_BITS;

    /// In what the last bytes leave of a line.
    #[inline(always)]
    fn spare(place: usize) -> (usize, u8) {
        (Self::BYTES_FROM + Self::PER_LINE + place / 8, 1 << (place % 8))
    }
}

impl Sparing for Wide {
    const BITS_LEFT: u32 = Self::SLOT_BITS - 1;

    /// The highest bit of the source.
    #[inline(always)]
    fn spare(place: usize) -> (usize, u8) {
        (place * 8 + HIGH_BYTE, 1 << 7)
    }
}

impl Sparing for WideWeighted {
    const BITS_LEFT: u32 = Self::SLOT_BITS - 1;

    /// The highest bit of the source.
    #[inline(always)]
    fn spare(place: usize) -> (usize, u8) {
        (place * 16 + if cfg!(target_endian = "big") { 0 } else { 7 }, 1 << 7)
    }
}

/// Where the highest bits of a slot are among its four bytes.
const HIGH_BYTE: usize = if cfg!(target_endian = "big") { 0 } else { 3 };

impl<W: Sparing> Waiting for BothWays<W> {
    type Record = W::Record;

    const PER_LINE: usize = W::PER_LINE;
    const SLOT_BITS: u32 = W::BITS_LEFT;
    const SEPARATES_WAYS: bool = true;

    #[inline(always)]
    fn write(line: &mut Line, place: usize, source: u32, target: u32, weight: f64) {
        W::write(line, place, source, target, weight);
    }

    #[inline(always)]
    fn read(line: &Line, place: usize) -> (u32, u32, f64) {
        W::read(line, place)
    }

    #[inline(always)]
    fn write_way(Line(line): &mut Line, place: usize, is_reverse: bool) {
        let (byte, bit) = W::spare(place);
        if is_reverse {
            line[byte] |= bit;
        } else {
            line[byte] &= !bit;
        }
    }

    #[inline(always)]
    fn is_reverse(Line(line): &Line, place: usize) -> bool {
        let (byte, bit) = W::spare(place);
        line[byte] & bit != 0
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
        let is_reverse = |place: usize| W::SEPARATES_WAYS && place % 3 != 1;
        for place in 0..W::PER_LINE {
            let (source, target, weight) = edge(place);
            W::write(&mut line, place, source, target, weight);
            W::write_way(&mut line, place, is_reverse(place));
        }
        for place in 0..W::PER_LINE {
            let (source, target, weight) = edge(place);
            let expected = (source, target, if W::Record::WEIGHTED { weight } else { 1.0 });
            let (source, target, weight) = W::read(&line, place);
            // A reader leaves out the bits beyond those of a slot.
            assert_eq!((source & mask as u32, target & mask as u32, weight), expected);
            assert_eq!(W::is_reverse(&line, place), is_reverse(place));
        }
    }

    #[test]
    fn lines_give_back_what_was_written() {
        round_trip::<Narrow>();
        round_trip::<Wide>();
        round_trip::<WideWeighted>();
        round_trip::<BothWays<Narrow>>();
        round_trip::<BothWays<Wide>>();
        round_trip::<BothWays<WideWeighted>>();
    }
}
