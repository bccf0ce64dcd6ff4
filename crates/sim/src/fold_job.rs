//! Fold and group programs as jobs: the kernels of scatter, gather, fold and apply over bytes.
//!
//! ```text
//! vertex    the program's value, active u8
//! total     the program's total, active vertices u64
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use bytemuck::{Pod, bytes_of, cast_slice, pod_read_unaligned};
use welter_model::program::{Next, Program, Total, Value, Vertex};
use welter_protocol::names::{Cell, Phase};
use welter_protocol::work::Filled;
use welter_protocol::{Outcome, Payload, Work};
use welter_testing::executors::is_float;
use welter_testing::graph::Graph;
use welter_testing::interpreter::{Answer, interpret};

use crate::bins::{Bin, combines, record, updates};
use crate::job::{Cut, Job, Worker};
use crate::reading::{EDGE_BYTES, Input, Reading, degrees, edge};

/// Judges the values of all vertices after so many iterations.
pub type Judge<V> = Box<dyn Fn(&[V], u32) -> Result<(), String> + Send + Sync>;

/// A program on a graph whose slots are all vertices.
pub struct FoldJob<P: Program> {
    program: Arc<P>,
    input: Arc<Input>,
    name: &'static str,
    judge: Judge<P::Value>,
}

impl<P: Program + Send + 'static> FoldJob<P> {
    /// Of a graph as it is to be read. The interpreter says what the values are.
    pub fn new(name: &'static str, graph: &Graph, program: P) -> Self {
        Self::within(1e-9, name, graph, program)
    }

    /// The same, where sums in another order make more of a difference: solving for factors
    /// multiplies it by the condition of the sums.
    pub fn within(error_max: f64, name: &'static str, graph: &Graph, program: P) -> Self {
        let expected = interpret(graph, &program);
        let judge = move |values: &[_], iterations| judge(&expected, error_max, values, iterations);
        Self::judged(name, graph, program, Box::new(judge))
    }

    /// With a judge of its own.
    pub fn judged(name: &'static str, graph: &Graph, program: P, judge: Judge<P::Value>) -> Self {
        Self { program: Arc::new(program), input: Input::of(graph, P::WEIGHTED), name, judge }
    }
}

/// Holds values against those of the interpreter.
pub(crate) fn judge<V: Value, T>(
    expected: &Answer<V, T>,
    error_max: f64,
    values: &[V],
    iterations: u32,
) -> Result<(), String> {
    if values.len() != expected.values.len() {
        return Err(format!("{} values, not {}", values.len(), expected.values.len()));
    }
    if u64::from(iterations) != expected.iterations {
        return Err(format!("{iterations} iterations, not {}", expected.iterations));
    }
    if cast_slice::<V, u8>(values) == expected.bits() {
        return Ok(());
    }
    if !V::columns(values).iter().any(is_float) {
        return Err("other values than the reference".to_owned());
    }
    let error = welter_testing::relative_error(&expected.numbers(), &numbers(values));
    if error <= error_max { Ok(()) } else { Err(format!("{error:.1e} from the reference")) }
}

/// The columns of values, one after the other.
pub(crate) fn numbers<V: Value>(values: &[V]) -> Vec<f64> {
    let (values, totals) = (values.to_vec(), Vec::new());
    Answer { values, iterations: 0, in_step: true, total: (), totals }.numbers()
}

impl<P: Program + Send + 'static> Job for FoldJob<P> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn vertices(&self) -> u64 {
        self.input.vertices
    }

    fn vertex_bytes(&self) -> u64 {
        size_of::<P::Value>() as u64 + 1
    }

    fn worker(&self, cut: Cut, rank: usize) -> Box<dyn Worker> {
        Box::new(FoldWorker {
            program: self.program.clone(),
            reading: Reading::new(self.input.clone(), cut, rank, None),
            vertices: self.input.vertices,
            cut,
            bins: BTreeMap::new(),
            phase: Phase::Ingest,
            first: 0,
            values: Vec::new(),
            signals: Vec::new(),
            active: Vec::new(),
            first_signal: 0,
            accums: Vec::new(),
            groups: Vec::new(),
            last: P::Total::default(),
            looked_at: 0,
        })
    }

    fn judge(&self, vertices: &[u8], iterations: u32) -> Result<(), String> {
        let size = size_of::<P::Value>();
        let values =
            vertices.chunks_exact(size + 1).map(|bytes| pod_read_unaligned(&bytes[..size]));
        (self.judge)(&values.collect::<Vec<_>>(), iterations)
    }
}

