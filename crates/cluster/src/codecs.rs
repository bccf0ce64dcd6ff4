//! Codecs of a machine: which ones its chunks may be compressed by, and what these take.
//!
//! ```text
//! edges     written once, read in some ten iterations:   max(k + c, r / W) + 10 max(k + d, r / R)
//! updates   written once, read once:                     max(k + c + d, r / W + r / R)
//! ```
//!
//! for each byte of a chunk, of which a codec leaves `r`, compresses it in `c` seconds and
//! decompresses it in `d`, where kernels take `k`, and the disk of the machine gives `R` bytes a
//! second and takes `W`. One thread computes while the disk works, so that the slower of the two is
//! what is waited for. The network, which has fewer bytes to move too, is not measured.

use welter_engine::plan::Sampled;
use welter_store::frame::Compression;

/// Readings of edges that a run is taken to have, as on one machine.
const READINGS: f64 = 10.0;

/// Seconds that kernels take for a byte of a chunk: 8 ns an edge of 5 bytes.
const KERNEL_SECONDS: f64 = 1.6e-9;

/// Codecs that the chunks of a machine may be compressed by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Codecs {
    /// None: chunks wait and travel as they were made.
    #[default]
    None,
    /// This one.
    Stated(Compression),
    /// Codecs by which a run ends first, by the rates of the machine's disk and a look at its first
    /// chunks; none where no rates are known.
    Measured,
}

/// Bytes a second of a machine's disk, as they were measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiskRates {
    /// Bytes that it gives.
    pub read: f64,
    /// Bytes that it takes.
    pub write: f64,
}

/// Content of chunks, which decides how often they are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Edges,
    Updates,
}

impl Codecs {
    /// Bytes of memory that a machine takes for them: room for a chunk of `chunk_bytes` bytes that
    /// comes out of a frame, and two compressors, since edges and updates may have one each.
    pub fn memory_bytes(self, chunk_bytes: u64) -> u64 {
        let plain_bytes = usize::try_from(chunk_bytes).unwrap_or(usize::MAX);
        let of = |codec: Compression, compressors: u64| {
            let compressor = codec.compressor_bytes(plain_bytes) as u64;
            compressors * compressor + codec.decompressor_bytes() as u64
        };
        match self {
            Self::None | Self::Stated(Compression::None) => 0,
            Self::Stated(codec) => chunk_bytes + of(codec, 1),
            Self::Measured => {
                let widest = Compression::ALL.into_iter().map(|codec| of(codec, 2)).max();
                chunk_bytes + widest.unwrap_or(0)
            }
        }
    }
}

impl DiskRates {
    /// The codec with which chunks of this content are done with first, of those that were tried.
    pub(crate) fn best(&self, content: Content, sampled: &[Sampled]) -> Compression {
        let Self { read, write } = *self;
        Sampled::fastest(sampled, |codec| {
            let Sampled { ratio, compress, decompress, .. } = *codec;
            match content {
                Content::Edges => {
                    let once = (KERNEL_SECONDS + compress).max(ratio / write);
                    let again = (KERNEL_SECONDS + decompress).max(ratio / read);
                    once + READINGS * again
                }
                Content::Updates => {
                    let core = KERNEL_SECONDS + compress + decompress;
                    core.max(ratio / write + ratio / read)
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ZSTD: Sampled =
        Sampled { compression: Compression::Zstd, ratio: 0.8, compress: 4e-9, decompress: 1e-9 };

    #[test]
    fn slow_disks_get_small_chunks_and_fast_ones_plain_chunks() {
        for content in [Content::Edges, Content::Updates] {
            let chosen = |rate: f64| DiskRates { read: rate, write: rate }.best(content, &[ZSTD]);
            assert_eq!(chosen(50e6), Compression::Zstd, "{content:?}");
            assert_eq!(chosen(5e9), Compression::None, "{content:?}");
            let slow = DiskRates { read: 50e6, write: 50e6 };
            let little = Sampled { ratio: 0.97, ..ZSTD };
            assert_eq!(slow.best(content, &[little]), Compression::None, "{content:?}");
            assert_eq!(slow.best(content, &[]), Compression::None, "{content:?}");
        }
    }

    #[test]
    fn codecs_take_memory_where_there_are_any() {
        let of = |codecs: Codecs| codecs.memory_bytes(2 << 20);
        assert_eq!([of(Codecs::None), of(Codecs::Stated(Compression::None))], [0, 0]);
        // A chunk, and one that no codec makes smaller.
        let stated = of(Codecs::Stated(Compression::Lz4));
        assert!((4 << 20..16 << 20).contains(&stated), "{stated} bytes");
        assert!(of(Codecs::Measured) > stated);
    }
}
