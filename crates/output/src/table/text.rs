//! Tables as CSV and TSV.

use std::io::Write;
use std::ops::Range;

use welter_model::table::{Id, NO_VERTEX, VertexColumn};

use super::{Cells, View};
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
    let mut header = Vec::new();
    for (number, name) in view.vertex_title().into_iter().chain(view.titles()).enumerate() {
        if number > 0 {
            header.push(separator);
        }
        text::name(&mut header, name, separator);
    }
    header.push(b'\n');
    let blocks = view.rows.div_ceil(BLOCK_ROWS) as u64;
    text::write(job, sink, compression, &header, blocks, |block, index, _| {
        let first = index as usize * BLOCK_ROWS;
        let rows = first..view.rows.min(first + BLOCK_ROWS);
        job.phase.add(rows.len() as u64);
        lines(view, rows, separator, &mut block.text)
    })
}

fn lines(
    view: &View<'_>,
    rows: Range<usize>,
    separator: u8,
    text: &mut Vec<u8>,
) -> Result<(), OutputError> {
    let columns = view.part(rows.clone())?;
    let ids = if view.is_list { None } else { view.vertices.integers(rows.clone()) };
    for (place, row) in rows.enumerate() {
        match &ids {
            _ if view.is_list => {}
            Some(ids) => text::integer(text, ids[place]),
            None => vertex(view.vertices, row, separator, text),
        }
        for (number, cells) in columns.iter().enumerate() {
            if number > 0 || !view.is_list {
                text.push(separator);
            }
            match cells {
                Cells::F32(values) => text::float(text, values[place]),
                Cells::F64(values) => text::float(text, values[place]),
                Cells::U32(values) => text::integer(text, values[place].into()),
                Cells::U64(values) => text::integer(text, values[place]),
                Cells::I64(values) => text::signed(text, values[place]),
                Cells::Vertices(values) if values[place] == NO_VERTEX => {}
                Cells::Vertices(values) => {
                    vertex(view.vertices, values[place] as usize, separator, text);
                }
            }
        }
        text.push(b'\n');
    }
    Ok(())
}

fn vertex(ids: &VertexColumn, row: usize, separator: u8, text: &mut Vec<u8>) {
    match ids.get(row) {
        Id::Integer(id) => text::integer(text, id),
        Id::Name(name) => text::name(text, name, separator),
        // A view has a row for each vertex.
        Id::Others(_) => {}
    }
}
