//! Kept graphs: a directory that is ingested once and run on again and again.
//!
//! ```text
//! DIR/manifest        what the graph is, and its files with their lengths       sealed
//! DIR/gen-0/edges-0   chunks, in extents of up to half a megabyte
//!           edges-1   more of them, on another disk, if there are several (see `disks`)
//!           chunks    where each chunk lies, and what is in it                  sealed
//!           cuts      where stripes and source partitions begin                 sealed
//!           degrees   the number of edges that leave each vertex                sealed
//!           vertices  a bit a slot, unless every slot is a vertex               sealed
//!           ids       unless the slot is the id, or nearly so                   sealed
//!           ids-1     more of it on another disk, as of any large column         sealed
//! DIR/rates           how fast the device is, if that was measured              sealed
//! ```
//! Machines of a cluster keep a part each, which is such a directory in one with a list (`parts`).
//! In a bucket the same files are objects (see `send`), and a path is a URL; a copy that another
//! program made may have the folder of either (see `folder`).
//!
//! `docs/format.md` draws them. A generation is never changed once the manifest names it.
//!
//! Nothing here knows a program, a vertex's state or an iteration.
//!
//! Uses: `edges`, `footprints`, `ingest`, `kernels`, `machine`, `plan`.
//!
//! Invariants: a directory has its name only when all of it is on the device, so whatever kills an
//! ingest, nothing is left that opens · every byte of every file is covered by a checksum, or is
//! padding that `check` holds to be zero · nothing is believed by its position: every file and
//! every chunk says which graph and generation it belongs to. Checked in `KeptGraph::chunk`. Tested
//! by `a_kill_leaves_nothing_that_opens_and_the_next_ingest_clears_it`,
//! `a_flipped_bit_is_found_wherever_it_is` and `files_of_another_graph_are_found`.

mod cached;
mod check;
mod columns;
mod directory;
mod disks;
mod draft;
mod folder;
mod keep;
mod leftovers;
mod load;
mod manifest;
mod part_draft;
mod parts;
mod parts_stream;
mod rates;
mod remove;
mod runs;
mod send;
mod staging;
mod stream;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use welter_store::sealed::offset_in_file;

use welter_store::ChunkError;
use welter_store::StoreError;
use welter_store::chunk::Chunk;
use welter_store::edge_cache::EdgeCache;
use welter_store::frame::Compression;
use welter_store::header::{CellId, Label};
use welter_store::io::{IoOptions, Remote, RemoteRequests, Requests, Volume};
use welter_store::probe::Probe;
use welter_store::sealed::SealedReader;

pub use self::check::Checked;
pub use self::draft::StaleStaging;
pub use self::keep::{KeepOptions, keep, settings};
pub use self::leftovers::{OrphanedObjects, clear_elsewhere};
pub use self::manifest::{KeptFile, KeptIds, Manifest};
pub use self::part_draft::{
    PartDraft, clear_left_parts, has_left_parts, refuse_to_replace_parts, remove_parts,
};
pub use self::parts::{KeptParts, PARTS_MAX, PartEntry, PartsList, is_kept_in_parts};
pub use self::parts_stream::PartsStream;
pub use self::remove::{remove, remove_draft};
pub use self::send::refuse_to_replace;
pub use self::staging::Staging;
pub use self::stream::KeptStream;
pub use crate::ingest::target::Target;

use self::directory::{Directory, Entry};
use self::folder::{FolderElsewhere, GENERATION};
use crate::EngineError;
use crate::kernels::vertices::Vertices;
use crate::machine::figures::Machine;
use crate::machine::storage::slabs_joined;
use crate::plan::{KeptShape, Layout, Plan, Settings};

/// Name of the manifest.
const MANIFEST: &str = "manifest";
/// Name of the file with the rates of the device.
const RATES: &str = "rates";

const CHUNKS: (&str, [u8; 8]) = ("chunks", *b"CHUNKDIR");
const CUTS: (&str, [u8; 8]) = ("cuts", *b"CUTS    ");
const DEGREES: (&str, [u8; 8]) = ("degrees", *b"DEGREES ");
const VERTICES: (&str, [u8; 8]) = ("vertices", *b"VERTICES");
const INTEGERS: (&str, [u8; 8]) = ("ids", *b"INTEGERS");
const NAMES: (&str, [u8; 8]) = ("ids", *b"NAMES   ");

