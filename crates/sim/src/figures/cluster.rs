//! The cluster of the paper (Chaos, section 8) as a schedule of the scale model.
//!
//! ```text
//! machines   16 cores, 32 GB; an SSD of 400 MB/s, or two hard disks of 200 MB/s in all
//! network    40 Gb/s a machine, a switch that carries twice all of them at once
//! chunks     4 MiB                    checkpoints   none but at the end of ingest and run
//! ```
//!
//! One record of the model stands for [`Setting::grain`] edges, updates or vertices, so a chunk is
//! a few hundred bytes of zeros that take as long on disks and links as 4 MiB.
//!
//! Times of kernels are those of the file of profiles ([`Kernels::Recorded`]), of a core of ours.
//!
//! **Assumed**, for the paper does not say: 100 microseconds until an SSD begins to transfer, a
//! millisecond until a hard disk does (sets are files that are read and written in their order,
//! through a page cache, so that seeks are few); 50 microseconds until a message begins to arrive;
//! 64 MiB of stores under way; of machines of today 30 milliseconds until a bucket answers, and how
//! many requests devices serve at a time; of the paper's cores, where they are asked for
//! ([`Kernels::Assumed`]), 20 ns for a record, and 2 for one of welter's own layout, whose kernels
//! do 0.98 G edges a second out of core with two threads (`docs/performance.md`). None of them is
//! fitted to a result.

use std::sync::{Arc, OnceLock};

use welter_protocol::Time;
use welter_protocol::config::{Route, Timing, VertexSets};
use welter_protocol::partitions::Partitions;
use welter_protocol::placement::Placement;
use welter_protocol::times::Times;
use welter_store::header::Encoding;

use super::algorithms::Algorithm;
use super::extent::Extent;
use crate::checkers::progress::End;
use crate::disk::device::Speed;
use crate::job::Partitioning;
use crate::network::Conditions;
use crate::schedule::{MICROS, MILLIS, Schedule};
use crate::sized_job::{Combining, Profile, RMat, Size, SizedJob, Spread, weights};
use crate::world::World;

/// Bytes of a chunk.
const CHUNK_BYTES: u64 = 4 << 20;
/// Bytes of memory of a machine.
const MEMORY_BYTES: u64 = 32 << 30;
/// Of these what bins may take while edges are read, when nothing else is there.
const BINS_BYTES: u64 = MEMORY_BYTES / 2;
/// Bytes that a machine sends of the degree of each vertex, of programs that look at them (decision
/// 131), but for eight more of each vertex of 256 edges and more, which are few.
pub(super) const DEGREE_BYTES: u64 = 1;
/// Virtual nanoseconds of a second.
const SECOND: Time = 1000 * MILLIS;

/// A kind of disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Storage {
    /// Megabytes a second.
    pub rate: u64,
    /// Time until it begins to transfer.
    pub latency: Time,
    /// Requests that it serves at a time.
    pub depth: usize,
}

impl Storage {
    /// The paper's SSD.
    pub const SSD: Self = Self { rate: 400, latency: 100 * MICROS, depth: 1 };
    /// The paper's two hard disks.
    pub const HDD: Self = Self { rate: 200, latency: MILLIS, depth: 1 };
    /// A drive of today behind `NVMe`, one that is not the fastest.
    pub const NVME: Self = Self { rate: 3000, latency: 100 * MICROS, depth: 4 };
    /// A bucket that each machine reaches by an interface of its own of 10 Gb/s.
    pub const BUCKET: Self = Self { rate: 1250, latency: 30 * MILLIS, depth: 32 };

    /// Speed of a simulated disk of this kind.
    fn speed(self) -> Speed {
        Speed { depth: self.depth, ..Speed::serial(self.latency, 1_000_000 / self.rate) }
    }
}

/// Times of kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernels {
    /// As the file of profiles has them.
    Recorded,
    /// As many nanoseconds for each record, whatever is done with it: cores of the paper are not
    /// known.
    Assumed,
}

/// Layout of a graph on storage: each has what the one before has, and something more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layout {
    /// Pairs of ids, and updates with an id each (Chaos).
    Chaos,
    /// Edges are encoded, and updates have 4 bytes of their partition's for an id.
    Encoded,
    /// Vertices without edges have no number.
    Dense,
    /// Edges lie by cells, and signals are fetched instead of updates stored (route `fold`).
    Fold,
    /// Vertex sets stay in the memory of the machine that has them on its disk.
    Resident,
    /// Partitions have about as many edges each, not vertices.
    Weighed,
    /// Machines level the bytes that they send to each disk.
    Level,
}

