//! One pass over all edges, for stream programs.

use std::sync::Mutex;

use welter_model::stream::Stream;
use welter_progress::{Progress, Unit};
use welter_store::weights::WeightKind;

use crate::EngineError;
use crate::arena::Buffer;
use crate::dispatch::dispatched;
use crate::graph::{Graph, Stripe};
use crate::kernel::{Coding, Scratch};
use crate::state::Column;
use crate::workers::{Workers, lock};

/// Shows every edge to a stream program, and returns the values of all vertices.
///
/// # Errors
/// When memory runs out, a chunk is damaged, or the run is cancelled.
pub fn pass<S: Stream>(
    graph: &Graph,
    program: &S,
    workers: &Workers,
    progress: &Progress,
) -> Result<Buffer<S::Value>, EngineError> {
    let phase = progress.phase("pass", Unit::Edges, Some(graph.edges()));
    // A damaged key names some place of the state and none outside it.
    let places =
        graph.vertices() + (graph.signal_padding() as u64).max(1 << graph.plan.stripe_bits);
    let state = program.begin(places);
    let mut order: Vec<&Stripe> = graph.stripes.iter().collect();
    order.sort_by_key(|stripe| std::cmp::Reverse(stripe.edges));
    let scratches = workers.states(|| Ok(Scratch::new()))?;
    workers.tasks(order.len(), progress, &scratches, |scratch, task| {
        show_stripe(graph, program, order[task], &state, scratch)?;
        phase.add(order[task].edges);
        Ok(())
    })?;

    let mut values = Buffer::zeroed(graph.vertices() as usize)?;
    let mut column = Column(&mut values[..]);
    let parts = graph.stripes.iter().map(|stripe| Mutex::new(column.take(stripe.width())));
    let parts: Vec<Mutex<&mut [S::Value]>> = parts.collect();
    workers.tasks(parts.len(), progress, &workers.states(|| Ok(()))?, |(), task| {
        let base = graph.stripes[task].vertices.start as u32;
        for (place, value) in lock(&parts[task]).iter_mut().enumerate() {
            *value = program.value(&state, base + place as u32);
        }
        Ok(())
    })?;
    drop(parts);
    Ok(values)
}

fn show_stripe<S: Stream>(
    graph: &Graph,
    program: &S,
    stripe: &Stripe,
    state: &S::State,
    scratch: &mut Scratch,
) -> Result<(), EngineError> {
    let target_base = stripe.vertices.start as u32;
    for place in &stripe.chunks {
        let chunk = graph.open(stripe, place)?;
        let label = chunk.label();
        let weights = if S::WEIGHTED { label.weights } else { WeightKind::None };
        let target_bits = label.target_bits;
        let coding = Coding { encoding: label.encoding, weights, target_bits };
        let mask = (1_u32 << target_bits) - 1;
        for tile in chunk.tiles() {
            let source_base = tile.source as u32;
            coding.keys(&tile, 0..tile.edges, scratch, |keys, weights| {
                dispatched(
                    #[inline(always)]
                    || {
                        for (edge, &key) in keys.iter().enumerate() {
                            let source = source_base + (key >> target_bits);
                            let target = target_base + (key & mask);
                            let weight = weights.map_or(1.0, |weights| weights[edge]);
                            program.edge(state, source, target, weight);
                        }
                    },
                );
            });
        }
    }
    Ok(())
}
