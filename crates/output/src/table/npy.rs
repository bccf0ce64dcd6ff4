//! Tables as numpy arrays of records (the npy format, versions 1 and 3).
//!
//! ```text
//! bytes 0..6   "\x93NUMPY"
//!       6..8   version: 1 0, or 3 0 where a name is not ASCII
//!       8..    length of the header: u16 in version 1, u32 in version 3, little-endian
//!              header: {'descr': [('vertex', '<u8'), ('rank', '<f4')], 'fortran_order': False,
//!              'shape': (ROWS,), } and spaces up to a multiple of 64, the last byte a newline
//!       then   records without padding, one a row
//! ```
//!
//! Integer ids are `<u8` whatever their size, so that a program reads every graph alike. String ids
//! are `<U`: as wide as the longest, four bytes a character, which numpy shows as `str`. Such a
//! column is refused where a name is longer than [`NAME_CHARS_MAX`] or the padding is out of all
//! proportion ([`PADDED_BYTES_FREE`], [`PADDED_RATIO_MAX`]). Other columns of vertices have the
//! type of the first; numpy has no nulls, so no vertex is 2^64 - 1 or the empty string. Neither can
//! be the id of a vertex: no reader takes an empty name, and a table that has both is refused.

use std::fmt::Write as _;
use std::io::Write;
use std::ops::Range;

use welter_model::table::{ColumnData, Id, NO_VERTEX, VertexColumn};
use welter_model::two_kinds::Side;

use super::view::{Cells, View};
use crate::error::OutputError;
use crate::ordered::{Job, Turn, run};

/// Longest name that gets a column of its width, in characters.
const NAME_CHARS_MAX: usize = 1_024;

/// A column of names may be this large whatever part of it is padding.
const PADDED_BYTES_FREE: u64 = 1 << 30;

/// A larger one may take at most `PADDED_RATIO_MAX` times the bytes of the names themselves.
const PADDED_RATIO_MAX: u64 = 32;

/// Stands for no vertex in columns of integer ids.
const NOBODY: u64 = u64::MAX;

/// Bytes of one block, which should stay in a cache of the second level.
const BLOCK_BYTES: usize = 256 << 10;

/// Rows that are looked at together before anything is written.
const CHECKED_ROWS: usize = 1 << 16;

/// Refuses ids that numpy cannot hold.
pub(super) fn check(view: &View<'_>) -> Result<(), OutputError> {
    let name = view.name;
    let last = view.named.len().checked_sub(1).map(|vertex| view.named.get(vertex));
    if last == Some(Id::Integer(NOBODY))
        && let Some(title) = has_nobody(view)?
    {
        let what = format!(
            "in column \"{title}\" npy has {NOBODY} for no vertex, but that is the id of one; \
             write Parquet, Arrow or CSV"
        );
        return Err(OutputError::unfit(name, what));
    }
    if !view.named.are_names() {
        return Ok(());
    }
    let names = || names(view.named);
    let width = width(view.named);
    if width > NAME_CHARS_MAX {
        let what = format!(
            "a name has {width} characters, expected at most {NAME_CHARS_MAX} in npy; \
             write Parquet, Arrow or CSV"
        );
        return Err(OutputError::unfit(name, what));
    }
    let padded = 4 * width as u64 * view.rows.max(view.named.len()) as u64;
    let bytes: u64 = names().map(|name| name.len() as u64).sum();
    if padded > PADDED_BYTES_FREE && padded / PADDED_RATIO_MAX > bytes {
        let what = format!(
            "names of {bytes} bytes would take {padded} bytes in npy, which makes all as wide as \
             the longest; write Parquet, Arrow or CSV"
        );
        return Err(OutputError::unfit(name, what));
    }
    if names().any(|name| name.ends_with('\0')) {
        let what = "a name ends in a zero character, which npy cannot hold; write Parquet or Arrow";
        return Err(OutputError::unfit(name, what));
    }
    Ok(())
}

