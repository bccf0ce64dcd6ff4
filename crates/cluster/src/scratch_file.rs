//! The scratch file of a machine: bytes that its worker has no room for in memory.
//!
//! The file is made when it is first written to, and its name is taken from it at once, so nothing
//! of it is left when the process ends, however that happens: another process of the rank finds a
//! name without bytes at most, and makes the file anew. An epoch that ends leaves bytes until the
//! worker opens its next partition.
//!
//! Invariant: bytes that are read are those that were appended since the last `clear`, or an error;
//! the worker compares the checksums of its chunks besides. Tested by
//! `bytes_come_back_until_they_are_cleared`.

use std::fs::{File, OpenOptions, remove_file};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use welter_engine::EngineError;
use welter_store::StoreError;
use welter_store::io::{Call, check, read_exact, write_all};
use welter_worker::ScratchSpace;

use crate::disk::folder::Folder;

/// A file without a name in the folder of a machine.
pub(crate) struct ScratchFile {
    folder: Arc<Folder>,
    /// Name that the file had for a moment.
    path: PathBuf,
    file: Option<File>,
    /// Number of bytes that were appended.
    bytes: u64,
}

impl ScratchFile {
    /// A file in this folder, which is not made yet.
    pub(crate) fn new(folder: Arc<Folder>) -> Self {
        let path = folder.directory().join("scratch");
        Self { folder, path, file: None, bytes: 0 }
    }

    fn failed(&self, what: &'static str, source: io::Error) -> EngineError {
        StoreError::Io { what, file: self.path.clone(), source }.into()
    }

    /// A file whose name is taken from it at once.
    fn make(&self) -> Result<File, EngineError> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true);
        let made = check(self.folder.faults(), Call::Create)
            .map_err(io::Error::from)
            .and_then(|()| options.open(&self.path));
        let file = made.map_err(|source| self.failed("make it", source))?;
        let unnamed = remove_file(&self.path);
        unnamed.map_err(|source| self.failed("take its name away", source))?;
        Ok(file)
    }
}

impl ScratchSpace for ScratchFile {
    fn append(&mut self, bytes: &[u8]) -> Result<u64, EngineError> {
        let file = match self.file.take() {
            Some(file) => file,
            None => self.make()?,
        };
        let file = self.file.insert(file);
        let offset = self.bytes;
        write_all(file, &self.path, offset, bytes, self.folder.faults())?;
        self.bytes += bytes.len() as u64;
        Ok(offset)
    }

    fn read(&mut self, offset: u64, bytes: &mut [u8]) -> Result<(), EngineError> {
        let Some(file) = &self.file else {
            return Err(EngineError::internal("bytes that were not written"));
        };
        Ok(read_exact(file, &self.path, offset, bytes, self.folder.faults())?)
    }

    fn clear(&mut self) -> Result<(), EngineError> {
        self.bytes = 0;
        let emptied = self.file.as_ref().map_or(Ok(()), |file| file.set_len(0));
        emptied.map_err(|source| self.failed("empty it", source))
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn bytes_come_back_until_they_are_cleared() {
        let directory = TempDir::new().unwrap();
        let folder = Arc::new(Folder::open(directory.path(), None).unwrap());
        let names = || std::fs::read_dir(directory.path()).unwrap().count();
        let before = names();
        // A name that a process left which ended as soon as it had made it.
        std::fs::write(directory.path().join("scratch"), "bytes").unwrap();
        let mut scratch = ScratchFile::new(folder);
        let mut found = [0; 3];
        assert!(scratch.read(0, &mut found).is_err(), "nothing was written");
        for round in 0..2 {
            let places = [[1, 2, 3], [4, 5, 6]].map(|bytes| scratch.append(&bytes).unwrap());
            assert_eq!(places, [0, 3], "round {round}");
            for (place, bytes) in places.into_iter().zip([[1, 2, 3], [4, 5, 6]]) {
                scratch.read(place, &mut found).unwrap();
                assert_eq!(found, bytes);
            }
            assert!(scratch.read(4, &mut found).is_err(), "there is no more");
            assert_eq!(names(), before, "it has no name");
            scratch.clear().unwrap();
            assert!(scratch.read(0, &mut found).is_err(), "all is forgotten");
        }
    }
}
