//! Edges of a cell as a chunk, cut into tiles as the ingest does it. Their ends are places in the
//! cell, of 32 bits, wherever that begins.

use std::ops::Range;

use welter_model::stream::Edge;
use welter_store::ChunkBuilder;
use welter_store::header::{Encoding, KEY_BITS, Label};
use welter_store::weights::WeightKind;

use super::{Cell, bits};
use crate::EngineError;
use crate::edges::tiles::{Numbers, TILE_EDGES_LEAST};
use crate::footprints::edges::TILE_EDGES_MAX;
use crate::kernels::radix;
use crate::kernels::record::{Record, Weighted};

/// Form of tiles and of their bytes.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// Encoding of the keys.
    pub encoding: Encoding,
    /// Sources of a block, as a power of two.
    pub block_bits: u32,
    /// A tile with fewer edges continues beyond its block.
    pub tile_edges_least: usize,
}

impl Form {
    /// Blocks whose signals fit in the first-level cache.
    pub fn usual(encoding: Encoding) -> Self {
        Self { encoding, block_bits: 12, tile_edges_least: TILE_EDGES_LEAST }
    }
}

/// Writes chunks of edges. Buffers are kept between chunks.
pub struct EdgeWriter {
    form: Form,
    records: Records,
    bytes: Vec<u8>,
}

enum Records {
    Plain(Cutter<u64>),
    Weighted(Cutter<Weighted>),
}

impl EdgeWriter {
    /// `weighted`: whether chunks hold the weights of their edges.
    pub fn new(form: Form, weighted: bool) -> Self {
        let records =
            if weighted { Records::Weighted(Cutter::new()) } else { Records::Plain(Cutter::new()) };
        Self { form, records, bytes: Vec::new() }
    }

    /// The bytes of a chunk of these edges of a cell, in any order, whose ends are places among its
    /// sources and targets. `number`: of the chunk in it.
    ///
    /// # Errors
    /// When a cell is wider than keys can tell, or an edge not in it.
    pub fn write(
        &mut self,
        cell: &Cell,
        number: u32,
        edges: &[Edge],
    ) -> Result<&[u8], EngineError> {
        self.write_counting(cell, number, edges, None)
    }

    /// As [`Self::write`]. `count` receives the place of each source that has edges here, in
    /// ascending order, and their number: edges are sorted by their sources anyway.
    ///
    /// # Errors
    /// As of [`Self::write`].
    pub fn write_counting(
        &mut self,
        cell: &Cell,
        number: u32,
        edges: &[Edge],
        count: Option<&mut dyn FnMut(u32, u32)>,
    ) -> Result<&[u8], EngineError> {
        let wide = |range: &Range<u64>| bits(range) >= KEY_BITS;
        if wide(&cell.sources) || wide(&cell.targets) {
            let what = format!("a cell from {:?} to {:?} is too wide", cell.sources, cell.targets);
            return Err(EngineError::internal(what));
        }
        let label = Label {
            graph: cell.graph,
            generation: 0,
            cell: cell.id,
            number,
            source_base: cell.sources.start,
            target_base: cell.targets.start,
            target_bits: cell.target_bits(),
            encoding: self.form.encoding,
            weights: WeightKind::None,
        };
        self.bytes.clear();
        match &mut self.records {
            Records::Plain(cutter) => cutter.cut((self.form, cell, &label), edges, count)?,
            Records::Weighted(cutter) => cutter.cut((self.form, cell, &label), edges, count)?,
        }
        .finish(&label, &mut self.bytes);
        Ok(&self.bytes)
    }
}

/// Buffers in which edges are sorted and cut.
struct Cutter<R> {
    records: Vec<R>,
    scratch: Vec<R>,
    counts: Vec<u32>,
    keys: Vec<u32>,
    weights: Vec<f64>,
    builder: ChunkBuilder,
}

impl<R: Record> Cutter<R> {
    fn new() -> Self {
        Self {
            records: Vec::new(),
            scratch: Vec::new(),
            counts: Vec::new(),
            keys: Vec::new(),
            weights: Vec::new(),
            builder: ChunkBuilder::new(R::WEIGHTED),
        }
    }

    /// The tiles of a chunk.
    fn cut(
        &mut self,
        (form, cell, label): (Form, &Cell, &Label),
        edges: &[Edge],
        count: Option<&mut dyn FnMut(u32, u32)>,
    ) -> Result<&mut ChunkBuilder, EngineError> {
        let Self { records, scratch, counts, keys, weights, builder } = self;
        let target_bits = label.target_bits;
        records.clear();
        for edge in edges {
            let [source, target] = [(edge.source, &cell.sources), (edge.target, &cell.targets)]
                .map(|(place, range)| {
                    Some(u64::from(place)).filter(|place| *place < range.end - range.start)
                });
            let Some((source, target)) = source.zip(target) else {
                let what = format!("an edge from place {} to {}", edge.source, edge.target);
                return Err(EngineError::internal(format!("{what} is not in its cell")));
            };
            records.push(R::new(source << target_bits | target, edge.weight));
        }
        scratch.resize(records.len(), R::zeroed());
        keys.resize(records.len().clamp(1, TILE_EDGES_MAX), 0);
        // As in the ingest.
        let sorts_targets = form.encoding.needs_targets_sorted(target_bits);
        let low = if sorts_targets { 0 } else { target_bits };
        let high = target_bits + bits(&cell.sources);
        let records = radix::sort(records, scratch, counts, low, high);
        if let Some(count) = count {
            let source = |record: &R| (record.key() >> target_bits) as u32;
            for run in records.chunk_by(|one, next| source(one) == source(next)) {
                count(source(&run[0]), run.len() as u32);
            }
        }
        let block_bits = form.block_bits.min(KEY_BITS - target_bits);
        let numbers = Numbers::plain(target_bits, block_bits, form.tile_edges_least);
        numbers.cut(
            records,
            keys,
            |_| {},
            |first, keys, tile| {
                weights.clear();
                if R::WEIGHTED {
                    weights.extend(tile.iter().map(Record::weight));
                }
                builder.push(first, keys, weights, label);
                Ok(())
            },
        )?;
        Ok(builder)
    }
}
