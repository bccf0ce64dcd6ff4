//! Records that wait on storage: entries of rows, rows that travel, and counts, by where they go.
//!
//! ```text
//! kind     waits for            target                    and
//! Entries  a bin of ranks       rank, from the bin's on   an entry of its row
//! Rows     a range of bins      words, none:              rank, count, entries, each of these
//! Counts   a bin of ranks       rank, from the bin's on   what it is told
//! Values   a stripe             vertex of the stripe      all that it was told, 8 bytes
//! ```
//!
//! A worker has an open *bucket* for each place where something may go, and writes it as a chunk of
//! updates once it is full.

use bytemuck::Pod;

use crate::EngineError;
use crate::columns::updates::{UpdateChunk, Writer};
use crate::footprints::schedules::ROW_HEAD;
use crate::kernels::update_chunk::{UpdateKey, UpdateKind};

/// Number of kinds; of plain updates there are none here.
const KINDS: usize = UpdateKind::ALL.len();

/// Records of each kind that were written and read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RecordAudit {
    produced: [u64; KINDS],
    gathered: [u64; KINDS],
}

impl RecordAudit {
    pub(super) fn add(&mut self, other: Self) {
        for kind in UpdateKind::ALL {
            self.produce(kind, other.produced[kind as usize]);
            self.gather(kind, other.gathered[kind as usize]);
        }
    }

    /// Notes records that were written.
    pub(super) fn produce(&mut self, kind: UpdateKind, records: u64) {
        self.produced[kind as usize] += records;
    }

    /// Notes records that were read.
    pub(super) fn gather(&mut self, kind: UpdateKind, records: u64) {
        self.gathered[kind as usize] += records;
    }

    /// Checks what was read of a kind against what was written.
    pub(super) fn check(&self, kind: UpdateKind) -> Result<(), EngineError> {
        let (produced, gathered) = (self.produced[kind as usize], self.gathered[kind as usize]);
        if produced == gathered {
            return Ok(());
        }
        let what = ["updates", "entries", "rows", "counts", "values"][kind as usize];
        let what = format!("{produced} {what} were produced, and {gathered} gathered");
        Err(EngineError::internal(what))
    }
}

/// Chunks that wait, by kind and where they go.
pub(super) struct Waiting {
    kinds: [Vec<Vec<UpdateChunk>>; KINDS],
}

impl Waiting {
    /// Nothing waits. Values have a place for each stripe, all others for each bin.
    pub(super) fn new(bins: usize, stripes: usize) -> Self {
        let places = UpdateKind::ALL.map(|kind| match kind {
            UpdateKind::Updates => 0,
            UpdateKind::Entries | UpdateKind::Rows | UpdateKind::Counts => bins,
            UpdateKind::Values => stripes,
        });
        Self { kinds: places.map(|places| (0..places).map(|_| Vec::new()).collect()) }
    }

    /// Takes over what a worker wrote.
    pub(super) fn put(&mut self, chunks: Vec<UpdateChunk>) {
        for chunk in chunks {
            self.kinds[chunk.key.kind as usize][chunk.key.stripe as usize].push(chunk);
        }
    }

    /// Chunks that wait at a place.
    pub(super) fn at(&self, kind: UpdateKind, place: usize) -> &[UpdateChunk] {
        &self.kinds[kind as usize][place]
    }

    /// Takes the chunks that wait at a place; each is given up once it was read.
    pub(super) fn take(&mut self, kind: UpdateKind, place: usize) -> Vec<UpdateChunk> {
        std::mem::take(&mut self.kinds[kind as usize][place])
    }

    /// Number of entries, rows or counts that wait at a place.
    pub(super) fn updates(&self, kind: UpdateKind, place: usize) -> u64 {
        self.at(kind, place).iter().map(|chunk| chunk.updates).sum()
    }
}

/// Records that are about to be written to one place.
struct Open<A> {
    targets: Vec<u32>,
    accums: Vec<A>,
    updates: u64,
}

/// A worker's open buckets of one kind.
pub(super) struct RowBuckets<A> {
    kind: UpdateKind,
    /// Window of the places that are written again and again that this is for.
    pub(super) window: u32,
    /// Records of a bucket.
    room: usize,
    open: Vec<Open<A>>,
    produced: u64,
}

impl<A: Pod> RowBuckets<A> {
    /// Buckets for `places` places, each of at most `bucket_bytes` bytes.
    pub(super) fn new(kind: UpdateKind, places: usize, bucket_bytes: usize) -> Self {
        let room = bucket_bytes / (4 + size_of::<A>());
        let none = |_| Open { targets: Vec::new(), accums: Vec::new(), updates: 0 };
        Self { kind, window: 0, room, open: (0..places).map(none).collect(), produced: 0 }
    }

    /// Puts a record into the bucket of a place.
    #[inline(always)]
    pub(super) fn put(
        &mut self,
        place: usize,
        (target, accum): (u32, A),
        writer: &mut Writer,
    ) -> Result<(), EngineError> {
        let open = &mut self.open[place];
        if open.targets.capacity() == 0 {
            open.targets.reserve_exact(self.room);
            open.accums.reserve_exact(self.room);
        }
        open.targets.push(target);
        open.accums.push(accum);
        open.updates += 1;
        if open.targets.len() >= self.room {
            return self.write(place, writer);
        }
        Ok(())
    }

