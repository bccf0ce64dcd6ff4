//! The header of a NumPy array, and how edges lie in an array of its shape.
//!
//! ```text
//! \x93NUMPY  version  length  {'descr': '<i8', 'fortran_order': False, 'shape': (4, 2), }
//!         6        2  2 or 4
//! ```

use crate::options::{ReadOptions, WeightChoice};
use crate::tables::ColumnRef;
use crate::words::show;

/// Bytes in which a header ends, with the few values that follow it in a small array.
pub(super) const BYTES_MAX: usize = 64 << 10;

/// Numbers of a row.
const WIDTH_MAX: usize = 1 << 12;

const MAGIC: &[u8] = b"\x93NUMPY";

/// Whether a file that begins so is surely of this format.
pub(crate) fn begins(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}

/// Type of the numbers of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Number {
    kind: Kind,
    big: bool,
    /// Bytes of each.
    pub(super) bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Signed,
    Unsigned,
    Float,
}

impl Number {
    /// Reads a description such as `<i8`.
    fn of(text: &str) -> Result<Self, String> {
        let wrong = || {
            let found = show(text.as_bytes());
            format!(
                "expected an array of integers or floats, found the type {found} (convert it: \
                 array.astype('int64'))"
            )
        };
        let (order, rest) = text.split_at_checked(1).ok_or_else(wrong)?;
        let (kind, bytes) = rest.split_at_checked(1).ok_or_else(wrong)?;
        let kind = match (kind, bytes) {
            ("i", "1" | "2" | "4" | "8") => Kind::Signed,
            ("u", "1" | "2" | "4" | "8") => Kind::Unsigned,
            ("f", "4" | "8") => Kind::Float,
            _ => return Err(wrong()),
        };
        let big = match order {
            "<" | "|" | "=" => false,
            ">" => true,
            _ => return Err(wrong()),
        };
        Ok(Self { kind, big, bytes: bytes.parse().map_err(|_| wrong())? })
    }

    /// The bits of a cell, the lowest first; signed ones as 64 bits.
    fn bits(self, cell: &[u8]) -> u64 {
        let byte = |bits: u64, byte: &u8| bits << 8 | u64::from(*byte);
        let bits =
            if self.big { cell.iter().fold(0, byte) } else { cell.iter().rev().fold(0, byte) };
        let unused = u64::BITS - 8 * self.bytes as u32;
        match self.kind {
            Kind::Signed => ((bits << unused) as i64 >> unused) as u64,
            _ => bits,
        }
    }

    /// A cell as a float.
    pub(super) fn float(self, cell: &[u8]) -> f64 {
        let bits = self.bits(cell);
        match self.kind {
            Kind::Signed => bits as i64 as f64,
            Kind::Unsigned => bits as f64,
            Kind::Float if self.bytes == 4 => f32::from_bits(bits as u32).into(),
            Kind::Float => f64::from_bits(bits),
        }
    }

    /// A cell as an id.
    pub(super) fn id(self, cell: &[u8]) -> Result<u64, String> {
        /// Beyond this not all integers are floats.
        const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
        let bits = self.bits(cell);
        match self.kind {
            Kind::Unsigned => Ok(bits),
            Kind::Signed => u64::try_from(bits as i64)
                .map_err(|_| format!("expected a vertex id, found {}", bits as i64)),
            Kind::Float => {
                let value = self.float(cell);
                if value.fract() == 0.0 && (0.0..=EXACT_MAX).contains(&value) {
                    return Ok(value as u64);
                }
                Err(format!("expected a whole number as vertex id, found {value}"))
            }
        }
    }
}

/// Statements of a header.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) number: Number,
    /// Whether columns are stored one after the other, and not rows.
    fortran: bool,
    rows: u64,
    columns: u64,
    /// Byte at which the numbers begin.
    pub(super) start: u64,
}

