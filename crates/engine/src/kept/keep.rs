//! Ingest into a directory that is kept.
//!
//! The order of writes is that of what relies on what: chunks, synced once; the columns, each a
//! sealed file, or one a disk where it is large; the manifest that lists them; and last the name of
//! the directory.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use welter_model::edges::{Batch, EdgeStream, Reading, StreamError};
use welter_model::ids::{IdMap, Names};
use welter_model::stream_wrapper::StreamWrapper;
use welter_model::two_kinds::Keys;
use welter_progress::Progress;
use welter_store::header::Encoding;
use welter_store::io::{Faults, IoOptions, Volume};
use welter_store::{StoreError, durable, sealed};

use super::columns::ColumnWriter;
use super::directory::{ENTRY_BYTES, entries, extents};
use super::draft::{Draft, StaleStaging, clear};
use super::manifest::{KeptFile, KeptIds, Manifest, folder_elsewhere, part_name};
use super::{CHUNKS, CUTS, DEGREES, GENERATION, INTEGERS, MANIFEST, NAMES, VERTICES, disks};
use crate::EngineError;
use crate::edges::graph::Graph;
use crate::ingest::build::{Keeping, ingest};
use crate::ingest::target::Target;
use crate::machine::storage::Storage;
use crate::machine::workers::Workers;
use crate::plan::{Plan, Settings, StorageMode};
use welter_store::random_number;

/// Log2 of the width of a block of sources, where no setting says otherwise: 32 KiB of `f64`.
const BLOCK_BITS: u32 = 12;
/// Numbers that are written at a time.
const PIECE: usize = 1 << 16;
/// Bytes of a column from which on each disk has a part of it: less is written and read by one disk
/// in the time that a file more on each of the others takes.
const PARTS_FROM: u64 = 64 << 20;

/// Where a graph is kept.
#[derive(Debug, Default)]
pub struct KeepOptions {
    /// The directory, which must not be there yet.
    pub directory: PathBuf,
    /// Directories of other disks, each of which takes its share of the chunks and large columns.
    pub disks: Vec<PathBuf>,
    /// Bytes from which on a column is large: 64 MiB, unless a test says another number.
    pub parts_from: Option<u64>,
    /// Options by which its files are written.
    pub io: IoOptions,
    /// Where in a bucket it goes when it is whole, if it does.
    pub target: Option<Target>,
    /// The number of the graph; random where nothing is said, which is for tests only.
    pub graph: Option<u64>,
}

/// Settings for the plan of an ingest, made from what the user says: widths that do not depend on
/// the program that will run.
pub fn settings(settings: &Settings) -> Settings {
    Settings {
        device: None,
        storage: StorageMode::Kept,
        // Its readers may have a slower device than there is here, or less memory.
        encoding: settings.encoding.or(Some(Encoding::Compressed)),
        block_bits: settings.block_bits.or(Some(BLOCK_BITS)),
        ..*settings
    }
}