    /// Writes all that waits for a place.
    pub(super) fn write(&mut self, place: usize, writer: &mut Writer) -> Result<(), EngineError> {
        let Open { targets, accums, updates } = &mut self.open[place];
        if targets.is_empty() {
            return Ok(());
        }
        let cell = UpdateKey { kind: self.kind, ..UpdateKey::new(0, place as u32, self.window) };
        writer.put(cell, (targets, accums), *updates)?;
        self.produced += std::mem::take(updates);
        targets.clear();
        accums.clear();
        Ok(())
    }

    /// Writes a bucket out, and gives up its memory.
    pub(super) fn close(&mut self, place: usize, writer: &mut Writer) -> Result<(), EngineError> {
        self.write(place, writer)?;
        self.open[place] = Open { targets: Vec::new(), accums: Vec::new(), updates: 0 };
        Ok(())
    }

    /// Writes all that there is.
    pub(super) fn finish(&mut self, writer: &mut Writer) -> Result<(), EngineError> {
        (0..self.open.len()).try_for_each(|place| self.write(place, writer))
    }

    /// Number of updates that were written since this was asked last.
    pub(super) fn take_produced(&mut self) -> u64 {
        std::mem::take(&mut self.produced)
    }
}

impl RowBuckets<u32> {
    /// Puts an update of a target into the bucket of a place, where it is merged with others of the
    /// target.
    #[inline(always)]
    pub(super) fn put_merged(
        &mut self,
        place: usize,
        (target, more): (u32, u32),
        writer: &mut Writer,
    ) -> Result<(), EngineError> {
        if self.open[place].targets.len() + 1 >= self.room {
            self.merge(place);
            if self.open[place].targets.len() > self.room / 2 {
                self.write(place, writer)?;
            }
        }
        self.put(place, (target, more), writer)
    }

    /// Adds up the updates of each target of a place.
    #[cold]
    fn merge(&mut self, place: usize) {
        let Open { targets, accums, updates } = &mut self.open[place];
        let mut records: Vec<(u32, u32)> = targets.drain(..).zip(accums.drain(..)).collect();
        records.sort_unstable();
        for (target, more) in records {
            let is_last = targets.last() == Some(&target);
            let sum = accums.last_mut().filter(|_| is_last);
            if let Some((sum, all)) =
                sum.and_then(|sum| sum.checked_add(more).map(|all| (sum, all)))
            {
                *sum = all;
            } else {
                targets.push(target);
                accums.push(more);
            }
        }
        *updates = targets.len() as u64;
    }
}

impl RowBuckets<()> {
    /// Puts a row that travels into the bucket of a range. One that does not fit any is written
    /// alone.
    pub(super) fn put_row(
        &mut self,
        range: usize,
        (rank, count): (u32, u32),
        row: &[u32],
        writer: &mut Writer,
    ) -> Result<(), EngineError> {
        let words = ROW_HEAD + row.len();
        if self.open[range].targets.len() + words > self.room {
            self.write(range, writer)?;
        }
        let open = &mut self.open[range];
        open.targets.reserve_exact(self.room.max(words) - open.targets.len());
        open.targets.extend([rank, count, row.len() as u32]);
        open.targets.extend_from_slice(row);
        open.updates += 1;
        if words <= self.room {
            return Ok(());
        }
        self.write(range, writer)?;
        self.open[range].targets.shrink_to(self.room);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_an_error() {
        let mut audit = RecordAudit::default();
        audit.add(RecordAudit { produced: [0, 3, 4, 5, 6], gathered: [0, 1, 4, 2, 6] });
        audit.add(RecordAudit { produced: [0; KINDS], gathered: [0, 2, 0, 2, 0] });
        for kind in [UpdateKind::Entries, UpdateKind::Rows, UpdateKind::Values] {
            audit.check(kind).unwrap();
        }
        let error = audit.check(UpdateKind::Counts).unwrap_err().to_string();
        let what = "broken invariant: 5 counts were produced, and 4 gathered (crates/engine/src/";
        assert!(error.starts_with(what) && error.contains("buckets.rs:"), "{error}");
    }

    #[test]
    fn what_the_same_rank_is_told_is_added_up() {
        let mut buckets = RowBuckets::<u32>::new(UpdateKind::Counts, 2, 64);
        let records = [(7, 1), (2, u32::MAX), (7, 5), (2, 1), (3, 9), (7, 2)];
        let (targets, accums) = records.into_iter().unzip();
        buckets.open[1] = Open { targets, accums, updates: 6 };
        buckets.merge(1);
        let Open { targets, accums, updates } = &buckets.open[1];
        assert_eq!(targets[..], [2, 2, 3, 7]);
        assert_eq!(accums[..], [1, u32::MAX, 9, 8]);
        assert_eq!(*updates, 4);
    }
}
