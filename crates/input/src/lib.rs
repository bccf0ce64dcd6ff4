//! Readers and generators of edge lists.
//!
//! [`read`] turns files, patterns and standard input into edges whose ends are *slots* and an
//! [`IdMap`] that leads back to the ids that came in. One format is one file of this crate behind
//! the trait [`reader::Reader`]; what they share is finding and opening inputs ([`source`]),
//! decompression ([`unpack`]), and gathering parts and mapping ids ([`collect`](mod@collect),
//! [`ids`]).
//!
//! ```text
//! names, patterns, -  ──► Source ──► Reader (one a format, parallel) ──► Collector ──► Input
//!                       what is it?  parts of pairs, in input order      ids to slots
//!                                    └──────── stream, nothing copied ───────────────►
//! ```
//!
//! Each file uses those below it alone, and none of them reaches back. From below: what a person
//! says and what is known of formats (`layout`, `format`, `tables`, `options`, [`beginnings`]);
//! parts and their places (`collect`, [`temp`], [`ids`]); sources under their layers ([`unpack`],
//! [`source`]); the seam ([`reader`]) and a file a format; the choice among these (`readers`); and
//! what puts several inputs together (`vertices`, `gathering`, `frame`), or takes them apart for
//! machines that read shares ([`read_shared`]) and hand each other bytes ([`Exchange`]).
//!
//! Parts that would take more than half of the memory that may be used go to temporary files
//! ([`temp`]), all of them, and are read from there by the reader of the edges. Memory while
//! reading: that limit at most, beside what each thread holds: 512 KiB of text or 2 MiB of an
//! unpacked stream (four such blocks a thread), a part, and a block of 32 Ki edges. A part of text
//! is at most 3/16 of the limit for all threads together, and 3 MiB a thread where that is more; of
//! other formats it is 32 MiB at most, and what a page or a record batch of the file takes. Sparse
//! ids and names stay in memory as a list in the end, as [`IdMap::bytes`] says, and need 9 bytes an
//! integer, or 8 and its text a name, of the limit; what is more is refused with the number.
//!
//! Invariants: the same input gives the same edges in the same order for any number of threads; of
//! several errors the first in input order is reported; no allocation follows a number that an
//! input merely states. Tested by `cuts_change_nothing`, `every_format_says_where` and
//! `stated_counts_take_no_memory`.
//!
//! # Example
//! A file of text, of which nothing is said. The summary tells what it was taken for, so that a
//! guess can be checked:
//!
//! ```
//! use welter_input::{ReadOptions, Separator, WeightChoice};
//! use welter_model::edges::EdgeStream;
//! use welter_model::ids::IdMap;
//! use welter_progress::Progress;
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("roads.csv");
//! std::fs::write(&path, "# by road\nfrom,to,km\nOslo,Bergen,463\nBergen,Stavanger,209\n")?;
//!
//! let options = ReadOptions { weight: WeightChoice::IfPresent, ..ReadOptions::default() };
//! let input = welter_input::read(&[&path], &options, &Progress::new())?;
//! let IdMap::Names(names) = &input.ids else { panic!("{:?}", input.ids) };
//! assert_eq!(names.iter().collect::<Vec<_>>(), ["Bergen", "Oslo", "Stavanger"]);
//! input.edges.read(0, &mut |batch| {
//!     assert_eq!(batch.pairs, [[1, 0], [0, 2]]);
//!     assert_eq!(batch.weights, Some(&[463.0, 209.0][..]));
//!     true
//! })?;
//!
//! let file = &input.summary.readings[0];
//! let rows = file.rows.ok_or("no rows of text")?;
//! assert_eq!((rows.separator, rows.header), (Separator::Comma, true));
//! assert_eq!((file.passed.comments, file.weight.as_ref().and_then(|w| w.number)), (1, Some(3)));
//! # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! ```

#![cfg_attr(
    not(all(feature = "columnar", feature = "webgraph", feature = "xml")),
    expect(dead_code, reason = "formats that are left out share parts with others")
)]

