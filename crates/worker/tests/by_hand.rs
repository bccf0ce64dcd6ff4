//! A cluster by hand, without a protocol: workers are given their work, chunks wait in lists, and a
//! stealer takes every other one. Answers are the interpreter's, bit by bit or nearly.

use std::collections::BTreeMap;
use std::sync::Arc;

use welter_algorithms::bp::Potential;
use welter_algorithms::spmv::Vector;
use welter_algorithms::{Bfs, Cdlp, ForestLabels, Spmv, SumProduct};
use welter_engine::chunks::{ExtendedKernel, FoldKernel, Kernel};
use welter_model::edges::Reading;
use welter_model::group::Grouped;
use welter_protocol::config::Route;
use welter_protocol::ids::{Block, BlockName, Bytes, Epoch, Kind, Phase, Role, Step};
use welter_protocol::partitions::Partitions;
use welter_protocol::payload::Buffer;
use welter_protocol::work::{Filled, Rewritten};
use welter_protocol::{Outcome, Payload, Work};
use welter_store::header::Encoding;
use welter_testing::graph::Graph;
use welter_testing::interpreter::{interpret, interpret_extended};
use welter_testing::reading::read_as;
use welter_worker::{
    InputEdge, KernelWorker, Listed, MemoryScratch, Partitioning, Resources, Streamer, WorkPart,
    Worker,
};

const GRAPH: u64 = 7;
const VERTICES: usize = 42;
const PARTITIONS: u32 = 3;

/// Stripes of four vertices: a partition of fourteen has four.
const STRIPE_BITS: u32 = 2;

/// A graph with a hub, loops, parallel edges and a vertex without any.
fn graph() -> Graph {
    let pairs = (0..300_u32).map(|edge| [edge * 7 % 41, if edge % 3 == 0 { 5 } else { edge % 40 }]);
    Graph::new(VERTICES, pairs.collect())
}

fn cut(route: Route) -> Partitioning {
    Partitioning {
        partitions: Partitions::fitting(1, VERTICES as u64, 1, 15).expect("a vertex fits"),
        route,
        encoding: Encoding::Compressed,
        chunk_records: 20,
        bin_chunks: 1,
        chunk_vertices: 4,
        piece_edges: 50,
        bins_open_max: u64::MAX,
        source_parts: 1,
        stripe_bits: STRIPE_BITS,
        combines: true,
    }
}

fn worker(graph: &Graph, kernel: &Kernel, cut: Partitioning) -> KernelWorker {
    let edge = |(edge, ends): (usize, &[u32; 2])| {
        let [source, target] = ends.map(u64::from);
        InputEdge { source, target, weight: graph.weight(edge) }
    };
    let edges: Vec<_> = graph.pairs.iter().enumerate().map(edge).collect();
    let input = Box::new(Listed::new(edges));
    KernelWorker::new(kernel.clone(), cut, GRAPH, input).expect("numbers fit")
}

/// A host that begins with the last part of everything, and whose buffers hold what others left.
struct Backwards;

impl Resources for Backwards {
    fn run(&self, parts: Vec<WorkPart<'_>>) {
        parts.into_iter().rev().for_each(|part| part());
    }

    fn buffer(&self, bytes: usize) -> Buffer {
        let mut buffer = Buffer::zeroed(bytes);
        buffer.room().fill(0xaa);
        buffer
    }
}

/// A master and a stealer, and all that is on storage.
struct Cluster {
    workers: [KernelWorker; 2],
    /// Parts of each worker that stream chunks in turns; none where it does itself.
    streamers: usize,
    by_cells: bool,
    edges: Vec<Filled>,
    vertices: BTreeMap<u32, Vec<Payload>>,
    totals: Vec<(u32, Bytes)>,
}

impl Cluster {
    /// Reads all edges, and makes first values.
    fn begin(graph: &Graph, kernel: &Kernel, route: Route) -> Self {
        Self::cut_so(graph, kernel, &cut(route), 0)
    }

