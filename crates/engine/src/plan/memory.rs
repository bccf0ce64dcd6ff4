//! The memory that a run takes, bounded from what is known before it.
//!
//! Every figure is an upper bound of what [`crate::machine::meter`] will count, so that a run that
//! was let in never needs more: edges in bins and their half-empty ends, chunks at the worst
//! density of their tiles, columns of state with their padding. A test runs graphs of many shapes
//! and checks the meter's peak against [`Memory::peak`].

use super::index::Index;
use super::premises::{CELL_EDGES, Premises};
use super::shape::Shape;
use crate::footprints::{columns, edges as edges_of, ingest, schedules};

/// Memory of a run by use, bytes. Ingest and iterations do not overlap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Bytes that the caller holds all along, such as the ids, and those that the process takes
    /// anyway.
    pub held: u64,
    /// The input while it is ingested.
    pub input: u64,
    /// Marks on slots, while a sample of the input is looked at; while edges are binned there are
    /// others, which count to the bins.
    pub marks: u64,
    /// Edges binned by tile, while they are ingested.
    pub bins: u64,
    /// Chunks that are written before the bins that they came from are free.
    pub overlap: u64,
    /// Chunks; they are written into what bins leave.
    pub chunks: u64,
    /// Degrees, and which slots are vertices.
    pub vertices: u64,
    /// Degrees that are in memory only while edges are ingested.
    pub degrees: u64,
    /// Values, and two columns of signals.
    pub state: u64,
    /// States of edges.
    pub edges: u64,
    /// Flags of active vertices, the accumulators of sparse iterations, and the index of sources.
    pub frontier: u64,
    /// Every edge once or twice more, in rows, where there is room for them; of programs over
    /// triangles the rows that meet, and marks.
    pub rows: u64,
    /// Accumulators and buffers of the workers.
    pub workers: u64,
    /// Chunks that may go to storage.
    pub chunks_stored: u64,
    /// Counters of edges while they are read, where the graph stays in its input.
    pub counts: u64,
}

impl Memory {
    /// The most that is taken at any time.
    pub fn peak(&self) -> u64 {
        let survey = self.input + self.marks;
        let sort = if self.chunks_stored > 0 {
            self.overlap
        } else {
            self.bins + self.overlap.min(self.chunks)
        };
        let ingest = survey.max(self.input + self.bins).max(sort);
        self.held
            + self.vertices
            + self.workers
            + (ingest + self.degrees).max(self.chunks + self.of_run())
            + self.counts
    }

    /// Bytes that iterations take beside chunks and what workers have.
    fn of_run(&self) -> u64 {
        self.state + self.edges + self.frontier + self.rows
    }

    /// The memory of a run after an ingest that left `backed` bytes of slabs, free ones included.
    pub(crate) fn left_by_ingest(&self, backed: u64) -> u64 {
        self.held + self.vertices + self.workers + backed + self.of_run()
    }

    /// Bounds the memory of a run whose edges are all in memory.
    pub(super) fn of(premises: &Premises, index: Index) -> Self {
        let (bin_groups, sorted) = (premises.bin_groups_in_memory(), premises.sorted_in_memory());
        Self::with_bin_groups(premises, index, bin_groups, sorted)
    }

    /// The memory with `bin_groups` bin groups, and edges that a worker sorts at once.
    pub(super) fn with_bin_groups(
        premises: &Premises,
        index: Index,
        bin_groups: u64,
        sorted: u64,
    ) -> Self {
        let Shape { edges, input_bytes, .. } = premises.shape;
        let Premises { vertices, program, .. } = *premises;
        let stripe_bits = premises.edges.stripe_bits;
        let threads = premises.threads as u64;
        let segments = premises.segments();
        let stripes = premises.stripes_most();
        // A greedy cut makes at most two runs and one for each that it was asked for.
        let cells = (2 * (edges / CELL_EDGES) + 3 * stripes).min(segments * stripes);
        let waiting = premises.waiting_bytes();
        // Each worker is at a bin group, which is a part of a stripe where edges are spread evenly.
        let in_flight = bin_groups.min(premises.stripes_least() as u64).max(1);
        let account = premises.account();
        let bins = account
            .shared(marks_bytes(premises))
            .shared(ingest::in_pages(waiting))
            .each_worker(ingest::bins(cells, edges))
            .each_worker(ingest::group_slabs(bin_groups));
        let workers = account
            .each_worker(columns::accumulators(program.accum(), stripe_bits))
            .each_worker(premises.group_bytes())
            .each_worker(premises.sort_bytes(sorted.min(edges) + (1 << 14)))
            .each_worker(ingest::WORKER_BYTES);
        let packed = account.each_worker(edges_of::PACKED_SLAB).bytes();
        let chunks = premises.chunk_bytes(stripes) + packed;
        let padding = premises.edges.key_sources();
        let tiles = if program.has_frontier() { premises.tiles_most(stripes) } else { 0 };
        Self {
            held: held_bytes(premises),
            input: input_bytes,
            marks: marks_bytes(premises),
            bins: bins.bytes(),
            overlap: chunks * threads.min(in_flight) / in_flight + packed,
            chunks,
            vertices: vertex_bytes(premises),
            degrees: 0,
            state: vertices * (program.value + program.beside())
                + program.columns(vertices, stripe_bits),
            edges: premises.edge_states(),
            frontier: vertices * program.sparse()
                + columns::flags(vertices + padding, program.active())
                + edges_of::tile_index(tiles),
            rows: rows_bytes(premises, index),
            workers: workers.bytes(),
            chunks_stored: 0,
            counts: 0,
        }
    }
}

/// Bytes that the caller and the process hold all along.
pub(super) fn held_bytes(premises: &Premises) -> u64 {
    premises.settings.taken_bytes() + premises.vertices * premises.program.own
}

/// Bytes of marks on slots: those of the workers, and those of all of them.
pub(super) fn marks_bytes(premises: &Premises) -> u64 {
    let marks = ingest::marks(premises.segments());
    premises.account().each_worker(marks).shared(marks).bytes()
}

/// Bytes of degrees, and of which slots are vertices.
pub(super) fn vertex_bytes(premises: &Premises) -> u64 {
    ingest::degrees(premises.vertices, premises.segments())
}

/// Bytes of rows, of what workers make them with, and of the updates and vertices that wait while
/// they are pushed.
pub(super) fn rows_bytes(premises: &Premises, index: Index) -> u64 {
    if !index.has_rows() {
        return premises.triangle_bytes();
    }
    let Shape { slots, edges, weighted, .. } = premises.shape;
    let directions = 1 + u64::from(index.has_both_directions());
    let groups = premises.program.groups();
    premises
        .account()
        .shared(directions * schedules::rows(slots, edges, weighted))
        .each_worker(schedules::cursors(slots))
        .shared(if groups { schedules::lists(slots) } else { schedules::pushed(edges) })
        .bytes()
}
