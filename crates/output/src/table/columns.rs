//! Tables as record batches, for Parquet and Arrow.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, Float32Array, Float64Array, Int64Array, LargeStringArray, RecordBatch, UInt32Array,
    UInt64Array,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use welter_model::table::{ColumnData, Id, NO_VERTEX, VertexColumn};

use super::{Cells, View};
use crate::columnar::{BATCH_ROWS, Batches, Give};
use crate::error::OutputError;

/// The rows of a table.
pub(super) struct Rows<'a> {
    view: &'a View<'a>,
    schema: SchemaRef,
}

impl<'a> Rows<'a> {
    pub(super) fn new(view: &'a View<'a>) -> Self {
        let id = match view.vertices {
            VertexColumn::Names(_) => DataType::LargeUtf8,
            _ => DataType::UInt64,
        };
        let vertex = view.vertex_title().map(|title| Field::new(title, id.clone(), false));
        let mut fields: Vec<Field> = vertex.into_iter().collect();
        fields.extend(view.heads.iter().map(|head| {
            let kind = match head.data {
                ColumnData::F32(_) => DataType::Float32,
                ColumnData::F64(_) => DataType::Float64,
                ColumnData::U32(_) => DataType::UInt32,
                ColumnData::U64(_) => DataType::UInt64,
                ColumnData::I64(_) => DataType::Int64,
                _ => id.clone(),
            };
            Field::new(&head.name, kind, matches!(head.data, ColumnData::Vertices(_)))
        }));
        Self { view, schema: Arc::new(Schema::new(fields)) }
    }

    fn vertices(&self, rows: Range<usize>) -> ArrayRef {
        match self.view.vertices {
            VertexColumn::Names(names) => {
                Arc::new(LargeStringArray::from_iter_values(rows.map(|row| names.get(row))))
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
            .map(|&vertex| (vertex != NO_VERTEX).then(|| self.view.vertices.get(vertex as usize)));
        if let VertexColumn::Names(_) = self.view.vertices {
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
        let mut columns = Vec::new();
        if !self.view.is_list {
            columns.push(self.vertices(rows.clone()));
        }
        columns.extend(self.view.part(rows)?.into_iter().map(|cells| -> ArrayRef {
            match cells {
                Cells::F32(values) => Arc::new(Float32Array::from(values)),
                Cells::F64(values) => Arc::new(Float64Array::from(values)),
                Cells::U32(values) => Arc::new(UInt32Array::from(values)),
                Cells::U64(values) => Arc::new(UInt64Array::from(values)),
                Cells::I64(values) => Arc::new(Int64Array::from(values)),
                Cells::Vertices(values) => self.named(&values),
            }
        }));
        give(RecordBatch::try_new(self.schema(), columns))
    }
}
