//! Whether the answers that a thread waits for are wanted still, where no object says so: objects
//! that are listed and opened are not there yet.

use std::cell::RefCell;
use std::future::Future;
use std::sync::Arc;

use crate::error::{ObjectError, ObjectErrorKind};
use crate::runtime::{self, Stopped};

thread_local! {
    static STOPPED: RefCell<Option<Arc<Stopped>>> = const { RefCell::new(None) };
}

/// Says whether what a thread waits for is not wanted any more: for threads that work for it.
#[derive(Clone)]
pub struct Cancellation(Option<Arc<Stopped>>);

impl Cancellation {
    /// The word that was given on this thread.
    pub fn here() -> Self {
        Self(STOPPED.with_borrow(Clone::clone))
    }

    /// As long as `stopped` does not say that it is not.
    pub fn until(stopped: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(stopped)))
    }

    /// Whether it is not wanted any more.
    pub fn ended(&self) -> bool {
        self.0.as_ref().is_some_and(|stopped| stopped())
    }

    /// A cancellation that is made as soon as one of both is.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        match (&self.0, &other.0) {
            (Some(_), Some(_)) => {
                let (one, other) = (self.clone(), other.clone());
                Self::until(move || one.ended() || other.ended())
            }
            (Some(_), None) => self.clone(),
            (None, _) => other.clone(),
        }
    }

    /// Does something whose requests are given up when they are not wanted any more.
    pub fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        /// The one before, put back however the work ends.
        struct Before(Option<Arc<Stopped>>);
        impl Drop for Before {
            fn drop(&mut self) {
                STOPPED.set(self.0.take());
            }
        }
        let _before = Before(STOPPED.replace(self.0.clone()));
        work()
    }
}

impl std::fmt::Debug for Cancellation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Wanted").field(&self.0.is_some()).finish()
    }
}

/// Waits for a request about `name` as long as it is wanted on this thread.
pub(crate) fn wait<T>(name: &str, request: impl Future<Output = T>) -> Result<T, ObjectError> {
    let here = Cancellation::here();
    let done = runtime::wait_unless(request, &|| here.ended());
    let done = done.map_err(|error| ObjectError::unstarted(name, &error))?;
    done.ok_or_else(|| ObjectError::new(name, ObjectErrorKind::Stopped, "it was given up"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_wanted_is_given_up_and_the_rest_goes_on() {
        let never = std::future::pending::<()>;
        let ended = Cancellation::until(|| true).during(|| {
            let helper = Cancellation::here();
            let other = std::thread::spawn(move || helper.during(|| wait("b", never())));
            (wait("a", never()), other.join().unwrap())
        });
        for error in [ended.0.unwrap_err(), ended.1.unwrap_err()] {
            assert_eq!(error.kind(), ObjectErrorKind::Stopped);
        }
        assert_eq!(wait("c", async { 7 }).unwrap(), 7);
    }

    #[test]
    fn of_two_words_one_is_enough() {
        let word = |ended: bool| Cancellation::until(move || ended);
        let none = Cancellation::here();
        for (one, other, ended) in [
            (word(true), word(false), true),
            (word(false), word(true), true),
            (word(false), word(false), false),
            (word(true), none.clone(), true),
            (none.clone(), word(true), true),
            (none.clone(), none, false),
        ] {
            assert_eq!(one.or(&other).ended(), ended, "{one:?} {other:?}");
        }
    }
}