mod adjacency;
#[cfg(feature = "columnar")]
mod arrow;
pub mod attributes;
mod beginnings;
mod collect;
mod columnar;
mod columns;
mod dimacs;
mod direction;
mod documents;
mod dot;
mod error;
mod exchange;
mod foreign;
mod format;
mod frame;
#[cfg(all(feature = "columnar", feature = "webgraph", feature = "xml"))]
#[doc(hidden)]
pub mod fuzzing;
mod gathering;
pub mod generate;
#[cfg(feature = "xml")]
mod gexf;
mod gml;
mod graph6;
#[cfg(feature = "xml")]
mod graphml;
mod head;
mod ids;
mod json;
mod layout;
pub mod ldbc;
#[cfg(any(test, not(all(feature = "columnar", feature = "webgraph", feature = "xml"))))]
mod left_out;
mod matrix_market;
mod metis;
mod npy;
mod ntriples;
mod opening;
mod options;
mod pages;
mod pajek;
#[cfg(feature = "columnar")]
mod parquet;
mod raw;
pub mod reader;
mod readers;
mod reading;
mod sharing;
pub mod source;
mod tables;
mod temp;
mod text;
mod tgf;
mod tntp;
pub mod unpack;
mod vertices;
#[cfg(feature = "webgraph")]
mod webgraph;
mod words;

use std::ffi::OsStr;

use welter_model::edges::EdgeStream;
use welter_model::ids::IdMap;
use welter_progress::{Progress, Unit};

use crate::collect::agreed;
pub use crate::collect::{Collector, DeclaredVertices, EdgeRun, Ids, SLOTS_MAX};
pub use crate::error::InputError;
pub use crate::exchange::{Channels, Exchange, gather};
pub use crate::format::{Format, RawLayout, RawWeight};
pub use crate::frame::read_frame;
use crate::gathering::collected;
pub use crate::ids::Finished;
pub use crate::layout::{Comment, Escape, Quote, Separator};
use crate::opening::{check_path, check_rows, open, with_id_kind};
pub use crate::options::{IdKind, Limits, PageCache, ReadOptions, WeightBounds, WeightChoice};
pub use crate::reader::Estimate;
use crate::reader::{Context, Ready, pool};
pub use crate::reading::{FileColumn, FileSummary, PassedOver, RowsOfText};
pub use crate::sharing::{Role, SharedIds, SharedInput, read_alone, read_shared};
use crate::source::{Source, Watched, at_once};
pub use crate::tables::{ColumnRef, Frame, VertexTables};
use crate::vertices::Tables;

/// A graph's edges and the way back to its ids.
pub struct Input {
    /// Edges as pairs of slots, in input order.
    pub edges: Box<dyn EdgeStream>,
    /// Ids by slot.
    pub ids: IdMap,
    /// Summary of what was read.
    pub summary: InputSummary,
}

/// Summary of the files, and how they were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputSummary {
    /// Names of the files, patterns resolved.
    pub files: Vec<String>,
    /// Format of each file.
    pub formats: Vec<Format>,
    /// Readings of the files, one each.
    pub readings: Vec<FileSummary>,
    /// Bytes as stored; `None` where a pipe was among them.
    pub bytes: Option<u64>,
    /// Edges.
    pub edges: u64,
    /// Whether the edges have weights.
    pub weighted: bool,
    /// Whether each edge stands for both directions: what the user said, else what formats say.
    pub undirected: Option<bool>,
    /// Notes for a person about how files were read, a sentence each.
    pub notes: Vec<String>,
    /// Bytes that were written to temporary files, because memory did not hold them.
    pub scratch_bytes: u64,
}

/// Reads all inputs as one edge list, in their order. Each is a path, a directory, a pattern with
/// `*`, `?` or `[...]`, or `-` for standard input.
///
/// # Errors
/// See [`InputError`]; of several errors in the inputs, the first in input order.
pub fn read<S: AsRef<OsStr>>(
    inputs: &[S],
    options: &ReadOptions,
    progress: &Progress,
) -> Result<Input, InputError> {
    read_sources(&open(&source::names(inputs)?, options)?, options, progress)
}

fn read_sources(
    sources: &[Source],
    options: &ReadOptions,
    progress: &Progress,
) -> Result<Input, InputError> {
    let tables = options.vertex_tables.open()?;
    sources.iter().chain(tables.sources()).for_each(|source| source.stop_with(progress));
    let bytes = sources.iter().map(Source::bytes).sum::<Option<u64>>();
    let pool = pool(options.thread_count())?;
    let all = bytes.zip(tables.bytes()).map(|(edges, vertices)| edges + vertices);
    let phase = progress.phase("read", Unit::Bytes, all);
    let context = Context { options, progress, phase: &phase, pool: &pool };
    let (options, differ) = with_id_kind(sources, &tables, &context)?;
    let context = Context { options: &options, ..context };
    let witnesses = || sources.iter().filter_map(Source::witness).chain(tables.witnesses());
    let Ready { edges, ids, undirected, mut notes, readings, scratch_bytes } =
        match stream(sources, &tables, &context)? {
            Some(ready) => {
                let watched = Watched { edges: ready.edges, witnesses: witnesses().collect() };
                Ready { edges: Box::new(watched), ..ready }
            }
            None => collect(sources, &tables, &context)?,
        };
    witnesses().try_for_each(|witness| witness.check())?;
    notes.extend(differ);
    let summary = InputSummary {
        files: sources.iter().map(|source| source.name().to_owned()).collect(),
        formats: sources.iter().map(Source::format).collect(),
        readings: if readings.is_empty() {
            sources.iter().map(Source::summary).collect()
        } else {
            readings
        },
        bytes,
        edges: edges.edges(),
        weighted: edges.weighted(),
        undirected: options.undirected.or(undirected),
        notes,
        scratch_bytes,
    };
    Ok(Input { edges, ids, summary })
}

