//! A graph in parts: the edges that each machine of a cluster has read are a kept graph of its own,
//! and a list names all of them.
//!
//! ```text
//! DIR/parts           number of the graph, and of each part its number, a sum, and counts   sealed
//! DIR/part-0          a kept graph: some of the edges, and the ids of all vertices
//!    /part-1          others of them, here or on the disk of another machine
//! ```
//! Edges of all parts, one part after the other, are those of the input, and each of them once. A
//! vertex has one number in all parts. Ids are in each part, so that a machine needs no other one
//! to look them up.
//!
//! Invariants: parts without a list are no graph, and the list is written when all parts are on
//! their devices · a part is the one that the list names, or damage. Checked in `KeptParts::part`.
//! Tested by `parts_are_those_of_their_list_or_damage` and `parts_without_a_list_are_no_graph`.

use std::path::{Path, PathBuf};

use bytemuck::{Pod, Zeroable, bytes_of, pod_read_unaligned};
use welter_model::edges::EdgeStream;
use welter_model::ids::IdMap;
use welter_store::io::IoOptions;
use welter_store::sealed::{Identity, SealedReader, offset_in_file};
use welter_store::{StoreError, checksum};

use super::KeptGraph;
use super::parts_stream::PartsStream;
use crate::EngineError;

/// Name of the list.
pub(super) const LIST: &str = "parts";
/// Kind of the sealed file that is the list.
const KIND: [u8; 8] = *b"PARTS   ";
/// Version of the list.
const VERSION: u16 = 1;
/// Begin of the name of a part; its number follows.
const PART: &str = "part-";
/// Parts of a graph, at most: those of a graph are bits of a word.
pub const PARTS_MAX: usize = 64;

const WEIGHTED: u32 = 1;
const UNDIRECTED: u32 = 2;
const NEGATIVE: u32 = 4;
const KNOWN: u32 = 7;

/// A part, as the list names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartEntry {
    /// Number of the kept graph that it is.
    pub graph: u64,
    /// CRC-32C of the payload of its manifest.
    pub checksum: u32,
    /// Its edges, as they are read again: one for both directions, where there are no directions.
    pub edges: u64,
    /// Slots of the whole graph.
    pub slots: u64,
    /// Vertices of the whole graph, of which one slot may stand for several.
    pub vertices: u64,
    /// Bytes of its files.
    pub bytes: u64,
    /// Whether edges have weights.
    pub weighted: bool,
    /// Whether each edge stands for both directions.
    pub undirected: bool,
    /// Whether some weights of it are below zero.
    pub negative: bool,
}

/// An entry in bytes.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Packed {
    graph: u64,
    edges: u64,
    slots: u64,
    vertices: u64,
    bytes: u64,
    checksum: u32,
    flags: u32,
}

const ENTRY_BYTES: usize = size_of::<Packed>();
const _: () = assert!(ENTRY_BYTES == 48);

impl PartEntry {
    /// The entry of a graph that was kept as a part.
    pub(super) fn of(kept: &KeptGraph) -> Result<Self, EngineError> {
        let manifest = kept.manifest();
        Ok(Self {
            graph: manifest.graph,
            checksum: sum_of(kept),
            edges: kept.edge_stream(false)?.edges(),
            slots: manifest.vertices,
            vertices: manifest.all_vertices(),
            bytes: manifest.bytes(),
            weighted: manifest.weighted,
            undirected: manifest.reading.undirected,
            negative: manifest.negative,
        })
    }

    /// The entry in bytes, for other machines.
    pub fn encode(&self) -> Vec<u8> {
        let flag = |is: bool, bit: u32| if is { bit } else { 0 };
        let packed = Packed {
            graph: self.graph,
            edges: self.edges,
            slots: self.slots,
            vertices: self.vertices,
            bytes: self.bytes,
            checksum: self.checksum,
            flags: flag(self.weighted, WEIGHTED)
                | flag(self.undirected, UNDIRECTED)
                | flag(self.negative, NEGATIVE),
        };
        bytes_of(&packed).to_vec()
    }

    /// The entry of such bytes, if they are one.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        if bytes.len() != ENTRY_BYTES {
            return None;
        }
        let packed: Packed = pod_read_unaligned(bytes);
        let has = |bit: u32| packed.flags & bit != 0;
        let entry = Self {
            graph: packed.graph,
            checksum: packed.checksum,
            edges: packed.edges,
            slots: packed.slots,
            vertices: packed.vertices,
            bytes: packed.bytes,
            weighted: has(WEIGHTED),
            undirected: has(UNDIRECTED),
            negative: has(NEGATIVE),
        };
        (packed.flags & !KNOWN == 0).then_some(entry)
    }
}

