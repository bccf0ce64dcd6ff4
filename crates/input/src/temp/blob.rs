//! Parts of edges on scratch files.
//!
//! ```text
//! part   | block | block | ... | names |        names: only where ids are strings
//! block  | source, target | ... | weight | ... |      32 Ki edges, fewer in the last one
//! names  | end of each, u64 | text |
//! ```
//!
//! Ids take 4 bytes where all of a part fit, else 8; weights the narrowest form that keeps every
//! bit of every one in the part. Bytes are in the order of this machine, and 8-byte words begin at
//! multiples of 8 in their block. A part can be written over in place with slots, which are never
//! wider than ids were.
//!
//! Invariant: only sizes and checksums of a part stay in memory, 4 bytes for each 32 Ki edges and
//! less than 256 a part. Tested by `parts_come_back_as_they_were`.

#[cfg(test)]
mod tests;

use bytemuck::{cast, cast_slice, cast_slice_mut};
use welter_model::edges::Pair;
use welter_model::ids::Names;

use super::{TempFiles, TempLocation};
use crate::collect::{EdgeRun, Ids};
use crate::error::InputError;

/// Edges of a block: few enough to be still in the second-level cache when they are looked at.
pub(crate) const BLOCK_EDGES: usize = 32 << 10;

/// A part on a scratch file.
#[derive(Clone, Debug)]
pub(crate) struct Blob {
    place: TempLocation,
    edges: usize,
    /// Bytes from one block to the next.
    stride: usize,
    pub(crate) ids: Width,
    /// The smallest and the largest id, 0 of names.
    pub(crate) min: u64,
    pub(crate) max: u64,
    weights: Option<Weights>,
    /// Checksum of each block.
    sums: Vec<u32>,
    /// Distinct names of the part, text bytes and checksum.
    names: Option<Stored>,
}

/// Width of the ids of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    /// Integers of 32 bits, or slots.
    Narrow,
    /// Integers of 64 bits.
    Wide,
    /// Places among the names of the part.
    Names,
}

/// Form of the weights of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weights {
    /// Integers from 0 to 255.
    U8,
    F32,
    F64,
}

#[derive(Clone, Copy, Debug)]
struct Stored {
    place: TempLocation,
    count: usize,
    text_bytes: usize,
    sum: u32,
}

/// Ids of a block.
#[derive(Debug)]
pub(crate) enum Block<'a> {
    /// Narrow integers, slots, or places among names.
    Narrow(&'a mut [Pair]),
    /// Integers.
    Wide(&'a mut [[u64; 2]]),
}

/// Buffer that a thread reads blocks into.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    /// Bytes as stored; words, so that ids are aligned.
    words: Vec<u64>,
    weights: Vec<f64>,
}

impl Width {
    fn pair_bytes(self) -> usize {
        if self == Self::Wide { 16 } else { 8 }
    }
}

impl Weights {
    /// The narrowest form that gives back every bit of each weight.
    fn of(weights: &[f64]) -> Self {
        let same = |weight: &f64, back: f64| back.to_bits() == weight.to_bits();
        if weights.iter().all(|weight| same(weight, f64::from(*weight as u8))) {
            Self::U8
        } else if weights.iter().all(|weight| same(weight, f64::from(*weight as f32))) {
            Self::F32
        } else {
            Self::F64
        }
    }

    fn bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    fn encode(self, weights: &[f64], out: &mut Vec<u8>) {
        match self {
            Self::U8 => out.extend(weights.iter().map(|weight| *weight as u8)),
            Self::F32 => {
                out.extend(weights.iter().flat_map(|weight| (*weight as f32).to_ne_bytes()));
            }
            Self::F64 => out.extend_from_slice(cast_slice(weights)),
        }
    }

    fn decode(self, bytes: &[u8], out: &mut Vec<f64>) {
        out.clear();
        match self {
            Self::U8 => out.extend(bytes.iter().map(|weight| f64::from(*weight))),
            Self::F32 => {
                let chunks = bytes.as_chunks::<4>().0.iter();
                out.extend(chunks.map(|chunk| f64::from(f32::from_ne_bytes(*chunk))));
            }
            Self::F64 => {
                let chunks = bytes.as_chunks::<8>().0.iter();
                out.extend(chunks.map(|chunk| f64::from_ne_bytes(*chunk)));
            }
        }
    }
}

