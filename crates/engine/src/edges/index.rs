//! Where the edges of a few sources lie in a tile, so that a sparse level need not read the rest.
//!
//! A block of sources is cut into 64 *granules*. For every tile the index holds where the edges of
//! each granule begin (130 bytes beside a tile of 7 KiB on R-MAT 24), and for every block the tiles
//! that begin there. A level with few active sources then reads about the edges of their granules.
//!
//! Invariant: blocks begin at multiples of their width, so that a vertex's number tells its block,
//! its granule and its place in the keys. Tested by `where_rows_do_not_fit_bands_do` and `depths`.

use std::ops::Range;

use welter_progress::Progress;
use welter_store::chunk::{Chunk, Tile};
use welter_store::header::Encoding;
use welter_store::weights::WeightKind;

use crate::EngineError;
use crate::edges::graph::Graph;
use crate::edges::source_index::SourceIndex;
use crate::footprints::edges::{GRANULES, PLACES, TILE_EDGES_MAX};
use crate::kernels::kernel::{Coding, DecodeBuffers};
use crate::machine::arena::Buffer;
use crate::machine::workers::Workers;

const _: () = assert!(TILE_EDGES_MAX <= u16::MAX as usize, "places in a tile have 16 bits");

/// Looks at the keys of all tiles, and makes their index.
pub(crate) fn build_index(
    graph: &Graph,
    workers: &Workers,
    progress: &Progress,
) -> Result<SourceIndex, EngineError> {
    let mut stripes = vec![0];
    let mut tiles = 0;
    for stripe in &graph.stripes {
        for place in &stripe.chunks {
            tiles += graph.open(stripe, place)?.tile_count();
        }
        stripes.push(tiles);
    }
    let mut places = Buffer::zeroed(tiles * PLACES)?;
    let mut rest = &mut places[..];
    let parts: Vec<_> = stripes
        .windows(2)
        .map(|ends| {
            let (part, after) =
                std::mem::take(&mut rest).split_at_mut((ends[1] - ends[0]) * PLACES);
            rest = after;
            part
        })
        .collect();
    let mut scratches = workers.per_worker(|| Ok(DecodeBuffers::new()))?;
    let parts = graph.stripes.iter().zip(parts);
    workers.for_each(parts, progress, &mut scratches, |scratch, (stripe, part)| {
        let mut entries = part.chunks_exact_mut(PLACES);
        for place in &stripe.chunks {
            let chunk = graph.open(stripe, place)?;
            let label = chunk.label();
            let coding = Coding {
                encoding: label.encoding,
                weights: WeightKind::None,
                target_bits: label.target_bits,
            };
            let shift = coding.target_bits + granule_bits(graph);
            for (tile, entry) in chunk.tiles().zip(&mut entries) {
                fill(entry, &tile, coding, shift, scratch);
            }
        }
        Ok(())
    })?;
    Ok(SourceIndex { places, stripes })
}

/// Log2 of the sources in a granule.
pub(crate) fn granule_bits(graph: &Graph) -> u32 {
    graph.layout.block_bits - GRANULES.ilog2()
}

fn fill(
    entry: &mut [u16],
    tile: &Tile<'_>,
    coding: Coding,
    shift: u32,
    scratch: &mut DecodeBuffers,
) {
    let mut done = 0;
    let mut granule = 0;
    coding.keys(tile, 0..tile.edges, scratch, |keys, _| {
        let mut left = keys;
        while let Some(&last) = left.last() {
            // Granules that begin in this run of keys; keys ascend by granule.
            if granule == GRANULES || last >> shift < granule as u32 {
                break;
            }
            let before = left.partition_point(|key| key >> shift < granule as u32);
            left = &left[before..];
            entry[granule] = (done + keys.len() - left.len()) as u16;
            granule += 1;
        }
        done += keys.len();
    });
    entry[granule..].fill(tile.edges as u16);
}

