//! Decoders of the compressions that also stand inside of zip archives, within their limits.

use std::io;

use super::bytes::{Bytes, Counted};
use crate::options::Limits;

/// The contents of all frames of zstd.
pub(super) fn zstd(inner: Counted, limits: &Limits) -> io::Result<Bytes> {
    let mut decoder = zstd::Decoder::with_buffer(inner)?;
    decoder.window_log_max(limits.zstd_window_log_max)?;
    Ok(Box::new(decoder))
}

/// The contents of all streams of bzip2.
pub(super) fn bzip2(inner: Counted) -> Bytes {
    Box::new(bzip2::bufread::MultiBzDecoder::new(inner))
}

/// The contents of all streams of xz.
pub(super) fn xz(inner: Counted, limits: &Limits) -> Bytes {
    // Bytes of the largest window of zstd, and of a decoder beside it.
    let kibibytes_max = (1_u32 << limits.zstd_window_log_max.min(31)) / 1024 + 1024;
    Box::new(lzma_rust2::XzReader::new_mem_limit(inner, true, kibibytes_max))
}
