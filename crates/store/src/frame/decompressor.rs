//! From frames to chunks.

use std::fmt;

use flate2::{Decompress, FlushDecompress, Status};
use lz4_flex::block::decompress_into;
use zstd::zstd_safe::DCtx;

use super::{Compression, Frame};
use crate::ChunkError;

/// Gives the chunks of frames. What codecs need is made when the first frame asks for it, and kept.
#[derive(Default)]
pub struct Decompressor {
    zstd: Option<DCtx<'static>>,
    zlib: Option<Decompress>,
}

impl Decompressor {
    /// A decompressor of any frames.
    pub fn new() -> Self {
        Self::default()
    }

    /// The bytes of a chunk that were stored: as they are, or out of the frame that they are, which
    /// are then put into `room`.
    ///
    /// # Errors
    /// When a frame is damaged or not all of the bytes, there is no room for what is in it, or that
    /// is not what it says.
    pub fn chunk<'a>(
        &mut self,
        stored: &'a [u8],
        room: &'a mut [u8],
    ) -> Result<&'a [u8], ChunkError> {
        if !Frame::is_at(stored) {
            return Ok(stored);
        }
        let frame = Frame::open(stored)?;
        if frame.bytes != stored.len() {
            let (what, value) = ("length of the frame", frame.bytes as u64);
            return Err(ChunkError::Field { what, offset: 16, value });
        }
        self.open(&frame, room)
    }

    /// The chunk of a frame, put into `room`.
    ///
    /// # Errors
    /// When there is no room for it, or it is not what the frame says.
    pub fn open<'a>(
        &mut self,
        frame: &Frame<'_>,
        room: &'a mut [u8],
    ) -> Result<&'a [u8], ChunkError> {
        let value = frame.plain_bytes as u64;
        let too_large = ChunkError::Field { what: "size of the chunk", offset: 12, value };
        let plain = room.get_mut(..frame.plain_bytes).ok_or(too_large)?;
        let bytes = match frame.compression {
            Compression::None => None,
            Compression::Zstd => self.unzstd(frame.compressed, plain),
            Compression::Lz4 => decompress_into(frame.compressed, plain).ok(),
            Compression::Snappy => {
                snap::raw::Decoder::new().decompress(frame.compressed, plain).ok()
            }
            Compression::Zlib => self.inflate(frame.compressed, plain),
        };
        if bytes == Some(frame.plain_bytes) {
            return Ok(plain);
        }
        Err(ChunkError::Compressed { codec: frame.compression.name(), bytes: value })
    }

    fn unzstd(&mut self, compressed: &[u8], plain: &mut [u8]) -> Option<usize> {
        if self.zstd.is_none() {
            self.zstd = DCtx::try_create();
        }
        self.zstd.as_mut()?.decompress(plain, compressed).ok()
    }

    fn inflate(&mut self, compressed: &[u8], plain: &mut [u8]) -> Option<usize> {
        let stream = self.zlib.get_or_insert_with(|| Decompress::new(true));
        stream.reset(true);
        let status = stream.decompress(compressed, plain, FlushDecompress::Finish).ok()?;
        let is_all = stream.total_in() as usize == compressed.len();
        (status == Status::StreamEnd && is_all).then_some(stream.total_out() as usize)
    }
}

impl fmt::Debug for Decompressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decompressor").finish_non_exhaustive()
    }
}
