//! The bytes of an object at any place, in blocks that are kept for a while.
//!
//! A reader of tables looks at the head of a page, jumps to the next, and later reads the pages
//! themselves, from several threads. Each block is asked for once as long as it is kept; the ones
//! that were not used for longest go first.

use std::io::{self, ErrorKind};
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::{Bytes, BytesMut};
use futures_util::future::join_all;

use crate::error::ObjectError;
use crate::object::Object;
use crate::read_requests::{BLOCKS_MIN, ReadRequests};

/// Bytes of a block, where there is memory for some.
const BLOCK_BYTES: u64 = 4 << 20;
/// Bytes of a block where there is little memory, at least.
const BLOCK_BYTES_MIN: u64 = 64 << 10;
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
    /// Blocks that a reader asks for at a time, where it wants several.
    at_once: usize,
    /// The first error of all.
    fault: OnceLock<ObjectError>,
}

/// A block that the first who wants it fetches.
type Block = Arc<OnceLock<Result<Bytes, ObjectError>>>;

impl Blocks {
    /// Blocks of an object for a number of readers at a time, as many as this memory allows and
    /// four at least. Where it is little they are smaller, unless their size is stated.
    pub fn new(object: &Object, memory_bytes: u64, readers: usize, stated: ReadRequests) -> Self {
        let held = stated.blocks_held(readers as u64);
        let block_bytes = memory_bytes / (held + BLOCKS_MIN);
        // Powers of two, so that blocks of several readings are the same.
        let usual = (1 << block_bytes.max(1).ilog2()).clamp(BLOCK_BYTES_MIN, BLOCK_BYTES);
        let block_bytes = stated.bytes.unwrap_or(usual).max(1);
        let most = (memory_bytes / block_bytes).saturating_sub(held);
        let most = usize::try_from(most).unwrap_or(usize::MAX).max(BLOCKS_MIN as usize);
        let at_once = usize::try_from(stated.blocks_at_once()).unwrap_or(usize::MAX);
        Self(Arc::new(Shared {
            object: object.clone(),
            kept: Mutex::default(),
            most,
            block_bytes,
            at_once,
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
        let (bytes, mut at) = (self.0.block_bytes, range.start);
        while at < range.end {
            let first = at / bytes;
            let blocks = self.several(first..range.end.div_ceil(bytes))?;
            for (number, block) in (first..).zip(blocks) {
                let piece = self.piece(at, number, &block)?;
                let length = (range.end - at).min(piece.len() as u64) as usize;
                if at == range.start && length as u64 == range.end - at {
                    return Ok(piece.slice(..length));
                }
                joined.extend_from_slice(&piece[..length]);
                at += length as u64;
            }
        }
        Ok(joined.freeze())
    }

    /// Bytes of a block from a place of the object on.
    ///
    /// # Errors
    /// Of the store, as an [`ObjectError`] within.
    pub fn piece_at(&self, offset: u64) -> io::Result<Bytes> {
        let number = offset / self.0.block_bytes;
        self.piece(offset, number, &self.block(number))
    }

    /// The first of these blocks, as many as are asked for at a time; of several each was answered.
    fn several(&self, numbers: Range<u64>) -> io::Result<Vec<Block>> {
        let blocks: Vec<Block> =
            numbers.clone().take(self.0.at_once).map(|number| self.block(number)).collect();
        if blocks.len() > 1 {
            let wanted = numbers.zip(&blocks).filter(|(_, block)| block.get().is_none());
            let asked = wanted.map(|(number, block)| async move {
                // Another thread may have been quicker.
                let _ = block.set(self.0.object.clone().fetch(self.place(number)).await);
            });
            self.0.object.wait(join_all(asked))?;
        }
        Ok(blocks)
    }

    /// Byte range of a block in the object.
    fn place(&self, number: u64) -> Range<u64> {
        let start = number * self.0.block_bytes;
        start..self.0.object.bytes().min(start + self.0.block_bytes)
    }

    /// Bytes of a block from a place of the object on, where the object has any.
    fn piece(&self, offset: u64, number: u64, block: &Block) -> io::Result<Bytes> {
        let place = self.place(number);
        if offset >= place.end {
            return Ok(Bytes::new());
        }
        let start = place.start;
        let fetched = block.get_or_init(|| {
            let object = &self.0.object;
            object.wait(object.clone().fetch(place)).and_then(|fetched| fetched)
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
