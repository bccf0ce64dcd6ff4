//! The edges of a kept graph as a stream, for readings of it that differ from how it is kept, and
//! for readers of the edges themselves.
//!
//! Edges come by extents, each a part, so stripe by stripe and in the order of their sources.
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
use welter_store::io::{Memory, Pages, Volume};
use welter_store::weights::WeightKind;

use super::KeptGraph;
use super::directory::{Directory, Run};
use super::load::damaged;
use super::manifest::KeptIds;
use crate::EngineError;
use crate::edges::footprint;
use crate::kernels::kernel::{Coding, DecodeBuffers};
use crate::machine::arena::SLAB_BYTES;
use crate::machine::sync::lock;

/// Edges that are handed over at a time.
const BATCH_EDGES: usize = 1 << 15;

/// The edges of a kept graph.
pub struct KeptStream {
    kept: KeptGraph,
    directory: Directory,
    volume: Arc<Volume>,
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
    fn new(framed: bool) -> Result<Self, StoreError> {
        let room = if framed { SLAB_BYTES } else { 0 };
        let decompressor = Decompressor::new();
        Ok(Self { read: Pages::zeroed(SLAB_BYTES)?, decompressor, room: Pages::zeroed(room)? })
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
        let (segments, _) = self.cuts(&vertices)?;
        let (volume, lengths) = self.volume(&self.io)?;
        let directory = self.directory(&lengths)?;
        let starts = segments.iter().map(|segment| vertices.segment_start(*segment)).collect();
        let ids = match (self.manifest.ids, vertices.present_slots()) {
            (KeptIds::Same, Some(slots)) => IdMap::Sparse(slots),
            (KeptIds::Same, None) => IdMap::Declared,
            _ => self.ids()?,
        };
        let mut stream = KeptStream {
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
        Ok((stream, ids))
    }
}

impl KeptStream {
    /// Number of edges from a vertex to itself. Only chunks that may have some are looked at.
    fn loops(&self) -> Result<u64, EngineError> {
        let mut loops = 0;
        for run in &self.directory.runs {
            let [begin, end] = [0, 1].map(|side| self.starts[run.stripe as usize + side]);
            let meets = |entry: usize| {
                let [first, last] = self.directory.entries[entry].sources;
                first < end && begin < last
            };
            if run.entries.clone().any(meets) {
                self.each(run, &mut |pairs, _| {
                    loops += pairs.iter().filter(|pair| pair[0] == pair[1]).count() as u64;
                    true
                })?;
            }
        }
        Ok(loops)
    }

    /// Reads an extent and hands over its edges as they are stored, until `visit` has enough.
    fn each(
        &self,
        run: &Run,
        visit: &mut dyn FnMut(&[Pair], &[f64]) -> bool,
    ) -> Result<(), EngineError> {
        let buffers = lock(&self.buffers).pop();
        let mut buffers = buffers.map_or_else(|| Buffers::new(self.kept.is_framed()), Ok)?;
        let Buffers { read, decompressor, room } = &mut buffers;
        self.volume.read_at_once(run.place, read)?;
        let stripe = self.starts[run.stripe as usize]..self.starts[run.stripe as usize + 1];
        let mut scratch = DecodeBuffers::new();
        let (mut pairs, mut values) = (Vec::new(), Vec::new());
        let bytes = read.bytes();
        'chunks: for entry in &self.directory.entries[run.entries.clone()] {
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
                    if !visit(&pairs, &values) {
                        break 'chunks;
                    }
                    pairs.clear();
                    values.clear();
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
        self.directory.runs.len()
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
            + (SLAB_BYTES + BATCH_EDGES * 2 * 16) as u64
            + footprint::frames(self.kept.manifest.compression)
    }

    fn read(
        &self,
        part: usize,
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        let once = self.kept.manifest.reading.undirected;
        let (mut lower, mut of_lower) = (Vec::new(), Vec::new());
        self.each(&self.directory.runs[part], &mut |pairs, weights| {
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
