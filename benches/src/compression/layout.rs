//! Ways to lay edges and updates out, and what compressions make of them.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use welter_engine::benching::{opened, update_chunk};
use welter_store::ChunkBuilder;
use welter_store::chunk::Chunk;
use welter_store::codec::{Decoder, SimdLevel};
use welter_store::frame::{Compression, Compressor, Decompressor};
use welter_store::header::{CellId, Encoding, Label};
use welter_store::weights::WeightKind;

const STRIPE_BITS: u32 = 18;
const BLOCK_BITS: u32 = 12;
/// Edges of a tile at most, and bytes at which a chunk is closed, as in the engine.
const TILE_EDGES_MAX: usize = 1 << 15;
const CHUNK_BYTES: usize = (1 << 19) - (1 << 16);
/// Bytes of a block of raw pairs.
pub(crate) const RAW_BYTES: usize = 1 << 20;
/// Keys that are decoded at a time.
const BUFFER: usize = 256;
/// Bytes of an update: its destination, and an accumulator.
const RECORD_BYTES: usize = 8;

/// A way to lay edges out: blocks of bytes that are stored one by one.
pub(super) struct Layout {
    pub(super) name: &'static str,
    blocks: Vec<Block>,
    kind: Kind,
}

/// Kind of the blocks of a layout: what becomes of them when they are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Pairs as they are.
    Pairs,
    /// Chunks of edges, whose keys are decoded.
    Edges,
    /// Chunks of updates with accumulators of 4 bytes, whose destinations are decoded.
    Updates,
}

/// Bytes at an address that chunks may lie at.
struct Block {
    words: Vec<u64>,
    bytes: usize,
}

impl Block {
    fn new(bytes: &[u8]) -> Self {
        let mut words = vec![0; bytes.len().div_ceil(8)];
        bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(bytes);
        Self { words, bytes: bytes.len() }
    }

    fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.bytes]
    }
}

/// Edges by stripe, and within it by source.
pub(super) struct SortedEdges(Vec<(u32, [u32; 2])>);

impl SortedEdges {
    pub(super) fn of(pairs: &[[u32; 2]]) -> Self {
        let mut sorted: Vec<(u32, [u32; 2])> =
            pairs.iter().map(|pair| (pair[1] >> STRIPE_BITS, *pair)).collect();
        sorted.sort_unstable();
        Self(sorted)
    }

    fn stripes(&self) -> impl Iterator<Item = &[(u32, [u32; 2])]> {
        self.0.chunk_by(|one, next| one.0 == next.0)
    }

    /// The chunks of all edges.
    pub(super) fn chunks(&self, name: &'static str, encoding: Encoding) -> Layout {
        let blocks = self.stripes().flat_map(|stripe| chunks(stripe, encoding)).collect();
        Layout { name, blocks, kind: Kind::Edges }
    }

