//! From sorted bins to tiles in chunks.
//!
//! A cell's edges are sorted by source and destination, given the numbers of their vertices, cut
//! into tiles at every block of sources and written into chunks. Out-degrees fall out of the runs
//! of equal sources; parallel edges lie side by side, so this is where they are merged.

use std::ops::Range;

use welter_model::edges::Duplicates;
use welter_store::ChunkBuilder;
use welter_store::header::{CellId, KEY_BITS, Label};
use welter_store::weights::WeightKind;

use crate::EngineError;
use crate::edges::bins::{Bin, Origin, StripeBins, way_bits};
use crate::edges::pieces;
use crate::edges::slab_location::ChunkPlace;
use crate::edges::slab_packer::SlabPacker;
use crate::edges::tile_writer_config::{Keep, SourceRun, Span, TileWriterConfig};
use crate::footprints::edges::{TILE_EDGES_MAX, tile_edges_max};
use crate::kernels::radix;
use crate::kernels::record::{Record, Waiting};
use crate::kernels::vertices::NumberWindow;
use crate::machine::arena::{Arena, Buffer};
use crate::machine::dispatch::dispatched;
use crate::machine::sync::lock;
use crate::plan::Plan;

/// Where a block has fewer edges than this, its tile continues into the next blocks. Far from the
/// diagonal of a web-like graph blocks have an edge or two each, and tiles of one block took twice
/// the time of the edges in them. An index of sources needs tiles of one block.
pub(crate) const TILE_EDGES_LEAST: usize = 512;

/// One worker's buffers, and what it has written.
pub(crate) struct TileWriter<R> {
    records: Buffer<R>,
    scratch: Buffer<R>,
    counts: Vec<u32>,
    keys: Vec<u32>,
    weights: Vec<f64>,
    builder: ChunkBuilder,
    bytes: Vec<u8>,
    packer: SlabPacker,
}

impl<R: Record> TileWriter<R> {
    pub(crate) fn new(keep: Option<&Keep<'_>>) -> Result<Self, EngineError> {
        Ok(Self {
            records: Buffer::zeroed(0)?,
            scratch: Buffer::zeroed(0)?,
            counts: Vec::new(),
            keys: vec![0; TILE_EDGES_MAX],
            weights: Vec::new(),
            builder: ChunkBuilder::new(R::WEIGHTED),
            bytes: Vec::new(),
            packer: SlabPacker::new(keep)?,
        })
    }

    /// Writes all cells of a stripe. Each bin is dropped when it is done with; `done` receives the
    /// number of its edges, and says whether to continue.
    pub(crate) fn stripe<W: Waiting<Record = R>>(
        &mut self,
        config: TileWriterConfig<'_, '_>,
        stripe: &Span,
        bins: StripeBins,
        mut done: impl FnMut(u64) -> bool,
    ) -> Result<(), EngineError> {
        let mut label = Label {
            graph: config.graph,
            generation: 0,
            cell: CellId { source_partition: 0, stripe: stripe.number },
            number: 0,
            source_base: 0,
            target_base: config.vertices.index(stripe.slots.start),
            target_bits: config.layout.stripe_bits,
            encoding: config.layout.encoding,
            weights: WeightKind::None,
        };
        for (group, bin) in config.groups.iter().zip(bins) {
            if group.partition != label.cell.source_partition {
                self.buffers().close(&mut label, config)?;
                label.cell.source_partition = group.partition;
                label.number = 0;
            }
            // Blocks begin at multiples of their width, whatever partition they are in.
            let first = config.vertices.index(group.partition_start);
            label.source_base = first >> config.layout.block_bits << config.layout.block_bits;
            self.cell::<W>(config, group, stripe, &bin, &mut label)?;
            if !done(bin.edges() as u64) {
                return Err(EngineError::Cancelled);
            }
        }
        self.buffers().close(&mut label, config)?;
        if let Some(keep) = config.keep {
            self.packer.close(Some(keep), config.arena)?;
        }
        Ok(())
    }

