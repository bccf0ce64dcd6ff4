//! Buffers of updates, by the partition of their destinations: combined or one by one.
//!
//! Combining merges the updates for one destination that meet in one buffer, so it needs no memory
//! but where each destination's record is. A buffer is full when it has so many records, so
//! combined chunks are as large as others, and there are fewer. What becomes of a full one is an
//! update chunk of the engine.

use std::collections::BTreeMap;

use bytemuck::Pod;
use welter_engine::chunks::{UpdateCell, write_updates};
use welter_model::program::Program;
use welter_protocol::planted::Bug;
use welter_protocol::work::Filled;

use crate::job::Cut;

/// Updates for a partition that wait for their chunk to be full.
pub(crate) struct Bin<A> {
    /// Relative to the partition.
    pub(crate) targets: Vec<u32>,
    pub(crate) records: Vec<A>,
    /// How many updates the records stand for.
    updates: u32,
    /// Where the record of a destination is, where they are combined.
    places: BTreeMap<u32, usize>,
}

impl<A> Default for Bin<A> {
    fn default() -> Self {
        let (targets, records, places) = (Vec::new(), Vec::new(), BTreeMap::new());
        Self { targets, records, updates: 0, places }
    }
}

impl<A: Pod> Bin<A> {
    pub(crate) fn clear(&mut self) {
        self.targets.clear();
        self.records.clear();
        self.places.clear();
        self.updates = 0;
    }

    /// Records that are in the buffer.
    pub(crate) fn waiting(&self) -> u32 {
        self.targets.len() as u32
    }

    /// Adds a record that stands for one update.
    pub(crate) fn push(&mut self, target: u32, record: A) {
        self.targets.push(target);
        self.records.push(record);
        self.updates += 1;
    }

    /// The buffer as a chunk of updates.
    pub(crate) fn chunk(&self, at: (u64, UpdateCell)) -> Vec<u8> {
        write_updates(at, (&self.targets, &self.records), self.updates.into())
    }

    /// The buffer as a chunk for its partition, if it holds anything; it is empty afterwards.
    pub(crate) fn take(&mut self, at: (u64, UpdateCell)) -> Option<Filled> {
        let filled = (self.updates > 0).then(|| Filled {
            partition: at.1.stripe,
            source: None,
            records: self.updates,
            combined: self.updates - self.waiting(),
            sources: u64::MAX,
            payload: self.chunk(at).into(),
        });
        self.clear();
        filled
    }

    /// Puts an update into the buffer; where they are combined, into the record of its destination.
    pub(crate) fn update<P: Program<Accum = A>>(
        &mut self,
        program: &P,
        cut: &Cut,
        (target, update): (u32, P::Update),
    ) {
        if cut.combines {
            if let Some(&place) = self.places.get(&target) {
                self.combine(program, place, update);
                if cut.planted == Some(Bug::CombinedTwice) && self.updates % 8 == 5 {
                    self.combine(program, place, update);
                }
                return;
            }
            self.places.insert(target, self.targets.len());
        }
        self.push(target, program.gather(program.identity(), update));
    }

    fn combine<P: Program<Accum = A>>(&mut self, program: &P, place: usize, update: P::Update) {
        self.updates += 1;
        self.records[place] = program.gather(self.records[place], update);
    }
}

#[cfg(test)]
mod tests {
    use welter_algorithms::Bfs;
    use welter_engine::chunks::open_updates;
    use welter_protocol::config::Route;
    use welter_protocol::partitions::Partitions;
    use welter_store::header::Encoding;

    use super::*;

    const AT: (u64, UpdateCell) = (7, UpdateCell { turn: 0, stripe: 0, window: 0 });

    fn cut(combines: bool) -> Cut {
        Cut {
            partitions: Partitions::fitting(1, 9, 1, 9).unwrap(),
            route: Route::Spill,
            encoding: Encoding::Packed,
            chunk_records: 4,
            chunk_vertices: 9,
            piece_edges: 9,
            bins_open_max: u64::MAX,
            source_parts: 1,
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
        (bin.waiting(), bin.take(AT).unwrap())
    }

    fn bfs_value(program: &Bfs) -> <Bfs as Program>::Value {
        program.init(welter_model::program::Vertex { index: 0, out_degree: 1 }).value
    }

    #[test]
    fn chunks_say_how_many_updates_they_stand_for() {
        for (combines, targets) in [(false, &[7, 3, 7, 7][..]), (true, &[7, 3])] {
            let (waiting, chunk) = filled(combines);
            let merged = 4 - targets.len() as u32;
            assert_eq!((waiting, chunk.records, chunk.combined), (4 - merged, 4, merged));
            let records = open_updates::<<Bfs as Program>::Accum>(AT, &chunk.payload).unwrap();
            assert_eq!((records.targets, records.updates), (targets, 4));
        }
    }
}
