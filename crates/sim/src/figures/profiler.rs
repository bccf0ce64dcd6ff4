//! Profiles of programs, recorded from the worker of a real machine: one that is alone, and has all
//! partitions of the graph, with chunks in memory.
//!
//! ```text
//! spill     ingest, init, (open, stream*, flush, open, stream*, apply)*     as Chaos: all edges
//! fold      ingest, init, (open, (turn, stream*)*, apply)*                  cells that are active
//! nanos     of all work of a kind / records that it looked at              the least of the runs
//! ```
//!
//! One thread does all of it, and the clock is the caller's. Chunks have half a million records, as
//! machines have them. Route `fold` has edges in welter's own encoding.
//!
//! **Invariant:** updates and active sources of a run are those of the interpreter. Tested by
//! `workers_make_the_updates_of_the_interpreter`.

use std::sync::Arc;

use welter_engine::EngineError;
use welter_engine::chunks::{FoldKernel, Kernel};
use welter_model::program::Program;
use welter_protocol::config::Route;
use welter_protocol::ids::{Block, BlockName, Bytes, Epoch, Kind, Phase, Role, Step};
use welter_protocol::partitions::Partitions;
use welter_protocol::work::Filled;
use welter_protocol::{Outcome, Payload, Work};
use welter_store::header::Encoding;
use welter_testing::graph::Graph;
use welter_worker::{Input, InputEdge, KernelWorker, Partitioning, Worker};

use super::profiles::{AlgorithmProfile, FOLD, SPILL};
use super::recorder::{Visitor, iterations_max, visit};
use crate::sized_job::{Iteration, KernelTimes, WorkKind};

/// Records in a chunk.
const CHUNK_RECORDS: u32 = 1 << 19;
/// Edges in a piece of the input.
const PIECE_EDGES: usize = 1 << 16;

/// Runs that are recorded.
#[derive(Clone, Copy, Debug)]
pub struct Runs {
    /// Partitions of the machine, at least.
    pub partitions: u32,
    /// Runs of each algorithm and route, of which the least times count: at least one.
    pub count: u32,
}

/// Nanoseconds since some beginning.
pub type Clock<'a> = &'a dyn Fn() -> u64;

/// Profiles of all ten algorithms on a graph, by their names.
///
/// # Errors
/// When a worker has no memory for its part of the graph.
pub fn profile(
    graph: Graph,
    runs: Runs,
    clock: Clock<'_>,
) -> Result<Vec<(String, AlgorithmProfile)>, EngineError> {
    let mut recordings = Recordings { runs, clock, profiles: Ok(Vec::new()) };
    visit(graph, &mut recordings);
    recordings.profiles
}

/// Profiles of the algorithms that were visited.
struct Recordings<'a> {
    runs: Runs,
    clock: Clock<'a>,
    profiles: Result<Vec<(String, AlgorithmProfile)>, EngineError>,
}

impl Visitor for Recordings<'_> {
    fn visit<P>(&mut self, name: &'static str, graph: &Arc<Graph>, program: P)
    where
        P: Program + Send + 'static,
    {
        let Ok(profiles) = &mut self.profiles else { return };
        let kernel = Kernel::Fold(FoldKernel::of(Arc::new(program)));
        let of = Recording { name, graph, kernel, partitions: self.runs.partitions };
        match of.profile(self.runs.count, self.clock) {
            Ok(profile) => profiles.push((name.to_owned(), profile)),
            Err(error) => self.profiles = Err(error),
        }
    }
}

/// An algorithm that is recorded.
struct Recording<'a> {
    name: &'a str,
    graph: &'a Arc<Graph>,
    kernel: Kernel,
    partitions: u32,
}

