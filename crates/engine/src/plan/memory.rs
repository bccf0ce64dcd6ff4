//! The memory that a run takes, bounded from what is known before it.
//!
//! Every figure is an upper bound of what [`crate::machine::meter`] will count, so that a run that
//! was let in never needs more: edges in bins and their half-empty ends, chunks at the worst
//! density of their tiles, columns of state with their padding. A test runs graphs of many shapes
//! and checks the meter's peak against [`Memory::peak`].

use welter_model::extended::Extended;
use welter_model::intersect::Intersect;
use welter_model::program::Program;
use welter_model::stream::Stream;
use welter_store::codec::short;
use welter_store::header::{Encoding, KEY_BITS};

use super::{CELL_EDGES, Plan, Route, Settings, Shape, Straightness};
use crate::EngineError;
use crate::edges::footprint::{INDEX_ENTRY_BYTES, SEGMENT_BYTES};
use crate::kernels::vertices::SEGMENT_BITS;
use crate::machine::arena::SLAB_BYTES;
use crate::schedules::footprint::{CONTRACT_BYTES, LEFT_BYTES, PUSH_BELOW, PUSH_WAITING};

/// Buffers of a worker that do not grow with the graph: building a chunk, decoding, cuts.
pub(super) const WORKER_BYTES: u64 = 2 << 20;
/// Line, counters and list of segments of a bin.
pub(super) const BIN_BYTES: u64 = 192;
/// Directory entry of a tile.
const TILE_BYTES: u64 = 16;
/// Bytes that the index of sources takes for a tile: its entry, and a place in the list of tiles.
const INDEX_BYTES: u64 = INDEX_ENTRY_BYTES as u64 + 96;

/// Bytes that a program takes per vertex.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a capability of the program")]
pub struct Layout {
    /// Bytes of a value.
    pub value: u64,
    /// Bytes of a signal, or of the cell of a stream program.
    pub signal: u64,
    /// Bytes of an accumulator, or of what a stream program learns of a target.
    pub accum: u64,
    /// Bytes that tell whether a vertex is active: 1 where the program has a frontier.
    pub active: u64,
    /// Bytes that sparse iterations take: an accumulator and a place on lists where the program is
    /// monotone.
    pub sparse: u64,
    /// Whether vertices may look for an active one themselves.
    pub pulled: bool,
    /// Bytes of an update that waits for the others of its vertex, in group programs.
    pub group: u64,
    /// Bytes of an update that is told as it is; 0 in programs whose updates may be merged.
    pub told: u64,
    /// Bytes that are neither values nor signals.
    pub beside: u64,
    /// Bytes that the caller holds in memory for the program, such as what tables say of vertices.
    pub own: u64,
    /// Whether it is a fold program, whose signals need not be in memory all at once.
    pub folds: bool,
    /// Bytes that a stream program learns beside its cell.
    pub note: u64,
    /// Bytes that each worker takes to write edges anew, in stream programs.
    pub left: u64,
    /// Whether a stream program's edges may be contracted.
    pub contracts: bool,
    /// Bytes of state of an edge, in extended programs.
    pub edge: u64,
    /// Whether edges may be relaxed in any order, and so part by part.
    pub relaxes: bool,
    /// Whether it can be run as a straight program, on a graph that stays in its input. It makes no
    /// difference to graphs that are kept.
    pub straight: Option<Straightness>,
}

impl Layout {
    /// The layout of a program.
    pub fn of<P: Program>() -> Self {
        Self {
            value: size_of::<P::Value>() as u64,
            signal: size_of::<P::Signal>() as u64,
            accum: size_of::<P::Accum>() as u64,
            active: u64::from(P::FRONTIER),
            sparse: if P::MONOTONE { size_of::<P::Accum>() as u64 + 8 } else { 0 },
            pulled: P::ONE_IS_ENOUGH,
            group: if P::GROUPS { size_of::<P::Update>() as u64 } else { 0 },
            told: if P::COMBINES { 0 } else { size_of::<P::Update>() as u64 },
            folds: true,
            relaxes: P::RELAXES,
            ..Self::default()
        }
    }

    /// The layout of a program over triangles: ranks, where rows lie, and what is counted.
    pub fn of_intersect<I: Intersect>() -> Self {
        let value = size_of::<I::Value>() as u64;
        Self { value, accum: 4, group: 4, beside: 12, ..Self::default() }
    }

    /// The layout of an extended program. Edges look up what their targets say too, so a stripe has
    /// room for that beside the accumulators.
    pub fn of_extended<E: Extended>() -> Self {
        let (value, signal) = (size_of::<E::Value>() as u64, size_of::<E::Signal>() as u64);
        let (accum, edge) = (size_of::<E::Accum>() as u64, size_of::<E::State>() as u64);
        Self { value, signal, accum: accum + signal, edge, ..Self::default() }
    }

    /// Bytes that a program takes for a vertex in memory, beside degrees.
    pub fn bytes_a_vertex(&self) -> u64 {
        self.value + self.column() + 2 * self.active + self.sparse + self.beside + self.own
    }

