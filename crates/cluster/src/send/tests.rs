//! Machines that send messages, as threads of this process: what becomes of a bucket that is folded
//! twice, of a machine that is lost, and of one whose disk hangs. That answers are right is tested
//! by `tests/answers.rs`.

mod early;
mod faulty;
mod hanging;
mod lost;
mod waiting;

use std::sync::Arc;

use tempfile::TempDir;
use welter_algorithms::bp::Potential;
use welter_algorithms::pagerank::Dangling;
use welter_algorithms::{PageRank, SumProduct, Triangles};
use welter_engine::chunks::{ExtendedKernel, FoldKernel, IntersectKernel};
use welter_model::edges::{EdgeList, Reading};
use welter_progress::Progress;
use welter_protocol::config::Route;
use welter_protocol::failure::Exit;

use super::*;
use crate::host::{Finished, run};
use crate::{
    Activity, BatchCounter, ClusterError, Reach, RequestCounter, Run, Share, Task, Threads,
};

const MACHINES: usize = 3;
const VERTICES: u32 = 60;

fn job(transport: Transport, iterations: u32) -> Job {
    job_of(ranks(iterations), Reading::default(), transport)
}

fn ranks(iterations: u32) -> MessageKernel {
    let program =
        PageRank::<f64>::new(VERTICES.into(), 0.85, iterations.into(), 0.0, Dangling::Spread);
    FoldKernel::of(Arc::new(program)).into()
}

fn job_of(kernel: MessageKernel, reading: Reading, transport: Transport) -> Job {
    let pairs = (0..600).map(|edge| [edge * 7 % VERTICES, edge * edge % VERTICES]).collect();
    job_on(EdgeList::from_pairs(pairs), kernel, reading, transport)
}

fn job_on(edges: EdgeList, kernel: MessageKernel, reading: Reading, transport: Transport) -> Job {
    let edges = Arc::new(edges);
    let input = move |me| -> Box<dyn Input> { Box::new(Share::new(edges.clone(), reading, me)) };
    let settings = Settings { transport, sub_ranges: 2, stripe_vertices: 7, ..Settings::default() };
    Job::new(kernel, VERTICES.into(), Arc::new(input), settings).unwrap()
}

/// Beliefs, with messages of edges.
fn beliefs(transport: Transport, iterations: u32) -> Job {
    let potential = Potential::<2>::coupled(0.6).unwrap();
    let program = SumProduct::<2, 1>::new(potential, iterations.into(), 0.0).unwrap();
    let both = Reading { undirected: true, ..Reading::default() };
    job_of(ExtendedKernel::of(Arc::new(program)).into(), both, transport)
}

/// Triangles, whose rows travel in several rounds.
fn triangles(transport: Transport) -> Job {
    let both = Reading { undirected: true, drop_self_loops: true, ..Reading::default() };
    let mut job = job_of(IntersectKernel::of(Arc::new(Triangles)).into(), both, transport);
    job.settings.passing_vertices = 18;
    job
}

/// End of a run of these jobs.
fn ended(mut job: impl FnMut() -> Job + Send + 'static) -> Result<Finished, ClusterError> {
    let directory = TempDir::new().unwrap();
    let it = run_of(MACHINES);
    let task = move |_| Ok(Task::from(job()));
    let mut host = Threads::new(it, directory.path(), Box::new(task));
    run(&mut host, MACHINES, &Progress::new())
}

/// Words of a run on this number of machines.
fn run_of(machines: usize) -> Run {
    let settings = crate::Settings::new(machines, VERTICES.into(), 9, Route::Fold);
    let cut = settings.cut().unwrap();
    let config = Arc::new(settings.config(&cut));
    let bounds = crate::Settings::bounds();
    let (words, reach) = ("pagerank".to_owned(), Reach::default());
    let (objects, batches) = (RequestCounter::default(), BatchCounter::default());
    Run { config, words, contents: 0, bounds, reach, objects, batches, copies: None }
}

