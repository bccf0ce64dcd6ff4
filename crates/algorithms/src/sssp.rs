//! Shortest paths from some sources, along edges of non-negative weight.
//!
//! ```text
//! distance(s) = 0 for each source s
//! distance(v) = min over edges u -> v of distance(u) + weight(u, v)
//! ```
//!
//! Vertices whose distance fell tell their neighbours, those of the nearest `bucket` of distances
//! first (delta-stepping): farther ones would likely be improved upon. The width of a bucket
//! decides how much is done, never what comes out: a path's length is summed from its source on, so
//! distances are the same bits in any order. A path whose length is beyond what floats hold has the
//! largest of them, so that its end is not taken for a vertex that no path leads to.
//!
//! Source: Chaos, Table 1; LDBC Graphalytics (`SSSP`); Meyer and Sanders, "Delta-stepping: a
//! parallelizable shortest path algorithm", 2003.
//!
//! The way by vertex 1 is shorter than the edge from 0 to 2, and no path leads to vertex 3:
//!
//! ```
//! # use welter_engine::plan::{Layout, Plan, Settings, Shape};
//! # use welter_engine::{Graph, Machine, Workers, run};
//! # use welter_model::{ids::IdMap, program::Value};
//! # use welter_progress::Progress;
//! use welter_algorithms::Sssp;
//! use welter_model::edges::{EdgeList, Reading};
//! use welter_model::table::ColumnData;
//!
//! let mut edges = EdgeList::new(Some(4), true);
//! edges.push(vec![[0, 1], [1, 2], [0, 2], [3, 0]], vec![1.0, 1.5, 4.0, 1.0]);
//! # let reading = Reading::default();
//! # let shape = Shape::of(&edges, reading);
//! # let (settings, machine) = (Settings::default(), Machine::detect());
//! # let plan = Plan::new(shape, Layout::of::<Sssp<f64>>(), &settings, &machine)?;
//! # let (edges, workers) = (Box::new(edges), Workers::new(plan.premises.threads)?);
//! # let progress = Progress::new();
//! # let graph = Graph::ingest(edges, &IdMap::Same, reading, &plan, &workers, &progress)?;
//! let outcome = run(&graph, &Sssp::<f64>::new(vec![0], f64::INFINITY), &workers, &progress)?;
//! let columns = Value::columns(&outcome.values.whole()?[..]);
//! assert_eq!(columns, [("distance", ColumnData::F64(vec![0.0, 1.0, 2.5, f64::INFINITY]))]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::marker::PhantomData;

use bytemuck::{Pod, Zeroable};
use welter_model::limit::Limit;
use welter_model::program::{Applied, Next, Program, Value, Vertex};
use welter_model::table::ColumnData;

use crate::Float;

/// Shortest paths from some vertices.
#[derive(Clone, Debug)]
pub struct Sssp<F> {
    sources: Vec<u64>,
    bucket: f64,
    float: PhantomData<F>,
}

impl<F: Float> Sssp<F> {
    /// Paths from vertices of these numbers, which need no order. `bucket`: width of the buckets of
    /// distances that are worked on at a time; infinite for none.
    ///
    /// # Panics
    /// When `bucket` is not positive, which is a bug of the caller.
    pub fn new(mut sources: Vec<u64>, bucket: f64) -> Self {
        assert!(bucket > 0.0, "buckets have a width");
        sources.sort_unstable();
        Self { sources, bucket, float: PhantomData }
    }
}

/// Length of the shortest path; infinite where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(transparent)]
pub struct Distance<F>(F);

impl<F: Float> Value for Distance<F> {
    fn columns(values: &[Self]) -> Vec<(&'static str, ColumnData)> {
        vec![("distance", F::column(values.iter().map(|value| value.0).collect()))]
    }
}

impl<F: Float> Program for Sssp<F> {
    type Value = Distance<F>;
    type Signal = F;
    type Update = F;
    type Accum = F;
    type Total = ();

    const WEIGHTED: bool = true;
    const DEGREES: bool = false;
    const FRONTIER: bool = true;
    const MONOTONE: bool = true;
    const ORDER_INDEPENDENT: bool = true;
    const UPDATES_ARE_COMPLETE: bool = true;
    const WIDE: bool = true;

    #[inline(always)]
    fn init(&self, vertex: Vertex) -> Applied<Distance<F>, ()> {
        let active = self.sources.binary_search(&vertex.index).is_ok();
        let distance = if active { 0.0 } else { f64::INFINITY };
        Applied { value: Distance(F::of(distance)), total: (), active }
    }

    #[inline(always)]
    fn signal(&self, value: &Distance<F>) -> F {
        value.0
    }

    #[inline(always)]
    fn scatter(&self, signal: F, weight: f64) -> Option<F> {
        let length = signal + F::of(weight);
        // An edge that is infinitely long leads nowhere; other lengths saturate.
        let endless = signal == F::of(f64::INFINITY) || weight == f64::INFINITY;
        Some(if endless { F::of(f64::INFINITY) } else { length.least(F::MOST) })
    }

    #[inline(always)]
    fn identity(&self) -> F {
        F::of(f64::INFINITY)
    }

    #[inline(always)]
    fn gather(&self, accum: F, update: F) -> F {
        accum.least(update)
    }

    #[inline(always)]
    fn merge(&self, left: F, right: F) -> F {
        left.least(right)
    }

    #[inline(always)]
    fn apply(&self, value: Distance<F>, accum: F, (): &()) -> Applied<Distance<F>, ()> {
        let nearer = accum.wide() < value.0.wide();
        Applied { value: Distance(value.0.least(accum)), total: (), active: nearer }
    }

    #[inline(always)]
    fn urgency(&self, value: &Distance<F>) -> u64 {
        (value.0.wide() / self.bucket) as u64
    }

    fn next(&self, _: u64, (): &()) -> Next {
        Next::Iterate
    }

    fn limit(&self) -> Limit {
        Limit::of_relaxing()
    }
}
