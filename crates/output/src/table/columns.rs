//! Tables as record batches: for Parquet and Arrow, and for callers that take Arrow arrays.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, Float32Array, Float64Array, Int64Array, LargeStringArray, RecordBatch, UInt32Array,
    UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use welter_model::spread::Spread;
use welter_model::table::{Column, ColumnData, Columns, Id, NO_VERTEX, Table, VertexColumn};
use welter_model::two_kinds::Side;

use super::view::{Cells, View};
use crate::batches::{BATCH_ROWS, Batches, Give};
use crate::error::OutputError;

/// The rows of a table.
pub(super) struct Rows<'a> {
    view: &'a View<'a>,
    schema: SchemaRef,
}

impl<'a> Rows<'a> {
    pub(super) fn new(view: &'a View<'a>) -> Self {
        let id = if view.vertices.are_names() { DataType::LargeUtf8 } else { DataType::UInt64 };
        let vertex = view.vertex_title().map(|title| Field::new(title, id.clone(), false));
        let mut fields: Vec<Field> = vertex.into_iter().collect();
        fields.extend(view.heads.iter().map(|head| {
            let kind = match head.data {
                ColumnData::F32(_) => DataType::Float32,
                ColumnData::F64(_) => DataType::Float64,
                ColumnData::U32(_) => DataType::UInt32,
                ColumnData::U64(_) => DataType::UInt64,
                ColumnData::I64(_) => DataType::Int64,
                ColumnData::Sides(_) => DataType::LargeUtf8,
                _ => id.clone(),
            };
            let has_nulls = matches!(head.data, ColumnData::Vertices(_) | ColumnData::Sides(_));
            Field::new(&head.name, kind, has_nulls)
        }));
        Self { view, schema: Arc::new(Schema::new(fields)) }
    }

    /// The batch of these columns, behind the ids of these vertices unless the table is a list.
    fn batch(&self, vertices: ArrayRef, cells: Vec<Cells>) -> Result<RecordBatch, ArrowError> {
        let mut columns = if self.view.is_list { Vec::new() } else { vec![vertices] };
        columns.extend(cells.into_iter().map(|cells| -> ArrayRef {
            match cells {
                Cells::F32(values) => Arc::new(Float32Array::from(values)),
                Cells::F64(values) => Arc::new(Float64Array::from(values)),
                Cells::U32(values) => Arc::new(UInt32Array::from(values)),
                Cells::U64(values) => Arc::new(UInt64Array::from(values)),
                Cells::I64(values) => Arc::new(Int64Array::from(values)),
                Cells::Vertices(values) => self.named(&values),
                Cells::Sides(values) => {
                    let names = values.into_iter().map(|side| side.map(Side::name));
                    Arc::new(names.collect::<LargeStringArray>())
                }
            }
        }));
        RecordBatch::try_new(Arc::clone(&self.schema), columns)
    }

    /// The batch of some consecutive rows.
    fn consecutive(&self, rows: Range<usize>) -> Result<RecordBatch, OutputError> {
        let vertices = if self.view.is_list { rows.end..rows.end } else { rows.clone() };
        let cells = self.view.part(rows)?;
        let batch = self.batch(self.vertices(vertices), cells);
        batch.map_err(|error| OutputError::unfit(self.view.name, error.to_string()))
    }

    fn vertices(&self, rows: Range<usize>) -> ArrayRef {
        match self.view.vertices {
            VertexColumn::Names(names) => {
                Arc::new(LargeStringArray::from_iter_values(rows.map(|row| names.get(row))))
            }
            ids if ids.are_names() => {
                Arc::new(LargeStringArray::from_iter_values(rows.map(|row| ids.name(row))))
            }
            ids => {
                let ids = ids.integers(rows).unwrap_or_default();
                Arc::new(UInt64Array::from(ids.into_owned()))
            }
        }
    }