    /// As [`Self::begin`], with another cut, and chunks that are streamed by `streamers` parts.
    fn cut_so(graph: &Graph, kernel: &Kernel, cut: &Partitioning, streamers: usize) -> Self {
        let workers = [0, 1].map(|_| worker(graph, kernel, cut.clone()));
        let by_cells = cut.route == Route::Fold || matches!(kernel, Kernel::Extended(_));
        let (edges, vertices, totals) = (Vec::new(), BTreeMap::new(), Vec::new());
        let mut cluster = Self { workers, streamers, by_cells, edges, vertices, totals };
        if streamers > 0 {
            cluster.workers.iter_mut().for_each(|worker| worker.lend(Arc::new(Backwards)));
        }
        let mut first = true;
        let degrees = loop {
            let asked = Work::Ingest { first };
            let Outcome::Ingested { filled, degrees, .. } = cluster.ask(0, &asked) else {
                panic!("edges are read")
            };
            first = false;
            cluster.edges.extend(filled);
            if let Some(degrees) = degrees {
                break degrees;
            }
        };
        for (partition, degrees) in (0..).zip(degrees) {
            let made = cluster.ask(0, &Work::Init { partition, degrees: vec![degrees] });
            let vertices = cluster.made(partition, made);
            cluster.vertices.insert(partition, vertices);
        }
        cluster
    }

    fn ask(&mut self, at: usize, work: &Work) -> Outcome {
        self.workers[at].work(work).expect("work that can be done")
    }

    /// Keeps the total of a vertex set that was made.
    fn made(&mut self, partition: u32, made: Outcome) -> Vec<Payload> {
        let Outcome::Made { vertices, total, .. } = made else { panic!("vertices are made") };
        self.totals.push((partition, total));
        vertices
    }

    fn decide(&mut self, iterations: u32) -> Option<Bytes> {
        let totals = std::mem::take(&mut self.totals);
        let work = Work::Decide { iterations, control: [].into(), totals };
        let Outcome::Decided { goes_on, control, .. } = self.ask(0, &work) else {
            panic!("decided")
        };
        goes_on.then_some(control)
    }

    fn open(&mut self, step: Step, partition: u32, control: &Bytes) {
        let vertices = self.vertices[&partition].clone();
        let work = Work::Open { step, partition, vertices, control: control.clone() };
        for at in [0, 1] {
            assert!(matches!(self.ask(at, &work), Outcome::Opened));
        }
    }

    /// Streams chunks, every other one on the stealer. Updates that were made and gathered, and
    /// those that are to be stored.
    fn stream(&mut self, chunks: &mut [&mut Filled]) -> ([u64; 2], Vec<Filled>) {
        let (mut counts, mut stored) = ([0; 2], Vec::new());
        let mut borrowed = self.borrow();
        for (number, chunk) in chunks.iter_mut().enumerate() {
            let work = Work::Stream { block: block(chunk), payload: chunk.payload.clone() };
            let (at, turn) = (number % 2, number / 2 % self.streamers.max(1));
            let streamed = match borrowed[at].get_mut(turn) {
                Some(streamer) => streamer.stream(&chunk.payload).expect("a chunk of the cell"),
                None => self.ask(at, &work),
            };
            let Outcome::Streamed { made, gathered, rewritten, filled } = streamed else {
                panic!("streamed")
            };
            if let Rewritten::InPlace(payload) = rewritten {
                chunk.payload = payload;
            }
            counts = [counts[0] + made, counts[1] + gathered];
            stored.extend(filled);
        }
        for (worker, streamers) in self.workers.iter_mut().zip(borrowed) {
            // Whatever the order in which they come back.
            streamers.into_iter().rev().for_each(|streamer| worker.take_back(streamer));
        }
        (counts, stored)
    }

    /// Streamers of both workers, as many as there shall be, of steps that have any.
    fn borrow(&mut self) -> [Vec<Box<dyn Streamer>>; 2] {
        let streamers = self.streamers;
        self.workers
            .each_mut()
            .map(|worker| (0..streamers).map_while(|_| worker.borrow_streamer()).collect())
    }

    /// Streams the edges of a partition, cell by cell where they lie by cells.
    fn stream_edges(&mut self, partition: u32) -> (u64, Vec<Filled>) {
        let (mut made, mut stored, mut edges) = (0, Vec::new(), std::mem::take(&mut self.edges));
        for source in 0..if self.by_cells { PARTITIONS } else { 1 } {
            let of = self.by_cells.then_some(source);
            if self.by_cells {
                let vertices = self.vertices[&source].clone();
                for at in [0, 1] {
                    let work = Work::Turn { source, vertices: vertices.clone() };
                    assert!(matches!(self.ask(at, &work), Outcome::Turned));
                }
            }
            let cell = edges.iter_mut().filter(|it| (it.partition, it.source) == (partition, of));
            let ([more, _], filled) = self.stream(&mut cell.collect::<Vec<_>>());
            made += more;
            stored.extend(filled);
        }
        self.edges = edges;
        (made, stored)
    }

