//! The directory of machines that are processes of one command: one that goes with it, or the
//! checkpoints of a run, which stay until its result is written.
//!
//! ```text
//! DIR/cluster.json    which run it is, as for one process, and a line with a sum of that; held by
//!                     the command that hosts it
//!    /machine-RANK    blocks and manifests of a machine
//! ```
//!
//! In a bucket the run has copies ([`crate::cluster_copies`]), and the directory goes with the
//! command.
//!
//! Of several computers each keeps such a directory, `DIR/rank-RANK`, so that DIR may be one that
//! all of them find, or another one on each.
//!
//! A command that dies takes its machines with it, since they see the end of a pipe. What they have
//! stored is there: `welter resume` starts others on it, which resume from the newest manifest, as
//! after any crash of all machines.
//!
//! Invariant: no other run is resumed than the one that was kept. Checked in `checked`. Tested
//! by `a_description_has_a_sum`, `a_bit_that_flips_on_a_disk_changes_no_answer` and
//! `machines_of_a_command_go_on_from_a_bucket`.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use welter_cluster::{is_used, remove_files, sweep};
use welter_objects::Location;
use welter_progress::FailureKind;
use welter_protocol::payload::checksum;
use welter_store::durable;

use crate::algorithms::algorithm::Algorithm;
use crate::args::RunOptions;
use crate::argv;
use crate::checkpoint::{command, described};
use crate::cluster_copies::{self, CopiesFolder};
use crate::environment;
use crate::failure::Failure;
use crate::interrupt;
use crate::load::Source;
use crate::say;
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
    /// Path by which the run is resumed.
    named: PathBuf,
    /// The description of a run that can be resumed, locked.
    kept: Option<File>,
    /// Checkpoints in a bucket.
    copies: Option<CopiesFolder>,
}

/// Folder of the machine of several computers.
const MACHINE: &str = "machine";

/// Begin of the name of a machine's directory of several computers.
const RANK: &str = "rank-";

fn rank_name(rank: usize) -> String {
    format!("{RANK}{rank}")
}

/// The machine of several computers whose checkpoints a directory has: the one that the environment
/// says this is, or the only one.
fn rank_of(directory: &Path) -> Option<usize> {
    let names = fs::read_dir(directory).into_iter().flatten().flatten();
    let rank = |it: fs::DirEntry| it.file_name().to_str()?.strip_prefix(RANK)?.parse().ok();
    let ranks: Vec<usize> = names.filter_map(rank).collect();
    let stated = environment::rank().filter(|rank| ranks.contains(rank));
    stated.or_else(|| ranks.first().copied().filter(|_| ranks.len() == 1))
}

/// Description of a run, with the rank of this machine, of several computers.
type Description = (Vec<u8>, Option<usize>);

/// The description of the run on a cluster whose checkpoints are in a directory, if there is one.
pub(crate) fn description(directory: &Path) -> Result<Option<Description>, Failure> {
    if Location::of(directory).is_some() {
        let found = cluster_copies::description(directory, DESCRIPTION)?;
        let Some(bytes) = found else { return Ok(None) };
        return Ok(Some((checked(&bytes, &directory.join(DESCRIPTION))?, None)));
    }
    let rank = rank_of(directory);
    let own = rank.map_or_else(|| directory.to_owned(), |rank| directory.join(rank_name(rank)));
    let path = own.join(DESCRIPTION);
    match fs::read(&path) {
        Ok(bytes) => Ok(Some((checked(&bytes, &path)?, rank))),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(None)
        }
        Err(error) => Err(failed(&path, &error)),
    }
}

/// A description with its sum, as it is kept.
fn with_sum(description: &[u8]) -> Vec<u8> {
    let sum = format!("\n{:016x}\n", checksum(description));
    [description, sum.as_bytes()].concat()
}

/// The description that was kept so, if it was.
fn summed(bytes: &[u8]) -> Option<&[u8]> {
    let end = bytes.strip_suffix(b"\n")?.iter().rposition(|byte| *byte == b'\n')?;
    let description = &bytes[..end];
    (with_sum(description) == bytes).then_some(description)
}

