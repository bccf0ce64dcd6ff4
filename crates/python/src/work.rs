//! Work that takes long, beside an interpreter that continues.
//!
//! The caller's thread waits without the interpreter's lock, and looks up ten times a second: for
//! signals, so that Ctrl-C ends the work, and to tell how far it is.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use welter_cli::library::Failure;
use welter_progress::{FailureKind, Progress, Unit};

/// Between two looks.
const INTERVAL: Duration = Duration::from_millis(100);

/// Room for what the command's main thread would have.
const STACK_BYTES: usize = 8 << 20;

/// Does something in another thread. `tick`: called with the phase, its unit, how much of it is
/// done and how much there is, if that is known.
pub(crate) fn working<T: Send>(
    py: Python<'_>,
    tick: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Progress) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    let progress = Progress::new();
    thread::scope(|scope| {
        let (ended, end) = channel::<()>();
        let worker = thread::Builder::new().name("welter".to_owned()).stack_size(STACK_BYTES);
        let worker = worker.spawn_scoped(scope, || {
            // Dropped when the work is done, however it ends.
            let _ended = ended;
            work(&progress)
        })?;
        let (mut end, mut wrong) = (end, None);
        loop {
            let ended;
            (end, ended) = py.detach(move || {
                let ended = end.recv_timeout(INTERVAL);
                (end, ended)
            });
            if ended != Err(RecvTimeoutError::Timeout) {
                break;
            }
            if wrong.is_none() {
                let looked = py.check_signals().and_then(|()| report(tick, &progress));
                if let Err(error) = looked {
                    progress.cancel();
                    wrong = Some(error);
                }
            }
        }
        let done = py.detach(|| worker.join());
        match (wrong, done) {
            // It says how to resume the run.
            (Some(_), Ok(Err(failure))) if failure.kind() == Some(FailureKind::Resumable) => {
                Err(raised(py, &failure))
            }
            (Some(error), _) => Err(error),
            (None, Ok(done)) => done.map_err(|failure| raised(py, &failure)),
            (None, Err(_)) => Err(raised(py, &Failure::bug("a thread panicked"))),
        }
    })
}

fn report(tick: Option<&Bound<'_, PyAny>>, progress: &Progress) -> PyResult<()> {
    let (Some(tick), Some(phase)) = (tick, progress.current()) else { return Ok(()) };
    let unit = match phase.unit {
        Unit::Bytes => "B",
        Unit::Edges => "edges",
        Unit::Vertices => "vertices",
        Unit::Iterations => "iterations",
    };
    tick.call1((phase.name, unit, phase.done, phase.total)).map(|_| ())
}

/// A failure as the exception of its exit code, as `welter/_errors.py` has it.
pub(crate) fn raised(py: Python<'_>, failure: &Failure) -> PyErr {
    let bug = failure.kind() == Some(FailureKind::Internal);
    let arguments = (failure.code(), failure.message(), failure.hinted(), bug);
    let made = || py.import("welter._errors")?.getattr("of")?.call1(arguments);
    match made() {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}
