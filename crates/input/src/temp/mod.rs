//! Temporary files for what does not fit in memory: parts of edges ([`blob`]) and the stream that
//! reads them back ([`stream`]).
//!
//! A file has no name: it is made without one, or unlinked at once, so nothing is left behind
//! whatever ends the process. Each directory gets one file, and what is written goes to each of
//! them in turn, past those that are full.
//!
//! Invariants: what is written is read back as it was, or an error says that it has changed: the
//! CRC-32C of each block is kept in memory, so a block that was damaged, torn, never written or
//! read from the wrong place does not fit it · free space is looked at before a part is written,
//! and as soon as it can be foreseen that what comes will not fit, the run ends
//! ([`TempFiles::foresee`]). Tested by `any_bit_that_changed_is_noticed` and
//! `a_disk_that_will_be_full_is_told_before_it_is`.

pub(crate) mod blob;
pub(crate) mod parts;
pub(crate) mod stream;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Error, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use welter_store::checksum;

use crate::error::InputError;

/// Files of one kind, one in each directory. Gone when the last clone is dropped.
#[derive(Clone, Debug)]
pub(crate) struct TempFiles(Arc<Files>);

#[derive(Debug)]
struct Files {
    opened: Vec<TempFile>,
    /// The file that is tried first.
    next: AtomicUsize,
    /// Bytes given away, from which on it is looked again at what is to come.
    looked: AtomicU64,
}

#[derive(Debug)]
struct TempFile {
    directory: PathBuf,
    file: File,
    /// Bytes that were given away.
    end: AtomicU64,
}

/// Location of bytes in the temporary files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TempLocation {
    file: u32,
    offset: u64,
}

impl TempLocation {
    /// The place that is `bytes` bytes further on in the same file.
    pub(crate) fn plus(self, bytes: u64) -> Self {
        Self { offset: self.offset + bytes, ..self }
    }
}

impl TempFiles {
    /// Makes a file in each directory.
    ///
    /// # Errors
    /// [`InputError::ScratchMade`] where that cannot be done.
    pub(crate) fn make(directories: &[PathBuf]) -> Result<Self, InputError> {
        let make = |directory: &PathBuf| {
            let file = tempfile::tempfile_in(directory).map_err(|source| {
                InputError::ScratchMade { directory: directory.display().to_string(), source }
            })?;
            Ok(TempFile { directory: directory.clone(), file, end: AtomicU64::new(0) })
        };
        let opened = directories.iter().map(make).collect::<Result<_, InputError>>()?;
        let (next, looked) = (AtomicUsize::new(0), AtomicU64::new(0));
        Ok(Self(Arc::new(Files { opened, next, looked })))
    }

    /// Other files in the same directories, which can be dropped on their own.
    pub(crate) fn beside(&self) -> Result<Self, InputError> {
        let directories: Vec<_> = self.0.opened.iter().map(|file| file.directory.clone()).collect();
        Self::make(&directories)
    }