/// Bytes that a hundred edges of an R-MAT graph of this scale take as chunks: 2.12 an edge were
/// measured at scale 22, 2.56 at 27 (the notebook's page on codecs), and others lie on a line with
/// these. (By the entropy of the generator, 1.588 bits a level, an edge takes 0.074 bytes more a
/// scale; the line has 0.088.)
fn encoded(scale: u32) -> u32 {
    (212 * 5 + 44 * scale).saturating_sub(44 * 22) / 5
}

/// A run on a cluster, before it is made.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Algorithm that runs.
    pub algorithm: &'static Algorithm,
    /// Vertices.
    pub vertices: u64,
    /// Edges, before algorithms that want both directions double them.
    pub edges: u64,
    /// Machines.
    pub machines: usize,
    /// Disks of the machines.
    pub storage: Storage,
    /// Megabits a second of an interface.
    pub link: u64,
    /// Cores of a machine.
    pub cores: usize,
    /// Times of the kernels that run on these.
    pub kernels: Kernels,
    /// Edges, updates or vertices that one record of the model stands for: a power of two.
    pub grain: u64,
    /// Whether ids take 8 bytes instead of 4: of graphs of more than 2^32 vertices. R-MAT 32 with
    /// weights is 768 GB in the paper, 12 bytes an edge.
    pub wide: bool,
    /// Distribution of the ends of edges over ids.
    pub spread: Spread,
    /// By how many powers of two the graph, and so the memory for vertex sets, is smaller than the
    /// one it stands for.
    pub shrink: u32,
    /// Layout of the graph on storage.
    pub layout: Layout,
    /// Whether updates are combined in the buffers of chunks.
    pub combines: bool,
    /// Partitions of a machine at least: 1, as the paper has it, is as many as memory asks for.
    pub parts: u64,
}

impl Setting {
    /// An R-MAT graph on the paper's machines with SSDs.
    pub fn rmat(algorithm: &'static Algorithm, scale: u32, machines: usize) -> Self {
        Self {
            algorithm,
            vertices: 1 << scale,
            edges: 16 << scale,
            machines,
            storage: Storage::SSD,
            link: 40_000,
            cores: 16,
            kernels: Kernels::Recorded,
            grain: 1 << 14,
            wide: false,
            spread: Spread::GRAPH500,
            shrink: 0,
            layout: Layout::Chaos,
            combines: false,
            parts: 1,
        }
    }

    /// Of an R-MAT graph that grows with the machines, from scale 27 on one.
    pub fn weak(algorithm: &'static Algorithm, extent: Extent, machines: usize) -> Self {
        let scale = 27 + machines.ilog2();
        let Extent { shrink, .. } = extent;
        Self { shrink, ..Self::rmat(algorithm, scale - shrink, machines) }
    }

    /// Of an R-MAT graph that grows with the machines, of which there may be any number: of more
    /// edges than vertices of a scale have usually, or fewer.
    pub fn grown(algorithm: &'static Algorithm, extent: Extent, machines: usize) -> Self {
        let edges = (machines as u64) << (27 + 4 - extent.shrink);
        let up = machines.next_power_of_two();
        Self { edges, machines, ..Self::weak(algorithm, extent, up) }
    }

    /// Bytes of an edge in the input, and on storage where nothing is encoded.
    fn edge_bytes(&self) -> u64 {
        let id = if self.wide { 8 } else { 4 };
        2 * id + if self.algorithm.weighted { id } else { 0 }
    }

    /// The graph that it stands for.
    fn graph(&self) -> RMat {
        let scale = self.vertices.ilog2() + self.shrink;
        RMat { low: 0.76, scale, degree: self.edges as f64 / self.vertices as f64 }
    }

    /// Edges, as the algorithm reads them.
    fn edges(&self) -> u64 {
        self.edges * if self.algorithm.both { 2 } else { 1 }
    }

    /// Spread of the edges over the vertices that have a number.
    fn spread(&self) -> Spread {
        if self.layout < Layout::Dense { self.spread } else { Spread::Dense(self.graph()) }
    }

