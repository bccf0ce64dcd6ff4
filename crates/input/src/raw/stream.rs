//! The stream over raw files: reads them whenever it is asked, keeps nothing of them.
//!
//! Invariants: a part is cut at records and never longer than [`PART_BYTES`] · a thread holds one
//! buffer, or a few where it reads past the cache, plus what it decodes that into · no pair leaves
//! with an id at or above the number of slots, even when the file has changed since its ids were
//! seen. Checked in `RawStream::part_records` and `RawStream::batches`. Tested by
//! `a_file_that_changes_is_noticed` and `an_id_that_no_sample_is_near_ends_the_read`.

use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use welter_model::edge_sample::{EdgeSample, PIECE_EDGES, Sample};
use welter_model::edges::{self, EdgeStream, Pair, StreamError};
use welter_objects::{Ahead, FILE_PART_BYTES, ReadRequests};

use super::records::{Batch, Buffers, Pairs, Shape};
use super::window;
use crate::error::InputError;
use crate::options::{Limits, PageCache};
use crate::reader::Context;
use crate::source::Source;
use crate::source::stored::{self, Whereabouts};

/// Bytes of a part.
const PART_BYTES: u64 = FILE_PART_BYTES;

/// Places that are looked at to know about how large ids are.
const LOOKS: usize = 16;

/// Raw files, one after the other.
#[derive(Debug)]
pub(super) struct RawStream {
    files: Vec<RawFile>,
    shape: Shape,
    edges: u64,
    parts: usize,
    ends: IdBound,
    look: Option<EdgeSample>,
    /// Parts that are read through the system's cache: the first ones. For the others it is of no
    /// use.
    cached: AtomicUsize,
    page_cache: PageCache,
    /// Bytes of an object that each thread asks for ahead.
    ahead: Ahead,
    /// and its requests for a file past the cache.
    requests: ReadRequests,
}

/// A file, opened when one of its parts is read: there may be more files than a process may open.
#[derive(Debug)]
struct RawFile {
    name: String,
    at: Whereabouts,
    records: u64,
    /// Number of the first part.
    part: usize,
}

/// Bounds that ids are checked against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IdBound {
    /// No bound is known.
    Unknown,
    /// Bound that all ids were seen to be below.
    Seen(u64),
    /// Slots that the ids of a sample are so far below that all will be.
    Likely(u64),
    /// Bound that all ids are below, as the user says.
    Stated(u64),
}

/// Where a batch lies in its file.
#[derive(Clone, Copy, Debug)]
pub(super) struct BatchLocation<'a> {
    pub(super) file: &'a str,
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

/// Buffers that a thread reads and decodes into.
#[derive(Default)]
struct Reused {
    window: window::Reused,
    buffers: Buffers,
}

thread_local! {
    static REUSED: Cell<Reused> = Cell::default();
}

impl RawStream {
    /// A stream over files of this shape.
    pub(super) fn open(sources: &[Source], shape: Shape) -> Result<Self, InputError> {
        let mut stream = Self {
            files: Vec::new(),
            shape,
            edges: 0,
            parts: 0,
            ends: IdBound::Unknown,
            look: None,
            cached: AtomicUsize::new(usize::MAX),
            page_cache: PageCache::Auto,
            ahead: stored::ahead_of_each(&Limits::default(), 1),
            requests: ReadRequests::default(),
        };
        for source in sources {
            let bytes = source.bytes().unwrap_or(0);
            check_size(source.name(), bytes, shape)?;
            // Refuses what cannot be read before the caller relies on it.
            source.file()?;
            let records = bytes / shape.record_bytes() as u64;
            let part = stream.parts;
            let (name, at) = (source.name().to_owned(), source.whereabouts().clone());
            stream.files.push(RawFile { name, at, records, part });
            stream.edges += records;
            stream.parts += records.div_ceil(stream.part_records()) as usize;
        }
        Ok(stream)
    }

