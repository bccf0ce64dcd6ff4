//! What the weights of a graph are like, from a sample of them.
//!
//! Invariant: the sample depends on the graph and its chunks alone, so a plan that follows it is
//! the same for any number of threads.

use crate::EngineError;
use crate::graph::Graph;
use crate::kernel::{Coding, Scratch};

/// Chunks that are looked into.
const CHUNKS: usize = 64;
/// Tiles of each of them.
const TILES: usize = 16;

impl Graph {
    /// About the mean of the finite weights: of some tiles of chunks from all over the graph. 1 for
    /// a graph without weights, or without finite ones.
    ///
    /// # Errors
    /// When a chunk is damaged.
    pub fn mean_weight(&self) -> Result<f64, EngineError> {
        let mut scratch = Scratch::new();
        let (mut sum, mut count) = (0.0, 0_u64);
        let chunks = self.chunks();
        let places =
            self.stripes.iter().flat_map(|stripe| stripe.chunks.iter().map(move |c| (stripe, c)));
        for (stripe, place) in places.step_by(chunks.div_ceil(CHUNKS).max(1)) {
            let chunk = self.open(stripe, place)?;
            let label = chunk.label();
            let coding = Coding {
                encoding: label.encoding,
                weights: label.weights,
                target_bits: label.target_bits,
            };
            let stride = chunk.tile_count().div_ceil(TILES).max(1);
            for tile in chunk.tiles().step_by(stride) {
                coding.keys(&tile, 0..tile.edges, &mut scratch, |keys, weights| match weights {
                    None => {
                        sum += keys.len() as f64;
                        count += keys.len() as u64;
                    }
                    Some(weights) => {
                        for weight in weights.iter().filter(|weight| weight.is_finite()) {
                            sum += weight;
                            count += 1;
                        }
                    }
                });
            }
        }
        Ok(if count > 0 { sum / count as f64 } else { 1.0 })
    }
}
