//! Triangles on a cluster by hand, without a protocol: chunks wait in lists, and a stealer takes
//! every other one. Counts are those of a plain loop over pairs of neighbours.

use std::collections::BTreeMap;
use std::sync::Arc;

use welter_algorithms::{Lcc, Triangles};
use welter_engine::EngineError;
use welter_engine::chunks::IntersectKernel;
use welter_model::intersect::Intersect;
use welter_protocol::config::Route;
use welter_protocol::ids::{Block, BlockName, Bytes, Epoch, Kind, Phase, Role, Step};
use welter_protocol::partitions::Partitions;
use welter_protocol::work::Filled;
use welter_protocol::{Outcome, Payload, Work};
use welter_store::header::Encoding;
use welter_testing::graph::Graph;
use welter_testing::plain::closed;
use welter_worker::{InputEdge, Listed, Partitioning, TriangleWorker, Worker};

const VERTICES: usize = 90;
const PARTITIONS: u32 = 3;

/// A graph with hubs, loops, edges both ways, parallel edges and vertices without any.
fn graph() -> Graph {
    let ends = |edge: u32| {
        let [from, to] =
            [edge * 7 % 83, if edge.is_multiple_of(4) { 80 } else { edge * edge % 79 }];
        if edge.is_multiple_of(5) { [to, from] } else { [from, to] }
    };
    Graph::new(VERTICES, (0..900).chain(300..500).map(ends).collect())
}

fn cut(route: Route, vertices: u64) -> Partitioning {
    let width = vertices.div_ceil(PARTITIONS.into());
    Partitioning {
        partitions: Partitions::fitting(1, vertices, 1, width).expect("a vertex fits"),
        route,
        encoding: Encoding::Packed,
        chunk_records: 20,
        bin_chunks: 1,
        chunk_vertices: 7,
        // Each machine reads its edges in one piece.
        piece_edges: 10_000,
        bins_open_max: u64::MAX,
        source_parts: 1,
        stripe_bits: 63,
        combines: true,
    }
}

fn kernel<I: Intersect + Send + 'static>(program: I) -> IntersectKernel {
    IntersectKernel::of(Arc::new(program))
}

fn worker(kernel: &IntersectKernel, graph: &Graph, rows_bytes: u64) -> TriangleWorker {
    let edge = |ends: &[u32; 2]| {
        let [source, target] = ends.map(u64::from);
        InputEdge { source, target, weight: 1.0 }
    };
    let input = Box::new(Listed::new(graph.pairs.iter().map(edge).collect::<Vec<_>>()));
    let cut = cut(Route::Spill, VERTICES as u64);
    TriangleWorker::new(kernel.clone(), cut, (7, rows_bytes), input).expect("a worker")
}

/// Bytes of rows where partitions are cut into at most `ranges_most` ranges.
fn rows_bytes(graph: &Graph, is_directed: bool, ranges_most: u32) -> u64 {
    let mut degrees = vec![0; VERTICES];
    for [from, to] in graph.pairs.iter().filter(|[from, to]| from != to) {
        degrees[*from as usize] += 1;
        degrees[*to as usize] += 1;
    }
    let edges = graph.pairs.len() as u64;
    let partitions = cut(Route::Spill, VERTICES as u64).partitions;
    TriangleWorker::rows_bytes(&partitions, (&degrees, edges), is_directed, ranges_most)
}

/// A master and a stealer, and all that is on storage.
struct Cluster {
    workers: [TriangleWorker; 2],
    edges: Vec<Filled>,
    /// Updates by the iteration that gathers them.
    updates: BTreeMap<u32, Vec<Filled>>,
    vertices: BTreeMap<u32, Vec<Payload>>,
    active: u64,
    totals: Vec<(u32, Bytes)>,
    control: Bytes,
}

impl Cluster {
    fn begin(graph: &Graph, kernel: &IntersectKernel, rows_bytes: u64) -> Self {
        let mut cluster = Self {
            workers: [0, 1].map(|_| worker(kernel, graph, rows_bytes)),
            edges: Vec::new(),
            updates: BTreeMap::new(),
            vertices: BTreeMap::new(),
            active: 0,
            totals: Vec::new(),
            control: Bytes::from([]),
        };
        let read = cluster.ask(0, &Work::Ingest { first: true });
        let Outcome::Ingested { filled, degrees: Some(counts), .. } = read else {
            panic!("{read:?}")
        };
        assert!(counts.iter().all(|count| count.len() == 8), "no column of vertices is sent");
        cluster.edges = filled;
        for (partition, counts) in (0..).zip(counts) {
            let made = cluster.ask(0, &Work::Init { partition, degrees: vec![counts] });
            cluster.made(partition, made);
        }
        cluster
    }

