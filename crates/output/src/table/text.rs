//! Tables as CSV and TSV.

use std::io::Write;
use std::ops::Range;

use welter_model::table::{Id, NO_VERTEX, VertexColumn};

use super::{Cells, VERTEX, View};
use crate::compression::Compression;
use crate::error::OutputError;
use crate::ordered::Job;
use crate::text;

/// Rows of one block, about a MiB of text.
const BLOCK_ROWS: usize = 1 << 15;

pub(super) fn write(
    view: &View<'_>,
    sink: &mut (dyn Write + Send),
    compression: Compression,
    separator: u8,
    job: &Job<'_>,
) -> Result<(), OutputError> {
    let mut header = VERTEX.as_bytes().to_vec();
    for (name, _) in &view.columns {
        header.push(separator);
        text::name(&mut header, name, separator);
    }
    header.push(b'\n');
    let blocks = view.rows.div_ceil(BLOCK_ROWS) as u64;
    text::write(job, sink, compression, &header, blocks, |block, index, _| {
        let first = index as usize * BLOCK_ROWS;
        let rows = first..view.rows.min(first + BLOCK_ROWS);
        job.phase.add(rows.len() as u64);
        lines(view, rows, separator, &mut block.text);
        Ok(())
    })
}

fn lines(view: &View<'_>, rows: Range<usize>, separator: u8, text: &mut Vec<u8>) {
    for row in rows {
        vertex(view.vertices, row, separator, text);
        for (_, cells) in &view.columns {
            text.push(separator);
            match cells {
                Cells::F32(values) => text::float(text, values[row]),
                Cells::F64(values) => text::float(text, values[row]),
                Cells::U32(values) => text::integer(text, values[row].into()),
                Cells::U64(values) => text::integer(text, values[row]),
                Cells::I64(values) => text::signed(text, values[row]),
                Cells::Vertices(values) if values[row] == NO_VERTEX => {}
                Cells::Vertices(values) => {
                    vertex(view.vertices, values[row] as usize, separator, text);
                }
            }
        }
        text.push(b'\n');
    }
}

fn vertex(ids: &VertexColumn, row: usize, separator: u8, text: &mut Vec<u8>) {
    match ids.get(row) {
        Id::Integer(id) => text::integer(text, id),
        Id::Name(name) => text::name(text, name, separator),
    }
}
