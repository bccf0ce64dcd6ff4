//! Sending a kept graph to a bucket: what was ingested into a directory goes there in objects.
//!
//! ```text
//! URL/manifest               put last, only where none is; without it there is no graph
//! URL/gen-0-NUMBER/edges-0   extents in the order of stripes and sources, 128 MiB or so
//!                  edges-1   the next of them
//!                  chunks    where each chunk lies now
//!                  ...       the other files as they are
//! ```
//! The folder bears the number of the graph, so two writers of one graph never write the same
//! objects, and one of their manifests wins. Extents are put in the order in which they are read,
//! so that neighbours are wanted together and come by one request.
//!
//! Invariant: a sender that fails, or comes second, removes all that it has put. Checked in
//! `Sent::drop`. Tested by `of_two_writers_one_wins_and_the_other_leaves_nothing`.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use welter_progress::{Progress, Unit};
use welter_store::io::{Memory, Pages, Place, Remote, RemoteWriter};
use welter_store::sealed;
use welter_store::{StoreError, durable};

use super::columns::ColumnWriter;
use super::directory::{Directory, ENTRY_BYTES};
use super::manifest::{KeptFile, Manifest, column_of};
use super::{CHUNKS, KeptGraph, MANIFEST, disks, leftovers};
use crate::EngineError;
use crate::machine::arena::SLAB_BYTES;

/// Bytes of an object of chunks: few requests list a graph, and a part of it is soon sent again.
const OBJECT_BYTES: u64 = 128 << 20;
/// Objects of that size at most; larger graphs have larger ones.
const OBJECTS: u64 = 1 << 15;
/// Bytes that are copied at a time.
const PIECE_BYTES: usize = 1 << 20;
/// Folder below that of the graph, for files that are written anew.
const ANEW: &str = "sent";

/// Files that were put so far; removed again unless the manifest was.
struct Sent<'a> {
    remote: &'a Arc<dyn Remote>,
    files: Vec<PathBuf>,
    whole: bool,
}

impl Drop for Sent<'_> {
    fn drop(&mut self) {
        if !self.whole {
            // The error that led here is the one to tell; what is left nothing leads to.
            for file in &self.files {
                let _ = self.remote.delete(file);
            }
        }
    }
}

impl Sent<'_> {
    fn begin(&mut self, file: PathBuf) -> Result<Box<dyn RemoteWriter>, StoreError> {
        let writer = self.remote.create(&file)?;
        self.files.push(file);
        Ok(writer)
    }
}

impl KeptGraph {
    /// Sends the graph of this directory to `target`, the URL of a folder of `remote`.
    /// `object_bytes`: bytes of an object of chunks at most, for tests; else 128 MiB.
    ///
    /// # Errors
    /// [`StoreError::Create`] when a graph is there already; when something cannot be read or
    /// put, or the run is cancelled. Nothing is left there then.
    pub fn send(
        &self,
        remote: &Arc<dyn Remote>,
        target: &Path,
        object_bytes: Option<u64>,
        progress: &Progress,
    ) -> Result<Manifest, EngineError> {
        let begun = Instant::now();
        refuse_to_replace(remote, target)?;
        let mut manifest = self.manifest.clone();
        let folder = target.join(manifest.folder_elsewhere());
        let mut sent = Sent { remote, files: Vec::new(), whole: false };
        let phase = progress.phase("send", Unit::Bytes, Some(manifest.bytes()));
        let mut step = |bytes: u64| {
            phase.add(bytes);
            if progress.cancelled() { Err(EngineError::Cancelled) } else { Ok(()) }
        };
        let (volume, lengths) = self.volume(&self.io)?;
        let mut directory = self.directory(&lengths)?;
        let is_anew = |name: &str| disks::is_chunks(name) || column_of(name) == Some(CHUNKS.0);
        manifest.files.retain(|file| !is_anew(&file.name));
        let read = |place: Place, memory: &mut Pages| volume.read_at_once(place, memory);
        let most = object_bytes.unwrap_or(OBJECT_BYTES);
        let objects = send_edges((&mut directory, most), &folder, &mut sent, &read, &mut step)?;
        let chunks = self.chunks_anew(&directory)?;
        drop(directory);
        let anew = self.path.join(ANEW).join(CHUNKS.0);
        send_file(&anew, &folder.join(CHUNKS.0), &mut sent, &mut step)?;
        for file in &manifest.files {
            let from = disks::place(&self.folder(), &file.name);
            send_file(&from, &folder.join(&file.name), &mut sent, &mut step)?;
        }
        manifest.files.splice(0..0, objects.into_iter().chain(chunks));
        let bytes = Self::sealed(&manifest)?;
        step(0)?;
        let names = manifest.files.iter().map(|file| file.name.clone());
        leftovers::whole(remote, &folder, names, begun.elapsed())?;
        let file = target.join(MANIFEST);
        let put = remote.put_new(&file, &bytes);
        // An answer that is lost may hide that it was put; then nothing it names may be removed.
        let unsure = || !matches!(remote.bytes(&file), Err(StoreError::Missing { .. }));
        sent.whole = put.as_ref().map_or_else(|_| unsure(), |put| *put);
        if put? { Ok(manifest) } else { Err(there_already(target).into()) }
    }

