//! Distinct keys in ascending order, of more keys than memory holds.
//!
//! ```text
//! keys ──► sorters, one a thread ──► runs on files ──► ranges of keys ──► keys in order, on files
//!          full: sort, distinct,     ascending each    all runs' part of a range is sorted
//!          and write, if many left                     at once, by any thread
//! ```
//!
//! A range is as many blocks of runs as fit, found from the head of the first key of each block,
//! which stays in memory. A part of a block of every run may be in it beside them, so at most as
//! many runs are merged at once as fit with their blocks; where there are more, some are merged to
//! one first. So each key is written twice (in a run, in the result) and read twice as long as a
//! thread has room for a block of every run, which `n` bytes allow for about `n^2 / 2^20` bytes of
//! keys; and once more for each further pass.
//!
//! Invariant: no more than twice the room of each thread is held, plus the heads of all blocks, if
//! not more keys than that begin alike. Checked in `runs_at_once` and `Sorter::make_room`.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::ThreadPool;

use super::keys::Keys;
use crate::error::InputError;
use crate::temp::{TempFiles, TempLocation};

/// Bytes of a block of keys, or one key that is longer. Small in tests, so that runs have several.
const BLOCK_BYTES: usize = if cfg!(test) { 256 } else { 16 << 10 };

/// Bytes of a key that is written down, of many a block: names are longer mostly.
const KEY_BYTES: usize = 8;
/// Runs that are merged at once, whatever they take.
const RUNS_LEAST: usize = 4;

/// Keys of all threads, on their way to be distinct.
pub(super) struct Distinct<K: Keys> {
    scratch: TempFiles,
    /// Bytes that a sorter may hold.
    room: u64,
    /// Keys that there will be, those that come again included, and those of the runs so far.
    total: u64,
    seen: AtomicU64,
    runs: Mutex<Vec<Run<K>>>,
}

/// Ascending, distinct keys on a file.
struct Run<K: Keys> {
    blocks: Vec<Stored>,
    /// The head of the first key of each block.
    firsts: Vec<K::Head>,
}

#[derive(Clone, Copy)]
struct Stored {
    place: TempLocation,
    bytes: u32,
    sum: u32,
    keys: u32,
}

impl Stored {
    /// Bytes that its keys take while they are sorted with others.
    fn sort_bytes<K: Keys>(&self) -> u64 {
        K::sort_bytes_of(self.keys.into(), self.bytes.into())
    }
}

/// Distinct keys of all threads, ascending, on a file.
pub(super) struct Sorted<K: Keys> {
    scratch: TempFiles,
    runs: Vec<Run<K>>,
    /// Number of keys.
    pub(super) count: usize,
    /// Bytes of their text; 0 of integers.
    pub(super) text_bytes: usize,
}

/// Keys and buffers of one thread.
pub(super) struct Sorter<'a, K: Keys> {
    distinct: &'a Distinct<K>,
    keys: K,
    /// Keys since the last run was written.
    seen: u64,
}

impl<K: Keys> Distinct<K> {
    /// No keys yet, of `total` that will come; each sorter may hold `room` bytes.
    pub(super) fn new(scratch: TempFiles, room: u64, total: u64) -> Self {
        Self { scratch, room, total, seen: AtomicU64::new(0), runs: Mutex::default() }
    }

    /// A sorter, to be finished.
    pub(super) fn sorter(&self) -> Sorter<'_, K> {
        Sorter { distinct: self, keys: K::default(), seen: 0 }
    }

    /// Puts all that sorters wrote in order. More than `most_bytes` are of no use.
    pub(super) fn merge(self, pool: &ThreadPool, most_bytes: u64) -> Result<Sorted<K>, InputError> {
        let Self { mut scratch, room, runs, .. } = self;
        let mut runs = runs.into_inner().unwrap_or_else(PoisonError::into_inner);
        let at_once = runs_at_once::<K>(room);
        while runs.len() > at_once {
            let to = scratch.beside()?;
            let bytes = scratch.bytes();
            to.ask(bytes + bytes / 64)?;
            let merge = |some: &[Run<K>]| Ok(joined(merged(&scratch, &to, some, room, pool)?));
            runs = runs.chunks(at_once).map(merge).collect::<Result<_, InputError>>()?;
            scratch = to;
        }
        // Ends of blocks do not fill what the system gives.
        let bytes = scratch.bytes().min(most_bytes);
        scratch.ask(bytes + bytes / 64)?;
        let merged = merged(&scratch, &scratch, &runs, room, pool)?;
        let count = merged.iter().map(|range| range.count).sum();
        let text_bytes = merged.iter().map(|range| range.text_bytes).sum();
        let runs = merged.into_iter().map(|range| range.run).collect();
        Ok(Sorted { scratch, runs, count, text_bytes })
    }
}

/// Runs of which a thread can hold a part of a block each beside its range.
fn runs_at_once<K: Keys>(room: u64) -> usize {
    let keys = (BLOCK_BYTES / KEY_BYTES) as u64;
    ((room / K::sort_bytes_of(keys, BLOCK_BYTES as u64)) as usize).max(RUNS_LEAST)
}

