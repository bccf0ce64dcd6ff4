//! One pass over all edges, for stream programs.
//!
//! A task is a stripe, so what a thread learns of targets stays in its second-level cache. All
//! stripes first show a few edges of each vertex, those of the same few sources, after which cells
//! are tidied up: what most other edges look for is one step away then. Of the rest each stripe
//! begins at another place of its list: sources are everybody's, and were all to begin with the
//! first ones, threads would write the same lines, one after the other.
//!
//! Components of R-MAT scrambled 22 with 2 threads, in an early form: 245 ms without either (137
//! with one thread), 165 with the turned order, 63 with both (113). With a 32nd or an eighth of the
//! edges first instead of a sixteenth it took 80 and 87; letting each stripe first spread the
//! smallest number along its own edges, without joining anything, 64 to 77. First edges from about
//! the diagonal instead of the same sources made 24 million edges news on R-MAT scrambled 24
//! instead of 10 million, of 8.9 million vertices.

use std::sync::Mutex;

use welter_model::stream::Stream;
use welter_progress::{Progress, Unit};
use welter_store::chunk::Chunk;
use welter_store::weights::WeightKind;

use crate::EngineError;
use crate::arena::Buffer;
use crate::graph::{Graph, Stripe};
use crate::kernel::{Coding, Scratch, Sides, sift_tile};
use crate::read_ahead::ReadAhead;
use crate::results::Values;
use crate::workers::{Workers, lock};

/// Edges of a vertex that are shown in the first round, on average.
const FIRST_EDGES: f64 = 2.25;

/// Cells that are made or tidied up in one task.
const CELLS: usize = 1 << 16;

/// Shows every edge that may be news to a stream program, and returns the values of all vertices.
///
/// # Errors
/// When memory runs out, a chunk is damaged, or the run is cancelled.
pub fn pass<S: Stream>(
    graph: &Graph,
    program: &S,
    workers: &Workers,
    progress: &Progress,
) -> Result<Values<S::Value>, EngineError> {
    let phase = progress.phase("pass", Unit::Edges, Some(graph.edges()));
    // A damaged key names some place of the state and none outside it.
    let places =
        graph.vertices() + (graph.signal_padding() as u64).max(1 << graph.plan.stripe_bits);
    let mut buffer = Buffer::<S::Cell>::zeroed(places as usize)?;
    fill(&mut buffer, workers, progress, |place| program.cell(place))?;
    let cells = &buffer[..];
    let mut order: Vec<usize> = (0..graph.stripes.len()).collect();
    order.sort_by_key(|&stripe| std::cmp::Reverse(graph.stripes[stripe].edges));
    let benches = workers.states(|| Ok((Scratch::new(), ReadAhead::new(graph)?)))?;
    for round in [Round::First, Round::Rest] {
        workers.tasks_ahead(order.len(), progress, &benches, |(scratch, chunks), task, next| {
            let at = (order[task], next.map(|task| order[task]));
            let wants = |stripe| round.chunks(graph, stripe);
            chunks.stripe(at, wants, |stripe, chunk| {
                show(stripe, &chunk, program, cells, scratch);
                phase.add(chunk.edges());
                Ok(())
            })
        })?;
        if let Round::First = round {
            let vertices = &cells[..graph.vertices() as usize];
            let parts: Vec<_> = vertices.chunks(CELLS).collect();
            workers.tasks(parts.len(), progress, &workers.states(|| Ok(()))?, |(), task| {
                let first = task * CELLS;
                (first..first + parts[task].len())
                    .for_each(|vertex| program.settle(cells, vertex as u32));
                Ok(())
            })?;
        }
    }
    let mut values = Buffer::used(graph.vertices() as usize, &graph.arena)?;
    graph.arena.drop_columns();
    fill(&mut values, workers, progress, |vertex| program.value(cells, vertex))?;
    Ok(Values::resident(values))
}

/// Which chunks of a stripe are shown together.
#[derive(Clone, Copy)]
enum Round {
    First,
    Rest,
}

impl Round {
    /// Numbers of the chunks of a stripe that are shown in this round. The rest begins as far down
    /// the list as the stripe is down the list of stripes.
    fn chunks(self, graph: &Graph, stripe: usize) -> impl Iterator<Item = usize> {
        let chunks = graph.stripes[stripe].chunks.len();
        let edges = graph.edges().max(1) as f64;
        let share = FIRST_EDGES * graph.vertices() as f64 / edges;
        let first = ((chunks as f64 * share).ceil() as usize).min(chunks);
        let (begin, count, turn) = match self {
            Self::First => (0, first, 0),
            Self::Rest => {
                let rest = chunks - first;
                (first, rest, rest * stripe / graph.stripes.len())
            }
        };
        (0..count).map(move |step| begin + (turn + step) % count)
    }
}

/// Sets every element of a column.
fn fill<T: Send>(
    column: &mut [T],
    workers: &Workers,
    progress: &Progress,
    value: impl Fn(u32) -> T + Sync,
) -> Result<(), EngineError> {
    let parts: Vec<Mutex<&mut [T]>> = column.chunks_mut(CELLS).map(Mutex::new).collect();
    workers.tasks(parts.len(), progress, &workers.states(|| Ok(()))?, |(), task| {
        for (place, element) in lock(&parts[task]).iter_mut().enumerate() {
            *element = value((task * CELLS + place) as u32);
        }
        Ok(())
    })
}

/// Shows what may be news in a chunk of a stripe.
fn show<S: Stream>(
    stripe: &Stripe,
    chunk: &Chunk<'_>,
    program: &S,
    cells: &[S::Cell],
    scratch: &mut Scratch,
) {
    let label = chunk.label();
    let weights = if S::WEIGHTED { label.weights } else { WeightKind::None };
    let coding = Coding { encoding: label.encoding, weights, target_bits: label.target_bits };
    let target_base = stripe.vertices.start as u32;
    for tile in chunk.tiles() {
        let source_base = tile.source as u32;
        let sources = &cells[source_base as usize..];
        let targets = &cells[target_base as usize..];
        let sides = Sides { sources, targets, unequal: S::UNEQUAL };
        sift_tile(
            &tile,
            coding,
            &sides,
            scratch,
            #[inline(always)]
            |source, target| program.news(source, target),
            #[inline(always)]
            |source, target, weight| {
                program.edge(cells, source_base + source, target_base + target, weight);
            },
        );
    }
}
