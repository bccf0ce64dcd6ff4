//! Active sources of a partition, and chunks of edges that have one: numbers alone.
//!
//! The vertices of a partition lie in 64 ranges, as machines tell them apart. Of `w` vertices `a`
//! are active, as far from each other as they can be, the first vertex among them; sources of the
//! `e` edges of a chunk are drawn evenly:
//!
//! ```text
//! start(r)  = ceil(r w / 64)                          the first place of range r
//! active(r) = start(r) a / w and start(r + 1) a / w differ, both rounded up
//! f         = sum of start(r + 1) - start(r) over active r, by w
//! read      = 1 - (1 - f)^e                           share of chunks that have an active source
//! ```
//!
//! Sources of an R-MAT graph are not even within a partition: its first ranges have more edges.
//! Chunks of as many edges as such graphs have there have sources in all ranges either way.

use welter_protocol::random::Random;

/// Ranges of a partition.
const RANGES: u64 = 64;

/// Edges of a chunk from which on it has sources in all ranges: fewer than one of 100,000 lacks
/// one.
const EDGES_OF_ALL: u64 = 16 * RANGES;

/// `part * of / whole`, rounded up.
pub(super) fn rounded_up(part: u64, of: u64, whole: u64) -> u64 {
    let whole = u128::from(whole.max(1));
    (u128::from(part) * u128::from(of)).div_ceil(whole) as u64
}

/// The first place of a range of `width` vertices.
fn start(range: u64, width: u64) -> u64 {
    rounded_up(range, width, RANGES)
}

/// Ranges of `width` vertices, of which `sources` are active, that have an active one: a bit each.
pub(super) fn active_ranges(width: u64, sources: u64) -> u64 {
    let before = |range| rounded_up(start(range, width), sources, width);
    let is_active = |range: &u64| before(range + 1) > before(*range);
    (0..RANGES).filter(is_active).fold(0, |ranges, range| ranges | 1 << range)
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
    let vertices = |range| start(range + 1, width) - start(range, width);
    let active: u64 = (0..RANGES).filter(|range| ranges >> range & 1 == 1).map(vertices).sum();
    1.0 - (1.0 - active as f64 / width as f64).powf(edges as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn active_ranges_are_those_of_places_that_are_spread_evenly() {
        for width in [1_u64, 7, 64, 100, 1000] {
            for sources in [0, 1, 2, 5, 50, 63, 64, 900].map(|sources| width.min(sources)) {
                let places = (0..sources).map(|source| source * width / sources);
                let ranges = places.fold(0, |ranges, place| ranges | 1 << (place * 64 / width));
                assert_eq!(active_ranges(width, sources), ranges, "{sources} of {width}");
            }
        }
        assert_eq!(active_ranges(0, 0), 0);
        assert_eq!(active_ranges(1 << 40, 1 << 40), u64::MAX);
    }

    #[test]
    fn as_many_chunks_are_read_as_are_expected() {
        let random = &mut Random::new(3);
        for (width, sources, edges) in [(100, 1, 24), (100, 10, 24), (1000, 3, 40), (64, 64, 2)] {
            let active = active_ranges(width, sources);
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
