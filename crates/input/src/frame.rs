//! Edges that a caller holds as Arrow arrays: a data frame, say, or columns of numbers.
//!
//! Nothing is copied where ids can be slots as they are: the stream that the engine gets reads the
//! arrays, after all rows were looked at once. Sparse ids and names are collected as those of files
//! are.

mod rows;
#[cfg(test)]
mod tests;

use welter_model::ids::IdMap;
use welter_progress::{Progress, Unit};

use self::rows::{RowStream, Rows};
use crate::collect::{Collector, SLOTS_MAX};
use crate::error::InputError;
use crate::gathering::collected;
use crate::ids::is_dense;
use crate::options::{IdKind, ReadOptions};
use crate::reader::{Context, Ready, pool};
use crate::tables::Frame;

/// Reads the rows of a table as edges, in their order.
///
/// # Errors
/// See [`InputError`]; of several bad rows, the first.
pub fn read_frame(
    frame: Frame,
    options: &ReadOptions,
    progress: &Progress,
) -> Result<Ready, InputError> {
    let pool = pool(options.thread_count())?;
    let tables = options.vertex_tables.open()?;
    let mut rows = Rows::of(frame, options)?;
    let are_strings = rows.picked.names;
    if options.ids == IdKind::Auto && options.vertices.is_none() && !rows.picked.names {
        rows.picked.names = pool.install(|| rows.have_negative_ids());
    }
    let phase = progress.phase("read", Unit::Edges, Some(rows.edges));
    if rows.edges == 0 && options.vertices.is_none() && tables.is_empty() {
        // A selection that came out empty is a graph, too.
        let readings = vec![rows.summary()];
        let stream = Box::new(RowStream { rows, slots: Some(0) });
        return Ok(Ready { readings, ..Ready::new(stream, IdMap::Declared) });
    }
    let context = Context { options, progress, phase: &phase, pool: &pool };
    if options.ids == IdKind::Auto && rows.edges > 0 {
        tables.agree(&context, (&rows.name, are_strings))?;
    }
    rows.picked.names = rows.picked.names || tables.are_names(&context)?;
    let named = rows.picked.names;
    let ids = if named { IdKind::Names } else { IdKind::Integers };
    let options = &ReadOptions { ids, ..options.clone() };
    let context = Context { options, ..context };
    let is_plain = tables.is_empty() && options.two_kinds != Some(true);
    if !named && rows.edges > 0 && is_plain {
        let largest = rows.largest(&context)?;
        if let Some(vertices) = options.vertices {
            if u32::try_from(vertices).is_ok() {
                return rows.declared(vertices, largest, options);
            }
        } else if largest < SLOTS_MAX && is_dense(largest, rows.edges) {
            return Ok(rows.ready(largest + 1, IdMap::Same, options));
        }
    }
    // All rows were counted when they were looked at.
    let read = |collector: &Collector| rows.collect(&context, collector);
    collected(&context, &Progress::new(), &tables, read)
}
