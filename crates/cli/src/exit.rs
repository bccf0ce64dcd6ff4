//! End of the process: with one of the documented codes, also where something panics.

use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use welter_progress::FailureKind;

use crate::exit_code;
use crate::failure::{Failure, NO_THREAD, REPORT, is_refused_thread, printable};
use crate::interrupt;
use crate::say;

/// Does the work of a command, reports what went wrong, and returns the exit code.
pub(crate) fn code_of(work: impl FnOnce() -> Result<(), Failure>) -> u8 {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) if interrupt::came() => {
            Failure::new(FailureKind::Cancelled, "interrupted").report()
        }
        Ok(Ok(())) => 0,
        Ok(Err(failure)) => failure.report(),
        // The hook has said what.
        Err(payload) if is_refused_thread(&*payload) => exit_code::of(FailureKind::Budget),
        Err(_) => exit_code::of(FailureKind::Internal),
    }
}

/// Makes a panic one line on standard error instead of a dump; the first one only, since others
/// follow from it.
pub(crate) fn hook_panics() {
    static SAID: AtomicBool = AtomicBool::new(false);
    std::panic::set_hook(Box::new(|info| {
        if SAID.swap(true, Ordering::Relaxed) {
            return;
        }
        if is_refused_thread(info.payload()) {
            say::line(format_args!("error: {NO_THREAD}"));
        } else {
            say::line(format_args!("error: {}", describe(info)));
            say::line(format_args!("hint: {REPORT}"));
        }
    }));
}

fn describe(info: &PanicHookInfo<'_>) -> String {
    let message = info.payload_as_str().unwrap_or("no message");
    let place = info.location().map(|place| format!(" ({}:{})", place.file(), place.line()));
    format!("broken invariant: {}{}", printable(message), place.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Set in a process of its own, in which a panic may set the hook and end everything.
    const ALONE: &str = "WELTER_TEST_ALONE";

    #[test]
    fn a_panic_is_one_error_with_its_own_code() {
        if std::env::var_os(ALONE).is_some() {
            hook_panics();
            let code = code_of(|| {
                // A worker that panics takes the run with it, and only the first one is told.
                let worker = std::thread::spawn(|| panic!("a \u{1b}[31mworker"));
                let followed: Result<(), _> = worker.join();
                followed.expect("its work");
                Ok(())
            });
            std::process::exit(code.into());
        }
        let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
        alone.args(["--exact", "--nocapture"]).env(ALONE, "1");
        alone.arg("exit::tests::a_panic_is_one_error_with_its_own_code");
        let ended = alone.output().unwrap();
        let stderr = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(
            ended.status.code(),
            Some(exit_code::of(FailureKind::Internal).into()),
            "{stderr}"
        );
        let lines: Vec<&str> = stderr.lines().collect();
        assert_eq!(lines.len(), 2, "{stderr}");
        assert!(lines[0].starts_with("error: broken invariant: a \\u{1b}[31mworker ("), "{stderr}");
        assert!(lines[0].contains("exit.rs:"), "{stderr}");
        assert!(lines[1].starts_with("hint: this is a bug in welter"), "{stderr}");
    }
}
