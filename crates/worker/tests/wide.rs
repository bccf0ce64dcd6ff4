//! Graphs of more than 2^32 vertices, by hand: partitions in which no edge ends are never looked
//! at, since no update comes to them, and the others are compared with searches over maps.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use bytemuck::pod_read_unaligned;
use welter_algorithms::{Bfs, BfsTree, LocalContraction, Sssp};
use welter_engine::EngineError;
use welter_engine::chunks::{FoldKernel, Kernel};
use welter_protocol::config::Route;
use welter_protocol::ids::{Block, BlockName, Bytes, Epoch, Kind, Phase, Role, Step};
use welter_protocol::partitions::Partitions;
use welter_protocol::random::Random;
use welter_protocol::work::Filled;
use welter_protocol::{Outcome, Payload, Work};
use welter_store::header::Encoding;
use welter_worker::{ContractWorker, InputEdge, KernelWorker, Listed, Partitioning, Worker};

const VERTICES: u64 = 1 << 33;
const WIDTH: u64 = 1 << 18;
const START: u64 = (1 << 32) + 1;

fn cut(route: Route, bins_open_max: u64) -> Partitioning {
    Partitioning {
        partitions: Partitions::fitting(1, VERTICES, 1, WIDTH).expect("a vertex fits"),
        route,
        encoding: Encoding::Packed,
        chunk_records: 7,
        bin_chunks: 3,
        chunk_vertices: WIDTH,
        piece_edges: 50,
        bins_open_max,
        source_parts: 1,
        stripe_bits: 10,
        combines: true,
    }
}

/// Edges between vertices at both sides of where partitions, zones and 32 bits end.
fn edges() -> Vec<InputEdge> {
    let random = &mut Random::new(5);
    let bounds = [4, WIDTH, 1 << 31, (1 << 31) + WIDTH, 1 << 32, 3 << 31, VERTICES - 4];
    let mut end = || random.pick(&bounds) + random.below(8) - 4;
    let mut ends = BTreeSet::from([[START, START - 1], [0, VERTICES - 1], [VERTICES - 1, START]]);
    ends.extend((0..90).map(|_| [end(), end()]));
    let edge = |(weight, [source, target]): (f64, [u64; 2])| InputEdge { source, target, weight };
    (1..100).map(f64::from).zip(ends).map(edge).collect()
}

/// Lengths of shortest paths from [`START`]: by the number of edges, or by weights.
fn reached(edges: &[InputEdge], weighted: bool) -> BTreeMap<u64, f64> {
    let (mut lengths, mut waiting) = (BTreeMap::from([(START, 0.0)]), VecDeque::from([START]));
    while let Some(vertex) = waiting.pop_front() {
        for edge in edges.iter().filter(|edge| edge.source == vertex) {
            let length = lengths[&vertex] + if weighted { edge.weight } else { 1.0 };
            let known = lengths.get(&edge.target).copied().unwrap_or(f64::INFINITY);
            if length < known {
                lengths.insert(edge.target, length);
                waiting.push_back(edge.target);
            }
        }
    }
    lengths
}

/// A machine, and what is on storage.
struct Machine {
    worker: KernelWorker,
    partitions: Partitions,
    edges: Vec<Filled>,
    vertices: BTreeMap<u32, Vec<Payload>>,
    totals: Vec<(u32, Bytes)>,
}

impl Machine {
    /// Reads all edges, and makes first values where any ends.
    fn begin(kernel: &Kernel, cut: &Partitioning) -> Self {
        let input = Box::new(Listed::new(edges()));
        let worker = KernelWorker::new(kernel.clone(), cut.clone(), 7, input);
        let (partitions, vertices) = (cut.partitions.clone(), BTreeMap::new());
        let (edges, totals, worker) = (Vec::new(), Vec::new(), worker.expect("numbers fit"));
        let mut machine = Self { worker, partitions, edges, vertices, totals };
        let degrees = machine.read();
        if cut.route == Route::Fold && machine.edges.iter().any(|chunk| chunk.source.is_none()) {
            machine.split();
        }
        let mut leaving = vec![0_u64; machine.partitions.count() as usize];
        for edge in self::edges() {
            leaving[machine.partitions.of(edge.source) as usize] += 1;
        }
        let counts: Vec<u64> = degrees.iter().map(|count| pod_read_unaligned(count)).collect();
        assert_eq!(counts, leaving, "of programs that look at no degree a number a partition");
        for partition in machine.looked_at() {
            let degrees = vec![degrees[partition as usize].clone()];
            let made = machine.ask(&Work::Init { partition, degrees });
            let vertices = machine.made(partition, made);
            machine.vertices.insert(partition, vertices);
        }
        machine
    }

