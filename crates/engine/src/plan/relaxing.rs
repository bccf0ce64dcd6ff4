//! The room that it takes to relax a graph on storage part by part (`fixpoint`), which is the way
//! out of searches of very many levels.
//!
//! It is foreseen and no bound: a stripe may turn out wider, or have fewer edges in its chunks. A
//! run cuts its parts by what they are, and goes on level by level where they do not fit.

use welter_store::header::KEY_BITS;

use super::{CHUNK_BYTES_MAX, Plan, Shape, Streamed};
use crate::columns::footprint::COLUMNS;
use crate::kernels::vertices::SEGMENT_BITS;
use crate::schedules::resident;

/// Edges in so many bytes of a chunk, at most: a compressed key takes a byte and two bits.
const EDGES: u64 = 4;
const EDGES_BYTES: u64 = 5;

/// Whether there is room to relax a graph, and what of so many bytes that could hold chunks is left
/// beside that: a way out of a search of many levels is worth more than a few chunks in memory.
pub(super) fn apart(
    plan: &Plan,
    (values_stored, streamed): (bool, Option<Streamed>),
    spare: u64,
) -> (bool, u64) {
    let bytes = bytes(plan, values_stored);
    let fits = plan.layout.relaxes && streamed.is_none() && bytes <= spare;
    (fits, if fits { spare - bytes } else { spare })
}

/// Bytes that relaxing takes beyond what iterations level by level hold, which it gives up:
/// signals, a column of flags, accumulators, and buffers of values that are on storage.
fn bytes(plan: &Plan, values_stored: bool) -> u64 {
    let Plan { layout, stripe_bits, .. } = plan;
    let Shape { slots, edges, weighted, estimated, .. } = plan.shape;
    let threads = plan.threads as u64;
    // Until vertices are counted, a sample of the edges may not have seen the largest id.
    let guessed = estimated && plan.vertices == slots;
    let vertices = plan.vertices + u64::from(guessed) * (slots / 16 + (1 << SEGMENT_BITS));
    let even = vertices / plan.stripes_least() as u64 * 5 / 4 + (1 << SEGMENT_BITS);
    let width = even.min(1 << stripe_bits).min(vertices);
    // A part is a chunk at least, which few stripes are alone.
    let chunk_edges = (CHUNK_BYTES_MAX as u64 / EDGES_BYTES * EDGES).min(edges);
    let words = resident::words(width / 2, chunk_edges, weighted);
    let desk = 4 * words + width * (layout.value + LISTED_BYTES);
    let columns = if values_stored { threads * COLUMNS as u64 * layout.value * width } else { 0 };
    let values = if values_stored { vertices * layout.value } else { 0 };
    let padded = plan.vertices + (1 << (KEY_BITS - stripe_bits));
    let signals = 2 * padded * layout.signal;
    let given = signals + padded * layout.active + threads * (layout.accum << stripe_bits);
    (threads * desk + values).saturating_sub(given + columns)
}

/// Bytes of a vertex of a stripe in the two lists of those whose edges are to be relaxed.
pub(crate) const LISTED_BYTES: u64 = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::figures::Machine;
    use crate::plan::{Layout, Settings, StorageMode};

    /// The plan of a search of 2.25 million vertices out of core.
    fn plan(memory_bytes: u64, relaxes: bool) -> Option<Plan> {
        let layout = Layout {
            value: 4,
            signal: 1,
            accum: 1,
            active: 1,
            folds: true,
            relaxes,
            ..Layout::default()
        };
        let edges = 1 << 24;
        let shape =
            Shape { slots: 2_250_000, edges, weighted: false, estimated: false, input_bytes: 0 };
        let (threads, storage) =
            (Some(1), StorageMode::Always { cache_bytes: u64::MAX, values: false });
        let memory_bytes = Some(memory_bytes);
        let settings = Settings { threads, memory_bytes, storage, ..Settings::default() };
        let machine = Machine { l2_bytes: 2 << 20, ..Machine::detect() };
        Plan::new(shape, layout, &settings, &machine).ok()
    }

    #[test]
    fn room_to_relax_comes_before_chunks_in_memory_and_stays_with_more_memory() {
        let mut had_room = false;
        for budget in (24_u64..200).map(|half_mib| half_mib << 19) {
            let Some(made) = plan(budget, true) else { continue };
            let other = plan(budget, false).unwrap();
            assert!(made.memory.peak() <= budget);
            let [storage, without] = [made.storage.unwrap(), other.storage.unwrap()];
            assert!(!without.relaxes && made.ends_searches() == storage.relaxes);
            if storage.relaxes {
                let bytes = bytes(&made, storage.values_stored);
                assert_eq!(without.cache_bytes - storage.cache_bytes, bytes, "{budget}");
            } else {
                assert_eq!(storage.cache_bytes, without.cache_bytes);
                assert!(!had_room, "{budget} bytes have no room, and less had");
            }
            had_room = storage.relaxes;
        }
        assert!(had_room);
    }

    #[test]
    fn a_graph_instead_of_passes_has_room_to_relax() {
        let mut found = 0;
        let searches = |made: &Plan| made.layout.straight.is_some_and(|takes| !takes.always);
        for budget in (16_u64..400).map(|quarter_mib| quarter_mib << 18) {
            let Some(mut made) = plan(budget, true) else { continue };
            made.layout.straight =
                Some(crate::plan::Straightness { always: false, slot: 10, update: 0 });
            made.settings.storage = StorageMode::Auto;
            assert!(searches(&made));
            let taken = Plan::new(made.shape, made.layout, &made.settings, &Machine::detect());
            let Some(instead) = taken.ok().and_then(|plan| plan.instead) else { continue };
            assert!(instead.ends_searches(), "{budget} bytes");
            found += 1;
        }
        assert!(found > 0);
    }
}
