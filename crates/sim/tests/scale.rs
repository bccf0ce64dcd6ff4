//! The scale model beside runs with contents, where these are small enough: sizes recorded on two
//! machines, and iterations of the interpreter, tell the times of others, within a twentieth.

#![expect(clippy::disallowed_macros, reason = "figures are for those who run a test by hand")]

use std::sync::{Arc, OnceLock};

use welter_model::program::Program;
use welter_protocol::config::Route;
use welter_protocol::partitions::Partitions;
use welter_protocol::random::Random;
use welter_sim::checkers::progress::End;
use welter_sim::figures::recorder::{Visitor, count, visit};
use welter_sim::job::{Job, Partitioning};
use welter_sim::kernel_job::KernelJob;
use welter_sim::schedule::{MICROS, Schedule};
use welter_sim::sized_job::{
    Iteration, KernelTimes, Profile, Recorded, SizedJob, Spread, WorkKind,
};
use welter_sim::world::World;
use welter_store::header::Encoding;
use welter_testing::graph::Graph;

/// Vertices and edges of a machine's share, and partitions of a machine.
const VERTICES: u64 = 100;
const EDGES: u64 = 4000;

/// Disks and works (nanoseconds of a thousand bytes, and of a record) that make one or the other
/// the bottleneck.
const SPEEDS: [(&str, [u64; 2]); 2] = [("work", [500, 4 * MICROS]), ("disks", [500_000, 200])];

/// Difference between the model and contents, at most: chunks with active sources are drawn, and
/// partitions that make few updates in an iteration make as many as the others do.
const DIFFERENCE_MAX: f64 = 0.05;

fn cut(machines: usize, route: Route) -> Partitioning {
    let partitions = Partitions::fitting(machines, VERTICES * machines as u64, 1, VERTICES);
    Partitioning {
        partitions: partitions.expect("a vertex fits"),
        route,
        encoding: Encoding::Packed,
        chunk_records: 24,
        bin_chunks: 1,
        chunk_vertices: VERTICES / 2,
        piece_edges: 500,
        bins_open_max: u64::MAX,
        source_parts: 1,
        stripe_bits: 63,
        combines: false,
    }
}

/// An algorithm on a random graph, and its iterations by the interpreter.
struct Case {
    job: Arc<dyn Job>,
    edges: u64,
    iterations: Vec<Iteration>,
}

/// Looks for the algorithm of a name.
struct Search {
    name: &'static str,
    found: Option<Case>,
}

