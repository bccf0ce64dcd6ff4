//! The row that is closed, as marks on ranks.

use super::counts::{CornerSink, Counts};
use super::rows::{Row, Rows, Word};
use crate::EngineError;
use crate::machine::arena::Buffer;
use crate::machine::dispatch::dispatched;

/// Entries between asking memory for where a row lies, for the row, and looking at it.
const AHEAD: [usize; 2] = [12, 4];

/// Log2 of the ranks that [`Marks::low`] tells apart: it stays in the first-level cache, with half
/// of that to spare.
const LOW_BITS: u32 = 17;

pub(super) struct Marks {
    /// Whether edges both ways count twice.
    directed: bool,
    /// Ranks that the row may have, by their low bits. Most of what it meets is ruled out by this,
    /// where a look at `set` would come from the second-level cache.
    low: Box<[u64; 1 << (LOW_BITS - 6)]>,
    /// Ranks that the row has.
    set: Buffer<u64>,
    /// Ranks of the row that are joined both ways.
    both: Buffer<u64>,
    /// Of each 64 ranks of which the row has some, which of these it is.
    places: Buffer<u32>,
    /// Number of triangles that each of the ranks closed, 64 for each place.
    hits: Vec<u32>,
    /// The row itself where it was packed.
    unpacked: Vec<u32>,
}

impl Marks {
    pub(super) fn new(ranks: usize, directed: bool) -> Result<Self, EngineError> {
        let words = ranks.div_ceil(64);
        let (set, both) = (Buffer::zeroed(words)?, Buffer::zeroed(words)?);
        let low = Box::new([0; 1 << (LOW_BITS - 6)]);
        let places = Buffer::zeroed(words)?;
        Ok(Self { directed, low, set, both, places, hits: Vec::new(), unpacked: Vec::new() })
    }

    /// Closes a row of the block itself, as [`close`](Self::close) does others.
    pub(super) fn close_own(&mut self, rank: usize, rows: &Rows, closed: &Counts) {
        let mut row = std::mem::take(&mut self.unpacked);
        row.clear();
        rows.get(rank).unwrap_or_default().unpack(self.directed, &mut row);
        self.close(rank, (&row, row.len()), rows, &mut &*closed);
        self.unpacked = row;
    }

    /// Updates the corners of all triangles whose lowest is the vertex of `rank`, with this row,
    /// and whose middle has its row in the block. No other than its first `middles` entries have.
    pub(super) fn close(
        &mut self,
        rank: usize,
        row: (&[u32], usize),
        rows: &Rows,
        closed: &mut impl CornerSink,
    ) {
        if row.0.len() < 2 {
            return;
        }
        if self.directed {
            self.close_as::<true>(rank, row, rows, closed);
        } else {
            self.close_as::<false>(rank, row, rows, closed);
        }
    }

    fn close_as<const DIRECTED: bool>(
        &mut self,
        rank: usize,
        (row, middles): (&[u32], usize),
        rows: &Rows,
        closed: &mut impl CornerSink,
    ) {
        let mut places = 0;
        for &entry in row {
            let bit = 1 << (entry >> 1 & 63);
            let word = (entry >> 7) as usize;
            if self.set[word] == 0 {
                self.places[word] = places;
                places += 1;
            }
            self.set[word] |= bit;
            self.low[low(entry)] |= bit;
            if DIRECTED && entry & 1 == 1 {
                self.both[word] |= bit;
            }
        }
        if self.hits.len() < 64 * places as usize {
            self.hits.resize(64 * places as usize, 0);
        }
        dispatched(
            #[inline(always)]
            || self.intersect_all::<DIRECTED>(rank, &row[..middles], rows, closed),
        );
        for &entry in row {
            let top = (entry >> 1) as usize;
            self.set[top / 64] = 0;
            self.low[low(entry)] = 0;
            self.both[top / 64] = 0;
            let hits = &mut self.hits[64 * self.places[top / 64] as usize + top % 64];
            let hits = std::mem::take(hits);
            if hits > 0 {
                closed.add_closed(top, hits.into());
            }
        }
    }

    /// Lets the row that is marked meet the rows of these of its entries.
    #[inline(always)]
    fn intersect_all<const DIRECTED: bool>(
        &mut self,
        rank: usize,
        row: &[u32],
        rows: &Rows,
        closed: &mut impl CornerSink,
    ) {
        let mut own = 0;
        for (place, &entry) in row.iter().enumerate() {
            let [span, first] = AHEAD.map(|ahead| row.get(place + ahead));
            if let Some(entry) = span {
                rows.fetch_span((entry >> 1) as usize);
            }
            if let Some(entry) = first {
                rows.fetch((entry >> 1) as usize);
            }
            let middle = (entry >> 1) as usize;
            let Some(others) = rows.get(middle) else { continue };
            let (closing, far) = self.intersect::<DIRECTED>(others, 1 + (entry & 1));
            own += far;
            if closing > 0 {
                closed.add_closed(middle, closing);
            }
        }
        if own > 0 {
            closed.add_closed(rank, own);
        }
    }

    /// Meets the row of a middle, and returns its count, and that of the lowest. `near`: how often
    /// the edge between these counts for the top.
    #[inline(always)]
    fn intersect<const DIRECTED: bool>(&mut self, others: Row<'_>, near: u32) -> (u64, u64) {
        let (mut closing, mut far) = (0, 0);
        for &other in others.entries {
            let (word, bit) = ((other >> 7) as usize, other >> 1 & 63);
            if self.low[low(other)] >> bit & 1 == 1 && self.set[word] >> bit & 1 == 1 {
                self.hits[64 * self.places[word] as usize + bit as usize] += near;
                far += 1 + u64::from(other & 1);
                closing += 1;
                if DIRECTED {
                    closing += self.both[word] >> bit & 1;
                }
            }
        }
        for Word { index, bits, both } in others.words::<DIRECTED>() {
            let word = index as usize;
            let mut common = self.set[word] & bits;
            if common == 0 {
                continue;
            }
            let count = u64::from(common.count_ones());
            (closing, far) = (closing + count, far + count);
            if DIRECTED {
                closing += u64::from((common & self.both[word]).count_ones());
                far += u64::from((common & both).count_ones());
            }
            let hits = &mut self.hits[64 * self.places[word] as usize..][..64];
            while common != 0 {
                hits[common.trailing_zeros() as usize] += near;
                common &= common - 1;
            }
        }
        (closing, far)
    }
}

/// The word of [`Marks::low`] that an entry is in.
#[inline(always)]
fn low(entry: u32) -> usize {
    (entry >> 7) as usize % (1 << (LOW_BITS - 6))
}
