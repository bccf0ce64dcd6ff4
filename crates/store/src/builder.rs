//! Writing chunks: tiles go in, one run of bytes comes out.

use bytemuck::{Zeroable, bytes_of, cast_slice};

use crate::checksum;
use crate::codec;
use crate::header::{ALIGN, Encoding, GroupEntry, HEADER_BYTES, Header, Label, PADDING, TileEntry};
use crate::weights::WeightKind;

/// Key bytes after which a group of tiles gets its checksum: small enough for sparse reads to check
/// what they read, large enough to cost nothing.
const GROUP_BYTES: usize = 32 << 10;

/// Collects the tiles of one chunk. Buffers are kept between chunks.
///
/// Three edges from sources 64 and 65 to the stripe that begins at vertex 4096. A key has the
/// source above and the destination below, here in 12 bits:
///
/// ```
/// use welter_store::ChunkBuilder;
/// use welter_store::chunk::Chunk;
/// use welter_store::header::{CellId, Encoding, Label};
/// use welter_store::weights::WeightKind;
///
/// let label = Label {
///     graph: 1,
///     generation: 0,
///     cell: CellId { source_partition: 0, stripe: 1 },
///     number: 0,
///     source_base: 0,
///     target_base: 4096,
///     target_bits: 12,
///     encoding: Encoding::Packed,
///     weights: WeightKind::None,
/// };
/// let keys = [5, 9, 1 << 12 | 5];
/// let mut builder = ChunkBuilder::new(false);
/// builder.push(64, &keys, &[], &label);
/// let mut bytes = Vec::new();
/// builder.finish(&label, &mut bytes);
///
/// let chunk = Chunk::open(&bytes)?;
/// chunk.verify()?;
/// assert_eq!((*chunk.label(), chunk.edges()), (label, 3));
/// let edges: Vec<[u64; 2]> = chunk
///     .tiles()
///     .flat_map(|tile| tile.packed().iter().map(move |key| (tile.source, u64::from(*key))))
///     .map(|(source, key)| [source + (key >> 12), label.target_base + (key & 0xfff)])
///     .collect();
/// assert_eq!(edges, [[64, 4101], [64, 4105], [65, 4101]]);
///
/// // One bit that flips is noticed.
/// let last = bytes.len() / 2;
/// bytes[last] ^= 1;
/// assert!(Chunk::open(&bytes).and_then(|chunk| chunk.verify()).is_err());
/// # Ok::<(), welter_store::ChunkError>(())
/// ```
#[derive(Debug, Default)]
pub struct ChunkBuilder {
    directory: Vec<TileEntry>,
    groups: Vec<GroupEntry>,
    keys: Vec<u8>,
    /// Where the open group begins in `keys`.
    group_start: usize,
    weights: Vec<f64>,
    weighted: bool,
    edges: u64,
    encoded_weights: Vec<u8>,
}

impl ChunkBuilder {
    /// An empty builder. `weighted`: whether tiles come with weights.
    pub fn new(weighted: bool) -> Self {
        Self { weighted, ..Self::default() }
    }

    /// Whether no tile was pushed since the last [`Self::finish`].
    pub fn is_empty(&self) -> bool {
        self.directory.is_empty()
    }

    /// Bytes of keys, weights and directory so far; weights are counted at their widest. Of tiles
    /// with an edge or two the directory is the larger part.
    pub fn bytes(&self) -> usize {
        let directory = size_of_val(&self.directory[..]);
        self.keys.len() + self.weights.len() * size_of::<f64>() + directory
    }

