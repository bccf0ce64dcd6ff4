//! The bytes of an object at any place, in blocks that are kept for a while.
//!
//! A reader of tables looks at the head of a page, jumps to the next, and later reads the pages
//! themselves, from several threads. Each block is asked for once as long as it is kept; the ones
//! that were not used for longest go first.

use std::io::{self, ErrorKind};
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::{Bytes, BytesMut};

use crate::error::ObjectError;
use crate::object::Object;

/// Bytes of a block, where there is memory for some.
const BLOCK_BYTES: u64 = 4 << 20;
/// And where there is little.
const BLOCK_BYTES_MIN: u64 = 64 << 10;
/// Blocks that are kept at least.
const BLOCKS_MIN: usize = 4;
/// Blocks that a reader may have in its hands beside, with what its connection holds.
const HELD: u64 = 2;

/// An object that threads read at any place. Copies share their blocks.
#[derive(Clone, Debug)]
pub struct Blocks(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    object: Object,
    /// Blocks by number, the one that was used last at the end.
    kept: Mutex<Vec<(u64, Block)>>,
    most: usize,
    block_bytes: u64,
    /// The first error of all.
    fault: OnceLock<ObjectError>,
}

/// A block that the first who wants it fetches.
type Block = Arc<OnceLock<Result<Bytes, ObjectError>>>;

impl Blocks {
    /// Blocks of an object for a number of readers at a time, as many as this memory allows and
    /// four at least. Where it is little they are smaller.
    pub fn new(object: &Object, memory_bytes: u64, readers: usize) -> Self {
        let held = HELD * readers as u64;
        let block_bytes = memory_bytes / (held + BLOCKS_MIN as u64);
        // Powers of two, so that blocks of several readings are the same.
        let block_bytes = (1 << block_bytes.max(1).ilog2()).clamp(BLOCK_BYTES_MIN, BLOCK_BYTES);
        let most = (memory_bytes / block_bytes).saturating_sub(held);
        let most = usize::try_from(most).unwrap_or(usize::MAX).max(BLOCKS_MIN);
        Self(Arc::new(Shared {
            object: object.clone(),
            kept: Mutex::default(),
            most,
            block_bytes,
            fault: OnceLock::new(),
        }))
    }

    /// The first error of all requests so far, for callers of libraries that lose it.
    pub fn fault(&self) -> Option<ObjectError> {
        self.0.fault.get().cloned()
    }

    /// The bytes of a range of the object. Memory is taken as they arrive.
    ///
    /// # Errors
    /// Of the store, as an [`ObjectError`] within, and where the object ends before.
    pub fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        if range.start > range.end || range.end > self.0.object.bytes() {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let mut joined = BytesMut::new();
        let mut at = range.start;
        while at < range.end {
            let piece = self.piece_at(at)?;
            let length = (range.end - at).min(piece.len() as u64) as usize;
            if at == range.start && length as u64 == range.end - at {
                return Ok(piece.slice(..length));
            }
            joined.extend_from_slice(&piece[..length]);
            at += length as u64;
        }
        Ok(joined.freeze())
    }

    /// Bytes of a block from a place of the object on.
    ///
    /// # Errors
    /// Of the store, as an [`ObjectError`] within.
    pub fn piece_at(&self, offset: u64) -> io::Result<Bytes> {
        let bytes = self.0.block_bytes;
        let number = offset / bytes;
        let block = self.block(number);
        let start = number * bytes;
        let end = self.0.object.bytes().min(start + bytes);
        if offset >= end {
            return Ok(Bytes::new());
        }
        let fetched = block.get_or_init(|| {
            let object = &self.0.object;
            object.wait(object.clone().fetch(start..end)).and_then(|fetched| fetched)
        });
        match fetched {
            Ok(bytes) => Ok(bytes.slice((offset - start) as usize..)),
            Err(error) => {
                self.0.fault.get_or_init(|| error.clone());
                // Later reads ask anew.
                self.lock().retain(|(other, _)| *other != number);
                Err(error.clone().into())
            }
        }
    }

    /// A block, which may not have arrived yet.
    fn block(&self, number: u64) -> Block {
        let mut kept = self.lock();
        let found = kept.iter().position(|(other, _)| *other == number);
        let block = match found {
            Some(place) => kept.remove(place).1,
            None => Block::default(),
        };
        if kept.len() >= self.0.most {
            kept.remove(0);
        }
        kept.push((number, Arc::clone(&block)));
        block
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(u64, Block)>> {
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
