//! The graph that machines of a cluster work on: each slot is a vertex, and slots ascend in the
//! order of the ids.
//!
//! Readers leave integers that are nearly dense as they are, so some slots may be no vertices. Here
//! the ends of all edges are marked, a bit each, and slots get the numbers of their marks while
//! edges are read. Sparse integers and names were numbered by the reader.
//!
//! Invariant: the number of a vertex is its rank among all ids, as in one process, so what an
//! algorithm makes of numbers (labels, ties, draws) is the same. Tested by
//! `vertices_have_their_ranks` and `every_kind_of_id_has_its_answer_on_a_cluster`.

use std::sync::Arc;

use welter_cluster::BatchCounter;
use welter_model::edge_sample::{EdgeSample, Sample};
use welter_model::edges::{Batch, EdgeStream, StreamError};
use welter_model::ids::IdMap;
use welter_model::rank_select::RankSelectBitmap;
use welter_model::stream_wrapper::StreamWrapper;
use welter_model::table::VertexColumn;
use welter_progress::FailureKind;

use crate::failure::Failure;

/// Edges whose ends are `0..vertices`, each of which is a vertex.
pub(crate) struct Numbered {
    pub(crate) edges: Arc<dyn EdgeStream>,
    /// Ids by number: no [`IdMap::Same`], whose slots need not be vertices.
    pub(crate) ids: IdMap,
    pub(crate) vertices: u64,
    /// Batches that the edges have given.
    pub(crate) batches: BatchCounter,
}

impl Numbered {
    /// The edges that were read, and their ids. Reads all edges where only they say which slots are
    /// vertices.
    pub(crate) fn of(edges: Box<dyn EdgeStream>, ids: IdMap) -> Result<Self, Failure> {
        let batches = BatchCounter::default();
        let edges = batches.counted(edges.into());
        let vertices = match &ids {
            IdMap::Same => return Self::marked(edges, batches),
            IdMap::Sparse(ids) => ids.len() as u64,
            IdMap::Names(names) => names.len() as u64,
            IdMap::TwoKinds(ids) => ids.len() as u64,
            IdMap::Declared | IdMap::Offset(_) => {
                edges.slots().ok_or_else(|| Failure::bug("stated vertices are counted"))?
            }
            IdMap::NonCompact(ids) => ids.vertices(),
        };
        Ok(Self { edges, ids, vertices, batches })
    }

    /// Vertices are the ends of edges.
    fn marked(edges: Arc<dyn EdgeStream>, batches: BatchCounter) -> Result<Self, Failure> {
        let marks = RankSelectBitmap::new(marks(&*edges).map_err(Failure::read)?);
        let vertices = marks.count();
        let Some(last) = vertices.checked_sub(1) else {
            return Err(Failure::new(FailureKind::Input, "expected edges, found none"));
        };
        if marks.slot(last) == last {
            return Ok(Self { edges, ids: IdMap::Declared, vertices, batches });
        }
        let mut ids = Vec::new();
        marks.extend_slots(0..vertices, &mut ids);
        let edges = Arc::new(Renumbered { edges, marks });
        Ok(Self { edges, ids: IdMap::Sparse(ids), vertices, batches })
    }
}

/// The ids of vertices that are all slots.
pub(crate) fn column(ids: IdMap, vertices: u64) -> VertexColumn {
    match ids {
        IdMap::Same | IdMap::Declared => VertexColumn::Range(0..vertices),
        IdMap::Offset(first) => VertexColumn::Range(first..first + vertices),
        IdMap::Sparse(ids) => VertexColumn::Integers(ids),
        IdMap::Names(names) => VertexColumn::Names(names),
        IdMap::NonCompact(ids) => VertexColumn::NonCompact(ids),
        IdMap::TwoKinds(ids) => VertexColumn::TwoKinds(ids),
    }
}

/// The slots that edges name, a bit each.
fn marks(edges: &dyn EdgeStream) -> Result<Vec<u64>, StreamError> {
    let mut words: Vec<u64> = Vec::new();
    for part in 0..edges.parts() {
        edges.read(part, &mut |batch| {
            for &slot in batch.pairs.iter().flatten() {
                let word = slot as usize / 64;
                if word >= words.len() {
                    words.resize((word + 1).next_power_of_two(), 0);
                }
                words[word] |= 1 << (slot % 64);
            }
            true
        })?;
    }
    let used = words.iter().rposition(|word| *word != 0).map_or(0, |last| last + 1);
    words.truncate(used);
    Ok(words)
}