    /// Sorts one cell and adds its tiles to the open chunk.
    fn cell<W: Waiting<Record = R>>(
        &mut self,
        config: TileWriterConfig<'_, '_>,
        group: &SourceRun<'_>,
        stripe: &Span,
        bin: &Bin,
        label: &mut Label,
    ) -> Result<(), EngineError> {
        let edges = bin.edges();
        if edges == 0 {
            return Ok(());
        }
        let target_bits = bits(&stripe.slots);
        let origin = Origin {
            source: group.slots.start as u32,
            target: stripe.slots.start as u32,
            target_bits,
        };
        let vertices = config.vertices;
        let first_source = vertices.index(group.slots.start);
        let source_base = first_source >> config.layout.block_bits << config.layout.block_bits;
        let numbers = Numbers {
            sources: vertices.window(group.slots.clone()),
            source_shift: (first_source - source_base) as u32,
            base_shift: (source_base - label.source_base) as u32,
            targets: vertices.window(stripe.slots.clone()),
            target_bits,
            record_bits: bits(&group.slots) + origin.low_bits::<W>(),
            way_bits: way_bits::<W>(),
            block_bits: config.layout.block_bits,
            edges_least: if config.layout.wide_tiles { TILE_EDGES_LEAST } else { 0 },
            key_bits: config.layout.stripe_bits,
        };
        let most = config.plan.sort_edges_max();
        let bin = bin.open(config.bins)?;
        if edges <= most {
            self.make_room(edges, config.plan)?;
            bin.write::<W>(origin, &mut self.records[..edges])?;
            return self.sorted(edges, &numbers, label, config, group);
        }
        let sources = group.slots.end - group.slots.start;
        for (keys, edges) in pieces::pieces::<W>(&bin, origin, sources, most)? {
            self.make_room(edges, config.plan)?;
            pieces::fill::<W>(&bin, origin, &keys, &mut self.records[..edges])?;
            self.sorted(edges, &numbers, label, config, group)?;
        }
        Ok(())
    }

    fn make_room(&mut self, edges: usize, plan: &Plan) -> Result<(), EngineError> {
        if edges > self.records.len() {
            plan.allow_sort(edges)?;
            let room = edges.next_multiple_of(1 << 14);
            // The old ones go first: both at once would be more than was planned.
            (self.records, self.scratch) = (Buffer::zeroed(0)?, Buffer::zeroed(0)?);
            (self.records, self.scratch) = (Buffer::zeroed(room)?, Buffer::zeroed(room)?);
        }
        Ok(())
    }

    /// Sorts the first `edges` records and writes them into tiles.
    fn sorted(
        &mut self,
        edges: usize,
        numbers: &Numbers<'_>,
        label: &mut Label,
        config: TileWriterConfig<'_, '_>,
        group: &SourceRun<'_>,
    ) -> Result<(), EngineError> {
        let (records, scratch) = (&mut self.records[..edges], &mut self.scratch[..edges]);
        let by_target = label.encoding.needs_targets_sorted(label.target_bits)
            || config.duplicates != Duplicates::Keep;
        let low = if by_target { 0 } else { numbers.target_bits };
        let high = numbers.record_bits;
        let mut records = radix::sort(records, scratch, &mut self.counts, low, high);
        if config.duplicates != Duplicates::Keep {
            let left = merge_duplicates(records, config.duplicates);
            records = &mut records[..left];
        }
        if numbers.way_bits > 0 {
            for record in &mut *records {
                *record = R::new(record.key() >> numbers.way_bits, record.weight());
            }
        }
        let out = TileBuffers {
            keys: &mut self.keys,
            weights: &mut self.weights,
            builder: &mut self.builder,
            bytes: &mut self.bytes,
            packer: &mut self.packer,
        };
        let mut degrees = lock(&group.degrees);
        out.tiles(records, numbers, label, config, |source| degrees[source as usize] += 1)
    }

