//! Reading chunks in place.
//!
//! [`Chunk::open`] checks the head, the directory and every bound, so that what it hands out can be
//! used without further checks: on any bytes it gives a chunk whose tiles lie inside the bytes, or
//! an error. Whether keys and weights are those that were written is what [`Chunk::verify`]
//! answers; chunks that never left memory need not be asked. The two together notice a flipped bit
//! anywhere in a chunk.

use bytemuck::{cast_slice, try_cast_slice, try_from_bytes};

use crate::ChunkError;
use crate::builder::table_checksum;
use crate::checksum;
use crate::header::{
    ALIGN, Encoding, GroupEntry, HEADER_BYTES, Header, KEY_BITS, Label, PADDING, TileEntry,
};

/// A chunk, borrowed from wherever its bytes lie.
#[derive(Clone, Copy, Debug)]
pub struct Chunk<'a> {
    label: Label,
    edges: u64,
    directory: &'a [TileEntry],
    groups: &'a [GroupEntry],
    /// The key section and all that follows it, so that decoders may read past the end.
    keys: &'a [u8],
    keys_bytes: usize,
    weights: &'a [u8],
    keys_offset: usize,
    weights_offset: usize,
    bytes: usize,
}

/// A tile: edges from a block of sources to one stripe, by source and destination.
#[derive(Clone, Copy, Debug)]
pub struct Tile<'a> {
    /// First source vertex; sources of keys are relative to it.
    pub source: u64,
    /// Number of edges.
    pub edges: usize,
    /// Keys as written, followed by whatever follows them.
    pub keys: &'a [u8],
    /// Weights as written: `edges` of them, or none.
    pub weights: &'a [u8],
}

impl<'a> Tile<'a> {
    /// The keys of a packed tile.
    pub fn packed(&self) -> &'a [u32] {
        cast_slice(&self.keys[..self.edges * size_of::<u32>()])
    }
}

impl<'a> Chunk<'a> {
    /// Opens the chunk at the front of `bytes`, which must be aligned to 8 bytes.
    ///
    /// # Errors
    /// When the bytes are not a whole chunk of this version, or its head or directory is damaged.
    pub fn open(bytes: &'a [u8]) -> Result<Self, ChunkError> {
        let short = |need: usize| ChunkError::Short { need: need as u64, have: bytes.len() as u64 };
        let head = bytes.get(..HEADER_BYTES).ok_or_else(|| short(HEADER_BYTES))?;
        let header: &Header = try_from_bytes(head).map_err(|_| unaligned(bytes))?;
        let label = header.label()?;
        let sections = Sections::of(header)?;
        let body = bytes.get(..sections.bytes).ok_or_else(|| short(sections.bytes))?;
        let directory: &[TileEntry] =
            try_cast_slice(&body[HEADER_BYTES..sections.groups]).map_err(|_| unaligned(bytes))?;
        let groups: &[GroupEntry] = try_cast_slice(&body[sections.groups..sections.groups_end])
            .map_err(|_| unaligned(bytes))?;
        if table_checksum(header, directory, groups) != header.checksum {
            return Err(ChunkError::Checksum { what: "header and directory", offset: 0 });
        }
        let weights_end = sections.weights + header.weights_bytes as usize;
        let chunk = Self {
            label,
            edges: header.edges,
            directory,
            groups,
            keys: &body[sections.keys..],
            keys_bytes: header.keys_bytes as usize,
            weights: &body[sections.weights..weights_end],
            keys_offset: sections.keys,
            weights_offset: sections.weights,
            bytes: sections.bytes,
        };
        sections.check_padding(header, body)?;
        chunk.check_directory()?;
        Ok(chunk)
    }

