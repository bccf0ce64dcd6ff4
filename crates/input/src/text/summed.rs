//! Lines of an object, compared with the checksum that its store states of all of it.
//!
//! Parts of a file are read with some bytes of their neighbours, and each line is parsed by one of
//! them. So what is summed is what is parsed: those ranges are the object, without gaps and without
//! overlaps, however bytes behind their ends came. A look at the beginning, by which the format was
//! found out, is compared as a prefix of it.

use welter_objects::{ObjectError, RangeSum, Tiling};

use crate::error::InputError;
use crate::source::Source;
use crate::source::stored::{self, StoredBytes};

/// Bytes of a malformed line that are kept, to compare them with another reading.
const SEEN_BYTES: usize = 256;

/// Sums of the parts of a file, where there is something to compare them with.
pub(super) struct Sums(Option<Tiling>);

/// The sum of the lines of one part.
pub(super) struct PartSum<'a> {
    sums: &'a Sums,
    sum: Option<RangeSum>,
}

impl Sums {
    /// Sums of a file whose lines begin at a byte. What is before was looked at already.
    pub(super) fn of(source: &Source, file: &StoredBytes, start: u64) -> Result<Self, InputError> {
        if source.share().is_some() {
            // No machine has all of what the store has summed.
            return Ok(Self(None));
        }
        let unread = |error| InputError::io(source.name(), "read", error);
        let tiling = file.tiling().map_err(unread)?.map(|tiling| tiling.anew());
        if let Some(tiling) = &tiling {
            let mut header = vec![0; start as usize];
            file.read_exact_at(&mut header, 0).map_err(unread)?;
            note(range_of(tiling, 0, &header))?;
        }
        Ok(Self(tiling))
    }

    /// No lines yet of a part.
    pub(super) fn part(&self) -> PartSum<'_> {
        PartSum { sums: self, sum: None }
    }

    /// Refuses parts that are not all of the file: two of them have read one line otherwise.
    pub(super) fn finish(&self) -> Result<(), InputError> {
        let finished = self.0.as_ref().map_or(Ok(()), Tiling::finish);
        finished.map_err(|error| InputError::of_object(&error))
    }

    /// Refuses an object whose bytes from an offset on were `seen` otherwise than another reading
    /// has them: a malformed line may be one of which bits have flipped on their way.
    pub(super) fn confirm(
        &self,
        source: &Source,
        file: &StoredBytes,
        (offset, seen): (u64, &[u8]),
    ) -> Result<(), InputError> {
        let StoredBytes::Object(object) = file else { return Ok(()) };
        stored::confirm(object, offset, seen).map_err(|error| {
            InputError::io(source.name(), format!("read at byte {offset}"), error)
        })?;
        match &self.0 {
            // A small object is here as it came, and not asked for again.
            Some(tiling) if object.head().len() as u64 == object.bytes() => {
                note(range_of(&tiling.anew(), 0, object.head()))
            }
            _ => Ok(()),
        }
    }
}

impl PartSum<'_> {
    /// Adds whole lines, which begin at a byte of the file.
    pub(super) fn add(&mut self, offset: u64, lines: &[u8]) {
        if let Some(tiling) = self.sums.0.as_ref().filter(|_| !lines.is_empty()) {
            self.sum.get_or_insert_with(|| tiling.range(offset)).add(lines);
        }
    }

    /// Notes the lines of the part.
    pub(super) fn note(self) -> Result<(), InputError> {
        self.sum.map_or(Ok(()), note)
    }
}

/// Beginning of a malformed line, as it is kept.
pub(super) fn seen(text: &[u8], offset: usize) -> Vec<u8> {
    let line = text.get(offset..).unwrap_or_default();
    line[..line.len().min(SEEN_BYTES)].to_vec()
}

fn range_of(tiling: &Tiling, start: u64, bytes: &[u8]) -> RangeSum {
    let mut sum = tiling.range(start);
    sum.add(bytes);
    sum
}

fn note(sum: RangeSum) -> Result<(), InputError> {
    sum.note().map_err(|error: ObjectError| InputError::of_object(&error))
}
