//! Edges of more cells than bins may be open: binned by their destinations, then split by their
//! sources.

use std::sync::Arc;

use welter_algorithms::Bfs;
use welter_protocol::config::Route;
use welter_protocol::counters::Path;
use welter_protocol::partitions::Partitions;
use welter_protocol::random::Random;
use welter_protocol::steal::Bias;
use welter_sim::checkers::progress::End;
use welter_sim::job::Partitioning;
use welter_sim::kernel_job::KernelJob;
use welter_sim::schedule::Schedule;
use welter_sim::world::{Report, World};
use welter_store::header::Encoding;
use welter_testing::graph::Graph;

const MACHINES: usize = 4;
const PARTITIONS: u64 = 8;
const VERTICES: u64 = 64;
const EDGES: usize = 4000;

/// A search on four machines of two partitions each, whose edges lead to vertices below a bound.
fn run(targets: u64, bins_open_max: u64, bias: Bias) -> Report {
    let random = &mut Random::new(3);
    let pair = |_| [random.below(VERTICES) as u32, random.below(targets) as u32];
    let graph = Graph::new(VERTICES as usize, (0..EDGES).map(pair).collect());
    let partitions = Partitions::fitting(MACHINES, VERTICES, 1, VERTICES / PARTITIONS);
    let cut = Partitioning {
        partitions: partitions.expect("a vertex fits"),
        route: Route::Fold,
        encoding: Encoding::Packed,
        chunk_records: 10,
        bin_chunks: 1,
        chunk_vertices: 4,
        piece_edges: 100,
        bins_open_max,
        source_parts: 1,
        stripe_bits: 63,
        combines: false,
    };
    let mut schedule =
        Schedule::calm(Arc::new(KernelJob::new("bfs", &graph, Bfs::new(vec![0]))), cut);
    Arc::make_mut(&mut schedule.config).bias = bias;
    let report = World::run(&schedule, true);
    assert_eq!((&report.failure, report.end), (&None, End::Finished));
    report
}

/// Lines of the trace that have this text.
fn lines(report: &Report, text: &str) -> usize {
    report.trace.iter().filter(|line| line.contains(text)).count()
}

#[test]
fn edges_are_split_where_there_are_more_cells_than_bins() {
    let cells = PARTITIONS * PARTITIONS;
    for (bins_open_max, splits) in [(0, true), (cells - 1, true), (cells, false)] {
        let report = run(VERTICES, bins_open_max, Bias::PAPER);
        assert_eq!(lines(&report, "begin Split 0") > 0, splits, "{bins_open_max} bins");
        assert_eq!(report.counters.get(Path::Split) > 0, splits, "{bins_open_max} bins");
        // One after the ingest, of what was split, and none before.
        assert_eq!(lines(&report, "persists version 0"), 1, "{bins_open_max} bins");
    }
}

#[test]
fn partitions_with_many_edges_are_split_by_all() {
    // All edges lead to partition 0, whose master would split them alone.
    let alone = run(VERTICES / PARTITIONS, 1, Bias::NEVER);
    let helped = run(VERTICES / PARTITIONS, 1, Bias::PAPER);
    // On this route nothing else is stored by who streams it.
    assert_eq!(alone.counters.get(Path::StolenScatter), 0);
    assert!(helped.counters.get(Path::StolenScatter) > 0);
    assert!(helped.time < alone.time, "{} and {}", helped.time, alone.time);
}
