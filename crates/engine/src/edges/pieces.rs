//! Cutting a cell that is too big to be sorted at once.
//!
//! Cells hold about 2^15 edges, but where many edges run between few vertices one may hold all of
//! the graph. Such a cell is sorted in pieces, each a range of keys, so that the memory of a sort
//! is known before. Every piece reads the whole cell again, which costs less than the sort.

use std::ops::Range;

use crate::EngineError;
use crate::edges::bins::{OpenBin, Origin};
use crate::kernels::record::{Record, Waiting};

/// Keys are counted in this many ranges at most: 256 KiB of counters.
const BUCKETS_MAX: u64 = 1 << 16;

/// The ranges of keys that hold at most `most` edges each, where the edges are not nearly all
/// parallel, and the number of edges in each. `sources`: number of slots in the group.
pub(crate) fn pieces<W: Waiting>(
    bin: &OpenBin<'_>,
    origin: Origin,
    sources: u64,
    most: usize,
) -> Result<Vec<(Range<u64>, usize)>, EngineError> {
    let each = |visit: &mut dyn FnMut(u64)| bin.each::<W>(origin, |record| visit(record.key()));
    let mut pieces = Vec::new();
    cut(&each, 0..sources << origin.low_bits::<W>(), most, &mut pieces)?;
    Ok(pieces)
}

/// Shows all keys.
type Each<'a> = dyn Fn(&mut dyn FnMut(u64)) -> Result<(), EngineError> + 'a;

/// Cuts a range of keys, and again what holds too many in too short a range.
fn cut(
    each: &Each<'_>,
    keys: Range<u64>,
    most: usize,
    pieces: &mut Vec<(Range<u64>, usize)>,
) -> Result<(), EngineError> {
    let mut bucket_bits = 0;
    while (keys.end - keys.start) >> bucket_bits > BUCKETS_MAX {
        bucket_bits += 1;
    }
    let buckets = ((keys.end - keys.start) >> bucket_bits) as usize + 1;
    let mut counts = vec![0_u32; buckets];
    each(&mut |key| {
        if keys.contains(&key) {
            counts[((key - keys.start) >> bucket_bits) as usize] += 1;
        }
    })?;
    for (bucket, count) in counts.into_iter().enumerate() {
        let start = keys.start + ((bucket as u64) << bucket_bits);
        let (bucket, count) = (start..keys.end.min(start + (1 << bucket_bits)), count as usize);
        match pieces.last_mut() {
            _ if count > most && bucket_bits > 0 => cut(each, bucket, most, pieces)?,
            Some((keys, held)) if *held + count <= most => {
                (keys.end, *held) = (bucket.end, *held + count);
            }
            _ => pieces.push((bucket, count)),
        }
    }
    Ok(())
}

/// Writes the edges of a piece to `records`, in the order of the input.
pub(crate) fn fill<W: Waiting>(
    bin: &OpenBin<'_>,
    origin: Origin,
    keys: &Range<u64>,
    records: &mut [W::Record],
) -> Result<(), EngineError> {
    let mut filled = 0;
    bin.each::<W>(origin, |record| {
        if keys.contains(&record.key()) {
            records[filled] = record;
            filled += 1;
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_range_with_many_edges_is_cut_again() {
        // Eight sources with all targets each, among 2^20 sources with few: 16 sources would be the
        // finest range that can be counted at once.
        let (targets, sources) = (1_u64 << 17, 1_u64 << 20);
        let mut all: Vec<u64> =
            (0..8 * targets).map(|edge| edge % 8 * targets + edge / 8).collect();
        all.extend((0..sources).map(|source| source * targets + source % 1000));
        all.extend(std::iter::repeat_n(5, 300_000));
        let each = |visit: &mut dyn FnMut(u64)| {
            for key in &all {
                visit(*key);
            }
            Ok(())
        };
        let most = 1 << 16;
        let mut pieces = Vec::new();
        cut(&each, 0..sources * targets, most, &mut pieces).unwrap();
        assert_eq!(pieces.iter().map(|(_, held)| held).sum::<usize>(), all.len());
        let ranges = || pieces.iter().map(|(keys, _)| keys);
        assert!(ranges().zip(ranges().skip(1)).all(|(one, next)| one.end == next.start));
        for (keys, held) in &pieces {
            assert_eq!(all.iter().filter(|key| keys.contains(key)).count(), *held);
            // Parallel edges stay together, whatever their number.
            assert!(*held <= most || *keys == (5..6), "{keys:?} {held}");
        }
        assert!(pieces.len() < 3 * all.len() / most, "{}", pieces.len());
    }
}
