//! A schedule: all that a seed decides. Machines, graph, program, policies, conditions, faults.

use std::sync::Arc;

use welter_protocol::config::{
    Config, Copies, Edges, Handover, Loss, Route, Sets, Timing, VertexSets,
};
use welter_protocol::partitions::Partitions;
use welter_protocol::placement::Placement;
use welter_protocol::planted::Bug;
use welter_protocol::random::{Random, mix};
use welter_protocol::steal::Bias;
use welter_protocol::window::Width;
use welter_protocol::{Rank, Time};
use welter_store::header::Encoding;

use crate::catalogue::{ALGORITHMS, graph, job};
use crate::checkers::progress::EVENTS_MAX;
pub use crate::clock::{MICROS, MILLIS};
use crate::disk::device::Speed;
use crate::faults::{Fault, faults};
use crate::job::{Job, Partitioning};
use crate::network::Conditions;

/// Virtual time in which runs on small graphs end.
const TIME_MAX: Time = 20_000 * MILLIS;

/// Conditions of a network that loses nothing.
const CALM: Conditions = Conditions {
    delay_min: 5 * MICROS,
    delay_max: 10 * MICROS,
    byte_thousandths: 200,
    switch_thousandths: 0,
    port_bytes: u64::MAX,
    time_out: 0,
    loss: 0,
    twice: 0,
    late: 0,
    wired: false,
    garbled: 0,
    unit: 1,
};

/// Choices that a caller may make instead of the seed.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// A bug to plant.
    pub bug: Option<Bug>,
    /// No audits in the protocol: what they would find is left to the checkers.
    pub unaudited: bool,
    /// No faults, and calm conditions.
    pub calm: bool,
    /// An algorithm of the catalogue.
    pub algorithm: Option<&'static str>,
    /// Place where updates wait.
    pub route: Option<Route>,
    /// Number of machines.
    pub machines: Option<usize>,
}

/// A schedule that ends because the power of all machines goes.
pub struct Before {
    /// Schedule that ends.
    pub schedule: Box<Schedule>,
    /// Virtual time at which the power goes.
    pub until: Time,
}

/// All that a seed decides.
pub struct Schedule {
    /// The seed.
    pub seed: u64,
    /// The program and its graph.
    pub job: Arc<dyn Job>,
    /// Partitioning of the graph.
    pub cut: Partitioning,
    /// Configuration that machines agree on.
    pub config: Arc<Config>,
    /// The disks of all ranks.
    pub speeds: Vec<Speed>,
    /// The network.
    pub conditions: Conditions,
    /// Faults, and when they happen.
    pub faults: Vec<(Time, Fault)>,
    /// Probability, in thousandths, that the host replaces a machine that is merely silent.
    pub hasty: u64,
    /// Nanoseconds of work a record, of jobs that say nothing of it.
    pub record_nanos: Time,
    /// Cores of each machine.
    pub cores: usize,
    /// Works, of a thousand, that take some milliseconds more (a machine swaps, or is shared).
    pub late_works: u64,
    /// Nanoseconds of a look-up in the central directory, where there is one.
    pub directory_nanos: Time,
    /// Schedule that ran on the same disks before.
    pub before: Option<Before>,
    /// Bytes of an edge of the input, which each machine reads from its own disk; 0 where that
    /// takes no time.
    pub input_edge_bytes: u64,
    /// Events after which it must have ended.
    pub events_max: u64,
    /// Virtual time after the last fault in which it must have ended.
    pub time_max: Time,
}

