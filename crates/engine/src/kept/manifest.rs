//! The manifest of a kept graph: what the graph is, and which files it consists of.
//!
//! Invariant: a manifest that was decoded makes sense in itself: counts are not larger than what
//! the format can hold, names are names of files of ours and no paths. Checked in
//! `Manifest::decode`.

use bytemuck::{Pod, Zeroable, bytes_of, pod_read_unaligned};
use welter_model::edges::{Duplicates, Reading};
use welter_store::frame::Compression;
use welter_store::header::{Encoding, KEY_BITS};
use welter_store::sealed::Identity;

use crate::kernels::vertices::SEGMENT_BITS;
use crate::plan::KeptShape;

/// Version of the manifest, and of the files that it lists.
pub(crate) const VERSION: u16 = 1;
/// Version of the manifest of a graph with columns in parts. Readers of the first version alone
/// would take such a column for one that was cut short.
pub(super) const VERSION_OF_PARTS: u16 = 2;
/// Kind of the sealed file that is the manifest.
pub(crate) const KIND: [u8; 8] = *b"MANIFEST";
/// Bytes of a manifest at most: as many files as can be named, each by 64 bytes.
pub(crate) const BYTES_MAX: u64 = 1 << 22;

const UNDIRECTED: u16 = 1;
const REVERSED: u16 = 2;
const WEIGHTED: u16 = 4;
const NO_LOOPS: u16 = 8;
const ALL_PRESENT: u16 = 16;
const NEGATIVE: u16 = 32;
const COMPACT: u16 = 64;
const KNOWN: u16 = 127;

/// Ids of a graph in the non-compact form.
const NON_COMPACT: u8 = 5;
const TWO_KINDS_OF_INTEGERS: u8 = 6;
const TWO_KINDS_OF_NAMES: u8 = 7;

/// Names of columns: of all files of a generation but those of chunks.
const COLUMNS: [&str; 5] = ["chunks", "cuts", "degrees", "vertices", "ids"];

/// Name of a file of a column, of which those behind the first lie on other disks.
pub(super) fn part_name(column: &str, turn: usize) -> String {
    if turn == 0 { column.to_owned() } else { format!("{column}-{turn}") }
}

/// The column that a file of this name holds, all of it or a part.
pub(super) fn column_of(name: &str) -> Option<&str> {
    let (column, turn) = name.rsplit_once('-').unwrap_or((name, "1"));
    let is_turn = turn.parse::<u16>().is_ok_and(|turn| turn > 0);
    (is_turn && COLUMNS.contains(&column)).then_some(column)
}

/// Kinds of ids that a kept graph may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptIds {
    /// The slot is the id, and those with edges are vertices.
    Same,
    /// The slot is the id, and all are vertices.
    Declared,
    /// The id is the slot plus this number.
    Offset(u64),
    /// Integers, in a file.
    Integers,
    /// Strings, in a file.
    Names,
    /// Integers, in a file, and `others` without edges that the last slot stands for: together all
    /// from `first` on.
    NonCompact {
        /// The smallest id.
        first: u64,
        /// Number of vertices that are not in the file.
        others: u64,
    },
    /// Integers of two kinds of vertices, in a file; to those of targets this number was added.
    TwoKindsOfIntegers {
        /// Larger than all ids of sources.
        added: u64,
    },
    /// Strings of two kinds of vertices, in a file.
    TwoKindsOfNames,
}

/// A file of a kept graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptFile {
    /// Name of the file in the folder of the generation.
    pub name: String,
    /// Length of the file in bytes.
    pub bytes: u64,
    /// CRC-32C of the payload; 0 of chunks, which have checksums of their own.
    pub checksum: u32,
}

