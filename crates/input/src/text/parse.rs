//! Whole lines in, rows out: plain lines by the fast path, all others one by one.

use super::fast_path::Plain;
use super::records::RecordEnd;
use super::rows::Rows;

/// Fault in a text, and the byte of it at which the line begins.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) offset: usize,
    pub(crate) what: String,
}

/// Reads the lines of `text`, which begins at the beginning of a line. Only the last line of a file
/// may lack its newline. Plain lines take the fast path, if there is one, and all others `line`.
pub(crate) fn lines(
    text: &[u8],
    plain: Option<Plain>,
    rows: &mut Rows,
    line: Line<'_>,
) -> Result<(), Fault> {
    let before = rows.len();
    let read = quickly(text, plain, rows, line);
    // The fast path does not compare values; the careful one finds the line. Rows of earlier calls
    // are fine: they are many calls a part, and looking at all of them each time would be felt.
    if rows.amiss(before) { each(text, RecordEnd::Lines, rows, line) } else { read }
}

fn quickly(
    text: &[u8],
    plain: Option<Plain>,
    rows: &mut Rows,
    line: Line<'_>,
) -> Result<(), Fault> {
    let mut at = 0;
    while at < text.len() {
        if let Some(plain) = plain {
            at = plain.run(text, at, rows);
        }
        if at < text.len() {
            at = one(text, at, RecordEnd::Lines, rows, line)?;
        }
    }
    Ok(())
}

/// Reads a line without its newline; the flag says that the file ends here without one.
pub(crate) type Line<'a> = &'a dyn Fn(&[u8], bool, &mut Rows) -> Result<(), String>;

/// Reads all lines one by one.
pub(super) fn each(
    text: &[u8],
    cut: RecordEnd,
    rows: &mut Rows,
    line: Line<'_>,
) -> Result<(), Fault> {
    let mut at = 0;
    while at < text.len() {
        at = one(text, at, cut, rows, line)?;
    }
    Ok(())
}

/// Reads the line at `at` and returns the beginning of the next.
fn one(
    text: &[u8],
    at: usize,
    cut: RecordEnd,
    rows: &mut Rows,
    line: Line<'_>,
) -> Result<usize, Fault> {
    let newline = cut.end(text, at);
    let end = newline.unwrap_or(text.len());
    let read = line(&text[at..end], newline.is_none(), rows);
    read.map_err(|what| Fault { offset: at, what })?;
    Ok((end + 1).min(text.len()))
}

/// Lines that begin in `text` before its end, for counting up to a place.
pub(super) fn newlines(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}
