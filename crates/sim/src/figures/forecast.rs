//! Forecast of an iteration of ranks on machines that are stated, which benchmarks of real machines
//! have beside what they measure.
//!
//! ```text
//! iteration = (seconds of LONG iterations - seconds of SHORT ones) / (LONG - SHORT)
//! ```
//!
//! Machines are those of the command by route `fold`: its chunks, sets and windows, a checkpoint
//! after each iteration, partitions of equal width. Bytes of an edge and of a vertex are stated, as
//! a run has them. The page cache has the vertex sets of a machine, which are written when they are
//! synced, and no edges. Where a computer has fewer cores than machines, each has one that is as
//! much slower. An iteration is the mean of several placements of chunks.
//!
//! Not in it: what messages, checksums and calls of the system cost the cores, and the input, which
//! is read before. **Assumed**, as for the paper's cluster ([`super::cluster`]): 50 microseconds
//! until a message begins to arrive, 100 until a disk begins to transfer. A request is served by
//! each thread of a disk, and machines have three (`welter_cluster`).

use std::sync::{Arc, OnceLock};

use welter_protocol::config::Route;
use welter_protocol::partitions::Partitions;
use welter_protocol::placement::Placement;
use welter_store::header::Encoding;

use super::algorithms::PR;
use super::cluster::{DEGREE_BYTES, lasting, run};
use super::profiles::{Origin, recorded};
use crate::disk::device::Speed;
use crate::job::Partitioning;
use crate::network::Conditions;
use crate::schedule::{MICROS, Schedule};
use crate::sized_job::{Iteration, KernelTimes, Profile, RMat, Size, SizedJob, Spread, WorkKind};

/// Iterations of two runs, of which the second takes those longer.
const SHORT: usize = 2;
const LONG: usize = 6;

/// Seeds by which chunks are placed.
const SEEDS: [u64; 3] = [1, 2, 3];

/// Edges, or vertices, that a record of the model stands for.
const GRAIN: u64 = 1 << 9;

/// Records of a chunk, vertices of one of a vertex set, and edges that are read at a time.
const CHUNK_RECORDS: u64 = 1 << 19;
const CHUNK_VERTICES: u64 = 1 << 18;
const PIECE_EDGES: u64 = 1 << 18;

/// Bytes of the vertex set of a partition, and of blocks under way to storage, at most.
const SET_BYTES: u64 = 64 << 20;
const STORE_WINDOW_BYTES: u64 = 64 << 20;

/// Bins of edges that are open at a time.
const BINS_OPEN_MAX: u64 = 64;

/// Requests of a machine to its disk at a time, and those that are served.
const DEPTH: usize = 4;
const SERVED: usize = 3;

/// Bytes of an accumulator: a sum in `f64`.
const ACCUMULATOR_BYTES: u64 = 8;

/// Machines at most.
const MACHINES_MAX: usize = 64;

/// Machines and a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct StatedRun {
    /// Binary logarithm of the number of ids of the R-MAT graph.
    pub scale: u32,
    /// Edges.
    pub edges: u64,
    /// Bytes of an edge on storage.
    pub edge_bytes: f64,
    /// Bytes of a vertex on storage.
    pub vertex_bytes: u64,
    /// Bytes a second of the disk of each machine.
    pub disks: Vec<u64>,
    /// Megabits a second of the interface of a machine.
    pub link: u64,
    /// Cores of a machine: less than one where machines share one.
    pub cores: f64,
    /// Nanoseconds of a core for a record, in place of those of the file of profiles.
    pub nanos: Option<f64>,
    /// Rule by which chunks get their machines.
    pub placement: Placement,
}

/// Forecast of an iteration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// Seconds.
    pub seconds: f64,
    /// Bytes that all disks transfer.
    pub disk_bytes: f64,
}

impl StatedRun {
    /// The run of options, `--scale 22` and others; those that are left out are of one machine with
    /// two cores and a disk of 200 MB/s. None where one is unknown, or says nothing that can be.
    pub fn parse(arguments: &[String]) -> Option<Self> {
        let mut stated = Self {
            scale: 22,
            edges: 0,
            edge_bytes: 4.02,
            vertex_bytes: 16,
            disks: vec![200_000_000],
            link: 20_000,
            cores: 2.0,
            nanos: None,
            placement: Placement::Even,
        };
        let mut edges: Option<u64> = None;
        let mut words = arguments.iter();
        while let Some(name) = words.next() {
            let value = words.next()?;
            match name.as_str() {
                "--scale" => stated.scale = value.parse().ok()?,
                "--edges" => edges = Some(value.parse().ok()?),
                "--edge-bytes" => stated.edge_bytes = value.parse().ok()?,
                "--vertex-bytes" => stated.vertex_bytes = value.parse().ok()?,
                "--disks" => {
                    let rates = value.split(',').map(|rate| rate.parse::<u64>().ok());
                    stated.disks = rates.collect::<Option<Vec<u64>>>()?;
                }
                "--link" => stated.link = value.parse().ok()?,
                "--cores" => stated.cores = value.parse().ok()?,
                "--nanos" => stated.nanos = Some(value.parse().ok()?),
                "--placement" => stated.placement = placement(value)?,
                _ => return None,
            }
        }
        stated.edges = edges.unwrap_or(16 << stated.scale.min(32));
        stated.can_be().then_some(stated)
    }