/// The sum of a manifest.
fn sum_of(kept: &KeptGraph) -> u32 {
    checksum::of(&kept.manifest().encode())
}

/// The list of the parts of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartsList {
    number: u64,
    parts: Vec<PartEntry>,
}

impl PartsList {
    /// The list of these parts, in their order; none where they are no parts of one graph.
    pub fn of(parts: Vec<PartEntry>) -> Option<Self> {
        let first = *parts.first()?;
        let form = |part: &PartEntry| (part.slots, part.vertices, part.weighted, part.undirected);
        let is_one = parts.iter().all(|part| form(part) == form(&first));
        let is_new = |at: usize| parts[..at].iter().all(|other| other.graph != parts[at].graph);
        let are_told_apart = (0..parts.len()).all(is_new);
        // Numbers of parts are drawn at random, and so is what they are mixed to.
        let mix = |all: u64, part: &PartEntry| {
            (all.rotate_left(7) ^ part.graph).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        };
        let number = parts.iter().fold(parts.len() as u64, mix);
        let holds = is_one && are_told_apart && parts.len() <= PARTS_MAX;
        holds.then_some(Self { number, parts })
    }

    /// The list in bytes, for other machines.
    pub fn encode(&self) -> Vec<u8> {
        self.parts.iter().flat_map(PartEntry::encode).collect()
    }

    /// The list of such bytes, if they are one.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let entries = bytes.chunks(ENTRY_BYTES).take(PARTS_MAX + 1);
        Self::of(entries.map(PartEntry::decode).collect::<Option<_>>()?)
    }

    /// Identity of its file.
    pub(super) fn identity(&self) -> Identity {
        Identity { kind: KIND, version: VERSION, graph: self.number, generation: 0 }
    }

    /// Number of the graph.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// All parts.
    pub fn parts(&self) -> &[PartEntry] {
        &self.parts
    }

    /// Slots of the graph, each of which is a vertex.
    pub fn slots(&self) -> u64 {
        self.parts[0].slots
    }

    /// Vertices of the graph, of which one slot may stand for several.
    pub fn vertices(&self) -> u64 {
        self.parts[0].vertices
    }

    /// Edges of all parts, as they are read again.
    pub fn edges(&self) -> u64 {
        self.parts.iter().map(|part| part.edges).fold(0, u64::saturating_add)
    }

    /// Bytes of the files of all parts.
    pub fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.bytes).fold(0, u64::saturating_add)
    }

    /// Whether edges have weights.
    pub fn is_weighted(&self) -> bool {
        self.parts[0].weighted
    }

    /// Whether each edge stands for both directions.
    pub fn is_undirected(&self) -> bool {
        self.parts[0].undirected
    }

    /// Whether some weights are below zero.
    pub fn has_negative(&self) -> bool {
        self.parts.iter().any(|part| part.negative)
    }
}

/// Name of a part.
pub(super) fn name_of(part: usize) -> String {
    format!("{PART}{part}")
}

/// Number of the part that has this name.
pub(super) fn number_of(name: &str) -> Option<usize> {
    let part = name.strip_prefix(PART)?.parse().ok()?;
    (name_of(part) == name).then_some(part)
}

/// Whether a path is a directory with the list of a graph in parts.
pub fn is_kept_in_parts(path: &Path) -> bool {
    path.join(LIST).is_file()
}

/// A graph in parts, of which those that are here were opened.
#[derive(Clone, Debug)]
pub struct KeptParts {
    path: PathBuf,
    list: PartsList,
    parts: Vec<Option<KeptGraph>>,
}

impl KeptParts {
    /// Reads the list of a directory, and the manifests of the parts that are there.
    ///
    /// # Errors
    /// When there is no list ([`StoreError::Missing`]), it is damaged or of another version, or a
    /// part is not the one that it names.
    pub fn open(path: &Path, io: &IoOptions) -> Result<Self, EngineError> {
        let file = path.join(LIST);
        let mut reader = SealedReader::open(&file, KIND, io.faults.as_ref())?;
        reader.is_version(VERSION)?;
        let payload = reader.read_rest((PARTS_MAX * ENTRY_BYTES) as u64)?;
        let number = reader.identity().graph;
        let list = PartsList::decode(&payload).filter(|list| list.number == number);
        let list = list.ok_or_else(|| StoreError::Damaged {
            file,
            offset: offset_in_file(0),
            what: "it is no list of the parts of a graph".to_owned(),
        })?;
        let part = |(number, entry)| Self::part(&path.join(name_of(number)), entry, io);
        let parts = list.parts.iter().enumerate().map(part).collect::<Result<_, _>>()?;
        Ok(Self { path: path.to_owned(), list, parts })
    }