    /// Lets the master merge what the stealer has, and apply.
    fn apply(&mut self, partition: u32) -> Vec<Payload> {
        let Outcome::HandedOver(payload) = self.ask(1, &Work::HandOver) else {
            panic!("accumulators")
        };
        assert!(matches!(self.ask(0, &Work::Merge(payload)), Outcome::Merged));
        let made = self.ask(0, &Work::Apply);
        self.made(partition, made)
    }

    fn fold(&mut self, iteration: u32, control: &Bytes) {
        let mut next = BTreeMap::new();
        for partition in 0..PARTITIONS {
            self.open(Step { iteration, phase: Phase::Fold }, partition, control);
            assert_eq!(self.stream_edges(partition).0, 0, "updates wait nowhere");
            next.insert(partition, self.apply(partition));
        }
        self.vertices = next;
    }

    fn spill(&mut self, iteration: u32, control: &Bytes) {
        let (mut made, mut updates, mut met) = (0, Vec::new(), 0);
        for partition in 0..PARTITIONS {
            self.open(Step { iteration, phase: Phase::Scatter }, partition, control);
            let (more, filled) = self.stream_edges(partition);
            made += more;
            updates.extend(filled);
            for at in [0, 1] {
                let Outcome::Flushed { filled, .. } = self.ask(at, &Work::Flush) else {
                    panic!("flush")
                };
                updates.extend(filled);
            }
        }
        let mut next = BTreeMap::new();
        for partition in 0..PARTITIONS {
            self.open(Step { iteration, phase: Phase::Gather }, partition, control);
            let own = updates.iter_mut().filter(|it| it.partition == partition);
            met += self.stream(&mut own.collect::<Vec<_>>()).0[1];
            next.insert(partition, self.apply(partition));
        }
        let stored: u64 = updates.iter().map(|filled| u64::from(filled.records)).sum();
        assert_eq!([stored, met], [made; 2], "updates are stored, and gathered once");
        self.vertices = next;
    }
}

/// The bytes of all values that a program comes to.
fn run(graph: &Graph, kernel: &Kernel, route: Route) -> Vec<u8> {
    run_within(u64::MAX, graph, kernel, route)
}

/// As [`run`], on machines that keep this number of updates in memory.
fn run_within(updates_max: u64, graph: &Graph, kernel: &Kernel, route: Route) -> Vec<u8> {
    let mut cluster = Cluster::begin(graph, kernel, route);
    for worker in &mut cluster.workers {
        worker.keep_at_most(updates_max, Box::new(MemoryScratch::default()));
    }
    run_on(cluster, kernel, route)
}

/// The bytes of all values that a program comes to on machines that have begun.
fn run_on(mut cluster: Cluster, kernel: &Kernel, route: Route) -> Vec<u8> {
    let mut iterations = 0;
    while let Some(control) = cluster.decide(iterations) {
        match route {
            Route::Fold => cluster.fold(iterations, &control),
            Route::Spill => cluster.spill(iterations, &control),
        }
        iterations += 1;
    }
    let chunks = cluster.vertices.values().flatten();
    let vertices =
        chunks.flat_map(|chunk| chunk.chunks(KernelWorker::vertex_bytes(kernel) as usize));
    vertices.flat_map(|vertex| &vertex[..kernel.shape().value]).copied().collect()
}

fn block(chunk: &Filled) -> Block {
    let name = BlockName {
        kind: Kind::Edges,
        role: Role::Primary,
        epoch: Epoch::default(),
        iteration: 0,
        partition: chunk.partition,
        source: chunk.source,
        number: 0,
    };
    Block::of(name, chunk.records, chunk.sources, &chunk.payload)
}

