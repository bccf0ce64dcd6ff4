//! The graph that machines of a cluster work on: each slot is a vertex, and slots ascend in the
//! order of the ids.
//!
//! Readers leave integers that are nearly dense as they are, so some slots may be no vertices. Here
//! the ends of all edges are marked, a bit each, and slots get the numbers of their marks while
//! edges are read. Sparse integers and names were numbered by the reader.
//!
//! A machine that has read a share of the input has edges of its own alone, and the numbers that
//! all machines have found together.
//!
//! Invariant: the number of a vertex is its rank among all ids, as in one process, so what an
//! algorithm makes of numbers (labels, ties, draws) is the same. Tested by
//! `vertices_have_their_ranks` and `every_kind_of_id_has_its_answer_on_a_cluster`.

use std::sync::Arc;

use welter_cluster::{BatchCounter, Numbers, Renumbered, marks};
use welter_input::{SharedIds, SharedInput};
use welter_model::edge_sample::EdgeSample;
use welter_model::edges::{EdgeStream, Pair};
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

    /// The edges of this machine's share, with the vertices of all. Ids are none where they were
    /// not wanted.
    pub(crate) fn of_share(shared: SharedInput) -> Result<Self, Failure> {
        let (count, weighted) = (shared.count, shared.weighted);
        Ok(Self::of_own(shared)?.among((count, weighted)))
    }

    /// The edges of this machine's share alone, with the vertices of all.
    pub(crate) fn of_own(shared: SharedInput) -> Result<Self, Failure> {
        let batches = BatchCounter::default();
        let SharedInput { edges, numbers, ids, .. } = shared;
        let edges = batches.counted(edges.into());
        match (ids, numbers) {
            (SharedIds::Bitmap(words), None) => Self::with_marks(edges, words, batches),
            (SharedIds::Stated(ids, vertices), None) => Ok(Self { edges, ids, vertices, batches }),
            (SharedIds::Numbered(ids, vertices), Some(numbers)) => {
                let numbers = Numbers::Listed(numbers, vertices);
                let edges = Arc::new(Renumbered::new(edges, numbers));
                Ok(Self { edges, ids: ids.unwrap_or_default(), vertices, batches })
            }
            _ => Err(Failure::bug("places have numbers")),
        }
    }

    /// The edges of this machine's parts of a graph of `count` edges and as many vertices. Ids are
    /// none where they were not wanted.
    pub(crate) fn of_parts(
        edges: Box<dyn EdgeStream>,
        (ids, vertices): (IdMap, u64),
        (count, weighted): (u64, bool),
    ) -> Self {
        let batches = BatchCounter::default();
        let edges = batches.counted(edges.into());
        Self { edges, ids, vertices, batches }.among((count, weighted))
    }

    /// The edges as those of one machine, of `count` on all machines.
    fn among(self, (count, weighted): (u64, bool)) -> Self {
        let Self { edges, ids, vertices, batches } = self;
        let edges = Arc::new(OwnShare { edges, count, weighted, vertices });
        Self { edges, ids, vertices, batches }
    }

    /// Vertices are the ends of edges.
    fn marked(edges: Arc<dyn EdgeStream>, batches: BatchCounter) -> Result<Self, Failure> {
        let marks = marks(&*edges).map_err(Failure::read)?;
        Self::with_marks(edges, marks, batches)
    }

    /// Vertices are those slots whose bits are set.
    fn with_marks(
        edges: Arc<dyn EdgeStream>,
        marks: Vec<u64>,
        batches: BatchCounter,
    ) -> Result<Self, Failure> {
        let marks = RankSelectBitmap::new(marks);
        let vertices = marks.count();
        let Some(last) = vertices.checked_sub(1) else {
            return Err(Failure::new(FailureKind::Input, "expected edges, found none"));
        };
        if marks.slot(last) == last {
            return Ok(Self { edges, ids: IdMap::Declared, vertices, batches });
        }
        let mut ids = Vec::new();
        marks.extend_slots(0..vertices, &mut ids);
        let edges = Arc::new(Renumbered::new(edges, Numbers::Bitmap(marks)));
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

/// The edges of one machine, of a graph whose edges are on several.
struct OwnShare {
    edges: Arc<dyn EdgeStream>,
    /// Edges of all machines, by which all of them plan alike.
    count: u64,
    /// Whether these have weights, also where this machine has none of them.
    weighted: bool,
    vertices: u64,
}

impl StreamWrapper for OwnShare {
    type Inner = dyn EdgeStream;

    fn inner(&self) -> &Self::Inner {
        &*self.edges
    }

    fn wrapped_edges(&self) -> u64 {
        self.count
    }

    fn wrapped_weighted(&self) -> bool {
        self.weighted
    }

    fn wrapped_slots(&self) -> Option<u64> {
        Some(self.vertices)
    }

    /// A sample that was taken beforehand is of this machine's edges alone.
    fn wrapped_sample(&self) -> Option<&EdgeSample> {
        None
    }

    /// As if all edges were in memory, as plans of machines count them.
    fn wrapped_bytes(&self) -> u64 {
        self.count.saturating_mul(size_of::<Pair>() as u64)
    }
}

#[cfg(test)]
mod tests {
    use welter_model::edges::{Batch, EdgeList};
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
    fn a_share_has_its_edges_and_the_sizes_of_all() {
        let shared = |numbers, ids| SharedInput {
            edges: list(&[[2, 0], [0, 1]], None),
            numbers,
            ids,
            count: 9,
            weighted: true,
            undirected: None,
            notes: Vec::new(),
            bytes: vec![1, 2],
            contents: 7,
        };
        let names: Names = ["a", "b", "c", "d", "e"].into_iter().collect();
        let all = Some(IdMap::Names(names));
        let marked = SharedIds::Bitmap(vec![0b1_0111]);
        for (numbers, ids, expected, vertices) in [
            (Some(vec![4, 1, 3]), SharedIds::Numbered(all, 5), [[3, 4], [4, 1]], 5),
            (Some(vec![4, 1, 3]), SharedIds::Numbered(None, 5), [[3, 4], [4, 1]], 5),
            (None, marked, [[2, 0], [0, 1]], 4),
            (None, SharedIds::Stated(IdMap::Offset(1), 3), [[2, 0], [0, 1]], 3),
        ] {
            let graph = Numbered::of_share(shared(numbers, ids)).unwrap();
            assert_eq!(pairs(&*graph.edges), expected);
            assert_eq!((graph.vertices, graph.edges.slots()), (vertices, Some(vertices)));
            assert_eq!((graph.edges.edges(), graph.edges.weighted()), (9, true));
            assert_eq!(graph.edges.held_edges(), 2, "those of this machine alone");
        }
        let wrong = Numbered::of_share(shared(None, SharedIds::Numbered(None, 5)));
        assert_eq!(wrong.err().and_then(|it| it.kind()), Some(FailureKind::Internal));
    }
}
