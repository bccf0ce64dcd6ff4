//! Graphs that Python holds.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use welter_cli::library;
use welter_input::Frame;

use crate::arrays::{Column, batch};
use crate::stream;
use crate::table::Table;
use crate::tables::{frames, listed};
use crate::work::{raised, working};

/// A graph that was read, or that is known where to read.
#[pyclass(frozen, module = "welter._native")]
pub(crate) struct Graph {
    graph: library::Graph,
}

#[pymethods]
impl Graph {
    /// Reads files, beside tables of vertices, or leaves them to each run if they are not to be
    /// kept in memory; opens a kept graph or makes a generator ready.
    #[staticmethod]
    #[pyo3(signature = (words, tick=None, held=true, tables=None))]
    fn read(
        py: Python<'_>,
        words: Vec<String>,
        tick: Option<&Bound<'_, PyAny>>,
        held: bool,
        tables: Option<Vec<Listed<'_>>>,
    ) -> PyResult<Self> {
        let vertices = vertices(py, tables)?;
        let read = |progress: &_| library::Graph::read(&words, held, vertices, progress);
        Ok(Self { graph: working(py, tick, read)? })
    }

    /// Takes the rows of an object that has `__arrow_c_stream__`.
    #[staticmethod]
    #[pyo3(signature = (name, table, words, tick=None, tables=None))]
    fn from_stream(
        py: Python<'_>,
        name: String,
        table: &Bound<'_, PyAny>,
        words: Vec<String>,
        tick: Option<&Bound<'_, PyAny>>,
        tables: Option<Vec<Listed<'_>>>,
    ) -> PyResult<Self> {
        let vertices = vertices(py, tables)?;
        let reader = stream::taken(table)?;
        let graph = working(py, tick, |progress| {
            let (schema, batches) = stream::batches(&name, reader, progress)?;
            let frame = typed(Frame { name, schema, batches });
            library::Graph::of_tables(frame, vertices, &words, progress)
        })?;
        Ok(Self { graph })
    }

    /// Takes columns of numpy: sources, targets, and weights if there are some.
    #[staticmethod]
    #[pyo3(signature = (name, ends, weight, words, tick=None, tables=None))]
    fn from_arrays(
        py: Python<'_>,
        name: String,
        ends: (Column<'_>, Column<'_>),
        weight: Option<Column<'_>>,
        words: Vec<String>,
        tick: Option<&Bound<'_, PyAny>>,
        tables: Option<Vec<Listed<'_>>>,
    ) -> PyResult<Self> {
        let vertices = vertices(py, tables)?;
        let batch = batch(ends, weight)?;
        let graph = working(py, tick, |progress| {
            let frame = Frame { name, schema: batch.schema(), batches: vec![batch] };
            library::Graph::of_tables(frame, vertices, &words, progress)
        })?;
        Ok(Self { graph })
    }

    /// Runs an algorithm. `tables`: those of vertices that words name with `memory:` before it.
    #[pyo3(signature = (words, tables, tick=None))]
    fn run(
        &self,
        py: Python<'_>,
        words: Vec<String>,
        tables: Vec<(String, Bound<'_, PyAny>)>,
        tick: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Table> {
        let tables = frames(py, tables)?;
        let answer = working(py, tick, |progress| self.graph.run(&words, tables, progress))?;
        Ok(Table::of(Arc::new(answer)))
    }

    /// Number of edges of each vertex.
    #[pyo3(signature = (words, tick=None))]
    fn degrees(
        &self,
        py: Python<'_>,
        words: Vec<String>,
        tick: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Table> {
        let answer = working(py, tick, |progress| self.graph.degrees(&words, progress))?;
        Ok(Table::of(Arc::new(answer)))
    }

    /// Number of vertices.
    #[pyo3(signature = (tick=None))]
    fn vertices(&self, py: Python<'_>, tick: Option<&Bound<'_, PyAny>>) -> PyResult<u64> {
        working(py, tick, |progress| self.graph.vertices(progress))
    }

    /// Says how a run would be done.
    fn explain(&self, py: Python<'_>, words: Vec<String>) -> PyResult<String> {
        working(py, None, |progress| self.graph.explain(&words, progress))
    }

    /// Words of the command that does on a cluster what `words` say of this graph.
    fn command(&self, py: Python<'_>, words: Vec<String>) -> PyResult<Vec<String>> {
        library::machines::command(&self.graph, &words).map_err(|failure| raised(py, &failure))
    }

    /// Keeps the graph in a directory.
    #[pyo3(signature = (directory, words, tick=None))]
    fn keep(
        &self,
        py: Python<'_>,
        directory: PathBuf,
        words: Vec<String>,
        tick: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<String>> {
        working(py, tick, |progress| self.graph.keep(&directory, &words, progress))
    }

    /// The facts of the graph.
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        // Sizes of files may have to be asked for, of a store that Python serves, say.
        let known = py.detach(|| self.graph.facts()).map_err(|failure| raised(py, &failure))?;
        let library::Facts { name, edges, vertices, weighted, undirected, names, .. } = known;
        let facts = PyDict::new(py);
        facts.set_item("name", name)?;
        facts.set_item("edges", edges)?;
        facts.set_item("vertices", vertices)?;
        facts.set_item("weighted", weighted)?;
        facts.set_item("undirected", undirected)?;
        facts.set_item("names", names)?;
        facts.set_item("two_kinds", known.two_kinds)?;
        facts.set_item("held_bytes", known.held_bytes)?;
        Ok(facts)
    }

    /// Readings of the files, or of the table, a line each.
    fn readings(&self) -> Vec<String> {
        self.graph.readings()
    }

    /// Notes for a person about how it was read.
    fn notes(&self) -> Vec<String> {
        self.graph.notes().to_vec()
    }
}

/// A table of vertices, or a column of them, with its name and whether these are targets apart from
/// sources.
type Listed<'py> = (String, Bound<'py, PyAny>, bool);

/// Tables of vertices beside edges.
fn vertices(py: Python<'_>, tables: Option<Vec<Listed<'_>>>) -> PyResult<library::Vertices> {
    let mut vertices = library::Vertices::default();
    for (name, table, are_targets) in tables.unwrap_or_default() {
        let side = if are_targets { &mut vertices.targets } else { &mut vertices.listed };
        side.push(typed(listed(py, name, &table)?));
    }
    Ok(vertices)
}

/// A table whose columns may be ids: those of one without rows may have any type or none, as
/// libraries guess it from nothing.
fn typed(frame: Frame) -> Frame {
    if frame.batches.iter().any(|batch| batch.num_rows() > 0) {
        return frame;
    }
    let typed = |field: &Arc<Field>| Field::new(field.name(), DataType::UInt32, true);
    let fields: Vec<Field> = frame.schema.fields().iter().map(typed).collect();
    Frame { schema: Arc::new(Schema::new(fields)), batches: Vec::new(), ..frame }
}
