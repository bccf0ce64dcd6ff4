//! Sequential references, as plain as the formulas: one loop over the edges an iteration.
//!
//! References judge the engine, so they share nothing with it: no tiles, no stripes, no threads,
//! sums in the order of the edges. PageRank with damping `d` over `V` vertices, `deg` the number of
//! arcs that leave (or the sum of their weights, where [`Dangling::NetworkX`] uses weights):
//!
//! ```text
//! rank'(v) = (1 - d) / V + d * lost / V + d * sum over arcs u -> v of rank(u) * w(u, v) / deg(u)
//! ```
//!
//! `lost` is the rank of all vertices without arcs out; what becomes of it is [`Dangling`].

use crate::graph::Graph;

/// Treatment of the rank of vertices without arcs out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dangling {
    /// Spread evenly over all vertices in every iteration, as LDBC Graphalytics wants it. Ranks sum
    /// to 1. Weights are ignored.
    Spread,
    /// As `networkx.pagerank` with its defaults: spread evenly, arcs share a rank by their weights
    /// (a vertex whose weights sum to 0 is dangling), and the tolerance counts a vertex: the end is
    /// reached when the sum of all changes is below `V * tolerance`.
    NetworkX,
    /// Lost. Ranks sum to less than 1.
    Drop,
    /// Lost, and ranks are not normalised, as in the papers: they start at 1 and the first term of
    /// the formula is `1 - d`.
    Papers,
}

/// Condition that ends the iterations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stop {
    /// After this number of iterations.
    Iterations(u32),
    /// When the sum of the changes of all ranks is at most this (see [`Dangling::NetworkX`]).
    Tolerance(f64),
}

/// Ranks by slot; slots that are no vertices have 0.
///
/// # Panics
/// When a tolerance is not reached in 10,000 iterations.
pub fn pagerank(graph: &Graph, damping: f64, stop: Stop, dangling: Dangling) -> Vec<f64> {
    let vertices = graph.vertices() as f64;
    let weighted = dangling == Dangling::NetworkX;
    let weight = |edge| if weighted { graph.weight(edge) } else { 1.0 };
    let whole = if dangling == Dangling::Papers { vertices } else { 1.0 };
    let mut deg = vec![0.0; graph.slots()];
    for (edge, [from, _]) in graph.pairs.iter().enumerate() {
        deg[*from as usize] += weight(edge);
    }
    let even = |mass: f64| graph.present.iter().map(move |p| f64::from(*p) * mass / vertices);
    let mut rank: Vec<f64> = even(whole).collect();
    for iteration in 0..10_000 {
        if stop == Stop::Iterations(iteration) {
            return rank;
        }
        let lost: f64 = (0..rank.len()).filter(|v| deg[*v] == 0.0).map(|v| rank[v]).sum();
        let spread = match dangling {
            Dangling::Spread | Dangling::NetworkX => damping * lost,
            Dangling::Drop | Dangling::Papers => 0.0,
        };
        let mut next: Vec<f64> = even((1.0 - damping) * whole + spread).collect();
        for (edge, [from, to]) in graph.pairs.iter().enumerate() {
            let from = *from as usize;
            if deg[from] != 0.0 {
                next[*to as usize] += damping * rank[from] * weight(edge) / deg[from];
            }
        }
        let change: f64 = rank.iter().zip(&next).map(|(old, new)| (new - old).abs()).sum();
        rank = next;
        match stop {
            Stop::Tolerance(bound) if weighted && change < vertices * bound => return rank,
            Stop::Tolerance(bound) if !weighted && change <= bound => return rank,
            _ => {}
        }
    }
    panic!("{stop:?} was not reached in 10,000 iterations");
}

/// `y = A x` with `A[to][from]` the sum of the weights of the edges `from -> to`:
/// `y[to] += w * x[from]` for each edge, parallel ones too.
pub fn spmv(graph: &Graph, x: &[f64]) -> Vec<f64> {
    let mut y = vec![0.0; graph.slots()];
    for (edge, [from, to]) in graph.pairs.iter().enumerate() {
        y[*to as usize] += graph.weight(edge) * x[*from as usize];
    }
    y
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relative_error;

    const DANGLING: [Dangling; 4] =
        [Dangling::Spread, Dangling::NetworkX, Dangling::Drop, Dangling::Papers];

    /// `0 -> 1 -> 2`, and a vertex 4 on its own; slot 3 is no vertex.
    fn chain() -> Graph {
        let mut graph = Graph::new(5, vec![[0, 1], [1, 2]]);
        graph.present[3] = false;
        graph
    }

    fn ranks(dangling: Dangling) -> Vec<f64> {
        pagerank(&chain(), 0.5, Stop::Iterations(1), dangling)
    }

    #[test]
    fn one_iteration_by_hand() {
        // Four vertices of 1/4 each: the base is 1/8, an arc carries 1/8, the lost half gives 1/16.
        let spread = [0.1875, 0.3125, 0.3125, 0.0, 0.1875];
        assert_eq!(ranks(Dangling::Spread), spread);
        assert_eq!(ranks(Dangling::NetworkX), spread);
        assert_eq!(ranks(Dangling::Drop), [0.125, 0.25, 0.25, 0.0, 0.125]);
        assert_eq!(ranks(Dangling::Papers), [0.5, 1.0, 1.0, 0.0, 0.5]);
    }

    #[test]
    fn no_iteration_leaves_the_start() {
        let start = |dangling| pagerank(&chain(), 0.5, Stop::Iterations(0), dangling);
        assert_eq!(start(Dangling::Drop), [0.25, 0.25, 0.25, 0.0, 0.25]);
        assert_eq!(start(Dangling::Papers), [1.0, 1.0, 1.0, 0.0, 1.0]);
    }

    #[test]
    fn parallel_edges_and_loops_count() {
        let graph = Graph::new(2, vec![[0, 0], [0, 1], [0, 1], [1, 0]]);
        let found = pagerank(&graph, 0.5, Stop::Iterations(1), Dangling::Spread);
        assert!(relative_error(&[0.25 + 1.0 / 12.0 + 0.25, 0.25 + 1.0 / 6.0], &found) < 1e-15);
    }

    #[test]
    fn only_networkx_looks_at_weights() {
        let pairs = vec![[0, 1], [0, 2]];
        let graph = Graph { weights: Some(vec![3.0, 1.0]), ..Graph::new(3, pairs) };
        for dangling in DANGLING {
            let found = pagerank(&graph, 0.5, Stop::Iterations(1), dangling);
            let excess = found[1] - found[2];
            assert_eq!(excess > 0.0, dangling == Dangling::NetworkX, "{dangling:?}");
        }
        let nothing = Graph { weights: Some(vec![0.0, 0.0]), ..graph };
        let found = pagerank(&nothing, 0.5, Stop::Iterations(1), Dangling::NetworkX);
        assert!(relative_error(&[1.0 / 3.0; 3], &found) < 1e-15, "weights of 0 are no arcs");
    }

    #[test]
    fn spmv_adds_parallel_edges() {
        let pairs = vec![[0, 1], [0, 1], [1, 1], [2, 0]];
        let graph = Graph { weights: Some(vec![2.0, 3.0, 0.5, -1.0]), ..Graph::new(3, pairs) };
        assert_eq!(spmv(&graph, &[1.0, 10.0, 100.0]), [-100.0, 10.0, 0.0]);
        assert_eq!(spmv(&chain(), &[1.0, 2.0, 3.0, 4.0, 5.0]), [0.0, 1.0, 2.0, 0.0, 0.0]);
    }
}
