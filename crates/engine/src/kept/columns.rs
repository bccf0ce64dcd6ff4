//! Columns of numbers in sealed files: written in order, and read against what the manifest says.
//!
//! A large column of a graph over several disks is dealt out to a file on each: its first block
//! goes to the first file, its second one to the next, and so on by turns. Each file is sealed by
//! itself and has a checksum in the manifest, so files in each other's place are damage.
//!
//! Invariant: a column comes back as it was appended, in however many files it lies. Tested by
//! `columns_over_several_disks_are_those_of_one`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use bytemuck::{Pod, cast_slice, cast_slice_mut};
use welter_store::io::{Faults, IoOptions};
use welter_store::sealed::{
    BLOCK_BYTES, Identity, SealedReader, SealedWriter, offset_in_file, part_bytes,
};
use welter_store::{StoreError, checksum};

use super::disks;
use super::manifest::{KeptFile, Manifest, VERSION, part_name};

/// Bytes that one file has before it is the turn of the next.
const PIECE: u64 = BLOCK_BYTES as u64;
/// Pieces of each of several files that the system is asked to read ahead, so that disks are read
/// side by side though one thread takes what they give.
const AHEAD: u64 = 4;

/// The file, of `parts`, that has a byte of a column, and which byte of the payload it is there.
fn place_of(byte: u64, parts: usize) -> (usize, u64) {
    let (piece, begin, parts) = (byte / PIECE, byte % PIECE, parts as u64);
    ((piece % parts) as usize, piece / parts * PIECE + begin)
}

/// Bytes from one on that lie side by side in a file, `most` at most.
fn together(byte: u64, most: usize) -> usize {
    most.min((PIECE - byte % PIECE) as usize)
}

/// A column that is being written.
pub(super) struct ColumnWriter {
    parts: Vec<PartWriter>,
    /// Bytes that were appended.
    written: u64,
}

/// A file of a column that is being written.
struct PartWriter {
    writer: SealedWriter,
    path: PathBuf,
    listed: KeptFile,
}

impl ColumnWriter {
    /// Begins a column of a name and kind, of a graph, with a given length in bytes. It goes to
    /// these files, of which all but the first have links by which they are removed.
    pub(super) fn create(
        files: &[PathBuf],
        (name, kind): (&str, [u8; 8]),
        (graph, bytes): (u64, u64),
        faults: Option<&Arc<Faults>>,
    ) -> Result<Self, StoreError> {
        let identity = Identity { kind, version: VERSION, graph, generation: 0 };
        let begin = |(turn, path): (usize, &PathBuf)| {
            let payload = part_bytes(bytes, turn, files.len());
            let writer = if turn == 0 {
                SealedWriter::create(path, &identity, payload, faults)?
            } else {
                // A temporary name would be one that no link leads to.
                SealedWriter::create_named(path, &identity, payload, faults)?
            };
            let bytes = 64 + payload + payload.div_ceil(PIECE) * 4;
            let listed = KeptFile { name: part_name(name, turn), bytes, checksum: 0 };
            Ok(PartWriter { writer, path: path.clone(), listed })
        };
        let parts = files.iter().enumerate().map(begin).collect::<Result<Vec<_>, StoreError>>()?;
        Ok(Self { parts, written: 0 })
    }

    /// Adds numbers.
    pub(super) fn append<T: Pod>(&mut self, items: &[T]) -> Result<(), StoreError> {
        let mut bytes: &[u8] = cast_slice(items);
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(together(self.written, bytes.len()));
            let (part, _) = place_of(self.written, self.parts.len());
            let PartWriter { writer, listed, .. } = &mut self.parts[part];
            listed.checksum = checksum::append(listed.checksum, now);
            writer.append(now)?;
            self.written += now.len() as u64;
            bytes = later;
        }
        Ok(())
    }

    /// Makes all files durable, side by side, and says what the manifest shall say of them.
    pub(super) fn commit(self) -> Result<Vec<KeptFile>, StoreError> {
        let listed = self.parts.iter().map(|part| part.listed.clone()).collect();
        let mut parts = self.parts.into_iter();
        let first = parts.next();
        thread::scope(|scope| {
            let begin = |PartWriter { writer, path, .. }: PartWriter| {
                let part = thread::Builder::new().name("column".to_owned());
                let failed = |source| StoreError::Io { what: "sync", file: path.clone(), source };
                let part = part.spawn_scoped(scope, move || writer.commit()).map_err(failed)?;
                Ok((part, path))
            };
            let others = parts.map(begin).collect::<Result<Vec<_>, StoreError>>()?;
            let done = first.map_or(Ok(()), |first| first.writer.commit());
            let joined = others.into_iter().map(|(part, path)| {
                part.join().unwrap_or(Err(StoreError::Poisoned { file: path }))
            });
            joined.fold(done, Result::and)
        })?;
        Ok(listed)
    }
}