    /// Reads by `threads` threads as these limits say, perhaps `again` and again.
    pub(super) fn set_limits(&mut self, limits: &Limits, threads: usize, again: bool) {
        self.ahead = stored::ahead_of_each(limits, threads);
        (self.requests, self.page_cache) = (limits.read_requests, limits.page_cache);
        let bytes = self.edges * self.shape.record_bytes() as u64;
        let is_larger = limits.cache_bytes_max.is_some_and(|most| bytes > most);
        let past = match limits.page_cache {
            PageCache::Auto => again && is_larger,
            PageCache::Past => true,
            PageCache::Through => false,
        };
        self.cached = AtomicUsize::new(if past { 0 } else { usize::MAX });
    }

    /// Takes what was seen of a sample of the records.
    pub(super) fn set_look(&mut self, look: EdgeSample) {
        self.look = Some(look);
    }

    pub(super) fn set_ends(&mut self, ends: IdBound) {
        self.ends = ends;
    }

    fn part_records(&self) -> u64 {
        PART_BYTES / self.shape.record_bytes() as u64
    }

    /// The largest id of some records, from all over the files.
    pub(super) fn some(&self) -> Result<Option<u64>, InputError> {
        let mut largest = None;
        for part in (0..self.parts).step_by(self.parts.div_ceil(LOOKS).max(1)) {
            self.pieces(part, &mut |batch, _| {
                largest = largest.max(Some(batch.pairs.max()));
                Ok(false)
            })?;
        }
        Ok(largest)
    }

    /// Visits a part batch by batch, until `visit` answers `false`.
    pub(super) fn pieces(
        &self,
        part: usize,
        visit: &mut dyn FnMut(Batch<'_>, BatchLocation<'_>) -> Result<bool, InputError>,
    ) -> Result<(), InputError> {
        let (file, records) = self.part(part);
        self.batches(file, (part, records), visit)
    }

    /// Reads the pieces of a part that belong to a round of a sample.
    pub(super) fn sampled(
        &self,
        part: usize,
        (sample, round): (Sample, usize),
        visit: &mut dyn FnMut(Batch<'_>, BatchLocation<'_>) -> Result<bool, InputError>,
    ) -> Result<(), InputError> {
        let (file, records) = self.part(part);
        let piece = PIECE_EDGES as u64;
        let pieces = (records.end - records.start).div_ceil(piece) as usize;
        for number in sample.pieces(part, pieces, round) {
            let start = records.start + number as u64 * piece;
            self.batches(file, (part, start..records.end.min(start + piece)), visit)?;
        }
        Ok(())
    }

    /// The records of a part.
    fn part(&self, part: usize) -> (&RawFile, Range<u64>) {
        let index = self.files.partition_point(|file| file.part <= part) - 1;
        let file = &self.files[index];
        let start = (part - file.part) as u64 * self.part_records();
        (file, start..file.records.min(start + self.part_records()))
    }

    /// Whether a part is read past the system's cache.
    pub(super) fn is_past_cache(&self, part: usize) -> bool {
        part >= self.cached.load(Ordering::Relaxed)
    }

    /// Visits records of a part.
    fn batches(
        &self,
        file: &RawFile,
        of: (usize, Range<u64>),
        visit: &mut dyn FnMut(Batch<'_>, BatchLocation<'_>) -> Result<bool, InputError>,
    ) -> Result<(), InputError> {
        // Taken, not borrowed: `visit` may read another part in this thread.
        let mut reused = REUSED.take();
        let result = self.batches_with(&mut reused, file, of, visit);
        REUSED.set(reused);
        result
    }

    fn batches_with(
        &self,
        Reused { window, buffers }: &mut Reused,
        RawFile { name, at, .. }: &RawFile,
        (part, records): (usize, Range<u64>),
        visit: &mut dyn FnMut(Batch<'_>, BatchLocation<'_>) -> Result<bool, InputError>,
    ) -> Result<(), InputError> {
        let record = self.shape.record_bytes() as u64;
        let mut show = |offset: u64, bytes: &[u8]| {
            let batch = buffers
                .decode(bytes, self.shape)
                .map_err(|bad| bad.explain(name, offset, self.shape))?;
            visit(batch, BatchLocation { file: name, offset, bytes: bytes.len() as u64 })
        };
        let bytes = records.start * record..records.end * record;
        window::batches(
            (name, at, self.ahead),
            bytes,
            record as usize,
            self.is_past_cache(part).then_some(self.requests),
            window,
            &mut show,
        )
    }

