//! The beginning of a source of text, and the dialect that it is in.

use super::dialect::Dialect;
use super::records::RecordEnd;
use super::sniff;
use crate::error::InputError;
use crate::options::ReadOptions;
use crate::source::{Sample, Source};

/// Decompressed bytes that are looked at to know a file's dialect.
pub(super) const SAMPLE_BYTES: usize = 256 << 10;

/// The dialect of a source.
pub(crate) fn dialect_of(source: &Source, options: &ReadOptions) -> Result<Dialect, InputError> {
    sample(source, SAMPLE_BYTES, options).map(|(dialect, _)| dialect)
}

/// The beginning of a source and the dialect that it is in.
pub(super) fn sample(
    source: &Source,
    bytes_max: usize,
    options: &ReadOptions,
) -> Result<(Dialect, Sample), InputError> {
    let mut sample = source.sample(bytes_max, &options.limits)?;
    let cut = RecordEnd::of(&sample.bytes);
    cut.translate(&mut sample.bytes);
    let dialect = sniff::guess(source.name(), &sample.bytes, sample.whole, cut, options)?;
    Ok((dialect, sample))
}
