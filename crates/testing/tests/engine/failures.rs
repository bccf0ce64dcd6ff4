//! Inputs that fail, lie or are cancelled: an error with its cause, and no panic.

use std::sync::atomic::{AtomicUsize, Ordering};

use welter_algorithms::Spmv;
use welter_algorithms::spmv::Vector;
use welter_engine::plan::{Layout, Plan, Settings, Shape};
use welter_engine::{EngineError, Graph};
use welter_model::edges::{Batch, EdgeStream, Reading, StreamError};
use welter_model::ids::IdMap;
use welter_model::limit::Limit;
use welter_model::program::{Applied, Next, Program, Vertex};
use welter_progress::{FailureKind, Progress};
use welter_testing::executors::{MACHINE, workers};

use crate::programs::{Count, One};

const PARTS: usize = 40;
const PART_EDGES: u32 = 500;
const SLOTS: u64 = 5000;

/// Edges made on the spot; when its `at`th batch is asked for, something happens.
struct Trap {
    batches: AtomicUsize,
    at: usize,
    spring: Spring,
    stated: bool,
}

enum Spring {
    Nothing,
    /// The stream fails.
    Fail,
    /// The run is cancelled.
    Cancel(Progress),
    /// An edge has this slot at one end.
    Slot(u32),
}

impl Trap {
    fn new(at: usize, spring: Spring) -> Self {
        Self { batches: AtomicUsize::new(0), at, spring, stated: true }
    }
}

impl EdgeStream for Trap {
    fn parts(&self) -> usize {
        PARTS
    }

    fn edges(&self) -> u64 {
        PARTS as u64 * u64::from(PART_EDGES)
    }

    fn weighted(&self) -> bool {
        false
    }

    fn slots(&self) -> Option<u64> {
        self.stated.then_some(SLOTS)
    }

    fn read(
        &self,
        part: usize,
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        let first = part as u32 * PART_EDGES;
        let mut pairs: Vec<[u32; 2]> =
            (first..first + PART_EDGES).map(|edge| [edge % 4999, edge * 7 % 5000]).collect();
        if self.batches.fetch_add(1, Ordering::Relaxed) == self.at {
            match &self.spring {
                Spring::Nothing => {}
                Spring::Fail => return Err(format!("part {part} is gone").into()),
                Spring::Cancel(progress) => progress.cancel(),
                Spring::Slot(slot) => pairs[100][part % 2] = *slot,
            }
        }
        visit(Batch { pairs: &pairs, weights: None });
        Ok(())
    }
}

fn ingest(
    trap: Trap,
    ids: &IdMap,
    threads: usize,
    progress: &Progress,
) -> Result<Graph, EngineError> {
    let shape = Shape {
        slots: SLOTS,
        edges: trap.edges(),
        weighted: false,
        estimated: false,
        input_bytes: 0,
    };
    let settings = Settings { threads: Some(threads), ..Settings::default() };
    let plan = Plan::new(shape, Layout::of::<Spmv<f64>>(), &settings, &MACHINE).unwrap();
    let workers = workers(threads);
    Graph::ingest(Box::new(trap), ids, Reading::default(), &plan, workers, progress)
}

/// In how many batches an ingest reads the whole input: of few edges all are in the sample.
fn batches(stated: bool) -> usize {
    if stated { 2 * PARTS } else { 3 * PARTS }
}

#[test]
fn a_stream_that_fails_is_an_error_wherever_it_fails() {
    for threads in [1, 2, 4] {
        for stated in [true, false] {
            for at in 0..batches(stated) {
                let trap = Trap { stated, ..Trap::new(at, Spring::Fail) };
                let error = ingest(trap, &IdMap::Same, threads, &Progress::new()).unwrap_err();
                assert!(matches!(error, EngineError::Input(_)), "batch {at}: {error:?}");
                assert!(error.to_string().ends_with("is gone"), "{error}");
                assert_eq!(error.kind(), FailureKind::Input);
            }
        }
    }
}

