//! The kernel of a stream program.

mod input;

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::sync::Mutex;

use bytemuck::{bytes_of, pod_read_unaligned};
use welter_model::checkpointable::{Checkpointable, EncodedStep, decode, encode};
use welter_model::limit::Limit;
use welter_model::program::{Total, Vertex};
use welter_model::stream::{
    ContractedEdge, Edge, Next, RevisitPolicy, StateView, StepStats, Stream,
};

use crate::EngineError;
use crate::kernels::filter::filter_tile;
use crate::kernels::gather::Endpoints;
use crate::kernels::kernel::DecodeBuffers;
use crate::kernels::keys::Width;
use crate::kernels::seam::elements_mut;
use crate::kernels::shape::StreamShape;
use crate::kernels::stream::{ResumableKernel, ShownCounts, StatePart, StreamKernel, TilePass};
use crate::machine::arena::Buffer;
use crate::machine::sync::lock;

/// A stream program as a kernel, with all that it learns.
pub(crate) struct Streaming<'p, S: Stream> {
    program: &'p S,
    shape: StreamShape,
    /// One a vertex, and what a damaged key may name behind them.
    states: Buffer<S::VertexState>,
    aux: Buffer<S::Aux>,
    step: Next<S::Step>,
    /// Sum of what vertices said that were finalized in this step.
    total: Mutex<S::Total>,
}

impl<'p, S: Stream> Streaming<'p, S> {
    /// A program before its first step, with room for the state of `places` vertices.
    pub(crate) fn new(program: &'p S, places: usize) -> Result<Self, EngineError> {
        Ok(Self {
            program,
            shape: StreamShape::of::<S>(),
            states: Buffer::zeroed(places)?,
            aux: Buffer::zeroed(places)?,
            step: program.first(),
            total: Mutex::default(),
        })
    }

    fn view(&self) -> StateView<'_, S> {
        StateView { states: &self.states, aux: &self.aux }
    }

    /// The program's own step.
    fn own_step(&self) -> S::Step {
        match self.step {
            Next::SamplePass(step)
            | Next::Pass(step)
            | Next::Finalize(step)
            | Next::FinishInMemory(step) => Some(step),
            Next::Stop => None,
        }
        .expect("a step is under way")
    }

    /// Counts of this step, with what vertices said that were finalized.
    fn own_stats(&self, stats: StepStats<()>) -> StepStats<S::Total> {
        let StepStats { looked, candidates, changes, room, retained: kept, .. } = stats;
        StepStats { looked, candidates, changes, total: *lock(&self.total), room, retained: kept }
    }

    /// Hands the edges of a tile that are candidates to `edge`: source, target and weight.
    ///
    /// Source, target and weight are three arguments: the words of an [`Edge`] are stored apart
    /// and were then loaded as one, so each load waited for both stores: strong components of
    /// R-MAT 22 took 0.87 s instead of 0.70.
    fn filter_edges(
        &self,
        edges: &TilePass<'_>,
        scratch: &mut DecodeBuffers,
        edge: impl Fn(u32, u32, f64) + Copy,
    ) {
        let TilePass { tile, coding, target_base, look, .. } = *edges;
        let (program, step, source_base) = (self.program, self.own_step(), tile.source as u32);
        let states = &self.states[..];
        let endpoints = Endpoints {
            sources: &states[source_base as usize..],
            targets: &states[target_base as usize..],
            look,
        };
        filter_tile(
            tile,
            (coding, &Width),
            &endpoints,
            scratch,
            #[inline(always)]
            |source, target| program.is_candidate(step, source, target),
            #[inline(always)]
            |source, target, weight| edge(source_base + source, target_base + target, weight),
        );
    }

    /// Shows the edges of a tile that are candidates to the program, and to `found`.
    fn show_each(
        &self,
        edges: &TilePass<'_>,
        scratch: &mut DecodeBuffers,
        found: impl Fn(u32, u32, f64) + Copy,
    ) -> ShownCounts {
        let (program, step, view) = (self.program, self.own_step(), self.view());
        let again = program.revisit_policy(step);
        let (candidates, changes) = (Cell::new(0), Cell::new(0));
        self.filter_edges(
            edges,
            scratch,
            #[inline(always)]
            |source, target, weight| {
                found(source, target, weight);
                let edge = Edge { source, target, weight };
                candidates.set(candidates.get() + 1);
                if program.edge(step, view, edge) {
                    changes.set(changes.get() + 1);
                    edges.changed.change(edge, again);
                }
            },
        );
        ShownCounts { candidates: candidates.get(), changes: changes.get() }
    }
}

/// States and further data of some vertices before the first step.
struct VertexPart<'k, S: Stream> {
    program: &'k S,
    first: u64,
    states: &'k mut [S::VertexState],
    aux: &'k mut [S::Aux],
}

impl<S: Stream> StatePart for VertexPart<'_, S> {
    fn init(&mut self, degrees: &[u32]) {
        let degrees = degrees.iter().copied().chain(std::iter::repeat(0));
        let state = self.states.iter_mut().zip(self.aux.iter_mut());
        for (index, ((state, aux), degree)) in (self.first..).zip(state.zip(degrees)) {
            (*state, *aux) = self.program.init(Vertex { index, out_degree: degree.into() });
        }
    }
}