impl Recording<'_> {
    fn profile(&self, count: u32, clock: Clock<'_>) -> Result<AlgorithmProfile, EngineError> {
        let mut profile = AlgorithmProfile::default();
        for run in 0..count.max(1) {
            let (spill, iterations) = self.run(Route::Spill, clock)?;
            let (fold, _) = self.run(Route::Fold, clock)?;
            let least = |before: KernelTimes, spent: &Spent, kinds: &[WorkKind]| {
                kinds.iter().fold(before, |times, &kind| {
                    let nanos = spent.nanos_of_record(kind);
                    times.with(kind, if run == 0 { nanos } else { nanos.min(times.of(kind)) })
                })
            };
            profile.spill = least(profile.spill, &spill, &SPILL);
            profile.fold = least(profile.fold, &fold, &FOLD);
            let parts = iterations.iter().map(Iteration::parts_of_million);
            (profile.updates, profile.sources) = parts.map(|[one, other]| (one, other)).unzip();
        }
        Ok(profile)
    }

    /// Runs it once.
    fn run(&self, route: Route, clock: Clock<'_>) -> Result<(Spent, Vec<Iteration>), EngineError> {
        let mut machine = self.machine(route, clock)?;
        let edges = self.graph.pairs.len() as u64;
        let vertices = machine.used.iter().filter(|used| **used).count() as u64;
        let (mut control, mut iterations) = (machine.begin()?, Vec::new());
        for iteration in 0..iterations_max(self.name) as u32 {
            let Some(decided) = machine.decide(iteration, &control)? else { break };
            control = decided;
            let sources = machine.sources();
            let updates = match route {
                Route::Spill => machine.spill(iteration, &control)?,
                Route::Fold => machine.fold(iteration, &control)?,
            };
            iterations.push(Iteration { edges, updates, vertices, sources });
        }
        Ok((machine.spent, iterations))
    }

    /// A machine that has read nothing yet.
    fn machine<'c>(&self, route: Route, clock: Clock<'c>) -> Result<Machine<'c>, EngineError> {
        let (graph, vertices) = (self.graph, self.graph.slots() as u64);
        let width = vertices.div_ceil(u64::from(self.partitions.max(1))).max(1);
        let Some(partitions) = Partitions::fitting(1, vertices, 1, width) else {
            unreachable!("a vertex fits")
        };
        let vertex_bytes = KernelWorker::vertex_bytes(&self.kernel);
        let encoding = match route {
            Route::Spill => Encoding::Packed,
            Route::Fold => Encoding::Compressed,
        };
        let cut = Partitioning {
            partitions,
            route,
            encoding,
            chunk_records: CHUNK_RECORDS,
            bin_chunks: 1,
            chunk_vertices: u64::from(CHUNK_RECORDS),
            piece_edges: PIECE_EDGES,
            bins_open_max: u64::MAX,
            source_parts: 1,
            combines: false,
            stripe_bits: 16,
        };
        let weighted = self.kernel.shape().capabilities.weighted;
        let pairs = Pairs { graph: graph.clone(), weighted, at: 0, piece: Vec::new() };
        let parts = cut.partitions.count() as usize;
        Ok(Machine {
            worker: KernelWorker::new(self.kernel.clone(), cut.clone(), 1, Box::new(pairs))?,
            cut,
            vertex_bytes: vertex_bytes as usize,
            used: graph.used(),
            edges: Vec::new(),
            vertices: vec![Vec::new(); parts],
            active: vec![0; parts],
            totals: Vec::new(),
            clock,
            spent: Spent::default(),
        })
    }
}

/// The edges of a graph as an input.
struct Pairs {
    graph: Arc<Graph>,
    weighted: bool,
    at: usize,
    piece: Vec<InputEdge>,
}

impl Input for Pairs {
    fn begin(&mut self) {
        self.at = 0;
    }

    fn piece(&mut self, edges_max: usize) -> Result<(&[InputEdge], bool), EngineError> {
        let Self { graph, weighted, at, piece } = self;
        let end = graph.pairs.len().min(*at + edges_max);
        let edge = |edge: usize| {
            let [source, target] = graph.pairs[edge].map(u64::from);
            let weight = if *weighted { graph.weight(edge) } else { 1.0 };
            InputEdge { source, target, weight }
        };
        piece.clear();
        piece.extend((*at..end).map(edge));
        *at = end;
        Ok((&piece[..], end == graph.pairs.len()))
    }
}

/// Nanoseconds and records, by kind of work.
#[derive(Clone, Debug, Default)]
struct Spent([(u64, u64); WorkKind::ALL.len()]);

impl Spent {
    fn add(&mut self, work: &Work, nanos: u64, records: u64) {
        if let Some(kind) = WorkKind::of(work) {
            let sums = &mut self.0[kind as usize];
            *sums = (sums.0 + nanos, sums.1 + records);
        }
    }

    fn nanos_of_record(&self, kind: WorkKind) -> f64 {
        let (nanos, records) = self.0[kind as usize];
        nanos as f64 / records.max(1) as f64
    }
}

