//! The file of a cache: a head that says of which graph it is, and slots.
//!
//! ```text
//! 0        256 KiB      512 KiB      768 KiB
//! [ head ] [ slot 0 ]   [ slot 1 ]   [ slot 2 ] ···
//!           label, 64 bytes: magic, graph, generation, file, block, bytes, CRC-32C of all
//!           the block
//! ```
//! Nothing is synced: a slot that did not reach the device whole is found by its checksum.
//!
//! Invariant: a file that is not of this kind is never written to. Checked in `Slots::opened`.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytemuck::{Pod, Zeroable, bytes_of, pod_read_unaligned};
use rustix::fs::{FlockOperation, OFlags, flock};

use crate::{StoreError, checksum};

/// Bytes of a slot, and of the head of the file.
pub(super) const SLOT_BYTES: u64 = 256 << 10;
/// Bytes of what a slot says of itself.
pub(super) const LABEL_BYTES: u64 = 64;
/// Bytes of a block.
pub(super) const BLOCK_BYTES: u64 = SLOT_BYTES - LABEL_BYTES;

/// Name of the file in its directory.
pub const NAME: &str = "welter-edge-cache";
const MAGIC: [u8; 8] = *b"WELTEREC";
const SLOT_MAGIC: u64 = u64::from_le_bytes(*b"ECSLOT01");
const VERSION: u32 = 1;
/// A lock is asked for so often, with a pause in between.
const LOCK_ATTEMPTS: u32 = 50;
const LOCK_PAUSE: Duration = Duration::from_millis(20);
/// Bytes of a label that its checksum covers.
const LABELLED: usize = LABEL_BYTES as usize - 4;

/// A slot of which nothing is known yet.
const UNKNOWN: u8 = 0;
/// A slot that has nothing of use.
const EMPTY: u8 = 1;

/// The beginning of the file.
#[derive(Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
struct Head {
    magic: [u8; 8],
    version: u32,
    generation: u32,
    graph: u64,
    slots: u64,
    checksum: u32,
    /// Number of the place of this file among several, and of how slots are dealt to them; 0 where
    /// it is the only one.
    layout: u32,
}

const HEAD_BYTES: usize = size_of::<Head>();

impl Head {
    fn new((slots, layout): (u64, u32), (graph, generation): (u64, u32)) -> Self {
        let (magic, version) = (MAGIC, VERSION);
        let head = Self { magic, version, generation, graph, slots, layout, ..Self::zeroed() };
        Self { checksum: checksum::of(bytes_of(&head)), ..head }
    }
}

/// Words that a slot says of itself.
#[derive(Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Label {
    magic: u64,
    graph: u64,
    block: u64,
    generation: u32,
    file: u32,
    bytes: u32,
    zeros: [u32; 6],
    checksum: u32,
}

const _: () = assert!(size_of::<Label>() == LABEL_BYTES as usize);

impl Label {
    /// The label of a block of a file, without a checksum.
    pub(super) fn of(
        (graph, generation): (u64, u32),
        (file, block): (u32, u64),
        bytes: u32,
    ) -> Self {
        Self { magic: SLOT_MAGIC, graph, block, generation, file, bytes, ..Self::zeroed() }
    }

    /// The label with the checksum of it and of the block.
    fn sealed(self, block: &[u8]) -> Self {
        let sum = checksum::of(&bytes_of(&self)[..LABELLED]);
        Self { checksum: checksum::append(sum, block), ..self }
    }
}

/// State in which a slot was found.
pub(super) enum SlotState {
    Whole,
    Nothing,
    Damaged,
}

/// The file, which is locked; none of a plan, which makes nothing.
#[derive(Debug)]
pub(super) struct Slots {
    file: Option<File>,
    path: PathBuf,
    known: Vec<AtomicU8>,
    /// Whether a write to the file failed.
    is_full: AtomicBool,
    trouble: Mutex<Option<String>>,
}

impl Slots {
    /// Opens the file of a directory for `slots` slots, or begins it anew. `layout`: number of its
    /// place among several files.
    pub(super) fn open(
        directory: &Path,
        (slots, layout): (u64, u32),
        graph: (u64, u32),
    ) -> Result<Self, StoreError> {
        if let Err(error) = fs::create_dir(directory)
            && error.kind() != ErrorKind::AlreadyExists
        {
            return Err(StoreError::create(directory, error));
        }
        let path = directory.join(NAME);
        let file = Self::opened(&path, &Head::new((slots, layout), graph))?;
        let (file, known) = (Some(file), states(slots, UNKNOWN)?);
        let (is_full, trouble) = (AtomicBool::new(false), Mutex::default());
        Ok(Self { file, path, known, is_full, trouble })
    }

