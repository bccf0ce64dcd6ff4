//! From the bytes of records to pairs and weights.
//!
//! Records without weights are not copied: their bytes are the pairs. All buffers are used again
//! from batch to batch. Packed edges have 48-bit ids, but nearly always ones that fit into 32 bits;
//! a batch of those is decoded as narrow pairs.

use bytemuck::cast_slice;
use welter_model::edges::Pair;

use crate::error::InputError;
use crate::format::{RawLayout, RawWeight};
use crate::options::WeightBounds;

/// Fields of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Record {
    /// Two ids as wide as a machine word, and the weight if there is one.
    Plain(RawLayout),
    /// Two 48-bit ids, as Graph500 packs them.
    Packed,
}

/// Bytes of a packed edge.
const PACKED_BYTES: usize = 12;

/// The sign of a packed id: the highest of its 48 bits.
const SIGN: u64 = 1 << 47;

/// Use that is made of a record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Fields of the record.
    pub(super) record: Record,
    /// Whether the first id is the target.
    pub(super) swap: bool,
    /// Whether weights are wanted.
    pub(super) weights: bool,
    /// Bounds of the weights that are allowed.
    pub(super) bounds: WeightBounds,
}

impl Shape {
    /// Bytes of one record.
    pub(super) fn record_bytes(self) -> usize {
        match self.record {
            Record::Plain(layout) => layout.record_bytes(),
            Record::Packed => PACKED_BYTES,
        }
    }

    /// The layout of records whose bytes are pairs as they are.
    fn plain(self) -> Option<RawLayout> {
        match self.record {
            Record::Plain(layout) if layout.weight == RawWeight::None && !self.swap => {
                cfg!(target_endian = "little").then_some(layout)
            }
            _ => None,
        }
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

impl<'a> Pairs<'a> {
    /// Ids as slots, which they are known to be; wide ones through `narrowed`.
    pub(super) fn truncate<'n>(self, narrowed: &'n mut Vec<Pair>) -> &'n [Pair]
    where
        'a: 'n,
    {
        match self {
            Self::Narrow(pairs) => pairs,
            Self::Wide(wide) => {
                narrowed.clear();
                narrowed.extend(wide.iter().map(|pair| pair.map(|id| id as u32)));
                narrowed
            }
        }
    }
}

/// A record that no edge can be made of.
#[derive(Debug)]
pub(super) struct BadRecord {
    index: usize,
    fault: Fault,
}

#[derive(Debug)]
enum Fault {
    Nan,
    Weight(f64),
    Negative,
}

impl BadRecord {
    /// The error for a record of the bytes that begin at `offset`.
    pub(super) fn explain(self, file: &str, offset: u64, shape: Shape) -> InputError {
        let place = offset + (self.index * shape.record_bytes()) as u64;
        let what = match self.fault {
            Fault::Nan => Some("expected a weight, found a NaN (not a number)".to_owned()),
            Fault::Weight(weight) => shape.bounds.check(weight, &weight).err(),
            Fault::Negative => None,
        };
        if let (Some(what), Record::Plain(layout)) = (what, shape.record) {
            return InputError::byte(file, place + layout.id_bytes() as u64, what);
        }
        let what = "expected ids of 48 bits that are not negative, found a negative one";
        InputError::byte(file, place, what)
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
        let aligned = bytes.as_ptr().align_offset(align_of::<u64>()) == 0;
        if let Some(layout) = shape.plain().filter(|_| aligned) {
            let whole = &bytes[..bytes.len() / shape.record_bytes() * shape.record_bytes()];
            let pairs = if layout.wide {
                Pairs::Wide(cast_slice(whole))
            } else {
                Pairs::Narrow(cast_slice(whole))
            };
            return Ok(Batch { pairs, weights: None });
        }
        self.narrow.clear();
        self.wide.clear();
        self.weights.clear();
        match shape.record {
            Record::Plain(layout) => self.plain(bytes, layout),
            Record::Packed => self.packed(bytes)?,
        }
        let Self { narrow, wide, weights } = self;
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
            return Err(BadRecord { index, fault: Fault::Nan });
        }
        let bad = weights.iter().position(|weight| !shape.bounds.hold(*weight));
        if let Some(index) = bad.filter(|_| shape.weights) {
            return Err(BadRecord { index, fault: Fault::Weight(weights[index]) });
        }
        let pairs = if wide.is_empty() { Pairs::Narrow(narrow) } else { Pairs::Wide(wide) };
        Ok(Batch { pairs, weights: shape.weights.then_some(weights) })
    }

    /// Decodes ids and weights that are as wide as machine words.
    fn plain(&mut self, bytes: &[u8], layout: RawLayout) {
        let Self { narrow, wide, weights } = self;
        match (layout.wide, layout.weight) {
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
    }

    /// Decodes packed edges.
    fn packed(&mut self, bytes: &[u8]) -> Result<(), BadRecord> {
        let edges = || records::<PACKED_BYTES>(bytes);
        let high = edges().fold(0, |bits, edge| bits | u32::from_le_bytes(part(edge, 8)));
        if high == 0 {
            self.narrow.extend(edges().map(pair));
            return Ok(());
        }
        self.wide.extend(edges().map(packed_pair));
        let negative = self.wide.iter().position(|pair| (pair[0] | pair[1]) & SIGN != 0);
        negative.map_or(Ok(()), |index| Err(BadRecord { index, fault: Fault::Negative }))
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

/// The low 32 bits of both ids come first, then the high 16 bits of both.
fn packed_pair(edge: &[u8; PACKED_BYTES]) -> [u64; 2] {
    let id = |low: usize, high: usize| {
        u64::from(u32::from_le_bytes(part(edge, low)))
            | u64::from(u16::from_le_bytes(part(edge, high))) << 32
    };
    [id(0, 8), id(4, 10)]
}

fn single<const N: usize>(record: &[u8; N], start: usize) -> f64 {
    f32::from_le_bytes(part(record, start)).into()
}

fn double<const N: usize>(record: &[u8; N], start: usize) -> f64 {
    f64::from_le_bytes(part(record, start))
}
