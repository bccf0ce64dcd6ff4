//! Text: SNAP edge lists, CSV, TSV and their relatives, all by one tolerant reader.
//!
//! A file is rows of fields, blank lines, and comments ([`comments`]). A row has a source, a target
//! and perhaps a weight, in columns; see [`sniff`] for how the dialect of a file is guessed,
//! [`dialect`] for how a row is read, and [`fields`] for what a field may be. Line ends are `\n` or
//! `\r\n`, or `\r` alone in files without newlines; the last one may be missing, and a byte order
//! mark is skipped. A quoted field may hold the separator, and line ends where the beginning of the
//! file has such fields ([`records`]).
//!
//! ```text
//! regular file:      worker: positioned read ─► parse ─► part       (file, one part a worker)
//! compressed, pipe:  one thread: unpack ─► queue ─► workers: parse   (stream)
//! ```
//!
//! Files whose rows go over lines are read by [`stream`] as well, which cuts them in order.
//!
//! Invariants: [`fast_path`], [`uniform_lines`] and [`simd`] agree with [`dialect`] on every line;
//! of several bad lines the first is reported, with its number, for any number of threads. Tested
//! by `fast_reads_what_careful_reads_nasty` and `every_row_is_that_of_the_plain_parser`.

pub(crate) mod allowed_ids;
mod beginning;
mod comments;
mod counting;
pub(crate) mod dialect;
mod dictionary;
mod digits;
mod directions;
mod doubts;
mod estimate;
mod failure;
pub(crate) mod fast_path;
pub(crate) mod fields;
mod file;
mod header;
mod ids;
pub(crate) mod in_memory;
mod kinds;
mod konect;
pub(crate) mod lines;
mod matrix;
pub(crate) mod parse;
pub(crate) mod records;
pub(crate) mod rows;
mod sample;
mod separator;
mod simd;
mod sniff;
mod stream;
mod summed;
#[cfg(test)]
mod tests;
mod uniform_lines;
mod with_counts;
pub(crate) mod workers;

pub(crate) use self::beginning::dialect_of;
use self::beginning::{SAMPLE_BYTES, sample};
use self::records::RecordEnd;
pub(crate) use self::rows::Dictionary;
use self::with_counts::Counted;
use crate::collect::Collector;
use crate::error::InputError;
use crate::options::{IdKind, ReadOptions};
use crate::reader::{Context, Estimate, Reader};
use crate::source::Source;

/// Reads text.
pub(crate) struct TextReader;

impl Reader for TextReader {
    fn id_kind(&self, source: &Source, context: &Context<'_>) -> Result<IdKind, InputError> {
        let (dialect, _) = sample(source, SAMPLE_BYTES, context.options)?;
        Ok(dialect.ids)
    }

    /// A first row that may count the others is understood by who has read them all, and where rows
    /// go over lines none but who has read all before knows where one begins.
    fn can_be_cut(&self, source: &Source, context: &Context<'_>) -> Result<bool, InputError> {
        if source.bytes().is_none() || !source.is_plain() {
            return Ok(false);
        }
        let (dialect, _) = sample(source, SAMPLE_BYTES, context.options)?;
        Ok(dialect.cut == RecordEnd::Lines && dialect.counted == Counted::No)
    }

    fn read(
        &self,
        source: &Source,
        context: &Context<'_>,
        collector: &Collector,
    ) -> Result<(), InputError> {
        let (dialect, sample) = sample(source, SAMPLE_BYTES, context.options)?;
        collector.describe(|file| dialect.describe(file));
        dialect.notes.iter().for_each(|note| collector.note(note));
        if let Some(undirected) = dialect.undirected {
            collector.state_undirected(undirected);
        }
        if dialect.two_kinds && collector.state_two_kinds() {
            collector.note(
                "the first line says that edges go between two kinds of vertices, each numbered by \
                 itself (bip), as with --bipartite (--no-bipartite: of one kind)",
            );
        }
        let line = dialect.start_line(&sample.bytes).saturating_sub(1);
        counting::read(source.name(), line, &dialect, collector, |lines| {
            workers::read(source, lines, context, collector)
        })
    }

    fn estimate(&self, source: &Source, options: &ReadOptions) -> Result<Estimate, InputError> {
        estimate::estimate(source, options)
    }
}
