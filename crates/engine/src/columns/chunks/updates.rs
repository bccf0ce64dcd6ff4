//! Updates that were pulled, or handed over by a stealer: written, and met.

use bytemuck::Pod;
use welter_model::extended::Extended;
use welter_model::program::Program;

use super::{Records, UpdateCell};
use crate::EngineError;
use crate::kernels::folded::fold;
use crate::kernels::groups::Groups;
use crate::kernels::update_chunk::{self, chunk_bytes};

const OUTSIDE: &str = "a destination is outside the stripe";

/// The bytes of an update chunk, whose records stand for so many updates. Targets are relative to
/// the stripe.
pub fn write_updates<A: Pod>(
    (graph, cell): (u64, UpdateCell),
    records: (&[u32], &[A]),
    updates: u64,
) -> Vec<u8> {
    let mut bytes = vec![0; chunk_bytes(size_of::<A>(), records.0.len())];
    update_chunk::write(&mut bytes, (graph, cell), records, updates);
    bytes
}

/// The records of an update chunk that was asked for, from whatever partition they come. The bytes
/// must be aligned as accumulators are.
///
/// # Errors
/// When they are not what was written, or are of another graph, iteration or stripe.
pub fn open_updates<A: Pod>(
    (graph, cell): (u64, UpdateCell),
    bytes: &[u8],
) -> Result<Records<'_, A>, EngineError> {
    let Some(records) = update_chunk::open::<A>(bytes) else {
        return Err(failed(cell, "they are not what was written"));
    };
    let found = UpdateCell { window: cell.window, ..records.cell };
    if (records.graph, found) == (graph, cell) {
        return Ok(records);
    }
    Err(failed(cell, "they are others"))
}

/// Lets accumulators of a stripe meet updates.
///
/// # Errors
/// When one is for a destination outside. Some were met then.
pub fn gather<P: Program>(
    program: &P,
    records: &Records<'_, P::Accum>,
    accums: &mut [P::Accum],
) -> Result<(), EngineError> {
    let merge = |accum, other| program.merge(accum, other);
    if fold(records.targets, records.accums, accums, merge) {
        return Ok(());
    }
    Err(failed(records.cell, OUTSIDE))
}

/// Lets accumulators of a stripe meet what edges told, in an extended program, which does not say
/// how accumulators are merged.
///
/// # Errors
/// When an update is for a destination outside. Some were met then.
pub fn gather_extended<E: Extended>(
    program: &E,
    (cell, targets, updates): (UpdateCell, &[u32], &[E::Update]),
    accums: &mut [E::Accum],
) -> Result<(), EngineError> {
    let is_met = fold(targets, updates, accums, |accum, update| program.gather(accum, update));
    if is_met { Ok(()) } else { Err(failed(cell, OUTSIDE)) }
}

/// Destinations that were touched, and their accumulators: what a stealer hands over.
pub fn touched<P: Program>(program: &P, accums: &[P::Accum]) -> (Vec<u32>, Vec<P::Accum>) {
    let identity = program.identity();
    let touched = accums.iter().enumerate().filter(|(_, accum)| **accum != identity);
    touched.map(|(target, accum)| (target as u32, *accum)).unzip()
}

/// Lets accumulators of a stripe meet all updates that an iteration has for it, in a program that
/// groups them, or whose accumulators know whom they are of. `values`: of its vertices.
///
/// # Errors
/// When one is for a destination outside, or memory runs out.
pub fn group<P: Program>(
    program: &P,
    (cell, targets, updates): (UpdateCell, &[u32], &[P::Update]),
    values: &[P::Value],
    accums: &mut [P::Accum],
) -> Result<(), EngineError> {
    if P::ACCUM_FROM_VALUE {
        for (accum, value) in accums.iter_mut().zip(values) {
            *accum = program.begin(value);
        }
        let is_met = fold(targets, updates, accums, |accum, it| program.gather(accum, it));
        return if is_met { Ok(()) } else { Err(failed(cell, OUTSIDE)) };
    }
    let width = values.len().min(accums.len());
    let mut counts = vec![0; width];
    for &target in targets {
        let count = counts.get_mut(target as usize);
        *count.ok_or_else(|| failed(cell, OUTSIDE))? += 1;
    }
    let mut groups = Groups::holding(size_of::<P::Update>(), updates.len(), width)?;
    groups.open(&counts, &(0..width));
    let mut piece = groups.piece::<P::Update>();
    for (&target, &update) in targets.iter().zip(updates) {
        piece.put(target as usize, update);
    }
    groups.meet(program, &counts, values, accums)
}

fn failed(cell: UpdateCell, what: &'static str) -> EngineError {
    EngineError::Updates { turn: cell.turn, stripe: cell.stripe, what }
}
