//! An iteration of a group program by rows: a vertex meets what its neighbours say if one of them
//! says something else than before, and then finds them side by side.
//!
//! The neighbours of those who changed are told so, one by one, where few changed or most
//! neighbours would not heed it; else all vertices look. Core numbers of R-MAT settle for most
//! vertices in the first of some tens of iterations, and labels within a few.
//!
//! Invariant: a vertex that is not stale would make of what it hears what it made of it last.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use welter_model::program::Program;
use welter_progress::Progress;

use crate::EngineError;
use crate::columns::groups::AHEAD;
use crate::columns::levels::{Level, Mode};
use crate::columns::renew::apply_part;
use crate::columns::state::{Parts, State};
use crate::edges::graph::Graph;
use crate::edges::rows::View;
use crate::kernels::kernel::fetch;
use crate::machine::arena::Buffer;
use crate::machine::dispatch::dispatched;
use crate::machine::sync::lock;
use crate::machine::workers::Workers;
use crate::schedules::dense::{Benches, Driver};

/// Where so much of all edges leads to new vertices, all vertices look rather than being told.
const TOLD_BELOW: u64 = 3;

/// Which vertices are to look.
pub(crate) struct Regroup<'g> {
    rows: View<'g>,
    /// 1 for each vertex to which something new is said.
    stale: Buffer<AtomicU8>,
    /// Whether all are.
    all: bool,
}

impl<'g> Regroup<'g> {
    /// All vertices, where the plan has room for rows.
    pub(crate) fn new<P: Program>(
        graph: &'g Graph,
        workers: &Workers,
        progress: &Progress,
    ) -> Result<Option<Self>, EngineError> {
        if !P::GROUPS || !graph.plan.index.has_rows() {
            return Ok(None);
        }
        let rows = graph.lay_out_rows(workers, progress)?.view();
        let stale = Buffer::zeroed(graph.vertices() as usize)?;
        Ok(Some(Self { rows, stale, all: true }))
    }

    pub(crate) fn iterate<P: Program>(
        &mut self,
        driver: &Driver<'_, P>,
        state: &mut State<P>,
        last: &P::Total,
        benches: &Benches<'_, P>,
    ) -> Result<(P::Total, Level), EngineError> {
        let Driver { graph, program, workers, progress, .. } = *driver;
        let (order, active) = (state.order.clone(), state.active_count);
        let Parts { stripes: parts, signals, .. } = state.parts(graph);
        let news = workers.states(|| Ok(0_u64))?;
        let states: Vec<_> = benches.iter().zip(&news).map(std::sync::Mutex::new).collect();
        workers.tasks(parts.len(), progress, &states, |(bench, news), task| {
            let (bench, news) = (&mut *lock(bench), &mut *lock(news));
            let mut part = lock(&parts[order[task]]);
            let values = std::mem::take(&mut part.values);
            let own = part.stripe.vertices.clone();
            dispatched(
                #[inline(always)]
                || {
                    for ((vertex, value), accum) in own.zip(&*values).zip(&mut *bench.accums) {
                        let stale = &self.stale[vertex as usize];
                        *accum = if self.all || stale.swap(0, Relaxed) != 0 {
                            bench.edges += self.rows.range(vertex as u32).len() as u64;
                            bench.groups.meet_row(program, value, (self.rows, vertex), signals)
                        } else {
                            program.again(value)
                        };
                    }
                    apply_part(graph, program, last, (&bench.accums, values), &mut part);
                },
            );
            let first = part.stripe.vertices.start as usize;
            for (place, now) in part.signals.iter().enumerate() {
                let is_new = differ(now, &signals[first + place]);
                *news += u64::from(is_new) * u64::from(graph.degrees[first + place]);
            }
            Ok(())
        })?;
        drop(states);
        drop(parts);
        let total = state.close();
        let news: u64 = news.iter().map(|news| *lock(news)).sum();
        self.all = !P::CHOOSY && news > graph.edges() / TOLD_BELOW;
        if !self.all && news > 0 {
            self.tell(driver, state)?;
        }
        let edges = benches.iter().map(|bench| std::mem::take(&mut lock(bench).edges)).sum();
        Ok((total, Level::of(Mode::Dense, active, edges)))
    }

    /// Tells the neighbours of those who say something new.
    fn tell<P: Program>(
        &self,
        driver: &Driver<'_, P>,
        state: &State<P>,
    ) -> Result<(), EngineError> {
        let Driver { graph, program, workers, progress, .. } = *driver;
        let State { values, signals: [now, before], .. } = state;
        let units = workers.states(|| Ok(()))?;
        workers.tasks(graph.stripes.len(), progress, &units, |(), task| {
            for vertex in graph.stripes[state.order[task]].vertices.clone() {
                let [before, now] = [before, now].map(|signals| signals[vertex as usize]);
                if !differ(&before, &now) {
                    continue;
                }
                for (end, ahead) in self.rows.ends_ahead(vertex as u32, AHEAD) {
                    fetch(values, ahead as usize);
                    let end = end as usize;
                    if program.heeds(&values[end], before, now) {
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