#[test]
fn answers_are_those_of_the_interpreter_on_both_routes() {
    let (graph, both) =
        (graph(), read_as(&graph(), Reading { undirected: true, ..Reading::default() }));
    for route in [Route::Fold, Route::Spill] {
        let search = Bfs::new(vec![0]);
        let expected = interpret(&graph, &search).bits();
        let kernel = Kernel::Fold(FoldKernel::of(Arc::new(search)));
        assert_eq!(run(&graph, &kernel, route), expected, "a frontier, {route:?}");

        let labels = Grouped(Cdlp::new(3));
        let expected = interpret(&both, &labels).bits();
        let kernel = Kernel::Fold(FoldKernel::of(Arc::new(labels)));
        assert_eq!(run(&both, &kernel, route), expected, "groups, {route:?}");

        let product = Spmv::<f64>::new(Vector::Random { seed: 3 }, 2);
        let expected = interpret(&graph, &product).numbers();
        let kernel = Kernel::Fold(FoldKernel::of(Arc::new(product)));
        let found = run(&graph, &kernel, route);
        assert_near(&expected, &numbers(&found), "sums of weights");

        let potential = Potential::<2>::coupled(0.6).unwrap();
        let priors = (0..both.slots()).map(|vertex| [1.0, 1.0 + vertex as f64 / 9.0]).collect();
        let beliefs = SumProduct::<2, 1>::new(potential, 3, 0.0).unwrap().with_priors(priors);
        let expected = interpret_extended(&both, &beliefs).bits();
        let kernel = Kernel::Extended(ExtendedKernel::of(Arc::new(beliefs)));
        let found = run(&both, &kernel, route);
        assert_near(&numbers(&expected), &numbers(&found), "states of edges");
    }
}

#[test]
fn answers_do_not_depend_on_streamers_and_stripes() {
    let graph = graph();
    let both = read_as(&graph, Reading { undirected: true, ..Reading::default() });
    let search = Bfs::new(vec![0]);
    let reached = interpret(&graph, &search).bits();
    let search = Kernel::Fold(FoldKernel::of(Arc::new(search)));
    let labels = Grouped(Cdlp::new(3));
    let communities = interpret(&both, &labels).bits();
    let labels = Kernel::Fold(FoldKernel::of(Arc::new(labels)));
    let product = Spmv::<f64>::new(Vector::Random { seed: 3 }, 2);
    let products = interpret(&graph, &product).numbers();
    let product = Kernel::Fold(FoldKernel::of(Arc::new(product)));
    for route in [Route::Fold, Route::Spill] {
        for (stripe_bits, streamers, bin_chunks) in [
            (63, 1, 1),
            (63, 2, 8),
            (63, 4, 1),
            (0, 0, 2),
            (0, 4, 8),
            (1, 2, 2),
            (3, 1, 1),
            (3, 4, 3),
        ] {
            for combines in [true, false] {
                let cut = Partitioning { stripe_bits, bin_chunks, combines, ..cut(route) };
                let run = |graph: &Graph, kernel: &Kernel| {
                    run_on(Cluster::cut_so(graph, kernel, &cut, streamers), kernel, route)
                };
                let what = format!(
                    "{route:?}, {streamers} streamers, 2^{stripe_bits}, {bin_chunks} chunks"
                );
                assert_eq!(run(&graph, &search), reached, "{what}");
                assert_eq!(run(&both, &labels), communities, "{what}");
                assert_near(&products, &numbers(&run(&graph, &product)), &what);
            }
        }
    }
}

#[test]
fn a_worker_is_alone_with_what_its_streamers_look_at() {
    let kernel = Kernel::Fold(FoldKernel::of(Arc::new(Bfs::new(vec![0]))));
    let mut cluster = Cluster::begin(&graph(), &kernel, Route::Fold);
    let control = cluster.decide(0).expect("an iteration");
    let step = Step { iteration: 0, phase: Phase::Fold };
    cluster.open(step, 0, &control);
    let vertices = cluster.vertices[&0].clone();
    let [worker, _] = &mut cluster.workers;
    let turn = Work::Turn { source: 0, vertices };
    let streamer = worker.borrow_streamer().expect("updates are merged");
    assert!(worker.work(&turn).is_err(), "a bug of the host");
    worker.take_back(streamer);
    assert!(worker.work(&turn).is_ok());
}

