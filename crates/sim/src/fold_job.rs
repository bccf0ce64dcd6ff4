//! Fold and group programs as jobs: chunks as bytes, and what the engine's kernels make of them.
//!
//! ```text
//! edges     chunks of the store's format
//! updates   update chunks of the engine: accumulators, or updates where the program groups them;
//!           so is what a stealer hands over
//! vertex    the program's value, active u8
//! total     the program's total, active vertices u64
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use bytemuck::{Pod, Zeroable, bytes_of, cast_slice, pod_read_unaligned};
use welter_engine::EngineError;
use welter_engine::chunks::{
    self, Renewed, Scratch, Sources, UpdateCell, Vertices, open_updates, touched, write_updates,
};
use welter_model::program::{Next, Program, Total, Value};
use welter_protocol::names::{Bytes, Cell, Phase, Step};
use welter_protocol::work::Filled;
use welter_protocol::{Outcome, Payload, Work};
use welter_testing::executors::is_float;
use welter_testing::graph::Graph;
use welter_testing::interpreter::{Answer, interpret};

use crate::bins::Bin;
use crate::job::{Cut, Job, Worker};
use crate::reading::{Input, Reading, degrees};

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

    /// A job whose sums in another order make more of a difference: solving for factors multiplies
    /// it by the condition of the sums.
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

/// Compares values with those of the interpreter.
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
            graph: self.input.graph,
            cut,
            step: Step { iteration: 0, phase: Phase::Ingest },
            partition: 0,
            values: Vec::new(),
            sources: 0,
            signals: Vec::new(),
            active: Vec::new(),
            accums: Vec::new(),
            told: Bin::default(),
            bins: BTreeMap::new(),
            group_bins: BTreeMap::new(),
            last: P::Total::default(),
            scratch: Scratch::default(),
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
    /// Number of the graph.
    graph: u64,
    cut: Cut,
    step: Step,
    /// The open partition, and the values of its vertices.
    partition: u32,
    values: Vec<P::Value>,
    /// The partition whose signals are in memory.
    sources: u32,
    signals: Vec<P::Signal>,
    active: Vec<u8>,
    accums: Vec<P::Accum>,
    /// Updates that were told in a program that groups them.
    told: Bin<P::Update>,
    /// Updates that were scattered, by partition.
    bins: BTreeMap<u32, Bin<P::Accum>>,
    /// Bins of a program that groups updates.
    group_bins: BTreeMap<u32, Bin<P::Update>>,
    last: P::Total,
    scratch: Scratch,
    looked_at: u64,
}

impl<P: Program> Worker for FoldWorker<P> {
    fn work(&mut self, work: &Work) -> Result<Outcome, EngineError> {
        self.looked_at = 0;
        if let Some(outcome) = self.reading.splits(work, &mut self.looked_at)? {
            return Ok(outcome);
        }
        match work {
            Work::Ingest { first } => self.reading.piece(*first, &mut self.looked_at),
            Work::Init { partition, degrees: counts } => Ok(self.init(*partition, counts)),
            Work::Open { step, partition, vertices, control } => {
                self.step = *step;
                self.open(*partition, vertices, control);
                Ok(Outcome::Opened)
            }
            Work::Turn { source, vertices } => {
                self.accept(*source, vertices, false);
                Ok(Outcome::Turned)
            }
            Work::Stream { payload, .. } => match self.step.phase {
                Phase::Gather => self.gather(payload),
                Phase::Fold => self.fold(payload),
                _ => self.scatter(payload),
            },
            Work::Flush => Ok(Outcome::Flushed(self.flush())),
            Work::HandOver => Ok(Outcome::HandedOver(self.hand_over())),
            Work::Merge(payload) => {
                self.meet(payload)?;
                self.looked_at = self.accums.len() as u64;
                Ok(Outcome::Merged)
            }
            Work::Apply => self.apply(),
            Work::Decide { iterations, totals, .. } => Ok(self.decide(*iterations, totals)),
        }
    }

    fn looked_at(&self) -> u64 {
        self.looked_at
    }
}