#[test]
fn edges_beyond_their_memory_are_read_from_the_disk() {
    let settings = |edge_bytes| {
        let mut job = job(Transport::Tcp, 4);
        job.settings = Settings { edge_bytes, chunk_edges: 16, ..job.settings };
        job
    };
    // The audit compares updates by number; sums of floats depend on who comes first, and values
    // are compared by the tests of the command.
    for edge_bytes in [u64::MAX, 400, 0] {
        let finished = ended(move || settings(edge_bytes)).unwrap();
        assert_eq!((finished.manifest.records, finished.decided.len()), (600, 5), "{edge_bytes}");
        let sum = |of: fn(&Activity) -> u64| finished.activities.iter().map(of).sum::<u64>();
        let [reads, stored] = [sum(|it| it.reads), sum(|it| it.edge_bytes)];
        assert_eq!((reads > 0, stored > 0), (edge_bytes < u64::MAX, edge_bytes < u64::MAX));
        // Each chunk is read in each iteration, since all vertices are active.
        assert_eq!(sum(|it| it.read_bytes), 4 * stored, "{edge_bytes}");
    }
}

#[test]
fn a_bucket_that_is_folded_twice_is_found() {
    for transport in [Transport::Tcp, Transport::Udp, Transport::Shared] {
        let finished = ended(move || job(transport, 4)).unwrap();
        assert_eq!((finished.manifest.version, finished.decided.len()), (4, 5));
        assert_eq!(finished.manifest.records, 600);
        for iteration in 1..4 {
            let faults = Faults { refolded: iteration, ..Faults::default() };
            let ended = ended(move || {
                let mut job = job(transport, 4);
                job.settings.faults = Some(faults.clone());
                job
            });
            let Err(ClusterError::Failed(failure)) = ended else { panic!("it fails") };
            assert_eq!((failure.why, failure.rank), (Exit::Broken, 0));
            let what = &*failure.what;
            assert!(what.starts_with(&format!("iteration {iteration}: sub-range")), "{what}");
        }
    }
}

#[test]
fn signals_and_rows_that_are_folded_twice_are_found() {
    let ended_by = |make: fn(Transport) -> Job, refolded: u64, transport| {
        let faults = Faults { refolded, ..Faults::default() };
        ended(move || {
            let mut job = make(transport);
            job.settings.faults = Some(faults.clone());
            job
        })
    };
    let beliefs: fn(Transport) -> Job = |transport| beliefs(transport, 4);
    let triangles: fn(Transport) -> Job = triangles;
    // In an iteration of lanes more signals are subscribed to. Each sub-range has three vertices
    // whose rows travel at a time, of at most twenty: degrees, then rows in every other iteration.
    let cases = [(beliefs, 4..5, 1, [1, 2, 3]), (triangles, 9..16, 0, [1, 2, 4])];
    for (make, iterations, lanes_ahead, sent) in cases {
        for transport in [Transport::Tcp, Transport::Udp, Transport::Shared] {
            let finished = ended_by(make, 0, transport).unwrap();
            let version = finished.manifest.version;
            assert!(iterations.contains(&version), "{version} iterations");
            assert_eq!(finished.decided.len(), 1 + version as usize);
            for iteration in sent {
                let ended = ended_by(make, iteration + lanes_ahead, transport);
                let Err(ClusterError::Failed(failure)) = ended else {
                    panic!("iteration {iteration} over {transport:?} has no error")
                };
                assert_eq!((failure.why, failure.rank), (Exit::Broken, 0));
                let what = &*failure.what;
                assert!(what.starts_with(&format!("iteration {iteration}: sub-range")), "{what}");
            }
        }
    }
}

#[test]
fn rows_without_room_end_the_run_with_the_budget() {
    let ended = ended(|| {
        let mut job = triangles(Transport::Tcp);
        job.settings.grouped_bytes = 100;
        job
    });
    let Err(ClusterError::Failed(failure)) = ended else { panic!("it fails") };
    assert_eq!(failure.why, Exit::Budget);
    assert!(failure.what.contains("--memory"), "{failure:?}");
}
