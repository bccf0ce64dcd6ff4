//! The edges of some parts of a graph, as one stream: a part after the other.
//!
//! Invariant: a part of the stream is one of a kept graph, each of which it has once, in order.
//! Tested by `parts_are_read_one_after_the_other`.

use std::fmt;

use welter_model::edges::{Batch, EdgeStream, StreamError};

use super::stream::KeptStream;

/// The edges of some parts of a graph.
pub struct PartsStream {
    streams: Vec<KeptStream>,
    /// The first part of each stream among those of all.
    begins: Vec<usize>,
    slots: u64,
    weighted: bool,
}

impl PartsStream {
    /// Streams as one, of a graph of as many slots, whose edges are weighted or not.
    pub(super) fn new(streams: Vec<KeptStream>, (slots, weighted): (u64, bool)) -> Self {
        let mut end = 0;
        let begins = streams.iter().map(|stream| {
            let begin = end;
            end += stream.parts();
            begin
        });
        let begins = begins.collect();
        Self { streams, begins, slots, weighted }
    }
}

impl EdgeStream for PartsStream {
    fn parts(&self) -> usize {
        self.streams.iter().map(EdgeStream::parts).sum()
    }

    fn edges(&self) -> u64 {
        self.streams.iter().map(EdgeStream::edges).sum()
    }

    fn weighted(&self) -> bool {
        self.weighted
    }

    fn slots(&self) -> Option<u64> {
        Some(self.slots)
    }

    fn resident_bytes(&self) -> u64 {
        self.streams.iter().map(EdgeStream::resident_bytes).sum()
    }

    fn read(
        &self,
        part: usize,
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        // Streams without parts begin where the next one does.
        let stream = self.begins.partition_point(|begin| *begin <= part) - 1;
        self.streams[stream].read(part - self.begins[stream], visit)
    }
}

impl fmt::Debug for PartsStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PartsStream({:?})", self.streams)
    }
}
