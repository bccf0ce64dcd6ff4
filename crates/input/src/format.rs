//! The formats by name, by extension, and by their first bytes.
//!
//! A new format is a variant of [`Format`], a row of the table [`FORMATS`], an arm of
//! [`crate::reader::of`], and a file of its own.

use std::fmt;
use std::str::FromStr;

use welter_model::records::RAW_LAYOUTS;
pub use welter_model::records::{RawLayout, RawWeight};

use crate::error::InputError;
use crate::foreign;

/// Format of a file, under its compression if it has any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Rows of text: SNAP, CSV, TSV and their relatives.
    Text,
    /// Apache Parquet.
    Parquet,
    /// Arrow IPC, file or stream.
    Arrow,
    /// Matrix Market coordinates.
    MatrixMarket,
    /// METIS: a line a vertex, with its neighbours.
    Metis,
    /// DIMACS: shortest paths (`.gr`) and colouring (`.col`).
    Dimacs,
    /// LDBC Graphalytics: edges, with a list of vertices beside them.
    Ldbc,
    /// LDBC Graphalytics: the properties that name both files.
    LdbcProperties,
    /// TNTP: links of transport networks.
    Tntp,
    /// Adjacency lists: a vertex and its neighbours a line.
    Adjacency,
    /// Little-endian records without a header.
    Raw(RawLayout),
    /// Packed edges of the Graph500 generator: records of two 48-bit ids.
    Graph500,
    /// GML, the Graph Modelling Language.
    Gml,
    /// GraphML.
    GraphMl,
    /// GEXF, the format of Gephi.
    Gexf,
    /// Pajek networks.
    Pajek,
    /// DOT, the language of Graphviz.
    Dot,
    /// TGF, the trivial graph format.
    Tgf,
    /// JSON: node-link, adjacency, JGF, Cytoscape, and rows.
    Json,
    /// N-Triples and N-Quads.
    NTriples,
    /// graph6, sparse6 and digraph6.
    Graph6,
    /// NumPy arrays of edges.
    Npy,
    /// A compressed graph of WebGraph, named by its properties.
    WebGraph,
}

/// Whether a file that begins with these bytes (decompressed, up to [`HEAD_BYTES`], after a byte
/// order mark and white space) is surely of a format, whatever its name is.
type Begins = fn(&[u8]) -> bool;

/// Bytes of a file that are looked at to know its format.
pub(crate) const HEAD_BYTES: usize = 4 << 10;

/// Names of each format, which are also its extensions, and how its files begin. The first name is
/// the one shown.
const FORMATS: &[(Format, &[&str], Begins)] = &[
    (Format::Text, &["text", "txt", "tsv", "csv", "el", "wel", "edges", "edgelist", "jlg"], never),
    (Format::Parquet, &["parquet", "pq"], |head| head.starts_with(b"PAR1")),
    (Format::Arrow, &["arrow", "arrows", "feather", "ipc"], |head| head.starts_with(b"ARROW1")),
    (Format::MatrixMarket, &["mtx", "mm", "mmio"], crate::matrix_market::begins),
    (Format::Metis, &["metis", "graph"], never),
    (Format::Dimacs, &["dimacs", "gr", "col"], crate::dimacs::begins),
    (Format::Ldbc, &["ldbc", "e"], never),
    (Format::LdbcProperties, &["properties"], never),
    (Format::Tntp, &["tntp"], crate::tntp::begins),
    (Format::Adjacency, &["adjacency", "adj", "adjlist"], never),
    (Format::Raw(RAW_LAYOUTS[0].0), &[RAW_LAYOUTS[0].1], never),
    (Format::Raw(RAW_LAYOUTS[1].0), &[RAW_LAYOUTS[1].1], never),
    (Format::Raw(RAW_LAYOUTS[2].0), &[RAW_LAYOUTS[2].1], never),
    (Format::Raw(RAW_LAYOUTS[3].0), &[RAW_LAYOUTS[3].1], never),
    (Format::Raw(RAW_LAYOUTS[4].0), &[RAW_LAYOUTS[4].1], never),
    (Format::Raw(RAW_LAYOUTS[5].0), &[RAW_LAYOUTS[5].1], never),
    (Format::Graph500, &["graph500"], never),
    (Format::Gml, &["gml"], crate::gml::begins),
    (Format::WebGraph, &["webgraph", "bvgraph"], crate::webgraph::begins),
    (Format::GraphMl, &["graphml"], |head| memchr::memmem::find(head, b"<graphml").is_some()),
    (Format::Gexf, &["gexf"], crate::gexf::begins),
    (Format::Pajek, &["pajek", "net"], crate::pajek::begins),
    (Format::Dot, &["dot", "gv"], crate::dot::begins),
    (Format::Tgf, &["tgf"], crate::tgf::begins),
    (Format::Json, &["json", "jsonl", "ndjson", "jgf", "cyjs"], crate::json::begins),
    (Format::NTriples, &["ntriples", "nt", "nq", "nquads"], crate::ntriples::begins),
    (Format::Graph6, &["graph6", "g6", "sparse6", "s6", "digraph6", "d6"], crate::graph6::begins),
    (Format::Npy, &["npy"], crate::npy::begins),
];

