//! The sum of the edges of an input, made while they are read, so that a resumed run has the edges
//! that it began with, also where their file has the size and the time of then.
//!
//! Invariant: the sum depends on the edges and their weights alone, and neither on their order nor
//! on the parts that they are read in, nor on how often. Tested by
//! `edges_that_were_rewired_add_up_to_something_else`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use welter_model::edges::{Batch, EdgeStream, StreamError};
use welter_model::stream_wrapper::StreamWrapper;

/// The sum of each part.
pub(crate) struct Sums(Vec<AtomicU64>);

impl Sums {
    /// The sum of all edges, once each part has been read to its end.
    pub(crate) fn total(&self) -> u64 {
        self.0.iter().fold(0, |sum, part| sum.wrapping_add(part.load(Ordering::Relaxed)))
    }
}

/// A stream whose edges are added up when its parts are read.
pub(crate) struct Summed {
    edges: Box<dyn EdgeStream>,
    sums: Arc<Sums>,
}

impl Summed {
    /// The edges, and where their sum will be.
    pub(crate) fn of(edges: Box<dyn EdgeStream>) -> (Box<dyn EdgeStream>, Arc<Sums>) {
        let sums = Arc::new(Sums((0..edges.parts()).map(|_| AtomicU64::new(0)).collect()));
        (Box::new(Self { edges, sums: Arc::clone(&sums) }), sums)
    }
}

/// Number that an edge adds: its ends and the bits of its weight, mixed as `MurmurHash3` does at
/// its end.
fn mixed([source, target]: [u32; 2], weight: u64) -> u64 {
    let mut bits = u64::from(source) << 32 | u64::from(target);
    bits ^= weight.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    bits = (bits ^ bits >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    bits ^ bits >> 33
}

fn sum(batch: Batch<'_>) -> u64 {
    let Some(weights) = batch.weights else {
        return batch.pairs.iter().fold(0, |sum, pair| sum.wrapping_add(mixed(*pair, 0)));
    };
    let edges = batch.pairs.iter().zip(weights);
    edges.fold(0, |sum, (pair, weight)| sum.wrapping_add(mixed(*pair, weight.to_bits())))
}

impl StreamWrapper for Summed {
    type Inner = dyn EdgeStream;

    fn inner(&self) -> &Self::Inner {
        &*self.edges
    }

    fn read_through(
        &self,
        part: usize,
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        let (mut all, mut to_the_end) = (0_u64, true);
        self.edges.read(part, &mut |batch| {
            all = all.wrapping_add(sum(batch));
            to_the_end = visit(batch);
            to_the_end
        })?;
        if to_the_end {
            self.sums.0[part].store(all, Ordering::Relaxed);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use welter_model::edges::EdgeList;

    use super::*;

    fn total(pairs: &[[u32; 2]], weights: Option<&[f64]>) -> u64 {
        let mut list = EdgeList::new(None, weights.is_some());
        // Parts of two edges, each read twice.
        let mut weights = weights.map(|weights| weights.chunks(2));
        for pairs in pairs.chunks(2) {
            let weights = weights.as_mut().and_then(Iterator::next).unwrap_or_default();
            list.push(pairs.to_vec(), weights.to_vec());
        }
        let (edges, sums) = Summed::of(Box::new(list));
        for part in (0..edges.parts()).chain(0..edges.parts()) {
            edges.read(part, &mut |_| true).unwrap();
        }
        sums.total()
    }

    #[test]
    fn edges_that_were_rewired_add_up_to_something_else() {
        let edges = [[0, 1], [1, 2], [2, 3]];
        assert_eq!(total(&edges, None), total(&[[2, 3], [0, 1], [1, 2]], None));
        // With the degrees of before.
        assert_ne!(total(&edges, None), total(&[[0, 2], [1, 1], [2, 3]], None));
        let weights = [0.0, 1.0, 2.0];
        assert_ne!(total(&edges, Some(&weights)), total(&edges, Some(&[1.0, 0.0, 2.0])));
    }
}
