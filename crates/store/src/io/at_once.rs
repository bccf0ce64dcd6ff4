//! Requests that are done where they are asked for, without a queue.

use super::blocking;
use super::memory::Memory;
use super::place::Place;
use super::transfer::Transfer;
use super::volume::Volume;
use crate::StoreError;

impl Volume {
    /// Reads a place on this thread.
    ///
    /// # Errors
    /// As [`Queue::wait`](super::Queue::wait).
    pub fn read_at_once(&self, place: Place, memory: &mut impl Memory) -> Result<(), StoreError> {
        let transfer = Transfer::new(self, place, false, memory.bytes())?;
        blocking::run(self, transfer, memory)
    }

    /// Writes a place on this thread.
    ///
    /// # Errors
    /// As [`Queue::wait`](super::Queue::wait).
    pub fn write_at_once(&self, place: Place, memory: &mut impl Memory) -> Result<(), StoreError> {
        let transfer = Transfer::new(self, place, true, memory.bytes())?;
        blocking::run(self, transfer, memory)
    }
}