/// For formats that have no magic bytes.
fn never(_head: &[u8]) -> bool {
    false
}

impl Format {
    /// The format whose name or extension this is, in any case.
    pub fn by_extension(extension: &str) -> Option<Self> {
        let known = |names: &&[&str]| names.iter().any(|name| name.eq_ignore_ascii_case(extension));
        FORMATS.iter().find(|(_, names, _)| known(names)).map(|(format, ..)| *format)
    }

    /// The format whose magic bytes these are: the first of a file, decompressed.
    pub fn by_head(head: &[u8]) -> Option<Self> {
        let head = foreign::bare(head);
        FORMATS.iter().find(|(_, _, begins)| begins(head)).map(|(format, ..)| *format)
    }

    /// The format of a file that begins so, else the one that its name tells.
    ///
    /// # Errors
    /// When it begins as a file of a known format that is not read.
    pub(crate) fn guess(
        file: &str,
        head: &[u8],
        named: Option<Self>,
    ) -> Result<Option<Self>, InputError> {
        let told = Self::by_head(head);
        // Records may begin with any bytes.
        if told.is_none() && !matches!(named, Some(Self::Raw(_) | Self::Graph500)) {
            foreign::check(file, head)?;
        }
        Ok(told.or(named))
    }

    /// Whether files of it are text, which may be in other encodings than UTF-8.
    pub(crate) fn is_text(self) -> bool {
        !matches!(self, Self::Parquet | Self::Arrow | Self::Npy | Self::Raw(_) | Self::Graph500)
    }

    /// The name that is shown of each format.
    pub fn names() -> impl Iterator<Item = &'static str> {
        FORMATS.iter().map(|(_, names, _)| names[0])
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::by_extension(text).ok_or_else(|| {
            let names: Vec<_> = Self::names().collect();
            format!("expected one of {}, found \"{text}\"", names.join(", "))
        })
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = FORMATS.iter().find(|(format, ..)| format == self);
        f.write_str(known.map_or("raw", |(_, names, _)| names[0]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_known_by_name_and_shown_by_their_first() {
        for (format, names, _) in FORMATS {
            assert!(names.iter().all(|name| name.parse::<Format>() == Ok(*format)), "{names:?}");
            assert_eq!(format.to_string(), names[0]);
        }
        assert_eq!(Format::by_extension("CSV"), Some(Format::Text));
        assert!("bin".parse::<Format>().is_err());
    }

    #[test]
    fn a_name_means_one_format() {
        let mut names: Vec<_> = FORMATS.iter().flat_map(|(_, names, _)| *names).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

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
        let guess = |head: &[u8], named| Format::guess("f", head, named);
        assert_eq!(guess(b"1 2\n", Some(Format::Metis)).unwrap(), Some(Format::Metis));
        assert_eq!(guess(b"PAR1", Some(Format::Text)).unwrap(), Some(Format::Parquet));
        let records = Format::by_extension("u32");
        assert_eq!(guess(b"SQLite format 3\0", records).unwrap(), records);
        let error = guess(b"SQLite format 3\0", Some(Format::Text)).unwrap_err();
        assert!(error.to_string().contains("an SQLite database"), "{error}");
    }
}
