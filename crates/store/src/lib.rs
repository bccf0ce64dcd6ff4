//! The chunk format: tiles, codecs, checksums.