/// The first column in which some row has no vertex.
fn has_nobody<'a>(view: &'a View<'_>) -> Result<Option<&'a str>, OutputError> {
    if !view.heads.iter().any(|head| matches!(head.data, ColumnData::Vertices(_))) {
        return Ok(None);
    }
    let mut first = view.heads.len();
    for start in (0..view.rows).step_by(CHECKED_ROWS) {
        let none = |cells: &Cells| matches!(cells, Cells::Vertices(v) if v.contains(&NO_VERTEX));
        let part = view.part(start..view.rows.min(start + CHECKED_ROWS))?;
        first = part.iter().position(none).map_or(first, |found| first.min(found));
    }
    Ok(view.titles().nth(first))
}

pub(super) fn write(
    view: &View<'_>,
    sink: &mut (dyn Write + Send),
    job: &Job<'_>,
) -> Result<(), OutputError> {
    let failed = |error| OutputError::write(job.name, error);
    sink.write_all(&header(view)).map_err(failed)?;
    let fields = fields(view);
    let stride: usize = fields.iter().map(|field| field.bytes).sum();
    let widths: Vec<usize> = fields.into_iter().map(|field| field.bytes).collect();
    let block_rows = (BLOCK_BYTES / stride).max(1);
    let make = |block: &mut Vec<u8>, index: u64, _: &Turn<'_, '_, Vec<u8>>| {
        let first = index as usize * block_rows;
        let rows = first..view.rows.min(first + block_rows);
        job.phase.add(rows.len() as u64);
        block.resize(rows.len() * stride, 0);
        records(view, &widths, rows, block)
    };
    let mut write = |block: &mut Vec<u8>| {
        job.phase.add_bytes(block.len() as u64);
        sink.write_all(block).map_err(failed)
    };
    run(job, view.rows.div_ceil(block_rows) as u64, Vec::new, make, &mut write)
}

/// One field of the records.
struct Field<'a> {
    name: &'a str,
    /// Type as numpy writes it.
    kind: String,
    bytes: usize,
}

fn fields<'a>(view: &'a View<'_>) -> Vec<Field<'a>> {
    let (kind, bytes) = if view.named.are_names() {
        let width = width(view.named);
        (format!("<U{width}"), 4 * width)
    } else {
        ("<u8".to_owned(), 8)
    };
    let vertex = view.vertex_title().map(|name| Field { name, kind: kind.clone(), bytes });
    let mut fields: Vec<Field<'_>> = vertex.into_iter().collect();
    fields.extend(view.heads.iter().map(|head| {
        let (kind, bytes) = match head.data {
            ColumnData::F32(_) => ("<f4", 4),
            ColumnData::F64(_) => ("<f8", 8),
            ColumnData::U32(_) => ("<u4", 4),
            ColumnData::U64(_) => ("<u8", 8),
            ColumnData::I64(_) => ("<i8", 8),
            ColumnData::Sides(_) => ("<U6", 4 * 6),
            _ => (kind.as_str(), bytes),
        };
        Field { name: &head.name, kind: kind.to_owned(), bytes }
    }));
    fields
}

/// Characters of the longest name, at least 1: numpy has no strings of width 0 in files.
fn width(ids: &VertexColumn) -> usize {
    names(ids).map(|name| name.chars().count()).max().unwrap_or(0).max(1)
}

fn names(ids: &VertexColumn) -> impl Iterator<Item = &str> {
    (0..ids.len()).map(|row| ids.name(row))
}

fn header(view: &View<'_>) -> Vec<u8> {
    let mut text = String::from("{'descr': [");
    for Field { name, kind, .. } in fields(view) {
        let name = name.replace('\\', "\\\\").replace('\'', "\\'");
        let name = name.replace('\n', "\\n").replace('\r', "\\r");
        let _infallible = write!(text, "('{name}', '{kind}'), ");
    }
    let _infallible = write!(text, "], 'fortran_order': False, 'shape': ({},), }}", view.rows);
    let start = if text.is_ascii() && text.len() < 60_000 { 10 } else { 12 };
    let total = (start + text.len() + 1).next_multiple_of(64);
    text.extend(std::iter::repeat_n(' ', total - start - text.len() - 1));
    text.push('\n');
    let mut header = b"\x93NUMPY".to_vec();
    if start == 10 {
        header.extend_from_slice(&[1, 0]);
        header.extend_from_slice(&(text.len() as u16).to_le_bytes());
    } else {
        header.extend_from_slice(&[3, 0]);
        header.extend_from_slice(&(text.len() as u32).to_le_bytes());
    }
    header.extend_from_slice(text.as_bytes());
    assert_eq!(header.len(), total, "records begin at a multiple of 64");
    header
}

