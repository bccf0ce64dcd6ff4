//! Directories of this machine, where a bucket will not do.

use std::path::Path;

use welter_objects::Location;

use crate::failure::Failure;

/// Refuses the URL of an object where a directory is needed, which would be made under such a name.
/// `what`: what is kept there.
pub(crate) fn only(directory: &Path, what: &str) -> Result<(), Failure> {
    match Location::of(directory) {
        None => Ok(()),
        Some(location) => {
            let name = location.map_or_else(|error| error.name().to_owned(), |at| at.to_string());
            let what = format!("{name}: {what} in a directory, and in no bucket");
            Err(Failure::usage(what).hint("name a directory of this machine"))
        }
    }
}
