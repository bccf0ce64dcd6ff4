//! Core numbers: how well connected the best connected part is that a vertex belongs to.
//!
//! ```text
//! k-core      = the largest part of the graph in which each vertex has k neighbours or more
//! core(v)     = the largest k whose core v belongs to
//! h(x1, x2..) = the largest h such that h of the numbers are h or more
//! core(v, 0)  = number of neighbours of v
//! core(v, i + 1) = h(core(u, i) over the neighbours u of v)
//! ```
//!
//! The bounds `core(v, i)` fall until they are the core numbers, which are the only numbers that
//! hold all these equations and lie as high as that. One pass over the edges an iteration, until
//! nothing changes: tens of iterations on graphs as people and machines make them, `V / 2` on a
//! path, the worst case.
//!
//! It wants a graph that was read as undirected, without self-loops and parallel edges, which would
//! count as neighbours.
//!
//! Source: Lü, Zhou, Zhang and Stanley, The H-index of a network node and its relation to degree
//! and coreness (2016); Montresor, De Pellegrini and Miorandi, Distributed k-core decomposition
//! (2011).
//!
//! A triangle with a tail: each vertex of the triangle has two neighbours in it.
//!
//! ```
//! # use welter_engine::plan::{Layout, Plan, Settings, Shape};
//! # use welter_engine::{Graph, Machine, Workers, run};
//! # use welter_model::{ids::IdMap, program::Value};
//! # use welter_progress::Progress;
//! use welter_algorithms::KCore;
//! use welter_model::edges::{EdgeList, Reading};
//! use welter_model::group::Grouped;
//! use welter_model::table::ColumnData;
//!
//! let edges = EdgeList::from_pairs(vec![[0, 1], [1, 2], [2, 0], [2, 3]]);
//! let reading = Reading { undirected: true, drop_self_loops: true, ..Reading::default() };
//! # let shape = Shape::of(&edges, reading);
//! # let (settings, machine) = (Settings::default(), Machine::detect());
//! # let plan = Plan::new(shape, Layout::of::<Grouped<KCore>>(), &settings, &machine)?;
//! # let (edges, workers) = (Box::new(edges), Workers::new(plan.premises.threads)?);
//! # let progress = Progress::new();
//! # let graph = Graph::ingest(edges, &IdMap::Same, reading, &plan, &workers, &progress)?;
//! let outcome = run(&graph, &Grouped(KCore), &workers, &progress)?;
//! let columns = Value::columns(&outcome.values.whole()?[..]);
//! assert_eq!(columns, [("core", ColumnData::U32(vec![2, 2, 2, 1]))]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::cmp::{Ordering, Reverse};

use bytemuck::{Pod, Zeroable};
use welter_model::frequency::FrequencyTable;
use welter_model::group::Group;
use welter_model::limit::Limit;
use welter_model::program::{Next, Total, Value, Vertex};
use welter_model::table::ColumnData;

/// The program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KCore;

/// An upper bound of a core number, in the end the number itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub struct Core(u32);

impl Core {
    /// A core number that was found otherwise.
    pub fn of(number: u32) -> Self {
        Self(number)
    }
}

impl Value for Core {
    fn columns(values: &[Self]) -> Vec<(&'static str, ColumnData)> {
        vec![("core", ColumnData::U32(values.iter().map(|value| value.0).collect()))]
    }
}

/// Bound that a neighbour sends. Larger bounds come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub struct Bound(u32);

impl Ord for Bound {
    #[inline(always)]
    fn cmp(&self, other: &Self) -> Ordering {
        Reverse(self.0).cmp(&Reverse(other.0))
    }
}

impl PartialOrd for Bound {
    #[inline(always)]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Bounds that are sorted rather than counted.
const FEW: usize = 12;

/// Bounds that were met, from the largest on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct HIndex {
    count: u32,
    index: u32,
}

/// Progress of the bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Fallen {
    /// Vertices whose bound fell.
    pub vertices: u64,
    /// The largest bound.
    pub largest: u64,
}

impl Total for Fallen {
    #[inline(always)]
    fn merge(self, other: Self) -> Self {
        let vertices = self.vertices + other.vertices;
        Self { vertices, largest: self.largest.max(other.largest) }
    }
}

impl Group for KCore {
    type Value = Core;
    type Update = Bound;
    type Accum = HIndex;
    type Total = Fallen;

