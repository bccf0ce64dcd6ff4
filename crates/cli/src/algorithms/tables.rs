//! Tables of vertices beside the graph, whose rows begin with the id of a vertex: files, or what a
//! caller in this process has in memory, by its name behind [`MEMORY`].
//!
//! Invariants: an id that the graph has not is told where it is of a file, which may serve many
//! graphs, and is an error where it is of a table that a caller made for this run; what such a
//! table takes counts against the budget of the run; standard input is the graph or one table,
//! never both. Checked in `slot_values`, `KnownVertices::with` and `tables::check`. Tested by
//! `a_vector_that_cannot_be_is_refused`.

use welter_engine::Graph;
use welter_input::attributes::{AttributeOptions, Attributes, Table, Vertices, attributes};
use welter_input::source;
use welter_model::ids::IdMap;
use welter_model::table::VertexColumn;

use crate::failure::Failure;
use crate::numbered;
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

/// Vertices that options and tables may name: of a graph that was read, or of one whose slots are
/// all vertices, which the machines of a cluster read.
#[derive(Clone, Copy)]
pub(super) struct KnownVertices<'a> {
    pub(super) ids: &'a IdMap,
    pub(super) slots: u64,
    pub(super) session: &'a Session,
    /// Graph that was read; none where all slots are vertices.
    graph: Option<&'a Graph>,
}

impl<'a> KnownVertices<'a> {
    /// The vertices of a graph.
    pub(super) fn of(ready: &'a LoadedGraph, session: &'a Session) -> Self {
        let LoadedGraph { graph, loaded, .. } = ready;
        Self { ids: &loaded.ids, slots: graph.slots(), session, graph: Some(graph) }
    }

    /// Vertices of all `slots` slots.
    pub(super) fn all((ids, slots): (&'a IdMap, u64), session: &'a Session) -> Self {
        Self { ids, slots, session, graph: None }
    }

    /// The number of the vertex of a slot.
    pub(super) fn number(&self, slot: u64) -> Option<u64> {
        self.graph.map_or(Some(slot), |graph| graph.vertex_of_slot(slot))
    }

    /// Number of vertices that have a state.
    pub(super) fn vertices(&self) -> u64 {
        self.graph.map_or(self.slots, Graph::vertices)
    }

    /// Ids of the vertices.
    pub(super) fn column(&self) -> VertexColumn {
        let all = || numbered::column(self.ids.clone(), self.slots);
        self.graph.map_or_else(all, |graph| graph.vertex_column(self.ids))
    }

    /// Hands the vertices to `read`, and how tables of them are read.
    pub(super) fn with<T>(&self, read: impl FnOnce(&Vertices<'_>, AttributeOptions) -> T) -> T {
        let graph = self.graph;
        let is_vertex =
            |slot: u32| graph.is_none_or(|graph| graph.vertex_of_slot(slot.into()).is_some());
        let vertices = Vertices { ids: self.ids, slots: self.slots, is_vertex: &is_vertex };
        let mut options = AttributeOptions {
            threads: self.session.resources.threads.unwrap_or(0),
            ..AttributeOptions::default()
        };
        let held = self.graph.map_or(0, Graph::resident_bytes);
        options.limits.memory_bytes_max = Some(self.session.budget().saturating_sub(held));
        read(&vertices, options)
    }
}

/// Values of a column of tables, in the order of the vertices. `options`: over what
/// [`KnownVertices::with`] says of how they are read.
pub(super) fn values(
    tables: &[String],
    known: &KnownVertices<'_>,
    options: impl FnOnce(AttributeOptions) -> AttributeOptions,
) -> Result<Vec<f64>, Failure> {
    let slots = (0..).zip(slot_values(tables, known, options)?);
    let is_vertex = |slot: u64| known.number(slot).is_some();
    Ok(slots.filter(|(slot, _)| is_vertex(*slot)).map(|(_, value)| value).collect())
}

/// Values of a column of tables, in the order of slots; those that are no vertices have any value.
pub(super) fn slot_values(
    tables: &[String],
    known: &KnownVertices<'_>,
    options: impl FnOnce(AttributeOptions) -> AttributeOptions,
) -> Result<Vec<f64>, Failure> {
    let session = known.session;
    let table = place(tables, session);
    let read = known.with(|vertices, defaults| {
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
