//! A table that all formats can be written from.

use std::ops::Range;

use welter_model::table::{Column, ColumnData, Columns, Table, VertexColumn};
use welter_model::two_kinds::Side;

use crate::error::OutputError;

/// A table whose columns are known to have types that all formats have, and distinct names.
pub(super) struct View<'a> {
    /// Name of the output, for errors.
    pub(super) name: &'a str,
    pub(super) rows: usize,
    /// Whether the rows are not the vertices, so that there is no column of these.
    pub(super) is_list: bool,
    /// Ids of the rows.
    pub(super) vertices: &'a VertexColumn,
    /// Ids of all vertices, which columns of vertices name.
    pub(super) named: &'a VertexColumn,
    pub(super) columns: &'a dyn Columns,
    /// The columns without their rows.
    pub(super) heads: Vec<Column>,
}

/// Values of one column, of a type that all formats know.
pub(super) enum Cells {
    F32(Vec<f32>),
    F64(Vec<f64>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    I64(Vec<i64>),
    /// Numbers of vertices, shown as their ids; below their number, or
    /// [`NO_VERTEX`](welter_model::table::NO_VERTEX).
    Vertices(Vec<u64>),
    /// Ends of edges that vertices are.
    Sides(Vec<Option<Side>>),
}

impl<'a> View<'a> {
    pub(super) fn of(
        table: &'a Table<dyn Columns + '_>,
        name: &'a str,
    ) -> Result<Self, OutputError> {
        Self::of_rows(table, &table.vertices, name)
    }

    /// Of some rows of a table, whose vertices are `named`.
    pub(super) fn of_rows(
        table: &'a Table<dyn Columns + '_>,
        named: &'a VertexColumn,
        name: &'a str,
    ) -> Result<Self, OutputError> {
        let Table { vertices, columns } = table;
        let listed = columns.listed();
        let rows = listed.unwrap_or(vertices.len());
        let heads = columns.part(0..0).map_err(OutputError::Input)?;
        for (number, Column { name: title, .. }) in heads.iter().enumerate() {
            let taken = listed.is_none() && title == VERTEX
                || heads[..number].iter().any(|head| head.name == *title);
            if taken || title.is_empty() {
                return Err(OutputError::unfit(name, format!("two columns are named \"{title}\"")));
            }
        }
        // Some rows of a table may name vertices that have no row here: parts are looked at anyway.
        if std::ptr::eq(named, vertices) {
            columns.check(rows).map_err(|what| OutputError::unfit(name, what))?;
        }
        let is_list = listed.is_some();
        let view = Self { name, rows, is_list, vertices, named, columns, heads };
        // No format is asked for a type that it has not.
        view.part(0..0)?;
        Ok(view)
    }

    /// Name of the column of vertices, if there is one.
    pub(super) fn vertex_title(&self) -> Option<&'static str> {
        (!self.is_list).then_some(VERTEX)
    }

    /// Names of the other columns.
    pub(super) fn titles(&self) -> impl Iterator<Item = &str> {
        self.heads.iter().map(|head| head.name.as_str())
    }

    /// The columns of some rows. Columns of vertices hold numbers of vertices, and nothing else.
    pub(super) fn part(&self, rows: Range<usize>) -> Result<Vec<Cells>, OutputError> {
        let count = rows.len();
        let unfit = |what| OutputError::unfit(self.name, what);
        let part = self.columns.part(rows).map_err(OutputError::Input)?;
        let same = |(column, head): (&Column, &Column)| column.data.same_type(&head.data);
        if part.len() != self.heads.len() || !part.iter().zip(&self.heads).all(same) {
            return Err(unfit("some rows have other columns than the first".to_owned()));
        }
        let cells = part.into_iter().map(|column| {
            column.check(count, self.named.len()).map_err(unfit)?;
            Cells::of(column).map_err(unfit)
        });
        cells.collect()
    }
}

impl Cells {
    pub(super) fn of(column: Column) -> Result<Self, String> {
        Ok(match column.data {
            ColumnData::F32(values) => Self::F32(values),
            ColumnData::F64(values) => Self::F64(values),
            ColumnData::U32(values) => Self::U32(values),
            ColumnData::U64(values) => Self::U64(values),
            ColumnData::I64(values) => Self::I64(values),
            ColumnData::Vertices(values) => Self::Vertices(values),
            ColumnData::Sides(values) => Self::Sides(values),
            _ => return Err(format!("column \"{}\" has a type that no format has", column.name)),
        })
    }
}

/// Name of the first column.
const VERTEX: &str = "vertex";
