//! Runs whose edges do not fit in memory, against the same runs in memory, and on devices that
//! fail.
//!
//! The graphs are random and have many slabs; that the answers in memory are right is shown by the
//! test `engine`.
//!
//! - `answers`: the same bits, for every way of doing requests and several budgets.
//! - `faults`: the Nth call fails, does less or damages a bit.
//! - `disks`: directories that are not there, and disks without room, before and during a run.
//! - `cancel`: runs that are ended from outside.
//! - `expected`: what an iteration moves is what its plan says.
//! - `sparing`: what no active source reaches is not read.
//! - `hot`: bin groups that are much fuller than others.
//! - `left`: edges of stream programs that are left are written anew.
//! - `contract`: edges between components are contracted.
//! - `room`: as much room on storage as a plan asks for is enough.
//! - `requests`: the same bits, however large requests are and however many are in flight.
//! - `rewrite`: a program whose edges have state, and what that moves.
//! - `results`: values that are written to files from where they lie.
//!
//! Not shown here: what memory a run takes (`storage_budget`), and that a process which is killed
//! leaves nothing (files of a run have no names).

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod answers;
mod cancel;
mod contract;
mod disks;
mod expected;
mod faults;
mod hot;
mod left;
mod requests;
mod results;
mod rewrite;
mod room;
mod sparing;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};

use tempfile::TempDir;
use welter_algorithms::pagerank::{Dangling, PageRank};
use welter_algorithms::{Bfs, Mcst, Scc, Sssp, Triangles, Wcc};
use welter_engine::plan::{
    CompressionMode, FrontierMode, Layout, Plan, Route, Settings, Shape, StorageMode,
};
use welter_engine::{EngineError, Graph, Storage, Workers};
use welter_model::edges::{Batch, Duplicates, EdgeList, EdgeStream, Reading, StreamError};
use welter_model::ids::IdMap;
use welter_model::program::Program;
use welter_model::stream::Stream;
use welter_progress::Progress;
use welter_store::header::Encoding;
use welter_store::io::{self, Faults, IoMode, IoOptions, Requests};
use welter_testing::executors::MACHINE;
use welter_testing::hashed::Hashed;

/// Edges in a part of an input.
const PART_EDGES: u32 = 10_000;

/// Bytes of rows that programs over triangles have in memory.
const CORNER_BYTES: u64 = 192 << 10;

/// Task that is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    Ranks32,
    Ranks64,
    Search,
    /// The only one whose edges have weights.
    Paths,
    Components,
    Strong,
    Forest,
    /// The only one whose edges have state.
    Rewritten,
    /// Triangles, the only one that takes edges both ways; of few rows at a time.
    Corners,
}

const TASKS: [Task; 9] = [
    Task::Ranks32,
    Task::Ranks64,
    Task::Search,
    Task::Paths,
    Task::Components,
    Task::Strong,
    Task::Forest,
    Task::Rewritten,
    Task::Corners,
];

/// Settings of a computation.
#[derive(Clone, Debug)]
struct Setup {
    threads: usize,
    storage: StorageMode,
    route: Option<Route>,
    memory_bytes: Option<u64>,
    stripe_bits: u32,
    io: IoOptions,
    directories: Vec<PathBuf>,
    /// `None` lets a run measure its storage, to choose.
    encoding: Option<Encoding>,
    block_bits: Option<u32>,
    frontier: FrontierMode,
    keeps_edges: bool,
    compression: CompressionMode,
    requests: Requests,
    /// Whether the storage is that of the plan.
    applies: bool,
}

impl Setup {
    /// In memory, by two threads.
    fn memory() -> Self {
        Self {
            threads: 2,
            storage: StorageMode::Never,
            route: None,
            memory_bytes: None,
            stripe_bits: 14,
            io: IoOptions::default(),
            directories: Vec::new(),
            encoding: None,
            block_bits: None,
            frontier: FrontierMode::Auto,
            keeps_edges: false,
            compression: CompressionMode::default(),
            requests: Requests::default(),
            applies: true,
        }
    }

    /// Storage with `cache_bytes` bytes of chunks in memory, and all else that can be there in a
    /// directory.
    fn stored(cache_bytes: u64, directory: &TempDir) -> Self {
        let directories = vec![directory.path().to_owned()];
        let storage = StorageMode::Always { cache_bytes, values: true };
        Self { storage, directories, ..Self::memory() }
    }

    /// The way with signals there too.
    fn by_ranges(self) -> Self {
        Self { route: Some(Route::Ranges), ..self }
    }