/// Columns of a vertex set as the engine changes them.
fn columns<'a, P: Program>(
    values: &'a mut Vec<P::Value>,
    signals: &'a mut Vec<P::Signal>,
    active: &'a mut Vec<u8>,
) -> Vertices<'a, P> {
    signals.resize(values.len(), P::Signal::zeroed());
    active.clear();
    active.resize(values.len(), 1);
    Vertices { values, signals, active: if P::FRONTIER { active } else { &mut [] } }
}

impl<P: Program> FoldWorker<P> {
    fn init(&mut self, partition: u32, counts: &[Payload]) -> Outcome {
        let Self { program, cut, values, signals, active, .. } = self;
        let degrees = degrees(counts);
        values.clear();
        values.resize(degrees.len(), P::Value::zeroed());
        let first = cut.partitions.range(partition).start;
        let made = chunks::init(&**program, first, &degrees, columns(values, signals, active));
        self.partition = partition;
        self.made(made)
    }

    /// The vertex set in memory, with what the next step must know of it.
    fn made(&self, made: Renewed<P::Total>) -> Outcome {
        let count = if P::FRONTIER { made.active } else { self.values.len() as u64 };
        let first = self.cut.partitions.range(self.partition).start;
        let active = self.active.iter().zip(first..).filter(|(active, _)| **active == 1);
        let active = active.fold(0, |ranges, (_, vertex)| ranges | self.cut.range_of(vertex));
        Outcome::Made { vertices: self.chunks(), total: total_bytes(&made.total, count), active }
    }

    /// The vertex set in memory as chunks.
    fn chunks(&self) -> Vec<Payload> {
        let size = size_of::<P::Value>() + 1;
        let mut set = Vec::with_capacity(self.values.len() * size);
        for (value, active) in self.values.iter().zip(&self.active) {
            set.extend_from_slice(bytes_of(value));
            set.push(*active);
        }
        self.cut.vertex_chunks(&set, size)
    }

    fn open(&mut self, partition: u32, vertices: &[Payload], control: &[u8]) {
        let range = self.cut.partitions.range(partition);
        self.partition = partition;
        self.accums.clear();
        self.accums.resize((range.end - range.start) as usize, self.program.identity());
        self.told.clear();
        self.values.clear();
        self.last = pod_read_unaligned(&control[..size_of::<P::Total>()]);
        self.bins.values_mut().for_each(Bin::clear);
        self.group_bins.values_mut().for_each(Bin::clear);
        self.accept(partition, vertices, true);
    }

    /// Makes signals of the vertices of a partition, and keeps their values too if this is the open
    /// one.
    fn accept(&mut self, partition: u32, vertices: &[Payload], open: bool) {
        let size = size_of::<P::Value>();
        self.sources = partition;
        self.signals.clear();
        self.active.clear();
        for vertex in vertices.iter().flat_map(|chunk| chunk.chunks_exact(size + 1)) {
            let value: P::Value = pod_read_unaligned(&vertex[..size]);
            self.signals.push(self.program.signal(&value));
            self.active.push(vertex[size]);
            if open {
                self.values.push(value);
            }
        }
        self.looked_at = self.signals.len() as u64;
    }

    /// The name of updates for a partition in this iteration.
    fn updates_for(&self, stripe: u32) -> (u64, UpdateCell) {
        let turn = self.step.iteration.into();
        (self.graph, UpdateCell { turn, stripe, window: self.partition })
    }

    /// Folds edges of the cell at work into accumulators.
    fn fold(&mut self, payload: &[u8]) -> Result<Outcome, EngineError> {
        let cell = Cell { partition: self.partition, source: Some(self.sources) };
        let cell = self.cut.chunk_cell(self.graph, cell);
        let Self { program, signals, active, accums, told, scratch, .. } = self;
        let sources = Sources { signals, active: P::FRONTIER.then_some(&**active) };
        let pulled = cell.open(payload)?;
        if P::COMBINABLE {
            pulled.fold(&**program, sources, accums, scratch)?;
        } else {
            let first = cell.targets.start;
            let put = |target: u64, update| told.push((target - first) as u32, update);
            pulled.scatter(&**program, sources, scratch, put)?;
        }
        self.looked_at = pulled.edges();
        Ok(Outcome::Streamed { made: 0, gathered: 0, rewritten: None, filled: Vec::new() })
    }

