//! Attendance to others while something is done that may take long.
//!
//! A machine or a host that says nothing for some seconds is taken to be gone. So who does
//! something long has a thread beside it that shows others that it is there.
//!
//! **Invariant:** the attendance ends with the work, after a panic too. Tested by
//! `the_attendance_ends_with_the_work`.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{Builder, scope};
use std::time::Duration;

/// Does something that may take long, and calls `look` after each `wait` meanwhile, on a thread of
/// its own.
pub(crate) fn attended<T>(
    wait: Duration,
    mut look: impl FnMut() + Send,
    work: impl FnOnce() -> T,
) -> T {
    scope(|scope| {
        // The thread ends when this is dropped, at the end of the work.
        let (_lasts, is_over) = channel::<()>();
        let attend = move || {
            while is_over.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                look();
            }
        };
        // Without a thread others may miss this side, which they do for a while.
        let _ = Builder::new().name("attendance".to_owned()).spawn_scoped(scope, attend);
        work()
    })
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::thread::spawn;

    use super::*;

    const MINUTE: Duration = Duration::from_mins(1);

    #[test]
    fn the_attendance_ends_with_the_work() {
        let (looked, looks) = channel();
        let look = || looked.send(()).unwrap();
        // Two looks at least, while the work is not done.
        let work = || (0..2).all(|_| looks.recv_timeout(MINUTE).is_ok());
        assert!(attended(Duration::from_millis(1), look, work));
        // An attendance that does not notice the end has its first look in an hour.
        let (ended, ends) = channel();
        spawn(move || {
            let work = || assert!(ended.send(()).is_err(), "a bug");
            let attend = AssertUnwindSafe(|| attended(60 * MINUTE, || (), work));
            assert!(catch_unwind(attend).is_err());
            ended.send(()).unwrap();
        });
        assert!((0..2).all(|_| ends.recv_timeout(MINUTE).is_ok()));
    }
}
