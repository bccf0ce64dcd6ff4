//! The formats of edge lists by name, and how one is chosen.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use welter_model::records::{RAW_LAYOUTS, RawLayout};
use welter_objects::WriteRequests;

use crate::compression::{self, Compression};
use crate::error::OutputError;
use crate::names;

/// Format of an edge list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EdgeFormat {
    /// Text as SNAP has it: ids separated by a tab, comments in front.
    Snap,
    /// Tab-separated text with a header.
    Tsv,
    /// Comma-separated text with a header.
    Csv,
    /// A JSON object a line: `{"source":1,"target":2}`, and `"weight"` where there are weights.
    JsonLines,
    /// Little-endian records without a header: source, target, and the weight if there is one.
    Raw(RawLayout),
    /// Apache Parquet.
    #[cfg(feature = "columnar")]
    Parquet,
    /// An Arrow IPC file.
    #[cfg(feature = "columnar")]
    Arrow,
    /// Packed edges as Graph500 has them: two 48-bit ids, no weight.
    Graph500,
    /// Matrix Market: a coordinate matrix. Vertices are numbered from 1.
    MatrixMarket,
    /// DIMACS shortest paths (`.gr`): arcs with weights. Vertices are numbered from 1.
    Dimacs,
    /// METIS: the neighbours of each vertex. Undirected graphs only; vertices are numbered from 1.
    Metis,
    /// Adjacency lists: a vertex a line, and the vertices that its edges go to.
    Adjacency,
    /// LDBC Graphalytics: `.v`, `.e` and `.properties` beside each other.
    Graphalytics,
}

/// Name of each format, which is also its extension. The first name of a format is the one shown.
pub(super) const FORMATS: &[(&str, EdgeFormat)] = &[
    ("snap", EdgeFormat::Snap),
    ("txt", EdgeFormat::Snap),
    ("el", EdgeFormat::Snap),
    ("wel", EdgeFormat::Snap),
    ("edges", EdgeFormat::Snap),
    ("edgelist", EdgeFormat::Snap),
    ("tsv", EdgeFormat::Tsv),
    ("csv", EdgeFormat::Csv),
    ("jsonl", EdgeFormat::JsonLines),
    ("ndjson", EdgeFormat::JsonLines),
    #[cfg(feature = "columnar")]
    ("parquet", EdgeFormat::Parquet),
    #[cfg(feature = "columnar")]
    ("pq", EdgeFormat::Parquet),
    #[cfg(feature = "columnar")]
    ("arrow", EdgeFormat::Arrow),
    #[cfg(feature = "columnar")]
    ("feather", EdgeFormat::Arrow),
    #[cfg(feature = "columnar")]
    ("ipc", EdgeFormat::Arrow),
    (RAW_LAYOUTS[0].1, EdgeFormat::Raw(RAW_LAYOUTS[0].0)),
    (RAW_LAYOUTS[1].1, EdgeFormat::Raw(RAW_LAYOUTS[1].0)),
    (RAW_LAYOUTS[2].1, EdgeFormat::Raw(RAW_LAYOUTS[2].0)),
    (RAW_LAYOUTS[3].1, EdgeFormat::Raw(RAW_LAYOUTS[3].0)),
    (RAW_LAYOUTS[4].1, EdgeFormat::Raw(RAW_LAYOUTS[4].0)),
    (RAW_LAYOUTS[5].1, EdgeFormat::Raw(RAW_LAYOUTS[5].0)),
    ("graph500", EdgeFormat::Graph500),
    ("mtx", EdgeFormat::MatrixMarket),
    ("dimacs", EdgeFormat::Dimacs),
    ("gr", EdgeFormat::Dimacs),
    ("metis", EdgeFormat::Metis),
    ("graph", EdgeFormat::Metis),
    ("adjacency", EdgeFormat::Adjacency),
    ("adj", EdgeFormat::Adjacency),
    ("adjlist", EdgeFormat::Adjacency),
    ("ldbc", EdgeFormat::Graphalytics),
    ("properties", EdgeFormat::Graphalytics),
];

impl FromStr for EdgeFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        names::find(FORMATS, text)
    }
}

impl fmt::Display for EdgeFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(names::name(FORMATS, self))
    }
}

/// Format in which an edge list is written. The default takes everything from the file's name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EdgeFormatOptions {
    /// Format; `None` takes it from the extension.
    pub format: Option<EdgeFormat>,
    /// Compression of text; `None` takes it from the extension.
    pub compression: Option<Compression>,
    /// Whether weights are left out where the edges have any.
    pub drop_weights: bool,
    /// Whether each edge stands for both directions. What cannot say so is written as it is.
    pub undirected: bool,
    /// Bytes of memory that sorting may take, where a format wants edges by vertex; `None` sets no
    /// limit.
    pub memory_bytes_max: Option<u64>,
    /// Requests by which each file is sent, where it is an object.
    pub requests: WriteRequests,
}

impl EdgeFormatOptions {
    /// Format and compression of a file called `path`.
    ///
    /// # Errors
    /// [`OutputError::Format`] when neither options nor name tell, or they do not go together.
    pub fn of(&self, path: &Path) -> Result<(Compression, EdgeFormat), OutputError> {
        let (compression, format) = compression::resolve(path, self.format)?;
        let compression = self.compression.unwrap_or(compression);
        compression::check(compression, format.is_text(), format, path)?;
        Ok((compression, format))
    }

    /// The files that are written for one called `path`: itself, last, and those beside it.
    ///
    /// # Errors
    /// As [`EdgeFormatOptions::of`].
    pub fn files(&self, path: &Path) -> Result<Vec<PathBuf>, OutputError> {
        let (_, format) = self.of(path)?;
        let beside: &[&str] = if format == EdgeFormat::Graphalytics { &["v", "e"] } else { &[] };
        let mut files: Vec<_> =
            beside.iter().map(|extension| path.with_extension(extension)).collect();
        files.push(path.to_owned());
        Ok(files)
    }
}

impl EdgeFormat {
    /// Whether a file of this format says that its edges stand for both directions, or lists both.
    pub fn tells_direction(self) -> bool {
        matches!(
            self,
            Self::MatrixMarket | Self::Dimacs | Self::Metis | Self::Adjacency | Self::Graphalytics
        )
    }

    /// Whether a file of this format lists or counts all vertices.
    pub(super) fn counts_vertices(self) -> bool {
        self.tells_direction()
    }

    /// Whether its rows have two columns of ids that may be of two kinds.
    pub(super) fn has_two_columns(self) -> bool {
        matches!(self, Self::Snap | Self::Tsv | Self::Csv) || self.is_columnar()
    }

    /// Whether it is text, which may be compressed.
    pub(super) fn is_text(self) -> bool {
        let binary = matches!(self, Self::Raw(_) | Self::Graph500 | Self::Graphalytics);
        !(binary || self.is_columnar())
    }

    /// Whether it is Parquet or Arrow, which a build may leave out.
    fn is_columnar(self) -> bool {
        match self {
            #[cfg(feature = "columnar")]
            Self::Parquet | Self::Arrow => true,
            _ => false,
        }
    }
}
