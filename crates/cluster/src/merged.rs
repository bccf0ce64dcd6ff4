//! Edges of which one is kept of those that are parallel, as machines read them.
//!
//! ```text
//! class(e) = hash(key(e)) mod classes        key(u, v) = u v, or both in ascending order
//! part c   = edges of class c, in input order, sorted by key (stable), equal keys merged
//! ```
//!
//! Parallel edges have one key, so they meet in one part, and so on one machine. A part is made by
//! a reading of all edges, of which those of its class are in memory: there are as many classes as
//! that takes, and as many for each machine.
//!
//! **Invariant:** of equal keys the first in input order comes first, so weights are those of a run
//! in one process, and sums add up in the same order. Tested by
//! `parallel_edges_are_merged_as_in_one_process`.

use std::sync::Arc;

use welter_model::edges::{Batch, Duplicates, EdgeStream, Pair, Reading, StreamError};

/// Bytes of the edges of a class, about.
const CLASS_BYTES: u64 = 256 << 20;

/// Bytes of an edge while those of its class are sorted: itself, and a half more to sort.
const EDGE_BYTES: u64 = 24;

/// Edges of a batch.
const BATCH_EDGES: usize = 1 << 16;

/// A stream of which parallel edges are merged.
pub struct Merged {
    edges: Arc<dyn EdgeStream>,
    duplicates: Duplicates,
    /// Whether an edge is parallel to one the other way.
    either_way: bool,
    /// Whether weights of the stream are looked at.
    weighs: bool,
    classes: usize,
}

impl Merged {
    /// The edges of a stream as machines merge them for this reading, `weighs`: with their weights.
    /// None where all are kept, or ways are told apart by weights.
    pub fn new(
        edges: &Arc<dyn EdgeStream>,
        (reading, weighs): (Reading, bool),
        machines: usize,
    ) -> Option<Self> {
        let Reading { duplicates, undirected, .. } = reading;
        if matches!(duplicates, Duplicates::Keep | Duplicates::Directions) {
            return None;
        }
        let bytes = edges.edges().saturating_mul(EDGE_BYTES) / machines as u64;
        Some(Self {
            edges: edges.clone(),
            duplicates,
            either_way: undirected && !reading.keeps_ways_apart(),
            weighs: weighs && edges.weighted(),
            classes: machines * (1 + bytes / CLASS_BYTES) as usize,
        })
    }

    /// A number that parallel edges share, and no others.
    fn key(&self, [source, target]: Pair) -> u64 {
        let [source, target] =
            if self.either_way && source > target { [target, source] } else { [source, target] };
        u64::from(source) << 32 | u64::from(target)
    }

    /// All edges of a class, in input order.
    fn class(&self, class: usize) -> Result<Vec<(u64, f64)>, StreamError> {
        let mut found = Vec::new();
        for part in 0..self.edges.parts() {
            self.edges.read(part, &mut |batch| {
                let weights = batch.weights.filter(|_| self.weighs);
                for (edge, pair) in batch.pairs.iter().enumerate() {
                    let key = self.key(*pair);
                    if class_of(key, self.classes) == class {
                        found.push((key, weights.map_or(1.0, |weights| weights[edge])));
                    }
                }
                true
            })?;
        }
        Ok(found)
    }
}

