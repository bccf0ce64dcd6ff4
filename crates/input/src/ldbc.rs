//! LDBC Graphalytics: edges (`.e`) beside a list of vertices (`.v`).
//!
//! ```text
//! graph.v    1           a vertex; further columns are attributes
//! graph.e    1 2 0.5     an edge, and its weight if there is one
//! ```
//!
//! Of `graph.e` the list is `graph.v` in the same folder, compressed or not. Where it is there, all
//! of its vertices exist, and an edge that names another is an error. Where it is not, the file is
//! rows of text as any other. Which of the two directions an edge has, only the properties say
//! ([`properties`]).

pub mod benchmark;
pub mod outputs;
pub(crate) mod properties;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hashbrown::HashSet;

use crate::collect::{Collector, DeclaredVertices, Ids};
use crate::error::InputError;
use crate::format::Format;
use crate::options::{IdKind, ReadOptions};
use crate::reader::{Context, Estimate, Reader};
use crate::source::Source;
use crate::source::stored::Whereabouts;
use crate::text::allowed_ids::AllowedIds;
use crate::text::dialect::Dialect;
use crate::text::fields::is_no_row;
use crate::text::lines::Lines;
use crate::text::parse::Fault;
use crate::text::records::RecordEnd;
use crate::text::rows::Rows;
use crate::text::workers;
use crate::text::{self, TextReader};
use crate::words::words;

/// Endings of compressed files.
const COMPRESSED: &[&str] = &["gz", "zst", "zstd", "bz2", "xz", "lz4", "br"];

/// The reader of edges with their vertices beside them.
pub(crate) struct Ldbc;

impl Reader for Ldbc {
    fn id_kind(&self, source: &Source, context: &Context<'_>) -> Result<IdKind, InputError> {
        TextReader.id_kind(source, context)
    }

    fn read(
        &self,
        source: &Source,
        context: &Context<'_>,
        collector: &Collector,
    ) -> Result<(), InputError> {
        let vertices = beside(source.path())?.map(|path| open(&path)).transpose()?;
        edges(source, vertices.as_ref(), context, collector).map(|_| ())
    }

    fn estimate(&self, source: &Source, options: &ReadOptions) -> Result<Estimate, InputError> {
        TextReader.estimate(source, &headless(options))
    }
}

/// Counts of both files.
struct FileCounts {
    /// Distinct vertices of the list, if there is one.
    vertices: Option<u64>,
    edges: u64,
}

/// Reads vertices and edges.
fn edges(
    source: &Source,
    vertices: Option<&Source>,
    context: &Context<'_>,
    collector: &Collector,
) -> Result<FileCounts, InputError> {
    let options = headless(context.options);
    let mut dialect = text::dialect_of(source, &options)?;
    collector.describe(|file| dialect.describe(file));
    dialect.notes.iter().for_each(|note| collector.note(note));
    let mut listed = None;
    if let Some(vertices) = vertices {
        let (known, count) = list(vertices, context, collector)?;
        dialect.known = known;
        listed = Some(count);
    }
    let edges = Edges { dialect, count: AtomicU64::new(0) };
    workers::read(source, &edges, context, collector)?;
    Ok(FileCounts { vertices: listed, edges: edges.count.into_inner() })
}

/// The first row is an edge, unless the user says otherwise.
fn headless(options: &ReadOptions) -> ReadOptions {
    ReadOptions { header: Some(options.header.unwrap_or(false)), ..options.clone() }
}

/// The list of vertices that belongs to a file of edges, if it is there.
fn beside(edges: &Path) -> Result<Option<PathBuf>, InputError> {
    let plain = plain(edges);
    let is_list = plain.extension().is_some_and(|end| end == "e");
    if is_list { existing(&plain.with_extension("v")) } else { Ok(None) }
}

/// The name of a file without the ending that says how it is compressed.
pub fn plain(path: &Path) -> PathBuf {
    let compressed = |end| COMPRESSED.iter().any(|ending| end == *ending);
    if path.extension().is_some_and(compressed) {
        path.with_extension("")
    } else {
        path.to_path_buf()
    }
}

