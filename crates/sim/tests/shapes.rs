//! A run that is started again on the disks of a cluster: of the same size it continues where that
//! stopped, of another one it reads its input again, or refuses.

use std::sync::Arc;

use welter_algorithms::Bfs;
use welter_protocol::config::{Loss, Route};
use welter_protocol::counters::Path;
use welter_protocol::messages::Exit;
use welter_protocol::partitions::Partitions;
use welter_protocol::random::Random;
use welter_sim::catalogue::graph;
use welter_sim::checkers::progress::End;
use welter_sim::job::Partitioning;
use welter_sim::kernel_job::KernelJob;
use welter_sim::schedule::{Before, MILLIS, Schedule};
use welter_sim::world::{Report, World};
use welter_store::header::Encoding;

fn schedule(machines: usize, loss: Loss) -> Schedule {
    let graph = graph(&mut Random::new(8), 90, 400);
    let vertices = graph.slots() as u64;
    let partitions = Partitions::fitting(machines, vertices, 1, vertices);
    let cut = Partitioning {
        partitions: partitions.expect("a vertex fits"),
        route: Route::Spill,
        encoding: Encoding::Packed,
        chunk_records: 8,
        bin_chunks: 1,
        chunk_vertices: 10,
        piece_edges: 50,
        bins_open_max: u64::MAX,
        source_parts: 1,
        stripe_bits: 63,
        combines: true,
    };
    let mut schedule =
        Schedule::calm(Arc::new(KernelJob::new("bfs", &graph, Bfs::new(vec![1]))), cut);
    Arc::make_mut(&mut schedule.config).loss = loss;
    schedule
}

/// A run on `machines` after one on four, whose power went after this time.
fn after(until: u64, machines: usize, loss: Loss) -> Report {
    let before = Before { schedule: Box::new(schedule(4, Loss::Reingest)), until };
    World::run(&Schedule { before: Some(before), ..schedule(machines, loss) }, false)
}

#[test]
fn the_same_size_goes_on_and_another_begins_anew_or_refuses() {
    let (begun, ended) = (6 * MILLIS, 1000 * MILLIS);
    for until in [begun, ended] {
        for machines in [1, 3, 4, 6] {
            for loss in [Loss::Reingest, Loss::Refuse] {
                let report = after(until, machines, loss);
                let what = format!("{machines} machines after {until} ns, {loss:?}");
                assert_eq!(report.failure, None, "{what}");
                let other = machines != 4;
                let expected = match loss {
                    Loss::Refuse if other => End::Exited(Exit::Reshaped),
                    _ => End::Finished,
                };
                assert_eq!(report.end, expected, "{what}");
                let paths = [Path::Reshaped, Path::WentBack].map(|path| report.counters.get(path));
                assert_eq!(paths.map(|times| times > 0), [other, !other], "{what}");
            }
        }
    }
}