/// Reads a stream into a directory, as a plan of [`settings`] says.
///
/// A graph is kept once, and planned and loaded for each program that runs on it:
///
/// ```
/// use welter_algorithms::Wcc;
/// use welter_engine::kept::{self, KeepOptions, KeptGraph};
/// use welter_engine::plan::{Layout, Plan, Settings, Shape};
/// use welter_engine::{Machine, Storage, Workers, pass};
/// use welter_model::edges::{EdgeList, Reading};
/// use welter_model::ids::IdMap;
/// use welter_progress::Progress;
/// use welter_store::io::IoOptions;
///
/// let edges = EdgeList::from_pairs(vec![[0, 1], [2, 1], [3, 4]]);
/// let (reading, progress, machine) = (Reading::default(), Progress::new(), Machine::detect());
/// let settings = Settings::default();
/// let kept_settings = kept::settings(&settings);
/// let plan = Plan::new(Shape::of(&edges, reading), Layout::kept(), &kept_settings, &machine)?;
///
/// let folder = tempfile::tempdir()?;
/// let (directory, io) = (folder.path().join("graph"), IoOptions::default());
/// let storage = Storage { directories: vec![folder.path().to_owned()], io: io.clone() };
/// let workers = Workers::new(plan.premises.threads)?.with_storage(storage);
/// let options =
///     KeepOptions { directory: directory.clone(), io: io.clone(), ..KeepOptions::default() };
/// kept::keep(Box::new(edges), &IdMap::Same, reading, &plan, &options, &workers, &progress)?;
///
/// let kept = KeptGraph::open(&directory, &io)?;
/// let plan = kept.plan(Layout::of_stream::<Wcc>(), &settings, &machine)?;
/// let graph = kept.load(&plan, &workers, &progress)?;
/// assert_eq!((graph.vertices(), graph.edges()), (5, 3));
/// assert_eq!(pass(&graph, &Wcc, &workers, &progress)?.values.len(), 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`Graph::ingest`]; when the directory is there already or cannot be made, when its file
/// system has too little room, and when a write fails. Nothing is left then.
pub fn keep(
    stream: Box<dyn EdgeStream>,
    ids: &IdMap,
    reading: Reading,
    plan: &Plan,
    options: &KeepOptions,
    workers: &Workers,
    progress: &Progress,
) -> Result<(Manifest, StaleStaging), EngineError> {
    let KeepOptions { directory, disks, io, target, graph, .. } = options;
    let io = &plan.io(io);
    let faults = io.faults.as_ref();
    let leftovers = clear(directory);
    let draft = Draft::begin(directory, faults)?;
    let folder = draft.path().join(GENERATION);
    durable::make_directory(&folder, faults)?;
    let number = graph.unwrap_or_else(random_number);
    let place = (&*folder, &**directory, number);
    let files = disks::lay(place, disks::chunks_name, disks, faults)?;
    let volume = Arc::new(volume(&files, io, plan, ids)?);
    let storage = storage(&folder, disks, io);
    let target = target.as_ref().map(|to| (to, to.url().join(folder_elsewhere(0, number))));
    let keeping = Keeping { volume: Arc::clone(&volume), storage, target, graph: number };
    let input_edges = stream.edges();
    let negative = Arc::new(AtomicBool::new(false));
    let stream = Box::new(Watched { stream, negative: Arc::clone(&negative) });
    let held = ingest(stream, ids, reading, plan, Some(&keeping), workers, progress)?;
    volume.sync()?;
    workers.wait_for_closed_files();
    let mut manifest = Manifest {
        graph: number,
        generation: 0,
        slots: held.slots(),
        vertices: held.vertices(),
        edges: held.edges(),
        input_edges,
        chunks: held.chunks() as u64,
        extents: 0,
        chunk_bytes: held.chunk_bytes(),
        stripes: held.stripes() as u32,
        partitions: held.partitions.len() as u32,
        stripe_bits: plan.premises.edges.stripe_bits,
        block_bits: plan.premises.edges.block_bits,
        encoding: plan.premises.edges.encoding,
        compression: held.layout.compression,
        reading,
        weighted: plan.premises.shape.weighted,
        negative: negative.load(Ordering::Relaxed),
        all_present: ids.all_present(),
        ids: form(ids),
        files: disks::listed(&volume),
    };
    ColumnFiles { place, options, faults }.write(&held, ids, &mut manifest)?;
    if progress.cancelled() {
        return Err(EngineError::Cancelled);
    }
    sealed::seal(&draft.path().join(MANIFEST), &manifest.identity(), &manifest.encode(), faults)?;
    draft.publish()?;
    Ok((manifest, leftovers))
}

/// The disks that the chunks go to.
fn storage(folder: &Path, disks: &[PathBuf], io: &IoOptions) -> Storage {
    let others = disks.iter().map(PathBuf::as_path);
    let directories = [folder].into_iter().chain(others).map(Path::to_owned).collect();
    Storage { directories, io: io.clone() }
}

/// The volume of the chunks, on file systems that have room for all of the graph.
fn volume(
    files: &[PathBuf],
    io: &IoOptions,
    plan: &Plan,
    ids: &IdMap,
) -> Result<Volume, EngineError> {
    let volume = Volume::create(files, io)?;
    let columns = plan.memory.vertices + ids.bytes();
    volume.check_space(plan.memory.chunks_stored + columns)?;
    Ok(volume)
}

/// Form of ids, as the manifest states it.
fn form(ids: &IdMap) -> KeptIds {
    match ids {
        IdMap::Same => KeptIds::Same,
        IdMap::Declared => KeptIds::Declared,
        IdMap::Offset(first) => KeptIds::Offset(*first),
        IdMap::Sparse(_) => KeptIds::Integers,
        IdMap::Names(_) => KeptIds::Names,
        IdMap::NonCompact(ids) => {
            KeptIds::NonCompact { first: ids.all().start, others: ids.others() }
        }
        IdMap::TwoKinds(ids) => match ids.keys() {
            Keys::Integers(_, added) => KeptIds::TwoKindsOfIntegers { added: *added },
            Keys::Names(_) => KeptIds::TwoKindsOfNames,
        },
    }
}

