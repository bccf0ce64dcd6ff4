//! The ways of one worker into frames and out of them: chunks that are compressed on storage, and
//! as kernels read them.
//!
//! The unpacked chunk lies in a slab of its own until the next chunk does, so a worker needs one
//! more, however many are read ahead. It is as large as a chunk can be, whatever a frame says.

use std::ops::Range;

use welter_store::ChunkError;
use welter_store::frame::{Compressor, Decompressor};

use crate::EngineError;
use crate::edges::framing::Framing;
use crate::machine::arena::{Arena, Slab};

/// Decompressor of the frames that one worker reads.
pub(crate) struct Frames(Option<(Decompressor, Slab)>);

impl Frames {
    /// The way out of frames, if chunks may lie in some.
    pub(crate) fn new(framed: bool, arena: &Arena) -> Result<Self, EngineError> {
        let room = framed.then(|| arena.take()).transpose()?;
        Ok(Self(room.map(|room| (Decompressor::new(), room))))
    }

    /// The bytes of a chunk, from those that were stored.
    pub(crate) fn chunk<'a>(&'a mut self, stored: &'a [u8]) -> Result<&'a [u8], ChunkError> {
        match &mut self.0 {
            None => Ok(stored),
            Some((decompressor, room)) => decompressor.chunk(stored, room.bytes_mut()),
        }
    }
}

/// Compressor of the frames that one worker writes, once the compression is known.
#[derive(Default)]
pub(crate) struct Framer {
    compressor: Option<Compressor>,
    is_known: bool,
}

impl Framer {
    /// Compresses the chunks of a slab, which lie there side by side in this order, each to where
    /// the one before ends then; says how many bytes all take. None becomes longer, so none runs
    /// into the next.
    pub(crate) fn frame(
        &mut self,
        framing: &Framing,
        slab: &mut Slab,
        mut chunks: Vec<&mut Range<usize>>,
    ) -> usize {
        let plain = chunks.last().map_or(0, |last| last.end);
        if !std::mem::replace(&mut self.is_known, true) {
            let bytes = chunks.iter().map(|range| &slab.bytes()[(**range).clone()]);
            let bytes: Vec<&[u8]> = bytes.collect();
            self.compressor = Compressor::new(framing.compression(&bytes));
        }
        let Some(compressor) = &mut self.compressor else { return plain };
        let (bytes, mut end) = (slab.bytes_mut(), 0);
        for range in &mut chunks {
            let begin = end;
            if let Some(frame) = compressor.frame(&bytes[(**range).clone()]) {
                end += frame.len();
                bytes[begin..end].copy_from_slice(frame);
            } else {
                end += range.len();
                bytes.copy_within((**range).clone(), begin);
            }
            **range = begin..end;
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use welter_store::frame::Compression;

    use super::*;

    #[test]
    fn chunks_of_a_slab_come_out_of_it_whether_or_not_they_become_smaller() {
        let arena = Arena::default();
        let mut slab = arena.take().unwrap();
        let mut state = 1_u64;
        let mut noise = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 40) as u8
        };
        let plain: Vec<u8> =
            (0..4096).map(|n| if (1024..2048).contains(&n) { noise() } else { 7 }).collect();
        slab.bytes_mut()[..plain.len()].copy_from_slice(&plain);
        let cuts = [0, 1024, 2048, 3072, 4096];
        let mut ranges: Vec<Range<usize>> = cuts.windows(2).map(|ends| ends[0]..ends[1]).collect();
        let framing = Framing::stated(Compression::Zstd);
        let end = Framer::default().frame(&framing, &mut slab, ranges.iter_mut().collect());
        assert!((1024..2048).contains(&end), "{end}");
        assert_eq!(ranges[1].len(), 1024);
        let mut frames = Frames::new(true, &arena).unwrap();
        for (range, ends) in ranges.into_iter().zip(cuts.windows(2)) {
            assert!(frames.chunk(&slab.bytes()[range]).unwrap() == &plain[ends[0]..ends[1]]);
        }
    }
}
