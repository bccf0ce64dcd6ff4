//! Footprint of a machine: the memory that it takes, what lies on its disk, and what it sends,
//! reckoned before it starts.
//!
//! ```text
//! process     the program, stacks of threads, buffers of connections
//! input       edges of its own that are in memory, or the part of the input at hand
//! degrees     of the partition at hand; and of a program that looks at them 4 bytes a vertex of
//!             the graph: counted, on their way, of its own partitions, and beyond a byte
//! sets        values, signals and accumulators of two partitions, their chunks as they come and
//!             go, and what helpers hand over
//! bins        edges that wait for their bin to be full, and the chunks that it becomes; updates on
//!             route spill that wait for their chunk to be full
//! under way   chunks that are pulled or served, as many as pulls may be open (`PullBounds`), two
//!             windows of stores, and pages of those before
//! threads     for each chunk that is streamed beside the first one: the chunk, buffers in which
//!             its updates wait, codecs, and stacks
//! updates     of programs whose updates are not merged: as many as are kept, at worst all, and as
//!             many that helpers hand over; more wait on the disk
//! copies      blocks of checkpoints on their way to a bucket
//! codecs      compressors, and room for a chunk that comes out of a frame, where there are any
//! beyond      an eighth, which the allocator has beyond what it was asked for
//! ```
//!
//! Settings that keep a budget are found by these figures ([`Settings::within`]). Machines of route
//! `send` have figures of their own ([`crate::send`]).
//!
//! Not counted: the system's cache of files, of a process that also writes the result what that
//! takes ([`writing_bytes`]), and what a machine serves others beyond its own pulls, where these
//! stream more chunks at a time than it does.

use welter_protocol::config::{Edges, Route};
use welter_protocol::window::PullBounds;
use welter_worker::kept_bytes;

use crate::codecs::DiskRates;
use crate::disk::SHARDS;
use crate::pool::pool_bytes;
use crate::settings::{DEPTH, Settings};

/// Bytes that a process takes whatever it does.
pub(crate) const PROCESS_BYTES: u64 = 12 << 20;

/// Bytes of a thread, and of a connection with its buffers.
pub(crate) const THREAD_BYTES: u64 = 128 << 10;

/// Bytes of an edge while it waits in a bin.
const BINNED_BYTES: u64 = 16;

/// Bytes of a destination of an update, and of a place in a list by destinations.
const TARGET_BYTES: u64 = 4;

/// Widths of what a program has, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Widths {
    /// A vertex, as machines store it.
    pub vertex: u64,
    /// Bytes of a signal.
    pub signal: u64,
    /// Bytes of an accumulator.
    pub accum: u64,
    /// An update that waits.
    pub record: u64,
    /// An edge on storage.
    pub edge: u64,
    /// Whether updates for one vertex are merged before they meet it.
    pub combines: bool,
    /// Whether first values look at degrees.
    pub degrees: bool,
}

/// Demands of a run on its machines together, as far as they differ from run to run.
#[derive(Clone, Copy, Debug)]
pub struct Demand {
    /// Edges as they stream, in all.
    pub edges: u64,
    /// Bytes that reading the input takes on each machine.
    pub input_bytes: u64,
    /// Widths of the program.
    pub widths: Widths,
}

/// Figures of each machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Footprint {
    /// Bytes of memory, by their use.
    pub memory: Vec<(&'static str, u64)>,
    /// Bytes on its disk, likewise.
    pub disk: Vec<(&'static str, u64)>,
    /// Bytes that it sends to others in an iteration that streams all edges.
    pub sent_bytes: u64,
    /// Bytes among these of chunks that lie with others, which stay where chunks lie with the
    /// machine of their partition.
    pub placed_bytes: u64,
    /// Bytes that its disk gives in such an iteration.
    pub read_bytes: u64,
    /// Bytes that its disk takes in such an iteration.
    pub written_bytes: u64,
}

/// Bytes a second that a machine moves, as they were measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// From its disk.
    pub read: f64,
    /// To its disk.
    pub write: f64,
    /// To other machines.
    pub network: f64,
}

impl Footprint {
    /// Bytes of memory in all.
    pub fn memory_bytes(&self) -> u64 {
        self.memory.iter().map(|(_, bytes)| bytes).sum()
    }

    /// Bytes on its disk in all.
    pub fn disk_bytes(&self) -> u64 {
        self.disk.iter().map(|(_, bytes)| bytes).sum()
    }