    /// Refuses ids at or above the number of slots.
    fn check_ids(&self, pairs: Pairs<'_>, place: BatchLocation<'_>) -> Result<(), InputError> {
        let (slots, why) = match self.ends {
            IdBound::Unknown => (u64::from(u32::MAX), "ids that fit into 32 bits"),
            IdBound::Seen(slots) => (slots, "ids as the file had when it was opened"),
            IdBound::Stated(slots) => (slots, "ids within the stated number of vertices"),
            IdBound::Likely(slots) => (slots, "ids as a sample has"),
        };
        if pairs.max() < slots {
            return Ok(());
        }
        if let IdBound::Likely(slots) = self.ends {
            return Err(InputError::Unlikely { slots });
        }
        let bad = |ids: &mut dyn Iterator<Item = u64>| {
            ids.enumerate().find(|(_, id)| *id >= slots).unwrap_or_default()
        };
        let (index, id) = match pairs {
            Pairs::Narrow(pairs) => bad(&mut pairs.iter().flatten().map(|id| u64::from(*id))),
            Pairs::Wide(pairs) => bad(&mut pairs.iter().flatten().copied()),
        };
        let offset = place.offset + (index / 2 * self.shape.record_bytes()) as u64;
        let what = format!("expected {why}, below {slots}, found {id} in the record here");
        Err(InputError::byte(place.file, offset, what))
    }
}

impl EdgeStream for RawStream {
    fn parts(&self) -> usize {
        self.parts
    }

    fn edges(&self) -> u64 {
        self.edges
    }

    fn weighted(&self) -> bool {
        self.shape.weights
    }

    fn slots(&self) -> Option<u64> {
        match self.ends {
            IdBound::Unknown => None,
            IdBound::Seen(slots) | IdBound::Likely(slots) | IdBound::Stated(slots) => Some(slots),
        }
    }

    fn known_sample(&self) -> Option<&EdgeSample> {
        self.look.as_ref()
    }

    fn resident_bytes(&self) -> u64 {
        self.look.as_ref().map_or(0, EdgeSample::bytes)
    }

    fn spare_memory(&self, bytes: u64) {
        if self.page_cache == PageCache::Auto {
            self.cached.fetch_max((bytes / PART_BYTES) as usize, Ordering::Relaxed);
        }
    }

    fn read(
        &self,
        part: usize,
        visit: &mut dyn FnMut(edges::Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        let mut narrowed: Vec<Pair> = Vec::new();
        self.pieces(part, &mut |batch, place| {
            self.check_ids(batch.pairs, place)?;
            let pairs = batch.pairs.truncate(&mut narrowed);
            Ok(visit(edges::Batch { pairs, weights: batch.weights }))
        })?;
        Ok(())
    }

    fn sample(
        &self,
        part: usize,
        of: (Sample, usize),
        visit: &mut dyn FnMut(edges::Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        let mut narrowed: Vec<Pair> = Vec::new();
        self.sampled(part, of, &mut |batch, place| {
            self.check_ids(batch.pairs, place)?;
            let pairs = batch.pairs.truncate(&mut narrowed);
            Ok(visit(edges::Batch { pairs, weights: batch.weights }))
        })?;
        Ok(())
    }
}

/// Refuses sizes that are no multiple of a record.
pub(super) fn check_size(file: &str, bytes: u64, shape: Shape) -> Result<(), InputError> {
    let record = shape.record_bytes() as u64;
    match bytes % record {
        0 => Ok(()),
        rest => {
            let what = format!("expected a record of {record} bytes, found only {rest} more bytes");
            Err(InputError::byte(file, bytes - rest, what))
        }
    }
}

/// Does something with all parts in parallel; of several errors, the first in input order.
pub(super) fn first_error(
    stream: &RawStream,
    context: &Context<'_>,
    each: impl Fn(usize) -> Result<(), InputError> + Send + Sync,
) -> Result<(), InputError> {
    let find = || (0..stream.parts()).into_par_iter().find_map_first(|part| each(part).err());
    context.pool.install(find).map_or(Ok(()), Err)
}
