//! Rows of neighbours that rank higher, in blocks as large as memory has room for.
//!
//! Hubs rank high, and most of what a row has are hubs, so its upper end is dense: of R-MAT 19
//! each word of 64 ranks that a row touches holds 7 of its entries, weighed by how often the row is
//! met. There a row is kept as words, and met 64 ranks at a time. In 1.7 G meetings of
//! entries that makes 0.3 G.
//!
//! ```text
//! plain row:   entries, twice the rank and 1 where there are edges both ways, in ascending order
//! packed row:  number of entries, number of words, entries, words
//! word:        rank / 64, a bit for each rank (2 x 32), the same of edges both ways if they count
//! ```
//!
//! Invariant: a packed row takes no more room than the plain one, so it lies in its place. Tested
//! by `rows_are_what_they_were` and `dense_ends_are_packed`.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use bytemuck::Zeroable;

use crate::EngineError;
use crate::kernels::kernel::fetch;
use crate::machine::arena::Buffer;
use crate::plan::Plan;

/// Beside a row's length, in place of where it begins: it is not in the block.
const AWAY: u32 = 1 << 31;
/// Beside a row's length, where it begins: it is packed.
const PACKED: u32 = 1 << 31;
/// Numbers before the entries of a packed row.
const HEAD: usize = 2;

/// Where a row lies: the place of its length in the block, which its entries follow, or how long it
/// is, and [`AWAY`]. One without entries is always away.
#[derive(Default, Zeroable)]
#[repr(transparent)]
pub(super) struct Span(AtomicU32);

impl Span {
    /// Notes the length of a row that is in no block yet.
    pub(super) fn set_length(&self, length: u32) {
        self.0.store(AWAY | length, Relaxed);
    }

    /// Notes where the length of one lies that is in the block.
    pub(super) fn set_start(&self, place: usize) {
        self.0.store(place as u32, Relaxed);
    }

    /// Where its length lies, if it is in the block.
    #[inline(always)]
    pub(super) fn start(&self) -> Option<usize> {
        let place = self.0.load(Relaxed);
        (place & AWAY == 0).then_some(place as usize)
    }
}

/// Rows by the rank of their vertex.
pub(super) struct Rows {
    /// The rank of the first span.
    pub(super) first: usize,
    pub(super) spans: Buffer<Span>,
    pub(super) entries: Buffer<u32>,
    /// Numbers of these that are taken by the block.
    pub(super) filled: usize,
    /// The vertices whose rows are in the block.
    pub(super) vertices: Range<usize>,
}

impl Rows {
    /// No rows yet, and room for `room` numbers.
    pub(super) fn new(ranks: usize, room: usize) -> Result<Self, EngineError> {
        let spans = Buffer::<Span>::zeroed(ranks)?;
        for span in &*spans {
            span.set_length(0);
        }
        let entries = Buffer::zeroed(room.min(AWAY as usize))?;
        Ok(Self { first: 0, spans, entries, filled: 0, vertices: 0..0 })
    }

    /// Entries of a row.
    pub(super) fn length(&self, rank: usize) -> usize {
        let span = &self.spans[rank];
        let length = match span.start() {
            Some(start) => self.entries.get(start).map_or(0, |length| length & !PACKED),
            None => span.0.load(Relaxed) & !AWAY,
        };
        length as usize
    }

    /// Asks memory for where a row lies.
    #[inline(always)]
    pub(super) fn fetch_span(&self, rank: usize) {
        fetch(&self.spans, rank.wrapping_sub(self.first));
    }

    /// Asks memory for a row.
    #[inline(always)]
    pub(super) fn fetch(&self, rank: usize) {
        let span = self.spans.get(rank.wrapping_sub(self.first));
        fetch(&self.entries, span.and_then(Span::start).unwrap_or(0));
    }

    /// The row of a rank, if it is in the block.
    #[inline(always)]
    pub(super) fn get(&self, rank: usize) -> Option<Row<'_>> {
        let first = self.spans.get(rank.wrapping_sub(self.first))?.start()?;
        let length = *self.entries.get(first)?;
        let row = self.entries.get(first + 1..first + 1 + (length & !PACKED) as usize)?;
        let is_packed = length & PACKED != 0;
        Some(if is_packed { Row::packed(row) } else { Row { entries: row, words: &[] } })
    }

    /// Opens the next block: as many vertices as have room for their rows, from one on.
    pub(super) fn open(&mut self, ranks: &[u32], plan: &Plan) -> Result<(), EngineError> {
        for vertex in self.vertices.clone() {
            let rank = ranks[vertex] as usize;
            self.spans[rank].set_length(self.length(rank) as u32);
        }
        let (first, mut start) = (self.vertices.end, 0);
        self.vertices.start = first;
        for &rank in &ranks[first..] {
            let length = self.length(rank as usize);
            if length > 0 {
                let end = start + 1 + length;
                if end > self.entries.len() {
                    break;
                }
                self.spans[rank as usize].set_start(start);
                start = end;
            }
            self.vertices.end += 1;
        }
        if self.vertices.is_empty() && first < ranks.len() {
            return Err(too_long(plan, self.length(ranks[first] as usize)));
        }
        self.filled = start;
        Ok(())
    }
}

/// A row as it lies in the block.
#[derive(Clone, Copy, Default)]
pub(super) struct Row<'r> {
    pub(super) entries: &'r [u32],
    words: &'r [u32],
}

