//! The command line of this process, which reports and checkpoints keep.

use std::ffi::OsString;
use std::sync::OnceLock;

static LINE: OnceLock<Vec<OsString>> = OnceLock::new();

/// Keeps it. The first one stays: a process is one command.
pub(crate) fn keep(line: Vec<OsString>) {
    LINE.get_or_init(|| line);
}

/// What was kept; nothing where no command was given, as in a library.
pub(crate) fn words() -> &'static [OsString] {
    LINE.get().map_or(&[], Vec::as_slice)
}

/// The same, for people.
pub(crate) fn shown() -> Vec<String> {
    words().iter().map(|word| word.to_string_lossy().into_owned()).collect()
}
