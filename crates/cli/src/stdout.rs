//! Standard output, and lines on what was written.

use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use welter_engine::plan::human_bytes;
use welter_output::sync_direct;

use crate::failure::{Failure, printable};

/// A line on a file that was written.
pub(crate) fn wrote(path: &Path, what: &str) -> String {
    let size = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file);
    let size = size.map_or(String::new(), |found| format!(", {}", human_bytes(found.len())));
    format!("{}: {what}{size}", printable(&path.display().to_string()))
}

/// Whether an output is standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Whether an output is a directory of parts.
pub(crate) fn is_directory(path: &Path) -> bool {
    path.as_os_str().as_bytes().ends_with(b"/")
}

/// Writes to standard output.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes()).map_err(|error| Failure::stdout(&error))?;
    drop(stdout);
    end_stdout()
}

/// Waits until all that was written to standard output is where it goes: on the device, if that is
/// a file.
pub(crate) fn end_stdout() -> Result<(), Failure> {
    let mut stdout = std::io::stdout();
    let ended = stdout.flush().and_then(|()| {
        let file = stdout.as_fd().try_clone_to_owned()?;
        sync_direct(&file.into())
    });
    ended.map_err(|error| Failure::stdout(&error))
}
