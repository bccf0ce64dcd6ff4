//! Compressed sparse rows: for each vertex the sources of its incoming edges, ascending.
//!
//! Ids are used as they are; an id that no edge names is an empty row. Building is not measured,
//! only what is done with the rows.

use std::ops::{Deref, DerefMut};
use std::path::Path;

use anyhow::{Result, ensure};
use bytemuck::Pod;
use welter_algorithms::Float;
use welter_engine::Buffer;

use super::pairs::PairFile;

/// Memory that an array lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pages {
    /// Plain vectors: pages as the system gives them, 4 KiB unless it is told otherwise.
    Plain,
    /// Pages of 2 MiB where the system has them.
    Huge,
}

/// An array in either kind of memory.
pub(crate) enum Array<T> {
    Plain(Vec<T>),
    Huge(Buffer<T>),
}

impl<T: Pod> Array<T> {
    /// `length` zeros.
    pub(crate) fn zeroed(length: usize, pages: Pages) -> Result<Self> {
        Ok(match pages {
            Pages::Plain => Self::Plain(vec![T::zeroed(); length]),
            Pages::Huge => Self::Huge(Buffer::zeroed(length)?),
        })
    }

    /// Copy of the elements in another kind of memory.
    pub(crate) fn copied(&self, pages: Pages) -> Result<Self> {
        let mut copy = Self::zeroed(self.len(), pages)?;
        copy.copy_from_slice(self);
        Ok(copy)
    }
}

impl<T: Pod> Deref for Array<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Self::Plain(vector) => vector,
            Self::Huge(buffer) => buffer,
        }
    }
}

impl<T: Pod> DerefMut for Array<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Self::Plain(vector) => vector,
            Self::Huge(buffer) => buffer,
        }
    }
}

/// A graph by incoming edges.
pub(crate) struct Csr {
    /// Row `v` is `sources[offsets[v]..offsets[v + 1]]`.
    pub(crate) offsets: Array<u32>,
    pub(crate) sources: Array<u32>,
    /// Number of edges that leave each id.
    pub(crate) out_degrees: Vec<u32>,
}

impl Csr {
    /// Builds the rows of the ids `0..ids` from a file of pairs.
    pub(crate) fn build(path: &Path, ids: usize) -> Result<Self> {
        let file = PairFile::open(path)?;
        ensure!(u32::try_from(file.pairs).is_ok(), "more than 2^32 edges in {}", path.display());
        let mut out_degrees = vec![0_u32; ids];
        let mut offsets = Array::zeroed(ids + 1, Pages::Plain)?;
        file.visit(|pairs| {
            for &[source, target] in pairs {
                out_degrees[source as usize] += 1;
                offsets[target as usize + 1] += 1;
            }
        })?;
        for id in 0..ids {
            offsets[id + 1] += offsets[id];
        }
        let mut next = offsets[..ids].to_vec();
        let mut sources = Array::zeroed(file.pairs, Pages::Plain)?;
        file.visit(|pairs| {
            for &[source, target] in pairs {
                let place = &mut next[target as usize];
                sources[*place as usize] = source;
                *place += 1;
            }
        })?;
        sort_rows(&offsets, &mut sources);
        Ok(Self { offsets, sources, out_degrees })
    }

    /// Copy of the graph in another kind of memory.
    pub(crate) fn copied(&self, pages: Pages) -> Result<Self> {
        Ok(Self {
            offsets: self.offsets.copied(pages)?,
            sources: self.sources.copied(pages)?,
            out_degrees: self.out_degrees.clone(),
        })
    }

    /// Number of ids.
    pub(crate) fn ids(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Number of edges.
    pub(crate) fn edges(&self) -> usize {
        self.sources.len()
    }

    /// The rows, for loops over many of them.
    pub(crate) fn rows(&self) -> Rows<'_> {
        Rows { offsets: &self.offsets, sources: &self.sources }
    }

    /// Number of ids that some edge names: the vertices.
    pub(crate) fn vertices(&self) -> u64 {
        let rows = self.rows();
        let named = |&id: &usize| self.out_degrees[id] > 0 || !rows.row(id).is_empty();
        (0..self.ids()).filter(named).count() as u64
    }

    /// `1 / out-degree` of each id, 0 for those that no edge leaves.
    pub(crate) fn shares<F: Float>(&self) -> Vec<F> {
        let share = |&degree: &u32| F::of(if degree == 0 { 0.0 } else { 1.0 / f64::from(degree) });
        self.out_degrees.iter().map(share).collect()
    }
}

/// The rows of a graph, wherever they lie.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    offsets: &'a [u32],
    sources: &'a [u32],
}

impl<'a> Rows<'a> {
    /// Sources of the edges to `target`.
    #[inline(always)]
    pub(crate) fn row(self, target: usize) -> &'a [u32] {
        &self.sources[self.offsets[target] as usize..self.offsets[target + 1] as usize]
    }
}

/// Sorts the rows, in parallel by runs of ids.
fn sort_rows(offsets: &[u32], sources: &mut [u32]) {
    let ids = offsets.len() - 1;
    if ids <= 1 << 12 {
        let mut rest = sources;
        for row in offsets.windows(2) {
            let (front, back) = rest.split_at_mut((row[1] - row[0]) as usize);
            front.sort_unstable();
            rest = back;
        }
        return;
    }
    let middle = ids / 2;
    let (left, right) = sources.split_at_mut((offsets[middle] - offsets[0]) as usize);
    rayon::join(|| sort_rows(&offsets[..=middle], left), || sort_rows(&offsets[middle..], right));
}

/// PageRank's parameters and its arrays, one element an id.
pub(crate) struct Ranking<F> {
    /// `(1 - damping) / vertices`.
    pub(crate) base: F,
    pub(crate) damping: F,
    pub(crate) ranks: Array<F>,
    /// Signal of each id to its neighbours.
    pub(crate) signals: Array<F>,
    pub(crate) shares: Array<F>,
    start: F,
}

impl<F: Float> Ranking<F> {
    /// Arrays for a graph; `vertices` is what ranks are divided by.
    pub(crate) fn new(graph: &Csr, vertices: u64, damping: f64, pages: Pages) -> Result<Self> {
        let start = F::of(1.0 / vertices as f64);
        let mut ranking = Self {
            base: F::of((1.0 - damping) / vertices as f64),
            damping: F::of(damping),
            ranks: Array::zeroed(graph.ids(), pages)?,
            signals: Array::zeroed(graph.ids(), pages)?,
            shares: Array::Plain(graph.shares()).copied(pages)?,
            start,
        };
        ranking.restart();
        Ok(ranking)
    }

    /// Back to before the first iteration.
    pub(crate) fn restart(&mut self) {
        self.ranks.fill(self.start);
    }

    /// The ranks of all ids.
    pub(crate) fn wide(&self) -> Vec<f64> {
        self.ranks.iter().map(|rank| rank.wide()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_the_sources_ascending() {
        let path = std::env::temp_dir().join(format!("welter-bench-csr-{}", std::process::id()));
        let pairs: [[u32; 2]; 5] = [[3, 1], [0, 1], [3, 1], [1, 4], [0, 0]];
        std::fs::write(&path, bytemuck::cast_slice(&pairs)).unwrap();
        let graph = Csr::build(&path, 6).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!((graph.ids(), graph.edges(), graph.vertices()), (6, 5, 4));
        let rows = graph.rows();
        assert_eq!([rows.row(0), rows.row(1), rows.row(4)], [&[0][..], &[0, 3, 3], &[1]]);
        assert_eq!(graph.out_degrees, [2, 1, 0, 2, 0, 0]);
    }
}
