//! The edges of a machine as a stream, of one that stays where it is: its share, for callers that
//! want streams.

use std::ops::Range;
use std::sync::Arc;

use welter_model::edges::{Batch, EdgeStream, StreamError};
use welter_protocol::Rank;

use crate::share::{own_of, parts};

/// The edges of a machine as a stream, of one that stays where it is.
pub struct OwnEdges {
    stream: Arc<dyn EdgeStream>,
    parts: Range<usize>,
    /// Edges of these parts that are its own, counted from the first one.
    own: Range<u64>,
    /// Edges before each of these parts, likewise; 0 where parts do not know their edges.
    begins: Vec<u64>,
    edges: u64,
}

impl OwnEdges {
    /// The edges of a machine. Reads them once where parts do not know how many edges they have.
    ///
    /// # Errors
    /// When the stream cannot be read.
    pub fn new(stream: Arc<dyn EdgeStream>, me: (Rank, usize)) -> Result<Self, StreamError> {
        let (parts, own) = parts(&*stream, me);
        let sizes: Option<Vec<u64>> = parts.clone().map(|part| stream.part_edges(part)).collect();
        let (begins, edges) = if let Some(sizes) = sizes {
            let mut end = 0;
            let begins = sizes.iter().map(|size| {
                let begin = end;
                end += size;
                begin
            });
            let begins: Vec<u64> = begins.collect();
            (begins, own.end.min(end).saturating_sub(own.start))
        } else {
            let mut edges = 0;
            for part in parts.clone() {
                stream.read(part, &mut |batch| {
                    edges += batch.pairs.len() as u64;
                    true
                })?;
            }
            (vec![0; parts.len()], edges)
        };
        Ok(Self { stream, parts, own, begins, edges })
    }
}

impl EdgeStream for OwnEdges {
    fn parts(&self) -> usize {
        self.parts.len()
    }

    fn edges(&self) -> u64 {
        self.edges
    }

    fn weighted(&self) -> bool {
        self.stream.weighted()
    }

    fn slots(&self) -> Option<u64> {
        self.stream.slots()
    }

    /// Bytes of the whole stream, which stays.
    fn resident_bytes(&self) -> u64 {
        self.stream.as_ref().resident_bytes()
    }

    fn read(
        &self,
        part: usize,
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        let mut passed = self.begins[part];
        self.stream.read(self.parts.start + part, &mut |batch| {
            let within = own_of(&self.own, &mut passed, batch.pairs.len());
            let weights = batch.weights.map(|weights| &weights[within.clone()]);
            let own = Batch { pairs: &batch.pairs[within], weights };
            visit(own) && passed < self.own.end
        })
    }
}
