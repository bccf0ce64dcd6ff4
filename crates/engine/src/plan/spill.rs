//! Memory and traffic of route `spill`.
//!
//! In extended programs records are what sources say, one for each stripe that a source has edges
//! to, or for each edge.

use super::premises::Premises;
use super::traffic::Traffic;
use crate::footprints::columns::{self as footprint, CHUNK_FRAME_BYTES, SLAB_REST};
use crate::kernels::kernel::BUFFER;
use crate::machine::arena::SLAB_BYTES;
use crate::machine::storage::slabs_joined;
use welter_store::encoding::SHORT_BYTES;
use welter_store::header::Encoding;
use welter_store::io::ALIGN;

/// Bytes of the destination of a record that is not encoded.
const TARGET_BYTES: u64 = 4;
/// Bytes of the out-degree of a vertex.
const DEGREE_BYTES: u64 = 4;
/// Sources of the narrowest partition, unless a stripe is wider.
const SOURCES_LEAST: u64 = 1 << 16;

/// Partitions of vertices, and what is done to updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpillPlan {
    /// Vertices of a partition, at most, or those of a stripe.
    pub sources: u64,
    /// Whether a cell is folded into accumulators, of which those that were touched are written;
    /// never where updates must wait for each other. In extended programs, whether a source sends
    /// its signal to a stripe once.
    pub combined: bool,
    /// Whether a partition is scattered as soon as it was gathered.
    pub fused: bool,
    /// Whether values, degrees and what lies between gather and scatter are in memory, so that
    /// only updates go to storage (X-Stream, section 3.2).
    pub resident: bool,
}

impl SpillPlan {
    /// Partitions as wide as half of `spare` bytes allows: the wider, the more updates meet before
    /// they are written.
    pub(super) fn new(premises: &Premises, spare: u64, combined: bool, fused: bool) -> Self {
        let resident = premises.settings.vertices_in_memory;
        let of = |sources| Self { sources, combined, fused, resident };
        let least = SOURCES_LEAST.max(1 << premises.edges.stripe_bits);
        let narrow = of(least).bytes(premises);
        let fits = |sources: &u64| {
            of(*sources).bytes(premises).saturating_sub(narrow) <= spare.saturating_sub(narrow) / 2
        };
        let widths = (0..).map(|power| least << power);
        let widths =
            widths.take_while(|width| *width < 2 * premises.vertices.max(1) && fits(width));
        of(widths.last().unwrap_or(least))
    }

    /// Bytes of state in memory, but for the accumulators of a stripe and what is read ahead.
    pub(super) fn bytes(&self, premises: &Premises) -> u64 {
        let (layout, bits) = (premises.program, premises.edges.stripe_bits);
        let extended = layout.is_extended();
        // Flags of active vertices, and room for the sources that tiles have beside the partition.
        let (flag, margin) = if extended { (0, 0) } else { (1, 2 * premises.edges.key_sources()) };
        let room = self.sources.min(premises.vertices).max(1 << bits) + margin;
        let between = if self.fused { 0 } else { layout.signal() + layout.active() };
        // Checkpoints say who is active, so that is stored where they are written.
        let stored = between.max(layout.active());
        let signal_bytes = if extended { BUFFER as u64 * layout.signal() } else { 0 };
        let vertex = layout.value + DEGREE_BYTES + stored;
        let pages = premises.stripes_most() * 3 * ALIGN as u64;
        let resident = if self.resident { premises.vertices * vertex + pages } else { 0 };
        let masks = if extended { 0 } else { (premises.vertices >> premises.edges.block_bits) * 8 };
        premises
            .account()
            .shared(room * (layout.signal() + flag))
            .shared(resident)
            .shared(footprint::piece_reader(between, &premises.settings.requests))
            .shared(masks)
            .shared(footprint::chunk_lists(self.chunks(premises)))
            .each_worker(footprint::column_io(vertex, bits))
            .each_worker(footprint::records(layout.record()) + signal_bytes)
            .each_worker(Self::targets_bytes(premises))
            .each_worker(footprint::slab_writer(&premises.settings.requests))
            .each_worker(premises.update_frame_bytes())
            .bytes()
    }

    /// Bytes of a worker's rooms for encoded destinations.
    fn targets_bytes(premises: &Premises) -> u64 {
        match premises.edges.encoding {
            Encoding::Packed | Encoding::Pairs => 0,
            Encoding::Short | Encoding::Compressed => {
                footprint::encoded_targets(premises.program.record().saturating_sub(TARGET_BYTES))
            }
        }
    }

