//! Edge lists: the edges of a stream with the ids that came in, in the order of the stream.
//!
//! One file of this module is one group of formats; what they share is [`Edges`].

mod adjacency;
#[cfg(feature = "columnar")]
mod columns;
mod format;
mod graphalytics;
mod id_view;
mod list;
mod numbered;
mod raw;
mod text;

use std::io::Write;
use std::path::Path;

use welter_model::edges::EdgeStream;
use welter_model::ids::IdMap;
use welter_progress::Progress;

use self::list::Edges;
#[cfg(feature = "columnar")]
use crate::columnar;
use crate::compression::{self, Compression};
use crate::error::OutputError;
use crate::ordered::Job;
#[cfg(feature = "columnar")]
use crate::parquet::write_parquet;
use crate::target::Target;
pub use format::{EdgeFormat, EdgeFormatOptions};

/// Writes edges to a file or an object, with `threads` threads (0: one a core).
///
/// # Errors
/// See [`OutputError`]. What was at `path` before is untouched then.
pub fn write_edges(
    stream: &dyn EdgeStream,
    ids: &IdMap,
    path: &Path,
    options: &EdgeFormatOptions,
    threads: usize,
    progress: &Progress,
) -> Result<(), OutputError> {
    let name = path.display().to_string();
    let (compression, format) = options.of(path)?;
    let edges = Edges::of(stream, ids, options, format, &name)?;
    check_fit(&edges, format, &name)?;
    if format == EdgeFormat::Graphalytics {
        let job = edges.job(&name, threads, progress);
        return graphalytics::write(&edges, path, options.requests, &job);
    }
    let mut target = Target::create(path, options.requests, progress)?;
    let job = edges.job(&name, threads, progress);
    let written = write(&edges, &mut target, format, compression, &job);
    target.end(written)
}

/// Writes edges to anything, such as standard output; `name` is what errors call it. The format is
/// text as SNAP has it where the options name none.
///
/// Ids that came in go out again:
///
/// ```
/// use welter_model::edges::EdgeList;
/// use welter_model::ids::IdMap;
/// use welter_output::{EdgeFormat, EdgeFormatOptions, write_edges_to};
/// use welter_progress::Progress;
///
/// let edges = EdgeList::from_pairs(vec![[0, 1], [1, 2]]);
/// let ids = IdMap::Sparse(vec![7, 70, 700]);
/// let options = EdgeFormatOptions { format: Some(EdgeFormat::Csv), ..Default::default() };
/// let mut bytes = Vec::new();
/// write_edges_to(&edges, &ids, &mut bytes, "edges", &options, 1, &Progress::new())?;
/// assert_eq!(String::from_utf8(bytes)?, "source,target\n7,70\n70,700\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// See [`OutputError`]. What was written before an error stays.
pub fn write_edges_to(
    stream: &dyn EdgeStream,
    ids: &IdMap,
    sink: &mut (dyn Write + Send),
    name: &str,
    options: &EdgeFormatOptions,
    threads: usize,
    progress: &Progress,
) -> Result<(), OutputError> {
    let format = options.format.unwrap_or(EdgeFormat::Snap);
    let compression = options.compression.unwrap_or_default();
    compression::check(compression, format.is_text(), format, Path::new(name))?;
    if format == EdgeFormat::Graphalytics {
        let what = "LDBC Graphalytics is three files; name the one that ends in .properties";
        return Err(OutputError::Format { name: name.to_owned(), what: what.to_owned() });
    }
    let edges = Edges::of(stream, ids, options, format, name)?;
    check_fit(&edges, format, name)?;
    write(&edges, sink, format, compression, &edges.job(name, threads, progress))
}

/// Refuses edges that do not fit the format, before a file is created.
fn check_fit(edges: &Edges<'_>, format: EdgeFormat, name: &str) -> Result<(), OutputError> {
    match format {
        EdgeFormat::Raw(layout) => raw::check(edges, layout, name),
        EdgeFormat::Graph500 => raw::check_packed(edges, name),
        EdgeFormat::Snap => text::check_snap(edges, name),
        EdgeFormat::MatrixMarket | EdgeFormat::Dimacs | EdgeFormat::Metis => {
            numbered::check(edges, name)
        }
        EdgeFormat::Adjacency => adjacency::check_lists(edges, name),
        EdgeFormat::Graphalytics => graphalytics::check(edges, name),
        EdgeFormat::Tsv | EdgeFormat::Csv | EdgeFormat::JsonLines => Ok(()),
        #[cfg(feature = "columnar")]
        EdgeFormat::Parquet | EdgeFormat::Arrow => Ok(()),
    }
}

fn write(
    edges: &Edges<'_>,
    sink: &mut (dyn Write + Send),
    format: EdgeFormat,
    compression: Compression,
    job: &Job<'_>,
) -> Result<(), OutputError> {
    match format {
        EdgeFormat::Snap | EdgeFormat::Tsv | EdgeFormat::Csv => {
            text::write(edges, sink, compression, format, job)
        }
        EdgeFormat::JsonLines => text::write_json(edges, sink, compression, job),
        EdgeFormat::Raw(layout) => raw::write(edges, sink, layout, job),
        EdgeFormat::Graph500 => raw::write_packed(edges, sink, job),
        #[cfg(feature = "columnar")]
        EdgeFormat::Parquet => write_parquet(&columns::Rows::new(edges, job), sink, job),
        #[cfg(feature = "columnar")]
        EdgeFormat::Arrow => columnar::write_arrow(&columns::Rows::new(edges, job), sink, job),
        EdgeFormat::MatrixMarket => numbered::write_matrix_market(edges, sink, compression, job),
        EdgeFormat::Dimacs => numbered::write_dimacs(edges, sink, compression, job),
        EdgeFormat::Metis => adjacency::write_metis(edges, sink, compression, job),
        EdgeFormat::Adjacency => adjacency::write_lists(edges, sink, compression, job),
        EdgeFormat::Graphalytics => {
            Err(OutputError::unfit(job.name, "LDBC Graphalytics is three files, not one"))
        }
    }
}

#[cfg(test)]
mod tests;
