//! Text: SNAP edge lists, CSV, TSV and their relatives, all by one tolerant reader.
//!
//! A file is lines. Lines that are blank or begin with `#` or `%` are no rows, wherever they stand.
//! A row has a source, a target and perhaps a weight, in columns; see [`dialect`] for how
//! separator, header and columns are found, and [`fields`] for what a field may be. Line ends are
//! `\n` or
//! `\r\n`, the last one may be missing, and a byte order mark is skipped. A quoted field may hold
//! the separator, but no line end.
//!
//! ```text
//! regular file:      worker: positioned read ─► parse ─► part       (file, one part a worker)
//! compressed, pipe:  one thread: unpack ─► queue ─► workers: parse   (stream)
//! ```
//!
//! Invariants: [`plain`] and [`simd`] agree with [`fields`] on every line; of several bad lines the
//! first is reported, with its number, for any number of threads.

mod dialect;
mod failure;
mod fields;
mod file;
mod parse;
mod plain;
mod rows;
mod simd;
mod stream;
#[cfg(test)]
mod tests;

use self::dialect::Dialect;
use self::file::Grain;
pub(crate) use self::rows::Dictionary;
use crate::collect::{Collector, Part};
use crate::error::InputError;
use crate::options::{IdKind, ReadOptions};
use crate::reader::{Context, Estimate, Reader};
use crate::source::{Compression, Sample, Source};

/// Decompressed bytes that are looked at to know a file's dialect.
const SAMPLE_BYTES: usize = 256 << 10;
/// Decompressed bytes from which the number of edges is estimated.
const ESTIMATE_BYTES: usize = 1 << 20;

/// Reads text.
pub(crate) struct TextReader;

impl Reader for TextReader {
    fn id_kind(&self, source: &Source, context: &Context<'_>) -> Result<IdKind, InputError> {
        let (dialect, _) = sample(source, SAMPLE_BYTES, context.options)?;
        Ok(dialect.ids)
    }

    fn read(
        &self,
        source: &Source,
        context: &Context<'_>,
        collector: &Collector,
    ) -> Result<(), InputError> {
        let (dialect, _) = sample(source, SAMPLE_BYTES, context.options)?;
        match source.bytes() {
            Some(bytes) if source.compression() == Compression::None => {
                let grain = Grain::of(bytes, context.options.thread_count(), dialect.ids);
                file::read(source, bytes, grain, &dialect, context, collector)
            }
            _ => stream::read(source, &dialect, context, collector),
        }
    }

    fn estimate(&self, source: &Source, options: &ReadOptions) -> Result<Estimate, InputError> {
        let (dialect, sample) = sample(source, ESTIMATE_BYTES, options)?;
        let text = sample.bytes.get(dialect.start..).unwrap_or_default();
        let rows = text.split(|byte| *byte == b'\n').filter(|line| !fields::is_no_row(line));
        let rows = rows.count() as u64;
        let edges = match source.bytes() {
            _ if sample.whole => Some(rows),
            // The stored bytes of a sample stand for its rows.
            Some(bytes) => {
                let stored = match source.compression() {
                    Compression::None => sample.bytes.len() as u64,
                    Compression::Gzip | Compression::Zstd => sample.stored,
                };
                let all = u128::from(rows) * u128::from(bytes) / u128::from(stored.max(1));
                Some(u64::try_from(all).unwrap_or(u64::MAX))
            }
            None => None,
        };
        Ok(Estimate {
            bytes: source.bytes(),
            edges,
            exact: sample.whole,
            slots: None,
            ids: dialect.ids,
            weighted: dialect.columns.weight.is_some(),
        })
    }
}

/// The beginning of a source and the dialect that it is in.
fn sample(
    source: &Source,
    bytes_max: usize,
    options: &ReadOptions,
) -> Result<(Dialect, Sample), InputError> {
    let sample = source.sample(bytes_max, &options.limits)?;
    let dialect = Dialect::guess(source.name(), &sample.bytes, sample.whole, options)?;
    Ok((dialect, sample))
}

/// Reads a whole text in memory: the same as a file that holds it, but `carefully` without the fast
/// path. For tests, fuzzing and benchmarks.
pub(crate) fn parse(
    text: &[u8],
    options: &ReadOptions,
    carefully: bool,
) -> Result<Part, InputError> {
    let file = "text";
    let dialect = Dialect::guess(
        file,
        &text[..text.len().min(SAMPLE_BYTES)],
        text.len() <= SAMPLE_BYTES,
        options,
    )?;
    let rows_text = &text[dialect.start..];
    let mut rows = dialect.rows(options.vertices);
    let read = if carefully {
        parse::carefully(rows_text, &dialect, &mut rows)
    } else {
        rows.reserve(file::expected_rows(rows_text, rows_text.len() as u64));
        parse::lines(rows_text, &dialect, &mut rows)
    };
    match read {
        Ok(()) => Ok(rows.into_part()),
        Err(parse::Fault { offset, what }) => {
            let line = parse::newlines(&text[..dialect.start + offset]) + 1;
            Err(InputError::Line { file: file.to_owned(), line, what })
        }
    }
}

/// Reads a text many times, each time into the memory that the time before gave back, so that only
/// parsing is measured.
pub(crate) fn parse_rounds(text: &[u8], rounds: usize) -> usize {
    let options = ReadOptions::default();
    let Ok(dialect) = Dialect::guess("text", text, true, &options) else { return 0 };
    let mut edges = 0;
    for _ in 0..rounds {
        let mut rows = dialect.rows(None);
        rows.reserve(file::expected_rows(text, text.len() as u64));
        if parse::lines(text, &dialect, &mut rows).is_ok() {
            edges += rows.into_part().ids.len();
        }
    }
    edges
}
