//! Stream programs as jobs: an iteration is a pass, and what it taught is folded.
//!
//! ```text
//! stream chunk      edges that are news to cells of one's own are shown to these; kept if they
//!                   taught them anything
//! update            edges that were kept (route spill: of a source partition, for itself)
//! accumulator       likewise, of all that was streamed for a partition
//! apply, decide     the kept edges of all partitions, as totals; shown to the real cells
//! last iteration    the program has ended: vertices get their values, and edges teach nothing
//! vertex            the program's value; zeros before the last iteration
//! ```
//!
//! How many passes there are depends on who saw what, so iterations are not judged.

use std::sync::Arc;

use bytemuck::{Zeroable, bytes_of, pod_read_unaligned};
use welter_engine::EngineError;
use welter_engine::chunks::Scratch;
use welter_model::program::Value;
use welter_model::stream::Stream;
use welter_protocol::config::Route;
use welter_protocol::names::{Bytes, Cell, Phase};
use welter_protocol::planted::Bug;
use welter_protocol::work::Filled;
use welter_protocol::{Outcome, Work};
use welter_testing::graph::Graph;
use welter_worker::ingest::{Ingest, degrees, numbers as counts};

use crate::input::Edges;
use crate::job::{Cut, Job, Worker};
use crate::kernel_job::numbers;
use crate::passes::{Knowledge, Learnt, Log};

/// A stream program on a graph whose slots are all vertices.
pub struct StreamJob<S: Stream> {
    program: Arc<S>,
    input: Arc<Edges>,
    name: &'static str,
    /// The rows of the result, in their order.
    expected: Vec<Vec<f64>>,
}

impl<S: Stream + Send + 'static> StreamJob<S> {
    /// Of a graph as it is to be read; the result must have these rows, in any order if it is a
    /// list.
    pub fn new(name: &'static str, graph: &Graph, program: S, expected: Vec<Vec<f64>>) -> Self {
        Self { program: Arc::new(program), input: Edges::of(graph, S::WEIGHTED), name, expected }
    }
}

impl<S: Stream + Send + 'static> Job for StreamJob<S> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn vertices(&self) -> u64 {
        self.input.vertices
    }

    fn vertex_bytes(&self) -> u64 {
        size_of::<S::Value>() as u64
    }

    fn worker(&self, cut: Cut, rank: usize, _: Option<Bug>) -> Box<dyn Worker> {
        Box::new(StreamWorker {
            program: self.program.clone(),
            ingest: Ingest::new(
                self.input.share(&cut, rank),
                cut,
                (self.input.graph, S::WEIGHTED),
                None,
            ),
            vertices: self.input.vertices,
            graph: self.input.graph,
            cut,
            phase: Phase::Ingest,
            partition: 0,
            source: 0,
            cells: None,
            learnt: Learnt::default(),
            scratch: Scratch::default(),
            looked_at: 0,
        })
    }

    fn judge(&self, vertices: &[u8], _: u32) -> Result<(), String> {
        let values = vertices.chunks_exact(size_of::<S::Value>()).map(pod_read_unaligned);
        let values: Vec<S::Value> = values.filter(S::Value::is_listed).collect();
        let columns = numbers(&values);
        let cell = |row: usize, column: usize| columns[column * values.len() + row];
        let width = columns.len().checked_div(values.len()).unwrap_or(0);
        let row = |row| (0..width).map(|column| cell(row, column)).collect();
        let mut found: Vec<Vec<f64>> = (0..values.len()).map(row).collect();
        if S::Value::LISTED {
            found.sort_by(|one, other| one.partial_cmp(other).unwrap_or(std::cmp::Ordering::Equal));
        }
        if found == self.expected {
            return Ok(());
        }
        Err(format!("{found:?} are not {:?}", self.expected))
    }
}

struct StreamWorker<S: Stream> {
    program: Arc<S>,
    ingest: Ingest,
    vertices: u64,
    /// Number of the graph.
    graph: u64,
    cut: Cut,
    phase: Phase,
    partition: u32,
    /// The source partition of the cell at work.
    source: u32,
    /// Of this machine's own.
    cells: Option<Knowledge<S>>,
    /// Knowledge that edges gave them.
    learnt: Learnt,
    scratch: Scratch,
    looked_at: u64,
}