    fn read(&mut self) -> Vec<Payload> {
        let mut first = true;
        loop {
            let Outcome::Ingested { filled, degrees, .. } = self.ask(&Work::Ingest { first })
            else {
                panic!("edges are read")
            };
            first = false;
            self.edges.extend(filled);
            if let Some(degrees) = degrees {
                return degrees;
            }
        }
    }

    /// Bins rough chunks by their sources too.
    fn split(&mut self) {
        let rough = std::mem::take(&mut self.edges);
        let partitions: BTreeSet<u32> = rough.iter().map(|chunk| chunk.partition).collect();
        for partition in partitions {
            let step = Step { iteration: 0, phase: Phase::Split };
            let (vertices, control) = (Vec::new(), [].into());
            let opened = self.ask(&Work::Open { step, partition, vertices, control });
            assert!(matches!(opened, Outcome::Opened));
            let own: Vec<&Filled> =
                rough.iter().filter(|chunk| chunk.partition == partition).collect();
            let mut stored = self.stream(&own);
            stored.extend(self.flush());
            self.edges.extend(stored);
        }
    }

    /// Partitions in which edges end.
    fn looked_at(&self) -> BTreeSet<u32> {
        let ends = edges().into_iter().flat_map(|edge| [edge.source, edge.target]);
        ends.map(|end| self.partitions.of(end)).collect()
    }

    fn ask(&mut self, work: &Work) -> Outcome {
        self.worker.work(work).expect("work that can be done")
    }

    fn made(&mut self, partition: u32, made: Outcome) -> Vec<Payload> {
        let Outcome::Made { vertices, total, .. } = made else { panic!("vertices are made") };
        self.totals.push((partition, total));
        vertices
    }

    fn flush(&mut self) -> Vec<Filled> {
        let Outcome::Flushed { filled, .. } = self.ask(&Work::Flush) else { panic!("flushed") };
        filled
    }

    fn stream(&mut self, chunks: &[&Filled]) -> Vec<Filled> {
        let mut stored = Vec::new();
        for chunk in chunks {
            let work = Work::Stream { block: block(chunk), payload: chunk.payload.clone() };
            let Outcome::Streamed { filled, .. } = self.ask(&work) else { panic!("streamed") };
            stored.extend(filled);
        }
        stored
    }

    fn open(&mut self, step: Step, partition: u32, control: &Bytes) {
        let vertices = self.vertices[&partition].clone();
        let opened = self.ask(&Work::Open { step, partition, vertices, control: control.clone() });
        assert!(matches!(opened, Outcome::Opened));
    }

    fn apply(&mut self, partition: u32) -> Vec<Payload> {
        let made = self.ask(&Work::Apply);
        self.made(partition, made)
    }

    fn fold(&mut self, iteration: u32, control: &Bytes) {
        let (mut next, edges) = (BTreeMap::new(), std::mem::take(&mut self.edges));
        for partition in self.looked_at() {
            self.open(Step { iteration, phase: Phase::Fold }, partition, control);
            for source in self.looked_at() {
                let own = edges.iter();
                let own = own.filter(|it| (it.partition, it.source) == (partition, Some(source)));
                let own: Vec<&Filled> = own.collect();
                if own.is_empty() {
                    continue;
                }
                let vertices = self.vertices[&source].clone();
                let turned = self.ask(&Work::Turn { source, vertices });
                assert!(matches!(turned, Outcome::Turned));
                self.stream(&own);
            }
            next.insert(partition, self.apply(partition));
        }
        (self.vertices, self.edges) = (next, edges);
    }

    fn spill(&mut self, iteration: u32, control: &Bytes) {
        let (mut updates, edges) = (Vec::new(), std::mem::take(&mut self.edges));
        for partition in self.looked_at() {
            self.open(Step { iteration, phase: Phase::Scatter }, partition, control);
            let own: Vec<&Filled> = edges.iter().filter(|it| it.partition == partition).collect();
            updates.extend(self.stream(&own));
            updates.extend(self.flush());
        }
        let mut next = BTreeMap::new();
        for partition in self.looked_at() {
            self.open(Step { iteration, phase: Phase::Gather }, partition, control);
            let own: Vec<&Filled> = updates.iter().filter(|it| it.partition == partition).collect();
            self.stream(&own);
            next.insert(partition, self.apply(partition));
        }
        (self.vertices, self.edges) = (next, edges);
    }

