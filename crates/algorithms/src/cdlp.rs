//! Community detection by label propagation: a vertex takes the label of most of its neighbours.
//!
//! ```text
//! label(v, 0)     = v
//! label(v, i + 1) = the most frequent of label(u, i) over the neighbours u of v,
//!                   the smallest of these where several are
//! ```
//!
//! All vertices change at the same time, so the answer is the same wherever it is found; labels may
//! go to and fro for ever, which is why the number of iterations is part of the question. Edges are
//! followed in both directions, so it wants a graph that was read as undirected: neighbours that
//! are joined by an edge each way count twice, and a vertex without neighbours keeps its label.
//! One pass over the edges an iteration.
//!
//! Source: LDBC Graphalytics (`CDLP`), which made the tie and the order of changes part of the
//! definition; `BlitzG` (`CD`); Raghavan, Albert and Kumara, Near linear time algorithm to detect
//! community structures in large-scale networks (2007).
//!
//! Two triangles with an edge between them are two communities:
//!
//! ```
//! # use welter_engine::plan::{Layout, Plan, Settings, Shape};
//! # use welter_engine::{Graph, Machine, Workers, run};
//! # use welter_model::{ids::IdMap, program::Value};
//! # use welter_progress::Progress;
//! use welter_algorithms::Cdlp;
//! use welter_model::edges::{EdgeList, Reading};
//! use welter_model::group::Grouped;
//! use welter_model::table::ColumnData;
//!
//! let edges = EdgeList::from_pairs(vec![[0, 1], [1, 2], [2, 0], [3, 4], [4, 5], [5, 3], [2, 3]]);
//! let reading = Reading { undirected: true, ..Reading::default() };
//! # let shape = Shape::of(&edges, reading);
//! # let (settings, machine) = (Settings::default(), Machine::detect());
//! # let plan = Plan::new(shape, Layout::of::<Grouped<Cdlp>>(), &settings, &machine)?;
//! # let (edges, workers) = (Box::new(edges), Workers::new(plan.premises.threads)?);
//! # let progress = Progress::new();
//! # let graph = Graph::ingest(edges, &IdMap::Same, reading, &plan, &workers, &progress)?;
//! let outcome = run(&graph, &Grouped(Cdlp::new(10)), &workers, &progress)?;
//! let columns = Value::columns(&outcome.values.whole()?[..]);
//! assert_eq!(columns, [("community", ColumnData::Vertices(vec![0, 0, 0, 2, 2, 2]))]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use bytemuck::{Pod, Zeroable};
use welter_model::frequency::FrequencyTable;
use welter_model::group::Group;
use welter_model::limit::Limit;
use welter_model::program::{Next, Total, Value, Vertex};
use welter_model::table::ColumnData;

/// The program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cdlp {
    iterations: u64,
}

impl Cdlp {
    /// Communities after `iterations` iterations, or fewer where nothing changes any more.
    pub fn new(iterations: u64) -> Self {
        Self { iterations }
    }
}

/// The number of the vertex whose label it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub struct Community(u32);

impl Value for Community {
    fn columns(values: &[Self]) -> Vec<(&'static str, ColumnData)> {
        let labels = values.iter().map(|value| value.0.into()).collect();
        vec![("community", ColumnData::Vertices(labels))]
    }
}

/// Vertices whose label changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub struct Changed(pub u64);

impl Total for Changed {
    #[inline(always)]
    fn merge(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

/// Labels that are sorted rather than counted.
const FEW: usize = 12;

/// Labels that were met, in ascending order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Votes {
    /// The label that was met last, and how often.
    label: u32,
    count: u32,
    /// The most frequent one, the smallest of these, and how often.
    most: u32,
    most_count: u32,
}

impl Group for Cdlp {
    type Value = Community;
    type Update = u32;
    type Accum = Votes;
    type Total = Changed;

    const DEGREES: bool = false;

    #[inline(always)]
    fn init(&self, vertex: Vertex) -> (Community, Changed) {
        (Community(vertex.index as u32), Changed(1))
    }

    #[inline(always)]
    fn update(&self, value: &Community) -> u32 {
        value.0
    }

    #[inline(always)]
    fn nothing(&self) -> Votes {
        Votes::default()
    }

    #[inline(always)]
    fn gather(&self, votes: Votes, label: u32) -> Votes {
        let again = votes.count > 0 && label == votes.label;
        let count = if again { votes.count + 1 } else { 1 };
        let leads = count > votes.most_count;
        let (most, most_count) =
            if leads { (label, count) } else { (votes.most, votes.most_count) };
        Votes { label, count, most, most_count }
    }

    /// A few are sorted, many are counted.
    #[inline(always)]
    fn gather_all(&self, _: &Community, labels: &mut [u32], table: &mut FrequencyTable) -> Votes {
        if labels.len() > FEW
            && let Some((most, most_count)) = table.most_frequent(labels)
        {
            return Votes { label: most, count: most_count, most, most_count };
        }
        labels.sort_unstable();
        labels.iter().fold(self.nothing(), |votes, &label| self.gather(votes, label))
    }

    #[inline(always)]
    fn unchanged(&self, _: &Community) -> Votes {
        self.nothing()
    }

    #[inline(always)]
    fn apply(&self, value: Community, votes: Votes, _: &Changed) -> (Community, Changed) {
        let label = if votes.most_count > 0 { votes.most } else { value.0 };
        (Community(label), Changed(u64::from(label != value.0)))
    }

    fn next(&self, iterations: u64, changed: &Changed) -> Next {
        let goes_on = iterations < self.iterations && changed.0 > 0;
        if goes_on { Next::Iterate } else { Next::Stop }
    }

    fn limit(&self) -> Limit {
        Limit::Stated(self.iterations)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_most_frequent_labels_the_smallest_wins() {
        let program = Cdlp::new(1);
        let wins = |labels: &[u32]| {
            let votes =
                labels.iter().fold(Votes::default(), |votes, &it| program.gather(votes, it));
            let mut turned: Vec<u32> = labels.iter().rev().copied().collect();
            let at_once =
                program.gather_all(&Community(9), &mut turned, &mut FrequencyTable::default());
            let found = [votes, at_once].map(|it| program.apply(Community(9), it, &Changed(0)).0.0);
            assert_eq!(found[0], found[1], "{labels:?}");
            found[0]
        };
        assert_eq!(wins(&[]), 9);
        assert_eq!(wins(&[0]), 0);
        assert_eq!(wins(&[0, 1, 2]), 0);
        assert_eq!(wins(&[0, 1, 1, 2, 2]), 1);
        assert_eq!(wins(&[0, 0, 1, 2, 2, 2]), 2);
        let mut many: Vec<u32> = (0..30).chain([7, 21, 21, 7, 3]).collect();
        many.sort_unstable();
        assert_eq!(wins(&many), 7);
    }
}