/// Bytes of memory that reading from elsewhere takes beside slabs: what is read of columns at a
/// time, and what connections hold.
const ELSEWHERE_BYTES: u64 = 16 << 20;
/// Connections of a worker that are among these bytes; each of more takes as much as its answers
/// have, within bounds.
const CONNECTIONS: u64 = 8;
const CONNECTION_BYTES_LEAST: u64 = 64 << 10;
const CONNECTION_BYTES_MOST: u64 = 512 << 10;
/// Bytes of requests in flight, by all workers, where latency is that of a network.
const ELSEWHERE_IN_FLIGHT: u64 = 128 << 20;
/// The least where a probe says that fewer would do: neighbours come by one request only where much
/// is asked for at a time, and requests cost money.
const ELSEWHERE_IN_FLIGHT_LEAST: u64 = 32 << 20;
/// Extents that are dealt out side by side there, so that they come by one request.
const ELSEWHERE_SIDE_BY_SIDE: usize = 16;

/// A kept graph, of which the manifest has been read.
#[derive(Clone, Debug)]
pub struct KeptGraph {
    path: PathBuf,
    manifest: Manifest,
    io: IoOptions,
    /// Cache through which its files are read, if a disk of this machine keeps some of them.
    cache: Option<Arc<EdgeCache>>,
    /// Rates of what lies elsewhere, once they were asked for.
    known: Arc<OnceLock<Option<Probe>>>,
    /// Name of the folder of its generation, by which a cache knows its files.
    folder_name: String,
    /// Where its files are found, of a graph that lies elsewhere.
    elsewhere: Option<Arc<FolderElsewhere>>,
    /// Whether it was copied to where it lies, and rates beside it are of another place.
    is_copy: bool,
}

/// Whether a path is a directory with a manifest in it.
pub fn is_kept(path: &Path) -> bool {
    path.join(MANIFEST).is_file()
}

impl KeptGraph {
    /// Options by which its files are read.
    pub fn io(&self) -> &IoOptions {
        &self.io
    }

    /// Reads the manifest of a directory.
    ///
    /// # Errors
    /// When there is none ([`StoreError::Missing`]), or it is damaged or of another version.
    pub fn open(path: &Path, io: &IoOptions) -> Result<Self, EngineError> {
        let file = path.join(MANIFEST);
        let mut reader = SealedReader::open_in(io, &file, manifest::KIND)?;
        let identity = reader.identity();
        if identity.version != manifest::VERSION {
            reader.is_version(manifest::VERSION_OF_PARTS)?;
        }
        let payload = reader.read_rest(manifest::BYTES_MAX)?;
        let manifest = Manifest::decode((identity.graph, identity.generation), &payload).map_err(
            |(offset, what)| StoreError::Damaged {
                file,
                offset: offset_in_file(offset as u64),
                what,
            },
        )?;
        let folder = |remote| Arc::new(FolderElsewhere::new(remote, path, &manifest));
        let elsewhere = io.remote.as_ref().map(folder);
        let folder_name = match elsewhere {
            Some(_) => manifest.folder_elsewhere(),
            None => folder::name_here(path, &manifest),
        };
        let remote = elsewhere.clone().map(|folder| folder as Arc<dyn Remote>);
        let (path, io) = (path.to_owned(), IoOptions { remote, ..io.clone() });
        let (cache, known, is_copy) = (None, Arc::default(), false);
        Ok(Self { path, manifest, io, cache, known, folder_name, elsewhere, is_copy })
    }

