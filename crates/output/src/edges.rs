//! Edge lists: the edges of a stream with the ids that came in, in the order of the stream.
//!
//! One file of this module is one group of formats; what they share is [`Edges`].

mod adjacency;
mod columns;
mod format;
mod graphalytics;
mod numbered;
mod raw;
mod text;

use std::io::Write;
use std::path::Path;

use welter_model::edges::{Batch, EdgeStream};
use welter_model::ids::{IdMap, Names};
use welter_model::table::Id;
use welter_model::two_kinds::TwoKinds;
use welter_progress::{Progress, Unit};

use crate::columnar;
use crate::compression::{self, Compression};
use crate::error::OutputError;
use crate::ordered::{Job, check};
use crate::target::Target;
use crate::thread_count;
pub use format::{EdgeFormat, EdgeFormatOptions};

/// Writes edges to a file, with `threads` threads (0: one a core).
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
    if format == EdgeFormat::Graphalytics {
        return graphalytics::write(&edges, path, &edges.job(&name, threads, progress));
    }
    let mut target = Target::create(path)?;
    edges.write(&mut target, format, compression, &edges.job(&name, threads, progress))?;
    target.commit()
}

/// Writes edges to anything, such as standard output; `name` is what errors call it. The format is
/// text as SNAP has it where the options name none.
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
    edges.write(sink, format, compression, &edges.job(name, threads, progress))
}

/// Edges that are known to fit the format.
struct Edges<'a> {
    stream: &'a dyn EdgeStream,
    ids: IdView<'a>,
    /// Whether the weights of the stream are written.
    weighted: bool,
    /// Whether every slot is a vertex.
    all_present: bool,
    /// Whether each edge stands for both directions.
    undirected: bool,
    memory_bytes_max: Option<u64>,
}

