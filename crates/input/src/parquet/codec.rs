//! Compressions of pages.
//!
//! Invariant: a page unpacks to as many bytes as its header says, and no byte more is unpacked
//! (tested by `bytes_beyond_the_stated_ones_are_refused`).

use std::fmt::Display;
use std::io::Read;

use brotli_decompressor::Decompressor;
use flate2::read::MultiGzDecoder;
use parquet::basic::Compression;
use parquet::errors::{ParquetError, Result};
use zstd::bulk;

/// Bytes that a decoder of Brotli reads at once.
const BROTLI_BUFFER_BYTES: usize = 4 << 10;

/// Bytes before a block of Hadoop's LZ4: its length unpacked and packed.
const HADOOP_HEAD_BYTES: usize = 8;

/// Unpacks the pages of one column.
pub(super) enum Codec {
    Snappy(Box<snap::raw::Decoder>),
    Gzip,
    Brotli,
    /// LZ4 as it stands in the specification: one block.
    Lz4,
    /// LZ4 as older writers have it: blocks as Hadoop frames them, LZ4's own frames, or one block.
    OldLz4,
    Zstd(bulk::Decompressor<'static>),
}

impl Codec {
    pub(super) fn new(compression: Compression) -> Result<Self> {
        Ok(match compression {
            Compression::SNAPPY => Self::Snappy(Box::default()),
            Compression::GZIP(_) => Self::Gzip,
            Compression::BROTLI(_) => Self::Brotli,
            Compression::LZ4_RAW => Self::Lz4,
            Compression::LZ4 => Self::OldLz4,
            Compression::ZSTD(_) => Self::Zstd(bulk::Decompressor::new()?),
            other => return Err(failed(format!("pages packed by {other} are not read"))),
        })
    }

    /// Appends the `bytes` bytes that a page unpacks to.
    pub(super) fn unpack(&mut self, packed: &[u8], bytes: usize, into: &mut Vec<u8>) -> Result<()> {
        let start = into.len();
        match self {
            Self::Gzip => read(MultiGzDecoder::new(packed), bytes, into),
            Self::Brotli => read(Decompressor::new(packed, BROTLI_BUFFER_BYTES), bytes, into),
            other => {
                into.resize(start + bytes, 0);
                let found = other.fill(packed, &mut into[start..])?;
                into.truncate(start + found);
                Ok(())
            }
        }?;
        let found = into.len() - start;
        if found == bytes {
            return Ok(());
        }
        Err(failed(format!("a page of {bytes} bytes unpacks to {found}")))
    }

    /// Unpacks into room of the stated length; how much of it was filled.
    fn fill(&mut self, packed: &[u8], room: &mut [u8]) -> Result<usize> {
        match self {
            Self::Snappy(decoder) => decoder.decompress(packed, room).map_err(failed),
            Self::Zstd(decoder) => Ok(decoder.decompress_to_buffer(packed, room)?),
            Self::Lz4 => lz4_flex::block::decompress_into(packed, room).map_err(failed),
            _ => {
                let bytes = room.len();
                if let Some(found) = hadoop(packed, room) {
                    return Ok(found);
                }
                let mut framed = Vec::with_capacity(bytes);
                let frames = lz4_flex::frame::FrameDecoder::new(packed);
                if read(frames, bytes, &mut framed).is_ok() && framed.len() == bytes {
                    room.copy_from_slice(&framed);
                    return Ok(bytes);
                }
                lz4_flex::block::decompress_into(packed, room).map_err(failed)
            }
        }
    }
}

/// Appends what a decoder gives, and of what is beyond the stated bytes one.
fn read(decoder: impl Read, bytes: usize, into: &mut Vec<u8>) -> Result<()> {
    decoder.take(bytes as u64 + 1).read_to_end(into)?;
    Ok(())
}

/// Unpacks LZ4 as Hadoop frames it: blocks behind their lengths unpacked and packed, the highest
/// byte first. `None` where it is framed otherwise.
fn hadoop(mut packed: &[u8], room: &mut [u8]) -> Option<usize> {
    let mut filled = 0_usize;
    while !packed.is_empty() {
        let (head, rest) = packed.split_first_chunk::<HADOOP_HEAD_BYTES>()?;
        let [unpacked, length] = [&head[..4], &head[4..]]
            .map(|number| number.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)));
        let (block, rest) = rest.split_at_checked(length)?;
        let room = room.get_mut(filled..filled.checked_add(unpacked)?)?;
        if lz4_flex::block::decompress_into(block, room).ok()? != unpacked {
            return None;
        }
        filled += unpacked;
        packed = rest;
    }
    Some(filled)
}

fn failed(what: impl Display) -> ParquetError {
    ParquetError::General(what.to_string())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use parquet::basic::ZstdLevel;

    use super::*;

    /// Bytes packed by each compression that has an encoder here.
    fn packed(bytes: &[u8]) -> Vec<(Codec, Vec<u8>)> {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(bytes).unwrap();
        let block = lz4_flex::block::compress(bytes);
        let mut framed = Vec::new();
        for half in bytes.chunks(bytes.len().div_ceil(2)) {
            let block = lz4_flex::block::compress(half);
            framed.extend((half.len() as u32).to_be_bytes());
            framed.extend((block.len() as u32).to_be_bytes());
            framed.extend(block);
        }
        let mut frames = lz4_flex::frame::FrameEncoder::new(Vec::new());
        frames.write_all(bytes).unwrap();
        let snappy = snap::raw::Encoder::new().compress_vec(bytes).unwrap();
        vec![
            (Codec::Gzip, gzip.finish().unwrap()),
            (Codec::Lz4, block.clone()),
            (Codec::OldLz4, block),
            (Codec::OldLz4, framed),
            (Codec::OldLz4, frames.finish().unwrap()),
            (Codec::new(Compression::SNAPPY).unwrap(), snappy),
            (
                Codec::new(Compression::ZSTD(ZstdLevel::default())).unwrap(),
                zstd::encode_all(bytes, 1).unwrap(),
            ),
        ]
    }

    #[test]
    fn bytes_are_unpacked_behind_those_that_are_there() {
        let bytes: Vec<u8> = (0..5_000_u32).map(|byte| ((byte * byte) >> 5) as u8 & 15).collect();
        for (mut codec, packed) in packed(&bytes) {
            let mut found = vec![7];
            codec.unpack(&packed, bytes.len(), &mut found).unwrap();
            assert!(found[0] == 7 && found[1..] == bytes);
        }
    }

    #[test]
    fn bytes_beyond_the_stated_ones_are_refused() {
        let bytes = vec![3; 1 << 20];
        for stated in [1_000, (1 << 20) - 1, (1 << 20) + 1] {
            for (mut codec, packed) in packed(&bytes) {
                let mut found = Vec::with_capacity(stated + 1);
                assert!(codec.unpack(&packed, stated, &mut found).is_err());
                assert!(found.len() <= stated + 1);
            }
        }
    }
}