    fn decide(&mut self, iterations: u32) -> Option<Bytes> {
        let totals = std::mem::take(&mut self.totals);
        let work = Work::Decide { iterations, control: [].into(), totals };
        let Outcome::Decided { goes_on, control, .. } = self.ask(&work) else { panic!("decided") };
        goes_on.then_some(control)
    }
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

/// The bytes of values, four each, of the vertices of partitions in which edges end.
fn run(kernel: &Kernel, route: Route, bins_open_max: u64) -> Vec<(u64, [u8; 4])> {
    let mut machine = Machine::begin(kernel, &cut(route, bins_open_max));
    let mut iterations = 0;
    while let Some(control) = machine.decide(iterations) {
        match route {
            Route::Fold => machine.fold(iterations, &control),
            Route::Spill => machine.spill(iterations, &control),
        }
        iterations += 1;
    }
    assert!(iterations > 3, "{iterations} iterations");
    let bytes = KernelWorker::vertex_bytes(kernel) as usize;
    let mut values = Vec::new();
    for (partition, chunks) in &machine.vertices {
        let vertices = chunks.iter().flat_map(|chunk| chunk.chunks_exact(bytes));
        let numbers = machine.partitions.range(*partition);
        values.extend(numbers.zip(vertices.map(|vertex| pod_read_unaligned(&vertex[..4]))));
    }
    values
}

#[test]
fn searches_beyond_32_bits_reach_what_maps_say() {
    let weighted = reached(&edges(), true);
    let plain = reached(&edges(), false);
    assert!(plain.keys().filter(|number| **number >= 1 << 32).count() > 9);
    assert!(plain.keys().filter(|number| **number < 1 << 31).count() > 9);
    for (route, bins_open_max) in
        [(Route::Fold, u64::MAX), (Route::Fold, 1), (Route::Spill, u64::MAX)]
    {
        let kernel = Kernel::Fold(FoldKernel::of(Arc::new(Bfs::new(vec![START]))));
        for (number, value) in run(&kernel, route, bins_open_max) {
            let expected = plain.get(&number).map_or(u32::MAX, |depth| *depth as u32);
            assert_eq!(u32::from_ne_bytes(value), expected, "depth of {number}, {route:?}");
        }
        let paths = Sssp::<f32>::new(vec![START], f64::INFINITY);
        let kernel = Kernel::Fold(FoldKernel::of(Arc::new(paths)));
        for (number, value) in run(&kernel, route, bins_open_max) {
            let expected = weighted.get(&number).map_or(f32::INFINITY, |length| *length as f32);
            let found = f32::from_ne_bytes(value);
            assert_eq!(found.to_bits(), expected.to_bits(), "distance of {number}, {route:?}");
        }
    }
}

#[test]
fn ends_that_are_no_vertices_are_errors() {
    let kernel = Kernel::Fold(FoldKernel::of(Arc::new(Bfs::new(vec![START]))));
    for (end, is_one) in [(VERTICES - 1, true), (VERTICES, false), (1 << 40, false)] {
        for [source, target] in [[end, 0], [0, end]] {
            let edges = vec![InputEdge { source, target, weight: 1.0 }];
            let input = Box::new(Listed::new(edges));
            let cut = cut(Route::Spill, u64::MAX);
            let mut worker = KernelWorker::new(kernel.clone(), cut, 7, input).expect("they fit");
            assert_eq!(worker.work(&Work::Ingest { first: true }).is_ok(), is_one, "{end}");
        }
    }
}

#[test]
fn programs_that_hold_vertices_are_refused_by_name() {
    let input = || Box::new(Listed::new(Vec::new()));
    let kernel = Kernel::Fold(FoldKernel::of(Arc::new(BfsTree::new(vec![0]))));
    for route in [Route::Fold, Route::Spill] {
        let cut = cut(route, u64::MAX);
        let tree = KernelWorker::new(kernel.clone(), cut.clone(), 7, input()).map(|_| ());
        let program = Arc::new(LocalContraction::new(1));
        let contraction = ContractWorker::new(program, cut, 7, input()).map(|_| ());
        for (refused, name) in [(tree, "BfsTree"), (contraction, "LocalContraction")] {
            let error = refused.unwrap_err();
            assert!(matches!(error, EngineError::Unsupported(_)), "{error}");
            assert!(error.to_string().contains(name), "{error}");
        }
    }
    let all = Partitions::fitting(1, (1 << 32) - 1, 1, WIDTH).expect("a vertex fits");
    let cut = Partitioning { partitions: all, ..cut(Route::Fold, u64::MAX) };
    assert!(
        KernelWorker::new(kernel, cut, 7, input()).is_ok(),
        "32 bits have room for all, and for none"
    );
}
