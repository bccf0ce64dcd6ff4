//! Components of graphs that are long, by contraction: few iterations, a graph that becomes smaller
//! while they run, and no machine that holds more than its share (`checkers::shares` looks on).

use std::sync::Arc;

use welter_algorithms::LocalContraction;
use welter_protocol::config::Route;
use welter_protocol::counters::Path;
use welter_protocol::partitions::Partitions;
use welter_sim::catalogue::with_members;
use welter_sim::checkers::progress::End;
use welter_sim::contract_job::ContractJob;
use welter_sim::job::Partitioning;
use welter_sim::schedule::Schedule;
use welter_sim::world::{Report, World};
use welter_store::header::Encoding;
use welter_testing::graph::Graph;
use welter_testing::interpreter::interpret_contract;
use welter_testing::plain::components;

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

/// Components of a grid on four machines of two partitions each.
fn run(rows: u32, columns: u32, route: Route, bins_open_max: u64) -> Report {
    let graph = grid(rows, columns);
    let vertices = graph.slots() as u64;
    let partitions = Partitions::fitting(MACHINES, vertices, 1, vertices.div_ceil(8));
    let cut = Partitioning {
        partitions: partitions.expect("a vertex fits"),
        route,
        encoding: Encoding::Packed,
        chunk_records: 200,
        chunk_vertices: 100,
        piece_edges: 1000,
        bins_open_max,
        source_parts: 1,
        combines: false,
    };
    let rows = components(&graph).into_iter().map(|label| vec![label as f64]).collect();
    let read = with_members(&graph);
    let iterations = interpret_contract(&read, &LocalContraction::new(1)).iterations;
    assert!(iterations <= 31, "labels would take thousands on a path, not {iterations}");
    let job = ContractJob::new("wcc", &read, LocalContraction::new(1), rows);
    let report = World::run(&Schedule::calm(Arc::new(job), cut), false);
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
