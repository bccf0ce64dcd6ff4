//! The native module of the Python package: glue between Python objects and
//! [`welter_cli::library`].
//!
//! Words go in as they stand on the command line, tables go out as Arrow streams and columns of
//! numpy; everything that has a shape in Python (functions with options, results, progress bars) is
//! written in Python, beside this module.
//!
//! Invariants: work is done without the interpreter's lock, and ends soon after Ctrl-C · errors are
//! those of `welter/_errors.py`, with the texts of the command line. Checked in `work::working` and
//! `work::raised`; the tests of `python/tests/test_runs.py` show both.

#![expect(clippy::needless_pass_by_value, reason = "functions of Python get what they are given")]

mod arrays;
mod cluster;
mod graph;
mod stream;
mod table;
mod tables;
mod work;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use welter_cli::library::Checked;
use welter_progress::Progress;

use crate::graph::Graph;
use crate::table::Table;
use crate::work::{raised, working};

/// The module.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::cluster::{cluster_absent, cluster_host, cluster_key, cluster_machine};
    #[pymodule_export]
    use super::{Graph, Table, check, command, probe, remove, resume};

    #[pymodule_init]
    fn init(module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        use pyo3::types::PyModuleMethods;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

/// Does what a command line asks for, its name first, and returns the exit code. `starter` are the
/// words that start this program again, for a machine of a cluster.
#[pyfunction]
fn command(py: Python<'_>, line: Vec<OsString>, starter: Vec<OsString>) -> u8 {
    py.detach(|| welter_cli::command_of(starter, line))
}

/// Removes a kept graph.
#[pyfunction]
fn remove(py: Python<'_>, directory: PathBuf) -> PyResult<()> {
    py.detach(|| welter_cli::library::remove(&directory)).map_err(|failure| raised(py, &failure))
}

/// Verifies every byte of a kept graph, and returns the counts of what was found whole.
#[pyfunction]
#[pyo3(signature = (directory, words, tick=None))]
fn check<'py>(
    py: Python<'py>,
    directory: PathBuf,
    words: Vec<String>,
    tick: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let checked = |progress: &Progress| welter_cli::library::check(&directory, &words, progress);
    let Checked { files, bytes, chunks, edges, foreign } = working(py, tick, checked)?;
    let found = PyDict::new(py);
    found.set_item("edges", edges)?;
    found.set_item("chunks", chunks)?;
    found.set_item("files", files)?;
    found.set_item("bytes", bytes)?;
    found.set_item("foreign", foreign)?;
    Ok(found)
}

/// Measures how fast storage is: a JSON document.
#[pyfunction]
#[pyo3(signature = (words, tick=None))]
fn probe(py: Python<'_>, words: Vec<String>, tick: Option<&Bound<'_, PyAny>>) -> PyResult<String> {
    working(py, tick, |progress: &Progress| welter_cli::library::probe(&words, progress))
}

/// Resumes a run that is kept in a directory.
#[pyfunction]
#[pyo3(signature = (directory, words, tick=None))]
fn resume(
    py: Python<'_>,
    directory: PathBuf,
    words: Vec<String>,
    tick: Option<&Bound<'_, PyAny>>,
) -> PyResult<Table> {
    let resumed = |progress: &Progress| welter_cli::library::resume(&directory, &words, progress);
    Ok(Table::of(Arc::new(working(py, tick, resumed)?)))
}
