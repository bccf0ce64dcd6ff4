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
use welter_objects::{Ahead, Object, ObjectError, ReadRequests};
use welter_progress::FailureKind;
use welter_store::StoreError;
use welter_store::io::{ALIGN, IoOptions, Memory, Pages, Place, Queue, Requests, Volume};

use crate::error::InputError;
use crate::source::stored::{self, Whereabouts};

/// Bytes of a batch: few enough to be still in the second-level cache when they are looked at.
const BATCH_BYTES: usize = 256 << 10;

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
    /// Requests that these are for, as the user states them and as the queue takes them,
    requests: ReadRequests,
    options: IoOptions,
    /// and bytes of a buffer.
    bytes: usize,
}

impl Direct {
    fn new(requests: ReadRequests) -> Result<Self, StoreError> {
        // Records that end elsewhere than a request begin within a page, and take one more.
        let bytes = (requests.bytes_of_file() as usize).max(2 * ALIGN);
        let depth = requests.in_flight_of_file() as usize;
        let [read_bytes, in_flight] =
            [requests.bytes, requests.in_flight].map(|it| it.and_then(|it| u32::try_from(it).ok()));
        let stated = Requests { read_bytes, in_flight, ..Requests::default() };
        let options = IoOptions { requests: stated, ..IoOptions::default() };
        let (queue, free) = (Queue::reading(&options, depth)?, Pages::several(depth + 1, bytes)?);
        Ok(Self { queue, free, requests, options, bytes })
    }

    /// Bytes from one request to the next one, which begins at a page or is shorter.
    fn stride(&self, record: usize) -> u64 {
        let bytes = self.requests.bytes_of_file() as usize;
        let is_whole = record.is_power_of_two();
        (if is_whole { bytes } else { whole(self.bytes - ALIGN, record) }) as u64
    }
}

/// Shows a range of a file, of whole records of `record` bytes, to `visit`: batches and their
/// offsets, until it answers `false`. Past the cache it is read by these requests.
pub(super) fn batches(
    (name, at, ahead): (&str, &Whereabouts, Ahead),
    range: Range<u64>,
    record: usize,
    past_cache: Option<ReadRequests>,
    reused: &mut Reused,
    visit: &mut Visit<'_>,
) -> Result<(), InputError> {
    let path = match at {
        Whereabouts::File(path) => path.as_path(),
        Whereabouts::Object(object) => {
            return of_object((name, ahead), object, range, record, reused, visit);
        }
    };
    if let Some(requests) = past_cache {
        let kept = reused.direct.take().filter(|direct| direct.requests == requests);
        let made = kept.map_or_else(|| Direct::new(requests), Ok);
        let mut direct = made.map_err(|error| unread(name, range.start, plain(error)))?;
        let buffers = direct.free.len();
        past((name, path), range, record, &mut direct, visit)?;
        // Requests that are not waited for, and memory that went with a failed one, are no more.
        reused.direct = Some(direct).filter(|direct| direct.free.len() == buffers);
        return Ok(());
    }
    let file = File::open(path).map_err(|error| InputError::io(name, "open", error))?;
    // A hint: the whole range is wanted, from first to last. Not taking it is no error.
    let length = NonZero::new(range.end - range.start);
    let _hinted = rustix::fs::fadvise(&file, range.start, length, Advice::WillNeed);
    in_order(name, range, record, reused, visit, |batch, offset| file.read_exact_at(batch, offset))
}

