//! Memory and traffic of programs over triangles on route `spill`.
//!
//! Rows of a range and what is read and written beside share what is left of the budget: the wider
//! ranges are, the fewer there are, and the less often a row travels on.

use welter_store::io::ALIGN;

use super::account::MemoryAccount;
use super::premises::Premises;
use super::settings::StorageMode;
use super::traffic::Traffic;
use crate::footprints::columns::{self as footprint, CHUNK_FRAME_BYTES, PIECE};
use crate::footprints::schedules::{ENTRY_BYTES, RANK_BYTES, ROW_HEAD, SLACK, TOLD_BYTES};

/// Bytes of the rows of a range, at least, unless a user says so.
const ROWS_LEAST: u64 = 1 << 20;
/// The most bins: each has a bucket of each worker.
const BINS_MOST: u64 = 1 << 10;
/// Bins that a range has, about, if rows were as long as they may be: workers take one each.
const BINS_A_RANGE: u64 = 4;
/// Bytes of a bucket, unless a user says how many rows are to be in memory. Many small requests are
/// slow, and many large buckets have no place.
const BOX_LEAST: u64 = 4 << 10;
const BOX_MOST: u64 = 64 << 10;
/// Bytes of the smallest bucket.
const BOX_TINY: u64 = 128;
/// Bytes of a record: an entry of a row, or an update of a rank.
const RECORD_BYTES: u64 = 8;

/// Ranges of ranks, and partitions of sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrianglesPlan {
    /// Vertices of a partition of sources, at most, or those of a stripe.
    pub sources: u64,
    /// Bytes of the rows of a range, with what its ranks take beside.
    pub rows_bytes: u64,
    /// Bytes that rows of a bin may take, unless one row takes more.
    pub bin_bytes: u64,
    /// Bins of ranks, at most.
    pub bins: u64,
    /// Ranges of bins, at most: so often may a row travel on.
    pub ranges: u64,
    /// The highest ranks, whose counts are in memory all along.
    pub top: u64,
    /// Bytes that wait for each place before they are written.
    pub bucket_bytes: usize,
}

impl TrianglesPlan {
    /// Ranges as wide as `spare` bytes allow. `combined`: whether updates of ranks are merged in
    /// memory where they can be.
    pub(super) fn new(premises: &Premises, spare: u64, combined: bool) -> Self {
        let of = |rows_bytes| Self::of(premises, rows_bytes, combined);
        let least = row_bytes(premises).max((2 * bound(premises)).div_ceil(BINS_MOST));
        if let Some(bytes) = premises.settings.group_bytes {
            return of(least.max(bytes));
        }
        let least = least.max(ROWS_LEAST);
        let most = bound(premises).max(least);
        let wider = (0..).scan(least, |bytes, _| {
            *bytes += *bytes / 4;
            Some(*bytes)
        });
        let widths = std::iter::once(least).chain(wider.take_while(|bytes| bytes / 5 * 4 < most));
        let all: Vec<Self> = widths.map(of).collect();
        // Narrow ranges have small buckets, and of what waits in these there are long lists.
        let widest = all.iter().rev().find(|rows| rows.bytes(premises) <= spare);
        let least = || all.iter().min_by_key(|rows| rows.bytes(premises));
        widest.or_else(least).copied().unwrap_or_else(|| of(most))
    }

    fn of(premises: &Premises, rows_bytes: u64, combined: bool) -> Self {
        let (vertices, threads) = (premises.vertices, premises.threads as u64);
        let bound = bound(premises);
        let bins = (2 * BINS_A_RANGE * bound / rows_bytes + 1).min(BINS_MOST);
        let bin_bytes = (rows_bytes / BINS_A_RANGE).max(2 * bound / bins);
        let ranges = 2 * all_rows(premises) / rows_bytes + 1;
        let share = rows_bytes / (4 * threads * (bins + ranges));
        let bucket_bytes = match premises.settings.group_bytes {
            Some(bytes) => (bytes / 64).clamp(BOX_TINY, BOX_MOST),
            None => share.clamp(BOX_LEAST, BOX_MOST.max(row_bytes(premises)).min(1 << 17)),
        };
        Self {
            sources: rows_bytes / 4,
            rows_bytes,
            bin_bytes,
            bins: bins + 1,
            ranges,
            top: if combined { vertices.min(rows_bytes / 16) } else { 0 },
            bucket_bytes: bucket_bytes as usize,
        }
    }

    /// Bytes that the rows of a bin may take where one row may take `row_bytes`.
    pub(crate) fn bin_bytes(&self, row_bytes: u64) -> u64 {
        self.bin_bytes.max(row_bytes)
    }

    /// Bytes of state in memory, but for what is read ahead.
    pub(super) fn bytes(&self, premises: &Premises) -> u64 {
        let (bits, vertices) = (premises.edges.stripe_bits, premises.vertices);
        let buckets = |places: u64| places * self.bucket_bytes as u64;
        let columns = |bytes: u64| footprint::column_io(bytes, bits);
        let phase = premises.account();
        let written = phase
            .each_worker(footprint::slab_writer(&premises.settings.requests))
            .each_worker(premises.update_frame_bytes());
        let order = phase.shared(columns(8) + PIECE as u64 * 4);
        let orient = written
            .shared(
                self.sources.min(vertices).max(1 << bits) * 4
                    + footprint::piece_reader(4, &premises.settings.requests),
            )
            .each_worker(columns(4) + buckets(self.bins));
        let sweep = written
            .shared(self.rows_bytes)
            .each_worker(premises.marks_bytes() + 4 * row_bytes(premises))
            .each_worker(buckets(self.bins + self.ranges + 2));
        let own = written.shared(self.rows_bytes).each_worker(columns(4) + buckets(1));
        let values = phase.each_worker(columns(4 + premises.program.value) + (TOLD_BYTES << bits));
        let phases = [order, orient, sweep, own, values].map(MemoryAccount::bytes);
        let listed = footprint::chunk_lists(self.chunks(premises));
        listed + 4 * self.top + phases.into_iter().max().unwrap_or(0)
    }

