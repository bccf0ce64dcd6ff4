//! Generators: edge streams that are computed when they are read.
//!
//! Invariants: an edge is a pure function of the options, the seed and its place in the stream, so
//! parts may be read by any thread, in any order, and again, and the same options give the same
//! graph on every machine and in every later version of welter (the tests pin some edges down).
//! For that reason nothing here calls a library function whose last bit may differ between
//! platforms (`powf`, `ln`): additions, products, quotients and square roots only. Tested by
//! `parts_follow_one_another_and_edges_do_not_depend_on_them`, `graphs_are_fixed_for_ever` and
//! `sequences_are_fixed_for_ever_and_differ_by_purpose`.

pub mod rmat;
pub mod web;

mod random;

use random::Random;
use thiserror::Error;
use welter_model::edges::{Batch, Pair};
use welter_progress::FailureKind;

/// Largest scale of R-MAT: 2^31 vertices have 32-bit slots.
pub const SCALE_MAX: u32 = 31;

/// Largest number of pages of a web-like graph.
pub const PAGES_MAX: u64 = u32::MAX as u64;

/// Edges in one part of a generated stream, about 8 MiB of pairs.
const PART_EDGES: u64 = 1 << 20;

/// Edges in one batch: 64 KiB of pairs, so that they are still in the cache when they are visited.
const BATCH_EDGES: usize = 1 << 13;

/// Weights of generated edges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weights {
    /// The edges have none.
    #[default]
    None,
    /// Integers, uniform in `1..=max`. 255 is a good maximum: such weights take a byte.
    Integers {
        /// Largest weight, at least 1.
        max: u32,
    },
    /// Floats, uniform in `[0, 1)`, multiples of 2^-24, which an f32 holds exactly.
    Unit,
}

/// Options that make no graph. Exit code 2.
#[derive(Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum GenerateError {
    /// The scale is 0, or too large for 32-bit slots.
    #[error("scale {0} is not between 1 and {max}", max = SCALE_MAX)]
    Scale(u32),
    /// There would be no edge, or more than welter can count.
    #[error("{factor} edges a vertex on {vertices} vertices: expected 1 to {max} edges a vertex",
        max = FACTOR_MAX)]
    Factor {
        /// Edges a vertex.
        factor: u32,
        /// Vertices.
        vertices: u64,
    },
    /// The four quadrants are not probabilities.
    #[error("quadrants {0:?}: expected four probabilities that sum to 1")]
    Quadrants([f64; 4]),
    /// Too few or too many pages.
    #[error("{0} pages: expected 2 to {max}", max = PAGES_MAX)]
    Pages(u64),
    /// No weight fits.
    #[error("integer weights up to 0: expected a maximum of at least 1")]
    Weights,
}

impl GenerateError {
    /// Kind of this failure: wrong options are a matter of usage.
    pub fn kind(&self) -> FailureKind {
        FailureKind::Usage
    }
}

/// Largest number of edges a vertex; with 2^31 vertices that is 2^47 edges.
pub const FACTOR_MAX: u32 = 1 << 16;

/// Refuses options that make no graph, whatever the generator.
fn check(factor: u32, vertices: u64, weights: Weights) -> Result<(), GenerateError> {
    if !(1..=FACTOR_MAX).contains(&factor) {
        return Err(GenerateError::Factor { factor, vertices });
    }
    if weights == (Weights::Integers { max: 0 }) {
        return Err(GenerateError::Weights);
    }
    Ok(())
}

/// Source of the weights: a sequence of its own, so that a graph has the same edges with and
/// without them.
#[derive(Clone, Copy, Debug)]
struct Weigher {
    kind: Weights,
    random: Random,
}

impl Weigher {
    fn new(kind: Weights, seed: u64) -> Self {
        Self { kind, random: Random::new(seed, "weights") }
    }

    /// Weight of edge number `edge` of the stream.
    fn weight(self, edge: u64) -> f64 {
        let bits = self.random.at(edge) >> 32;
        match self.kind {
            Weights::None => 1.0,
            Weights::Integers { max } => ((bits * u64::from(max)) >> 32) as f64 + 1.0,
            Weights::Unit => (bits >> 8) as f64 / f64::from(1 << 24),
        }
    }
}

/// Collects edges and hands them on by the batch.
struct Batcher<'a> {
    pairs: Vec<Pair>,
    weights: Vec<f64>,
    weigher: Weigher,
    /// Number, in the stream, of the first edge in `pairs`.
    first: u64,
    visit: &'a mut dyn FnMut(Batch<'_>) -> bool,
}

impl<'a> Batcher<'a> {
    /// `first`: number, in the stream, of the first edge that will be pushed.
    fn new(first: u64, weigher: Weigher, visit: &'a mut dyn FnMut(Batch<'_>) -> bool) -> Self {
        Self { pairs: Vec::with_capacity(BATCH_EDGES), weights: Vec::new(), weigher, first, visit }
    }

    /// Adds an edge; `false` when the visitor wants no more.
    fn push(&mut self, pair: Pair) -> bool {
        self.pairs.push(pair);
        self.pairs.len() < BATCH_EDGES || self.flush()
    }

    /// Hands on what is left; `false` when the visitor wants no more.
    fn flush(&mut self) -> bool {
        if self.pairs.is_empty() {
            return true;
        }
        let weighted = self.weigher.kind != Weights::None;
        if weighted {
            let edges = self.first..self.first + self.pairs.len() as u64;
            self.weights.clear();
            self.weights.extend(edges.map(|edge| self.weigher.weight(edge)));
        }
        let weights = weighted.then_some(self.weights.as_slice());
        let more = (self.visit)(Batch { pairs: &self.pairs, weights });
        self.first += self.pairs.len() as u64;
        self.pairs.clear();
        more
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_stay_in_their_range() {
        let integers = Weigher::new(Weights::Integers { max: 3 }, 1);
        let unit = Weigher::new(Weights::Unit, 1);
        let mut seen = [0_u32; 5];
        for edge in 0..3_000 {
            seen[integers.weight(edge) as usize] += 1;
            assert!((0.0..1.0).contains(&unit.weight(edge)));
            let narrow = unit.weight(edge) as f32;
            assert_eq!(f64::from(narrow).to_bits(), unit.weight(edge).to_bits());
        }
        assert!(seen[1..4].iter().all(|count| (850..1150).contains(count)), "{seen:?}");
        assert_eq!((seen[0], seen[4]), (0, 0));
    }

    #[test]
    fn batches_are_complete_and_end_early_when_asked() {
        let weigher = Weigher::new(Weights::Integers { max: 255 }, 7);
        let mut lengths = Vec::new();
        let mut visit = |batch: Batch<'_>| {
            assert_eq!(batch.weights.unwrap().len(), batch.pairs.len());
            lengths.push(batch.pairs.len());
            lengths.len() < 2
        };
        let mut batcher = Batcher::new(0, weigher, &mut visit);
        let pushed = (0..1 << 20).take_while(|&edge| batcher.push([edge, edge])).count();
        assert_eq!(pushed + 1, 2 * BATCH_EDGES);
        assert_eq!(lengths, [BATCH_EDGES, BATCH_EDGES]);
    }
}
