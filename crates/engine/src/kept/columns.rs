//! Columns of numbers in sealed files: written in order, and read against what the manifest says.

use std::path::Path;
use std::sync::Arc;
use welter_store::sealed::offset_in_file;

use bytemuck::{Pod, cast_slice};
use welter_store::io::{Faults, IoOptions};
use welter_store::sealed::{BLOCK_BYTES, Identity, SealedReader, SealedWriter};
use welter_store::{StoreError, checksum};

use super::manifest::{KeptFile, Manifest, VERSION};

/// A column that is being written.
pub(super) struct ColumnWriter {
    writer: SealedWriter,
    name: &'static str,
    checksum: u32,
    bytes: u64,
}

impl ColumnWriter {
    /// Begins a file of a kind in a folder, with a given length of its payload.
    pub(super) fn create(
        folder: &Path,
        (name, kind): (&'static str, [u8; 8]),
        graph: u64,
        bytes: u64,
        faults: Option<&Arc<Faults>>,
    ) -> Result<Self, StoreError> {
        let identity = Identity { kind, version: VERSION, graph, generation: 0 };
        let writer = SealedWriter::create(&folder.join(name), &identity, bytes, faults)?;
        Ok(Self { writer, name, checksum: 0, bytes })
    }

    /// Adds numbers.
    pub(super) fn append<T: Pod>(&mut self, items: &[T]) -> Result<(), StoreError> {
        let bytes = cast_slice(items);
        self.checksum = checksum::append(self.checksum, bytes);
        self.writer.append(bytes)
    }

    /// Makes the file durable, and says what the manifest shall say of it.
    pub(super) fn commit(self) -> Result<KeptFile, StoreError> {
        self.writer.commit()?;
        let blocks = self.bytes.div_ceil(BLOCK_BYTES as u64);
        let bytes = 64 + self.bytes + blocks * 4;
        Ok(KeptFile { name: self.name.to_owned(), bytes, checksum: self.checksum })
    }
}

/// A column that is being read, from its begin to its end.
pub(super) struct ColumnReader {
    reader: SealedReader,
    path: std::path::PathBuf,
    checksum: u32,
    expected: u32,
}

impl ColumnReader {
    /// Opens the file of a name and kind in a folder.
    pub(super) fn open(
        folder: &Path,
        (name, kind): (&'static str, [u8; 8]),
        manifest: &Manifest,
        io: &IoOptions,
    ) -> Result<Self, StoreError> {
        let path = folder.join(name);
        let damaged =
            |offset, what: String| Err(StoreError::Damaged { file: path.clone(), offset, what });
        let Some(listed) = manifest.file(name) else {
            return damaged(0, "the manifest does not list it".to_owned());
        };
        let reader = SealedReader::open_in(io, &path, kind).map_err(StoreError::of_listed_file)?;
        reader.is_version(VERSION)?;
        reader.belongs_to(manifest.graph, manifest.generation)?;
        let bytes = offset_in_file(reader.payload_bytes());
        let tail = if reader.payload_bytes().is_multiple_of(BLOCK_BYTES as u64) { 0 } else { 4 };
        if bytes + tail != listed.bytes {
            return damaged(40, format!("the manifest says that it has {} bytes", listed.bytes));
        }
        Ok(Self { reader, checksum: 0, expected: listed.checksum, path })
    }

    /// Bytes of its payload; as many are in the file.
    pub(super) fn bytes(&self) -> u64 {
        self.reader.payload_bytes()
    }

    /// Refuses a file of another length than the counts of the manifest ask for.
    pub(super) fn must_hold(&self, bytes: u64) -> Result<(), StoreError> {
        if self.bytes() == bytes {
            return Ok(());
        }
        let what = format!("it holds {} bytes, and {bytes} are wanted", self.bytes());
        Err(self.damaged(40, what))
    }

    /// Reads the next numbers.
    pub(super) fn read<T: Pod>(&mut self, items: &mut [T]) -> Result<(), StoreError> {
        self.reader.read_items(items)?;
        self.checksum = checksum::append(self.checksum, cast_slice(items));
        Ok(())
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
        if self.checksum == self.expected {
            return Ok(());
        }
        Err(self.damaged(64, "it is not what the manifest lists: another checksum".to_owned()))
    }

    /// The error of a file that is not what was written.
    pub(super) fn damaged(&self, offset: u64, what: String) -> StoreError {
        StoreError::Damaged { file: self.path.clone(), offset, what }
    }
}
