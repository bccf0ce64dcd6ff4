//! Fold and group programs as jobs: the kernels of scatter, gather, fold and apply over bytes.
//!
//! ```text
//! edge      source u32, target u32, weight f64
//! vertex    the program's value, active u8
//! total     the program's total, active vertices u64
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use bytemuck::{Pod, bytes_of, cast_slice, pod_read_unaligned};
use welter_model::program::{Next, Program, Total, Value, Vertex};
use welter_protocol::config::Route;
use welter_protocol::names::{Cell, Phase};
use welter_protocol::work::Filled;
use welter_protocol::{Outcome, Payload, Work};
use welter_testing::executors::is_float;
use welter_testing::graph::Graph;
use welter_testing::interpreter::{Answer, interpret};

use crate::bins::{Bin, combines, record, updates};
use crate::job::{Cut, Job, Worker};

const EDGE_BYTES: usize = 16;

/// A program on a graph whose slots are all vertices.
pub struct FoldJob<P: Program> {
    shared: Arc<Shared<P>>,
    name: &'static str,
    expected: Answer<P::Value, P::Total>,
    error_max: f64,
}

struct Shared<P> {
    program: P,
    arcs: Vec<(u32, u32, f64)>,
    vertices: u64,
}

impl<P: Program + Send + 'static> FoldJob<P> {
    /// Of a graph as it is to be read.
    pub fn new(name: &'static str, graph: &Graph, program: P) -> Self {
        let expected = interpret(graph, &program);
        let weight = |edge| if P::WEIGHTED { graph.weight(edge) } else { 1.0 };
        let arcs = graph.pairs.iter().enumerate();
        let arcs = arcs.map(|(edge, &[from, to])| (from, to, weight(edge))).collect();
        let vertices = graph.slots() as u64;
        let shared = Arc::new(Shared { program, arcs, vertices });
        Self { shared, name, expected, error_max: 1e-9 }
    }

    /// The same, where sums in another order make more of a difference: solving for factors
    /// multiplies it by the condition of the sums.
    #[must_use]
    pub fn within(self, error_max: f64) -> Self {
        Self { error_max, ..self }
    }
}

