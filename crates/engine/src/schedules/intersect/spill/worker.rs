//! Tools of a worker that sweeps a range.

use std::ops::Range;

use super::buckets::{RecordAudit, RowBuckets};
use crate::EngineError;
use crate::columns::updates::{Reader, UpdateChunk, Writer};
use crate::kernels::update_chunk::UpdateKind;
use crate::schedules::intersect::counts::Counts;
use crate::schedules::intersect::marks::Marks;

/// A worker's tools.
pub(super) struct WorkerState {
    pub(super) reader: Reader,
    pub(super) marks: Marks,
    /// A row of the range as it was before it was packed.
    pub(super) row: Vec<u32>,
    /// Words of the packed row before they are put in its place.
    pub(super) packing: Vec<u32>,
    pub(super) outgoing: Outgoing,
    pub(super) gathered: RecordAudit,
}

/// Records that a worker has on its way elsewhere.
pub(super) struct Outgoing {
    pub(super) writer: Writer,
    pub(super) rows: RowBuckets<()>,
    pub(super) counts: RowBuckets<u32>,
}

impl WorkerState {
    /// Adds what waits for a bin to counts, of which some places are those of its ranks.
    pub(super) fn merge(
        &mut self,
        chunks: &[UpdateChunk],
        places: Range<usize>,
        own: &Counts,
    ) -> Result<(), EngineError> {
        let gathered = self.reader.read(chunks, |targets, increments: &[u32]| {
            targets.iter().zip(increments).all(|(target, increments)| {
                let place = places.start + *target as usize;
                let is_its = places.contains(&place);
                if is_its {
                    own.add(place, (*increments).into());
                }
                is_its
            })
        })?;
        self.gathered.gather(UpdateKind::Counts, gathered);
        Ok(())
    }
}