    const SELECTIVE: bool = true;
    const WIDE: bool = true;

    #[inline(always)]
    fn init(&self, vertex: Vertex) -> (Core, Fallen) {
        let degree = vertex.out_degree;
        (Core(degree as u32), Fallen { vertices: 1, largest: degree })
    }

    #[inline(always)]
    fn update(&self, value: &Core) -> Bound {
        Bound(value.0)
    }

    #[inline(always)]
    fn nothing(&self) -> HIndex {
        HIndex::default()
    }

    #[inline(always)]
    fn gather(&self, HIndex { count, index }: HIndex, bound: Bound) -> HIndex {
        let count = count + 1;
        HIndex { count, index: index.max(count.min(bound.0)) }
    }

    /// A bound stays where as many neighbours have bounds that are no smaller: one look tells. Else
    /// those that are larger than the old bound are as good as that, so bounds are counted.
    #[inline(always)]
    fn gather_all(&self, value: &Core, bounds: &mut [Bound], table: &mut FrequencyTable) -> HIndex {
        let (old, count) = (value.0, bounds.len() as u32);
        let as_large = bounds.iter().map(|bound| u32::from(bound.0 >= old)).sum::<u32>();
        if as_large >= old {
            return HIndex { count, index: old };
        }
        let most = old.min(count);
        let counters = if bounds.len() > FEW { table.counters(most as usize + 1) } else { None };
        let Some(counters) = counters else {
            bounds.sort_unstable();
            return bounds.iter().fold(self.nothing(), |index, &bound| self.gather(index, bound));
        };
        for bound in bounds {
            counters[bound.0.min(most) as usize] += 1;
        }
        let (mut index, mut as_large) = (most, counters[most as usize]);
        while as_large < index {
            index -= 1;
            as_large += counters[index as usize];
        }
        HIndex { count, index }
    }

    #[inline(always)]
    fn unchanged(&self, value: &Core) -> HIndex {
        HIndex { count: 0, index: value.0 }
    }

    /// Only one that was as large as the own bound can be missed.
    #[inline(always)]
    fn is_affected_by(&self, value: &Core, before: Bound, now: Bound) -> bool {
        before.0 >= value.0 && now.0 < value.0
    }

    #[inline(always)]
    fn apply(&self, value: Core, accum: HIndex, _: &Fallen) -> (Core, Fallen) {
        let core = value.0.min(accum.index);
        let vertices = u64::from(core < value.0);
        (Core(core), Fallen { vertices, largest: core.into() })
    }

    fn next(&self, _: u64, fallen: &Fallen) -> Next {
        if fallen.vertices > 0 { Next::Iterate } else { Next::Stop }
    }

    /// Of vertices taken out one by one, always one with the fewest neighbours left, the first has
    /// its number from the beginning. Iteration `i` gives it to the one after the first `i`: those
    /// taken out before have numbers no larger than its own, and of the others it has no more
    /// neighbours than that. One more iteration finds that nothing changes. (Montresor, De
    /// Pellegrini and Miorandi, theorem 5.)
    fn limit(&self) -> Limit {
        let invariant = "each iteration finds the core number of one more vertex";
        Limit::Proved { most: |vertices| vertices, invariant }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_h_index_counts_those_that_are_as_large_as_their_number() {
        let index = |bounds: &[u32]| {
            let mut bounds: Vec<Bound> = bounds.iter().map(|&bound| Bound(bound)).collect();
            bounds.sort();
            for old in 0..10 {
                let HIndex { index, .. } =
                    KCore.gather_all(&Core(old), &mut bounds, &mut FrequencyTable::default());
                let all =
                    bounds.iter().fold(HIndex::default(), |index, it| KCore.gather(index, *it));
                assert_eq!(index.min(old), all.index.min(old), "{bounds:?}");
            }
            bounds.into_iter().fold(HIndex::default(), |index, it| KCore.gather(index, it)).index
        };
        assert_eq!(index(&[]), 0);
        assert_eq!(index(&[0, 0]), 0);
        assert_eq!(index(&[7]), 1);
        assert_eq!(index(&[1, 2, 3, 4, 5]), 3);
        assert_eq!(index(&[4, 4, 4, 4]), 4);
        assert_eq!(index(&[9, 1, 1, 1]), 1);
    }
}
