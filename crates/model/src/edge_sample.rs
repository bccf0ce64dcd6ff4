//! A first look at edges: about how many begin and end where, and how many vertices there may be.
//!
//! Edges are read once, into bins, so the bins are chosen by a sample of them. The sample is taken
//! in rounds, a quarter of it, another quarter and the rest, because how fast the number of
//! vertices that were seen grows from round to round says how many there will be.

use crate::pair::Pair;

/// Log2 of the number of slots in a segment: the grain at which ranges of slots are cut.
pub const SEGMENT_BITS: u32 = 12;
const SEGMENT_WORDS: usize = (1 << SEGMENT_BITS) / 64;

/// Edges that are looked at together: 64 KiB of pairs.
pub const PIECE_EDGES: usize = 1 << 13;

/// Rounds of a sample.
pub const ROUNDS: usize = 3;

/// Parts that a sample of whole parts has at least.
const PARTS_LEAST: usize = 16;

/// Pieces of the edges that are looked at: the last of each `stride` pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    stride: usize,
}

impl Sample {
    /// A sample of `edges` edges: all of few, one in 16 of many, and at most 2^26.
    pub fn of(edges: u64) -> Self {
        let stride = (edges >> 20).clamp(1, 16).max(edges >> 26);
        Self { stride: stride as usize }
    }

    /// About how much of so much is looked at.
    pub fn share(self, of: u64) -> u64 {
        of.div_ceil(self.stride as u64)
    }

    /// The pieces of a part of `pieces` that belong to a round, ascending.
    pub fn pieces(self, part: usize, pieces: usize, round: usize) -> impl Iterator<Item = usize> {
        let windows = pieces.div_ceil(self.stride);
        let window = (0..windows).filter(move |window| round_of(part + window) == round);
        window.map(move |window| ((window + 1) * self.stride).min(pieces) - 1)
    }

    /// Whether a part belongs to a round whole: for edges that cannot be had in pieces.
    pub fn takes(self, part: usize, parts: usize, round: usize) -> bool {
        let stride = self.stride.min(parts / PARTS_LEAST).max(1);
        part.is_multiple_of(stride) && round_of(part / stride) == round
    }
}

fn round_of(window: usize) -> usize {
    (window % 4).min(ROUNDS - 1)
}

/// Samples of edges: slots and degrees that were seen in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EdgeSample {
    /// A bit a slot, in whole segments, during the look; `None` where vertices are not counted.
    marks: Option<Vec<u64>>,
    /// Edges that begin, and that end, in each segment.
    sources: Vec<u64>,
    targets: Vec<u64>,
    edges: u64,
    /// The largest slot that was seen, plus one.
    slots: u64,
    rounds: Vec<Round>,
}

/// Slots and vertices that had been seen at the end of a round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// The largest slot, plus one.
    pub slots: u64,
    /// Vertices in each segment, if they were counted. Those beyond the last have none.
    pub vertices: Vec<u32>,
}

impl EdgeSample {
    /// An empty sample. Vertices will be counted where `marks` says so.
    pub fn new(marks: bool) -> Self {
        Self { marks: marks.then(Vec::new), ..Self::default() }
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
        for &[source, target] in pairs {
            sources[(source >> SEGMENT_BITS) as usize] += 1;
            targets[(target >> SEGMENT_BITS) as usize] += 1;
        }
        self.edges += pairs.len() as u64;
        Ok(())
    }

    /// Makes room for `slots` slots, and for up to twice as many if there can be more.
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

    /// Adds another look at the round that both are in.
    pub fn merge(&mut self, mut other: Self) {
        if other.sources.len() > self.sources.len() {
            let rounds = std::mem::take(&mut self.rounds);
            std::mem::swap(self, &mut other);
            self.rounds = rounds;
        }
        self.slots = self.slots.max(other.slots);
        self.edges += other.edges;
        let add = |into: &mut [u64], from: &[u64]| {
            into.iter_mut().zip(from).for_each(|(into, from)| *into += from);
        };
        add(&mut self.sources, &other.sources);
        add(&mut self.targets, &other.targets);
        match (&mut self.marks, &other.marks) {
            (Some(marks), Some(others)) => {
                marks.iter_mut().zip(others).for_each(|(mark, other)| *mark |= other);
            }
            _ => self.marks = None,
        }
    }

    /// Counts no vertices from now on: there are too many slots.
    pub fn forget_marks(&mut self) {
        self.marks = None;
    }