/// The file of this name as it lies there, compressed or not: `g.v`, else `g.v.gz` or `g.v.zst`.
///
/// # Errors
/// When a bucket does not say whether it is there.
pub fn existing(path: &Path) -> Result<Option<PathBuf>, InputError> {
    let compressed = COMPRESSED.iter().map(|ending| {
        let mut name = path.as_os_str().to_owned();
        name.push(".");
        name.push(ending);
        PathBuf::from(name)
    });
    for path in std::iter::once(path.to_path_buf()).chain(compressed) {
        match Whereabouts::of(&path) {
            Ok(Whereabouts::File(path)) if !path.is_file() => {}
            Ok(_) => return Ok(Some(path)),
            Err(InputError::Missing { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// Opens a file that another one leads to.
fn open(path: &Path) -> Result<Source, InputError> {
    Source::open(path, Some(Format::Ldbc))
}

/// Reads and states a list of vertices; what it allows, and how many there are.
fn list(
    source: &Source,
    context: &Context<'_>,
    collector: &Collector,
) -> Result<(AllowedIds, u64), InputError> {
    let vertices =
        Vertices { names: context.options.ids == IdKind::Names, found: Mutex::default() };
    workers::read(source, &vertices, context, collector)?;
    let mut ids = vertices.found.into_inner().unwrap_or_else(PoisonError::into_inner);
    if vertices.names {
        return Ok((AllowedIds::Any, 0));
    }
    ids.sort_unstable();
    ids.dedup();
    let count = ids.len() as u64;
    let known = match (ids.first(), ids.last()) {
        (Some(first), Some(last)) if last - first == count - 1 && *last < u64::MAX => {
            collector.state(DeclaredVertices::Range { first: *first, count })?;
            return Ok((AllowedIds::Range(*first..last + 1), count));
        }
        _ => AllowedIds::Listed(Arc::new(ids.iter().copied().collect::<HashSet<_, _>>())),
    };
    collector.state(DeclaredVertices::Integers(ids))?;
    Ok((known, count))
}

/// The lines of a list of vertices.
struct Vertices {
    names: bool,
    found: Mutex<Vec<u64>>,
}

impl Lines for Vertices {
    fn start(&self) -> usize {
        0
    }

    fn rows(&self) -> Rows {
        Rows::new(self.names, false, AllowedIds::Any)
    }

    fn line(&self, line: &[u8], _cut: bool, rows: &mut Rows) -> Result<(), String> {
        if is_no_row(line) {
            return Ok(());
        }
        rows.push_alone(words(line).next().unwrap_or_default())
    }

    fn keep(&self, _number: u64, rows: Rows, collector: &Collector) -> Result<(), InputError> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.extend_from_slice(&rows.alone);
        drop(found);
        match rows.into_part().ids {
            Ids::Names { names, .. } => collector.state(DeclaredVertices::Names(names)),
            Ids::Narrow { .. } | Ids::Wide { .. } => Ok(()),
        }
    }
}

/// The rows of a file of edges, counted.
struct Edges {
    dialect: Dialect,
    count: AtomicU64,
}

impl Lines for Edges {
    fn start(&self) -> usize {
        self.dialect.start()
    }

    fn cut(&self) -> RecordEnd {
        self.dialect.cut()
    }

    fn rows(&self) -> Rows {
        self.dialect.rows()
    }

    fn line(&self, line: &[u8], cut: bool, rows: &mut Rows) -> Result<(), String> {
        self.dialect.line(line, cut, rows)
    }

    fn parse(&self, text: &[u8], rows: &mut Rows) -> Result<(), Fault> {
        self.dialect.parse(text, rows)
    }

    fn keep(&self, number: u64, rows: Rows, collector: &Collector) -> Result<(), InputError> {
        self.count.fetch_add(rows.len() as u64, Ordering::Relaxed);
        collector.push(number, rows.into_part())
    }
}

/// Reads a list of vertices and edges that are no files.
pub(crate) fn read_for_fuzzing(
    vertices: &[u8],
    rows: &[u8],
    context: &Context<'_>,
    collector: &Collector,
) -> Result<(), InputError> {
    let vertices = Source::held("vertices", vertices, Format::Ldbc)?;
    let source = Source::held("edges", rows, Format::Ldbc)?;
    edges(&source, Some(&vertices), context, collector).map(|_| ())
}
