//! The files of a machine's disk: a file a block, a file a manifest, in a directory of its own.
//!
//! ```text
//! DIRECTORY/lock                   held by the process that uses it
//!          /incarnation            number of the last process of this rank, and a sum of it
//!          /blocks/NAME            pages of the payload | header of the block (72 bytes)
//!          /blocks/NAME.part       what was being written when a process ended
//!          /manifests/NAME         an encoded manifest
//!          /scratch                for a moment: it has no name when it has bytes
//! ```
//!
//! The payload comes first, so that it lies at whole pages and a device can read it into a
//! buffer; the header lies behind it, so that a file which was cut short has none. A file gets
//! its name when all of it is written, and is durable after a sync.
//!
//! Invariants:
//! - A name in `blocks` is that of the block in the file, and a process that ends in the middle of
//!   a write leaves none. Tested by `what_a_process_was_writing_is_no_block` and
//!   `a_file_under_another_name_is_no_block`.
//! - Two processes do not use one directory. Checked in `Folder::open`.
//! - No process has the number of another one because a bit of it flipped. Checked in
//!   `Folder::incarnation`. Tested by
//!   `one_process_at_a_time_uses_a_directory_and_each_gets_a_larger_number`.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use welter_protocol::block::{self, Damage, HEADER_BYTES};
use welter_protocol::checkpoint::{Age, Manifest};
use welter_protocol::ids::{Block, BlockName, Bytes, Generation, Role};
use welter_protocol::payload::{PAGE_BYTES, Payload, checksum};
use welter_protocol::{Event, Rank};
use welter_store::io::{Call, Faults, check, read_exact, sync_directory, write_all};
use welter_store::{StoreError, durable};

use crate::disk::copies::{Copies, MachineCopies, is_copied};
use crate::error::ClusterError;
use crate::pool::Pool;

/// Numbers of processes among which one is drawn that resumes a run from copies.
const EPOCHS_APART: u32 = 1 << 16;

/// Ending of the names of files that are being written.
const PART: &str = "part";

/// The directory of a machine, which no other process uses.
pub struct Folder {
    directory: PathBuf,
    faults: Option<Arc<Faults>>,
    pool: Pool,
    /// Copies of checkpoints elsewhere.
    copies: Option<MachineCopies>,
    _lock: File,
}

impl Folder {
    /// The folder in this directory, which is made where there is none. `faults` are for tests.
    ///
    /// # Errors
    /// When it cannot be made, or another process uses it.
    pub fn open(directory: &Path, faults: Option<Arc<Faults>>) -> Result<Self, ClusterError> {
        for part in ["blocks", "manifests"] {
            let path = directory.join(part);
            fs::create_dir_all(&path).map_err(|source| failed("make it", &path, source))?;
        }
        let path = directory.join("lock");
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let lock = lock.map_err(|source| failed("open it", &path, source))?;
        lock.try_lock().map_err(|_| ClusterError::InUse(directory.to_owned()))?;
        for path in [&directory.join("blocks"), &directory.join("manifests"), directory] {
            sync_directory(path, faults.as_ref())?;
        }
        let (pool, copies) = (Pool::new(0), None);
        Ok(Self { directory: directory.to_owned(), faults, pool, copies, _lock: lock })
    }

    /// The folder of the machine of a rank whose checkpoints are copied elsewhere, if they are.
    /// One that has nothing gets what the newest of them has for this machine.
    ///
    /// # Errors
    /// When the copies cannot be read, or kept here.
    pub(crate) fn with_copies(
        self,
        copies: Option<&Copies>,
        (rank, machines): (Rank, usize),
    ) -> Result<Self, ClusterError> {
        let Some(copies) = copies.map(|copies| copies.of(rank)) else { return Ok(self) };
        let newest = copies.newest()?;
        let is_empty = self.files("blocks")?.is_empty() && self.files("manifests")?.is_empty();
        if let Some(manifest) = newest.filter(|_| is_empty) {
            let places = Self::places(&manifest, (rank, machines));
            let sets = places.map(|(partition, chunk)| file_name(&manifest.name(partition, chunk)));
            let Generation { epoch, iteration } = manifest.generation;
            let edges = (iteration > 0).then(|| format!("edges-{epoch}-{iteration}-"));
            copies.fetch(sets.collect(), edges.as_deref(), &self.directory.join("blocks"))?;
            if rank == 0 {
                // No other cluster that resumes the run has the numbers of these epochs.
                let chance = welter_store::random_number() as u32 % EPOCHS_APART;
                self.incarnation(manifest.committed.coordinator.saturating_add(chance))?;
                self.persist(&manifest)?;
            }
        }
        Ok(Self { copies: Some(copies), ..self })
    }

