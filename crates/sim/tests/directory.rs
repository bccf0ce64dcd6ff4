//! Random placement beside a central directory, as machines become many and graphs with them: the
//! shape of Figure 14.

#![expect(clippy::disallowed_macros, reason = "figures are for those who run a test by hand")]

use std::sync::Arc;

use welter_algorithms::PageRank;
use welter_algorithms::pagerank::Dangling;
use welter_protocol::config::Route;
use welter_protocol::partitions::Partitions;
use welter_protocol::placement::Placement;
use welter_protocol::random::Random;
use welter_sim::checkers::progress::End;
use welter_sim::job::Partitioning;
use welter_sim::kernel_job::KernelJob;
use welter_sim::schedule::Schedule;
use welter_sim::world::World;
use welter_store::header::Encoding;
use welter_testing::graph::Graph;

/// Vertices and edges of a machine's share.
const VERTICES: u64 = 100;
const EDGES: u64 = 6000;

/// Virtual milliseconds of three iterations on a graph that grows with the machines. A chunk is a
/// tenth of a millisecond of work, a look-up four microseconds.
fn measure(machines: usize, placement: Placement) -> f64 {
    let mut random = Random::new(1);
    let vertices = VERTICES * machines as u64;
    let mut end = || random.below(vertices) as u32;
    let pairs = (0..EDGES * machines as u64).map(|_| [end(), end()]).collect();
    let graph = Graph::new(vertices as usize, pairs);
    let partitions = Partitions::fitting(machines, vertices, 1, VERTICES);
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
    Arc::make_mut(&mut schedule.config).placement = placement;
    let report = World::run(&schedule, false);
    assert_eq!((report.failure, report.end), (None, End::Finished), "{machines} machines");
    report.time as f64 / 1e6
}

#[test]
fn a_directory_falls_behind_as_machines_become_many() {
    let mut ratios = Vec::new();
    let mut first = None;
    for machines in [1, 2, 4, 8, 16, 32] {
        let random = measure(machines, Placement::Random);
        let directory = measure(machines, Placement::Directory);
        let one: f64 = *first.get_or_insert(random);
        println!("| {machines} | {:.2} | {:.2} |", random / one, directory / one);
        ratios.push((random / one, directory / one));
    }
    for (random, _) in &ratios {
        assert!(*random < 1.15, "random placement scales: {ratios:?}");
    }
    for (random, directory) in &ratios[..4] {
        assert!(*directory < random + 0.1, "few machines do not notice it: {ratios:?}");
    }
    let [.., (_, sixteen), (random, directory)] = ratios[..] else { unreachable!() };
    assert!(directory > 1.6 * random && directory > 1.4 * sixteen, "{ratios:?}");
}
