//! Figures of the weights of a graph: their mean, from a sample, and their sums at the vertices
//! that edges leave.
//!
//! Invariants: the sample depends on the graph and its chunks alone, so a plan that follows it is
//! the same for any number of threads; sums are added up by one thread, with what rounding loses on
//! the way, because packed and compressed tiles have the edges of a source in another order. So
//! they have the same bits for any plan, unless more than a hundred bits of an exact sum lie in the
//! middle of two numbers. Tested by
//! `weights_add_up_at_the_vertices_that_edges_leave_to_the_same_bits` and
//! `the_mean_weight_is_about_that_of_all_edges`.

use crate::EngineError;
use crate::edges::graph::Graph;
use crate::edges::read_ahead::ReadAhead;
use crate::kernels::kernel::{Coding, DecodeBuffers};

/// Chunks that are looked into.
const CHUNKS: usize = 64;
/// Tiles of each of them.
const TILES: usize = 16;

/// A sum of weights, and what rounding lost of it (Knuth's two-sum).
#[derive(Clone, Copy, Debug, Default)]
pub struct WeightSum {
    sum: f64,
    lost: f64,
}

impl WeightSum {
    /// Adds a weight.
    pub fn add(&mut self, weight: f64) {
        let next = self.sum + weight;
        let added = next - self.sum;
        let lost = (self.sum - (next - added)) + (weight - added);
        // Nothing is lost of infinity.
        self.lost += if next.is_finite() { lost } else { 0.0 };
        self.sum = next;
    }

    /// The sum.
    pub fn sum(self) -> f64 {
        self.sum + self.lost
    }
}

impl Graph {
    /// About the mean of the finite weights: of some tiles of chunks from all over the graph. 1 for
    /// a graph without weights, or without finite ones.
    ///
    /// # Errors
    /// When a chunk is damaged.
    pub fn mean_weight(&self) -> Result<f64, EngineError> {
        let mut scratch = DecodeBuffers::new();
        let mut reader = ReadAhead::new(self)?;
        let (mut sum, mut count) = (0.0, 0_u64);
        let step = self.chunks().div_ceil(CHUNKS).max(1);
        let before = |stripe: usize| -> usize {
            self.stripes[..stripe].iter().map(|stripe| stripe.chunks.len()).sum()
        };
        for stripe in 0..self.stripes.len() {
            let first = before(stripe).next_multiple_of(step) - before(stripe);
            let wanted = |_| (first..self.stripes[stripe].chunks.len()).step_by(step);
            reader.stripe((stripe, &mut |_| None), wanted, |_, chunk| {
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

    /// The sum of the weights of the edges that leave each vertex, by its number; without weights,
    /// their number. 16 bytes a vertex, and one pass.
    ///
    /// # Errors
    /// When a chunk is damaged.
    pub fn out_weights(&self) -> Result<Vec<f64>, EngineError> {
        self.out_weights_times(1.0)
    }

    /// The sums of [`Self::out_weights`], of weights that are multiplied by `scale` before: a power
    /// of two, by which sums that would leave the range of floats stay within it.
    ///
    /// # Errors
    /// When a chunk is damaged.
    pub fn out_weights_times(&self, scale: f64) -> Result<Vec<f64>, EngineError> {
        let mut sums = vec![WeightSum::default(); self.vertices() as usize];
        let mut scratch = DecodeBuffers::new();
        let mut reader = ReadAhead::new(self)?;
        for stripe in 0..self.stripes.len() {
            let all = |_| 0..self.stripes[stripe].chunks.len();
            reader.stripe((stripe, &mut |_| None), all, |_, chunk| {
                let label = chunk.label();
                let coding = Coding::all(label);
                for tile in chunk.tiles() {
                    let sums = sums.get_mut(tile.source as usize..).unwrap_or_default();
                    let mut add = |key: u32, weight: f64| {
                        if let Some(sum) = sums.get_mut((key >> label.target_bits) as usize) {
                            sum.add(weight * scale);
                        }
                    };
                    let all = 0..tile.edges;
                    coding.keys(&tile, all, &mut scratch, |keys, weights| match weights {
                        None => keys.iter().for_each(|key| add(*key, 1.0)),
                        Some(weights) => {
                            keys.iter().zip(weights).for_each(|(key, weight)| add(*key, *weight));
                        }
                    });
                }
                Ok(())
            })?;
        }
        Ok(sums.into_iter().map(WeightSum::sum).collect())
    }
}
