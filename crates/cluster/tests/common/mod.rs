//! Jobs on clusters of threads, and what their results must be.

use std::sync::Arc;

use bytemuck::{cast_slice, pod_read_unaligned};
use welter_algorithms::pagerank::Dangling;
use welter_algorithms::{Bfs, Cdlp, LabelPropagation, Lcc, LocalContraction, PageRank, Triangles};
use welter_cluster::host::{Finished, run};
use welter_cluster::send::{self, MessageKernel, Transport};
use welter_cluster::{
    BatchCounter, ClusterError, Host, MakeTask, Reach, RequestCounter, Run, Settings, Share, Task,
};
use welter_engine::chunks::{ExtendedKernel, FoldKernel, IntersectKernel, Kernel};
use welter_model::edges::{Duplicates, EdgeStream, Reading};
use welter_model::group::Grouped;
use welter_model::intersect::Intersect;
use welter_model::program::Value;
use welter_progress::Progress;
use welter_protocol::config::{Edges, Route};
use welter_protocol::random::Random;
use welter_protocol::{Config, Rank};
use welter_testing::graph::Graph;
use welter_testing::hashed::UnorderedHashes;
use welter_testing::interpreter::{Answer, interpret, interpret_extended};
use welter_testing::plain::{closed, components};
use welter_testing::reading::read_as;
use welter_testing::relative_error;
use welter_worker::{ContractWorker, Input, KernelWorker, Partitioning, TriangleWorker};

/// Bytes of rows of a machine of the routes of chunks.
const ROWS_BYTES: u64 = 1 << 20;

/// Judges the bytes of all vertices after a number of iterations.
type Judge = Box<dyn Fn(&[u8], u64)>;

/// A program on a graph, cut for a cluster.
pub(crate) struct Job {
    pub(crate) run: Run,
    make: Arc<dyn Fn(Rank) -> Task + Send + Sync>,
    judge: Judge,
}

/// A graph with hubs, loops, parallel edges and vertices without edges.
pub(crate) fn graph(seed: u64, vertices: u64, edges: u64) -> Graph {
    let mut random = Random::new(seed);
    let mut end = || {
        let bound = if random.chance(300) { 5.min(vertices) } else { vertices };
        random.below(bound) as u32
    };
    Graph::new(vertices as usize, (0..edges).map(|_| [end(), end()]).collect())
}

fn numbers<V: Value>(values: Vec<V>) -> Vec<f64> {
    Answer { values, iterations: 0, in_step: true, total: (), totals: Vec::new() }.numbers()
}

/// Exchange of updates between machines.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Exchange {
    Chunks(Route),
    /// Messages by a transport, with these numbers of sub-ranges and of sender threads a machine.
    Messages(Transport, usize, usize),
}

impl Exchange {
    /// The route of chunks, or the one that says nothing of messages.
    fn route(self) -> Route {
        if let Self::Chunks(route) = self { route } else { Route::Fold }
    }
}

impl From<(Transport, usize)> for Exchange {
    fn from((transport, sub_ranges): (Transport, usize)) -> Self {
        Self::Messages(transport, sub_ranges, 0)
    }
}

impl From<Route> for Exchange {
    fn from(route: Route) -> Self {
        Self::Chunks(route)
    }
}

/// Settings small enough for many chunks and several partitions a machine.
fn settings(machines: usize, graph: &Graph, vertex_bytes: u64, route: Route) -> Settings {
    let vertices = graph.slots() as u64;
    Settings {
        set_bytes_max: vertex_bytes * vertices.div_ceil(2 * machines as u64),
        chunk_records: 200,
        bin_chunks: 4,
        chunk_vertices: 40,
        piece_edges: 700,
        bins_open_max: 30,
        streams: 3,
        stripe_vertices_least: 8,
        ..Settings::new(machines, vertices, vertex_bytes, route)
    }
}

fn run_of(settings: &Settings, cut: &Partitioning, words: &str) -> Run {
    let config = Arc::new(settings.config(cut));
    let (bounds, reach) = (Settings::bounds(), Reach::default());
    let (words, objects) = (words.to_owned(), RequestCounter::default());
    let batches = BatchCounter::default();
    Run { config, words, contents: 0, bounds, reach, objects, batches, copies: None }
}

/// Updates that a machine keeps in memory: more than one vertex of the graph gets.
const KEPT_UPDATES: u64 = 1 << 10;

