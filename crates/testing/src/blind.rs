//! An input whose sample is misleading.

use welter_model::edge_sample::Sample;
use welter_model::edges::{Batch, EdgeList, EdgeStream, StreamError};

/// Edges of which a sample shows only the first.
#[derive(Debug)]
pub struct Blind(pub EdgeList);

impl EdgeStream for Blind {
    fn parts(&self) -> usize {
        self.0.parts()
    }

    fn edges(&self) -> u64 {
        self.0.edges()
    }

    fn weighted(&self) -> bool {
        self.0.weighted()
    }

    fn slots(&self) -> Option<u64> {
        self.0.slots()
    }

    fn sample(
        &self,
        part: usize,
        (_, round): (Sample, usize),
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        if (part, round) != (0, 0) {
            return Ok(());
        }
        self.0.read(part, &mut |Batch { pairs, weights }| {
            let weights = weights.map(|weights| &weights[..1]);
            visit(Batch { pairs: &pairs[..1], weights })
        })
    }

    fn read(
        &self,
        part: usize,
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        self.0.read(part, visit)
    }
}
