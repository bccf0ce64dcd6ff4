//! Beginnings of files, by which formats are known whatever the names of the files are.
//!
//! A format with magic bytes has a row here. Whether a file begins with them is told here as well,
//! or, where the words of the format are needed for it, beside these; no reader is.
//!
//! Invariant: what begins so is surely of the format, so that its name is not asked. Tested by
//! `magic_bytes_tell` and `rows_of_edges_are_not_refused`.

use hashbrown::HashSet;

use crate::dimacs::problem::begins as dimacs;
use crate::dot::tokens::begins as dot;
use crate::error::InputError;
use crate::foreign::{self, begins as starts};
use crate::format::Format;
use crate::gml::tokens::begins as gml;
use crate::matrix_market::banner::begins as matrix_market;
use crate::npy::header::begins as npy;
use crate::ntriples::statement::begins as ntriples;
use crate::text::fields::looks;
use crate::words::words;

/// Whether a file that begins with these bytes (decompressed, up to [`HEAD_BYTES`], after a byte
/// order mark and white space) is surely of a format, whatever its name is.
type Begins = fn(&[u8]) -> bool;

/// Bytes of a file that are looked at to know its format.
pub(crate) const HEAD_BYTES: usize = 4 << 10;

/// Beginnings of the formats that have magic bytes. The first one that fits is taken.
const BEGINNINGS: &[(Format, Begins)] = &[
    (Format::Parquet, |head| head.starts_with(b"PAR1")),
    (Format::Arrow, |head| head.starts_with(b"ARROW1")),
    (Format::MatrixMarket, matrix_market),
    (Format::Dimacs, dimacs),
    (Format::Tntp, tntp),
    (Format::Gml, gml),
    (Format::WebGraph, webgraph),
    (Format::GraphMl, |head| memchr::memmem::find(head, b"<graphml").is_some()),
    (Format::Gexf, gexf),
    (Format::Pajek, pajek),
    (Format::Dot, dot),
    (Format::Tgf, tgf),
    (Format::Json, json),
    (Format::NTriples, ntriples),
    (Format::Graph6, graph6),
    (Format::Npy, npy),
];

impl Format {
    /// The format whose magic bytes these are: the first of a file, decompressed.
    pub fn by_head(head: &[u8]) -> Option<Self> {
        let head = foreign::bare(head);
        BEGINNINGS.iter().find(|(_, begins)| begins(head)).map(|(format, _)| *format)
    }
}

/// The format of a file that begins so, else that of its name.
///
/// # Errors
/// When it begins as a file of a known format that is not read.
pub(crate) fn guess(
    file: &str,
    head: &[u8],
    named: Option<Format>,
) -> Result<Option<Format>, InputError> {
    let by_head = Format::by_head(head);
    // Records may begin with any bytes.
    if by_head.is_none() && !matches!(named, Some(Format::Raw(_) | Format::Graph500)) {
        foreign::check(file, head)?;
    }
    Ok(by_head.or(named))
}

/// Whether a file that begins so is surely TNTP.
pub(crate) fn tntp(head: &[u8]) -> bool {
    let first = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).find(|l| !l.is_empty());
    first.is_some_and(|line| {
        let line = line.to_ascii_uppercase();
        line.starts_with(b"<NUMBER OF ZONES>") || line.starts_with(b"<NUMBER OF NODES>")
    })
}

/// Whether a file begins like the properties of a graph of WebGraph.
fn webgraph(head: &[u8]) -> bool {
    let has = |word: &[u8]| memchr::memmem::find(head, word).is_some();
    has(b"graphclass") && has(b"BVGraph")
}

/// Whether a file that begins so is surely GEXF.
fn gexf(head: &[u8]) -> bool {
    memchr::memmem::find(head, b"<gexf").is_some() && head.starts_with(b"<")
}

/// Whether a file that begins so is surely Pajek: comments, then how many vertices there are.
pub(crate) fn pajek(head: &[u8]) -> bool {
    let mut lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with(b"%"));
    first.is_some_and(|line| starts(line, "*vertices") || starts(line, "*network"))
}

/// Whether a file that begins so is surely TGF: rows whose first words differ, a line of `#`
/// alone, and rows between those words. Rows before that line must not be edges themselves: some
/// have no second word, or one of another kind.
pub(crate) fn tgf(head: &[u8]) -> bool {
    let mut lines = head.split_inclusive(|byte| *byte == b'\n');
    let mut ids = HashSet::new();
    let mut labels = false;
    for line in lines.by_ref() {
        match words(line).next() {
            Some(b"#") if line.trim_ascii() == b"#" => break,
            Some(id) if !id.starts_with(b"#") && ids.insert(id) => {
                let label = words(line).nth(1);
                labels |= label.is_none_or(|label| looks(label) != looks(id));
            }
            _ => return false,
        }
    }
    // A row that the head cuts off says nothing.
    let mut edges = lines.filter(|line| line.ends_with(b"\n") && !line.trim_ascii().is_empty());
    let known = |word: Option<&[u8]>| word.is_some_and(|word| ids.contains(word));
    let mut found = 0;
    let all = edges.all(|line| {
        found += 1;
        let mut words = words(line);
        known(words.next()) && known(words.next())
    });
    labels && found > 0 && all
}

/// Whether a file that begins so is surely JSON: an object, or a list of objects or of lists.
pub(crate) fn json(head: &[u8]) -> bool {
    let Some((first, rest)) = head.split_first() else { return false };
    let next = rest.trim_ascii_start().first();
    match first {
        b'{' => matches!(next, Some(b'"' | b'}')),
        b'[' => matches!(next, Some(b'{' | b'[' | b']')),
        _ => false,
    }
}

/// Headers of graph6, sparse6 and digraph6.
pub(crate) const GRAPH6_HEADERS: &[&str] = &[">>graph6<<", ">>sparse6<<", ">>digraph6<<"];

/// Whether a file that begins so is surely of one of the three formats: a header.
pub(crate) fn graph6(head: &[u8]) -> bool {
    GRAPH6_HEADERS.iter().any(|header| starts(head, header))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn magic_bytes_tell() {
        assert_eq!(Format::by_head(b"PAR1..."), Some(Format::Parquet));
        assert_eq!(Format::by_head(b"%%matrixmarket matrix"), Some(Format::MatrixMarket));
        assert_eq!(
            Format::by_head(b"\xef\xbb\xbf\n%MatrixMarket matrix"),
            Some(Format::MatrixMarket)
        );
        assert_eq!(Format::by_head(b"1 2\n"), None);
    }

    #[test]
    fn a_foreign_beginning_wins_over_the_name_but_not_over_records() {
        let known = |head: &[u8], named| guess("f", head, named);
        assert_eq!(known(b"1 2\n", Some(Format::Metis)).unwrap(), Some(Format::Metis));
        assert_eq!(known(b"PAR1", Some(Format::Text)).unwrap(), Some(Format::Parquet));
        let records = Format::by_extension("u32");
        assert_eq!(known(b"SQLite format 3\0", records).unwrap(), records);
        let error = known(b"SQLite format 3\0", Some(Format::Text)).unwrap_err();
        assert!(error.to_string().contains("an SQLite database"), "{error}");
    }
}