    /// Appends sorted records to the open chunk of their cell.
    pub(crate) fn append(
        &mut self,
        records: &[R],
        numbers: &Numbers<'_>,
        label: &mut Label,
        config: TileWriterConfig<'_, '_>,
    ) -> Result<(), EngineError> {
        self.buffers().tiles(records, numbers, label, config, |_| {})
    }

    /// Ends the open chunk, if there is one.
    pub(crate) fn close(
        &mut self,
        label: &mut Label,
        config: TileWriterConfig<'_, '_>,
    ) -> Result<(), EngineError> {
        self.buffers().close(label, config)
    }

    fn buffers(&mut self) -> TileBuffers<'_> {
        TileBuffers {
            keys: &mut self.keys,
            weights: &mut self.weights,
            builder: &mut self.builder,
            bytes: &mut self.bytes,
            packer: &mut self.packer,
        }
    }

    /// All chunks that were written.
    pub(crate) fn finish(
        mut self,
        keep: Option<&Keep<'_>>,
        arena: &Arena,
    ) -> Result<Vec<ChunkPlace>, EngineError> {
        self.packer.finish(keep, arena)
    }
}

/// Buffers in which tiles are made.
struct TileBuffers<'a> {
    keys: &'a mut [u32],
    weights: &'a mut Vec<f64>,
    builder: &'a mut ChunkBuilder,
    bytes: &'a mut Vec<u8>,
    packer: &'a mut SlabPacker,
}

impl TileBuffers<'_> {
    /// Cuts sorted records into tiles and chunks.
    fn tiles<R: Record>(
        mut self,
        records: &[R],
        numbers: &Numbers<'_>,
        label: &mut Label,
        config: TileWriterConfig<'_, '_>,
        seen: impl FnMut(u32),
    ) -> Result<(), EngineError> {
        let keys = &mut std::mem::take(&mut self.keys)[..tile_edges_max(label.encoding)];
        numbers.cut(records, keys, seen, |first, keys, tile| {
            if R::WEIGHTED {
                self.weights.clear();
                self.weights.extend(tile.iter().map(Record::weight));
            }
            let tile_bytes = label.encoding.bytes_most(keys.len())
                + keys.len() * size_of::<f64>() * usize::from(R::WEIGHTED)
                + 64;
            if !self.builder.is_empty() {
                // Chunks fill their slab: a cell ends where the slab does and continues in the
                // next.
                let room = config.layout.chunk_bytes.min(self.packer.room());
                if self.builder.bytes() + tile_bytes > room {
                    self.close(label, config)?;
                }
            }
            let first = numbers.base_shift + first;
            let last = keys[keys.len() - 1] >> numbers.key_bits;
            let reach = u64::from(last + 1).next_multiple_of(1 << numbers.block_bits);
            let first_vertex = label.source_base + u64::from(first);
            self.packer.tile(keys.len(), first_vertex..first_vertex + reach);
            self.builder.push(first, keys, self.weights, label);
            Ok(())
        })
    }

    /// Ends the open chunk, if there is one.
    fn close(
        &mut self,
        label: &mut Label,
        config: TileWriterConfig<'_, '_>,
    ) -> Result<(), EngineError> {
        if self.builder.is_empty() {
            return Ok(());
        }
        self.bytes.clear();
        self.builder.finish(label, self.bytes);
        self.packer.put(label, self.bytes, config)?;
        label.number += 1;
        Ok(())
    }
}

/// Bits that the places of a range need.
fn bits(slots: &Range<u64>) -> u32 {
    u64::BITS - (slots.end - slots.start).saturating_sub(1).leading_zeros()
}

/// Numbers by which the slots of a record become the key of a tile.
pub(crate) struct Numbers<'a> {
    sources: NumberWindow<'a>,
    /// Vertices between the first block and the group.
    source_shift: u32,
    /// Vertices between the first block of the partition and that of the group.
    base_shift: u32,
    targets: NumberWindow<'a>,
    /// Low bits of a record's key that hold the destination's slot.
    target_bits: u32,
    /// Bits of a record's key while it is sorted.
    record_bits: u32,
    /// Lowest bits of it that go when duplicates are merged.
    way_bits: u32,
    block_bits: u32,
    /// A tile with fewer edges continues beyond its block.
    edges_least: usize,
    /// Low bits of a tile's key that hold the destination's number.
    key_bits: u32,
}

