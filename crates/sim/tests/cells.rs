//! Cells on route `fold`: machines ask for edges of active sources alone, and load the signals of
//! one source partition at a time, only where there are edges.

use std::collections::BTreeSet;
use std::sync::Arc;

use welter_algorithms::Bfs;
use welter_protocol::config::Route;
use welter_protocol::counters::Path;
use welter_protocol::partitions::Partitions;
use welter_sim::checkers::progress::End;
use welter_sim::job::Partitioning;
use welter_sim::kernel_job::KernelJob;
use welter_sim::schedule::Schedule;
use welter_sim::world::World;
use welter_store::header::Encoding;
use welter_testing::graph::Graph;

const MACHINES: usize = 4;
const VERTICES: u32 = 24;

/// A search along a path of 24 vertices in 4 partitions: one vertex is active in each iteration.
fn path() -> Schedule {
    let pairs = (1..VERTICES).map(|vertex| [vertex - 1, vertex]).collect();
    let graph = Graph::new(VERTICES as usize, pairs);
    let partitions = Partitions::fitting(MACHINES, u64::from(VERTICES), 1, 6);
    let cut = Partitioning {
        partitions: partitions.expect("a vertex fits"),
        route: Route::Fold,
        encoding: Encoding::Packed,
        chunk_records: 3,
        bin_chunks: 1,
        chunk_vertices: 4,
        piece_edges: 8,
        bins_open_max: u64::MAX,
        source_parts: 1,
        stripe_bits: 63,
        combines: false,
    };
    Schedule::calm(Arc::new(KernelJob::new("bfs", &graph, Bfs::new(vec![0]))), cut)
}

/// Text behind `what` in a line of the trace that has it.
fn said<'a>(trace: &'a [String], what: &'a str) -> impl Iterator<Item = &'a str> {
    trace.iter().filter_map(move |line| Some(line.split_once(what)?.1))
}

#[test]
fn only_cells_of_active_sources_are_asked_for_and_loaded() {
    let report = World::run(&path(), true);
    assert_eq!((report.failure, report.end), (None, End::Finished));
    let pulls: BTreeSet<&str> = said(&report.trace, ": pull Fold ").collect();
    for pull in &pulls {
        // "iteration (partition, source)"
        let numbers: Vec<u32> = pull
            .split(|letter: char| !letter.is_ascii_digit())
            .filter_map(|number| number.parse().ok())
            .collect();
        let [iteration, _, source] = numbers[..] else { panic!("{pull}") };
        assert_eq!(source, iteration / 6, "vertex {iteration} alone is active: {pull}");
    }
    assert_eq!(pulls.len(), VERTICES as usize * MACHINES, "all partitions ask: {pulls:?}");
    // Of the four cells of an active partition one or two have edges with an active source.
    let turns = said(&report.trace, "works: turn").count();
    assert!((23..60).contains(&turns), "{turns}");
    let skipped = report.counters.get(Path::Skipped);
    assert!(skipped >= 24 * 4 * 3, "{skipped}");
    assert!(report.counters.get(Path::NotLoaded) > 0);
}
