//! Edges that are rewritten: what a crash costs while they are, and where what they hold is lost.

use std::sync::Arc;

use welter_algorithms::bp::Potential;
use welter_algorithms::{LocalContraction, SumProduct};
use welter_model::edges::Reading;
use welter_protocol::config::{Copies, Loss, Route};
use welter_protocol::counters::Path;
use welter_protocol::partitions::Partitions;
use welter_protocol::placement::vertex_engine;
use welter_protocol::random::Random;
use welter_sim::catalogue::{graph, with_members};
use welter_sim::checkers::progress::End;
use welter_sim::contract_job::ContractJob;
use welter_sim::faults::Fault;
use welter_sim::job::{Job, Partitioning};
use welter_sim::kernel_job::KernelJob;
use welter_sim::schedule::{MILLIS, Schedule};
use welter_sim::world::{Report, World};
use welter_store::header::Encoding;
use welter_testing::graph::Graph;
use welter_testing::plain::components;
use welter_testing::reading::read_as;

const MACHINES: usize = 4;

/// Programs that rewrite edges: where they are, and at both ends.
#[derive(Clone, Copy, Debug)]
enum Program {
    SumProduct,
    Contraction,
}

const PROGRAMS: [Program; 2] = [Program::SumProduct, Program::Contraction];

impl Program {
    fn job(self) -> Arc<dyn Job> {
        match self {
            Self::SumProduct => {
                let graph = graph(&mut Random::new(4), 200, 1500);
                let both = Reading { undirected: true, ..Reading::default() };
                let graph = read_as(&graph, both);
                let potential = Potential::<2>::coupled(0.55).expect("a share");
                let program = SumProduct::<2, 1>::new(potential, 4, 0.0).expect("a potential");
                let vertices = graph.slots();
                let priors = (0..vertices).map(|vertex| [1.0, 1.0 + vertex as f64 / 50.0]);
                let program = program.with_priors(priors.collect());
                Arc::new(KernelJob::extended(1e-3, "sum-product", &graph, program))
            }
            Self::Contraction => {
                // A circle, which takes several rounds.
                let pairs = (0..200).map(|vertex| [vertex, (vertex + 1) % 200]).collect();
                let graph = Graph::new(200, pairs);
                let rows = components(&graph).into_iter().map(|label| vec![label as f64]);
                let program = LocalContraction::new(5);
                Arc::new(ContractJob::new("wcc", &with_members(&graph), program, rows.collect()))
            }
        }
    }
}

/// At least four iterations on four machines, with a crash in the third one where so wished.
fn run(program: Program, route: Route, copies: Copies, crash: Option<(&str, Fault)>) -> Report {
    let job = program.job();
    let vertices = job.vertices();
    let partitions = Partitions::fitting(MACHINES, vertices, 1, vertices.div_ceil(4));
    let cut = Partitioning {
        partitions: partitions.expect("a vertex fits"),
        route,
        encoding: Encoding::Packed,
        chunk_records: 50,
        bin_chunks: 1,
        chunk_vertices: 50,
        piece_edges: 500,
        bins_open_max: u64::MAX,
        source_parts: 1,
        stripe_bits: 63,
        combines: false,
    };
    let mut schedule = Schedule::calm(job, cut);
    let config = Arc::make_mut(&mut schedule.config);
    config.copies = copies;
    config.loss = Loss::Reingest;
    if let Some((when, fault)) = crash {
        let undisturbed = run(program, route, copies, None);
        let line = undisturbed.trace.iter().find(|line| line.contains(when)).expect("it begins");
        let millis = line.trim_start().split(' ').next().and_then(|at| at.parse().ok());
        let at: f64 = millis.expect("a time");
        schedule.faults.push(((at * 1e6) as u64 + MILLIS / 2, fault));
    }
    let report = World::run(&schedule, true);
    assert_eq!((&report.failure, report.end, report.judged), (&None, End::Finished, true));
    report
}

/// Both programs by both routes.
fn both() -> impl Iterator<Item = (Program, Route)> {
    let routes = [Route::Fold, Route::Spill];
    PROGRAMS.into_iter().flat_map(move |program| routes.map(|route| (program, route)))
}

/// The third iteration, as far as edges stream in it.
fn third(route: Route) -> &'static str {
    match route {
        Route::Fold => "begin Fold 2",
        Route::Spill => "begin Scatter 2",
    }
}

/// Number of times that a machine that did not crash began an iteration.
fn begun(report: &Report, what: &str) -> usize {
    let is_it = |rest: &str| !rest.starts_with(|next: char| next.is_ascii_digit());
    let begins = |line: &&String| line.contains(" 1#1 <- ") && line.split(what).skip(1).any(is_it);
    report.trace.iter().filter(begins).count()
}

fn crash(rank: usize, replaced: bool) -> Fault {
    Fault::Crash { rank, back_after: Some(MILLIS), replaced }
}

#[test]
fn a_crash_costs_the_iteration_in_which_edges_are_rewritten() {
    let cases = [(Copies::NONE, false), (Copies::BOTH, false), (Copies::BOTH, true)];
    for (program, route, (copies, replaced)) in
        both().flat_map(|(program, route)| cases.map(|case| (program, route, case)))
    {
        let report = run(program, route, copies, Some((third(route), crash(2, replaced))));
        let second = third(route).replace('2', "1");
        let counts = [third(route), &second].map(|what| begun(&report, what));
        assert_eq!(counts, [2, 1], "{program:?}, {route:?}, {copies:?}, {replaced}");
        let taken = |path| report.counters.get(path) > 0;
        assert!(!taken(Path::FellBack) && !taken(Path::EdgesReingested));
        assert_eq!(taken(Path::RestoredVertices), replaced);
        assert_eq!(taken(Path::RestoredEdges), replaced);
    }
}

#[test]
fn what_edges_hold_is_not_read_from_the_input() {
    // A machine that has edges, and no vertices.
    let has_some = |rank: &usize| {
        (0..MACHINES as u32).any(|partition| vertex_engine(MACHINES, partition, 0) == *rank)
    };
    let rank = (1..MACHINES).find(|rank| !has_some(rank)).expect("hashes are not even");
    for (program, route) in both() {
        let report = run(program, route, Copies::NONE, Some((third(route), crash(rank, true))));
        let paths = [Path::FellBack, Path::Restarted, Path::EdgesReingested];
        let expected = match program {
            // Neither of the two manifests that are kept has its edges, so all begins anew.
            Program::SumProduct => [2, 1, 0],
            // The first iteration rewrote nothing: the older manifest has edges of the input.
            Program::Contraction => [1, 0, 1],
        };
        assert_eq!(paths.map(|path| report.counters.get(path)), expected, "{route:?}");
        // In the first iteration edges hold nothing yet, and are read again.
        let first = third(route).replace('2', "0");
        let report = run(program, route, Copies::NONE, Some((&first, crash(rank, true))));
        assert_eq!(report.counters.get(Path::EdgesReingested), 1);
        assert_eq!(report.counters.get(Path::FellBack), 0);
    }
}