impl<P: Program + Send + 'static> Job for FoldJob<P> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn vertices(&self) -> u64 {
        self.shared.vertices
    }

    fn vertex_bytes(&self) -> u64 {
        size_of::<P::Value>() as u64 + 1
    }

    fn worker(&self, cut: Cut, rank: usize) -> Box<dyn Worker> {
        Box::new(FoldWorker {
            shared: self.shared.clone(),
            cut,
            rank,
            at: 0,
            degrees: Vec::new(),
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
        let values: Vec<P::Value> = values.collect();
        let expected = &self.expected;
        if values.len() != expected.values.len() {
            return Err(format!("{} values, not {}", values.len(), expected.values.len()));
        }
        if u64::from(iterations) != expected.iterations {
            return Err(format!("{iterations} iterations, not {}", expected.iterations));
        }
        if cast_slice::<P::Value, u8>(&values) == expected.bits() {
            return Ok(());
        }
        if !P::Value::columns(&values).iter().any(is_float) {
            return Err("other values than the reference".to_owned());
        }
        let found = Answer { values, total: expected.total, totals: Vec::new(), ..*expected };
        let error = welter_testing::relative_error(&expected.numbers(), &found.numbers());
        if error <= self.error_max {
            Ok(())
        } else {
            Err(format!("{error:.1e} from the reference"))
        }
    }
}

struct FoldWorker<P: Program> {
    shared: Arc<Shared<P>>,
    cut: Cut,
    rank: usize,
    /// The next edge of this machine's share.
    at: usize,
    degrees: Vec<u32>,
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
            Work::Ingest { first } => self.ingest(*first),
            Work::Init { partition, degrees } => self.init(*partition, degrees),
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
    /// The bit of a vertex among the 64 ranges of its partition.
    fn range_of(&self, vertex: u64) -> u64 {
        let width = self.cut.partitions.width();
        1 << (vertex % width * 64 / width)
    }

    fn ingest(&mut self, first: bool) -> Outcome {
        let arcs = &self.shared.arcs;
        let share = |rank: usize| arcs.len() * rank / self.cut.partitions.machines();
        if first {
            self.at = share(self.rank);
            self.degrees = vec![0; self.shared.vertices as usize];
            self.bins.clear();
        }
        let share_end = share(self.rank + 1);
        let end = (self.at + self.cut.piece_edges).min(share_end);
        let shared = self.shared.clone();
        let mut filled = Vec::new();
        for &(source, target, weight) in &shared.arcs[self.at..end] {
            self.degrees[source as usize] += 1;
            let [from, to] = [source, target].map(|end| self.cut.partitions.of(end.into()));
            let cell = match self.cut.route {
                Route::Fold => Cell { partition: to, source: Some(from) },
                Route::Spill => Cell::all(from),
            };
            let bit = self.range_of(source.into());
            let bin = self.bins.entry(cell).or_default();
            bin.edge((source, target, weight), bit);
            if bin.waiting() == self.cut.chunk_records {
                filled.extend(bin.take(cell));
            }
        }
        self.looked_at = (end - self.at) as u64;
        self.at = end;
        let degrees = (end == share_end).then(|| {
            filled.extend(self.flush());
            let of = |partition| {
                let range = self.cut.partitions.range(partition);
                let counts = &self.degrees[range.start as usize..range.end as usize];
                Payload::from(cast_slice::<u32, u8>(counts))
            };
            (0..self.cut.partitions.count()).map(of).collect()
        });
        Outcome::Ingested { filled, degrees }
    }

    fn init(&mut self, partition: u32, degrees: &[Payload]) -> Outcome {
        let range = self.cut.partitions.range(partition);
        let (mut total, mut count) = (P::Total::default(), 0);
        self.first = range.start;
        self.values.clear();
        self.active.clear();
        for (place, index) in range.enumerate() {
            let of = |counts: &Payload| {
                u64::from(pod_read_unaligned::<u32>(&counts[4 * place..4 * place + 4]))
            };
            let out_degree = degrees.iter().map(of).sum();
            let made = self.shared.program.init(Vertex { index, out_degree });
            total = total.merge(made.total);
            self.keep(made.value, made.active, &mut count);
        }
        self.made(&total, count)
    }

    /// The vertex set in memory, with what the next step must know of it.
    fn made(&self, total: &P::Total, count: u64) -> Outcome {
        let active = self.active.iter().zip(self.first..).filter(|(active, _)| **active);
        let active = active.fold(0, |ranges, (_, vertex)| ranges | self.range_of(vertex));
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
        let all: Vec<(P::Value, bool)> =
            self.values.iter().copied().zip(self.active.iter().copied()).collect();
        let mut chunks = Vec::new();
        for part in all.chunks(self.cut.chunk_vertices as usize) {
            let mut bytes = Vec::with_capacity(part.len() * (size_of::<P::Value>() + 1));
            for (value, active) in part {
                bytes.extend_from_slice(bytes_of(value));
                bytes.push(u8::from(*active));
            }
            chunks.push(bytes.into());
        }
        if chunks.is_empty() {
            chunks.push(Payload::from([]));
        }
        chunks
    }

    fn open(&mut self, partition: u32, vertices: &[Payload], control: &[u8]) {
        let range = self.cut.partitions.range(partition);
        self.first = range.start;
        self.accums = vec![self.shared.program.identity(); (range.end - range.start) as usize];
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
            self.signals.push(self.shared.program.signal(&value));
            self.active.push(vertex[size] == 1);
            if open {
                self.values.push(value);
            }
        }
        self.looked_at = self.signals.len() as u64;
    }

    /// Scatters edges: into bins, or (route `fold`) into accumulators.
    fn scatter(&mut self, payload: &[u8]) -> Outcome {
        let shared = self.shared.clone();
        let (mut made, mut filled) = (0, Vec::new());
        for edge in payload.chunks_exact(EDGE_BYTES) {
            let [source, target] = [0, 4].map(|at| pod_read_unaligned::<u32>(&edge[at..at + 4]));
            // Out of bounds is only what a planted bug let pass.
            let place = u64::from(source).wrapping_sub(self.first_signal) as usize;
            let is_edge = u64::from(target) < shared.vertices;
            if !is_edge || !self.active.get(place).is_some_and(|active| *active) {
                continue;
            }
            let weight = pod_read_unaligned(&edge[8..]);
            let Some(update) = shared.program.scatter(self.signals[place], weight) else {
                continue;
            };
            if self.phase == Phase::Fold {
                self.meet(target, update);
                continue;
            }
            made += 1;
            let cell = Cell::all(self.cut.partitions.of(target.into()));
            let bin = self.bins.entry(cell).or_default();
            bin.update(&self.shared.program, &self.cut, (target, update));
            if bin.waiting() == self.cut.chunk_records {
                filled.extend(bin.take(cell));
            }
        }
        self.looked_at = (payload.len() / EDGE_BYTES) as u64;
        Outcome::Streamed { made, gathered: 0, filled }
    }

    fn meet(&mut self, target: u32, update: P::Update) {
        if P::GROUPS {
            self.groups.push((target, update));
        } else {
            let place = u64::from(target).wrapping_sub(self.first) as usize;
            if let Some(accum) = self.accums.get_mut(place) {
                *accum = self.shared.program.gather(*accum, update);
            }
        }
    }

    fn merge_one(&mut self, target: u32, other: P::Accum) {
        let place = u64::from(target).wrapping_sub(self.first) as usize;
        if let Some(accum) = self.accums.get_mut(place) {
            *accum = self.shared.program.merge(*accum, other);
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
        Outcome::Streamed { made: 0, gathered, filled: Vec::new() }
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
                *accum = self.shared.program.merge(*accum, other);
            }
        }
    }

    fn apply(&mut self) -> Outcome {
        let shared = self.shared.clone();
        let program = &shared.program;
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
        let goes_on = self.shared.program.next(iterations.into(), &total) == Next::Iterate;
        Outcome::Decided { goes_on: goes_on && count > 0, control: total_bytes(&total, count) }
    }
}

fn total_bytes<T: Pod>(total: &T, active: u64) -> Payload {
    [bytes_of(total), &active.to_le_bytes()].concat().into()
}