/// A manifest: the description of a kept graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Number of the graph.
    pub graph: u64,
    /// Generation of its edges.
    pub generation: u32,
    /// Slots.
    pub slots: u64,
    /// Vertices.
    pub vertices: u64,
    /// Edges as they are stored.
    pub edges: u64,
    /// Edges of the input that it was made from.
    pub input_edges: u64,
    /// Number of chunks.
    pub chunks: u64,
    /// Number of extents: what is read at once.
    pub extents: u64,
    /// Bytes of all chunks.
    pub chunk_bytes: u64,
    /// Number of stripes.
    pub stripes: u32,
    /// Number of source partitions.
    pub partitions: u32,
    /// Log2 of the largest width of a stripe.
    pub stripe_bits: u32,
    /// Log2 of the width of a block of sources.
    pub block_bits: u32,
    /// Encoding of edges.
    pub encoding: Encoding,
    /// Compression of chunks.
    pub compression: Compression,
    /// Reading of the input.
    pub reading: Reading,
    /// Whether weights are stored.
    pub weighted: bool,
    /// Whether the input had weights below zero.
    pub negative: bool,
    /// Whether every slot is a vertex.
    pub all_present: bool,
    /// Kind of the ids.
    pub ids: KeptIds,
    /// All files but the manifest.
    pub files: Vec<KeptFile>,
}

/// The first part of the payload, 128 bytes.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Head {
    slots: u64,
    vertices: u64,
    edges: u64,
    input_edges: u64,
    chunks: u64,
    extents: u64,
    chunk_bytes: u64,
    first_id: u64,
    stripes: u32,
    partitions: u32,
    stripe_bits: u8,
    block_bits: u8,
    encoding: u8,
    ids: u8,
    duplicates: u8,
    compression: u8,
    flags: u16,
    files: u32,
    zeros: [u8; 4],
    others: u64,
    more_zeros: [u8; 32],
}

/// An entry of the list of files, 64 bytes.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Entry {
    name: [u8; 32],
    bytes: u64,
    checksum: u32,
    zeros: [u8; 20],
}

const HEAD_BYTES: usize = size_of::<Head>();
const ENTRY_BYTES: usize = size_of::<Entry>();
const _: () = assert!(HEAD_BYTES == 128 && ENTRY_BYTES == 64);

/// Name of the folder of a generation of a graph that lies elsewhere.
pub(super) fn folder_elsewhere(generation: u32, graph: u64) -> String {
    format!("gen-{generation}-{graph:016x}")
}

impl Manifest {
    /// The shape that a plan goes by, but for what was measured of its device.
    pub fn shape(&self) -> KeptShape {
        KeptShape {
            slots: self.slots,
            vertices: self.vertices,
            edges: self.edges,
            weighted: self.weighted,
            chunks: self.chunks,
            extents: self.extents,
            chunk_bytes: self.chunk_bytes,
            stripe_bits: self.stripe_bits,
            block_bits: self.block_bits,
            encoding: self.encoding,
            compression: self.compression,
            in_flight: None,
            measured: None,
            elsewhere: false,
        }
    }

    /// Name of the folder of its generation in a directory of this machine.
    pub(super) fn folder_here(&self) -> String {
        format!("gen-{}", self.generation)
    }

    /// Name of the folder of a generation that lies elsewhere.
    pub(super) fn folder_elsewhere(&self) -> String {
        folder_elsewhere(self.generation, self.graph)
    }

    /// Number of vertices, those included that share a slot.
    pub fn all_vertices(&self) -> u64 {
        self.vertices + self.others().saturating_sub(1)
    }

    /// Number of vertices that the last slot stands for, where it is not one like others.
    pub(crate) fn others(&self) -> u64 {
        if let KeptIds::NonCompact { others, .. } = self.ids { others } else { 0 }
    }