/// The description in a file, which has its sum.
fn checked(bytes: &[u8], path: &Path) -> Result<Vec<u8>, Failure> {
    let what = || format!("{}: damaged: it is no run with its sum", path.display());
    let description = summed(bytes).ok_or_else(|| Failure::new(FailureKind::Damaged, what()))?;
    Ok(description.to_vec())
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
        if Location::of(path).is_some() {
            let here = Self::passing(&session.resources.scratch())?;
            return here.copied(path, args, &described(args, algorithm, source)?);
        }
        let machine = |rank: usize| path.join(format!("machine-{rank}"));
        let machines = (0..machines).map(machine).collect::<Vec<_>>();
        Self::keep([path, path], &machines, (false, described(args, algorithm, source)?))
    }

    /// The directory of a machine of several computers, if it keeps checkpoints.
    pub(crate) fn of_rank(
        algorithm: &dyn Algorithm,
        args: &RunOptions,
        (source, rank): (&Source, usize),
    ) -> Result<Option<Self>, Failure> {
        let Some(all) = &args.checkpoint.checkpoint else { return Ok(None) };
        if Location::of(all).is_some() {
            if rank > 0 {
                return Ok(None);
            }
            // Files of this machine are among its temporary ones.
            let (path, named) = (all.clone(), all.clone());
            let here = Self { path, named, kept: None, copies: None };
            return here.copied(all, args, &described(args, algorithm, source)?).map(Some);
        }
        if let Err(error) = durable::make_directory(all, None)
            && !all.is_dir()
        {
            return Err(error.into());
        }
        let path = all.join(rank_name(rank));
        let machine = path.join(MACHINE);
        // One that died while others go on is started again by the command of the run.
        let description = (rank > 0, described(args, algorithm, source)?);
        Self::keep([&path, all], &[machine], description).map(Some)
    }

    /// The directory of a run that is kept in a folder of a bucket.
    fn copied(
        mut self,
        folder: &Path,
        args: &RunOptions,
        description: &[u8],
    ) -> Result<Self, Failure> {
        let description = with_sum(description);
        self.copies = CopiesFolder::keep(folder, args, (DESCRIPTION, &description))?;
        self.named = self.copies.as_ref().map_or(folder, CopiesFolder::path).to_owned();
        interrupt::will_resume(&command(&self.named));
        Ok(self)
    }

    /// Keeps a run in the first path, which is resumed by the second one, and may go on there with
    /// what it has.
    fn keep(
        [path, named]: [&Path; 2],
        machines: &[PathBuf],
        (goes_on, description): (bool, Vec<u8>),
    ) -> Result<Self, Failure> {
        let (path, name) = (path.to_owned(), path.display());
        let described_at = path.join(DESCRIPTION);
        let description = with_sum(&description);
        let goes_on = goes_on && fs::read(&described_at).is_ok_and(|it| it == description);
        if !argv::is_resumed() && !goes_on {
            if described_at.exists() {
                let how = format!("a run is kept there: {} resumes it", command(named));
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
            return Err(Failure::output(format!("{name}: another process has resumed this run")));
        }
        let begun = Instant::now();
        while machines.iter().any(|machine| is_used(machine)) && begun.elapsed() < GOING {
            std::thread::sleep(WAIT);
        }
        interrupt::will_resume(&command(named));
        Ok(Self { path, named: named.to_owned(), kept: Some(kept), copies: None })
    }

    /// A new one, which goes with the command.
    fn passing(scratch: &[PathBuf]) -> Result<Self, Failure> {
        let Some(parent) = scratch.first() else { return Err(Failure::bug("no place for files")) };
        let path = parent.join(format!("welter-cluster-{}", std::process::id()));
        durable::make_directory(&path, None)?;
        sweep(parent, &path);
        Ok(Self { named: path.clone(), path, kept: None, copies: None })
    }

    /// Path of the directory.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Folder of the machine of several computers, which goes with it where it has copies.
    pub(crate) fn machine(&self) -> Option<PathBuf> {
        self.copies.is_none().then(|| self.path.join(MACHINE))
    }

    /// Ends a run: removes checkpoints that are not needed, or says how to continue from them.
    pub(crate) fn end<T>(mut self, done: Result<T, Failure>) -> Result<T, Failure> {
        let (kept, copies) = (self.kept.take(), self.copies.take());
        if kept.is_none() && copies.is_none() {
            return done;
        }
        let command = command(&self.named);
        let goes_on = |failure: &Failure| {
            let begins_anew = [FailureKind::Usage, FailureKind::Missing, FailureKind::Budget];
            failure.code() != 0 && failure.kind().is_none_or(|kind| !begins_anew.contains(&kind))
        };
        match done {
            Err(failure) if goes_on(&failure) || argv::is_resumed() && failure.code() != 0 => {
                // The machines are gone, and their files stay.
                self.kept = kept;
                if failure.kind() == Some(FailureKind::Cancelled) {
                    let failure = Failure::new(FailureKind::Resumable, "interrupted");
                    return Err(failure.hint(format!("{command} resumes it")));
                }
                Err(failure.and_hint(&format!("{command} resumes it")))
            }
            done => {
                interrupt::will_not_resume();
                let left = copies.and_then(|copies| copies.remove(DESCRIPTION).err());
                if let Some(error) = left {
                    say::line(format_args!("note: checkpoints are not all removed: {error}"));
                }
                done
            }
        }
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let is_elsewhere = |path: &Path| Location::of(path).is_some();
        if is_elsewhere(&self.path) || self.kept.is_some() {
            return;
        }
        if remove_files(&self.path) && self.named != self.path && !is_elsewhere(&self.named) {
            // It may have those of other machines.
            let _ = fs::remove_dir(&self.named);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_has_a_sum() {
        let kept = with_sum(b"{\"iterations\": 40}");
        assert_eq!(summed(&kept), Some(&b"{\"iterations\": 40}"[..]));
        for bit in 0..8 * kept.len() {
            let mut flipped = kept.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(summed(&flipped), None, "bit {bit}");
        }
        assert!((0..kept.len()).all(|length| summed(&kept[..length]).is_none()));
    }
}
