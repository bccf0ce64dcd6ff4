//! Where finished chunks go: one slab after the other, in memory or on storage.
//!
//! Where not all chunks fit in memory, those that stay are spread evenly over the graph, so that
//! in every stretch of an iteration there is something to do while the rest is read. Chunks of a
//! slab that goes to storage are compressed where the layout says so, each into a frame of its own.
//!
//! Invariant: the chunks of a slab that was written fit one slab when they are out of their frames,
//! so their reader needs no more room. Asserted in `SlabPacker::put`; of files that were kept
//! checked in `Decompressor::chunk`.

use std::ops::Range;
use std::sync::Arc;

use welter_store::header::{CellId, Label};
use welter_store::io::ALIGN;

use crate::EngineError;
use crate::edges::frames::Framer;
use crate::edges::slab_location::ChunkPlace;
use crate::edges::slab_location::SlabLocation;
use crate::edges::sound::Sound;
use crate::edges::tile_writer_config::{Keep, TileWriterConfig};
use crate::footprints::edges::CHUNK_BYTES_MAX;
use crate::machine::arena::{Arena, SLAB_BYTES, Slab};
use crate::machine::storage::SlabWriter;

/// Header, table of groups and padding of a chunk, at most.
const CHUNK_FRAME_BYTES: usize = 1 << 10;

/// One worker's open slab, and the chunks that it has put away.
pub(crate) struct SlabPacker {
    slab: Option<Slab>,
    filled: usize,
    /// Edges of the open chunk, its tiles and their sources.
    chunk: Contents,
    /// Chunks in the open slab.
    open: Vec<OpenChunk>,
    placed: Vec<ChunkPlace>,
    /// Slabs that will be written by one request.
    together: Vec<Packed>,
    writer: Option<SlabWriter>,
    framer: Framer,
}

/// A slab that is full and has no place yet.
struct Packed {
    slab: Slab,
    bytes: usize,
    chunks: Vec<OpenChunk>,
}

/// A chunk in a slab: cell, number, contents, and its bytes there.
type OpenChunk = (CellId, u32, Contents, Range<usize>);

/// Edges of a chunk, and how they are written.
#[derive(Clone, Default)]
struct Contents {
    edges: u64,
    tiles: u32,
    sources: Range<u64>,
}

impl SlabPacker {
    pub(crate) fn new(keep: Option<&Keep<'_>>) -> Result<Self, EngineError> {
        let writer = keep.map(|keep| SlabWriter::new(keep.volume, keep.io)).transpose()?;
        Ok(Self {
            slab: None,
            filled: 0,
            chunk: Contents::default(),
            open: Vec::new(),
            placed: Vec::new(),
            together: Vec::new(),
            writer,
            framer: Framer::default(),
        })
    }

    /// Bytes that tiles of the next chunk may take. Where little is left it goes to a new slab.
    pub(crate) fn room(&self) -> usize {
        let left = SLAB_BYTES - self.filled;
        if left < SLAB_BYTES / 32 { CHUNK_BYTES_MAX } else { left - CHUNK_FRAME_BYTES }
    }

    /// Notes a tile of the open chunk, and the sources that it may have.
    pub(crate) fn tile(&mut self, edges: usize, sources: Range<u64>) {
        let chunk = &mut self.chunk;
        if chunk.tiles == 0 {
            chunk.sources.start = sources.start;
        }
        chunk.sources.end = sources.end;
        chunk.tiles += 1;
        chunk.edges += edges as u64;
    }

    /// Takes the open chunk.
    pub(crate) fn put(
        &mut self,
        label: &Label,
        bytes: &[u8],
        config: TileWriterConfig<'_, '_>,
    ) -> Result<(), EngineError> {
        if self.slab.is_none() || self.filled + bytes.len() > SLAB_BYTES {
            self.close(config.keep, config.arena)?;
            self.slab = Some(config.arena.take()?);
        }
        let range = self.filled..self.filled + bytes.len();
        if let Some(slab) = &mut self.slab {
            slab.bytes_mut()[range.clone()].copy_from_slice(bytes);
        }
        self.filled = range.end;
        assert!(self.filled <= SLAB_BYTES, "chunks of a slab fit a slab");
        self.open.push((label.cell, label.number, std::mem::take(&mut self.chunk), range));
        Ok(())
    }

    /// Puts the open slab away.
    pub(crate) fn close(
        &mut self,
        keep: Option<&Keep<'_>>,
        arena: &Arena,
    ) -> Result<(), EngineError> {
        self.filled = 0;
        let Some(mut slab) = self.slab.take() else { return Ok(()) };
        let edges = self.open.iter().map(|(_, _, chunk, _)| chunk.edges).sum();
        let extent = match (keep, &mut self.writer) {
            (Some(keep), Some(writer)) if !keep.stays(edges, arena) => {
                let chunks = self.open.iter_mut().map(|(_, _, _, range)| range).collect();
                let bytes = self.framer.frame(&keep.framing, &mut slab, chunks);
                let joined = writer.joined();
                if joined > 1 {
                    let chunks = std::mem::take(&mut self.open);
                    self.together.push(Packed { slab, bytes, chunks });
                    return if self.together.len() == joined {
                        self.write_together()
                    } else {
                        writer.leave_room(self.together.len())
                    };
                }
                SlabLocation::Stored(writer.write(slab, bytes)?)
            }
            _ => SlabLocation::Memory(slab),
        };
        let chunks = std::mem::take(&mut self.open);
        self.place(extent, chunks);
        Ok(())
    }

    /// Writes slabs side by side, so that they can be read by one request too.
    fn write_together(&mut self) -> Result<(), EngineError> {
        let (Some(writer), false) = (&mut self.writer, self.together.is_empty()) else {
            return Ok(());
        };
        let all = std::mem::take(&mut self.together);
        let bytes = all.iter().map(|packed| packed.bytes.next_multiple_of(ALIGN) as u32).sum();
        let (slabs, chunks): (Vec<_>, Vec<_>) =
            all.into_iter().map(|packed| ((packed.slab, packed.bytes), packed.chunks)).unzip();
        let places = writer.write_together(slabs.into_iter(), bytes)?;
        for (place, chunks) in places.into_iter().zip(chunks) {
            self.place(SlabLocation::Stored(place), chunks);
        }
        Ok(())
    }

    /// Notes where chunks are.
    fn place(&mut self, extent: SlabLocation, chunks: Vec<OpenChunk>) {
        let extent = Arc::new(extent);
        self.placed.extend(chunks.into_iter().map(|(cell, number, chunk, range)| ChunkPlace {
            cell,
            number,
            edges: chunk.edges,
            tiles: chunk.tiles,
            sources: chunk.sources,
            extent: Arc::clone(&extent),
            range,
            sound: Sound::new(true),
        }));
    }

    /// All chunks that were put here.
    pub(crate) fn finish(
        &mut self,
        keep: Option<&Keep<'_>>,
        arena: &Arena,
    ) -> Result<Vec<ChunkPlace>, EngineError> {
        self.close(keep, arena)?;
        self.write_together()?;
        if let Some(writer) = &mut self.writer {
            writer.finish()?;
        }
        Ok(std::mem::take(&mut self.placed))
    }
}