    /// Bytes that were given away so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.opened.iter().map(|file| file.end.load(Ordering::Relaxed)).sum()
    }

    /// Looks ahead each time that a quarter more was written: where `done` of `total` have taken
    /// what was given away so far, all the rest will take as much each. What is being worked on is
    /// to be counted as done, so that too little is foreseen rather than too much.
    ///
    /// # Errors
    /// [`InputError::ScratchShort`] when there will not be room for that.
    pub(crate) fn foresee(&self, done: u64, total: u64) -> Result<(), InputError> {
        let written = self.bytes();
        let looked = self.0.looked.load(Ordering::Relaxed);
        if written == 0 || done == 0 || written < looked {
            return Ok(());
        }
        self.0.looked.store(written + written / 4, Ordering::Relaxed);
        let left = u128::from(total.saturating_sub(done));
        let need = u128::from(written) * left / u128::from(done);
        self.ask(u64::try_from(need).unwrap_or(u64::MAX))
    }

    /// Makes sure that there is room for `need` more bytes.
    ///
    /// # Errors
    /// [`InputError::ScratchShort`] when there is not, as far as the system says.
    pub(crate) fn ask(&self, need: u64) -> Result<(), InputError> {
        let mut systems = BTreeMap::new();
        for file in &self.0.opened {
            let Some((stat, free)) = rustix::fs::fstat(&file.file).ok().zip(file.free_bytes())
            else {
                return Ok(());
            };
            systems.insert(stat.st_dev, free);
        }
        let free = systems.values().fold(0_u64, |all, free| all.saturating_add(*free));
        if need <= free {
            return Ok(());
        }
        Err(InputError::ScratchShort { directory: self.names(), need, free })
    }

    /// Finds a place for `bytes` bytes, in a directory with so much space.
    pub(crate) fn place(&self, bytes: u64) -> Result<TempLocation, InputError> {
        let files = &self.0.opened;
        let first = self.0.next.fetch_add(1, Ordering::Relaxed);
        for turn in 0..files.len() {
            let file = (first + turn) % files.len();
            let opened = &files[file];
            if opened.free_bytes().is_none_or(|free| free >= bytes) {
                let offset = opened.end.fetch_add(bytes, Ordering::Relaxed);
                return Ok(TempLocation { file: file as u32, offset });
            }
        }
        Err(self.full(bytes))
    }

    /// Writes bytes, and returns their checksum.
    pub(crate) fn write(&self, place: TempLocation, bytes: &[u8]) -> Result<u32, InputError> {
        let file = &self.0.opened[place.file as usize];
        file.file.write_all_at(bytes, place.offset).map_err(|source| match source.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => self.full(bytes.len() as u64),
            _ => file.error(format!("write at byte {}", place.offset), source),
        })?;
        Ok(checksum::of(bytes))
    }

    /// Reads bytes that have this checksum.
    pub(crate) fn read(
        &self,
        place: TempLocation,
        bytes: &mut [u8],
        sum: u32,
    ) -> Result<(), InputError> {
        let file = &self.0.opened[place.file as usize];
        let damaged = |what: String| InputError::ScratchDamaged {
            directory: file.directory.display().to_string(),
            offset: place.offset,
            what,
        };
        file.file.read_exact_at(bytes, place.offset).map_err(|source| match source.kind() {
            ErrorKind::UnexpectedEof => {
                damaged(format!("expected {} bytes, found the end of the file", bytes.len()))
            }
            _ => file.error(format!("read at byte {}", place.offset), source),
        })?;
        let found = checksum::of(bytes);
        if found == sum {
            return Ok(());
        }
        let count = bytes.len();
        Err(damaged(format!(
            "expected {count} bytes with the checksum {sum:08x}, found {found:08x}; they changed \
             after they were written"
        )))
    }

    fn full(&self, bytes: u64) -> InputError {
        InputError::ScratchFull { directory: self.names(), bytes }
    }

    /// The directories, for people.
    fn names(&self) -> String {
        let names = self.0.opened.iter().map(|file| file.directory.display().to_string());
        names.collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
impl TempFiles {
    /// The files themselves, to be damaged.
    pub(crate) fn files(&self) -> impl Iterator<Item = &File> {
        self.0.opened.iter().map(|file| &file.file)
    }
}

impl TempFile {
    /// Space that is left in the directory, where the system says.
    fn free_bytes(&self) -> Option<u64> {
        let free = rustix::fs::fstatvfs(&self.file).ok()?;
        Some(free.f_bavail.saturating_mul(free.f_frsize))
    }

    fn error(&self, action: String, source: Error) -> InputError {
        InputError::TempFiles { directory: self.directory.display().to_string(), action, source }
    }
}

/// The first of the directories whose files lie in memory instead of on a device.
pub(crate) fn in_memory(directories: &[PathBuf]) -> Option<&Path> {
    /// Number that Linux has for a file system that takes memory.
    const TMPFS: u64 = 0x0102_1994;
    let is = |directory: &&PathBuf| {
        rustix::fs::statfs(directory.as_path()).is_ok_and(|stat| stat.f_type as u64 == TMPFS)
    };
    directories.iter().find(is).map(PathBuf::as_path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use welter_progress::FailureKind;

    fn scratch() -> (tempfile::TempDir, TempFiles) {
        let folder = tempfile::tempdir().unwrap();
        let twice = [folder.path().to_owned(), folder.path().to_owned()];
        let scratch = TempFiles::make(&twice).unwrap();
        (folder, scratch)
    }

    #[test]
    fn room_of_a_file_system_counts_once() {
        let (folder, scratch) = scratch();
        let stat = rustix::fs::statvfs(folder.path()).unwrap();
        let all = stat.f_blocks * stat.f_frsize;
        scratch.ask(0).unwrap();
        let error = scratch.ask(2 * all).unwrap_err();
        let InputError::ScratchShort { directory, need, free } = &error else { panic!("{error}") };
        assert!(*need == 2 * all && *free <= all, "{error}");
        let name = folder.path().display().to_string();
        assert_eq!(*directory, format!("{name}, {name}"));
        assert_eq!(error.kind(), FailureKind::Storage);
    }

    #[test]
    fn what_is_left_will_take_as_much_as_what_was_done() {
        let (_folder, scratch) = scratch();
        // Nothing is foreseen before the first bytes are written.
        scratch.foresee(1, u64::MAX).unwrap();
        scratch.place(64).unwrap();
        scratch.foresee(1, 100).unwrap();
        // Looked at again once a quarter more was written.
        scratch.place(15).unwrap();
        scratch.foresee(1, u64::MAX).unwrap();
        scratch.place(1).unwrap();
        let error = scratch.foresee(3, 3 + (3 << 48)).unwrap_err();
        let expected = 80 << 48;
        assert!(matches!(error, InputError::ScratchShort { need, .. } if need == expected));
        scratch.place(128).unwrap();
        scratch.foresee(7, 7).unwrap();
        scratch.place(256).unwrap();
        scratch.foresee(0, u64::MAX).unwrap();
        assert!(scratch.foresee(1, u64::MAX).is_err());
    }
}