    /// The way with updates there.
    fn by_spill(self) -> Self {
        Self { route: Some(Route::Spill { combined: true, fused: false }), ..self }
    }

    /// The way with calls that fail.
    fn with_faults(&self, faults: &Arc<Faults>) -> Self {
        let io = IoOptions { faults: Some(Arc::clone(faults)), ..self.io.clone() };
        Self { io, ..self.clone() }
    }

    fn plan(&self, task: Task, input: &dyn EdgeStream) -> Result<Plan, EngineError> {
        self.plan_for(task.layout(), input)
    }

    fn plan_for(&self, layout: Layout, input: &dyn EdgeStream) -> Result<Plan, EngineError> {
        let shape = Shape {
            slots: input.slots().unwrap(),
            edges: input.edges() * if reading(layout).undirected { 2 } else { 1 },
            weighted: input.weighted(),
            estimated: false,
            input_bytes: 0,
        };
        let settings = Settings {
            threads: Some(self.threads),
            memory_bytes: self.memory_bytes,
            stripe_bits: Some(self.stripe_bits),
            storage: self.storage,
            // Programs that have no such route are run without.
            route: self.route.filter(|route| match route {
                Route::Ranges => layout.streams() && !layout.intersects(),
                _ => layout.streams(),
            }),
            group_bytes: layout.intersects().then_some(CORNER_BYTES),
            encoding: self.encoding,
            block_bits: self.block_bits,
            frontier: self.frontier,
            keeps_edges: self.keeps_edges,
            compression: self.compression,
            requests: self.requests,
            ..Settings::default()
        };
        Plan::new(shape, layout, &settings, &MACHINE)
    }

    fn ingest(
        &self,
        task: Task,
        input: Box<dyn EdgeStream>,
        progress: &Progress,
    ) -> Result<(Graph, Workers), EngineError> {
        self.ingest_for(task.layout(), input, progress)
    }

    fn ingest_for(
        &self,
        layout: Layout,
        input: Box<dyn EdgeStream>,
        progress: &Progress,
    ) -> Result<(Graph, Workers), EngineError> {
        let plan = self.plan_for(layout, &*input)?;
        let io = if self.applies { plan.io(&self.io) } else { self.io.clone() };
        let storage = Storage { directories: self.directories.clone(), io };
        let workers = Workers::new(plan.premises.threads)?.with_storage(storage);
        let (ids, reading) = (IdMap::Declared, reading(layout));
        let graph = Graph::ingest(input, &ids, reading, &plan, &workers, progress)?;
        Ok((graph, workers))
    }

    /// The bytes of the answer.
    fn run(&self, task: Task, input: Box<dyn EdgeStream>) -> Result<Vec<u8>, EngineError> {
        let progress = Progress::new();
        let (graph, workers) = self.ingest(task, input, &progress)?;
        task.run(&graph, &workers, &progress)
    }
}

/// Reading of the edges for a program.
fn reading(layout: Layout) -> Reading {
    if !layout.intersects() {
        return Reading::default();
    }
    Reading {
        undirected: true,
        drop_self_loops: true,
        duplicates: Duplicates::First,
        ..Reading::default()
    }
}

impl Task {
    fn layout(self) -> Layout {
        match self {
            Self::Ranks32 => Layout::of::<PageRank<f32>>(),
            Self::Ranks64 => Layout::of::<PageRank<f64>>(),
            Self::Search => Layout::of::<Bfs>(),
            Self::Paths => Layout::of::<Sssp<f64>>(),
            Self::Components => Layout::of_stream::<Wcc>(),
            Self::Strong => Layout::of_stream::<Scc>(),
            Self::Forest => Layout::of_stream::<Mcst>(),
            Self::Rewritten => Layout::of_extended::<Hashed>(),
            Self::Corners => Layout::of_intersect::<Triangles>(),
        }
    }

