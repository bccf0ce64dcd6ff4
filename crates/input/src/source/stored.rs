//! Bytes as they are stored: in a file, or as an object in a bucket.
//!
//! Threads read them at any place without disturbing one another, or in order from a place on. What
//! a file costs stays what it cost: a call of the system, into the buffer of who asks. An object is
//! asked for in large ranges, some of them ahead.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use welter_objects::{Ahead, Bucket, Location, Object, ObjectErrorKind, Reader, Tiling};

use crate::error::InputError;
use crate::options::Limits;

/// Share of the memory that what is asked for ahead may take, as one part in this number.
const AHEAD_SHARE: u64 = 16;

/// Place where stored bytes are; a file is opened when it is read.
#[derive(Clone, Debug)]
pub(crate) enum Whereabouts {
    /// A file.
    File(PathBuf),
    /// An object as it was when it was opened.
    Object(Object),
}

/// Stored bytes, opened.
#[derive(Clone, Debug)]
pub(crate) enum StoredBytes {
    /// A file.
    File(Arc<File>),
    /// An object.
    Object(Object),
}

/// Stored bytes from a place on.
#[derive(Debug)]
pub(crate) enum Onward {
    /// A file, and where its next byte lies.
    File(Arc<File>, u64),
    /// An object.
    Object(Box<Reader>),
}

impl Whereabouts {
    /// Where a path leads: to an object, if it is the URL of one.
    pub(crate) fn of(path: &Path) -> Result<Self, InputError> {
        match Location::of(path) {
            None => Ok(Self::File(path.to_owned())),
            Some(location) => {
                open(&location.map_err(|error| InputError::of_object(&error))?, 0).map(Self::Object)
            }
        }
    }

    /// Opens it.
    pub(crate) fn open(&self) -> io::Result<StoredBytes> {
        match self {
            Self::File(path) => Ok(StoredBytes::File(Arc::new(File::open(path)?))),
            Self::Object(object) => Ok(StoredBytes::Object(object.clone())),
        }
    }
}

/// Opens an object, and fetches `head_bytes` of its first bytes.
pub(crate) fn open(location: &Location, head_bytes: u64) -> Result<Object, InputError> {
    let folder = || {
        let what = "no such object; a folder is named with / at its end";
        InputError::Missing { file: location.to_string(), what: what.to_owned() }
    };
    let bucket = Bucket::of(location).map_err(|error| InputError::of_object(&error))?;
    let object = bucket.open_input(&location.key, head_bytes);
    object.map_err(|error| match error.kind() {
        ObjectErrorKind::Missing if !error.is_of_bucket() => folder(),
        _ => InputError::of_object(&error),
    })
}

/// Bytes that are asked for ahead by the one reader that an object has.
pub(crate) fn ahead(limits: &Limits) -> Ahead {
    let share = || Ahead::within(limits.memory_bytes_max.unwrap_or(u64::MAX) / AHEAD_SHARE);
    let of = |memory| Ahead::in_memory(memory, limits.read_requests);
    limits.object_bytes_max.map_or_else(share, of)
}

/// Bytes that each of `threads` readers asks for ahead at most, if that is limited.
pub(crate) fn ahead_of_each(limits: &Limits, threads: usize) -> Ahead {
    let all = limits.object_bytes_max.unwrap_or(u64::MAX);
    Ahead::in_memory(all / threads.max(1) as u64, limits.read_requests)
}

/// Compares bytes of an object that make no sense with another reading of them, before that is
/// told: bits of them may have flipped on their way.
pub(crate) fn confirm(object: &Object, offset: u64, seen: &[u8]) -> io::Result<()> {
    let mut again = vec![0; seen.len()];
    object.read_exact_at(&mut again, offset)?;
    if again == seen {
        return Ok(());
    }
    Err(io::Error::other("bits flipped on their way: another reading has other bytes there"))
}

impl StoredBytes {
    /// Number of bytes.
    pub(crate) fn bytes(&self) -> io::Result<u64> {
        match self {
            Self::File(file) => Ok(file.metadata()?.len()),
            Self::Object(object) => Ok(object.bytes()),
        }
    }

    /// Reads some bytes from an offset on, 0 at the end.
    pub(crate) fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read_at(buffer, offset),
            Self::Object(object) => object.read_at(buffer, offset),
        }
    }

    /// Fills a buffer from an offset on.
    pub(crate) fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        match self {
            Self::File(file) => file.read_exact_at(buffer, offset),
            Self::Object(object) => object.read_exact_at(buffer, offset),
        }
    }

    /// Ranges of an object that are compared with what its store states, if it states something.
    pub(crate) fn tiling(&self) -> io::Result<Option<Tiling>> {
        match self {
            Self::File(_) => Ok(None),
            Self::Object(object) => object.tiling().map_err(io::Error::from),
        }
    }

    /// Reads them in order from the beginning of a range on. `ahead`: for objects, whose range ends
    /// what is asked for; it is no end for a file.
    pub(crate) fn onward(&self, range: Range<u64>, ahead: Ahead) -> Onward {
        match self {
            Self::File(file) => Onward::File(Arc::clone(file), range.start),
            Self::Object(object) => Onward::Object(Box::new(object.reader(range, ahead))),
        }
    }
}

impl Onward {
    /// Bytes as before, compared with what the store of an object states where all are read.
    pub(crate) fn summed(self) -> Self {
        match self {
            Self::Object(reader) => Self::Object(Box::new(reader.summed())),
            file @ Self::File(..) => file,
        }
    }

    /// Goes to another place.
    pub(crate) fn go_to(&mut self, offset: u64) {
        match self {
            Self::File(_, at) => *at = offset,
            Self::Object(reader) => reader.go_to(offset),
        }
    }

    /// Reads some bytes from an offset on, 0 at the end; the offset is mostly where the last read
    /// ended.
    pub(crate) fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.go_to(offset);
        self.read(buffer)
    }
}

impl Read for Onward {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file, at) => {
                let count = file.read_at(buffer, *at)?;
                *at += count as u64;
                Ok(count)
            }
            Self::Object(reader) => reader.read(buffer),
        }
    }
}
