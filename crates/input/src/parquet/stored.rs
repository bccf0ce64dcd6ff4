//! A file or an object that threads read at any place without disturbing one another.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};
use welter_objects::Blocks;

use crate::error::InputError;
use crate::options::{Limits, ReadOptions};
use crate::source::Source;
use crate::source::stored::StoredBytes;

/// Bytes read ahead where a reader is asked for: page headers are short.
const AHEAD_BYTES: usize = 4 << 10;

/// Bytes of blocks of an object that are kept at most.
const BLOCKS_BYTES_MAX: u64 = 256 << 20;
/// Share of the memory that blocks of an object may take, as one part in this number.
const BLOCKS_SHARE: u64 = 16;

/// An open file of known length, or an object.
#[derive(Clone)]
pub(super) struct Stored {
    at: At,
    bytes: u64,
}

#[derive(Clone)]
enum At {
    File(Arc<File>),
    Object(Blocks),
}

/// Reads on from a place.
pub(super) struct Onward {
    at: At,
    offset: u64,
}

impl Stored {
    pub(super) fn open(
        source: &Source,
        options: &ReadOptions,
    ) -> std::result::Result<Self, InputError> {
        let Limits { memory_bytes_max, object_bytes_max, read_requests, .. } = options.limits;
        let share = || memory_bytes_max.unwrap_or(u64::MAX) / BLOCKS_SHARE;
        let memory = object_bytes_max.unwrap_or_else(share).min(BLOCKS_BYTES_MAX);
        let at = match source.file()? {
            StoredBytes::File(file) => At::File(file),
            StoredBytes::Object(object) => {
                let readers = options.thread_count();
                At::Object(Blocks::new(&object, memory, readers, read_requests))
            }
        };
        Ok(Self { at, bytes: source.bytes().unwrap_or(0) })
    }

    /// The outcome of reading it; the decoder has only a text of why an object was not read.
    pub(super) fn with_fault<T>(
        &self,
        outcome: std::result::Result<T, InputError>,
    ) -> std::result::Result<T, InputError> {
        match &self.at {
            At::File(_) => outcome,
            At::Object(blocks) => outcome.map_err(|error| {
                blocks.fault().map_or(error, |fault| InputError::of_object(&fault))
            }),
        }
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
        let from = Onward { at: self.at.clone(), offset: start };
        Ok(BufReader::with_capacity(AHEAD_BYTES, from))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        if start.checked_add(length as u64).is_none_or(|end| end > self.bytes) {
            let what = format!("{length} bytes at byte {start} of a file of {}", self.bytes);
            return Err(ParquetError::EOF(what));
        }
        match &self.at {
            At::File(file) => {
                let mut bytes = vec![0; length];
                file.read_exact_at(&mut bytes, start)?;
                Ok(bytes.into())
            }
            At::Object(blocks) => Ok(blocks.read(start..start + length as u64)?),
        }
    }
}

impl Read for Onward {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = match &self.at {
            At::File(file) => file.read_at(buffer, self.offset)?,
            At::Object(blocks) => {
                let bytes = blocks.piece_at(self.offset)?;
                let count = bytes.len().min(buffer.len());
                buffer[..count].copy_from_slice(&bytes[..count]);
                count
            }
        };
        self.offset += count as u64;
        Ok(count)
    }
}
