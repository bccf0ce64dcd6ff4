//! Writing a sealed file, block by block: on this machine, elsewhere, or in memory.

use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytemuck::Pod;

use super::header::{BLOCK_BYTES, CHECKSUM_BYTES, Header, Identity};
use crate::StoreError;
use crate::durable::Draft;
use crate::io::{Faults, Remote, RemoteWriter};

/// Destination of the bytes of the file.
enum Target {
    Here(Draft),
    Elsewhere(PathBuf, Box<dyn RemoteWriter>),
    Held(Vec<u8>),
}

impl Target {
    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        match self {
            Self::Here(draft) => draft.append(bytes),
            Self::Elsewhere(path, writer) => {
                writer.write_all(bytes).map_err(|error| StoreError::of_writer(path, error))
            }
            Self::Held(all) => {
                all.extend_from_slice(bytes);
                Ok(())
            }
        }
    }
}

/// A sealed file that is being written; not there before [`commit`](Self::commit), unless it was
/// created under its name.
pub struct SealedWriter {
    target: Target,
    header: Header,
    /// The block that is being filled, with room for its checksum.
    block: Vec<u8>,
    number: u64,
}

impl SealedWriter {
    /// Begins the file `path`, which will hold exactly `payload_bytes` bytes of payload.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn create(
        path: &Path,
        identity: &Identity,
        payload_bytes: u64,
        faults: Option<&Arc<Faults>>,
    ) -> Result<Self, StoreError> {
        Self::begin(Target::Here(Draft::create(path, faults)?), identity, payload_bytes)
    }

    /// As [`Self::create`], of a file that has its name from the begin on and stays when this is
    /// dropped: of those that belong together something else says whether all are whole.
    ///
    /// # Errors
    /// As [`Self::create`]; also when the name is taken.
    pub fn create_named(
        path: &Path,
        identity: &Identity,
        payload_bytes: u64,
        faults: Option<&Arc<Faults>>,
    ) -> Result<Self, StoreError> {
        Self::begin(Target::Here(Draft::create_named(path, faults)?), identity, payload_bytes)
    }

    /// As [`Self::create`], of a file that lies elsewhere.
    ///
    /// # Errors
    /// As [`Self::create`].
    pub fn create_elsewhere(
        remote: &dyn Remote,
        path: &Path,
        identity: &Identity,
        payload_bytes: u64,
    ) -> Result<Self, StoreError> {
        let target = Target::Elsewhere(path.to_owned(), remote.create(path)?);
        Self::begin(target, identity, payload_bytes)
    }

    /// The bytes of a file with this payload.
    pub(super) fn whole(identity: &Identity, payload: &[u8]) -> Result<Vec<u8>, StoreError> {
        let mut writer = Self::begin(Target::Held(Vec::new()), identity, payload.len() as u64)?;
        writer.append(payload)?;
        Ok(if let Target::Held(bytes) = writer.target { bytes } else { Vec::new() })
    }

    fn begin(
        mut target: Target,
        identity: &Identity,
        payload_bytes: u64,
    ) -> Result<Self, StoreError> {
        let header = Header::new(identity, payload_bytes);
        target.append(bytemuck::bytes_of(&header))?;
        let mut writer = Self { target, header, block: Vec::new(), number: 0 };
        writer.block.reserve_exact(writer.header.block_bytes(0) + CHECKSUM_BYTES);
        Ok(writer)
    }

    /// Adds bytes to the payload.
    ///
    /// # Errors
    /// When they cannot be written, or are more than were said to come.
    pub fn append(&mut self, mut bytes: &[u8]) -> Result<(), StoreError> {
        let written = self.number * BLOCK_BYTES as u64 + self.block.len() as u64;
        // Where the last block is done, `written` counts what it lacks too.
        if bytes.len() as u64 > self.header.payload_bytes.saturating_sub(written) {
            return Err(self.miscounted(written + bytes.len() as u64));
        }
        while !bytes.is_empty() {
            let room = self.header.block_bytes(self.number) - self.block.len();
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.block.extend_from_slice(now);
            bytes = later;
            if now.len() == room {
                self.finish_block()?;
            }
        }
        Ok(())
    }

    /// Adds numbers to the payload, little-endian.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    pub fn append_items<T: Pod>(&mut self, items: &[T]) -> Result<(), StoreError> {
        self.append(bytemuck::cast_slice(items))
    }

    fn finish_block(&mut self) -> Result<(), StoreError> {
        let sum = self.header.sum_of_block(self.number, &self.block);
        self.block.extend_from_slice(&sum.to_le_bytes());
        self.target.append(&self.block)?;
        self.block.clear();
        self.number += 1;
        Ok(())
    }

    /// Makes the file durable and gives it its name; what had that name before is gone.
    ///
    /// # Errors
    /// When a step fails, or when less was added than was said to come.
    pub fn commit(self) -> Result<(), StoreError> {
        if self.number != self.header.blocks() {
            let written = self.number * BLOCK_BYTES as u64 + self.block.len() as u64;
            return Err(self.miscounted(written));
        }
        match self.target {
            Target::Here(draft) => draft.commit(),
            Target::Elsewhere(_, writer) => writer.complete(),
            Target::Held(_) => Ok(()),
        }
    }

    fn miscounted(&self, written: u64) -> StoreError {
        let promised = self.header.payload_bytes;
        StoreError::Request(format!("{written} bytes for a file of {promised}"))
    }
}

impl fmt::Debug for SealedWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SealedWriter").field("blocks", &self.number).finish_non_exhaustive()
    }
}
