//! Chunks that no active source needs are neither read nor sent: a search on a cluster reads little
//! more than the engine of one machine does, on the same graph.
//!
//! Bytes are those of chunks of edges that machines stream, each of which is read and sent once.
//! Chunks may have 4 MiB of edges, as in the paper; how many edges one has on graphs as small as
//! these is a matter of bins, which have few sources each.
//!
//! Searches of many levels read more: the engine relaxes parts of such a graph out of step, and
//! reads it a few times; a cluster reads, level by level, what is active.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use welter_algorithms::Bfs;
use welter_engine::plan::{Layout, Plan, Settings, Shape, StorageMode};
use welter_engine::{EngineError, Graph};
use welter_model::edges::Reading;
use welter_model::ids::IdMap;
use welter_progress::Progress;
use welter_protocol::config::Route;
use welter_protocol::ids::Kind;
use welter_protocol::partitions::Partitions;
use welter_protocol::planted::Bug;
use welter_protocol::random::Random;
use welter_protocol::weights::Weights;
use welter_protocol::{Outcome, Work};
use welter_sim::checkers::progress::End;
use welter_sim::figures::recorder::rmat;
use welter_sim::job::{Job, Partitioning, Worker};
use welter_sim::kernel_job::KernelJob;
use welter_sim::schedule::Schedule;
use welter_sim::world::World;
use welter_store::header::Encoding;
use welter_testing::executors::{MACHINE, workers};
use welter_testing::graph::Graph as Pairs;
use welter_testing::samples::samples;

/// Of the R-MAT graph, with 16 edges a vertex.
const SCALE: u32 = 15;
const MACHINES: usize = 4;
/// Edges that 4 MiB hold at 2.5 bytes an edge.
const CHUNK_EDGES: u32 = (4 << 20) * 2 / 5;

/// Bytes of chunks that the engine reads in a search whose edges lie on storage.
fn engine(graph: &Pairs, source: u32) -> u64 {
    let list = Box::new(graph.edge_list(1 << 16));
    let settings = Settings {
        threads: Some(1),
        storage: StorageMode::Always { cache_bytes: 0, values: false },
        encoding: Some(Encoding::Compressed),
        ..Settings::default()
    };
    let reading = Reading::default();
    let shape = Shape::of(&*list, reading);
    let plan = Plan::new(shape, Layout::of::<Bfs>(), &settings, &MACHINE).unwrap();
    let workers = workers(1);
    let progress = Progress::new();
    let graph = Graph::ingest(list, &IdMap::Declared, reading, &plan, workers, &progress).unwrap();
    let read = || graph.storage_stats().map_or(0, |stats| stats.bytes_read);
    let before = read();
    welter_engine::run(&graph, &Bfs::new(vec![source.into()]), workers, &progress).unwrap();
    read() - before
}

/// A job that counts bytes of edges, and edges, that its workers stream.
struct Counted {
    inner: Arc<dyn Job>,
    streamed: Arc<[AtomicU64; 2]>,
}

impl Job for Counted {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn vertices(&self) -> u64 {
        self.inner.vertices()
    }

    fn vertex_bytes(&self) -> u64 {
        self.inner.vertex_bytes()
    }

    fn weights(&self, machines: usize, by_cells: bool) -> Weights {
        self.inner.weights(machines, by_cells)
    }

    fn worker(&self, cut: Partitioning, rank: usize, bug: Option<Bug>) -> Box<dyn Worker> {
        let (inner, streamed) = (self.inner.worker(cut, rank, bug), self.streamed.clone());
        Box::new(Counting { inner, streamed })
    }

    fn check_answer(&self, vertices: &[u8], iterations: u32) -> Result<(), String> {
        self.inner.check_answer(vertices, iterations)
    }
}

struct Counting {
    inner: Box<dyn Worker>,
    streamed: Arc<[AtomicU64; 2]>,
}

impl Worker for Counting {
    fn work(&mut self, work: &Work) -> Result<Outcome, EngineError> {
        if let Work::Stream { block, payload } = work
            && block.name.kind == Kind::Edges
        {
            let counts = [payload.len() as u64, block.records.into()];
            for (sum, count) in self.streamed.iter().zip(counts) {
                sum.fetch_add(count, Ordering::Relaxed);
            }
        }
        self.inner.work(work)
    }

    fn looked_at(&self) -> u64 {
        self.inner.looked_at()
    }
}

