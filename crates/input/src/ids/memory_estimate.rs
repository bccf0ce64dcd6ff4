//! Whether mapping ids in memory takes no more than there is, asked before it begins.
//!
//! The memory that it takes follows from the number of distinct ids. First the largest number that
//! can be is tried, two an edge; where that is too much, the ids are counted by a sketch,
//! `HyperLogLog` (Flajolet et al., 2007), whose standard error is 0.8 % here. The hash is seeded at
//! random, so no input can be made that looks smaller than it is.

use std::hash::BuildHasher;

use foldhash::quality::RandomState;
use rayon::prelude::*;

use super::bitmap::Bitmap;
use super::id_mapping::{Described, IdMapping, max};
use crate::collect::{Ids, PlacedRun};

/// Bytes of a distinct integer: in the list, and in a hash table that is at most twice as large as
/// it need be.
const INTEGER_BYTES: u64 = 8 + 40;
/// Bytes that a name needs, without its text: a reference in a table and one in a list, and its
/// end.
const NAME_BYTES: u64 = 8 + 16 + 58;

/// Whether the mapping of parts in memory takes no more than `room` bytes beside them.
pub(super) fn fits(parts: &[PlacedRun], way: &IdMapping, room: u64) -> bool {
    let edges: u64 = parts.iter().map(Described::edges).sum();
    let (stated, text, each) = match way {
        IdMapping::Kept { .. } => return true,
        IdMapping::Integers(stated) | IdMapping::NonCompact(stated, _) => {
            let max = max(parts).max(stated.last().copied().unwrap_or(0));
            let stated = stated.len() as u64;
            match Bitmap::bytes_for(max, edges + stated) {
                Some(bytes) => (stated, bytes, 8),
                None => (stated, 0, INTEGER_BYTES),
            }
        }
        IdMapping::Names(stated) => {
            let text: u64 = parts.iter().map(text_bytes).sum();
            (stated.iter().map(|names| names.len() as u64).sum(), text, NAME_BYTES)
        }
    };
    let takes = |count: u64| text.saturating_add((count + stated).saturating_mul(each)) <= room;
    takes(2 * edges) || takes(distinct(parts) / 16 * 17)
}

/// Text of the names of a part, and a number for each of them.
fn text_bytes(placed: &PlacedRun) -> u64 {
    match &placed.part.ids {
        Ids::Names { names, .. } => (names.text().len() + names.len() * 4) as u64,
        _ => 0,
    }
}

/// About how many distinct ids there are.
fn distinct(parts: &[PlacedRun]) -> u64 {
    let state = RandomState::default();
    let sketch = |mut sketch: Sketch, placed: &PlacedRun| {
        match &placed.part.ids {
            Ids::Narrow { pairs, .. } => {
                pairs.iter().flatten().for_each(|id| sketch.add(state.hash_one(u64::from(*id))));
            }
            Ids::Wide { pairs, .. } => {
                pairs.iter().flatten().for_each(|id| sketch.add(state.hash_one(*id)));
            }
            Ids::Names { names, .. } => {
                names.iter().for_each(|name| sketch.add(state.hash_one(name)));
            }
        }
        sketch
    };
    parts.par_iter().fold(Sketch::default, sketch).reduce(Sketch::default, Sketch::merge).count()
}

/// For each of many groups of hashes, the most zeros that one of them begins with, and one.
struct Sketch(Vec<u8>);

impl Default for Sketch {
    fn default() -> Self {
        Self(vec![0; 1 << Self::BITS])
    }
}

impl Sketch {
    const BITS: u32 = 14;

    #[inline]
    fn add(&mut self, hash: u64) {
        let group = &mut self.0[(hash >> (u64::BITS - Self::BITS)) as usize];
        *group = (*group).max((hash << Self::BITS).leading_zeros() as u8 + 1);
    }

    fn merge(mut self, other: Self) -> Self {
        for (mine, others) in self.0.iter_mut().zip(other.0) {
            *mine = (*mine).max(others);
        }
        self
    }

    fn count(&self) -> u64 {
        let groups = self.0.len() as f64;
        let sum: f64 = self.0.iter().map(|zeros| (-f64::from(*zeros)).exp2()).sum();
        let estimate = 0.7213 / (1.0 + 1.079 / groups) * groups * groups / sum;
        let free: u32 = self.0.iter().map(|zeros| u32::from(*zeros == 0)).sum();
        // Few hashes leave groups free, and these tell more.
        if estimate < 2.5 * groups && free > 0 {
            (groups * (groups / f64::from(free)).ln()) as u64
        } else {
            estimate as u64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_near() {
        let state = RandomState::default();
        for count in [0_u64, 1, 100, 10_000, 50_000, 3_000_000] {
            let mut sketch = Sketch::default();
            (0..count).for_each(|id| sketch.add(state.hash_one(id)));
            let other = (0..count / 2).fold(Sketch::default(), |mut sketch, id| {
                sketch.add(state.hash_one(id));
                sketch
            });
            // Five times the standard error.
            let off = sketch.merge(other).count().abs_diff(count);
            assert!(off <= count / 25 + 1, "{off} of {count}");
        }
    }
}
