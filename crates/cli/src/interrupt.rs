//! Ctrl-C: the run ends within a second and leaves no temporary files.
//!
//! The first signal asks all loops to end, and the usual way out removes what was half written. A
//! loop that does not end in time (a device that does not answer, say), or a second signal, ends
//! the process at once; temporary files are removed by name then, and uploads given up. Names of
//! objects that a probe puts into a bucket are not known here: the first signal waits for their
//! removal, for a bounded time, and what may be left is said.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use welter_engine::kept;
use welter_progress::{FailureKind, Progress};

use crate::exit_code;
use crate::failure::{Failure, printable};
use crate::say;

/// Time that loops may take to end. Nearly all do in 100 ms; the rest of the second is for the
/// kernel, which takes about 100 ms to free each GB that the process held.
const PATIENCE: Duration = Duration::from_millis(300);

/// Time that stores may take to drop uploads that have not ended.
const UPLOADS_PATIENCE: Duration = Duration::from_millis(300);

/// Time that stores may take to remove objects that are of no use to any one.
const REMOVALS_PATIENCE: Duration = Duration::from_secs(5);

/// Time that standard error may take to take the last message.
const MESSAGE_PATIENCE: Duration = Duration::from_millis(100);

/// Whether a signal came.
static CAME: AtomicBool = AtomicBool::new(false);

/// Outputs that may be half written.
static OUTPUTS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removals to come or under way, by what is left without them.
static REMOVALS: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// Notified when one has ended.
static REMOVED: Condvar = Condvar::new();

/// The command that resumes this run, where there is one.
static RESUMES: Mutex<Option<String>> = Mutex::new(None);

/// Lets a write beyond the largest file that this process may make (`ulimit -f`) fail as any other,
/// instead of ending the process.
pub(crate) fn ignore_file_limit() {
    // A handler that does nothing of note. Where there can be none, the system's way stays.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
}

/// Begins to listen for Ctrl-C, SIGTERM, and SIGHUP where it is not ignored (as by `nohup`).
pub(crate) fn listen(progress: &Progress) -> Result<(), Failure> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mut kinds = vec![SIGINT, SIGTERM];
    if !is_ignored(&status, SIGHUP) {
        kinds.push(SIGHUP);
    }
    let failed =
        |error| Failure::new(FailureKind::Storage, format!("cannot listen for Ctrl-C: {error}"));
    let mut signals = Signals::new(kinds).map_err(failed)?;
    let progress = progress.clone();
    let wait = move || {
        if signals.forever().next().is_some() {
            CAME.store(true, Ordering::Relaxed);
            progress.cancel();
            let watch = || {
                std::thread::sleep(PATIENCE);
                // The usual way out has little left to do then.
                if removals_end() {
                    std::thread::sleep(PATIENCE);
                }
                leave();
            };
            if std::thread::Builder::new().spawn(watch).is_err() {
                watch();
            }
        }
        if signals.forever().next().is_some() {
            leave();
        }
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(wait).map_err(failed)?;
    Ok(())
}

/// Whether the user wants the command to end: its exit code says so even where the work was done
/// before the command looked, so that a script which runs several commands ends too.
pub(crate) fn came() -> bool {
    CAME.load(Ordering::Relaxed)
}

/// Remembers that a file may be written, under a temporary name first.
pub(crate) fn will_write(path: &Path) {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    OUTPUTS.lock().unwrap_or_else(PoisonError::into_inner).push(path);
}

/// A removal on the usual way out, which has ended when this is dropped.
#[derive(Debug)]
pub(crate) struct Removal(String);

/// Remembers that something will be removed on the usual way out, whatever leads there. `left`:
/// what may be left where it is not.
pub(crate) fn will_remove(left: String) -> Removal {
    REMOVALS.lock().unwrap_or_else(PoisonError::into_inner).push(left.clone());
    Removal(left)
}

impl Drop for Removal {
    fn drop(&mut self) {
        let mut all = REMOVALS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = all.iter().position(|left| *left == self.0) {
            all.swap_remove(place);
        }
        REMOVED.notify_all();
    }
}

