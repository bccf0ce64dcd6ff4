//! The lists of segments of all bins: as one worker closes them, and then bin by bin.
//!
//! A list for each bin, grown as segments come, takes more than the segments in it, since what was
//! outgrown lies between what was not: of R-MAT 24 with 256 MiB the allocator had 19 MB for two
//! workers, where segments are 6. So there is one list of all, by the page, and it is sorted when
//! it is whole.

use std::ops::{Deref, Range};
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};

use crate::EngineError;
use crate::machine::arena::Buffer;

/// A run of lines of one bin in a slab.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Segment {
    pub(crate) slab: u32,
    /// First byte in the slab.
    pub(crate) offset: u32,
    /// Number of edges.
    pub(crate) edges: u32,
    /// Of its bytes, where slabs may be written; else 0.
    pub(crate) checksum: u32,
}

/// A segment of a bin.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Closed {
    bin: u32,
    segment: Segment,
}

/// Entries of a page of the list: few enough that it gets no huge page.
const PAGE: usize = (120 << 10) / size_of::<Closed>();

/// Bytes of a segment on the list, and when it lies with those of its bin.
pub(crate) const LISTED_BYTES: u64 = size_of::<Closed>() as u64;
pub(crate) const SORTED_BYTES: u64 = size_of::<Segment>() as u64;
/// Bytes of lists beside their segments, of each worker.
pub(crate) const PAGE_BYTES: u64 = (PAGE * size_of::<Closed>()) as u64;

/// Segments in the order in which they were closed.
#[derive(Default)]
pub(crate) struct List {
    pages: Vec<Buffer<Closed>>,
    /// Entries of the last page.
    taken: usize,
}

impl List {
    /// Adds a segment of a bin.
    pub(crate) fn push(&mut self, bin: usize, segment: Segment) -> Result<(), EngineError> {
        if self.taken == PAGE || self.pages.is_empty() {
            self.pages.push(Buffer::zeroed(PAGE)?);
            self.taken = 0;
        }
        if let Some(page) = self.pages.last_mut() {
            page[self.taken] = Closed { bin: bin as u32, segment };
            self.taken += 1;
        }
        Ok(())
    }

    /// All segments with their bins.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &Segment)> {
        let last = self.pages.len().saturating_sub(1);
        let pages = self.pages.iter().enumerate();
        pages
            .flat_map(move |(number, page)| &page[..if number == last { self.taken } else { PAGE }])
            .map(|closed| (closed.bin as usize, &closed.segment))
    }

    /// The segments of each of so many bins, in the order in which they were closed.
    pub(crate) fn sorted(self, bins: usize) -> Result<Vec<Segments>, EngineError> {
        let mut ends = vec![0_u32; bins];
        self.iter().for_each(|(bin, _)| ends[bin] += 1);
        let mut end = 0;
        for count in &mut ends {
            // Where the next one of the bin goes, and in the end one past its last.
            end += std::mem::replace(count, end);
        }
        let mut all = Buffer::<Segment>::zeroed(end as usize)?;
        let Self { pages, taken } = self;
        let last = pages.len().saturating_sub(1);
        for (number, page) in pages.into_iter().enumerate() {
            for closed in &page[..if number == last { taken } else { PAGE }] {
                let place = &mut ends[closed.bin as usize];
                all[*place as usize] = closed.segment;
                *place += 1;
            }
        }
        let all = Arc::new(all);
        let mut start = 0;
        let own = |end| {
            let own = std::mem::replace(&mut start, end)..end;
            Segments { all: Arc::clone(&all), own }
        };
        Ok(ends.into_iter().map(own).collect())
    }
}

/// The segments of a bin that one worker filled.
#[derive(Clone)]
pub(crate) struct Segments {
    all: Arc<Buffer<Segment>>,
    own: Range<u32>,
}

impl Deref for Segments {
    type Target = [Segment];

    fn deref(&self) -> &[Segment] {
        &self.all[self.own.start as usize..self.own.end as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bin_has_its_segments_in_their_order() {
        let bins = 7;
        let mut list = List::default();
        let bin = |number: usize| number * number % 11 % (bins - 1);
        let count = 2 * PAGE + 5;
        for number in 0..count {
            let segment = Segment { slab: number as u32, ..Segment::zeroed() };
            list.push(bin(number), segment).unwrap();
        }
        assert_eq!(list.iter().count(), count);
        let sorted = list.sorted(bins).unwrap();
        assert_eq!(sorted.len(), bins);
        for (own, segments) in sorted.iter().enumerate() {
            let expected = (0..count).filter(|number| bin(*number) == own);
            let found = segments.iter().map(|segment| segment.slab as usize);
            assert!(found.eq(expected), "bin {own}");
        }
        assert!(List::default().sorted(2).unwrap().iter().all(|segments| segments.is_empty()));
    }
}
