//! A first look at edges: which slots are vertices, and where edges are dense.
//!
//! Whoever reads all edges before they are ingested anyway (to know the largest id, say) can look
//! at them on the way, so that nobody need read them once more for that.
//!
//! A bare loop over 32 million edges of R-MAT 24 (marks of 2 MiB, pages of 4 KiB) took 3.2 to 3.4
//! ns a mark on a 2.5 GHz core with 1 MiB of second-level cache. Looking first whether it is there
//! already took 3.5 to 4.4, collecting those that are not 2.9 to 4.0, a byte a mark 15.

use crate::edges::Pair;

/// Log2 of the number of slots in a segment: the grain at which ranges of slots are cut.
pub const SEGMENT_BITS: u32 = 12;
const SEGMENT_WORDS: usize = (1 << SEGMENT_BITS) / 64;

/// What was seen of edges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// A bit a slot, in whole segments; `None` where every slot is known to be a vertex.
    marks: Option<Vec<u64>>,
    /// Edges that begin, and that end, in each segment: one in so many.
    sources: Vec<u64>,
    targets: Vec<u64>,
    stride: usize,
    /// The largest slot that was seen, plus one.
    slots: u64,
}

impl Look {
    /// Nothing seen. One edge in `stride` will be counted in histograms; slots will be marked where
    /// `marks` says so.
    pub fn new(marks: bool, stride: usize) -> Self {
        let marks = marks.then(Vec::new);
        Self { marks, stride: stride.max(1), ..Self::default() }
    }

    /// The stride for so many edges: of many a sample will do.
    pub fn stride(edges: u64) -> usize {
        if edges >= 1 << 20 { 8 } else { 1 }
    }

    /// Looks at some edges, none of which ends at a slot from `most` on.
    ///
    /// # Errors
    /// A slot from `most` on that an edge begins or ends at. Nothing of the edges was noted then.
    pub fn add(&mut self, pairs: &[Pair], most: u64) -> Result<(), u32> {
        // The maximum is found first, because that runs over vectors.
        let largest = pairs.as_flattened().iter().fold(0, |largest, &slot| slot.max(largest));
        if pairs.is_empty() {
            return Ok(());
        }
        if u64::from(largest) >= most {
            return Err(largest);
        }
        self.grow(u64::from(largest) + 1, most);
        if let Some(marks) = &mut self.marks {
            // A slice of its own: the compiler would look up where the marks are after each store.
            let marks = &mut marks[..];
            for &[source, target] in pairs {
                marks[(source / 64) as usize] |= 1 << (source % 64);
                marks[(target / 64) as usize] |= 1 << (target % 64);
            }
        }
        let (sources, targets) = (&mut self.sources[..], &mut self.targets[..]);
        for &[source, target] in pairs.iter().step_by(self.stride) {
            sources[(source >> SEGMENT_BITS) as usize] += 1;
            targets[(target >> SEGMENT_BITS) as usize] += 1;
        }
        Ok(())
    }

    /// Makes room for so many slots, and for up to twice as many if there can be more.
    fn grow(&mut self, slots: u64, most: u64) {
        self.slots = self.slots.max(slots);
        let segments = slots.div_ceil(1 << SEGMENT_BITS);
        if segments <= self.sources.len() as u64 {
            return;
        }
        let most = most.div_ceil(1 << SEGMENT_BITS);
        self.resize(segments.next_power_of_two().min(most) as usize);
    }

    fn resize(&mut self, segments: usize) {
        self.sources.resize(segments, 0);
        self.targets.resize(segments, 0);
        if let Some(marks) = &mut self.marks {
            marks.resize(segments * SEGMENT_WORDS, 0);
        }
    }

    /// What one of the two has seen.
    pub fn merge(&mut self, mut other: Self) {
        if other.sources.len() > self.sources.len() {
            std::mem::swap(self, &mut other);
        }
        self.slots = self.slots.max(other.slots);
        let add = |into: &mut [u64], from: &[u64]| {
            into.iter_mut().zip(from).for_each(|(into, from)| *into += from);
        };
        add(&mut self.sources, &other.sources);
        add(&mut self.targets, &other.targets);
        if let (Some(marks), Some(others)) = (&mut self.marks, &other.marks) {
            marks.iter_mut().zip(others).for_each(|(mark, other)| *mark |= other);
        }
    }

    /// The same, of `slots` slots: as many as there are, or more than were seen.
    #[must_use]
    pub fn of_slots(mut self, slots: u64) -> Self {
        self.slots = slots;
        self.resize(slots.div_ceil(1 << SEGMENT_BITS) as usize);
        self
    }

    /// The largest slot that was seen, plus one.
    pub fn slots(&self) -> u64 {
        self.slots
    }

    /// A bit a slot, in whole segments, unless every slot is known to be a vertex.
    pub fn marks(&self) -> Option<&[u64]> {
        self.marks.as_deref()
    }

    /// Edges that begin in each segment, and that end there: one in so many.
    pub fn histograms(&self) -> (&[u64], &[u64]) {
        (&self.sources, &self.targets)
    }

    /// Bytes of memory that it takes.
    pub fn bytes(&self) -> u64 {
        let words = self.marks.as_ref().map_or(0, Vec::capacity);
        8 * (words + self.sources.capacity() + self.targets.capacity()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(look: &Look) -> Vec<u64> {
        let words = look.marks().unwrap_or_default().iter().enumerate();
        words
            .flat_map(|(word, bits)| {
                (0..64)
                    .filter(move |bit| bits >> bit & 1 == 1)
                    .map(move |bit| word as u64 * 64 + bit)
            })
            .collect()
    }

    #[test]
    fn slots_are_marked_and_counted_by_segment() {
        let (mut look, mut other) = (Look::new(true, 1), Look::new(true, 1));
        look.add(&[[0, 5000], [0, 63]], u64::MAX).unwrap();
        other.add(&[[40_000, 64]], u64::MAX).unwrap();
        look.add(&[], 0).unwrap();
        look.merge(other);
        assert_eq!(look.slots(), 40_001);
        let look = look.of_slots(40_001);
        assert_eq!(marked(&look), [0, 63, 64, 5000, 40_000]);
        let (sources, targets) = look.histograms();
        assert_eq!((sources.len(), sources[0], sources[9]), (10, 2, 1));
        assert_eq!((targets[0], targets[1]), (2, 1));
    }

    #[test]
    fn slots_that_there_are_not_are_refused() {
        let mut look = Look::new(true, 1);
        assert_eq!(look.add(&[[1, 2], [7, 3]], 7), Err(7));
        assert_eq!(look, Look::new(true, 1));
        assert_eq!(look.add(&[[1, 2], [6, 3]], 7), Ok(()));
        assert_eq!((look.slots(), look.sources.len()), (7, 1));
    }

    #[test]
    fn of_many_edges_a_sample_is_counted() {
        let mut look = Look::new(false, 8);
        look.add(&[[1, 1]; 80], 2).unwrap();
        assert_eq!(look.of_slots(2).histograms(), (&[10][..], &[10][..]));
    }
}
