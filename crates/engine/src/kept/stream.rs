//! The edges of a kept graph as a stream, for readings of it that differ from how it is kept, and
//! for readers of the edges themselves.
//!
//! Edges come by extents, each a part, so stripe by stripe and in the order of their sources. In a
//! bucket a part is a run of neighbours, which come by one request.
//! Slots are the numbers of vertices, so every slot is one.
//!
//! Invariant: of a graph whose edges have no direction each edge comes once, from its lower end.
//! Tested by `undirected_edges_come_once_from_their_lower_end`.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use welter_model::edges::{Batch, EdgeStream, Pair, StreamError};
use welter_model::ids::IdMap;
use welter_store::StoreError;
use welter_store::chunk::Tile;
use welter_store::frame::Decompressor;
use welter_store::io::{Memory, Pages, Place, Volume};
use welter_store::weights::WeightKind;

use super::KeptGraph;
use super::directory::{Directory, Run};
use super::load::damaged;
use super::manifest::KeptIds;
use crate::EngineError;
use crate::footprints::edges as footprint;
use crate::kernels::kernel::{Coding, DecodeBuffers};
use crate::kernels::vertices::Vertices;
use crate::machine::arena::SLAB_BYTES;
use crate::machine::sync::lock;

/// Extents of a part in a bucket at most, 4 MiB.
const SIDE_BY_SIDE: usize = 8;
/// Edges that are handed over at a time.
const BATCH_EDGES: usize = 1 << 15;

/// The edges of a kept graph.
pub struct KeptStream {
    kept: KeptGraph,
    directory: Directory,
    volume: Arc<Volume>,
    /// Extents of each part.
    parts: Vec<Range<usize>>,
    /// First vertex of each stripe, and the number of vertices.
    starts: Vec<u64>,
    edges: u64,
    weighted: bool,
    /// Buffers that no part is read into now.
    buffers: Mutex<Vec<Buffers>>,
}

/// Memory that an extent is read into, and a chunk out of its frame.
struct Buffers {
    read: Pages,
    decompressor: Decompressor,
    room: Pages,
}

impl Buffers {
    fn new(framed: bool, part_bytes: usize) -> Result<Self, StoreError> {
        let room = if framed { SLAB_BYTES } else { 0 };
        let decompressor = Decompressor::new();
        Ok(Self { read: Pages::zeroed(part_bytes)?, decompressor, room: Pages::zeroed(room)? })
    }
}

impl KeptGraph {
    /// The edges as a stream, `weighted` if they shall come with what weights they have, and the
    /// ids of its slots.
    ///
    /// # Errors
    /// When a file is missing, damaged or cannot be read.
    pub fn stream(&self, weighted: bool) -> Result<(KeptStream, IdMap), EngineError> {
        let vertices = self.vertices()?;
        let ids = match (self.manifest.ids, vertices.present_slots()) {
            (KeptIds::Same, Some(slots)) => IdMap::Sparse(slots),
            (KeptIds::Same, None) => IdMap::Declared,
            _ => self.ids()?,
        };
        Ok((self.stream_of(&vertices, weighted)?, ids))
    }

    /// The edges alone, likewise.
    pub(super) fn edge_stream(&self, weighted: bool) -> Result<KeptStream, EngineError> {
        self.stream_of(&self.vertices()?, weighted)
    }

    fn stream_of(&self, vertices: &Vertices, weighted: bool) -> Result<KeptStream, EngineError> {
        let (segments, _) = self.cuts(vertices)?;
        let (volume, lengths) = self.volume(&self.io)?;
        let directory = self.directory(&lengths)?;
        let starts = segments.iter().map(|segment| vertices.segment_start(*segment)).collect();
        let together = if self.io.remote.is_some() { SIDE_BY_SIDE } else { 1 };
        let parts = parts(&directory.runs, together);
        let mut stream = KeptStream {
            parts,
            kept: self.clone(),
            directory,
            volume,
            starts,
            edges: self.manifest.edges,
            weighted: weighted && self.manifest.weighted,
            buffers: Mutex::new(Vec::new()),
        };
        if self.manifest.reading.undirected {
            // An edge between two vertices is two arcs, a loop is one.
            let loops = stream.loops()?;
            stream.edges = self.manifest.edges.saturating_sub(loops) / 2 + loops;
        }
        Ok(stream)
    }
}

