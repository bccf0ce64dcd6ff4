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
        self.run_at_once(place, false, memory)
    }

    /// Writes a place on this thread.
    ///
    /// # Errors
    /// As [`Queue::wait`](super::Queue::wait).
    pub fn write_at_once(&self, place: Place, memory: &mut impl Memory) -> Result<(), StoreError> {
        self.run_at_once(place, true, memory)
    }

    /// Does one request of a place after the other.
    fn run_at_once(
        &self,
        place: Place,
        to_write: bool,
        memory: &mut impl Memory,
    ) -> Result<(), StoreError> {
        let Some(most) = self.requests().bytes(to_write) else {
            let transfer = Transfer::new(self, place, to_write, memory.bytes())?;
            return blocking::run(self, transfer, memory.bytes_mut());
        };
        // Requests that make no sense are refused before anything is moved.
        Transfer::new(self, place, to_write, memory.bytes())?;
        for (part, start) in place.parts(most) {
            let memory = &mut memory.bytes_mut()[start..];
            blocking::run(self, Transfer::new(self, part, to_write, memory)?, memory)?;
        }
        Ok(())
    }
}
