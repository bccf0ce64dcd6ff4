//! The chunks of a cell (or partition) that lie at one storage engine, and the cursor over them.
//!
//! For a step and a cell, with `all` its chunks that lie here:
//!
//! ```text
//! all = handed out  +  left          handed out: disjoint from left, each to one engine
//! "none" is said    <=>  no chunk in left has an active source
//! ```
//!
//! Chunks lie in the order in which they were stored. A set that is a *file* hands out the first
//! one that is left, so what was handed out lies before what is left, but for chunks without an
//! active source; else the last one, which costs no search.
//!
//! **Invariant:** each chunk is handed out at most once in an (epoch, step), to the first that
//! asks, master or stealer. A cursor is reset by the first *pull* of a step, not when the engine
//! receives the step: else a pull that overtakes the beginning would be answered "none" too early.
//! Asserted in `ChunkSet::take`; checked by the simulator in `ExactlyOnce::work`.

use crate::audit::{Served, Sum};
use crate::config::Sets;
use crate::ids::{Block, Step};

/// The chunks of a cell that lie here, and the cursor over them.
#[derive(Default)]
pub(super) struct ChunkSet {
    pub(super) blocks: Vec<Block>,
    all: Sum,
    /// The cursor's step; everything below belongs to it.
    pub(super) step: Option<Step>,
    pub(super) left: Vec<usize>,
    /// Bytes of the chunks in `left` that have an active source.
    pub(super) left_bytes: u64,
    handed: Sum,
}

impl ChunkSet {
    /// A chunk was stored.
    pub(super) fn add(&mut self, block: Block) {
        assert!(self.step.is_none(), "nothing is added to what a step streams");
        self.all.add(&block);
        self.blocks.push(block);
    }

    /// Sets the cursor to the beginning, once a step, in which these ranges of sources are active.
    pub(super) fn reset(&mut self, step: Step, active: u64) {
        if self.step != Some(step) {
            self.step = Some(step);
            self.left = (0..self.blocks.len()).collect();
            let wanted = self.blocks.iter().filter(|block| block.sources & active != 0);
            self.left_bytes = wanted.map(|block| u64::from(block.bytes)).sum();
            self.handed = Sum::default();
        }
    }

    /// Whether a chunk is left that has an active source.
    pub(super) fn has_any(&self, active: u64) -> bool {
        let is_active = |&place: &usize| self.blocks[place].sources & active != 0;
        self.left_bytes > 0 || self.left.iter().any(is_active)
    }

    /// Whether a chunk is left in a step that has an active source, if the cursor was reset in it
    /// or not.
    pub(super) fn may_have(&self, step: Step, active: u64) -> bool {
        match self.step {
            Some(of) if of == step => self.has_any(active),
            _ => self.blocks.iter().any(|block| block.sources & active != 0),
        }
    }

    /// Any chunk that is left and has an active source.
    pub(super) fn take(
        &mut self,
        sets: Sets,
        active: u64,
        [forgets, first_only, unasserted]: [bool; 3],
    ) -> Option<Block> {
        let is_wanted = |&place: &usize| {
            let sources = self.blocks[place].sources;
            let sources = if first_only { sources & sources.wrapping_neg() } else { sources };
            sources & active != 0
        };
        let place = match sets {
            Sets::Bags => self.left.iter().rposition(is_wanted)?,
            Sets::Files => self.left.iter().position(is_wanted)?,
        };
        let block = self.blocks[self.left[place]];
        if !forgets {
            match sets {
                Sets::Bags => {
                    self.left.swap_remove(place);
                }
                Sets::Files => {
                    self.left.remove(place);
                }
            }
            self.left_bytes = self.left_bytes.saturating_sub(block.bytes.into());
        }
        self.handed.add(&block);
        let all = self.handed.count as usize + self.left.len();
        let is_once = forgets || unasserted || all == self.blocks.len();
        assert!(is_once, "a chunk is handed out once");
        Some(block)
    }

    /// Sums of what was served in a step in which these ranges of sources were active. No reader
    /// need have asked: then nothing was handed out, and all must be inactive.
    pub(super) fn served(&self, step: Step, active: u64) -> Served {
        let (handed, left) = if self.step == Some(step) {
            (self.handed, self.left.clone())
        } else {
            (Sum::default(), (0..self.blocks.len()).collect())
        };
        let left = left.into_iter().map(|place| &self.blocks[place]);
        let inactive = Sum::of(left.filter(|block| block.sources & active == 0));
        Served { handed, inactive, all: self.all }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{BlockName, Phase};
    use crate::payload::Payload;

    /// Numbers of the chunks that a set hands out, of six with sources in ranges 0, 1, 0, 1, ...
    fn handed_out(sets: Sets, active: u64) -> Vec<u64> {
        let mut set = ChunkSet::default();
        for number in 0..6 {
            let name = BlockName::of_edges(number);
            set.add(Block::of(name, 1, 1 << (number % 2), &Payload::default()));
        }
        set.reset(Step { iteration: 0, phase: Phase::Scatter }, active);
        std::iter::from_fn(|| set.take(sets, active, [false; 3]))
            .map(|block| block.name.number)
            .collect()
    }

    #[test]
    fn files_are_read_from_their_beginning_and_bags_in_any_order() {
        for (active, expected) in
            [(0b11, &[0, 1, 2, 3, 4, 5][..]), (0b01, &[0, 2, 4]), (0b10, &[1, 3, 5]), (0b100, &[])]
        {
            assert_eq!(handed_out(Sets::Files, active), expected);
            let mut any = handed_out(Sets::Bags, active);
            assert!(expected.len() < 2 || any != expected, "nothing asks for that order");
            any.sort_unstable();
            assert_eq!(any, expected, "each once");
        }
    }
}
