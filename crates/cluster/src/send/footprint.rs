//! Footprint of a machine that sends messages, reckoned before it starts.
//!
//! ```text
//! process       the program, stacks of threads, buffers of connections
//! input         edges of the input that are in memory, or the parts at hand
//! vertices      values, signals and flags, degrees at the beginning, and the result at the end; of
//!               a program over triangles degrees, counts and the ends of rows
//! accumulators  two sets where updates are merged, one where accumulators begin from values, or
//!               where edges have states
//! signals       of ghosts, with their places, and own vertices that are ghosts elsewhere
//! answers       to rows that pass, where they were met and where they were not sent yet
//! combining     the stripe of each computation thread, in which updates meet before they are sent
//! buckets       rings of all pairs of threads, and what comes in parts
//! bins          edges that wait for their chunk to be full, and before that for their ring, and
//!               tables by which threads find sub-ranges and stripes
//! edges         chunks, as far as memory has room; those beyond are on the disk
//! updates       those that wait for their group, or keys and rows of neighbours
//! beyond        an eighth, which the allocator has beyond what it was asked for
//! ```
//!
//! Of a budget, what a machine must have comes first, with bins that are halved where that helps,
//! and wider stripes, of which there are fewer, where it is not enough; then updates that are
//! grouped, for as many as come to a machine of even work and half more; the rest is for edges.
//! Without a budget bins have a bound of their own ([`Settings::without_budget`]). Sub-ranges are
//! by edges and at most [`WIDER`] times as wide as even ones, so that many vertices are counted.
//!
//! **Invariant:** a machine keeps the budget that it was planned for, or ends with 78 where more
//! updates come than it has room for. Tested by `machines_that_send_keep_their_budget`.

use welter_transport::Layout;
use welter_worker::KEY_BYTES;

use super::bundles::BUNDLE_BYTES;
use super::cutting::WIDER;
use super::edge_sender::WAITING;
use super::edges::record_bytes;
use super::gathered::grouped_bytes;
use super::kernel::MessageKernel;
use super::lanes::BUCKETS;
use super::position::BUCKETS_OF_DATAGRAMS;
use super::ranges;
use super::rounds::REPLY_BYTES;
use super::{Combine, Settings, Transport};
use crate::footprint::{Footprint, PROCESS_BYTES, THREAD_BYTES};

/// Bytes of an edge in a bin.
const BINNED_BYTES: u64 = 16;

/// Bytes of the edges that wait for a ring, at a thread.
const RING_BYTES: u64 = (WAITING * (size_of::<u32>() + record_bytes(true))) as u64;

/// Bytes of the tables of a thread by which sub-ranges and stripes are found.
const TABLES_BYTES: u64 = 2 * (64 << 10);

/// Edges of a chunk, at least.
const CHUNK_EDGES_MIN: usize = 1 << 12;

/// Number of times that bins are halved at most.
const HALVINGS: u32 = 5;

/// Number of times that stripes are made twice as wide at most, once bins were halved as often.
const WIDENINGS: u32 = 10;

/// Bytes of edges that wait for their chunk, at most, where no budget says how much room there is.
const BINS_BYTES: u64 = 512 << 20;

/// Bytes that a budget grows by at least while one is looked for in which all updates have room.
const LEAST_STEP: u64 = 4 << 10;

/// Demands of a run on its machines together.
#[derive(Clone, Copy)]
pub struct Demand<'k> {
    /// The program.
    pub kernel: &'k MessageKernel,
    /// Number of machines.
    pub machines: usize,
    /// Number of vertices.
    pub vertices: u64,
    /// Edges as they stream, in all.
    pub edges: u64,
    /// Bytes of an edge in a chunk, with its state where it has one.
    pub edge_bytes: u64,
    /// Bytes that reading the input takes on each machine.
    pub input_bytes: u64,
}

