//! A graph as plain as it gets: slots, pairs and weights in vectors, for oracles to walk over.

use std::collections::BTreeMap;
use std::fmt;
use welter_model::edges::{EdgeList, Pair, Reading};

/// An edge list with what is needed to judge it. Parallel edges and self-loops count as they are.
#[derive(Clone, Default, PartialEq)]
pub struct Graph {
    /// Slots that are vertices; as long as there are slots.
    pub present: Vec<bool>,
    /// Edges from slot to slot, in input order.
    pub pairs: Vec<Pair>,
    /// One weight an edge, or none at all.
    pub weights: Option<Vec<f64>>,
}

impl Graph {
    /// An unweighted graph in which all of `slots` slots are vertices.
    pub fn new(slots: usize, pairs: Vec<Pair>) -> Self {
        Self { present: vec![true; slots], pairs, weights: None }
    }

    /// A graph from pairs of ids, whose slots are the ranks of the ids in `ids` (ascending).
    ///
    /// # Panics
    /// When a pair has an id that is not among them.
    pub fn from_ids(ids: &[u64], pairs: &[(u64, u64)], weights: Option<Vec<f64>>) -> Self {
        let slot = |id: u64| ids.binary_search(&id).expect("every end has an id") as u32;
        let pairs = pairs.iter().map(|(from, to)| [slot(*from), slot(*to)]).collect();
        Self { weights, ..Self::new(ids.len(), pairs) }
    }

    /// Number of slots.
    pub fn slots(&self) -> usize {
        self.present.len()
    }

    /// Number of vertices.
    pub fn vertices(&self) -> usize {
        self.present.iter().filter(|present| **present).count()
    }

    /// The slots that are vertices, ascending.
    pub fn ids(&self) -> Vec<u64> {
        (0..self.slots() as u64).filter(|slot| self.present[*slot as usize]).collect()
    }

    /// The number of each slot among the vertices; of a slot that is none, the next vertex's.
    pub fn numbers(&self) -> Vec<usize> {
        let mut vertices = 0;
        let number = |present: &bool| {
            vertices += usize::from(*present);
            vertices - usize::from(*present)
        };
        self.present.iter().map(number).collect()
    }

    /// Slots that an edge names.
    pub fn used(&self) -> Vec<bool> {
        let mut used = vec![false; self.slots()];
        for slot in self.pairs.iter().flatten() {
            used[*slot as usize] = true;
        }
        used
    }

    /// The weight of an edge: 1 where the graph has none.
    pub fn weight(&self, edge: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| weights[edge])
    }

    /// Without self-loops, and with the lightest of parallel edges only; by source and destination.
    #[must_use]
    pub fn simple(&self) -> Self {
        let mut lightest = BTreeMap::new();
        for (edge, [from, to]) in self.pairs.iter().enumerate().filter(|(_, [a, b])| a != b) {
            let weight = self.weight(edge);
            let kept = lightest.entry([*from, *to]).or_insert(weight);
            *kept = weight.min(*kept);
        }
        let weights = self.weights.as_ref().map(|_| lightest.values().copied().collect());
        let pairs = lightest.into_keys().collect();
        Self { present: self.present.clone(), pairs, weights }
    }

    /// With each edge in both directions; a self-loop is still one arc.
    #[must_use]
    pub fn undirected(&self) -> Self {
        let mut both = Self { present: self.present.clone(), ..Self::default() };
        let mut weights = Vec::new();
        for (edge, &[from, to]) in self.pairs.iter().enumerate() {
            both.pairs.push([from, to]);
            weights.push(self.weight(edge));
            if from != to {
                both.pairs.push([to, from]);
                weights.push(self.weight(edge));
            }
        }
        both.weights = self.weights.is_some().then_some(weights);
        both
    }

    /// With slot `s` renamed to `names[s]`. `names` is a permutation.
    #[must_use]
    pub fn relabelled(&self, names: &[u32]) -> Self {
        let mut renamed = self.clone();
        for (slot, present) in self.present.iter().enumerate() {
            renamed.present[names[slot] as usize] = *present;
        }
        for pair in &mut renamed.pairs {
            *pair = pair.map(|slot| names[slot as usize]);
        }
        renamed
    }

    /// With slot `s` renamed to `s * stride`. The slots in between are vertices if `declared`.
    #[must_use]
    pub fn spread(&self, stride: u32, declared: bool) -> Self {
        let slots = self.slots() * stride as usize;
        let place =
            |slot: usize| slot.is_multiple_of(stride as usize).then_some(slot / stride as usize);
        let present = |slot| declared || place(slot).is_some_and(|place| self.present[place]);
        Self {
            present: (0..slots).map(present).collect(),
            pairs: self.pairs.iter().map(|pair| pair.map(|slot| slot * stride)).collect(),
            weights: self.weights.clone(),
        }
    }

    /// With the edges in the order `order`, a permutation of their numbers.
    #[must_use]
    pub fn reordered(&self, order: &[usize]) -> Self {
        Self {
            present: self.present.clone(),
            pairs: order.iter().map(|edge| self.pairs[*edge]).collect(),
            weights: self.weights.as_ref().map(|w| order.iter().map(|edge| w[*edge]).collect()),
        }
    }

    /// Number of arcs of a reading that merges none.
    pub fn arcs(&self, reading: Reading) -> u64 {
        let arcs = |&&[source, target]: &&Pair| {
            if source == target {
                u64::from(!reading.drop_self_loops)
            } else {
                1 + u64::from(reading.undirected)
            }
        };
        self.pairs.iter().map(|pair| arcs(&pair)).sum()
    }

    /// The edges as a stream of parts of at most `part_edges_max` edges, with the number of slots
    /// stated.
    pub fn edge_list(&self, part_edges_max: usize) -> EdgeList {
        let mut list = self.edge_list_without_slots(part_edges_max);
        list.set_slots(self.slots() as u64);
        list
    }

    /// As [`Self::edge_list`], but the number of slots must be found by looking at the edges.
    pub fn edge_list_without_slots(&self, part_edges_max: usize) -> EdgeList {
        let mut list = EdgeList::new(None, self.weights.is_some());
        for (part, pairs) in self.pairs.chunks(part_edges_max).enumerate() {
            let start = part * part_edges_max;
            let weights = self.weights.as_deref();
            let weights = weights.map_or(&[][..], |weights| &weights[start..start + pairs.len()]);
            list.push(pairs.to_vec(), weights.to_vec());
        }
        list
    }
}