    /// Bytes of all files that it lists.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).fold(0, u64::saturating_add)
    }

    /// The file of a name.
    pub(crate) fn file(&self, name: &str) -> Option<&KeptFile> {
        self.files.iter().find(|file| file.name == name)
    }

    /// The files of a column, in the order of their turns; none, where it has no such column.
    pub(super) fn parts(&self, column: &str) -> Vec<&KeptFile> {
        (0..).map_while(|turn| self.file(&part_name(column, turn))).collect()
    }

    /// Identity of its file.
    pub(super) fn identity(&self) -> Identity {
        let is_part = |name: &str| column_of(name).is_some_and(|column| column != name);
        let has_parts = self.files.iter().any(|file| is_part(&file.name));
        let version = if has_parts { VERSION_OF_PARTS } else { VERSION };
        Identity { kind: KIND, version, graph: self.graph, generation: self.generation }
    }

    /// The payload of the file.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let flag = |is: bool, bit: u16| if is { bit } else { 0 };
        let (ids, first_id, others) = match self.ids {
            KeptIds::Same => (0, 0, 0),
            KeptIds::Declared => (1, 0, 0),
            KeptIds::Offset(first) => (2, first, 0),
            KeptIds::Integers => (3, 0, 0),
            KeptIds::Names => (4, 0, 0),
            KeptIds::NonCompact { first, others } => (NON_COMPACT, first, others),
            KeptIds::TwoKindsOfIntegers { added } => (TWO_KINDS_OF_INTEGERS, added, 0),
            KeptIds::TwoKindsOfNames => (TWO_KINDS_OF_NAMES, 0, 0),
        };
        let head = Head {
            slots: self.slots,
            vertices: self.vertices,
            edges: self.edges,
            input_edges: self.input_edges,
            chunks: self.chunks,
            extents: self.extents,
            chunk_bytes: self.chunk_bytes,
            first_id,
            stripes: self.stripes,
            partitions: self.partitions,
            stripe_bits: self.stripe_bits as u8,
            block_bits: self.block_bits as u8,
            encoding: self.encoding as u8,
            compression: self.compression as u8,
            ids,
            duplicates: match self.reading.duplicates {
                Duplicates::Keep => 0,
                Duplicates::First => 1,
                Duplicates::Minimum => 2,
                Duplicates::Sum => 3,
                Duplicates::Directions => 4,
            },
            flags: flag(self.reading.undirected, UNDIRECTED)
                | flag(self.reading.reversed, REVERSED)
                | flag(self.weighted, WEIGHTED)
                | flag(self.reading.drop_self_loops, NO_LOOPS)
                | flag(self.all_present, ALL_PRESENT)
                | flag(self.negative, NEGATIVE)
                | flag(ids != NON_COMPACT, COMPACT),
            files: self.files.len() as u32,
            others,
            ..Head::zeroed()
        };
        let mut bytes = bytes_of(&head).to_vec();
        for file in &self.files {
            let mut entry = Entry { bytes: file.bytes, checksum: file.checksum, ..Entry::zeroed() };
            entry.name[..file.name.len()].copy_from_slice(file.name.as_bytes());
            bytes.extend_from_slice(bytes_of(&entry));
        }
        bytes
    }

    /// Reads a payload. An error says what is wrong, and at which byte of it.
    pub(crate) fn decode(
        (graph, generation): (u64, u32),
        payload: &[u8],
    ) -> Result<Self, (usize, String)> {
        let short = || (0, format!("{} bytes are no manifest", payload.len()));
        let (head, rest) = payload.split_at_checked(HEAD_BYTES).ok_or_else(short)?;
        let head: Head = pod_read_unaligned(head);
        if rest.len() as u64 != u64::from(head.files) * ENTRY_BYTES as u64 {
            return Err((80, format!("{} files do not fit it", head.files)));
        }
        let files: Vec<KeptFile> = rest
            .chunks_exact(ENTRY_BYTES)
            .enumerate()
            .map(|(number, bytes)| {
                let entry = pod_read_unaligned(bytes);
                file(&entry).ok_or((HEAD_BYTES + number * ENTRY_BYTES, "no file".to_owned()))
            })
            .collect::<Result<_, _>>()?;
        let (ids, duplicates) = (head.ids()?, head.duplicates()?);
        let encoding =
            Encoding::from_byte(head.encoding).ok_or_else(|| odd(74, head.encoding.into()))?;
        let compression = Compression::from_byte(head.compression)
            .ok_or_else(|| odd(77, head.compression.into()))?;
        head.check()?;
        let flag = |bit| head.has(bit);
        Ok(Self {
            graph,
            generation,
            slots: head.slots,
            vertices: head.vertices,
            edges: head.edges,
            input_edges: head.input_edges,
            chunks: head.chunks,
            extents: head.extents,
            chunk_bytes: head.chunk_bytes,
            stripes: head.stripes,
            partitions: head.partitions,
            stripe_bits: head.stripe_bits.into(),
            block_bits: head.block_bits.into(),
            encoding,
            compression,
            reading: Reading {
                undirected: flag(UNDIRECTED),
                // Merged edges stay merged.
                stated_directed: false,
                reversed: flag(REVERSED),
                drop_self_loops: flag(NO_LOOPS),
                duplicates,
            },
            weighted: flag(WEIGHTED),
            negative: flag(NEGATIVE),
            all_present: flag(ALL_PRESENT),
            ids,
            files,
        })
    }
}

