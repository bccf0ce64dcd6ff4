//! Extended programs as jobs: each edge is shown what both its ends say, and holds something.
//!
//! ```text
//! edges     a chunk of the store's format, and the states of its edges behind it
//! updates   an update chunk of the engine; so is what a stealer hands over
//! vertex    the program's value
//! total     the program's total
//! ```
//!
//! Who streams an edge has the signals of the partition that it leads to, and those of one source
//! partition at a time. A program does not say how accumulators are merged, so what is handed over
//! is what edges told.

use std::sync::Arc;

use bytemuck::{Pod, Zeroable, bytes_of, pod_read_unaligned};
use welter_engine::EngineError;
use welter_engine::chunks::{self, Scratch, UpdateCell, open_updates, states, with_states};
use welter_model::extended::Extended;
use welter_model::program::{Next, Total};
use welter_protocol::names::{Bytes, Cell, Phase, Step};
use welter_protocol::work::Filled;
use welter_protocol::{Outcome, Payload, Work};
use welter_testing::graph::Graph;
use welter_testing::interpreter::interpret_extended;

use crate::bins::Bin;
use crate::fold_job::{Judge, judge};
use crate::job::{Cut, Job, Worker};
use crate::reading::{Input, Reading, degrees};

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
            graph: self.input.graph,
            cut,
            step: Step { iteration: 0, phase: Phase::Ingest },
            partition: 0,
            values: Vec::new(),
            targets: Vec::new(),
            source: 0,
            sources: Vec::new(),
            states: Vec::new(),
            told: Bin::default(),
            last: E::Total::default(),
            scratch: Scratch::default(),
            looked_at: 0,
        })
    }

    fn judge(&self, vertices: &[u8], iterations: u32) -> Result<(), String> {
        let values = vertices.chunks_exact(size_of::<E::Value>()).map(pod_read_unaligned);
        (self.judge)(&values.collect::<Vec<_>>(), iterations)
    }
}

struct ExtendedWorker<E: Extended> {
    program: Arc<E>,
    reading: Reading,
    /// Number of the graph.
    graph: u64,
    cut: Cut,
    step: Step,
    /// The open partition, its vertices, and what these say.
    partition: u32,
    values: Vec<E::Value>,
    targets: Vec<E::Signal>,
    /// The source partition of the cell at work, and what its vertices say.
    source: u32,
    sources: Vec<E::Signal>,
    /// Of the edges of a chunk.
    states: Vec<E::State>,
    /// Updates that edges have told, and where; in a scatter they wait for their chunk to be full.
    told: Bin<E::Update>,
    last: E::Total,
    scratch: Scratch,
    looked_at: u64,
}