impl<'r> Row<'r> {
    fn packed(row: &'r [u32]) -> Self {
        let [entries, words, rest @ ..] = row else { return Self::default() };
        let (entries, rest) = rest.split_at((*entries as usize).min(rest.len()));
        Self { entries, words: &rest[..(*words as usize).min(rest.len())] }
    }

    /// Words of the row.
    #[inline(always)]
    pub(super) fn words<const DIRECTED: bool>(
        &self,
    ) -> impl Iterator<Item = Word> + use<'r, DIRECTED> {
        self.words.chunks_exact(width(DIRECTED)).map(|word| {
            let bits = |at: usize| u64::from(word[at]) | u64::from(word[at + 1]) << 32;
            let both = if DIRECTED { bits(3) } else { 0 };
            Word { index: word[0], bits: bits(1), both }
        })
    }

    /// Appends all of its entries.
    pub(super) fn unpack(&self, directed: bool, entries: &mut Vec<u32>) {
        if directed {
            self.unpack_words::<true>(entries);
        } else {
            self.unpack_words::<false>(entries);
        }
    }

    fn unpack_words<const DIRECTED: bool>(&self, entries: &mut Vec<u32>) {
        entries.extend_from_slice(self.entries);
        for Word { index, mut bits, both } in self.words::<DIRECTED>() {
            while bits != 0 {
                let bit = bits.trailing_zeros();
                entries.push(index << 7 | bit << 1 | (both >> bit & 1) as u32);
                bits &= bits - 1;
            }
        }
    }
}

/// Up to 64 entries of a row.
#[derive(Clone, Copy)]
pub(super) struct Word {
    /// The ranks from 64 times this on.
    pub(super) index: u32,
    pub(super) bits: u64,
    /// Neighbours with edges both ways, where these count.
    pub(super) both: u64,
}

/// Numbers that a word takes.
const fn width(directed: bool) -> usize {
    if directed { 5 } else { 3 }
}

/// Packs a row behind the place of its length, which it notes. `words`: any.
pub(super) fn close(directed: bool, row: &mut [u32], words: &mut Vec<u32>) {
    let [length, entries @ ..] = row else { return };
    let packed = if pack(directed, entries, words) { PACKED } else { 0 };
    *length = entries.len() as u32 | packed;
}

/// Sorts a plain row, and packs its upper end if that is worth it, in its place. `words`: any.
pub(super) fn pack(directed: bool, row: &mut [u32], words: &mut Vec<u32>) -> bool {
    row.sort_unstable();
    let Some(split) = split(row, width(directed)) else { return false };
    words.clear();
    for entries in row[split..].chunk_by(|one, other| one >> 7 == other >> 7) {
        let (mut bits, mut both) = (0_u64, 0_u64);
        for entry in entries {
            bits |= 1 << (entry >> 1 & 63);
            both |= u64::from(entry & 1) << (entry >> 1 & 63);
        }
        words.extend([entries[0] >> 7, bits as u32, (bits >> 32) as u32]);
        if directed {
            words.extend([both as u32, (both >> 32) as u32]);
        }
    }
    row.copy_within(..split, HEAD);
    row[HEAD + split..][..words.len()].copy_from_slice(words);
    row[..HEAD].copy_from_slice(&[split as u32, words.len() as u32]);
    true
}

/// From where on a row is best packed: a word is to stand for more entries than it takes room.
fn split(row: &[u32], width: usize) -> Option<usize> {
    let (mut best, mut most, mut words) = (None, 0, 0);
    let mut start = row.len();
    for entries in row.chunk_by(|one, other| one >> 7 == other >> 7).rev() {
        start -= entries.len();
        words += 1;
        let gain = (row.len() - start).saturating_sub((width + 1) * words + HEAD);
        if gain > most {
            (best, most) = (Some(start), gain);
        }
    }
    best
}

/// A row that does not fit.
pub(super) fn too_long(plan: &Plan, entries: usize) -> EngineError {
    // A row of a block has its length beside.
    let need = plan.premises.group_budget(2 * (entries as u64 + 1));
    let advice = format!("{entries} neighbours of one vertex must be in memory at the same time");
    EngineError::Budget { need, budget: plan.premises.budget_bytes, advice }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Packs a row and takes it apart again; says whether it could be packed.
    fn there_and_back(directed: bool, mut row: Vec<u32>) -> bool {
        let (mut expected, mut found) = (row.clone(), Vec::new());
        expected.sort_unstable();
        let is_packed = pack(directed, &mut row, &mut vec![7]);
        let there = if is_packed { Row::packed(&row) } else { Row { entries: &row, words: &[] } };
        there.unpack(directed, &mut found);
        assert_eq!(found, expected);
        is_packed
    }

    proptest! {
        #[test]
        fn rows_are_what_they_were(
            ranks in prop::collection::btree_map(0_u32..3000, 0_u32..2, 0..400),
        ) {
            there_and_back(true, ranks.iter().map(|(rank, both)| rank << 1 | both).collect());
            there_and_back(false, ranks.keys().map(|rank| rank << 1).collect());
        }
    }

    #[test]
    fn dense_ends_are_packed() {
        let row: Vec<u32> = (0..100).map(|it| it * 1000).chain((1 << 20..).take(99)).collect();
        let even = |row: &[u32]| row.iter().map(|entry| entry << 1).collect::<Vec<_>>();
        assert!(there_and_back(false, even(&row)));
        assert!(there_and_back(true, even(&row)));
        assert!(!there_and_back(false, even(&row[..100])));
        assert_eq!(split(&even(&row), 3), Some(100));
    }
}