    /// Combining of the updates for a partition, where they are combined: ends of an R-MAT graph
    /// without holes in its ids would need other shares.
    fn combining(&self, cut: &Partitioning) -> Option<Combining> {
        let width = cut.partitions.width() * self.grain;
        let low = match self.spread() {
            Spread::RMat(low) => low,
            Spread::Even => 0.5,
            Spread::Dense(_) => return None,
        };
        let bits = width.max(1).ilog2();
        self.combines.then_some(Combining { low, bits, grain: self.grain })
    }

    /// Bytes of a hundred edges on storage.
    fn stored(&self) -> Size {
        let plain = self.edge_bytes();
        if self.layout < Layout::Encoded {
            return Size::of_records(plain, 1);
        }
        let weight = if self.algorithm.weighted { 400 } else { 0 };
        Size::of_records(u64::from(encoded(self.graph().scale)) + weight, 100)
    }

    /// Records of `bytes` bytes in a chunk.
    fn records(&self, bytes: u64) -> u64 {
        (CHUNK_BYTES / (bytes * self.grain)).max(1)
    }

    /// Partitioning of the graph: vertices without edges left out, where the layout does so.
    fn cut(&self) -> Partitioning {
        let Self { algorithm, machines, grain, layout, shrink, parts, .. } = *self;
        let vertices = if layout < Layout::Dense {
            self.vertices
        } else {
            (self.graph().vertices() / f64::from(1 << shrink)) as u64
        };
        let (route, set_bytes, memory) = if layout < Layout::Fold {
            (Route::Spill, algorithm.vertex_bytes, MEMORY_BYTES)
        } else {
            // Signals of one partition and accumulators of another, beside all that stays.
            (Route::Fold, algorithm.vertex_bytes + algorithm.update_bytes, MEMORY_BYTES / 3)
        };
        let (vertices, memory) = (vertices / grain, memory >> shrink);
        // Sets of as many partitions as are wanted, where memory asks for no smaller ones.
        let widest = vertices.div_ceil(machines as u64 * parts).max(1);
        let most = memory.min(widest * set_bytes * grain);
        let partitions = Partitions::fitting(machines, vertices, set_bytes * grain, most);
        let Some(mut partitions) = partitions else { unreachable!("a record of the model fits") };
        if layout >= Layout::Weighed {
            let weights = weights(vertices, self.edges() / grain, self.spread());
            partitions = partitions.weighed(&weights, memory / (set_bytes * grain));
        }
        let Size { bytes, records, .. } = self.stored();
        Partitioning {
            partitions,
            route,
            encoding: Encoding::Packed,
            chunk_records: (CHUNK_BYTES * records / (bytes * grain)).max(1) as u32,
            bin_chunks: 1,
            chunk_vertices: self.records(algorithm.vertex_bytes),
            piece_edges: self.records(self.edge_bytes()) as usize,
            bins_open_max: (BINS_BYTES >> shrink) / CHUNK_BYTES,
            source_parts: 1,
            stripe_bits: 63,
            combines: false,
        }
    }

    /// A schedule of it, in which nothing goes wrong, with the paper's policies.
    pub fn schedule(&self) -> Schedule {
        let Self { machines, grain, layout, .. } = *self;
        let cut = self.cut();
        let mut schedule = lasting(self.job(&cut), cut);
        let config = Arc::make_mut(&mut schedule.config);
        (config.streams, config.depth) = (self.cores, self.storage.depth);
        let holds_vertices = layout >= Layout::Resident;
        if holds_vertices {
            config.vertex_sets = VertexSets::Memory;
        }
        if layout >= Layout::Level {
            config.placement = Placement::Even;
        }
        config.store_window_bytes = 16 * CHUNK_BYTES / grain;
        config.checkpoint_interval = u32::MAX;
        let link = 8_000_000 / self.link;
        schedule.conditions = Conditions {
            delay_min: 50 * MICROS,
            delay_max: 50 * MICROS,
            byte_thousandths: link,
            switch_thousandths: link / (2 * machines as u64),
            unit: grain,
            ..schedule.conditions
        };
        let rate = self.storage.speed();
        schedule.speeds = vec![Speed { unit: grain, holds_vertices, ..rate }; machines];
        schedule.cores = self.cores;
        schedule.record_nanos = if layout < Layout::Fold { 20 * grain } else { 2 * grain };
        schedule.input_edge_bytes = self.edge_bytes() * grain;
        schedule
    }

