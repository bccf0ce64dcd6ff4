//! Clusters of 1, 2 and 4 machines, as threads with folders and sockets of their own, on all
//! routes: the reference's answer.

mod common;

use tempfile::TempDir;
use welter_cluster::Threads;
use welter_protocol::config::Route;

use common::{Way, graph, job};
use welter_cluster::send::Transport;

/// All ways of programs that fold.
const WAYS: [Way; 6] = [
    Way::Chunks(Route::Fold),
    Way::Chunks(Route::Spill),
    Way::Messages(Transport::Tcp, 1),
    Way::Messages(Transport::Tcp, 2),
    Way::Messages(Transport::Udp, 2),
    Way::Messages(Transport::Shared, 2),
];

/// A job on clusters of all sizes, on these routes.
fn everywhere(name: &str, ways: &[Way]) {
    for (seed, machines) in (1..).zip([1, 2, 4]) {
        let graph = graph(seed, 300, 4000);
        for &way in ways {
            let directory = TempDir::new().expect("there is a place for it");
            let job = job(name, &graph, machines, way);
            let mut host = Threads::new(job.run.clone(), directory.path(), job.workers());
            let finished = job.check(&mut host);
            assert_eq!(finished.restarts, 0, "{name} {way:?} on {machines}");
        }
    }
}

#[test]
fn pagerank() {
    everywhere("pagerank", &WAYS);
}

#[test]
fn breadth_first_search() {
    everywhere("bfs", &WAYS);
}

#[test]
fn components_by_labels() {
    everywhere("labels", &WAYS);
}

#[test]
fn components_by_contraction() {
    everywhere("contraction", &[Route::Fold, Route::Spill].map(Way::from));
}

#[test]
fn graphs_without_edges_and_with_few_vertices() {
    for (vertices, edges) in [(1, 0), (1, 3), (3, 2), (40, 0)] {
        let graph = graph(1, vertices, edges);
        for way in WAYS {
            let directory = TempDir::new().expect("there is a place for it");
            let job = job("pagerank", &graph, 4, way);
            let mut host = Threads::new(job.run.clone(), directory.path(), job.workers());
            job.check(&mut host);
        }
    }
}