/// Edges whose slots get the numbers of their marks.
struct Renumbered {
    edges: Arc<dyn EdgeStream>,
    marks: RankSelectBitmap,
}

impl Renumbered {
    /// Hands on the edges that `read` hands out, with their numbers.
    fn renumber(
        &self,
        read: impl FnOnce(&mut dyn FnMut(Batch<'_>) -> bool) -> Result<(), StreamError>,
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        let (mut pairs, mut unknown) = (Vec::new(), None);
        read(&mut |batch| {
            pairs.clear();
            for &pair in batch.pairs {
                let [source, target] = pair.map(|slot| self.marks.number(slot.into()));
                let (Some(source), Some(target)) = (source, target) else {
                    unknown = Some(pair);
                    return false;
                };
                pairs.push([source as u32, target as u32]);
            }
            visit(Batch { pairs: &pairs, weights: batch.weights })
        })?;
        match unknown {
            Some([source, target]) => {
                let what =
                    format!("the input has changed: found an edge from {source} to {target}");
                Err(what.into())
            }
            None => Ok(()),
        }
    }
}

impl StreamWrapper for Renumbered {
    type Inner = dyn EdgeStream;

    fn inner(&self) -> &Self::Inner {
        &*self.edges
    }

    fn wrapped_slots(&self) -> Option<u64> {
        Some(self.marks.count())
    }

    /// A sample that was taken beforehand has slots, not numbers.
    fn wrapped_sample(&self) -> Option<&EdgeSample> {
        None
    }

    fn sample_through(
        &self,
        part: usize,
        of: (Sample, usize),
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        self.renumber(|visit| self.edges.sample(part, of, visit), visit)
    }

    fn read_through(
        &self,
        part: usize,
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        self.renumber(|visit| self.edges.read(part, visit), visit)
    }
}

#[cfg(test)]
mod tests {
    use welter_model::edges::EdgeList;
    use welter_model::ids::Names;

    use super::*;

    fn pairs(edges: &dyn EdgeStream) -> Vec<[u32; 2]> {
        let mut found = Vec::new();
        for part in 0..edges.parts() {
            let visit = &mut |batch: Batch<'_>| {
                found.extend_from_slice(batch.pairs);
                true
            };
            edges.read(part, visit).unwrap();
        }
        found
    }

    fn list(pairs: &[[u32; 2]], slots: Option<u64>) -> Box<dyn EdgeStream> {
        let mut list = EdgeList::new(slots, false);
        pairs.chunks(2).for_each(|pairs| list.push(pairs.to_vec(), Vec::new()));
        Box::new(list)
    }

    #[test]
    fn vertices_have_their_ranks() {
        let with_holes = [[700, 3], [3, 64], [64, 130]];
        for slots in [None, Some(701)] {
            let graph = Numbered::of(list(&with_holes, slots), IdMap::Same).unwrap();
            assert_eq!(pairs(&*graph.edges), [[3, 0], [0, 1], [1, 2]]);
            assert_eq!(graph.vertices, 4);
            let ids = column(graph.ids, graph.vertices);
            assert_eq!(ids, VertexColumn::Integers(vec![3, 64, 130, 700]));
        }
        let dense = [[2, 0], [1, 2]];
        let graph = Numbered::of(list(&dense, Some(3)), IdMap::Same).unwrap();
        assert_eq!((pairs(&*graph.edges), graph.vertices), (dense.to_vec(), 3));
        assert_eq!(column(graph.ids, 3), VertexColumn::Range(0..3));
        let names: Names = ["ada", "edsger", "grace"].into_iter().collect();
        let graph = Numbered::of(list(&dense, Some(3)), IdMap::Names(names.clone())).unwrap();
        assert_eq!((graph.vertices, column(graph.ids, 3)), (3, VertexColumn::Names(names)));
        let none = Numbered::of(list(&[], None), IdMap::Same);
        assert_eq!(none.err().and_then(|it| it.kind()), Some(FailureKind::Input));
    }

    #[test]
    fn an_edge_that_was_not_there_before_is_an_error() {
        let edges: Arc<dyn EdgeStream> = list(&[[0, 3]], None).into();
        let marks = RankSelectBitmap::new(vec![0b0001]);
        let edges = Renumbered { edges, marks };
        let error = edges.read(0, &mut |_| true).unwrap_err();
        assert!(error.to_string().contains("from 0 to 3"), "{error}");
    }
}
