//! A file that threads read at any place without disturbing one another.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

use crate::error::InputError;
use crate::source::Source;

/// Bytes read ahead where a reader is asked for: page headers are short.
const AHEAD_BYTES: usize = 4 << 10;

/// An open file of known length.
#[derive(Clone)]
pub(super) struct Stored {
    file: Arc<File>,
    bytes: u64,
}

/// Reads on from a place.
pub(super) struct Onward {
    file: Arc<File>,
    offset: u64,
}

impl Stored {
    pub(super) fn open(source: &Source) -> std::result::Result<Self, InputError> {
        Ok(Self { file: Arc::new(source.file()?), bytes: source.bytes().unwrap_or(0) })
    }
}

impl Length for Stored {
    fn len(&self) -> u64 {
        self.bytes
    }
}

impl ChunkReader for Stored {
    type T = BufReader<Onward>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        let from = Onward { file: Arc::clone(&self.file), offset: start };
        Ok(BufReader::with_capacity(AHEAD_BYTES, from))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        if start.checked_add(length as u64).is_none_or(|end| end > self.bytes) {
            let what = format!("{length} bytes at byte {start} of a file of {}", self.bytes);
            return Err(ParquetError::EOF(what));
        }
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, start)?;
        Ok(bytes.into())
    }
}

impl Read for Onward {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.offset)?;
        self.offset += count as u64;
        Ok(count)
    }
}