impl Blob {
    /// Writes a part, which has an edge.
    pub(crate) fn write(scratch: &TempFiles, part: EdgeRun) -> Result<Self, InputError> {
        let EdgeRun { ids, weights } = part;
        match ids {
            Ids::Narrow { pairs, max } => {
                let min = pairs.iter().flatten().min().copied().unwrap_or(0);
                let range = (u64::from(min), u64::from(max));
                Self::write_pairs(scratch, &pairs, Width::Narrow, range, weights.as_deref(), None)
            }
            Ids::Wide { pairs, max } if u32::try_from(max).is_ok() => {
                let narrow = pairs.iter().map(|pair| pair.map(|id| id as u32)).collect();
                Self::write(scratch, EdgeRun { ids: Ids::narrow(narrow), weights })
            }
            Ids::Wide { pairs, max } => {
                let min = pairs.iter().flatten().min().copied().unwrap_or(0);
                Self::write_pairs(
                    scratch,
                    &pairs,
                    Width::Wide,
                    (min, max),
                    weights.as_deref(),
                    None,
                )
            }
            Ids::Names { names, pairs } => Self::write_pairs(
                scratch,
                &pairs,
                Width::Names,
                (0, 0),
                weights.as_deref(),
                Some(&names),
            ),
        }
    }

    fn write_pairs<I: bytemuck::Pod>(
        scratch: &TempFiles,
        pairs: &[[I; 2]],
        ids: Width,
        (min, max): (u64, u64),
        weights: Option<&[f64]>,
        names: Option<&Names>,
    ) -> Result<Self, InputError> {
        let form = weights.map(Weights::of);
        let edge_bytes = ids.pair_bytes() + form.map_or(0, Weights::bytes);
        let stride = BLOCK_EDGES * edge_bytes;
        let edges_bytes = (pairs.len() * edge_bytes).next_multiple_of(8);
        let names_bytes = names.map_or(0, |names| names.len() * 8 + text_bytes(names));
        let bytes = (edges_bytes + names_bytes).next_multiple_of(8);
        let place = scratch.place(bytes as u64)?;
        let (mut sums, mut block) = (Vec::with_capacity(pairs.len().div_ceil(BLOCK_EDGES)), vec![]);
        for (number, pairs) in pairs.chunks(BLOCK_EDGES).enumerate() {
            let at = place.plus((number * stride) as u64);
            let Some((form, weights)) = form.zip(weights) else {
                sums.push(scratch.write(at, cast_slice(pairs))?);
                continue;
            };
            let first = number * BLOCK_EDGES;
            block.clear();
            block.extend_from_slice(cast_slice(pairs));
            form.encode(&weights[first..first + pairs.len()], &mut block);
            sums.push(scratch.write(at, &block)?);
        }
        let names = names
            .map(|names| write_names(scratch, place.plus(edges_bytes as u64), names))
            .transpose()?;
        let edges = pairs.len();
        Ok(Self { place, edges, stride, ids, min, max, weights: form, sums, names })
    }

    /// Number of edges.
    pub(crate) fn len(&self) -> usize {
        self.edges
    }

    /// Whether edges have weights.
    pub(crate) fn weighted(&self) -> bool {
        self.weights.is_some()
    }

    /// Number of blocks.
    pub(crate) fn blocks(&self) -> usize {
        self.sums.len()
    }

    /// Heap bytes that are held.
    pub(crate) fn resident_bytes(&self) -> u64 {
        (size_of::<Self>() + size_of_val(&self.sums[..])) as u64
    }

    fn block_edges(&self, block: usize) -> usize {
        (self.edges - block * BLOCK_EDGES).min(BLOCK_EDGES)
    }

    fn weight_bytes(&self) -> usize {
        self.weights.map_or(0, Weights::bytes)
    }

