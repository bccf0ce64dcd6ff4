//! Runs that are ended from outside: soon, with that as the reason, and nothing is left.

use std::sync::atomic::{AtomicU64, Ordering};

use welter_algorithms::pagerank::{Dangling, PageRank, Rank, RankTotal};
use welter_engine::EngineError;
use welter_model::edges::EdgeStream;
use welter_model::limit::Limit;
use welter_model::program::{Applied, Next, Program, Vertex};
use welter_progress::{FailureKind, Progress};
use welter_store::header::Encoding;
use welter_store::io::{Fault, Faults};

use crate::{Setup, Task, Watched, edges, folder_in_memory, is_empty, modes};

const EDGES: u32 = 1_000_000;
const SLOTS: u32 = 100_000;

fn is_cancelled<T>(came: &Result<T, EngineError>) -> bool {
    matches!(came, Err(error) if error.kind() == FailureKind::Cancelled)
}

/// Counts calls, and lets all of them be.
fn counting() -> std::sync::Arc<Faults> {
    Faults::nth(u64::MAX, Fault::Errno(5))
}

#[test]
fn in_the_survey_and_in_the_partition() {
    let list = edges(EDGES, SLOTS, false);
    let batches = 2 * list.parts();
    for (number, mode) in modes().into_iter().enumerate() {
        for at in (number..batches).step_by(batches / 7) {
            let (directory, faults, progress) = (folder_in_memory(), counting(), Progress::new());
            let way = Setup::stored(0, &directory).with_faults(&faults);
            let io = welter_store::io::IoOptions { mode, ..way.io.clone() };
            // Nothing is measured, which would be calls too.
            let way = Setup { io, encoding: Some(Encoding::Compressed), ..way };
            let handle = progress.clone();
            let input = Watched::new(list.clone(), at, move || handle.cancel());
            let came = way.ingest(Task::Ranks32, Box::new(input), &progress);
            assert!(is_cancelled(&came), "batch {at}");
            assert!(is_empty(directory.path()));
            // Two files were made for each volume, and what was full by then was written.
            let slabs = u64::from(EDGES) * 6 / (512 << 10) + 2;
            let share = slabs * at.saturating_sub(list.parts()) as u64 / list.parts() as u64;
            assert!(faults.seen() <= 2 + 4 + share, "{} calls, batch {at}", faults.seen());
        }
    }
}

#[test]
fn in_the_sort() {
    let list = edges(EDGES, SLOTS, false);
    let mut ended = 0;
    for share in [0, 1, 2, 5, 8] {
        let (directory, progress) = (folder_in_memory(), Progress::new());
        let way = Setup::stored(0, &directory);
        let came = std::thread::scope(|scope| {
            let run = scope.spawn(|| way.ingest(Task::Ranks32, Box::new(list.clone()), &progress));
            while !run.is_finished() {
                let sorted = |phase: &welter_progress::PhaseReport| {
                    phase.name == "sort" && phase.done * 10 >= u64::from(EDGES) * share
                };
                if progress.current().as_ref().is_some_and(sorted) {
                    progress.cancel();
                }
                std::thread::yield_now();
            }
            run.join().unwrap()
        });
        // It may have been over before the worker looked.
        assert!(is_cancelled(&came) || came.is_ok());
        ended += usize::from(is_cancelled(&came));
        drop(came);
        assert!(is_empty(directory.path()));
    }
    println!("{ended} of 5 runs were ended in the sort");
}

/// Ranks of which the `at`th vertex that is applied cancels the run.
struct Interrupted {
    ranks: PageRank<f32>,
    progress: Progress,
    applied: AtomicU64,
    at: u64,
}

impl Program for Interrupted {
    type Value = Rank<f32>;
    type Signal = <PageRank<f32> as Program>::Signal;
    type Update = <PageRank<f32> as Program>::Update;
    type Accum = <PageRank<f32> as Program>::Accum;
    type Total = RankTotal;

    const WEIGHTED: bool = false;

    fn init(&self, vertex: Vertex) -> Applied<Self::Value, RankTotal> {
        self.ranks.init(vertex)
    }

    fn signal(&self, value: &Self::Value) -> Self::Signal {
        self.ranks.signal(value)
    }

    fn scatter(&self, signal: Self::Signal, weight: f64) -> Option<Self::Update> {
        self.ranks.scatter(signal, weight)
    }

    fn identity(&self) -> Self::Accum {
        self.ranks.identity()
    }

    fn gather(&self, accum: Self::Accum, update: Self::Update) -> Self::Accum {
        self.ranks.gather(accum, update)
    }

    fn merge(&self, left: Self::Accum, right: Self::Accum) -> Self::Accum {
        self.ranks.merge(left, right)
    }

    fn apply(
        &self,
        value: Self::Value,
        accum: Self::Accum,
        last: &RankTotal,
    ) -> Applied<Self::Value, RankTotal> {
        if self.applied.fetch_add(1, Ordering::Relaxed) == self.at {
            self.progress.cancel();
        }
        self.ranks.apply(value, accum, last)
    }

    fn next(&self, iterations: u64, last: &RankTotal) -> Next {
        self.ranks.next(iterations, last)
    }

    fn limit(&self) -> Limit {
        self.ranks.limit()
    }
}

#[test]
fn in_an_iteration() {
    for (number, mode) in modes().into_iter().enumerate() {
        let (directory, faults) = (folder_in_memory(), counting());
        let way = Setup::stored(0, &directory).with_faults(&faults);
        let way = Setup { io: welter_store::io::IoOptions { mode, ..way.io.clone() }, ..way };
        let input = Box::new(edges(EDGES, SLOTS, false));
        let (graph, workers) = way.ingest(Task::Ranks32, input, &Progress::new()).unwrap();
        let ranks = || PageRank::<f32>::new(graph.vertices(), 0.85, 5, 0.0, Dangling::Spread);
        let before = faults.seen();
        let all = welter_engine::run(&graph, &ranks(), &workers, &Progress::new()).unwrap();
        let pass = (faults.seen() - before) / 5;
        for iteration in 0..3 {
            let progress = Progress::new();
            let at = u64::from(SLOTS) * iteration + 1000 * (1 + number as u64);
            let (ranks, applied) = (ranks(), AtomicU64::new(0));
            let program = Interrupted { ranks, progress: progress.clone(), applied, at };
            let before = faults.seen();
            let came = welter_engine::run(&graph, &program, &workers, &progress);
            assert!(is_cancelled(&came), "vertex {at}");
            // Chunks that each worker read ahead, and the stripes that they were at.
            let seen = faults.seen() - before;
            assert!(seen <= pass * iteration + pass / 2 + 10, "{seen} reads, {pass} in a pass");
        }
        // The graph is as good as before, and so is the memory of what was in flight.
        let again = welter_engine::run(&graph, &ranks(), &workers, &Progress::new()).unwrap();
        let (all, again) = (all.values.whole().unwrap(), again.values.whole().unwrap());
        let bytes = |values| bytemuck::cast_slice::<_, u8>(values);
        assert!(bytes(&all[..]) == bytes(&again[..]));
        assert!(is_empty(directory.path()));
    }
}
