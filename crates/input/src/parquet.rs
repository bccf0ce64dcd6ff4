//! Apache Parquet.
//!
//! Row groups are decoded in parallel, the columns that are not needed not at all. Everything that
//! the file says about sizes is checked before the decoder acts on it ([`pages`]), and the decoder
//! runs inside a fence ([`fenced`]).

mod codec;
mod dictionary;
mod header;
mod negative;
mod page_reader;
mod pages;
mod stored;
mod thrift;
mod types;
mod values;

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Schema};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use parquet::file::reader::ChunkReader;
use rayon::prelude::*;

use crate::collect::Collector;
use crate::columnar::{
    BATCH_ROWS, Gather, PART_ROWS, PathColumns, Picked, describe, direction, fenced,
    pick_with_path, plausible_rows, state,
};
use crate::direction::Direction;
use crate::error::InputError;
use crate::options::{IdKind, ReadOptions};
use crate::reader::{Context, Estimate, Reader};
use crate::source::Source;
use page_reader::Pages;
use pages::Guard;
use stored::Stored;
use values::{Column, general};

/// The reader of Parquet files.
pub(crate) struct Parquet;

/// Bytes behind the footer: its length and the magic bytes.
const TAIL_BYTES: u64 = 8;

/// Bytes that a batch of values may grow to where few bytes can stand for many.
const GROWN_BYTES_MAX: u64 = 128 << 20;

impl Reader for Parquet {
    fn id_kind(&self, source: &Source, context: &Context<'_>) -> Result<IdKind, InputError> {
        let file = open(source, context.options)?;
        Ok(if file.picked.names { IdKind::Names } else { IdKind::Integers })
    }

    fn read(
        &self,
        source: &Source,
        context: &Context<'_>,
        collector: &Collector,
    ) -> Result<(), InputError> {
        let stored = Stored::open(source, context.options)?;
        let of = (source.name(), source.share());
        let read = read(of, source.path_columns(), stored.clone(), context, collector);
        stored.with_fault(read)
    }

    /// Row groups are cut as if all were of one size.
    fn can_be_cut(&self, source: &Source, _: &Context<'_>) -> Result<bool, InputError> {
        Ok(source.bytes().is_some() && source.is_plain())
    }

    fn estimate(&self, source: &Source, options: &ReadOptions) -> Result<Estimate, InputError> {
        let file = open(source, options)?;
        let groups = file.metadata.row_groups().iter();
        let rows =
            groups.fold(0, |sum: u64, group| sum.saturating_add(group.num_rows().max(0) as u64));
        let rows =
            plausible_rows(source.name(), rows, source.bytes().unwrap_or(0), &options.limits)?;
        Ok(Estimate {
            bytes: source.bytes(),
            edges: Some(rows),
            exact: true,
            slots: None,
            slots_seen: None,
            ids: if file.picked.names { IdKind::Names } else { IdKind::Integers },
            weighted: file.picked.weight.is_some(),
            undirected: file.direction.map(|direction| direction.undirected),
        })
    }
}

/// Opens a source for a look.
fn open<'a>(source: &'a Source, options: &ReadOptions) -> Result<OpenFile<'a, Stored>, InputError> {
    let stored = Stored::open(source, options)?;
    stored.with_fault(OpenFile::new(source.name(), source.path_columns(), stored.clone(), options))
}

/// Reads a Parquet file, wherever its bytes are, or the row groups of a share of them.
pub(crate) fn read<R: ChunkReader + Clone + 'static>(
    (name, own): (&str, Option<&Range<u64>>),
    path: PathColumns,
    reader: R,
    context: &Context<'_>,
    collector: &Collector,
) -> Result<(), InputError> {
    let file = OpenFile::new(name, path, reader, context.options)?;
    describe(collector, &file.schema, &file.picked, context.options);
    state(collector, file.direction.as_ref());
    let guard = Guard::new(name, &file.reader, &context.options.limits);
    let groups = file.metadata.num_row_groups();
    let stored = file.reader.len();
    let read_group = |group: usize| {
        // The columns that are not read count as read with those that are.
        let share = |group: usize| (u128::from(stored) * group as u128 / groups as u128) as u64;
        context.advance(share(group + 1) - share(group))?;
        fenced(name, || file.read_group(group, &guard, context, collector))
    };
    let is_own = |group: &usize| {
        let begin = (u128::from(stored) * *group as u128 / groups as u128) as u64;
        own.is_none_or(|own| own.contains(&begin))
    };
    let own_groups: Vec<usize> = (0..groups).filter(is_own).collect();
    let find = || own_groups.into_par_iter().find_map_first(|group| read_group(group).err());
    context.pool.install(find).map_or(Ok(()), Err)
}