impl Settings {
    /// Settings like these, with bounds for edges and updates with which a machine keeps a budget.
    ///
    /// # Errors
    /// With the least budget that would do.
    pub fn within(self, budget: u64, demand: &Demand<'_>) -> Result<Self, u64> {
        let sizes: Vec<(Self, u64)> = self
            .narrower(demand)
            .map(|settings| {
                let bytes = settings.footprint(demand).memory_bytes();
                (settings, bytes)
            })
            .collect();
        let edges = with_beyond(self.edge_bytes.min(demand.packed()));
        let fits = |most: u64| sizes.iter().find(move |(_, bytes)| *bytes <= most);
        let fit = [budget.saturating_sub(edges), budget / 2, budget].into_iter().find_map(fits);
        let least = sizes.iter().map(|(_, bytes)| *bytes).min().unwrap_or(u64::MAX);
        let (settings, bytes) = fit.ok_or(least)?;
        // Without what the allocator has beyond it.
        let left = (budget - bytes) / 9 * 8;
        let for_updates = if demand.waits() { left / 2 } else { 0 };
        // No more than would come if all of them came to each sub-range of the machine.
        let most = demand.grouped_all().saturating_mul((demand.machines * self.sub_ranges) as u64);
        let for_updates = for_updates.min(most.saturating_sub(settings.grouped_bytes));
        Ok(Self {
            grouped_bytes: settings.grouped_bytes + for_updates,
            edge_bytes: (left - for_updates).min(self.edge_bytes),
            ..settings.clone()
        })
    }

    /// Settings like these, or with smaller bins, or wider stripes and so fewer bins, for a machine
    /// without a budget: the first with which edges that wait take no more than 512 MiB. Where
    /// there are more sub-ranges than that has room for, those with which they take least.
    #[must_use]
    pub fn without_budget(self, demand: &Demand<'_>) -> Self {
        let is_enough = |settings: &Self| settings.bin_bytes(demand) <= BINS_BYTES;
        let least = || self.narrower(demand).min_by_key(|settings| settings.bin_bytes(demand));
        let found = self.narrower(demand).find(is_enough).or_else(least);
        let found = found.map(|found| (found.chunk_edges, found.stripe_vertices));
        let (chunk_edges, stripe_vertices) =
            found.unwrap_or((self.chunk_edges, self.stripe_vertices));
        Self { chunk_edges, stripe_vertices, ..self }
    }

    /// Settings like these, with which a machine keeps a budget whatever comes: updates that wait
    /// for their group have room where those of all vertices come to one machine.
    ///
    /// # Errors
    /// With the next larger budget that may do.
    pub fn surely_within(self, budget: u64, demand: &Demand<'_>) -> Result<Self, u64> {
        let found = self.within(budget, demand)?;
        let all = demand.grouped_all().saturating_mul(demand.machines as u64);
        let lacking = if demand.waits() { all.saturating_sub(found.grouped_bytes) } else { 0 };
        if lacking == 0 {
            return Ok(found);
        }
        // Updates have half of what is left, of which the allocator takes a ninth.
        Err(budget.saturating_add(lacking.saturating_mul(9) / 4).saturating_add(LEAST_STEP))
    }

    /// Settings whose bins take less and less, with no edges in memory and the least room for
    /// updates.
    fn narrower(&self, demand: &Demand<'_>) -> impl Iterator<Item = Self> {
        (0..=HALVINGS + WIDENINGS).map(move |times| self.halved(times, demand))
    }

    /// Settings with bins that were halved so often, or as often as they may be and stripes that
    /// were made wider from then on.
    fn halved(&self, times: u32, demand: &Demand<'_>) -> Self {
        let halvings = times.min(HALVINGS);
        let least = CHUNK_EDGES_MIN.min(self.chunk_edges);
        let chunk_edges = (self.chunk_edges >> halvings).max(least);
        let stripe_vertices = match times - halvings {
            0 => self.stripe_vertices,
            // From the width on that they have in this graph.
            wider => {
                ranges::width(self.stripe_vertices, demand.vertices).saturating_mul(1 << wider)
            }
        };
        let grouped_bytes = demand.grouped();
        Self { chunk_edges, stripe_vertices, grouped_bytes, edge_bytes: 0, ..self.clone() }
    }