    fn ask(&mut self, at: usize, work: &Work) -> Outcome {
        self.workers[at].work(work).expect("work that can be done")
    }

    fn made(&mut self, partition: u32, outcome: Outcome) {
        let Outcome::Made { vertices, total, active } = outcome else { panic!("{outcome:?}") };
        self.vertices.insert(partition, vertices);
        self.totals.push((partition, total));
        self.active |= active;
    }

    /// Whether the run continues.
    fn decide(&mut self, iterations: u32) -> Result<bool, EngineError> {
        let (control, totals) = (self.control.clone(), std::mem::take(&mut self.totals));
        let decided = self.workers[0].work(&Work::Decide { iterations, control, totals })?;
        let Outcome::Decided { goes_on, control, .. } = decided else { panic!("{decided:?}") };
        self.control = control;
        Ok(goes_on)
    }

    fn open(&mut self, step: Step, partition: u32) {
        for at in 0..2 {
            let (vertices, control) = (self.vertices[&partition].clone(), self.control.clone());
            self.ask(at, &Work::Open { step, partition, vertices, control });
        }
    }

    /// Streams chunks, and keeps what is sent. Both workers have their share, and flush.
    fn stream(&mut self, step: Step, chunks: Vec<Filled>) {
        let next = step.iteration + u32::from(step.phase == Phase::Gather);
        let kind = if step.phase == Phase::Scatter { Kind::Edges } else { Kind::Updates };
        let (mut made, mut stands_for) = (0, 0);
        for (place, chunk) in chunks.into_iter().enumerate() {
            let name = BlockName {
                kind,
                role: Role::Primary,
                epoch: Epoch::default(),
                iteration: step.iteration,
                partition: chunk.partition,
                source: None,
                number: place as u64,
            };
            let block = Block::of(name, chunk.records, chunk.sources, &chunk.payload);
            let work = Work::Stream { block, payload: chunk.payload };
            let outcome = self.ask(place % 2, &work);
            let Outcome::Streamed { made: more, gathered, filled, .. } = outcome else {
                panic!("{outcome:?}")
            };
            let expected = if kind == Kind::Updates { u64::from(chunk.records) } else { 0 };
            assert_eq!(gathered, expected);
            made += more;
            stands_for += self.keep(next, filled);
        }
        for at in 0..2 {
            let Outcome::Flushed { filled, .. } = self.ask(at, &Work::Flush) else {
                panic!("flushed")
            };
            stands_for += self.keep(next, filled);
        }
        assert_eq!(made, stands_for, "{step}");
    }

    fn keep(&mut self, next: u32, filled: Vec<Filled>) -> u64 {
        let stands_for = filled.iter().map(|chunk| u64::from(chunk.records)).sum();
        self.updates.entry(next).or_default().extend(filled);
        stands_for
    }

    fn gather(&mut self, step: Step, partition: u32) {
        let updates = self.updates.entry(step.iteration).or_default();
        let own = updates.extract_if(.., |chunk| chunk.partition == partition).collect();
        self.open(step, partition);
        self.stream(step, own);
        let Outcome::HandedOver(payload) = self.ask(1, &Work::HandOver) else { panic!("accums") };
        self.ask(0, &Work::Merge(payload));
        loop {
            let outcome = self.ask(0, &Work::Apply);
            let Outcome::Applied { made, filled } = outcome else {
                return self.made(partition, outcome);
            };
            assert!(filled.len() <= PARTITIONS as usize, "some chunks at a time");
            assert!(made <= 1000, "rows of a part");
            self.keep(step.iteration + 1, filled);
        }
    }

    /// Runs to the end: iterations, and the vertex sets in order.
    fn run(mut self) -> Result<(u32, Vec<u8>), EngineError> {
        let mut iterations = 0;
        while self.decide(iterations)? {
            let step = |phase| Step { iteration: iterations, phase };
            if std::mem::take(&mut self.active) > 0 {
                for partition in 0..PARTITIONS {
                    let of = |chunk: &&Filled| chunk.partition == partition;
                    let own = self.edges.iter().filter(of).cloned().collect();
                    self.open(step(Phase::Scatter), partition);
                    self.stream(step(Phase::Scatter), own);
                }
            }
            for partition in 0..PARTITIONS {
                self.gather(step(Phase::Gather), partition);
            }
            iterations += 1;
        }
        let chunks = self.vertices.values().flatten();
        Ok((iterations, chunks.flat_map(|chunk| chunk.to_vec()).collect()))
    }
}

