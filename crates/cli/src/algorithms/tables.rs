//! Tables of vertices beside the graph, whose rows begin with the id of a vertex: files, or what a
//! caller in this process has in memory, by its name behind [`MEMORY`].
//!
//! Invariants: an id that the graph has not is told where it is of a file, which may serve many
//! graphs, and is an error where it is of a table that a caller made for this run; what such a
//! table takes counts against the budget of the run; standard input is the graph or one table,
//! never both. Checked in `slot_values`, `with_vertices` and `tables::check`. Tested by
//! `a_vector_that_cannot_be_is_refused`.

use welter_input::attributes::{AttributeOptions, Attributes, Table, Vertices, attributes};
use welter_input::source;

use crate::failure::Failure;
use crate::session::{LoadedGraph, Session};

/// Begins the name of a table that a caller in this process has.
pub const MEMORY: &str = "memory:";

/// Refuses tables that are not there before anything is read. `what` they are, and the inputs that
/// the graph is read from.
pub(super) fn check(tables: &[String], what: &str, inputs: &[String]) -> Result<(), Failure> {
    if tables.is_empty() || tables.iter().all(|name| name.starts_with(MEMORY)) {
        return Ok(());
    }
    let pipe = |names: &[String]| names.iter().any(|name| name == "-");
    if pipe(tables) && pipe(inputs) {
        return Err(Failure::usage(format!("standard input is either the graph or {what}")));
    }
    source::names(tables)?;
    Ok(())
}

/// Where tables of these names are.
pub(super) fn place<'a>(tables: &'a [String], session: &'a Session) -> Table<'a> {
    let [name] = tables else { return Table::Files(tables) };
    let name = name.strip_prefix(MEMORY);
    let frame = name.and_then(|name| session.frames.iter().find(|frame| frame.name == name));
    frame.map_or(Table::Files(tables), Table::Frame)
}

/// The vertices of a graph, and how tables of them are read; hands both to `read`.
pub(super) fn with_vertices<T>(
    ready: &LoadedGraph,
    session: &Session,
    read: impl FnOnce(&Vertices<'_>, AttributeOptions) -> T,
) -> T {
    let LoadedGraph { graph, loaded, .. } = ready;
    let vertices = Vertices {
        ids: &loaded.ids,
        slots: graph.slots(),
        is_vertex: &|slot| graph.vertex_of_slot(slot.into()).is_some(),
    };
    let mut options = AttributeOptions {
        threads: session.resources.threads.unwrap_or(0),
        ..AttributeOptions::default()
    };
    let left = session.budget().saturating_sub(graph.resident_bytes());
    options.limits.memory_bytes_max = Some(left);
    read(&vertices, options)
}

/// Values of a column of tables, in the order of the vertices. `options`: over what
/// [`with_vertices`] says of how they are read.
pub(super) fn values(
    tables: &[String],
    ready: &LoadedGraph,
    session: &Session,
    options: impl FnOnce(AttributeOptions) -> AttributeOptions,
) -> Result<Vec<f64>, Failure> {
    let slots = (0..).zip(slot_values(tables, ready, session, options)?);
    let is_vertex = |slot: u64| ready.graph.vertex_of_slot(slot).is_some();
    Ok(slots.filter(|(slot, _)| is_vertex(*slot)).map(|(_, value)| value).collect())
}

/// Values of a column of tables, in the order of slots; those that are no vertices have any value.
pub(super) fn slot_values(
    tables: &[String],
    ready: &LoadedGraph,
    session: &Session,
    options: impl FnOnce(AttributeOptions) -> AttributeOptions,
) -> Result<Vec<f64>, Failure> {
    let table = place(tables, session);
    let read = with_vertices(ready, session, |vertices, defaults| {
        let refuse_foreign = matches!(table, Table::Frame(_));
        let options = AttributeOptions { refuse_foreign, ..options(defaults) };
        attributes(table, vertices, &options, &session.progress)
    })?;
    let Attributes { values, foreign, .. } = read;
    if foreign > 0 {
        session.say(&format!(
            "note: {foreign} rows of {} are of ids that the graph has not",
            tables.join(", ")
        ));
    }
    Ok(values)
}