impl Schedule {
    /// The schedule of a seed.
    pub fn of(seed: u64, overrides: &Overrides) -> Self {
        let mut random = Random::new(seed);
        let random = &mut random;
        let most = if random.chance(100) { 8 } else { 4 };
        let machines = 1 + random.below(most) as usize;
        let machines = overrides.machines.unwrap_or(machines);
        // Two of three programs are cheap ones that see every path.
        let cheap = random.chance(660);
        let name = if cheap { *random.pick(&ALGORITHMS[..5]) } else { *random.pick(&ALGORITHMS) };
        let name = overrides.algorithm.unwrap_or(name);
        let graph = graph(random, 48, 96);
        let job = job(name, random, &graph);
        let route = if random.chance(700) { Route::Spill } else { Route::Fold };
        let route = overrides.route.unwrap_or(route);
        // Updates that are carried wait somewhere.
        let route = if job.carries() { Route::Spill } else { route };
        let vertices = job.vertices();
        // One to three partitions a machine.
        let parts = machines as u64 * (1 + random.below(3) * random.below(2));
        let memory = vertices.div_ceil(parts).max(1) * job.vertex_bytes();
        let fitting = Partitions::fitting(machines, vertices, job.vertex_bytes(), memory);
        let Some(partitions) = fitting else { unreachable!("a vertex fits") };
        let partitions = weighed(seed, &*job, route, partitions);
        let cut = cut(random, seed, (partitions, route));
        let mut config = Self::config(random, (seed, &*job), &cut, overrides);
        if (mix(seed) >> 40).is_multiple_of(4) {
            config.vertex_sets = VertexSets::Memory;
        }
        let calm = overrides.calm || random.chance(150);
        let mut conditions = conditions(random, calm);
        if !calm {
            conditions.port_bytes = [500, 3000, u64::MAX, u64::MAX][(mix(seed) >> 48) as usize % 4];
        }
        let speeds = speeds(random, machines);
        let faults = if calm { Vec::new() } else { faults(random, machines) };
        let hasty = if random.chance(300) { 700 } else { 0 };
        let record_nanos = 20 + random.below(2000);
        let late_works = if !calm && random.chance(400) { 50 } else { 0 };
        let directory_nanos = random.below(20 * MICROS);
        let (config, cells) = (Arc::new(config), cut.partitions.cells());
        Self {
            seed,
            job,
            cut,
            config,
            speeds,
            conditions,
            faults,
            hasty,
            record_nanos,
            cores: 1 + (mix(seed) >> 8) as usize % 4,
            late_works,
            directory_nanos,
            before: None,
            input_edge_bytes: 0,
            // Each engine asks each other one about each cell.
            events_max: EVENTS_MAX * (1 + cells / 256),
            time_max: TIME_MAX,
        }
        .after_another(random, calm)
    }

    /// Now and then the same program ran on these disks before, on as many machines or others.
    fn after_another(self, random: &mut Random, calm: bool) -> Self {
        if calm || !random.chance(100) {
            return self;
        }
        let until = MILLIS + random.below(20 * MILLIS);
        let machines = self.config.machines();
        let others = 1 + random.below(4) as usize;
        let other = if random.chance(500) { machines } else { others };
        let before = Before { schedule: Box::new(self.on(other)), until };
        Self { before: Some(before), ..self }
    }

    /// The schedule on `machines` machines, of which none fails.
    fn on(&self, machines: usize) -> Self {
        let mut config = Config::clone(&self.config);
        let vertices = self.job.vertices();
        if machines != config.machines() {
            let each = vertices.div_ceil(machines as u64).max(1);
            let fitting = Partitions::fitting(machines, vertices, 1, each);
            let Some(partitions) = fitting else { unreachable!("a vertex fits") };
            (config.partitions, config.placement) = (partitions, Placement::Random);
        }
        let cut = Partitioning { partitions: config.partitions.clone(), ..self.cut.clone() };
        let speeds = self.speeds.iter().cycle().take(machines).copied().collect();
        let (job, config) = (self.job.clone(), Arc::new(config));
        let faults = Vec::new();
        Self { job, cut, config, speeds, faults, hasty: 0, before: None, ..*self }
    }