/// On one line, and slots without edges as a number: this is what a failing property shows.
impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pairs, weights, .. } = self;
        let (slots, vertices) = (self.slots(), self.vertices());
        write!(f, "{vertices} vertices in {slots} slots, pairs: {pairs:?}, weights: {weights:?}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Graph {
        let pairs = vec![[0, 1], [1, 1], [1, 0], [0, 1], [2, 0]];
        Graph { weights: Some(vec![3.0, 1.0, 2.0, 1.0, 5.0]), ..Graph::new(4, pairs) }
    }

    #[test]
    fn a_simple_graph_has_no_loops_and_the_lightest_edges() {
        let simple = sample().simple();
        assert_eq!(simple.pairs, [[0, 1], [1, 0], [2, 0]]);
        assert_eq!(simple.weights, Some(vec![1.0, 2.0, 5.0]));
        assert_eq!(simple.vertices(), 4);
    }

    #[test]
    fn an_undirected_graph_has_both_directions() {
        let both = sample().undirected();
        assert_eq!(both.pairs.len(), 9);
        let simple = both.simple();
        assert_eq!(simple.pairs, [[0, 1], [0, 2], [1, 0], [2, 0]]);
        assert_eq!(simple.weights, Some(vec![1.0, 5.0, 1.0, 5.0]));
    }

    #[test]
    fn relabelling_and_reordering_lose_nothing() {
        let graph = sample();
        let there = graph.relabelled(&[2, 0, 3, 1]);
        assert_eq!(there.pairs[0], [2, 0]);
        assert_eq!(there.relabelled(&[1, 3, 0, 2]), graph);
        assert_eq!(graph.reordered(&[4, 3, 2, 1, 0]).reordered(&[4, 3, 2, 1, 0]), graph);
    }

    #[test]
    fn vertices_are_numbered_without_gaps() {
        let mut graph = sample();
        graph.present = vec![true, true, true, false, true];
        assert_eq!(graph.numbers(), [0, 1, 2, 3, 3]);
        assert_eq!(graph.ids(), [0, 1, 2, 4]);
        assert_eq!(graph.used(), [true, true, true, false, false]);
    }

    #[test]
    fn slots_spread_apart() {
        let wide = sample().spread(3, false);
        assert_eq!((wide.slots(), wide.ids()), (12, vec![0, 3, 6, 9]));
        assert_eq!(wide.pairs[4], [6, 0]);
        assert_eq!(sample().spread(3, true).vertices(), 12);
    }

    #[test]
    fn an_edge_list_has_the_same_edges_in_parts() {
        let graph = sample();
        let list = graph.edge_list(2);
        assert_eq!(list.pairs().collect::<Vec<_>>(), graph.pairs);
        assert_eq!(list.weights().collect::<Vec<_>>(), graph.weights.unwrap());
    }
}