impl Visitor for Search {
    fn visit<P>(&mut self, name: &'static str, graph: &Arc<Graph>, program: P)
    where
        P: Program + Send + 'static,
    {
        if name == self.name {
            let iterations = count(name, graph, &program, usize::MAX).iterations;
            // Sums of 32-bit numbers differ by their order.
            let job = Arc::new(KernelJob::within(1e-3, name, graph, program));
            self.found = Some(Case { job, edges: graph.pairs.len() as u64, iterations });
        }
    }
}

/// The algorithm of this name in Table 1 of the paper.
fn case(name: &'static str, machines: usize) -> Case {
    let mut random = Random::new(1);
    let vertices = VERTICES * machines as u64;
    let mut end = || random.below(vertices) as u32;
    let pairs: Vec<_> = (0..EDGES * machines as u64).map(|_| [end(), end()]).collect();
    let weights = pairs.iter().map(|_| random.below(1000) as f64 / 1000.0).collect();
    let graph = Graph { weights: Some(weights), ..Graph::new(vertices as usize, pairs) };
    let mut search = Search { name, found: None };
    visit(graph, &mut search);
    search.found.expect("the paper has it")
}

/// A job of sizes alone, of as many vertices a machine as others.
fn sizes(machines: usize, (case, profile): (&Case, &Profile)) -> SizedJob {
    let profile = Profile { iterations: case.iterations.clone(), ..profile.clone() };
    SizedJob {
        vertices: VERTICES * machines as u64,
        edges: case.edges,
        vertex_bytes: case.job.vertex_bytes(),
        profile: Arc::new(profile),
        update_records: 24,
        combining: None,
        spread: Spread::Even,
        grain: 1,
        spares: true,
        times: None,
        cores: 1,
        shares: OnceLock::new(),
        active: OnceLock::new(),
    }
}

/// Virtual milliseconds.
fn measure(job: Arc<dyn Job>, cut: Partitioning, [byte, record]: [u64; 2]) -> f64 {
    let mut schedule = Schedule::calm(job, cut);
    schedule.speeds.iter_mut().for_each(|speed| speed.byte_thousandths = byte);
    schedule.record_nanos = record;
    // Programs of many iterations take long on slow disks.
    schedule.time_max *= 100;
    let report = World::run(&schedule, false);
    assert_eq!((report.failure, report.end), (None, End::Finished));
    report.time as f64 / 1e6
}

/// Sizes of a run on two machines. Who folds does not say how many updates there were; on route
/// `spill` they are those of the interpreter, and so are active vertices.
fn profile(name: &'static str, route: Route) -> Profile {
    let case = case(name, 2);
    let recorded = Arc::new(Recorded::new(case.job.clone()));
    measure(recorded.clone(), cut(2, route), SPEEDS[0].1);
    let profile = recorded.profile();
    let updates = |one: &Iteration| if route == Route::Fold { 0 } else { one.updates };
    let expected = case.iterations.iter().map(|one| Iteration { updates: updates(one), ..*one });
    assert_eq!(profile.iterations, expected.collect::<Vec<_>>(), "{name}, {route:?}");
    profile
}

/// Sizes alone take as long as contents.
fn compare(name: &'static str, route: Route, machines: &[usize]) {
    let profile = profile(name, route);
    for &machines in machines {
        let case = case(name, machines);
        for (bottleneck, speeds) in SPEEDS {
            let cut = cut(machines, route);
            let contents = measure(case.job.clone(), cut.clone(), speeds);
            let model = measure(Arc::new(sizes(machines, (&case, &profile))), cut, speeds);
            let ratio = model / contents;
            let what = format!("{name}, {route:?}, {bottleneck}, {machines} machines");
            println!("{what}: {contents:.1} ms, {model:.1}, {ratio:.3}");
            assert!((ratio - 1.0).abs() < DIFFERENCE_MAX, "{what}: {ratio}");
        }
    }
}

#[test]
fn sizes_alone_take_as_long_as_contents() {
    compare("PR", Route::Spill, &[1, 2, 4, 8]);
}

#[test]
fn so_they_do_where_values_and_updates_are_larger() {
    compare("BP", Route::Spill, &[1, 2, 4, 8]);
}

#[test]
fn so_they_do_where_signals_are_fetched() {
    compare("PR", Route::Fold, &[1, 2, 4, 8]);
}

/// Searches whose chunks are left out where no source is active.
#[test]
fn so_they_do_where_few_sources_are_active() {
    compare("BFS", Route::Spill, &[1, 4]);
    compare("BFS", Route::Fold, &[1, 4]);
    compare("SSSP", Route::Spill, &[1, 4]);
}

#[test]
fn so_they_do_where_edges_run_both_ways() {
    compare("WCC", Route::Spill, &[1, 4]);
    compare("MIS", Route::Spill, &[1, 4]);
}

/// Stealers of spanning trees hand over updates, which nothing merges.
#[test]
fn so_they_do_where_updates_are_not_merged() {
    compare("MCST", Route::Spill, &[1, 4]);
}

#[test]
fn so_they_do_in_several_phases() {
    compare("SCC", Route::Spill, &[1, 4]);
}

#[test]
fn so_they_do_in_one_iteration() {
    compare("Cond", Route::Spill, &[1, 4]);
    compare("SpMV", Route::Spill, &[1, 4]);
}

/// At 64 machines, which no graph is needed for: a graph that grows with them takes as long.
#[test]
fn many_machines_take_as_long_as_one_where_the_graph_grows_with_them() {
    let profile = profile("PR", Route::Spill);
    let job = case("PR", 1).job;
    let [one, many] = [1, 64].map(|machines| {
        let (edges, iterations) = (EDGES * machines as u64, vec![Iteration::FULL; 5]);
        let case = Case { job: job.clone(), edges, iterations };
        let sizes = Arc::new(sizes(machines, (&case, &profile)));
        let time = measure(sizes, cut(machines, Route::Spill), SPEEDS[0].1);
        println!("{machines} machines: {time:.1} ms");
        time
    });
    assert!(many < 1.3 * one, "{many} beside {one} ms");
}

/// Times of kernels count where a job has them, each for work of its kind.
#[test]
fn a_job_takes_the_times_of_its_kernels() {
    let (profile, case) = (profile("PR", Route::Spill), case("PR", 2));
    let speeds @ (_, [_, record]) = SPEEDS[0];
    let time = |times: Option<KernelTimes>| {
        let job = SizedJob { times, ..sizes(2, (&case, &profile)) };
        measure(Arc::new(job), cut(2, Route::Spill), speeds.1)
    };
    let (schedule, even) = (time(None), KernelTimes::even(record as f64));
    assert_eq!(time(Some(even)).to_bits(), schedule.to_bits(), "as many nanoseconds a record");
    for kind in WorkKind::ALL {
        let slower = time(Some(even.with(kind, 2.0 * record as f64)));
        if kind == WorkKind::Fold {
            assert_eq!(slower.to_bits(), schedule.to_bits(), "updates wait on this route");
        } else {
            assert!(slower > schedule, "{kind:?}: {slower}, not above {schedule}");
        }
    }
}

/// Iterations with few active vertices stream few edges, and make all their updates.
#[test]
fn chunks_without_an_active_source_are_left_out() {
    let (profile, case) = (profile("BFS", Route::Spill), case("BFS", 4));
    let time = |spares: bool| {
        let job = SizedJob { spares, ..sizes(4, (&case, &profile)) };
        measure(Arc::new(job), cut(4, Route::Spill), SPEEDS[1].1)
    };
    let [spared, all] = [true, false].map(time);
    assert!(spared < 0.95 * all, "{spared} beside {all} ms");
}
