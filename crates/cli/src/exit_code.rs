//! Exit codes of the command, which the help lists.

use welter_progress::FailureKind;

/// The exit code of a kind of failure: those of `sysexits` where there is one, of the shell where a
/// signal ends a process.
pub(crate) const fn of(kind: FailureKind) -> u8 {
    match kind {
        FailureKind::Usage => 2,
        FailureKind::Input => 65,
        FailureKind::Missing => 66,
        FailureKind::Damaged | FailureKind::Internal => 70,
        FailureKind::Output => 73,
        FailureKind::Storage => 74,
        FailureKind::Resumable => 75,
        FailureKind::Permission => 77,
        FailureKind::Budget => 78,
        FailureKind::Cancelled => 130,
    }
}
