//! All lines of a source, on all threads: a file in parts, a compressed stream in blocks.

use super::file::Grain;
use super::lines::Lines;
use super::records::RecordEnd;
use super::{file, stream};
use crate::collect::Collector;
use crate::error::InputError;
use crate::options::ReadOptions;
use crate::reader::Context;
use crate::source::Source;

/// Reads all lines of a source, on all threads.
pub(crate) fn read(
    source: &Source,
    lines: &dyn Lines,
    context: &Context<'_>,
    collector: &Collector,
) -> Result<(), InputError> {
    match source.bytes() {
        Some(bytes) if source.is_plain() && lines.cut() == RecordEnd::Lines => {
            let ReadOptions { limits, .. } = context.options;
            let threads = context.options.thread_count();
            let own = source.share().map_or(bytes, |share| share.end - share.start);
            let grain = Grain::of(own, threads, limits, &lines.rows());
            file::read(source, bytes, grain, lines, context, collector)
        }
        _ => stream::read(source, lines, context, collector),
    }
}
