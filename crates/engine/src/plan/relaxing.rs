//! The room that it takes to relax a graph on storage part by part (`fixpoint`), which is the way
//! out of searches of very many levels.
//!
//! It is foreseen and no bound: a stripe may turn out wider, or have fewer edges in its chunks. A
//! run cuts its parts by what they are, and continues level by level where they do not fit.

use super::out_of_core::{OutOfCore, StateAccess};
use super::premises::Premises;
use super::shape::Shape;
use crate::footprints::columns::{COLUMNS, accumulators};
use crate::footprints::edges::CHUNK_BYTES_MAX;
use crate::footprints::schedules;
use crate::kernels::vertices::SEGMENT_BITS;

/// Edges in `EDGES_BYTES` bytes of a chunk, at most: a compressed key takes a byte and two bits.
const EDGES: u64 = 4;
const EDGES_BYTES: u64 = 5;

/// Access to a state, and what of `spare` bytes that could hold chunks is left beside room to relax
/// the graph, where there is that: a way out of a search of many levels is worth more than a few
/// chunks in memory.
pub(super) fn set_aside(
    premises: &Premises,
    (values_stored, streamed): (bool, Option<OutOfCore>),
    spare: u64,
) -> (StateAccess, u64) {
    if let Some(way) = streamed {
        return (StateAccess::OutOfCore(way), spare);
    }
    let bytes = bytes(premises, values_stored);
    let relaxes = premises.program.relaxes() && bytes <= spare;
    let left = if relaxes { spare - bytes } else { spare };
    (StateAccess::Dense { values_stored, relaxes }, left)
}

/// Bytes that relaxing takes beyond what iterations level by level hold, which it gives up:
/// signals, a column of flags, accumulators, and buffers of values that are on storage.
fn bytes(premises: &Premises, values_stored: bool) -> u64 {
    let (program, stripe_bits) = (premises.program, premises.edges.stripe_bits);
    let Shape { slots, edges, weighted, estimated, .. } = premises.shape;
    // Until vertices are counted, a sample of the edges may not have seen the largest id.
    let guessed = estimated && premises.vertices == slots;
    let vertices = premises.vertices + u64::from(guessed) * (slots / 16 + (1 << SEGMENT_BITS));
    let even = vertices / premises.stripes_least() as u64 * 5 / 4 + (1 << SEGMENT_BITS);
    let width = even.min(1 << stripe_bits).min(vertices);
    // A part is a chunk at least, which few stripes are alone.
    let chunk_edges = (CHUNK_BYTES_MAX as u64 / EDGES_BYTES * EDGES).min(edges);
    let words = schedules::adjacency_words(width / 2, chunk_edges, weighted);
    let account = premises.account();
    let [columns, values] = if values_stored {
        [COLUMNS as u64 * program.value * width, vertices * program.value]
    } else {
        [0, 0]
    };
    let taken = account.each_worker(schedules::part(words, width, program.value)).shared(values);
    let padded = premises.vertices + premises.edges.key_sources();
    let given = account
        .shared(2 * padded * program.signal())
        .shared(padded * program.active())
        .each_worker(accumulators(program.accum(), stripe_bits))
        .each_worker(columns);
    taken.bytes().saturating_sub(given.bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::figures::Machine;
    use crate::plan::{FoldLayout, FrontierKind, Layout, Plan, ProgramKind, Settings, StorageMode};

    /// The plan of a search of 2.25 million vertices out of core.
    fn plan(memory_bytes: u64, relaxes: bool) -> Option<Plan> {
        let frontier = FrontierKind::Monotone { pulls: false, relaxes };
        let fold = FoldLayout { signal: 1, accum: 1, frontier, ..FoldLayout::default() };
        let layout = Layout { value: 4, kind: ProgramKind::Fold(fold), ..Layout::kept() };
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
            let [storage, without] = [&made, &other].map(|plan| *plan.storage().unwrap());
            assert!(!without.state.relaxes() && made.ends_searches() == storage.state.relaxes());
            if storage.state.relaxes() {
                let bytes = bytes(&made.premises, storage.state.values_stored());
                assert_eq!(without.cache_bytes - storage.cache_bytes, bytes, "{budget}");
            } else {
                assert_eq!(storage.cache_bytes, without.cache_bytes);
                assert!(!had_room, "{budget} bytes have no room, and less had");
            }
            had_room = storage.state.relaxes();
        }
        assert!(had_room);
    }

    #[test]
    fn a_graph_instead_of_passes_has_room_to_relax() {
        let mut found = 0;
        let searches =
            |made: &Plan| made.premises.program.input_scan.is_some_and(|takes| !takes.always);
        for budget in (16_u64..400).map(|quarter_mib| quarter_mib << 18) {
            let Some(mut made) = plan(budget, true) else { continue };
            made.premises.program.input_scan =
                Some(crate::plan::InputScanCost { always: false, slot: 10, update: 0 });
            made.premises.settings.storage = StorageMode::Auto;
            assert!(searches(&made));
            let taken = {
                let Premises { shape, program, settings, .. } = made.premises;
                Plan::new(shape, program, &settings, &Machine::detect())
            };
            let Some(instead) = taken.as_ref().ok().and_then(|plan| plan.instead()) else {
                continue;
            };
            assert!(instead.ends_searches(), "{budget} bytes");
            found += 1;
        }
        assert!(found > 0);
    }
}
