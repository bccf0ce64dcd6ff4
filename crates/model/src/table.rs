//! The result of a run as a table: one row a vertex, the column `vertex` first; or a list, whose
//! rows are other things between vertices.
//!
//! The whole of a result may not fit in memory, so writers and readers ask for some rows at a
//! time ([`Columns::part`]).

use std::borrow::Cow;
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use crate::edges::StreamError;
pub use crate::id::Id;
use crate::names::Names;
use crate::non_compact::NonCompact;
use crate::rank_select::RankSelectBitmap;
use crate::two_kinds::{Side, TwoKinds};

/// The ids of the rows.
///
/// ```
/// use welter_model::table::{Id, VertexColumn};
///
/// let ids = VertexColumn::Integers(vec![3, 10, 700]);
/// assert_eq!(ids.get(1), Id::Integer(10));
/// assert_eq!(ids.slice(1..3), VertexColumn::Integers(vec![10, 700]));
/// assert_eq!((ids.row(700), ids.row(4)), (Some(2), None));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum VertexColumn {
    /// Integer ids one after the other, ascending.
    Range(Range<u64>),
    /// Integer ids, ascending.
    Integers(Vec<u64>),
    /// The slots that are marked: integer ids that take a few bits each.
    RankSelectBitmap(Arc<RankSelectBitmap>),
    /// String ids, ascending by their bytes.
    Names(Names),
    /// The integers that have slots, ascending, and then one row for all others, if there are any.
    /// A [`Spread`](crate::spread::Spread) has a row for each of them.
    NonCompact(NonCompact),
    /// Ids of two kinds of vertices, sources first.
    TwoKinds(TwoKinds),
}

impl VertexColumn {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Range(ids) => (ids.end - ids.start) as usize,
            Self::Integers(ids) => ids.len(),
            Self::RankSelectBitmap(slots) => slots.count() as usize,
            Self::Names(names) => names.len(),
            Self::NonCompact(ids) => ids.slots() as usize,
            Self::TwoKinds(ids) => ids.len(),
        }
    }

    /// Number of vertices: as many as rows, unless the last row stands for many.
    pub fn vertices(&self) -> u64 {
        if let Self::NonCompact(ids) = self { ids.vertices() } else { self.len() as u64 }
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The id of a row.
    ///
    /// # Panics
    /// When `row` is out of range, of anything but a range.
    pub fn get(&self, row: usize) -> Id<'_> {
        match self {
            Self::Range(ids) => Id::Integer(ids.start + row as u64),
            Self::Integers(ids) => Id::Integer(ids[row]),
            Self::RankSelectBitmap(slots) => Id::Integer(slots.slot(row as u64)),
            Self::Names(names) => Id::Name(names.get(row)),
            Self::NonCompact(ids) if ids.others() > 0 && row == ids.named().len() => {
                Id::Others(ids.others())
            }
            Self::NonCompact(ids) => Id::Integer(ids.named()[row]),
            Self::TwoKinds(ids) => ids.get(row),
        }
    }

    /// The ids of some rows alone. Where two kinds of vertices are meant, that is not in it.
    ///
    /// # Panics
    /// When `rows` are out of range.
    #[must_use]
    pub fn slice(&self, rows: Range<usize>) -> Self {
        if let Self::Range(ids) = self {
            return Self::Range(ids.start + rows.start as u64..ids.start + rows.end as u64);
        }
        if self.are_names() {
            return Self::Names(rows.map(|row| self.name(row)).collect());
        }
        Self::Integers(rows.filter_map(|row| self.get(row).integer()).collect())
    }

    /// The row of an integer id that has one of its own.
    pub fn row(&self, id: u64) -> Option<usize> {
        match self {
            Self::Range(ids) => ids.contains(&id).then(|| (id - ids.start) as usize),
            Self::Integers(ids) => ids.binary_search(&id).ok(),
            Self::RankSelectBitmap(slots) => slots.number(id).map(|number| number as usize),
            Self::Names(_) | Self::TwoKinds(_) => None,
            Self::NonCompact(ids) => ids.named().binary_search(&id).ok(),
        }
    }

    /// The ids of some rows, where each is one integer.
    ///
    /// # Panics
    /// When `rows` are out of range, of integers.
    pub fn integers(&self, rows: Range<usize>) -> Option<Cow<'_, [u64]>> {
        let numbers = rows.start as u64..rows.end as u64;
        match self {
            Self::Range(ids) => Some(numbers.map(|row| ids.start + row).collect()),
            Self::Integers(ids) => Some(Cow::Borrowed(&ids[rows])),
            Self::RankSelectBitmap(slots) => {
                let mut ids = Vec::new();
                slots.extend_slots(numbers, &mut ids);
                Some(Cow::Owned(ids))
            }
            Self::TwoKinds(ids) if !ids.are_names() => {
                Some(rows.filter_map(|row| ids.get(row).integer()).collect())
            }
            Self::Names(_) | Self::NonCompact(_) | Self::TwoKinds(_) => None,
        }
    }

    /// Whether ids are strings.
    pub fn are_names(&self) -> bool {
        match self {
            Self::Names(_) => true,
            Self::TwoKinds(ids) => ids.are_names(),
            _ => false,
        }
    }

    /// The string that is the id of a row; empty where ids are no strings.
    ///
    /// # Panics
    /// When `row` is out of range.
    pub fn name(&self, row: usize) -> &str {
        if let Id::Name(name) = self.get(row) { name } else { "" }
    }
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
    Vertices(Vec<u64>),
    /// End of edges that a vertex is; `None` where there is none.
    Sides(Vec<Option<Side>>),
}

