//! Arrow IPC, files and streams, compressed buffers and dictionaries included.
//!
//! One thread takes messages from the source ([`messages`]), and all decode them, a window at a
//! time: those of a stream in their order, those of a file by its footer ([`footer`]). A file that
//! comes through a pipe or is compressed as a whole has no end to begin with; it is read as the
//! stream that most files hold, and refused where it holds none. Sizes that a message states are
//! checked before they are acted upon, and the decoder runs inside a fence ([`fenced`]).

mod dictionaries;
mod feed;
mod footer;
mod messages;
mod pieces;
mod schema;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::reader::read_record_batch;
use arrow_ipc::{MessageHeader, MetadataVersion};
use arrow_schema::{ArrowError, Schema, SchemaRef};
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
use crate::source::{Source, stored};
use dictionaries::Dictionaries;
pub(crate) use feed::Feed;
use messages::{Message, Messages, TASK_BYTES_MIN};
use schema::reason;

/// The reader of Arrow IPC.
pub(crate) struct Arrow;

/// Bytes of small messages that are decoded as one part, and of a piece of a large one, at most.
const TASK_BYTES: u64 = 16 << 20;
/// Share of the memory that all tasks together may take, as one part in this number.
const MEMORY_SHARE: u64 = 16;

/// Tasks that are read ahead, for each thread.
const TASKS_A_THREAD: usize = 2;

/// Bytes to look for the schema in, where a source can be read only once.
const SAMPLE_BYTES: usize = 256 << 10;

impl Reader for Arrow {
    fn id_kind(&self, source: &Source, context: &Context<'_>) -> Result<IdKind, InputError> {
        let (_, tasks) = beginning(source, context.options)?;
        Ok(if tasks.picked.names { IdKind::Names } else { IdKind::Integers })
    }

    fn read(
        &self,
        source: &Source,
        context: &Context<'_>,
        collector: &Collector,
    ) -> Result<(), InputError> {
        let feed = feed(source, context.options)?;
        read(source.name(), source.path_columns(), feed, context, collector)
    }

    fn estimate(&self, source: &Source, options: &ReadOptions) -> Result<Estimate, InputError> {
        let (mut messages, mut tasks) = beginning(source, options)?;
        let can_skip = messages.can_skip();
        if can_skip && tasks.picked.direction.is_some() {
            let window = tasks.take(&mut messages, 1)?;
            tasks.find_direction(&window)?;
        }
        // The metadata of all batches, without their bodies, where these can be passed over.
        let mut edges = can_skip.then_some(tasks.row);
        while let Some(sum) = &mut edges {
            let Some(message) = messages.next(false)? else { break };
            *sum = sum.saturating_add(message.rows());
        }
        let stored = source.bytes().unwrap_or(0);
        let plausible = |rows| plausible_rows(source.name(), rows, stored, &options.limits);
        let edges = edges.map(plausible).transpose()?;
        Ok(Estimate {
            bytes: source.bytes(),
            edges,
            exact: edges.is_some(),
            slots: None,
            slots_seen: None,
            ids: if tasks.picked.names { IdKind::Names } else { IdKind::Integers },
            weighted: tasks.picked.weight.is_some(),
            undirected: tasks.direction.map(|direction| direction.undirected),
        })
    }
}

/// Where the bytes of a source come from.
fn feed(source: &Source, options: &ReadOptions) -> Result<Feed, InputError> {
    match source.bytes() {
        Some(bytes) if source.is_plain() => {
            let ahead = stored::ahead(&options.limits);
            let stored = source.file()?;
            let file = stored.onward(0..bytes, ahead);
            Ok(Feed::File { file, at: 0, bytes, stored, ahead })
        }
        _ => Ok(Feed::Unpacked(Box::new(source.unpack(&options.limits)?))),
    }
}

/// The messages after the schema, for a look only: pipes are not read.
fn beginning<'a>(
    source: &'a Source,
    options: &'a ReadOptions,
) -> Result<(Messages<'a>, Tasks<'a>), InputError> {
    let feed = if source.bytes().is_some() {
        feed(source, options)?
    } else {
        let bytes = source.sample(SAMPLE_BYTES, &options.limits)?.bytes;
        Feed::Bytes { bytes, at: 0, whole: false }
    };
    let mut messages = Messages::new(source.name(), feed, &options.limits)?;
    let tasks = Tasks::new(source.name(), &mut messages, source.path_columns(), options)?;
    Ok((messages, tasks))
}