    /// A part, if it is there.
    fn part(
        path: &Path,
        entry: &PartEntry,
        io: &IoOptions,
    ) -> Result<Option<KeptGraph>, EngineError> {
        if !super::is_kept(path) {
            return Ok(None);
        }
        let kept = KeptGraph::open(path, io)?;
        if (kept.manifest().graph, sum_of(&kept)) == (entry.graph, entry.checksum) {
            return Ok(Some(kept));
        }
        let (file, offset) = (path.join(super::MANIFEST), offset_in_file(0));
        let what = "it is not the part that the list of parts names".to_owned();
        Err(StoreError::Damaged { file, offset, what }.into())
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The list of all parts.
    pub fn list(&self) -> &PartsList {
        &self.list
    }

    /// The parts that are here, with their numbers.
    pub fn here(&self) -> impl Iterator<Item = (usize, &KeptGraph)> {
        self.parts.iter().enumerate().filter_map(|(part, kept)| Some((part, kept.as_ref()?)))
    }

    /// Whether all parts are here.
    pub fn are_all_here(&self) -> bool {
        self.parts.iter().all(Option::is_some)
    }

    /// A part.
    fn has(&self, part: usize) -> Result<&KeptGraph, StoreError> {
        let missing =
            || StoreError::Missing { file: self.path.join(name_of(part)).join(super::MANIFEST) };
        self.parts.get(part).and_then(Option::as_ref).ok_or_else(missing)
    }

    /// The edges of some parts, in their order, `weighted` if they shall come with what weights
    /// they have.
    ///
    /// # Errors
    /// When a part is not here ([`StoreError::Missing`]), or a file of it is missing, damaged or
    /// cannot be read.
    pub fn stream(
        &self,
        parts: impl IntoIterator<Item = usize>,
        weighted: bool,
    ) -> Result<PartsStream, EngineError> {
        let stream = |part: usize| self.has(part)?.edge_stream(weighted);
        let streams = parts.into_iter().map(stream).collect::<Result<Vec<_>, _>>()?;
        let weighted = weighted && self.list.is_weighted();
        Ok(PartsStream::new(streams, (self.list.slots(), weighted)))
    }

    /// The ids of all vertices, by the first part that is here.
    ///
    /// # Errors
    /// When no part is here, or the file of ids is missing, damaged or cannot be read.
    pub fn ids(&self) -> Result<IdMap, EngineError> {
        let first = self.here().next().map(|(_, kept)| kept);
        first.map_or_else(|| self.has(0), Ok)?.ids()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(graph: u64) -> PartEntry {
        PartEntry {
            graph,
            checksum: 7,
            edges: 5,
            slots: 3,
            vertices: 4,
            bytes: 99,
            weighted: graph % 2 == 1,
            undirected: true,
            negative: graph == 3,
        }
    }

    #[test]
    fn a_list_comes_back_and_others_are_none() {
        let list = PartsList::of(vec![entry(1), entry(3)]).unwrap();
        assert_eq!((list.edges(), list.bytes(), list.slots(), list.vertices()), (10, 198, 3, 4));
        assert!(list.is_weighted() && list.is_undirected() && list.has_negative());
        let bytes = list.encode();
        assert_eq!(PartsList::decode(&bytes), Some(list.clone()));
        for length in (0..bytes.len()).filter(|length| *length != ENTRY_BYTES) {
            assert_eq!(PartsList::decode(&bytes[..length]), None, "{length}");
        }
        let mut odd = bytes;
        odd[ENTRY_BYTES - 1] = 1;
        assert_eq!(PartsList::decode(&odd), None);
        // Another order is another graph.
        let turned = PartsList::of(vec![entry(3), entry(1)]).unwrap();
        assert_ne!(turned.number(), list.number());
    }

    #[test]
    fn parts_of_several_graphs_are_no_list() {
        for parts in [vec![], vec![entry(1), entry(1)], vec![entry(1), entry(2)]] {
            assert_eq!(PartsList::of(parts), None);
        }
        let many = |count: u64| PartsList::of((0..count).map(|part| entry(2 * part + 1)).collect());
        assert!(many(PARTS_MAX as u64).is_some() && many(PARTS_MAX as u64 + 1).is_none());
    }

    #[test]
    fn parts_are_known_by_their_names() {
        assert_eq!((number_of("part-0"), number_of("part-63")), (Some(0), Some(63)));
        for other in ["part-", "part-01", "part--1", "part-x", "parts", "part"] {
            assert_eq!(number_of(other), None, "{other}");
        }
    }
}
