//! Whether files are still what they were when they were opened.
//!
//! An input is read more than once: its beginning to know what it is, all of it for edges, raw
//! records again for each pass. One that is rewritten, grows or shrinks meanwhile would become a
//! graph that was never stored. It is noticed by its size, its time of change and which file its
//! name stands for; a pipe can be read but once and needs no witness. Requests for an object state
//! its entity tag, so that each of them notices.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use welter_model::edges::{Batch, EdgeStream, StreamError};
use welter_model::stream_wrapper::StreamWrapper;
use welter_objects::Object;

use crate::error::InputError;

/// Witness of a file or an object as it was when it was opened.
#[derive(Clone, Debug)]
pub(crate) struct Witness {
    name: String,
    seen: Identity,
}

#[derive(Clone, Debug)]
enum Identity {
    File(PathBuf, Stamp),
    Object(Object),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    file: (u64, u64),
    bytes: u64,
    /// Seconds and nanoseconds.
    modified: (i64, i64),
}

impl Stamp {
    pub(super) fn of(found: &Metadata) -> Self {
        Self {
            file: (found.dev(), found.ino()),
            bytes: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
        }
    }
}

impl Witness {
    pub(super) fn new(name: &str, path: &Path, stamp: Stamp) -> Self {
        Self { name: name.to_owned(), seen: Identity::File(path.to_owned(), stamp) }
    }

    pub(super) fn of_object(object: &Object) -> Self {
        Self { name: object.name().to_owned(), seen: Identity::Object(object.clone()) }
    }

    /// Refuses a file that has changed. One that is gone was read from what was left of it.
    pub(crate) fn check(&self) -> Result<(), InputError> {
        let (path, stamp) = match &self.seen {
            Identity::File(path, stamp) => (path, stamp),
            Identity::Object(object) => {
                return object.check().map_err(|error| InputError::of_object(&error));
            }
        };
        let Ok(found) = fs::metadata(path) else { return Ok(()) };
        let now = Stamp::of(&found);
        if now == *stamp {
            return Ok(());
        }
        let what = if now.bytes == stamp.bytes {
            "the file was written to while it was read".to_owned()
        } else {
            format!(
                "the file had {} bytes when it was opened and has {} now",
                stamp.bytes, now.bytes
            )
        };
        let what = format!("{what}; read it again when nothing writes to it");
        Err(InputError::Changed { file: self.name.clone(), what })
    }
}

/// Edges that stay in files, which must not change as long as edges are read from them.
pub(crate) struct Watched {
    pub(crate) edges: Box<dyn EdgeStream>,
    pub(crate) witnesses: Vec<Witness>,
}

impl Watched {
    /// Looks at one of the files, each in its turn: a pass over all parts looks at all of them.
    fn check(&self, part: usize) -> Result<(), StreamError> {
        let parts = self.edges.parts().max(1);
        let each = self.witnesses.iter().skip(part).step_by(parts);
        each.map(Witness::check).try_for_each(|checked| checked)?;
        if let Some(more) = part.checked_rem(self.witnesses.len()) {
            self.witnesses[more].check()?;
        }
        Ok(())
    }
}

impl StreamWrapper for Watched {
    type Inner = dyn EdgeStream;

    fn inner(&self) -> &Self::Inner {
        &*self.edges
    }

    fn read_through(
        &self,
        part: usize,
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        self.edges.read(part, visit)?;
        self.check(part)
    }
}
