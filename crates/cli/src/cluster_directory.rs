//! The directory of machines that are processes of one command: one that goes with it, or the
//! checkpoints of a run, which stay until its result is written.
//!
//! ```text
//! DIR/cluster.json    which run it is, as for one process; held by the command that hosts it
//!    /machine-RANK    blocks and manifests of a machine
//! ```
//!
//! A command that dies takes its machines with it, since they see the end of a pipe. What they have
//! stored is there: `welter resume` starts others on it, who go on with the newest manifest, as
//! after any crash of all machines.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use welter_cluster::{is_used, sweep};
use welter_progress::FailureKind;
use welter_store::durable;

use crate::algorithms::algorithm::Algorithm;
use crate::args::RunOptions;
use crate::argv;
use crate::checkpoint::{command, described};
use crate::failure::Failure;
use crate::interrupt;
use crate::load::Source;
use crate::session::Session;

/// Name of the description of a run.
const DESCRIPTION: &str = "cluster.json";

/// Time in which machines of a command that died are gone.
const GOING: Duration = Duration::from_secs(30);

/// Time between two looks at them.
const WAIT: Duration = Duration::from_millis(20);

/// Directory of all machines of a command.
pub(crate) struct Directory {
    path: PathBuf,
    /// The description of a run that can be resumed, locked.
    kept: Option<File>,
}

/// The description of the run on a cluster whose checkpoints are in a directory, if there is one.
pub(crate) fn description(directory: &Path) -> Result<Option<Vec<u8>>, Failure> {
    let path = directory.join(DESCRIPTION);
    match fs::read(&path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(None)
        }
        Err(error) => Err(failed(&path, &error)),
    }
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::new(FailureKind::Storage, format!("{}: {error}", path.display()))
}

impl Directory {
    /// The directory of a run on `machines` machines: checkpoints, where the options say so.
    pub(crate) fn of(
        algorithm: &dyn Algorithm,
        args: &RunOptions,
        (source, machines): (&Source, usize),
        session: &Session,
    ) -> Result<Self, Failure> {
        let Some(path) = &args.checkpoint.checkpoint else {
            return Self::passing(&session.resources.scratch());
        };
        let (path, name) = (path.clone(), path.display());
        let described_at = path.join(DESCRIPTION);
        if !argv::is_resumed() {
            let description = described(args, algorithm, source)?;
            if described_at.exists() {
                let how = format!("a run is kept there: {} resumes it", command(&path));
                return Err(Failure::output(format!("{name}: is in use")).hint(how));
            }
            match fs::read_dir(&path).map(Iterator::count) {
                Ok(0) => {}
                Ok(_) => return Err(Failure::output(format!("{name}: is not empty"))),
                Err(_) => durable::make_directory(&path, None)?,
            }
            durable::replace(&described_at, &description, None)?;
        }
        let kept = File::open(&described_at).map_err(|error| failed(&described_at, &error))?;
        if kept.try_lock().is_err() {
            return Err(Failure::output(format!("{name}: another process goes on with this run")));
        }
        let begun = Instant::now();
        let machine = |rank: usize| path.join(format!("machine-{rank}"));
        while (0..machines).any(|rank| is_used(&machine(rank))) && begun.elapsed() < GOING {
            std::thread::sleep(WAIT);
        }
        interrupt::will_resume(&command(&path));
        Ok(Self { path, kept: Some(kept) })
    }

    /// A new one, which goes with the command.
    fn passing(scratch: &[PathBuf]) -> Result<Self, Failure> {
        let Some(parent) = scratch.first() else { return Err(Failure::bug("no place for files")) };
        let path = parent.join(format!("welter-cluster-{}", std::process::id()));
        durable::make_directory(&path, None)?;
        sweep(parent, &path);
        Ok(Self { path, kept: None })
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Ends a run: removes checkpoints that are not needed, or says how to continue from them.
    pub(crate) fn end<T>(mut self, done: Result<T, Failure>) -> Result<T, Failure> {
        let Some(kept) = self.kept.take() else { return done };
        let command = command(&self.path);
        let goes_on = |failure: &Failure| {
            let begins_anew = [FailureKind::Usage, FailureKind::Missing, FailureKind::Budget];
            failure.code() != 0 && failure.kind().is_none_or(|kind| !begins_anew.contains(&kind))
        };
        match done {
            Err(failure) if goes_on(&failure) || argv::is_resumed() && failure.code() != 0 => {
                // The machines are gone, and their files stay.
                self.kept = Some(kept);
                if failure.kind() == Some(FailureKind::Cancelled) {
                    let failure = Failure::new(FailureKind::Resumable, "interrupted");
                    return Err(failure.hint(format!("{command} resumes it")));
                }
                Err(failure.and_hint(&format!("{command} resumes it")))
            }
            done => {
                interrupt::will_not_resume();
                done
            }
        }
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if self.kept.is_none() {
            // The result is what counts, and the name says what this is.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}
