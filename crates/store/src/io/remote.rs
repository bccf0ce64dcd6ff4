//! Files that lie elsewhere, such as in a bucket, and are asked for by their names.
//!
//! This crate knows no protocol: who does implements [`Remote`]. A file is read in ranges, seldom
//! and in large ones, because each has the latency of a network; written once, whole; and never
//! changed.
//!
//! Invariant: what a range brings goes straight into the memory of who asked for it, so a run
//! that reads from a bucket holds no second copy. Checked in `Scattered::take`. Tested by
//! `neighbours_come_by_one_request_and_gaps_are_left_out`.

use std::fmt;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::place::Place;
use crate::StoreError;

/// Files that lie elsewhere, by their names. Some stand in front of others, such as a cache, and
/// leave to these all that they do not do themselves.
pub trait Remote: fmt::Debug + Send + Sync {
    /// The files that these stand in front of, if they do.
    fn behind(&self) -> Option<&dyn Remote> {
        None
    }

    /// Bytes of a file.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there is none, else [`StoreError::Remote`].
    fn bytes(&self, file: &Path) -> Result<u64, StoreError>;

    /// Hands over the bytes of a range of a file, in order, piece after piece. A file that is
    /// another one than at the first call is an error.
    ///
    /// # Errors
    /// As [`Self::bytes`]; also when the file ends before.
    fn read(
        &self,
        file: &Path,
        range: Range<u64>,
        take: &mut dyn FnMut(&[u8]),
    ) -> Result<(), StoreError>;

    /// Begins a file, in the place of one that may be there.
    ///
    /// # Errors
    /// [`StoreError::Remote`].
    fn create(&self, file: &Path) -> Result<Box<dyn RemoteWriter>, StoreError> {
        asked(self.behind(), file)?.create(file)
    }

    /// Puts a small file whole, unless there is one of that name. Whether it was put.
    ///
    /// # Errors
    /// [`StoreError::Remote`].
    fn put_new(&self, file: &Path, bytes: &[u8]) -> Result<bool, StoreError> {
        Ok(self.put_if(file, bytes, None)?.is_some())
    }

    /// Puts a small file whole, if there is none of that name, or if the one that is there is of
    /// this version. The version that it is now; `None`: it was not put.
    ///
    /// # Errors
    /// [`StoreError::Remote`].
    fn put_if(
        &self,
        file: &Path,
        bytes: &[u8],
        then: Option<&RemoteVersion>,
    ) -> Result<Option<RemoteVersion>, StoreError> {
        asked(self.behind(), file)?.put_if(file, bytes, then)
    }

    /// A small file whole, as it is now, and its version.
    ///
    /// # Errors
    /// As [`Self::bytes`]; also when it has more bytes than this.
    fn load(&self, file: &Path, bytes_max: u64) -> Result<(Vec<u8>, RemoteVersion), StoreError> {
        asked(self.behind(), file)?.load(file, bytes_max)
    }

    /// Names of the files below a folder.
    ///
    /// # Errors
    /// [`StoreError::Remote`].
    fn list(&self, folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
        asked(self.behind(), folder)?.list(folder)
    }

    /// Names of the files whose names go on behind `beginning`, with the time since each was
    /// written; none where that is not known. No others are asked for, and a store without an order
    /// may leave some out.
    ///
    /// # Errors
    /// [`StoreError::Remote`].
    fn ages(&self, beginning: &Path) -> Result<Vec<(PathBuf, Duration)>, StoreError> {
        self.behind().map_or_else(|| Ok(Vec::new()), |behind| behind.ages(beginning))
    }

    /// Removes a file; one that is not there is no error.
    ///
    /// # Errors
    /// [`StoreError::Remote`].
    fn delete(&self, file: &Path) -> Result<(), StoreError> {
        asked(self.behind(), file)?.delete(file)
    }

    /// Called when a range of a file is not what was written: whatever is kept of it near by shall
    /// not be handed over again.
    fn distrust(&self, file: &Path, range: Range<u64>) {
        if let Some(behind) = self.behind() {
            behind.distrust(file, range);
        }
    }
}

/// The files that others stand in front of, which are asked for what these do not do.
fn asked<'a>(behind: Option<&'a dyn Remote>, file: &Path) -> Result<&'a dyn Remote, StoreError> {
    let what = || format!("{}: files like this one are only read", file.display());
    behind.ok_or_else(|| StoreError::Request(what()))
}

/// A version of a file that lies elsewhere, in the words of who keeps it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoteVersion {
    /// A word that is another as soon as the file is.
    pub tag: Option<String>,
    /// A number, where versions are counted.
    pub number: Option<String>,
}

/// A file elsewhere that is being written. Dropped before its end, nothing is left of it.
pub trait RemoteWriter: Write + Send {
    /// Waits until all of it is there.
    ///
    /// # Errors
    /// [`StoreError::Remote`].
    fn complete(self: Box<Self>) -> Result<(), StoreError>;
}

/// Bytes between two places that are sooner read than asked for apart.
pub(super) const GAP_BYTES: u64 = 128 << 10;

/// Whether a place may be asked for together with those before, which are `from..to` of a file, by
/// a request of at most `most` bytes.
pub(super) fn joins((from, to): (u64, u64), file: u16, next: Place, most: u64) -> bool {
    let end = next.offset + u64::from(next.bytes);
    next.file == file && (to..=to + GAP_BYTES).contains(&next.offset) && end - from <= most
}

/// Memory of several places, in their order, that the bytes of one range go to.
pub(super) struct Scattered<'a> {
    /// Where the next byte belongs.
    at: u64,
    /// Places that are not full.
    left: std::iter::Peekable<std::vec::IntoIter<(Place, &'a mut [u8])>>,
}

impl<'a> Scattered<'a> {
    /// A read of these places, with its range.
    pub(super) fn new(places: Vec<(Place, &'a mut [u8])>) -> (Self, Range<u64>) {
        let end = |place: &Place| place.offset + u64::from(place.bytes);
        let from = places.first().map_or(0, |(place, _)| place.offset);
        let to = places.last().map_or(0, |(place, _)| end(place));
        (Self { at: from, left: places.into_iter().peekable() }, from..to)
    }

    /// Takes the next bytes of the range.
    pub(super) fn take(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let Some((place, memory)) = self.left.peek_mut() else { return };
            let skip = place.offset.saturating_sub(self.at).min(bytes.len() as u64);
            bytes = &bytes[skip as usize..];
            self.at += skip;
            let done = self.at.saturating_sub(place.offset) as usize;
            let count = bytes.len().min(place.bytes as usize - done);
            memory[done..done + count].copy_from_slice(&bytes[..count]);
            bytes = &bytes[count..];
            self.at += count as u64;
            if self.at == place.offset + u64::from(place.bytes) {
                // Behind the end of a file there is nothing, and behind a place zeros.
                memory[place.bytes as usize..place.rounded_bytes()].fill(0);
                self.left.next();
            }
        }
    }
}