/// Reads a file or a stream, wherever its bytes are.
pub(crate) fn read(
    name: &str,
    path: PathColumns,
    feed: Feed,
    context: &Context<'_>,
    collector: &Collector,
) -> Result<(), InputError> {
    let mut messages = Messages::new(name, feed, &context.options.limits)?;
    let mut tasks = Tasks::new(name, &mut messages, path, context.options)?;
    describe(collector, &tasks.whole, &tasks.picked, context.options);
    let width = TASKS_A_THREAD * context.pool.current_num_threads();
    let mut counted = 0;
    loop {
        let window = tasks.take(&mut messages, width)?;
        if window.is_empty() {
            return Ok(());
        }
        if tasks.find_direction(&window)? {
            state(collector, tasks.direction.as_ref());
        }
        let find = || {
            window.par_iter().find_map_first(|task| {
                fenced(name, || tasks.decode(task, context, collector)).err()
            })
        };
        let stored = messages.stored();
        context.advance(stored - counted)?;
        counted = stored;
        context.pool.install(find).map_or(Ok(()), Err)?;
    }
}

/// Cuts a stream into tasks and works on them.
struct Tasks<'a> {
    name: &'a str,
    schema: SchemaRef,
    /// The schema with the columns of the path.
    whole: Schema,
    path: PathColumns,
    picked: Picked,
    direction: Option<Direction>,
    /// As they are after the last message that was taken.
    dictionaries: Arc<Dictionaries>,
    /// Rows before the next message.
    row: u64,
    /// Of the next task.
    number: u64,
    /// Bytes of a task.
    task_bytes: u64,
}

/// Consecutive messages that become one part, or a large one that becomes several.
struct Task {
    batches: Vec<Message>,
    dictionaries: Arc<Dictionaries>,
    row: u64,
    number: u64,
}

impl<'a> Tasks<'a> {
    /// A reader that has taken nothing yet, of messages that begin with a schema.
    fn new(
        name: &'a str,
        messages: &mut Messages<'_>,
        mut path: PathColumns,
        options: &ReadOptions,
    ) -> Result<Self, InputError> {
        let schema = Arc::new(fenced(name, || messages.schema())?);
        let mut whole = schema.as_ref().clone();
        let picked = pick_with_path(name, &mut whole, &mut path, options)?;
        let (direction, dictionaries) = (None, Arc::default());
        let tasks = (TASKS_A_THREAD * options.thread_count()) as u64;
        let memory = options.limits.memory_bytes_max.unwrap_or(u64::MAX) / MEMORY_SHARE;
        let task_bytes = (memory / tasks).clamp(TASK_BYTES_MIN, TASK_BYTES);
        messages.cut(&schema, picked.places(), task_bytes);
        let (row, number) = (0, 0);
        Ok(Self {
            name,
            schema,
            whole,
            path,
            picked,
            direction,
            dictionaries,
            row,
            number,
            task_bytes,
        })
    }

    /// Finds by the first rows whether a column says directions, and leaves it out where it does
    /// not. Whether one does, the first time that there are rows.
    fn find_direction(&mut self, window: &[Task]) -> Result<bool, InputError> {
        let Some(place) = self.picked.direction.filter(|_| self.direction.is_none()) else {
            return Ok(false);
        };
        let batches = |task: &Task| task.batches.iter().position(|batch| batch.rows() > 0);
        let first = window.iter().find_map(|task| Some((task, &task.batches[batches(task)?])));
        let Some((task, message)) = first else { return Ok(false) };
        self.direction = fenced(self.name, || {
            let batch = self.batch(message, &task.dictionaries)?;
            let column = self.picked.projected().direction.map(|place| batch.column(place));
            let find = |column: &ArrayRef| direction::find(self.name, &self.whole, place, column);
            Ok(column.map(find).transpose()?.flatten())
        })?;
        if self.direction.is_none() {
            self.picked.direction = None;
        }
        Ok(self.direction.is_some())
    }