    /// Reads the ids of a block, and its weights if there are any.
    pub(crate) fn read<'b>(
        &self,
        scratch: &TempFiles,
        block: usize,
        buffer: &'b mut Buffer,
    ) -> Result<(Block<'b>, Option<&'b [f64]>), InputError> {
        let Buffer { words, weights } = buffer;
        let stored = self.read_stored(scratch, block, words)?;
        let (ids, heavy) = stored.split_at_mut(self.block_edges(block) * self.ids.pair_bytes());
        let weights = self.weights.map(|form| {
            form.decode(heavy, weights);
            &weights[..]
        });
        let ids = match self.ids {
            Width::Narrow | Width::Names => Block::Narrow(cast_slice_mut(ids)),
            Width::Wide => Block::Wide(cast_slice_mut(ids)),
        };
        Ok((ids, weights))
    }

    /// Reads all of a part.
    pub(crate) fn load(&self, scratch: &TempFiles) -> Result<EdgeRun, InputError> {
        let (mut narrow, mut wide) = (Vec::new(), Vec::new());
        let mut weights = self.weighted().then(|| Vec::with_capacity(self.edges));
        if self.ids == Width::Wide {
            wide.reserve(self.edges);
        } else {
            narrow.reserve(self.edges);
        }
        let mut buffer = Buffer::default();
        for block in 0..self.blocks() {
            let (ids, heavy) = self.read(scratch, block, &mut buffer)?;
            match ids {
                Block::Narrow(pairs) => narrow.extend_from_slice(pairs),
                Block::Wide(pairs) => wide.extend_from_slice(pairs),
            }
            if let Some((weights, heavy)) = weights.as_mut().zip(heavy) {
                weights.extend_from_slice(heavy);
            }
        }
        let ids = match self.ids {
            Width::Narrow => Ids::Narrow { pairs: narrow, max: self.max as u32 },
            Width::Wide => Ids::Wide { pairs: wide, max: self.max },
            Width::Names => Ids::Names { names: self.names(scratch)?, pairs: narrow },
        };
        Ok(EdgeRun { ids, weights })
    }

    /// Reads a block as it is stored.
    fn read_stored<'b>(
        &self,
        scratch: &TempFiles,
        block: usize,
        words: &'b mut Vec<u64>,
    ) -> Result<&'b mut [u8], InputError> {
        let bytes = self.block_edges(block) * (self.ids.pair_bytes() + self.weight_bytes());
        if words.len() < bytes.div_ceil(8) {
            words.resize(bytes.div_ceil(8), 0);
        }
        let stored = &mut cast_slice_mut::<u64, u8>(words)[..bytes];
        scratch.read(self.at(block), stored, self.sums[block])?;
        Ok(stored)
    }

    fn at(&self, block: usize) -> TempLocation {
        self.place.plus((block * self.stride) as u64)
    }

    /// Writes slots in the place of ids, or of places among names.
    pub(crate) fn replace(
        &mut self,
        scratch: &TempFiles,
        buffer: &mut Buffer,
        slot: &(impl Fn(u64) -> u32 + ?Sized),
    ) -> Result<(), InputError> {
        let narrow = |pair: Pair| pair.map(|id| slot(id.into()));
        for block in 0..self.blocks() {
            let mut bytes = self.read_stored(scratch, block, &mut buffer.words)?.len();
            let edges = self.block_edges(block);
            match self.ids {
                Width::Narrow | Width::Names => {
                    for pair in &mut cast_slice_mut::<u64, Pair>(&mut buffer.words)[..edges] {
                        *pair = narrow(*pair);
                    }
                }
                Width::Wide => {
                    for edge in 0..edges {
                        let pair = [buffer.words[2 * edge], buffer.words[2 * edge + 1]];
                        buffer.words[edge] = cast(pair.map(slot));
                    }
                    cast_slice_mut::<u64, u8>(&mut buffer.words)
                        .copy_within(edges * Width::Wide.pair_bytes()..bytes, edges * 8);
                    bytes -= edges * 8;
                }
            }
            let stored = &cast_slice::<u64, u8>(&buffer.words)[..bytes];
            self.sums[block] = scratch.write(self.at(block), stored)?;
        }
        self.ids = Width::Narrow;
        Ok(())
    }

    /// Number of names of the part; 0 of other parts.
    pub(crate) fn names_len(&self) -> usize {
        self.names.map_or(0, |stored| stored.count)
    }

    /// Bytes of the names of the part; 0 of other parts.
    pub(crate) fn names_bytes(&self) -> u64 {
        self.names.map_or(0, |stored| (stored.count * 8 + stored.text_bytes) as u64)
    }

    /// Reads the names of a part; none, of other parts.
    pub(crate) fn names(&self, scratch: &TempFiles) -> Result<Names, InputError> {
        let Some(stored) = self.names else { return Ok(Names::new()) };
        let mut bytes = vec![0; stored.count * 8 + stored.text_bytes];
        scratch.read(stored.place, &mut bytes, stored.sum)?;
        let (ends, text) = bytes.split_at(stored.count * 8);
        let mut names = Names::with_capacity(stored.count, stored.text_bytes);
        let mut begin = 0;
        for end in ends.as_chunks::<8>().0 {
            let end = u64::from_ne_bytes(*end) as usize;
            // The bytes that were written are text, and its checksum is right.
            names.push(std::str::from_utf8(&text[begin..end]).unwrap_or_default());
            begin = end;
        }
        Ok(names)
    }
}

fn text_bytes(names: &Names) -> usize {
    names.text().len()
}

fn write_names(
    scratch: &TempFiles,
    place: TempLocation,
    names: &Names,
) -> Result<Stored, InputError> {
    let mut bytes = Vec::with_capacity(names.len() * 8 + text_bytes(names));
    let mut end = 0;
    for name in names.iter() {
        end += name.len() as u64;
        bytes.extend_from_slice(&end.to_ne_bytes());
    }
    bytes.extend_from_slice(names.text().as_bytes());
    let sum = scratch.write(place, &bytes)?;
    Ok(Stored { place, count: names.len(), text_bytes: end as usize, sum })
}