    /// The job of a schedule of graphs that are cut so.
    fn job(&self, cut: &Partitioning) -> SizedJob {
        let Self { algorithm, grain, layout, .. } = *self;
        let id = if self.wide && layout < Layout::Encoded { 8 } else { 4 };
        let update = id + algorithm.update_bytes;
        let size = |bytes| Size::of_records(bytes, 1);
        let times = algorithm.times(cut.route).grained(grain);
        let profile = Arc::new(Profile {
            edges: self.stored(),
            updates: size(update),
            accumulators: size(algorithm.update_bytes),
            merges: true,
            degree_bytes: if algorithm.degrees { DEGREE_BYTES } else { 0 },
            iterations: algorithm.iterations(),
        });
        SizedJob {
            vertices: cut.partitions.vertices(),
            edges: self.edges() / grain,
            vertex_bytes: algorithm.vertex_bytes,
            profile,
            update_records: self.records(update) as u32,
            combining: self.combining(cut),
            spread: self.spread(),
            grain,
            // Chaos streams all edges in each iteration.
            spares: false,
            times: (self.kernels == Kernels::Recorded).then_some(times),
            cores: self.cores as u64,
            shares: OnceLock::new(),
            active: OnceLock::new(),
        }
    }

    /// Runs it as it is.
    pub fn run(&self) -> Run {
        run(&self.schedule())
    }

    /// Seconds of an iteration of route `fold` in which its edges pass the disks, and in which the
    /// values of all vertices pass the interface of each machine.
    pub fn needed(&self) -> [f64; 2] {
        let Size { bytes, records, .. } = self.stored();
        let edges = (self.edges() * bytes) as f64 / records as f64;
        let values = self.cut().partitions.vertices() * self.grain * self.algorithm.vertex_bytes;
        [edges / self.bandwidth(), values as f64 / (self.link as f64 * 125_000.0)]
    }

    /// Bytes a second that all disks can transfer.
    pub fn bandwidth(&self) -> f64 {
        self.storage.rate as f64 * 1e6 * self.machines as f64
    }
}

/// A schedule of a job in which nothing goes wrong, however long it lasts: signs of life are rare.
pub(super) fn lasting(job: SizedJob, cut: Partitioning) -> Schedule {
    let mut schedule = Schedule::calm(Arc::new(job), cut);
    Arc::make_mut(&mut schedule.config).timing = Timing {
        resend: 20 * SECOND,
        ping: 100 * SECOND,
        suspect: 10_000 * SECOND,
        patience: 1_000_000 * SECOND,
    };
    schedule.events_max = u64::MAX;
    schedule.time_max = 10_000_000 * SECOND;
    schedule
}

/// Outcome of a run.
#[derive(Clone, Debug)]
pub struct Run {
    /// Seconds, of virtual time, from the unsorted input to the values on storage.
    pub seconds: f64,
    /// Seconds of its iterations alone, which are at its end.
    pub iterating: f64,
    /// Bytes that disks transferred, the input included.
    pub bytes: f64,
    /// Time of each computation engine by activity.
    pub times: Vec<Times>,
}

impl Run {
    /// Bytes a second of all disks together.
    pub fn rate(&self) -> f64 {
        self.bytes / self.seconds
    }

    /// Share of the time of all engines that goes into something.
    pub fn share(&self, of: fn(&Times) -> Time) -> f64 {
        let part: Time = self.times.iter().map(of).sum();
        part as f64 / (self.seconds * 1e9 * self.times.len() as f64)
    }
}

/// Runs a schedule in which nothing goes wrong.
///
/// # Panics
/// When a checker finds something, or it does not end: the figures would be of another protocol.
pub fn run(schedule: &Schedule) -> Run {
    let report = World::run(schedule, false);
    assert_eq!((&report.failure, report.end), (&None, End::Finished), "of the scale model");
    // Engines begin together, but some have waited for others to start before.
    let nanos = report.times.iter().map(Times::sum).min().unwrap_or(0);
    let since = |times: Times| {
        let worked = times.sum() - times.idle;
        Times { idle: nanos.saturating_sub(worked), ..times }
    };
    Run {
        seconds: nanos as f64 / 1e9,
        iterating: report.iterated as f64 / 1e9,
        bytes: report.bytes.iter().sum::<u64>() as f64,
        times: report.times.into_iter().map(since).collect(),
    }
}