#[test]
fn answers_do_not_depend_on_how_many_updates_are_kept() {
    let both = read_as(&graph(), Reading { undirected: true, ..Reading::default() });
    let labels = Grouped(Cdlp::new(3));
    let expected = interpret(&both, &labels).bits();
    let grouped = Kernel::Fold(FoldKernel::of(Arc::new(labels)));
    let potential = Potential::<2>::coupled(0.6).unwrap();
    let beliefs = SumProduct::<2, 1>::new(potential, 3, 0.0).unwrap();
    let near = interpret_extended(&both, &beliefs).bits();
    let extended = Kernel::Extended(ExtendedKernel::of(Arc::new(beliefs)));
    let forest = ForestLabels::default();
    let trees = interpret(&both, &forest).bits();
    let knowing = Kernel::Fold(FoldKernel::of(Arc::new(forest)));
    // As many as the hub has, and a few.
    let most = both.pairs.iter().filter(|[_, target]| *target == 5).count() as u64;
    for route in [Route::Fold, Route::Spill] {
        let found = run_within(most.next_power_of_two(), &both, &grouped, route);
        assert_eq!(found, expected, "groups, {route:?}");
        for most in [1, 8] {
            let found = run_within(most, &both, &extended, route);
            assert_near(&numbers(&near), &numbers(&found), "states of edges");
            let found = run_within(most, &both, &knowing, route);
            assert_eq!(found, trees, "accumulators that know whom they are of, {route:?}");
        }
    }
}

/// Values that are numbers.
fn numbers(values: &[u8]) -> Vec<f64> {
    values.chunks_exact(8).map(bytemuck::pod_read_unaligned).collect()
}

fn assert_near(expected: &[f64], found: &[f64], what: &str) {
    let error = welter_testing::relative_error(expected, found);
    assert!(error < 1e-5, "{what}: {error}");
}

/// The bytes that two machines store, and those of the updates of one partition.
fn stored(graph: &Graph, route: Route) -> Vec<Vec<u8>> {
    let product = Spmv::<f64>::new(Vector::Random { seed: 3 }, 2);
    let kernel = Kernel::Fold(FoldKernel::of(Arc::new(product)));
    let mut cluster = Cluster::begin(graph, &kernel, route);
    let vertices = cluster.vertices.values().flatten().map(|chunk| chunk.to_vec());
    let mut bytes: Vec<Vec<u8>> = vertices.collect();
    bytes.extend(cluster.edges.iter().map(|chunk| chunk.payload.to_vec()));
    if route == Route::Spill {
        let control = cluster.decide(0).expect("an iteration");
        cluster.open(Step { iteration: 0, phase: Phase::Scatter }, 0, &control);
        let (_, mut updates) = cluster.stream_edges(0);
        for at in [0, 1] {
            let Outcome::Flushed { filled, .. } = cluster.ask(at, &Work::Flush) else {
                panic!("flush")
            };
            updates.extend(filled);
        }
        assert!(!updates.is_empty());
        bytes.extend(updates.iter().map(|chunk| chunk.payload.to_vec()));
    }
    bytes
}

#[test]
fn work_that_is_done_again_gives_the_same_bytes() {
    for route in [Route::Fold, Route::Spill] {
        assert!(stored(&graph(), route) == stored(&graph(), route), "{route:?}");
    }
}

#[test]
fn payloads_of_another_kind_are_errors() {
    let graph = graph();
    let kernel = Kernel::Fold(FoldKernel::of(Arc::new(Bfs::new(vec![0]))));
    let mut cluster = Cluster::begin(&graph, &kernel, Route::Spill);
    let control = cluster.decide(0).unwrap();
    let step = Step { iteration: 0, phase: Phase::Scatter };
    let vertices = cluster.vertices[&0].clone();
    let edges = cluster.edges.iter().find(|it| it.partition == 0).unwrap().clone();
    let foreign = cluster.edges.iter().find(|it| it.partition == 1).unwrap().payload.clone();
    let open = |vertices: &[Payload], control: &[u8]| Work::Open {
        step,
        partition: 0,
        vertices: vertices.to_vec(),
        control: control.into(),
    };
    let stream =
        |payload: &Payload| Work::Stream { block: block(&edges), payload: payload.clone() };
    let worker = &mut cluster.workers[0];
    assert!(worker.work(&open(&vertices, &control)).is_ok());
    assert!(worker.work(&stream(&edges.payload)).is_ok());
    for wrong in [
        stream(&foreign),
        stream(&vertices[0]),
        stream(&Payload::default()),
        Work::Merge(edges.payload.clone()),
        open(&vertices[1..], &control),
        open(&vertices, &control[1..]),
        open(&[Payload::from([1, 2, 3])], &control),
        Work::Init { partition: 0, degrees: vec![Payload::default()] },
        Work::Decide { iterations: 1, control: control.clone(), totals: vec![(0, [7].into())] },
    ] {
        assert!(worker.work(&wrong).is_err(), "{wrong:?}");
    }
}
