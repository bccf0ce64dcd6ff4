//! Reading of a text in memory, for tests, fuzzing and benchmarks.

use super::lines::Lines;
use super::records::RecordEnd;
use super::rows::Rows;
use super::{SAMPLE_BYTES, file, parse, sniff};
use crate::collect::{EdgeRun, Ids};
use crate::error::InputError;
use crate::options::ReadOptions;

/// Reads a whole text: the same as a file that holds it, but `carefully` without the fast path.
pub(crate) fn parse(
    text: &[u8],
    options: &ReadOptions,
    carefully: bool,
) -> Result<EdgeRun, InputError> {
    let file = "text";
    let sample = &text[..text.len().min(SAMPLE_BYTES)];
    let cut = RecordEnd::of(sample);
    let mut text = text.to_vec();
    cut.translate(&mut text);
    let text = &text[..];
    let sample = &text[..sample.len()];
    let dialect = sniff::guess(file, sample, sample.len() == text.len(), cut, options)?;
    let rows_text = &text[dialect.start..];
    let mut rows = dialect.rows().with_bounds(options.bounds());
    let read = if carefully {
        let line = |line: &[u8], cut: bool, rows: &mut Rows| dialect.line(line, cut, rows);
        parse::each(rows_text, dialect.cut, &mut rows, &line)
    } else {
        rows.reserve(file::expected_rows(rows_text, rows_text.len() as u64));
        dialect.parse(rows_text, &mut rows)
    };
    match read {
        Ok(()) => {
            let part = rows.into_part();
            let counted = dialect.counted;
            if counted.holds(part.ids.len() as u64, part.ids.max()) {
                return Ok(part);
            }
            let line = dialect.start_line(text) - 1;
            match counted.edge(&dialect.known, part.weights.is_some()) {
                Ok(Some(first)) => Ok(after(first, part)),
                Ok(None) => Ok(part),
                Err(what) => Err(InputError::Line { file: file.to_owned(), line, what }),
            }
        }
        Err(parse::Fault { offset, what }) => {
            let line = parse::newlines(&text[..dialect.start + offset]) + 1;
            Err(InputError::Line { file: file.to_owned(), line, what })
        }
    }
}

/// The edges of one part, then those of another.
fn after(first: EdgeRun, rest: EdgeRun) -> EdgeRun {
    let wide = |ids: Ids| match ids {
        Ids::Narrow { pairs, .. } => pairs.into_iter().map(|pair| pair.map(u64::from)).collect(),
        Ids::Wide { pairs, .. } => pairs,
        Ids::Names { .. } => Vec::new(),
    };
    let mut pairs = wide(first.ids);
    pairs.extend(wide(rest.ids));
    let weights = first.weights.zip(rest.weights).map(|(a, b)| [a, b].concat());
    EdgeRun { ids: Ids::integers(pairs), weights }
}

/// Reads a text many times, each time into the memory that the time before gave back, so that only
/// parsing is measured.
pub(crate) fn parse_rounds(text: &[u8], rounds: usize, options: &ReadOptions) -> usize {
    let sample = &text[..text.len().min(SAMPLE_BYTES)];
    let whole = sample.len() == text.len();
    let Ok(dialect) = sniff::guess("text", sample, whole, RecordEnd::Lines, options) else {
        return 0;
    };
    let text = &text[dialect.start..];
    let mut edges = 0;
    for _ in 0..rounds {
        let mut rows = dialect.rows();
        rows.reserve(file::expected_rows(text, text.len() as u64));
        if dialect.parse(text, &mut rows).is_ok() {
            edges += rows.into_part().ids.len();
        }
    }
    edges
}
