//! A place beside the memory of a worker, where bytes wait that memory has no room for.
//!
//! A worker knows no file: its host lends it a place, a file without a name on the disk of the
//! machine, or memory in tests and in the simulator. Nothing of it is named by the protocol, and it
//! goes with the process.

use welter_engine::EngineError;

/// Bytes that are appended, and read back until all of them are forgotten.
pub trait ScratchSpace: Send {
    /// Appends bytes, and says at which place they begin.
    ///
    /// # Errors
    /// When there is no room for them.
    fn append(&mut self, bytes: &[u8]) -> Result<u64, EngineError>;

    /// Reads bytes back, from the place on where they begin.
    ///
    /// # Errors
    /// When they cannot be read.
    fn read(&mut self, offset: u64, bytes: &mut [u8]) -> Result<(), EngineError>;

    /// Forgets all bytes; the next ones begin at 0.
    ///
    /// # Errors
    /// When their room cannot be given back.
    fn clear(&mut self) -> Result<(), EngineError>;
}

/// A place in memory.
#[derive(Clone, Debug, Default)]
pub struct MemoryScratch(Vec<u8>);

impl ScratchSpace for MemoryScratch {
    fn append(&mut self, bytes: &[u8]) -> Result<u64, EngineError> {
        let offset = self.0.len() as u64;
        self.0.extend_from_slice(bytes);
        Ok(offset)
    }

    fn read(&mut self, offset: u64, bytes: &mut [u8]) -> Result<(), EngineError> {
        let found = self.0.get(offset as usize..).and_then(|rest| rest.get(..bytes.len()));
        let found = found.ok_or_else(|| EngineError::internal("bytes that were not written"))?;
        bytes.copy_from_slice(found);
        Ok(())
    }

    fn clear(&mut self) -> Result<(), EngineError> {
        self.0.clear();
        Ok(())
    }
}
