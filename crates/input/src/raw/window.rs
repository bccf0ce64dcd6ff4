//! A window on a file, through the system's cache or past it.
//!
//! A file that is larger than what the system can cache is read from the device each time it is
//! read. Then the cache only costs: a control group at its limit looks for pages to drop at every
//! page that it reads (R-MAT 24 as 2 GiB of raw pairs in a group of 1 GiB).

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, OpenOptionsExt};

use bytemuck::{cast_slice, cast_slice_mut};
use rustix::fs::OFlags;

use crate::pages::advise_huge;

/// Offsets and addresses of what is read past the cache are multiples of this.
const ALIGN: u64 = 4096;
/// Bytes read at once past the cache. In huge pages, because devices are twice as fast with them.
const DIRECT_BYTES: usize = 1 << 20;
/// Size of a huge page.
const HUGE_BYTES: usize = 2 << 20;

/// What a thread reads into; words, so that records are aligned.
pub(super) type Words = Vec<u64>;

/// A file that is being read.
pub(super) struct Window<'a> {
    file: File,
    words: &'a mut Words,
    direct: bool,
    /// Where the window begins in `words`, and in the file, and how much of it is filled.
    first: usize,
    offset: u64,
    filled: usize,
}

impl<'a> Window<'a> {
    /// Opens a file; past the cache where that is wanted and can be had.
    pub(super) fn open(
        name: &str,
        direct: bool,
        words: &'a mut Words,
        batch: usize,
    ) -> io::Result<Self> {
        let flags = OFlags::DIRECT.bits() as i32;
        let opened = direct.then(|| OpenOptions::new().read(true).custom_flags(flags).open(name));
        let (file, direct) = match opened {
            Some(Ok(file)) => (file, true),
            // A file system that cannot do that.
            Some(Err(error)) if error.kind() != ErrorKind::InvalidInput => return Err(error),
            _ => (File::open(name)?, false),
        };
        let bytes = if direct { DIRECT_BYTES + HUGE_BYTES } else { batch };
        if words.len() * size_of::<u64>() < bytes {
            words.clear();
            words.reserve_exact(bytes / size_of::<u64>());
            if direct {
                advise_huge(words.spare_capacity_mut());
            }
            words.resize(bytes / size_of::<u64>(), 0);
        }
        let first =
            if direct { cast_slice::<u64, u8>(words).as_ptr().align_offset(HUGE_BYTES) } else { 0 };
        Ok(Self { file, words, direct, first, offset: 0, filled: 0 })
    }

    /// The file, for hints.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Some bytes of the file, at most as many as a batch has.
    pub(super) fn bytes(&mut self, offset: u64, length: usize) -> io::Result<&[u8]> {
        let end = offset + length as u64;
        if offset < self.offset || end > self.offset + self.filled as u64 {
            self.fill(offset, length)?;
        }
        if end > self.offset + self.filled as u64 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let start = self.first + (offset - self.offset) as usize;
        Ok(&cast_slice(&self.words[..])[start..start + length])
    }

    fn fill(&mut self, offset: u64, length: usize) -> io::Result<()> {
        let bytes = &mut cast_slice_mut::<u64, u8>(&mut self.words[..])[self.first..];
        self.filled = 0;
        if !self.direct {
            self.offset = offset;
            self.file.read_exact_at(&mut bytes[..length], offset)?;
            self.filled = length;
            return Ok(());
        }
        self.offset = offset / ALIGN * ALIGN;
        while self.filled < DIRECT_BYTES {
            let rest = &mut bytes[self.filled..DIRECT_BYTES];
            match self.file.read_at(rest, self.offset + self.filled as u64) {
                Ok(0) => break,
                Ok(count) => self.filled += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            // Only at its end does a file give less than whole pages.
            if !(self.filled as u64).is_multiple_of(ALIGN) {
                break;
            }
        }
        Ok(())
    }
}
