//! Extended programs as jobs: each edge is shown what both its ends say, and holds something.
//!
//! ```text
//! edge      source u32, target u32, weight f64, the program's state
//! vertex    the program's value
//! total     the program's total
//! ```
//!
//! Who streams an edge has the signals of the partition that it leads to, and those of one source
//! partition at a time. A program does not say how accumulators are merged, so what is handed over
//! is what edges told.

use std::sync::Arc;

use bytemuck::{Pod, bytes_of, pod_read_unaligned};
use welter_model::extended::Extended;
use welter_model::program::{Next, Total, Vertex};
use welter_model::stream::Edge;
use welter_protocol::names::Phase;
use welter_protocol::work::Filled;
use welter_protocol::{Outcome, Payload, Work};
use welter_testing::graph::Graph;
use welter_testing::interpreter::interpret_extended;

use crate::bins::{record, updates};
use crate::fold_job::{Judge, judge};
use crate::job::{Cut, Job, Worker};
use crate::reading::{EDGE_BYTES, Input, Reading, degrees, edge};

/// An extended program on a graph whose slots are all vertices.
pub struct ExtendedJob<E: Extended> {
    program: Arc<E>,
    input: Arc<Input>,
    name: &'static str,
    judge: Judge<E::Value>,
}

impl<E: Extended + Send + 'static> ExtendedJob<E> {
    /// Of a graph as it is to be read. The interpreter says what the values are, within so much.
    pub fn within(error_max: f64, name: &'static str, graph: &Graph, program: E) -> Self {
        let expected = interpret_extended(graph, &program);
        let judge = move |values: &[_], iterations| judge(&expected, error_max, values, iterations);
        let input = Input::of(graph, E::WEIGHTED);
        Self { program: Arc::new(program), input, name, judge: Box::new(judge) }
    }
}

impl<E: Extended + Send + 'static> Job for ExtendedJob<E> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn vertices(&self) -> u64 {
        self.input.vertices
    }

    fn vertex_bytes(&self) -> u64 {
        size_of::<E::Value>() as u64
    }

    fn rewrites(&self) -> bool {
        true
    }

    fn worker(&self, cut: Cut, rank: usize) -> Box<dyn Worker> {
        let state_bytes = Some(size_of::<E::State>());
        Box::new(ExtendedWorker {
            program: self.program.clone(),
            reading: Reading::new(self.input.clone(), cut, rank, state_bytes),
            cut,
            phase: Phase::Ingest,
            partition: 0,
            values: Vec::new(),
            targets: Side::default(),
            sources: Side::default(),
            told: Vec::new(),
            last: E::Total::default(),
            looked_at: 0,
        })
    }

    fn judge(&self, vertices: &[u8], iterations: u32) -> Result<(), String> {
        let values = vertices.chunks_exact(size_of::<E::Value>()).map(pod_read_unaligned);
        (self.judge)(&values.collect::<Vec<_>>(), iterations)
    }
}

/// What the vertices of a partition say.
struct Side<S> {
    first: u64,
    signals: Vec<S>,
}

impl<S> Default for Side<S> {
    fn default() -> Self {
        Self { first: 0, signals: Vec::new() }
    }
}

impl<S> Side<S> {
    /// What a vertex says. It is somewhere else only where a planted bug has let that pass.
    fn of(&self, vertex: u32) -> Option<&S> {
        self.signals.get(u64::from(vertex).wrapping_sub(self.first) as usize)
    }
}

struct ExtendedWorker<E: Extended> {
    program: Arc<E>,
    reading: Reading,
    cut: Cut,
    phase: Phase,
    partition: u32,
    /// Of the open partition.
    values: Vec<E::Value>,
    targets: Side<E::Signal>,
    /// Of the cell at work.
    sources: Side<E::Signal>,
    /// What edges have told, and where; in a scatter it waits for its chunk to be full.
    told: Vec<(u32, E::Update)>,
    last: E::Total,
    looked_at: u64,
}

impl<E: Extended> Worker for ExtendedWorker<E> {
    fn work(&mut self, work: &Work) -> Outcome {
        self.looked_at = 0;
        match work {
            Work::Ingest { first } => self.reading.piece(*first, &mut self.looked_at),
            Work::Init { partition, degrees: counts } => self.init(*partition, counts),
            Work::Open { step, partition, vertices, control } => {
                (self.phase, self.partition) = (step.phase, *partition);
                self.values = read(vertices);
                self.targets = self.side(*partition, &self.values);
                self.last = pod_read_unaligned(control);
                self.told.clear();
                self.looked_at = self.values.len() as u64;
                Outcome::Opened
            }
            Work::Turn { source, vertices } => {
                self.sources = self.side(*source, &read(vertices));
                self.looked_at = self.sources.signals.len() as u64;
                Outcome::Turned
            }
            Work::Stream { payload, .. } if self.phase == Phase::Gather => self.gather(payload),
            Work::Stream { payload, .. } => self.scatter(payload),
            Work::Flush => Outcome::Flushed(self.flush().into_iter().collect()),
            Work::HandOver => Outcome::HandedOver(self.records()),
            Work::Merge(payload) => {
                self.meet(payload);
                Outcome::Merged
            }
            Work::Apply => self.apply(),
            Work::Decide { iterations, totals, .. } => self.decide(*iterations, totals),
        }
    }

