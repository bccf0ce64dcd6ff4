//! welter as the command uses it, and programs that measure the time between iterations.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result};
use bytemuck::{Pod, Zeroable};
use welter_algorithms::Float;
use welter_algorithms::pagerank::{Dangling, PageRank};
use welter_engine::Machine;
use welter_engine::plan::{self, IndexMode, Layout, Plan, Settings};
use welter_engine::{Graph, Workers, run};
use welter_input::{Input, ReadOptions};
use welter_model::edges::{Batch, EdgeStream, Pair, Reading, StreamError};
use welter_model::ids::IdMap;
use welter_model::limit::Limit;
use welter_model::program::{Applied, Next, Program, Value, Vertex};
use welter_model::table::ColumnData;
use welter_progress::Progress;
use welter_store::header::Encoding;

/// Damping of all that is ranked here.
pub(crate) const DAMPING: f64 = 0.85;

/// A graph in memory with its ids.
pub(crate) struct Loaded {
    pub(crate) graph: Graph,
    pub(crate) ids: IdMap,
}

impl Loaded {
    /// Reads a file of any format and ingests it for programs of such a layout.
    pub(crate) fn read(
        path: &Path,
        layout: Layout,
        encoding: Option<Encoding>,
        workers: &Workers,
        progress: &Progress,
    ) -> Result<Self> {
        let settings = Settings { encoding, ..Settings::default() };
        Self::read_as(path, layout, settings, workers, progress)
    }

    /// Reads a graph with other settings.
    pub(crate) fn read_as(
        path: &Path,
        layout: Layout,
        settings: Settings,
        workers: &Workers,
        progress: &Progress,
    ) -> Result<Self> {
        let threads = workers.threads();
        let options = ReadOptions { threads, sampled: true, ..ReadOptions::default() };
        let name = path.to_str().context("a path that is no text")?.to_owned();
        let Input { edges, ids, .. } = welter_input::read(&[name], &options, progress)?;
        Self::ingest(edges, ids, layout, settings, workers, progress)
    }

    /// Reads a graph with weights that are made from the ends of each edge.
    pub(crate) fn read_with_weights(
        path: &Path,
        layout: Layout,
        weight: fn(Pair) -> u8,
        index: IndexMode,
        workers: &Workers,
        progress: &Progress,
    ) -> Result<Self> {
        let options =
            ReadOptions { threads: workers.threads(), sampled: true, ..ReadOptions::default() };
        let name = path.to_str().context("a path that is no text")?.to_owned();
        let Input { edges, ids, .. } = welter_input::read(&[name], &options, progress)?;
        let edges = Box::new(WithWeights { edges, weight });
        let settings = Settings { index, ..Settings::default() };
        Self::ingest(edges, ids, layout, settings, workers, progress)
    }

    fn ingest(
        edges: Box<dyn EdgeStream>,
        ids: IdMap,
        layout: Layout,
        settings: Settings,
        workers: &Workers,
        progress: &Progress,
    ) -> Result<Self> {
        let threads = workers.threads();
        let shape = plan::Shape {
            slots: edges.slots().unwrap_or(1 << 32),
            edges: edges.edges(),
            weighted: edges.weighted(),
            estimated: edges.slots().is_none(),
            input_bytes: 0,
        };
        let settings = Settings { threads: Some(threads), ..settings };
        let plan = Plan::new(shape, layout, &settings, &Machine::detect())?;
        let graph = Graph::ingest(edges, &ids, Reading::default(), &plan, workers, progress)?;
        Ok(Self { graph, ids })
    }

    /// Original ids of all vertices.
    pub(crate) fn vertex_ids(&self) -> Vec<u64> {
        let column = self.graph.vertex_column(&self.ids);
        column.integers(0..column.len()).unwrap_or_default().into_owned()
    }

    /// The number of the vertex with an id.
    pub(crate) fn number_of(&self, id: u32) -> u64 {
        self.vertex_ids().partition_point(|&vertex| vertex < id.into()) as u64
    }

    /// `values`, one a vertex, by original id; ids that are no vertices get `None`.
    pub(crate) fn by_id(&self, values: &[f64], ids: usize) -> Vec<Option<f64>> {
        let mut by_id = vec![None; ids];
        for (id, &value) in self.vertex_ids().into_iter().zip(values) {
            by_id[id as usize] = Some(value);
        }
        by_id
    }
}

/// A stream whose edges get weights.
struct WithWeights {
    edges: Box<dyn EdgeStream>,
    weight: fn(Pair) -> u8,
}

impl EdgeStream for WithWeights {
    fn parts(&self) -> usize {
        self.edges.parts()
    }

    fn edges(&self) -> u64 {
        self.edges.edges()
    }

    fn weighted(&self) -> bool {
        true
    }

    fn slots(&self) -> Option<u64> {
        self.edges.slots()
    }

    fn read(
        &self,
        part: usize,
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        let mut weights = Vec::new();
        self.edges.read(part, &mut |batch| {
            weights.clear();
            weights.extend(batch.pairs.iter().map(|&pair| f64::from((self.weight)(pair))));
            visit(Batch { weights: Some(&weights), ..batch })
        })
    }
}

/// The layout of PageRank in a float type.
pub(crate) fn layout<F: Float>() -> Layout {
    Layout::of::<PageRank<F>>()
}

