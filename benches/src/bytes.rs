//! Bytes per edge in memory, packed and compressed.
//!
//! Graphs that fit are ingested and asked. R-MAT 27 has 2.1 billion edges, whose bins alone would
//! take 17 GB, so it is done in passes: each makes all edges, keeps those whose destination falls
//! into the pass's range, and ingests these with the plan of the whole graph. Tiles never reach
//! across a stripe, so the tiles of all passes together are those of the whole graph, but for the
//! edges of the ranges. Vertices are numbered among those that any edge names, as the engine would
//! number them, in a pass of its own.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Error, Result, ensure};
use rayon::prelude::*;
use welter_engine::Machine;
use welter_engine::plan::{self, Plan};
use welter_engine::{Graph, Workers};
use welter_model::edges::{Batch, EdgeStream, Pair, Reading, StreamError};
use welter_model::ids::IdMap;
use welter_progress::Progress;
use welter_store::header::Encoding;

use crate::Settings;
use crate::engine::{Loaded, layout};
use crate::inputs::{Kind, Shape};
use crate::report::Table;

/// The graph that is done in passes, with `--full`.
const LARGE: Shape = Shape { kind: Kind::Rmat, scale: 27 };
/// Passes over it: each keeps 268 million edges.
const PASSES: usize = 8;
/// Log2 of the ids that are counted together to find ranges.
const SEGMENT_BITS: u32 = 12;

/// Bytes per edge of all graphs of the settings.
pub(crate) fn table(settings: &Settings) -> Result<Table> {
    let columns =
        ["graph", "edges", "packed", "compressed", "stripe bits", "block bits", "edges/tile"];
    let mut table = Table::new("Bytes per edge, whole chunks", &columns);
    let threads = settings.threads_most();
    for shape in settings.shapes() {
        let path = settings.inputs.raw(shape)?;
        let workers = Workers::new(threads)?;
        let of = |encoding| -> Result<ChunkCounts> {
            eprintln!("{shape}, bytes {encoding:?}");
            let progress = Progress::new();
            let layout = layout::<f32>();
            let graph = Loaded::read(&path, layout, Some(encoding), &workers, &progress)?.graph;
            Ok(ChunkCounts::of(&graph))
        };
        let (packed, compressed) = (of(Encoding::Packed)?, of(Encoding::Compressed)?);
        table.row(row(&shape.to_string(), &packed, &compressed));
    }
    if settings.full {
        let (packed, compressed) = in_passes(LARGE, PASSES, threads)?;
        table.row(row(&format!("{LARGE}, in {PASSES} passes"), &packed, &compressed));
    } else {
        table.note(format!("`--full` also measures {LARGE}."));
    }
    Ok(table)
}

/// Counts of edges and bytes in chunks.
#[derive(Clone, Copy, Debug, Default)]
struct ChunkCounts {
    edges: u64,
    bytes: u64,
    tiles: u64,
    stripe_bits: u32,
    block_bits: u32,
}

impl ChunkCounts {
    fn of(graph: &Graph) -> Self {
        Self {
            edges: graph.edges(),
            bytes: graph.chunk_bytes(),
            tiles: graph.tiles() as u64,
            stripe_bits: graph.plan().premises.edges.stripe_bits,
            block_bits: graph.plan().premises.edges.block_bits,
        }
    }

    fn add(&mut self, other: Self) {
        let (edges, bytes) = (self.edges + other.edges, self.bytes + other.bytes);
        *self = Self { edges, bytes, tiles: self.tiles + other.tiles, ..other };
    }

    fn per_edge(&self) -> String {
        format!("{:.2}", self.bytes as f64 / self.edges as f64)
    }
}

/// Widths and density are those of the compressed form, which they are chosen for.
fn row(name: &str, packed: &ChunkCounts, compressed: &ChunkCounts) -> Vec<String> {
    vec![
        name.to_owned(),
        compressed.edges.to_string(),
        packed.per_edge(),
        compressed.per_edge(),
        compressed.stripe_bits.to_string(),
        compressed.block_bits.to_string(),
        (compressed.edges / compressed.tiles.max(1)).to_string(),
    ]
}

/// Packed and compressed bytes of a graph of which one pass at a time is in memory.
fn in_passes(shape: Shape, passes: usize, threads: usize) -> Result<(ChunkCounts, ChunkCounts)> {
    eprintln!("{shape}: looking for vertices");
    let stream = shape.stream()?;
    let survey = Arc::new(Survey::of(&*stream)?);
    let workers = Workers::new(threads)?;
    let mut sums = [ChunkCounts::default(); 2];
    for (number, ids) in survey.ranges(passes).into_iter().enumerate() {
        for (sum, encoding) in sums.iter_mut().zip([Encoding::Packed, Encoding::Compressed]) {
            eprintln!("{shape}, {encoding:?}: pass {} of {passes}", number + 1);
            let planned = plan::Shape {
                slots: survey.vertices,
                edges: stream.edges(),
                weighted: false,
                estimated: false,
                input_bytes: 0,
            };
            let settings = plan::Settings {
                threads: Some(threads),
                encoding: Some(encoding),
                // The plan is for the whole graph; a pass takes an eighth of it.
                memory_bytes: Some(u64::MAX),
                ..plan::Settings::default()
            };
            let plan = Plan::new(planned, layout::<f32>(), &settings, &Machine::detect())?;
            let edges = survey.edges(&ids);
            let (stream, survey, ids) = (shape.stream()?, Arc::clone(&survey), ids.clone());
            let slice = Box::new(Slice { stream, survey, ids, edges });
            let (ids, reading) = (IdMap::Declared, Reading::default());
            let graph = Graph::ingest(slice, &ids, reading, &plan, &workers, &Progress::new())?;
            sum.add(ChunkCounts::of(&graph));
        }
    }
    ensure!(sums.iter().all(|sum| sum.edges == stream.edges()), "passes lost edges");
    Ok((sums[0], sums[1]))
}

