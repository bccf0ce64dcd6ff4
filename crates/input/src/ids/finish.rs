//! The end of a mapping, wherever the edges are: what comes of it, and why it may end before.

use std::ops::Range;

use welter_model::edges::EdgeStream;
use welter_model::ids::IdMap;
use welter_model::non_compact::NonCompact;
use welter_progress::Progress;

use crate::collect::SLOTS_MAX;
use crate::error::InputError;

/// Edges whose ends are slots, and the way back.
pub struct Finished {
    /// The edges.
    pub edges: Box<dyn EdgeStream>,
    /// Ids by slot.
    pub ids: IdMap,
    /// Bytes that were written to temporary files, which live as long as `edges`; 0 where all was
    /// in memory.
    pub scratch_bytes: u64,
}

/// Ends a run that is to end. Steps over one part are not ended in their middle.
pub(super) fn go_on(progress: &Progress) -> Result<(), InputError> {
    if progress.cancelled() { Err(InputError::Cancelled) } else { Ok(()) }
}

/// The form of a graph of which these vertices have edges, and its number of slots.
pub(super) fn non_compact(ids: Vec<u64>, all: Range<u64>) -> Result<(IdMap, u64), InputError> {
    let beyond = || InputError::Inputs { what: format!("expected ids in {all:?}") };
    if ids.len() as u64 == SLOTS_MAX {
        return Err(too_many(ids.len() + 1));
    }
    let ids = NonCompact::new(ids, all.clone()).ok_or_else(beyond)?;
    let slots = ids.slots();
    Ok((IdMap::NonCompact(ids), slots))
}

pub(super) fn too_many(count: usize) -> InputError {
    let what = format!("{count} distinct ids are more than the {SLOTS_MAX} that fit");
    InputError::Inputs { what }
}
