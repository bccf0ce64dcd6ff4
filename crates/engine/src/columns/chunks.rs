//! Chunks on a machine of a cluster: the kernels as functions over bytes and columns.
//!
//! On one machine the routes know where chunks lie, and their columns are padded to what a key can
//! tell apart. A machine of a cluster pulls chunks from others (Chaos, section 4), as bytes that
//! may be anything, and holds columns as short as a partition. So here a chunk is opened before it
//! is used, and keys are checked against the columns (`keys`). A [`Kernel`] is that of the routes,
//! but that it owns its program, as a worker does.
//!
//! | step of Chaos | here | kernel |
//! |---|---|---|
//! | pre-processing: edges of a cell become a chunk | [`EdgeWriter`] | `tiles` |
//! | scatter | [`Pulled::scatter`], [`write_updates`] | `folded`, `update_chunk` |
//! | scatter into messages (route `send`) | [`Pulled::send`], [`Outgoing`] | `folded` |
//! | gather | [`gather`], [`Stripes::merge`], [`group`], [`gather_extended`] | `folded`, `groups` |
//! | both at once (route `fold`) | [`Pulled::fold`] | `folded` |
//! | a stealer hands over | [`touched`], [`Stripes::touched`] | `folded` |
//! | apply | [`init`], [`apply`] | `folded`, `extension` |
//! | a program over triangles sees edges | [`Pulled::pairs`], [`IntersectKernel`] | `triangles` |
//! | an extended program rewrites edges | [`Pulled::extend`], [`states`] | `extension` |
//! | a contracting program sees those of the input | [`Pulled::show`] | |
//!
//! Invariants: whatever the bytes are, what comes of them is an error or what was written · a chunk
//! is of the cell that was asked for, or an error. Checked in `Cell::open`. Tested by
//! `damaged_chunks_are_errors` and `keys_that_lead_outside_are_errors`.

mod column;
mod kernel;
mod outgoing;
mod pulled;
mod stripes;
mod updates;
mod vertices;
mod writer;

use std::ops::Range;

use welter_store::ChunkError;
use welter_store::chunk::Chunk;
use welter_store::header::{CellId, KEY_BITS};

use crate::EngineError;

pub use self::column::Column;
pub use self::kernel::{ALIGN, ExtendedKernel, FoldKernel, IntersectKernel, Kernel};
pub use self::outgoing::Outgoing;
pub use self::pulled::{Pulled, states, with_states};
pub use self::stripes::Stripes;
pub use self::updates::{
    gather, gather_extended, group, open_updates, open_updates_again, touched, updates_bytes,
    write_updates, write_updates_to,
};
pub use self::vertices::{VertexTotals, Vertices, apply, init};
pub use self::writer::{EdgeWriter, Form};
pub use crate::kernels::kernel::{DecodeBuffers, Sources};
pub use crate::kernels::shape::{Capabilities, KernelShape};
pub use crate::kernels::update_chunk::{Records, UpdateKey, UpdateKind};

/// A cell: edges from a source partition to a stripe, which a chunk does not leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Number of the graph, the same in all its chunks.
    pub graph: u64,
    /// Name of the cell.
    pub id: CellId,
    /// Vertices of the source partition.
    pub sources: Range<u64>,
    /// Vertices of the stripe: at most 2^31.
    pub targets: Range<u64>,
}

impl Cell {
    /// Low bits of a key that hold the destination.
    fn target_bits(&self) -> u32 {
        bits(&self.targets).clamp(1, KEY_BITS - 1)
    }

    /// Opens a chunk that was pulled for this cell. The bytes must be aligned to 8.
    ///
    /// # Errors
    /// When they are not whole, or not those of a chunk of this cell.
    pub fn open<'b>(&self, bytes: &'b [u8]) -> Result<Pulled<'_, 'b>, EngineError> {
        self.opened(bytes, true)
    }

    /// Opens a chunk of this cell that was opened before and never left this process: its bytes are
    /// not summed again. Keys are compared with columns all the same.
    ///
    /// # Errors
    /// When it is not a chunk of this cell.
    pub fn open_again<'b>(&self, bytes: &'b [u8]) -> Result<Pulled<'_, 'b>, EngineError> {
        self.opened(bytes, false)
    }

    fn opened<'b>(&self, bytes: &'b [u8], sums: bool) -> Result<Pulled<'_, 'b>, EngineError> {
        let chunk = Chunk::open(bytes).and_then(|chunk| {
            if sums {
                chunk.verify()?;
            }
            let label = chunk.label();
            let is_it = (label.graph, label.cell) == (self.graph, self.id)
                && (label.source_base, label.target_base)
                    == (self.sources.start, self.targets.start)
                && label.target_bits == self.target_bits();
            let place = ChunkError::Field {
                what: "place of the chunk",
                offset: 0,
                value: label.source_base,
            };
            if is_it { Ok(chunk) } else { Err(place) }
        });
        let chunk = chunk.map_err(|error| self.failed(error))?;
        Ok(Pulled { cell: self, chunk })
    }

    /// The chunk at the front of some bytes, where others may lie behind it: the number of its
    /// first target, and its bytes. Nothing else of it was looked at then.
    ///
    /// # Errors
    /// When the bytes do not begin with a chunk.
    pub fn front_of<'b>(&self, bytes: &'b [u8]) -> Result<(u64, &'b [u8]), EngineError> {
        let chunk = Chunk::open(bytes).map_err(|error| self.failed(error))?;
        Ok((chunk.label().target_base, &bytes[..chunk.bytes()]))
    }

    /// The stripe that a chunk says it is of, where it may be of several. Nothing else of it was
    /// looked at then.
    ///
    /// # Errors
    /// When the bytes are not those of a chunk.
    pub fn stripe_of(&self, bytes: &[u8]) -> Result<u32, EngineError> {
        let chunk = Chunk::open(bytes).map_err(|error| self.failed(error))?;
        Ok(chunk.label().cell.stripe)
    }

    fn failed(&self, error: ChunkError) -> EngineError {
        let CellId { source_partition, stripe } = self.id;
        EngineError::Pulled { source_partition, stripe, error }
    }
}

/// Bits that the places of a range need.
fn bits(range: &Range<u64>) -> u32 {
    u64::BITS - (range.end - range.start).saturating_sub(1).leading_zeros()
}