    /// Takes messages for at most `count` tasks; none at the end.
    fn take(&mut self, messages: &mut Messages<'_>, count: usize) -> Result<Vec<Task>, InputError> {
        let mut tasks: Vec<Task> = Vec::new();
        let (mut bytes, mut all) = (0, 0);
        while let Some(message) = messages.next(true)? {
            if message.kind == MessageHeader::DictionaryBatch {
                self.add_dictionary(&message)?;
                // Later batches need the new dictionary, earlier ones the old.
                bytes = self.task_bytes;
                continue;
            }
            if message.kind != MessageHeader::RecordBatch {
                continue;
            }
            let rows = message.rows();
            let size = message.bytes();
            match tasks.last_mut() {
                Some(task) if bytes + size <= self.task_bytes => task.batches.push(message),
                _ => {
                    bytes = 0;
                    let dictionaries = Arc::clone(&self.dictionaries);
                    let (row, number) = (self.row, self.number);
                    tasks.push(Task { batches: vec![message], dictionaries, row, number });
                    self.number += 1;
                }
            }
            bytes += size;
            all += size;
            self.row = self.row.saturating_add(rows);
            let full = tasks.len() == count && bytes >= self.task_bytes / 2;
            if full || all >= count as u64 * self.task_bytes {
                break;
            }
        }
        Ok(tasks)
    }

    fn add_dictionary(&mut self, message: &Message) -> Result<(), InputError> {
        fenced(self.name, || {
            let header = message.header(self.name)?;
            let Some(batch) = header.header_as_dictionary_batch() else { return Ok(()) };
            let known = Arc::make_mut(&mut self.dictionaries);
            dictionaries::read(&message.body, batch, &self.schema, known, header.version())
                .map_err(|error| damaged(self.name, message, &error))
        })
    }

    fn decode(
        &self,
        task: &Task,
        context: &Context<'_>,
        collector: &Collector,
    ) -> Result<(), InputError> {
        let first = task.number << 32;
        if let [only] = task.batches.as_slice() {
            let batch = self.batch(only, &task.dictionaries)?;
            let most = (self.task_bytes as usize).clamp(BATCH_ROWS, PART_ROWS);
            let slices = batch.num_rows().div_ceil(most);
            let failure = (0..slices).into_par_iter().find_map_first(|slice| {
                let start = slice * most;
                let length = most.min(batch.num_rows() - start);
                let mut gather = self.gather(task.row + start as u64, length);
                self.push(&mut gather, &batch.slice(start, length), context)
                    .and_then(|()| collector.push(first + slice as u64, gather.into_part()))
                    .err()
            });
            return failure.map_or(Ok(()), Err);
        }
        // The gatherer counts rows on by itself.
        let mut gather = self.gather(task.row, 0);
        for message in &task.batches {
            let batch = self.batch(message, &task.dictionaries)?;
            self.push(&mut gather, &batch, context)?;
        }
        collector.push(first, gather.into_part())
    }

    fn batch(
        &self,
        message: &Message,
        dictionaries: &Dictionaries,
    ) -> Result<RecordBatch, InputError> {
        let header = message.header(self.name)?;
        let batch = header.header_as_record_batch().ok_or_else(|| {
            InputError::byte(self.name, message.offset, "expected a batch of rows")
        })?;
        let schema = Arc::clone(&self.schema);
        let places = self.picked.places();
        let version: MetadataVersion = header.version();
        read_record_batch(&message.body, batch, schema, dictionaries, Some(&places), &version)
            .map_err(|error| damaged(self.name, message, &error))
    }

    fn gather(&self, row: u64, rows: usize) -> Gather {
        let mut gather = Gather::new(self.picked.names, self.picked.weight.is_some(), row)
            .with_bounds(self.picked.bounds);
        gather.reserve(rows);
        gather
    }

    fn push(
        &self,
        gather: &mut Gather,
        batch: &RecordBatch,
        context: &Context<'_>,
    ) -> Result<(), InputError> {
        let picked = self.picked.projected();
        for start in (0..batch.num_rows()).step_by(BATCH_ROWS) {
            let rows = batch.slice(start, BATCH_ROWS.min(batch.num_rows() - start));
            let column = |place: usize| self.path.column(place, picked.stored, &rows);
            let weight = picked.weight.map(column);
            let (source, target) = (column(picked.source), column(picked.target));
            if let (Some(direction), Some(place)) = (&self.direction, picked.direction) {
                direction::check(self.name, direction, rows.column(place), gather.row())?;
            }
            gather.push(self.name, &source, &target, weight.as_deref())?;
            context.advance(0)?;
        }
        Ok(())
    }
}

fn damaged(name: &str, message: &Message, error: &ArrowError) -> InputError {
    let what = format!("the message is damaged or of an unknown kind: {}", reason(error));
    InputError::byte(name, message.offset, what)
}
