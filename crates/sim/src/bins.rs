//! Buffers of chunks: edges by cell, updates by partition, combined or one by one.
//!
//! ```text
//! edge      source u32, target u32, weight f64
//! update    destination u32, updates that this stands for u32, the program's update; or where they
//!           are combined, its accumulator
//! ```
//!
//! Combining merges the updates for one destination that meet in one buffer, so it needs no memory
//! but where each destination's record begins. A buffer is full when it has so many records, so
//! combined chunks are as large as others, and there are fewer.

use std::collections::BTreeMap;

use bytemuck::{Pod, bytes_of, pod_read_unaligned};
use welter_model::program::Program;
use welter_protocol::names::Cell;
use welter_protocol::planted::Bug;
use welter_protocol::work::Filled;

use crate::job::Cut;

/// Records of a cell that wait for their chunk to be full.
#[derive(Default)]
pub(crate) struct Bin {
    bytes: Vec<u8>,
    records: u32,
    /// Records that were merged into others.
    combined: u32,
    sources: u64,
    /// Where the record of a destination begins, where they are combined.
    places: BTreeMap<u32, usize>,
}

impl Bin {
    /// What is in the buffer, if anything, as a chunk.
    pub(crate) fn take(&mut self, cell: Cell) -> Option<Filled> {
        let Cell { partition, source } = cell;
        (self.records > 0).then(|| {
            let Self { bytes, records, combined, sources, .. } = std::mem::take(self);
            Filled { partition, source, records, combined, sources, payload: bytes.into() }
        })
    }

    /// Records that are in the buffer.
    pub(crate) fn waiting(&self) -> u32 {
        self.records - self.combined
    }

    /// Puts an edge whose source has this bit into the buffer, with so many bytes of state.
    pub(crate) fn edge(
        &mut self,
        (source, target, weight): (u32, u32, f64),
        bit: u64,
        state_bytes: usize,
    ) {
        self.bytes.extend(source.to_le_bytes());
        self.bytes.extend(target.to_le_bytes());
        self.bytes.extend(weight.to_le_bytes());
        self.bytes.resize(self.bytes.len() + state_bytes, 0);
        self.records += 1;
        self.sources |= bit;
    }

    /// Puts an update into the buffer of its partition; where they are combined, into the record of
    /// its destination.
    pub(crate) fn update<P: Program>(
        &mut self,
        program: &P,
        cut: &Cut,
        (target, update): (u32, P::Update),
    ) {
        self.sources = u64::MAX;
        self.records += 1;
        if !combines::<P>(cut) {
            return record(&mut self.bytes, target, &update);
        }
        let Some(&at) = self.places.get(&target) else {
            self.places.insert(target, self.bytes.len());
            let accum = program.gather(program.identity(), update);
            return record(&mut self.bytes, target, &accum);
        };
        self.combined += 1;
        combine(program, &mut self.bytes[at..], update);
        if cut.planted == Some(Bug::CombinedTwice) && self.records % 8 == 5 {
            self.records += 1;
            self.combined += 1;
            combine(program, &mut self.bytes[at..], update);
        }
    }
}

/// Merges an update into the record that these bytes begin with.
fn combine<P: Program>(program: &P, bytes: &mut [u8], update: P::Update) {
    let (head, rest) = bytes.split_at_mut(HEAD_BYTES);
    let count: u32 = pod_read_unaligned(&head[4..]);
    head[4..].copy_from_slice(&(count + 1).to_le_bytes());
    let rest = &mut rest[..size_of::<P::Accum>()];
    let accum = program.gather(pod_read_unaligned(rest), update);
    rest.copy_from_slice(bytes_of(&accum));
}

/// Bytes of a record before its update: the destination, and what it stands for.
const HEAD_BYTES: usize = 8;

/// Adds a record that stands for one update.
pub(crate) fn record<U: Pod>(bytes: &mut Vec<u8>, target: u32, update: &U) {
    bytes.extend(target.to_le_bytes());
    bytes.extend(1u32.to_le_bytes());
    bytes.extend_from_slice(bytes_of(update));
}

/// Destinations, what records stand for, and updates or accumulators.
pub(crate) fn updates<U: Pod>(payload: &[u8]) -> impl Iterator<Item = (u32, u32, U)> {
    payload.chunks_exact(HEAD_BYTES + size_of::<U>()).map(|record| {
        let [target, count] = [0, 4].map(|at| pod_read_unaligned(&record[at..at + 4]));
        (target, count, pod_read_unaligned(&record[HEAD_BYTES..]))
    })
}

/// Whether updates are combined: not those of a program that groups them.
pub(crate) fn combines<P: Program>(cut: &Cut) -> bool {
    cut.combines && !P::GROUPS
}

#[cfg(test)]
mod tests {
    use welter_algorithms::Bfs;
    use welter_protocol::config::Route;
    use welter_protocol::partitions::Partitions;

    use super::*;

    fn cut(combines: bool) -> Cut {
        Cut {
            partitions: Partitions::fitting(1, 9, 1, 9).unwrap(),
            route: Route::Spill,
            chunk_records: 4,
            chunk_vertices: 9,
            piece_edges: 9,
            combines,
            planted: None,
        }
    }

    /// Records that a buffer has after these updates, and the chunk that it becomes.
    fn filled(combines: bool) -> (u32, Filled) {
        let (mut bin, program) = (Bin::default(), Bfs::new(vec![0]));
        for target in [7, 3, 7, 7] {
            let update = program.scatter(program.signal(&bfs_value(&program)), 1.0).unwrap();
            bin.update(&program, &cut(combines), (target, update));
        }
        (bin.waiting(), bin.take(Cell::all(0)).unwrap())
    }

    fn bfs_value(program: &Bfs) -> <Bfs as Program>::Value {
        program.init(welter_model::program::Vertex { index: 0, out_degree: 1 }).value
    }

    #[test]
    fn combined_records_say_how_many_updates_they_stand_for() {
        let (waiting, chunk) = filled(false);
        assert_eq!((waiting, chunk.records, chunk.combined), (4, 4, 0));
        let (waiting, chunk) = filled(true);
        assert_eq!((waiting, chunk.records, chunk.combined), (2, 4, 2));
        let records = updates::<<Bfs as Program>::Accum>(&chunk.payload);
        let counts: Vec<_> = records.map(|(target, count, _)| (target, count)).collect();
        assert_eq!(counts, [(7, 3), (3, 1)]);
    }
}