    /// A schedule by hand, of equal machines on which nothing goes wrong: disks that take 10
    /// microseconds and half a nanosecond a byte, a network that keeps up with them, and the
    /// paper's criterion.
    pub fn calm(job: Arc<dyn Job>, cut: Partitioning) -> Self {
        let machines = cut.partitions.machines();
        let config = Config {
            partitions: cut.partitions.clone(),
            vertex_bytes: job.vertex_bytes(),
            chunk_vertices: cut.chunk_vertices,
            route: cut.route,
            bias: Bias::PAPER,
            placement: Placement::Random,
            width: Width::Measured,
            depth: 1,
            vertex_sets: VertexSets::Disk,
            streams: 1,
            store_window_bytes: 1 << 20,
            kept_updates_max: u64::MAX,
            bins_open_max: cut.bins_open_max,
            handover: Handover::Memory,
            sets: Sets::Bags,
            checkpoint_interval: 1,
            scatter_checkpoints: false,
            edges: job.edges(),
            carries: job.carries(),
            copies: Copies::NONE,
            loss: Loss::Refuse,
            timing: Timing {
                resend: 10 * MILLIS,
                ping: 50 * MILLIS,
                suspect: 500 * MILLIS,
                patience: 5000 * MILLIS,
            },
            seed: 9,
            audited: true,
            planted: None,
        };
        Self {
            seed: 1,
            job,
            cut,
            config: Arc::new(config),
            speeds: vec![Speed::serial(10 * MICROS, 500); machines],
            conditions: CALM,
            faults: Vec::new(),
            hasty: 0,
            record_nanos: 4 * MICROS,
            cores: 1,
            late_works: 0,
            directory_nanos: 4 * MICROS,
            before: None,
            input_edge_bytes: 0,
            events_max: 100 * EVENTS_MAX,
            time_max: TIME_MAX,
        }
    }

    fn config(
        random: &mut Random,
        (seed, job): (u64, &dyn Job),
        cut: &Partitioning,
        overrides: &Overrides,
    ) -> Config {
        let machines = cut.partitions.machines();
        let alphas = [0, 800, 1000, 1000, 1000, 1200].map(Bias::Thousandths);
        let bias = if random.chance(300) { Bias::Always } else { *random.pick(&alphas) };
        let placement = match random.below(10) {
            0 => Placement::Owner,
            2 => Placement::Directory,
            1 => Placement::Weighted((0..machines).map(|_| 1 + random.below(5) as u32).collect()),
            3..6 => Placement::Even,
            _ => Placement::Random,
        };
        let handover = match random.below(100) {
            0..15 => Handover::Storage,
            15..30 => Handover::Interrupt,
            _ => Handover::Memory,
        };
        let sets = if random.chance(500) { Sets::Files } else { Sets::Bags };
        let width = match random.below(4) {
            0 => Width::Forced(1 + random.below(4) as usize),
            _ => Width::Measured,
        };
        Config {
            partitions: cut.partitions.clone(),
            // Small, so that stealing pays on small graphs too.
            vertex_bytes: if random.chance(500) { 1 } else { job.vertex_bytes() },
            chunk_vertices: cut.chunk_vertices,
            route: cut.route,
            bias,
            placement,
            width,
            depth: 1 + random.below(4) as usize,
            vertex_sets: VertexSets::Disk,
            streams: 1 + random.below(3) as usize + streams_beside(seed),
            bins_open_max: cut.bins_open_max,
            store_window_bytes: *random.pick(&[1, 500, 4000, 1 << 20]),
            kept_updates_max: kept_updates_max(seed, job),
            handover,
            sets,
            checkpoint_interval: 1 + random.below(3) as u32,
            scatter_checkpoints: random.chance(400),
            edges: job.edges(),
            carries: job.carries(),
            copies: Copies { vertices: random.chance(600), edges: random.chance(500) },
            loss: if random.chance(850) { Loss::Reingest } else { Loss::Refuse },
            timing: Timing {
                resend: 3 * MILLIS,
                ping: 6 * MILLIS,
                suspect: 25 * MILLIS,
                patience: 1000 * MILLIS,
            },
            seed: random.number(),
            audited: !overrides.unaudited,
            planted: overrides.bug,
        }
    }

    /// Whether disks lie, rot, or are replaced by empty ones.
    pub fn has_bad_disks(&self) -> bool {
        self.faults.iter().any(|(_, fault)| fault.harms_disks())
    }

    /// Ranks of the machines.
    pub fn ranks(&self) -> std::ops::Range<Rank> {
        0..self.config.machines()
    }
}

/// Updates that machines keep in memory, of a program that does not merge them: by half of all
/// seeds hardly more than one vertex gets. By the seed itself, as other late choices are.
fn kept_updates_max(seed: u64, job: &dyn Job) -> u64 {
    match job.updates_of_one_max() {
        Some(most) if mix(mix(seed)).is_multiple_of(2) => most.next_power_of_two(),
        _ => u64::MAX,
    }
}

