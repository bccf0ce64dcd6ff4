//! Clusters of 1, 2 and 4 machines, as threads with folders and sockets of their own, on all
//! routes: the reference's answer.

mod common;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use welter_cluster::host::Started;
use welter_cluster::{
    ClusterError, Codecs, CompressedWorker, Host, IterationsMoved, MakeTask, Parts, Reported, Run,
    Task, Threads,
};
use welter_protocol::checkpoint::Manifest;
use welter_protocol::config::Route;
use welter_protocol::failure::Exit;
use welter_protocol::placement::Placement;
use welter_protocol::steal::Bias;
use welter_protocol::{Config, Rank};
use welter_store::frame::Compression;

use common::{Exchange, Job, communities, graph, job};
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

/// Bytes of each block of edges on the disk of a rank.
fn edge_blocks(directory: &Path, rank: Rank) -> Vec<u64> {
    let blocks = directory.join(format!("machine-{rank}")).join("blocks");
    let blocks = std::fs::read_dir(&blocks).expect("machines have a folder each");
    let blocks = blocks.map(|block| block.expect("it can be read"));
    let edges = blocks.filter(|it| it.file_name().to_string_lossy().starts_with("edges-"));
    edges.map(|it| it.metadata().expect("it is there").len()).collect()
}

#[test]
fn disks_of_a_cluster_are_filled_evenly() {
    let machines = 4;
    let graph = graph(1, 300, 40_000);
    let directory = TempDir::new().expect("there is a place for it");
    let job = job("bfs", &graph, machines, Route::Spill);
    let mut host = Threads::new(job.run.clone(), directory.path(), job.workers());
    job.check(&mut host);
    let blocks = (0..machines).map(|rank| edge_blocks(directory.path(), rank));
    let blocks: Vec<Vec<u64>> = blocks.collect();
    let (chunks, most) = (blocks.concat().len(), blocks.concat().into_iter().max());
    let disks: Vec<u64> = blocks.iter().map(|sizes| sizes.iter().sum()).collect();
    // Each machine levels what it sends up to a chunk.
    let spread = disks.iter().max().expect("four") - disks.iter().min().expect("four");
    let most = most.expect("there are some");
    assert!(chunks > 200, "{chunks} chunks");
    assert!(spread <= machines as u64 * most, "{disks:?}, chunks of up to {most}");
}

/// The job of machines that place chunks so.
fn placing(mut job: Job, placement: &Placement) -> Job {
    let placement = placement.clone();
    job.run.config = Arc::new(Config { placement, ..Config::clone(&job.run.config) });
    job
}

/// Machines that have a host, and with it a configuration, each.
struct MixedHost(Vec<Threads>);

impl Host for MixedHost {
    fn start(&mut self, rank: Rank, above: u32) -> Result<Started, ClusterError> {
        self.0[rank].start(rank, above)
    }

    fn locate(&mut self, rank: Rank, peer: Rank, address: SocketAddr) -> Result<(), ClusterError> {
        self.0[rank].locate(rank, peer, address)
    }

    fn next(&mut self, wait: Duration) -> Option<Reported> {
        let wait = wait / self.0.len() as u32;
        self.0.iter_mut().find_map(|host| host.next(wait))
    }

    fn vertices(&mut self, rank: Rank, manifest: &Manifest) -> Result<Parts, ClusterError> {
        self.0[rank].vertices(rank, manifest)
    }

    fn stop(&mut self, rank: Rank) {
        self.0[rank].stop(rank);
    }
}