    /// Every tile lies inside the key section, and the counts add up. A checksum cannot stand for
    /// this: a forger of a chunk can sum it too.
    fn check_directory(&self) -> Result<(), ChunkError> {
        let mut edges = 0_u64;
        for (index, tile) in self.directory.iter().enumerate() {
            let place = |value: u32| ChunkError::Field {
                what: "tile of the directory",
                offset: (HEADER_BYTES + index * size_of::<TileEntry>()) as u64,
                value: value.into(),
            };
            let next = self.directory.get(index + 1).map_or(self.keys_bytes, |t| t.offset as usize);
            let least = self.label.encoding.bytes_least(tile.edges as usize);
            let room = next.checked_sub(tile.offset as usize).filter(|_| next <= self.keys_bytes);
            if room.is_none_or(|room| room < least) {
                return Err(place(tile.offset));
            }
            if self.label.encoding == Encoding::Packed && tile.offset % 4 != 0 {
                return Err(place(tile.offset));
            }
            let end = u64::from(tile.source) + self.block_width();
            if self.label.source_base.checked_add(end).is_none() {
                return Err(place(tile.source));
            }
            if tile.reserved != 0 {
                return Err(place(tile.reserved));
            }
            edges += u64::from(tile.edges);
        }
        if self.directory.first().map_or(self.keys_bytes, |tile| tile.offset as usize) != 0 {
            let (what, offset) = ("keys before the first tile", self.keys_offset as u64);
            return Err(ChunkError::Field { what, offset, value: self.keys_bytes as u64 });
        }
        let weights = self.edges.checked_mul(self.label.weights.bytes() as u64);
        if edges != self.edges || weights != Some(self.weights.len() as u64) {
            let (what, offset) = ("number of edges", std::mem::offset_of!(Header, edges) as u64);
            return Err(ChunkError::Field { what, offset, value: self.edges });
        }
        let mut last = 0;
        let ascending =
            self.groups.iter().all(|group| group.end > std::mem::replace(&mut last, group.end));
        if !ascending || last as usize != self.directory.len() {
            let (what, offset) = ("checksum table", std::mem::offset_of!(Header, groups) as u64);
            return Err(ChunkError::Field { what, offset, value: self.groups.len() as u64 });
        }
        Ok(())
    }

    /// Checks keys and weights against their checksums.
    ///
    /// # Errors
    /// Names the first group that does not fit.
    pub fn verify(&self) -> Result<(), ChunkError> {
        self.verified().try_for_each(|part| part.map(drop))
    }

    /// The chunk a part at a time, each checked against its checksums only when it is asked for:
    /// the next look at it finds it in the cache. Every tile is in one part.
    ///
    /// A part is a chunk like the whole, but for [`Self::bytes`], which stay those of the whole.
    pub fn verified(&self) -> impl Iterator<Item = Result<Self, ChunkError>> + use<'a> {
        let whole = *self;
        let (mut first, mut weights_start) = (0, 0);
        (0..whole.groups.len()).map(move |number| {
            let group = whole.groups[number];
            let end = group.end as usize;
            let directory = &whole.directory[first..end];
            let keys_at =
                |tile: Option<&TileEntry>| tile.map_or(whole.keys_bytes, |t| t.offset as usize);
            let start = keys_at(directory.first());
            let stop = keys_at(whole.directory.get(end));
            if checksum::of(&whole.keys[start..stop]) != group.keys {
                let offset = (whole.keys_offset + start) as u64;
                return Err(ChunkError::Checksum { what: "keys", offset });
            }
            let edges: u64 = directory.iter().map(|tile| u64::from(tile.edges)).sum();
            let weights_end = weights_start + edges as usize * whole.label.weights.bytes();
            let weights = &whole.weights[weights_start..weights_end];
            let weights_offset = whole.weights_offset + weights_start;
            if checksum::of(weights) != group.weights {
                let offset = weights_offset as u64;
                return Err(ChunkError::Checksum { what: "weights", offset });
            }
            (first, weights_start) = (end, weights_end);
            // There is nothing left to check.
            Ok(Self { edges, directory, groups: &[], weights, weights_offset, ..whole })
        })
    }

    /// The label of the chunk.
    pub fn label(&self) -> &Label {
        &self.label
    }

    /// Number of edges.
    pub fn edges(&self) -> u64 {
        self.edges
    }

    /// Number of tiles.
    pub fn tile_count(&self) -> usize {
        self.directory.len()
    }

    /// Bytes of the whole chunk.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Number of sources that keys of one tile can name: tiles reach less far than this.
    pub fn block_width(&self) -> u64 {
        1 << (KEY_BITS - self.label.target_bits)
    }

    /// One past the last source that any key of the chunk, even a damaged one, can name.
    pub fn sources_end(&self) -> u64 {
        let last = self.directory.iter().map(|tile| u64::from(tile.source)).max();
        last.map_or(0, |last| self.label.source_base + last + self.block_width())
    }

    /// The tiles in the order in which they were written.
    pub fn tiles(&self) -> impl Iterator<Item = Tile<'a>> + use<'a> {
        let (keys, weights) = (self.keys, self.weights);
        let (source_base, width) = (self.label.source_base, self.label.weights.bytes());
        let mut first = 0;
        self.directory.iter().map(move |entry| {
            let edges = entry.edges as usize;
            let tile = Tile {
                source: source_base + u64::from(entry.source),
                edges,
                keys: &keys[entry.offset as usize..],
                weights: &weights[first * width..(first + edges) * width],
            };
            first += edges;
            tile
        })
    }
}

