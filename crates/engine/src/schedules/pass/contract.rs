//! Contraction: edges that are left, rewritten between components (Chaos, section 3, footnote 2:
//! edges are rewritten while they are read).
//!
//! When components have taken the place of vertices many edges are parallel, and of those between
//! the same two components only the best one matters. R-MAT 20 with weights of which no two are
//! the same, edges in a thousand of all:
//!
//! | pass of Borůvka's algorithm | 2 | 3 | 4 | 5 | 6 |
//! |---|---:|---:|---:|---:|---:|
//! | between two components | 963 | 954 | 889 | 588 | 0 |
//! | of these not parallel to a better one | 486 | 20 | 0.1 | 0 | 0 |
//!
//! So while a pass reads these edges, each worker keeps the best [`ContractedEdge`] between each
//! two components that it meets in a [`Table`]. Tables that are full are emptied into slabs, which
//! stay in memory or are written, and at the end all become one. What comes of that is what later
//! passes read ([`Contracted`]), and is contracted again:
//!
//! ```text
//! bytes of contracted edges <= bytes that were read / SHARE, else the pass gives up
//! ```
//!
//! It gives up sooner where full tables leave too many. A contracted edge takes more bytes than an
//! edge in a chunk, so where next to nothing is parallel (a path) edges are written as they are
//! ([`compacted`]); both ways are tried until a quarter was looked at, and then the smaller one
//! continues.
//!
//! Invariants: contracted edges are of all edges between two components, but for those that are no
//! better than another between the same two · where no table was full no two are between the same
//! components · memory and room on storage are asked for before. Tested by
//! `the_best_between_each_two_stays`, `of_parallel_edges_the_best_one_is_left` and
//! `no_run_takes_more_than_its_plan_and_its_budget_say`.
//!
//! Edges in memory are not contracted: passes over them take as long as contracting them does.
//! R-MAT 22, 2 threads of a busy machine, three turns each: 9.9 to 11.8 s without, 10.4 to 12.5
//! with contraction in the fourth of six passes, which left 6,655 of 62 million edges.
//!
//! [`compacted`]: super::compacted

mod table;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytemuck::bytes_of;
use welter_model::stream::{ContractedEdge, Edge, RevisitPolicy};
use welter_store::checksum;
use welter_store::io::Volume;

use self::table::Table;
use super::compacted::CompactedEdges;
use super::contracted::{Contracted, Piece};
use super::order::Share;
use crate::EngineError;
use crate::edges::graph::Graph;
use crate::edges::slab_location::SpilledSlab;
use crate::footprints::schedules as footprint;
use crate::kernels::stream::StreamKernel;
use crate::machine::arena::{Arena, SLAB_BYTES, Slab};
use crate::machine::storage::{SlabWriter, Storage};
use crate::machine::workers::Workers;

/// Contracted edges take at most one byte for each `SHARE` that were read.
const SHARE: u64 = 4;

/// Slots of a table that is still near a core: three megabytes. Of pairs that come in no order more
/// would take longer than what is saved: R-MAT 22 in memory, of which the third pass leaves 2.3
/// million, took 14 s instead of 8 on a busy machine with larger tables. Where pairs come in about
/// the order of the vertices (a grid), few at a time will do.
const SLOTS_MOST: u64 = 1 << 17;

/// Edges that are contracted together, near a core.
const TOGETHER: usize = 1 << 8;

const EDGE_BYTES: u64 = size_of::<ContractedEdge>() as u64;

/// Whether it would do any good that a pass contracts what is left.
pub(super) fn is_worthwhile(graph: &Graph, share: Share, again: RevisitPolicy) -> bool {
    let may = !graph.plan.premises.settings.keeps_edges && graph.stored_bytes() > 0;
    may && share == Share::All && again == RevisitPolicy::Never
}

/// Graph that a pass reads, and the memory that it may use.
#[derive(Clone, Copy)]
pub(super) struct Reads<'g> {
    /// Number of edges, contracted or not.
    pub(super) edges: u64,
    /// Bytes of the edges.
    pub(super) bytes: u64,
    /// Where edges go that do not fit in memory, if what is read is on storage too.
    pub(super) storage: Option<&'g Storage>,
    pub(super) arena: &'g Arena,
    /// Bytes of memory that are free.
    pub(super) free: u64,
}

/// Contracted edges that are being written, as workers share them.
pub(super) struct Contraction<'g> {
    reads: Reads<'g>,
    volume: Option<Arc<Volume>>,
    threads: usize,
    /// Edges that pay.
    most: u64,
    /// Slots of a worker's table.
    slots_most: usize,
    /// Bytes of full slabs that may stay in memory.
    cache_bytes: u64,
    resident: AtomicU64,
    looked: AtomicU64,
    candidates: AtomicU64,
    kept: AtomicU64,
    emptied: AtomicU64,
    is_over: AtomicBool,
    is_chosen: AtomicBool,
}