    /// Writes the directory of chunks anew, beside the graph.
    fn chunks_anew(&self, directory: &Directory) -> Result<Vec<KeptFile>, StoreError> {
        let folder = self.path.join(ANEW);
        durable::make_directory(&folder, None)?;
        let bytes = (directory.entries.len() * ENTRY_BYTES) as u64;
        let (files, graph) = ([folder.join(CHUNKS.0)], self.manifest.graph);
        let mut column = ColumnWriter::create(&files, CHUNKS, (graph, bytes), self.faults())?;
        column.append(&directory.entries)?;
        column.commit()
    }

    /// The bytes of a manifest as they lie in its file.
    fn sealed(manifest: &Manifest) -> Result<Vec<u8>, StoreError> {
        sealed::sealed_bytes(&manifest.identity(), &manifest.encode())
    }
}

/// Refuses the URL of a graph that is there.
///
/// # Errors
/// [`StoreError::Create`] then; when that cannot be asked.
pub fn refuse_to_replace(remote: &Arc<dyn Remote>, target: &Path) -> Result<(), StoreError> {
    match remote.bytes(&target.join(MANIFEST)) {
        Err(StoreError::Missing { .. }) => Ok(()),
        Ok(_) => Err(there_already(target)),
        Err(error) => Err(error),
    }
}

fn there_already(target: &Path) -> StoreError {
    let source = io::Error::new(io::ErrorKind::AlreadyExists, "a graph is kept there already");
    StoreError::Create { file: target.to_owned(), source }
}

/// Receives the number of bytes that were sent, and says whether to continue.
type Step<'a> = dyn FnMut(u64) -> Result<(), EngineError> + 'a;

/// Sends extents in their order, and notes where each lies now.
fn send_edges(
    (directory, most): (&mut Directory, u64),
    folder: &Path,
    sent: &mut Sent<'_>,
    read: &dyn Fn(Place, &mut Pages) -> Result<(), StoreError>,
    step: &mut Step<'_>,
) -> Result<Vec<KeptFile>, EngineError> {
    let all: u64 = directory.runs.iter().map(|run| run.place.rounded_bytes() as u64).sum();
    let most = most.max(all / OBJECTS);
    let mut memory = Pages::zeroed(SLAB_BYTES)?;
    let mut files: Vec<KeptFile> = Vec::new();
    let mut writer: Option<Box<dyn RemoteWriter>> = None;
    for number in 0..directory.runs.len() {
        let place = directory.runs[number].place;
        let bytes = place.rounded_bytes();
        if files.last().is_none_or(|file| file.bytes + bytes as u64 > most) {
            writer.take().map_or(Ok(()), RemoteWriter::complete)?;
            let name = format!("edges-{}", files.len());
            writer = Some(sent.begin(folder.join(&name))?);
            files.push(KeptFile { name, bytes: 0, checksum: 0 });
        }
        read(place, &mut memory)?;
        let file = files.len() - 1;
        if let (Some(writer), Some(end)) = (&mut writer, files.last_mut()) {
            writer
                .write_all(&memory.bytes()[..bytes])
                .map_err(|error| StoreError::of_writer(folder, error))?;
            directory.moved(number, Place { file: file as u16, offset: end.bytes, ..place });
            end.bytes += bytes as u64;
        }
        step(bytes as u64)?;
    }
    writer.take().map_or(Ok(()), RemoteWriter::complete)?;
    if files.is_empty() {
        // A graph without edges has one file of them all the same.
        sent.begin(folder.join("edges-0"))?.complete()?;
        files.push(KeptFile { name: "edges-0".to_owned(), bytes: 0, checksum: 0 });
    }
    Ok(files)
}

/// Sends a file as it is.
fn send_file(
    from: &Path,
    to: &Path,
    sent: &mut Sent<'_>,
    step: &mut Step<'_>,
) -> Result<(), EngineError> {
    let unread = |source| StoreError::Io { what: "read", file: from.to_owned(), source };
    let mut file = File::open(from).map_err(unread)?;
    let mut writer = sent.begin(to.to_owned())?;
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let count = file.read(&mut piece).map_err(unread)?;
        if count == 0 {
            return Ok(writer.complete()?);
        }
        writer.write_all(&piece[..count]).map_err(|error| StoreError::of_writer(to, error))?;
        step(count as u64)?;
    }
}
