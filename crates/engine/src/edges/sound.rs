//! Whether the edges of a chunk of a kept graph lead to vertices.
//!
//! Checksums tell that bytes are those that were written, not that their writer made them of
//! a graph. No key leads outside the columns of a program, whose padding takes what is no vertex,
//! so an edge to none would be folded without a word. So all keys of a chunk are looked at once,
//! when it is loaded or first read: the largest source and the largest target of each tile, by a
//! loop that runs over vectors. Chunks that this process made itself are not looked at.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use welter_store::ChunkError;
use welter_store::chunk::Chunk;

use crate::kernels::kernel::{Coding, DecodeBuffers};
use crate::machine::dispatch::dispatched;

/// Whether the edges of a chunk are known to lead to vertices.
#[derive(Debug)]
pub(crate) struct Sound(AtomicBool);

impl Clone for Sound {
    fn clone(&self) -> Self {
        Self::new(self.is_known())
    }
}

impl Sound {
    pub(crate) fn new(known: bool) -> Self {
        Self(AtomicBool::new(known))
    }

    pub(crate) fn is_known(&self) -> bool {
        self.0.load(Relaxed)
    }

    pub(crate) fn know(&self) {
        self.0.store(true, Relaxed);
    }
}

/// Checks all edges of a chunk against its sources, and the width of its stripe.
pub(crate) fn check(
    chunk: &Chunk<'_>,
    sources: Range<u64>,
    width: u64,
    scratch: &mut DecodeBuffers,
) -> Result<(), ChunkError> {
    let coding = Coding::weighted(chunk.label(), false);
    let mask = (1_u32 << coding.target_bits) - 1;
    for tile in chunk.tiles().filter(|tile| tile.edges > 0) {
        let (mut last, mut target) = (0_u32, 0_u32);
        coding.keys(&tile, 0..tile.edges, scratch, |keys, _| {
            dispatched(
                #[inline(always)]
                || {
                    for &key in keys {
                        (last, target) = (last.max(key), target.max(key & mask));
                    }
                },
            );
        });
        let source = tile.source + u64::from(last >> coding.target_bits);
        let (what, value) = if tile.source < sources.start || source >= sources.end {
            ("vertex that an edge begins at", source)
        } else if u64::from(target) >= width {
            ("place in its stripe that an edge leads to", target.into())
        } else {
            continue;
        };
        return Err(ChunkError::Field { what, offset: 0, value });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use welter_store::ChunkBuilder;
    use welter_store::header::{CellId, Encoding, Label};
    use welter_store::weights::WeightKind;

    use super::*;

    /// A chunk of sources 64 to 127 and a stripe whose keys have 8 bits for targets.
    fn checked(encoding: Encoding, keys: &[u32], width: u64) -> Result<(), ChunkError> {
        let label = Label {
            graph: 1,
            generation: 0,
            cell: CellId { stripe: 0, source_partition: 0 },
            number: 0,
            source_base: 0,
            target_base: 0,
            target_bits: 8,
            encoding,
            weights: WeightKind::None,
        };
        let (mut builder, mut bytes) = (ChunkBuilder::new(false), Vec::new());
        builder.push(64, keys, &[], &label);
        builder.finish(&label, &mut bytes);
        let mut words = vec![0_u64; bytes.len() / 8];
        bytemuck::cast_slice_mut(&mut words).copy_from_slice(&bytes);
        let chunk = Chunk::open(bytemuck::cast_slice(&words)).unwrap();
        check(&chunk, 64..128, width, &mut DecodeBuffers::new())
    }

    #[test]
    fn edges_to_no_vertex_are_found_in_every_encoding() {
        for encoding in Encoding::ALL {
            let mut keys: Vec<u32> = (0..64).flat_map(|at| [at << 8, at << 8 | 0xc7]).collect();
            assert!(checked(encoding, &keys, 200).is_ok());
            let field = |keys: &[u32], width| match checked(encoding, keys, width) {
                Err(ChunkError::Field { what, value, .. }) => (what, value),
                other => panic!("{other:?}"),
            };
            assert_eq!(field(&keys, 199), ("place in its stripe that an edge leads to", 199));
            keys.push(64 << 8);
            assert_eq!(field(&keys, 200), ("vertex that an edge begins at", 128));
        }
    }
}