    /// Bytes from and to its disk in an iteration that streams all edges.
    pub fn moved_bytes(&self) -> u64 {
        self.read_bytes + self.written_bytes
    }

    /// Seconds of the disk in such an iteration.
    pub fn disk_seconds(&self, rates: &DiskRates) -> f64 {
        self.read_bytes as f64 / rates.read + self.written_bytes as f64 / rates.write
    }

    /// Seconds of such an iteration, as long as the slower of disk and network takes.
    pub fn iteration_seconds(&self, rates: &Rates) -> f64 {
        let disk = self.disk_seconds(&DiskRates { read: rates.read, write: rates.write });
        disk.max(self.sent_bytes as f64 / rates.network)
    }
}

/// Bytes of the process that writes the result of `vertices` vertices, whose ids take `ids_bytes`.
pub fn writing_bytes(vertices: u64, widths: &Widths, ids_bytes: u64) -> u64 {
    // As they come, in their order, and as columns.
    PROCESS_BYTES + ids_bytes + 3 * vertices * widths.vertex
}

impl Settings {
    /// Figures of each machine; none where not even a vertex fits.
    pub fn footprint(&self, demand: &Demand) -> Option<Footprint> {
        let cut = Cut::of(*self)?;
        let [read_bytes, written_bytes] = cut.moved(demand);
        Some(Footprint {
            memory: cut.memory(demand),
            disk: cut.disk(demand),
            sent_bytes: cut.sent(demand),
            placed_bytes: cut.placed(demand),
            read_bytes,
            written_bytes,
        })
    }

    /// Bytes of bins of edges that are full; none where not even a vertex fits.
    pub(crate) fn full_bins(&self) -> Option<u64> {
        let cut = Cut::of(*self)?;
        Some(cut.bins().saturating_mul(cut.bin_edges()).saturating_mul(BINNED_BYTES))
    }
}

/// Settings, and the partitions that follow from them.
struct Cut {
    count: u64,
    /// Vertices of the widest.
    width: u64,
    of: Settings,
}

impl Cut {
    fn of(settings: Settings) -> Option<Self> {
        let partitions = settings.cut()?.partitions;
        Some(Self { count: partitions.count().into(), width: partitions.width(), of: settings })
    }

    fn machines(&self) -> u64 {
        self.of.machines as u64
    }

    fn by_cells(&self) -> bool {
        self.of.route == Route::Fold || self.of.edges != Edges::Fixed
    }

    fn cells(&self) -> u64 {
        self.count.saturating_mul(self.count)
    }

    /// Bins of edges that are open at a time.
    fn bins(&self) -> u64 {
        let at_once = self.by_cells() && self.cells() <= self.of.bins_open_max;
        if at_once { self.cells() } else { self.count }
    }

    /// Edges that a bin holds.
    fn bin_edges(&self) -> u64 {
        u64::from(self.of.bin_chunks) * u64::from(self.of.chunk_records)
    }

    /// Bytes of a full chunk of edges or updates.
    fn chunk(&self, widths: &Widths) -> u64 {
        let record = widths.edge.max(widths.record + 4);
        u64::from(self.of.chunk_records) * record + (4 << 10)
    }

    /// Edges that a machine reads.
    fn own_edges(&self, demand: &Demand) -> u64 {
        demand.edges.div_ceil(self.machines())
    }

    /// Records of updates that the bin of a partition has room for.
    fn binned(&self) -> u64 {
        u64::from(self.of.chunk_records).next_power_of_two()
    }

    /// Whether updates wait in bins.
    fn has_update_bins(&self) -> bool {
        self.of.route == Route::Spill
    }

    fn memory(&self, demand: &Demand) -> Vec<(&'static str, u64)> {
        let Demand { widths, input_bytes, .. } = demand;
        let machines = self.machines();
        let threads = 4 * machines + 8;
        let window = self.of.store_window_bytes;
        let pulls = self.pulls();
        // Where edges lie by cells as many chunks wait as are asked for.
        let waiting = if self.by_cells() { pulls } else { 0 };
        let chunks = (2 * pulls + waiting + 7) * self.chunk(widths);
        let degrees = if widths.degrees { self.of.vertices } else { 0 };
        let mut parts = vec![
            ("process", PROCESS_BYTES + threads * THREAD_BYTES),
            ("input", input_bytes + self.of.piece_edges as u64 * 48),
            ("degrees", 4 * (self.width + degrees)),
            ("sets", self.sets(widths)),
            ("bins", self.edge_bins(demand) + self.update_bins(widths)),
            ("under way", chunks + 2 * window + 2 * pool_bytes(window) as u64),
            ("threads", self.streamed_beside(widths)),
            ("updates", self.kept(demand)),
            ("codecs", self.of.codecs.memory_bytes(self.chunk(widths))),
            ("copies", self.copied(widths)),
        ];
        let all: u64 = parts.iter().map(|(_, bytes)| bytes).sum();
        parts.push(("beyond", all / 8));
        parts
    }

