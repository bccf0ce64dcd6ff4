//! The result of a run as a table: one row a vertex, the column `vertex` first.

use std::ops::Range;

use crate::ids::Names;

/// The ids of the rows.
#[derive(Clone, Debug, PartialEq)]
pub enum VertexColumn {
    /// These ids, ascending.
    Range(Range<u64>),
    /// Integer ids, ascending.
    Integers(Vec<u64>),
    /// String ids, ascending by their bytes.
    Names(Names),
}

impl VertexColumn {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Range(ids) => (ids.end - ids.start) as usize,
            Self::Integers(ids) => ids.len(),
            Self::Names(names) => names.len(),
        }
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The id of a row.
    ///
    /// # Panics
    /// When there are not so many rows of integers or names.
    pub fn get(&self, row: usize) -> Id<'_> {
        match self {
            Self::Range(ids) => Id::Integer(ids.start + row as u64),
            Self::Integers(ids) => Id::Integer(ids[row]),
            Self::Names(names) => Id::Name(names.get(row)),
        }
    }
}

/// The id of a vertex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Id<'a> {
    /// An integer.
    Integer(u64),
    /// A string.
    Name(&'a str),
}

/// The values of one column.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ColumnData {
    /// 32-bit floats.
    F32(Vec<f32>),
    /// 64-bit floats.
    F64(Vec<f64>),
    /// Unsigned 32-bit integers.
    U32(Vec<u32>),
    /// Unsigned 64-bit integers.
    U64(Vec<u64>),
    /// Signed 64-bit integers.
    I64(Vec<i64>),
    /// Vertices by their numbers, shown as their ids; [`NO_VERTEX`] where there is none.
    Vertices(Vec<u32>),
}

/// Stands for no vertex in [`ColumnData::Vertices`].
pub const NO_VERTEX: u32 = u32::MAX;

impl ColumnData {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::F64(values) => values.len(),
            Self::U32(values) | Self::Vertices(values) => values.len(),
            Self::U64(values) => values.len(),
            Self::I64(values) => values.len(),
        }
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A named column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name, such as `rank`.
    pub name: String,
    /// Values, one a row.
    pub data: ColumnData,
}

/// Vertices with their values. All columns are equally long.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Ids of the rows.
    pub vertices: VertexColumn,
    /// Results by name.
    pub columns: Vec<Column>,
}
