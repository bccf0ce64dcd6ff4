//! Chunks that stay in memory move together once edges are sorted.
//!
//! By then slabs of bins have fallen free between slabs that hold chunks, in any order. What is
//! given back to the system beside one that is in use takes its huge page apart, and half of the
//! edges that stay of R-MAT 24 with 1 GiB lay on small pages so. Ten iterations took 2.3 to 3.1 s
//! with packed edges and 2.05 to 2.35 with compressed ones, and since they move 2.2 to 2.6 and 2.1
//! to 2.3 (`f32`, 2 threads, twelve runs in turns).

use std::collections::BTreeMap;
use std::sync::Arc;

use welter_progress::Progress;

use crate::EngineError;
use crate::edges::graph::Stripe;
use crate::edges::slab_location::ChunkPlace;
use crate::edges::slab_location::SlabLocation;
use crate::machine::arena::Arena;
use crate::machine::workers::Workers;

/// Where in memory the slab of a chunk begins.
fn address(place: &ChunkPlace) -> Option<usize> {
    place.extent.bytes().map(|bytes| bytes.as_ptr().addr())
}

/// Moves slabs of chunks so that free ones, as far as can be, fill huge pages.
///
/// # Errors
/// When the run is cancelled.
pub(crate) fn compact(
    stripes: &mut [Stripe],
    arena: &Arena,
    workers: &Workers,
    progress: &Progress,
) -> Result<(), EngineError> {
    let places = stripes.iter().flat_map(|stripe| &stripe.chunks);
    let mut extents: BTreeMap<usize, Arc<SlabLocation>> = places
        .filter_map(|place| address(place).map(|from| (from, Arc::clone(&place.extent))))
        .collect();
    let movable: Vec<usize> = extents.keys().copied().collect();
    let mut moves = arena.together(&movable);
    let mut idle = workers.per_worker(|| Ok(()))?;
    workers.for_each(&mut moves, progress, &mut idle, |(), (from, to)| {
        if let Some(bytes) = extents.get(from).and_then(|extent| extent.bytes()) {
            to.bytes_mut().copy_from_slice(bytes);
        }
        Ok(())
    })?;
    extents.clear();
    extents.extend(moves.into_iter().map(|(from, to)| (from, Arc::new(SlabLocation::Memory(to)))));
    for place in stripes.iter_mut().flat_map(|stripe| &mut stripe.chunks) {
        if let Some(extent) = address(place).and_then(|from| extents.get(&from)) {
            place.extent = Arc::clone(extent);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use welter_store::header::CellId;

    use super::*;
    use crate::edges::sound::Sound;
    use crate::machine::arena::{SLAB_BYTES, Slab};

    #[test]
    fn chunks_hold_what_they_held_after_they_moved() {
        let workers = Workers::new(2).unwrap();
        let arena = workers.arena();
        let mut slabs: Vec<Option<Slab>> = (0..16).map(|_| arena.take().ok()).collect();
        let mut stripes = Vec::new();
        // Of four huge pages a slab each, with two chunks, one in each of two stripes.
        let extents: Vec<_> = (0_u8..4)
            .map(|page| {
                let mut slab = slabs[4 * usize::from(page) + 1].take().unwrap();
                slab.bytes_mut().fill(page + 1);
                Arc::new(SlabLocation::Memory(slab))
            })
            .collect();
        drop(slabs);
        for half in 0..2 {
            let range = half * SLAB_BYTES / 2..(half + 1) * SLAB_BYTES / 2;
            let chunk = |(number, extent): (usize, &Arc<SlabLocation>)| ChunkPlace {
                cell: CellId { stripe: half as u32, source_partition: 0 },
                number: number as u32,
                edges: 1,
                tiles: 1,
                sources: 0..1,
                extent: Arc::clone(extent),
                range: range.clone(),
                sound: Sound::new(true),
            };
            let chunks = extents.iter().enumerate().map(chunk).collect();
            stripes.push(Stripe { vertices: 0..1, segments: 0..1, edges: 4, chunks });
        }
        drop(extents);
        let before: Vec<_> = stripes[0].chunks.iter().map(address).collect();
        compact(&mut stripes, arena, &workers, &Progress::new()).unwrap();
        for stripe in &stripes {
            for (number, place) in stripe.chunks.iter().enumerate() {
                let bytes = &place.extent.bytes().unwrap()[place.range.clone()];
                assert!(bytes.iter().all(|&byte| usize::from(byte) == number + 1));
            }
        }
        let places = |stripe: &Stripe| stripe.chunks.iter().map(address).collect::<Vec<_>>();
        let after = places(&stripes[0]);
        assert_eq!(after, places(&stripes[1]), "both chunks of a slab moved with it");
        assert_eq!(after.iter().zip(&before).filter(|(after, before)| after == before).count(), 1);
        assert_eq!(arena.used_bytes(), 4 * SLAB_BYTES as u64);
        let pages = after.iter().flatten().map(|address| address / (2 << 20));
        assert_eq!(pages.collect::<std::collections::BTreeSet<_>>().len(), 1);
    }
}
