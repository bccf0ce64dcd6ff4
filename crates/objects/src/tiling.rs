//! Whether ranges of an object, put together, have the checksum that its store states of all of it.
//!
//! ```text
//! object    |0          ^          ^        ^                  bytes|
//! ranges    |    3      |    1     |   4    |          2            |  in any order, of any thread
//! sums           a           b          c              d
//! stated                  a + b + c + d, each moved by the bytes behind it
//! prefix    |-------------------------------|  read before, to find out what the object is
//! ```
//!
//! Sums are made of the bytes that a reader hands on or parses, not of those that arrive: bytes
//! that two neighbours fetched are summed by the one that used them.
//!
//! Invariants: ranges that are noted are disjoint, so they are all of the object as soon as their
//! bytes are · a range that is noted twice has one checksum · a prefix is compared where a range
//! ends with it, as ranges do that are begun after it. Checked in `Noted::put` and `Tiling::note`.
//! Tested by `ranges_in_any_order_are_the_object` and `a_wrong_bit_of_any_range_is_found`.

use std::collections::BTreeMap;
use std::mem;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crc_fast::Digest;

use crate::checksum::{Algorithm, Stated};
use crate::error::{ObjectError, ObjectErrorKind};

/// Ranges that are noted at most before neighbours become one.
const RANGES_MAX: usize = if cfg!(test) { 100 } else { 100_000 };
/// Prefixes that are noted at most.
const PREFIXES_MAX: usize = 16;

/// An object, with what its store states of it and what was seen of its beginning.
#[derive(Debug)]
struct Whole {
    name: String,
    bytes: u64,
    stated: Stated,
    /// Ends of prefixes, and their checksums.
    prefixes: Mutex<Vec<(u64, u64)>>,
}

/// Ranges of an object that are summed on their own, until they are all of it. Copies share them.
#[derive(Clone, Debug)]
pub struct Tiling {
    whole: Arc<Whole>,
    noted: Arc<Mutex<Noted>>,
}

/// A range of an object that is summed as it is looked at, from its first byte on.
#[derive(Debug)]
pub struct RangeSum {
    tiling: Tiling,
    start: u64,
    /// Where the range that is summed now began,
    begun: u64,
    /// and where its next byte lies.
    end: u64,
    digest: Digest,
    /// Ends of prefixes that lie ahead, the next one last: a range ends at each.
    cuts: Vec<u64>,
    /// Ranges before that one.
    done: Vec<(Range<u64>, u64)>,
}

/// Ranges that were noted.
#[derive(Debug, Default)]
struct Noted {
    /// Ends and checksums of disjoint ranges, by where they begin.
    ranges: BTreeMap<u64, (u64, u64)>,
    /// Bytes of all of them.
    bytes: u64,
    /// Whether they were all of the object, and as is stated.
    is_whole: bool,
}

impl Tiling {
    /// No ranges yet of an object, whose first bytes were seen already.
    pub(crate) fn new(name: &str, bytes: u64, stated: Stated, head: &[u8]) -> Self {
        let prefix = (head.len() as u64, stated.algorithm.of(head));
        let prefixes = Mutex::new(Vec::from_iter((!head.is_empty()).then_some(prefix)));
        let whole = Whole { name: name.to_owned(), bytes, stated, prefixes };
        Self { whole: Arc::new(whole), noted: Arc::default() }
    }

    /// No ranges yet, of the same object.
    #[must_use]
    pub fn anew(&self) -> Self {
        Self { whole: Arc::clone(&self.whole), noted: Arc::default() }
    }

    /// Begins a range at a byte.
    pub fn range(&self, start: u64) -> RangeSum {
        let prefixes = lock(&self.whole.prefixes);
        let mut cuts: Vec<u64> =
            prefixes.iter().map(|(end, _)| *end).filter(|end| *end > start).collect();
        cuts.sort_unstable_by(|one, other| other.cmp(one));
        cuts.dedup();
        RangeSum {
            tiling: self.clone(),
            start,
            begun: start,
            end: start,
            digest: self.whole.stated.algorithm.digest(),
            cuts,
            done: Vec::new(),
        }
    }

    /// Whether ranges were noted that are all of the object.
    ///
    /// # Errors
    /// When some of it is missing: readers that share an object would have taken other bytes.
    pub fn finish(&self) -> Result<(), ObjectError> {
        let noted = lock(&self.noted);
        if noted.is_whole || self.whole.bytes == 0 {
            return Ok(());
        }
        let what = format!(
            "of its {} bytes {} were read once: two readings of one line differ, so bits of it \
             flipped on their way",
            self.whole.bytes, noted.bytes
        );
        Err(self.whole.damaged(what))
    }

    fn note(&self, range: Range<u64>, sum: u64) -> Result<(), ObjectError> {
        let algorithm = self.whole.stated.algorithm;
        let mut noted = lock(&self.noted);
        let known = noted.ranges.get(&range.start).copied();
        if let Some((_, seen)) = known.filter(|(end, _)| *end == range.end) {
            return if seen == sum { Ok(()) } else { Err(self.whole.unlike(&range, sum, seen)) };
        }
        // A look at a part of what was used is none of its readings.
        let around = noted.last_before(range.end);
        let is_within = around.is_some_and(|it| it.0 <= range.start && range.end <= it.1);
        if noted.is_whole || range.is_empty() || is_within {
            return Ok(());
        }
        noted.put(range, sum);
        if noted.bytes == self.whole.bytes {
            self.whole.compare(&noted.ranges)?;
            noted.is_whole = true;
        } else if noted.ranges.len() > RANGES_MAX {
            let prefixes = lock(&self.whole.prefixes).clone();
            noted.join(algorithm, &prefixes);
        }
        Ok(())
    }
}