/// Decoding of a row group.
struct DecodePlan {
    /// Rows at once.
    rows: usize,
    /// Of each column, whether its strings are read as places in its dictionary.
    coded: Vec<bool>,
}

/// A file whose footer was understood.
struct OpenFile<'a, R> {
    name: &'a str,
    reader: R,
    metadata: Arc<ParquetMetaData>,
    /// With the columns of the path.
    schema: Schema,
    path: PathColumns,
    picked: Picked,
    direction: Option<Direction>,
}

impl<'a, R: ChunkReader + Clone + 'static> OpenFile<'a, R> {
    fn new(
        name: &'a str,
        mut path: PathColumns,
        reader: R,
        options: &ReadOptions,
    ) -> Result<Self, InputError> {
        fenced(name, || {
            let metadata = Arc::new(footer(name, &reader)?);
            let mut schema = types::schema(&metadata);
            let mut picked = pick_with_path(name, &mut schema, &mut path, options)?;
            let guessed = options.ids == IdKind::Auto || options.guessed_ids;
            if guessed && options.vertices.is_none() {
                picked.names |= negative::ids(&metadata, &schema, &picked);
            }
            let direction = None;
            let file = Self { name, reader, metadata, schema, path, picked, direction };
            file.with_direction(options)
        })
    }

    /// Sees by its first rows whether a column says directions, and leaves it out where it does
    /// not.
    fn with_direction(mut self, options: &ReadOptions) -> Result<Self, InputError> {
        let Some(place) = self.picked.direction else { return Ok(self) };
        let mut groups = self.metadata.row_groups().iter();
        if let Some(group) = groups.position(|group| group.num_rows() > 0) {
            let guard = Guard::new(self.name, &self.reader, &options.limits);
            let mut way = self.check_group(group, &guard)?;
            way.rows = way.rows.min(direction::SAMPLE_ROWS);
            let batches = self.batches(group, &way).map_err(|error| damaged(self.name, &error))?;
            let found = batches.take(1).map(|batch| {
                let batch = batch.map_err(|error| damaged(self.name, &error))?;
                let column = self.picked.projected().direction.map(|place| batch.column(place));
                let found =
                    column.map(|column| direction::find(self.name, &self.schema, place, column));
                Ok(found.transpose()?.flatten())
            });
            let found: Result<Vec<_>, InputError> = found.collect();
            self.direction = found?.pop().flatten();
        }
        if self.direction.is_none() {
            self.picked.direction = None;
        }
        Ok(self)
    }

    /// Reads a row group into parts.
    fn read_group(
        &self,
        group: usize,
        guard: &Guard<'_, R>,
        context: &Context<'_>,
        collector: &Collector,
    ) -> Result<(), InputError> {
        let groups = self.metadata.row_groups();
        let rows_before =
            groups[..group].iter().fold(0, |sum: i64, group| sum.saturating_add(group.num_rows()));
        let way = self.check_group(group, guard)?;
        let batches = self.batches(group, &way).map_err(|error| damaged(self.name, &error))?;
        let columns = self.picked.projected();
        let mut row = rows_before as u64;
        let end = row.saturating_add(groups[group].num_rows() as u64);
        // Room for a part at most: the number of rows is but a claim.
        let fresh = |row: u64| {
            let mut gather = Gather::new(columns.names, columns.weight.is_some(), row)
                .with_bounds(self.picked.bounds);
            gather.reserve((end - row.min(end)).min(PART_ROWS as u64) as usize);
            gather
        };
        let (mut gather, mut held, mut number) = (fresh(row), 0, (group as u64) << 32);
        for batch in batches {
            let batch = batch.map_err(|error| damaged(self.name, &error))?;
            guard.count(size_of::<[u32; 2]>() as u64 * batch.num_rows() as u64)?;
            let column = |place: usize| self.path.column(place, columns.stored, &batch);
            let weight = columns.weight.map(column);
            let (source, target) = (column(columns.source), column(columns.target));
            if let (Some(direction), Some(place)) = (&self.direction, columns.direction) {
                direction::check(self.name, direction, batch.column(place), row)?;
            }
            gather.push(self.name, &source, &target, weight.as_deref())?;
            row += batch.num_rows() as u64;
            held += batch.num_rows();
            context.advance(0)?;
            if held >= PART_ROWS {
                collector.push(number, std::mem::replace(&mut gather, fresh(row)).into_part())?;
                (number, held) = (number + 1, 0);
            }
        }
        collector.push(number, gather.into_part())
    }

    /// Checks all pages of a row group that will be read; how to decode them.
    fn check_group(&self, group: usize, guard: &Guard<'_, R>) -> Result<DecodePlan, InputError> {
        let group = self.metadata.row_group(group);
        if group.num_rows() < 0 {
            return Err(InputError::content(self.name, "the file is damaged: negative rows"));
        }
        let mut way = DecodePlan { rows: BATCH_ROWS, coded: Vec::new() };
        for (leaf, place) in self.leaves() {
            let demand = guard.check(group, group.column(leaf))?;
            let rows = GROWN_BYTES_MAX / demand.growing_bytes_max.max(1);
            way.rows = way.rows.min(rows.max(1) as usize);
            let kind = self.schema.field(place).data_type();
            let strings = matches!(kind, DataType::Utf8 | DataType::Binary);
            way.coded.push(demand.is_coded && strings);
        }
        Ok(way)
    }

    /// The picked columns, each with its place among those of plain values and in the schema.
    fn leaves(&self) -> impl Iterator<Item = (usize, usize)> {
        let schema = self.metadata.file_metadata().schema_descr();
        let places = self.picked.places();
        (0..schema.num_columns())
            .map(|leaf| (leaf, schema.get_column_root_idx(leaf)))
            .filter(move |(_, place)| places.contains(place))
    }

    /// The rows of a group, in batches.
    fn batches(
        &self,
        group: usize,
        way: &DecodePlan,
    ) -> Result<impl Iterator<Item = Result<RecordBatch, ParquetError>>, ParquetError> {
        let leaves = self.metadata.file_metadata().schema_descr();
        let group = self.metadata.row_group(group);
        let mut left = group.num_rows() as usize;
        let reader = Arc::new(self.reader.clone());
        let columns = self.leaves().zip(&way.coded).map(|((leaf, place), coded)| {
            let reader = Arc::clone(&reader);
            let pages = Box::new(Pages::new(reader, group.column(leaf))?);
            let field = self.schema.field(place);
            let (leaf, kind) = (leaves.column(leaf), field.data_type().clone());
            let column = if *coded {
                Column::coded(&leaf, pages, kind)?
            } else {
                Column::new(leaf, pages, kind)
            };
            Ok((field.name(), column))
        });
        let mut columns = columns.collect::<Result<Vec<_>, ParquetError>>()?;
        let rows_max = way.rows;
        Ok(std::iter::from_fn(move || {
            let rows = left.min(rows_max);
            left -= rows;
            (rows > 0).then(|| batch(&mut columns, rows))
        }))
    }
}

