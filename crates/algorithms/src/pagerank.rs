//! PageRank: the share of time that a random walk spends at each vertex.
//!
//! With damping `d`, `V` vertices, out-degrees `deg` and sinks `S` (vertices that no edge leaves):
//!
//! ```text
//! rank_0(v)     = 1 / V
//! rank_{i+1}(v) = (1 - d) / V  +  d * sinks_i  +  d * sum over edges (u, v) of rank_i(u) / deg(u)
//! sinks_i       = sum over s in S of rank_i(s) / V          (but see `Dangling`)
//! ```
//!
//! | paper (Chaos, Figure 2) | here |
//! |---|---|
//! | `v.rank / v.degree`, sent along each edge | `signal`, `scatter` |
//! | `v.accum += update` | `gather` |
//! | `v.rank = 0.15 + 0.85 * v.accum` | `apply`, with [`Dangling::Papers`] |
//!
//! Edges count as often as they occur; weights are not looked at. Iteration ends after
//! `iterations`, or as soon as the ranks of one iteration differ from the last ones by less than
//! `tolerance` in total (L1). One pass over the edges an iteration.
//!
//! A star: three vertices point at vertex 0, which is a sink. What they have, `x`, is the same, and
//! ranks sum to 1, so `x (1 + 3 * 0.85) + 3 x = 1`:
//!
//! ```
//! # use welter_engine::plan::{Layout, Plan, Settings, Shape};
//! # use welter_engine::{Graph, Machine, Workers, run};
//! # use welter_model::{ids::IdMap, program::Value};
//! # use welter_progress::Progress;
//! use welter_algorithms::{PageRank, pagerank::Dangling};
//! use welter_model::edges::{EdgeList, Reading};
//! use welter_model::table::ColumnData;
//!
//! let edges = EdgeList::from_pairs(vec![[1, 0], [2, 0], [3, 0]]);
//! # let reading = Reading::default();
//! # let shape = Shape::of(&edges, reading);
//! # let (settings, machine) = (Settings::default(), Machine::detect());
//! # let plan = Plan::new(shape, Layout::of::<PageRank<f64>>(), &settings, &machine)?;
//! # let (edges, workers) = (Box::new(edges), Workers::new(plan.premises.threads)?);
//! # let progress = Progress::new();
//! # let graph = Graph::ingest(edges, &IdMap::Same, reading, &plan, &workers, &progress)?;
//! let program = PageRank::<f64>::new(4, 0.85, 100, 0.0, Dangling::Spread);
//! let outcome = run(&graph, &program, &workers, &progress)?;
//! let columns = Value::columns(&outcome.values.whole()?[..]);
//! let ("rank", ColumnData::F64(ranks)) = &columns[0] else { panic!("{columns:?}") };
//! assert!((ranks[0] - 3.55 / 6.55).abs() < 1e-12 && (ranks[1] - 1.0 / 6.55).abs() < 1e-12);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use bytemuck::{Pod, Zeroable};
use welter_model::limit::Limit;
use welter_model::program::{Applied, Next, Program, Total, Value, Vertex};
use welter_model::table::ColumnData;

use crate::Float;

/// Treatment of the rank of sinks, which no edge carries on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dangling {
    /// The rank of sinks goes to all vertices evenly, as LDBC Graphalytics demands: ranks sum to 1.
    #[default]
    Spread,
    /// As `NetworkX` does: spread like the teleport, which is evenly, and `tolerance` is per
    /// vertex: iteration ends when the ranks change by less than `V * tolerance` in total.
    NetworkX,
    /// Rank of sinks is lost. Ranks sum to less than 1 when there are sinks.
    Drop,
    /// As in the papers, which do not normalise: every vertex begins with rank 1, and
    /// `rank = 1 - d + d * sum`; the rank of sinks is lost.
    Papers,
}

/// The program and its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PageRank<F> {
    vertices: f64,
    damping: f64,
    iterations: u64,
    change_min: f64,
    dangling: Dangling,
    float: std::marker::PhantomData<F>,
}

impl<F: Float> PageRank<F> {
    /// Ranks a graph of `vertices` vertices. `damping` lies between 0 and 1; `tolerance` 0 means
    /// that all `iterations` are done.
    pub fn new(
        vertices: u64,
        damping: f64,
        iterations: u64,
        tolerance: f64,
        dangling: Dangling,
    ) -> Self {
        let vertices = vertices as f64;
        let per_vertex = if dangling == Dangling::NetworkX { vertices } else { 1.0 };
        let change_min = tolerance * per_vertex;
        Self {
            vertices,
            damping,
            iterations,
            change_min,
            dangling,
            float: std::marker::PhantomData,
        }
    }
}

/// State of a vertex: its rank, and `1 / out-degree`, the share of the rank that each of its edges
/// carries (0 for a sink).
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(transparent)]
pub struct Rank<F>([F; 2]);

impl<F: Float> Value for Rank<F> {
    fn columns(values: &[Self]) -> Vec<(&'static str, ColumnData)> {
        vec![("rank", F::column(values.iter().map(|value| value.0[0]).collect()))]
    }
}

/// Totals of an iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct RankTotal {
    /// Sum of the ranks of sinks.
    pub sinks: f64,
    /// Sum of the absolute changes of ranks.
    pub change: f64,
}

impl Total for RankTotal {
    #[inline(always)]
    fn merge(self, other: Self) -> Self {
        Self { sinks: self.sinks + other.sinks, change: self.change + other.change }
    }
}