/// Stands for no vertex in [`ColumnData::Vertices`].
pub const NO_VERTEX: u64 = u64::MAX;

/// Evaluates one expression of the vector in a column, whatever its type.
macro_rules! of_vector {
    ($data:expr, $values:pat => $result:expr) => {
        match $data {
            ColumnData::F32($values) => $result,
            ColumnData::F64($values) => $result,
            ColumnData::U32($values) => $result,
            ColumnData::U64($values) | ColumnData::Vertices($values) => $result,
            ColumnData::I64($values) => $result,
            ColumnData::Sides($values) => $result,
        }
    };
}

/// A column of the same type as another, from its vector.
macro_rules! like {
    ($data:expr, $values:pat => $result:expr) => {
        match $data {
            ColumnData::F32($values) => ColumnData::F32($result),
            ColumnData::F64($values) => ColumnData::F64($result),
            ColumnData::U32($values) => ColumnData::U32($result),
            ColumnData::U64($values) => ColumnData::U64($result),
            ColumnData::I64($values) => ColumnData::I64($result),
            ColumnData::Vertices($values) => ColumnData::Vertices($result),
            ColumnData::Sides($values) => ColumnData::Sides($result),
        }
    };
}

impl ColumnData {
    /// Number of rows.
    pub fn len(&self) -> usize {
        of_vector!(self, values => values.len())
    }

    /// The values of these rows, in this order.
    ///
    /// # Panics
    /// When a row is out of range.
    #[must_use]
    pub fn picked(&self, rows: &[usize]) -> Self {
        like!(self, values => rows.iter().map(|&row| values[row]).collect())
    }

    /// A copy of some rows.
    ///
    /// # Panics
    /// When a row is out of range.
    #[must_use]
    pub fn slice(&self, rows: Range<usize>) -> Self {
        like!(self, values => values[rows].to_vec())
    }

    /// Appends the rows of another column.
    ///
    /// # Panics
    /// When that is of another type.
    pub fn append(&mut self, other: Self) {
        match (self, other) {
            (Self::F32(values), Self::F32(mut others)) => values.append(&mut others),
            (Self::F64(values), Self::F64(mut others)) => values.append(&mut others),
            (Self::I64(values), Self::I64(mut others)) => values.append(&mut others),
            (Self::U32(values), Self::U32(mut others)) => values.append(&mut others),
            (Self::Sides(values), Self::Sides(mut others)) => values.append(&mut others),
            (Self::U64(values), Self::U64(mut others))
            | (Self::Vertices(values), Self::Vertices(mut others)) => values.append(&mut others),
            _ => panic!("columns of two types are one column"),
        }
    }