impl<S: Stream + Send> Worker for StreamWorker<S> {
    fn work(&mut self, work: &Work) -> Result<Outcome, EngineError> {
        self.looked_at = 0;
        if let Some(outcome) = self.ingest.splits(work, &mut self.looked_at)? {
            return Ok(outcome);
        }
        let outcome = match work {
            Work::Ingest { first } => self.ingest.piece(*first, &mut self.looked_at)?,
            Work::Init { partition, degrees: counts } => {
                self.partition = *partition;
                let range = self.cut.partitions.range(*partition);
                let degrees = degrees(counts, (range.end - range.start) as usize)?;
                self.made(Bytes::from(bytemuck::cast_slice(&degrees)), |_| S::Value::zeroed())
            }
            Work::Open { step, partition, control, .. } => {
                (self.phase, self.partition) = (step.phase, *partition);
                self.cells = Some(self.replay(&Log::decode(control)));
                self.learnt = Learnt::default();
                self.looked_at = self.vertices;
                Outcome::Opened
            }
            Work::Turn { source, .. } => {
                self.source = *source;
                Outcome::Turned
            }
            Work::Stream { payload, .. } if self.phase == Phase::Gather => self.gather(payload),
            Work::Stream { payload, .. } => self.scatter(payload)?,
            Work::Flush => Outcome::Flushed(self.flush().into_iter().collect()),
            Work::HandOver => Outcome::HandedOver(self.learnt.encode().into()),
            Work::Merge(payload) => {
                self.learnt.add(Learnt::decode(payload));
                Outcome::Merged
            }
            Work::Apply => self.apply(),
            Work::Decide { iterations, control, totals } => {
                self.decide(*iterations, control, totals)
            }
        };
        Ok(outcome)
    }

    fn looked_at(&self) -> u64 {
        self.looked_at
    }
}

impl<S: Stream> StreamWorker<S> {
    fn replay(&self, log: &Log) -> Knowledge<S> {
        Knowledge::replay(&*self.program, self.vertices, log)
    }

    /// The vertex set of the open partition. Nobody knows yet whether edges will be streamed again.
    fn made(&self, total: Bytes, value: impl Fn(u64) -> S::Value) -> Outcome {
        let range = self.cut.partitions.range(self.partition);
        let active = if range.is_empty() { 0 } else { u64::MAX };
        let set: Vec<u8> = range.flat_map(|vertex| bytes_of(&value(vertex)).to_vec()).collect();
        let vertices = self.cut.vertex_chunks(&set, size_of::<S::Value>());
        Outcome::Made { vertices, total, active }
    }

    fn scatter(&mut self, payload: &[u8]) -> Result<Outcome, EngineError> {
        let before = self.learnt.edges.len();
        let source = (self.cut.route == Route::Fold).then_some(self.source);
        let cell = Cell { partition: self.partition, source };
        let cell = self.cut.chunk_cell(self.graph, cell);
        let pulled = cell.open(payload)?;
        if let Some(cells) = &self.cells {
            cells.sift(&*self.program, &pulled, &mut self.scratch, &mut self.learnt)?;
        }
        self.looked_at = pulled.edges();
        if self.phase == Phase::Fold {
            let filled = Vec::new();
            return Ok(Outcome::Streamed { made: 0, gathered: 0, rewritten: None, filled });
        }
        let kept = self.learnt.edges.len();
        let is_full = kept >= self.cut.chunk_records as usize;
        let filled = if is_full { self.flush() } else { None };
        let made = (kept - before) as u64;
        let filled = filled.into_iter().collect();
        Ok(Outcome::Streamed { made, gathered: 0, rewritten: None, filled })
    }

    /// Knowledge since the last time, if any, as a chunk of updates.
    fn flush(&mut self) -> Option<Filled> {
        let learnt = std::mem::take(&mut self.learnt);
        (learnt.counts[0] > 0).then(|| Filled {
            partition: self.partition,
            source: None,
            records: learnt.edges.len() as u32,
            combined: 0,
            sources: u64::MAX,
            payload: learnt.encode().into(),
        })
    }

    fn gather(&mut self, payload: &[u8]) -> Outcome {
        let learnt = Learnt::decode(payload);
        let gathered = learnt.edges.len() as u64;
        self.looked_at = gathered;
        self.learnt.add(learnt);
        Outcome::Streamed { made: 0, gathered, rewritten: None, filled: Vec::new() }
    }

    fn apply(&mut self) -> Outcome {
        let total = self.learnt.encode().into();
        self.looked_at = self.learnt.edges.len() as u64;
        let ended = self.cells.as_ref().filter(|cells| cells.have_ended());
        self.made(total, |vertex| match ended {
            Some(cells) => cells.value(&self.program, vertex),
            None => S::Value::zeroed(),
        })
    }

    fn decide(&self, iterations: u32, control: &[u8], totals: &[(u32, Bytes)]) -> Outcome {
        let mut log = Log::decode(control);
        if iterations == 0 {
            let degrees = totals.iter().flat_map(|(_, degrees)| counts(degrees));
            log = Log { degrees: degrees.collect(), passes: Vec::new() };
            return Outcome::Decided { goes_on: true, control: log.encode() };
        }
        let goes_on = !self.replay(&log).have_ended();
        if goes_on {
            let mut learnt = Learnt::default();
            for (_, total) in totals {
                learnt.add(Learnt::decode(total));
            }
            log.passes.push(learnt);
        }
        Outcome::Decided { goes_on, control: log.encode() }
    }
}