    /// Chunks that may wait at a time, by what is in them: entries, rows, counts, and updates of
    /// vertices.
    fn waiting(&self, premises: &Premises) -> [u64; 4] {
        let threads = premises.threads as u64;
        // Heads and what little a bucket lacks.
        let full = |bytes: u64| bytes.div_ceil(self.bucket_bytes as u64 * 15 / 16);
        let ends = threads * self.bins;
        let entries = full(pairs(premises) * RECORD_BYTES) + ends;
        // Of two buckets of rows one may be nearly empty; of counts half of each is.
        let rows = 2 * full(travelling(premises)) + threads;
        let counts = if self.top >= premises.vertices {
            0
        } else {
            let settled =
                2 * premises.vertices * RECORD_BYTES + self.bins * SLACK * self.bucket_bytes as u64;
            2 * full(settled + pairs(premises) * RECORD_BYTES) + 3 * ends
        };
        let windows = 2 * TOLD_BYTES * premises.vertices / self.rows_bytes + 1;
        let ends = premises.stripes_most() * windows;
        let values = full(premises.vertices * (4 + TOLD_BYTES)) + ends;
        [entries, rows, counts, values]
    }

    /// Chunks that may wait at a time.
    fn chunks(&self, premises: &Premises) -> u64 {
        let [entries, rows, counts, values] = self.waiting(premises);
        (entries + rows + counts).max(counts + values)
    }

    /// Bytes of storage that is taken at a time by what waits, at most.
    pub(super) fn disk_bytes(&self, premises: &Premises) -> u64 {
        let chunk = self.bucket_bytes as u64 + CHUNK_FRAME_BYTES;
        let row = row_bytes(premises) + 4 * ROW_HEAD as u64 + CHUNK_FRAME_BYTES;
        let piece = chunk.max(row).next_multiple_of(ALIGN as u64);
        // Entries and values are put into pieces one after the other, and two pieces have more than
        // fits one. Of the others a piece may wait for one chunk only.
        let [entries, rows, counts, values] = self.waiting(premises);
        let packed = |chunks: u64| chunks.min(2 * chunks * chunk / piece + premises.threads as u64);
        let most = (packed(entries) + rows + counts).max(counts + packed(values));
        most * piece
    }

    /// Bytes that are moved beside edges, in all: at most where there are as many ranges as rows
    /// fill.
    pub(super) fn traffic(&self, premises: &Premises) -> Traffic {
        let vertices = premises.vertices;
        let ranges = all_rows(premises).div_ceil(self.rows_bytes - self.bin_bytes / 2).max(1);
        let rows = (ranges - 1) * travelling(premises);
        let entries = pairs(premises) * RECORD_BYTES;
        let counted = if self.top < vertices { 2 * vertices * RECORD_BYTES + entries } else { 0 };
        let values = vertices * (4 + TOLD_BYTES);
        let partitions = vertices.div_ceil(self.sources).max(1);
        let windows = (TOLD_BYTES * vertices).div_ceil(self.rows_bytes).max(1);
        let columns = vertices * 4 * (1 + 3 + partitions + windows);
        Traffic {
            read: columns + 2 * entries + rows + counted + values,
            written: vertices * (4 + premises.program.value) + entries + rows + counted + values,
        }
    }
}

impl Premises {
    /// Whether rows had better travel, though a program over triangles has a place on route `fold`
    /// too, which would read `chunks` bytes again for each block of rows. Both are bounds, so half
    /// is asked for. `rows`: bytes that they move then.
    pub(super) fn is_cheaper(&self, rows: Traffic, chunks: u64) -> bool {
        let may = self.settings.route.is_none()
            && self.settings.group_bytes.is_none()
            && self.settings.storage == StorageMode::Auto;
        if !may || !self.program.intersects() {
            return false;
        }
        let block = (self.group_room() / 2 * self.threads as u64).max(1);
        let blocks = (pairs(self) + self.vertices.min(pairs(self))).div_ceil(block);
        // Once to count, once or more to fill, and once for each block that is not all.
        let passes = if blocks > 1 { 2 + blocks } else { 2 };
        let Traffic { read, written } = rows;
        2 * (chunks + read + written) < passes * chunks
    }
}

/// Pairs of neighbours.
fn pairs(premises: &Premises) -> u64 {
    premises.shape.edges.div_ceil(2)
}

/// Bytes of all rows, with what ranks take beside.
fn all_rows(premises: &Premises) -> u64 {
    RANK_BYTES * premises.vertices + ENTRY_BYTES * pairs(premises)
}

/// Bytes of all rows, as far as is known before they are made: a row may have an entry for each
/// neighbour.
fn bound(premises: &Premises) -> u64 {
    RANK_BYTES * premises.vertices + ENTRY_BYTES * premises.shape.edges
}

/// Bytes of the longest row, likewise.
fn row_bytes(premises: &Premises) -> u64 {
    RANK_BYTES + ENTRY_BYTES * (premises.shape.edges.isqrt() + 1).min(premises.vertices)
}

/// Bytes of all rows that travel at a time: those have two entries at least.
fn travelling(premises: &Premises) -> u64 {
    ENTRY_BYTES * (pairs(premises) + ROW_HEAD as u64 * premises.vertices.min(pairs(premises) / 2))
}
