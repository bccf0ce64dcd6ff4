//! Edges that were contracted, and passes over them.
//!
//! They lie in slabs in no order, each a [`Link`]: components, and what tells the edge. Slabs on
//! storage are read some at a time, and checked against the checksums that were kept of them.

use std::cell::Cell;
use std::sync::{Arc, Mutex, PoisonError};

use bytemuck::cast_slice;
use welter_model::stream::{Link, Stream};
use welter_store::checksum;
use welter_store::io::{IoOptions, Queue, Volume};

use super::Run;
use super::contract::{Contraction, Contractor, Reads};
use crate::EngineError;
use crate::edges::extent::Kept;
use crate::machine::arena::{Arena, Slab};
use crate::machine::storage::DEPTH;
use crate::machine::sync::lock;

/// Slabs of a task.
const TASK: usize = 16;

/// A generation of edges between components.
pub(super) struct Contracted {
    pub(super) pieces: Vec<Piece>,
    pub(super) links: u64,
    /// Edges that were left out because they are parallel to better ones.
    pub(super) parallel: u64,
    /// Where slabs are that are not in memory.
    pub(super) stored: Option<(Arc<Volume>, IoOptions)>,
    pub(super) arena: Arena,
}

/// A slab of links.
pub(super) struct Piece {
    pub(super) kept: Kept,
    pub(super) links: u32,
}

impl Piece {
    fn bytes(&self) -> usize {
        self.links as usize * size_of::<Link>()
    }
}

impl Contracted {
    /// Shows the links of some slabs.
    fn each(
        &self,
        pieces: &[Piece],
        mut show: impl FnMut(&[Link]) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let mut stored = Vec::new();
        for piece in pieces {
            match &piece.kept {
                Kept::Memory(slab) => show(cast_slice(&slab.bytes()[..piece.bytes()]))?,
                Kept::Stored(place, checksum) => stored.push((*place, *checksum, piece.bytes())),
            }
        }
        let Some((volume, io)) = self.stored.as_ref().filter(|_| !stored.is_empty()) else {
            return Ok(());
        };
        let mut queue: Queue<Slab> = Queue::reading(io, DEPTH)?;
        let mut next = stored.iter().enumerate();
        loop {
            if queue.in_flight() < DEPTH
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

impl<S: Stream> Run<'_, S> {
    /// Shows what was contracted, and contracts it again if that pays.
    pub(super) fn pass_contracted(
        &self,
        step: S::Step,
        contracted: &Contracted,
    ) -> Result<Option<Contracted>, EngineError> {
        let (program, known) = (self.program, self.known());
        // What an older generation had is free now.
        contracted.arena.trim();
        let reads = Reads {
            edges: contracted.links,
            bytes: contracted.links * size_of::<Link>() as u64,
            storage: contracted.stored.as_ref().and(self.workers.storage()),
            arena: &contracted.arena,
            free: self.graph.free_bytes(),
        };
        let contraction = Contraction::begin(self.workers, reads)?;
        let hands = std::mem::take(&mut *lock(&self.hands));
        let benches = hands.into_iter().map(|hand| {
            let contractor = contraction.as_ref().map(Contractor::new).transpose()?;
            Ok(Mutex::new((hand, contractor, Vec::new())))
        });
        let benches = benches.collect::<Result<Vec<_>, EngineError>>()?;
        let tasks: Vec<_> = contracted.pieces.chunks(TASK).collect();
        self.workers.tasks(tasks.len(), self.progress, &benches, |bench, task| {
            let (hand, contractor, found) = bench;
            contracted.each(tasks[task], |links| {
                let changes = Cell::new(0);
                for link in links {
                    let component = |end: u32| program.component(&known.cells[end as usize]);
                    let [one, other] = link.between.map(component);
                    if one != other {
                        let link = Link::new(one, other, link.rank);
                        found.push(link);
                        changes.set(changes.get() + u64::from(program.link(step, known, link)));
                    }
                }
                let looked = links.len() as u64;
                hand.seen.looked += looked;
                hand.seen.news += found.len() as u64;
                hand.seen.changes += changes.get();
                self.phase.add(looked);
                if let Some(contractor) = contractor {
                    contractor.take(looked, found.iter().copied())?;
                }
                found.clear();
                Ok(())
            })
        })?;
        let mut contractors = Vec::new();
        for bench in benches {
            let (hand, contractor, _) = bench.into_inner().unwrap_or_else(PoisonError::into_inner);
            lock(&self.hands).push(hand);
            contractors.extend(contractor);
        }
        contraction.as_ref().map_or(Ok(None), |contraction| contraction.end(contractors))
    }
}
