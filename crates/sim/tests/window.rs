//! Number of pulls that are open, on 32 machines whose disks are the bottleneck: the shape of
//! Figure 15.

#![expect(clippy::disallowed_macros, reason = "figures are for those who run a test by hand")]

use std::sync::Arc;

use welter_algorithms::PageRank;
use welter_algorithms::pagerank::Dangling;
use welter_protocol::Time;
use welter_protocol::config::Route;
use welter_protocol::partitions::Partitions;
use welter_protocol::random::Random;
use welter_protocol::window::Width;
use welter_sim::checkers::progress::End;
use welter_sim::disk::device::Speed;
use welter_sim::job::Partitioning;
use welter_sim::kernel_job::KernelJob;
use welter_sim::schedule::{MICROS, Schedule};
use welter_sim::world::World;
use welter_store::header::Encoding;
use welter_testing::graph::Graph;

/// Machines, and vertices and edges of the share of each.
const MACHINES: usize = 32;
const WINDOWS: [usize; 7] = [1, 2, 3, 5, 10, 16, 32];
const VERTICES: u64 = 100;
const EDGES: u64 = 6000;

/// Seeds whose mean is compared, where results differ by two per cent from run to run.
const SEEDS: [u64; 4] = [1, 2, 3, 4];

/// Virtual milliseconds of three iterations, and which share of them disks are busy. A disk needs
/// half a millisecond for a chunk, a kernel a tenth of one, and a message so long.
fn measure(width: Width, delay: Time, seed: u64) -> (f64, f64) {
    let mut random = Random::new(1);
    let vertices = VERTICES * MACHINES as u64;
    let mut end = || random.below(vertices) as u32;
    let pairs = (0..EDGES * MACHINES as u64).map(|_| [end(), end()]).collect();
    let graph = Graph::new(vertices as usize, pairs);
    let partitions = Partitions::fitting(MACHINES, vertices, 1, VERTICES);
    let cut = Partitioning {
        partitions: partitions.expect("a vertex fits"),
        route: Route::Spill,
        encoding: Encoding::Packed,
        chunk_records: 24,
        bin_chunks: 1,
        chunk_vertices: VERTICES,
        piece_edges: 500,
        bins_open_max: u64::MAX,
        source_parts: 1,
        stripe_bits: 63,
        combines: false,
    };
    let program = PageRank::<f64>::new(vertices, 0.85, 3, 0.0, Dangling::Spread);
    let mut schedule = Schedule::calm(Arc::new(KernelJob::new("pagerank", &graph, program)), cut);
    let config = Arc::make_mut(&mut schedule.config);
    (config.width, config.seed) = (width, seed);
    schedule.speeds = vec![Speed::serial(500 * MICROS, 0); MACHINES];
    schedule.conditions.delay_min = delay;
    schedule.conditions.delay_max = delay;
    let report = World::run(&schedule, false);
    assert_eq!((report.failure, report.end), (None, End::Finished), "{width:?}");
    let busy = report.busy.iter().sum::<Time>() as f64 / (MACHINES as Time * report.time) as f64;
    (report.time as f64 / 1e6, busy)
}

/// Times by the number of pulls, and with the window that measures.
fn sweep(delay: Time) -> (Vec<f64>, f64) {
    let forced = WINDOWS.map(|k| {
        let (time, busy) = measure(Width::Forced(k), delay, 9);
        println!("| {k} | {time:.0} | {:.1} |", 100.0 * busy);
        time
    });
    let (time, busy) = measure(Width::Measured, delay, 9);
    println!("| measured | {time:.0} | {:.1} |", 100.0 * busy);
    (forced.into(), time)
}

#[test]
fn five_pulls_keep_disks_busy_behind_a_fast_network() {
    let (times, _) = sweep(5 * MICROS);
    let [one, two, three, five, .., all] = times[..] else { unreachable!() };
    assert!(one > 1.3 * all && one > two && two > three && three > five, "{times:?}");
    let mean = |width| {
        let times = SEEDS.map(|seed| measure(width, 5 * MICROS, seed).0);
        times.iter().sum::<f64>() / SEEDS.len() as f64
    };
    let [five, all, measured] = [Width::Forced(5), Width::Forced(32), Width::Measured].map(mean);
    println!("means: five {five:.0} ms, all {all:.0} ms, measured {measured:.0} ms");
    assert!(five < 1.03 * all, "{five} of {all}");
    assert!(measured < 1.03 * all, "{measured} of {all}");
}

/// Round trips as long as the service: twice as many pulls are needed (equation 1).
#[test]
fn a_slow_network_takes_more_of_them() {
    let (times, measured) = sweep(250 * MICROS);
    let [one, _, _, five, ten, .., all] = times[..] else { unreachable!() };
    assert!(one > 1.5 * all && five > 1.02 * ten && ten < 1.03 * all, "{times:?}");
    assert!(measured < 1.03 * all, "{measured} of {times:?}");
}