/// The class of a key, as `MurmurHash3` mixes at its end.
fn class_of(key: u64, classes: usize) -> usize {
    let mixed = (key ^ key >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let mixed = (mixed ^ mixed >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    ((u128::from(mixed ^ mixed >> 33) * classes as u128) >> 64) as usize
}

/// Merges edges with equal keys, which lie side by side.
fn merge(edges: &mut Vec<(u64, f64)>, duplicates: Duplicates) {
    debug_assert!(edges.is_sorted_by_key(|(key, _)| *key), "equal keys lie side by side");
    edges.dedup_by(|(key, later), (earlier_key, earlier)| {
        let is_parallel = key == earlier_key;
        if is_parallel {
            *earlier = match duplicates {
                Duplicates::Minimum => earlier.min(*later),
                Duplicates::Sum => *earlier + *later,
                Duplicates::Keep | Duplicates::First | Duplicates::Directions => *earlier,
            };
        }
        is_parallel
    });
    debug_assert!(
        edges.is_sorted_by(|(key, _), (next, _)| key < next),
        "one edge of a key is left"
    );
}

impl EdgeStream for Merged {
    fn parts(&self) -> usize {
        self.classes
    }

    /// Number of the edges before any are merged: how many are left is not known before.
    fn edges(&self) -> u64 {
        self.edges.edges()
    }

    fn weighted(&self) -> bool {
        self.weighs || self.duplicates == Duplicates::Sum
    }

    fn slots(&self) -> Option<u64> {
        self.edges.slots()
    }

    fn read(
        &self,
        part: usize,
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        let mut edges = self.class(part)?;
        edges.sort_by_key(|(key, _)| *key);
        merge(&mut edges, self.duplicates);
        for edges in edges.chunks(BATCH_EDGES) {
            let pairs: Vec<Pair> =
                edges.iter().map(|(key, _)| [(key >> 32) as u32, *key as u32]).collect();
            let weights: Vec<f64> = edges.iter().map(|(_, weight)| *weight).collect();
            let weights = self.weighted().then_some(&weights[..]);
            if !visit(Batch { pairs: &pairs, weights }) {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use welter_model::edges::EdgeList;

    use super::*;

    /// Edges and weights, in any order.
    fn all(edges: &Merged) -> Vec<(Pair, Option<u64>)> {
        let mut found = Vec::new();
        for part in 0..edges.parts() {
            let visit = &mut |batch: Batch<'_>| {
                let weight = |at| batch.weights.map(|weights| f64::to_bits(weights[at]));
                found.extend(batch.pairs.iter().enumerate().map(|(at, pair)| (*pair, weight(at))));
                true
            };
            edges.read(part, visit).unwrap();
        }
        found.sort_unstable();
        found
    }

    #[test]
    fn parallel_edges_are_merged_as_in_one_process() {
        let pairs: Vec<Pair> = (0..300_u32).map(|at| [at * 7 % 11, at * 5 % 9]).collect();
        // Sums of these depend on their order.
        let weight = |at: usize| 1.0 / (1 + at * 31 % 97) as f64;
        let mut list = EdgeList::new(Some(11), true);
        for (part, pairs) in pairs.chunks(40).enumerate() {
            let weights = (0..pairs.len()).map(|at| weight(part * 40 + at)).collect();
            list.push(pairs.to_vec(), weights);
        }
        let stream: Arc<dyn EdgeStream> = Arc::new(list);
        let readings = [(false, false), (true, false), (true, true)];
        for duplicates in [Duplicates::First, Duplicates::Minimum, Duplicates::Sum] {
            for (undirected, stated_directed) in readings {
                let reading =
                    Reading { undirected, stated_directed, duplicates, ..Reading::default() };
                let either_way = undirected && !stated_directed;
                let mut expected: BTreeMap<Pair, f64> = BTreeMap::new();
                for (at, [source, target]) in pairs.iter().copied().enumerate() {
                    let swaps = either_way && source > target;
                    let pair = if swaps { [target, source] } else { [source, target] };
                    let merged = expected.entry(pair);
                    merged
                        .and_modify(|earlier| match duplicates {
                            Duplicates::Minimum => *earlier = earlier.min(weight(at)),
                            Duplicates::Sum => *earlier += weight(at),
                            _ => {}
                        })
                        .or_insert(weight(at));
                }
                let expected: Vec<_> =
                    expected.into_iter().map(|(pair, sum)| (pair, Some(sum.to_bits()))).collect();
                for machines in [1, 2, 5] {
                    let merged = Merged::new(&stream, (reading, true), machines).unwrap();
                    assert_eq!(all(&merged), expected, "{reading:?}, {machines}");
                }
            }
        }
    }

    #[test]
    fn weights_are_counts_where_there_are_none() {
        let pairs = vec![[0, 1], [1, 0], [0, 1]];
        let stream: Arc<dyn EdgeStream> = Arc::new(EdgeList::from_pairs(pairs));
        let merged = |duplicates| {
            let reading = Reading { duplicates, ..Reading::default() };
            Merged::new(&stream, (reading, true), 2)
        };
        let weight = |weight: f64| Some(weight.to_bits());
        let sums = all(&merged(Duplicates::Sum).unwrap());
        assert_eq!(sums, [([0, 1], weight(2.0)), ([1, 0], weight(1.0))]);
        assert_eq!(all(&merged(Duplicates::First).unwrap()), [([0, 1], None), ([1, 0], None)]);
        assert!(merged(Duplicates::Keep).is_none() && merged(Duplicates::Directions).is_none());
    }
}