    /// Ends a round; after the last one the marks are not needed any more.
    pub fn end_round(&mut self) {
        let segment = |words: &[u64]| words.iter().map(|word| word.count_ones()).sum::<u32>();
        let marks = self.marks.as_deref().unwrap_or_default();
        let vertices = marks.chunks(SEGMENT_WORDS).map(segment).collect();
        self.rounds.push(Round { slots: self.slots, vertices });
        if self.rounds.len() == ROUNDS {
            self.marks = None;
        }
    }

    /// The look with `slots` slots: as many as there are, or more than were seen.
    #[must_use]
    pub fn of_slots(mut self, slots: u64) -> Self {
        self.slots = slots;
        self.resize(slots.div_ceil(1 << SEGMENT_BITS) as usize);
        self
    }

    /// The largest slot that was seen, plus one, or how many there are.
    pub fn slots(&self) -> u64 {
        self.slots
    }

    /// Edges that were looked at.
    pub fn edges(&self) -> u64 {
        self.edges
    }

    /// Slots and vertices that had been seen at the end of each round.
    pub fn rounds(&self) -> &[Round] {
        &self.rounds
    }

    /// Edges that begin in each segment, and that end there, of those that were looked at.
    pub fn histograms(&self) -> (&[u64], &[u64]) {
        (&self.sources, &self.targets)
    }

    /// Bytes of memory that it takes.
    pub fn bytes(&self) -> u64 {
        let words = self.marks.as_ref().map_or(0, Vec::capacity);
        let counts: usize = self.rounds.iter().map(|round| round.vertices.capacity()).sum();
        (8 * (words + self.sources.capacity() + self.targets.capacity()) + 4 * counts) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vertices_are_counted_by_segment_and_round() {
        let (mut look, mut other) = (EdgeSample::new(true), EdgeSample::new(true));
        look.add(&[[0, 5000], [0, 63]], u64::MAX).unwrap();
        look.end_round();
        other.add(&[[40_000, 64]], u64::MAX).unwrap();
        look.add(&[], 0).unwrap();
        look.merge(other);
        look.end_round();
        look.merge(EdgeSample::new(true));
        look.end_round();
        assert_eq!((look.slots(), look.edges()), (40_001, 3));
        let rounds: Vec<_> = look.rounds().iter().map(|round| round.slots).collect();
        assert_eq!(rounds, [5001, 40_001, 40_001]);
        assert_eq!(look.rounds()[0].vertices, [2, 1]);
        assert_eq!(look.rounds()[2].vertices[..10], [3, 1, 0, 0, 0, 0, 0, 0, 0, 1]);
        let look = look.of_slots(40_001);
        let (sources, targets) = look.histograms();
        assert_eq!((sources.len(), sources[0], sources[9]), (10, 2, 1));
        assert_eq!((targets[0], targets[1]), (2, 1));
    }

    #[test]
    fn slots_that_there_are_not_are_refused() {
        let mut look = EdgeSample::new(true);
        assert_eq!(look.add(&[[1, 2], [7, 3]], 7), Err(7));
        assert_eq!(look, EdgeSample::new(true));
        assert_eq!(look.add(&[[1, 2], [6, 3]], 7), Ok(()));
        assert_eq!((look.slots(), look.sources.len()), (7, 1));
    }

    #[test]
    fn vertices_that_one_did_not_count_are_not_counted() {
        let mut look = EdgeSample::new(true);
        look.merge(EdgeSample::new(false));
        look.end_round();
        assert!(look.rounds()[0].vertices.is_empty());
    }

    #[test]
    fn every_window_gives_its_last_piece_in_one_of_the_rounds() {
        for (edges, stride) in [(5, 1), (1 << 22, 4), (1 << 28, 16), (1 << 31, 32)] {
            let sample = Sample::of(edges);
            assert_eq!(sample.stride, stride);
            for pieces in [0, 1, 15, 16, 17, 100] {
                let of_round = |round| sample.pieces(3, pieces, round);
                let mut all: Vec<_> = (0..ROUNDS).flat_map(of_round).collect();
                all.sort_unstable();
                let expected: Vec<_> = (0..pieces.div_ceil(stride))
                    .map(|window| ((window + 1) * stride).min(pieces) - 1)
                    .collect();
                assert_eq!(all, expected);
            }
            let taken = |parts| {
                let round = |part| (0..ROUNDS).filter(move |&r| sample.takes(part, parts, r));
                (0..parts).flat_map(round).count()
            };
            assert_eq!((taken(5), taken(16)), (5, 16));
            assert!((1000_usize.div_ceil(stride)..=1000 / stride + 20).contains(&taken(1000)));
        }
    }
}
