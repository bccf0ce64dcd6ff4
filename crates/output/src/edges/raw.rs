//! Edge lists as raw little-endian records: source, target, and the weight if there is one.
//!
//! ```text
//! u32     | source u32 | target u32 |                 8 bytes
//! u32f32  | source u32 | target u32 | weight f32 |   12
//! u32f64  | source u32 | target u32 | weight f64 |   16
//! u64     | source u64 | target u64 |                16
//! u64f32  | source u64 | target u64 | weight f32 |   20
//! u64f64  | source u64 | target u64 | weight f64 |   24
//! ```
//!
//! There is no header and no padding; a file is as long as its number of edges times the record.

use std::io::Write;

use welter_model::edges::Batch;

use super::{Edges, IdView, RawWeight};
use crate::error::OutputError;
use crate::ordered::{Job, PIECE_BYTES, run};

/// Edges between two looks at the size of a block.
const RUN_EDGES: usize = 1 << 16;

/// Refuses ids and weights that the records have no room for.
pub(super) fn check(
    edges: &Edges<'_>,
    wide: bool,
    weight: RawWeight,
    name: &str,
) -> Result<(), OutputError> {
    let unfit = |what: String| Err(OutputError::unfit(name, what));
    if matches!(edges.ids, IdView::Names(_)) {
        return unfit("raw records hold integer ids, found names".to_owned());
    }
    match edges.ids.beyond_u32() {
        Some(last) if !wide => {
            unfit(format!("the id {last} does not fit into 32 bits; write one of the u64 formats"))
        }
        _ if edges.weighted && weight == RawWeight::None => {
            unfit("the records have no room for weights; name one that has, or drop them".into())
        }
        _ => Ok(()),
    }
}

pub(super) fn write(
    edges: &Edges<'_>,
    sink: &mut (dyn Write + Send),
    wide: bool,
    weight: RawWeight,
    job: &Job<'_>,
) -> Result<(), OutputError> {
    let mut write = |block: &mut Vec<u8>| {
        sink.write_all(block).map_err(|error| OutputError::write(job.name, error))?;
        job.phase.add_bytes(block.len() as u64);
        block.clear();
        Ok(())
    };
    let parts = edges.stream.parts() as u64;
    run(
        job,
        parts,
        Vec::new,
        |block, part, turn| {
            edges.visit(part, job, |batch| {
                for start in (0..batch.pairs.len()).step_by(RUN_EDGES) {
                    let end = batch.pairs.len().min(start + RUN_EDGES);
                    let weights = batch.weights.map(|weights| &weights[start..end]);
                    let run = Batch { pairs: &batch.pairs[start..end], weights };
                    records(edges.ids, run, wide, weight, job.name, block)?;
                    job.phase.add(run.pairs.len() as u64);
                    if block.len() >= PIECE_BYTES {
                        turn.hand_on(block)?;
                    }
                }
                Ok(())
            })
        },
        &mut write,
    )
}

fn records(
    ids: IdView<'_>,
    batch: Batch<'_>,
    wide: bool,
    weight: RawWeight,
    name: &str,
    block: &mut Vec<u8>,
) -> Result<(), OutputError> {
    let plain = matches!(ids, IdView::Slots) && !wide && weight == RawWeight::None;
    if plain && cfg!(target_endian = "little") {
        block.extend_from_slice(bytemuck::cast_slice(batch.pairs));
        return Ok(());
    }
    for (edge, pair) in batch.pairs.iter().enumerate() {
        for slot in *pair {
            let id = ids.integer(slot);
            // `check` has seen that narrow ids fit.
            block.extend_from_slice(&id.to_le_bytes()[..if wide { 8 } else { 4 }]);
        }
        let value = batch.weights.map_or(1.0, |weights| weights[edge]);
        match weight {
            RawWeight::None => {}
            RawWeight::F64 => block.extend_from_slice(&value.to_le_bytes()),
            RawWeight::F32 => {
                let narrow = value as f32;
                if narrow.is_infinite() && value.is_finite() {
                    let what = format!("the weight {value} does not fit into 32 bits; write f64");
                    return Err(OutputError::unfit(name, what));
                }
                block.extend_from_slice(&narrow.to_le_bytes());
            }
        }
    }
    Ok(())
}
