//! Jobs on clusters of threads, and what their results must be.

use std::sync::Arc;

use bytemuck::pod_read_unaligned;
use welter_algorithms::pagerank::Dangling;
use welter_algorithms::{Bfs, Cdlp, LabelPropagation, LocalContraction, PageRank};
use welter_cluster::host::{Finished, run};
use welter_cluster::send::{self, Transport};
use welter_cluster::{
    BatchCounter, ClusterError, Host, MakeTask, Reach, RequestCounter, Run, Settings, Share, Task,
};
use welter_engine::chunks::{FoldKernel, Kernel};
use welter_model::edges::{EdgeStream, Reading};
use welter_model::group::Grouped;
use welter_model::program::Value;
use welter_progress::Progress;
use welter_protocol::config::{Edges, Route};
use welter_protocol::random::Random;
use welter_protocol::{Config, Rank};
use welter_testing::graph::Graph;
use welter_testing::interpreter::{Answer, interpret};
use welter_testing::plain::components;
use welter_testing::reading::read_as;
use welter_testing::relative_error;
use welter_worker::{ContractWorker, Input, KernelWorker, Partitioning};

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
    /// Messages by a transport, with this number of sub-ranges a machine.
    Messages(Transport, usize),
}

impl Exchange {
    /// The route of chunks, or the one that says nothing of messages.
    fn route(self) -> Route {
        if let Self::Chunks(route) = self { route } else { Route::Fold }
    }
}

impl From<(Transport, usize)> for Exchange {
    fn from((transport, sub_ranges): (Transport, usize)) -> Self {
        Self::Messages(transport, sub_ranges)
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
        chunk_vertices: 40,
        piece_edges: 700,
        bins_open_max: 30,
        ..Settings::new(machines, vertices, vertex_bytes, route)
    }
}

fn run_of(settings: &Settings, cut: &Partitioning, words: &str) -> Run {
    let config = Arc::new(settings.config(cut));
    let (bounds, reach) = (Settings::bounds(), Reach::default());
    let (words, objects) = (words.to_owned(), RequestCounter::default());
    let batches = BatchCounter::default();
    Run { config, words, contents: 0, bounds, reach, objects, batches }
}

/// Updates that a machine keeps in memory: more than one vertex of the graph gets.
const KEPT_UPDATES: u64 = 1 << 10;

/// PageRank, breadth-first search, communities, or components by `labels` or by `contraction`.
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

fn fold<P: welter_model::program::Program + Send + 'static>(
    name: &str,
    graph: &Graph,
    reading: Reading,
    (machines, exchange): (usize, Exchange),
    program: P,
    judge: impl Fn(Vec<f64>, u64) + 'static,
) -> Job {
    let kernel = Kernel::Fold(FoldKernel::of(Arc::new(program)));
    let width = kernel.shape().value;
    let vertex_bytes = KernelWorker::vertex_bytes(&kernel);
    let settings = settings(machines, graph, vertex_bytes, exchange.route());
    let cut = settings.cut().expect("a vertex fits");
    let edges = Arc::new(graph.edge_list(97));
    let run = run_of(&settings, &cut, name);
    let messages = messages(&kernel, exchange, settings.vertices, (edges.clone(), reading));
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

/// The job of machines that send messages.
fn messages(
    kernel: &Kernel,
    exchange: Exchange,
    vertices: u64,
    (edges, reading): (Arc<dyn EdgeStream>, Reading),
) -> Option<send::Job> {
    let (Kernel::Fold(kernel), Exchange::Messages(transport, sub_ranges)) = (kernel, exchange)
    else {
        return None;
    };
    let settings = send::Settings {
        transport,
        sub_ranges,
        chunk_edges: 200,
        chunk_vertices: 40,
        ..send::Settings::default()
    };
    let input = move |me| Box::new(Share::new(edges.clone(), reading, me)) as Box<dyn Input>;
    send::Job::new(kernel.clone(), vertices, Arc::new(input), settings).ok()
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

    /// How it ends on a host.
    pub(crate) fn end(&self, host: &mut dyn Host) -> Result<Finished, ClusterError> {
        run(host, self.run.config.machines(), &Progress::new())
    }
}