    /// Scatters edges of the open partition into bins.
    fn scatter(&mut self, payload: &[u8]) -> Result<Outcome, EngineError> {
        let cell = self.cut.chunk_cell(self.graph, Cell::all(self.sources));
        let (graph, at) = self.updates_for(0);
        let Self { program, cut, signals, active, bins, group_bins, scratch, .. } = self;
        let sources = Sources { signals, active: P::FRONTIER.then_some(&**active) };
        let pulled = cell.open(payload)?;
        let (mut made, mut filled) = (0, Vec::new());
        let most = cut.chunk_records;
        pulled.scatter(&**program, sources, scratch, |target, update| {
            made += 1;
            let stripe = cut.partitions.of(target);
            let at = (graph, UpdateCell { stripe, ..at });
            let target = (target - cut.partitions.range(stripe).start) as u32;
            if P::COMBINABLE {
                let bin = bins.entry(stripe).or_default();
                bin.update(&**program, cut, (target, update));
                filled.extend((bin.waiting() == most).then(|| bin.take(at)).flatten());
            } else {
                let bin = group_bins.entry(stripe).or_default();
                bin.push(target, update);
                filled.extend((bin.waiting() == most).then(|| bin.take(at)).flatten());
            }
        })?;
        self.looked_at = pulled.edges();
        Ok(Outcome::Streamed { made, gathered: 0, rewritten: None, filled })
    }

    /// Meets updates for the open partition, and says how many these were and how many records.
    fn meet(&mut self, payload: &[u8]) -> Result<[u64; 2], EngineError> {
        let at = self.updates_for(self.partition);
        if !P::COMBINABLE {
            let records = open_updates::<P::Update>(at, payload)?;
            for (target, update) in records.targets.iter().zip(records.accums) {
                self.told.push(*target, *update);
            }
            return Ok([records.updates, records.targets.len() as u64]);
        }
        let records = open_updates::<P::Accum>(at, payload)?;
        chunks::gather(&*self.program, &records, &mut self.accums)?;
        Ok([records.updates, records.targets.len() as u64])
    }

    fn gather(&mut self, payload: &[u8]) -> Result<Outcome, EngineError> {
        let [gathered, records] = self.meet(payload)?;
        self.looked_at = records;
        Ok(Outcome::Streamed { made: 0, gathered, rewritten: None, filled: Vec::new() })
    }

    fn flush(&mut self) -> Vec<Filled> {
        let (graph, at) = self.updates_for(0);
        let at = |stripe: &u32| (graph, UpdateCell { stripe: *stripe, ..at });
        let bins = self.bins.iter_mut().filter_map(|(stripe, bin)| bin.take(at(stripe)));
        let groups = self.group_bins.iter_mut();
        bins.chain(groups.filter_map(|(stripe, bin)| bin.take(at(stripe)))).collect()
    }

    fn hand_over(&mut self) -> Payload {
        let at = self.updates_for(self.partition);
        if !P::COMBINABLE {
            return self.told.chunk(at).into();
        }
        let (targets, accums) = touched(&*self.program, &self.accums);
        write_updates(at, (&targets, &accums), targets.len() as u64).into()
    }

    fn apply(&mut self) -> Result<Outcome, EngineError> {
        let (_, at) = self.updates_for(self.partition);
        let Self { program, values, signals, active, accums, told, last, .. } = self;
        if !P::COMBINABLE {
            let told = (at, &told.targets[..], &told.records[..]);
            chunks::group(&**program, told, values, accums)?;
        }
        self.looked_at = values.len() as u64;
        let made = chunks::apply(&**program, last, accums, columns(values, signals, active));
        Ok(self.made(made))
    }

    fn decide(&self, iterations: u32, totals: &[(u32, Bytes)]) -> Outcome {
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

fn total_bytes<T: Pod>(total: &T, active: u64) -> Bytes {
    [bytes_of(total), &active.to_le_bytes()].concat().into()
}
