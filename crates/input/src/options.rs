//! Options of an input, as a person states them; everything has a guess for when nothing is said.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use welter_objects::ReadRequests;

use crate::format::Format;
use crate::layout::{Comment, Escape, Quote, Separator};
use crate::tables::{ColumnRef, VertexTables};

/// Options by which inputs are read. The default guesses everything from the files.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is said apart from the others")]
pub struct ReadOptions {
    /// Format of all inputs; `None` guesses it for each from its first bytes and its name.
    pub format: Option<Format>,
    /// Separator of the columns of text; `None` guesses it.
    pub separator: Option<Separator>,
    /// Quotes around fields of text; `None` guesses them.
    pub quote: Option<Quote>,
    /// Form of a quote within quotes in text; `None` guesses it.
    pub escape: Option<Escape>,
    /// Beginning of a comment in text; `None` guesses it.
    pub comment: Option<Comment>,
    /// Whether the first row of text that is no comment is a header; `None` guesses it.
    pub header: Option<bool>,
    /// Column of the sources; `None` takes a column with a telling name, else the first.
    pub source: Option<ColumnRef>,
    /// Column of the targets; `None` takes a column with a telling name, else the second.
    pub target: Option<ColumnRef>,
    /// Column, if any, that is the weight of an edge.
    pub weight: WeightChoice,
    /// Whether a negative weight is an error, with its place, where weights are read.
    pub non_negative: bool,
    /// Whether a weight that is not finite is an error, with its place, where weights are read.
    pub finite: bool,
    /// Number of vertices: ids are `0..vertices`, and those without an edge are vertices too.
    pub vertices: Option<u64>,
    /// Tables of vertices: those without an edge are vertices too, whatever ids are.
    pub vertex_tables: VertexTables,
    /// Integer ids that will be asked for, such as sources. They have slots of their own also
    /// where vertices without edges share one
    /// ([`NonCompact`](welter_model::non_compact::NonCompact)).
    pub named: Vec<u64>,
    /// Whether each edge stands for both directions; `None` leaves it to formats that say so. What
    /// is said here wins over them, also where they disagree.
    pub undirected: Option<bool>,
    /// Whether sources and targets are two kinds of vertices, which may have the same ids; `None`
    /// leaves it to formats that say so.
    pub two_kinds: Option<bool>,
    /// Kind of the ids.
    pub ids: IdKind,
    /// Whether `ids` was guessed from all inputs together, rather than said. Where integers are
    /// said, one may be written in another way than it is printed (`007`, `+7`, `7.0`).
    pub guessed_ids: bool,
    /// Threads that parse; 0 stands for one a core.
    pub threads: usize,
    /// Whether the number of slots may be guessed from a sample where it takes a read of all edges
    /// to know it. If the guess was wrong, reading the edges ends with
    /// [`InputError::Unlikely`](crate::InputError::Unlikely), and they must be opened once more.
    pub sampled: bool,
    /// Limits of what a hostile or broken input may cost.
    pub limits: Limits,
    /// Directories for temporary files, filled in turn, where [`Limits::memory_bytes_max`] is less
    /// than the edges take. The files have no names, so that nothing is left of them whatever ends
    /// the process. None: what does not fit in memory is refused.
    pub scratch: Vec<PathBuf>,
}

impl ReadOptions {
    /// Number of threads to use, at least 1.
    pub fn thread_count(&self) -> usize {
        if self.threads > 0 {
            return self.threads;
        }
        std::thread::available_parallelism().map_or(1, usize::from)
    }

    /// Bounds of the weights that are allowed.
    pub fn bounds(&self) -> WeightBounds {
        WeightBounds { non_negative: self.non_negative, finite: self.finite }
    }
}

/// Column that is the weight of an edge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WeightChoice {
    /// No weights; other columns are skipped unread.
    #[default]
    Ignore,
    /// The column that is evidently the weight, if there is one (see the crate's `columns`): one
    /// called `weight` or by a word for it such as `cost`, else the one further column of numbers.
    IfPresent,
    /// Weights of this column; that it is missing is an error.
    Column(ColumnRef),
}

/// Kind of the ids of vertices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IdKind {
    /// Integers where a sample holds nothing else, names otherwise.
    #[default]
    Auto,
    /// Integers from 0 to 2^64 - 1.
    Integers,
    /// Strings, even those that look like integers.
    Names,
}

