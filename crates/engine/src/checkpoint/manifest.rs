//! The manifest of a directory of checkpoints: what the run is, and which checkpoints there are.
//!
//! Invariant: a manifest that was decoded makes sense in itself. What it says of the graph and of
//! the program is checked against these before anything is read by it. Checked in
//! `Manifest::decode` and `restore::belongs`. Tested by `what_makes_no_sense_is_refused` and
//! `another_graph_or_program_is_refused`.

use bytemuck::{Pod, Zeroable, bytes_of, pod_read_unaligned};
use welter_store::StoreError;
use welter_store::sealed::SealedReader;

use super::files::Every;
use crate::columns::totals;

/// Version of the manifest, and of the files that it lists.
pub(super) const VERSION: u16 = 4;
/// Version before that, which has the totals of all iterations, and is read still.
const ALL_TOTALS: u16 = 3;
/// Kind of the sealed file that is the manifest.
pub(super) const KIND: [u8; 8] = *b"CHECKPNT";
/// Bytes of a manifest at most: most of them name the inputs.
pub(super) const BYTES_MAX: u64 = 1 << 26;
/// Directories of other disks at most.
pub(super) const PARTS_MAX: u32 = 1 << 10;
/// Checkpoints that are kept: the last one, and the one to fall back to.
pub(super) const KEPT: usize = 2;

/// A manifest: the run, and its checkpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Manifest {
    /// Interval of checkpoints.
    pub(super) every: Every,
    /// Directories of other disks, each of which has a part of each state.
    pub(super) parts: u32,
    /// The last one first.
    pub(super) entries: Vec<Entry>,
    /// Description of the run, for the program that began it.
    pub(super) job: Vec<u8>,
}

/// The graph and the program that a checkpoint belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Shape {
    pub(super) vertices: u64,
    pub(super) edges: u64,
    /// CRC-32C of the out-degrees of all vertices, and what the edges of the input add up to where
    /// that was said ([`super::Checkpoints::read_edges`]), in one number.
    pub(super) edges_read: u32,
    /// Bytes of a value.
    pub(super) value_bytes: u32,
    /// Bytes of the totals.
    pub(super) total_bytes: u32,
    /// 1 where vertices may fall inactive, else 0.
    pub(super) frontier: u32,
    /// Bytes of the state of an edge; 0 where edges have none.
    pub(super) state_bytes: u32,
    /// CRC-32C of the words from which the order of these states follows.
    pub(super) order: u32,
}

/// A checkpoint, 80 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Entry {
    /// Iterations that were done.
    pub(super) iterations: u64,
    pub(super) shape: Shape,
    /// Number of iterations of which a level is kept.
    pub(super) levels: u64,
    /// Look-ups so far: vertices in granules, edges in passing.
    pub(super) lookups: [u64; 2],
    /// CRC-32C of the payload of its file.
    pub(super) checksum: u32,
    /// Number of the process that wrote its file, which the name of that has; 0 in a directory.
    pub(super) writer: u32,
}

/// The first part of the payload, 32 bytes.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Head {
    /// Iterations between checkpoints; 0 where time decides.
    every: u64,
    job_bytes: u64,
    checkpoints: u32,
    /// Directories of other disks.
    parts: u32,
    zeros: [u8; 8],
}

const HEAD_BYTES: usize = size_of::<Head>();
const ENTRY_BYTES: usize = size_of::<Entry>();
const _: () = assert!(HEAD_BYTES == 32 && ENTRY_BYTES == 80);

/// Bytes of what is known of an iteration.
pub(super) const LEVEL_BYTES: u64 = 24;
/// Bits of the first word of a level that are its mode; those above, how many iterations it has
/// beyond one.
pub(super) const MODE_BITS: u32 = 8;
/// No file is larger.
const FILE_BYTES_MAX: u64 = 1 << 56;

impl Shape {
    /// Bytes of the columns that a checkpoint has: values, and states of edges.
    pub(crate) fn column_bytes(&self) -> u64 {
        let (value, state) = (u64::from(self.value_bytes), u64::from(self.state_bytes));
        self.vertices * value + self.edges * state
    }

    /// Bytes of the flags of all vertices.
    pub(super) fn flag_bytes(&self) -> u64 {
        if self.frontier == 1 { self.vertices.div_ceil(8) } else { 0 }
    }

    /// Totals that a checkpoint of a version has after `iterations` iterations, if that is a
    /// number.
    pub(super) fn totals(&self, version: u16, iterations: u64) -> Option<u64> {
        let all = iterations.checked_add(1)?;
        Some(if version == ALL_TOTALS { all } else { totals::kept(all, self.total_bytes.into()) })
    }

    /// Bytes of the payload of a checkpoint of a version after `iterations` iterations, with
    /// `levels` levels, unless no file is so large.
    pub(super) fn payload_bytes(&self, version: u16, iterations: u64, levels: u64) -> Option<u64> {
        let totals = self.totals(version, iterations)?.checked_mul(self.total_bytes.into())?;
        let values = self.vertices.checked_mul(self.value_bytes.into())?;
        let levels = levels.checked_mul(LEVEL_BYTES)?;
        let states = self.edges.checked_mul(self.state_bytes.into())?;
        let all =
            values.checked_add(self.flag_bytes())?.checked_add(levels)?.checked_add(states)?;
        all.checked_add(totals).filter(|bytes| *bytes <= FILE_BYTES_MAX)
    }
}