/// Bytes of edges, and edges, that a cluster reads in a search, by route, when bins are for
/// `source_parts` parts of a source partition and `bins_open_max` may be open.
fn cluster(
    (graph, source): (&Pairs, u32),
    route: Route,
    source_parts: u64,
    bins_open_max: u64,
) -> [u64; 2] {
    let vertices = graph.slots() as u64;
    let partitions =
        Partitions::fitting(MACHINES, vertices, 1, vertices / MACHINES as u64).unwrap();
    let cut = Partitioning {
        partitions,
        route,
        encoding: Encoding::Compressed,
        chunk_records: CHUNK_EDGES,
        bin_chunks: 1,
        chunk_vertices: 1 << 12,
        piece_edges: 1 << 16,
        bins_open_max,
        source_parts,
        stripe_bits: 63,
        combines: true,
    };
    let streamed: Arc<[AtomicU64; 2]> = Arc::default();
    let inner = Arc::new(KernelJob::new("bfs", graph, Bfs::new(vec![source.into()])));
    let mut schedule = Schedule::calm(Arc::new(Counted { inner, streamed: streamed.clone() }), cut);
    schedule.record_nanos = 10;
    let report = World::run(&schedule, false);
    assert_eq!((&report.failure, report.end), (&None, End::Finished));
    assert!(report.judged);
    [0, 1].map(|place: usize| streamed[place].load(Ordering::Relaxed))
}

/// A strip that is `width` vertices wide, both ways, whose edges come in any order: one row after
/// the other is active.
fn strip(length: u32, width: u32) -> Pairs {
    let mut pairs = Vec::new();
    for vertex in 0..length * width {
        let right = (vertex % width + 1 < width).then_some(vertex + 1);
        let below = (vertex + width < length * width).then_some(vertex + width);
        for next in right.into_iter().chain(below) {
            pairs.extend([[vertex, next], [next, vertex]]);
        }
    }
    Random::new(5).shuffle(&mut pairs);
    Pairs::new((length * width) as usize, pairs)
}

#[test]
fn a_search_on_a_cluster_reads_little_more_than_one_machine() {
    let graph = Pairs { weights: None, ..rmat(SCALE, 1) };
    let engine = engine(&graph, 0);
    // With a bin for each part of the sources of a cell, for each cell, and for each partition.
    for (route, bins, parts) in [
        (Route::Fold, 16 * 8, 8),
        (Route::Fold, 16, 1),
        (Route::Fold, 15, 1),
        (Route::Spill, 4 * 64, 64),
        (Route::Spill, 4, 1),
    ] {
        let [bytes, _] = cluster((&graph, 0), route, parts, bins);
        let read = bytes as f64 / engine as f64;
        let most = 1.5;
        assert!(read <= most, "{route:?}, {bins} bins, {parts} parts: {read:.2} times as much");
    }
}

#[test]
fn what_has_no_active_source_is_left_out() {
    let graph = strip(64, 16);
    let every = |parts, bins| cluster((&graph, 0), Route::Fold, parts, bins)[1];
    // Of four partitions of 16 rows one or two are active.
    let levels = 64 + 16 - 1;
    let coarse = every(1, 1);
    assert!(coarse < levels * graph.pairs.len() as u64 / 2, "{coarse} edges");
    // Of 16 parts of these few are: at most as many rows are active as the strip is wide.
    for (route, bins) in [(Route::Fold, 16 * 16), (Route::Fold, 15), (Route::Spill, 4 * 16)] {
        let [_, read] = cluster((&graph, 0), route, 16, bins);
        let most = if bins == 15 { coarse } else { coarse * 2 / 3 };
        assert!(read < most, "{route:?}, {bins} bins: {read} edges, {coarse} without parts");
    }
}

/// Graphs whose searches have many levels on few edges: the engine relaxes parts of them out of
/// step, and a cluster reads all chunks with an active source at each level.
const MESHES: [&str; 2] = ["4elt", "power-metis"];

#[test]
fn searches_of_real_graphs_read_little_more_than_one_machine() {
    for sample in samples() {
        let answers = sample.answers();
        let id = answers.json["source_id"].as_u64().unwrap();
        let source = answers.ids().binary_search(&id).unwrap() as u32;
        let graph = Pairs { weights: None, ..sample.load_simple(&answers) };
        let engine = engine(&graph, source);
        // A bin for each of 64 parts of the sources of a partition.
        let [bytes, _] = cluster((&graph, source), Route::Spill, 64, 4 * 64);
        let read = bytes as f64 / engine as f64;
        let most = if MESHES.contains(&sample.name) { 2.6 } else { 1.2 };
        assert!(read <= most, "{}: {read:.2} times as much", sample.name);
    }
}
