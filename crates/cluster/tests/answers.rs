//! Clusters of 1, 2 and 4 machines, as threads with folders and sockets of their own, on all
//! routes: the reference's answer.

mod common;

use std::sync::Arc;

use tempfile::TempDir;
use welter_cluster::{ClusterError, Codecs, CompressedWorker, MakeTask, Run, Task, Threads};
use welter_protocol::Config;
use welter_protocol::config::Route;
use welter_protocol::failure::Exit;
use welter_store::frame::Compression;

use common::{Exchange, communities, graph, job};
use welter_cluster::send::Transport;

/// All exchanges of updates. Rows of triangles have no place on the first.
const EXCHANGES: [Exchange; 9] = [
    Exchange::Chunks(Route::Fold),
    Exchange::Chunks(Route::Spill),
    Exchange::Messages(Transport::Tcp, 1, 0),
    Exchange::Messages(Transport::Tcp, 2, 0),
    Exchange::Messages(Transport::Udp, 2, 0),
    Exchange::Messages(Transport::Shared, 2, 0),
    Exchange::Messages(Transport::Tcp, 3, 2),
    Exchange::Messages(Transport::Udp, 2, 1),
    Exchange::Messages(Transport::Shared, 2, 1),
];

/// A job on clusters of all sizes, on these routes.
fn everywhere(name: &str, exchanges: &[Exchange]) {
    for (seed, machines) in (1..).zip([1, 2, 4]) {
        let graph = graph(seed, 300, 4000);
        for &exchange in exchanges {
            let directory = TempDir::new().expect("there is a place for it");
            let job = job(name, &graph, machines, exchange);
            let mut host = Threads::new(job.run.clone(), directory.path(), job.workers());
            let finished = job.check(&mut host);
            assert_eq!(finished.restarts, 0, "{name} {exchange:?} on {machines}");
        }
    }
}

#[test]
fn pagerank() {
    everywhere("pagerank", &EXCHANGES);
}

#[test]
fn any_number_of_threads() {
    for name in ["pagerank", "bfs", "labels", "communities"] {
        for route in [Route::Fold, Route::Spill] {
            for (seed, streams) in (5..).zip([1, 2, 4, 7]) {
                let directory = TempDir::new().expect("there is a place for it");
                let job = job(name, &graph(seed, 300, 4000), 2, route);
                let config = Config { streams, ..Config::clone(&job.run.config) };
                let run = Run { config: Arc::new(config), ..job.run.clone() };
                assert_eq!(run.digest(), job.run.digest(), "it is a machine's own matter");
                let mut host = Threads::new(run, directory.path(), job.workers());
                let finished = job.check(&mut host);
                assert_eq!(finished.restarts, 0, "{name} {route:?}, {streams} threads");
            }
        }
    }
}

#[test]
fn breadth_first_search() {
    everywhere("bfs", &EXCHANGES);
}

#[test]
fn components_by_labels() {
    everywhere("labels", &EXCHANGES);
}

/// On the first two the hubs have some five hundred neighbours each, and their partition more
/// updates than the thousand that have room.
#[test]
fn communities_beside_memory() {
    everywhere("communities", &EXCHANGES);
}

#[test]
fn updates_of_a_vertex_without_room_end_the_run() {
    for route in [Route::Fold, Route::Spill] {
        let directory = TempDir::new().expect("there is a place for it");
        let job = communities(1 << 8, &graph(2, 300, 4000), 2, route);
        let mut host = Threads::new(job.run.clone(), directory.path(), job.workers());
        match job.end(&mut host) {
            Err(ClusterError::Failed(failure)) => {
                assert_eq!(failure.why, Exit::Budget, "{}", failure.what);
                assert!(failure.what.contains("neighbours say to one vertex"), "{}", failure.what);
            }
            ended => panic!("{route:?}: {ended:?}"),
        }
    }
}

#[test]
fn edges_with_states() {
    everywhere("extended", &EXCHANGES);
}

#[test]
fn triangles_and_clustering() {
    for name in ["triangles", "lcc"] {
        everywhere(name, &EXCHANGES[1..]);
    }
}

#[test]
fn components_by_contraction() {
    everywhere("contraction", &[Route::Fold, Route::Spill].map(Exchange::from));
}

/// Machines have one codec each, or none.
#[test]
fn chunks_that_are_compressed_are_those_of_the_job() {
    let codecs = |rank: usize| Codecs::Stated(Compression::ALL[(rank + 4) % 5]);
    for name in ["pagerank", "labels", "communities", "contraction"] {
        for route in [Route::Fold, Route::Spill] {
            let directory = TempDir::new().expect("there is a place for it");
            let job = job(name, &graph(3, 300, 4000), 4, route);
            let mut make = job.workers();
            let compressed: MakeTask = Box::new(move |rank| {
                Ok(match make(rank)? {
                    Task::Chunks(worker) => {
                        let worker = CompressedWorker::new(worker, codecs(rank), None);
                        Task::Chunks(Box::new(worker))
                    }
                    task @ Task::Messages(_) => task,
                })
            });
            let mut host = Threads::new(job.run.clone(), directory.path(), compressed);
            let finished = job.check(&mut host);
            assert_eq!(finished.restarts, 0, "{name} {route:?}");
        }
    }
}

#[test]
fn graphs_without_edges_and_with_few_vertices() {
    for (vertices, edges) in [(1, 0), (1, 3), (3, 2), (40, 0)] {
        let graph = graph(1, vertices, edges);
        for exchange in EXCHANGES {
            for name in ["pagerank", "extended", "triangles", "lcc"] {
                let rows = name == "triangles" || name == "lcc";
                if rows && matches!(exchange, Exchange::Chunks(Route::Fold)) {
                    continue;
                }
                let directory = TempDir::new().expect("there is a place for it");
                let job = job(name, &graph, 4, exchange);
                let mut host = Threads::new(job.run.clone(), directory.path(), job.workers());
                job.check(&mut host);
            }
        }
    }
}

#[test]
fn disks_of_a_cluster_are_filled_evenly() {
    let machines = 4;
    let graph = graph(1, 300, 40_000);
    let directory = TempDir::new().expect("there is a place for it");
    let job = job("bfs", &graph, machines, Route::Spill);
    let mut host = Threads::new(job.run.clone(), directory.path(), job.workers());
    job.check(&mut host);
    let (mut chunks, mut most) = (0, 0);
    let mut bytes_of = |rank: usize| -> u64 {
        let blocks = directory.path().join(format!("machine-{rank}")).join("blocks");
        let blocks = std::fs::read_dir(&blocks).expect("machines have a folder each");
        let blocks = blocks.map(|block| block.expect("it can be read"));
        let edges = blocks.filter(|it| it.file_name().to_string_lossy().starts_with("edges-"));
        let sizes = edges.map(|it| it.metadata().expect("it is there").len());
        sizes.inspect(|bytes| (chunks, most) = (chunks + 1, (*bytes).max(most))).sum()
    };
    let disks: Vec<u64> = (0..machines).map(&mut bytes_of).collect();
    // Each machine levels what it sends up to a chunk.
    let spread = disks.iter().max().expect("four") - disks.iter().min().expect("four");
    assert!(chunks > 200, "{chunks} chunks");
    assert!(spread <= machines as u64 * most, "{disks:?}, chunks of up to {most}");
}