impl Header {
    /// Reads the beginning of a file.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, String> {
        let wrong = || "expected a NumPy array, found another beginning".to_owned();
        let rest = bytes.strip_prefix(MAGIC).ok_or_else(wrong)?;
        let (length, at) = match rest {
            [1, _, a, b, ..] => (u32::from(u16::from_le_bytes([*a, *b])), 10),
            [2 | 3, _, a, b, c, d, ..] => (u32::from_le_bytes([*a, *b, *c, *d]), 12),
            _ => return Err("expected version 1, 2 or 3 of the format of NumPy".to_owned()),
        };
        let text = bytes.get(at..at + length as usize);
        let text = text.and_then(|text| std::str::from_utf8(text).ok());
        let text = text.ok_or("expected the header of a NumPy array, found the end of the file")?;
        let start = at as u64 + u64::from(length);
        let value = |key: &str| {
            let (_, rest) = text.split_once(&format!("'{key}':"))?;
            Some(rest.trim_start())
        };
        let missing = |key: &str| format!("expected {key} in the header of a NumPy array");
        let descr = value("descr").ok_or_else(|| missing("descr"))?;
        if descr.starts_with('[') {
            return Err(
                "expected an array of numbers, found a table with named fields (write its \
                        columns as one array, or the table as Parquet or CSV)"
                    .to_owned(),
            );
        }
        let descr = descr.split('\'').nth(1).unwrap_or_default();
        let number = Number::of(descr)?;
        let order = value("fortran_order").ok_or_else(|| missing("fortran_order"))?;
        let shape = value("shape").and_then(|text| text.strip_prefix('('));
        let shape =
            shape.and_then(|text| text.split(')').next()).ok_or_else(|| missing("shape"))?;
        let sizes: Option<Vec<u64>> = shape
            .split(',')
            .map(str::trim)
            .filter(|size| !size.is_empty())
            .map(|size| size.parse().ok())
            .collect();
        let Some(&[rows, columns]) = sizes.as_deref() else {
            return Err(format!(
                "expected an array of the shape (edges, 2), (edges, 3) or (2, edges), found the \
                 shape ({shape})"
            ));
        };
        Ok(Self { number, fortran: order.starts_with("True"), rows, columns, start })
    }

    /// The shape, for messages.
    pub(super) fn shown(&self) -> String {
        format!("as many numbers as the shape ({}, {}) states", self.rows, self.columns)
    }

    /// Whether a square array of two rows is the same by rows and by columns.
    pub(super) fn is_symmetric(&self, bytes: &[u8]) -> bool {
        let size = self.number.bytes;
        let cells = bytes.get(self.start as usize..).unwrap_or_default();
        let cell = |at: usize| cells.get(at * size..(at + 1) * size);
        cell(1).is_some() && cell(1) == cell(2)
    }
}

/// Layout of edges in an array.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Numbers of the source, the target and perhaps the weight lie in rows, and not each in a run
    /// of its own.
    pub(super) by_rows: bool,
    /// Places of the source, the target and perhaps the weight.
    pub(super) columns: Vec<usize>,
    pub(super) weight: Option<usize>,
    /// Numbers of a row.
    pub(super) width: usize,
    pub(super) edges: u64,
    either: bool,
}

impl Layout {
    /// The layout of a shape. `same`: whether an array of two rows and columns is the same by rows
    /// and by columns.
    pub(super) fn of(
        header: &Header,
        options: &ReadOptions,
        same: impl Fn() -> bool,
    ) -> Result<Self, String> {
        let &Header { rows, columns, fortran, .. } = header;
        let by_number = matches!(options.weight, WeightChoice::Column(ColumnRef::Number(_)));
        let is_stated = options.source.is_some() || options.target.is_some() || by_number;
        let ambiguous = |readings: &str| {
            Err(format!(
                "expected a shape that can mean one thing, found ({rows}, {columns}), which is \
                 {readings} (--source-column 1 --target-column 2: a row an edge)"
            ))
        };
        let either = !is_stated && (rows, columns) == (2, 2) && same();
        match (rows, columns) {
            _ if is_stated => {}
            (2, 2) if !either => return ambiguous("rows of edges, or sources and targets"),
            (2, 3) => return ambiguous("rows of edges with weights, or sources and targets"),
            (3, 3) => return ambiguous("rows of edges with weights, or an adjacency matrix"),
            (_, 2 | 3) | (2, _) => {}
            (rows, columns) if rows == columns => {
                return Err(format!(
                    "expected edges, found an array of the shape ({rows}, {columns}), which may be \
                     an adjacency matrix (write its edges: numpy.argwhere(matrix))"
                ));
            }
            _ => {
                return Err(format!(
                    "expected an array of the shape (edges, 2), (edges, 3) or (2, edges), found \
                     the shape ({rows}, {columns}) (which columns are the ends can be said: \
                     --source-column 1 --target-column 2)"
                ));
            }
        }
        let runs = !is_stated && rows == 2 && columns != 2;
        let (edges, width) = if runs { (columns, 2) } else { (rows, columns) };
        let place = |choice: Option<&ColumnRef>, guess: usize, role: &str| match choice {
            None if guess < width as usize => Ok(guess),
            Some(ColumnRef::Number(number)) if (1..=width).contains(&(*number as u64)) => {
                Ok(number - 1)
            }
            choice => {
                let found = choice.map_or_else(String::new, ToString::to_string);
                Err(format!("expected a {role} column from 1 to {width}, found {found}"))
            }
        };
        let source = place(options.source.as_ref(), 0, "source")?;
        let target = place(options.target.as_ref(), 1, "target")?;
        let weight = match &options.weight {
            WeightChoice::Ignore => None,
            WeightChoice::IfPresent => (width == 3 && (source, target) == (0, 1)).then_some(2),
            WeightChoice::Column(column) => Some(place(Some(column), 0, "weight")?),
        };
        let columns = [source, target].into_iter().chain(weight).collect();
        let width = usize::try_from(width).ok().filter(|width| *width <= WIDTH_MAX);
        let width = width.ok_or_else(|| format!("expected at most {WIDTH_MAX} columns"))?;
        Ok(Self { by_rows: fortran == runs, columns, weight, width, edges, either })
    }

    /// Notes for people.
    pub(super) fn note(&self) -> Option<&'static str> {
        self.either.then_some("has two rows and two columns, which are the same either way")
    }
}