/// Ids that are vertices, and the number of edges that end at each.
struct Survey {
    /// A bit an id.
    words: Vec<u64>,
    /// Number of vertices before each word.
    before: Vec<u32>,
    vertices: u64,
    /// Edges to each segment of ids.
    targets: Vec<u64>,
}

impl Survey {
    fn of(stream: &dyn EdgeStream) -> Result<Self> {
        let slots = stream.slots().unwrap_or(0) as usize;
        let zeros = |count: usize| (0..count).map(|_| AtomicU64::new(0)).collect::<Vec<_>>();
        let (words, targets) =
            (zeros(slots.div_ceil(64)), zeros(slots.div_ceil(1 << SEGMENT_BITS)));
        (0..stream.parts()).into_par_iter().try_for_each(|part| {
            let mut counts = vec![0; targets.len()];
            let read = stream.read(part, &mut |batch| {
                for &id in batch.pairs.as_flattened() {
                    let (word, bit) = (&words[id as usize / 64], 1 << (id % 64));
                    // Most bits are set already, and looking is cheaper than writing.
                    if word.load(Ordering::Relaxed) & bit == 0 {
                        word.fetch_or(bit, Ordering::Relaxed);
                    }
                }
                batch.pairs.iter().for_each(|pair| counts[(pair[1] >> SEGMENT_BITS) as usize] += 1);
                true
            });
            for (total, count) in targets.iter().zip(counts) {
                total.fetch_add(count, Ordering::Relaxed);
            }
            read.map_err(Error::from_boxed)
        })?;
        let plain = |atomics: Vec<AtomicU64>| -> Vec<u64> {
            atomics.into_iter().map(AtomicU64::into_inner).collect()
        };
        let (words, targets) = (plain(words), plain(targets));
        let mut count = 0;
        let before = words.iter().map(|word| {
            count += word.count_ones();
            count - word.count_ones()
        });
        let before = before.collect();
        Ok(Self { words, before, vertices: count.into(), targets })
    }

    /// Number of the vertex of an id.
    fn index(&self, id: u32) -> u32 {
        let word = id as usize / 64;
        let below = self.words[word] & ((1 << (id % 64)) - 1);
        self.before[word] + below.count_ones()
    }

    /// Cuts the ids into ranges to which about equally many edges go.
    fn ranges(&self, pieces: usize) -> Vec<Range<u64>> {
        let total: u64 = self.targets.iter().sum();
        let mut ranges = Vec::new();
        let (mut start, mut held) = (0, 0);
        for (segment, &edges) in self.targets.iter().enumerate() {
            held += edges;
            let end = (segment as u64 + 1) << SEGMENT_BITS;
            let due = total * (ranges.len() as u64 + 1) / pieces as u64;
            if held >= due || segment + 1 == self.targets.len() {
                ranges.push(start..end);
                start = end;
            }
        }
        ranges
    }

    /// Edges to a range that [`Self::ranges`] made.
    fn edges(&self, ids: &Range<u64>) -> u64 {
        let segment = |id: u64| (id >> SEGMENT_BITS) as usize;
        self.targets[segment(ids.start)..segment(ids.end)].iter().sum()
    }
}

/// The edges to a range of ids, between vertex numbers.
struct Slice {
    stream: Box<dyn EdgeStream>,
    survey: Arc<Survey>,
    ids: Range<u64>,
    edges: u64,
}

impl Slice {
    /// The edges of a part that belong here.
    fn kept(&self, part: usize) -> Result<Vec<Pair>, StreamError> {
        let mut kept = Vec::new();
        self.stream.read(part, &mut |batch| {
            let inside = batch.pairs.iter().filter(|pair| self.ids.contains(&pair[1].into()));
            kept.extend(inside.map(|pair| pair.map(|id| self.survey.index(id))));
            true
        })?;
        Ok(kept)
    }
}

impl EdgeStream for Slice {
    fn parts(&self) -> usize {
        self.stream.parts()
    }

    fn edges(&self) -> u64 {
        self.edges
    }

    fn weighted(&self) -> bool {
        false
    }

    fn slots(&self) -> Option<u64> {
        Some(self.survey.vertices)
    }

    fn read(
        &self,
        part: usize,
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        let pairs = self.kept(part)?;
        visit(Batch { pairs: &pairs, weights: None });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_keep_every_edge_and_about_the_same_bytes() {
        let shape = Shape { kind: Kind::Rmat, scale: 16 };
        let (packed, compressed) = in_passes(shape, 3, 1).unwrap();
        assert_eq!((packed.edges, compressed.edges), (16 << 16, 16 << 16));
        let (whole, _) = in_passes(shape, 1, 1).unwrap();
        let off = packed.bytes as f64 / whole.bytes as f64;
        assert!((0.9..1.1).contains(&off), "{off}");
    }

    #[test]
    fn ranges_cover_all_ids_once() {
        let stream = Shape { kind: Kind::Rmat, scale: 16 }.stream().unwrap();
        let survey = Survey::of(&*stream).unwrap();
        let ranges = survey.ranges(4);
        assert_eq!((ranges[0].start, ranges.last().map(|ids| ids.end)), (0, Some(1 << 16)));
        assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
        let edges: u64 = ranges.iter().map(|ids| survey.edges(ids)).sum();
        assert_eq!(edges, 16 << 16);
        assert!(survey.vertices < 1 << 16);
    }
}
