//! Runs on a cluster whose machines are started by Python: its host, and its machines.

use std::sync::Arc;

use pyo3::prelude::*;
use welter_cli::library::machines::{self, ClusterMember};

use crate::table::Table;
use crate::work::{raised, working};

/// Place of a process in a run: how many machines there are, where the host is, the key, and
/// seconds in which a machine must come.
type Seat = (usize, String, Option<String>, u64);

fn place((machines, first, key, patience): Seat) -> ClusterMember {
    ClusterMember { machines, first, key, patience }
}

/// A new key for a run.
#[pyfunction]
pub(crate) fn cluster_key(py: Python<'_>) -> PyResult<String> {
    machines::key().map_err(|failure| raised(py, &failure))
}

/// Runs what words say on machines that come; `listening` receives the address that they connect
/// to.
#[pyfunction]
#[pyo3(signature = (words, seat, listening, tick=None))]
pub(crate) fn cluster_host(
    py: Python<'_>,
    words: Vec<String>,
    seat: Seat,
    listening: Py<PyAny>,
    tick: Option<&Bound<'_, PyAny>>,
) -> PyResult<Table> {
    let place = place(seat);
    let mut wrong = None;
    let answer = working(py, tick, |progress| {
        let report = |address: std::net::SocketAddr| {
            let outcome = Python::attach(|py| listening.call1(py, (address.to_string(),)));
            if let Err(error) = outcome {
                wrong = Some(error);
                progress.cancel();
            }
        };
        machines::host(&words, &place, report, progress)
    });
    match wrong {
        Some(error) => Err(error),
        None => Ok(Table::of(Arc::new(answer?))),
    }
}

/// Is the machine of a rank until the run ends.
#[pyfunction]
pub(crate) fn cluster_machine(
    py: Python<'_>,
    words: Vec<String>,
    seat: Seat,
    rank: usize,
) -> PyResult<()> {
    let place = place(seat);
    working(py, None, |progress| machines::machine(&words, &place, rank, progress))
}

/// Reports to the host that no machine of a rank will come any more.
#[pyfunction]
pub(crate) fn cluster_absent(py: Python<'_>, seat: Seat, rank: usize, why: String) -> PyResult<()> {
    let place = place(seat);
    let outcome = py.detach(|| machines::absent(&place, rank, &why));
    outcome.map_err(|failure| raised(py, &failure))
}