/// Compares values with those of a plain loop, for some numbers of ranges.
fn compare<I: Intersect + Copy + Send + 'static>(program: I) {
    let (graph, kernel) = (graph(), kernel(program));
    let of = |(neighbours, edges, pairs): (usize, usize, usize)| {
        let closed = if I::DIRECTED { edges } else { pairs };
        program.value(neighbours as u64, closed as u64)
    };
    let expected: Vec<I::Value> = closed(&graph).into_iter().map(of).collect();
    let (bytes, width) = (TriangleWorker::vertex_bytes(&kernel) as usize, kernel.value_bytes());
    for ranges in [1, 3, 4] {
        let room = rows_bytes(&graph, I::DIRECTED, ranges);
        let (iterations, set) = Cluster::begin(&graph, &kernel, room).run().expect("a run");
        assert_eq!(iterations, 1 + 4 * ranges * ranges, "{ranges} ranges");
        assert_eq!(set.len(), VERTICES * bytes, "no row is left");
        let values = set.chunks_exact(bytes).flat_map(|vertex| &vertex[bytes - width..]);
        let values: Vec<u8> = values.copied().collect();
        assert_eq!(values, bytemuck::cast_slice::<_, u8>(&expected), "{ranges} ranges");
    }
}

#[test]
fn triangles_are_those_of_a_plain_loop() {
    compare(Triangles);
}

#[test]
fn directions_are_those_of_a_plain_loop() {
    compare(Lcc);
}

/// A byte of room less than the least is refused with what it takes, before any row is made.
#[test]
fn rows_that_have_no_room_are_refused() {
    let (graph, kernel) = (graph(), kernel(Triangles));
    let least = rows_bytes(&graph, false, 16);
    let refused = Cluster::begin(&graph, &kernel, least - 1).run();
    let Err(EngineError::Budget { need, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!(need, least);
}

#[test]
fn what_cannot_travel_or_be_named_is_refused() {
    for (route, vertices, says) in [
        (Route::Spill, 1 << 31, None),
        (Route::Spill, (1 << 31) + 1, Some("at most 2^31 vertices")),
        (Route::Fold, 9, Some("take route spill")),
    ] {
        let input = Box::new(Listed::new(Vec::new()));
        let kernel = kernel(Triangles);
        let found = TriangleWorker::new(kernel, cut(route, vertices), (7, 100), input);
        match (found.map(|_| ()), says) {
            (Ok(()), None) => {}
            (Err(EngineError::Unsupported(what)), Some(says)) => assert!(what.contains(says)),
            (found, _) => panic!("{found:?} of {vertices} vertices by {route:?}"),
        }
    }
}

#[test]
fn what_was_not_written_for_it_is_an_error() {
    let (graph, kernel) = (graph(), kernel(Lcc));
    let mut cluster = Cluster::begin(&graph, &kernel, u64::MAX);
    cluster.decide(0).expect("a decision");
    let step = Step { iteration: 0, phase: Phase::Scatter };
    cluster.open(step, 0);
    let own = cluster.edges.iter().filter(|chunk| chunk.partition == 0).cloned().collect();
    cluster.stream(step, own);
    let payload = cluster.updates[&0][0].payload.clone();
    let partition = cluster.updates[&0][0].partition;
    for (iteration, other, is_fine) in [(0, 0, true), (4, 0, false), (0, 1, false)] {
        let step = Step { iteration, phase: Phase::Gather };
        cluster.open(step, (partition + other) % PARTITIONS);
        let found = cluster.workers[0].work(&Work::Merge(payload.clone()));
        assert_eq!(found.is_ok(), is_fine, "iteration {iteration}, partition + {other}");
    }
    let worker = &mut cluster.workers[0];
    worker.work(&Work::Turn { source: 0, vertices: Vec::new() }).expect_err("no cells");
    let (step, control) = (Step { iteration: 0, phase: Phase::Gather }, cluster.control.clone());
    let vertices = vec![Payload::from([0; 5])];
    let open = Work::Open { step, partition: 0, vertices, control };
    worker.work(&open).expect_err("another vertex set");
}