impl Numbers<'_> {
    /// Of records whose slots are numbers already, relative to a cell: the low bits of their keys
    /// are as many as those of a tile's.
    pub(crate) fn plain(key_bits: u32, block_bits: u32, edges_least: usize) -> Self {
        Self {
            sources: NumberWindow::all(),
            source_shift: 0,
            base_shift: 0,
            targets: NumberWindow::all(),
            target_bits: key_bits,
            record_bits: u64::BITS,
            way_bits: 0,
            block_bits,
            edges_least,
            key_bits,
        }
    }

    /// Cuts sorted records into tiles. Hands the number of each edge's source to `seen`, and of
    /// each tile its first source, keys and records to `tile`. A tile has at most as many edges as
    /// there is room for in `keys`.
    pub(crate) fn cut<R: Record>(
        &self,
        mut records: &[R],
        keys: &mut [u32],
        mut seen: impl FnMut(u32),
        mut tile: impl FnMut(u32, &[u32], &[R]) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        while let Some(front) = records.first() {
            let first = self.block(front);
            let edges = dispatched(
                #[inline(always)]
                || self.tile(records, first, keys, &mut seen),
            );
            let (front, rest) = records.split_at(edges);
            records = rest;
            tile(first, &keys[..edges], front)?;
        }
        Ok(())
    }

    /// Number of the source among those of the group.
    #[inline(always)]
    fn source(&self, record: &impl Record) -> u32 {
        self.sources.index((record.key() >> self.target_bits) as u32)
    }

    /// First source of the block that a record is in.
    fn block(&self, record: &impl Record) -> u32 {
        (self.source(record) + self.source_shift) >> self.block_bits << self.block_bits
    }

    /// Writes the keys of the records at the front that lie in the block beginning at `first`, and
    /// in the next ones while they are few, hands their sources to `seen`, and says how many they
    /// are.
    ///
    /// No branch depends on whether the source is the one before: that is as good as random, and a
    /// misprediction costs more than a second look at a table that is in the cache.
    #[inline(always)]
    fn tile<R: Record>(
        &self,
        records: &[R],
        first: u32,
        keys: &mut [u32],
        seen: &mut impl FnMut(u32),
    ) -> usize {
        let (width, reach) = (1 << self.block_bits, 1 << (KEY_BITS - self.key_bits));
        let target_mask = (1_u64 << self.target_bits) - 1;
        let mut edges = 0;
        for (record, key) in records.iter().zip(keys) {
            let source = self.source(record);
            let local = source + self.source_shift - first;
            if local >= width && (edges >= self.edges_least || local >= reach) {
                break;
            }
            let target = self.targets.index((record.key() & target_mask) as u32);
            *key = local << self.key_bits | target;
            seen(source);
            edges += 1;
        }
        edges
    }
}

/// Merges records with equal keys, which lie side by side, and says how many are left.
fn merge_duplicates<R: Record>(records: &mut [R], duplicates: Duplicates) -> usize {
    let mut kept = 0;
    for next in 0..records.len() {
        let record = records[next];
        if kept > 0 && records[kept - 1].key() == record.key() {
            let (earlier, later) = (records[kept - 1].weight(), record.weight());
            let weight = match duplicates {
                Duplicates::Keep | Duplicates::First => earlier,
                Duplicates::Minimum => earlier.min(later),
                Duplicates::Sum => earlier + later,
                Duplicates::Directions => f64::from(earlier as u8 | later as u8),
            };
            records[kept - 1] = R::new(record.key(), weight);
        } else {
            records[kept] = record;
            kept += 1;
        }
    }
    kept
}