impl<'g> Contraction<'g> {
    /// Begins, if there is room in memory and on storage.
    pub(super) fn begin(workers: &Workers, reads: Reads<'g>) -> Result<Option<Self>, EngineError> {
        let threads = workers.threads();
        let buffers = threads as u64 * footprint::contract(&workers.requests());
        if reads.free < buffers {
            return Ok(None);
        }
        let most = reads.bytes / SHARE / EDGE_BYTES;
        let volume = match reads.storage.map(|storage| storage.scratch(most * EDGE_BYTES)) {
            Some(Err(EngineError::Disk { .. })) => return Ok(None),
            volume => volume.transpose()?,
        };
        // Tables may be grown, or made one, where slabs are; and slabs beside tables.
        let room = reads.free - buffers;
        let slots_most = SLOTS_MOST.min(room / 3 / threads as u64 / EDGE_BYTES);
        Ok(Some(Self {
            reads,
            volume,
            threads,
            most,
            slots_most: slots_most as usize,
            cache_bytes: room / 2,
            resident: AtomicU64::new(0),
            looked: AtomicU64::new(0),
            candidates: AtomicU64::new(0),
            kept: AtomicU64::new(0),
            emptied: AtomicU64::new(0),
            is_over: false.into(),
            is_chosen: false.into(),
        }))
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    fn give_up(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// Notes how many edges there are more, and how many of all were in tables that were full. As
    /// many of these come with every edge that is looked at, so it is soon known whether they pay.
    fn count(&self, [looked, candidates, kept, emptied]: [u64; 4]) {
        let add = |sum: &AtomicU64, more| sum.fetch_add(more, Ordering::Relaxed) + more;
        let looked = add(&self.looked, looked);
        let kept = add(&self.kept, kept);
        let emptied = add(&self.emptied, emptied);
        self.candidates.fetch_add(candidates, Ordering::Relaxed);
        let foreseen = u128::from(emptied) * u128::from(self.reads.edges);
        let many = foreseen > u128::from(self.most) * u128::from(looked);
        if kept > self.most || emptied > self.most / 32 && many {
            self.give_up();
        }
    }

    /// Lets only one of two ways continue: the one that takes less, as soon as that can be told.
    pub(super) fn choose(&self, left: &CompactedEdges<'_>, at_last: bool) {
        let looked = self.looked.load(Ordering::Relaxed);
        let both = !self.is_over() && !left.is_over();
        if both
            && (at_last || looked >= self.reads.edges / 4)
            && !self.is_chosen.swap(true, Ordering::Relaxed)
        {
            if self.kept.load(Ordering::Relaxed) * EDGE_BYTES <= left.bytes() {
                left.give_up();
            } else {
                self.give_up();
            }
        }
    }

    /// Edges that later passes read, made of what workers have, if that is worth it.
    pub(super) fn end(
        &self,
        workers: Vec<Contractor<'_, '_>>,
    ) -> Result<Option<Contracted>, EngineError> {
        let mut workers = workers.into_iter();
        let Some(mut first) = workers.next().filter(|_| !self.is_over()) else { return Ok(None) };
        first.table.allow(self.slots_most * self.threads);
        let mut pieces = Vec::new();
        for mut other in workers {
            other.table.drain(|edge| first.keep(edge))?;
            pieces.append(&mut other.outlet.finish()?);
        }
        first.empty()?;
        pieces.append(&mut first.outlet.finish()?);
        let edges: u64 = pieces.iter().map(|piece| u64::from(piece.edges)).sum();
        let looked = self.looked.load(Ordering::Relaxed);
        let read = u128::from(self.reads.bytes) * u128::from(looked);
        let needed = u128::from(edges * EDGE_BYTES * SHARE) * u128::from(self.reads.edges);
        if self.is_over() || needed > read {
            return Ok(None);
        }
        let parallel = self.candidates.load(Ordering::Relaxed) - edges;
        let storage = self.reads.storage.map(|storage| storage.io.clone());
        let stored = self.volume.clone().zip(storage);
        Ok(Some(Contracted { pieces, edges, parallel, stored, arena: self.reads.arena.clone() }))
    }
}

/// One worker's part of it.
pub(super) struct Contractor<'c, 'g> {
    contraction: &'c Contraction<'g>,
    table: Table,
    outlet: Outlet<'c, 'g>,
}

impl<'c, 'g> Contractor<'c, 'g> {
    pub(super) fn new(contraction: &'c Contraction<'g>) -> Result<Self, EngineError> {
        let writer = match (&contraction.volume, contraction.reads.storage) {
            (Some(volume), Some(storage)) => Some(SlabWriter::new(volume, &storage.io)?),
            _ => None,
        };
        let outlet = Outlet { contraction, slab: None, filled: 0, pieces: Vec::new(), writer };
        Ok(Self { contraction, table: Table::new(contraction.slots_most)?, outlet })
    }

    /// Takes what is a candidate among contracted edges, found by looking at `looked` edges.
    pub(super) fn take(
        &mut self,
        looked: u64,
        contracted: &[ContractedEdge],
    ) -> Result<(), EngineError> {
        self.counted([looked, contracted.len() as u64], |contractor| {
            contractor.keep_all(contracted)
        })
    }

    /// Takes what is a candidate among edges, found by looking at `looked` of them, some at a time.
    pub(super) fn take_edges(
        &mut self,
        kernel: &dyn StreamKernel,
        looked: u64,
        edges: &[Edge],
    ) -> Result<(), EngineError> {
        self.counted([looked, edges.len() as u64], |contractor| {
            let mut contracted = Vec::with_capacity(TOGETHER.min(edges.len()));
            for edges in edges.chunks(TOGETHER) {
                contracted.clear();
                kernel.contract(edges, &mut contracted);
                contractor.keep_all(&contracted)?;
            }
            Ok(())
        })
    }

    /// Counts what `keep` keeps of the candidates among edges that were looked at.
    fn counted(
        &mut self,
        [looked, candidates]: [u64; 2],
        keep: impl FnOnce(&mut Self) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        if self.contraction.is_over() {
            return Ok(());
        }
        let (held, emptied) = (self.held(), self.outlet.edges());
        keep(self)?;
        let more = [looked, candidates, self.held() - held, self.outlet.edges() - emptied];
        self.contraction.count(more);
        Ok(())
    }

    fn keep_all(&mut self, contracted: &[ContractedEdge]) -> Result<(), EngineError> {
        contracted.iter().try_for_each(|edge| self.keep(*edge))
    }

    /// Edges that it has.
    fn held(&self) -> u64 {
        self.outlet.edges() + self.table.len() as u64
    }

    fn keep(&mut self, edge: ContractedEdge) -> Result<(), EngineError> {
        if self.table.keep(edge)? {
            return Ok(());
        }
        self.empty()?;
        self.table.keep(edge).map(drop)
    }

    fn empty(&mut self) -> Result<(), EngineError> {
        let Self { table, outlet, .. } = self;
        table.drain(|edge| outlet.put(edge))
    }
}

/// Where edges go that were in a table.
struct Outlet<'c, 'g> {
    contraction: &'c Contraction<'g>,
    slab: Option<Slab>,
    filled: usize,
    pieces: Vec<Piece>,
    writer: Option<SlabWriter>,
}

impl Outlet<'_, '_> {
    fn edges(&self) -> u64 {
        let pieces: u64 = self.pieces.iter().map(|piece| u64::from(piece.edges)).sum();
        pieces + self.filled as u64 / EDGE_BYTES
    }

    fn put(&mut self, edge: ContractedEdge) -> Result<(), EngineError> {
        let bytes = bytes_of(&edge);
        if self.filled + bytes.len() > SLAB_BYTES {
            self.close()?;
        }
        if self.slab.is_none() {
            self.slab = Some(self.contraction.reads.arena.take()?);
        }
        if let Some(slab) = &mut self.slab {
            slab.bytes_mut()[self.filled..][..bytes.len()].copy_from_slice(bytes);
        }
        self.filled += bytes.len();
        Ok(())
    }

    /// Puts the open slab away: in memory, or on storage.
    fn close(&mut self) -> Result<(), EngineError> {
        let filled = std::mem::take(&mut self.filled);
        let Some(slab) = self.slab.take() else { return Ok(()) };
        let Contraction { resident, cache_bytes, .. } = self.contraction;
        let slab_bytes = SLAB_BYTES as u64;
        let stays = resident.fetch_add(slab_bytes, Ordering::Relaxed) + slab_bytes <= *cache_bytes;
        let kept = match &mut self.writer {
            _ if stays => SpilledSlab::Memory(slab),
            Some(writer) => {
                let checksum = checksum::of(&slab.bytes()[..filled]);
                SpilledSlab::Stored(writer.write(slab, filled)?, checksum)
            }
            None => {
                self.contraction.give_up();
                return Ok(());
            }
        };
        self.pieces.push(Piece { kept, edges: (filled as u64 / EDGE_BYTES) as u32 });
        Ok(())
    }

    /// All slabs, when they are written.
    fn finish(mut self) -> Result<Vec<Piece>, EngineError> {
        self.close()?;
        if let Some(writer) = &mut self.writer {
            writer.finish()?;
        }
        Ok(self.pieces)
    }
}