    /// Bytes of what edges look up of a vertex: signals in two columns, where iterations follow
    /// each other, or what a stream program learns.
    fn column(&self) -> u64 {
        let columns = if self.folds || self.edge > 0 { 2 } else { 1 };
        columns * self.signal + self.note
    }

    /// Whether values and signals need not be in memory all at once.
    pub(super) fn streams(&self) -> bool {
        self.folds || self.edge > 0 || self.intersects()
    }

    /// Whether rows serve the program.
    pub(super) fn looks_up(&self) -> bool {
        self.sparse > 0 || self.groups()
    }

    /// Whether it is a group program.
    pub(super) fn groups(&self) -> bool {
        self.folds && self.group > 0
    }

    /// Whether it is a program over triangles.
    pub(super) fn intersects(&self) -> bool {
        !self.folds && self.group > 0
    }

    /// Whether values may be on storage: those of stream programs are made when all else is done,
    /// and stay in memory.
    pub(super) fn may_store_values(&self) -> bool {
        (self.folds || self.intersects()) && self.value > 0
    }

    /// Bytes of an update that waits on storage; in extended programs that is what a source says.
    pub(super) fn record(&self) -> u64 {
        4 + match self {
            _ if self.edge > 0 => self.signal,
            _ if self.told > 0 => self.told,
            _ => self.accum,
        }
    }

    /// Refuses a route that a program does not have: nobody shall believe that it was taken.
    pub(super) fn check(&self, settings: &Settings) -> Result<(), EngineError> {
        let take = match self {
            _ if self.groups() => "fold or spill",
            _ if self.intersects() => "fold or spill",
            _ => "fold",
        };
        let refused = |why| Err(EngineError::Route { why, take });
        match settings.route {
            None | Some(Route::Fold) => Ok(()),
            _ if *self == Self::kept() => {
                refused("a graph is kept for all programs and routes, and has no updates itself")
            }
            Some(Route::Ranges) if self.groups() => refused(
                "the updates of a vertex must wait for each other in this program, for which route \
                 ranges has no place",
            ),
            Some(Route::Ranges) if self.intersects() => refused(
                "this program holds neighbours of one vertex against those of another; on route \
                 ranges there is no place where both could meet",
            ),
            _ if self.streams() => Ok(()),
            _ => refused(
                "what this program learns of vertices lies in memory, where all edges find it; it \
                 has no updates that could wait on routes ranges and spill",
            ),
        }
    }

    /// The layout of a graph that is kept for programs which nobody knows yet: tiles for
    /// accumulators of 4 bytes, and no state.
    pub fn kept() -> Self {
        Self { accum: 4, ..Self::default() }
    }

    /// The layout of a stream program.
    pub fn of_stream<S: Stream>() -> Self {
        let (value, cell) = (size_of::<S::Value>() as u64, size_of::<S::Cell>() as u64);
        let note = size_of::<S::Note>() as u64;
        let contracts = S::CONTRACTS;
        let left = if S::PASSES == Some(1) { 0 } else { LEFT_BYTES };
        let left = left + if contracts { CONTRACT_BYTES } else { 0 };
        Self { value, signal: cell, accum: cell + note, note, left, contracts, ..Self::kept() }
    }

    /// Of so many bytes that could hold chunks, those that shall rather be free to write edges anew
    /// that are left: buffers of the workers, and a 32nd of the rest for edges that are
    /// contracted.
    pub(super) fn rewriting(&self, threads: u64, spare: u64) -> u64 {
        let buffers = spare.min(threads * self.left);
        buffers + if self.contracts { (spare - buffers) / 32 } else { 0 }
    }