/// PageRank as the baselines compute it.
pub(crate) fn pagerank<F: Float>(graph: &Graph, iterations: u64) -> PageRank<F> {
    PageRank::new(graph.vertices(), DAMPING, iterations, 0.0, Dangling::Drop)
}

/// Ranks of all vertices.
pub(crate) fn ranks<F: Float>(
    graph: &Graph,
    iterations: u64,
    workers: &Workers,
) -> Result<Vec<f64>> {
    let outcome = run(graph, &pagerank::<F>(graph, iterations), workers, &Progress::new())?;
    Ok(wide::<PageRank<F>>(&outcome.values.whole()?))
}

/// The first column of the values of a program.
pub(crate) fn wide<P: Program>(values: &[P::Value]) -> Vec<f64> {
    match P::Value::columns(values).into_iter().next() {
        Some((_, ColumnData::F32(values))) => values.into_iter().map(f64::from).collect(),
        Some((_, ColumnData::F64(values))) => values,
        _ => Vec::new(),
    }
}

/// Seconds of each iteration but the first, in which fresh columns are touched.
pub(crate) fn times<P: Program>(graph: &Graph, program: P, workers: &Workers) -> Result<Vec<f64>> {
    let timed = Timed { program, ends: Mutex::new(Vec::new()) };
    run(graph, &timed, workers, &Progress::new())?;
    let ends = timed.ends.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(ends.windows(2).skip(1).map(|pair| (pair[1] - pair[0]).as_secs_f64()).collect())
}

/// A program that notes when its iterations end. `next` is asked once before each and once after
/// the last.
struct Timed<P> {
    program: P,
    ends: Mutex<Vec<Instant>>,
}

impl<P: Program> Program for Timed<P> {
    type Value = P::Value;
    type Signal = P::Signal;
    type Update = P::Update;
    type Accum = P::Accum;
    type Total = P::Total;

    const WEIGHTED: bool = P::WEIGHTED;
    const FRONTIER: bool = P::FRONTIER;

    #[inline(always)]
    fn init(&self, vertex: Vertex) -> Applied<Self::Value, Self::Total> {
        self.program.init(vertex)
    }

    #[inline(always)]
    fn signal(&self, value: &Self::Value) -> Self::Signal {
        self.program.signal(value)
    }

    #[inline(always)]
    fn scatter(&self, signal: Self::Signal, weight: f64) -> Option<Self::Update> {
        self.program.scatter(signal, weight)
    }

    #[inline(always)]
    fn identity(&self) -> Self::Accum {
        self.program.identity()
    }

    #[inline(always)]
    fn gather(&self, accum: Self::Accum, update: Self::Update) -> Self::Accum {
        self.program.gather(accum, update)
    }

    #[inline(always)]
    fn merge(&self, left: Self::Accum, right: Self::Accum) -> Self::Accum {
        self.program.merge(left, right)
    }

    #[inline(always)]
    fn apply(
        &self,
        value: Self::Value,
        accum: Self::Accum,
        last: &Self::Total,
    ) -> Applied<Self::Value, Self::Total> {
        self.program.apply(value, accum, last)
    }

    fn next(&self, iterations: u64, total: &Self::Total) -> Next {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner).push(Instant::now());
        self.program.next(iterations, total)
    }

    fn limit(&self) -> Limit {
        self.program.limit()
    }
}

/// In-degrees: the least that can be done around the kernel, so that its time is the kernel's.
///
/// Every vertex sends 1 to its neighbours, and `apply` keeps the sum. The kernel cannot know, and
/// loads a signal, adds and stores at each edge as for any sum; the answer is exact and easily
/// checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InDegree<F> {
    iterations: u64,
    float: std::marker::PhantomData<F>,
}

impl<F> InDegree<F> {
    pub(crate) fn new(iterations: u64) -> Self {
        Self { iterations, float: std::marker::PhantomData }
    }
}

/// Number of edges that end at a vertex.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(transparent)]
pub(crate) struct Degree<F>(F);

impl<F: Float> Value for Degree<F> {
    fn columns(values: &[Self]) -> Vec<(&'static str, ColumnData)> {
        vec![("degree", F::column(values.iter().map(|degree| degree.0).collect()))]
    }
}

impl<F: Float> Program for InDegree<F> {
    type Value = Degree<F>;
    type Signal = F;
    type Update = F;
    type Accum = F;
    type Total = ();

    const WEIGHTED: bool = false;

    fn init(&self, _: Vertex) -> Applied<Degree<F>, ()> {
        Applied::active(Degree(F::default()), ())
    }

    #[inline(always)]
    fn signal(&self, _: &Degree<F>) -> F {
        F::of(1.0)
    }

    #[inline(always)]
    fn scatter(&self, signal: F, _: f64) -> Option<F> {
        Some(signal)
    }

    #[inline(always)]
    fn identity(&self) -> F {
        F::default()
    }

    #[inline(always)]
    fn gather(&self, accum: F, update: F) -> F {
        accum + update
    }

    #[inline(always)]
    fn merge(&self, left: F, right: F) -> F {
        left + right
    }

    #[inline(always)]
    fn apply(&self, _: Degree<F>, accum: F, (): &()) -> Applied<Degree<F>, ()> {
        Applied { value: Degree(accum), total: (), active: true }
    }

    fn next(&self, iterations: u64, (): &()) -> Next {
        if iterations < self.iterations { Next::Iterate } else { Next::Stop }
    }

    fn limit(&self) -> Limit {
        Limit::Stated(self.iterations)
    }
}