    /// Whether there can be such machines and such a graph, in the units of the model.
    fn can_be(&self) -> bool {
        let is_among = |number: f64, most: f64| number > 0.0 && number <= most;
        let are_weighed = match &self.placement {
            Placement::Weighted(weights) => weights.len() == self.disks.len(),
            _ => true,
        };
        (16..=32).contains(&self.scale)
            && (GRAIN..=1 << 40).contains(&self.edges)
            && is_among(self.edge_bytes, 64.0)
            && (1..=1024).contains(&self.vertex_bytes)
            && (1..=MACHINES_MAX).contains(&self.disks.len())
            && self.disks.iter().all(|rate| (1000..=1_000_000_000_000).contains(rate))
            && (1..=1_000_000).contains(&self.link)
            && is_among(self.cores, 4096.0)
            && self.nanos.is_none_or(|nanos| is_among(nanos, 1e6))
            && are_weighed
    }

    /// An iteration of this run.
    pub fn iteration(&self) -> Forecast {
        let of = |seed: u64| {
            let [short, long] = [SHORT, LONG].map(|count| run(&self.schedule(count, seed)));
            let each = (LONG - SHORT) as f64;
            [long.seconds - short.seconds, long.bytes - short.bytes].map(|more| more / each)
        };
        let all = SEEDS.map(of);
        let mean = |at: usize| all.iter().map(|one| one[at]).sum::<f64>() / all.len() as f64;
        Forecast { seconds: mean(0), disk_bytes: mean(1) }
    }

    /// The forecast of an iteration as a line of JSON, with where times of kernels are from.
    pub fn json(&self) -> String {
        let Forecast { seconds, disk_bytes } = self.iteration();
        let kernels = match (self.nanos, recorded().times) {
            (Some(_), _) => "stated",
            (None, Origin::Assumed) => "assumed",
            (None, Origin::Measured) => "measured",
        };
        format!(
            "{{\"seconds\": {seconds:.6}, \"disk_bytes\": {disk_bytes:.0}, \
             \"kernels\": \"{kernels}\"}}"
        )
    }

    fn graph(&self) -> RMat {
        let degree = self.edges as f64 / f64::from(self.scale).exp2();
        RMat { low: 0.76, scale: self.scale, degree }
    }

    /// Cores of a machine that are whole: one at least.
    fn whole_cores(&self) -> usize {
        self.cores.max(1.0) as usize
    }

    /// Partitions, chunks and bins, as machines of the command have them.
    fn cut(&self) -> Partitioning {
        let vertices = (self.graph().vertices() as u64 / GRAIN).max(1);
        let record_bytes = self.vertex_bytes * GRAIN;
        let most = SET_BYTES.max(record_bytes);
        let partitions = Partitions::fitting(self.disks.len(), vertices, record_bytes, most);
        let Some(partitions) = partitions else { unreachable!("a record of the model fits") };
        Partitioning {
            partitions,
            route: Route::Fold,
            encoding: Encoding::Packed,
            chunk_records: (CHUNK_RECORDS / GRAIN) as u32,
            bin_chunks: 1,
            chunk_vertices: CHUNK_VERTICES / GRAIN,
            piece_edges: (PIECE_EDGES / GRAIN) as usize,
            bins_open_max: BINS_OPEN_MAX,
            source_parts: 1,
            stripe_bits: 63,
            combines: false,
        }
    }

    /// Times of kernels on a core of a machine.
    fn times(&self) -> KernelTimes {
        let times = self.nanos.map_or_else(|| PR.times(Route::Fold), KernelTimes::even);
        let slower = (1.0 / self.cores).max(1.0);
        let on_core = |all: KernelTimes, kind| all.with(kind, slower * all.of(kind));
        WorkKind::ALL.into_iter().fold(times, on_core).grained(GRAIN)
    }

    /// Ranks in this number of iterations.
    fn job(&self, iterations: usize, cut: &Partitioning) -> SizedJob {
        let profile = Profile {
            edges: Size::of_records((1000.0 * self.edge_bytes).round() as u64, 1000),
            updates: Size::of_records(ACCUMULATOR_BYTES, 1),
            accumulators: Size::of_records(ACCUMULATOR_BYTES, 1),
            merges: true,
            degree_bytes: DEGREE_BYTES,
            iterations: vec![Iteration::FULL; iterations],
        };
        SizedJob {
            vertices: cut.partitions.vertices(),
            edges: self.edges / GRAIN,
            vertex_bytes: self.vertex_bytes,
            profile: Arc::new(profile),
            update_records: cut.chunk_records,
            combining: None,
            spread: Spread::Dense(self.graph()),
            grain: GRAIN,
            spares: false,
            times: Some(self.times()),
            cores: self.whole_cores() as u64,
            shares: OnceLock::new(),
            active: OnceLock::new(),
        }
    }

