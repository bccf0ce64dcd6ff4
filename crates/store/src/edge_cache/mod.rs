//! A part of a graph that lies elsewhere, kept on a disk of this machine, or on several.
//!
//! ```text
//! bucket   [0][1][2][3][4][5][6][7] ···      files of a graph, cut into blocks of 256 KiB
//!              |        |        |           a fixed part of them is pinned
//! DIR/welter-edge-cache   [head][1][4][7]    one file a disk; a slot for each pinned block
//! ```
//! Iterations read all chunks in turn, again and again. A cache that keeps the newest bytes has
//! thrown away each of them before it is wanted again; so which blocks are kept follows from the
//! lengths of the files and the size of the cache alone ([`selection`]), and stays so for all runs.
//! Files of chunks come first, since they are read in each iteration, others as far as room is
//! left. A block that is pinned and not there is read whole, and put there. Slots are dealt to
//! disks by turns ([`disks`]).
//!
//! Invariants: the file is never longer than what was granted, because a slot has a fixed place in
//! it · a block is handed over only if its slot says of which graph, file and place it is and its
//! checksum holds, so a process that is killed while it writes leaves nothing that is believed ·
//! processes share it as long as they are of one graph and size; another one has it alone before it
//! begins it anew. Checked in `Slots::read` and `Slots::open`. Tested by
//! `a_second_reading_asks_for_what_is_not_pinned_alone`, `damage_is_found_and_fetched_again` and
//! `another_graph_takes_it_over_and_two_at_a_time_are_refused`.

mod disks;
mod selection;
mod slots;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use self::disks::{DiskSlots, room};
use self::selection::{FileNumber, Selection};
use self::slots::{BLOCK_BYTES, LABEL_BYTES, Label, SLOT_BYTES, SlotState};
use crate::StoreError;
use crate::io::Remote;

pub use self::slots::NAME;

/// Bytes of the smallest cache that holds anything.
pub const BYTES_LEAST: u64 = 2 * SLOT_BYTES;

/// The graph whose files are read through a cache.
#[derive(Clone, Debug)]
pub struct Cached {
    /// Number of the graph.
    pub graph: u64,
    /// Generation of its edges.
    pub generation: u32,
    /// Files, those of chunks first, with their lengths. They are never written again.
    pub files: Vec<(PathBuf, u64)>,
    /// Number of those of chunks.
    pub chunk_files: usize,
}

/// Bytes and requests that went through a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EdgeCacheStats {
    /// Bytes that were handed over from the cache.
    pub bytes_cached: u64,
    /// Bytes that were read from elsewhere.
    pub bytes_fetched: u64,
    /// Requests for these.
    pub requests: u64,
    /// Bytes that were put into the cache.
    pub bytes_kept: u64,
    /// Blocks that were found damaged, and read from elsewhere.
    pub damaged: u64,
    /// Bytes that are pinned.
    pub bytes_pinned: u64,
}

/// Receives bytes, piece after piece.
type Take<'a> = &'a mut dyn FnMut(&[u8]);

/// Files that lie elsewhere, of which a part is kept here.
#[derive(Debug)]
pub struct EdgeCache {
    behind: Arc<dyn Remote>,
    selection: Selection,
    /// Number and generation of the graph.
    graph: (u64, u32),
    slots: DiskSlots,
    /// Memory of slots that are not in use now.
    buffers: Mutex<Vec<Vec<u8>>>,
    cached: AtomicU64,
    fetched: AtomicU64,
    requests: AtomicU64,
    kept: AtomicU64,
    damaged: AtomicU64,
}

impl EdgeCache {
    /// A cache in directories, on a disk each, with the bytes that it may have in each of them at
    /// most. They are made if they are not there.
    ///
    /// # Errors
    /// When a directory or its file cannot be made or read, when another file has its name, or
    /// when another process uses it for another graph, or with other sizes or disks.
    pub fn open(
        behind: Arc<dyn Remote>,
        directories: &[(PathBuf, u64)],
        of: &Cached,
    ) -> Result<Self, StoreError> {
        let (selection, graph) = (Self::selection(directories, of), (of.graph, of.generation));
        let slots = DiskSlots::open(directories, selection.slots(), graph)?;
        Ok(Self::new(behind, (selection, graph), slots))
    }

