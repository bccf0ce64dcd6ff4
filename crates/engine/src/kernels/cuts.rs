//! Where the matrix of edges is cut: stripes of destinations, groups of sources.
//!
//! Both are runs of whole segments, chosen so that each holds about equally many edges: unscrambled
//! R-MAT puts a third of all edges into the first sixteenth of the slots. No run crosses the middle
//! of all slots that there can be, so that 31 bits tell the slots of a run apart.

use std::ops::Range;

use crate::EngineError;
use crate::kernels::vertices::SEGMENT_BITS;

/// Consecutive runs of segments, and which run each segment is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cuts {
    /// First segment of each run, and one past the last segment.
    bounds: Vec<usize>,
    /// Run of each segment.
    run: Vec<u16>,
}

impl Cuts {
    /// Cuts stripes: no wider than `2^width_bits` vertices, and none with more than its share of
    /// the edges when there shall be `pieces` of them. `starts`: vertices before each segment, and
    /// of all.
    ///
    /// # Errors
    /// When there would be more stripes than runs can be counted.
    pub(crate) fn stripes(
        starts: &[u64],
        edges: &[u64],
        width_bits: u32,
        pieces: usize,
    ) -> Result<Self, EngineError> {
        let most = edges.iter().sum::<u64>().div_ceil(pieces as u64).max(1);
        let width = |start: usize, end: usize| starts[end] - starts[start];
        let narrow = |start: usize, end: usize| {
            width(start, end) <= 1 << width_bits && in_one_half(start, end)
        };
        let cuts = Self::greedy(|start, end, held| narrow(start, end) && held <= most, edges);
        let all_narrow = (0..cuts.len()).all(|run| narrow(cuts.bounds[run], cuts.bounds[run + 1]));
        // A key holds `width_bits` of its destination: one that is wider would be another vertex.
        if all_narrow { Ok(cuts) } else { Err(too_many(starts[edges.len()], width_bits)) }
    }

    /// Cuts at most `pieces` groups with about equally many edges each.
    pub(crate) fn groups(edges: &[u64], pieces: usize) -> Self {
        let mut most = edges.iter().sum::<u64>().div_ceil(pieces as u64).max(1);
        loop {
            let fits = |start, end, held| held <= most && in_one_half(start, end);
            let cuts = Self::greedy(fits, edges);
            if cuts.len() <= pieces.max(if in_one_half(0, edges.len()) { 1 } else { 2 }) {
                return cuts;
            }
            // Where segments are uneven runs end early, and there are up to twice as many.
            most += most / 16 + 1;
        }
    }

    /// Makes runs as long as `fits(start, end, edges)` allows; a single segment always fits.
    fn greedy(fits: impl Fn(usize, usize, u64) -> bool, edges: &[u64]) -> Self {
        let mut bounds = vec![0];
        let mut run = Vec::with_capacity(edges.len());
        let mut start = 0;
        let mut held = 0;
        for (segment, &here) in edges.iter().enumerate() {
            held += here;
            let open = bounds.len() - 1 == usize::from(u16::MAX);
            if segment > start && !open && !fits(start, segment + 1, held) {
                bounds.push(segment);
                (start, held) = (segment, here);
            }
            run.push((bounds.len() - 1) as u16);
        }
        if !edges.is_empty() {
            bounds.push(edges.len());
        }
        Self { bounds, run }
    }

    /// Leaves out segments from that many on.
    pub(crate) fn truncate(&mut self, segments: usize) {
        self.run.truncate(segments);
        self.bounds.truncate(1 + self.run.last().map_or(0, |run| usize::from(*run) + 1));
        if let Some(end) = self.bounds.last_mut() {
            *end = self.run.len();
        }
    }

    /// Number of runs.
    pub(crate) fn len(&self) -> usize {
        self.bounds.len() - 1
    }

    /// The segments of a run.
    pub(crate) fn segments(&self, run: usize) -> Range<usize> {
        self.bounds[run]..self.bounds[run + 1]
    }

    /// The slots of a run, cut at the number of slots there are.
    pub(crate) fn slots(&self, run: usize, slots: u64) -> Range<u64> {
        let slot = |segment: usize| slots.min((segment as u64) << SEGMENT_BITS);
        slot(self.bounds[run])..slot(self.bounds[run + 1])
    }

    /// The run of a slot.
    #[inline(always)]
    pub(crate) fn run(&self, slot: u32) -> usize {
        usize::from(self.run[(slot >> SEGMENT_BITS) as usize])
    }
}

/// Whether segments are all below the middle of the slots that there can be, or all beyond it.
fn in_one_half(start: usize, end: usize) -> bool {
    let half = |segment: usize| segment >> (u32::BITS - 1 - SEGMENT_BITS);
    half(start) == half(end.max(start + 1) - 1)
}

fn too_many(vertices: u64, width_bits: u32) -> EngineError {
    let most = u32::from(u16::MAX) + 1;
    EngineError::Stripes { vertices, most, width_bits }
}

/// Bins, a group of sources and a stripe each, that share slabs: consecutive ones, stripe by
/// stripe, with about equally many edges in each bin group.
#[derive(Debug)]
pub(crate) struct BinGroups {
    bin_group_of: Vec<u32>,
    count: usize,
}

