//! Edge lists as record batches, for Parquet and Arrow: columns `source`, `target` and, where there
//! are weights, `weight`.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, Float64Array, LargeStringArray, RecordBatch, UInt32Array, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use welter_model::edges::Batch;
use welter_model::table::Id;

use super::id_view::IdView;
use super::list::Edges;
use crate::batches::{BATCH_ROWS, Batches, Give};
use crate::error::OutputError;
use crate::ordered::Job;

/// The edges of a stream.
pub(super) struct Rows<'a> {
    edges: &'a Edges<'a>,
    job: &'a Job<'a>,
    schema: SchemaRef,
    kind: Kind,
}

/// Type of the two columns of ids.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    U32,
    U64,
    Names,
}

impl<'a> Rows<'a> {
    pub(super) fn new(edges: &'a Edges<'a>, job: &'a Job<'a>) -> Self {
        let (kind, id) = match edges.ids {
            IdView::Names(_) => (Kind::Names, DataType::LargeUtf8),
            IdView::TwoKinds(ids) if ids.are_names() => (Kind::Names, DataType::LargeUtf8),
            ids if ids.beyond_u32().is_some() => (Kind::U64, DataType::UInt64),
            _ => (Kind::U32, DataType::UInt32),
        };
        let mut fields =
            vec![Field::new("source", id.clone(), false), Field::new("target", id, false)];
        if edges.weighted {
            fields.push(Field::new("weight", DataType::Float64, false));
        }
        Self { edges, job, schema: Arc::new(Schema::new(fields)), kind }
    }

    /// The ids of a column, by their slots.
    fn ids(&self, slots: Vec<u32>) -> ArrayRef {
        let integer = |slot: u32| self.edges.ids.integer(slot);
        match (self.kind, self.edges.ids) {
            (_, IdView::Names(names)) => {
                let names = slots.iter().map(|slot| names.get(*slot as usize));
                Arc::new(LargeStringArray::from_iter_values(names))
            }
            (Kind::Names, IdView::TwoKinds(ids)) => {
                let names = slots.iter().map(|slot| match ids.get(*slot as usize) {
                    Id::Name(name) => name,
                    Id::Integer(_) | Id::Others(_) => "",
                });
                Arc::new(LargeStringArray::from_iter_values(names))
            }
            (Kind::U32, IdView::Slots) => Arc::new(UInt32Array::from(slots)),
            (Kind::U32, _) => Arc::new(UInt32Array::from_iter_values(
                slots.into_iter().map(|slot| integer(slot) as u32),
            )),
            _ => Arc::new(UInt64Array::from_iter_values(slots.into_iter().map(integer))),
        }
    }

    fn batch(&self, rows: Columns) -> Result<RecordBatch, ArrowError> {
        debug_assert_eq!(rows.sources.len(), rows.targets.len(), "an edge has both ends");
        let mut columns = vec![self.ids(rows.sources), self.ids(rows.targets)];
        if self.edges.weighted {
            columns.push(Arc::new(Float64Array::from(rows.weights)));
        }
        RecordBatch::try_new(self.schema(), columns)
    }
}

/// Edges by column, until they are enough for a batch.
#[derive(Default)]
struct Columns {
    sources: Vec<u32>,
    targets: Vec<u32>,
    weights: Vec<f64>,
}

impl Columns {
    /// Takes edges from a batch, beginning at `start`, until there are [`BATCH_ROWS`]; returns
    /// where it stopped.
    fn take(&mut self, batch: &Batch<'_>, start: usize) -> usize {
        debug_assert!(self.sources.len() < BATCH_ROWS, "a full batch is handed on");
        let end = batch.pairs.len().min(start + BATCH_ROWS - self.sources.len());
        let pairs = &batch.pairs[start..end];
        self.sources.extend(pairs.iter().map(|[source, _]| source));
        self.targets.extend(pairs.iter().map(|[_, target]| target));
        if let Some(weights) = batch.weights {
            self.weights.extend_from_slice(&weights[start..end]);
        }
        end
    }
}

impl Batches for Rows<'_> {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn blocks(&self) -> u64 {
        self.edges.stream.parts() as u64
    }

    fn make(&self, block: u64, give: Give<'_>) -> Result<(), OutputError> {
        let mut columns = Columns::default();
        self.edges.visit(block, self.job, |batch| {
            let mut start = 0;
            while start < batch.pairs.len() {
                start = columns.take(&batch, start);
                if columns.sources.len() == BATCH_ROWS {
                    give(self.batch(std::mem::take(&mut columns)))?;
                }
            }
            Ok(())
        })?;
        if columns.sources.is_empty() { Ok(()) } else { give(self.batch(columns)) }
    }
}
