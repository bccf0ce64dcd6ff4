//! Tables of vertices beside the graph: files whose rows begin with the id of a vertex.
//!
//! Invariant: what such a table takes counts against the budget of the run, and standard input is
//! the graph or one table, never both.

use welter_input::attributes::{AttributeOptions, Vertices};
use welter_input::source;

use crate::failure::Failure;
use crate::session::{Ready, Session};

/// Refuses tables that are not there before anything is read. `what` they are, and the inputs that
/// the graph is read from.
pub(super) fn check(tables: &[String], what: &str, inputs: &[String]) -> Result<(), Failure> {
    if tables.is_empty() {
        return Ok(());
    }
    let pipe = |names: &[String]| names.iter().any(|name| name == "-");
    if pipe(tables) && pipe(inputs) {
        return Err(Failure::usage(format!("standard input is either the graph or {what}")));
    }
    source::names(tables)?;
    Ok(())
}

/// The vertices of a graph, and how tables of them are read; hands both to `read`.
pub(super) fn with_vertices<T>(
    ready: &Ready,
    session: &Session,
    read: impl FnOnce(&Vertices<'_>, AttributeOptions) -> T,
) -> T {
    let Ready { graph, loaded, .. } = ready;
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