impl BinGroups {
    /// Deals bins to `count` bin groups by the edges that they would have if all sources had the
    /// same targets: where all edges end in one stripe, most bin groups are in that stripe.
    /// `sources` and `targets`: edges by segment.
    pub(crate) fn new(
        (groups, sources): (&Cuts, &[u64]),
        (stripes, targets): (&Cuts, &[u64]),
        count: usize,
    ) -> Self {
        let shares = |cuts: &Cuts, edges: &[u64]| -> Vec<f64> {
            let all = edges.iter().sum::<u64>().max(1) as f64;
            let of = |run| edges[cuts.segments(run)].iter().sum::<u64>() as f64 / all;
            (0..cuts.len()).map(of).collect()
        };
        let (groups, stripes) = (shares(groups, sources), shares(stripes, targets));
        let count = count.clamp(1, (groups.len() * stripes.len()).max(1));
        let mut before = 0.0;
        let bins = stripes.iter().flat_map(|stripe| groups.iter().map(move |group| stripe * group));
        let bin_group_of = bins.map(|share| {
            let bin_group = (before * count as f64) as u32;
            before += share;
            bin_group.min(count as u32 - 1)
        });
        Self { bin_group_of: bin_group_of.collect(), count }
    }

    /// Number of bin groups, at least 1.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The bin group of a bin.
    pub(crate) fn of(&self, bin: usize) -> usize {
        self.bin_group_of[bin] as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(segments: u64) -> Vec<u64> {
        (0..=segments).map(|segment| segment << SEGMENT_BITS).collect()
    }

    #[test]
    fn stripes_are_narrow_enough_and_balanced() {
        let starts = starts(10);
        let cuts = Cuts::stripes(&starts, &[1; 10], SEGMENT_BITS + 1, 1).unwrap();
        assert_eq!((0..cuts.len()).map(|run| cuts.segments(run).len()).collect::<Vec<_>>(), [2; 5]);
        let cuts = Cuts::stripes(&starts, &[90, 1, 1, 1, 1, 1, 1, 1, 1, 2], 24, 10).unwrap();
        assert_eq!((0..cuts.len()).map(|run| cuts.segments(run).len()).collect::<Vec<_>>(), [1, 9]);
        assert_eq!((cuts.run(4095), cuts.run(4096)), (0, 1));
        assert_eq!(cuts.slots(1, 40_000), 4096..40_000);
    }

    #[test]
    fn what_is_beyond_the_last_vertex_is_left_out() {
        let cuts = |segments| {
            let mut cuts = Cuts::groups(&[1; 10], 5);
            cuts.truncate(segments);
            (0..cuts.len()).map(|run| cuts.segments(run)).collect::<Vec<_>>()
        };
        assert_eq!(cuts(10), [0..2, 2..4, 4..6, 6..8, 8..10]);
        assert_eq!((cuts(5), cuts(4)), (vec![0..2, 2..4, 4..5], vec![0..2, 2..4]));
        assert!(cuts(0).is_empty());
    }

    #[test]
    fn more_stripes_than_can_be_counted_are_refused() {
        let segments = 70_000;
        let starts = starts(segments);
        let edges = vec![1; segments as usize];
        let error = Cuts::stripes(&starts, &edges, SEGMENT_BITS, 1).unwrap_err();
        assert!(error.to_string().contains("wider stripes"), "{error}");
        let cuts = Cuts::stripes(&starts, &edges, SEGMENT_BITS + 1, 1).unwrap();
        assert_eq!(cuts.len(), 35_000);
    }

    #[test]
    fn no_slots_make_no_stripes() {
        assert_eq!(Cuts::stripes(&[0], &[], 12, 4).unwrap().len(), 0);
        assert_eq!(Cuts::groups(&[], 4).len(), 0);
    }

    #[test]
    fn groups_without_sampled_edges_still_cover_all_segments() {
        let cuts = Cuts::groups(&[0; 5], 3);
        assert_eq!((cuts.len(), cuts.segments(0)), (1, 0..5));
    }

    #[test]
    fn bin_groups_have_equally_many_edges() {
        let even = [10; 8];
        let (groups, stripes) = (Cuts::groups(&even, 8), Cuts::groups(&even, 4));
        let bin_groups = |targets: &[u64], count| {
            let bin_groups = BinGroups::new((&groups, &even), (&stripes, targets), count);
            (0..groups.len() * stripes.len()).map(|bin| bin_groups.of(bin)).collect::<Vec<_>>()
        };
        let spread = bin_groups(&even, 4);
        assert!(spread.is_sorted());
        assert_eq!(
            spread.iter().filter(|&&bin_group| bin_group == 0).count() / 8,
            stripes.len() / 4
        );
        // All edges end in the last stripe.
        let hot = bin_groups(&[0, 0, 0, 0, 0, 0, 0, 80], 4);
        let last = &hot[hot.len() - groups.len()..];
        assert_eq!((last[0], last[groups.len() - 1]), (0, 3));
        assert!(bin_groups(&[0; 8], 4).iter().all(|&bin_group| bin_group == 0));
    }
}
