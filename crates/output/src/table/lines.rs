//! Tables as JSON lines: an object for each row, whose keys are the columns.
//!
//! Ids are numbers or strings as they came in; no vertex is `null`, and so is a float that is no
//! number or infinite, for which JSON has no notation (what was not reached, say).

use std::io::Write;
use std::ops::Range;

use welter_model::table::{Id, NO_VERTEX, VertexColumn};

use super::view::{Cells, View};
use crate::compression::Compression;
use crate::error::OutputError;
use crate::json;
use crate::ordered::Job;
use crate::text;

/// Rows of one block, about a MiB of text.
const BLOCK_ROWS: usize = 1 << 14;

pub(super) fn write(
    view: &View<'_>,
    sink: &mut (dyn Write + Send),
    compression: Compression,
    job: &Job<'_>,
) -> Result<(), OutputError> {
    let keys = json::keys(view.vertex_title().into_iter().chain(view.titles()));
    let blocks = view.rows.div_ceil(BLOCK_ROWS) as u64;
    text::write(job, sink, compression, &[], blocks, |block, index, _| {
        let first = index as usize * BLOCK_ROWS;
        let rows = first..view.rows.min(first + BLOCK_ROWS);
        job.phase.add(rows.len() as u64);
        lines(view, rows, &keys, &mut block.text)
    })
}

fn lines(
    view: &View<'_>,
    rows: Range<usize>,
    keys: &[Vec<u8>],
    text: &mut Vec<u8>,
) -> Result<(), OutputError> {
    let columns = view.part(rows.clone())?;
    for (place, row) in rows.enumerate() {
        let mut keys = keys.iter();
        let mut key = |text: &mut Vec<u8>| text.extend(keys.next().into_iter().flatten());
        if !view.is_list {
            key(text);
            vertex(view.vertices, row, text);
        }
        for cells in &columns {
            key(text);
            match cells {
                Cells::F32(values) => json::float(text, values[place]),
                Cells::F64(values) => json::float(text, values[place]),
                Cells::U32(values) => text::integer(text, values[place].into()),
                Cells::U64(values) => text::integer(text, values[place]),
                Cells::I64(values) => text::signed(text, values[place]),
                Cells::Sides(values) => match values[place] {
                    Some(side) => json::string(text, side.name()),
                    None => text.extend_from_slice(json::NULL),
                },
                Cells::Vertices(values) if values[place] == NO_VERTEX => {
                    text.extend_from_slice(json::NULL);
                }
                Cells::Vertices(values) => vertex(view.named, values[place] as usize, text),
            }
        }
        text.extend_from_slice(b"}\n");
    }
    Ok(())
}

fn vertex(ids: &VertexColumn, row: usize, text: &mut Vec<u8>) {
    match ids.get(row) {
        Id::Integer(id) => text::integer(text, id),
        Id::Name(name) => json::string(text, name),
        // A view has a row for each vertex.
        Id::Others(_) => text.extend_from_slice(json::NULL),
    }
}