    /// Bytes of a record on storage: destinations that ascend are encoded by their differences,
    /// others in three bytes.
    fn record_bytes(&self, premises: &Premises, records: u64) -> f64 {
        let target = match premises.edges.encoding {
            Encoding::Packed | Encoding::Pairs => TARGET_BYTES as f64,
            Encoding::Compressed if self.combined => {
                let places = self.places(premises) as f64;
                let distance = (places / records.max(1) as f64).max(1.0);
                1.25 + distance.log2() / 8.0
            }
            Encoding::Short | Encoding::Compressed => SHORT_BYTES as f64,
        };
        premises.program.record() as f64 - TARGET_BYTES as f64 + target
    }

    /// Places that records of all cells together may be of.
    fn places(&self, premises: &Premises) -> u64 {
        let cells = if premises.program.is_extended() {
            premises.vertices.div_ceil(1 << premises.edges.stripe_bits)
        } else {
            premises.vertices.div_ceil(self.sources)
        };
        premises.vertices * cells.max(1)
    }

    /// Records of an iteration: of each cell as many as it has edges, or destinations that these
    /// touch, if they end anywhere; in extended programs, of each stripe the sources of its edges.
    fn records(&self, premises: &Premises) -> u64 {
        let edges = premises.shape.edges;
        if !self.combined {
            return edges;
        }
        let places = self.places(premises) as f64;
        let touched = places * (1.0 - (-(edges as f64) / places.max(1.0)).exp());
        edges.min(touched.ceil() as u64)
    }

    /// Records of an iteration at most, wherever edges end. A graph that is kept may have more
    /// stripes than are known of here.
    fn records_most(&self, premises: &Premises) -> u64 {
        let edges = premises.shape.edges;
        if self.combined && !premises.program.is_extended() {
            edges.min(premises.vertices * self.partitions(premises))
        } else {
            edges
        }
    }

    /// Partitions, at most: one is full when the next stripe does not fit.
    fn partitions(&self, premises: &Premises) -> u64 {
        if premises.vertices <= self.sources {
            return 1;
        }
        let full =
            self.sources.saturating_sub(1 << premises.edges.stripe_bits).max(self.sources / 2);
        premises.vertices / full + 1
    }

    /// Update chunks of an iteration, at most: each cell ends one, as do full slabs, and of what
    /// fills a chunk some may be left.
    fn chunks(&self, premises: &Premises) -> u64 {
        let cells = premises.stripes_most() * self.partitions(premises);
        let bytes = self.records_most(premises) * premises.program.record();
        cells + 6 * bytes / SLAB_BYTES as u64
    }

    /// Bytes of storage that updates take at a time, at most. Those of the next iteration meet
    /// those of this one where partitions are scattered as soon as they were gathered.
    pub(super) fn disk_bytes(&self, premises: &Premises) -> u64 {
        let slab = SLAB_BYTES as u64;
        let records = self.records_most(premises) * premises.program.record();
        let bytes = records + self.chunks(premises) * CHUNK_FRAME_BYTES;
        // A slab is full when little is left of it, and ends with the partition.
        let full = (bytes * SLAB_REST).div_ceil((SLAB_REST - 1) * slab);
        let parts = self.partitions(premises) * premises.threads as u64;
        // Slabs that one request writes lie in a block, which is used again as a whole.
        let joined = slabs_joined(&premises.settings.requests, true) as u64;
        let slabs = (full.div_ceil(joined) + parts) * joined;
        let turns = if self.fused && self.partitions(premises) > 1 { 2 } else { 1 };
        turns * slabs * slab
    }

    /// Readings of the edges in an iteration: where these are shown what both of their ends say,
    /// scatter looks through them, and gather meets them.
    pub(super) fn edge_passes(premises: &Premises) -> u64 {
        if premises.program.is_extended() { 2 } else { 1 }
    }

    /// Bytes that updates and signals move in an iteration in which all vertices are active.
    pub(super) fn traffic(&self, premises: &Premises) -> Traffic {
        let records = self.records(premises);
        let updates = (records as f64 * self.record_bytes(premises, records)) as u64;
        let stored = if self.fused || self.resident {
            0
        } else {
            premises.program.signal() + premises.program.active()
        };
        let moved = updates + premises.vertices * stored;
        Traffic { read: moved, written: moved }
    }
}