    fn run(
        self,
        graph: &Graph,
        workers: &Workers,
        progress: &Progress,
    ) -> Result<Vec<u8>, EngineError> {
        fn passed<S: Stream>(
            graph: &Graph,
            program: &S,
            workers: &Workers,
            progress: &Progress,
        ) -> Result<Vec<u8>, EngineError> {
            let values = welter_engine::pass(graph, program, workers, progress)?.values;
            Ok(bytemuck::cast_slice(&values.whole()?).to_vec())
        }
        fn bytes<P: Program>(
            graph: &Graph,
            program: &P,
            workers: &Workers,
            progress: &Progress,
        ) -> Result<Vec<u8>, EngineError> {
            let outcome = welter_engine::run(graph, program, workers, progress)?;
            Ok(bytemuck::cast_slice(&outcome.values.whole()?).to_vec())
        }
        let count = graph.vertices();
        let (spread, sources) = (Dangling::Spread, vec![1]);
        match self {
            Self::Ranks32 => {
                let program = PageRank::<f32>::new(count, 0.85, 3, 0.0, spread);
                bytes(graph, &program, workers, progress)
            }
            Self::Ranks64 => {
                let program = PageRank::<f64>::new(count, 0.85, 3, 0.0, spread);
                bytes(graph, &program, workers, progress)
            }
            Self::Search => bytes(graph, &Bfs::new(sources), workers, progress),
            Self::Paths => {
                bytes(graph, &Sssp::<f64>::new(sources, f64::INFINITY), workers, progress)
            }
            Self::Components => passed(graph, &Wcc, workers, progress),
            // By passes alone: at the end nearly all edges are left.
            Self::Strong => passed(graph, &Scc::with_rest(0), workers, progress),
            Self::Forest => passed(graph, &Mcst::default(), workers, progress),
            Self::Rewritten => {
                let outcome = welter_engine::extend(graph, &Hashed(3), workers, progress)?;
                Ok(bytemuck::cast_slice(&outcome.values.whole()?).to_vec())
            }
            Self::Corners => {
                let values = welter_engine::intersect(graph, &Triangles, workers, progress)?;
                Ok(bytemuck::cast_slice(&values.whole()?).to_vec())
            }
        }
    }
}

/// Random edges between `slots` slots. The ends of half of them are among a sixteenth of the slots.
fn edges(count: u32, slots: u32, weighted: bool) -> EdgeList {
    let mut state = 11_u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as u32
    };
    let mut list = EdgeList::new(Some(slots.into()), weighted);
    for first in (0..count).step_by(PART_EDGES as usize) {
        let edges = PART_EDGES.min(count - first);
        let mut ends = || {
            let below = if random() % 2 == 0 { slots } else { slots / 16 };
            [random() % below, random() % below]
        };
        let pairs: Vec<_> = (0..edges).map(|_| ends()).collect();
        let weights = pairs.iter().map(|pair| f64::from(pair[0] % 100) + 0.5);
        let weights = if weighted { weights.collect() } else { Vec::new() };
        list.push(pairs, weights);
    }
    list
}

/// Edges that do something when their `at`th batch is asked for, counted from 0 over all passes.
struct Watched<F> {
    list: EdgeList,
    batches: std::sync::atomic::AtomicUsize,
    at: usize,
    then: F,
}

impl<F: Fn() + Send + Sync> Watched<F> {
    fn new(list: EdgeList, at: usize, then: F) -> Self {
        Self { list, batches: 0.into(), at, then }
    }
}

impl<F: Fn() + Send + Sync> EdgeStream for Watched<F> {
    fn parts(&self) -> usize {
        self.list.parts()
    }

    fn edges(&self) -> u64 {
        self.list.edges()
    }

    fn weighted(&self) -> bool {
        self.list.weighted()
    }

    fn slots(&self) -> Option<u64> {
        self.list.slots()
    }

    fn read(
        &self,
        part: usize,
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        if self.batches.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == self.at {
            (self.then)();
        }
        self.list.read(part, visit)
    }
}

/// Ways of doing requests that this machine allows.
///
/// # Panics
/// When `io_uring` is refused and the environment variable `WELTER_REQUIRE` names it.
fn modes() -> Vec<IoMode> {
    static SAID: Once = Once::new();
    let mut modes = vec![IoMode::Auto, IoMode::Threads, IoMode::Blocking];
    match io::ring_allowed() {
        Ok(()) => modes.push(IoMode::Ring),
        Err(error) => skipped("io_uring", &error.to_string(), &SAID),
    }
    modes
}

/// Says loudly that tests of `what` were skipped, or fails where the environment variable
/// `WELTER_REQUIRE` names it.
fn skipped(what: &str, why: &str, once: &Once) {
    let required = std::env::var("WELTER_REQUIRE").unwrap_or_default();
    assert!(required.split(',').all(|name| name != what), "{what}: {why}");
    // Not `eprintln!`: of a test that passes, that would be swallowed.
    once.call_once(|| {
        let _ = writeln!(std::io::stderr(), "SKIPPED: tests of {what}: {why}");
    });
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// A folder for tests that run hundreds of times and do not ask what a device does.
fn folder_in_memory() -> TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| folder())
}

/// Whether nothing is in a directory.
fn is_empty(directory: &Path) -> bool {
    directory.read_dir().unwrap().next().is_none()
}
