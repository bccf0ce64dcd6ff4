//! Chunks that are kept twice, and what the loss of one disk costs in each of the four settings;
//! and what a damaged manifest costs.

use std::sync::Arc;

use welter_algorithms::PageRank;
use welter_algorithms::pagerank::Dangling;
use welter_protocol::Rank;
use welter_protocol::config::{Copies, Loss, Route};
use welter_protocol::counters::Path;
use welter_protocol::partitions::Partitions;
use welter_protocol::placement::vertex_engine;
use welter_protocol::random::Random;
use welter_sim::catalogue::graph;
use welter_sim::checkers::progress::End;
use welter_sim::faults::Fault;
use welter_sim::job::Partitioning;
use welter_sim::kernel_job::KernelJob;
use welter_sim::schedule::{MILLIS, Schedule};
use welter_sim::world::{Report, World};
use welter_store::header::Encoding;

/// Three iterations, with faults some time after the third has begun.
fn run(machines: usize, route: Route, copies: Copies, faults: &[Fault]) -> Report {
    let graph = graph(&mut Random::new(4), 200, 8000);
    let vertices = graph.slots() as u64;
    let each = vertices.div_ceil(machines as u64);
    let cut = Partitioning {
        partitions: Partitions::fitting(machines, vertices, 1, each).expect("a vertex fits"),
        route,
        encoding: Encoding::Compressed,
        chunk_records: 50,
        bin_chunks: 1,
        chunk_vertices: each,
        piece_edges: 500,
        bins_open_max: u64::MAX,
        source_parts: 1,
        stripe_bits: 63,
        combines: false,
    };
    let program = PageRank::<f64>::new(vertices, 0.85, 3, 0.0, Dangling::Spread);
    let job = Arc::new(KernelJob::new("pagerank", &graph, program));
    let mut schedule = Schedule::calm(job, cut);
    let config = Arc::make_mut(&mut schedule.config);
    (config.copies, config.loss) = (copies, Loss::Reingest);
    if !faults.is_empty() {
        let undisturbed = run(machines, route, copies, &[]);
        let begins = |line: &&String| line.contains("works: open") && line.ends_with(" 2");
        let line = undisturbed.trace.iter().find(begins).expect("a third iteration begins");
        let millis = line.trim_start().split(' ').next().and_then(|at| at.parse::<f64>().ok());
        let at = (millis.expect("a time") * 1e6) as u64 + MILLIS;
        schedule.faults.extend(faults.iter().map(|fault| (at, *fault)));
    }
    let report = World::run(&schedule, true);
    assert_eq!((&report.failure, report.end, report.judged), (&None, End::Finished, true));
    report
}

/// Whether edges were read again, edges and vertices were restored, and a run began anew.
fn way_back(machines: usize, route: Route, copies: Copies, rank: Rank) -> [bool; 4] {
    let lost = Fault::Crash { rank, back_after: Some(MILLIS), replaced: true };
    let report = run(machines, route, copies, &[lost]);
    let taken = |path| report.counters.get(path) > 0;
    [
        taken(Path::EdgesReingested),
        taken(Path::RestoredEdges),
        taken(Path::RestoredVertices),
        taken(Path::Restarted),
    ]
}

/// Of four machines one that has chunks of vertex sets, and one that has none.
fn ranks() -> [Rank; 2] {
    let has_some = |rank: &Rank| (0..4).any(|partition| vertex_engine(4, partition, 0) == *rank);
    let with = (1..4).find(has_some).expect("a machine has them");
    let without = (1..4).find(|rank| !has_some(rank)).expect("hashes are not even");
    [with, without]
}

#[test]
fn what_is_kept_twice_is_restored_and_edges_are_read_again_otherwise() {
    let [with, without] = ranks();
    for route in [Route::Spill, Route::Fold] {
        // Edges read again, edges restored, vertices restored, begun anew.
        for (copies, expected) in [
            (Copies::BOTH, [false, true, true, false]),
            (Copies::VERTICES, [true, false, true, false]),
            // Both manifests that are kept lack vertices, so edges are of no use.
            (Copies::EDGES, [false, true, false, true]),
            (Copies::NONE, [false, false, false, true]),
        ] {
            assert_eq!(way_back(4, route, copies, with), expected, "{route:?}, {copies:?}");
        }
        for (copies, edges_again) in [(Copies::EDGES, false), (Copies::NONE, true)] {
            let [again, restored, _, anew] = way_back(4, route, copies, without);
            let found = [again, restored, anew];
            assert_eq!(found, [edges_again, !edges_again, false], "{route:?}, {copies:?}");
        }
    }
}

#[test]
fn a_damaged_manifest_is_seen_and_the_one_before_is_taken() {
    let crash = Fault::Crash { rank: 0, back_after: Some(MILLIS), replaced: false };
    for (faults, version) in [(&[crash][..], 2), (&[Fault::RotManifest(0), crash], 1)] {
        let report = run(1, Route::Spill, Copies::NONE, faults);
        assert_eq!(report.counters.get(Path::ManifestDamaged), faults.len() as u64 - 1);
        assert_eq!(report.counters.get(Path::WentBack), 1);
        let begins = format!("open 0 in Scatter {version}");
        let opened = report.trace.iter().filter(|line| line.contains(&begins)).count();
        assert_eq!(opened, 2, "version {version} is what it goes back to");
    }
}
