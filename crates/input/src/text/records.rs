//! Where rows end: at line ends, at carriage returns in old files, or at those line ends that stand
//! outside of quotes.
//!
//! Invariant: a field that goes over lines is read as such only where the beginning of the file has
//! one, or the user says what quotes are; elsewhere a quote that is open at the end of a line is an
//! error with its line. So files without such fields can be cut anywhere and read in parts. Tested
//! by `a_quoted_field_behind_the_ends_may_hold_lines` and `every_row_is_that_of_the_plain_parser`.

use crate::layout::{Layout, Separator};

/// End of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RecordEnd {
    /// Each newline.
    #[default]
    Lines,
    /// Each carriage return: there are no newlines.
    Returns,
    /// Each newline outside of quotes.
    Records(Layout),
}

impl RecordEnd {
    /// The end of the lines of a file that begins like this.
    pub(super) fn of(sample: &[u8]) -> Self {
        let returns = memchr::memchr(b'\n', sample).is_none()
            && memchr::memchr(b'\r', sample).is_some_and(|place| place + 1 < sample.len());
        if returns { Self::Returns } else { Self::Lines }
    }

    /// Makes newlines of what ends lines.
    pub(super) fn translate(self, text: &mut [u8]) {
        if self == Self::Returns {
            for byte in text.iter_mut().filter(|byte| **byte == b'\r') {
                *byte = b'\n';
            }
        }
    }

    /// Where the row that begins at `at` ends: its newline. `None` where that is not in the text.
    pub(super) fn end(self, text: &[u8], at: usize) -> Option<usize> {
        match self {
            Self::Records(layout) => record(text, at, layout),
            Self::Lines | Self::Returns => Some(at + memchr::memchr(b'\n', &text[at..])?),
        }
    }

    /// Bytes of a text, which begins with a row, that are whole rows.
    pub(super) fn whole(self, text: &[u8]) -> usize {
        let Self::Records(layout) = self else {
            return memchr::memrchr(b'\n', text).map_or(0, |last| last + 1);
        };
        let quote = layout.quote.unwrap_or(b'"');
        let mut whole = 0;
        loop {
            // Up to the next quote each newline ends a row.
            let quoted = memchr::memchr(quote, &text[whole..]).map_or(text.len(), |at| whole + at);
            let plain = memchr::memrchr(b'\n', &text[whole..quoted]);
            whole = plain.map_or(whole, |last| whole + last + 1);
            if quoted == text.len() {
                return whole;
            }
            match record(text, whole, layout) {
                Some(end) => whole = end + 1,
                None => return whole,
            }
        }
    }
}

/// A line without its end.
pub(super) fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The newline that ends the record that begins at `at`; takes time in proportion to its length.
fn record(text: &[u8], mut at: usize, layout: Layout) -> Option<usize> {
    let quote = layout.quote.unwrap_or(b'"');
    let padding =
        |byte: &u8| *byte == b' ' || (*byte == b'\t' && layout.separator != Separator::Tab);
    loop {
        at += text[at..].iter().take_while(|byte| padding(byte)).count();
        if text.get(at) == Some(&quote) {
            at = closing(text, at + 1, layout)?;
        }
        let (newline, separator) = (memchr::memchr(b'\n', &text[at..])?, layout.separator);
        let found = match separator {
            Separator::Spaces => memchr::memchr2(b' ', b'\t', &text[at..at + newline]),
            Separator::String(string) => {
                memchr::memmem::find(&text[at..at + newline], string.bytes())
            }
            _ => memchr::memchr(separator.byte().unwrap_or(b'\t'), &text[at..at + newline]),
        };
        match found {
            None => return Some(at + newline),
            Some(place) => {
                let length = match separator {
                    Separator::String(string) => string.bytes().len(),
                    _ => 1,
                };
                at += place + length;
            }
        }
    }
}

/// Behind the quote that closes the field whose text begins at `at`.
fn closing(text: &[u8], mut at: usize, layout: Layout) -> Option<usize> {
    let quote = layout.quote.unwrap_or(b'"');
    loop {
        let found = if layout.backslash {
            memchr::memchr2(quote, b'\\', &text[at..])
        } else {
            memchr::memchr(quote, &text[at..])
        };
        at += found?;
        let doubled = text.get(at + 1) == Some(&quote);
        if text[at] == quote && !doubled {
            return Some(at + 1);
        }
        at = (at + 2).min(text.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str, layout: Layout) -> Vec<&str> {
        let cut = RecordEnd::Records(layout);
        let (mut at, mut rows) = (0, Vec::new());
        while let Some(end) = cut.end(text.as_bytes(), at) {
            rows.push(&text[at..end]);
            at = end + 1;
        }
        assert_eq!(cut.whole(text.as_bytes()), at, "{text:?}");
        rows
    }

    #[test]
    fn records_end_at_newlines_outside_of_quotes() {
        let usual = Layout::usual(Separator::Comma);
        assert_eq!(rows("a,\"b\nc\"\nd,e\nf", usual), ["a,\"b\nc\"", "d,e"]);
        assert_eq!(rows("a,\"b\"\"\nc\",\"\n\"\n1,5\" disk\n2,\"x", usual).len(), 2);
        let backslash = Layout { backslash: true, ..usual };
        assert_eq!(rows("\"a\\\"\nb\",c\nd\n", backslash), ["\"a\\\"\nb\",c", "d"]);
        assert_eq!(rows("\"a\\", backslash).len(), 0);
        let string = Layout::usual("::".parse().unwrap());
        assert_eq!(rows("a::\"b\n::c\"\nd::e\n", string).len(), 2);
        let spaces = Layout::usual(Separator::Spaces);
        assert_eq!(rows("a  \"b\nc\" d\ne f\n", spaces).len(), 2);
    }

    #[test]
    fn carriage_returns_end_lines_where_there_are_no_newlines() {
        assert_eq!(RecordEnd::of(b"1,2\r3,4\r"), RecordEnd::Returns);
        assert_eq!(RecordEnd::of(b"1,2\r\n3,4\r\n"), RecordEnd::Lines);
        assert_eq!(
            (RecordEnd::of(b"1,2\r"), RecordEnd::of(b"1,2")),
            (RecordEnd::Lines, RecordEnd::Lines)
        );
        let mut text = *b"1\r2\r";
        RecordEnd::Returns.translate(&mut text);
        assert_eq!((&text, RecordEnd::Returns.whole(&text)), (b"1\n2\n", 4));
    }
}
