//! NumPy arrays (`.npy`) of edges.
//!
//! - `(m, 2)` or `(m, 3)`: a row an edge: source, target, and perhaps a weight. More columns where
//!   it is said which they are.
//! - `(2, m)`: a row of sources and one of targets, as PyTorch Geometric has them.
//!
//! Numbers are integers of any width and sign or floats; ids must be whole and not negative. Where
//! a shape could mean something else (`(2, 2)`, `(3, 3)`, `(2, 3)`), it is refused unless the
//! columns are said or both readings are the same. Refused: adjacency matrices, arrays of objects,
//! texts and complex numbers, tables with named fields, and other shapes.
//!
//! Invariant: one block of each column is in memory, whatever the header states; arrays that are
//! stored column by column are read from as many places at once. Checked in `Block::read`. Tested
//! by `stated_counts_take_no_memory`.

pub(crate) mod header;
#[cfg(test)]
mod tests;

use self::header::{Header, Layout};
use crate::collect::{Collector, EdgeRun, Ids};
use crate::error::InputError;
use crate::options::{IdKind, ReadOptions};
use crate::reader::{Context, Estimate, Reader};
use crate::source::Source;
use crate::unpack::Unpacked;

/// Edges of a part.
const PART_EDGES: usize = 1 << 18;

/// Bytes of an array that are held at once, about.
const BLOCK_BYTES: usize = 4 << 20;

/// The reader of NumPy arrays.
pub(crate) struct Npy;

impl Reader for Npy {
    fn read(
        &self,
        source: &Source,
        context: &Context<'_>,
        collector: &Collector,
    ) -> Result<(), InputError> {
        let array = open(source, context.options)?;
        if let Some(note) = array.layout.note() {
            collector.note(note);
        }
        let mut columns = array.columns(source, context)?;
        let (mut row, mut part) = (0, 0);
        while row < array.layout.edges {
            let most =
                PART_EDGES.min(BLOCK_BYTES / (array.layout.width * array.header.number.bytes));
            let rows = (array.layout.edges - row).min(most as u64) as usize;
            let block = Block { array: &array, context, row };
            collector.push(part, block.read(&mut columns, rows)?)?;
            row += rows as u64;
            part += 1;
        }
        array.check_end(&mut columns)
    }

    fn estimate(&self, source: &Source, options: &ReadOptions) -> Result<Estimate, InputError> {
        let array = open(source, options)?;
        Ok(Estimate {
            bytes: source.bytes(),
            edges: Some(array.layout.edges),
            exact: true,
            ids: IdKind::Integers,
            weighted: array.layout.weight.is_some(),
            ..Estimate::default()
        })
    }
}

/// An array, and how its edges lie in it.
struct Array<'a> {
    file: &'a str,
    header: Header,
    layout: Layout,
}

/// Reads the header.
fn open<'a>(source: &'a Source, options: &ReadOptions) -> Result<Array<'a>, InputError> {
    let file = source.name();
    if options.ids == IdKind::Names {
        let what = "expected names as ids, found a format that has integers";
        return Err(InputError::content(file, what));
    }
    let sample = source.sample(header::BYTES_MAX, &options.limits)?;
    let header = Header::read(&sample.bytes).map_err(|what| InputError::content(file, what))?;
    let equal = || header.is_symmetric(&sample.bytes);
    let layout = Layout::of(&header, options, equal);
    let layout = layout.map_err(|what| InputError::content(file, what))?;
    Ok(Array { file, header, layout })
}

/// Bytes from one place of an array on.
struct Column {
    bytes: Unpacked,
    stored: u64,
    buffer: Vec<u8>,
}

impl Array<'_> {
    /// The array from its beginning, or from that of each column that is needed.
    fn columns(&self, source: &Source, context: &Context<'_>) -> Result<Vec<Column>, InputError> {
        let Layout { by_rows, columns, edges, .. } = &self.layout;
        if *by_rows {
            return Ok(vec![Column::at(source, context, self.header.start)?]);
        }
        if source.bytes().is_none() {
            let what = "an array that is stored column by column cannot be read from a pipe; name \
                        a file";
            return Err(InputError::content(self.file, what));
        }
        let length = edges.saturating_mul(self.header.number.bytes as u64);
        let begin = |column: usize| {
            let before = (column as u64).saturating_mul(length);
            Column::at(source, context, self.header.start.saturating_add(before))
        };
        columns.iter().map(|column| begin(*column)).collect()
    }

    /// Refuses an array that is longer than its shape.
    fn check_end(&self, columns: &mut [Column]) -> Result<(), InputError> {
        let last = columns.first_mut().filter(|_| self.layout.by_rows);
        let more = last.map_or(Ok(0), |column| column.bytes.fill(&mut [0]))?;
        if more > 0 {
            let what = format!("expected {}, found more", self.header.shown());
            return Err(InputError::content(self.file, what));
        }
        Ok(())
    }

    /// The error for a row, counted from 0.
    fn wrong(&self, row: u64, what: String) -> InputError {
        InputError::Row { file: self.file.to_owned(), row: row + 1, what }
    }
}