#[test]
fn answers_do_not_depend_on_where_chunks_lie() {
    let (machines, graph) = (3, graph(4, 300, 4000));
    let all = [
        Placement::Even,
        Placement::Random,
        Placement::Owner,
        // A machine that stores nothing.
        Placement::Weighted(vec![1, 0, 5]),
    ];
    for (name, route) in [
        ("pagerank", Route::Fold),
        ("labels", Route::Spill),
        ("communities", Route::Spill),
        ("extended", Route::Fold),
        ("contraction", Route::Fold),
        ("contraction", Route::Spill),
        ("triangles", Route::Spill),
    ] {
        let of = |placement: &Placement| placing(job(name, &graph, machines, route), placement);
        for placement in &all {
            let (directory, job) = (TempDir::new().expect("there is a place"), of(placement));
            let finished =
                job.check(&mut Threads::new(job.run.clone(), directory.path(), job.workers()));
            assert_eq!(finished.restarts, 0, "{name} {route:?} {placement:?}");
        }
        // Nor need machines place them alike.
        let directory = TempDir::new().expect("there is a place for it");
        let host = |rank: Rank| {
            let job = of(&all[(rank + 1) % all.len()]);
            Threads::new(job.run.clone(), directory.path(), job.workers())
        };
        let finished = of(&all[0]).check(&mut MixedHost((0..machines).map(host).collect()));
        assert_eq!(finished.restarts, 0, "{name} {route:?}, each by a rule of its own");
    }
}

#[test]
fn disks_have_what_placements_give_them() {
    let (machines, graph) = (3, graph(1, 300, 60_000));
    let run = |placement: &Placement| {
        let directory = TempDir::new().expect("there is a place for it");
        let mut job = placing(job("bfs", &graph, machines, Route::Spill), placement);
        job.run.config = Arc::new(Config { bias: Bias::NEVER, ..Config::clone(&job.run.config) });
        let mut host = Threads::new(job.run.clone(), directory.path(), job.workers());
        let finished = job.check(&mut host);
        let sent: u64 = finished.activities.iter().map(|it| it.sent_bytes).sum();
        let disk = |rank| edge_blocks(directory.path(), rank).iter().sum();
        (sent, (0..machines).map(disk).collect::<Vec<u64>>())
    };
    let (_, disks) = run(&Placement::Weighted(vec![0, 1, 3]));
    assert_eq!(disks[0], 0, "{disks:?}");
    let ratio = disks[2] as f64 / disks[1] as f64;
    assert!((2.0..4.5).contains(&ratio), "{disks:?}");
    let [(even, _), (owner, disks)] = [Placement::Even, Placement::Owner].map(|it| run(&it));
    assert!(disks.iter().all(|bytes| *bytes > 0), "{disks:?}");
    assert!(owner < even, "{owner} bytes sent where owners store, {even} elsewhere");
}

#[test]
fn machines_tell_what_each_iteration_moved() {
    let (machines, graph) = (2, graph(2, 300, 4000));
    for exchange in [
        Exchange::Chunks(Route::Fold),
        Exchange::Chunks(Route::Spill),
        Exchange::Messages(Transport::Tcp, 1, 0),
    ] {
        let directory = TempDir::new().expect("there is a place for it");
        let job = job("pagerank", &graph, machines, exchange);
        let mut host = Threads::new(job.run.clone(), directory.path(), job.workers());
        let finished = job.check(&mut host);
        assert_eq!(finished.moved.len(), machines);
        for (moved, activity) in finished.moved.iter().zip(&finished.activities) {
            let entries = moved.entries();
            let sum = |of: fn(&IterationsMoved) -> u64| entries.iter().map(of).sum::<u64>();
            // Of what is said last the host may have heard one half.
            assert!(sum(|it| it.moved.read) >= activity.read_bytes, "{exchange:?}");
            assert!(sum(|it| it.moved.written) >= activity.written_bytes, "{exchange:?}");
            assert!(sum(|it| it.moved.sent) >= activity.sent_bytes, "{exchange:?}");
            assert!(entries.len() > 2, "{exchange:?}: {entries:?}");
            if let Exchange::Chunks(_) = exchange {
                let last = entries.last().map(|entry| entry.last);
                assert_eq!(last, Some(finished.manifest.version.into()), "{entries:?}");
                let all = entries[1..].iter().all(|it| it.moved.read > 0 && it.moved.sent > 0);
                assert!(all && entries[0].moved.written > 0, "{exchange:?}: {entries:?}");
            }
        }
    }
}
