//! The graph of all designs: vertices dealt out over workers by their lowest bits, with the targets
//! of the edges that leave them, 4 bytes each.

use std::path::Path;

use anyhow::{Result, ensure};

use crate::baselines::pairs::PairFile;

/// Division of the ids among workers, whose number is a power of two.
#[derive(Clone, Copy, Debug)]
struct Split {
    bits: u32,
}

impl Split {
    #[inline(always)]
    fn owner(self, vertex: u32) -> usize {
        (vertex & ((1 << self.bits) - 1)) as usize
    }

    #[inline(always)]
    fn local(self, vertex: u32) -> u32 {
        vertex >> self.bits
    }
}

/// Vertices of one worker, and the edges that leave them.
pub(super) struct Rows {
    /// Row `v` is `targets[offsets[v]..offsets[v + 1]]`.
    offsets: Vec<u32>,
    targets: Vec<u32>,
    worker: u32,
    split: Split,
}

impl Rows {
    /// Vertices without edges.
    fn new(worker: u32, ids: usize, split: Split) -> Self {
        let workers = 1 << split.bits;
        let count = (ids + workers - 1 - worker as usize) >> split.bits;
        Self { offsets: vec![0; count + 1], targets: Vec::new(), worker, split }
    }

    /// Number of vertices.
    pub(super) fn count(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Id of a vertex.
    pub(super) fn id(&self, local: usize) -> u32 {
        (local as u32) << self.split.bits | self.worker
    }

    /// Targets of the edges that leave a vertex.
    #[inline(always)]
    pub(super) fn row(&self, local: usize) -> &[u32] {
        &self.targets[self.offsets[local] as usize..self.offsets[local + 1] as usize]
    }

    /// Worker of a vertex.
    #[inline(always)]
    pub(super) fn owner(&self, vertex: u32) -> usize {
        self.split.owner(vertex)
    }

    /// Number of a vertex at its worker.
    #[inline(always)]
    pub(super) fn local(&self, vertex: u32) -> u32 {
        self.split.local(vertex)
    }

    /// Turns counts of edges, each one place too far, into beginnings of rows.
    fn make_room(&mut self) {
        for local in 0..self.count() {
            self.offsets[local + 1] += self.offsets[local];
        }
        self.targets = vec![0; self.offsets[self.count()] as usize];
    }

    /// Puts an edge at the beginning of what is free of its row.
    fn push(&mut self, local: u32, target: u32) {
        let place = &mut self.offsets[local as usize];
        self.targets[*place as usize] = target;
        *place += 1;
    }

    /// Turns ends of rows, which beginnings have become, into beginnings again.
    fn seal(&mut self) {
        let count = self.count();
        self.offsets.copy_within(..count, 1);
        self.offsets[0] = 0;
    }
}

/// A graph, by worker.
pub(super) struct Partitions {
    parts: Vec<Rows>,
    vertices: u64,
}

impl Partitions {
    /// Deals out a file of raw pairs over `2^bits` workers.
    ///
    /// # Errors
    /// When the file cannot be read, or has more edges than rows can count.
    pub(super) fn read(path: &Path, bits: u32) -> Result<Self> {
        let file = PairFile::open(path)?;
        ensure!(bits <= 8, "2^{bits} workers");
        ensure!(u32::try_from(file.pairs).is_ok(), "more than 2^32 edges in {}", path.display());
        let mut most = 0;
        file.visit(|pairs| {
            pairs.iter().flatten().for_each(|&id| most = id.max(most));
        })?;
        let (ids, split) = (most as usize + 1, Split { bits });
        let mut named = vec![false; ids];
        let mut parts: Vec<Rows> =
            (0..1 << bits).map(|worker| Rows::new(worker, ids, split)).collect();
        file.visit(|pairs| {
            for &[source, target] in pairs {
                named[source as usize] = true;
                named[target as usize] = true;
                parts[split.owner(source)].offsets[split.local(source) as usize + 1] += 1;
            }
        })?;
        parts.iter_mut().for_each(Rows::make_room);
        file.visit(|pairs| {
            for &[source, target] in pairs {
                parts[split.owner(source)].push(split.local(source), target);
            }
        })?;
        parts.iter_mut().for_each(Rows::seal);
        let vertices = named.into_iter().filter(|&is_named| is_named).count() as u64;
        Ok(Self { parts, vertices })
    }

    /// Parts of the graph, one a worker.
    pub(super) fn parts(&self) -> &[Rows] {
        &self.parts
    }

    /// Number of the ids that some edge names.
    pub(super) fn vertices(&self) -> u64 {
        self.vertices
    }

    /// Values of workers, by id.
    pub(super) fn by_id(&self, values: &[Vec<f32>]) -> Vec<f64> {
        let mut all = vec![0.0; self.parts.iter().map(Rows::count).sum()];
        for (part, values) in self.parts.iter().zip(values) {
            for (local, &value) in values.iter().enumerate() {
                all[part.id(local) as usize] = f64::from(value);
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_lie_with_the_worker_of_their_source() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.u32");
        let pairs: [[u32; 2]; 6] = [[3, 1], [0, 1], [3, 2], [6, 4], [0, 0], [2, 6]];
        std::fs::write(&path, bytemuck::cast_slice(&pairs)).unwrap();
        let graph = Partitions::read(&path, 1).unwrap();
        let [even, odd] = graph.parts() else { panic!("two workers") };
        assert_eq!((even.count(), odd.count(), graph.vertices()), (4, 3, 6));
        let rows = [even.row(0), even.row(1), even.row(2), even.row(3)];
        assert_eq!(rows, [&[1, 0][..], &[6], &[], &[4]]);
        assert_eq!((odd.row(0).len(), odd.row(1), odd.row(2).len()), (0, &[1, 2][..], 0));
        assert_eq!((even.id(3), odd.id(2), odd.owner(6), odd.local(6)), (6, 5, 0, 3));
        let by_id = graph.by_id(&[vec![0.0, 2.0, 4.0, 6.0], vec![1.0, 3.0, 5.0]]);
        let differs = |(id, value): (usize, &f64)| (value - id as f64).abs() > 1e-9;
        assert!(!by_id.iter().enumerate().any(differs), "{by_id:?}");
    }
}