/// Keys of a range that were merged.
struct Merged<K: Keys> {
    run: Run<K>,
    count: usize,
    text_bytes: usize,
}

/// The keys of some runs, range by range, each ascending and after those before it; written to
/// other files, or the same. Threads share the ranges.
fn merged<K: Keys>(
    from: &TempFiles,
    to: &TempFiles,
    runs: &[Run<K>],
    room: u64,
    pool: &ThreadPool,
) -> Result<Vec<Merged<K>>, InputError> {
    let starts = starts(runs, room);
    let next = AtomicUsize::new(0);
    let merge = |done: &mut Vec<_>| {
        loop {
            let range = next.fetch_add(1, Ordering::Relaxed);
            let Some(first) = starts.get(range) else { return Ok(()) };
            let keys = gathered(from, runs, first, starts.get(range + 1).copied())?;
            let run = write(to, &keys)?;
            let (count, text_bytes) = (keys.count(), keys.text_bytes());
            done.push((range, Merged { run, count, text_bytes }));
        }
    };
    let work = |_: rayon::BroadcastContext<'_>| {
        let mut done = Vec::new();
        merge(&mut done).map(|()| done)
    };
    let merged = pool.broadcast(work).into_iter().collect::<Result<Vec<_>, InputError>>()?;
    let mut merged: Vec<_> = merged.into_iter().flatten().collect();
    merged.sort_unstable_by_key(|(range, _)| *range);
    Ok(merged.into_iter().map(|(_, merged)| merged).collect())
}

/// One run of ranges that follow each other.
fn joined<K: Keys>(ranges: Vec<Merged<K>>) -> Run<K> {
    let mut all = Run { blocks: Vec::new(), firsts: Vec::new() };
    for Merged { mut run, .. } in ranges {
        all.blocks.append(&mut run.blocks);
        all.firsts.append(&mut run.firsts);
    }
    all
}