struct FoldWorker<P: Program> {
    program: Arc<P>,
    reading: Reading,
    /// Of the graph.
    vertices: u64,
    cut: Cut,
    bins: BTreeMap<Cell, Bin>,
    phase: Phase,
    /// The first vertex of the partition in memory.
    first: u64,
    values: Vec<P::Value>,
    signals: Vec<P::Signal>,
    active: Vec<bool>,
    /// The first vertex that has a signal here.
    first_signal: u64,
    accums: Vec<P::Accum>,
    groups: Vec<(u32, P::Update)>,
    last: P::Total,
    looked_at: u64,
}

impl<P: Program> Worker for FoldWorker<P> {
    fn work(&mut self, work: &Work) -> Outcome {
        self.looked_at = 0;
        match work {
            Work::Ingest { first } => self.reading.piece(*first, &mut self.looked_at),
            Work::Init { partition, degrees: counts } => self.init(*partition, counts),
            Work::Open { step, partition, vertices, control } => {
                self.phase = step.phase;
                self.open(*partition, vertices, control);
                Outcome::Opened
            }
            Work::Turn { source, vertices } => {
                self.accept(*source, vertices, false);
                Outcome::Turned
            }
            Work::Stream { payload, .. } if self.phase == Phase::Gather => self.gather(payload),
            Work::Stream { payload, .. } => self.scatter(payload),
            Work::Flush => Outcome::Flushed(self.flush()),
            Work::HandOver => Outcome::HandedOver(self.hand_over()),
            Work::Merge(payload) => {
                self.merge(payload);
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

impl<P: Program> FoldWorker<P> {
    fn init(&mut self, partition: u32, counts: &[Payload]) -> Outcome {
        let range = self.cut.partitions.range(partition);
        let (mut total, mut count) = (P::Total::default(), 0);
        self.first = range.start;
        self.values.clear();
        self.active.clear();
        for (index, out_degree) in range.zip(degrees(counts)) {
            let made = self.program.init(Vertex { index, out_degree: out_degree.into() });
            total = total.merge(made.total);
            self.keep(made.value, made.active, &mut count);
        }
        self.made(&total, count)
    }

    /// The vertex set in memory, with what the next step must know of it.
    fn made(&self, total: &P::Total, count: u64) -> Outcome {
        let active = self.active.iter().zip(self.first..).filter(|(active, _)| **active);
        let active = active.fold(0, |ranges, (_, vertex)| ranges | self.cut.range_of(vertex));
        Outcome::Made { vertices: self.chunks(), total: total_bytes(total, count), active }
    }

    fn keep(&mut self, value: P::Value, active: bool, count: &mut u64) {
        let active = active || !P::FRONTIER;
        *count += u64::from(active);
        self.values.push(value);
        self.active.push(active);
    }

    /// The vertex set in memory as chunks.
    fn chunks(&self) -> Vec<Payload> {
        let size = size_of::<P::Value>() + 1;
        let mut set = Vec::with_capacity(self.values.len() * size);
        for (value, active) in self.values.iter().zip(&self.active) {
            set.extend_from_slice(bytes_of(value));
            set.push(u8::from(*active));
        }
        self.cut.vertex_chunks(&set, size)
    }

    fn open(&mut self, partition: u32, vertices: &[Payload], control: &[u8]) {
        let range = self.cut.partitions.range(partition);
        self.first = range.start;
        self.accums = vec![self.program.identity(); (range.end - range.start) as usize];
        self.groups.clear();
        self.values.clear();
        self.last = pod_read_unaligned(&control[..size_of::<P::Total>()]);
        self.bins.clear();
        self.accept(partition, vertices, true);
    }

    /// Makes signals of the vertices of a partition, and keeps their values too if this is the open
    /// one.
    fn accept(&mut self, partition: u32, vertices: &[Payload], open: bool) {
        let size = size_of::<P::Value>();
        self.first_signal = self.cut.partitions.range(partition).start;
        self.signals.clear();
        self.active.clear();
        for vertex in vertices.iter().flat_map(|chunk| chunk.chunks_exact(size + 1)) {
            let value: P::Value = pod_read_unaligned(&vertex[..size]);
            self.signals.push(self.program.signal(&value));
            self.active.push(vertex[size] == 1);
            if open {
                self.values.push(value);
            }
        }
        self.looked_at = self.signals.len() as u64;
    }

    /// Scatters edges: into bins, or (route `fold`) into accumulators.
    fn scatter(&mut self, payload: &[u8]) -> Outcome {
        let program = self.program.clone();
        let (mut made, mut filled) = (0, Vec::new());
        for bytes in payload.chunks_exact(EDGE_BYTES) {
            let (source, target, weight) = edge(bytes);
            // Out of bounds is only what a planted bug let pass.
            let place = u64::from(source).wrapping_sub(self.first_signal) as usize;
            let is_edge = u64::from(target) < self.vertices;
            if !is_edge || !self.active.get(place).is_some_and(|active| *active) {
                continue;
            }
            let Some(update) = program.scatter(self.signals[place], weight) else {
                continue;
            };
            if self.phase == Phase::Fold {
                self.meet(target, update);
                continue;
            }
            made += 1;
            let cell = Cell::all(self.cut.partitions.of(target.into()));
            let bin = self.bins.entry(cell).or_default();
            bin.update(&*program, &self.cut, (target, update));
            if bin.waiting() == self.cut.chunk_records {
                filled.extend(bin.take(cell));
            }
        }
        self.looked_at = (payload.len() / EDGE_BYTES) as u64;
        Outcome::Streamed { made, gathered: 0, rewritten: None, filled }
    }

    fn meet(&mut self, target: u32, update: P::Update) {
        if P::GROUPS {
            self.groups.push((target, update));
        } else {
            let place = u64::from(target).wrapping_sub(self.first) as usize;
            if let Some(accum) = self.accums.get_mut(place) {
                *accum = self.program.gather(*accum, update);
            }
        }
    }

    fn merge_one(&mut self, target: u32, other: P::Accum) {
        let place = u64::from(target).wrapping_sub(self.first) as usize;
        if let Some(accum) = self.accums.get_mut(place) {
            *accum = self.program.merge(*accum, other);
        }
    }

    fn gather(&mut self, payload: &[u8]) -> Outcome {
        let (mut gathered, mut looked_at) = (0, 0);
        if combines::<P>(&self.cut) {
            for (target, count, other) in updates::<P::Accum>(payload) {
                self.merge_one(target, other);
                (gathered, looked_at) = (gathered + u64::from(count), looked_at + 1);
            }
        } else {
            for (target, count, update) in updates::<P::Update>(payload) {
                self.meet(target, update);
                (gathered, looked_at) = (gathered + u64::from(count), looked_at + 1);
            }
        }
        self.looked_at = looked_at;
        Outcome::Streamed { made: 0, gathered, rewritten: None, filled: Vec::new() }
    }

    fn flush(&mut self) -> Vec<Filled> {
        let bins = self.bins.iter_mut();
        bins.filter_map(|(cell, bin)| bin.take(*cell)).collect()
    }

    fn hand_over(&mut self) -> Payload {
        if P::GROUPS {
            let mut bytes = Vec::new();
            for (target, update) in self.groups.drain(..) {
                record(&mut bytes, target, &update);
            }
            return bytes.into();
        }
        cast_slice::<P::Accum, u8>(&self.accums).into()
    }

    fn merge(&mut self, payload: &[u8]) {
        if P::GROUPS {
            let updates = updates::<P::Update>(payload);
            self.groups.extend(updates.map(|(target, _, update)| (target, update)));
            return;
        }
        self.looked_at = self.accums.len() as u64;
        let size = size_of::<P::Accum>();
        if size > 0 {
            let others = payload.chunks_exact(size).map(pod_read_unaligned);
            for (accum, other) in self.accums.iter_mut().zip(others) {
                *accum = self.program.merge(*accum, other);
            }
        }
    }

    fn apply(&mut self) -> Outcome {
        let program = self.program.clone();
        // Stable by destination, then by the program's order.
        self.groups.sort_by(|left, right| {
            left.0.cmp(&right.0).then_with(|| program.order(&left.1, &right.1))
        });
        for (target, update) in std::mem::take(&mut self.groups) {
            let place = u64::from(target).wrapping_sub(self.first) as usize;
            if let Some(accum) = self.accums.get_mut(place) {
                *accum = program.gather(*accum, update);
            }
        }
        let (mut total, mut count) = (P::Total::default(), 0);
        let values = std::mem::take(&mut self.values);
        self.active.clear();
        self.looked_at = values.len() as u64;
        for (value, accum) in values.into_iter().zip(std::mem::take(&mut self.accums)) {
            let applied = program.apply(value, accum, &self.last);
            total = total.merge(applied.total);
            self.keep(applied.value, applied.active, &mut count);
        }
        self.made(&total, count)
    }

    fn decide(&self, iterations: u32, totals: &[(u32, Payload)]) -> Outcome {
        let size = size_of::<P::Total>();
        let (mut total, mut count) = (P::Total::default(), 0);
        for (_, bytes) in totals {
            total = total.merge(pod_read_unaligned(&bytes[..size]));
            count += pod_read_unaligned::<u64>(&bytes[size..]);
        }
        let goes_on = self.program.next(iterations.into(), &total) == Next::Iterate;
        Outcome::Decided { goes_on: goes_on && count > 0, control: total_bytes(&total, count) }
    }
}

fn total_bytes<T: Pod>(total: &T, active: u64) -> Payload {
    [bytes_of(total), &active.to_le_bytes()].concat().into()
}
