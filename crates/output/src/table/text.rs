//! Tables as CSV, TSV and outputs of LDBC Graphalytics.

use std::io::Write;
use std::ops::Range;

use welter_model::table::{Id, NO_VERTEX, VertexColumn};
use welter_model::two_kinds::Side;

use super::view::{Cells, View};
use crate::compression::Compression;
use crate::error::OutputError;
use crate::ordered::Job;
use crate::text;

/// The distance of what no path leads to, in the words of LDBC Graphalytics.
const INFINITY: &[u8] = b"Infinity";

/// Depth of vertices that no path leads to, in those words; in tables it is negative.
const UNREACHED: i64 = i64::MAX;

/// Rows of one block, about a MiB of text.
const BLOCK_ROWS: usize = 1 << 15;

/// Layout of rows as lines.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    separator: u8,
    has_header: bool,
    /// Whether what was not reached is written as the benchmark has it.
    is_ldbc: bool,
}

pub(super) const CSV: Layout = Layout { separator: b',', has_header: true, is_ldbc: false };
pub(super) const TSV: Layout = Layout { separator: b'\t', ..CSV };
pub(super) const LDBC: Layout = Layout { separator: b' ', has_header: false, is_ldbc: true };

/// Outputs of LDBC Graphalytics have integer ids and one value.
pub(super) fn check_ldbc(view: &View<'_>) -> Result<(), OutputError> {
    let columns = view.heads.len();
    if columns != 1 {
        let what = format!("LDBC Graphalytics has one value a vertex, found {columns}; write CSV");
        return Err(OutputError::unfit(view.name, what));
    }
    if view.vertices.are_names() {
        let what = "LDBC Graphalytics has integer ids, found names; write CSV";
        return Err(OutputError::unfit(view.name, what));
    }
    Ok(())
}

pub(super) fn write(
    view: &View<'_>,
    sink: &mut (dyn Write + Send),
    compression: Compression,
    layout: Layout,
    job: &Job<'_>,
) -> Result<(), OutputError> {
    let separator = layout.separator;
    let mut header = Vec::new();
    if layout.has_header {
        for (number, name) in view.vertex_title().into_iter().chain(view.titles()).enumerate() {
            if number > 0 {
                header.push(separator);
            }
            text::name(&mut header, name, separator);
        }
        header.push(b'\n');
    }
    let blocks = view.rows.div_ceil(BLOCK_ROWS) as u64;
    text::write(job, sink, compression, &header, blocks, |block, index, _| {
        let first = index as usize * BLOCK_ROWS;
        let rows = first..view.rows.min(first + BLOCK_ROWS);
        job.phase.add(rows.len() as u64);
        lines(view, rows, layout, &mut block.text)
    })
}

fn lines(
    view: &View<'_>,
    rows: Range<usize>,
    Layout { separator, is_ldbc, .. }: Layout,
    text: &mut Vec<u8>,
) -> Result<(), OutputError> {
    let columns = view.part(rows.clone())?;
    let ids = if view.is_list { None } else { view.vertices.integers(rows.clone()) };
    debug_assert!(ids.as_ref().is_none_or(|ids| ids.len() == rows.len()), "each row has an id");
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
                Cells::F64(values) if is_ldbc && values[place] == f64::INFINITY => {
                    text.extend_from_slice(INFINITY);
                }
                Cells::F32(values) if is_ldbc && values[place] == f32::INFINITY => {
                    text.extend_from_slice(INFINITY);
                }
                Cells::I64(values) if is_ldbc && values[place] < 0 => {
                    text::signed(text, UNREACHED);
                }
                Cells::F32(values) => text::float(text, values[place]),
                Cells::F64(values) => text::float(text, values[place]),
                Cells::U32(values) => text::integer(text, values[place].into()),
                Cells::U64(values) => text::integer(text, values[place]),
                Cells::I64(values) => text::signed(text, values[place]),
                Cells::Sides(values) => {
                    let name = values[place].map_or("", Side::name);
                    text.extend_from_slice(name.as_bytes());
                }
                Cells::Vertices(values) if values[place] == NO_VERTEX => {}
                Cells::Vertices(values) => {
                    vertex(view.named, values[place] as usize, separator, text);
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