impl<F: Float> Program for PageRank<F> {
    type Value = Rank<F>;
    type Signal = F;
    type Update = F;
    type Accum = F;
    type Total = RankTotal;

    const WEIGHTED: bool = false;
    const WIDE: bool = true;

    #[inline(always)]
    fn init(&self, vertex: Vertex) -> Applied<Rank<F>, RankTotal> {
        let rank = if self.dangling == Dangling::Papers { 1.0 } else { 1.0 / self.vertices };
        let sink = vertex.out_degree == 0;
        let share = if sink { 0.0 } else { 1.0 / vertex.out_degree as f64 };
        let value = Rank([F::of(rank), F::of(share)]);
        // The first iteration is never the last for want of change.
        let sinks = if sink { rank } else { 0.0 };
        Applied::active(value, RankTotal { sinks, change: f64::INFINITY })
    }

    #[inline(always)]
    fn signal(&self, &Rank([rank, share]): &Rank<F>) -> F {
        rank * share
    }

    #[inline(always)]
    fn scatter(&self, signal: F, _weight: f64) -> Option<F> {
        Some(signal)
    }

    #[inline(always)]
    fn identity(&self) -> F {
        F::default()
    }

    #[inline(always)]
    fn gather(&self, accum: F, update: F) -> F {
        accum + update
    }

    #[inline(always)]
    fn merge(&self, left: F, right: F) -> F {
        left + right
    }

    #[inline(always)]
    fn apply(
        &self,
        Rank([old, share]): Rank<F>,
        accum: F,
        last: &RankTotal,
    ) -> Applied<Rank<F>, RankTotal> {
        let teleport = match self.dangling {
            Dangling::Spread | Dangling::NetworkX => {
                (1.0 - self.damping + self.damping * last.sinks) / self.vertices
            }
            Dangling::Drop => (1.0 - self.damping) / self.vertices,
            Dangling::Papers => 1.0 - self.damping,
        };
        let rank = F::of(teleport) + F::of(self.damping) * accum;
        let sinks = if share == F::default() { rank.wide() } else { 0.0 };
        let change = (rank.wide() - old.wide()).abs();
        Applied { value: Rank([rank, share]), total: RankTotal { sinks, change }, active: true }
    }

    fn next(&self, iterations: u64, total: &RankTotal) -> Next {
        let settled = total.change < self.change_min;
        if iterations < self.iterations && !settled { Next::Iterate } else { Next::Stop }
    }

    fn limit(&self) -> Limit {
        Limit::Stated(self.iterations)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One iteration by the program's own functions on `edges`.
    fn step(
        program: &PageRank<f64>,
        values: &mut [Rank<f64>],
        edges: &[[usize; 2]],
        t: &mut RankTotal,
    ) {
        let mut accums = vec![program.identity(); values.len()];
        for &[source, target] in edges {
            if let Some(update) = program.scatter(program.signal(&values[source]), 1.0) {
                accums[target] = program.gather(accums[target], update);
            }
        }
        let mut total = RankTotal::default();
        for (value, accum) in values.iter_mut().zip(accums) {
            let applied = program.apply(*value, accum, t);
            *value = applied.value;
            total = total.merge(applied.total);
        }
        *t = total;
    }

    fn ranks(
        dangling: Dangling,
        edges: &[[usize; 2]],
        vertices: usize,
        iterations: u64,
    ) -> Vec<f64> {
        let program = PageRank::new(vertices as u64, 0.85, iterations, 0.0, dangling);
        let degree = |v: usize| edges.iter().filter(|edge| edge[0] == v).count() as u64;
        let mut total = RankTotal::default();
        let mut values: Vec<_> = (0..vertices)
            .map(|v| {
                let vertex = Vertex { index: v as u64, out_degree: degree(v) };
                let Applied { value, total: share, .. } = program.init(vertex);
                total = total.merge(share);
                value
            })
            .collect();
        for done in 0.. {
            if program.next(done, &total) == Next::Stop {
                break;
            }
            step(&program, &mut values, edges, &mut total);
        }
        values.iter().map(|value| value.0[0]).collect()
    }

    #[test]
    fn ranks_sum_to_one_from_the_first_iteration_on_though_there_are_sinks() {
        let edges = [[0, 1], [0, 2], [1, 2]];
        for iterations in [0, 1, 2, 30] {
            let sum: f64 = ranks(Dangling::Spread, &edges, 4, iterations).iter().sum();
            assert!((sum - 1.0).abs() < 1e-12, "{iterations}: {sum}");
        }
        assert!(ranks(Dangling::Drop, &edges, 4, 2).iter().sum::<f64>() < 0.999);
    }

    #[test]
    fn the_papers_way_is_not_normalised() {
        let ranks = ranks(Dangling::Papers, &[[0, 1], [1, 0]], 2, 5);
        assert_eq!(ranks, [1.0, 1.0]);
    }

    #[test]
    fn a_cycle_settles_at_once_when_a_tolerance_is_given() {
        let program = PageRank::<f64>::new(3, 0.85, 50, 1e-9, Dangling::Spread);
        assert_eq!(program.next(1, &RankTotal { sinks: 0.0, change: 1e-10 }), Next::Stop);
        assert_eq!(program.next(1, &RankTotal { sinks: 0.0, change: 1e-8 }), Next::Iterate);
        let per_vertex = PageRank::<f64>::new(100, 0.85, 50, 1e-9, Dangling::NetworkX);
        assert_eq!(per_vertex.next(1, &RankTotal { sinks: 0.0, change: 1e-8 }), Next::Stop);
    }
}
