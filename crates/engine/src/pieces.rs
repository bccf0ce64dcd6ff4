//! Cutting a cell that is too big to be sorted at once.
//!
//! Cells hold about 2^15 edges, but where many edges run between few vertices one may hold all of
//! the graph. Such a cell is sorted in pieces, each a range of keys, so that the memory of a sort
//! is known before. Every piece reads the whole cell again, which costs less than the sort.

use std::ops::Range;

use crate::EngineError;
use crate::bins::{OpenBin, Origin};
use crate::record::{Record, Waiting};

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
    let mut bucket_bits = 0;
    while sources << origin.target_bits >> bucket_bits > BUCKETS_MAX {
        bucket_bits += 1;
    }
    let buckets = (sources << origin.target_bits >> bucket_bits) as usize + 1;
    let mut counts = vec![0_u32; buckets];
    bin.each::<W>(origin, |record| counts[(record.key() >> bucket_bits) as usize] += 1)?;
    let mut pieces: Vec<(Range<u64>, usize)> = Vec::new();
    for (bucket, count) in counts.into_iter().enumerate() {
        let (start, count) = ((bucket as u64) << bucket_bits, count as usize);
        let end = start + (1 << bucket_bits);
        match pieces.last_mut() {
            Some((keys, held)) if *held + count <= most => (keys.end, *held) = (end, *held + count),
            _ => pieces.push((start..end, count)),
        }
    }
    Ok(pieces)
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
