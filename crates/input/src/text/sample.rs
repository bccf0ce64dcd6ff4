//! The sample of a text by which its dialect is guessed: the first rows of a file, as a layout has
//! them.

use super::comments::Comments;
use super::fields::{Fields, Row};
use super::records::RecordEnd;
use crate::layout::Layout;

/// Rows of a sample that are looked at.
pub(super) const ROWS_MAX: usize = 2000;
/// Bytes of a row beyond which a quote is taken for one that was never closed.
const RECORD_BYTES_MAX: usize = 64 << 10;

pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The beginning of a file, whose lines end with newlines.
pub(super) struct Sample<'a> {
    /// From the byte order mark on.
    pub(super) text: &'a [u8],
    /// Bytes before.
    pub(super) mark: usize,
    /// Whether that is all there is.
    pub(super) whole: bool,
    pub(super) comments: Comments,
}

/// The rows of a sample, as a layout has them.
pub(super) struct Records<'a> {
    pub(super) rows: Vec<Row<'a>>,
    /// Where each row begins and what is behind it, in bytes of the file.
    pub(super) spans: Vec<(usize, usize)>,
    pub(super) over_lines: bool,
    /// Rows with a field that cannot be read.
    pub(super) dirty: usize,
}

impl<'a> Sample<'a> {
    /// The rows without comments. The last line of a partial sample may be cut and is left out.
    pub(super) fn records(&self, layout: Layout) -> Records<'a> {
        let (mut rows, mut spans, mut over_lines, mut dirty) = (Vec::new(), Vec::new(), false, 0);
        let mut at = 0;
        while at < self.text.len() && rows.len() < ROWS_MAX {
            let (end, over) = match self.end(at, layout) {
                Some(found) => found,
                None if self.whole => (self.text.len(), false),
                None => break,
            };
            let line = &self.text[at..end];
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let start = at;
            at = (end + 1).min(self.text.len());
            if line.trim_ascii().is_empty() || self.comments.may_be(line) {
                continue;
            }
            let fields: Result<Row<'a>, _> = Fields::new(line, layout).collect();
            dirty += usize::from(fields.is_err());
            over_lines |= over;
            rows.push(
                fields
                    .unwrap_or_else(|_| Fields::new(line, layout).map_while(Result::ok).collect()),
            );
            spans.push((self.mark + start, self.mark + at));
        }
        Records { rows, spans, over_lines, dirty }
    }

    /// Where the row that begins at `at` ends, and whether it goes over lines.
    fn end(&self, at: usize, layout: Layout) -> Option<(usize, bool)> {
        let line = RecordEnd::Lines.end(self.text, at)?;
        let quoted = layout.quote.is_some_and(|quote| self.text[at..line].contains(&quote));
        if !quoted {
            return Some((line, false));
        }
        let reach = self.text.len().min(at + RECORD_BYTES_MAX);
        let record = RecordEnd::Records(layout).end(&self.text[..reach], at);
        Some(record.map_or((line, false), |end| (end, end > line)))
    }
}
