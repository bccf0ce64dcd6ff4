//! Results of a run or a pass: the values of all vertices, in memory or on storage.
//!
//! Results are read by rows in about their order, a block at a time: the stripes that were
//! read last stay in memory, one a thread and one more, so blocks need not end where stripes do.
//!
//! Invariant: values that are handed out are those that were written last (see
//! [`crate::edges::values`]). They need nothing of the graph, whose memory can be given back
//! before they are read. Checked in `StoredColumn::verify`. Tested by
//! `what_cannot_be_read_or_is_damaged_is_no_file`.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use bytemuck::Pod;
use welter_model::edges::StreamError;
use welter_model::program::Value;
use welter_model::table::{Column, ColumnData, Columns};
use welter_store::io::VolumeStats;

use crate::EngineError;
use crate::columns::striped::StripedColumn;
use crate::edges::graph::{Graph, Stripe};
use crate::edges::values::StoredColumn;
use crate::machine::arena::Buffer;
use crate::machine::sync::lock;

/// Values of all vertices, in the order of the graph's vertex column.
pub struct Values<V: Pod + Send> {
    count: usize,
    place: ValueStorage<V>,
}

#[expect(clippy::large_enum_variant, reason = "a run has one of them")]
enum ValueStorage<V: Pod + Send> {
    Memory(Buffer<V>),
    Storage(SlabPacker<V>),
}

/// Values on storage, and those that were read last.
struct SlabPacker<V: Pod + Send> {
    stored: StoredColumn,
    /// The first vertex of each stripe.
    starts: Vec<usize>,
    /// Vertices of the widest stripe.
    width: usize,
    /// Values that have a row, where not all have.
    listed: Option<Listed<V>>,
    /// Stripes with their numbers; the one that was asked for last is the last.
    recent: Mutex<Vec<(usize, Arc<Buffer<V>>)>>,
    recent_most: usize,
}

/// Values of which some have a row only.
struct Listed<V> {
    has_row: fn(&V) -> bool,
    /// Vertices of each stripe.
    widths: Vec<usize>,
}

impl<V: Pod + Send> Values<V> {
    pub(crate) fn resident(values: Buffer<V>) -> Self {
        Self { count: values.len(), place: ValueStorage::Memory(values) }
    }

    /// The values that have a row, where the result is a list; else all.
    pub(crate) fn rows(mut self) -> Result<Self, EngineError>
    where
        V: Value,
    {
        if !V::LISTED {
            return Ok(self);
        }
        self.count = match &mut self.place {
            ValueStorage::Memory(values) => list(values, self.count, V::is_listed),
            ValueStorage::Storage(results) => results.list(self.count, V::is_listed)?,
        };
        Ok(self)
    }

    /// The values of a column.
    pub(crate) fn of(column: StripedColumn, graph: &Graph) -> Self {
        match column {
            StripedColumn::Memory { bytes, .. } => Self::resident(bytes.typed()),
            StripedColumn::Storage(stored) => Self::stored(stored, graph),
        }
    }

    pub(crate) fn stored(stored: StoredColumn, graph: &Graph) -> Self {
        let stripes = &graph.stripes;
        let place = ValueStorage::Storage(SlabPacker {
            stored,
            starts: stripes.iter().map(|stripe| stripe.vertices.start as usize).collect(),
            width: stripes.iter().map(Stripe::width).max().unwrap_or(0),
            listed: None,
            recent: Mutex::new(Vec::new()),
            recent_most: graph.plan.premises.threads + 1,
        });
        Self { count: graph.vertices() as usize, place }
    }

    /// Bytes and requests to and from storage, where values are there.
    pub fn storage_stats(&self) -> Option<VolumeStats> {
        match &self.place {
            ValueStorage::Memory(_) => None,
            ValueStorage::Storage(results) => Some(results.stored.stats()),
        }
    }

    /// Number of vertices that have one.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether the column has no values.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Shows the values of some vertices, in order and in one or more pieces.
    ///
    /// # Errors
    /// When values on storage cannot be read, or are damaged.
    ///
    /// # Panics
    /// When a vertex is out of range.
    pub fn read(
        &self,
        vertices: Range<usize>,
        mut visit: impl FnMut(&[V]),
    ) -> Result<(), EngineError> {
        assert!(vertices.end <= self.count, "values {vertices:?} of {}", self.count);
        match &self.place {
            ValueStorage::Memory(values) => {
                visit(&values[vertices]);
                Ok(())
            }
            ValueStorage::Storage(results) => results.read(vertices, visit),
        }
    }