/// Reads records of an object, and compares it with what its store states, once all of it was
/// read.
fn of_object(
    (name, ahead): (&str, Ahead),
    object: &Object,
    range: Range<u64>,
    record: usize,
    reused: &mut Reused,
    visit: &mut Visit<'_>,
) -> Result<(), InputError> {
    let damaged = |error: ObjectError| unread(name, range.start, error.into());
    let tiling = object.tiling().map_err(damaged)?;
    let mut sum = tiling.map(|tiling| tiling.range(range.start));
    let mut reader = object.reader(range.clone(), ahead.at_most(AHEAD_BYTES).surely());
    let mut confirmed = |offset: u64, batch: &[u8]| {
        visit(offset, batch).map_err(|error| {
            // Ids that make no sense, or too many.
            if !matches!(error.kind(), FailureKind::Input | FailureKind::Budget) {
                return error;
            }
            let again = stored::confirm(object, offset, batch);
            again.map_or_else(|flipped| unread(name, offset, flipped), |()| error)
        })
    };
    in_order(name, range.clone(), record, reused, &mut confirmed, |batch, _| {
        reader.read_exact(batch)?;
        if let Some(sum) = &mut sum {
            sum.add(batch);
        }
        Ok(())
    })?;
    // A range that was left before its end was only looked at.
    sum.filter(|sum| sum.end() == range.end).map_or(Ok(()), |sum| sum.note().map_err(damaged))
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

/// A file, until the system's cache lacks something of it.
struct Cached(Option<File>);

impl Cached {
    fn open(path: &Path) -> Self {
        // Only pages that are asked for are fetched then. Not taking the hint is no error.
        Self(File::open(path).ok().inspect(|file| {
            let _hinted = rustix::fs::fadvise(file, 0, None, Advice::Random);
        }))
    }

    /// Reads bytes from an offset on, if the cache has all of them. Pages that it lacks the system
    /// begins to fetch, though nothing waits for them: so one page is asked for before others, and
    /// none after the first that is not there. When all of each request was asked for, two passes
    /// over R-MAT 23 as 1 GiB of raw pairs in a group of 500 MiB read 2.6 to 2.75 GiB, not 1.97,
    /// and took 2.90 s, not 2.25 (Linux 6.18, medians of five in turns).
    fn read(&mut self, offset: u64, bytes: &mut [u8]) -> bool {
        let (page, all) = (bytes.len().min(ALIGN), bytes.len());
        let found = self.0.as_ref().is_some_and(|file| {
            let mut has = |end| read_cached(file, offset, &mut bytes[..end]).unwrap_or(false);
            has(page) && has(all)
        });
        if !found {
            self.0 = None;
        }
        found
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
    let opened = Volume::open(&[path.to_owned()], &direct.options);
    let volume = opened.map_err(|error| InputError::io(name, "open", plain(error)))?;
    let volume = Arc::new(volume);
    let stride = direct.stride(record);
    let Direct { queue, free, .. } = direct;
    let mut cached = Cached::open(path);
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
        if !show(first, bytes, record, visit)? {
            return Ok(());
        }
        arrived.pop_front();
        free.push(pages);
        next = end;
    }
    Ok(())
}

/// Shows the bytes from a place in the file on, in batches of whole records. False when no more are
/// wanted.
fn show(
    first: u64,
    bytes: &[u8],
    record: usize,
    visit: &mut Visit<'_>,
) -> Result<bool, InputError> {
    let mut offset = first;
    for batch in bytes.chunks(whole(BATCH_BYTES, record)) {
        if !visit(offset, batch)? {
            return Ok(false);
        }
        offset += batch.len() as u64;
    }
    Ok(true)
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

#[cfg(test)]
mod tests {
    use welter_store::io::VolumeStats;

    use super::*;

    #[test]
    fn buffers_follow_the_requests_that_are_stated() {
        let of = |bytes, in_flight, record| {
            let requests = ReadRequests { bytes, in_flight };
            let direct = Direct::new(requests).unwrap();
            let buffer = direct.free[0].bytes().len();
            assert!(
                (direct.free.len() * buffer) as u64 <= requests.file_bytes(1),
                "what plans know"
            );
            (direct.free.len() - 1, buffer, direct.stride(record))
        };
        assert_eq!(of(None, None, 8), (3, 512 << 10, 512 << 10));
        // Records of 12 bytes begin within a page.
        assert_eq!(of(None, None, 12), (3, 512 << 10, ((512 << 10) - 4096) / 12 * 12));
        assert_eq!(of(Some(1 << 20), Some(15), 16), (15, 1 << 20, 1 << 20));
        // No more than there is of a part, in whole pages.
        assert_eq!(of(Some(64 << 20), Some(256), 8), (1, 16 << 20, 16 << 20));
        assert_eq!(of(Some(1 << 20), Some(256), 8).0, 16);
        assert_eq!(of(Some(98_305), Some(1), 24), (1, 96 << 10, ((96 << 10) - 4096) / 24 * 24));
        assert_eq!(of(Some(4 << 10), Some(1), 8), (1, 8 << 10, 4 << 10));
        assert_eq!(of(Some(4 << 10), Some(1), 20), (1, 8 << 10, 4080));
    }

    #[test]
    fn a_cold_file_is_read_by_requests_of_the_size_that_is_stated() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let all = 1_500_000 * 12_u64;
        // Of zeros, which lie on the device: the system knows those of a hole without it.
        std::fs::write(file.path(), vec![0; all as usize]).unwrap();
        file.as_file().sync_all().unwrap();
        let at = Whereabouts::File(file.path().to_owned());
        let ahead = Ahead::within(0);
        for (bytes, record) in [(64 << 10, 8), (1 << 20, 8), (64 << 10, 12), (4 << 10, 20)] {
            rustix::fs::fadvise(file.as_file(), 0, None, Advice::DontNeed).unwrap();
            let mut reused = Reused::default();
            let requests = ReadRequests { bytes: Some(bytes), in_flight: Some(2) };
            let (mut seen, end) = (0, all / record * record);
            let mut visit = |offset, batch: &[u8]| {
                assert_eq!(offset, seen);
                seen += batch.len() as u64;
                Ok(true)
            };
            let of = ("e", &at, ahead);
            batches(of, 0..end, record as usize, Some(requests), &mut reused, &mut visit).unwrap();
            assert_eq!(seen, end);
            let direct = reused.direct.unwrap();
            let VolumeStats { reads, bytes_read, .. } = direct.options.totals.stats();
            assert!(reads >= end / bytes && bytes_read <= reads * bytes, "{reads}, {bytes_read}");
            let stride = direct.stride(record as usize);
            assert!(reads <= 2 * (end / stride + 1), "{reads} of {stride}");
        }
    }
}