/// The next rows of columns.
fn batch(columns: &mut [(&String, Column)], rows: usize) -> Result<RecordBatch, ParquetError> {
    let arrays = columns.iter_mut().map(|(name, column)| Ok((*name, column.next(rows)?)));
    let arrays = arrays.collect::<Result<Vec<_>, ParquetError>>()?;
    RecordBatch::try_from_iter(arrays).map_err(|error| general(&error))
}

/// Reads the footer, which lies at the end of the file, before its own length.
fn footer<R: ChunkReader>(name: &str, reader: &R) -> Result<ParquetMetaData, InputError> {
    let bytes = reader.len();
    let cut = || {
        let what = format!("expected the end of a Parquet file, found {bytes} bytes of another");
        InputError::content(name, format!("{what}; the file may be cut off"))
    };
    let start = bytes.checked_sub(TAIL_BYTES).filter(|start| *start >= 4).ok_or_else(cut)?;
    let tail = reader.get_bytes(start, TAIL_BYTES as usize).map_err(|e| damaged(name, &e))?;
    if &tail[4..] != b"PAR1" {
        return Err(cut());
    }
    let length = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
    let first = start.checked_sub(length).filter(|first| *first >= 4).ok_or_else(cut)?;
    let footer = reader.get_bytes(first, length as usize).map_err(|e| damaged(name, &e))?;
    if !header::is_schema_shallow(&footer) {
        let what = "the file is damaged: its schema is cut short or nested out of all reason";
        return Err(InputError::byte(name, first, what));
    }
    ParquetMetaDataReader::decode_metadata(&footer).map_err(|error| damaged(name, &error))
}

fn damaged(name: &str, error: &ParquetError) -> InputError {
    let text = error.to_string();
    let text = text.strip_prefix("Parquet error: ").unwrap_or(&text);
    InputError::content(name, format!("the file is damaged or of an unknown kind: {text}"))
}