    /// The ids of some vertices.
    fn named(&self, vertices: &[u64]) -> ArrayRef {
        let ids = vertices
            .iter()
            .map(|&vertex| (vertex != NO_VERTEX).then(|| self.view.named.get(vertex as usize)));
        if self.view.vertices.are_names() {
            let name = |id| if let Id::Name(name) = id { Some(name) } else { None };
            return Arc::new(ids.map(|id| id.and_then(name)).collect::<LargeStringArray>());
        }
        let integer = |id| if let Id::Integer(id) = id { Some(id) } else { None };
        Arc::new(ids.map(|id| id.and_then(integer)).collect::<UInt64Array>())
    }
}

impl Batches for Rows<'_> {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn blocks(&self) -> u64 {
        self.view.rows.div_ceil(BATCH_ROWS) as u64
    }

    fn make(&self, block: u64, give: Give<'_>) -> Result<(), OutputError> {
        let first = block as usize * BATCH_ROWS;
        let rows = first..self.view.rows.min(first + BATCH_ROWS);
        give(Ok(self.consecutive(rows)?))
    }
}

/// Name of a table that goes to no file, for errors.
const NAME: &str = "the table";

/// A table as record batches, for a caller that takes Arrow arrays. Vertices that share a row have
/// one each.
#[derive(Debug)]
pub struct TableBatches<C> {
    table: Table<C>,
    schema: SchemaRef,
    rows: usize,
}

impl<C: Columns> TableBatches<C> {
    /// # Errors
    /// [`OutputError`] when its columns do not make a table.
    pub fn new(table: Table<C>) -> Result<Self, OutputError> {
        let (schema, rows) = viewed(&table, |view| Ok((Rows::new(view).schema(), view.rows)))?;
        Ok(Self { table, schema, rows })
    }

    /// The table.
    pub fn table(&self) -> &Table<C> {
        &self.table
    }

    /// Names and types of the columns.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of batches.
    pub fn batches(&self) -> usize {
        self.rows.div_ceil(BATCH_ROWS)
    }

    /// A batch, by its number.
    ///
    /// # Errors
    /// [`OutputError`] when results cannot be read from where they are.
    pub fn batch(&self, number: usize) -> Result<RecordBatch, OutputError> {
        let first = (number * BATCH_ROWS).min(self.rows);
        let rows = first..self.rows.min(first + BATCH_ROWS);
        viewed(&self.table, |view| Rows::new(view).consecutive(rows))
    }

    /// A batch of other columns, behind the ids of the vertices in these rows, if there are any: of
    /// some rows in any order, say.
    ///
    /// # Errors
    /// [`OutputError`] when there are not as many values as rows.
    pub fn picked(
        &self,
        rows: Option<&[usize]>,
        columns: Vec<Column>,
    ) -> Result<RecordBatch, OutputError> {
        let heads = columns
            .iter()
            .map(|column| Column { name: column.name.clone(), data: column.data.slice(0..0) });
        let view = View {
            name: NAME,
            rows: 0,
            is_list: rows.is_none(),
            vertices: &self.table.vertices,
            named: &self.table.vertices,
            columns: &self.table.columns,
            heads: heads.collect(),
        };
        let unfit = |what| OutputError::unfit(NAME, what);
        let cells: Result<Vec<Cells>, String> = columns.into_iter().map(Cells::of).collect();
        let vertices: Vec<u64> = rows.unwrap_or_default().iter().map(|row| *row as u64).collect();
        let shown = Rows::new(&view);
        let batch = shown.batch(shown.named(&vertices), cells.map_err(unfit)?);
        batch.map_err(|error| unfit(error.to_string()))
    }
}

/// Looks at a table, in which every vertex has a row.
fn viewed<T>(
    table: &Table<dyn Columns + '_>,
    look: impl FnOnce(&View<'_>) -> Result<T, OutputError>,
) -> Result<T, OutputError> {
    match Spread::of(table) {
        Some(all) => look(&View::of(&all, NAME)?),
        None => look(&View::of(table, NAME)?),
    }
}
