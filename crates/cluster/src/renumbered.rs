//! Edges whose slots get numbers while they are read: the ranks of slots that edges name, or
//! entries of a list that machines have found together.
//!
//! Each edge is looked up twice in a run, so these loops are compiled for the processor that is
//! found.

use std::sync::Arc;

use welter_engine::dispatched;
use welter_model::edge_sample::{EdgeSample, Sample};
use welter_model::edges::{Batch, EdgeStream, StreamError};
use welter_model::pair::Pair;
use welter_model::rank_select::RankSelectBitmap;
use welter_model::stream_wrapper::StreamWrapper;

/// The slots that edges name, a bit each.
///
/// # Errors
/// When the stream cannot be read.
pub fn marks(edges: &dyn EdgeStream) -> Result<Vec<u64>, StreamError> {
    let mut words: Vec<u64> = Vec::new();
    for part in 0..edges.parts() {
        edges.read(part, &mut |batch| {
            // The maximum is found first, because that runs over vectors, and no mark needs room.
            let largest = batch.pairs.as_flattened().iter().fold(0, |most, &slot| slot.max(most));
            let used = largest as usize / 64 + 1;
            if used > words.len() {
                words.resize(used.next_power_of_two(), 0);
            }
            // A slice of its own: the compiler would look up where words are after each store.
            let words = &mut words[..];
            for &[source, target] in batch.pairs {
                words[(source / 64) as usize] |= 1 << (source % 64);
                words[(target / 64) as usize] |= 1 << (target % 64);
            }
            true
        })?;
    }
    let used = words.iter().rposition(|word| *word != 0).map_or(0, |last| last + 1);
    words.truncate(used);
    Ok(words)
}

/// Numbers of slots.
pub enum Numbers {
    /// Ranks of their marks.
    Bitmap(RankSelectBitmap),
    /// Entries of this list, of as many vertices.
    Listed(Vec<u32>, u64),
}

impl Numbers {
    /// Appends the numbers of the ends of edges, up to the first that has none, which is returned.
    fn extend(&self, pairs: &[Pair], numbered: &mut Vec<Pair>) -> Option<Pair> {
        dispatched(
            #[inline(always)]
            || match self {
                Self::Bitmap(marks) => {
                    extend(pairs, numbered, |slot| Some(marks.number(slot.into())? as u32))
                }
                Self::Listed(numbers, _) => {
                    extend(pairs, numbered, |slot| numbers.get(slot as usize).copied())
                }
            },
        )
    }

    /// Number of vertices.
    fn count(&self) -> u64 {
        match self {
            Self::Bitmap(marks) => marks.count(),
            Self::Listed(_, vertices) => *vertices,
        }
    }
}

/// Appends pairs of numbers, up to the first pair of which an end has none, which is returned.
#[inline(always)]
fn extend(
    pairs: &[Pair],
    numbered: &mut Vec<Pair>,
    number: impl Fn(u32) -> Option<u32>,
) -> Option<Pair> {
    let first = numbered.len();
    numbered.resize(first + pairs.len(), [0; 2]);
    for (at, &[source, target]) in pairs.iter().enumerate() {
        let (Some(one), Some(other)) = (number(source), number(target)) else {
            numbered.truncate(first + at);
            return Some([source, target]);
        };
        numbered[first + at] = [one, other];
    }
    None
}

/// Edges whose slots get numbers.
pub struct Renumbered {
    edges: Arc<dyn EdgeStream>,
    numbers: Numbers,
}

impl Renumbered {
    /// Edges of a stream, of which the slots of all ends have numbers.
    pub fn new(edges: Arc<dyn EdgeStream>, numbers: Numbers) -> Self {
        Self { edges, numbers }
    }

    /// Hands on the edges that `read` hands out, with their numbers.
    fn renumber(
        &self,
        read: impl FnOnce(&mut dyn FnMut(Batch<'_>) -> bool) -> Result<(), StreamError>,
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        let (mut pairs, mut unknown) = (Vec::new(), None);
        read(&mut |batch| {
            pairs.clear();
            unknown = self.numbers.extend(batch.pairs, &mut pairs);
            unknown.is_none() && visit(Batch { pairs: &pairs, weights: batch.weights })
        })?;
        match unknown {
            Some([source, target]) => {
                let what =
                    format!("the input has changed: found an edge from {source} to {target}");
                Err(what.into())
            }
            None => Ok(()),
        }
    }
}

impl StreamWrapper for Renumbered {
    type Inner = dyn EdgeStream;

    fn inner(&self) -> &Self::Inner {
        &*self.edges
    }

    fn wrapped_slots(&self) -> Option<u64> {
        Some(self.numbers.count())
    }

    /// A sample that was taken beforehand has slots, not numbers.
    fn wrapped_sample(&self) -> Option<&EdgeSample> {
        None
    }

    fn sample_through(
        &self,
        part: usize,
        of: (Sample, usize),
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        self.renumber(|visit| self.edges.sample(part, of, visit), visit)
    }

    fn read_through(
        &self,
        part: usize,
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        self.renumber(|visit| self.edges.read(part, visit), visit)
    }
}

#[cfg(test)]
mod tests {
    use welter_model::edges::EdgeList;

    use super::*;

    #[test]
    fn an_edge_that_was_not_there_before_is_an_error() {
        let edges: Arc<dyn EdgeStream> = Arc::new(EdgeList::from_pairs(vec![[0, 3]]));
        let marks = RankSelectBitmap::new(vec![0b0001]);
        for numbers in [Numbers::Bitmap(marks), Numbers::Listed(vec![7], 9)] {
            let edges = Renumbered { edges: edges.clone(), numbers };
            let error = edges.read(0, &mut |_| true).unwrap_err();
            assert!(error.to_string().contains("from 0 to 3"), "{error}");
        }
    }
}