/// A machine that is alone: its worker, and all that it has stored.
struct Machine<'c> {
    worker: KernelWorker,
    cut: Partitioning,
    vertex_bytes: usize,
    /// Vertices that have an edge.
    used: Vec<bool>,
    edges: Vec<Filled>,
    /// Vertex sets, by partition, and ranges of them that have an active vertex.
    vertices: Vec<Vec<Payload>>,
    active: Vec<u64>,
    totals: Vec<(u32, Bytes)>,
    clock: Clock<'c>,
    spent: Spent,
}

impl Machine<'_> {
    /// Has something done, and takes the time.
    fn ask(&mut self, work: &Work) -> Result<Outcome, EngineError> {
        let began = (self.clock)();
        let outcome = self.worker.work(work)?;
        let nanos = (self.clock)().saturating_sub(began);
        self.spent.add(work, nanos, self.worker.looked_at());
        Ok(outcome)
    }

    /// Reads all edges, and makes first values.
    fn begin(&mut self) -> Result<Bytes, EngineError> {
        let mut first = true;
        let degrees = loop {
            let outcome = self.ask(&Work::Ingest { first })?;
            let Outcome::Ingested { filled, degrees, .. } = outcome else {
                unreachable!("edges are read")
            };
            first = false;
            self.edges.extend(filled);
            if let Some(degrees) = degrees {
                break degrees;
            }
        };
        for (partition, degrees) in (0..).zip(degrees) {
            let made = self.ask(&Work::Init { partition, degrees: vec![degrees] })?;
            self.vertices[partition as usize] = self.made(partition, made);
        }
        Ok([].into())
    }

    /// A vertex set that was made, of which total and active ranges are kept.
    fn made(&mut self, partition: u32, outcome: Outcome) -> Vec<Payload> {
        let Outcome::Made { vertices, total, active } = outcome else {
            unreachable!("vertices are made")
        };
        self.totals.push((partition, total));
        self.active[partition as usize] = active;
        vertices
    }

    /// The decision on the next iteration, if there is one.
    fn decide(&mut self, iterations: u32, control: &Bytes) -> Result<Option<Bytes>, EngineError> {
        let (control, totals) = (control.clone(), std::mem::take(&mut self.totals));
        let Outcome::Decided { goes_on, control, .. } =
            self.ask(&Work::Decide { iterations, control, totals })?
        else {
            unreachable!("it is decided")
        };
        Ok(goes_on.then_some(control))
    }

    /// Active vertices that have an edge. The last byte of a vertex says whether it is active.
    fn sources(&self) -> u64 {
        let flag = |vertex: &[u8]| vertex.last().is_some_and(|flag| *flag == 1);
        let of = |(partition, chunks): (u32, &Vec<Payload>)| {
            let first = self.cut.partitions.range(partition).start as usize;
            let vertices = chunks.iter().flat_map(|chunk| chunk.chunks_exact(self.vertex_bytes));
            let counts =
                vertices.zip(&self.used[first..]).filter(|(vertex, used)| **used && flag(vertex));
            counts.count() as u64
        };
        (0..).zip(&self.vertices).map(of).sum()
    }

    fn open(
        &mut self,
        (iteration, phase): (u32, Phase),
        partition: u32,
        control: &Bytes,
    ) -> Result<(), EngineError> {
        let step = Step { iteration, phase };
        let vertices = self.vertices[partition as usize].clone();
        let control = control.clone();
        self.ask(&Work::Open { step, partition, vertices, control })?;
        Ok(())
    }

    /// Streams a chunk: updates that it made, and those that are full chunks.
    fn stream(&mut self, kind: Kind, chunk: &Filled) -> Result<(u64, Vec<Filled>), EngineError> {
        let name = BlockName {
            kind,
            role: Role::Primary,
            epoch: Epoch::default(),
            iteration: 0,
            partition: chunk.partition,
            source: chunk.source,
            number: 0,
        };
        let block = Block::of(name, chunk.records, chunk.sources, &chunk.payload);
        let outcome = self.ask(&Work::Stream { block, payload: chunk.payload.clone() })?;
        let Outcome::Streamed { made, filled, .. } = outcome else {
            unreachable!("a chunk is streamed")
        };
        Ok((made, filled))
    }

    /// An iteration on route `spill`: how many updates it made.
    fn spill(&mut self, iteration: u32, control: &Bytes) -> Result<u64, EngineError> {
        let parts = self.cut.partitions.count();
        let (mut all, mut updates) = (0, vec![Vec::new(); parts as usize]);
        let edges = std::mem::take(&mut self.edges);
        for partition in 0..parts {
            self.open((iteration, Phase::Scatter), partition, control)?;
            let mut full = Vec::new();
            for chunk in edges.iter().filter(|chunk| chunk.partition == partition) {
                let (made, filled) = self.stream(Kind::Edges, chunk)?;
                all += made;
                full.extend(filled);
            }
            let Outcome::Flushed { filled, .. } = self.ask(&Work::Flush)? else {
                unreachable!("buffers are flushed")
            };
            for chunk in full.into_iter().chain(filled) {
                updates[chunk.partition as usize].push(chunk);
            }
        }
        self.edges = edges;
        for (partition, chunks) in (0..).zip(updates) {
            self.open((iteration, Phase::Gather), partition, control)?;
            for chunk in chunks {
                self.stream(Kind::Updates, &chunk)?;
            }
            let made = self.ask(&Work::Apply)?;
            self.vertices[partition as usize] = self.made(partition, made);
        }
        Ok(all)
    }

    /// An iteration on route `fold`, of cells that have an active source. Updates wait nowhere, and
    /// are not counted.
    fn fold(&mut self, iteration: u32, control: &Bytes) -> Result<u64, EngineError> {
        let parts = self.cut.partitions.count();
        let (edges, active) = (std::mem::take(&mut self.edges), self.active.clone());
        let mut next = Vec::new();
        for partition in 0..parts {
            self.open((iteration, Phase::Fold), partition, control)?;
            for source in 0..parts {
                let ranges = active[source as usize];
                let cell = edges.iter().filter(|chunk| {
                    (chunk.partition, chunk.source) == (partition, Some(source))
                        && chunk.sources & ranges != 0
                });
                if ranges != 0 {
                    let vertices = self.vertices[source as usize].clone();
                    self.ask(&Work::Turn { source, vertices })?;
                }
                for chunk in cell {
                    self.stream(Kind::Edges, chunk)?;
                }
            }
            let made = self.ask(&Work::Apply)?;
            next.push(self.made(partition, made));
        }
        (self.edges, self.vertices) = (edges, next);
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::super::recorder::{record, rmat};
    use super::*;

    #[test]
    fn workers_make_the_updates_of_the_interpreter() {
        let ticks = Cell::new(0);
        // Each piece of work takes a microsecond.
        let clock = || {
            ticks.set(ticks.get() + 1000);
            ticks.get()
        };
        let runs = Runs { partitions: 3, count: 2 };
        let found = profile(rmat(9, 1), runs, &clock).unwrap();
        let expected = record(rmat(9, 1));
        assert_eq!(found.len(), expected.len());
        for ((name, profile), recorded) in found.iter().zip(&expected) {
            let parts = recorded.iterations.iter().map(Iteration::parts_of_million);
            let (updates, sources): (Vec<u32>, Vec<u32>) =
                parts.map(|[one, other]| (one, other)).unzip();
            assert_eq!((name.as_str(), &profile.updates), (recorded.name, &updates));
            assert_eq!(profile.sources, sources, "{name}");
            for (times, kinds) in [(profile.spill, &SPILL[..]), (profile.fold, &FOLD[..])] {
                let are_known = kinds.iter().all(|kind| times.of(*kind) > 0.0);
                assert!(are_known, "{name}: {times:?}");
            }
        }
    }

    #[test]
    fn the_least_time_of_several_runs_counts() {
        // Work takes less and less time, so that the last run is the fastest.
        let calls = Cell::new((0, 0));
        let clock = || {
            let (called, now) = calls.get();
            calls.set((called + 1, now + 1_000_000_000 / (1 + called)));
            calls.get().1
        };
        let graph = Arc::new(rmat(6, 1));
        let program = welter_algorithms::Bfs::new(vec![0]);
        let kernel = Kernel::Fold(FoldKernel::of(Arc::new(program)));
        let of = Recording { name: "BFS", graph: &graph, kernel, partitions: 2 };
        let one = of.profile(1, &clock).unwrap();
        calls.set((0, 0));
        let three = of.profile(3, &clock).unwrap();
        for kind in SPILL {
            assert!(three.spill.of(kind) < one.spill.of(kind), "{kind:?}");
        }
        assert_eq!(one.updates, three.updates);
    }
}
