//! Updates that were pulled, or handed over by a stealer: written, and met.

use super::{ALIGN, ExtendedKernel, FoldKernel, Records, UpdateKey};
use crate::EngineError;
use crate::kernels::groups::Groups;
use crate::kernels::records;
use crate::kernels::seam;
use crate::kernels::update_chunk::{self, EncodedTargets, chunk_bytes};

const OUTSIDE: &str = "a destination is outside the stripe";

/// The bytes of an update chunk, whose records stand for a number of updates: targets, relative to
/// the stripe, and as many records of `width` bytes.
pub fn write_updates(
    width: usize,
    (graph, cell): (u64, UpdateKey),
    records: (&[u32], &[u8]),
    updates: u64,
) -> Vec<u8> {
    let mut bytes = vec![0; chunk_bytes(width, records.0.len())];
    write_updates_to(&mut bytes, width, (graph, cell), records, updates);
    bytes
}

/// Bytes of an update chunk of `records` records of `width` bytes.
pub fn updates_bytes(width: usize, records: usize) -> usize {
    chunk_bytes(width, records)
}

/// As [`write_updates`], into [`updates_bytes`] bytes, whatever these were.
///
/// # Panics
/// When they are fewer or more, which is a bug of the caller.
pub fn write_updates_to(
    bytes: &mut [u8],
    width: usize,
    at: (u64, UpdateKey),
    records: (&[u32], &[u8]),
    updates: u64,
) {
    assert_eq!(bytes.len(), updates_bytes(width, records.0.len()), "a chunk has its own bytes");
    let records = (EncodedTargets::packed(records.0), records.1);
    update_chunk::write(width, bytes, at, records, updates);
}

/// The records, of `width` bytes, of an update chunk that was asked for, from whatever partition
/// they come. The bytes must be aligned to [`ALIGN`].
///
/// # Errors
/// When they are not what was written, or are of another graph, iteration or stripe.
pub fn open_updates(
    width: usize,
    (graph, cell): (u64, UpdateKey),
    bytes: &[u8],
) -> Result<Records<'_>, EngineError> {
    opened((graph, cell), bytes, update_chunk::open_packed(width, bytes))
}

/// As [`open_updates`], of bytes that were compared with another sum of them already: they are not
/// summed again, and places of records are compared with columns all the same.
///
/// # Errors
/// When they are no chunk of updates, or one of another graph, iteration or stripe.
pub fn open_updates_again(
    width: usize,
    at: (u64, UpdateKey),
    bytes: &[u8],
) -> Result<Records<'_>, EngineError> {
    opened(at, bytes, update_chunk::open_packed_again(width, bytes))
}

/// The records that bytes have, if they are those that were asked for.
fn opened<'b>(
    (graph, cell): (u64, UpdateKey),
    bytes: &'b [u8],
    records: Option<Records<'b>>,
) -> Result<Records<'b>, EngineError> {
    let is_aligned = bytes.as_ptr().addr().is_multiple_of(ALIGN);
    let records = records.filter(|_| is_aligned);
    let records = records.ok_or_else(|| failed(cell, "they are not what was written"))?;
    let found = UpdateKey { source_partition: cell.source_partition, ..records.key };
    if (records.graph, found) == (graph, cell) {
        return Ok(records);
    }
    Err(failed(cell, "they are others"))
}

/// Lets accumulators of a stripe meet updates.
///
/// # Errors
/// When one is for a destination outside. Some were met then.
pub fn gather(
    kernel: &FoldKernel,
    records: &Records<'_>,
    accums: &mut [u8],
) -> Result<(), EngineError> {
    checked(records.key, kernel.merge((records.targets, records.accums), accums))
}

/// Lets accumulators of a stripe gather the updates of edges, in an extended program, which does
/// not say how accumulators are merged.
///
/// # Errors
/// When an update is for a destination outside. Some were met then.
pub fn gather_extended(
    kernel: &ExtendedKernel,
    (cell, targets, updates): (UpdateKey, &[u32], &[u8]),
    accums: &mut [u8],
) -> Result<(), EngineError> {
    checked(cell, kernel.0.gather((targets, updates), accums))
}

/// Destinations that were touched, and their accumulators, which are cleared: an update chunk that
/// counts each as one, for a stealer to hand over.
///
/// # Errors
/// None that is not a bug.
pub fn touched(
    kernel: &FoldKernel,
    at: (u64, UpdateKey),
    accums: &mut [u8],
) -> Result<Vec<u8>, EngineError> {
    let width = kernel.shape().accum;
    let count = accums.len() / width;
    let mut touched = records::Records::new(width, count, 0);
    kernel.0.drain(accums, &mut touched)?;
    Ok(write_updates(width, at, touched.part(0, count), touched.len() as u64))
}

/// Lets accumulators of a stripe meet all updates that an iteration has for it, in a program that
/// groups them, or whose accumulators know whom they are of. `values`: of its vertices.
///
/// # Errors
/// When one is for a destination outside, or memory runs out.
pub fn group(
    kernel: &FoldKernel,
    (cell, targets, updates): (UpdateKey, &[u32], &[u8]),
    values: &[u8],
    accums: &mut [u8],
) -> Result<(), EngineError> {
    let shape = kernel.shape();
    if shape.capabilities.knows_target {
        kernel.0.begin(values, accums);
        return checked(cell, seam::FoldKernel::gather(&*kernel.0, (targets, updates), accums));
    }
    let width = (values.len() / shape.value).min(accums.len() / shape.accum);
    let mut counts = vec![0; width];
    for &target in targets {
        let count = counts.get_mut(target as usize);
        *count.ok_or_else(|| failed(cell, OUTSIDE))? += 1;
    }
    let mut groups = Groups::holding(shape.update, targets.len(), width)?;
    groups.open(&counts, &(0..width));
    kernel.0.put((targets, updates), &mut groups);
    kernel.0.group(&mut groups, &counts, values, accums)
}

impl FoldKernel {
    /// Merges accumulators into those at places of a column. Whether all have one: some were
    /// merged in either case.
    ///
    /// # Panics
    /// When a column is not of whole elements, or not aligned, which is a bug of the caller.
    pub fn merge(&self, records: (&[u32], &[u8]), accums: &mut [u8]) -> bool {
        self.0.merge(records, accums)
    }

    /// Begins accumulators from the values of their vertices, in a program whose accumulators know
    /// whom they are of.
    ///
    /// # Panics
    /// As [`Self::merge`].
    pub fn begin(&self, values: &[u8], accums: &mut [u8]) {
        self.0.begin(values, accums);
    }

    /// Gathers updates into accumulators at places of a column, as [`Self::merge`] does with
    /// accumulators.
    ///
    /// # Panics
    /// As [`Self::merge`].
    pub fn gather(&self, updates: (&[u32], &[u8]), accums: &mut [u8]) -> bool {
        seam::FoldKernel::gather(&*self.0, updates, accums)
    }
}

fn checked(cell: UpdateKey, are_inside: bool) -> Result<(), EngineError> {
    if are_inside { Ok(()) } else { Err(failed(cell, OUTSIDE)) }
}

fn failed(cell: UpdateKey, what: &'static str) -> EngineError {
    EngineError::Updates { iteration: cell.iteration, stripe: cell.stripe, what }
}