impl<E: Extended> Worker for ExtendedWorker<E> {
    fn work(&mut self, work: &Work) -> Result<Outcome, EngineError> {
        self.looked_at = 0;
        if let Some(outcome) = self.reading.splits(work, &mut self.looked_at)? {
            return Ok(outcome);
        }
        let outcome = match work {
            Work::Ingest { first } => self.reading.piece(*first, &mut self.looked_at)?,
            Work::Init { partition, degrees: counts } => self.init(*partition, counts),
            Work::Open { step, partition, vertices, control } => {
                (self.step, self.partition) = (*step, *partition);
                self.values = read(vertices);
                self.targets = self.signals(&self.values);
                self.last = pod_read_unaligned(control);
                self.told.clear();
                self.looked_at = self.values.len() as u64;
                Outcome::Opened
            }
            Work::Turn { source, vertices } => {
                self.source = *source;
                self.sources = self.signals(&read(vertices));
                self.looked_at = self.sources.len() as u64;
                Outcome::Turned
            }
            Work::Stream { payload, .. } if self.step.phase == Phase::Gather => {
                self.gather(payload)?
            }
            Work::Stream { payload, .. } => self.scatter(payload)?,
            Work::Flush => Outcome::Flushed(self.flush().into_iter().collect()),
            Work::HandOver => Outcome::HandedOver(self.told.chunk(self.updates_here()).into()),
            Work::Merge(payload) => {
                self.meet(payload)?;
                Outcome::Merged
            }
            Work::Apply => self.apply()?,
            Work::Decide { iterations, totals, .. } => self.decide(*iterations, totals),
        };
        Ok(outcome)
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
    fn signals(&self, values: &[E::Value]) -> Vec<E::Signal> {
        values.iter().map(|value| self.program.signal(value)).collect()
    }

    fn init(&mut self, partition: u32, counts: &[Payload]) -> Outcome {
        let degrees = degrees(counts);
        let first = self.cut.partitions.range(partition).start;
        self.values = vec![E::Value::zeroed(); degrees.len()];
        self.targets = vec![E::Signal::zeroed(); degrees.len()];
        let columns = (&mut self.values[..], &mut self.targets[..]);
        let total = chunks::init_extended(&*self.program, first, &degrees, columns);
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
    fn scatter(&mut self, payload: &[u8]) -> Result<Outcome, EngineError> {
        let cell = Cell { partition: self.partition, source: Some(self.source) };
        let cell = self.cut.chunk_cell(self.graph, cell);
        let (pulled, held) = states::<E::State>(&cell, payload)?;
        self.states.clear();
        self.states.extend_from_slice(held);
        let Self { program, sources, targets, states, told, scratch, .. } = self;
        let tell = |target: usize, update| told.push(target as u32, update);
        pulled.extend(&**program, [sources, targets], states, scratch, tell)?;
        let made = pulled.edges();
        self.looked_at = made;
        let rewritten = Some(with_states(&payload[..pulled.bytes()], &self.states).into());
        let filled = Vec::new();
        if self.step.phase == Phase::Fold {
            return Ok(Outcome::Streamed { made: 0, gathered: 0, rewritten, filled });
        }
        let is_full = self.told.waiting() >= self.cut.chunk_records;
        let filled = if is_full { self.flush() } else { None };
        let filled = filled.into_iter().collect();
        Ok(Outcome::Streamed { made, gathered: 0, rewritten, filled })
    }

    /// The name of updates for the open partition in this iteration.
    fn updates_here(&self) -> (u64, UpdateCell) {
        let (turn, stripe) = (self.step.iteration.into(), self.partition);
        (self.graph, UpdateCell { turn, stripe, window: stripe })
    }

    /// Updates that were told since the last time, if any, as a chunk.
    fn flush(&mut self) -> Option<Filled> {
        let at = self.updates_here();
        self.told.take(at)
    }

    /// Adds what edges told elsewhere, and says how much it was.
    fn meet(&mut self, payload: &[u8]) -> Result<u64, EngineError> {
        let records = open_updates::<E::Update>(self.updates_here(), payload)?;
        for (target, update) in records.targets.iter().zip(records.accums) {
            self.told.push(*target, *update);
        }
        Ok(records.updates)
    }

    fn gather(&mut self, payload: &[u8]) -> Result<Outcome, EngineError> {
        let gathered = self.meet(payload)?;
        self.looked_at = gathered;
        Ok(Outcome::Streamed { made: 0, gathered, rewritten: None, filled: Vec::new() })
    }

    fn apply(&mut self) -> Result<Outcome, EngineError> {
        let (_, at) = self.updates_here();
        let Self { program, values, targets, told, last, .. } = self;
        let mut accums = vec![program.identity(); values.len()];
        self.looked_at = (accums.len() + told.targets.len()) as u64;
        chunks::gather_extended(&**program, (at, &told.targets, &told.records), &mut accums)?;
        told.clear();
        let total = chunks::apply_extended(&**program, last, &accums, (values, targets));
        Ok(self.made(&total))
    }

    fn decide(&self, iterations: u32, totals: &[(u32, Bytes)]) -> Outcome {
        let totals = totals.iter().map(|(_, bytes)| pod_read_unaligned(bytes));
        let total = totals.fold(E::Total::default(), E::Total::merge);
        let goes_on = self.program.next(iterations.into(), &total) == Next::Iterate;
        Outcome::Decided { goes_on, control: bytes_of(&total).into() }
    }
}
