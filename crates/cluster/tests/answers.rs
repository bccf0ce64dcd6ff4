//! Clusters of 1, 2 and 4 machines, as threads with folders and sockets of their own, on both
//! routes: the reference's answer.

mod common;

use tempfile::TempDir;
use welter_cluster::Threads;
use welter_protocol::config::Route;

use common::{graph, job};

/// A job on clusters of all sizes and both routes.
fn everywhere(name: &str) {
    for (seed, machines) in (1..).zip([1, 2, 4]) {
        let graph = graph(seed, 300, 4000);
        for route in [Route::Fold, Route::Spill] {
            let directory = TempDir::new().expect("there is a place for it");
            let job = job(name, &graph, machines, route);
            let mut host = Threads::new(job.run.clone(), directory.path(), job.workers());
            let finished = job.check(&mut host);
            assert_eq!(finished.restarts, 0, "{name} {route:?} on {machines}");
        }
    }
}

#[test]
fn pagerank() {
    everywhere("pagerank");
}

#[test]
fn breadth_first_search() {
    everywhere("bfs");
}

#[test]
fn components_by_labels() {
    everywhere("labels");
}

#[test]
fn components_by_contraction() {
    everywhere("contraction");
}

#[test]
fn graphs_without_edges_and_with_few_vertices() {
    for (vertices, edges) in [(1, 0), (1, 3), (3, 2), (40, 0)] {
        let graph = graph(1, vertices, edges);
        for route in [Route::Fold, Route::Spill] {
            let directory = TempDir::new().expect("there is a place for it");
            let job = job("pagerank", &graph, 4, route);
            let mut host = Threads::new(job.run.clone(), directory.path(), job.workers());
            job.check(&mut host);
        }
    }
}