/// A column that is being read, from its begin to its end.
pub(super) struct ColumnReader {
    parts: Vec<PartReader>,
    /// Bytes that were read.
    read: u64,
    /// Pieces that the system was asked to read ahead, or need not be.
    asked: u64,
}

/// A file of a column that is being read.
struct PartReader {
    reader: SealedReader,
    path: PathBuf,
    checksum: u32,
    expected: u32,
}

impl PartReader {
    /// Opens a file of a kind, as the manifest lists it.
    fn open(
        folder: &Path,
        (listed, kind): (&KeptFile, [u8; 8]),
        manifest: &Manifest,
        io: &IoOptions,
    ) -> Result<Self, StoreError> {
        let (path, here) = match io.remote {
            Some(_) => (folder.join(&listed.name), None),
            None => (disks::place(folder, &listed.name), Some(folder)),
        };
        let reader = SealedReader::open_in(io, &path, kind).map_err(|error| match here {
            Some(folder) => error.of_linked_file(folder),
            None => error.of_listed_file(),
        })?;
        reader.is_version(VERSION)?;
        reader.belongs_to(manifest.graph, manifest.generation)?;
        let bytes = offset_in_file(reader.payload_bytes());
        let tail = if reader.payload_bytes().is_multiple_of(PIECE) { 0 } else { 4 };
        let part = Self { reader, path, checksum: 0, expected: listed.checksum };
        if bytes + tail == listed.bytes {
            return Ok(part);
        }
        Err(part.damaged(40, format!("the manifest says that it has {} bytes", listed.bytes)))
    }

    /// The error of a file that is not what was written, at an offset of it.
    fn damaged(&self, offset: u64, what: String) -> StoreError {
        StoreError::Damaged { file: self.path.clone(), offset, what }
    }
}

impl ColumnReader {
    /// Opens the column of a name and kind in a folder.
    pub(super) fn open(
        folder: &Path,
        (name, kind): (&'static str, [u8; 8]),
        manifest: &Manifest,
        io: &IoOptions,
    ) -> Result<Self, StoreError> {
        let listed = manifest.parts(name);
        if listed.is_empty() {
            let what = "the manifest does not list it".to_owned();
            return Err(StoreError::Damaged { file: folder.join(name), offset: 0, what });
        }
        let open = |listed: &KeptFile| PartReader::open(folder, (listed, kind), manifest, io);
        let parts = listed.into_iter().map(open).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { parts, read: 0, asked: 0 })
    }

    /// Bytes of its payload; as many are in its files.
    pub(super) fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.reader.payload_bytes()).fold(0, u64::saturating_add)
    }

    /// Refuses a column of another length than the counts of the manifest ask for.
    pub(super) fn must_hold(&self, bytes: u64) -> Result<(), StoreError> {
        if self.bytes() == bytes {
            return Ok(());
        }
        let what = format!("it holds {} bytes, and {bytes} are wanted", self.bytes());
        Err(self.parts[0].damaged(40, what))
    }

    /// Reads the next numbers.
    pub(super) fn read<T: Pod>(&mut self, items: &mut [T]) -> Result<(), StoreError> {
        let mut bytes: &mut [u8] = cast_slice_mut(items);
        while !bytes.is_empty() {
            self.ask_ahead();
            let room = together(self.read, bytes.len());
            let (now, later) = bytes.split_at_mut(room);
            let (part, _) = place_of(self.read, self.parts.len());
            let part = &mut self.parts[part];
            part.reader.read(now)?;
            part.checksum = checksum::append(part.checksum, now);
            self.read += room as u64;
            bytes = later;
        }
        Ok(())
    }

    /// Has the system read the next pieces of several files.
    fn ask_ahead(&mut self) {
        let count = self.parts.len();
        if count == 1 {
            return;
        }
        let end = self.read / PIECE + AHEAD * count as u64;
        for piece in self.asked..end {
            let (part, begin) = place_of(piece * PIECE, count);
            self.parts[part].reader.will_read(begin..begin + PIECE);
        }
        self.asked = self.asked.max(end);
    }

    /// Reads `count` numbers; the caller knows that they are there.
    pub(super) fn read_vec<T: Pod>(&mut self, count: usize) -> Result<Vec<T>, StoreError> {
        let mut items = Vec::new();
        let bytes = (count * size_of::<T>()) as u64;
        items.try_reserve_exact(count).map_err(|_| StoreError::Memory(bytes))?;
        items.resize(count, T::zeroed());
        self.read(&mut items)?;
        Ok(items)
    }

    /// Says that all was read.
    pub(super) fn end(self) -> Result<(), StoreError> {
        let Some(part) = self.parts.iter().find(|part| part.checksum != part.expected) else {
            return Ok(());
        };
        Err(part.damaged(64, "it is not what the manifest lists: another checksum".to_owned()))
    }

    /// The error of a column that is not what was written, at a byte of it.
    pub(super) fn damaged(&self, byte: u64, what: String) -> StoreError {
        let (part, begin) = place_of(byte, self.parts.len());
        self.parts[part].damaged(offset_in_file(begin), what)
    }
}
