//! From chunks to frames.

use std::fmt;

use bytemuck::bytes_of;
use flate2::{Compress, FlushCompress, Status};
use lz4_flex::block::{CompressTable, compress_into_with_table};
use zstd::zstd_safe::CCtx;

use super::{Compression, HEADER_BYTES, Header};
use crate::header::ALIGN;

/// Level of zstd: 2 and 3 take twice the time for a hundredth less, on edges.
const ZSTD_LEVEL: i32 = 1;
/// Level of zlib where no setting says otherwise, and so that of X-Stream in the cloud.
const ZLIB_LEVEL: u32 = 6;

/// Makes frames of chunks. Tables and buffers are kept between chunks.
pub struct Compressor {
    compression: Compression,
    codec: Codec,
    frame: Vec<u8>,
}

enum Codec {
    Zstd(CCtx<'static>),
    Lz4(CompressTable),
    Snappy(Box<snap::raw::Encoder>),
    Zlib(Compress),
}

impl Compressor {
    /// A compressor; `None` where nothing is compressed, or where there is no memory for it.
    pub fn new(compression: Compression) -> Option<Self> {
        let codec = match compression {
            Compression::None => return None,
            Compression::Zstd => Codec::Zstd(CCtx::try_create()?),
            Compression::Lz4 => Codec::Lz4(CompressTable::large()),
            Compression::Snappy => Codec::Snappy(Box::new(snap::raw::Encoder::new())),
            Compression::Zlib => {
                Codec::Zlib(Compress::new(flate2::Compression::new(ZLIB_LEVEL), true))
            }
        };
        Some(Self { compression, codec, frame: Vec::new() })
    }

    /// Compression of its frames.
    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// The frame of a chunk, if that has fewer bytes. A codec that fails has not made it smaller.
    pub fn frame(&mut self, plain: &[u8]) -> Option<&[u8]> {
        u32::try_from(plain.len()).ok()?;
        let bound = HEADER_BYTES + self.compression.bound(plain.len());
        if self.frame.len() < bound {
            self.frame.resize(bound, 0);
        }
        let room = &mut self.frame[HEADER_BYTES..bound];
        let bytes = match &mut self.codec {
            Codec::Zstd(context) => context.compress(room, plain, ZSTD_LEVEL).ok()?,
            Codec::Lz4(table) => compress_into_with_table(plain, room, table).ok()?,
            Codec::Snappy(encoder) => encoder.compress(plain, room).ok()?,
            Codec::Zlib(stream) => deflate(stream, plain, room)?,
        };
        let end = HEADER_BYTES + bytes;
        let whole = end.next_multiple_of(ALIGN);
        if whole >= plain.len() {
            return None;
        }
        let header = Header::new(self.compression, plain.len(), &self.frame[HEADER_BYTES..end]);
        self.frame[..HEADER_BYTES].copy_from_slice(bytes_of(&header));
        self.frame[end..whole].fill(0);
        Some(&self.frame[..whole])
    }
}

/// Compresses all at once, and says to how many bytes.
fn deflate(stream: &mut Compress, plain: &[u8], room: &mut [u8]) -> Option<usize> {
    stream.reset();
    let status = stream.compress(plain, room, FlushCompress::Finish).ok()?;
    (status == Status::StreamEnd).then_some(stream.total_out() as usize)
}

impl fmt::Debug for Compressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compressor").field("compression", &self.compression).finish_non_exhaustive()
    }
}
