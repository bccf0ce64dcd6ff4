//! Components of graphs that are long, by contraction: few iterations, a graph that becomes smaller
//! while they run, and no machine that holds more than its share (`checkers::shares` looks on).

use std::sync::Arc;

use welter_algorithms::{LocalContraction, StrongContraction, StrongLabels};
use welter_model::edges::{Duplicates, Reading};
use welter_protocol::config::Route;
use welter_protocol::counters::Path;
use welter_protocol::partitions::Partitions;
use welter_sim::catalogue::with_members;
use welter_sim::checkers::progress::End;
use welter_sim::contract_job::ContractJob;
use welter_sim::job::{Job, Partitioning};
use welter_sim::kernel_job::KernelJob;
use welter_sim::schedule::Schedule;
use welter_sim::world::{Report, World};
use welter_store::header::Encoding;
use welter_testing::graph::Graph;
use welter_testing::interpreter::interpret_contract;
use welter_testing::plain::{components, strong_components};
use welter_testing::reading::read_as;

const MACHINES: usize = 4;

/// A grid of rows and columns.
fn grid(rows: u32, columns: u32) -> Graph {
    let mut pairs = Vec::new();
    for at in 0..rows * columns {
        pairs.extend(((at + 1) % columns > 0).then_some([at, at + 1]));
        pairs.extend((at / columns + 1 < rows).then_some([at, at + columns]));
    }
    Graph::new((rows * columns) as usize, pairs)
}

/// Components of a grid.
fn run(rows: u32, columns: u32, route: Route, bins_open_max: u64) -> Report {
    let graph = grid(rows, columns);
    let rows = components(&graph).into_iter().map(|label| vec![label as f64]).collect();
    let read = with_members(&graph);
    let iterations = interpret_contract(&read, &LocalContraction::new(1)).iterations;
    assert!(iterations <= 31, "labels would take thousands on a path, not {iterations}");
    let job = ContractJob::new("wcc", &read, LocalContraction::new(1), rows);
    run_job(Arc::new(job), route, (bins_open_max, 200))
}

/// A job on four machines of two partitions each.
fn run_job(job: Arc<dyn Job>, route: Route, (bins_open_max, chunk_records): (u64, u32)) -> Report {
    let vertices = job.vertices();
    let partitions = Partitions::fitting(MACHINES, vertices, 1, vertices.div_ceil(8));
    let cut = Partitioning {
        partitions: partitions.expect("a vertex fits"),
        route,
        encoding: Encoding::Packed,
        chunk_records,
        bin_chunks: 1,
        chunk_vertices: 100,
        piece_edges: 1000,
        bins_open_max,
        source_parts: 1,
        stripe_bits: 63,
        combines: false,
    };
    let schedule = Schedule { record_nanos: 100, ..Schedule::calm(job, cut) };
    let report = World::run(&schedule, false);
    assert_eq!((&report.failure, report.end, report.judged), (&None, End::Finished, true));
    report
}

#[test]
fn long_graphs_take_few_iterations_by_both_routes() {
    for (rows, columns) in [(1, 3000), (50, 60)] {
        for route in [Route::Fold, Route::Spill] {
            let report = run(rows, columns, route, u64::MAX);
            assert!(report.counters.get(Path::Moved) > 0, "edges go to other partitions");
        }
    }
}

#[test]
fn bins_hold_what_may_be_open_and_chunks_are_smaller_then() {
    for route in [Route::Fold, Route::Spill] {
        let [few, many] =
            [1, u64::MAX].map(|bins| run(50, 60, route, bins).counters.get(Path::Contracted));
        assert!(few >= many, "{few} chunks from few bins, {many} from many");
    }
}

/// A component of most vertices, with eight edges each, that leads to a chain of small
/// circles; numbers are in no order.
fn giant() -> Graph {
    let (count, large, small) = (4001, 3841, 4);
    let at = |place: u32| place * 1237 % count;
    let mut pairs = Vec::new();
    for place in 0..large {
        let step = |step| [at(place), at((place + step) % large)];
        pairs.extend([1, 2, 5, 17, 60, 211, 777, 1499].map(step));
    }
    for first in (large..count).step_by(small) {
        let step = |place| [at(first + place), at(first + (place + 1) % small as u32)];
        pairs.extend((0..small as u32).map(step));
        pairs.push([at(first - 1), at(first)]);
    }
    Graph::new(count as usize, pairs)
}

#[test]
fn edges_of_strong_components_are_dropped() {
    let graph = giant();
    let rows = || strong_components(&graph).into_iter().map(|root| vec![root as f64]).collect();
    let duplicates = Duplicates::Directions;
    let read = read_as(&graph, Reading { duplicates, ..Reading::default() });
    for route in [Route::Fold, Route::Spill] {
        let contraction = ContractJob::new("scc", &read, StrongContraction, rows());
        let labels = KernelJob::listed("strong-labels", &read, StrongLabels, rows());
        let jobs: [Arc<dyn Job>; 2] = [Arc::new(contraction), Arc::new(labels)];
        let [parts, all] = jobs.map(|job| run_job(job, route, (u64::MAX, 5000)));
        let [kept, rewritten] =
            [Path::NotRewritten, Path::Contracted].map(|path| parts.counters.get(path));
        assert!(kept > 0 && rewritten > 0, "{kept} iterations keep edges, {rewritten} chunks");
        // By `spill` sources are loaded by cells, which labels do without: that outweighs it here.
        if route == Route::Fold {
            let [fewer, more] = [&parts, &all].map(|report| report.bytes.iter().sum::<u64>());
            assert!(fewer < more, "{fewer} bytes, {more} where edges stay");
            assert!(parts.time < all.time, "{} ns, not {}", parts.time, all.time);
        }
    }
}