    /// Directory of the folder.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Faults of its calls, for tests.
    pub(crate) fn faults(&self) -> Option<&Arc<Faults>> {
        self.faults.as_ref()
    }

    /// Keeps up to `bytes` bytes of pages of payloads that are gone, for others that are read.
    pub(crate) fn pool_up_to(&self, bytes: usize) {
        self.pool.keep_up_to(bytes);
    }

    /// The pool of such pages.
    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// A number that no process of this rank has had on this directory, above `least`.
    ///
    /// # Errors
    /// When it cannot be kept, or that of the last process is damaged.
    pub fn incarnation(&self, least: u32) -> Result<u32, ClusterError> {
        let path = self.directory.join("incarnation");
        let last = match fs::read(&path) {
            Ok(bytes) => incarnation_of(&bytes).ok_or_else(|| StoreError::Damaged {
                file: path.clone(),
                offset: 0,
                what: "it is no number of a process with its sum".to_owned(),
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(source) => return Err(failed("read it", &path, source).into()),
        };
        let next = last.max(least).saturating_add(1);
        durable::replace(&path, incarnation_line(next).as_bytes(), self.faults.as_ref())?;
        Ok(next)
    }

    /// Event with which a process starts: blocks whose headers are whole, read without their
    /// payloads, and manifests. What is neither is removed.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn start(&self) -> Result<Event, StoreError> {
        let mut blocks = Vec::new();
        for path in self.files("blocks")? {
            match self.header(&path) {
                Some(block) if self.place(&block.name) == path => blocks.push(block),
                _ => durable::remove(&path, self.faults.as_ref())?,
            }
        }
        blocks.sort_by_key(|block| block.name);
        debug_assert!(
            blocks.is_sorted_by(|one, next| one.name < next.name),
            "a name is that of one block"
        );
        let mut manifests = Vec::new();
        for path in self.files("manifests")? {
            let bytes = fs::read(&path).map_err(|source| failed("read it", &path, source))?;
            manifests.push(Bytes::from(bytes));
        }
        Ok(Event::Start { blocks, manifests })
    }

    fn files(&self, part: &str) -> Result<Vec<PathBuf>, StoreError> {
        let folder = self.directory.join(part);
        let listed = |source| failed("list it", &folder, source);
        let entries = fs::read_dir(&folder).map_err(listed)?;
        let mut paths = Vec::new();
        for entry in entries {
            paths.push(entry.map_err(listed)?.path());
        }
        paths.sort();
        Ok(paths)
    }

    /// The header at the end of a file, if it is that of a block as long as the file.
    fn header(&self, path: &Path) -> Option<Block> {
        let file = File::open(path).ok()?;
        self.header_of(&file, path).ok().and_then(|head| block::header(&head))
    }

    /// The bytes of a header at the end of a file, which has room for the payload that it states.
    fn header_of(&self, file: &File, path: &Path) -> Result<[u8; HEADER_BYTES], Unread> {
        let length = file.metadata().map_err(|source| failed("look at it", path, source))?.len();
        let at = length.checked_sub(HEADER_BYTES as u64).ok_or(Damage::Torn)?;
        let mut head = [0; HEADER_BYTES];
        read_exact(file, path, at, &mut head, self.faults.as_ref())?;
        let is_whole = |block: Block| pages(block.bytes as usize) as u64 == at;
        if block::header(&head).is_some_and(is_whole) { Ok(head) } else { Err(Damage::Torn.into()) }
    }

    /// The block of this name.
    ///
    /// # Errors
    /// When it is not there, damaged, or cannot be read.
    pub fn read(&self, name: BlockName) -> Result<(Block, Payload), Unread> {
        let path = self.place(&name);
        let file = match check(self.faults.as_ref(), Call::Open)
            .map_err(io::Error::from)
            .and_then(|()| File::open(&path))
        {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(Damage::Missing.into());
            }
            Err(source) => return Err(failed("open it", &path, source).into()),
        };
        let head = self.header_of(&file, &path)?;
        let bytes = block::header(&head).ok_or(Damage::Torn)?.bytes as usize;
        let mut buffer = self.pool.buffer(bytes);
        debug_assert_eq!(buffer.room().len(), pages(bytes), "a buffer has room for whole pages");
        read_exact(&file, &path, 0, buffer.room(), self.faults.as_ref())?;
        Ok(block::open(&head, buffer, name)?)
    }