#[test]
fn an_ingest_that_is_cancelled_ends_with_that() {
    for threads in [1, 2, 4] {
        for at in 0..batches(true) {
            let progress = Progress::new();
            let trap = Trap::new(at, Spring::Cancel(progress.clone()));
            let error = ingest(trap, &IdMap::Same, threads, &progress).unwrap_err();
            assert!(matches!(error, EngineError::Cancelled), "batch {at}: {error:?}");
            assert_eq!(error.kind(), FailureKind::Cancelled);
        }
    }
}

#[test]
fn a_slot_beyond_the_stated_number_is_an_error() {
    for slot in [5000, 5001, 8191, 8192, 1 << 20, u32::MAX] {
        for ids in [IdMap::Same, IdMap::Declared] {
            // In the sample, and only in the partition.
            for at in 0..batches(true) {
                let trap = Trap::new(at, Spring::Slot(slot));
                let error = ingest(trap, &ids, 2, &Progress::new()).unwrap_err();
                let EngineError::Vertex { vertex, slots } = error else {
                    panic!("batch {at}: {error:?}")
                };
                assert_eq!((vertex, slots), (slot.into(), SLOTS));
            }
        }
    }
}

#[test]
fn the_trap_itself_is_a_good_stream() {
    for ids in [IdMap::Same, IdMap::Declared] {
        let trap = Trap::new(usize::MAX, Spring::Nothing);
        let graph = ingest(trap, &ids, 3, &Progress::new()).unwrap();
        assert_eq!(graph.edges(), 20_000);
    }
}

/// Cancels the run in a chosen iteration, as a person at the keyboard might.
struct Interrupted {
    progress: Progress,
    at: u64,
}

impl Program for Interrupted {
    type Value = One<i64>;
    type Signal = i64;
    type Update = i64;
    type Accum = i64;
    type Total = Count;

    const WEIGHTED: bool = false;

    fn init(&self, vertex: Vertex) -> Applied<One<i64>, Count> {
        Applied::active(One(vertex.index as i64), Count(0))
    }

    fn signal(&self, value: &One<i64>) -> i64 {
        value.0
    }

    fn scatter(&self, signal: i64, _: f64) -> Option<i64> {
        Some(signal)
    }

    fn identity(&self) -> i64 {
        0
    }

    fn gather(&self, accum: i64, update: i64) -> i64 {
        accum.wrapping_add(update)
    }

    fn merge(&self, left: i64, right: i64) -> i64 {
        left.wrapping_add(right)
    }

    fn apply(&self, _: One<i64>, accum: i64, _: &Count) -> Applied<One<i64>, Count> {
        Applied { value: One(accum), total: Count(1), active: true }
    }

    fn next(&self, iterations: u64, _: &Count) -> Next {
        if iterations == self.at {
            self.progress.cancel();
        }
        Next::Iterate
    }

    fn limit(&self) -> Limit {
        Limit::Stated(u64::MAX)
    }
}

#[test]
fn a_run_that_is_cancelled_ends_with_that() {
    for threads in [1, 3] {
        for at in [0, 1, 5] {
            let trap = Trap::new(usize::MAX, Spring::Nothing);
            let graph = ingest(trap, &IdMap::Same, threads, &Progress::new()).unwrap();
            let progress = Progress::new();
            let program = Interrupted { progress: progress.clone(), at };
            let outcome = welter_engine::run(&graph, &program, workers(threads), &progress);
            assert!(matches!(outcome, Err(EngineError::Cancelled)));
            // The graph is as good as before.
            let program = Spmv::<f64>::new(Vector::Ones, 1);
            let outcome =
                welter_engine::run(&graph, &program, workers(threads), &Progress::new()).unwrap();
            assert_eq!(outcome.iterations, 1);
        }
    }
}
