//! Sets of a sub-range: where the updates of an iteration are gathered, by its program.
//!
//! ```text
//! merged on their way   two sets of accumulators, which swap roles
//! accumulators that     one set, which begins from the values that the iteration before has made:
//! know their vertex     they are there before any update of the next one is sent
//! groups (CD)           updates, appended as they come; at the end of the iteration they are put
//!                       in runs by their destination, and each run meets its vertex
//! ```
//!
//! Updates that are grouped are all in memory at once, twice while they are put in runs. A sub-
//! range has room for as many as its part of the budget has, and a run that needs more ends with
//! the budget as its reason.
//!
//! **Invariant:** updates of a sub-range never take more than its room. Checked in
//! `IncomingUpdates::append`. Tested by `updates_beyond_the_room_are_refused`.

use bytemuck::cast_slice;
use welter_engine::chunks::{Column, FoldKernel, Kernel, UpdateKey, group};
use welter_protocol::failure::Exit;

use super::error::Stop;
use super::folding::Gather;

/// Bytes of the destination of an update.
const TARGET_BYTES: usize = size_of::<u32>();

/// Updates that have come for a sub-range.
pub(super) enum IncomingUpdates {
    /// Accumulators of all its vertices.
    Accumulators(Column),
    /// Updates, and bytes that they may take.
    Updates { targets: Column, updates: Column, room_bytes: u64 },
}

/// Bytes that an update takes until its group has met its vertex.
pub(super) const fn grouped_bytes(update_bytes: usize) -> u64 {
    (TARGET_BYTES + 2 * update_bytes) as u64
}

impl IncomingUpdates {
    /// The empty sets of a sub-range whose vertices have these values.
    pub(super) fn sets(kernel: &FoldKernel, values: &[u8], room_bytes: u64) -> Vec<Self> {
        let shape = kernel.shape();
        if !shape.capabilities.combines && !shape.capabilities.knows_target {
            let (targets, updates) = Default::default();
            return vec![Self::Updates { targets, updates, room_bytes }];
        }
        let count = values.len() / shape.value;
        let sets = if shape.capabilities.combines { 2 } else { 1 };
        let set = || {
            let mut set = Self::Accumulators(Column::zeroed(count * shape.accum));
            set.clear(kernel, values);
            set
        };
        (0..sets).map(|_| set()).collect()
    }

    /// Empties it, for an iteration after the one that made these values.
    pub(super) fn clear(&mut self, kernel: &FoldKernel, values: &[u8]) {
        match self {
            Self::Accumulators(accums) if kernel.shape().capabilities.knows_target => {
                kernel.begin(values, accums);
            }
            Self::Accumulators(accums) => Kernel::Fold(kernel.clone()).clear(accums),
            Self::Updates { targets, updates, .. } => {
                targets.clear();
                updates.clear();
            }
        }
    }

    /// Gathers messages.
    pub(super) fn gather(
        &mut self,
        kernel: &FoldKernel,
        (targets, records): (&[u32], &[u8]),
    ) -> Result<(), Stop> {
        let are_inside = match self {
            Self::Accumulators(accums) if kernel.shape().capabilities.knows_target => {
                kernel.gather((targets, records), accums)
            }
            Self::Accumulators(accums) => kernel.merge((targets, records), accums),
            // Destinations are looked at when they are grouped.
            Self::Updates { .. } => return self.append(kernel, (targets, records)),
        };
        if are_inside { Ok(()) } else { Err(outside()) }
    }

    fn append(&mut self, kernel: &FoldKernel, (to, records): (&[u32], &[u8])) -> Result<(), Stop> {
        let Self::Updates { targets, updates, room_bytes } = self else { return Ok(()) };
        let count = (targets.len() / TARGET_BYTES + to.len()) as u64;
        let bytes = count.saturating_mul(grouped_bytes(kernel.shape().update));
        if bytes > *room_bytes {
            let what = format!(
                "updates are grouped where they arrive, and more came for a sub-range than its \
                 {room_bytes} bytes of memory hold: give machines more --memory, take more of \
                 them, or --route spill"
            );
            return Err(Stop::Failed { why: Exit::Budget, what });
        }
        targets.extend(cast_slice(to));
        updates.extend(records);
        Ok(())
    }

    /// The accumulators of all vertices, which have these values; `grouped` is room for those that
    /// come of groups.
    pub(super) fn accumulators<'g>(
        &'g self,
        kernel: &FoldKernel,
        (iteration, sub_range): (u64, u32),
        values: &[u8],
        grouped: &'g mut Column,
    ) -> Result<&'g [u8], Stop> {
        let (targets, updates) = match self {
            Self::Accumulators(accums) => return Ok(accums),
            Self::Updates { targets, updates, .. } => (targets, updates),
        };
        let shape = kernel.shape();
        grouped.resize(values.len() / shape.value * shape.accum);
        Kernel::Fold(kernel.clone()).clear(grouped);
        let at = UpdateKey::new(iteration, sub_range, sub_range);
        group(kernel, (at, cast_slice(targets), updates), values, grouped)?;
        Ok(grouped)
    }
}

/// A set of a fold program, which goes from thread to thread.
pub(super) struct FoldSet {
    pub(super) kernel: FoldKernel,
    pub(super) updates: IncomingUpdates,
}

impl Gather for FoldSet {
    fn record_bytes(&self) -> Option<usize> {
        Some(self.kernel.shape().record())
    }

    fn gather(&mut self, messages: (&[u32], &[u8])) -> Result<(), Stop> {
        self.updates.gather(&self.kernel, messages)
    }
}

fn outside() -> Stop {
    Stop::broken("an update for a vertex of another sub-range")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use welter_algorithms::Cdlp;
    use welter_model::group::Grouped;

    use super::*;

    #[test]
    fn updates_beyond_the_room_are_refused() {
        let kernel = FoldKernel::of(Arc::new(Grouped(Cdlp::new(3))));
        let (width, vertices) = (kernel.shape().update, 4);
        let values = Column::zeroed(vertices * kernel.shape().value);
        let room_bytes = 10 * grouped_bytes(width);
        let mut sets = IncomingUpdates::sets(&kernel, &values, room_bytes);
        let set = &mut sets[0];
        let records = vec![0; 5 * width];
        for _ in 0..2 {
            set.gather(&kernel, (&[0, 1, 2, 3, 0], &records)).unwrap();
        }
        let over = set.gather(&kernel, (&[1], &records[..width]));
        assert!(matches!(over, Err(Stop::Failed { why: Exit::Budget, .. })));
        let mut grouped = Column::default();
        let accums = set.accumulators(&kernel, (1, 0), &values, &mut grouped).unwrap();
        assert_eq!(accums.len(), vertices * kernel.shape().accum);
        set.clear(&kernel, &values);
        set.gather(&kernel, (&[4], &records[..width])).unwrap();
        assert!(set.accumulators(&kernel, (1, 0), &values, &mut grouped).is_err(), "no vertex 4");
    }
}