    /// As [`Self::open`], of a copy on a web server, beside which no rates of that server lie.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_copy(path: &Path, io: &IoOptions) -> Result<Self, EngineError> {
        Ok(Self { is_copy: true, ..Self::open(path, io)? })
    }

    /// The description of the graph.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Directories of the disks that its chunks lie on, its own first. Of a graph that lies
    /// elsewhere the URL alone.
    pub fn directories(&self) -> Vec<PathBuf> {
        let mut directories = vec![self.path.clone()];
        if self.io.remote.is_none() {
            let folder = self.folder();
            let names = self.manifest.files.iter().map(|file| &file.name);
            let parts = names.filter(|name| disks::is_chunks(name));
            let places = parts.map(|name| disks::place(&folder, name));
            let others = places.filter_map(|file| file.parent().map(Path::to_owned));
            for other in others.filter(|other| *other != folder) {
                if !directories.contains(&other) {
                    directories.push(other);
                }
            }
        }
        directories
    }

    /// Bytes that its ids take in memory, at most.
    pub fn ids_bytes(&self) -> u64 {
        let files = self.manifest.parts(INTEGERS.0);
        files.iter().map(|file| file.bytes).fold(0, u64::saturating_add)
    }

    /// Plans a run.
    ///
    /// # Errors
    /// As [`Plan::of_kept`]; where edges are read in iterations, also as [`Self::rates`].
    pub fn plan(
        &self,
        layout: Layout,
        settings: &Settings,
        machine: &Machine,
    ) -> Result<Plan, EngineError> {
        let threads = settings.threads.unwrap_or(machine.cores) as u64;
        let held = settings.held_bytes + self.ids_bytes();
        let asking = |requests: Requests| {
            let connections = self.connection_bytes(threads, &requests);
            let held_bytes = held + connections + self.cache_bytes(threads, &requests);
            Settings { held_bytes, requests, ..*settings }
        };
        let elsewhere = self.io.remote.is_some();
        let plan = |in_flight: Option<u64>, measured, settings: &Settings| {
            let shape = KeptShape { in_flight, measured, elsewhere, ..self.manifest.shape() };
            Plan::of_kept(&shape, layout, settings, machine)
        };
        match plan(None, None, &asking(settings.requests)) {
            Ok(resident) if resident.storage().is_none() => Ok(resident),
            _ => {
                let budget = settings.budget(machine);
                let best = self.best_requests(settings.requests, threads, budget)?;
                let with = |requests| plan(best.in_flight, best.measured, &asking(requests));
                // Requests that have no room are not worth that much.
                if best.sized == best.cut {
                    with(best.cut)
                } else {
                    with(best.sized).or_else(|_| with(best.cut))
                }
            }
        }
    }

    /// Bytes of memory that reading from elsewhere takes beside slabs and a cache.
    fn connection_bytes(&self, threads: u64, requests: &Requests) -> u64 {
        if self.io.remote.is_none() {
            return 0;
        }
        let RemoteRequests { bytes, in_flight, .. } = requests.elsewhere(1);
        let more = threads * (in_flight as u64).saturating_sub(CONNECTIONS);
        ELSEWHERE_BYTES + more * bytes.clamp(CONNECTION_BYTES_LEAST, CONNECTION_BYTES_MOST)
    }

    /// The graph whose files are read by requests like these.
    #[must_use]
    pub fn asked_by(mut self, requests: Requests) -> Self {
        self.io.requests = requests;
        self
    }

    /// The graph with files that this remote has, the same ones as the remote before.
    #[must_use]
    pub fn asked_of(mut self, remote: Arc<dyn Remote>) -> Self {
        self.io.remote = Some(remote);
        self
    }

    /// The folder of its generation, as far as it is known where that lies.
    fn folder(&self) -> PathBuf {
        match (&self.elsewhere, &self.cache) {
            (Some(elsewhere), None) => elsewhere.path().to_owned(),
            _ => self.path.join(&self.folder_name),
        }
    }

    /// The files of chunks, with their lengths as the manifest lists them; opened with lengths as
    /// they are.
    fn volume(&self, io: &IoOptions) -> Result<(Arc<Volume>, Vec<u64>), EngineError> {
        let folder = self.folder();
        let files: Vec<&KeptFile> =
            self.manifest.files.iter().filter(|file| file.name.starts_with("edges-")).collect();
        let lengths = files.iter().map(|file| file.bytes).collect();
        if io.remote.is_some() {
            let paths: Vec<PathBuf> = files.iter().map(|file| folder.join(&file.name)).collect();
            // Each would take a request; a range that is not there is an error when it is read.
            return Ok((Arc::new(Volume::open(&paths, io)?), lengths));
        }
        let paths: Vec<PathBuf> =
            files.iter().map(|file| disks::place(&folder, &file.name)).collect();
        let volume = Volume::open(&paths, io).map_err(|error| error.of_linked_file(&folder))?;
        for (path, file) in paths.iter().zip(&files) {
            let failed = |source| StoreError::Io { what: "look at", file: path.clone(), source };
            let bytes = std::fs::metadata(path).map_err(failed)?.len();
            if bytes < file.bytes {
                let (file, need) = (path.clone(), file.bytes);
                return Err(StoreError::Ended { file, offset: 0, need, have: bytes }.into());
            }
            if bytes > file.bytes {
                let what = format!("it is too long: {bytes} bytes");
                return Err(
                    StoreError::Damaged { file: path.clone(), offset: file.bytes, what }.into()
                );
            }
        }
        Ok((Arc::new(volume), lengths))
    }

    /// Slots that are vertices.
    fn vertices(&self) -> Result<Vertices, EngineError> {
        let Manifest { slots, vertices: count, .. } = self.manifest;
        if self.manifest.file(VERTICES.0).is_none() {
            if count == slots {
                return Ok(Vertices::all(slots));
            }
            let what = format!("{count} of {slots} slots are vertices, and no file says which");
            return Err(self.manifest_damaged(what).into());
        }
        let mut column =
            columns::ColumnReader::open(&self.folder(), VERTICES, &self.manifest, &self.io)?;
        let vertices = Vertices::all(slots);
        let words = vertices.segments() << (crate::kernels::vertices::SEGMENT_BITS - 6);
        column.must_hold(words as u64 * 8)?;
        let words: Vec<u64> = column.read_vec(words)?;
        let beyond = words.iter().enumerate().rev().find(|(_, word)| **word != 0);
        let end = beyond
            .map_or(0, |(place, word)| (place as u64 + 1) * 64 - u64::from(word.leading_zeros()));
        let vertices = Vertices::of_words(slots, words);
        if vertices.count() != count || end > slots {
            let what = format!("{} vertices below {end} are none of the graph", vertices.count());
            return Err(column.damaged(0, what).into());
        }
        column.end()?;
        Ok(vertices)
    }

    /// The first segment of each stripe and one past the last one, then the same of partitions in
    /// vertices.
    fn cuts(&self, vertices: &Vertices) -> Result<(Vec<usize>, Vec<u64>), EngineError> {
        let Manifest { stripes, partitions, stripe_bits, .. } = self.manifest;
        let mut column =
            columns::ColumnReader::open(&self.folder(), CUTS, &self.manifest, &self.io)?;
        let (stripes, partitions) = (stripes as usize + 1, partitions as usize + 1);
        column.must_hold((stripes + partitions) as u64 * 8)?;
        let segments: Vec<u64> = column.read_vec(stripes)?;
        let bounds: Vec<u64> = column.read_vec(partitions)?;
        let whole = |cuts: &[u64], end: u64| {
            cuts[0] == 0 && cuts.is_sorted() && (cuts[cuts.len() - 1] == end)
        };
        let segments: Vec<usize> = segments.into_iter().map(|cut| cut as usize).collect();
        let narrow = segments.windows(2).all(|ends| {
            let ends = [ends[0], ends[1]].map(|segment| vertices.segment_start(segment));
            ends[1].saturating_sub(ends[0]) <= 1 << stripe_bits
        });
        let as_numbers: Vec<u64> = segments.iter().map(|cut| *cut as u64).collect();
        if !whole(&as_numbers, vertices.segments() as u64)
            || !whole(&bounds, vertices.count())
            || !narrow
        {
            let what = "stripes or partitions do not cut the graph".to_owned();
            return Err(column.damaged(0, what).into());
        }
        column.end()?;
        Ok((segments, bounds))
    }

    /// Where chunks lie, in files of these lengths.
    fn directory(&self, volumes: &[u64]) -> Result<Directory, EngineError> {
        let mut column =
            columns::ColumnReader::open(&self.folder(), CHUNKS, &self.manifest, &self.io)?;
        let bytes = self.manifest.chunks.saturating_mul(directory::ENTRY_BYTES as u64);
        column.must_hold(bytes)?;
        let entries: Vec<Entry> = column.read_vec(self.manifest.chunks as usize)?;
        let directory =
            Directory::new(entries, &self.manifest, volumes, &self.folder().join(CHUNKS.0))?;
        column.end()?;
        Ok(directory)
    }

    /// Extents that are dealt to one worker, or left out, together.
    fn side_by_side(io: &IoOptions) -> usize {
        let stated = io.remote.is_none() || io.requests.read_bytes.is_some();
        if stated { slabs_joined(&io.requests, false) } else { ELSEWHERE_SIDE_BY_SIDE }
    }

    /// Whether chunks may lie in frames.
    fn is_framed(&self) -> bool {
        self.manifest.compression != Compression::None
    }

    fn faults(&self) -> Option<&Arc<welter_store::io::Faults>> {
        self.io.faults.as_ref()
    }

    fn manifest_damaged(&self, what: String) -> StoreError {
        let offset = offset_in_file(0);
        StoreError::Damaged { file: self.path.join(MANIFEST), offset, what }
    }

    /// Opens a chunk, verifies it, and checks it against its entry.
    fn chunk<'a>(
        &self,
        entry: &Entry,
        target_base: u64,
        bytes: &'a [u8],
    ) -> Result<Chunk<'a>, ChunkError> {
        let chunk = Chunk::open(bytes)?;
        chunk.verify()?;
        let label: &Label = chunk.label();
        let found = (label.graph, label.generation, label.cell, label.number, label.target_base);
        let Manifest { graph, generation, stripe_bits, .. } = self.manifest;
        let cell: CellId = entry.cell();
        let columns = self.manifest.vertices + chunk.block_width();
        let holds = found == (graph, generation, cell, entry.number(), target_base)
            && label.target_bits == stripe_bits
            && chunk.edges() == entry.edges
            && chunk.tile_count() == entry.tiles as usize
            && chunk.bytes() == bytes.len()
            && chunk.sources_end() <= columns;
        if holds {
            return Ok(chunk);
        }
        let (what, value) = ("place of the chunk", label.number.into());
        Err(ChunkError::Field { what, offset: 0, value })
    }
}
