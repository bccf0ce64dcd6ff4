//! A [`Reading`] of an edge list, one edge at a time and through one ordered map.
//!
//! The oracle for undirected reading, self-loops and parallel edges: no bins, no sort by tiles, no
//! threads.

use std::collections::BTreeMap;

use welter_model::edges::{Duplicates, Pair, Reading};

use crate::graph::Graph;

/// The arcs that an engine must store for `graph` read as `reading`. The vertices are the same: the
/// end of a dropped self-loop is still one.
#[must_use]
pub fn read_as(graph: &Graph, reading: Reading) -> Graph {
    let mut arcs = Vec::new();
    for (edge, &[from, to]) in graph.pairs.iter().enumerate() {
        if from == to && reading.drop_self_loops {
            continue;
        }
        let (from, to) = if reading.reversed { (to, from) } else { (from, to) };
        let [there, back] = match reading.duplicates {
            Duplicates::Directions if reading.undirected || from == to => [3.0; 2],
            Duplicates::Directions => [1.0, 2.0],
            _ => [graph.weight(edge); 2],
        };
        arcs.push((([from, to], false), there));
        let both = reading.undirected || reading.duplicates == Duplicates::Directions;
        if both && from != to {
            // Of a directed graph the two ways of an edge are no duplicates of each other's.
            arcs.push((([to, from], reading.keeps_ways_apart()), back));
        }
    }
    let arcs = merged(arcs, reading.duplicates).into_iter();
    let (pairs, weights): (_, Vec<f64>) = arcs.map(|((pair, _), weight)| (pair, weight)).unzip();
    let weighted = graph.weights.is_some() || reading.makes_weights();
    let weights = weighted.then_some(weights);
    Graph { present: graph.present.clone(), pairs, weights }
}

/// The ends of an arc, and whether it is told apart from others that go the same way.
type Arc = (Pair, bool);

fn merged(arcs: Vec<(Arc, f64)>, duplicates: Duplicates) -> Vec<(Arc, f64)> {
    if duplicates == Duplicates::Keep {
        return arcs;
    }
    let mut kept: BTreeMap<Arc, f64> = BTreeMap::new();
    for (arc, weight) in arcs {
        let change = |held: &mut f64| match duplicates {
            // Where the other way is seen first or again, it is both.
            Duplicates::Directions if held.to_bits() != weight.to_bits() => *held = 3.0,
            Duplicates::Keep | Duplicates::First | Duplicates::Directions => {}
            Duplicates::Minimum => *held = held.min(weight),
            Duplicates::Sum => *held += weight,
        };
        kept.entry(arc).and_modify(change).or_insert(weight);
    }
    kept.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arcs(reading: Reading) -> Vec<(Pair, f64)> {
        let pairs = vec![[0, 1], [1, 0], [1, 1], [0, 1]];
        let graph = Graph { weights: Some(vec![5.0, 3.0, 9.0, 4.0]), ..Graph::new(3, pairs) };
        let read = read_as(&graph, reading);
        assert_eq!(read.vertices(), 3);
        read.pairs.iter().copied().zip(read.weights.unwrap()).collect()
    }

    #[test]
    fn every_option_by_hand() {
        let keep = Reading::default();
        let of = |duplicates| Reading { duplicates, ..keep };
        assert_eq!(arcs(keep), [([0, 1], 5.0), ([1, 0], 3.0), ([1, 1], 9.0), ([0, 1], 4.0)]);
        let others = [([1, 0], 3.0), ([1, 1], 9.0)];
        let with = |weight| [vec![([0, 1], weight)], others.to_vec()].concat();
        assert_eq!(arcs(of(Duplicates::First)), with(5.0));
        assert_eq!(arcs(of(Duplicates::Minimum)), with(4.0));
        assert_eq!(arcs(of(Duplicates::Sum)), with(9.0));
        let dropped = Reading { drop_self_loops: true, ..of(Duplicates::Sum) };
        assert_eq!(arcs(dropped), [([0, 1], 9.0), ([1, 0], 3.0)]);
        let both = Reading { undirected: true, ..of(Duplicates::First) };
        assert_eq!(arcs(both), [([0, 1], 5.0), ([1, 0], 5.0), ([1, 1], 9.0)]);
        let stated = Reading { stated_directed: true, ..both };
        let apart = |one, other| [([0, 1], one), ([0, 1], other), ([1, 0], other), ([1, 0], one)];
        // 0 -> 1 comes with 5 and 4, 1 -> 0 with 3: their reverses stay beside them.
        let of_both = |duplicates| arcs(Reading { duplicates, ..stated });
        let with_loop = |[a, b, _, _]: [(Pair, f64); 4], [c, d]: [f64; 2]| {
            vec![a, b, ([1, 0], c), ([1, 0], d), ([1, 1], 9.0)]
        };
        let [five, nine] = [apart(5.0, 3.0), apart(9.0, 3.0)];
        assert_eq!(of_both(Duplicates::First), with_loop(five, [3.0, 5.0]));
        assert_eq!(of_both(Duplicates::Sum), with_loop(nine, [3.0, 9.0]));
        assert_eq!(of_both(Duplicates::Minimum), with_loop(apart(4.0, 3.0), [3.0, 4.0]));
        let ways = of(Duplicates::Directions);
        assert_eq!(arcs(ways), [([0, 1], 3.0), ([1, 0], 3.0), ([1, 1], 3.0)]);
        let one = Graph::new(2, vec![[1, 0], [1, 0]]);
        let weights = |undirected| read_as(&one, Reading { undirected, ..ways }).weights.unwrap();
        assert_eq!((weights(false), weights(true)), (vec![2.0, 1.0], vec![3.0, 3.0]));
        let back = Reading { reversed: true, ..keep };
        assert_eq!(arcs(back), [([1, 0], 5.0), ([0, 1], 3.0), ([1, 1], 9.0), ([1, 0], 4.0)]);
    }
}