    /// Writes a block. It is there as a whole when this returns, and durable after a sync.
    ///
    /// # Errors
    /// When it cannot be written; what had its name before is there still.
    pub fn write(&self, block: &Block, payload: &Payload) -> Result<(), StoreError> {
        let (path, faults) = (self.place(&block.name), self.faults.as_ref());
        let part = path.with_added_extension(PART);
        let file = check(faults, Call::Create)
            .map_err(io::Error::from)
            .and_then(|()| File::create(&part))
            .map_err(|source| StoreError::Create { file: part.clone(), source })?;
        let pages = payload.room();
        let is_whole = pages.len() == self::pages(payload.len());
        debug_assert!(is_whole, "a header lies behind whole pages");
        let written = write_all(&file, &part, 0, pages, faults)
            .and_then(|()| write_all(&file, &part, pages.len() as u64, &block::seal(block), faults))
            .and_then(|()| {
                let renamed = check(faults, Call::Rename).map_err(io::Error::from);
                renamed
                    .and_then(|()| fs::rename(&part, &path))
                    .map_err(|source| failed("give it its name", &part, source))
            });
        written.inspect_err(|_| {
            // The first error is the one to tell, and the name says what the file is.
            let _ = fs::remove_file(&part);
        })?;
        match &self.copies {
            Some(copies) if copies.is_due(&block.name) => {
                copies.put(&file_name(&block.name), &path)
            }
            _ => Ok(()),
        }
    }

    /// Waits until a block is on the device, and its copy elsewhere, if it has one. One that is not
    /// there was deleted. Its name is durable after [`Self::sync_names`].
    ///
    /// # Errors
    /// When it is not: the block is removed then, since it is not known what the device has of it.
    pub fn sync(&self, name: BlockName) -> Result<(), StoreError> {
        let path = self.place(&name);
        let synced = check(self.faults.as_ref(), Call::Sync)
            .map_err(io::Error::from)
            .and_then(|()| File::open(&path)?.sync_all());
        match synced {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(source) => {
                let _ = fs::remove_file(&path);
                Err(failed("sync it", &path, source))
            }
            Ok(()) => match &self.copies {
                Some(copies) if is_copied(&name) => copies.put(&file_name(&name), &path),
                _ => Ok(()),
            },
        }
    }

    /// Waits until the names of all blocks that are there are on the device.
    ///
    /// # Errors
    /// Failure of the sync.
    pub fn sync_names(&self) -> Result<(), StoreError> {
        sync_directory(&self.directory.join("blocks"), self.faults.as_ref())
    }

