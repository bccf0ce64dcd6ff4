//! A range of a file, a batch after the other, through the system's cache or past it.
//!
//! A file that is larger than what the system can cache is read from the device each time it is
//! read. Then the cache only costs: a control group at its limit looks for pages to drop at every
//! page that it reads (R-MAT 24 as 2 GiB of raw pairs in a group of 1 GiB). Past it, a few requests
//! are in flight while what has arrived is looked at. What the cache has all the same, because
//! another process wrote or read it, is taken from there.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::num::NonZero;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use bytemuck::cast_slice_mut;
use rustix::fs::Advice;
use welter_objects::{Ahead, Object};
use welter_store::StoreError;
use welter_store::io::{ALIGN, IoOptions, Memory, Pages, Place, Queue, Volume};

use crate::error::InputError;
use crate::source::stored::Whereabouts;

/// Bytes of a batch: few enough to be still in the second-level cache when they are looked at.
const BATCH_BYTES: usize = 256 << 10;
/// Bytes of a request past the cache.
const REQUEST_BYTES: usize = 512 << 10;
/// Requests in flight, of each thread; with what is looked at they fill a huge page.
const DEPTH: usize = 3;

/// Bytes of an object that a thread asks for ahead.
const AHEAD_BYTES: u64 = 8 << 20;

/// Receives a batch and its offset, and returns whether to continue.
pub(super) type Visit<'v> = dyn FnMut(u64, &[u8]) -> Result<bool, InputError> + 'v;

/// Buffer that a thread reads into.
#[derive(Default)]
pub(super) struct Reused {
    /// Words, so that records are aligned.
    words: Vec<u64>,
    direct: Option<Direct>,
}

/// Buffer and queue by which a thread reads past the cache.
struct Direct {
    queue: Queue<Pages>,
    free: Vec<Pages>,
}

impl Direct {
    fn new() -> Result<Self, StoreError> {
        let queue = Queue::reading(&IoOptions::default(), DEPTH)?;
        Ok(Self { queue, free: Pages::several(DEPTH + 1, REQUEST_BYTES)? })
    }
}

/// Shows a range of a file, of whole records of `record` bytes, to `visit`: batches and their
/// offsets, until it answers `false`.
pub(super) fn batches(
    (name, at, ahead): (&str, &Whereabouts, Ahead),
    range: Range<u64>,
    record: usize,
    past_cache: bool,
    reused: &mut Reused,
    visit: &mut Visit<'_>,
) -> Result<(), InputError> {
    let path = match at {
        Whereabouts::File(path) => path.as_path(),
        Whereabouts::Object(object) => {
            return of_object((name, ahead), object, range, record, reused, visit);
        }
    };
    if past_cache {
        let direct = match &mut reused.direct {
            Some(direct) => direct,
            none => {
                none.insert(Direct::new().map_err(|error| unread(name, range.start, plain(error)))?)
            }
        };
        let done = past((name, path), range, record, direct, visit);
        if done.is_err() || direct.free.len() <= DEPTH {
            // Requests that are not waited for, or memory that went with a failed one.
            reused.direct = None;
        }
        return done;
    }
    let file = File::open(path).map_err(|error| InputError::io(name, "open", error))?;
    // A hint: the whole range is wanted, from first to last. Not taking it is no error.
    let length = NonZero::new(range.end - range.start);
    let _hinted = rustix::fs::fadvise(&file, range.start, length, Advice::WillNeed);
    in_order(name, range, record, reused, visit, |batch, offset| file.read_exact_at(batch, offset))
}

/// Reads records of an object.
fn of_object(
    (name, ahead): (&str, Ahead),
    object: &Object,
    range: Range<u64>,
    record: usize,
    reused: &mut Reused,
    visit: &mut Visit<'_>,
) -> Result<(), InputError> {
    let mut reader = object.reader(range.clone(), ahead.at_most(AHEAD_BYTES).surely());
    in_order(name, range, record, reused, visit, |batch, _| reader.read_exact(batch))
}

/// Reads records by batches, in order.
fn in_order(
    name: &str,
    range: Range<u64>,
    record: usize,
    reused: &mut Reused,
    visit: &mut Visit<'_>,
    mut read: impl FnMut(&mut [u8], u64) -> std::io::Result<()>,
) -> Result<(), InputError> {
    reused.words.resize(BATCH_BYTES / size_of::<u64>(), 0);
    let buffer: &mut [u8] = cast_slice_mut(&mut reused.words[..]);
    let mut offset = range.start;
    while offset < range.end {
        let length = (range.end - offset).min(whole(BATCH_BYTES, record) as u64) as usize;
        let batch = &mut buffer[..length];
        read(batch, offset).map_err(|error| unread(name, offset, error))?;
        if !visit(offset, batch)? {
            break;
        }
        offset += length as u64;
    }
    Ok(())
}

