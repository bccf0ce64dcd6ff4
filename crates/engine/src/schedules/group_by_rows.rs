//! An iteration of a group program by rows: a vertex meets what its neighbours say if one of them
//! says something else than before, and then finds them side by side.
//!
//! The neighbours of vertices that changed are marked, one by one, where few changed or most
//! neighbours would not heed it; else all vertices look. Core numbers of R-MAT settle for most
//! vertices in the first of some tens of iterations, and labels within a few.
//!
//! Invariant: a vertex that is not stale would make of its updates what it made of them last.
//! Tested by `communities_are_those_of_a_plain_loop` and `core_numbers_are_those_of_peeling`.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use bytemuck::{cast_slice, cast_slice_mut};
use welter_model::program::Program;

use crate::EngineError;
use crate::columns::levels::{IterationStats, Mode};
use crate::columns::state::{Elements, State, StripeSlice, StripeSlices};
use crate::edges::row_layout::out_rows;
use crate::edges::rows::View;
use crate::kernels::groups::AHEAD;
use crate::kernels::kernel::fetch;
use crate::kernels::seam::Kernel;
use crate::machine::arena::Buffer;
use crate::machine::dispatch::dispatched;
use crate::machine::per_worker::PerWorker;
use crate::schedules::context::Context;
use crate::schedules::dense::WorkerState;

/// Where so much of all edges leads to new vertices, all vertices look at their neighbours rather
/// than being marked by them.
const TOLD_BELOW: u64 = 3;

/// Iterations by rows of a program that groups.
pub(crate) trait RowGroups {
    /// An iteration, with its totals.
    fn iterate(
        &mut self,
        run: (&Context<'_>, &dyn Kernel),
        state: &mut State,
        last: &[u8],
        workers: &mut PerWorker<WorkerState<'_>>,
    ) -> Result<(Vec<u8>, IterationStats), EngineError>;
}

/// Grouping by rows, for vertices that are stale.
pub(crate) struct GroupByRows<'g, P> {
    program: &'g P,
    rows: View<'g>,
    /// 1 for each vertex to which something new is said.
    stale: Buffer<AtomicU8>,
    /// Whether all vertices are stale.
    all: bool,
}

impl<'g, P: Program> GroupByRows<'g, P> {
    /// All vertices, where the plan has room for rows.
    pub(crate) fn new(context: &Context<'g>, program: &'g P) -> Result<Option<Self>, EngineError> {
        let graph = context.graph;
        if !graph.plan.index().has_rows() {
            return Ok(None);
        }
        let rows = out_rows(graph, context.workers, context.progress)?.view();
        let stale = Buffer::zeroed(graph.vertices() as usize)?;
        Ok(Some(Self { program, rows, stale, all: true }))
    }
}

impl<P: Program> RowGroups for GroupByRows<'_, P> {
    fn iterate(
        &mut self,
        (context, kernel): (&Context<'_>, &dyn Kernel),
        state: &mut State,
        last: &[u8],
        worker_states: &mut PerWorker<WorkerState<'_>>,
    ) -> Result<(Vec<u8>, IterationStats), EngineError> {
        let Context { graph, workers, progress, .. } = *context;
        let active = state.active_count;
        let StripeSlices { stripes: parts, signals, .. } = state.parts(graph);
        let signals: &[P::Signal] = cast_slice(signals);
        let mut affected = workers.per_worker(|| Ok(0_u64))?;
        let mut states: Vec<_> = worker_states.iter_mut().zip(&mut affected).collect();
        workers.for_each(parts, progress, &mut states, |(worker, affected), part| {
            let StripeSlice { mut values, mut columns, .. } = part;
            let own = columns.stripe.vertices.clone();
            dispatched(
                #[inline(always)]
                || self.gather(own, cast_slice(&values), signals, worker),
            );
            columns.apply((graph, kernel), (&worker.accums, last), &mut values);
            let first = columns.stripe.vertices.start as usize;
            for (place, now) in cast_slice::<u8, P::Signal>(columns.signals).iter().enumerate() {
                let is_new = differ(now, &signals[first + place]);
                **affected += u64::from(is_new) * u64::from(graph.degrees[first + place]);
            }
            Ok(())
        })?;
        state.swap();
        let total = kernel.total(&state.totals);
        let affected: u64 = affected.into_iter().sum();
        self.all = !P::SELECTIVE && affected > graph.edges() / TOLD_BELOW;
        if !self.all && affected > 0 {
            self.mark_affected(context, &mut state.elements())?;
        }
        let edges =
            worker_states.iter_mut().map(|worker| std::mem::take(&mut worker.reader.edges)).sum();
        Ok((total, IterationStats::of(Mode::Dense, active, edges)))
    }
}

impl<P: Program> GroupByRows<'_, P> {
    /// Sets the accumulators of vertices of these values to what their neighbours make of them.
    #[inline(always)]
    fn gather(
        &self,
        own: std::ops::Range<u64>,
        values: &[P::Value],
        signals: &[P::Signal],
        worker: &mut WorkerState<'_>,
    ) {
        let WorkerState { accums, groups, reader } = worker;
        let accums: &mut [P::Accum] = cast_slice_mut(accums);
        for ((vertex, value), accum) in own.zip(values).zip(accums) {
            let stale = &self.stale[vertex as usize];
            *accum = if self.all || stale.swap(0, Relaxed) != 0 {
                reader.edges += self.rows.range(vertex as u32).len() as u64;
                let row = self.rows.ends_ahead(vertex as u32, AHEAD);
                let row = row.filter_map(|(end, ahead)| {
                    fetch(signals, ahead as usize);
                    self.program.scatter(signals[end as usize], 1.0)
                });
                groups.gather_row(self.program, value, row)
            } else {
                self.program.unchanged(value)
            };
        }
    }

    /// Marks the neighbours of vertices whose update is new.
    fn mark_affected(
        &self,
        context: &Context<'_>,
        state: &mut Elements<'_, P>,
    ) -> Result<(), EngineError> {
        let Context { graph, workers, progress, .. } = *context;
        let Elements { values, signals: [now, before], order, .. } = state;
        let (values, now, before) = (&**values, &**now, &**before);
        let mut idle = workers.per_worker(|| Ok(()))?;
        workers.for_each(order.iter(), progress, &mut idle, |(), &stripe| {
            for vertex in graph.stripes[stripe].vertices.clone() {
                let [before, now] = [before, now].map(|signals| signals[vertex as usize]);
                if !differ(&before, &now) {
                    continue;
                }
                for (end, ahead) in self.rows.ends_ahead(vertex as u32, AHEAD) {
                    fetch(values, ahead as usize);
                    let end = end as usize;
                    if self.program.is_affected_by(&values[end], before, now) {
                        self.stale[end].store(1, Relaxed);
                    }
                }
            }
            Ok(())
        })
    }
}

/// Whether a vertex says something else.
#[inline(always)]
fn differ<S: bytemuck::Pod>(one: &S, other: &S) -> bool {
    bytemuck::bytes_of(one) != bytemuck::bytes_of(other)
}
