//! The fixed head of a chunk and the entries of its directory, as they lie on storage.

use bytemuck::{Pod, Zeroable};

use crate::ChunkError;
pub use crate::encoding::{Encoding, KEY_BITS};
use crate::weights::WeightKind;

/// First bytes of every chunk.
pub const MAGIC: [u8; 8] = *b"WELTERCH";
/// Version of the format that this build writes and reads.
pub const VERSION: u16 = 1;
/// Sections begin at multiples of this many bytes.
pub const ALIGN: usize = 64;
/// Bytes after the last section, so that decoders may read a whole vector past the end.
pub const PADDING: usize = 64;

/// The cell that a chunk lies in, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CellId {
    /// Source partition: all sources of the chunk lie in it.
    pub source_partition: u32,
    /// Stripe: all destinations of the chunk lie in it.
    pub stripe: u32,
}

/// Label of a chunk: where its edges belong and how they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// Random number of the graph, the same in all its chunks.
    pub graph: u64,
    /// Generation of the edge set; rewriting edges makes a new one.
    pub generation: u32,
    /// Cell.
    pub cell: CellId,
    /// Number of the chunk within its cell.
    pub number: u32,
    /// First source vertex that a tile of this chunk may begin at.
    pub source_base: u64,
    /// First destination vertex of the stripe.
    pub target_base: u64,
    /// Low bits of a key that hold the destination, relative to `target_base`; the other bits hold
    /// the source, relative to its tile's first source.
    pub target_bits: u32,
    /// Encoding of the keys.
    pub encoding: Encoding,
    /// Kind of the weights.
    pub weights: WeightKind,
}

/// The head of a chunk, 128 bytes.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Header {
    pub(crate) magic: [u8; 8],
    pub(crate) version: u16,
    pub(crate) encoding: u8,
    pub(crate) weights: u8,
    pub(crate) target_bits: u8,
    pub(crate) reserved: [u8; 3],
    pub(crate) graph: u64,
    pub(crate) generation: u32,
    pub(crate) source_partition: u32,
    pub(crate) stripe: u32,
    pub(crate) number: u32,
    pub(crate) source_base: u64,
    pub(crate) target_base: u64,
    pub(crate) edges: u64,
    /// Bytes of the whole chunk, padding included.
    pub(crate) bytes: u64,
    pub(crate) tiles: u32,
    pub(crate) groups: u32,
    pub(crate) keys_offset: u32,
    pub(crate) keys_bytes: u32,
    pub(crate) weights_offset: u32,
    pub(crate) weights_bytes: u32,
    pub(crate) unused: [u8; 28],
    /// CRC-32C of the header up to here, the directory and the group checksums.
    pub(crate) checksum: u32,
}

pub(crate) const HEADER_BYTES: usize = size_of::<Header>();
const _: () = assert!(HEADER_BYTES == 128);

/// One tile in the directory, 16 bytes.
#[derive(Clone, Copy, Debug, Pod, Zeroable, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct TileEntry {
    /// First source of the tile, relative to the chunk's `source_base`.
    pub(crate) source: u32,
    /// Number of edges.
    pub(crate) edges: u32,
    /// Where the tile's keys begin, relative to the key section.
    pub(crate) offset: u32,
    /// Reserved for an index from sources to edges; zero.
    pub(crate) reserved: u32,
}

/// Checksums of a group of consecutive tiles, 12 bytes.
#[derive(Clone, Copy, Debug, Pod, Zeroable, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct GroupEntry {
    /// One past the last tile of the group.
    pub(crate) end: u32,
    /// CRC-32C of the group's keys.
    pub(crate) keys: u32,
    /// CRC-32C of the group's weights.
    pub(crate) weights: u32,
}

impl Header {
    pub(crate) fn new(label: &Label) -> Self {
        Self {
            magic: MAGIC,
            version: VERSION,
            encoding: label.encoding as u8,
            weights: label.weights as u8,
            target_bits: label.target_bits as u8,
            graph: label.graph,
            generation: label.generation,
            source_partition: label.cell.source_partition,
            stripe: label.cell.stripe,
            number: label.number,
            source_base: label.source_base,
            target_base: label.target_base,
            ..Self::zeroed()
        }
    }

    /// The label, when all its fields hold what a writer may write.
    pub(crate) fn label(&self) -> Result<Label, ChunkError> {
        if self.magic != MAGIC {
            return Err(ChunkError::Magic);
        }
        if self.version != VERSION {
            return Err(ChunkError::Version { found: self.version, known: VERSION });
        }
        let field = |what, offset, value| ChunkError::Field { what, offset, value };
        let encoding = Encoding::from_byte(self.encoding)
            .ok_or_else(|| field("encoding", 10, self.encoding.into()))?;
        let weights = WeightKind::from_byte(self.weights)
            .ok_or_else(|| field("weight type", 11, self.weights.into()))?;
        let target_bits = u32::from(self.target_bits);
        if target_bits >= KEY_BITS {
            return Err(field("number of destination bits", 12, target_bits.into()));
        }
        Ok(Label {
            graph: self.graph,
            generation: self.generation,
            cell: CellId { source_partition: self.source_partition, stripe: self.stripe },
            number: self.number,
            source_base: self.source_base,
            target_base: self.target_base,
            target_bits,
            encoding,
            weights,
        })
    }
}
