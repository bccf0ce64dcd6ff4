//! Parallel reading of an uncompressed file: each worker reads and parses parts of its own.
//!
//! A part is a range of bytes of the file; a line belongs to the part in which it begins. So does a
//! line of a share that is read of the file ([`Source::share`]): shares that have all bytes have
//! each line once. The number of a bad line is that of the whole file, whose lines before it are
//! counted then, wherever the share begins. Text is
//! read with positioned reads into a buffer that stays in the cache, and never mapped: a file that
//! is cut while it is read must be an error and not a signal.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use welter_objects::Ahead;

use super::failure::First;
use super::lines::Lines;
use super::parse::{self, Fault};
use super::rows::{RowIds, Rows};
use super::summed::{self, Sums};
use crate::collect::Collector;
use crate::error::InputError;
use crate::options::Limits;
use crate::reader::Context;
use crate::source::Source;
use crate::source::stored::{self, Onward, StoredBytes};

/// Text that is read at once; half of a common second-level cache.
const READ_BYTES: usize = 512 << 10;
/// Text read behind the end of a part for the rest of its last line.
const TAIL_BYTES: u64 = 4 << 10;
/// Text of a part of a large file: of the edges in it, half as many bytes or fewer.
const PART_BYTES_MAX: u64 = 32 << 20;
/// Bytes of text of a part of names, whose dictionary should stay in the cache.
const NAMES_BYTES_MAX: u64 = 4 << 20;
const PART_BYTES_MIN: u64 = 1 << 20;
/// Share of the memory that the text of all threads' parts may take, as one part in this number.
const MEMORY_SHARE: u64 = 16;

/// Reason why a part could not be read.
enum Trouble {
    /// A line is malformed, at this byte of the file; the first bytes that were seen from there on.
    Line { offset: u64, what: String, seen: Vec<u8> },
    /// Anything that has no line.
    Other(InputError),
}

impl From<InputError> for Trouble {
    fn from(error: InputError) -> Self {
        Self::Other(error)
    }
}

/// Grain by which a file is cut. No choice changes what is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grain {
    /// Text of one part.
    pub(super) part_bytes: u64,
    /// Text read at once.
    pub(super) read_bytes: usize,
    /// Bytes that each thread may ask for ahead, of its part of an object.
    pub(super) ahead: Ahead,
}

impl Grain {
    /// Several parts a thread, within the sizes that are good for what comes after, and small
    /// beside the memory that may be used: a part may take nearly three times as much as its text.
    pub(super) fn of(bytes: u64, threads: usize, limits: &Limits, rows: &Rows) -> Self {
        let names = matches!(rows.ids, RowIds::Names(_));
        let good = if names { NAMES_BYTES_MAX } else { PART_BYTES_MAX };
        let memory = limits.memory_bytes_max.unwrap_or(u64::MAX) / MEMORY_SHARE;
        let most = (bytes / 4).min(memory) / threads as u64;
        let part_bytes = most.clamp(PART_BYTES_MIN, good);
        let ahead = stored::ahead_of_each(limits, threads);
        Self { part_bytes, read_bytes: READ_BYTES, ahead }
    }

    /// Bytes that each thread asks for ahead, of its part of an object.
    fn ahead(self) -> Ahead {
        self.ahead.at_most(self.part_bytes / 2).surely()
    }
}

/// Reads a regular, uncompressed file of `bytes` bytes.
pub(super) fn read(
    source: &Source,
    bytes: u64,
    grain: Grain,
    lines: &dyn Lines,
    context: &Context<'_>,
    collector: &Collector,
) -> Result<(), InputError> {
    let file = source.file()?;
    let threads = context.options.thread_count();
    let sums = Sums::of(source, &file, lines.start() as u64)?;
    let own = source.share().cloned().unwrap_or(0..bytes);
    let parts = (own.end - own.start).div_ceil(grain.part_bytes);
    let reading = Reading { source, file: &file, bytes, own, grain, lines, context, sums: &sums };
    let next = AtomicU64::new(0);
    let first = First::new();
    let work = || {
        let mut buffer = vec![0; grain.read_bytes];
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= parts || first.precedes(number) {
                return;
            }
            let done = reading.part(number, &mut buffer).and_then(|rows| {
                collector.pass_over(rows.passed);
                Ok(lines.keep(number, rows, collector)?)
            });
            if let Err(trouble) = done {
                first.note(number, trouble);
            }
        }
    };
    context.pool.scope(|scope| {
        for _ in 0..threads.min(parts as usize) {
            scope.spawn(|_| work());
        }
    });
    match first.into_inner() {
        None => sums.finish(),
        Some((_, Trouble::Other(error))) => Err(error),
        Some((_, Trouble::Line { offset, what, seen })) => {
            sums.confirm(source, &file, (offset, &seen))?;
            let line = reading.line_number(offset)?;
            Err(InputError::Line { file: source.name().to_owned(), line, what })
        }
    }
}

struct Reading<'a> {
    source: &'a Source,
    file: &'a StoredBytes,
    bytes: u64,
    /// Bytes at which the lines begin that are read.
    own: Range<u64>,
    grain: Grain,
    lines: &'a dyn Lines,
    context: &'a Context<'a>,
    sums: &'a Sums,
}