    /// Pulls that the machine may have open at a time, and as many that it serves: one a machine
    /// and more where it streams more chunks.
    fn pulls(&self) -> u64 {
        PullBounds::new(self.of.machines, DEPTH, self.of.streams).all as u64
    }

    /// Bytes of blocks of checkpoints on their way elsewhere: the block that each thread of the
    /// disk reads, and the request that it becomes.
    fn copied(&self, widths: &Widths) -> u64 {
        if !self.of.is_copied {
            return 0;
        }
        let set = self.of.chunk_vertices * widths.vertex;
        let edges = if self.of.edges == Edges::Fixed { 0 } else { self.chunk(widths) };
        2 * SHARDS as u64 * (set.max(edges) + (4 << 10))
    }

    fn sets(&self, widths: &Widths) -> u64 {
        let Widths { vertex, signal, accum, record, .. } = *widths;
        let own = 4 * vertex + 2 * (vertex + signal) + accum;
        let handed = (4 + record) * if self.of.machines > 1 { self.machines() + 1 } else { 0 };
        self.width * (own + handed)
    }

    /// Bytes of updates that are kept in memory, and of those that helpers hand over: their last
    /// chunks may be more than they should take.
    fn kept(&self, demand: &Demand) -> u64 {
        let Demand { edges, widths, .. } = demand;
        if widths.combines {
            return 0;
        }
        let (kept, helpers) = (self.of.kept_updates_max.min(*edges), self.machines() - 1);
        let handed = if helpers > 0 { kept * (4 + widths.record) } else { 0 };
        kept_bytes(kept, widths.record, self.width) + handed + helpers * self.chunk(widths)
    }

    /// Bytes of updates that wait on a machine's disk because they are not kept in memory: at worst
    /// all that there are.
    fn beyond_kept(&self, demand: &Demand) -> u64 {
        let Demand { edges, widths, .. } = demand;
        let is_kept = widths.combines || *edges <= self.of.kept_updates_max;
        if is_kept { 0 } else { edges * (4 + widths.record) }
    }

    /// Bytes of chunks that are streamed beside the first one, and of the threads that do.
    fn streamed_beside(&self, widths: &Widths) -> u64 {
        let beside = self.of.streams.max(1) as u64 - 1;
        let updates = if self.has_update_bins() {
            self.count * self.binned() * (widths.record + TARGET_BYTES) + self.combining(widths)
        } else {
            0
        };
        let chunk = self.chunk(widths);
        // Chunks that it fills may be beyond the window of stores.
        beside * (2 * THREAD_BYTES + 2 * chunk + updates + self.of.codecs.memory_bytes(chunk))
    }

    /// Bytes of the lists by which one thread combines updates: places of a partition, and records
    /// of a chunk in the order of stripes.
    fn combining(&self, widths: &Widths) -> u64 {
        let combines = widths.combines && self.of.combines;
        let places = if combines { self.width * TARGET_BYTES } else { 0 };
        places + self.binned() * (widths.record + TARGET_BYTES)
    }

    fn edge_bins(&self, demand: &Demand) -> u64 {
        let (own, edge) = (self.own_edges(demand), demand.widths.edge);
        let (bins, bin) = (self.bins(), self.bin_edges());
        // A bin holds a chunk, and as many edges more.
        let more = bin.saturating_sub(self.of.chunk_records.into());
        // Lists grow by doubling, and that of the bin at hand is put in order.
        let waiting = (bins * bin + bin - more).min(2 * own) + more.min(own);
        // All bins may be full at a time: windows of stores have room for one chunk of each.
        let filled = (bins * more).min(own) * edge;
        waiting * BINNED_BYTES.max(8 + edge) + filled
    }

    fn update_bins(&self, widths: &Widths) -> u64 {
        if !self.has_update_bins() {
            return 0;
        }
        // Bins that are flushed are there twice.
        self.count * self.binned() * 2 * (widths.record + TARGET_BYTES) + self.combining(widths)
    }

