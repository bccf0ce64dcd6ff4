//! The directory of the chunks of a kept graph: where each lies, and what is in it.
//!
//! Invariant: a directory that was read makes sense in itself and with the manifest: chunks of a
//! cell are numbered without gaps, chunks of an extent lie side by side from its begin on, extents
//! lie side by side in their files, and counts add up. So nothing that is read by it needs to be
//! looked for. Checked in `Directory::adds_up` and `Entry::makes_sense`. Tested by
//! `a_flipped_bit_is_found_wherever_it_is`.

use std::ops::Range;
use std::path::Path;
use welter_store::sealed::offset_in_file;

use bytemuck::{Pod, Zeroable};
use welter_store::StoreError;
use welter_store::header::CellId;
use welter_store::io::{ALIGN, Place};

use super::manifest::Manifest;
use crate::edges::graph::Graph;
use crate::edges::slab_location::ChunkPlace;
use crate::edges::slab_location::SlabLocation;
use crate::machine::arena::SLAB_BYTES;

/// A chunk, 64 bytes.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Entry {
    stripe: u32,
    partition: u32,
    number: u32,
    pub(super) tiles: u32,
    pub(super) edges: u64,
    /// From the first source of the first tile to the last one that the last tile may have.
    pub(super) sources: [u64; 2],
    /// Where its extent begins in the file.
    extent_offset: u64,
    extent_bytes: u32,
    /// Bytes of the chunk in the extent.
    begin: u32,
    bytes: u32,
    /// Number of the file.
    file: u16,
    zero: u16,
}

pub(super) const ENTRY_BYTES: usize = size_of::<Entry>();
const _: () = assert!(ENTRY_BYTES == 64);

/// Chunks that lie in one extent.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) place: Place,
    /// Stripe of all of them.
    pub(super) stripe: u32,
    pub(super) entries: Range<usize>,
    pub(super) edges: u64,
}

/// All chunks, in the order of stripes and sources.
#[derive(Debug)]
pub(super) struct Directory {
    pub(super) entries: Vec<Entry>,
    pub(super) runs: Vec<Run>,
}

impl Entry {
    /// The entry of a chunk that is stored; `None` of one that is in memory.
    fn of(place: &ChunkPlace) -> Option<Self> {
        let SlabLocation::Stored(stored) = &*place.extent else { return None };
        Some(Self {
            stripe: place.cell.stripe,
            partition: place.cell.source_partition,
            number: place.number,
            tiles: place.tiles,
            edges: place.edges,
            sources: [place.sources.start, place.sources.end],
            extent_offset: stored.offset,
            extent_bytes: stored.bytes,
            begin: place.range.start as u32,
            bytes: place.range.len() as u32,
            file: stored.file,
            zero: 0,
        })
    }

    pub(super) fn cell(&self) -> CellId {
        CellId { source_partition: self.partition, stripe: self.stripe }
    }

    pub(super) fn number(&self) -> u32 {
        self.number
    }

    /// Bytes of the chunk in the extent.
    pub(super) fn range(&self) -> Range<usize> {
        self.begin as usize..(self.begin + self.bytes) as usize
    }

    fn place(&self) -> Place {
        Place { file: self.file, offset: self.extent_offset, bytes: self.extent_bytes }
    }

    /// Whether it can lie where it says, in one of `volumes` files.
    fn makes_sense(&self, manifest: &Manifest, volumes: usize) -> bool {
        let end = self.begin.checked_add(self.bytes);
        self.stripe < manifest.stripes
            && self.partition < manifest.partitions
            && self.edges > 0
            && self.sources[0] < self.sources[1]
            && self.extent_offset.is_multiple_of(ALIGN as u64)
            && self.extent_bytes as usize <= SLAB_BYTES
            && self.bytes > 0
            && end.is_some_and(|end| end <= self.extent_bytes)
            && usize::from(self.file) < volumes
            && self.zero == 0
    }
}

/// The entries of a graph whose chunks are all stored.
pub(super) fn entries(graph: &Graph) -> Option<Vec<Entry>> {
    graph.stripes.iter().flat_map(|stripe| &stripe.chunks).map(Entry::of).collect()
}

