//! Active sources of partitions, and chunks of edges that have one: numbers alone.
//!
//! The vertices of a partition lie in 64 ranges, as machines tell them apart. Of all `v` vertices
//! `a` are active, each as likely as the others; sources of the `e` edges of a chunk are drawn
//! evenly from the `w` vertices of a partition:
//!
//! ```text
//! start(r)  = ceil(r w / 64)                          the first place of range r
//! active(r) = 1 - (1 - a / v)^(start(r + 1) - start(r))   likely, where a is not small
//! f         = sum of start(r + 1) - start(r) over active r, by w
//! read      = 1 - (1 - f)^e                           share of chunks that have an active source
//! ```
//!
//! Few active vertices are drawn one by one. Were they as far from each other as they can be, each
//! partition would have as many of them as the others, and machines would read more chunks: `read`
//! grows by less with each of them.
//!
//! Sources of an R-MAT graph are not even within a partition: its first ranges have more edges.
//! Chunks of as many edges as such graphs have there have sources in all ranges either way.

use std::collections::BTreeSet;

use welter_protocol::partitions::Partitions;
use welter_protocol::random::Random;

/// Ranges of a partition.
const RANGES: u64 = 64;

/// Edges of a chunk from which on it has sources in all ranges: fewer than one of 100,000 lacks
/// one.
const EDGES_OF_ALL: u64 = 16 * RANGES;

/// Active vertices that are drawn one by one, and of each partition where these are many.
const DRAWN_MAX: u64 = 1024;
const DRAWN_OF_EACH: u64 = 16;

/// `part * of / whole`, rounded up.
pub(super) fn rounded_up(part: u64, of: u64, whole: u64) -> u64 {
    let whole = u128::from(whole.max(1));
    (u128::from(part) * u128::from(of)).div_ceil(whole) as u64
}

/// The first place of a range of `width` vertices.
fn start(range: u64, width: u64) -> u64 {
    rounded_up(range, width, RANGES)
}

/// Number of vertices in a range of `width` vertices.
fn vertices_of(range: u64, width: u64) -> u64 {
    start(range + 1, width) - start(range, width)
}

/// Vertices of a partition, each of which stands for `grain`.
fn width(partitions: &Partitions, partition: u32, grain: u64) -> u64 {
    let range = partitions.range(partition);
    (range.end - range.start) * grain
}

/// `count` numbers below `bound`, all sets of which are as likely (Floyd).
fn drawn(count: u64, bound: u64, random: &mut Random) -> BTreeSet<u64> {
    let mut drawn = BTreeSet::new();
    for last in bound.saturating_sub(count)..bound {
        if !drawn.insert(random.below(last + 1)) {
            drawn.insert(last);
        }
    }
    drawn
}

/// Ranges of each partition that have an active vertex, a bit each, where `sources` of all vertices
/// are active and each vertex of the partitions stands for `grain`.
pub(super) fn active_ranges(
    partitions: &Partitions,
    grain: u64,
    sources: u64,
    random: &mut Random,
) -> Vec<u64> {
    let (count, all) = (partitions.count(), partitions.vertices() * grain);
    let mut active = vec![0; count as usize];
    if sources <= DRAWN_MAX.max(DRAWN_OF_EACH * u64::from(count)) {
        for vertex in drawn(sources, all, random) {
            if let Some((partition, place)) = partitions.find_place(vertex / grain) {
                let (place, width) =
                    (place * grain + vertex % grain, width(partitions, partition, grain));
                active[partition as usize] |= 1 << (place * RANGES / width);
            }
        }
        return active;
    }
    let idle = 1.0 - sources.min(all) as f64 / all as f64;
    for (partition, ranges) in (0..count).zip(&mut active) {
        let width = width(partitions, partition, grain);
        for range in 0..RANGES {
            let share = 1.0 - idle.powf(vertices_of(range, width) as f64);
            let is_active = (random.below(1 << 32) as f64) < share * (1_u64 << 32) as f64;
            *ranges |= u64::from(is_active) << range;
        }
    }
    active
}

/// Ranges of `width` vertices in which `edges` edges have their sources.
pub(super) fn ranges_of_edges(width: u64, edges: u64, random: &mut Random) -> u64 {
    if width == 0 || edges >= EDGES_OF_ALL {
        return u64::MAX;
    }
    (0..edges).fold(0, |ranges, _| ranges | 1 << (random.below(width) * RANGES / width))
}