/// Ids as they are written for slots.
#[derive(Clone, Copy)]
enum IdView<'a> {
    /// The slot.
    Slots,
    /// The slot plus `first`; none is larger than `last`.
    Offset { first: u64, last: u64 },
    /// An integer.
    Integers(&'a [u64]),
    /// A string.
    Names(&'a Names),
    /// An id of one of two kinds of vertices.
    TwoKinds(&'a TwoKinds),
}

impl IdView<'_> {
    /// The largest id, if it does not fit into 32 bits.
    fn beyond_u32(&self) -> Option<u64> {
        let last = match self {
            Self::Offset { last, .. } | Self::Integers([.., last]) => *last,
            // Those of each kind ascend, and it is not worth a look which are larger.
            Self::TwoKinds(_) => u64::MAX,
            _ => 0,
        };
        (last > u32::MAX.into()).then_some(last)
    }

    /// Appends the id of a slot as one field of a row with this separator.
    fn append(&self, text: &mut Vec<u8>, slot: u32, separator: u8) {
        match self {
            Self::Names(names) => crate::text::name(text, names.get(slot as usize), separator),
            Self::TwoKinds(ids) => match ids.get(slot as usize) {
                Id::Name(name) => crate::text::name(text, name, separator),
                id => crate::text::integer(text, id.integer().unwrap_or_default()),
            },
            _ => crate::text::integer(text, self.integer(slot)),
        }
    }

    /// Appends the id of a slot as a value of JSON.
    fn append_json(&self, text: &mut Vec<u8>, slot: u32) {
        match self {
            Self::Names(names) => crate::json::string(text, names.get(slot as usize)),
            _ => crate::text::integer(text, self.integer(slot)),
        }
    }

    /// The integer id of a slot.
    fn integer(&self, slot: u32) -> u64 {
        match self {
            Self::Offset { first, .. } => first + u64::from(slot),
            Self::Integers(ids) => ids[slot as usize],
            Self::TwoKinds(ids) => ids.get(slot as usize).integer().unwrap_or_default(),
            Self::Slots | Self::Names(_) => slot.into(),
        }
    }
}

impl<'a> Edges<'a> {
    /// Refuses, before a file is created, what does not fit.
    fn of(
        stream: &'a dyn EdgeStream,
        ids: &'a IdMap,
        options: &EdgeFormatOptions,
        format: EdgeFormat,
        name: &str,
    ) -> Result<Self, OutputError> {
        let all_present = ids.all_present();
        let ids = match ids {
            IdMap::Same | IdMap::Declared => IdView::Slots,
            IdMap::Offset(first) => {
                let slots = stream.slots().unwrap_or(u32::MAX.into());
                IdView::Offset { first: *first, last: first + slots.saturating_sub(1) }
            }
            IdMap::Sparse(ids) => IdView::Integers(ids),
            IdMap::Names(names) => IdView::Names(names),
            IdMap::TwoKinds(_) if !format.has_two_columns() => {
                let what = "two kinds of vertices have two columns of ids; write CSV, TSV, \
                            Parquet or Arrow";
                return Err(OutputError::unfit(name, what));
            }
            IdMap::TwoKinds(ids) => IdView::TwoKinds(ids),
            IdMap::NonCompact(ids) => {
                if format.counts_vertices() {
                    let what = format!(
                        "{} vertices are more than a file of this format can be written with; \
                         write rows, Parquet, Arrow or raw pairs",
                        ids.vertices()
                    );
                    return Err(OutputError::unfit(name, what));
                }
                IdView::Integers(ids.named())
            }
        };
        let edges = Self {
            stream,
            ids,
            weighted: stream.weighted() && !options.drop_weights,
            all_present,
            undirected: options.undirected,
            memory_bytes_max: options.memory_bytes_max,
        };
        match format {
            EdgeFormat::Raw(layout) => raw::check(&edges, layout, name)?,
            EdgeFormat::Graph500 => raw::check_packed(&edges, name)?,
            EdgeFormat::Snap => text::check_snap(&edges, name)?,
            EdgeFormat::MatrixMarket | EdgeFormat::Dimacs | EdgeFormat::Metis => {
                numbered::check(&edges, name)?;
            }
            EdgeFormat::Adjacency => adjacency::check_lists(&edges, name)?,
            EdgeFormat::Graphalytics => graphalytics::check(&edges, name)?,
            EdgeFormat::Tsv
            | EdgeFormat::Csv
            | EdgeFormat::JsonLines
            | EdgeFormat::Parquet
            | EdgeFormat::Arrow => {}
        }
        Ok(edges)
    }

    fn job<'j>(&self, name: &'j str, threads: usize, progress: &'j Progress) -> Job<'j> {
        let phase = progress.phase("write", Unit::Edges, Some(self.stream.edges()));
        Job { name, threads: thread_count(threads), progress, phase }
    }

    fn write(
        &self,
        sink: &mut (dyn Write + Send),
        format: EdgeFormat,
        compression: Compression,
        job: &Job<'_>,
    ) -> Result<(), OutputError> {
        match format {
            EdgeFormat::Snap | EdgeFormat::Tsv | EdgeFormat::Csv => {
                text::write(self, sink, compression, format, job)
            }
            EdgeFormat::JsonLines => text::write_json(self, sink, compression, job),
            EdgeFormat::Raw(layout) => raw::write(self, sink, layout, job),
            EdgeFormat::Graph500 => raw::write_packed(self, sink, job),
            EdgeFormat::Parquet => {
                columnar::write_parquet(&columns::Rows::new(self, job), sink, job)
            }
            EdgeFormat::Arrow => columnar::write_arrow(&columns::Rows::new(self, job), sink, job),
            EdgeFormat::MatrixMarket => numbered::write_matrix_market(self, sink, compression, job),
            EdgeFormat::Dimacs => numbered::write_dimacs(self, sink, compression, job),
            EdgeFormat::Metis => adjacency::write_metis(self, sink, compression, job),
            EdgeFormat::Adjacency => adjacency::write_lists(self, sink, compression, job),
            EdgeFormat::Graphalytics => {
                Err(OutputError::unfit(job.name, "LDBC Graphalytics is three files, not one"))
            }
        }
    }

    /// Number of slots; looks at all edges where nobody knows it.
    fn slots(&self, job: &Job<'_>) -> Result<u64, OutputError> {
        match self.ids {
            IdView::Integers(ids) => return Ok(ids.len() as u64),
            IdView::Names(names) => return Ok(names.len() as u64),
            IdView::TwoKinds(ids) => return Ok(ids.len() as u64),
            IdView::Slots | IdView::Offset { .. } => {}
        }
        if let Some(slots) = self.stream.slots() {
            return Ok(slots);
        }
        let mut slots = 0;
        self.visit_all(job, |batch| {
            let last = batch.pairs.as_flattened().iter().max();
            slots = slots.max(last.map_or(0, |last| u64::from(*last) + 1));
            Ok(())
        })?;
        Ok(slots)
    }

    /// Visits the batches of all parts in order.
    fn visit_all(
        &self,
        job: &Job<'_>,
        mut each: impl FnMut(Batch<'_>) -> Result<(), OutputError>,
    ) -> Result<(), OutputError> {
        (0..self.stream.parts() as u64).try_for_each(|part| self.visit(part, job, &mut each))
    }

    /// Visits the batches of a part until one of them fails.
    fn visit(
        &self,
        part: u64,
        job: &Job<'_>,
        mut each: impl FnMut(Batch<'_>) -> Result<(), OutputError>,
    ) -> Result<(), OutputError> {
        let mut result = Ok(());
        let read = self.stream.read(part as usize, &mut |mut batch| {
            if !self.weighted {
                batch.weights = None;
            }
            result = check(job).and_then(|()| each(batch));
            result.is_ok()
        });
        result.and(read.map_err(OutputError::Input))
    }
}

#[cfg(test)]
mod tests;
