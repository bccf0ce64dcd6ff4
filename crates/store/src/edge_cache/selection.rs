//! Blocks of a graph that are kept, and their slots: a matter of arithmetic, so that all runs
//! agree.
//!
//! Where not all blocks have a slot, groups of neighbours are pinned at even distances: what comes
//! from the disk and what comes from the network alternate, so that both are busy, and groups are
//! long enough that requests over the network stay large.
//!
//! Invariant: no two blocks have one slot, and all slots are in the file. Tested by
//! `each_pinned_block_has_a_slot_of_its_own`.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::slots::BLOCK_BYTES;

/// Blocks of a group at most: 8 MiB, which object stores are quickest with.
const GROUP_MAX: u64 = 32;
/// Groups that a cache has at least, where it has that many slots.
const GROUPS_LEAST: u64 = 64;

/// Number of a file of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileNumber(pub(super) u32);

/// Blocks of some files, one file after another, and slots for a part of them.
#[derive(Clone, Copy, Debug, Default)]
struct Section {
    /// Blocks of a group.
    group: u64,
    groups: u64,
    pinned: u64,
    first_slot: u64,
}

impl Section {
    fn new(blocks: u64, slots: u64, first_slot: u64) -> Self {
        if slots >= blocks {
            return Self { group: 1, groups: blocks, pinned: blocks, first_slot };
        }
        let group = (slots / GROUPS_LEAST).clamp(1, GROUP_MAX);
        Self { group, groups: blocks.div_ceil(group), pinned: slots / group, first_slot }
    }

    fn slots(&self) -> u64 {
        self.pinned * self.group
    }

    /// The slot of a block, if it has one.
    fn slot(&self, block: u64) -> Option<u64> {
        let group = block / self.group;
        let before = group * self.pinned / self.groups;
        let is_pinned = (group + 1) * self.pinned / self.groups > before;
        is_pinned.then(|| self.first_slot + before * self.group + block % self.group)
    }
}

/// A file of the graph.
#[derive(Debug)]
struct Known {
    bytes: u64,
    section: usize,
    /// Number of its first block in its section.
    first: u64,
}

/// The blocks of a graph.
#[derive(Debug)]
pub(super) struct Selection {
    names: BTreeMap<PathBuf, FileNumber>,
    files: Vec<Known>,
    /// Files of chunks, and the others.
    sections: [Section; 2],
}

impl Selection {
    /// The selection for `slots` slots from files, of which the first `chunk_files` have chunks.
    pub(super) fn new(files: &[(PathBuf, u64)], chunk_files: usize, slots: u64) -> Self {
        let mut blocks = [0; 2];
        let mut known = Vec::new();
        let mut names = BTreeMap::new();
        for (number, (name, bytes)) in files.iter().enumerate() {
            let section = usize::from(number >= chunk_files);
            known.push(Known { bytes: *bytes, section, first: blocks[section] });
            blocks[section] += bytes.div_ceil(BLOCK_BYTES);
            names.insert(name.clone(), FileNumber(number as u32));
        }
        let chunks = Section::new(blocks[0], slots, 0);
        let left = slots.saturating_sub(chunks.slots());
        // Slots that chunks leave are fewer than a group of them: too few for other files.
        let left = if chunks.slots() < blocks[0] { 0 } else { left };
        let sections = [chunks, Section::new(blocks[1], left, chunks.slots())];
        Self { names, files: known, sections }
    }

    /// Slots that are used.
    pub(super) fn slots(&self) -> u64 {
        self.sections.iter().map(Section::slots).sum()
    }

    pub(super) fn file(&self, name: &Path) -> Option<FileNumber> {
        self.names.get(name).copied()
    }

    pub(super) fn bytes(&self, file: FileNumber) -> u64 {
        self.files[file.0 as usize].bytes
    }

    /// Bytes of a block in its file; none behind the end.
    pub(super) fn block(&self, file: FileNumber, number: u64) -> Range<u64> {
        let all = self.bytes(file);
        (number * BLOCK_BYTES).min(all)..((number + 1) * BLOCK_BYTES).min(all)
    }

    /// The slot of a block of a file, if it is pinned.
    pub(super) fn slot(&self, file: FileNumber, block: u64) -> Option<u64> {
        let Known { section, first, .. } = self.files[file.0 as usize];
        self.sections[section].slot(first + block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pinned_block_has_a_slot_of_its_own() {
        let lengths =
            [0, 1, BLOCK_BYTES, 700 * BLOCK_BYTES + 5, 3000 * BLOCK_BYTES, 90, 40_000_000];
        let name = |number| PathBuf::from(format!("file-{number}"));
        let files = lengths.iter().enumerate();
        let files: Vec<_> = files.map(|(number, bytes)| (name(number), *bytes)).collect();
        for slots in [0, 1, 2, 63, 64, 65, 130, 1000, 3700, 3703, 3704, 3800, 9000] {
            let selection = Selection::new(&files, 5, slots);
            assert!(selection.slots() <= slots);
            let mut seen = vec![false; selection.slots() as usize];
            let mut unpinned = 0;
            for (number, bytes) in lengths.iter().enumerate() {
                let file = selection.file(&name(number)).unwrap();
                for block in 0..bytes.div_ceil(BLOCK_BYTES) {
                    assert!(!selection.block(file, block).is_empty());
                    let Some(slot) = selection.slot(file, block) else {
                        unpinned += 1;
                        continue;
                    };
                    assert!(!std::mem::replace(&mut seen[slot as usize], true), "{slots} {slot}");
                }
            }
            // Slots of the last group are at most what lie idle.
            let idle = seen.iter().filter(|seen| !**seen).count();
            assert!(idle < GROUP_MAX as usize, "{slots}: {idle}");
            assert_eq!(unpinned == 0, slots >= 3_857, "{slots}");
        }
    }
}