impl<K: Keys> Sorter<'_, K> {
    /// Adds a key.
    #[inline]
    pub(super) fn add(&mut self, key: &K::Key) -> Result<(), InputError> {
        self.seen += 1;
        self.keys.add(key);
        if self.keys.sort_bytes() >= self.distinct.room { self.make_room() } else { Ok(()) }
    }

    /// Notes a key that was added a moment ago.
    #[inline]
    pub(super) fn skip(&mut self) {
        self.seen += 1;
    }

    /// Sorts what is held, and writes it unless that left half of the room free.
    #[cold]
    fn make_room(&mut self) -> Result<(), InputError> {
        self.keys.sort();
        if self.keys.sort_bytes() > self.distinct.room / 2 { self.write() } else { Ok(()) }
    }

    /// Writes what is left.
    pub(super) fn finish(mut self) -> Result<(), InputError> {
        self.keys.sort();
        if self.keys.count() > 0 { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<(), InputError> {
        let Distinct { scratch, total, seen, runs, .. } = self.distinct;
        // Before they are: of what others are writing meanwhile a part is written too.
        seen.fetch_add(std::mem::take(&mut self.seen), Ordering::Relaxed);
        let run = write(scratch, &self.keys)?;
        self.keys.clear();
        runs.lock().unwrap_or_else(PoisonError::into_inner).push(run);
        scratch.foresee(seen.load(Ordering::Relaxed), *total)
    }
}

impl<K: Keys> Sorted<K> {
    /// Reads all keys.
    pub(super) fn load(self) -> Result<K, InputError> {
        let mut keys = K::with_room(self.count, self.text_bytes);
        let mut bytes = Vec::new();
        for stored in self.runs.iter().flat_map(|run| &run.blocks) {
            read::<K>(&self.scratch, *stored, &mut bytes, &mut |key| keys.add(key))?;
        }
        Ok(keys)
    }
}

/// Writes ascending keys as a run.
fn write<K: Keys>(scratch: &TempFiles, keys: &K) -> Result<Run<K>, InputError> {
    let mut run = Run { blocks: Vec::new(), firsts: Vec::new() };
    let (mut begin, mut bytes) = (0, Vec::with_capacity(BLOCK_BYTES));
    while begin < keys.count() {
        let range = block(keys, begin);
        bytes.clear();
        keys.encode(range.clone(), &mut bytes);
        let place = scratch.place(bytes.len() as u64)?;
        let sum = scratch.write(place, &bytes)?;
        let (bytes, count) = (bytes.len() as u32, range.len() as u32);
        run.blocks.push(Stored { place, bytes, sum, keys: count });
        run.firsts.push(K::head(keys.key(begin)));
        begin = range.end;
    }
    Ok(run)
}

/// Keys from `begin` on that make a block.
fn block<K: Keys>(keys: &K, begin: usize) -> Range<usize> {
    let mut end = begin;
    let mut bytes = 0;
    while end < keys.count() {
        bytes += K::encoded_bytes(keys.key(end));
        if bytes > BLOCK_BYTES && end > begin {
            break;
        }
        end += 1;
    }
    begin..end
}

fn read<K: Keys>(
    scratch: &TempFiles,
    stored: Stored,
    bytes: &mut Vec<u8>,
    visit: &mut dyn FnMut(&K::Key),
) -> Result<(), InputError> {
    bytes.resize(stored.bytes as usize, 0);
    scratch.read(stored.place, bytes, stored.sum)?;
    K::decode(bytes, visit);
    Ok(())
}

/// Heads of the first keys of ranges that take about `room` bytes each while they are sorted. The
/// first range begins with the smallest key of all.
fn starts<K: Keys>(runs: &[Run<K>], room: u64) -> Vec<&K::Head> {
    let mut blocks: Vec<(&K::Head, u64)> = Vec::new();
    for run in runs {
        let bytes = run.blocks.iter().map(Stored::sort_bytes::<K>);
        blocks.extend(run.firsts.iter().zip(bytes));
    }
    blocks.sort_unstable();
    let mut starts: Vec<&K::Head> = Vec::new();
    let mut filled = 0;
    for (first, bytes) in blocks {
        if starts.last().is_none_or(|start| filled + bytes > room && *start < first) {
            starts.push(first);
            filled = 0;
        }
        filled += bytes;
    }
    starts
}

/// All keys from `first` on and before `end`, ascending and distinct.
fn gathered<K: Keys>(
    scratch: &TempFiles,
    runs: &[Run<K>],
    first: &K::Head,
    end: Option<&K::Head>,
) -> Result<K, InputError> {
    let mut keys = K::default();
    let mut bytes = Vec::new();
    for run in runs {
        // A key before the first one of a block may be in the block before it.
        let from = run.firsts.partition_point(|head| head < first).saturating_sub(1);
        let to = end.map_or(run.blocks.len(), |end| run.firsts.partition_point(|head| head < end));
        for stored in &run.blocks[from.min(to)..to] {
            read::<K>(scratch, *stored, &mut bytes, &mut |key| {
                let is_within = end.is_none_or(|end| K::is_before(key, end));
                if is_within && !K::is_before(key, first) {
                    keys.add(key);
                }
            })?;
        }
    }
    keys.sort();
    Ok(keys)
}

/// Number of the first of `count` things that something holds for, if it holds for no later ones.
pub(super) fn partition_point(count: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = usize::midpoint(low, high);
        if holds(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::collection::vec;
    use proptest::prelude::*;
    use rayon::ThreadPoolBuilder;
    use welter_model::ids::Names;

    use super::*;

    /// Sorts keys in several threads and holds them to be those of a set.
    fn sorted<K: Keys>(keys: &[&K::Key], room: u64, threads: usize) -> K {
        let folder = tempfile::tempdir().unwrap();
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let scratch = TempFiles::make(&[folder.path().to_owned()]).unwrap();
        let distinct = Distinct::<K>::new(scratch, room, keys.len() as u64);
        for some in keys.chunks(keys.len().div_ceil(3).max(1)) {
            let mut sorter = distinct.sorter();
            for key in some {
                sorter.add(key).unwrap();
            }
            sorter.finish().unwrap();
        }
        let sorted = distinct.merge(&pool, u64::MAX >> 1).unwrap();
        let (count, text_bytes) = (sorted.count, sorted.text_bytes);
        let loaded = sorted.load().unwrap();
        assert_eq!((loaded.count(), loaded.text_bytes()), (count, text_bytes));
        loaded
    }

    proptest! {
        #[test]
        fn integers_are_those_of_a_set(
            ids in vec(
                prop_oneof![0..9_u64, any::<u64>(), Just(u64::MAX), 1_000_000..1_001_000_u64],
                0..400,
            ),
            room in 500..40_000_u64,
            threads in 1..4_usize,
        ) {
            // As many as take several blocks a run.
            let several = |id: &u64| [0, 1, 2, 3, 4, 5, 6, 7].map(|step| id ^ (step << 40));
            let ids: Vec<u64> = ids.iter().flat_map(several).collect();
            let keys: Vec<&u64> = ids.iter().collect();
            let expected: BTreeSet<u64> = ids.iter().copied().collect();
            let sorted = sorted::<Vec<u64>>(&keys, room, threads);
            prop_assert!(sorted.into_iter().eq(expected));
        }

        #[test]
        fn names_are_those_of_a_set(
            names in vec("\\PC{0,12}|a{0,9}", 0..600),
            room in 500..20_000_u64,
            threads in 1..4_usize,
        ) {
            let long = "ü".repeat(BLOCK_BYTES);
            let keys: Vec<&str> = names.iter().map(|name| &name[..]).chain([&long[..]]).collect();
            let expected: BTreeSet<&str> = keys.iter().copied().collect();
            let sorted = sorted::<Names>(&keys, room, threads);
            prop_assert!(sorted.iter().eq(expected));
        }
    }
}