    /// A cache that a run would have, for its plan: nothing is made, and nothing is there.
    ///
    /// # Errors
    /// When there is no memory for its list of slots.
    pub fn planned(
        behind: Arc<dyn Remote>,
        directories: &[(PathBuf, u64)],
        of: &Cached,
    ) -> Result<Self, StoreError> {
        let (selection, graph) = (Self::selection(directories, of), (of.graph, of.generation));
        let slots = DiskSlots::planned(directories, selection.slots())?;
        Ok(Self::new(behind, (selection, graph), slots))
    }

    fn selection(directories: &[(PathBuf, u64)], of: &Cached) -> Selection {
        let count = directories.iter().map(|(_, bytes)| room(*bytes)).sum();
        Selection::new(&of.files, of.chunk_files, count)
    }

    fn new(
        behind: Arc<dyn Remote>,
        (selection, graph): (Selection, (u64, u32)),
        slots: DiskSlots,
    ) -> Self {
        let buffers = Mutex::default();
        let [cached, fetched, requests, kept, damaged] = [(); 5].map(|()| AtomicU64::new(0));
        Self { behind, selection, graph, slots, buffers, cached, fetched, requests, kept, damaged }
    }

    /// Bytes of memory that `readers` readers at a time take.
    pub fn memory_bytes(&self, readers: u64) -> u64 {
        readers * 2 * SLOT_BYTES + self.selection.slots()
    }

    /// Bytes and requests that went through it so far.
    pub fn stats(&self) -> EdgeCacheStats {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        EdgeCacheStats {
            bytes_cached: of(&self.cached),
            bytes_fetched: of(&self.fetched),
            requests: of(&self.requests),
            bytes_kept: of(&self.kept),
            damaged: of(&self.damaged),
            bytes_pinned: self.selection.slots() * BLOCK_BYTES,
        }
    }

    /// Reason why nothing is put into it any more, or into a file of it, if that is so.
    pub fn trouble(&self) -> Option<String> {
        self.slots.trouble()
    }

