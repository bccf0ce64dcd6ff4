//! Names in a folder, in an order that does not depend on the file system.

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use crate::error::InputError;

/// The names in a directory, in alphabetical order; none where there is no such directory.
pub(super) fn entries(directory: &Path) -> Result<Vec<OsString>, InputError> {
    let unread = |error| InputError::io(&directory.display().to_string(), "list", error);
    let read = match fs::read_dir(directory) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        read => read.map_err(unread)?,
    };
    let names = read.map(|entry| entry.map(|entry| entry.file_name()));
    let mut names = names.collect::<Result<Vec<_>, _>>().map_err(unread)?;
    names.sort_unstable();
    Ok(names)
}
