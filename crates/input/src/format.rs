//! The formats by name and by extension.
//!
//! A new format is a variant of [`Format`], a row of the table [`FORMATS`], one of
//! [`BEGINNINGS`](crate::beginnings) if it has magic bytes, an arm of [`crate::readers::of`], and a
//! file of its own.

use std::fmt;
use std::str::FromStr;

use welter_model::records::RAW_LAYOUTS;
pub use welter_model::records::{RawLayout, RawWeight};

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

/// Names of each format, which are also its extensions. The first name is the one shown.
const FORMATS: &[(Format, &[&str])] = &[
    (Format::Text, &["text", "txt", "tsv", "csv", "el", "wel", "edges", "edgelist", "jlg"]),
    (Format::Parquet, &["parquet", "pq"]),
    (Format::Arrow, &["arrow", "arrows", "feather", "ipc"]),
    (Format::MatrixMarket, &["mtx", "mm", "mmio"]),
    (Format::Metis, &["metis", "graph"]),
    (Format::Dimacs, &["dimacs", "gr", "col"]),
    (Format::Ldbc, &["ldbc", "e"]),
    (Format::LdbcProperties, &["properties"]),
    (Format::Tntp, &["tntp"]),
    (Format::Adjacency, &["adjacency", "adj", "adjlist"]),
    (Format::Raw(RAW_LAYOUTS[0].0), &[RAW_LAYOUTS[0].1]),
    (Format::Raw(RAW_LAYOUTS[1].0), &[RAW_LAYOUTS[1].1]),
    (Format::Raw(RAW_LAYOUTS[2].0), &[RAW_LAYOUTS[2].1]),
    (Format::Raw(RAW_LAYOUTS[3].0), &[RAW_LAYOUTS[3].1]),
    (Format::Raw(RAW_LAYOUTS[4].0), &[RAW_LAYOUTS[4].1]),
    (Format::Raw(RAW_LAYOUTS[5].0), &[RAW_LAYOUTS[5].1]),
    (Format::Graph500, &["graph500"]),
    (Format::Gml, &["gml"]),
    (Format::WebGraph, &["webgraph", "bvgraph"]),
    (Format::GraphMl, &["graphml"]),
    (Format::Gexf, &["gexf"]),
    (Format::Pajek, &["pajek", "net"]),
    (Format::Dot, &["dot", "gv"]),
    (Format::Tgf, &["tgf"]),
    (Format::Json, &["json", "jsonl", "ndjson", "jgf", "cyjs"]),
    (Format::NTriples, &["ntriples", "nt", "nq", "nquads"]),
    (Format::Graph6, &["graph6", "g6", "sparse6", "s6", "digraph6", "d6"]),
    (Format::Npy, &["npy"]),
];

impl Format {
    /// The format whose name or extension this is, in any case.
    pub fn by_extension(extension: &str) -> Option<Self> {
        let known = |names: &&[&str]| names.iter().any(|name| name.eq_ignore_ascii_case(extension));
        FORMATS.iter().find(|(_, names)| known(names)).map(|(format, _)| *format)
    }

    /// Whether files of it are text, which may be in other encodings than UTF-8.
    pub(crate) fn is_text(self) -> bool {
        !matches!(self, Self::Parquet | Self::Arrow | Self::Npy | Self::Raw(_) | Self::Graph500)
    }

    /// The name that is shown of each format.
    pub fn names() -> impl Iterator<Item = &'static str> {
        FORMATS.iter().map(|(_, names)| names[0])
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
        let known = FORMATS.iter().find(|(format, _)| format == self);
        f.write_str(known.map_or("raw", |(_, names)| names[0]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_known_by_name_and_shown_by_their_first() {
        for (format, names) in FORMATS {
            assert!(names.iter().all(|name| name.parse::<Format>() == Ok(*format)), "{names:?}");
            assert_eq!(format.to_string(), names[0]);
        }
        assert_eq!(Format::by_extension("CSV"), Some(Format::Text));
        assert!("bin".parse::<Format>().is_err());
    }

    #[test]
    fn a_name_means_one_format() {
        let mut names: Vec<_> = FORMATS.iter().flat_map(|(_, names)| *names).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
