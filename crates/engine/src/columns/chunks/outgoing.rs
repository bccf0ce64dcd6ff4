//! Updates that leave the engine run by run: into messages to the machines of their destinations.
//!
//! A [`Pulled`] chunk makes records in room that another part owns, a bucket for instance, so that
//! they are written once, where they travel. How much room there is at a time changes nothing of
//! what is made.

use super::kernel::FoldKernel;
use super::pulled::Pulled;
use crate::EngineError;
use crate::kernels::kernel::{DecodeBuffers, Sources};
use crate::kernels::sink::{RecordRun, Room, Sink};

/// A place for records on their way out.
pub trait Outgoing {
    /// Room for up to `most` records, and for one at least: destinations, and the bytes of as many
    /// records, which begin where such records may.
    ///
    /// # Errors
    /// When there is none, and there will be none.
    fn room(&mut self, most: usize) -> Result<(&mut [u32], &mut [u8]), EngineError>;

    /// Keeps the first `count` records of the room that was handed out last.
    ///
    /// # Errors
    /// As of `room`.
    fn keep(&mut self, count: usize) -> Result<(), EngineError>;
}

/// The place as kernels know it.
struct Leaving<'o>(&'o mut dyn Outgoing);

impl Sink for Leaving<'_> {
    fn room(&mut self, most: usize) -> Result<Room<'_>, EngineError> {
        let (targets, records) = self.0.room(most)?;
        Ok(Room::Run(RecordRun { targets, records }))
    }

    fn keep(&mut self, count: usize) -> Result<(), EngineError> {
        self.0.keep(count)
    }
}

impl Pulled<'_, '_> {
    /// Makes a record of the update of each edge, as [`Pulled::scatter`] does, in the room that
    /// `to` has.
    ///
    /// # Errors
    /// When an edge leads outside the sources or the stripe, or there is no room. Some records were
    /// made then.
    pub fn send(
        &self,
        kernel: &FoldKernel,
        sources: Sources<'_, u8>,
        scratch: &mut DecodeBuffers,
        to: &mut dyn Outgoing,
    ) -> Result<(), EngineError> {
        self.scatter_to(kernel, sources, scratch, &mut Leaving(to))
    }
}

impl FoldKernel {
    /// Moves accumulators that have met an update to `to`, and clears them.
    ///
    /// # Errors
    /// When there is no room.
    pub fn drain(&self, accums: &mut [u8], to: &mut dyn Outgoing) -> Result<(), EngineError> {
        self.0.drain(accums, &mut Leaving(to))
    }
}
