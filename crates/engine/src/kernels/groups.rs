//! All updates of a vertex side by side, for group programs.
//!
//! A worker puts the updates for a stripe into one buffer, in which every destination has a run as
//! long as its degree; then runs are sorted, and met. A stripe whose runs do not fit is taken in
//! pieces, and its edges are looked at once for each. Stripes are so narrow, where the plan may
//! choose, that a buffer stays in the second-level cache.
//!
//! Invariant: no run is longer than the degree of its vertex, because the graph is its own reverse
//! and a source says one thing an edge. Checked in `Groups::gather`.

use std::ops::Range;

use bytemuck::{Pod, cast_slice_mut};
use welter_model::frequency::FrequencyTable;
use welter_model::program::Program;

use crate::EngineError;
use crate::kernels::kernel::{Sources, fetch};
use crate::kernels::keys::Keys;
use crate::machine::arena::Buffer;
use crate::machine::dispatch::dispatched;

/// Edges between asking memory for a signal and looking at it.
pub(crate) const AHEAD: usize = 24;

/// Updates of the destinations of one worker's stripe, or of a piece of it.
pub(crate) struct Groups {
    /// Room for updates, as bytes.
    updates: Buffer<u8>,
    /// Number of updates that there is room for.
    room: usize,
    /// Where the next update of each destination of the piece goes.
    cursors: Buffer<u32>,
    piece: Range<usize>,
    table: FrequencyTable,
}

/// Destinations of a piece, and where their updates go.
pub(crate) struct Piece<'g, U> {
    updates: &'g mut [U],
    cursors: &'g mut [u32],
    targets: Range<usize>,
}

impl Groups {
    /// Room for `room` updates of `width` bytes, of `destinations` destinations.
    pub(crate) fn holding(
        width: usize,
        room: usize,
        destinations: usize,
    ) -> Result<Self, EngineError> {
        let bytes = room.saturating_mul(width);
        let (updates, cursors) = (Buffer::zeroed(bytes)?, Buffer::zeroed(destinations)?);
        Ok(Self { updates, room, cursors, piece: 0..0, table: FrequencyTable::default() })
    }

    /// Cuts a stripe into pieces whose updates fit. `degrees`: of its destinations.
    pub(crate) fn pieces(&self, degrees: &[u32]) -> Vec<Range<usize>> {
        let mut pieces = Vec::new();
        let (mut start, mut held) = (0, 0);
        for (target, &degree) in degrees.iter().enumerate() {
            if held + degree as usize > self.room {
                pieces.push(start..target);
                (start, held) = (target, 0);
            }
            held += degree as usize;
        }
        pieces.push(start..degrees.len());
        pieces
    }

    /// Begins a piece: a run for each of its destinations.
    pub(crate) fn open(&mut self, degrees: &[u32], piece: &Range<usize>) {
        let mut next = 0;
        for (cursor, degree) in self.cursors.iter_mut().zip(&degrees[piece.clone()]) {
            *cursor = next;
            next += degree;
        }
        self.piece = piece.clone();
    }

    /// The piece that was begun.
    pub(crate) fn piece<U: Pod>(&mut self) -> Piece<'_, U> {
        let updates = cast_slice_mut(&mut self.updates);
        Piece { updates, cursors: &mut self.cursors, targets: self.piece.clone() }
    }

    /// Puts the updates of some edges that are meant for the piece where they belong.
    pub(crate) fn put_keys<P: Program>(
        &mut self,
        program: &P,
        keys: Keys<'_>,
        weights: Option<&[f64]>,
        sources: Sources<'_, P::Signal>,
    ) {
        let (target_bits, mask) = (keys.target_bits(), keys.mask());
        let mut piece = self.piece::<P::Update>();
        let keys = keys.keys();
        for (edge, &key) in keys.iter().enumerate() {
            // Few edges of a narrow stripe have the same source, or sources near each other.
            let ahead = keys.get(edge + AHEAD).unwrap_or(&key);
            fetch(sources.signals, (ahead >> target_bits) as usize);
            let signal = sources.signals[(key >> target_bits) as usize];
            let weight = weights.map_or(1.0, |weights| weights[edge]);
            if let Some(update) = program.scatter(signal, weight) {
                piece.put((key & mask) as usize, update);
            }
        }
    }

    /// Lets the accumulators of a stripe gather the updates of the piece. `values`: of the stripe.
    ///
    /// # Errors
    /// When a vertex got more updates than it has edges.
    pub(crate) fn gather<P: Program>(
        &mut self,
        program: &P,
        degrees: &[u32],
        values: &[P::Value],
        accums: &mut [P::Accum],
    ) -> Result<(), EngineError> {
        let own = accums[self.piece.clone()].iter_mut().zip(&values[self.piece.clone()]);
        let own = own.zip(&degrees[self.piece.clone()]).zip(&*self.cursors);
        let updates: &mut [P::Update] = cast_slice_mut(&mut self.updates);
        let table = &mut self.table;
        dispatched(
            #[inline(always)]
            || {
                let mut start = 0;
                for (((accum, value), &degree), &cursor) in own {
                    let (end, found) = (start + degree as usize, cursor as usize);
                    if found > end {
                        let what = "a vertex gets more updates than it has edges";
                        return Err(EngineError::Invariant(what));
                    }
                    *accum = program.group(value, &mut updates[start..found], table);
                    start = end;
                }
                Ok(())
            },
        )
    }

    /// The accumulator of a vertex of this value that gathers these updates. More than there is
    /// room for are left out: rows are no longer than degrees, and there is room for the highest.
    #[inline(always)]
    pub(crate) fn gather_row<P: Program>(
        &mut self,
        program: &P,
        value: &P::Value,
        row: impl Iterator<Item = P::Update>,
    ) -> P::Accum {
        let updates: &mut [P::Update] = cast_slice_mut(&mut self.updates);
        let mut found = 0;
        for (place, update) in updates.iter_mut().zip(row) {
            *place = update;
            found += 1;
        }
        program.group(value, &mut updates[..found], &mut self.table)
    }
}

impl<U: Copy> Piece<'_, U> {
    /// Puts an update where it belongs, if its target is in the piece.
    #[inline(always)]
    pub(crate) fn put(&mut self, target: usize, update: U) {
        let place = target.wrapping_sub(self.targets.start);
        if place >= self.targets.len() {
            return;
        }
        let cursor = &mut self.cursors[place];
        // One too many is noticed when they are met.
        if let Some(free) = self.updates.get_mut(*cursor as usize) {
            *free = update;
        }
        *cursor += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_as_long_as_there_is_room() {
        let cut = |room, degrees: &[u32]| {
            let pieces = Groups::holding(4, room, 8).unwrap().pieces(degrees);
            pieces.into_iter().map(|piece| [piece.start, piece.end]).collect::<Vec<_>>()
        };
        assert_eq!(cut(10, &[3, 4, 3]), [[0, 3]]);
        assert_eq!(cut(9, &[3, 4, 3]), [[0, 2], [2, 3]]);
        assert_eq!(cut(4, &[4, 0, 4, 0, 1]), [[0, 2], [2, 4], [4, 5]]);
        assert_eq!(cut(4, &[]), [[0, 0]]);
    }
}
