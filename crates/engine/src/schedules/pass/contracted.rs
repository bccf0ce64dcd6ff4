//! Edges that were contracted.
//!
//! Contracted edges lie in slabs in no order, each a [`ContractedEdge`]: components, and what tells
//! the edge. Slabs on storage are read some at a time, and checked against the checksums that were
//! kept of them.

use std::sync::Arc;

use bytemuck::cast_slice;
use welter_model::stream::ContractedEdge;
use welter_store::checksum;
use welter_store::io::{IoOptions, Queue, Volume};

use crate::EngineError;
use crate::edges::slab_location::SpilledSlab;
use crate::machine::arena::{Arena, Slab};
use crate::machine::storage::slabs_read;

/// A generation of edges between components.
pub(super) struct Contracted {
    pub(super) pieces: Vec<Piece>,
    pub(super) edges: u64,
    /// Edges that were left out because they are parallel to better ones.
    pub(super) parallel: u64,
    /// Where slabs are that are not in memory.
    pub(super) stored: Option<(Arc<Volume>, IoOptions)>,
    pub(super) arena: Arena,
}

/// A slab of contracted edges.
pub(super) struct Piece {
    pub(super) kept: SpilledSlab,
    pub(super) edges: u32,
}

impl Piece {
    fn bytes(&self) -> usize {
        self.edges as usize * size_of::<ContractedEdge>()
    }
}

impl Contracted {
    /// Shows the edges of some slabs.
    pub(super) fn each(
        &self,
        pieces: &[Piece],
        mut show: impl FnMut(&[ContractedEdge]) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let mut stored = Vec::new();
        for piece in pieces {
            match &piece.kept {
                SpilledSlab::Memory(slab) => show(cast_slice(&slab.bytes()[..piece.bytes()]))?,
                SpilledSlab::Stored(place, checksum) => {
                    stored.push((*place, *checksum, piece.bytes()));
                }
            }
        }
        let Some((volume, io)) = self.stored.as_ref().filter(|_| !stored.is_empty()) else {
            return Ok(());
        };
        let depth = slabs_read(&io.requests);
        let mut queue: Queue<Slab> = Queue::reading(io, depth)?;
        let mut next = stored.iter().enumerate();
        loop {
            if queue.in_flight() < depth
                && let Some((tag, (place, ..))) = next.next()
            {
                queue.read(volume, *place, self.arena.take()?, tag as u64)?;
                continue;
            }
            let Some(done) = queue.wait()? else { return Ok(()) };
            let (place, checksum, bytes) = stored[done.tag as usize];
            let bytes = &done.memory.bytes()[..bytes];
            if checksum::of(bytes) != checksum {
                let what = "contracted edges are not what was written";
                return Err(volume.damaged(place, what).into());
            }
            show(cast_slice(bytes))?;
        }
    }
}