    /// Appends a tile of the chunk with this label. `source`: its first source, relative to the
    /// chunk's `source_base`; `keys`: ascending; `weights`: as many as keys in a weighted chunk.
    ///
    /// # Panics
    /// When the number of weights does not fit, which is a bug of the caller.
    pub fn push(&mut self, source: u32, keys: &[u32], weights: &[f64], label: &Label) {
        let Label { encoding, target_bits, .. } = *label;
        assert_eq!(weights.len(), if self.weighted { keys.len() } else { 0 });
        debug_assert!(encoding != Encoding::Compressed || keys.is_sorted());
        let offset = self.keys.len() as u32;
        codec::encode(encoding, target_bits, keys, &mut self.keys);
        self.weights.extend_from_slice(weights);
        self.edges += keys.len() as u64;
        self.directory.push(TileEntry { source, edges: keys.len() as u32, offset, reserved: 0 });
        if self.keys.len() - self.group_start >= GROUP_BYTES {
            self.close_group();
        }
    }

    fn close_group(&mut self) {
        let end = self.directory.len() as u32;
        if self.groups.last().map_or(0, |group| group.end) < end {
            let keys = checksum::of(&self.keys[self.group_start..]);
            self.groups.push(GroupEntry { end, keys, weights: 0 });
            self.group_start = self.keys.len();
        }
    }

    /// Appends the chunk's bytes to `out`, whose length must be a multiple of [`ALIGN`], and
    /// empties the builder. The label's type of weights is replaced by the narrowest that fits.
    ///
    /// # Panics
    /// When `out` is not aligned, which is a bug of the caller.
    pub fn finish(&mut self, label: &Label, out: &mut Vec<u8>) {
        assert_eq!(out.len() % ALIGN, 0);
        self.close_group();
        let kind =
            if self.weighted { WeightKind::narrowest(&self.weights) } else { WeightKind::None };
        self.encoded_weights.clear();
        kind.encode(&self.weights, &mut self.encoded_weights);
        self.sum_weights(kind);

        let start = out.len();
        let tables = size_of_val(&self.directory[..]) + size_of_val(&self.groups[..]);
        let keys_offset = (HEADER_BYTES + tables).next_multiple_of(ALIGN);
        let weights_offset = (keys_offset + self.keys.len()).next_multiple_of(ALIGN);
        let bytes = (weights_offset + self.encoded_weights.len() + PADDING).next_multiple_of(ALIGN);
        let mut header = Header {
            edges: self.edges,
            bytes: bytes as u64,
            tiles: self.directory.len() as u32,
            groups: self.groups.len() as u32,
            keys_offset: keys_offset as u32,
            keys_bytes: self.keys.len() as u32,
            weights_offset: weights_offset as u32,
            weights_bytes: self.encoded_weights.len() as u32,
            ..Header::new(&Label { weights: kind, ..*label })
        };
        header.checksum = table_checksum(&header, &self.directory, &self.groups);
        out.extend_from_slice(bytes_of(&header));
        out.extend_from_slice(cast_slice(&self.directory));
        out.extend_from_slice(cast_slice(&self.groups));
        out.resize(start + keys_offset, 0);
        out.extend_from_slice(&self.keys);
        out.resize(start + weights_offset, 0);
        out.extend_from_slice(&self.encoded_weights);
        out.resize(start + bytes, 0);
        self.clear();
    }

    fn sum_weights(&mut self, kind: WeightKind) {
        let mut tile = 0;
        let mut start = 0;
        for group in &mut self.groups {
            let tiles = &self.directory[tile..group.end as usize];
            let edges: usize = tiles.iter().map(|tile| tile.edges as usize).sum();
            let end = start + edges * kind.bytes();
            group.weights = checksum::of(&self.encoded_weights[start..end]);
            (tile, start) = (group.end as usize, end);
        }
    }

    fn clear(&mut self) {
        self.directory.clear();
        self.groups.clear();
        self.keys.clear();
        self.weights.clear();
        self.group_start = 0;
        self.edges = 0;
    }
}

/// Checksum of everything that is not keys or weights.
pub(crate) fn table_checksum(
    header: &Header,
    directory: &[TileEntry],
    groups: &[GroupEntry],
) -> u32 {
    let head = Header { checksum: u32::zeroed(), ..*header };
    let sum = checksum::of(bytes_of(&head));
    let sum = checksum::append(sum, cast_slice(directory));
    checksum::append(sum, cast_slice(groups))
}