impl Column {
    /// The bytes of a source from a place on, decompressed.
    fn at(source: &Source, context: &Context<'_>, start: u64) -> Result<Self, InputError> {
        let mut bytes = source.unpack(&context.options.limits)?;
        let mut buffer = vec![0; 64 << 10];
        let mut left = start;
        while left > 0 {
            let wanted = left.min(buffer.len() as u64) as usize;
            let count = bytes.fill(&mut buffer[..wanted])? as u64;
            if count == 0 {
                break;
            }
            left -= count;
        }
        let stored = bytes.stored();
        Ok(Self { bytes, stored, buffer })
    }

    /// The next bytes.
    fn next(&mut self, bytes: usize, context: &Context<'_>) -> Result<&[u8], InputError> {
        self.buffer.resize(bytes, 0);
        let count = self.bytes.fill(&mut self.buffer)?;
        let stored = self.bytes.stored();
        context.advance(stored - self.stored)?;
        self.stored = stored;
        Ok(&self.buffer[..count])
    }
}

/// Run of rows of an array.
struct Block<'a> {
    array: &'a Array<'a>,
    context: &'a Context<'a>,
    /// The first of them.
    row: u64,
}

impl Block<'_> {
    fn read(&self, columns: &mut [Column], rows: usize) -> Result<EdgeRun, InputError> {
        let Array { header, layout, .. } = self.array;
        let size = header.number.bytes;
        let mut values = Values::default();
        if layout.by_rows {
            let width = size * layout.width;
            let bytes = columns[0].next(rows * width, self.context)?;
            self.check_length(bytes.len() / width, rows)?;
            for column in &layout.columns {
                let at = column * size;
                let cells = bytes.chunks_exact(width).map(|row| &row[at..at + size]);
                self.column(cells, &mut values)?;
            }
        } else {
            for column in columns {
                let bytes = column.next(rows * size, self.context)?;
                self.check_length(bytes.len() / size, rows)?;
                self.column(bytes.chunks_exact(size), &mut values)?;
            }
        }
        let Values { sources, targets, weights, .. } = values;
        let pairs = sources.into_iter().zip(targets).map(|(source, target)| [source, target]);
        let weights = layout.weight.map(|_| weights);
        Ok(EdgeRun { ids: Ids::integers(pairs.collect()), weights })
    }

    /// Refuses an array that is shorter than its shape.
    fn check_length(&self, found: usize, expected: usize) -> Result<(), InputError> {
        if found >= expected {
            return Ok(());
        }
        let what = format!(
            "expected {}, found the end of the file, which may be cut off",
            self.array.header.shown()
        );
        Err(self.array.wrong(self.row + found as u64, what))
    }

    /// Reads the next column: ids of sources, then of targets, then weights.
    fn column<'c>(
        &self,
        cells: impl Iterator<Item = &'c [u8]>,
        values: &mut Values,
    ) -> Result<(), InputError> {
        values.columns += 1;
        let number = self.array.header.number;
        for (row, cell) in (self.row..).zip(cells) {
            let read = match values.columns {
                1 => number.id(cell).map(|id| values.sources.push(id)),
                2 => number.id(cell).map(|id| values.targets.push(id)),
                _ => self.weight(number.float(cell)).map(|weight| values.weights.push(weight)),
            };
            read.map_err(|what| self.array.wrong(row, what))?;
        }
        Ok(())
    }

    /// Refuses a weight that may not come.
    fn weight(&self, weight: f64) -> Result<f64, String> {
        if weight.is_nan() {
            return Err("expected a weight, found NaN".to_owned());
        }
        self.context.options.bounds().check(weight, &weight).map(|()| weight)
    }
}

/// The values of some rows.
#[derive(Default)]
struct Values {
    /// Columns that were read.
    columns: usize,
    sources: Vec<u64>,
    targets: Vec<u64>,
    weights: Vec<f64>,
}