    /// Bytes that are as many however many edges there are, beside the values: two columns of
    /// signals, or what a stream program learns, which reaches as far as a damaged key does.
    pub(super) fn columns(&self, vertices: u64, stripe_bits: u32) -> u64 {
        let sources = 1 << (KEY_BITS - stripe_bits);
        let padding = if self.folds { sources } else { sources.max(1 << stripe_bits) };
        (vertices + padding) * self.column()
    }
}

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

    /// Bounds the memory of a run with these widths.
    pub(super) fn of(plan: &Plan) -> Self {
        let Shape { slots, edges, input_bytes, .. } = plan.shape;
        let (vertices, layout) = (plan.vertices, plan.layout);
        let threads = plan.threads as u64;
        let segments = slots.div_ceil(1 << SEGMENT_BITS).max(1);
        let stripes = stripes_most(plan, segments);
        // A greedy cut makes at most two runs and one for each that it was asked for.
        let cells = (2 * (edges / CELL_EDGES) + 3 * stripes).min(segments * stripes);
        let waiting = edges * waiting_bytes(plan.shape) / 3;
        let ends = cells * threads * SEGMENT_BYTES as u64;
        let lots = plan.lots() as u64 * threads * SLAB_BYTES as u64;
        let chunks = chunk_bytes(plan, stripes) + threads * SLAB_BYTES as u64;
        // Each worker is at a lot, which is a part of a stripe where edges are spread evenly.
        let in_flight = plan.lots().min(plan.stripes_least()).max(1) as u64;
        let sort_edges = (plan.sort_edges_max() as u64).min(edges) + (1 << 14);
        let sort = sort_edges * Self::sort_bytes(&plan.shape);
        let padding = 1 << (KEY_BITS - plan.stripe_bits);
        let marks = (threads + 1) * segments * (1 << SEGMENT_BITS) / 8;
        Self {
            held: plan.settings.taken_bytes() + vertices * layout.own,
            input: input_bytes,
            marks,
            bins: marks
                + waiting
                + waiting / 64
                + ends.min(edges * threads * 64)
                + lots
                + threads * cells * BIN_BYTES,
            overlap: chunks * threads.min(in_flight) / in_flight + threads * SLAB_BYTES as u64,
            chunks,
            vertices: vertices * 4 + segments * (1 << SEGMENT_BITS) / 64 * 12,
            degrees: 0,
            state: vertices * (layout.value + layout.beside)
                + layout.columns(vertices, plan.stripe_bits),
            edges: plan.edge_states(),
            frontier: vertices * layout.sparse
                + (vertices + padding) * 2 * layout.active
                + if plan.frontier { tiles_most(plan, stripes) * INDEX_BYTES } else { 0 },
            rows: rows_bytes(plan),
            workers: threads
                * ((layout.accum << plan.stripe_bits) + plan.group_bytes() + sort + WORKER_BYTES),
            chunks_stored: 0,
            counts: 0,
        }
    }

    /// Bytes that sorting takes per edge: two records.
    pub(super) fn sort_bytes(shape: &Shape) -> u64 {
        if shape.weighted { 32 } else { 16 }
    }
}

/// Bytes of rows, of what workers make them with, and of the updates and vertices that wait while
/// they are pushed.
pub(super) fn rows_bytes(plan: &Plan) -> u64 {
    if !plan.rows {
        return plan.met_bytes();
    }
    let Shape { slots, edges, weighted, .. } = plan.shape;
    let one = edges * if weighted { 12 } else { 4 } + (slots + 1) * 4;
    let cursors = plan.threads as u64 * slots * 4;
    let waiting = if plan.layout.groups() {
        // Who is told something new, or who is left and who leaves.
        8 * slots
    } else {
        edges.min(PUSH_WAITING as u64) * 32 + edges / PUSH_BELOW * 8
    };
    one * (1 + u64::from(plan.pulls)) + cursors + waiting
}

/// Three times the bytes that a waiting edge takes: lines hold 4, 8 or 12 of them.
pub(super) fn waiting_bytes(shape: Shape) -> u64 {
    match (shape.weighted, shape.slots <= 1 << 20) {
        (true, _) => 48,
        (false, false) => 24,
        (false, true) => 16,
    }
}

/// The most stripes that a greedy cut makes: each is full by width or, with its neighbour, by
/// edges.
pub(super) fn stripes_most(plan: &Plan, segments: u64) -> u64 {
    let full = ((1_u64 << plan.stripe_bits) - (1 << SEGMENT_BITS)).max(1 << SEGMENT_BITS);
    (plan.shape.slots / full + 2 * plan.stripes_least() as u64 + 2).min(segments)
}

/// The most tiles that there are: each has an edge, groups of sources cut some blocks in two, and
/// long tiles are cut.
fn tiles_most(plan: &Plan, stripes: u64) -> u64 {
    let Shape { slots, edges, .. } = plan.shape;
    let blocks = (slots >> plan.block_bits) + 2;
    edges.min(2 * blocks * stripes + edges / 1024)
}

/// Bytes of all chunks, slabs that are not quite full included.
pub(super) fn chunk_bytes(plan: &Plan, stripes: u64) -> u64 {
    let Shape { slots, edges, weighted, .. } = plan.shape;
    let tiles = tiles_most(plan, stripes);
    let key = match plan.encoding {
        Encoding::Packed => 4.0,
        Encoding::Short => {
            // A run for each of so many sources in a stripe, and for each tile.
            let shift = short::LOW_BITS.saturating_sub(plan.stripe_bits);
            let runs = ((slots >> shift) + 1) * stripes + tiles;
            let runs = if shift == 0 { edges } else { runs.min(edges) };
            let heads = tiles * short::HEAD_BYTES as u64;
            let bytes = (edges + runs) * short::BYTES as u64 + heads;
            bytes as f64 / edges.max(1) as f64
        }
        Encoding::Compressed => {
            // Keys of a tile ascend, so their distances add up to its width: the average distance
            // is at most the number of places in the matrix by edge, and a distance of b bits takes
            // at most 1 + b/8 bytes and 2 bits to say so.
            let distance = (slots as f64).powi(2) / edges.max(1) as f64;
            (1.0 + distance.max(1.0).log2() / 8.0).min(4.0) + 0.25
        }
    };
    let weight = if weighted { 8.0 } else { 0.0 };
    let bytes = (edges as f64 * (key + weight)) as u64 + tiles * TILE_BYTES;
    // A slab ends where the next tile does not fit.
    bytes + bytes / 16 + SLAB_BYTES as u64
}