    /// Figures of each machine.
    pub fn footprint(&self, demand: &Demand<'_>) -> Footprint {
        let threads = self.sub_ranges as u64;
        let vertices = demand.own_vertices(self.sub_ranges);
        let packed = demand.packed().min(self.edge_bytes);
        let updates = match (demand.waits(), self.grouped_bytes) {
            (false, _) => 0,
            (true, u64::MAX) => demand.grouped_all(),
            (true, room) => room,
        };
        let mut memory = vec![
            ("process", PROCESS_BYTES + (2 * threads + self.senders as u64 + 8) * THREAD_BYTES),
            ("input", demand.input_bytes),
        ];
        memory.extend(self.columns(demand, vertices));
        memory.extend([
            ("buckets", self.bucket_bytes(demand.machines as u64)),
            ("bins", self.bin_bytes(demand)),
            ("edges", packed),
            ("updates", updates),
        ]);
        let all: u64 = memory.iter().map(|(_, bytes)| bytes).sum();
        memory.push(("beyond", all / 8));
        let kept = vertices * demand.kernel.kept_bytes().unwrap_or(0);
        let machines = demand.machines as u64;
        let message = (demand.kernel.record_bytes() + size_of::<u32>()) as u64;
        let sent = demand.sent(self.sub_ranges);
        let to_others = u128::from(sent) * u128::from(machines - 1) / u128::from(machines);
        let on_disk = demand.packed() - packed;
        // Chunks are read, and states of edges written again.
        let states = demand.kernel.state_bytes() as u64;
        let of_states = u128::from(on_disk) * u128::from(states);
        Footprint {
            memory,
            disk: vec![("edges", on_disk), ("checkpoints", 2 * kept)],
            sent_bytes: to_others as u64 * message,
            placed_bytes: 0,
            read_bytes: on_disk,
            // Checkpoints take a twentieth of the time at most.
            written_bytes: (of_states / u128::from(demand.edge_bytes.max(1))) as u64,
        }
    }

    /// Bytes of what a machine has of its vertices, and of those of others.
    fn columns(&self, demand: &Demand<'_>, vertices: u64) -> Vec<(&'static str, u64)> {
        let threads = self.sub_ranges as u64;
        let Some(shape) = demand.kernel.shape() else {
            let value = demand.kernel.vertex_bytes() as u64;
            // Degrees, neighbours, edges that are closed, ends of rows; and the result, twice.
            let own = vertices * (4 + 4 + 8 + 8 + 2 * value);
            // Where rows met, and on their way back.
            let passing = self.passing_vertices.min(demand.vertices);
            let answers = 2 * threads * passing * REPLY_BYTES;
            let bundles = threads * threads * (demand.machines * BUNDLE_BYTES) as u64;
            return vec![("vertices", own), ("answers", answers), ("bundles", bundles)];
        };
        let [value, signal, accum] = [shape.value, shape.signal, shape.accum].map(|it| it as u64);
        // At the end there are values, those of the result and its chunks.
        let ends = (2 * (value + 1)).max(value + signal + 1);
        let sets = match (shape.capabilities.combines, demand.groups()) {
            (true, _) => 2,
            // Accumulators that come of groups, and where groups begin.
            (_, true) => 1 + 8_u64.div_ceil(accum.max(1)),
            _ => 1,
        };
        let stripe = shape.capabilities.combines && self.combine != Combine::Never;
        let mut columns = vec![
            ("vertices", vertices * (value + signal + 5 + ends)),
            ("accumulators", vertices * sets * accum),
            ("combining", if stripe { self.stripe_bytes(demand, accum) } else { 0 }),
        ];
        if let MessageKernel::Extended(_) = demand.kernel {
            // With places, and subscriptions, which grow by doubling; and those of a sub-range.
            let ghosts = demand.ghosts(self.sub_ranges) * (signal + 4 + 2 * 8 + 4);
            columns.push(("signals", ghosts + vertices * signal));
        }
        columns
    }

    /// Destinations of a chunk of edges of a program, about.
    pub(super) fn stripe_of(&self, kernel: &MessageKernel) -> u64 {
        if kernel.has_stripes() { self.stripe_vertices } else { u64::MAX }
    }

    /// Bytes of the stripes of all computation threads.
    fn stripe_bytes(&self, demand: &Demand<'_>, accum: u64) -> u64 {
        let vertices = demand.own_vertices(self.sub_ranges).div_ceil(self.sub_ranges as u64);
        let width = ranges::width(self.stripe_of(demand.kernel), demand.vertices);
        self.sub_ranges as u64 * width.min(vertices) * accum
    }