/// Parts of at most `together` extents that lie side by side.
fn parts(runs: &[Run], together: usize) -> Vec<Range<usize>> {
    let mut parts: Vec<Range<usize>> = Vec::new();
    for (number, run) in runs.iter().enumerate() {
        match parts.last_mut() {
            Some(part) if part.len() < together && is_behind(&runs[number - 1], run) => {
                part.end += 1;
            }
            _ => parts.push(number..number + 1),
        }
    }
    parts
}

/// Whether an extent begins where another one ends.
fn is_behind(before: &Run, run: &Run) -> bool {
    let end = before.place.offset + before.place.rounded_bytes() as u64;
    (before.place.file, end) == (run.place.file, run.place.offset)
}

/// The place of extents that lie side by side.
fn place_of(runs: &[Run]) -> Place {
    let [first, last] = [&runs[0], &runs[runs.len() - 1]].map(|run| run.place);
    Place { bytes: (last.offset - first.offset) as u32 + last.bytes, ..first }
}

impl KeptStream {
    /// Bytes of the widest part.
    fn part_bytes(&self) -> usize {
        let bytes =
            |part: &Range<usize>| place_of(&self.directory.runs[part.clone()]).bytes as usize;
        self.parts.iter().map(bytes).max().unwrap_or(0).max(SLAB_BYTES)
    }

    /// Number of edges from a vertex to itself. Only chunks that may have some are looked at.
    fn loops(&self) -> Result<u64, EngineError> {
        let mut loops = 0;
        let meets = |run: &Run| {
            let [begin, end] = [0, 1].map(|side| self.starts[run.stripe as usize + side]);
            let meets = |entry: usize| {
                let [first, last] = self.directory.entries[entry].sources;
                first < end && begin < last
            };
            run.entries.clone().any(meets)
        };
        for part in &self.parts {
            if self.directory.runs[part.clone()].iter().any(meets) {
                self.each(part, &mut |pairs, _| {
                    loops += pairs.iter().filter(|pair| pair[0] == pair[1]).count() as u64;
                    true
                })?;
            }
        }
        Ok(loops)
    }