/// Streams of a machine beside those that are drawn: by a quarter of all seeds there are more of
/// them than machines, which then have several pulls open at one. By the seed itself, as other late
/// choices are.
fn streams_beside(seed: u64) -> usize {
    if (mix(seed) >> 56).is_multiple_of(4) { 4 } else { 0 }
}

/// The partitions, or, by half of all seeds, as many with bounds by edges: as wide as even ones,
/// twice as wide at most, or as wide as may be. By the seed itself, as other late choices are.
fn weighed(seed: u64, job: &dyn Job, route: Route, even: Partitions) -> Partitions {
    let choice = (mix(seed) >> 32) % 8;
    if choice < 4 {
        return even;
    }
    let by_cells = route == Route::Fold || job.edges() != Edges::Fixed;
    let widest = [even.width(), 2 * even.width(), u64::MAX, u64::MAX][choice as usize - 4];
    let weights = job.weights(even.machines(), by_cells);
    even.weighed(&weights, widest)
}

/// Partitions, chunks and bins of a graph.
fn cut(random: &mut Random, seed: u64, (partitions, route): (Partitions, Route)) -> Partitioning {
    let chunk_records = 2 + random.below(12) as u32;
    let chunk_vertices = 3 + random.below(20);
    let piece_edges = 8 + random.below(40) as usize;
    let combines = random.chance(500);
    let packed = mix(seed).is_multiple_of(2);
    let encoding = if packed { Encoding::Packed } else { Encoding::Compressed };
    // By the seed itself, so that it moves none of the draws that other schedules know.
    let bins_open_max = [1, 30, u64::MAX][(mix(seed) >> 16) as usize % 3];
    let source_parts = [1, 4, 64][(mix(seed) >> 24) as usize % 3];
    let stripe_bits = [63, 63, 2, 0][(mix(seed) >> 52) as usize % 4];
    let bin_chunks = [1, 1, 2, 8][(mix(seed) >> 40) as usize % 4];
    Partitioning {
        partitions,
        route,
        encoding,
        chunk_records,
        bin_chunks,
        chunk_vertices,
        piece_edges,
        bins_open_max,
        source_parts,
        stripe_bits,
        combines,
    }
}

/// Speeds of the disks of machines.
fn speeds(random: &mut Random, machines: usize) -> Vec<Speed> {
    let slowest = if random.chance(200) { 20 } else { 2 };
    let (depth, late) = (1 + random.below(4) as usize, 30 * random.below(2));
    let gap = *random.pick(&[0, 0, 20 * MICROS]);
    let dirty_max = *random.pick(&[0, 0, 1000, u64::MAX >> 1]);
    let speed = |_| Speed {
        latency: (10 + random.below(40)) * MICROS * (1 + random.below(slowest)),
        byte_thousandths: 1000 * (1 + random.below(40)),
        depth,
        gap,
        late,
        dirty_max,
        unit: 1,
        holds_vertices: false,
    };
    (0..machines).map(speed).collect()
}

fn conditions(random: &mut Random, calm: bool) -> Conditions {
    let delay_min = (5 + random.below(50)) * MICROS;
    let bad = !calm && random.chance(500);
    let mut share = |most: u64| if bad { random.below(most) } else { 0 };
    let (loss, twice, late) = (share(60), share(80), share(20));
    let delay_max = delay_min * (1 + random.below(5));
    let wired = random.chance(200);
    let garbled = if bad && wired { 1 + random.below(30) } else { 0 };
    // Behind slow interfaces messages wait for so long that they are sent again.
    let slow = *random.pick(&[800, 800, 20_000, 100_000]);
    let byte_thousandths = if calm { 800 } else { slow };
    let switch_thousandths = *random.pick(&[0, byte_thousandths / 8, byte_thousandths / 2]);
    Conditions {
        delay_min,
        delay_max,
        byte_thousandths,
        switch_thousandths,
        port_bytes: u64::MAX,
        time_out: 2 * MILLIS,
        loss,
        twice,
        late,
        wired,
        garbled,
        unit: 1,
    }
}
