//! Partitions with bounds by edges, on a graph most of whose edges lead to few vertices: no machine
//! has more to stream than another, and none need help.

#![expect(clippy::disallowed_macros, reason = "figures are for those who run a test by hand")]

use std::sync::Arc;

use welter_algorithms::PageRank;
use welter_algorithms::pagerank::Dangling;
use welter_protocol::config::Route;
use welter_protocol::partitions::Partitions;
use welter_protocol::random::Random;
use welter_protocol::steal::Bias;
use welter_sim::checkers::progress::End;
use welter_sim::job::{Job, Partitioning};
use welter_sim::kernel_job::KernelJob;
use welter_sim::schedule::Schedule;
use welter_sim::world::World;
use welter_store::header::Encoding;
use welter_testing::graph::Graph;

const MACHINES: usize = 4;
const VERTICES: u64 = 400;

/// PageRank on a graph whose ends are half as many in each half of the ids as in the one before.
fn job() -> Arc<dyn Job> {
    let random = &mut Random::new(1);
    let mut end = || {
        let halves = (0..6).take_while(|_| random.chance(750)).count();
        random.below(VERTICES >> halves) as u32
    };
    let pairs = (0..20_000).map(|_| [end(), end()]).collect();
    let graph = Graph::new(VERTICES as usize, pairs);
    let program = PageRank::<f64>::new(VERTICES, 0.85, 3, 0.0, Dangling::Spread);
    Arc::new(KernelJob::new("pagerank", &graph, program))
}

/// Virtual milliseconds where none helps, with even partitions or those with bounds by edges, of
/// `widest` vertices at most.
fn measure(route: Route, widest: Option<u64>) -> f64 {
    let job = job();
    let even = Partitions::fitting(MACHINES, VERTICES, 1, VERTICES).expect("a vertex fits");
    let weights = job.weights(MACHINES, route == Route::Fold);
    let partitions = match widest {
        Some(widest) => even.weighed(&weights, widest),
        None => even,
    };
    let cut = Partitioning {
        partitions,
        route,
        encoding: Encoding::Packed,
        chunk_records: 24,
        bin_chunks: 1,
        chunk_vertices: 40,
        piece_edges: 500,
        bins_open_max: u64::MAX,
        source_parts: 1,
        stripe_bits: 63,
        combines: false,
    };
    let mut schedule = Schedule::calm(job, cut);
    Arc::make_mut(&mut schedule.config).bias = Bias::NEVER;
    let report = World::run(&schedule, false);
    assert_eq!((report.failure, report.end), (None, End::Finished));
    report.time as f64 / 1e6
}

#[test]
fn bounds_by_edges_leave_no_machine_behind() {
    for route in [Route::Fold, Route::Spill] {
        let even = measure(route, None);
        let [none, some, all] = [1, 2, 4].map(|times| measure(route, Some(times * VERTICES / 4)));
        println!("{route:?}: {even:.1} ms even, {none:.1}, {some:.1} and {all:.1} by edges");
        assert!((none / even - 1.0).abs() < 0.01, "where there is no room they are even");
        assert!(some < 0.8 * even && all < 0.6 * even, "{even}, {some}, {all}");
    }
}
