//! Whole lines in, rows out: plain lines by the fast path, all others one by one.

use super::dialect::Dialect;
use super::rows::Rows;

/// What is wrong with a text, and at which byte of it the line begins.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) offset: usize,
    pub(super) what: String,
}

/// Reads the lines of `text`, which begins at the beginning of a line. Only the last line of a file
/// may lack its newline.
pub(super) fn lines(text: &[u8], dialect: &Dialect, rows: &mut Rows) -> Result<(), Fault> {
    let read = quickly(text, dialect, rows);
    // The fast path does not compare ids; the careful one finds the line.
    if rows.exceed() { carefully(text, dialect, rows) } else { read }
}

fn quickly(text: &[u8], dialect: &Dialect, rows: &mut Rows) -> Result<(), Fault> {
    let mut at = 0;
    while at < text.len() {
        if let Some(plain) = dialect.plain {
            at = plain.run(text, at, rows);
        }
        if at < text.len() {
            at = one(text, at, dialect, rows)?;
        }
    }
    Ok(())
}

/// Reads all lines one by one. Means the same as [`lines`].
pub(super) fn carefully(text: &[u8], dialect: &Dialect, rows: &mut Rows) -> Result<(), Fault> {
    let mut at = 0;
    while at < text.len() {
        at = one(text, at, dialect, rows)?;
    }
    Ok(())
}

/// Reads the line at `at` and returns the beginning of the next.
fn one(text: &[u8], at: usize, dialect: &Dialect, rows: &mut Rows) -> Result<usize, Fault> {
    let newline = memchr::memchr(b'\n', &text[at..]);
    let end = newline.map_or(text.len(), |length| at + length);
    let read = dialect.line(&text[at..end], newline.is_none(), rows);
    read.map_err(|what| Fault { offset: at, what })?;
    Ok((end + 1).min(text.len()))
}

/// Lines that begin in `text` before its end, for counting up to a place.
pub(super) fn newlines(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}
