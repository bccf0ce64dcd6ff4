//! From the bytes of records to pairs and weights.
//!
//! Records without weights are not copied: their bytes are the pairs. All buffers are used again
//! from batch to batch.

use bytemuck::cast_slice;
use welter_model::edges::Pair;

use crate::error::InputError;
use crate::format::{RawLayout, RawWeight};

/// What to make of a record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// What a record holds.
    pub(super) layout: RawLayout,
    /// Whether the first id is the target.
    pub(super) swap: bool,
    /// Whether weights are wanted.
    pub(super) weights: bool,
}

impl Shape {
    /// Bytes of one record.
    pub(super) fn record_bytes(self) -> usize {
        let weight = match self.layout.weight {
            RawWeight::None => 0,
            RawWeight::F32 => 4,
            RawWeight::F64 => 8,
        };
        weight + if self.layout.wide { 16 } else { 8 }
    }

    /// Whether the bytes of records are pairs as they are.
    fn is_plain(self) -> bool {
        self.layout.weight == RawWeight::None && !self.swap && cfg!(target_endian = "little")
    }
}

/// Decoded records.
#[derive(Clone, Copy, Debug)]
pub(super) struct Batch<'a> {
    pub(super) pairs: Pairs<'a>,
    /// As many as pairs, none of them NaN.
    pub(super) weights: Option<&'a [f64]>,
}

/// Ids of decoded records, as wide as they are stored.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pairs<'a> {
    Narrow(&'a [Pair]),
    Wide(&'a [[u64; 2]]),
}

impl Pairs<'_> {
    /// The largest id, 0 where there is none.
    pub(super) fn max(self) -> u64 {
        // Folds over plain slices, which compilers turn into vector instructions.
        match self {
            Self::Narrow(pairs) => {
                u64::from(pairs.as_flattened().iter().fold(0, |max, id| *id.max(&max)))
            }
            Self::Wide(pairs) => pairs.as_flattened().iter().fold(0, |max, id| *id.max(&max)),
        }
    }
}

/// A record that no edge can be made of.
#[derive(Debug)]
pub(super) struct BadRecord {
    index: usize,
}

impl BadRecord {
    /// The error for a record of the bytes that begin at `offset`.
    pub(super) fn explain(self, file: &str, offset: u64, shape: Shape) -> InputError {
        let ids = if shape.layout.wide { 16 } else { 8 };
        let place = offset + (self.index * shape.record_bytes()) as u64 + ids;
        InputError::byte(file, place, "expected a weight, found a NaN (not a number)")
    }
}

/// Where records are decoded to.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    narrow: Vec<Pair>,
    wide: Vec<[u64; 2]>,
    weights: Vec<f64>,
}

impl Buffers {
    /// Decodes records; what does not fill a record at the end is left out.
    pub(super) fn decode<'a>(
        &'a mut self,
        bytes: &'a [u8],
        shape: Shape,
    ) -> Result<Batch<'a>, BadRecord> {
        if shape.is_plain() && bytes.as_ptr().align_offset(align_of::<u64>()) == 0 {
            let whole = &bytes[..bytes.len() / shape.record_bytes() * shape.record_bytes()];
            let pairs = if shape.layout.wide {
                Pairs::Wide(cast_slice(whole))
            } else {
                Pairs::Narrow(cast_slice(whole))
            };
            return Ok(Batch { pairs, weights: None });
        }
        let Self { narrow, wide, weights } = self;
        narrow.clear();
        wide.clear();
        weights.clear();
        let RawLayout { wide: is_wide, weight } = shape.layout;
        match (is_wide, weight) {
            (false, RawWeight::None) => narrow.extend(records::<8>(bytes).map(pair)),
            (false, RawWeight::F32) => {
                narrow.extend(records::<12>(bytes).map(pair));
                weights.extend(records::<12>(bytes).map(|record| single(record, 8)));
            }
            (false, RawWeight::F64) => {
                narrow.extend(records::<16>(bytes).map(pair));
                weights.extend(records::<16>(bytes).map(|record| double(record, 8)));
            }
            (true, RawWeight::None) => wide.extend(records::<16>(bytes).map(wide_pair)),
            (true, RawWeight::F32) => {
                wide.extend(records::<20>(bytes).map(wide_pair));
                weights.extend(records::<20>(bytes).map(|record| single(record, 16)));
            }
            (true, RawWeight::F64) => {
                wide.extend(records::<24>(bytes).map(wide_pair));
                weights.extend(records::<24>(bytes).map(|record| double(record, 16)));
            }
        }
        if shape.swap {
            for pair in narrow.iter_mut() {
                pair.reverse();
            }
            for pair in wide.iter_mut() {
                pair.reverse();
            }
        }
        let bad = weights.iter().position(|weight| weight.is_nan());
        if let Some(index) = bad.filter(|_| shape.weights) {
            return Err(BadRecord { index });
        }
        let pairs = if is_wide { Pairs::Wide(wide) } else { Pairs::Narrow(narrow) };
        Ok(Batch { pairs, weights: shape.weights.then_some(weights) })
    }
}

fn records<const N: usize>(bytes: &[u8]) -> std::slice::Iter<'_, [u8; N]> {
    bytes.as_chunks::<N>().0.iter()
}

/// `M` bytes of a record. The bounds are constants after inlining.
#[inline]
fn part<const N: usize, const M: usize>(record: &[u8; N], start: usize) -> [u8; M] {
    let mut bytes = [0; M];
    bytes.copy_from_slice(&record[start..start + M]);
    bytes
}

fn pair<const N: usize>(record: &[u8; N]) -> Pair {
    [u32::from_le_bytes(part(record, 0)), u32::from_le_bytes(part(record, 4))]
}

fn wide_pair<const N: usize>(record: &[u8; N]) -> [u64; 2] {
    [u64::from_le_bytes(part(record, 0)), u64::from_le_bytes(part(record, 8))]
}

fn single<const N: usize>(record: &[u8; N], start: usize) -> f64 {
    f32::from_le_bytes(part(record, start)).into()
}

fn double<const N: usize>(record: &[u8; N], start: usize) -> f64 {
    f64::from_le_bytes(part(record, start))
}
