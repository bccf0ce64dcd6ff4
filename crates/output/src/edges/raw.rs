//! Edge lists as little-endian records: source, target, and the weight if there is one.
//!
//! ```text
//! u32     | source u32 | target u32 |                 8 bytes
//! u32f32  | source u32 | target u32 | weight f32 |   12
//! u32f64  | source u32 | target u32 | weight f64 |   16
//! u64     | source u64 | target u64 |                16
//! u64f32  | source u64 | target u64 | weight f32 |   20
//! u64f64  | source u64 | target u64 | weight f64 |   24
//!
//! graph500  | source, low u32 | target, low u32 | source, high u16 | target, high u16 |   12
//! ```
//!
//! There is no header and no padding; a file is as long as its number of edges times the record.

use std::io::Write;

use welter_model::edges::Batch;
use welter_model::records::{RawLayout, RawWeight};

use super::id_view::IdView;
use super::list::Edges;
use crate::error::OutputError;
use crate::ordered::{Job, PIECE_BYTES, run};

/// Edges between two looks at the size of a block.
const RUN_EDGES: usize = 1 << 16;

/// Refuses ids and weights that the records have no room for.
pub(super) fn check(edges: &Edges<'_>, layout: RawLayout, name: &str) -> Result<(), OutputError> {
    let unfit = |what: String| Err(OutputError::unfit(name, what));
    if matches!(edges.ids, IdView::Names(_)) {
        return unfit("raw records hold integer ids, found names".to_owned());
    }
    match edges.ids.beyond_u32() {
        Some(last) if !layout.wide => {
            unfit(format!("the id {last} does not fit into 32 bits; write one of the u64 formats"))
        }
        _ if edges.weighted && layout.weight == RawWeight::None => {
            unfit("the records have no room for weights; name one that has, or drop them".into())
        }
        _ => Ok(()),
    }
}

/// Refuses ids and weights that packed edges have no room for.
pub(super) fn check_packed(edges: &Edges<'_>, name: &str) -> Result<(), OutputError> {
    check(edges, RawLayout { wide: true, weight: RawWeight::None }, name)?;
    match edges.ids.beyond_u32().filter(|last| last >> 47 > 0) {
        Some(last) => {
            let what = format!("the id {last} does not fit into 47 bits; write one of u64");
            Err(OutputError::unfit(name, what))
        }
        None => Ok(()),
    }
}

pub(super) fn write(
    edges: &Edges<'_>,
    sink: &mut (dyn Write + Send),
    layout: RawLayout,
    job: &Job<'_>,
) -> Result<(), OutputError> {
    write_runs(edges, sink, job, |run, block| records(edges.ids, run, layout, job.name, block))
}

pub(super) fn write_packed(
    edges: &Edges<'_>,
    sink: &mut (dyn Write + Send),
    job: &Job<'_>,
) -> Result<(), OutputError> {
    write_runs(edges, sink, job, |run, block| {
        for pair in run.pairs {
            // `check_packed` has seen that the high halves fit.
            let [source, target] = pair.map(|slot| edges.ids.integer(slot));
            debug_assert!(source >> 48 == 0 && target >> 48 == 0, "packed ids have 48 bits");
            block.extend_from_slice(&(source as u32).to_le_bytes());
            block.extend_from_slice(&(target as u32).to_le_bytes());
            block.extend_from_slice(&((source >> 32) as u16).to_le_bytes());
            block.extend_from_slice(&((target >> 32) as u16).to_le_bytes());
        }
        Ok(())
    })
}

/// Writes what `append` makes of each run of edges.
fn write_runs(
    edges: &Edges<'_>,
    sink: &mut (dyn Write + Send),
    job: &Job<'_>,
    append: impl Fn(Batch<'_>, &mut Vec<u8>) -> Result<(), OutputError> + Sync,
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
                    append(run, block)?;
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
    RawLayout { wide, weight }: RawLayout,
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
            debug_assert!(wide || id >> 32 == 0, "narrow ids have 32 bits");
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