    /// Bytes of the buckets of all lanes of a machine.
    fn bucket_bytes(&self, machines: u64) -> u64 {
        let bucket = (Layout::WHOLE.bytes() + 256) as u64;
        // Rings of computation threads, and the fewer ways of sender threads, where there are such.
        let rings = (self.sub_ranges * self.sub_ranges) as u64;
        let is_served = self.senders > 0;
        let ways = if is_served { (self.senders * self.sub_ranges) as u64 } else { rings };
        let [few, many] = [BUCKETS, BUCKETS_OF_DATAGRAMS].map(|count| count as u64);
        let to_machine = match self.transport {
            // Each connection receives into a buffer of its own.
            Transport::Tcp => few * rings + ways,
            // Buckets of which parts were lost or overtaken are put together.
            Transport::Udp => many * rings + (many + 1) * ways,
            // Regions are mapped at both ends, and buckets that are copied into them lie elsewhere.
            Transport::Shared => 2 * few * ways + if is_served { few * rings } else { 0 },
            // Rings of a cable in both directions, and packets of its pool; buckets that are copied
            // into packets are as long as these at most.
            #[cfg(feature = "dpdk")]
            Transport::Dpdk => {
                let copied = if is_served { (machines - 1) * many * rings } else { 0 };
                let devices = super::cards::bytes(self, machines as usize);
                return bucket * (few * rings + copied) + devices;
            }
        };
        bucket * (few * rings + (machines - 1) * to_machine)
    }

    /// Bytes of edges that wait, of the one chunk of each thread that is being made, and of tables.
    fn bin_bytes(&self, demand: &Demand<'_>) -> u64 {
        let (threads, chunk) = (self.sub_ranges as u64, self.chunk_edges as u64);
        let width = ranges::width(self.stripe_of(demand.kernel), demand.vertices);
        let stripes = demand.vertices / width + threads * demand.machines as u64;
        let bins = threads * stripes;
        let waiting = (bins * chunk).min(2 * demand.own_edges());
        let record = demand.kernel.edge_bytes() as u64 + 8;
        let rings = threads * demand.machines as u64;
        let of_thread = 2 * chunk * (BINNED_BYTES + record) + rings * RING_BYTES + TABLES_BYTES;
        waiting * BINNED_BYTES + threads * of_thread
    }
}

fn with_beyond(bytes: u64) -> u64 {
    bytes.saturating_add(bytes / 8)
}

impl Demand<'_> {
    fn groups(&self) -> bool {
        let MessageKernel::Fold(kernel) = self.kernel else { return false };
        let capabilities = kernel.shape().capabilities;
        !capabilities.combines && !capabilities.knows_target
    }

    /// Whether something that came waits in memory, as much as there is of it.
    fn waits(&self) -> bool {
        self.groups() || matches!(self.kernel, MessageKernel::Intersect(_))
    }

    /// Vertices of others that a machine has edges of, where work is about even.
    fn ghosts(&self, sub_ranges: usize) -> u64 {
        let of_edges = self.own_edges().saturating_mul(3) / 2;
        of_edges.min(self.vertices.saturating_mul(sub_ranges as u64))
    }

    /// Messages of a machine in an iteration over all edges, or signals of all vertices.
    fn sent(&self, sub_ranges: usize) -> u64 {
        match self.kernel {
            MessageKernel::Extended(_) => self.ghosts(sub_ranges),
            _ => self.own_edges(),
        }
    }

    fn own_edges(&self) -> u64 {
        self.edges.div_ceil(self.machines as u64)
    }

    fn own_vertices(&self, sub_ranges: usize) -> u64 {
        let even = self.vertices.div_ceil((self.machines * sub_ranges) as u64);
        self.vertices.min(WIDER * even * sub_ranges as u64)
    }

    /// Bytes of the chunks of a machine.
    fn packed(&self) -> u64 {
        self.own_edges().saturating_mul(self.edge_bytes)
    }

    /// Bytes of the updates of an iteration, where work is even; over triangles those of rows, of
    /// which each edge may be an entry, and one for either way that it leads.
    fn grouped_all(&self) -> u64 {
        if let MessageKernel::Intersect(kernel) = self.kernel {
            let entries = if kernel.is_directed() { 2 } else { 1 };
            return self.own_edges().saturating_mul(entries * KEY_BYTES);
        }
        let update = self.kernel.shape().map_or(0, |shape| shape.update);
        self.own_edges().saturating_mul(grouped_bytes(update))
    }

    /// Room for updates that wait for their group, at least.
    fn grouped(&self) -> u64 {
        if self.waits() { self.grouped_all().saturating_mul(3) / 2 } else { u64::MAX }
    }
}

#[cfg(test)]
mod tests;