/// Waits for removals. Whether there were some, and all have ended.
fn removals_end() -> bool {
    let all = REMOVALS.lock().unwrap_or_else(PoisonError::into_inner);
    if all.is_empty() {
        return false;
    }
    let waited = REMOVED.wait_timeout_while(all, REMOVALS_PATIENCE, |all| !all.is_empty());
    let (all, _) = waited.unwrap_or_else(PoisonError::into_inner);
    all.is_empty()
}

/// Remembers which command resumes this run, if it is ended.
pub(crate) fn will_resume(command: &str) {
    *RESUMES.lock().unwrap_or_else(PoisonError::into_inner) = Some(command.to_owned());
}

/// Forgets it: the run has ended.
pub(crate) fn will_not_resume() {
    *RESUMES.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

/// Ends the process.
fn leave() -> ! {
    // A lock that is held for longer than it takes to push a path is no reason to stay.
    if let Ok(outputs) = OUTPUTS.try_lock() {
        outputs.iter().for_each(|path| remove_temporary(path));
    }
    let left = welter_objects::give_up_all(UPLOADS_PATIENCE);
    let unremoved = REMOVALS.try_lock().map(|all| all.clone()).unwrap_or_default();
    // The terminal may have no reader, and then a message waits for ever, as may the drawing of
    // progress, which holds the lock on standard error.
    let resumes = RESUMES.try_lock().ok().and_then(|resumes| resumes.clone());
    let kind = if resumes.is_some() { FailureKind::Resumable } else { FailureKind::Cancelled };
    let (sender, receiver) = std::sync::mpsc::channel();
    let tell = move || {
        say::line("error: interrupted");
        for name in left {
            let name = printable(&name);
            say::line(format_args!("note: {name}: parts of it may have been uploaded and be left"));
        }
        for name in unremoved {
            say::line(format_args!("note: {} may be left", printable(&name)));
        }
        if let Some(command) = resumes {
            let command = printable(&command);
            say::line(format_args!("hint: {command} resumes from the last checkpoint"));
        }
        sender.send(())
    };
    if std::thread::Builder::new().spawn(tell).is_ok() {
        let _ = receiver.recv_timeout(MESSAGE_PATIENCE);
    }
    std::process::exit(exit_code::of(kind).into());
}

/// Removes the temporary files that this process may have made beside an output.
fn remove_temporary(path: &Path) {
    let Some(name) = path.file_name() else { return };
    let mine = [b".", name.as_bytes(), format!(".tmp-{}", std::process::id()).as_bytes()].concat();
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let found = entry.file_name();
        let rest = found.as_bytes().strip_prefix(&mine[..]);
        if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"-")) {
            // An error cannot be reported any more, and the name says what the file is.
            let path = entry.path();
            let _ = if path.is_dir() { kept::remove_draft(&path) } else { fs::remove_file(path) };
        }
    }
}

/// Whether a signal is ignored, by the status of the process as Linux states it.
fn is_ignored(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_own_temporary_files_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let id = std::process::id();
        let own = [format!(".out.csv.tmp-{id}"), format!(".out.csv.tmp-{id}-1")];
        let others = [format!(".out.csv.tmp-{id}0"), ".out.csv.tmp-x".into(), "out.csv".into()];
        for name in own.iter().chain(&others) {
            fs::write(folder.path().join(name), "").unwrap();
        }
        remove_temporary(&folder.path().join("out.csv"));
        for name in own {
            assert!(!folder.path().join(name).exists());
        }
        for name in others {
            assert!(folder.path().join(name).exists());
        }
    }

    #[test]
    fn removals_are_waited_for() {
        assert!(!removals_end());
        let removal = will_remove("s3://box/welter-probe-*".to_owned());
        let removing = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            drop(removal);
        });
        assert!(removals_end());
        removing.join().unwrap();
        assert!(!removals_end());
    }

    #[test]
    fn ignored_signals_are_seen() {
        let status = "Name:\twelter\nSigIgn:\t0000000000000001\nSigCgt:\t0\n";
        assert!(is_ignored(status, SIGHUP));
        assert!(!is_ignored(status, SIGINT));
        assert!(!is_ignored("", SIGHUP));
    }
}