/// A file, as far as the system's cache has it.
struct Cached(Option<File>);

impl Cached {
    /// Reads bytes from an offset on, if the cache has all of them. The device is not asked.
    fn read(&mut self, offset: u64, bytes: &mut [u8]) -> bool {
        let found = self.0.as_ref().map(|file| read_cached(file, offset, bytes));
        if found.as_ref().is_some_and(Result::is_err) {
            // No such call here: the device has all of it.
            self.0 = None;
        }
        found.is_some_and(|found| found.unwrap_or(false))
    }
}

#[cfg(target_os = "linux")]
fn read_cached(file: &File, offset: u64, bytes: &mut [u8]) -> io::Result<bool> {
    use rustix::io::{Errno, ReadWriteFlags, preadv2};
    let length = bytes.len();
    let mut bytes = [io::IoSliceMut::new(bytes)];
    match preadv2(file, &mut bytes, offset, ReadWriteFlags::NOWAIT) {
        Ok(read) => Ok(read == length),
        Err(Errno::AGAIN) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn read_cached(_: &File, _: u64, _: &mut [u8]) -> io::Result<bool> {
    Err(ErrorKind::Unsupported.into())
}

/// The largest number of bytes up to `most` that holds whole records.
fn whole(most: usize, record: usize) -> usize {
    most / record * record
}

/// Reads records past the cache.
fn past(
    (name, path): (&str, &Path),
    range: Range<u64>,
    record: usize,
    direct: &mut Direct,
    visit: &mut Visit<'_>,
) -> Result<(), InputError> {
    let opened = Volume::open(&[path.to_owned()], &IoOptions::default());
    let volume = opened.map_err(|error| InputError::io(name, "open", plain(error)))?;
    let volume = Arc::new(volume);
    let Direct { queue, free } = direct;
    let mut cached = Cached(File::open(path).ok());
    // Requests begin at multiples of a page, so that one that need not begin there is shorter.
    let aligned = REQUEST_BYTES.is_multiple_of(record);
    let stride = if aligned { REQUEST_BYTES } else { whole(REQUEST_BYTES - ALIGN, record) } as u64;
    let mut next = range.start;
    let mut asked = range.start;
    let mut arrived: VecDeque<(u64, Option<Pages>)> = VecDeque::new();
    while next < range.end {
        while asked < range.end && !free.is_empty() {
            let Some(mut pages) = free.pop() else { break };
            let end = (asked + stride).min(range.end);
            let offset = asked / ALIGN as u64 * ALIGN as u64;
            let place = Place { file: 0, offset, bytes: (end - offset) as u32 };
            if cached.read(offset, &mut pages.bytes_mut()[..place.bytes as usize]) {
                arrived.push_back((asked, Some(pages)));
                asked = end;
                if arrived.len() == 1 {
                    // Looked at while it is in the second-level cache.
                    break;
                }
                continue;
            }
            let begun = queue.read(&volume, place, pages, asked);
            begun.map_err(|error| unread(name, asked, plain(error)))?;
            arrived.push_back((asked, None));
            asked = end;
        }
        let Some((first, pages)) = arrived.front_mut() else { break };
        let Some(pages) = pages.take() else {
            let done = queue.wait().map_err(|error| unread(name, next, plain(error)))?;
            let Some(done) = done else { break };
            let asked = arrived.iter_mut().find(|(offset, _)| *offset == done.tag);
            if let Some((_, pages)) = asked {
                *pages = Some(done.memory);
            }
            continue;
        };
        let (first, end) = (*first, (*first + stride).min(range.end));
        let start = (first % ALIGN as u64) as usize;
        let bytes = &pages.bytes()[start..start + (end - first) as usize];
        let mut offset = first;
        for batch in bytes.chunks(whole(BATCH_BYTES, record)) {
            if !visit(offset, batch)? {
                return Ok(());
            }
            offset += batch.len() as u64;
        }
        arrived.pop_front();
        free.push(pages);
        next = end;
    }
    Ok(())
}

fn unread(file: &str, offset: u64, error: io::Error) -> InputError {
    if error.kind() == ErrorKind::UnexpectedEof {
        return InputError::byte(file, offset, "the file has become shorter since it was opened");
    }
    InputError::io(file, format!("read at byte {offset}"), error)
}

/// The error of the system.
fn plain(error: StoreError) -> io::Error {
    match error {
        StoreError::Ended { .. } => ErrorKind::UnexpectedEof.into(),
        StoreError::Transfer { source, .. } | StoreError::Io { source, .. } => source,
        other => io::Error::other(other),
    }
}