/// Where the sections of a chunk lie, in bytes from its start.
struct Sections {
    groups: usize,
    groups_end: usize,
    keys: usize,
    weights: usize,
    bytes: usize,
}

impl Sections {
    fn of(header: &Header) -> Result<Self, ChunkError> {
        let bytes = header.bytes;
        let groups = HEADER_BYTES as u64 + u64::from(header.tiles) * size_of::<TileEntry>() as u64;
        let groups_end = groups + u64::from(header.groups) * size_of::<GroupEntry>() as u64;
        let keys = u64::from(header.keys_offset);
        let keys_end = keys + u64::from(header.keys_bytes);
        let weights = u64::from(header.weights_offset);
        let weights_end = weights + u64::from(header.weights_bytes) + PADDING as u64;
        let aligned = [bytes, keys, weights].iter().all(|offset| offset % ALIGN as u64 == 0);
        let ordered = groups_end <= keys && keys_end <= weights && weights_end <= bytes;
        if !aligned || !ordered || bytes > u64::from(u32::MAX) {
            let offset = std::mem::offset_of!(Header, bytes) as u64;
            return Err(ChunkError::Field { what: "layout of sections", offset, value: bytes });
        }
        Ok(Self {
            groups: groups as usize,
            groups_end: groups_end as usize,
            keys: keys as usize,
            weights: weights as usize,
            bytes: bytes as usize,
        })
    }

    /// Bytes that no checksum covers, or no field needs, are zero: so a flipped bit anywhere is
    /// noticed.
    fn check_padding(&self, header: &Header, body: &[u8]) -> Result<(), ChunkError> {
        let keys_end = self.keys + header.keys_bytes as usize;
        let weights_end = self.weights + header.weights_bytes as usize;
        let unused = std::mem::offset_of!(Header, unused);
        let reserved = std::mem::offset_of!(Header, reserved);
        for range in [
            reserved..reserved + header.reserved.len(),
            unused..unused + header.unused.len(),
            self.groups_end..self.keys,
            keys_end..self.weights,
            weights_end..self.bytes,
        ] {
            if let Some(place) = body[range.clone()].iter().position(|&byte| byte != 0) {
                let offset = range.start + place;
                let (what, value) = ("padding", body[offset].into());
                return Err(ChunkError::Field { what, offset: offset as u64, value });
            }
        }
        Ok(())
    }
}

fn unaligned(bytes: &[u8]) -> ChunkError {
    let address = bytes.as_ptr().addr() as u64;
    ChunkError::Field { what: "alignment of the buffer", offset: 0, value: address }
}