/// Writes what lies beside the chunks.
struct ColumnFiles<'a> {
    /// Folder of the files, where the graph will be, and its number.
    place: (&'a Path, &'a Path, u64),
    options: &'a KeepOptions,
    faults: Option<&'a Arc<Faults>>,
}

impl ColumnFiles<'_> {
    fn write(&self, held: &Graph, ids: &IdMap, manifest: &mut Manifest) -> Result<(), EngineError> {
        let not_stored = || EngineError::internal("a chunk was not stored");
        let entries = entries(held).ok_or_else(not_stored)?;
        manifest.extents = extents(&entries);
        let mut column = self.begin(CHUNKS, (entries.len() * ENTRY_BYTES) as u64)?;
        column.append(&entries)?;
        manifest.files.extend(column.commit()?);
        drop(entries);

        let stripes = held.stripes.iter().map(|stripe| stripe.segments.start as u64);
        let partitions = held.partitions.iter().map(|partition| partition.start);
        let cuts: Vec<u64> = stripes
            .chain([held.vertices.segments() as u64])
            .chain(partitions)
            .chain([held.vertices()])
            .collect();
        manifest.files.extend(self.column(CUTS, &cuts)?);
        manifest.files.extend(self.column(DEGREES, held.out_degrees())?);
        if let Some(words) = held.vertices.words() {
            manifest.files.extend(self.column(VERTICES, words)?);
        }
        match ids {
            IdMap::Same | IdMap::Declared | IdMap::Offset(_) => {}
            IdMap::Sparse(ids) => manifest.files.extend(self.column(INTEGERS, ids)?),
            IdMap::NonCompact(ids) => manifest.files.extend(self.column(INTEGERS, ids.named())?),
            IdMap::Names(names) => manifest.files.extend(self.names(names)?),
            IdMap::TwoKinds(ids) => manifest.files.extend(match ids.keys() {
                Keys::Integers(ids, _) => self.column(INTEGERS, ids)?,
                Keys::Names(names) => self.names(names)?,
            }),
        }
        Ok(())
    }

    /// Begins a column of a name and kind, on all disks if it is large.
    fn begin(&self, kind: (&'static str, [u8; 8]), bytes: u64) -> Result<ColumnWriter, StoreError> {
        let is_large = bytes >= self.options.parts_from.unwrap_or(PARTS_FROM);
        let disks: &[PathBuf] = if is_large { &self.options.disks } else { &[] };
        let files = disks::lay(self.place, |turn| part_name(kind.0, turn), disks, self.faults)?;
        ColumnWriter::create(&files, kind, (self.place.2, bytes), self.faults)
    }

    fn column<T: bytemuck::Pod>(
        &self,
        kind: (&'static str, [u8; 8]),
        items: &[T],
    ) -> Result<Vec<KeptFile>, StoreError> {
        let mut column = self.begin(kind, size_of_val(items) as u64)?;
        items.chunks(PIECE).try_for_each(|piece| column.append(piece))?;
        column.commit()
    }

    /// Where each name ends, and then the names.
    fn names(&self, names: &Names) -> Result<Vec<KeptFile>, StoreError> {
        let text = names.text().as_bytes();
        let mut column = self.begin(NAMES, names.len() as u64 * 8 + text.len() as u64)?;
        let mut ends = Vec::with_capacity(PIECE);
        let mut end = 0;
        for name in names.iter() {
            end += name.len() as u64;
            ends.push(end);
            if ends.len() == PIECE {
                column.append(&ends)?;
                ends.clear();
            }
        }
        column.append(&ends)?;
        text.chunks(PIECE * 8).try_for_each(|piece| column.append(piece))?;
        column.commit()
    }
}

/// A stream of which is noted whether it has weights below zero.
struct Watched {
    stream: Box<dyn EdgeStream>,
    negative: Arc<AtomicBool>,
}

impl StreamWrapper for Watched {
    type Inner = dyn EdgeStream;

    fn inner(&self) -> &Self::Inner {
        &*self.stream
    }

    fn read_through(
        &self,
        part: usize,
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        self.stream.read(part, &mut |batch| {
            if batch.weights.is_some_and(|weights| weights.iter().any(|weight| *weight < 0.0)) {
                self.negative.store(true, Ordering::Relaxed);
            }
            visit(batch)
        })
    }
}
