//! What the weights of a graph are like, from a sample of them.
//!
//! Invariant: the sample depends on the graph and its chunks alone, so a plan that follows it is
//! the same for any number of threads.

use crate::EngineError;
use crate::graph::Graph;
use crate::kernel::{Coding, Scratch};
use crate::read_ahead::ReadAhead;

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
        let mut reader = ReadAhead::new(self)?;
        let (mut sum, mut count) = (0.0, 0_u64);
        let step = self.chunks().div_ceil(CHUNKS).max(1);
        let before = |stripe: usize| -> usize {
            self.stripes[..stripe].iter().map(|stripe| stripe.chunks.len()).sum()
        };
        for stripe in 0..self.stripes.len() {
            let first = before(stripe).next_multiple_of(step) - before(stripe);
            let wanted = |_| (first..self.stripes[stripe].chunks.len()).step_by(step);
            reader.stripe((stripe, None), wanted, |_, chunk| {
                let coding = Coding::all(chunk.label());
                let stride = chunk.tile_count().div_ceil(TILES).max(1);
                for tile in chunk.tiles().step_by(stride) {
                    coding.keys(
                        &tile,
                        0..tile.edges,
                        &mut scratch,
                        |keys, weights| match weights {
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
                        },
                    );
                }
                Ok(())
            })?;
        }
        Ok(if count > 0 { sum / count as f64 } else { 1.0 })
    }
}