    /// The files that blocks are kept in.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.slots.paths()
    }

    fn buffer(&self) -> Result<Vec<u8>, StoreError> {
        let free = self.buffers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(buffer) = free {
            return Ok(buffer);
        }
        let mut buffer = Vec::new();
        let bytes = SLOT_BYTES as usize;
        buffer.try_reserve_exact(bytes).map_err(|_| StoreError::Memory(SLOT_BYTES))?;
        buffer.resize(bytes, 0);
        Ok(buffer)
    }

    fn give_back(&self, buffers: [Vec<u8>; 2]) {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner).extend(buffers);
    }

    /// The slot of a block, and what it must say of itself, if the block is pinned.
    fn slot(&self, file: FileNumber, block: u64) -> Option<(u64, Label)> {
        let slot = self.selection.slot(file, block)?;
        let bytes = self.selection.block(file, block);
        Some((slot, Label::of(self.graph, (file.0, block), (bytes.end - bytes.start) as u32)))
    }

    /// Whether a block was read from the cache into a buffer, behind its label.
    fn hit(&self, file: FileNumber, block: u64, buffer: &mut [u8]) -> bool {
        let Some((slot, label)) = self.slot(file, block) else { return false };
        match self.slots.read(slot, &label, buffer) {
            SlotState::Whole => true,
            SlotState::Nothing => false,
            SlotState::Damaged => {
                self.damaged.fetch_add(1, Ordering::Relaxed);
                false
            }
        }
    }

    /// Reads a range of a file that has no block in the cache, and keeps those that are pinned.
    fn fetch(
        &self,
        (path, file): (&Path, FileNumber),
        range: Range<u64>,
        (buffer, take): (&mut [u8], Take<'_>),
    ) -> Result<(), StoreError> {
        if range.is_empty() {
            return Ok(());
        }
        // Pinned blocks at the ends are read whole.
        let (first, last) = (range.start / BLOCK_BYTES, (range.end - 1) / BLOCK_BYTES);
        let slot = |block| self.selection.slot(file, block);
        let is_pinned = |block| slot(block).is_some_and(|slot| self.slots.takes(slot));
        let mut wide = range.clone();
        if is_pinned(first) {
            wide.start = self.selection.block(file, first).start;
        }
        if is_pinned(last) {
            wide.end = self.selection.block(file, last).end;
        }
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.fetched.fetch_add(wide.end - wide.start, Ordering::Relaxed);
        let mut at = wide.start;
        self.behind.read(path, wide, &mut |bytes| {
            let skipped = range.start.saturating_sub(at).min(bytes.len() as u64) as usize;
            let left = range.end.saturating_sub(at).min(bytes.len() as u64) as usize;
            if skipped < left {
                take(&bytes[skipped..left]);
            }
            self.keep(file, (&mut at, bytes), buffer);
        })
    }

    /// Puts bytes that continue at a place of a file where they belong, and writes blocks that are
    /// whole.
    fn keep(&self, file: FileNumber, (at, mut bytes): (&mut u64, &[u8]), buffer: &mut [u8]) {
        while !bytes.is_empty() {
            let number = *at / BLOCK_BYTES;
            let block = self.selection.block(file, number);
            if block.is_empty() {
                // More came than the file has, which the caller finds out.
                return;
            }
            let (now, later) = bytes.split_at(bytes.len().min((block.end - *at) as usize));
            let begin = (LABEL_BYTES + *at - block.start) as usize;
            buffer[begin..begin + now.len()].copy_from_slice(now);
            *at += now.len() as u64;
            bytes = later;
            if *at == block.end
                && let Some((slot, label)) = self.slot(file, number)
                && self.slots.write(slot, label, buffer)
            {
                self.kept.fetch_add(block.end - block.start, Ordering::Relaxed);
            }
        }
    }

    /// Reads a range of a file that the graph consists of.
    fn read_known(
        &self,
        of: (&Path, FileNumber),
        range: Range<u64>,
        [slot, filled]: &mut [Vec<u8>; 2],
        take: &mut dyn FnMut(&[u8]),
    ) -> Result<(), StoreError> {
        let mut missing = range.start;
        for number in range.start / BLOCK_BYTES..=(range.end - 1) / BLOCK_BYTES {
            if !self.hit(of.1, number, slot) {
                continue;
            }
            let block = self.selection.block(of.1, number);
            let (from, to) = (block.start.max(range.start), block.end.min(range.end));
            self.fetch(of, missing..from, (&mut filled[..], &mut *take))?;
            let place = |offset: u64| (LABEL_BYTES + offset - block.start) as usize;
            take(&slot[place(from)..place(to)]);
            self.cached.fetch_add(to - from, Ordering::Relaxed);
            missing = to;
        }
        self.fetch(of, missing..range.end, (&mut filled[..], take))
    }
}

impl Remote for EdgeCache {
    fn behind(&self) -> Option<&dyn Remote> {
        Some(&*self.behind)
    }

    fn bytes(&self, file: &Path) -> Result<u64, StoreError> {
        match self.selection.file(file) {
            Some(known) => Ok(self.selection.bytes(known)),
            None => self.behind.bytes(file),
        }
    }

    fn read(
        &self,
        file: &Path,
        range: Range<u64>,
        take: &mut dyn FnMut(&[u8]),
    ) -> Result<(), StoreError> {
        let known = self.selection.file(file);
        let Some(number) = known.filter(|known| range.end <= self.selection.bytes(*known)) else {
            return self.behind.read(file, range, take);
        };
        if range.is_empty() {
            return Ok(());
        }
        let mut buffers = [self.buffer()?, self.buffer()?];
        let read = self.read_known((file, number), range, &mut buffers, take);
        self.give_back(buffers);
        read
    }

    fn distrust(&self, file: &Path, range: Range<u64>) {
        let Some(number) = self.selection.file(file).filter(|_| !range.is_empty()) else { return };
        let end = range.end.min(self.selection.bytes(number));
        for block in range.start / BLOCK_BYTES..end.div_ceil(BLOCK_BYTES) {
            if let Some(slot) = self.selection.slot(number, block) {
                self.slots.clear(slot);
            }
        }
        self.behind.distrust(file, range);
    }
}
