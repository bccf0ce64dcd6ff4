//! Codecs that the bytes of a chunk may be compressed with.

/// Compression of the bytes of a chunk, whatever is in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Compression {
    /// Chunks are stored as they are in memory.
    #[default]
    None = 0,
    /// Zstandard (RFC 8878), level 1.
    Zstd = 1,
    /// A block of LZ4.
    Lz4 = 2,
    /// Snappy, in its raw form.
    Snappy = 3,
    /// zlib (RFC 1950), level 6.
    Zlib = 4,
}

impl Compression {
    /// List of all compressions.
    pub const ALL: [Self; 5] = [Self::None, Self::Zstd, Self::Lz4, Self::Snappy, Self::Zlib];

    /// The compression that is written as this number.
    pub fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|compression| *compression as u8 == byte)
    }

    /// Name of the compression, as in options of the command.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Zstd => "zstd",
            Self::Lz4 => "lz4",
            Self::Snappy => "snappy",
            Self::Zlib => "zlib",
        }
    }

    /// Bytes that compressing chunks of `plain_bytes` bytes takes at most, the frame included.
    pub fn compressor_bytes(self, plain_bytes: usize) -> usize {
        if self == Self::None { 0 } else { self.bound(plain_bytes) + COMPRESSOR_BYTES }
    }

    /// Bytes that decompressing takes beside the chunk that comes out, at most.
    pub fn decompressor_bytes(self) -> usize {
        if self == Self::None { 0 } else { DECOMPRESSOR_BYTES }
    }

    /// Bytes that a codec may write for `plain_bytes`, where they become no fewer.
    pub(super) fn bound(self, plain_bytes: usize) -> usize {
        match self {
            Self::None => 0,
            Self::Zstd => zstd::zstd_safe::compress_bound(plain_bytes),
            Self::Lz4 => lz4_flex::block::get_maximum_output_size(plain_bytes),
            Self::Snappy => snap::raw::max_compress_len(plain_bytes),
            // Blocks that are stored have 5 bytes for each 16 KiB, the stream has 6.
            Self::Zlib => plain_bytes + plain_bytes / 1024 + 64,
        }
    }
}

/// Bytes of tables and windows, in zstd the most: 0.6 MB for half a megabyte.
const COMPRESSOR_BYTES: usize = 1 << 20;
/// In zstd 160 KB.
const DECOMPRESSOR_BYTES: usize = 1 << 18;
