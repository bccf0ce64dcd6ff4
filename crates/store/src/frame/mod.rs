//! Frames: chunks under a general-purpose compression, as they lie on storage.
//!
//! The encoding of keys makes use of what edges are like; a general-purpose codec on top makes use
//! of what is left, and costs time. So chunks are what memory holds and kernels read, and a frame
//! is the bytes of one of them for a device that is slow: whatever is in the chunk, an update chunk
//! too. A chunk that a codec does not make smaller is stored as it is, and the first bytes tell.
//! `docs/format.md` draws a frame.
//!
//! Invariants: nothing is decompressed whose checksum does not fit · nothing is decompressed into
//! more room than the reader has, whatever a frame says · what comes out has as many bytes as the
//! frame says, or it is an error. Checked in `Frame::open` and `Decompressor::chunk`. Tested by
//! `every_flipped_bit_of_a_frame_is_noticed` and `forged_frames_are_refused`.

mod compression;
mod compressor;
mod decompressor;

use bytemuck::{Pod, Zeroable, bytes_of, pod_read_unaligned};

pub use self::compression::Compression;
pub use self::compressor::Compressor;
pub use self::decompressor::Decompressor;

use crate::ChunkError;
use crate::checksum;
use crate::header::ALIGN;

/// First bytes of every frame.
pub const MAGIC: [u8; 8] = *b"WELTERFR";
/// Version of frames that this build writes and reads.
pub const VERSION: u16 = 1;

/// The head of a frame, 32 bytes.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Header {
    magic: [u8; 8],
    version: u16,
    compression: u8,
    zero: u8,
    /// Bytes of the chunk.
    plain_bytes: u32,
    /// Bytes that it was compressed to.
    compressed_bytes: u32,
    zeros: [u8; 8],
    /// CRC-32C of the header up to here and of the compressed bytes.
    checksum: u32,
}

const HEADER_BYTES: usize = size_of::<Header>();
const _: () = assert!(HEADER_BYTES == 32);

/// A frame, borrowed from wherever its bytes lie.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    compression: Compression,
    plain_bytes: usize,
    compressed: &'a [u8],
    bytes: usize,
}

impl<'a> Frame<'a> {
    /// Whether bytes begin as a frame does.
    pub fn is_at(bytes: &[u8]) -> bool {
        bytes.starts_with(&MAGIC)
    }

    /// Opens the frame at the front of `bytes`.
    ///
    /// # Errors
    /// When the bytes are not a whole frame of this version, or damaged.
    pub fn open(bytes: &'a [u8]) -> Result<Self, ChunkError> {
        let short = |need: usize| ChunkError::Short { need: need as u64, have: bytes.len() as u64 };
        let head = bytes.get(..HEADER_BYTES).ok_or_else(|| short(HEADER_BYTES))?;
        let header: Header = pod_read_unaligned(head);
        if header.magic != MAGIC {
            return Err(ChunkError::Magic);
        }
        if header.version != VERSION {
            return Err(ChunkError::Version { found: header.version, known: VERSION });
        }
        let field = |what, offset, value| ChunkError::Field { what, offset, value };
        let compression = Compression::from_byte(header.compression)
            .filter(|compression| *compression != Compression::None)
            .ok_or_else(|| field("compression", 10, header.compression.into()))?;
        let zeros = header.zeros.iter().fold(header.zero, |all, byte| all | byte);
        if zeros != 0 {
            return Err(field("padding of the frame", 11, zeros.into()));
        }
        let end = (HEADER_BYTES as u64).saturating_add(header.compressed_bytes.into()) as usize;
        let whole = end.next_multiple_of(ALIGN);
        let body = bytes.get(..whole).ok_or_else(|| short(whole))?;
        let compressed = &body[HEADER_BYTES..end];
        if header.sum(compressed) != header.checksum {
            return Err(ChunkError::Checksum { what: "frame", offset: 0 });
        }
        if let Some(place) = body[end..].iter().position(|byte| *byte != 0) {
            let offset = end + place;
            return Err(field("padding of the frame", offset as u64, body[offset].into()));
        }
        let plain_bytes = header.plain_bytes as usize;
        Ok(Self { compression, plain_bytes, compressed, bytes: whole })
    }

    /// Compression of the chunk in it.
    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// Bytes of that chunk.
    pub fn plain_bytes(&self) -> usize {
        self.plain_bytes
    }

    /// Bytes of the whole frame.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Header {
    fn new(compression: Compression, plain_bytes: usize, compressed: &[u8]) -> Self {
        let header = Self {
            magic: MAGIC,
            version: VERSION,
            compression: compression as u8,
            plain_bytes: plain_bytes as u32,
            compressed_bytes: compressed.len() as u32,
            ..Self::zeroed()
        };
        Self { checksum: header.sum(compressed), ..header }
    }

    fn sum(&self, compressed: &[u8]) -> u32 {
        let head = checksum::of(&bytes_of(self)[..HEADER_BYTES - size_of::<u32>()]);
        checksum::append(head, compressed)
    }
}

/// Puts the checksum of a frame right, where all of its bytes are there.
pub(crate) fn forge(bytes: &mut [u8]) -> Option<()> {
    let header: Header = pod_read_unaligned(bytes.get(..HEADER_BYTES)?);
    let end = HEADER_BYTES.checked_add(header.compressed_bytes as usize)?;
    let sum = header.sum(bytes.get(HEADER_BYTES..end)?);
    bytes[HEADER_BYTES - size_of::<u32>()..HEADER_BYTES].copy_from_slice(&sum.to_le_bytes());
    Some(())
}
