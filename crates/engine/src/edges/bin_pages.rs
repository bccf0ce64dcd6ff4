//! The lists of pages of all bins: as one worker closes them, and then bin by bin.
//!
//! A list for each bin, grown as pages come, takes more than the pages in it, since what was
//! outgrown lies between what was not: of R-MAT 24 with 256 MiB the allocator had 19 MB for two
//! workers, where pages are 6. So there is one list of all, by the block, and it is sorted when
//! it is whole.

use std::ops::{Deref, Range};
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};

use crate::EngineError;
use crate::footprints::edges::{PAGE_ENTRY_BYTES, PAGE_LIST_BLOCK, PAGE_PLACE_BYTES};
use crate::machine::arena::Buffer;

/// A run of lines of one bin in a slab.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct BinPage {
    pub(crate) slab: u32,
    /// First byte in the slab.
    pub(crate) offset: u32,
    /// Number of edges.
    pub(crate) edges: u32,
    /// Of its bytes, where slabs may be written; else 0.
    pub(crate) checksum: u32,
}

/// A page of a bin.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Closed {
    bin: u32,
    page: BinPage,
}

const _: () = assert!(size_of::<BinPage>() as u64 == PAGE_PLACE_BYTES);
const _: () = assert!(size_of::<Closed>() as u64 == PAGE_ENTRY_BYTES);

/// Entries of a block of the list.
const BLOCK: usize = PAGE_LIST_BLOCK as usize;

/// Pages in the order in which they were closed.
#[derive(Default)]
pub(crate) struct BinPageList {
    blocks: Vec<Buffer<Closed>>,
    /// Entries of the last block.
    taken: usize,
}

impl BinPageList {
    /// Adds a page of a bin.
    pub(crate) fn push(&mut self, bin: usize, page: BinPage) -> Result<(), EngineError> {
        if self.taken == BLOCK || self.blocks.is_empty() {
            self.blocks.push(Buffer::zeroed(BLOCK)?);
            self.taken = 0;
        }
        if let Some(block) = self.blocks.last_mut() {
            block[self.taken] = Closed { bin: bin as u32, page };
            self.taken += 1;
        }
        Ok(())
    }

    /// All pages with their bins.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &BinPage)> {
        let last = self.blocks.len().saturating_sub(1);
        let blocks = self.blocks.iter().enumerate();
        blocks
            .flat_map(move |(number, block)| {
                &block[..if number == last { self.taken } else { BLOCK }]
            })
            .map(|closed| (closed.bin as usize, &closed.page))
    }

    /// The pages of each of `bins` bins, in the order in which they were closed.
    pub(crate) fn sorted(self, bins: usize) -> Result<Vec<BinPages>, EngineError> {
        let mut ends = vec![0_u32; bins];
        self.iter().for_each(|(bin, _)| ends[bin] += 1);
        let mut end = 0;
        for count in &mut ends {
            // Where the next one of the bin goes, and in the end one past its last.
            end += std::mem::replace(count, end);
        }
        let mut all = Buffer::<BinPage>::zeroed(end as usize)?;
        let Self { blocks, taken } = self;
        let last = blocks.len().saturating_sub(1);
        for (number, block) in blocks.into_iter().enumerate() {
            for closed in &block[..if number == last { taken } else { BLOCK }] {
                let place = &mut ends[closed.bin as usize];
                all[*place as usize] = closed.page;
                *place += 1;
            }
        }
        let all = Arc::new(all);
        let mut start = 0;
        let own = |end| {
            let own = std::mem::replace(&mut start, end)..end;
            BinPages { all: Arc::clone(&all), own }
        };
        Ok(ends.into_iter().map(own).collect())
    }
}

/// The pages of a bin that one worker filled.
#[derive(Clone)]
pub(crate) struct BinPages {
    all: Arc<Buffer<BinPage>>,
    own: Range<u32>,
}

impl Deref for BinPages {
    type Target = [BinPage];

    fn deref(&self) -> &[BinPage] {
        &self.all[self.own.start as usize..self.own.end as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bin_has_its_pages_in_their_order() {
        let bins = 7;
        let mut list = BinPageList::default();
        let bin = |number: usize| number * number % 11 % (bins - 1);
        let count = 2 * BLOCK + 5;
        for number in 0..count {
            let page = BinPage { slab: number as u32, ..BinPage::zeroed() };
            list.push(bin(number), page).unwrap();
        }
        assert_eq!(list.iter().count(), count);
        let sorted = list.sorted(bins).unwrap();
        assert_eq!(sorted.len(), bins);
        for (own, pages) in sorted.iter().enumerate() {
            let expected = (0..count).filter(|number| bin(*number) == own);
            let found = pages.iter().map(|page| page.slab as usize);
            assert!(found.eq(expected), "bin {own}");
        }
        assert!(BinPageList::default().sorted(2).unwrap().iter().all(|pages| pages.is_empty()));
    }
}
