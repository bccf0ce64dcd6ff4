//! Reading of a text in memory, for tests, fuzzing and benchmarks.

use super::dialect::Dialect;
use super::{SAMPLE_BYTES, file, parse};
use crate::collect::Part;
use crate::error::InputError;
use crate::options::ReadOptions;

/// Reads a whole text: the same as a file that holds it, but `carefully` without the fast path.
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
pub(crate) fn parse_rounds(text: &[u8], rounds: usize, options: &ReadOptions) -> usize {
    let Ok(dialect) = Dialect::guess("text", text, true, options) else { return 0 };
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