/// A tile with its index.
#[derive(Clone, Copy)]
pub(crate) struct Indexed<'g> {
    pub(crate) tile: Tile<'g>,
    pub(crate) weights: WeightKind,
    /// First destination of its stripe.
    pub(crate) target_base: u32,
    places: &'g [u16],
}

impl Indexed<'_> {
    /// The edges whose sources lie in some granules.
    pub(crate) fn edges(&self, granules: Range<usize>) -> Range<usize> {
        usize::from(self.places[granules.start])..usize::from(self.places[granules.end])
    }

    /// The edges of one source, by its place in the block; of a tile that is not packed all of its
    /// granule.
    pub(crate) fn edges_of(&self, granule: usize, place: u32, coding: Coding) -> Range<usize> {
        let range = self.edges(granule..granule + 1);
        if coding.encoding != Encoding::Packed {
            return range;
        }
        let keys = &self.tile.packed()[range.clone()];
        let before = keys.partition_point(|key| key >> coding.target_bits < place);
        let own = keys[before..].iter().take_while(|&key| key >> coding.target_bits == place);
        let start = range.start + before;
        start..start + own.count()
    }

    /// Coding of the tile's edges, for a program that looks at weights or not.
    pub(crate) fn coding(&self, graph: &Graph) -> Coding {
        Coding {
            encoding: graph.layout.encoding,
            weights: self.weights,
            target_bits: graph.layout.stripe_bits,
        }
    }
}

/// All tiles of a graph with their index, by stripe and by block.
pub(crate) struct IndexedTiles<'g> {
    tiles: Vec<Indexed<'g>>,
    stripes: &'g [usize],
    /// First place in `by_block` of each block, and one past the last.
    blocks: Vec<u32>,
    by_block: Vec<u32>,
}

impl<'g> IndexedTiles<'g> {
    /// `weighted`: whether weights are looked at.
    pub(crate) fn new(
        graph: &'g Graph,
        index: &'g SourceIndex,
        weighted: bool,
    ) -> Result<Self, EngineError> {
        let mut entries = index.places.chunks_exact(PLACES);
        let mut tiles = Vec::new();
        for stripe in &graph.stripes {
            for place in &stripe.chunks {
                let chunk: Chunk<'g> = graph.open(stripe, place)?;
                let weights = Coding::weighted(chunk.label(), weighted).weights;
                for (tile, places) in chunk.tiles().zip(&mut entries) {
                    let target_base = stripe.vertices.start as u32;
                    tiles.push(Indexed { tile, weights, target_base, places });
                }
            }
        }
        let block = |tile: &Indexed<'_>| (tile.tile.source >> graph.layout.block_bits) as usize;
        let mut blocks = vec![0; (graph.vertices() >> graph.layout.block_bits) as usize + 2];
        for tile in &tiles {
            blocks[block(tile) + 1] += 1;
        }
        for place in 1..blocks.len() {
            blocks[place] += blocks[place - 1];
        }
        let mut next = blocks.clone();
        let mut by_block = vec![0; tiles.len()];
        for (number, tile) in tiles.iter().enumerate() {
            let place = &mut next[block(tile)];
            by_block[*place as usize] = number as u32;
            *place += 1;
        }
        Ok(Self { tiles, stripes: &index.stripes, blocks, by_block })
    }

    /// The tiles of a stripe, in the order of their sources.
    pub(crate) fn of_stripe(&self, stripe: usize) -> &[Indexed<'g>] {
        &self.tiles[self.stripes[stripe]..self.stripes[stripe + 1]]
    }

    /// The tiles that begin in a block, in the order of their stripes.
    pub(crate) fn of_block(&self, block: usize) -> impl Iterator<Item = &Indexed<'g>> {
        let range = self.blocks[block] as usize..self.blocks[block + 1] as usize;
        self.by_block[range].iter().map(|&number| &self.tiles[number as usize])
    }

    /// Number of blocks.
    pub(crate) fn blocks(&self) -> usize {
        self.blocks.len() - 1
    }
}