    fn looked_at(&self) -> u64 {
        self.looked_at
    }
}

/// The vertices of a set.
fn read<V: Pod>(chunks: &[Payload]) -> Vec<V> {
    let vertices = chunks.iter().flat_map(|chunk| chunk.chunks_exact(size_of::<V>()));
    vertices.map(pod_read_unaligned).collect()
}

impl<E: Extended> ExtendedWorker<E> {
    fn side(&self, partition: u32, values: &[E::Value]) -> Side<E::Signal> {
        let first = self.cut.partitions.range(partition).start;
        Side { first, signals: values.iter().map(|value| self.program.signal(value)).collect() }
    }

    fn init(&mut self, partition: u32, counts: &[Payload]) -> Outcome {
        self.values.clear();
        let mut total = E::Total::default();
        for (index, degree) in self.cut.partitions.range(partition).zip(degrees(counts)) {
            let (value, own) = self.program.init(Vertex { index, out_degree: degree.into() });
            self.values.push(value);
            total = total.merge(own);
        }
        self.made(&total)
    }

    /// The vertex set in memory. All edges are shown in every iteration.
    fn made(&self, total: &E::Total) -> Outcome {
        let active = if self.values.is_empty() { 0 } else { u64::MAX };
        let set: &[u8] = bytemuck::cast_slice(&self.values);
        let vertices = self.cut.vertex_chunks(set, size_of::<E::Value>());
        Outcome::Made { vertices, total: bytes_of(total).into(), active }
    }

    /// Shows the edges of a chunk what their ends say, and keeps what these tell.
    fn scatter(&mut self, payload: &[u8]) -> Outcome {
        let before = self.told.len();
        let mut rewritten = payload.to_vec();
        for bytes in rewritten.chunks_exact_mut(EDGE_BYTES + size_of::<E::State>()) {
            let (source, target, weight) = edge(bytes);
            let ends = self.sources.of(source).zip(self.targets.of(target));
            let Some((one, other)) = ends else { continue };
            let mut state: E::State = pod_read_unaligned(&bytes[EDGE_BYTES..]);
            let edge = Edge { source, target, weight };
            self.told.push((target, self.program.edge(edge, one, other, &mut state)));
            bytes[EDGE_BYTES..].copy_from_slice(bytes_of(&state));
        }
        let told = (self.told.len() - before) as u64;
        self.looked_at = told;
        let rewritten = Some(rewritten.into());
        if self.phase == Phase::Fold {
            return Outcome::Streamed { made: 0, gathered: 0, rewritten, filled: Vec::new() };
        }
        let is_full = self.told.len() >= self.cut.chunk_records as usize;
        let filled = if is_full { self.flush() } else { None };
        let filled = filled.into_iter().collect();
        Outcome::Streamed { made: told, gathered: 0, rewritten, filled }
    }

    fn records(&self) -> Payload {
        let mut bytes = Vec::new();
        for (target, update) in &self.told {
            record(&mut bytes, *target, update);
        }
        bytes.into()
    }

    /// What was told since the last time, if anything, as a chunk of updates.
    fn flush(&mut self) -> Option<Filled> {
        let payload = self.records();
        let records = std::mem::take(&mut self.told).len() as u32;
        let (partition, sources) = (self.partition, u64::MAX);
        let chunk = Filled { partition, source: None, records, combined: 0, sources, payload };
        (records > 0).then_some(chunk)
    }

    /// Adds what edges told elsewhere, and says how much it was.
    fn meet(&mut self, payload: &[u8]) -> u64 {
        let before = self.told.len();
        self.told.extend(updates(payload).map(|(target, _, update)| (target, update)));
        (self.told.len() - before) as u64
    }

    fn gather(&mut self, payload: &[u8]) -> Outcome {
        let gathered = self.meet(payload);
        self.looked_at = gathered;
        Outcome::Streamed { made: 0, gathered, rewritten: None, filled: Vec::new() }
    }

    fn apply(&mut self) -> Outcome {
        let program = self.program.clone();
        let mut accums = vec![program.identity(); self.values.len()];
        self.looked_at = (accums.len() + self.told.len()) as u64;
        for (target, update) in self.told.drain(..) {
            let place = u64::from(target).wrapping_sub(self.targets.first) as usize;
            if let Some(accum) = accums.get_mut(place) {
                *accum = program.gather(*accum, update);
            }
        }
        let mut total = E::Total::default();
        for (value, accum) in self.values.iter_mut().zip(accums) {
            let (new, own) = program.apply(*value, accum, &self.last);
            *value = new;
            total = total.merge(own);
        }
        self.made(&total)
    }

    fn decide(&self, iterations: u32, totals: &[(u32, Payload)]) -> Outcome {
        let totals = totals.iter().map(|(_, bytes)| pod_read_unaligned(bytes));
        let total = totals.fold(E::Total::default(), E::Total::merge);
        let goes_on = self.program.next(iterations.into(), &total) == Next::Iterate;
        Outcome::Decided { goes_on, control: bytes_of(&total).into() }
    }
}
