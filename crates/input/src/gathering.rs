//! Edges that were read, with the vertices of tables beside them, on their way to slots.

use welter_progress::Progress;

use crate::collect::Collector;
use crate::error::InputError;
use crate::ids::Finished;
use crate::options::ReadOptions;
use crate::reader::{Context, Ready};
use crate::temp;
use crate::vertices::{self, Tables};

/// Numbers the edges that `read` leaves with a collector. `ahead`: says how much is to come.
pub(crate) fn collected(
    context: &Context<'_>,
    ahead: &Progress,
    tables: &Tables<'_>,
    read: impl FnOnce(&Collector) -> Result<(), InputError>,
) -> Result<Ready, InputError> {
    let ReadOptions { limits, scratch, named, .. } = context.options;
    let collector = Collector::with_scratch(limits.memory_bytes_max, scratch, ahead)
        .with_two_kinds(context.options.two_kinds);
    collector.name(named);
    read(&collector)?;
    let listed = if tables.is_empty() { None } else { Some(tables.state(context, &collector)?) };
    let undirected = match context.options.undirected {
        None => collector.undirected()?,
        stated => stated,
    };
    let (mut notes, readings) = (collector.notes(), collector.readings());
    let Finished { edges, ids, scratch_bytes } =
        collector.finish(context.options.vertices, context.pool, context.progress)?;
    notes.extend(listed.and_then(|listed| vertices::unlisted(listed, edges.slots())));
    let in_memory = temp::in_memory(&context.options.scratch);
    if let Some(directory) = in_memory.filter(|_| scratch_bytes > 0) {
        let name = directory.display();
        notes.push(format!("{name}: is for temporary files and lies in memory itself"));
    }
    Ok(Ready { edges, ids, undirected, notes, readings, scratch_bytes })
}
