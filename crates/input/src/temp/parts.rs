//! Parts of the collector that are on scratch files, or may be.

use std::borrow::Cow;

use super::TempFiles;
use super::blob::Blob;
use crate::collect::{EdgeRun, PlacedRun};
use crate::error::InputError;

/// A part on a scratch file, with its place.
#[derive(Debug)]
pub(crate) struct Spilled {
    pub(crate) source: usize,
    pub(crate) number: u64,
    pub(crate) blob: Blob,
}

/// A part that its reader cannot push yet.
#[derive(Debug)]
pub(crate) enum Aside {
    Memory(EdgeRun),
    File(TempFiles, Blob),
}

impl Aside {
    /// Looks at the part.
    ///
    /// # Errors
    /// When it cannot be read from its file.
    pub(crate) fn look(&self) -> Result<Cow<'_, EdgeRun>, InputError> {
        match self {
            Self::Memory(part) => Ok(Cow::Borrowed(part)),
            Self::File(scratch, blob) => Ok(Cow::Owned(blob.load(scratch)?)),
        }
    }
}

impl Spilled {
    /// Moves a part to a file.
    pub(crate) fn write(scratch: &TempFiles, placed: PlacedRun) -> Result<Self, InputError> {
        let PlacedRun { source, number, part } = placed;
        Ok(Self { source, number, blob: Blob::write(scratch, part)? })
    }
}