    /// Removes a block, if it is there.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn delete(&self, name: BlockName) -> Result<(), StoreError> {
        if let Some(copies) = &self.copies {
            copies.forget(&file_name(&name));
        }
        durable::remove(&self.place(&name), self.faults.as_ref())
    }

    /// Keeps a manifest durably, as a whole or not at all.
    ///
    /// # Errors
    /// When it cannot be kept.
    pub fn persist(&self, manifest: &Manifest) -> Result<(), StoreError> {
        let (path, bytes) = (self.manifest(manifest.age()), manifest.encode());
        debug_assert!(
            Manifest::decode(&bytes).is_some_and(|read| read == *manifest),
            "a manifest that is written is one that is read"
        );
        durable::replace(&path, &bytes, self.faults.as_ref())?;
        self.copies.as_ref().map_or(Ok(()), |copies| copies.commit(manifest))
    }

    /// Removes a manifest.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn forget(&self, age: Age) -> Result<(), StoreError> {
        durable::remove(&self.manifest(age), self.faults.as_ref())
    }

    fn manifest(&self, (epoch, version, is_scattered): Age) -> PathBuf {
        let scattered = if is_scattered { "-scattered" } else { "" };
        self.directory.join("manifests").join(format!("{epoch}-{version}{scattered}"))
    }

    /// File of a block.
    fn place(&self, name: &BlockName) -> PathBuf {
        self.directory.join("blocks").join(file_name(name))
    }
}

/// Name of the file of a block.
fn file_name(name: &BlockName) -> String {
    let BlockName { kind, epoch, iteration, partition, source, number, .. } = name;
    let role = if name.role == Role::Mirror { "mirror-" } else { "" };
    let kind = format!("{kind:?}").to_lowercase();
    let source = source.map_or(String::new(), |source| format!("_{source}"));
    format!("{role}{kind}-{epoch}-{iteration}-{partition}{source}-{number:x}")
}

/// Parts of the result that lie at a machine, by partition and chunk.
pub type Parts = Vec<((u32, u64), Payload)>;

impl Folder {
    /// The chunks of vertex sets of a finished run that lie here, of `machines`.
    ///
    /// # Errors
    /// When one is not there or damaged.
    pub fn vertices(
        &self,
        manifest: &Manifest,
        (rank, machines): (Rank, usize),
    ) -> Result<Parts, Unread> {
        Self::places(manifest, (rank, machines))
            .map(|(partition, chunk)| {
                let (_, payload) = self.read(manifest.name(partition, chunk))?;
                Ok(((partition, chunk), payload))
            })
            .collect()
    }

    /// Chunks of the vertex sets of a checkpoint that lie with a machine, by partition and place.
    pub(crate) fn places(
        manifest: &Manifest,
        (rank, machines): (Rank, usize),
    ) -> impl Iterator<Item = (u32, u64)> {
        let engine = welter_protocol::placement::vertex_engine;
        let parts = manifest.parts.iter().map(|part| (part.partition, part.chunk));
        parts.filter(move |&(partition, chunk)| engine(machines, partition, chunk) == rank)
    }
}

/// Reason why a block could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Unread {
    /// The block is not what was written.
    #[error("{0:?}")]
    Damage(Damage),
    /// The device or the system does not hand it out.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<Damage> for Unread {
    fn from(damage: Damage) -> Self {
        Self::Damage(damage)
    }
}

impl Unread {
    /// Damage as the protocol knows it: what a device does not hand out is as good as torn.
    pub fn damage(&self) -> Damage {
        match self {
            Self::Damage(damage) => *damage,
            Self::Store(_) => Damage::Torn,
        }
    }
}

/// Bytes of the pages of a payload of `bytes` bytes.
fn pages(bytes: usize) -> usize {
    bytes.next_multiple_of(PAGE_BYTES)
}

/// The line of an incarnation: the number, and a sum of its digits.
fn incarnation_line(number: u32) -> String {
    let digits = number.to_string();
    format!("{digits} {:016x}\n", checksum(digits.as_bytes()))
}

/// The incarnation of a line, if it is one.
fn incarnation_of(line: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(line).ok()?;
    let number = text.split(' ').next()?.parse().ok()?;
    (incarnation_line(number) == text).then_some(number)
}

fn failed(what: &'static str, path: &Path, source: io::Error) -> StoreError {
    StoreError::Io { what, file: path.to_owned(), source }
}

#[cfg(test)]
mod tests;
