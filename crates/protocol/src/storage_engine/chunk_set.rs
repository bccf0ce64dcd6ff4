//! The chunks of a cell (or partition) that lie at one storage engine, and the cursor over them.
//!
//! For a step and a cell, with `all` its chunks that lie here:
//!
//! ```text
//! all = handed out  +  left          handed out: disjoint from left, each to one engine
//! "none" is said    <=>  no chunk in left has an active source
//! ```
//!
//! **Invariant:** each chunk is handed out at most once in an (epoch, step), to whoever asks first,
//! master or stealer. A cursor is reset by the first *pull* of a step, not when the engine hears of
//! the step: else a pull that overtakes the beginning would be told "none" too early.

use crate::audit::{Served, Sum};
use crate::names::{Block, Step};

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

    /// Any chunk that is left and has an active source.
    pub(super) fn take(&mut self, active: u64, forgets: bool, first_only: bool) -> Option<Block> {
        let is_wanted = |&place: &usize| {
            let sources = self.blocks[place].sources;
            let sources = if first_only { sources & sources.wrapping_neg() } else { sources };
            sources & active != 0
        };
        let place = self.left.iter().rposition(is_wanted)?;
        let block = self.blocks[self.left[place]];
        if !forgets {
            self.left.swap_remove(place);
            self.left_bytes = self.left_bytes.saturating_sub(block.bytes.into());
        }
        self.handed.add(&block);
        Some(block)
    }

    /// What was served in a step in which these ranges of sources were active. Nobody need have
    /// asked: then nothing was handed out, and all must be inactive.
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
