//! The edges of a few consecutive vertices of a stripe to vertices of the same stripe, by source,
//! while they are in memory.
//!
//! Chunks hold their edges by rising sources, so that rows are made as edges come.
//!
//! Invariant: never more than `adjacency_words` says, which is what the caller has made room for.
//! Checked in `Resident::push`. Tested by `rows_are_what_was_pushed`.

use std::ops::Range;

use crate::EngineError;
use crate::footprints::schedules::edge_words;
use crate::machine::arena::Buffer;

/// Rows of consecutive vertices.
pub(crate) struct Resident {
    /// Where each row begins and the last one ends, then the rows.
    words: Buffer<u32>,
    weighted: bool,
    /// The vertices, relative to the stripe.
    sources: Range<u32>,
    /// Rows that have begun.
    begun: usize,
    /// Words of all rows.
    filled: usize,
}

/// An edge came that has no place.
pub(crate) struct OutOfOrder;

impl Resident {
    /// Room for `words` words.
    pub(crate) fn new(words: u64, weighted: bool) -> Result<Self, EngineError> {
        let words = Buffer::zeroed(words as usize)?;
        Ok(Self { words, weighted, sources: 0..0, begun: 0, filled: 0 })
    }

    /// Forgets all edges, and waits for those of some vertices.
    pub(crate) fn begin(&mut self, sources: Range<u32>) {
        (self.sources, self.begun, self.filled) = (sources, 0, 0);
    }

    /// Adds an edge of one of the vertices; their sources must not fall.
    #[inline]
    pub(crate) fn push(&mut self, source: u32, target: u32, weight: f64) -> Result<(), OutOfOrder> {
        let row = (source - self.sources.start) as usize;
        if row + 1 < self.begun {
            return Err(OutOfOrder);
        }
        self.begin_rows(row + 1);
        let place = self.sources.len() + 1 + self.filled;
        let count = edge_words(self.weighted) as usize;
        let edge = self.words.get_mut(place..place + count).ok_or(OutOfOrder)?;
        edge[0] = target;
        if let [_, low, high] = edge {
            let bits = weight.to_bits();
            (*low, *high) = (bits as u32, (bits >> 32) as u32);
        }
        self.filled += count;
        Ok(())
    }

    /// Ends the rows, once all edges have come.
    pub(crate) fn end(&mut self) {
        self.begin_rows(self.sources.len() + 1);
    }

    fn begin_rows(&mut self, count: usize) {
        if self.begun < count {
            self.words[self.begun..count].fill(self.filled as u32);
            self.begun = count;
        }
    }

    /// Targets and weights of a vertex.
    #[inline]
    pub(crate) fn row(&self, source: u32) -> impl Iterator<Item = (u32, f64)> + '_ {
        let row = (source - self.sources.start) as usize;
        let bounds = self.words[row] as usize..self.words[row + 1] as usize;
        let edges = &self.words[self.sources.len() + 1..][bounds];
        edges.chunks_exact(edge_words(self.weighted) as usize).map(|edge| match *edge {
            [target, low, high] => (target, f64::from_bits(u64::from(high) << 32 | u64::from(low))),
            _ => (edge[0], 1.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::footprints::schedules::adjacency_words;

    #[test]
    fn rows_are_what_was_pushed() {
        for weighted in [false, true] {
            let mut resident =
                Resident::new(adjacency_words(5, 4, weighted), weighted).ok().unwrap();
            for _ in 0..2 {
                resident.begin(10..15);
                for (source, target, weight) in [(11, 3, 0.5), (11, 9, 2.0), (13, 3, 1e300)] {
                    assert!(resident.push(source, target, weight).is_ok());
                }
                assert!(resident.push(12, 1, 1.0).is_err(), "sources must not fall");
                assert!(resident.push(13, 1, 7.0).is_ok());
                assert!(resident.push(14, 1, 1.0).is_err(), "there is no room");
                resident.end();
                let row = |source| resident.row(source).collect::<Vec<_>>();
                let weight = |weight| if weighted { weight } else { 1.0 };
                assert_eq!(row(10), []);
                assert_eq!(row(11), [(3, weight(0.5)), (9, weight(2.0))]);
                assert_eq!(row(12), []);
                assert_eq!(row(13), [(3, weight(1e300)), (1, weight(7.0))]);
                assert_eq!(row(14), []);
            }
        }
    }
}
