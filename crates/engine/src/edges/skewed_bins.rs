//! Bin groups that are much fuller than others, and are not read back whole.
//!
//! Bins are dealt to bin groups by the edges of their stripe and of their group, which is wrong
//! where edges between a few vertices are many. What a plan has room for is bin groups of about
//! equal size, so of one that is larger each bin reads its own segments only, some pages of a slab
//! at a time. Segments of a full bin are next to each other mostly; of others single pages are
//! read.
//!
//! Invariant: a segment is handed out only if its checksum is that of what was written. Checked in
//! `SkewedBins::read`. Tested by `a_bit_of_them_that_is_another_one_is_found`.

use welter_store::checksum;
use welter_store::io::{ALIGN, Place};

use crate::EngineError;
use crate::edges::bin_pages::BinPage;
use crate::edges::slab_location::{Source, SpilledSlab};
use crate::machine::arena::Slab;

/// Bytes between two segments that are rather read than left out.
const GAP_BYTES: u32 = 64 << 10;

/// Slabs that were left where they are.
#[derive(Clone, Copy)]
pub(crate) struct SkewedBins<'a> {
    pub(crate) slabs: &'a [SpilledSlab],
    pub(crate) source: Option<Source<'a>>,
}

impl SkewedBins<'_> {
    /// Shows the bytes of segments, in their order. `bytes`: how many one has.
    #[inline(always)]
    pub(crate) fn each(
        &self,
        segments: &[BinPage],
        bytes: impl Fn(&BinPage) -> usize,
        mut visit: impl FnMut(&BinPage, &[u8]),
    ) -> Result<(), EngineError> {
        let mut memory = None;
        let near = |one: &BinPage, next: &BinPage| {
            one.slab == next.slab && next.offset - one.offset <= bytes(one) as u32 + GAP_BYTES
        };
        for run in segments.chunk_by(near) {
            let (first, last) = (run[0], run[run.len() - 1]);
            let (slab, start, place) = match &self.slabs[first.slab as usize] {
                SpilledSlab::Memory(slab) => (slab, 0, None),
                SpilledSlab::Stored(place, _) => {
                    let start = first.offset as usize / ALIGN * ALIGN;
                    let end = last.offset as usize + bytes(&last);
                    let offset = place.offset + start as u64;
                    let place = Place { offset, bytes: (end - start) as u32, ..*place };
                    (self.read(place, &mut memory)?, start, Some(place))
                }
            };
            for segment in run {
                let begin = segment.offset as usize - start;
                let found = &slab.bytes()[begin..begin + bytes(segment)];
                if let (Some(place), Some(source)) = (place, self.source)
                    && checksum::of(found) != segment.checksum
                {
                    let what = "binned edges are not what was written";
                    return Err(source.volume.damaged(place, what).into());
                }
                visit(segment, found);
            }
        }
        Ok(())
    }

    /// Reads a part of a slab.
    fn read<'m>(
        &self,
        place: Place,
        memory: &'m mut Option<Slab>,
    ) -> Result<&'m Slab, EngineError> {
        let Some(source) = self.source else {
            let what = "binned edges are on storage at no known place";
            return Err(EngineError::internal(what));
        };
        let mut slab = match memory.take() {
            Some(slab) => slab,
            None => source.arena.take()?,
        };
        source.volume.read_at_once(place, &mut slab)?;
        Ok(memory.insert(slab))
    }
}