impl Whole {
    /// Compares ranges that are all of the object with what is stated, and with prefixes.
    fn compare(&self, ranges: &BTreeMap<u64, (u64, u64)>) -> Result<(), ObjectError> {
        let algorithm = self.stated.algorithm;
        let prefixes = lock(&self.prefixes).clone();
        let (mut all, mut unlike) = (0, None);
        for (start, (end, sum)) in ranges {
            all = algorithm.combine(all, *sum, end - start);
            let other = prefixes.iter().find(|(at, seen)| at == end && *seen != all);
            unlike = unlike.or(other.map(|(at, seen)| (0..*at, *seen, all)));
        }
        if all != self.stated.sum {
            return Err(self.unlike(&(0..self.bytes), all, self.stated.sum));
        }
        unlike.map_or(Ok(()), |(range, seen, all)| Err(self.unlike(&range, seen, all)))
    }

    /// The error of a range that has another checksum than it should.
    fn unlike(&self, range: &Range<u64>, found: u64, expected: u64) -> ObjectError {
        let algorithm = self.stated.algorithm;
        let what = format!(
            "bits flipped on their way, or where it is stored: bytes {} to {} have {algorithm} \
             {found:x}, and {expected:x} is expected",
            range.start, range.end
        );
        self.damaged(what)
    }

    fn damaged(&self, what: String) -> ObjectError {
        ObjectError::new(&self.name, ObjectErrorKind::Store, what)
    }
}

impl Noted {
    /// Puts a range in the place of those that it has bytes in common with.
    fn put(&mut self, range: Range<u64>, sum: u64) {
        while let Some((start, end)) = self.last_before(range.end).filter(|it| it.1 > range.start) {
            self.ranges.remove(&start);
            self.bytes -= end - start;
        }
        self.bytes += range.end - range.start;
        self.ranges.insert(range.start, (range.end, sum));
    }

    /// The last range that begins before a byte.
    fn last_before(&self, end: u64) -> Option<(u64, u64)> {
        let last = self.ranges.range(..end).next_back();
        last.map(|(start, (end, _))| (*start, *end))
    }

    /// Makes one range of neighbours, but for those between which a prefix ends. Where that leaves
    /// many, they are forgotten, and nothing is compared.
    fn join(&mut self, algorithm: Algorithm, prefixes: &[(u64, u64)]) {
        let mut joined: Vec<(u64, (u64, u64))> = Vec::new();
        for (start, (end, sum)) in mem::take(&mut self.ranges) {
            let is_cut = prefixes.iter().any(|(at, _)| *at == start);
            match joined.last_mut() {
                Some((_, (before, first))) if *before == start && !is_cut => {
                    *first = algorithm.combine(*first, sum, end - start);
                    *before = end;
                }
                _ => joined.push((start, (end, sum))),
            }
        }
        if joined.len() > RANGES_MAX / 2 {
            joined.clear();
            self.bytes = 0;
        }
        self.ranges = joined.into_iter().collect();
    }
}

impl RangeSum {
    /// Where the next byte lies.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Adds the bytes that come next.
    pub fn add(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(cut) = self.cuts.last().copied() {
            let Some((before, behind)) = rest.split_at_checked((cut - self.end) as usize) else {
                break;
            };
            self.take(before);
            self.cuts.pop();
            self.cut();
            rest = behind;
        }
        self.take(rest);
    }

    fn take(&mut self, bytes: &[u8]) {
        self.digest.update(bytes);
        self.end += bytes.len() as u64;
    }

    /// Ends the range that is summed now, and begins another.
    fn cut(&mut self) {
        self.done.push((self.begun..self.end, self.digest.finalize_reset()));
        self.begun = self.end;
    }

    /// Notes the range, which was used to its end.
    ///
    /// # Errors
    /// When all of the object was noted with it and has another checksum than the store states, and
    /// when the range was noted before with another checksum.
    pub fn note(mut self) -> Result<(), ObjectError> {
        self.cut();
        let mut ranges = mem::take(&mut self.done).into_iter();
        ranges.try_for_each(|(range, sum)| self.tiling.note(range, sum))
    }

    /// Notes the range as a look at the beginning of the object, if it begins there.
    pub(crate) fn note_prefix(mut self) {
        self.cut();
        if self.start != 0 || self.end == 0 {
            return;
        }
        let Tiling { whole, .. } = &self.tiling;
        let algorithm = whole.stated.algorithm;
        let add = |all, (range, sum): &(Range<u64>, u64)| {
            algorithm.combine(all, *sum, range.end - range.start)
        };
        let prefix = (self.end, self.done.iter().fold(0, add));
        let mut prefixes = lock(&whole.prefixes);
        if prefixes.len() < PREFIXES_MAX && !prefixes.contains(&prefix) {
            prefixes.push(prefix);
        }
    }
}

/// Holds what is noted. Nothing is left half done where a thread panics.
fn lock<T>(noted: &Mutex<T>) -> MutexGuard<'_, T> {
    noted.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