    /// A schedule of as many iterations, whose chunks are placed by a seed.
    fn schedule(&self, iterations: usize, seed: u64) -> Schedule {
        let cut = self.cut();
        let mut schedule = lasting(self.job(iterations, &cut), cut);
        let config = Arc::make_mut(&mut schedule.config);
        (config.streams, config.depth) = (self.whole_cores(), DEPTH);
        (config.placement, config.seed) = (self.placement.clone(), seed);
        config.store_window_bytes = STORE_WINDOW_BYTES / GRAIN;
        schedule.cores = self.whole_cores();
        schedule.conditions = Conditions {
            delay_min: 50 * MICROS,
            delay_max: 50 * MICROS,
            byte_thousandths: 8_000_000 / self.link,
            unit: GRAIN,
            ..schedule.conditions
        };
        let speed = |&rate: &u64| Speed {
            depth: SERVED,
            unit: GRAIN,
            holds_vertices: true,
            ..Speed::serial(100 * MICROS, 1_000_000_000_000 / rate)
        };
        schedule.speeds = self.disks.iter().map(speed).collect();
        schedule
    }
}

/// The placement of words that `--placement` of the command takes, but for `weighted` by rates.
fn placement(text: &str) -> Option<Placement> {
    let weights = match text {
        "even" => return Some(Placement::Even),
        "random" => return Some(Placement::Random),
        "owner" => return Some(Placement::Owner),
        _ => text.strip_prefix("weighted:")?,
    };
    let weights: Option<Vec<u32>> = weights.split(',').map(|weight| weight.parse().ok()).collect();
    weights.filter(|all| all.iter().any(|weight| *weight > 0)).map(Placement::Weighted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &str) -> Option<StatedRun> {
        StatedRun::parse(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    fn iteration(words: &str) -> Forecast {
        parse(words).unwrap().iteration()
    }

    #[test]
    fn one_machine_takes_as_long_as_its_disk() {
        let words = "--scale 20 --disks 100000000";
        let (stated, found) = (parse(words).unwrap(), iteration(words));
        let edges = stated.edge_bytes * stated.edges as f64;
        let vertices = stated.vertex_bytes as f64 * stated.graph().vertices();
        let times = found.disk_bytes / (edges + vertices);
        assert!((0.98..1.05).contains(&times), "{times} times edges and values");
        let times = found.seconds / ((edges + vertices) / 1e8);
        assert!((0.97..1.25).contains(&times), "{times} times as long as the disk");
        let twice = iteration("--scale 20 --disks 200000000").seconds;
        assert!((1.7..2.1).contains(&(found.seconds / twice)), "{found:?}, {twice}");
    }

    #[test]
    fn machines_add_up_as_far_as_cores_and_links_let_them() {
        let four = "--disks 200000000,200000000,200000000,200000000";
        let one = iteration("--disks 200000000 --nanos 1").seconds;
        let seconds = |words: &str| iteration(&format!("{four} {words}")).seconds;
        let fast = seconds("--nanos 1");
        assert!((2.2..5.0).contains(&(one / fast)), "{one} s, four take {fast}");
        assert!(seconds("--nanos 1 --link 1000") > 1.2 * fast, "1 Gb/s are the limit");
        assert!(seconds("--nanos 40 --cores 0.5") > 2.0 * fast, "half a core is the limit");
    }

    #[test]
    fn a_slow_disk_holds_all_up_unless_it_has_less() {
        let disks = "--disks 200000000,200000000,200000000,50000000 --nanos 1";
        let even = iteration(disks).seconds;
        let weighted = iteration(&format!("{disks} --placement weighted:4,4,4,1")).seconds;
        assert!(even > 1.5 * weighted, "{even} s, by rates {weighted}");
    }

    #[test]
    fn options_are_those_of_machines_that_can_be() {
        let usual = parse("").unwrap();
        assert_eq!((usual.scale, usual.edges, usual.disks.len()), (22, 16 << 22, 1));
        let stated = parse("--disks 5000,7000 --placement weighted:2,1 --scale 17").unwrap();
        assert_eq!((stated.edges, &*stated.disks), (16 << 17, &[5000, 7000][..]));
        assert_eq!(stated.placement, Placement::Weighted(vec![2, 1]));
        for wrong in [
            "--help",
            "--what 1",
            "--scale",
            "--scale x",
            "--scale 9",
            "--scale 99",
            "--edges 0",
            "--edge-bytes 0",
            "--edge-bytes nan",
            "--vertex-bytes 0",
            "--disks 0",
            "--disks 5000,",
            "--link 0",
            "--cores 0",
            "--nanos inf",
            "--placement level",
            "--placement weighted:0",
            "--placement weighted:1,1",
        ] {
            assert!(parse(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn a_forecast_is_a_line_of_json() {
        let text = parse("--scale 16 --nanos 2").unwrap().json();
        assert!(text.starts_with("{\"seconds\": 0.") && text.ends_with("\"stated\"}"), "{text}");
    }
}