/// Number of extents of entries in order.
pub(super) fn extents(entries: &[Entry]) -> u64 {
    let mut last = None;
    entries.iter().filter(|entry| last.replace(entry.place()) != Some(entry.place())).count() as u64
}

impl Directory {
    /// Checks entries against each other and against the manifest. `path`: the file that they were
    /// read from; `volumes`: bytes of the files of chunks.
    pub(super) fn new(
        entries: Vec<Entry>,
        manifest: &Manifest,
        volumes: &[u64],
        path: &Path,
    ) -> Result<Self, StoreError> {
        let damaged = |number: usize, what: &str| StoreError::Damaged {
            file: path.to_owned(),
            offset: offset_in_file((number * ENTRY_BYTES) as u64),
            what: format!("the entry of chunk {number} makes no sense: {what}"),
        };
        let mut runs: Vec<Run> = Vec::new();
        let mut last: Option<&Entry> = None;
        for (number, entry) in entries.iter().enumerate() {
            if !entry.makes_sense(manifest, volumes.len()) {
                return Err(damaged(number, "a field is out of its range"));
            }
            let follows = last.is_none_or(|last| {
                let (cell, before) =
                    ((entry.stripe, entry.partition), (last.stripe, last.partition));
                cell > before || (cell == before && entry.number == last.number + 1)
            });
            let begins_cell = last.is_none_or(|last| last.cell() != entry.cell());
            if !follows || (begins_cell && entry.number != 0) {
                return Err(damaged(number, "chunks of a cell are not numbered in order"));
            }
            match runs.last_mut() {
                Some(run) if run.place == entry.place() => {
                    let end = last.map_or(0, |last| last.begin + last.bytes);
                    if entry.begin != end || entry.stripe != run.stripe {
                        return Err(damaged(number, "it does not follow the one before"));
                    }
                    run.entries.end = number + 1;
                    run.edges += entry.edges;
                }
                _ if entry.begin != 0 => {
                    return Err(damaged(number, "it does not begin where its extent does"));
                }
                _ => runs.push(Run {
                    place: entry.place(),
                    stripe: entry.stripe,
                    entries: number..number + 1,
                    edges: entry.edges,
                }),
            }
            last = Some(entry);
        }
        let directory = Self { entries, runs };
        directory.adds_up(manifest, volumes).map_err(|what| damaged(0, &what))?;
        Ok(directory)
    }

    /// Notes that the extent of a run lies elsewhere now.
    pub(super) fn moved(&mut self, run: usize, place: Place) {
        let run = &mut self.runs[run];
        run.place = place;
        for entry in &mut self.entries[run.entries.clone()] {
            (entry.file, entry.extent_offset) = (place.file, place.offset);
        }
    }

    /// Counts are those of the manifest, and extents fill their files.
    fn adds_up(&self, manifest: &Manifest, volumes: &[u64]) -> Result<(), String> {
        let edges: u64 = self.entries.iter().map(|entry| entry.edges).fold(0, u64::saturating_add);
        let bytes: u64 = self.entries.iter().map(|entry| u64::from(entry.bytes)).sum();
        let counted = (self.entries.len() as u64, self.runs.len() as u64, edges, bytes);
        let stated = (manifest.chunks, manifest.extents, manifest.edges, manifest.chunk_bytes);
        if counted != stated {
            return Err(format!(
                "chunks, extents, edges and bytes are {counted:?}, and the manifest says {stated:?}"
            ));
        }
        let full =
            |run: &&Run| self.entries[run.entries.end - 1].range().end == run.place.bytes as usize;
        if !self.runs.iter().all(|run| full(&run)) {
            return Err("the last chunk of an extent does not end where that does".to_owned());
        }
        let mut places: Vec<Place> = self.runs.iter().map(|run| run.place).collect();
        places.sort_unstable();
        let mut ends = vec![0; volumes.len()];
        for place in &places {
            let end = &mut ends[usize::from(place.file)];
            if place.offset != *end {
                return Err(format!("nothing lies at offset {end} of file {}", place.file));
            }
            *end += place.rounded_bytes() as u64;
        }
        if ends == volumes {
            return Ok(());
        }
        Err(format!("chunks end at {ends:?} of files of {volumes:?} bytes"))
    }
}
