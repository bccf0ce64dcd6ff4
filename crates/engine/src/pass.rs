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
    let buffer = Buffer::<S::Cell>::zeroed(places as usize)?;
    let cells = &buffer[..];
    let mut order: Vec<&Stripe> = graph.stripes.iter().collect();
    order.sort_by_key(|stripe| std::cmp::Reverse(stripe.edges));
    let scratches = workers.states(|| Ok(Scratch::new()))?;
    workers.tasks(order.len(), progress, &scratches, |scratch, task| {
        let weights = if S::WEIGHTED { WeightKind::F64 } else { WeightKind::None };
        show(graph, order[task], weights, scratch, move |source, target, weight| {
            program.edge(cells, source, target, weight);
        })?;
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
            *value = program.value(cells, base + place as u32);
        }
        Ok(())
    })?;
    drop(parts);
    Ok(values)
}

/// Shows the edges of a stripe. `most`: none where weights are not wanted.
#[inline(always)]
fn show(
    graph: &Graph,
    stripe: &Stripe,
    most: WeightKind,
    scratch: &mut Scratch,
    edge: impl Fn(u32, u32, f64) + Copy,
) -> Result<(), EngineError> {
    let target_base = stripe.vertices.start as u32;
    for place in &stripe.chunks {
        let chunk = graph.open(stripe, place)?;
        let label = chunk.label();
        let weights = if most == WeightKind::None { most } else { label.weights };
        let target_bits = label.target_bits;
        let coding = Coding { encoding: label.encoding, weights, target_bits };
        for tile in chunk.tiles() {
            let origin = Origin { source_base: tile.source as u32, target_base, target_bits };
            coding.keys(&tile, 0..tile.edges, scratch, |keys, weights| {
                dispatched(
                    #[inline(always)]
                    || match weights {
                        None => each(origin, keys, |_| 1.0, edge),
                        Some(weights) => each(origin, keys, |place| weights[place], edge),
                    },
                );
            });
        }
    }
    Ok(())
}

/// What the keys of a tile are relative to.
#[derive(Clone, Copy)]
struct Origin {
    source_base: u32,
    target_base: u32,
    target_bits: u32,
}

#[inline(always)]
fn each(
    origin: Origin,
    keys: &[u32],
    weight: impl Fn(usize) -> f64,
    edge: impl Fn(u32, u32, f64) + Copy,
) {
    let Origin { source_base, target_base, target_bits } = origin;
    let mask = (1_u32 << target_bits) - 1;
    for (place, &key) in keys.iter().enumerate() {
        edge(source_base + (key >> target_bits), target_base + (key & mask), weight(place));
    }
}
