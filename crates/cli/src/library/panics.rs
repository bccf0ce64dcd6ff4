//! A panic is an error like any other to a caller in this process.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use welter_objects::Cancellation;
use welter_progress::{FailureKind, Progress};

use crate::failure::{Failure, NO_THREAD, is_refused_thread};

/// Does something, and makes a failure of a panic.
pub(super) fn caught<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
        if is_refused_thread(&*payload) {
            return Err(Failure::new(FailureKind::Budget, NO_THREAD));
        }
        let what = format!("broken invariant: {}", message(&*payload));
        Err(Failure::new(FailureKind::Internal, what)
            .hint("this is a bug in welter; please report it, with what led to it"))
    })
}

/// As [`caught`], for a caller who may end it meanwhile: also while inputs are listed and opened.
pub(super) fn wanted<T>(
    progress: &Progress,
    work: impl FnOnce() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let progress = progress.clone();
    caught(|| Cancellation::until(move || progress.cancelled()).during(work))
}

fn message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_failure_with_its_message() {
        let failure = caught::<()>(|| panic!("the {}", "cause")).unwrap_err();
        assert_eq!((failure.code(), failure.message()), (70, "broken invariant: the cause"));
    }
}