    /// Slots without a file: all are empty and stay so.
    pub(super) fn planned(directory: &Path, slots: u64) -> Result<Self, StoreError> {
        let (path, known) = (directory.join(NAME), states(slots, EMPTY)?);
        let (is_full, trouble) = (AtomicBool::new(true), Mutex::default());
        Ok(Self { file: None, path, known, is_full, trouble })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The file with a shared lock and this head.
    fn opened(path: &Path, head: &Head) -> Result<File, StoreError> {
        let flags = OFlags::NOFOLLOW.bits() as i32;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = options.custom_flags(flags).open(path);
        let file = file.map_err(|error| StoreError::create(path, error))?;
        let failed = |what| move |error: io::Error| StoreError::io(what, path, error);
        if !file.metadata().map_err(failed("look at"))?.is_file() {
            return Err(foreign(path));
        }
        for _ in 0..LOCK_ATTEMPTS {
            if flock(&file, FlockOperation::NonBlockingLockShared).is_ok()
                && found(&file, path)? == Some(*head)
            {
                return Ok(file);
            }
            // Another graph or size, or nothing yet: who begins it anew must be alone.
            if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
                if found(&file, path)? != Some(*head) {
                    file.set_len(0).map_err(failed("empty"))?;
                    file.write_all_at(bytes_of(head), 0).map_err(failed("write"))?;
                }
                continue;
            }
            std::thread::sleep(LOCK_PAUSE);
        }
        let what = "lock it (does another run use it for another graph, or with another size?)";
        Err(StoreError::io(what, path, io::Error::from(ErrorKind::WouldBlock)))
    }

    /// Whether blocks are still put into the file.
    pub(super) fn takes(&self) -> bool {
        !self.is_full.load(Ordering::Relaxed)
    }

    /// Failure after which no blocks are put into the file, if there was one.
    pub(super) fn trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads a slot that should have this label, which is put before its block.
    pub(super) fn read(&self, slot: u64, label: &Label, buffer: &mut [u8]) -> SlotState {
        let known = &self.known[slot as usize];
        let file = self.file.as_ref().filter(|_| known.load(Ordering::Relaxed) != EMPTY);
        let Some(file) = file else { return SlotState::Nothing };
        let bytes = LABEL_BYTES as usize + label.bytes as usize;
        let read = filled(file, &mut buffer[..bytes], offset(slot));
        let (stored, block) = buffer[..bytes].split_at(LABEL_BYTES as usize);
        let stored: Label = pod_read_unaligned(stored);
        if read.is_ok() && stored == label.sealed(block) {
            return SlotState::Whole;
        }
        known.store(EMPTY, Ordering::Relaxed);
        // A hole in the file, and what lies behind its end, is nothing.
        if stored == Label::zeroed() { SlotState::Nothing } else { SlotState::Damaged }
    }

    /// Writes the block that lies behind the room for its label in a buffer. Whether it was done.
    pub(super) fn write(&self, slot: u64, label: Label, buffer: &mut [u8]) -> bool {
        let Some(file) = self.file.as_ref().filter(|_| self.takes()) else { return false };
        let buffer = &mut buffer[..LABEL_BYTES as usize + label.bytes as usize];
        let (front, block) = buffer.split_at_mut(LABEL_BYTES as usize);
        front.copy_from_slice(bytes_of(&label.sealed(block)));
        if let Err(error) = file.write_all_at(buffer, offset(slot)) {
            self.is_full.store(true, Ordering::Relaxed);
            let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
            trouble.get_or_insert_with(|| error.to_string());
            return false;
        }
        self.known[slot as usize].store(UNKNOWN, Ordering::Relaxed);
        true
    }

    /// Makes a slot empty.
    pub(super) fn clear(&self, slot: u64) {
        self.known[slot as usize].store(EMPTY, Ordering::Relaxed);
        // A label that stays is right about bytes that are not: the graph itself is damaged then.
        let label = [0; LABEL_BYTES as usize];
        let _ = self.file.as_ref().map(|file| file.write_all_at(&label, offset(slot)));
    }
}

/// Knowledge of each slot: the same of all.
fn states(slots: u64, state: u8) -> Result<Vec<AtomicU8>, StoreError> {
    let mut known = Vec::new();
    known.try_reserve_exact(slots as usize).map_err(|_| StoreError::Memory(slots))?;
    known.resize_with(slots as usize, || AtomicU8::new(state));
    Ok(known)
}

fn offset(slot: u64) -> u64 {
    (slot + 1) * SLOT_BYTES
}

/// Fills a buffer from a place of a file, with zeros behind its end.
fn filled(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    let mut done = 0;
    while done < buffer.len() {
        match file.read_at(&mut buffer[done..], offset + done as u64) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                // Bytes from before are of another slot.
                buffer.fill(0xff);
                return Err(error);
            }
        }
    }
    buffer[done..].fill(0);
    Ok(())
}

/// The head of a file, if it has a whole one. One that is of another kind is an error.
fn found(file: &File, path: &Path) -> Result<Option<Head>, StoreError> {
    let mut bytes = [0; HEAD_BYTES];
    let read = filled(file, &mut bytes, 0);
    read.map_err(|error| StoreError::io("read", path, error))?;
    let head: Head = pod_read_unaligned(&bytes);
    if head.magic == MAGIC {
        let is_whole = head == Head::new((head.slots, head.layout), (head.graph, head.generation));
        return Ok(is_whole.then_some(head));
    }
    let length = file.metadata().map_err(|error| StoreError::io("look at", path, error))?.len();
    // A process that was killed as it began leaves an empty file.
    if length == 0 { Ok(None) } else { Err(foreign(path)) }
}

fn foreign(path: &Path) -> StoreError {
    let source = io::Error::new(ErrorKind::AlreadyExists, "it is there, and no cache of edges");
    StoreError::Create { file: PathBuf::from(path), source }
}