impl FromStr for IdKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "integers" => Ok(Self::Integers),
            "names" => Ok(Self::Names),
            _ => Err(format!("expected auto, integers or names, found \"{text}\"")),
        }
    }
}

/// Limits of what reading may cost, whatever the input claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Decompressed bytes per compressed byte. Edge lists stay below 50; a bomb of gzip reaches
    /// 1,000 and one of zstd far more.
    pub ratio_max: u64,
    /// Decompressed bytes below which the ratio is not looked at.
    pub ratio_free_bytes: u64,
    /// Logarithm of the largest zstd window, which is memory that the file asks for.
    pub zstd_window_log_max: u32,
    /// Bytes of one line of text.
    pub line_bytes_max: usize,
    /// Bytes of memory that edges and ids may take; `None` sets no limit. Where
    /// [`ReadOptions::scratch`] names directories, edges take half of it at most and overflow to
    /// files beyond that, and ids and what maps them take the rest, or all of it once edges are on
    /// files.
    pub memory_bytes_max: Option<u64>,
    /// Bytes of memory that inputs which are objects of a bucket may take while they are on their
    /// way, of all threads, beside those of edges and ids; `None` leaves it to a share of the
    /// latter. No less is taken than [`Self::OBJECT_BYTES_LEAST`] a thread.
    pub object_bytes_max: Option<u64>,
    /// Requests for such inputs, and for raw records in files, as far as a user states them or a
    /// probe found them: they are kept whatever memory they take, once it is known what an input
    /// is.
    pub read_requests: ReadRequests,
    /// Bytes of files that the system can be expected to keep in its cache from one reading to the
    /// next; `None` sets no limit. Larger raw inputs are read past it.
    pub cache_bytes_max: Option<u64>,
    /// Use of the page cache for raw records in files.
    pub page_cache: PageCache,
}

/// Ways of raw records from files, past the system's cache or through it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PageCache {
    /// Through it, but for records that are larger than it may become and are read again.
    #[default]
    Auto,
    /// Past it, where the file system can. What it has all the same is taken from there.
    Past,
    /// Through it.
    Through,
}

impl Limits {
    /// Bytes on their way from a bucket that a thread takes at least.
    pub const OBJECT_BYTES_LEAST: u64 = 640 << 10;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            ratio_max: 200,
            ratio_free_bytes: 32 << 20,
            zstd_window_log_max: 27,
            line_bytes_max: 1 << 20,
            memory_bytes_max: None,
            object_bytes_max: None,
            read_requests: ReadRequests::default(),
            cache_bytes_max: None,
            page_cache: PageCache::Auto,
        }
    }
}

/// Weights that may come. NaN never may.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WeightBounds {
    /// Negative ones are refused.
    pub non_negative: bool,
    /// Infinite ones are refused.
    pub finite: bool,
}

impl WeightBounds {
    /// Whether a weight may come.
    #[inline]
    pub fn hold(self, weight: f64) -> bool {
        let negative = self.non_negative && weight < 0.0;
        !(negative || self.finite && weight.is_infinite())
    }

    /// Refuses a weight that may not come; `found` is how it is shown.
    ///
    /// # Errors
    /// What was expected and what was found.
    pub fn check(self, weight: f64, found: &dyn fmt::Display) -> Result<(), String> {
        let kind = match (self.hold(weight), self.non_negative && weight < 0.0) {
            (true, _) => return Ok(()),
            (false, true) => "not negative",
            (false, false) => "finite",
        };
        Err(format!("expected a weight that is {kind}, found {found}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_keep_within_their_bounds() {
        let both = WeightBounds { non_negative: true, finite: true };
        for (weight, text) in [(-1.0, "not negative"), (f64::NEG_INFINITY, "not negative")] {
            assert!(both.check(weight, &weight).unwrap_err().contains(text));
        }
        let finite = WeightBounds { non_negative: false, ..both };
        let error = finite.check(f64::NEG_INFINITY, &"\"-inf\"").unwrap_err();
        assert_eq!(error, "expected a weight that is finite, found \"-inf\"");
        assert!(finite.hold(-1.0) && !both.hold(f64::INFINITY));
        assert!(WeightBounds::default().hold(f64::NEG_INFINITY) && both.hold(-0.0));
    }
}
