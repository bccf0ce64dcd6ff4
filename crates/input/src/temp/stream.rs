//! The stream over edges on scratch files.
//!
//! Invariants: a thread holds one block, plus its weights as they are handed out · parts are those
//! that were written, in input order. Checked in `SpilledEdges::read_with`. Tested by
//! `dense_ids_from_every_kind_of_source` and `several_folders_take_turns`.

use std::cell::Cell;

use welter_model::edge_sample::Sample;
use welter_model::edges::{Batch, EdgeStream, Pair, StreamError};

use super::TempFiles;
use super::blob::{Blob, Block, Buffer};

/// Edges on files.
#[derive(Debug)]
pub(crate) struct SpilledEdges {
    scratch: TempFiles,
    parts: Vec<Blob>,
    /// The id whose slot is 0: it is taken off all ids, which are not smaller.
    first: u64,
    slots: u64,
    weighted: bool,
    edges: u64,
}

/// Buffer that a thread reads into.
#[derive(Default)]
struct Reused {
    buffer: Buffer,
    narrowed: Vec<Pair>,
}

thread_local! {
    static REUSED: Cell<Reused> = Cell::default();
}

impl SpilledEdges {
    /// Edges whose ids are slots once `first` is taken off.
    pub(crate) fn new(scratch: TempFiles, parts: Vec<Blob>, first: u64, slots: u64) -> Self {
        let edges = parts.iter().map(|part| part.len() as u64).sum();
        let weighted = parts.first().is_some_and(Blob::weighted);
        Self { scratch, parts, first, slots, weighted, edges }
    }

    fn blocks(
        &self,
        part: usize,
        blocks: &mut dyn Iterator<Item = usize>,
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        // Taken, not borrowed: `visit` may read another part in this thread.
        let mut reused = REUSED.take();
        let result = self.read_with(&mut reused, &self.parts[part], blocks, visit);
        REUSED.set(reused);
        result
    }

    fn read_with(
        &self,
        Reused { buffer, narrowed }: &mut Reused,
        part: &Blob,
        blocks: &mut dyn Iterator<Item = usize>,
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        for block in blocks {
            let (ids, weights) = part.read(&self.scratch, block, buffer)?;
            let pairs: &[Pair] = match ids {
                Block::Narrow(pairs) => {
                    if self.first > 0 {
                        let first = self.first as u32;
                        for pair in pairs.iter_mut() {
                            *pair = pair.map(|id| id - first);
                        }
                    }
                    pairs
                }
                Block::Wide(pairs) => {
                    narrowed.clear();
                    narrowed
                        .extend(pairs.iter().map(|pair| pair.map(|id| (id - self.first) as u32)));
                    narrowed
                }
            };
            if !visit(Batch { pairs, weights }) {
                break;
            }
        }
        Ok(())
    }
}

impl EdgeStream for SpilledEdges {
    fn parts(&self) -> usize {
        self.parts.len()
    }

    fn edges(&self) -> u64 {
        self.edges
    }

    fn weighted(&self) -> bool {
        self.weighted
    }

    fn slots(&self) -> Option<u64> {
        Some(self.slots)
    }

    fn part_edges(&self, part: usize) -> Option<u64> {
        Some(self.parts[part].len() as u64)
    }

    fn resident_bytes(&self) -> u64 {
        self.parts.iter().map(Blob::resident_bytes).sum()
    }

    fn read(
        &self,
        part: usize,
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        self.blocks(part, &mut (0..self.parts[part].blocks()), visit)
    }

    fn sample(
        &self,
        part: usize,
        (sample, round): (Sample, usize),
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        let mut blocks = sample.pieces(part, self.parts[part].blocks(), round);
        self.blocks(part, &mut blocks, visit)
    }
}