    /// The updates of an iteration: what each source says, for each of its edges.
    pub(super) fn updates(
        &self,
        (name, encoding): (&'static str, Encoding),
        signals: &[f32],
    ) -> Layout {
        let updates = |stripe: &[(u32, [u32; 2])]| -> Vec<(u32, f32)> {
            stripe
                .iter()
                .map(|(_, [source, target])| (*target, signals[*source as usize]))
                .collect()
        };
        Layout::of_updates(name, encoding, self.stripes().map(updates))
    }

    /// The updates of an iteration where those of a destination were added up.
    pub(super) fn combined(
        &self,
        (name, encoding): (&'static str, Encoding),
        signals: &[f32],
    ) -> Layout {
        let combined = |stripe: &[(u32, [u32; 2])]| -> Vec<(u32, f32)> {
            let mut sums = BTreeMap::<u32, f32>::new();
            for (_, [source, target]) in stripe {
                *sums.entry(*target).or_default() += signals[*source as usize];
            }
            sums.into_iter().collect()
        };
        Layout::of_updates(name, encoding, self.stripes().map(combined))
    }
}

impl Layout {
    /// Pairs as they come.
    pub(super) fn of_pairs(pairs: &[[u32; 2]]) -> Self {
        let blocks = bytemuck::cast_slice(pairs).chunks(RAW_BYTES).map(Block::new).collect();
        Self { name: "raw pairs", blocks, kind: Kind::Pairs }
    }

    /// Chunks of updates, stripe by stripe.
    fn of_updates(
        name: &'static str,
        encoding: Encoding,
        stripes: impl Iterator<Item = Vec<(u32, f32)>>,
    ) -> Self {
        let mut blocks = Vec::new();
        for stripe in stripes {
            for records in stripe.chunks(CHUNK_BYTES / RECORD_BYTES) {
                let within = |(target, _): &(u32, f32)| target & ((1 << STRIPE_BITS) - 1);
                let targets: Vec<u32> = records.iter().map(within).collect();
                let accums: Vec<f32> = records.iter().map(|(_, accum)| *accum).collect();
                let bytes = update_chunk(encoding, &targets, bytemuck::cast_slice(&accums));
                blocks.push(Block::new(&bytes));
            }
        }
        Self { name, blocks, kind: Kind::Updates }
    }

    /// Bytes of all blocks as they are.
    pub(super) fn bytes(&self) -> usize {
        self.blocks.iter().map(|block| block.bytes).sum()
    }

    /// The blocks.
    pub(super) fn blocks(&self) -> impl Iterator<Item = &[u8]> {
        self.blocks.iter().map(Block::bytes)
    }
}

/// The chunks of a stripe, whose edges are sorted.
fn chunks(stripe: &[(u32, [u32; 2])], encoding: Encoding) -> Vec<Block> {
    let number = stripe[0].0;
    let mut label = Label {
        graph: 1,
        generation: 0,
        cell: CellId { source_partition: 0, stripe: number },
        number: 0,
        source_base: 0,
        target_base: u64::from(number) << STRIPE_BITS,
        target_bits: STRIPE_BITS,
        encoding,
        weights: WeightKind::None,
    };
    let (mut builder, of_tiles) = (ChunkBuilder::new(false), label);
    let (mut blocks, mut bytes) = (Vec::new(), Vec::new());
    let mut close = |builder: &mut ChunkBuilder| {
        bytes.clear();
        builder.finish(&label, &mut bytes);
        blocks.push(Block::new(&bytes));
        label.number += 1;
    };
    let block = |edge: &(u32, [u32; 2])| edge.1[0] >> BLOCK_BITS;
    let tiles = stripe.chunk_by(|one, next| block(one) == block(next));
    for tile in tiles.flat_map(|tile| tile.chunks(TILE_EDGES_MAX)) {
        let first = block(&tile[0]) << BLOCK_BITS;
        let key = |(_, [source, target]): &(u32, [u32; 2])| {
            (source - first) << STRIPE_BITS | target & ((1 << STRIPE_BITS) - 1)
        };
        let keys: Vec<u32> = tile.iter().map(key).collect();
        if !builder.is_empty() && builder.bytes() + encoding.bytes_most(keys.len()) > CHUNK_BYTES {
            close(&mut builder);
        }
        builder.push(first, &keys, &[], &of_tiles);
    }
    close(&mut builder);
    blocks
}

/// A layout under a compression.
pub(super) struct CompressedLayout<'l> {
    layout: &'l Layout,
    compression: Compression,
    /// Blocks as they are stored.
    stored: Vec<Block>,
}

impl<'l> CompressedLayout<'l> {
    pub(super) fn new(layout: &'l Layout, compression: Compression) -> Self {
        let mut compressor = Compressor::new(compression);
        let stored = layout.blocks.iter().map(|block| {
            let frame = compressor.as_mut().and_then(|compressor| compressor.frame(block.bytes()));
            Block::new(frame.unwrap_or(block.bytes()))
        });
        Self { layout, compression, stored: stored.collect() }
    }

    pub(super) fn name(&self) -> String {
        match self.compression {
            Compression::None => self.layout.name.to_owned(),
            compression => format!("{}, {}", self.layout.name, compression.name()),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.stored.iter().map(|block| block.bytes).sum()
    }

    /// Seconds to compress all blocks.
    pub(super) fn compress(&self) -> f64 {
        let Some(mut compressor) = Compressor::new(self.compression) else { return 0.0 };
        let start = Instant::now();
        for block in &self.layout.blocks {
            black_box(compressor.frame(block.bytes()));
        }
        start.elapsed().as_secs_f64()
    }

    /// Seconds to get all edges from what is stored: keys, or pairs as they are.
    pub(super) fn edges(&self) -> Result<f64> {
        let mut decompressor = Decompressor::new();
        let (mut room, mut targets) = (vec![0_u64; RAW_BYTES / 8], Vec::new());
        let start = Instant::now();
        for block in &self.stored {
            let room = bytemuck::cast_slice_mut(&mut room);
            let plain = decompressor.chunk(block.bytes(), room)?;
            match self.layout.kind {
                Kind::Pairs => {}
                Kind::Edges => decode(plain)?,
                Kind::Updates => {
                    let count = opened(size_of::<f32>(), plain, &mut targets);
                    black_box(count.context("damaged updates")?);
                }
            }
            black_box(plain);
        }
        Ok(start.elapsed().as_secs_f64())
    }

    /// Checks that what was stored comes back.
    pub(super) fn check(&self) -> Result<()> {
        let mut decompressor = Decompressor::new();
        let mut room = vec![0; RAW_BYTES];
        for (block, stored) in self.layout.blocks.iter().zip(&self.stored) {
            let plain = decompressor.chunk(stored.bytes(), &mut room)?;
            ensure!(plain == block.bytes(), "{} gives other bytes", self.name());
        }
        Ok(())
    }
}

/// Decodes the keys of a chunk.
fn decode(bytes: &[u8]) -> Result<()> {
    let chunk = Chunk::open(bytes)?;
    let (encoding, level) = (chunk.label().encoding, SimdLevel::detect());
    let mut buffer = [0; BUFFER];
    for tile in chunk.tiles() {
        match &mut Decoder::new(encoding, STRIPE_BITS, tile.keys, tile.edges, level) {
            None => _ = black_box(tile.packed()),
            Some(decoder) => while black_box(decoder.fill(&mut buffer)) > 0 {},
        }
    }
    Ok(())
}
