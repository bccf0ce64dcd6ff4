//! What cells say of the ends of edges, as bits: those of 16 million slots are 2 MiB, which a core
//! keeps in its second-level cache, where their cells would be 16 MiB or more.
//!
//! Invariant: bits are those of cells before a step. Cells may say no since; they are asked again.

use std::sync::Mutex;

use welter_model::stream::BySlot;
use welter_progress::Progress;

use crate::EngineError;
use crate::arena::Buffer;
use crate::pass::CELLS;
use crate::workers::{Workers, lock};

/// A bit for each slot: as a source, and as a target.
pub(super) struct Bits([Buffer<u64>; 2]);

impl Bits {
    /// No bits of so many slots.
    pub(super) fn new(slots: usize) -> Result<Self, EngineError> {
        let words = slots.div_ceil(64);
        Ok(Self([Buffer::zeroed(words)?, Buffer::zeroed(words)?]))
    }

    /// Asks all cells.
    pub(super) fn ask<S: BySlot>(
        &mut self,
        program: &S,
        step: S::Step,
        cells: &[S::Cell],
        (workers, progress): (&Workers, &Progress),
    ) -> Result<(), EngineError> {
        let [sources, targets] = &mut self.0;
        let words = sources.chunks_mut(CELLS / 64).zip(targets.chunks_mut(CELLS / 64));
        let parts: Vec<_> = words.zip(cells.chunks(CELLS)).map(Mutex::new).collect();
        workers.tasks(parts.len(), progress, &workers.states(|| Ok(()))?, |(), task| {
            let ((sources, targets), cells) = &mut *lock(&parts[task]);
            for ((source, target), cells) in
                sources.iter_mut().zip(targets.iter_mut()).zip(cells.chunks(64))
            {
                (*source, *target) = (0, 0);
                for (place, cell) in cells.iter().enumerate() {
                    let [one, other] = program.bits(step, cell).map(u64::from);
                    *source |= one << place;
                    *target |= other << place;
                }
            }
            Ok(())
        })
    }

    /// Whether a slot has a bit as this end of an edge.
    #[inline(always)]
    pub(super) fn has(&self, end: End, slot: u32) -> bool {
        let words = match end {
            End::Source => &self.0[0],
            End::Target => &self.0[1],
        };
        words[slot as usize / 64] >> (slot % 64) & 1 == 1
    }
}

/// An end of an edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum End {
    #[default]
    Source,
    Target,
}

/// Which end of edges is looked at first: the one that fewer have a bit of, going by a run of edges
/// now and then.
#[derive(Default)]
pub(super) struct Looks {
    runs: u32,
    first: End,
}

/// A run in so many is counted.
const COUNTED: u32 = 64;

impl Looks {
    /// The end for the next run.
    #[inline(always)]
    pub(super) fn first(&mut self, bits: &Bits, pairs: &[[u32; 2]]) -> End {
        if self.runs.is_multiple_of(COUNTED) {
            self.first = fewer(bits, pairs);
        }
        self.runs = self.runs.wrapping_add(1);
        self.first
    }
}

fn fewer(bits: &Bits, pairs: &[[u32; 2]]) -> End {
    let sources = pairs.iter().filter(|[source, _]| bits.has(End::Source, *source)).count();
    let targets = pairs.iter().filter(|[_, target]| bits.has(End::Target, *target)).count();
    if sources <= targets { End::Source } else { End::Target }
}