/// Refuses a file of a version that is not read, and says of which it is.
pub(super) fn version(reader: &SealedReader) -> Result<u16, StoreError> {
    let version = reader.identity().version;
    if version != ALL_TOTALS {
        reader.is_version(VERSION)?;
    }
    Ok(version)
}

impl Manifest {
    /// The manifest of a run that has no checkpoint yet.
    pub(super) fn new(every: Every, parts: u32, job: &[u8]) -> Self {
        Self { every, parts, entries: Vec::new(), job: job.to_vec() }
    }

    /// The payload of the file.
    pub(super) fn encode(&self) -> Vec<u8> {
        let head = Head {
            every: match self.every {
                Every::Iterations(count) => count.get(),
                Every::Share => 0,
            },
            job_bytes: self.job.len() as u64,
            checkpoints: self.entries.len() as u32,
            parts: self.parts,
            ..Head::zeroed()
        };
        let mut bytes = bytes_of(&head).to_vec();
        self.entries.iter().for_each(|entry| bytes.extend_from_slice(bytes_of(entry)));
        bytes.extend_from_slice(&self.job);
        bytes
    }

    /// Reads a payload. An error says what is wrong, and at which byte of it.
    pub(super) fn decode(payload: &[u8]) -> Result<Self, (usize, String)> {
        let short = || (0, format!("{} bytes are no manifest", payload.len()));
        let (head, rest) = payload.split_at_checked(HEAD_BYTES).ok_or_else(short)?;
        let head: Head = pod_read_unaligned(head);
        let odd = |offset, value: u64| (offset, format!("{value} makes no sense"));
        if head.checkpoints as usize > KEPT {
            return Err(odd(16, head.checkpoints.into()));
        }
        if head.parts > PARTS_MAX {
            return Err(odd(20, head.parts.into()));
        }
        if head.zeros != [0; 8] {
            return Err(odd(24, 0));
        }
        let entries = head.checkpoints as usize * ENTRY_BYTES;
        let (entries, job) = rest.split_at_checked(entries).ok_or_else(short)?;
        if job.len() as u64 != head.job_bytes {
            return Err(odd(8, head.job_bytes));
        }
        let entries: Vec<Entry> =
            entries.chunks_exact(ENTRY_BYTES).map(pod_read_unaligned).collect();
        for (number, entry) in entries.iter().enumerate() {
            let follows = number == 0 || entries[number - 1].iterations > entry.iterations;
            let makes_sense = follows
                && entry.iterations > 0
                && entry.shape.frontier <= 1
                && entry.shape.payload_bytes(VERSION, entry.iterations, entry.levels).is_some();
            if !makes_sense {
                let what = format!("the entry of checkpoint {number} makes no sense");
                return Err((HEAD_BYTES + number * ENTRY_BYTES, what));
            }
        }
        let every = std::num::NonZero::new(head.every).map_or(Every::Share, Every::Iterations);
        Ok(Self { every, parts: head.parts, entries, job: job.to_vec() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        let shape = Shape {
            vertices: 9,
            edges: 20,
            edges_read: 1,
            value_bytes: 8,
            total_bytes: 16,
            frontier: 1,
            state_bytes: 2,
            order: 6,
        };
        let entry = |iterations| Entry {
            iterations,
            shape,
            levels: 2,
            lookups: [3, 4],
            checksum: 5,
            writer: 0,
        };
        let entries = vec![entry(7), entry(6)];
        Manifest { every: Every::Share, parts: 2, entries, job: b"welter run".to_vec() }
    }

    #[test]
    fn what_was_encoded_is_decoded() {
        let manifest = manifest();
        assert_eq!(Manifest::decode(&manifest.encode()), Ok(manifest.clone()));
        let shape = manifest.entries[0].shape;
        for version in [ALL_TOTALS, VERSION] {
            assert_eq!(shape.payload_bytes(version, 7, 2), Some(72 + 2 + 48 + 40 + 8 * 16));
        }
        // Of 2^16 totals of 16 bytes all are listed.
        let long = [ALL_TOTALS, VERSION].map(|version| shape.totals(version, (1 << 16) + 9));
        assert_eq!(long, [Some((1 << 16) + 10), Some((1 << 16) + 1)]);
        let none = Manifest { entries: Vec::new(), job: Vec::new(), ..manifest };
        assert_eq!(Manifest::decode(&none.encode()), Ok(none));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let bytes = manifest().encode();
        for cut in 0..bytes.len() {
            assert!(Manifest::decode(&bytes[..cut]).is_err(), "cut to {cut} bytes");
        }
        // Too many checkpoints or parts, zeros that are none, not the last first, none, too large.
        for (place, value) in
            [(16, 3), (23, 1), (24, 1), (32, 6), (33 + 80, 1), (39, 255), (47, 255)]
        {
            let mut odd = bytes.clone();
            odd[place] = value;
            if place == 39 {
                odd[32..40].fill(0);
            }
            assert!(Manifest::decode(&odd).is_err(), "byte {place}");
        }
    }
}