    fn disk(&self, demand: &Demand) -> Vec<(&'static str, u64)> {
        let Demand { widths, .. } = demand;
        let (edges, machines) = (self.own_edges(demand), self.machines());
        // Edges that are rewritten are there as they were too.
        let generations = if self.of.edges == Edges::Fixed { 1 } else { 2 };
        let rough = if self.by_cells() && self.cells() > self.of.bins_open_max { 8 } else { 0 };
        let updates =
            if self.has_update_bins() || self.of.carries { edges * (4 + widths.record) } else { 0 };
        // Of the checkpoint before too.
        let vertices = 2 * self.of.vertices.div_ceil(machines) * widths.vertex;
        let [of_edges, of_vertices] = self.times();
        vec![
            ("edges", of_edges * edges * (generations * widths.edge).max(rough + widths.edge)),
            ("vertices", of_vertices * vertices),
            ("updates", updates),
            ("updates beyond memory", self.beyond_kept(demand)),
        ]
    }

    /// Number of places in which edges lie, and in which vertices do.
    fn times(&self) -> [u64; 2] {
        let copies = self.of.copies;
        [copies.edges, copies.vertices].map(|is_twice| if is_twice { 2 } else { 1 })
    }

    fn sent(&self, demand: &Demand) -> u64 {
        let Demand { widths, .. } = demand;
        let (edges, set) = (self.own_edges(demand), self.own_set(widths));
        let mut bytes = edges * widths.edge;
        // Sets come to where they are applied, and go back, to two machines where they are copied.
        let [of_edges, of_vertices] = self.times();
        bytes += (1 + of_vertices) * set;
        if self.of.edges != Edges::Fixed {
            bytes += (of_edges - 1) * edges * widths.edge;
        }
        // To where they wait, and from there.
        bytes += self.streamed_sets(widths) + 2 * self.waiting_updates(demand);
        self.to_others(bytes)
    }

    /// Bytes of edges, and of updates on one of their two ways, that are sent because chunks lie
    /// anywhere.
    fn placed(&self, demand: &Demand) -> u64 {
        let edges = self.own_edges(demand) * demand.widths.edge;
        self.to_others(edges + self.waiting_updates(demand))
    }

    /// Share of bytes for all machines alike that is for others.
    fn to_others(&self, bytes: u64) -> u64 {
        let machines = self.machines();
        (u128::from(bytes) * u128::from(machines - 1) / u128::from(machines)) as u64
    }

    /// Bytes that a disk gives, and those that it takes, in an iteration.
    fn moved(&self, demand: &Demand) -> [u64; 2] {
        let Demand { widths, .. } = demand;
        let (edges, set) = (self.own_edges(demand) * widths.edge, self.own_set(widths));
        let updates = self.waiting_updates(demand);
        let [of_edges, of_vertices] = self.times();
        let rewritten = if self.of.edges == Edges::Fixed { 0 } else { of_edges * edges };
        // Sets come to where they are applied too.
        let read = edges + set + self.streamed_sets(widths) + updates;
        // Updates of a partition, in the mean.
        let has_room = demand.edges / self.count.max(1) <= self.of.kept_updates_max;
        let beyond = if has_room { 0 } else { self.beyond_kept(demand) / self.machines() };
        [read + beyond, of_vertices * set + rewritten + updates + beyond]
    }

    /// Bytes of the vertex sets of a machine.
    fn own_set(&self, widths: &Widths) -> u64 {
        self.of.vertices.div_ceil(self.machines()) * widths.vertex
    }

    /// Bytes of the vertex sets of a machine, as often as they come to where edges are streamed:
    /// where these lie by cells, to each partition.
    fn streamed_sets(&self, widths: &Widths) -> u64 {
        let set = self.own_set(widths);
        if self.by_cells() { set * self.count } else { set }
    }

    /// Bytes of the updates of a machine that wait on storage.
    fn waiting_updates(&self, demand: &Demand) -> u64 {
        if !self.has_update_bins() {
            return 0;
        }
        let Demand { widths, .. } = demand;
        let edges = self.own_edges(demand);
        let most = if widths.combines && self.of.combines {
            // A record for each vertex of each chunk that has an edge to it.
            edges.min(self.of.vertices * edges.div_ceil(u64::from(self.of.chunk_records)))
        } else {
            edges
        };
        most * (4 + widths.record)
    }
}

#[cfg(test)]
mod tests;