/// Share of the chunks of `edges` edges that have a source in these ranges of `width` vertices.
pub(super) fn share_read(width: u64, ranges: u64, edges: u64) -> f64 {
    if ranges == 0 || width == 0 {
        return 0.0;
    }
    if edges >= EDGES_OF_ALL {
        return 1.0;
    }
    let active = (0..RANGES).filter(|range| ranges >> range & 1 == 1);
    let active: u64 = active.map(|range| vertices_of(range, width)).sum();
    1.0 - (1.0 - active as f64 / width as f64).powf(edges as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Partitions of `vertices` vertices, as many in each.
    fn cut(count: u64, vertices: u64) -> Partitions {
        let fitting = Partitions::fitting(1, vertices, 1, vertices.div_ceil(count));
        fitting.expect("a vertex fits")
    }

    #[test]
    fn numbers_that_are_drawn_are_as_many_as_are_wanted() {
        let random = &mut Random::new(1);
        for (count, bound) in [(0, 0), (0, 9), (1, 9), (5, 9), (9, 9), (20, 9), (3, 1 << 50)] {
            let found = drawn(count, bound, random);
            assert_eq!(found.len() as u64, count.min(bound), "{count} of {bound}");
            assert!(found.iter().all(|number| *number < bound));
        }
        let mut counts = [0_u32; 10];
        for _ in 0..10_000 {
            for number in drawn(3, 10, random) {
                counts[number as usize] += 1;
            }
        }
        assert!(counts.iter().all(|count| count.abs_diff(3000) < 250), "{counts:?}");
    }

    #[test]
    fn ranges_are_active_as_often_as_they_have_an_active_vertex() {
        let random = &mut Random::new(2);
        // The last ones are too many to be drawn one by one.
        for (vertices, grain, sources) in
            [(400, 1, 15), (400, 1, 352), (52, 64, 15), (10_000, 1, 1100)]
        {
            let (cut, all) = (cut(4, vertices), vertices * grain);
            let width = all / 4;
            let idle = 1.0 - sources as f64 / all as f64;
            let likely = |range| 1.0 - idle.powf(vertices_of(range, width) as f64);
            let expected = (0..RANGES).map(likely).sum::<f64>() / RANGES as f64;
            let rounds = 300;
            let mut ranges = [0_u32; 4];
            for _ in 0..rounds {
                let active = active_ranges(&cut, grain, sources, random);
                ranges.iter_mut().zip(active).for_each(|(sum, one)| *sum += one.count_ones());
            }
            for found in ranges {
                let found = f64::from(found) / f64::from(rounds) / RANGES as f64;
                assert!((found - expected).abs() < 0.02, "{sources}: {found}, not {expected}");
            }
        }
    }

    #[test]
    fn where_all_are_active_all_ranges_with_a_vertex_are() {
        let random = &mut Random::new(3);
        for (count, vertices, grain) in [(4, 28, 1), (4, 4000, 1), (2, 1 << 40, 4)] {
            let (cut, all) = (cut(count, vertices), vertices * grain);
            let width = all / count;
            let has = |range: &u64| vertices_of(*range, width) > 0;
            let ranges = (0..RANGES).filter(has).fold(0, |ranges, range| ranges | 1 << range);
            let found = active_ranges(&cut, grain, all, random);
            assert_eq!(found, vec![ranges; count as usize], "{vertices} vertices");
        }
    }

    #[test]
    fn as_many_chunks_are_read_as_are_expected() {
        let random = &mut Random::new(3);
        for (width, sources, edges) in [(100, 1, 24), (100, 10, 24), (1000, 3, 40), (64, 64, 2)] {
            let active = active_ranges(&cut(1, width), 1, sources, random)[0];
            let is_read = |_: &u32| ranges_of_edges(width, edges, random) & active != 0;
            let read = (0..20_000).filter(is_read).count() as f64 / 20_000.0;
            let expected = share_read(width, active, edges);
            assert!((read - expected).abs() < 0.02, "{width}: {read}, not {expected}");
        }
        assert_eq!(share_read(100, 0, 24).to_bits(), 0.0_f64.to_bits());
        assert_eq!(share_read(1 << 30, 1, 1 << 20).to_bits(), 1.0_f64.to_bits());
        assert_eq!(ranges_of_edges(1 << 30, 1 << 20, random), u64::MAX);
    }
}