/// Fills a block with the records of some rows, field by field. `widths`: bytes of each field.
fn records(
    view: &View<'_>,
    widths: &[usize],
    rows: Range<usize>,
    block: &mut [u8],
) -> Result<(), OutputError> {
    let columns = view.part(rows.clone())?;
    let fields = usize::from(!view.is_list) + columns.len();
    debug_assert_eq!(widths.len(), fields, "each field has its width");
    let mut place = FieldPosition { block, stride: widths.iter().sum(), offset: 0 };
    match view.vertices {
        _ if view.is_list => {}
        ids if ids.are_names() => place.names(rows.map(|row| ids.name(row)), widths[0]),
        ids => {
            let count = rows.len();
            let ids = ids.integers(rows).unwrap_or_default();
            debug_assert_eq!(ids.len(), count, "each row has an id");
            place.fill(ids.iter().map(|id| id.to_le_bytes()));
        }
    }
    let first = usize::from(!view.is_list);
    for (number, cells) in columns.iter().enumerate() {
        place.offset = widths[..first + number].iter().sum();
        match (cells, view.named) {
            (Cells::Sides(sides), _) => {
                let names = sides.iter().map(|side| side.map_or("", Side::name));
                place.names(names, widths[first + number]);
            }
            (Cells::Vertices(vertices), ids) if ids.are_names() => {
                let name = |&vertex: &u64| match vertex {
                    NO_VERTEX => "",
                    vertex => ids.name(vertex as usize),
                };
                place.names(vertices.iter().map(name), widths[first + number]);
            }
            (Cells::Vertices(vertices), ids) => {
                let id = |&vertex: &u64| match vertex {
                    NO_VERTEX => NOBODY,
                    vertex => integer(ids, vertex as usize),
                };
                place.fill(vertices.iter().map(|vertex| id(vertex).to_le_bytes()));
            }
            (Cells::F32(values), _) => place.fill(values.iter().map(|v| v.to_le_bytes())),
            (Cells::F64(values), _) => place.fill(values.iter().map(|v| v.to_le_bytes())),
            (Cells::U32(values), _) => place.fill(values.iter().map(|v| v.to_le_bytes())),
            (Cells::U64(values), _) => place.fill(values.iter().map(|v| v.to_le_bytes())),
            (Cells::I64(values), _) => place.fill(values.iter().map(|v| v.to_le_bytes())),
        }
    }
    Ok(())
}

/// The id of a row where ids are integers.
fn integer(ids: &VertexColumn, row: usize) -> u64 {
    match ids.get(row) {
        Id::Integer(id) => id,
        Id::Name(_) | Id::Others(_) => NOBODY,
    }
}

/// Where a field lies in a block of records.
struct FieldPosition<'a> {
    block: &'a mut [u8],
    stride: usize,
    offset: usize,
}

impl FieldPosition<'_> {
    fn fill<const N: usize>(&mut self, values: impl Iterator<Item = [u8; N]>) {
        for (record, value) in self.block.chunks_exact_mut(self.stride).zip(values) {
            record[self.offset..self.offset + N].copy_from_slice(&value);
        }
    }

    fn names<'n>(&mut self, names: impl Iterator<Item = &'n str>, bytes: usize) {
        for (record, name) in self.block.chunks_exact_mut(self.stride).zip(names) {
            let mut field = record[self.offset..self.offset + bytes].chunks_exact_mut(4);
            for character in name.chars() {
                if let Some(place) = field.next() {
                    place.copy_from_slice(&u32::from(character).to_le_bytes());
                }
            }
            field.for_each(|padding| padding.fill(0));
        }
    }
}
