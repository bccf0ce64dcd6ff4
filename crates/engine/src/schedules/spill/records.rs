//! Updates as records: made at edges or of accumulators, written, and met again.

use bytemuck::Pod;
use welter_model::program::Program;
use welter_store::chunk::Tile;

use crate::EngineError;
use crate::columns::chunks::{met, told};
use crate::columns::groups::Groups;
use crate::columns::renew::begin_part;
use crate::columns::updates::{Reader, UpdateChunk, Writer};
use crate::edges::footprint::TILE_EDGES_MAX;
use crate::kernels::kernel::{Coding, Scratch, Sources, scatter_tile};
use crate::kernels::keys::Width;
use crate::kernels::update_chunk::Cell;

/// Updates that are about to be written.
pub(crate) struct Records<A> {
    targets: Vec<u32>,
    accums: Vec<A>,
}

/// Lets accumulators of a stripe meet the updates that wait for it, which are given up. How many
/// updates they were.
pub(super) fn gather<P: Program>(
    program: &P,
    mut waiting: Vec<UpdateChunk>,
    accums: &mut [P::Accum],
    reader: &mut Reader,
) -> Result<u64, EngineError> {
    // One worker wrote what a partition has for a stripe, in order.
    waiting.sort_by_key(|chunk| chunk.cell.window);
    reader.read(&waiting, |targets, updates| met(program, (targets, updates), accums))
}

/// Gathers updates of a program whose accumulators begin from these values.
pub(super) fn tell<P: Program>(
    program: &P,
    mut waiting: Vec<UpdateChunk>,
    values: &[P::Value],
    accums: &mut [P::Accum],
    reader: &mut Reader,
) -> Result<u64, EngineError> {
    begin_part(program, values, accums);
    waiting.sort_by_key(|chunk| chunk.cell.window);
    reader
        .read(&waiting, |targets, updates: &[P::Update]| told(program, (targets, updates), accums))
}

/// Gathers updates of a program that groups them, by the degrees and values of the stripe's
/// vertices. What waits is read once for each piece of the stripe.
pub(super) fn group<P: Program>(
    program: &P,
    mut waiting: Vec<UpdateChunk>,
    (degrees, values): (&[u32], &[P::Value]),
    accums: &mut [P::Accum],
    groups: &mut Groups<P::Update>,
    reader: &mut Reader,
) -> Result<u64, EngineError> {
    waiting.sort_by_key(|chunk| chunk.cell.window);
    let mut met = 0;
    for piece in groups.pieces(degrees) {
        groups.open(degrees, &piece);
        met = reader.read(&waiting, |targets, updates: &[P::Update]| {
            for (&target, &update) in targets.iter().zip(updates) {
                groups.put(target as usize, update);
            }
            true
        })?;
        groups.meet(program, degrees, values, accums)?;
    }
    Ok(met)
}

/// Makes a record of each update of a tile.
pub(super) fn emit<P: Program, R: Pod>(
    program: &P,
    tile: &Tile<'_>,
    coding: Coding,
    sources: Sources<'_, P::Signal>,
    scratch: &mut Scratch,
    records: &mut Records<R>,
    record: impl Fn(P::Update) -> R,
) {
    scatter_tile(program, tile, (coding, &Width), sources, scratch, |target, update| {
        records.push(target, record(update));
    });
}

/// Writes what was touched of a stripe's accumulators, in which `edges` were folded, and makes them
/// the identity again. How many updates that stands for.
pub(super) fn combine<P: Program>(
    program: &P,
    accums: &mut [P::Accum],
    cell: Cell,
    edges: u64,
    records: &mut Records<P::Accum>,
    writer: &mut Writer,
) -> Result<u64, EngineError> {
    if edges == 0 {
        return Ok(0);
    }
    let identity = program.identity();
    // All of the edges are said of what is written first.
    let (mut left, mut written) = (edges, 0);
    for (target, accum) in accums.iter_mut().enumerate() {
        if *accum != identity {
            records.push(target as u32, std::mem::replace(accum, identity));
            if records.is_full() {
                written += records.write(writer, cell, Some(left))?;
                left = 0;
            }
        }
    }
    Ok(written + records.write(writer, cell, Some(left))?)
}

impl<A: Pod> Records<A> {
    /// Room for those of a chunk, if there will be any.
    pub(crate) fn new(any: bool) -> Self {
        let room = if any { Writer::records_max::<A>() + TILE_EDGES_MAX } else { 0 };
        Self { targets: Vec::with_capacity(room), accums: Vec::with_capacity(room) }
    }

    /// One more.
    #[inline(always)]
    pub(crate) fn push(&mut self, target: u32, accum: A) {
        self.targets.push(target);
        self.accums.push(accum);
    }

    /// The one at a place.
    #[inline(always)]
    pub(crate) fn get(&self, place: usize) -> Option<(u32, A)> {
        Some((*self.targets.get(place)?, *self.accums.get(place)?))
    }

    /// Holds those of a chunk instead.
    pub(crate) fn hold(&mut self, targets: &[u32], accums: &[A]) {
        self.clear();
        self.targets.extend_from_slice(targets);
        self.accums.extend_from_slice(accums);
    }

    /// Holds none any more.
    pub(crate) fn clear(&mut self) {
        self.targets.clear();
        self.accums.clear();
    }

    /// Whether they fill a chunk.
    pub(crate) fn is_full(&self) -> bool {
        self.targets.len() >= Writer::records_max::<A>()
    }

    /// Writes all records, and says how many updates they stand for: for `updates` together, or for
    /// one each.
    pub(crate) fn write(
        &mut self,
        writer: &mut Writer,
        cell: Cell,
        updates: Option<u64>,
    ) -> Result<u64, EngineError> {
        let (mut first, mut written) = (0, 0);
        while first < self.targets.len() {
            let chunk = first..self.targets.len().min(first + writer.room::<A>());
            let here = match updates {
                Some(updates) if first == 0 => updates,
                Some(_) => 0,
                None => chunk.len() as u64,
            };
            first = chunk.end;
            writer.put(cell, (&self.targets[chunk.clone()], &self.accums[chunk]), here)?;
            written += here;
        }
        self.clear();
        Ok(written)
    }
}