impl<S: Stream> StreamKernel for Streaming<'_, S> {
    fn shape(&self) -> &StreamShape {
        &self.shape
    }

    fn limit(&self) -> Limit {
        self.program.limit()
    }

    fn parts(&mut self, vertices: usize) -> Vec<(usize, Box<dyn StatePart + '_>)> {
        let Self { program, states, aux, .. } = self;
        let parts = states.chunks_mut(vertices).zip(aux.chunks_mut(vertices));
        parts
            .enumerate()
            .map(|(number, (states, aux))| {
                let first = number * vertices;
                let part = VertexPart::<S> { program: *program, first: first as u64, states, aux };
                (first, Box::new(part) as Box<dyn StatePart>)
            })
            .collect()
    }

    fn step(&self) -> Next<RevisitPolicy> {
        let again = |step| self.program.revisit_policy(step);
        match self.step {
            Next::SamplePass(step) => Next::SamplePass(again(step)),
            Next::Pass(step) => Next::Pass(again(step)),
            Next::Finalize(step) => Next::Finalize(again(step)),
            Next::FinishInMemory(step) => Next::FinishInMemory(again(step)),
            Next::Stop => Next::Stop,
        }
    }

    fn end_step(&mut self, stats: StepStats<()>) -> Result<(), EngineError> {
        let (step, stats) = (self.own_step(), self.own_stats(stats));
        // A step may contradict what the end of the program rests on.
        if let Some(what) = self.program.broken(step, &stats) {
            return Err(EngineError::Invariant(what));
        }
        self.step = self.program.next(step, &stats);
        self.total = Mutex::default();
        Ok(())
    }

    fn show(
        &self,
        edges: &TilePass<'_>,
        scratch: &mut DecodeBuffers,
        found: Option<&mut Vec<Edge>>,
    ) -> ShownCounts {
        let Some(found) = found else { return self.show_each(edges, scratch, |_, _, _| ()) };
        let found = RefCell::new(found);
        self.show_each(edges, scratch, |source, target, weight| {
            found.borrow_mut().push(Edge { source, target, weight });
        })
    }

    fn find(&self, edges: &TilePass<'_>, scratch: &mut DecodeBuffers, found: &mut Vec<Edge>) {
        let found = RefCell::new(found);
        self.filter_edges(edges, scratch, |source, target, weight| {
            found.borrow_mut().push(Edge { source, target, weight });
        });
    }

    fn contract(&self, edges: &[Edge], contracted: &mut Vec<ContractedEdge>) {
        let component = |end: u32| self.program.component(&self.states[end as usize]);
        contracted.extend(edges.iter().map(|&edge| {
            let [one, other] = [edge.source, edge.target].map(component);
            ContractedEdge::new(one, other, self.program.rank(edge))
        }));
    }

    fn show_contracted(
        &self,
        edges: &[ContractedEdge],
        found: &mut Vec<ContractedEdge>,
    ) -> ShownCounts {
        let (program, step, view) = (self.program, self.own_step(), self.view());
        let mut shown = ShownCounts::default();
        for edge in edges {
            let component = |end: u32| program.component(&view.states[end as usize]);
            let [one, other] = edge.between.map(component);
            if one != other {
                let edge = ContractedEdge::new(one, other, edge.rank);
                found.push(edge);
                shown.candidates += 1;
                shown.changes += u64::from(program.contracted_edge(step, view, edge));
            }
        }
        shown
    }

    fn rest(&self, edges: Vec<[u32; 2]>) {
        self.program.finish_in_memory(self.view(), edges);
    }

    fn finalize(&self, vertices: Range<usize>) {
        let (program, step, view) = (self.program, self.own_step(), self.view());
        let totals = vertices.map(|vertex| program.finalize(step, view, vertex as u32));
        let sum = totals.fold(S::Total::default(), S::Total::merge);
        let total = &mut *lock(&self.total);
        *total = total.merge(sum);
    }

    fn values(&self, first: usize, values: &mut [u8]) {
        let view = self.view();
        for (vertex, value) in (first as u32..).zip(elements_mut::<S::Value>(values)) {
            *value = self.program.value(view, vertex);
        }
    }
}

impl<S: Checkpointable> ResumableKernel for Streaming<'_, S> {
    fn snapshot_bytes(&self) -> usize {
        size_of::<S::Snapshot>()
    }

    fn snapshot(&self, first: usize, kept: &mut [u8]) {
        let state = self.states[first..].iter().zip(&self.aux[first..]);
        for (kept, (state, aux)) in kept.chunks_exact_mut(size_of::<S::Snapshot>()).zip(state) {
            kept.copy_from_slice(bytes_of(&self.program.snapshot(state, aux)));
        }
    }

    fn restore(&mut self, first: usize, kept: &[u8], vertices: u64) -> bool {
        let Self { program, states, aux, .. } = self;
        let state = states[first..].iter_mut().zip(&mut aux[first..]);
        kept.chunks_exact(size_of::<S::Snapshot>()).zip(state).all(|(kept, (state, aux))| {
            let restored = program.restored(pod_read_unaligned(kept), vertices);
            restored.map(|restored| (*state, *aux) = restored).is_some()
        })
    }

    fn encoded_step(&self) -> EncodedStep {
        encode::<S>(self.step)
    }

    fn resume(&mut self, kept: EncodedStep) -> bool {
        decode::<S>(kept).map(|step| self.step = step).is_some()
    }
}
