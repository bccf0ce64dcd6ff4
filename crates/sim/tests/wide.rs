//! Clusters whose vertices have numbers beyond 2^32: answers are those of the same graph with small
//! numbers, by both routes, also where edges are split and where a machine loses its disk.
//!
//! Numbers lie at both sides of where 31 and 32 bits end, and far beyond, with none between: what
//! is kept for a vertex is kept whatever its number.

use std::ops::Range;
use std::sync::Arc;

use welter_algorithms::pagerank::Dangling;
use welter_algorithms::{Bfs, KCore, PageRank, Sssp};
use welter_model::edges::Reading;
use welter_model::group::Grouped;
use welter_protocol::config::{Copies, Loss, Route};
use welter_protocol::counters::Path;
use welter_protocol::partitions::Partitions;
use welter_protocol::random::Random;
use welter_sim::checkers::progress::End;
use welter_sim::faults::Fault;
use welter_sim::job::{Job, Partitioning};
use welter_sim::kernel_job::KernelJob;
use welter_sim::schedule::Schedule;
use welter_sim::world::{Report, World};
use welter_store::header::Encoding;
use welter_testing::graph::Graph;
use welter_testing::reading::read_as;

const MACHINES: usize = 4;
const MILLIS: u64 = 1_000_000;

/// Eight partitions of up to 14 vertices, the third of which begins at this number.
fn ranges(third: u64) -> [Range<u64>; 8] {
    let far = 3_u64 << 32;
    [
        0..9,
        (1 << 31) - 5..(1 << 31) + 7,
        third..third + 10,
        third + 10..third + 12,
        far - 7..far + 7,
        far + 9..far + 9,
        (1 << 40) - 3..(1 << 40) + 10,
        (1 << 50) + 1..(1 << 50) + 12,
    ]
}

/// The numbers, and a graph with as many slots and a hub.
fn graph(third: u64) -> (Vec<u64>, Graph) {
    let numbers: Vec<u64> = ranges(third).into_iter().flatten().collect();
    let (random, count) = (&mut Random::new(third), numbers.len() as u64);
    let mut end = || {
        let hub = if random.chance(200) { 1 } else { count };
        (random.below(count) / (1 + random.below(3)) % hub) as u32
    };
    let pairs: Vec<[u32; 2]> = (0..400).map(|_| [end(), end()]).collect();
    let weights = (0..pairs.len()).map(|edge| 1.0 + (edge * 7 % 31) as f64).collect();
    let graph = Graph { weights: Some(weights), ..Graph::new(numbers.len(), pairs) };
    (numbers, graph)
}

/// A way through the protocol: a route, bins that may be open, whether updates are combined.
type Setup = (Route, u64, bool);

const WAYS: [Setup; 4] = [
    (Route::Fold, u64::MAX, false),
    (Route::Fold, 1, false),
    (Route::Spill, u64::MAX, false),
    (Route::Spill, 1, true),
];

fn schedule(job: Arc<dyn Job>, third: u64, (route, bins_open_max, combines): Setup) -> Schedule {
    let cut = Partitioning {
        partitions: Partitions::of_ranges(MACHINES, &ranges(third)).expect("they ascend"),
        route,
        encoding: Encoding::Packed,
        chunk_records: 9,
        bin_chunks: 1,
        chunk_vertices: 5,
        piece_edges: 30,
        bins_open_max,
        source_parts: 4,
        stripe_bits: 63,
        combines,
    };
    Schedule::calm(job, cut)
}

/// Runs a schedule, whose answer is compared with the interpreter's.
fn run(schedule: &Schedule) -> Report {
    let report = World::run(schedule, true);
    assert_eq!((&report.failure, report.end), (&None, End::Finished));
    assert!(report.judged);
    report
}

/// Programs whose values are no vertices.
fn jobs(third: u64) -> Vec<Arc<dyn Job>> {
    let (numbers, graph) = graph(third);
    let both = read_as(&graph, Reading { undirected: true, ..Reading::default() });
    let (slot, count) = (numbers.len() - 3, numbers.len() as u64);
    let start = |number: u64| vec![number];
    let bfs = |number| Bfs::new(start(number));
    let sssp = |number| Sssp::<f64>::new(start(number), f64::INFINITY);
    let ranks = PageRank::<f64>::new(count, 0.85, 4, 0.0, Dangling::Spread);
    let (here, there) = (slot as u64, numbers[slot]);
    let of = (&graph, &numbers[..]);
    vec![
        Arc::new(KernelJob::renumbered("bfs", of, bfs(there), &bfs(here))),
        Arc::new(KernelJob::renumbered("sssp", of, sssp(there), &sssp(here))),
        Arc::new(KernelJob::renumbered("pagerank", of, ranks, &ranks)),
        Arc::new(KernelJob::renumbered(
            "kcore",
            (&both, &numbers),
            Grouped(KCore),
            &Grouped(KCore),
        )),
    ]
}

#[test]
fn answers_beyond_32_bits_are_those_of_small_numbers() {
    for third in [(1 << 32) - 1, 1 << 32, (1 << 32) + 1] {
        for job in jobs(third) {
            for way in WAYS {
                let report = run(&schedule(job.clone(), third, way));
                let is_split = way == WAYS[1];
                assert_eq!(report.counters.get(Path::Split) > 0, is_split, "{way:?}");
            }
        }
    }
}

#[test]
fn edges_that_are_lost_are_read_again_beyond_32_bits() {
    let third = (1 << 32) - 1;
    for job in jobs(third) {
        for way in WAYS {
            let mut schedule = schedule(job.clone(), third, way);
            let config = Arc::make_mut(&mut schedule.config);
            (config.copies, config.loss) = (Copies::VERTICES, Loss::Reingest);
            let calm = run(&schedule);
            let lost = Fault::Crash { rank: 2, back_after: Some(MILLIS), replaced: true };
            schedule.faults.push((calm.time / 2, lost));
            let report = run(&schedule);
            let again = [Path::EdgesReingested, Path::Restarted];
            let again = again.map(|path| report.counters.get(path));
            assert!(again.iter().sum::<u64>() > 0, "{way:?}");
        }
    }
}
