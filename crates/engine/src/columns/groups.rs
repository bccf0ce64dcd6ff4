//! All updates of a vertex side by side, for group programs.
//!
//! A worker puts the updates for a stripe into one buffer, in which every destination has a run as
//! long as its degree; then runs are sorted, and met. A stripe whose runs do not fit is taken in
//! pieces, and its edges are looked at once for each. Stripes are so narrow, where the plan may
//! choose, that a buffer stays in the second-level cache.
//!
//! Invariant: no run is longer than the degree of its vertex, because the graph is its own reverse
//! and a source says one thing an edge.

use std::ops::Range;

use bytemuck::Pod;
use welter_model::program::Program;
use welter_model::tally::Tally;
use welter_store::chunk::Tile;

use crate::EngineError;
use crate::edges::graph::Graph;
use crate::edges::rows::View;
use crate::kernels::kernel::{Coding, Scratch, Sources, fetch};
use crate::machine::arena::Buffer;
use crate::machine::dispatch::dispatched;

/// Edges between asking memory for a signal and looking at it.
pub(crate) const AHEAD: usize = 24;

/// Updates of the destinations of one worker's stripe, or of a piece of it.
pub(crate) struct Groups<U> {
    updates: Buffer<U>,
    /// Where the next update of each destination of the piece goes.
    cursors: Buffer<u32>,
    piece: Range<usize>,
    tally: Tally,
}

impl<U: Pod + Send> Groups<U> {
    /// Room for the groups of a program; for nothing where it is none that groups.
    ///
    /// # Errors
    /// When the graph was not read as undirected, or the updates of its highest degree do not fit
    /// the plan.
    pub(crate) fn new<P: Program<Update = U>>(graph: &Graph) -> Result<Self, EngineError> {
        let room = if P::GROUPS { room(graph)? } else { 0 };
        let width = if P::GROUPS { 1 << graph.layout.stripe_bits } else { 0 };
        Self::holding(room, width)
    }

    /// Room for so many updates of so many destinations.
    pub(crate) fn holding(updates: usize, width: usize) -> Result<Self, EngineError> {
        let (updates, cursors) = (Buffer::zeroed(updates)?, Buffer::zeroed(width)?);
        Ok(Self { updates, cursors, piece: 0..0, tally: Tally::default() })
    }

    /// Cuts a stripe into pieces whose updates fit. `degrees`: of its destinations.
    pub(crate) fn pieces(&self, degrees: &[u32]) -> Vec<Range<usize>> {
        let mut pieces = Vec::new();
        let (mut start, mut held) = (0, 0);
        for (target, &degree) in degrees.iter().enumerate() {
            if held + degree as usize > self.updates.len() {
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

    /// Puts the updates of a tile that are meant for the piece where they belong.
    pub(crate) fn put_tile<P: Program<Update = U>>(
        &mut self,
        program: &P,
        tile: &Tile<'_>,
        coding: Coding,
        sources: Sources<'_, P::Signal>,
        scratch: &mut Scratch,
    ) {
        let mask = (1_u32 << coding.target_bits) - 1;
        coding.keys(tile, 0..tile.edges, scratch, |keys, weights| {
            for (edge, &key) in keys.iter().enumerate() {
                // Few edges of a narrow stripe have the same source, or sources near each other.
                let ahead = keys.get(edge + AHEAD).unwrap_or(&key);
                fetch(sources.signals, (ahead >> coding.target_bits) as usize);
                let signal = sources.signals[(key >> coding.target_bits) as usize];
                let weight = weights.map_or(1.0, |weights| weights[edge]);
                if let Some(update) = program.scatter(signal, weight) {
                    self.put((key & mask) as usize, update);
                }
            }
        });
    }

    /// Puts an update where it belongs, if its target is in the piece.
    #[inline(always)]
    pub(crate) fn put(&mut self, target: usize, update: U) {
        let place = target.wrapping_sub(self.piece.start);
        if place >= self.piece.len() {
            return;
        }
        let cursor = &mut self.cursors[place];
        // One too many is noticed when they are met.
        if let Some(free) = self.updates.get_mut(*cursor as usize) {
            *free = update;
        }
        *cursor += 1;
    }

    /// Lets the accumulators of a stripe meet the updates of the piece. `values`: of the stripe.
    ///
    /// # Errors
    /// When a vertex got more updates than it has edges.
    pub(crate) fn meet<P: Program<Update = U>>(
        &mut self,
        program: &P,
        degrees: &[u32],
        values: &[P::Value],
        accums: &mut [P::Accum],
    ) -> Result<(), EngineError> {
        let own = accums[self.piece.clone()].iter_mut().zip(&values[self.piece.clone()]);
        let own = own.zip(&degrees[self.piece.clone()]).zip(&*self.cursors);
        let (updates, tally) = (&mut self.updates[..], &mut self.tally);
        dispatched(
            #[inline(always)]
            || {
                let mut start = 0;
                for (((accum, value), &degree), &cursor) in own {
                    let (end, met) = (start + degree as usize, cursor as usize);
                    if met > end {
                        let what = "a vertex of so many edges gets no more updates";
                        return Err(EngineError::Invariant(what));
                    }
                    *accum = program.group(value, &mut updates[start..met], tally);
                    start = end;
                }
                Ok(())
            },
        )
    }
}

impl<U: Pod + Send> Groups<U> {
    /// Accumulator of a vertex of this value that meets all that its neighbours say. `rows`, and
    /// its number.
    #[inline(always)]
    pub(crate) fn meet_row<P: Program<Update = U>>(
        &mut self,
        program: &P,
        value: &P::Value,
        (rows, vertex): (View<'_>, u64),
        signals: &[P::Signal],
    ) -> P::Accum {
        let mut met = 0;
        for (end, ahead) in rows.ends_ahead(vertex as u32, AHEAD) {
            fetch(signals, ahead as usize);
            // Rows are no longer than degrees, and there is room for the highest.
            if let Some(update) = program.scatter(signals[end as usize], 1.0)
                && let Some(place) = self.updates.get_mut(met)
            {
                *place = update;
                met += 1;
            }
        }
        program.group(value, &mut self.updates[..met], &mut self.tally)
    }
}

/// Updates that are in memory at a time.
fn room(graph: &Graph) -> Result<usize, EngineError> {
    if !graph.symmetric {
        let what = "the program groups what comes from all neighbours, and the graph was not read \
                    as undirected";
        return Err(EngineError::Configuration(what.to_owned()));
    }
    let plan = &graph.plan;
    let (room, most) = (plan.premises.group_room(), u64::from(graph.degree_max));
    if most <= room {
        return Ok(room as usize);
    }
    let need = plan.premises.group_budget(most);
    let advice =
        format!("what {most} neighbours say to one vertex must be in memory at the same time");
    Err(EngineError::Budget { need, budget: plan.premises.budget_bytes, advice })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(room: usize, width: usize) -> Groups<u32> {
        Groups::holding(room, width).unwrap()
    }

    #[test]
    fn pieces_are_as_long_as_there_is_room() {
        let cut = |room, degrees: &[u32]| {
            let pieces = groups(room, 8).pieces(degrees);
            pieces.into_iter().map(|piece| [piece.start, piece.end]).collect::<Vec<_>>()
        };
        assert_eq!(cut(10, &[3, 4, 3]), [[0, 3]]);
        assert_eq!(cut(9, &[3, 4, 3]), [[0, 2], [2, 3]]);
        assert_eq!(cut(4, &[4, 0, 4, 0, 1]), [[0, 2], [2, 4], [4, 5]]);
        assert_eq!(cut(4, &[]), [[0, 0]]);
    }
}
