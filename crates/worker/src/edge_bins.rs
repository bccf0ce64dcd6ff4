//! Bins of edges whose ends are others now, by the cells that these are in.
//!
//! A bin is full when it has the edges of a chunk. Cells are as many as pairs of partitions, so
//! what is bounded is not their number, but the edges in all of them: with `b` bins that may be
//! open and `c` edges in a chunk,
//!
//! ```text
//! edges that wait  <=  max(b, P) c        P partitions
//! ```
//!
//! Where more wait the fullest bin is handed out, so chunks are smaller where cells are many.
//!
//! **Invariant:** all edges that were put are in one chunk that was handed out, or wait. Tested by
//! `bins_hold_as_many_edges_as_chunks_that_may_be_open`; checked by the simulator in
//! `Shares::work`.

use std::collections::BTreeMap;

use welter_protocol::ids::Cell;
use welter_protocol::work::Filled;

use crate::partitioning::Partitioning;

/// Edges of a cell that wait for their chunk to be full.
#[derive(Default)]
struct Bin {
    bytes: Vec<u8>,
    /// Ranges of the sources that are there.
    sources: u64,
}

/// Bins of edges of `width` bytes each.
pub(crate) struct EdgeBins {
    width: usize,
    /// Edges in a chunk, and edges that may wait.
    chunk: usize,
    most: usize,
    bins: BTreeMap<Cell, Bin>,
    waiting: usize,
}

impl EdgeBins {
    /// Empty ones.
    pub(crate) fn new(width: usize, cut: &Partitioning) -> Self {
        let open = cut.bins_open_max.max(cut.partitions.count().into());
        let chunk = cut.chunk_records as usize;
        let most = usize::try_from(open).unwrap_or(usize::MAX).saturating_mul(chunk);
        Self { width, chunk, most, bins: BTreeMap::new(), waiting: 0 }
    }

    pub(crate) fn clear(&mut self) {
        self.bins.clear();
        self.waiting = 0;
    }

    /// Puts an edge whose source is in this range into the bin of its cell, and hands out the one
    /// that is full then, or the fullest if too many wait.
    pub(crate) fn put(&mut self, cell: Cell, source: u64, edge: &[&[u8]]) -> Option<Filled> {
        let bin = self.bins.entry(cell).or_default();
        let before = bin.bytes.len();
        for part in edge {
            bin.bytes.extend_from_slice(part);
        }
        assert_eq!(bin.bytes.len(), before + self.width, "all edges are of one width");
        bin.sources |= source;
        self.waiting += 1;
        if bin.bytes.len() >= self.chunk * self.width {
            return self.take(cell);
        }
        if self.waiting <= self.most {
            return None;
        }
        let fullest =
            self.bins.iter().max_by_key(|(_, bin)| bin.bytes.len()).map(|(cell, _)| *cell);
        fullest.and_then(|cell| self.take(cell))
    }

    /// Chunks of all that is left.
    pub(crate) fn rest(&mut self) -> Vec<Filled> {
        let cells: Vec<Cell> = self.bins.keys().copied().collect();
        cells.into_iter().filter_map(|cell| self.take(cell)).collect()
    }

    fn take(&mut self, cell: Cell) -> Option<Filled> {
        let Bin { bytes, sources } = self.bins.remove(&cell)?;
        let records = bytes.len() / self.width;
        self.waiting -= records;
        let Cell { partition, source } = cell;
        let (records, payload) = (records as u32, bytes.into());
        Some(Filled { partition, source, records, combined: 0, sources, payload })
    }
}

#[cfg(test)]
mod tests {
    use welter_protocol::config::Route;
    use welter_protocol::partitions::Partitions;
    use welter_store::header::Encoding;

    use super::*;

    fn bins(bins_open_max: u64) -> EdgeBins {
        let cut = Partitioning {
            partitions: Partitions::fitting(2, 8, 1, 4).unwrap(),
            route: Route::Fold,
            encoding: Encoding::Packed,
            chunk_records: 3,
            bin_chunks: 1,
            chunk_vertices: 4,
            piece_edges: 9,
            bins_open_max,
            source_parts: 1,
            stripe_bits: 63,
            combines: false,
        };
        EdgeBins::new(2, &cut)
    }

    #[test]
    fn bins_hold_as_many_edges_as_chunks_that_may_be_open() {
        let cell = |place: u32| Cell { partition: place / 4, source: Some(place % 4) };
        // Edges go round six cells, so that no bin is full before each has two.
        for (open, waiting) in [(0, 6), (2, 6), (3, 9), (u64::MAX, 12)] {
            let mut bins = bins(open);
            let (mut most, mut handed) = (0, Vec::new());
            for edge in 0..12_u8 {
                handed.extend(bins.put(cell(u32::from(edge) % 6), 1, &[&[edge], &[7]]));
                most = most.max(bins.waiting);
            }
            assert_eq!(most, waiting, "{open} bins");
            handed.extend(bins.rest());
            let mut edges: Vec<u8> = Vec::new();
            for chunk in &handed {
                assert_eq!(chunk.payload.len(), 2 * chunk.records as usize);
                let of = Cell { partition: chunk.partition, source: chunk.source };
                let own = chunk.payload.chunks(2).map(|edge| edge[0]);
                edges.extend(own.inspect(|edge| assert_eq!(cell(u32::from(*edge) % 6), of)));
            }
            edges.sort_unstable();
            assert_eq!(edges, (0..12).collect::<Vec<_>>(), "each once");
        }
    }

    #[test]
    fn a_full_bin_goes_at_once_with_the_ranges_of_its_sources() {
        let mut bins = bins(u64::MAX);
        let at = Cell { partition: 1, source: Some(0) };
        assert!(bins.put(at, 1, &[&[1, 1]]).is_none() && bins.put(at, 4, &[&[2, 2]]).is_none());
        let full = bins.put(at, 4, &[&[3, 3]]).unwrap();
        assert_eq!(
            (full.records, full.sources, &full.payload[..]),
            (3, 5, &[1, 1, 2, 2, 3, 3][..])
        );
        assert_eq!((full.partition, full.source, bins.waiting), (1, Some(0), 0));
        assert!(bins.rest().is_empty());
    }
}
