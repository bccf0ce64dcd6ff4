//! Ends of threads whose process ends soon, too.
//!
//! **Invariant:** a thread in a call of the system that never ends delays the end of its process by
//! a bounded time. Tested by `a_thread_that_does_not_end_is_left`.

use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

/// Time in which a thread ends that was told to, where its process ends soon.
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread::spawn;

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
}