impl Reading<'_> {
    /// Reads the lines that begin in part `number`.
    fn part(&self, number: u64, buffer: &mut Vec<u8>) -> Result<Rows, Trouble> {
        let begin = self.lines.start() as u64;
        let first = self.own.start + number * self.grain.part_bytes;
        let from = first.max(begin);
        let to = (first + self.grain.part_bytes).min(self.own.end);
        let mut rows = self.lines.rows().with_bounds(self.context.options.bounds());
        if from >= to {
            // All of the part is before the first row.
            return Ok(rows);
        }
        // A line begins at `from` if the byte before it ends one.
        let inside = from > begin;
        let mut base = if inside { from - 1 } else { from };
        let mut onward = self.file.onward(base..to + TAIL_BYTES, self.grain.ahead());
        let mut skipping = inside;
        let mut kept = 0;
        let mut reserved = false;
        let mut sum = self.sums.part();
        while base < to {
            let offset = base + kept as u64;
            let until = to.max(offset) + TAIL_BYTES;
            let wanted = until.saturating_sub(offset).min((buffer.len() - kept) as u64) as usize;
            let filled = kept + self.fill(&mut onward, offset, &mut buffer[kept..kept + wanted])?;
            self.context.advance((filled - kept) as u64)?;
            let end = base + filled as u64;
            let mut start = 0;
            if skipping {
                let newline = memchr::memchr(b'\n', &buffer[..filled]);
                start = newline.map_or(filled, |length| length + 1);
                skipping = newline.is_none() && end < self.bytes;
            }
            let stop = start + self.lines_end(&buffer[start..filled], base + start as u64, to);
            let text = &buffer[start..stop];
            if !reserved && !text.is_empty() {
                rows.reserve(expected_rows(text, to - from));
                reserved = true;
            }
            sum.add(base + start as u64, text);
            let parsed = self.lines.parse(text, &mut rows);
            parsed.map_err(|fault| bad_line(base + start as u64, text, fault))?;
            buffer.copy_within(stop..filled, 0);
            kept = filled - stop;
            base += stop as u64;
            if end == self.bytes {
                break;
            }
            self.make_room(kept, base, buffer)?;
        }
        sum.note()?;
        Ok(rows)
    }

    /// Bytes of `text`, which begins at byte `base` at the beginning of a line, that are whole
    /// lines and begin before `to`.
    fn lines_end(&self, text: &[u8], base: u64, to: u64) -> usize {
        if base >= to {
            return 0;
        }
        // The byte before `to` is on the last line of this part.
        let within = (to - 1 - base) as usize;
        let last = if within < text.len() {
            memchr::memchr(b'\n', &text[within..]).map(|length| within + length)
        } else {
            None
        };
        let end = last.or_else(|| {
            let at_end = base + text.len() as u64 == self.bytes;
            if at_end { text.len().checked_sub(1) } else { memchr::memrchr(b'\n', text) }
        });
        end.map_or(0, |last| last + 1)
    }

    /// Reads the file from `offset` on into `buffer`, as far as both reach.
    fn fill(
        &self,
        onward: &mut Onward,
        offset: u64,
        buffer: &mut [u8],
    ) -> Result<usize, InputError> {
        let wanted = (self.bytes - offset).min(buffer.len() as u64) as usize;
        let mut filled = 0;
        while filled < wanted {
            let at = offset + filled as u64;
            match onward.read_at(&mut buffer[filled..wanted], at) {
                Ok(0) => {
                    let what = "the file became shorter while it was read";
                    return Err(InputError::byte(self.source.name(), at, what));
                }
                Ok(count) => filled += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let action = format!("read at byte {at}");
                    return Err(InputError::io(self.source.name(), action, error));
                }
            }
        }
        Ok(filled)
    }

    /// Lets the buffer hold a line of which `kept` bytes were read already.
    fn make_room(&self, kept: usize, base: u64, buffer: &mut Vec<u8>) -> Result<(), Trouble> {
        let longest = self.context.options.limits.line_bytes_max;
        if kept > longest {
            let what = too_long(longest);
            return Err(Trouble::Line { offset: base, what, seen: Vec::new() });
        }
        if buffer.len() < kept + self.grain.read_bytes.div_ceil(2) {
            buffer.resize(kept + self.grain.read_bytes, 0);
        }
        Ok(())
    }

    /// The number of the line at byte `offset`. Counted only for an error, so good files do not
    /// pay.
    fn line_number(&self, offset: u64) -> Result<u64, InputError> {
        let mut buffer = vec![0; READ_BYTES];
        let mut line = 1;
        let mut at = 0;
        let mut onward = self.file.onward(0..offset, self.grain.ahead());
        while at < offset {
            let wanted = (offset - at).min(READ_BYTES as u64) as usize;
            let count = self.fill(&mut onward, at, &mut buffer[..wanted])?;
            line += parse::newlines(&buffer[..count]);
            at += count as u64;
        }
        Ok(line)
    }
}

/// The error about a line in a text that begins at byte `base` of the file.
fn bad_line(base: u64, text: &[u8], Fault { offset, what }: Fault) -> Trouble {
    Trouble::Line { offset: base + offset as u64, what, seen: summed::seen(text, offset) }
}

/// The error about a line that never ends.
pub(super) fn too_long(longest: usize) -> String {
    format!("expected a line of at most {longest} bytes, found a longer one")
}

/// About how many rows `bytes` bytes of text hold that begins like `text`; seldom too few.
pub(super) fn expected_rows(text: &[u8], bytes: u64) -> usize {
    let sample = &text[..text.len().min(16 << 10)];
    let lines = parse::newlines(sample) + 1;
    let rows = u128::from(bytes) * u128::from(lines) / sample.len().max(1) as u128;
    (rows + rows / 32 + 64).min(u128::from(bytes)) as usize
}