    /// Reads the extents of a part and hands over their edges as they are stored, until `visit` has
    /// enough.
    fn each(
        &self,
        part: &Range<usize>,
        visit: &mut dyn FnMut(&[Pair], &[f64]) -> bool,
    ) -> Result<(), EngineError> {
        let buffers = lock(&self.buffers).pop();
        let new = || Buffers::new(self.kept.is_framed(), self.part_bytes());
        let mut buffers = buffers.map_or_else(new, Ok)?;
        let Buffers { read, decompressor, room } = &mut buffers;
        let runs = &self.directory.runs[part.clone()];
        let whole = place_of(runs);
        self.volume.read_at_once(whole, read)?;
        let mut scratch = DecodeBuffers::new();
        let (mut pairs, mut values) = (Vec::new(), Vec::new());
        let entries =
            runs.iter().flat_map(|run| run.entries.clone().map(move |entry| (run, entry)));
        'chunks: for (run, entry) in entries {
            let entry = &self.directory.entries[entry];
            let bytes = &read.bytes()[(run.place.offset - whole.offset) as usize..];
            let stripe = self.starts[run.stripe as usize]..self.starts[run.stripe as usize + 1];
            let plain = decompressor.chunk(&bytes[entry.range()], room.bytes_mut());
            let chunk = plain
                .and_then(|plain| self.kept.chunk(entry, stripe.start, plain))
                .map_err(|error| damaged(&self.volume, run, entry.range(), &error.to_string()))?;
            let label = chunk.label();
            let weights = if self.weighted { label.weights } else { WeightKind::None };
            let coding =
                Coding { encoding: label.encoding, weights, target_bits: label.target_bits };
            for tile in chunk.tiles() {
                let edges = (&mut pairs, &mut values);
                let beyond = self.decode((&tile, coding), &stripe, &mut scratch, edges);
                if let Some([source, target]) = beyond {
                    let what = format!("an edge from {source} to {target} cannot be");
                    return Err(damaged(&self.volume, run, entry.range(), &what));
                }
                if pairs.len() >= BATCH_EDGES {
                    let goes_on = visit(&pairs, &values);
                    pairs.clear();
                    values.clear();
                    if !goes_on {
                        break 'chunks;
                    }
                }
            }
        }
        if !pairs.is_empty() {
            visit(&pairs, &values);
        }
        lock(&self.buffers).push(buffers);
        Ok(())
    }

    /// Adds the edges of a tile of a stripe, by the numbers of vertices; an edge that cannot be, if
    /// there is one.
    fn decode(
        &self,
        (tile, coding): (&Tile<'_>, Coding),
        stripe: &Range<u64>,
        scratch: &mut DecodeBuffers,
        (pairs, values): (&mut Vec<Pair>, &mut Vec<f64>),
    ) -> Option<[u64; 2]> {
        let vertices = self.kept.manifest.vertices;
        let (base, width) = (stripe.start, stripe.end - stripe.start);
        let mask = (1_u64 << coding.target_bits) - 1;
        let mut beyond = None;
        coding.keys(tile, 0..tile.edges, scratch, |keys, weights| {
            for key in keys {
                let source = tile.source + u64::from(key >> coding.target_bits);
                let target = u64::from(*key) & mask;
                if source >= vertices || target >= width {
                    beyond = Some([source, base + target]);
                }
                pairs.push([source as u32, (base + target) as u32]);
            }
            match weights {
                Some(weights) => values.extend_from_slice(weights),
                None if self.weighted => values.resize(pairs.len(), 1.0),
                None => {}
            }
        });
        beyond
    }
}

impl EdgeStream for KeptStream {
    fn parts(&self) -> usize {
        self.parts.len()
    }

    fn edges(&self) -> u64 {
        self.edges
    }

    fn weighted(&self) -> bool {
        self.weighted
    }

    fn slots(&self) -> Option<u64> {
        Some(self.kept.manifest.vertices)
    }

    fn resident_bytes(&self) -> u64 {
        size_of_val(&self.directory.entries[..]) as u64
            + size_of_val(&self.directory.runs[..]) as u64
            + size_of_val(&self.parts[..]) as u64
            + (self.part_bytes() + BATCH_EDGES * 2 * 16) as u64
            + footprint::frames(self.kept.manifest.compression)
    }

    fn read(
        &self,
        part: usize,
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        let once = self.kept.manifest.reading.undirected;
        let (mut lower, mut of_lower) = (Vec::new(), Vec::new());
        self.each(&self.parts[part], &mut |pairs, weights| {
            if !once {
                return visit(Batch { pairs, weights: self.weighted.then_some(weights) });
            }
            lower.clear();
            of_lower.clear();
            for (edge, pair) in pairs.iter().enumerate().filter(|(_, pair)| pair[0] <= pair[1]) {
                lower.push(*pair);
                of_lower.extend(weights.get(edge));
            }
            visit(Batch { pairs: &lower, weights: self.weighted.then_some(&of_lower) })
        })
        .map_err(|error| Box::new(error) as StreamError)
    }
}

impl fmt::Debug for KeptStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeptStream({}, {} edges)", self.kept.path.display(), self.edges)
    }
}
