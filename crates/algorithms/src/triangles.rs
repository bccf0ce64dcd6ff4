//! Triangles: how many pairs of neighbours of a vertex are neighbours of each other, and what share
//! of them.
//!
//! ```text
//! N(v)         = what an edge joins to v, in either direction, v left out
//! triangles(v) = number of pairs u, w of N(v) with an edge u -> w or w -> u
//! lcc(v)       = (number of edges u -> w with u, w in N(v)) / (|N(v)| * (|N(v)| - 1))
//! ```
//!
//! and 0 for the last where a vertex has fewer than two neighbours. Edges without a direction count
//! once each way. A vertex belongs to as many triangles as it has such pairs, so the triangles of a
//! graph are a third of the sum.
//!
//! Both want a graph that was read as undirected without self-loops, each pair of neighbours joined
//! by one edge; for the coefficient its weight must say which ways there are edges. The engine
//! reads the edges three times, and more often where the rows of the graph do not fit in memory; by
//! route `spill` it reads them about once, and rows travel over storage.
//!
//! Source: LDBC Graphalytics (`LCC`); Watts and Strogatz, Collective dynamics of small-world
//! networks (1998).
//!
//! A triangle with a tail:
//!
//! ```
//! # use welter_engine::plan::{Layout, Plan, Settings, Shape};
//! # use welter_engine::{Graph, Machine, Workers, intersect};
//! # use welter_model::{ids::IdMap, program::Value};
//! # use welter_progress::Progress;
//! use welter_algorithms::Triangles;
//! use welter_model::edges::{Duplicates, EdgeList, Reading};
//! use welter_model::table::ColumnData;
//!
//! let edges = EdgeList::from_pairs(vec![[0, 1], [1, 2], [2, 0], [2, 3]]);
//! let reading = Reading {
//!     duplicates: Duplicates::First,
//!     undirected: true,
//!     drop_self_loops: true,
//!     ..Reading::default()
//! };
//! # let shape = Shape::of(&edges, reading);
//! # let (settings, machine) = (Settings::default(), Machine::detect());
//! # let plan = Plan::new(shape, Layout::of_intersect::<Triangles>(), &settings, &machine)?;
//! # let (edges, workers) = (Box::new(edges), Workers::new(plan.premises.threads)?);
//! # let progress = Progress::new();
//! # let graph = Graph::ingest(edges, &IdMap::Same, reading, &plan, &workers, &progress)?;
//! let counts = intersect(&graph, &Triangles, &workers, &progress)?;
//! let columns = Value::columns(&counts.whole()?[..]);
//! assert_eq!(columns, [("triangles", ColumnData::U64(vec![1, 1, 1, 0]))]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use bytemuck::{Pod, Zeroable};
use welter_model::intersect::Intersect;
use welter_model::program::Value;
use welter_model::table::ColumnData;

/// Counts triangles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Triangles;

/// Triangles that a vertex belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub struct Count(u64);

impl Value for Count {
    fn columns(values: &[Self]) -> Vec<(&'static str, ColumnData)> {
        let counts = values.iter().map(|value| value.0).collect();
        vec![("triangles", ColumnData::U64(counts))]
    }
}

impl Intersect for Triangles {
    type Value = Count;

    const DIRECTED: bool = false;

    fn value(&self, _: u64, closed: u64) -> Count {
        Count(closed)
    }
}

/// Local clustering coefficients.
///
/// Of the three pairs of neighbours of vertex 2 one is joined, in one of both ways:
///
/// ```
/// # use welter_engine::plan::{Layout, Plan, Settings, Shape};
/// # use welter_engine::{Graph, Machine, Workers, intersect};
/// # use welter_model::{ids::IdMap, program::Value};
/// # use welter_progress::Progress;
/// use welter_algorithms::Lcc;
/// use welter_model::edges::{Duplicates, EdgeList, Reading};
/// use welter_model::table::ColumnData;
///
/// let edges = EdgeList::from_pairs(vec![[0, 1], [1, 2], [2, 0], [2, 3]]);
/// let duplicates = Duplicates::Directions;
/// let reading = Reading { drop_self_loops: true, duplicates, ..Reading::default() };
/// # let shape = Shape::of(&edges, reading);
/// # let (settings, machine) = (Settings::default(), Machine::detect());
/// # let plan = Plan::new(shape, Layout::of_intersect::<Lcc>(), &settings, &machine)?;
/// # let (edges, workers) = (Box::new(edges), Workers::new(plan.premises.threads)?);
/// # let progress = Progress::new();
/// # let graph = Graph::ingest(edges, &IdMap::Same, reading, &plan, &workers, &progress)?;
/// let shares = intersect(&graph, &Lcc, &workers, &progress)?;
/// let columns = Value::columns(&shares.whole()?[..]);
/// assert_eq!(columns, [("lcc", ColumnData::F64(vec![0.5, 0.5, 1.0 / 6.0, 0.0]))]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lcc;

/// A share of the pairs of neighbours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(transparent)]
pub struct Clustering(f64);

impl Value for Clustering {
    fn columns(values: &[Self]) -> Vec<(&'static str, ColumnData)> {
        vec![("lcc", ColumnData::F64(values.iter().map(|value| value.0).collect()))]
    }
}

impl Intersect for Lcc {
    type Value = Clustering;

    const DIRECTED: bool = true;

    fn value(&self, neighbours: u64, closed: u64) -> Clustering {
        if neighbours < 2 {
            return Clustering(0.0);
        }
        let neighbours = neighbours as f64;
        Clustering(closed as f64 / (neighbours * (neighbours - 1.0)))
    }
}
