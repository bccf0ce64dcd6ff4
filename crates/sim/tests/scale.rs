//! The scale model beside runs with contents, where these are small enough: sizes recorded on two
//! machines tell the times of others, within a twentieth.

#![expect(clippy::disallowed_macros, reason = "figures are for those who run a test by hand")]

use std::sync::{Arc, OnceLock};

use welter_algorithms::bp::Potential;
use welter_algorithms::pagerank::Dangling;
use welter_algorithms::{BeliefPropagation, PageRank};
use welter_protocol::config::Route;
use welter_protocol::partitions::Partitions;
use welter_protocol::random::Random;
use welter_sim::checkers::progress::End;
use welter_sim::job::{Job, Partitioning};
use welter_sim::kernel_job::KernelJob;
use welter_sim::schedule::{MICROS, Schedule};
use welter_sim::sized_job::{Profile, Recorded, SizedJob, Spread};
use welter_sim::world::World;
use welter_store::header::Encoding;
use welter_testing::graph::Graph;

/// Vertices and edges of a machine's share, and partitions of a machine.
const VERTICES: u64 = 100;
const EDGES: u64 = 4000;

fn cut(machines: usize, route: Route) -> Partitioning {
    let partitions = Partitions::fitting(machines, VERTICES * machines as u64, 1, VERTICES);
    Partitioning {
        partitions: partitions.expect("a vertex fits"),
        route,
        encoding: Encoding::Packed,
        chunk_records: 24,
        chunk_vertices: VERTICES / 2,
        piece_edges: 500,
        bins_open_max: u64::MAX,
        source_parts: 1,
        combines: false,
    }
}

/// PageRank, or beliefs, whose values and updates are larger, on a random graph.
fn job(name: &'static str, machines: usize) -> Arc<dyn Job> {
    let mut random = Random::new(1);
    let vertices = VERTICES * machines as u64;
    let mut end = || random.below(vertices) as u32;
    let pairs = (0..EDGES * machines as u64).map(|_| [end(), end()]).collect();
    let graph = Graph::new(vertices as usize, pairs);
    if name == "bp" {
        let potential = Potential::<2>::coupled(0.6).expect("0.6 lies between 0 and 1");
        return Arc::new(KernelJob::new(name, &graph, BeliefPropagation::new(potential, 3, 0.0)));
    }
    let program = PageRank::<f64>::new(vertices, 0.85, 3, 0.0, Dangling::Spread);
    Arc::new(KernelJob::new(name, &graph, program))
}

fn sizes(name: &'static str, machines: usize, profile: &Profile) -> Arc<dyn Job> {
    let (vertices, edges) = (VERTICES * machines as u64, EDGES * machines as u64);
    let vertex_bytes = job(name, 1).vertex_bytes();
    let profile = Arc::new(profile.clone());
    let (update_records, spread, cores) = (24, Spread::Even, 1);
    Arc::new(SizedJob {
        vertices,
        edges,
        vertex_bytes,
        profile,
        update_records,
        combining: None,
        spread,
        cores,
        shares: OnceLock::new(),
    })
}

/// Virtual milliseconds, on disks (and at a time a record) that make one or the other the
/// bottleneck.
fn measure(job: Arc<dyn Job>, cut: Partitioning, [byte, record]: [u64; 2]) -> f64 {
    let mut schedule = Schedule::calm(job, cut);
    schedule.speeds.iter_mut().for_each(|speed| speed.byte_thousandths = byte);
    schedule.record_nanos = record;
    let report = World::run(&schedule, false);
    assert_eq!((report.failure, report.end), (None, End::Finished));
    report.time as f64 / 1e6
}

/// Sizes of a run on two machines. Who folds does not say how many updates there were; on route
/// `spill` each edge made one.
fn profile(name: &'static str, route: Route) -> Profile {
    let recorded = Arc::new(Recorded::new(job(name, 2)));
    measure(recorded.clone(), cut(2, route), [500, 4 * MICROS]);
    let profile = recorded.profile();
    let iterations = vec![[2 * EDGES, 2 * EDGES]; 3];
    match route {
        Route::Spill => assert_eq!(profile.iterations, iterations, "each edge makes an update"),
        Route::Fold => assert!(profile.iterations.is_empty()),
    }
    Profile { iterations, ..profile }
}

/// Sizes alone take as long as contents.
fn compare(name: &'static str, route: Route) {
    let profile = profile(name, route);
    for (bottleneck, speeds) in [("work", [500, 4 * MICROS]), ("disks", [500_000, 200])] {
        for machines in [1, 2, 4, 8] {
            let cut = cut(machines, route);
            let contents = measure(job(name, machines), cut.clone(), speeds);
            let model = measure(sizes(name, machines, &profile), cut, speeds);
            let ratio = model / contents;
            let what = format!("{name}, {bottleneck}, {machines} machines");
            println!("{what}: {contents:.1} ms, {model:.1}, {ratio:.3}");
            assert!((ratio - 1.0).abs() < 0.05, "{what}: {ratio}");
        }
    }
}

#[test]
fn sizes_alone_take_as_long_as_contents() {
    compare("pagerank", Route::Spill);
}

#[test]
fn so_they_do_where_values_and_updates_are_larger() {
    compare("bp", Route::Spill);
}

#[test]
fn so_they_do_where_signals_are_fetched() {
    compare("pagerank", Route::Fold);
}

/// At 64 machines, which no graph is needed for: a graph that grows with them takes as long.
#[test]
fn many_machines_take_as_long_as_one_where_the_graph_grows_with_them() {
    let profile = profile("pagerank", Route::Spill);
    let [one, many] = [1, 64].map(|machines| {
        let cut = cut(machines, Route::Spill);
        let time = measure(sizes("pagerank", machines, &profile), cut, [500, 4 * MICROS]);
        println!("{machines} machines: {time:.1} ms");
        time
    });
    assert!(many < 1.3 * one, "{many} beside {one} ms");
}
