//! Edge lists: the edges of a stream with the ids that came in, in the order of the stream.
//!
//! One file of this module is one group of formats; what they share is [`Edges`].

mod columns;
mod raw;
mod text;

use std::fmt;
use std::io::Write;
use std::path::Path;
use std::str::FromStr;

use welter_model::edges::{Batch, EdgeStream};
use welter_model::ids::{IdMap, Names};
use welter_progress::{Progress, Unit};

use crate::columnar;
use crate::compression::{self, Compression};
use crate::error::OutputError;
use crate::ordered::{Job, check};
use crate::target::Target;
use crate::thread_count;

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
    /// Little-endian records without a header: source, target, and the weight if there is one.
    Raw {
        /// Whether ids are 64-bit rather than 32-bit.
        wide: bool,
        /// Type of the weight.
        weight: RawWeight,
    },
    /// Apache Parquet.
    Parquet,
    /// An Arrow IPC file.
    Arrow,
}

/// Type of the weight in a raw record. It follows the two ids without padding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RawWeight {
    /// There is none.
    #[default]
    None,
    /// A 32-bit float: the nearest one to the weight.
    F32,
    /// A 64-bit float.
    F64,
}

/// Name of each format, which is also its extension. The first name of a format is the one shown.
const FORMATS: &[(&str, EdgeFormat)] = &[
    ("snap", EdgeFormat::Snap),
    ("txt", EdgeFormat::Snap),
    ("el", EdgeFormat::Snap),
    ("wel", EdgeFormat::Snap),
    ("edges", EdgeFormat::Snap),
    ("edgelist", EdgeFormat::Snap),
    ("tsv", EdgeFormat::Tsv),
    ("csv", EdgeFormat::Csv),
    ("parquet", EdgeFormat::Parquet),
    ("pq", EdgeFormat::Parquet),
    ("arrow", EdgeFormat::Arrow),
    ("feather", EdgeFormat::Arrow),
    ("ipc", EdgeFormat::Arrow),
    ("u32", EdgeFormat::Raw { wide: false, weight: RawWeight::None }),
    ("u64", EdgeFormat::Raw { wide: true, weight: RawWeight::None }),
    ("u32f32", EdgeFormat::Raw { wide: false, weight: RawWeight::F32 }),
    ("u32f64", EdgeFormat::Raw { wide: false, weight: RawWeight::F64 }),
    ("u64f32", EdgeFormat::Raw { wide: true, weight: RawWeight::F32 }),
    ("u64f64", EdgeFormat::Raw { wide: true, weight: RawWeight::F64 }),
];

impl FromStr for EdgeFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = FORMATS.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
        known.map(|(_, format)| *format).ok_or_else(|| {
            let names: Vec<_> = FORMATS.iter().map(|(name, _)| *name).collect();
            format!("expected one of {}, found \"{text}\"", names.join(", "))
        })
    }
}

impl fmt::Display for EdgeFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = FORMATS.iter().find(|(_, format)| format == self).map_or("", |(name, _)| name);
        f.write_str(name)
    }
}

/// How an edge list is to be written. The default takes everything from the file's name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EdgeFormatOptions {
    /// Format; `None` takes it from the extension.
    pub format: Option<EdgeFormat>,
    /// Compression of text; `None` takes it from the extension.
    pub compression: Option<Compression>,
    /// Whether weights are left out where the edges have any.
    pub drop_weights: bool,
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
}

impl EdgeFormat {
    fn is_text(self) -> bool {
        matches!(self, Self::Snap | Self::Tsv | Self::Csv)
    }
}

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
    let edges = Edges::of(stream, ids, options.drop_weights, format, &name)?;
    let target = Target::create(path)?;
    if let Some(mut file) = target.file() {
        edges.write(&mut file, format, compression, &name, threads, progress)?;
    }
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
    let edges = Edges::of(stream, ids, options.drop_weights, format, name)?;
    edges.write(sink, format, compression, name, threads, progress)
}

/// Edges that are known to fit the format.
struct Edges<'a> {
    stream: &'a dyn EdgeStream,
    ids: IdView<'a>,
    /// Whether the weights of the stream are written.
    weighted: bool,
}

/// What is written for a slot.
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
}

impl IdView<'_> {
    /// The largest id, if it does not fit into 32 bits.
    fn beyond_u32(&self) -> Option<u64> {
        let last = match self {
            Self::Offset { last, .. } | Self::Integers([.., last]) => *last,
            _ => 0,
        };
        (last > u32::MAX.into()).then_some(last)
    }

    /// The integer id of a slot.
    fn integer(&self, slot: u32) -> u64 {
        match self {
            Self::Offset { first, .. } => first + u64::from(slot),
            Self::Integers(ids) => ids[slot as usize],
            Self::Slots | Self::Names(_) => slot.into(),
        }
    }
}

impl<'a> Edges<'a> {
    /// Refuses, before a file is created, what does not fit.
    fn of(
        stream: &'a dyn EdgeStream,
        ids: &'a IdMap,
        drop_weights: bool,
        format: EdgeFormat,
        name: &str,
    ) -> Result<Self, OutputError> {
        let ids = match ids {
            IdMap::Same | IdMap::Declared => IdView::Slots,
            IdMap::Offset(first) => {
                let slots = stream.slots().unwrap_or(u32::MAX.into());
                IdView::Offset { first: *first, last: first + slots.saturating_sub(1) }
            }
            IdMap::Sparse(ids) => IdView::Integers(ids),
            IdMap::Names(names) => IdView::Names(names),
        };
        let edges = Self { stream, ids, weighted: stream.weighted() && !drop_weights };
        if let EdgeFormat::Raw { wide, weight } = format {
            raw::check(&edges, wide, weight, name)?;
        }
        if format == EdgeFormat::Snap {
            text::check_snap(&edges, name)?;
        }
        Ok(edges)
    }

    fn write(
        &self,
        sink: &mut (dyn Write + Send),
        format: EdgeFormat,
        compression: Compression,
        name: &str,
        threads: usize,
        progress: &Progress,
    ) -> Result<(), OutputError> {
        let phase = progress.phase("write", Unit::Edges, Some(self.stream.edges()));
        let job = Job { name, threads: thread_count(threads), progress, phase };
        match format {
            EdgeFormat::Snap | EdgeFormat::Tsv | EdgeFormat::Csv => {
                text::write(self, sink, compression, format, &job)
            }
            EdgeFormat::Raw { wide, weight } => raw::write(self, sink, wide, weight, &job),
            EdgeFormat::Parquet => {
                columnar::write_parquet(&columns::Rows::new(self, &job), sink, &job)
            }
            EdgeFormat::Arrow => columnar::write_arrow(&columns::Rows::new(self, &job), sink, &job),
        }
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
