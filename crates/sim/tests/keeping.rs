//! Updates that nothing merges, of which machines keep few in memory: the reference's answer, with
//! faults and with help, and no more in memory than the configuration says.

use std::sync::Arc;

use welter_algorithms::Cdlp;
use welter_model::edges::Reading;
use welter_model::group::Grouped;
use welter_protocol::config::Route;
use welter_protocol::counters::Path;
use welter_protocol::partitions::Partitions;
use welter_protocol::planted::Bug;
use welter_protocol::random::Random;
use welter_protocol::steal::Bias;
use welter_sim::checkers::progress::End;
use welter_sim::job::{Job, Partitioning};
use welter_sim::kernel_job::KernelJob;
use welter_sim::schedule::{Overrides, Schedule};
use welter_sim::world::World;
use welter_store::header::Encoding;
use welter_testing::graph::Graph;
use welter_testing::reading::read_as;

/// Programs of each kind that keeps updates: groups, states of edges, and accumulators that know
/// whom they are of.
const ALGORITHMS: [&str; 4] = ["cdlp", "kcore", "sum-product", "forest-labels"];

#[test]
fn few_updates_in_memory_change_no_answer() {
    let (mut runs, mut finished, mut helped) = (0, 0, 0);
    for (place, algorithm) in (0..).zip(ALGORITHMS) {
        for route in [Route::Fold, Route::Spill] {
            for seed in 0..60 {
                let overrides = Overrides {
                    algorithm: Some(algorithm),
                    route: Some(route),
                    machines: Some(1 + seed as usize % 4),
                    ..Overrides::default()
                };
                let seed = seed + 1000 * place;
                let schedule = Schedule::of(seed, &overrides);
                if schedule.config.kept_updates_max == u64::MAX {
                    continue;
                }
                let report = World::run(&schedule, false);
                assert_eq!(report.failure, None, "{algorithm} {route:?}, seed {seed}");
                runs += 1;
                finished += u32::from(report.end == End::Finished);
                helped += u32::from(report.counters.get(Path::StolenGather) > 0);
            }
        }
    }
    assert!(runs > 150 && 2 * finished > runs && helped > 10, "{runs}, {finished}, {helped}");
}

/// Communities on four machines, one of which has a partition with 10,000 updates at a time, and
/// room for 256 of them.
fn schedule(route: Route) -> Schedule {
    const VERTICES: u64 = 400;
    let random = &mut Random::new(1);
    let mut end = |vertices| random.below(vertices) as u32;
    // All edges have an end in the first partition, so its machine is the last one.
    let pairs = (0..8_000).map(|_| [end(VERTICES / 4), end(VERTICES)]).collect();
    let graph = Graph::new(VERTICES as usize, pairs);
    let both = read_as(&graph, Reading { undirected: true, ..Reading::default() });
    let job = KernelJob::new("cdlp", &both, Grouped(Cdlp::new(3)));
    let most = job.updates_of_one_max().expect("groups are kept").next_power_of_two();
    let cut = Partitioning {
        partitions: Partitions::fitting(4, VERTICES, 1, VERTICES).expect("a vertex fits"),
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
    let mut schedule = Schedule::calm(Arc::new(job), cut);
    let config = Arc::make_mut(&mut schedule.config);
    (config.kept_updates_max, config.bias) = (most, Bias::Always);
    assert!(most <= 256, "{most}");
    schedule
}

#[test]
fn machines_that_help_leave_chunks_to_others() {
    for route in [Route::Fold, Route::Spill] {
        let mut schedule = schedule(route);
        let report = World::run(&schedule, false);
        assert_eq!((report.failure, report.end), (None, End::Finished), "{route:?}");
        assert!(report.counters.get(Path::StolenGather) > 0, "machines help, {route:?}");
        // So there are more updates than have room.
        Arc::make_mut(&mut schedule.config).planted = Some(Bug::KeptUnbounded);
        let report = World::run(&schedule, false);
        let found = report.failure.unwrap_or_default();
        assert!(found.contains("updates in memory, more than"), "{route:?}: {found}");
    }
}
