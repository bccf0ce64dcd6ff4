//! Rules that files and objects have in common: what is hidden, and what is a part of a table.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::error::InputError;

/// Whether a path that a pattern matches has a dot before a name, and the pattern has none there.
pub(super) fn is_hidden(pattern: &Path, path: &Path) -> bool {
    let dotted = |part: &OsStr| part.as_bytes().starts_with(b".");
    let common = pattern.iter().zip(path).take_while(|(part, found)| part == found).count();
    path.iter().skip(common).any(dotted) && !pattern.iter().skip(common).any(dotted)
}

/// Whether a folder is one part of a table, such as `src=1`.
pub(super) fn is_partition(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_bytes().iter().skip(1).any(|byte| *byte == b'='))
}

/// The error about a folder that is no part of a table.
pub(super) fn nested(path: &Path) -> InputError {
    let what = "is a directory inside of one; expected files, or folders such as src=1; name the \
                files, such as with the pattern 'DIR/**/*.csv'";
    InputError::content(&path.display().to_string(), what)
}

/// The error about an input that stands for nothing.
pub(super) fn missing(path: &Path, what: &str) -> InputError {
    InputError::Missing { file: path.display().to_string(), what: what.to_owned() }
}