/// Says how much the inputs hold without reading them whole: exact where a format states it, else
/// from a sample of the beginning of each file. Nothing is taken from a pipe, so that it can still
/// be read; nothing is known of it either.
///
/// ```
/// use welter_input::ReadOptions;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("edges.mtx");
/// let text = "%%MatrixMarket matrix coordinate pattern general\n1000 1000 1\n17 42\n";
/// std::fs::write(&path, text)?;
/// let estimate = welter_input::estimate(&[&path], &ReadOptions::default())?;
/// assert_eq!((estimate.edges, estimate.slots, estimate.exact), (Some(1), Some(1000), true));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// See [`InputError`].
pub fn estimate<S: AsRef<OsStr>>(
    inputs: &[S],
    options: &ReadOptions,
) -> Result<Estimate, InputError> {
    let mut all = Estimate { bytes: Some(0), edges: Some(0), exact: true, ..Estimate::default() };
    let names = source::names(inputs)?;
    let mut directions = Vec::new();
    let mut unstated = false;
    let estimates = at_once::each(&names, |name| {
        if source::is_pipe(name) {
            return Ok(Estimate::default());
        }
        let source = Source::open(name, options.format)?;
        check_rows(&source, options)?;
        check_path(&source, options)?;
        readers::of(&source).estimate(&source, options)
    })?;
    for (name, one) in names.iter().zip(estimates) {
        all.bytes = all.bytes.zip(one.bytes).map(|(a, b)| a + b);
        all.edges = all.edges.zip(one.edges).map(|(a, b)| a.saturating_add(b));
        all.exact &= one.exact;
        all.slots = all.slots.max(one.slots);
        unstated |= one.slots.is_none();
        all.slots_seen = all.slots_seen.max(one.slots_seen);
        let shown = || name.display().to_string();
        directions.extend(one.undirected.map(|undirected| (shown(), undirected)));
        all.weighted |= one.weighted;
        if all.ids != IdKind::Names {
            all.ids = one.ids;
        }
    }
    unstated |= !options.vertex_tables.is_empty() || options.two_kinds == Some(true);
    all.slots = options.vertices.or(all.slots.filter(|_| !unstated));
    // Of more vertices only those with edges have slots, and how many these are is not known.
    all.slots = all.slots.filter(|vertices| *vertices <= SLOTS_MAX);
    all.undirected = match options.undirected {
        None => agreed(directions.iter().map(|(name, undirected)| (&name[..], *undirected)))?,
        stated => stated,
    };
    Ok(all)
}

/// All sources as one stream, where their format can do that and nothing is stated beside them.
fn stream(
    sources: &[Source],
    tables: &Tables<'_>,
    context: &Context<'_>,
) -> Result<Option<Ready>, InputError> {
    let first = &sources[0];
    let differ = sources.iter().any(|source| source.format() != first.format());
    if differ || !tables.is_empty() || context.options.two_kinds == Some(true) {
        return Ok(None);
    }
    readers::of(first).stream(sources, context)
}

fn collect(
    sources: &[Source],
    tables: &Tables<'_>,
    context: &Context<'_>,
) -> Result<Ready, InputError> {
    // The bytes that parts take of files are foreseen from those that were read, if all are of a
    // kind.
    let like = |one: &Source, other: &Source| {
        one.format() == other.format() && one.layers().eq(other.layers())
    };
    let alike = sources.iter().all(|source| like(source, &sources[0]));
    let ahead = if alike { context.progress.clone() } else { Progress::new() };
    collected(context, &ahead, tables, |collector| {
        for source in sources {
            collector.begin(source.name());
            collector.describe(|file| *file = source.summary());
            readers::of(source).read(source, context, collector)?;
            if context.options.source.is_none() || context.options.target.is_none() {
                collector.agree()?;
            }
        }
        Ok(())
    })
}
