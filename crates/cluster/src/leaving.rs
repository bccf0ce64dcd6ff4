//! Ends of threads whose process ends soon, too, and of the files of a run.
//!
//! **Invariant:** a thread in a call of the system that never ends delays the end of its process by
//! a bounded time. Tested by `a_thread_that_does_not_end_is_left`. **Invariant:** so does a disk on
//! which files are removed. Checked in `done_within`. Tested by `a_removal_that_hangs_is_left`.

use std::path::Path;
use std::thread::{Builder, JoinHandle, sleep};
use std::time::{Duration, Instant};

/// Time in which a thread ends that was asked to, where its process ends soon.
pub(crate) const LEAVE: Duration = Duration::from_secs(5);

/// Waits for a while until a thread has ended, which else is not waited for any more. Whether it
/// has.
pub(crate) fn left(thread: &mut Option<JoinHandle<()>>, within: Duration) -> bool {
    let until = Instant::now() + within;
    let is_running = |thread: &JoinHandle<()>| !thread.is_finished();
    while thread.as_ref().is_some_and(is_running) {
        if Instant::now() > until {
            *thread = None;
            return false;
        }
        sleep(Duration::from_millis(1));
    }
    true
}

/// Time in which the files of a run are removed: many GB take seconds.
const REMOVAL: Duration = Duration::from_mins(1);

/// Removes the directory of a run that has ended, with all that is in it, as far as that can be
/// done. Whether its disk has answered within a minute; else it is left alone.
pub fn remove_files(directory: &Path) -> bool {
    let directory = directory.to_owned();
    // The result is what counts, and the name says what this is.
    done_within(REMOVAL, move || drop(std::fs::remove_dir_all(directory)))
}

/// Does a last thing, on a thread of its own, which is left where it takes longer. Whether it was
/// done.
fn done_within(time: Duration, work: impl FnOnce() + Send + 'static) -> bool {
    let mut thread = Builder::new().name("leaving".to_owned()).spawn(work).ok();
    thread.is_some() && left(&mut thread, time)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread::spawn;

    use tempfile::TempDir;

    use super::*;

    #[test]
    fn a_thread_that_does_not_end_is_left() {
        let (end, ends) = channel::<()>();
        let mut hung = Some(spawn(move || assert!(ends.recv().is_err())));
        assert!(!left(&mut hung, Duration::from_millis(100)) && hung.is_none());
        drop(end);
        let mut quick = Some(spawn(|| ()));
        assert!(left(&mut quick, Duration::from_mins(1)));
        assert!(quick.is_some_and(|it| it.is_finished()));
    }

    #[test]
    fn a_removal_that_hangs_is_left() {
        let (end, ends) = channel::<()>();
        let hang = move || assert!(ends.recv().is_err());
        assert!(!done_within(Duration::from_millis(100), hang));
        drop(end);
        assert!(done_within(Duration::from_mins(1), || ()));
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("run");
        std::fs::create_dir(&path).unwrap();
        std::fs::write(path.join("block"), "bytes").unwrap();
        // One that is gone already is no failure.
        assert!(remove_files(&path) && !path.exists() && remove_files(&path));
    }
}
