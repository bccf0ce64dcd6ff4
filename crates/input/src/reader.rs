//! The seam between formats and the rest: one trait, one file a format.
//!
//! A reader turns one [`Source`] into [`EdgeRun`](crate::collect::EdgeRun)s in input order and
//! knows nothing of id mapping, of other inputs, or of the engine. A format whose bytes can be
//! streamed as they are (raw pairs) may answer [`Reader::stream`] instead, and nothing is copied
//! into memory.

use rayon::{ThreadPool, ThreadPoolBuilder};
use welter_model::edges::EdgeStream;
use welter_model::ids::IdMap;
use welter_progress::{Phase, Progress};

use crate::collect::Collector;
use crate::error::InputError;
use crate::options::{IdKind, ReadOptions};
use crate::reading::FileSummary;
use crate::source::Source;

/// Context that every reader is given beside its source.
pub struct Context<'a> {
    /// Options of the user. Once reading starts, `ids` is no longer `Auto`.
    pub options: &'a ReadOptions,
    /// Asked for cancellation once a block.
    pub progress: &'a Progress,
    /// Phase `read`, counting bytes of the inputs as they are stored.
    pub phase: &'a Phase,
    /// Threads to parse with.
    pub pool: &'a ThreadPool,
}

impl Context<'_> {
    /// Counts stored bytes as read, before what is in them is handed on, and ends the run where
    /// that was asked for. Once a block.
    pub(crate) fn advance(&self, bytes: u64) -> Result<(), InputError> {
        self.phase.add(bytes);
        if self.progress.cancelled() { Err(InputError::Cancelled) } else { Ok(()) }
    }
}

/// As many threads, or as many of them as the system lets be.
pub(crate) fn pool(threads: usize) -> Result<ThreadPool, InputError> {
    let start = |threads| {
        ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|index| format!("read-{index}"))
            .build()
    };
    let mut fewer = threads;
    loop {
        match start(fewer) {
            Ok(pool) => return Ok(pool),
            Err(error) if fewer <= 1 => {
                return Err(InputError::Threads { what: error.to_string() });
            }
            Err(_) => fewer = fewer.div_ceil(2),
        }
    }
}

/// Estimate of inputs that were not read whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// Bytes as stored; `None` for a pipe.
    pub bytes: Option<u64>,
    /// Edges; `None` for a pipe, which a sample would eat.
    pub edges: Option<u64>,
    /// Whether `edges` is exact rather than taken from a sample.
    pub exact: bool,
    /// Number of vertices where it is stated.
    pub slots: Option<u64>,
    /// Where it is not, and ids are likely to be slots: the largest of a sample, plus one.
    pub slots_seen: Option<u64>,
    /// Integers or names; `Auto` where nothing tells.
    pub ids: IdKind,
    /// Whether edges would be read with weights.
    pub weighted: bool,
    /// Whether each edge stands for both directions, where that is stated.
    pub undirected: Option<bool>,
}

/// Edges that need no copy in memory, with the way back to their ids.
pub struct Ready {
    /// The edges; pairs are slots.
    pub edges: Box<dyn EdgeStream>,
    /// Ids by slot.
    pub ids: IdMap,
    /// Whether each edge stands for both directions, where that is stated.
    pub undirected: Option<bool>,
    /// Notes for a person about how files were read, a sentence each.
    pub notes: Vec<String>,
    /// Readings of the files, in order; empty where nothing but their format is known.
    pub readings: Vec<FileSummary>,
    /// Bytes that were written to temporary files.
    pub scratch_bytes: u64,
}

impl Ready {
    /// Edges of a format that says nothing about direction.
    pub(crate) fn new(edges: Box<dyn EdgeStream>, ids: IdMap) -> Self {
        let (notes, readings) = (Vec::new(), Vec::new());
        Self { edges, ids, undirected: None, notes, readings, scratch_bytes: 0 }
    }
}

/// A format.
pub trait Reader: Sync {
    /// Whether the ids of a source are integers or names, from a sample or a schema. Integers,
    /// where the format has no other.
    ///
    /// # Errors
    /// When the source is not of this format, or cannot be read.
    fn id_kind(&self, _source: &Source, _context: &Context<'_>) -> Result<IdKind, InputError> {
        Ok(IdKind::Integers)
    }

    /// Whether a source can be read in shares of its bytes, each record by the share in which it
    /// begins, without regard to the others. The `context` has settled the kind of its ids.
    ///
    /// # Errors
    /// When the source is not of this format, or cannot be read.
    fn can_be_cut(&self, _source: &Source, _context: &Context<'_>) -> Result<bool, InputError> {
        Ok(false)
    }

    /// Reads a source, whole or its share. Parts may be pushed from any thread; their numbers order
    /// them. What the format states of vertices and direction goes to the collector too
    /// ([`Collector::state`], [`Collector::state_undirected`]); an edge that names a vertex outside
    /// of what its source states is an error, with its place.
    ///
    /// # Errors
    /// The first one in the order of the file, with its place.
    fn read(
        &self,
        source: &Source,
        context: &Context<'_>,
        collector: &Collector,
    ) -> Result<(), InputError>;

    /// Says how much a source holds, from its metadata or a sample of its first MiB.
    ///
    /// # Errors
    /// When the source is not of this format, or cannot be read.
    fn estimate(&self, source: &Source, options: &ReadOptions) -> Result<Estimate, InputError>;

    /// Offers all sources, which are of this format, as one stream without reading them. `None`
    /// when that cannot be done: [`Reader::read`] is asked then.
    ///
    /// # Errors
    /// When a source is not of this format, or cannot be read.
    fn stream(
        &self,
        _sources: &[Source],
        _context: &Context<'_>,
    ) -> Result<Option<Ready>, InputError> {
        Ok(None)
    }
}