    /// All values; where they are on storage, they are read into memory first.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn whole(&self) -> Result<Cow<'_, [V]>, EngineError> {
        if let ValueStorage::Memory(values) = &self.place {
            return Ok(Cow::Borrowed(&values[..self.count]));
        }
        let mut all = Vec::with_capacity(self.count);
        self.read(0..self.count, |values| all.extend_from_slice(values))?;
        Ok(Cow::Owned(all))
    }
}

/// Moves the first `count` values that have a row to the front, and says how many they are.
fn list<V: Copy>(values: &mut [V], count: usize, has_row: fn(&V) -> bool) -> usize {
    let mut rows = 0;
    for place in 0..count {
        if has_row(&values[place]) {
            values[rows] = values[place];
            rows += 1;
        }
    }
    rows
}

impl<V: Pod + Send> SlabPacker<V> {
    /// Shows values that have a row from here on, and says how many of `count` these are. All are
    /// read for that.
    fn list(&mut self, count: usize, has_row: fn(&V) -> bool) -> Result<usize, EngineError> {
        let ends = self.starts.iter().skip(1).copied().chain([count]);
        let widths = ends.zip(&self.starts).map(|(end, start)| end - start).collect();
        self.listed = Some(Listed { has_row, widths });
        let (mut rows, mut column) = (0, Buffer::in_order(self.width)?);
        for number in 0..self.starts.len() {
            self.starts[number] = rows;
            column = self.stored.load(number, column)?;
            rows += self.cut(number, &mut column);
        }
        Ok(rows)
    }

    /// Moves the values of a stripe that have a row to the front, where not all have, and says how
    /// many they are.
    fn cut(&self, number: usize, column: &mut [V]) -> usize {
        let Some(Listed { has_row, widths }) = &self.listed else { return column.len() };
        list(column, widths[number], *has_row)
    }

    fn read(&self, vertices: Range<usize>, mut visit: impl FnMut(&[V])) -> Result<(), EngineError> {
        let mut next = vertices.start;
        while next < vertices.end {
            // Of stripes that begin at the same vertex all but the last are empty.
            let stripe = self.starts.partition_point(|&start| start <= next) - 1;
            let start = self.starts[stripe];
            let end = self.starts.get(stripe + 1).map_or(vertices.end, |&end| end);
            let end = end.min(vertices.end);
            visit(&self.stripe(stripe)?[next - start..end - start]);
            next = end;
        }
        Ok(())
    }

    /// The values of a stripe. Who asks while another reads waits: it is mostly the same stripe.
    fn stripe(&self, number: usize) -> Result<Arc<Buffer<V>>, EngineError> {
        let mut recent = lock(&self.recent);
        let column = if let Some(at) = recent.iter().position(|(other, _)| *other == number) {
            recent.remove(at).1
        } else {
            let oldest = (recent.len() >= self.recent_most).then(|| recent.remove(0).1);
            let column = match oldest.and_then(Arc::into_inner) {
                Some(column) => column,
                None => Buffer::in_order(self.width)?,
            };
            let mut column = self.stored.load(number, column)?;
            self.cut(number, &mut column);
            Arc::new(column)
        };
        recent.push((number, Arc::clone(&column)));
        Ok(column)
    }
}

impl<V: Value> Columns for Values<V> {
    fn part(&self, rows: Range<usize>) -> Result<Vec<Column>, StreamError> {
        let mut all = Vec::new();
        self.read(rows, |values| append(&mut all, columns(values)))?;
        Ok(if all.is_empty() { columns::<V>(&[]) } else { all })
    }

    fn listed(&self) -> Option<usize> {
        V::LISTED.then_some(self.count)
    }

    fn check(&self, rows: usize) -> Result<(), String> {
        match self.count {
            count if count == rows => Ok(()),
            count => Err(format!("results have {count} rows, expected {rows}")),
        }
    }
}

/// The columns of some values. Values have many types, and columns few, so all that can be is
/// compiled for columns.
#[inline(never)]
fn columns<V: Value>(values: &[V]) -> Vec<Column> {
    named(V::columns(values))
}

fn named(columns: Vec<(&str, ColumnData)>) -> Vec<Column> {
    columns.into_iter().map(|(name, data)| Column { name: name.to_owned(), data }).collect()
}

/// Appends the columns of further rows.
fn append(all: &mut Vec<Column>, more: Vec<Column>) {
    if all.is_empty() {
        *all = more;
        return;
    }
    for (column, more) in all.iter_mut().zip(more) {
        column.data.append(more.data);
    }
}

impl<V: Pod + Send> fmt::Debug for Values<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match self.place {
            ValueStorage::Memory(_) => "memory",
            ValueStorage::Storage(_) => "storage",
        };
        write!(f, "Values({} in {place})", self.count)
    }
}
