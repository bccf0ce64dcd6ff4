//! Text: SNAP edge lists, CSV, TSV and their relatives, all by one tolerant reader.
//!
//! A file is lines. Lines that are blank or begin with `#` or `%` are no rows, wherever they stand.
//! A row has a source, a target and perhaps a weight, in columns; see [`dialect`] for how
//! separator, header and columns are found, and [`fields`] for what a field may be. Line ends are
//! `\n` or `\r\n`, the last one may be missing, and a byte order mark is skipped. A quoted
//! field may hold the separator, but no line end.
//!
//! ```text
//! regular file:      worker: positioned read ─► parse ─► part       (file, one part a worker)
//! compressed, pipe:  one thread: unpack ─► queue ─► workers: parse   (stream)
//! ```
//!
//! Invariants: [`plain`], [`regular`] and [`simd`] agree with [`fields`] on every line; of several
//! bad lines the first is reported, with its number, for any number of threads.

mod counted;
pub(crate) mod dialect;
mod estimate;
mod failure;
pub(crate) mod fields;
mod file;
pub(crate) mod known;
pub(crate) mod lines;
pub(crate) mod parse;
pub(crate) mod plain;
mod regular;
pub(crate) mod rows;
mod simd;
mod stream;
#[cfg(test)]
mod tests;
pub(crate) mod whole;

use self::dialect::Dialect;
pub(crate) use self::rows::Dictionary;
use crate::collect::Collector;
use crate::error::InputError;
use crate::options::{IdKind, ReadOptions};
use crate::reader::{Context, Estimate, Reader};
use crate::source::{Sample, Source};

/// Decompressed bytes that are looked at to know a file's dialect.
const SAMPLE_BYTES: usize = 256 << 10;

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
        let (dialect, sample) = sample(source, SAMPLE_BYTES, context.options)?;
        collector.describe(|file| dialect.describe(file));
        let line = dialect.start_line(&sample.bytes).saturating_sub(1);
        counted::read(source.name(), line, &dialect, collector, |lines| {
            lines::read(source, lines, context, collector)
        })
    }

    fn estimate(&self, source: &Source, options: &ReadOptions) -> Result<Estimate, InputError> {
        estimate::estimate(source, options)
    }
}

/// The dialect of a source.
pub(crate) fn dialect_of(source: &Source, options: &ReadOptions) -> Result<Dialect, InputError> {
    sample(source, SAMPLE_BYTES, options).map(|(dialect, _)| dialect)
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