    /// Whether two columns have the same type.
    pub fn same_type(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
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

/// The results of all vertices, wherever they are.
///
/// ```
/// use welter_model::table::{Column, ColumnData, Columns};
///
/// let columns = vec![Column { name: "depth".into(), data: ColumnData::I64(vec![0, 1, -1]) }];
/// assert_eq!(columns.part(1..3)?[0].data, ColumnData::I64(vec![1, -1]));
/// assert!(columns.check(3).is_ok());
/// assert_eq!(columns.check(4), Err("column \"depth\" has 3 rows, expected 4".into()));
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
pub trait Columns: Debug + Send + Sync {
    /// The results of some rows: the same columns whatever the rows, and so also of none.
    ///
    /// # Errors
    /// When they cannot be read from where they are.
    ///
    /// # Panics
    /// When a row is out of range.
    fn part(&self, rows: Range<usize>) -> Result<Vec<Column>, StreamError>;

    /// Number of rows, where these are not one a vertex: a list of edges, for instance, whose table
    /// has no column of vertices.
    fn listed(&self) -> Option<usize> {
        None
    }

    /// Checks these columns for a table of `rows` rows, as far as that can be done without reading
    /// them.
    ///
    /// # Errors
    /// A clause that names the column.
    fn check(&self, rows: usize) -> Result<(), String>;
}

impl<C: Columns + ?Sized> Columns for Box<C> {
    fn part(&self, rows: Range<usize>) -> Result<Vec<Column>, StreamError> {
        (**self).part(rows)
    }

    fn listed(&self) -> Option<usize> {
        (**self).listed()
    }

    fn check(&self, rows: usize) -> Result<(), String> {
        (**self).check(rows)
    }
}

impl Columns for Vec<Column> {
    fn part(&self, rows: Range<usize>) -> Result<Vec<Column>, StreamError> {
        let slice = |column: &Column| Column {
            name: column.name.clone(),
            data: column.data.slice(rows.clone()),
        };
        Ok(self.iter().map(slice).collect())
    }

    fn check(&self, rows: usize) -> Result<(), String> {
        self.iter().try_for_each(|column| column.check(rows, rows))
    }
}

impl Column {
    /// Says what is wrong with a column, of a table of `all` rows, that is to have `rows`.
    ///
    /// # Errors
    /// A clause that names the column.
    pub fn check(&self, rows: usize, all: usize) -> Result<(), String> {
        let (name, found) = (&self.name, self.data.len());
        if found != rows {
            return Err(format!("column \"{name}\" has {found} rows, expected {rows}"));
        }
        let ColumnData::Vertices(values) = &self.data else { return Ok(()) };
        let beyond = |vertex: &&u64| **vertex != NO_VERTEX && **vertex >= all as u64;
        match values.iter().find(beyond) {
            Some(vertex) => {
                Err(format!("column \"{name}\" names vertex number {vertex} of {all} vertices"))
            }
            None => Ok(()),
        }
    }
}

/// Vertices with their results.
#[derive(Clone, Debug, PartialEq)]
pub struct Table<C: ?Sized = Vec<Column>> {
    /// Ids of the vertices.
    pub vertices: VertexColumn,
    /// Results by name, of as many rows, unless they are a [list](Columns::listed).
    pub columns: C,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_the_same_one_by_one_and_together() {
        let marked = RankSelectBitmap::new(vec![0b1011, 0, 1 << 63, 5]);
        let integers = VertexColumn::Integers(vec![0, 1, 3, 191, 192, 194]);
        let columns =
            [VertexColumn::RankSelectBitmap(Arc::new(marked)), integers, VertexColumn::Range(5..9)];
        for column in &columns {
            for start in 0..=column.len() {
                for end in start..=column.len() {
                    let one_by_one: Vec<_> = (start..end).map(|row| column.get(row)).collect();
                    let together = column.integers(start..end).unwrap();
                    let together: Vec<_> = together.iter().map(|&id| Id::Integer(id)).collect();
                    assert_eq!(one_by_one, together);
                }
            }
        }
        assert_eq!(columns[0].len(), columns[1].len());
        assert_eq!(columns[0].get(3), Id::Integer(191));
        for column in &columns {
            for id in (0..400).chain([u64::MAX]) {
                let found = (0..column.len()).find(|row| column.get(*row) == Id::Integer(id));
                assert_eq!(column.row(id), found, "{id} of {column:?}");
            }
        }
    }

    #[test]
    fn parts_of_columns_are_slices() {
        let named = |name: &str, data| Column { name: name.to_owned(), data };
        let depths = named("depth", ColumnData::I64(vec![0, 1, -1, 2]));
        let parents = named("parent", ColumnData::Vertices(vec![0, 0, NO_VERTEX, 1]));
        let columns = vec![depths.clone(), parents];
        let mut part = columns.part(0..1).unwrap();
        for (column, rest) in part.iter_mut().zip(columns.part(1..4).unwrap()) {
            column.data.append(rest.data);
        }
        assert_eq!(part, columns);
        assert!(columns.part(0..0).unwrap().iter().all(|column| column.data.is_empty()));
        assert_eq!(depths.data.picked(&[3, 0]), ColumnData::I64(vec![2, 0]));
        assert!(columns.check(4).is_ok());
        assert!(columns.check(3).unwrap_err().contains("\"depth\" has 4 rows"));
        assert!(columns[1].check(4, 1).unwrap_err().contains("vertex number 1 of 1"));
    }
}