impl Head {
    /// Whether a flag is set.
    fn has(&self, bit: u16) -> bool {
        self.flags & bit != 0
    }

    /// The ids that it states.
    fn ids(&self) -> Result<KeptIds, (usize, String)> {
        match self.ids {
            0 => Ok(KeptIds::Same),
            1 => Ok(KeptIds::Declared),
            2 => Ok(KeptIds::Offset(self.first_id)),
            3 => Ok(KeptIds::Integers),
            4 => Ok(KeptIds::Names),
            NON_COMPACT => Ok(KeptIds::NonCompact { first: self.first_id, others: self.others }),
            TWO_KINDS_OF_INTEGERS => Ok(KeptIds::TwoKindsOfIntegers { added: self.first_id }),
            TWO_KINDS_OF_NAMES => Ok(KeptIds::TwoKindsOfNames),
            other => Err(odd(75, other.into())),
        }
    }

    /// The treatment of parallel edges that it states.
    fn duplicates(&self) -> Result<Duplicates, (usize, String)> {
        match self.duplicates {
            0 => Ok(Duplicates::Keep),
            1 => Ok(Duplicates::First),
            2 => Ok(Duplicates::Minimum),
            3 => Ok(Duplicates::Sum),
            4 => Ok(Duplicates::Directions),
            other => Err(odd(76, other.into())),
        }
    }

    /// Refuses numbers that no graph has. An error says at which byte of the payload.
    fn check(&self) -> Result<(), (usize, String)> {
        let [stripe_bits, block_bits] = [self.stripe_bits, self.block_bits].map(u32::from);
        // The last slot stands for the others, of which there are some.
        let named = self.slots - u64::from(self.others > 0 && self.slots > 0);
        let ends = self.first_id.checked_add(named).and_then(|end| end.checked_add(self.others));
        let checks = [
            (self.slots <= 1 << 32, 0, self.slots),
            (self.vertices <= self.slots, 8, self.vertices),
            (self.vertices == self.slots || !self.has(ALL_PRESENT), 8, self.vertices),
            (self.edges <= 1 << 56 && (self.edges > 0) == (self.chunks > 0), 16, self.edges),
            (self.chunks <= self.edges, 32, self.chunks),
            (self.extents <= self.chunks, 40, self.extents),
            (self.chunk_bytes >= self.chunks, 48, self.chunk_bytes),
            (
                self.first_id == 0 || [2, NON_COMPACT, TWO_KINDS_OF_INTEGERS].contains(&self.ids),
                56,
                self.first_id,
            ),
            (self.stripes <= 1 << 16, 64, self.stripes.into()),
            (self.partitions <= 1 << 16, 68, self.partitions.into()),
            ((SEGMENT_BITS..=24).contains(&stripe_bits), 72, stripe_bits.into()),
            ((6..=20).contains(&block_bits), 73, block_bits.into()),
            (stripe_bits + block_bits <= KEY_BITS, 73, block_bits.into()),
            (self.flags & !KNOWN == 0, 78, self.flags.into()),
            (self.has(COMPACT) == (self.ids != NON_COMPACT), 78, self.flags.into()),
            (self.zeros == [0; 4], 84, 0),
            (self.others == 0 || self.ids == NON_COMPACT, 88, self.others),
            (self.others == 0 || self.slots > 0, 88, self.others),
            (ends.is_some(), 88, self.others),
            (self.more_zeros == [0; 32], 96, 0),
        ];
        if let Some((_, offset, value)) = checks.into_iter().find(|(holds, ..)| !holds) {
            return Err(odd(offset, value));
        }
        Ok(())
    }
}

/// The error of a value that no graph has, at a byte of the payload.
fn odd(offset: usize, value: u64) -> (usize, String) {
    (offset, format!("{value} makes no sense"))
}

/// A file, if its entry is one that we write.
fn file(entry: &Entry) -> Option<KeptFile> {
    let end = entry.name.iter().position(|byte| *byte == 0).unwrap_or(entry.name.len());
    let (name, rest) = entry.name.split_at(end);
    let fits = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
    let is_name = !name.is_empty() && name.iter().all(fits);
    if !is_name || rest.iter().chain(&entry.zeros).any(|byte| *byte != 0) {
        return None;
    }
    let name = String::from_utf8(name.to_vec()).ok()?;
    Some(KeptFile { name, bytes: entry.bytes, checksum: entry.checksum })
}
