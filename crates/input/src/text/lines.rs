//! The seam between formats of lines and their parallel reading.
//!
//! A format says how one line becomes rows; [`super::workers`] cuts a file into parts, or a
//! compressed stream into blocks, hands them to all threads, and finds the number of the first bad
//! line. A format with a fast path of its own replaces [`Lines::parse`].

use super::parse::{self, Fault};
use super::records::RecordEnd;
use super::rows::Rows;
use crate::collect::Collector;
use crate::error::InputError;

/// Form in which the lines of one file become rows.
pub(crate) trait Lines: Sync {
    /// Byte of the decompressed text at which these lines begin: after a header that was read
    /// already.
    fn start(&self) -> usize;

    /// The end of lines.
    fn cut(&self) -> RecordEnd {
        RecordEnd::Lines
    }

    /// No rows yet.
    fn rows(&self) -> Rows;

    /// Reads one line, which comes without its newline and may end with `\r`. `cut`: the file ends
    /// here without a newline. On error nothing was appended.
    fn line(&self, line: &[u8], cut: bool, rows: &mut Rows) -> Result<(), String>;

    /// Reads whole lines. Only the last line of a file may lack its newline.
    fn parse(&self, text: &[u8], rows: &mut Rows) -> Result<(), Fault> {
        parse::each(text, self.cut(), rows, &|line, cut, rows| self.line(line, cut, rows))
    }

    /// Takes the rows of a part. Parts come in any order; their numbers order them.
    fn keep(&self, number: u64, rows: Rows, collector: &Collector) -> Result<(), InputError> {
        collector.push(number, rows.into_part())
    }
}