/// PageRank, breadth-first search, communities, components by `labels` or by `contraction`, hashes
/// of edges with states (`extended`), `triangles`, or clustering (`lcc`).
pub(crate) fn job(
    name: &str,
    graph: &Graph,
    machines: usize,
    exchange: impl Into<Exchange>,
) -> Job {
    let exchange = exchange.into();
    let both = Reading { undirected: true, ..Reading::default() };
    let vertices = graph.slots() as u64;
    match name {
        "pagerank" => {
            let program = PageRank::<f64>::new(vertices, 0.85, 5, 0.0, Dangling::Spread);
            let expected = interpret(graph, &program);
            let judge = move |found: Vec<f64>, iterations| {
                assert_eq!(iterations, expected.iterations);
                assert!(relative_error(&expected.numbers(), &found) < 1e-9);
            };
            fold(name, graph, Reading::default(), (machines, exchange), program, judge)
        }
        "bfs" => {
            let program = Bfs::new(vec![vertices / 2]);
            let expected = interpret(graph, &program).numbers();
            let judge = move |found, _| assert_eq!(found, expected);
            fold(name, graph, Reading::default(), (machines, exchange), program, judge)
        }
        "labels" => {
            let expected: Vec<f64> = components(graph).iter().map(|&of| of as f64).collect();
            let judge = move |found, _| assert_eq!(found, expected);
            fold(name, graph, both, (machines, exchange), LabelPropagation, judge)
        }
        "communities" => communities(KEPT_UPDATES, graph, machines, exchange),
        "extended" => extended(graph, (machines, exchange)),
        "triangles" => triangles(name, graph, (machines, exchange), Triangles),
        "lcc" => triangles(name, graph, (machines, exchange), Lcc),
        _ => contraction(graph, machines, exchange.route()),
    }
}

/// Communities by machines that keep this number of updates in memory.
pub(crate) fn communities(
    kept_updates_max: u64,
    graph: &Graph,
    machines: usize,
    exchange: impl Into<Exchange>,
) -> Job {
    let both = Reading { undirected: true, ..Reading::default() };
    let program = Grouped(Cdlp::new(3));
    let expected = interpret(&read_as(graph, both), &program).numbers();
    let judge = move |found, _| assert_eq!(found, expected);
    let of = (machines, exchange.into());
    let job = fold("communities", graph, both, of, program, judge);
    let config = Config { kept_updates_max, ..Config::clone(&job.run.config) };
    Job { run: Run { config: Arc::new(config), ..job.run }, ..job }
}

/// A program whose edges have states: each edge hashes what both its ends say.
fn extended(graph: &Graph, (machines, exchange): (usize, Exchange)) -> Job {
    let program = UnorderedHashes(5);
    let expected = interpret_extended(graph, &program);
    let kernel = ExtendedKernel::of(Arc::new(program));
    let of_chunks = Kernel::Extended(kernel.clone());
    let mut settings =
        settings(machines, graph, KernelWorker::vertex_bytes(&of_chunks), exchange.route());
    settings.edges = Edges::Rewritten;
    let cut = settings.cut().expect("a vertex fits");
    let (edges, reading) = (Arc::new(graph.edge_list(97)), Reading::default());
    let run = run_of(&settings, &cut, "extended");
    let messages = messages(kernel, exchange, settings.vertices, (edges.clone(), reading));
    let make = move |rank| -> Task {
        if let Some(job) = &messages {
            return job.clone().into();
        }
        let share = Share::new(edges.clone(), reading, (rank, machines));
        let worker = KernelWorker::new(of_chunks.clone(), cut.clone(), 5, Box::new(share));
        Task::Chunks(Box::new(worker.expect("numbers fit")))
    };
    let judge = move |bytes: &[u8], iterations| {
        assert_eq!(iterations, expected.iterations);
        assert!(bytes == expected.bits(), "other hashes than the interpreter's");
    };
    Job { run, make: Arc::new(make), judge: Box::new(judge) }
}

/// A program over triangles, of which a plain loop over pairs of neighbours is the judge.
fn triangles<I: Intersect + Copy + Send + 'static>(
    name: &str,
    graph: &Graph,
    (machines, exchange): (usize, Exchange),
    program: I,
) -> Job {
    let value = |(neighbours, edges, pairs): (usize, usize, usize)| {
        let closed = if I::DIRECTED { edges } else { pairs };
        program.value(neighbours as u64, closed as u64)
    };
    let expected: Vec<I::Value> = closed(graph).into_iter().map(value).collect();
    let expected = cast_slice::<I::Value, u8>(&expected).to_vec();
    let kernel = IntersectKernel::of(Arc::new(program));
    let vertex_bytes = TriangleWorker::vertex_bytes(&kernel);
    let value_bytes = kernel.value_bytes();
    let mut settings = settings(machines, graph, vertex_bytes, exchange.route());
    settings.carries = true;
    let cut = settings.cut().expect("a vertex fits");
    let edges: Arc<dyn EdgeStream> = Arc::new(graph.edge_list(97));
    let run = run_of(&settings, &cut, name);
    // Chunks want each edge once, messages both ways.
    let both = if I::DIRECTED {
        Reading { duplicates: Duplicates::Directions, ..Reading::default() }
    } else {
        Reading { undirected: true, ..Reading::default() }
    };
    let messages = messages(kernel.clone(), exchange, settings.vertices, (edges.clone(), both));
    let make = move |rank| -> Task {
        if let Some(job) = &messages {
            return job.clone().into();
        }
        let share = Share::new(edges.clone(), Reading::default(), (rank, machines));
        let of = (5, ROWS_BYTES);
        let worker = TriangleWorker::new(kernel.clone(), cut.clone(), of, Box::new(share));
        Task::Chunks(Box::new(worker.expect("rows travel")))
    };
    let judge = move |bytes: &[u8], _| {
        let vertices = bytes.chunks_exact(vertex_bytes as usize);
        let values: Vec<u8> =
            vertices.flat_map(|vertex| &vertex[vertex.len() - value_bytes..]).copied().collect();
        assert!(values == expected, "other triangles than those of a plain loop");
    };
    Job { run, make: Arc::new(make), judge: Box::new(judge) }
}

