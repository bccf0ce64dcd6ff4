//! Frames of LZ4, one after the other.
//!
//! The decoder reads one frame, and takes the end of the bytes inside of one for its end. So it is
//! watched: where the bytes end while a frame is read, that frame is cut.

use std::io::{self, Read};

use lz4_flex::frame::FrameDecoder;

use super::bytes::Counted;

/// The contents of all frames.
pub(super) struct Frames {
    decoder: FrameDecoder<Watched>,
    /// Whether the last frame came to its end.
    between: bool,
}

/// Bytes, and whether they ended.
struct Watched {
    inner: Counted,
    ended: bool,
}

impl Frames {
    pub(super) fn new(inner: Counted) -> Self {
        let decoder = FrameDecoder::new(Watched { inner, ended: false });
        Self { decoder, between: false }
    }
}

impl Read for Frames {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.decoder.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                self.between = false;
                return Ok(count);
            }
            if !self.decoder.get_ref().ended {
                self.between = true;
            } else if self.between {
                return Ok(0);
            } else {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

impl Read for Watched {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.ended |= count == 0 && !buffer.is_empty();
        Ok(count)
    }
}
