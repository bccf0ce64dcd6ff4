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
use welter_algorithms::PageRank;
use welter_algorithms::pagerank::Dangling;
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
    let pairs = (0..600).map(|edge| [edge * 7 % VERTICES, edge * edge % VERTICES]).collect();
    let edges = Arc::new(EdgeList::from_pairs(pairs));
    let program =
        PageRank::<f64>::new(VERTICES.into(), 0.85, iterations.into(), 0.0, Dangling::Spread);
    let input =
        move |me| -> Box<dyn Input> { Box::new(Share::new(edges.clone(), Reading::default(), me)) };
    let settings = Settings { transport, sub_ranges: 2, ..Settings::default() };
    let kernel = FoldKernel::of(Arc::new(program));
    Job::new(kernel, VERTICES.into(), Arc::new(input), settings).unwrap()
}

/// How a run of these jobs ends.
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
    Run { config, words, contents: 0, bounds, reach, objects, batches }
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