fn fold<P: welter_model::program::Program + Send + 'static>(
    name: &str,
    graph: &Graph,
    reading: Reading,
    (machines, exchange): (usize, Exchange),
    program: P,
    judge: impl Fn(Vec<f64>, u64) + 'static,
) -> Job {
    let folded = FoldKernel::of(Arc::new(program));
    let kernel = Kernel::Fold(folded.clone());
    let width = kernel.shape().value;
    let vertex_bytes = KernelWorker::vertex_bytes(&kernel);
    let settings = settings(machines, graph, vertex_bytes, exchange.route());
    let cut = settings.cut().expect("a vertex fits");
    let edges = Arc::new(graph.edge_list(97));
    let run = run_of(&settings, &cut, name);
    let messages = messages(folded, exchange, settings.vertices, (edges.clone(), reading));
    let make = move |rank| -> Task {
        if let Some(job) = &messages {
            return job.clone().into();
        }
        let share = Share::new(edges.clone(), reading, (rank, machines));
        let worker = KernelWorker::new(kernel.clone(), cut.clone(), 5, Box::new(share))
            .expect("numbers fit");
        Task::Chunks(Box::new(worker))
    };
    let judge = move |bytes: &[u8], iterations| {
        let values = bytes.chunks_exact(vertex_bytes as usize);
        let values = values.map(|vertex| pod_read_unaligned(&vertex[..width]));
        judge(numbers::<P::Value>(values.collect()), iterations);
    };
    Job { run, make: Arc::new(make), judge: Box::new(judge) }
}

/// The job of machines that send messages. Those with one sub-range have no edges in memory, and
/// few rows travel at a time.
fn messages(
    kernel: impl Into<MessageKernel>,
    exchange: Exchange,
    vertices: u64,
    (edges, reading): (Arc<dyn EdgeStream>, Reading),
) -> Option<send::Job> {
    let Exchange::Messages(transport, sub_ranges, senders) = exchange else { return None };
    let settings = send::Settings {
        transport,
        sub_ranges,
        senders,
        chunk_edges: 200,
        stripe_vertices: 24,
        chunk_vertices: 40,
        edge_bytes: if sub_ranges == 1 { 0 } else { u64::MAX },
        passing_vertices: 60,
        ..send::Settings::default()
    };
    let input = move |me| Box::new(Share::new(edges.clone(), reading, me)) as Box<dyn Input>;
    send::Job::new(kernel, vertices, Arc::new(input), settings).ok()
}

fn contraction(graph: &Graph, machines: usize, route: Route) -> Job {
    type Label = <LocalContraction as welter_model::contract::Contract>::Value;
    let width = size_of::<Label>();
    let mut settings = settings(machines, graph, width as u64, route);
    settings.edges = Edges::Contracted;
    let cut = settings.cut().expect("a vertex fits");
    let (edges, vertices) = (Arc::new(graph.edge_list(97)), graph.slots() as u64);
    let reading = Reading { undirected: true, drop_self_loops: true, ..Reading::default() };
    let run = run_of(&settings, &cut, "wcc");
    let make = move |rank| -> Task {
        let me = (rank, machines);
        let share = Share::new(edges.clone(), reading, me).with_members(vertices, me);
        let program = Arc::new(LocalContraction::new(3));
        Task::Chunks(Box::new(
            ContractWorker::new(program, cut.clone(), 5, Box::new(share)).expect("numbers fit"),
        ))
    };
    let expected: Vec<f64> = components(graph).iter().map(|&of| of as f64).collect();
    let judge = move |bytes: &[u8], _| {
        let values = bytes.chunks_exact(width).map(pod_read_unaligned);
        assert_eq!(numbers::<Label>(values.collect()), expected);
    };
    Job { run, make: Arc::new(make), judge: Box::new(judge) }
}

impl Job {
    /// Makes tasks.
    pub(crate) fn workers(&self) -> MakeTask {
        let make = self.make.clone();
        Box::new(move |rank| Ok(make(rank)))
    }

    /// Runs it on a host, and compares the result with the reference.
    pub(crate) fn check(&self, host: &mut dyn Host) -> Finished {
        let finished = self.end(host).expect("it comes to its end");
        assert!(finished.manifest.finished);
        (self.judge)(&finished.vertices(), finished.manifest.version.into());
        finished
    }

    /// End of the run on a host.
    pub(crate) fn end(&self, host: &mut dyn Host) -> Result<Finished, ClusterError> {
        run(host, self.run.config.machines(), &Progress::new())
    }
}
