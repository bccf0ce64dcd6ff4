//! The rows of a table in memory, in parts: counted, looked at, collected, and streamed.

use std::cell::Cell;

use arrow_array::{Array, RecordBatch};
use arrow_schema::SchemaRef;
use rayon::prelude::*;
use welter_model::edge_sample::{PIECE_EDGES, Sample};
use welter_model::edges::{Batch, EdgeStream, StreamError};
use welter_model::ids::IdMap;

use crate::collect::Collector;
use crate::columnar::{
    BATCH_ROWS, Gather, PART_ROWS, Picked, describe, direction, has_negative, one_kind_note, pick,
    state, summarize,
};
use crate::direction::Direction;
use crate::error::InputError;
use crate::options::{IdKind, ReadOptions};
use crate::reader::{Context, Ready};
use crate::reading::FileSummary;
use crate::tables::Frame;

impl Frame {
    /// Whether ids are strings, if it is read so.
    pub(crate) fn are_names(&self, options: &ReadOptions) -> Result<bool, InputError> {
        let rows = Rows::of(self.clone(), options)?;
        Ok(rows.picked.names || options.ids == IdKind::Auto && rows.have_negative_ids())
    }

    /// Whether ids are strings, by the type of their column.
    pub(crate) fn are_strings(&self, options: &ReadOptions) -> Result<bool, InputError> {
        Ok(pick(&self.name, &self.schema, options)?.names)
    }

    /// Number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// Leaves its rows with a collector.
    pub(crate) fn collect(
        &self,
        context: &Context<'_>,
        collector: &Collector,
    ) -> Result<(), InputError> {
        Rows::of(self.clone(), context.options)?.collect(context, collector)
    }
}

/// The rows, in parts.
pub(super) struct Rows {
    pub(super) name: String,
    schema: SchemaRef,
    pub(super) picked: Picked,
    direction: Option<Direction>,
    /// With the number of rows before each.
    batches: Vec<(u64, RecordBatch)>,
    parts: Vec<RowRun>,
    pub(super) edges: u64,
}

/// Consecutive rows of a batch.
#[derive(Clone, Copy)]
struct RowRun {
    batch: usize,
    start: usize,
    rows: usize,
}

thread_local! {
    /// Columns that a thread gathers into.
    static REUSED: Cell<Option<Gather>> = const { Cell::new(None) };
}

impl Rows {
    pub(super) fn of(frame: Frame, options: &ReadOptions) -> Result<Self, InputError> {
        let Frame { name, schema, batches } = frame;
        let picked = pick(&name, &schema, options)?;
        let (so_far, parts, direction) = (Vec::new(), Vec::new(), None);
        let mut rows = Self { name, schema, picked, direction, batches: so_far, parts, edges: 0 };
        for batch in batches {
            let number = rows.batches.len();
            let count = batch.num_rows();
            let starts = (0..count).step_by(PART_ROWS);
            rows.parts.extend(starts.map(|start| RowRun {
                batch: number,
                start,
                rows: PART_ROWS.min(count - start),
            }));
            rows.batches.push((rows.edges, batch));
            rows.edges += count as u64;
        }
        rows.find_direction()?;
        Ok(rows)
    }

    /// Sees by the first rows whether a column says directions.
    fn find_direction(&mut self) -> Result<(), InputError> {
        let first = self.batches.iter().find(|(_, batch)| batch.num_rows() > 0);
        let Some((place, (_, batch))) = self.picked.direction.zip(first) else { return Ok(()) };
        self.direction = direction::find(&self.name, &self.schema, place, batch.column(place))?;
        Ok(())
    }

    /// Refuses rows of a part that say another direction than the first ones.
    fn check_direction(&self, part: RowRun) -> Result<(), InputError> {
        let Some(direction) = &self.direction else { return Ok(()) };
        let column = self.batches[part.batch].1.column(direction.column);
        let column = column.slice(part.start, part.rows);
        direction::check(&self.name, direction, &column, self.before(part))
    }

    /// The rows as a stream whose ids are slots, of which there are `slots`.
    pub(super) fn ready(self, slots: u64, ids: IdMap, options: &ReadOptions) -> Ready {
        let readings = vec![self.summary()];
        let undirected = self.direction.as_ref().map(|direction| direction.undirected);
        let notes = self.direction.as_ref().map(Direction::note);
        let notes = notes.into_iter().chain(one_kind_note(&self.schema, &self.picked, options));
        let notes = notes.map(|note| format!("{}: {note}", self.name)).collect();
        let stream = Box::new(RowStream { rows: self, slots: Some(slots) });
        Ready { undirected, notes, readings, ..Ready::new(stream, ids) }
    }

    /// Reading of the table.
    pub(super) fn summary(&self) -> FileSummary {
        let mut summary = FileSummary { name: self.name.clone(), ..FileSummary::default() };
        summarize(&mut summary, &self.schema, &self.picked);
        summary
    }

    /// Whether an integer in a column of ids is below 0: ids are strings then.
    pub(super) fn have_negative_ids(&self) -> bool {
        let Picked { source, target, .. } = self.picked;
        self.parts.par_iter().any(|part| {
            let batch = &self.batches[part.batch].1;
            [source, target]
                .iter()
                .any(|place| has_negative(&batch.column(*place).slice(part.start, part.rows)))
        })
    }

    /// A gatherer for rows behind `row` others.
    fn gather(&self, row: u64) -> Gather {
        Gather::new(self.picked.names, self.picked.weight.is_some(), row)
            .with_bounds(self.picked.bounds)
    }

    /// Appends some rows of a part to a gatherer.
    fn push(&self, gather: &mut Gather, part: RowRun) -> Result<(), InputError> {
        let rows = self.batches[part.batch].1.slice(part.start, part.rows);
        let column = |place: usize| -> &dyn Array { rows.column(place) };
        let Picked { source, target, weight, .. } = self.picked;
        gather.push(&self.name, column(source), column(target), weight.map(column))
    }

    /// The rows before some of a part.
    fn before(&self, part: RowRun) -> u64 {
        self.batches[part.batch].0 + part.start as u64
    }

    /// Visits rows of a part, some at a time, until `visit` answers `false`.
    fn pieces(
        &self,
        RowRun { batch, start, rows }: RowRun,
        visit: &mut dyn FnMut(&Gather) -> Result<bool, InputError>,
    ) -> Result<(), InputError> {
        // Taken, not borrowed: `visit` may read another part in this thread.
        let fits =
            |gather: &Gather| gather.is_like(self.picked.names, self.picked.weight.is_some());
        let mut gather = REUSED.take().filter(fits).unwrap_or_else(|| self.gather(0));
        gather = gather.with_bounds(self.picked.bounds);
        let end = start + rows;
        for from in (start..end).step_by(BATCH_ROWS) {
            let piece = RowRun { batch, start: from, rows: BATCH_ROWS.min(end - from) };
            gather.restart(self.before(piece));
            self.push(&mut gather, piece)?;
            if !visit(&gather)? {
                break;
            }
        }
        REUSED.set(Some(gather));
        Ok(())
    }

    /// The largest id. Finds everything that can be wrong with a row.
    pub(super) fn largest(&self, context: &Context<'_>) -> Result<u64, InputError> {
        let largest = |part: &RowRun| {
            let mut largest = 0;
            self.check_direction(*part)?;
            self.pieces(*part, &mut |gather| {
                largest = largest.max(gather.largest());
                context.advance(0).map(|()| true)
            })?;
            context.phase.add(part.rows as u64);
            Ok(largest)
        };
        let found: Vec<Result<u64, InputError>> =
            context.pool.install(|| self.parts.par_iter().map(largest).collect());
        found.into_iter().try_fold(0, |all, part| Ok(part?.max(all)))
    }

    /// The edges of a graph whose number of vertices was stated.
    pub(super) fn declared(
        self,
        vertices: u64,
        largest: u64,
        options: &ReadOptions,
    ) -> Result<Ready, InputError> {
        if largest >= vertices {
            return Err(self.beyond(vertices)?);
        }
        Ok(self.ready(vertices, IdMap::Declared, options))
    }

    /// The first id that is not below a number; there is one.
    fn beyond(&self, vertices: u64) -> Result<InputError, InputError> {
        for part in &self.parts {
            let mut gather = self.gather(self.before(*part));
            self.push(&mut gather, *part)?;
            let ids = gather.into_part().ids.into_wide();
            let wrong = ids.iter().position(|pair| pair.iter().any(|id| *id >= vertices));
            if let Some(index) = wrong {
                let id = ids[index].iter().find(|id| **id >= vertices).copied().unwrap_or(0);
                let what = format!(
                    "expected ids within the stated number of vertices, below {vertices}, found \
                     {id}"
                );
                let row = self.before(*part) + index as u64 + 1;
                return Ok(InputError::Row { file: self.name.clone(), row, what });
            }
        }
        Ok(InputError::content(&self.name, "expected ids within the stated number of vertices"))
    }

    /// Hands all rows over to be numbered.
    pub(super) fn collect(
        &self,
        context: &Context<'_>,
        collector: &Collector,
    ) -> Result<(), InputError> {
        collector.begin(&self.name);
        describe(collector, &self.schema, &self.picked, context.options);
        state(collector, self.direction.as_ref());
        let push = |(number, part): (usize, &RowRun)| {
            self.check_direction(*part)?;
            let mut gather = self.gather(self.before(*part));
            gather.reserve(part.rows);
            self.push(&mut gather, *part)?;
            context.advance(0)?;
            collector.push(number as u64, gather.into_part())
        };
        let failed = || self.parts.par_iter().enumerate().find_map_first(|part| push(part).err());
        context.pool.install(failed).map_or(Ok(()), Err)
    }
}

/// The rows as a stream of edges, whose ids are slots.
pub(super) struct RowStream {
    pub(super) rows: Rows,
    pub(super) slots: Option<u64>,
}

impl RowStream {
    fn show(
        &self,
        part: RowRun,
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<bool, StreamError> {
        let mut goes_on = true;
        self.rows.pieces(part, &mut |gather| {
            let changed = || InputError::content(&self.rows.name, "was changed while it was read");
            let fits = self.slots.is_none_or(|slots| gather.largest() < slots);
            let batch = gather.narrow().filter(|_| fits).ok_or_else(changed)?;
            goes_on = visit(batch);
            Ok(goes_on)
        })?;
        Ok(goes_on)
    }
}

impl EdgeStream for RowStream {
    fn parts(&self) -> usize {
        self.rows.parts.len()
    }

    fn edges(&self) -> u64 {
        self.rows.edges
    }

    fn weighted(&self) -> bool {
        self.rows.picked.weight.is_some()
    }

    fn slots(&self) -> Option<u64> {
        self.slots
    }

    fn sample(
        &self,
        part: usize,
        (sample, round): (Sample, usize),
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        let RowRun { batch, start, rows } = self.rows.parts[part];
        for piece in sample.pieces(part, rows.div_ceil(PIECE_EDGES), round) {
            let from = piece * PIECE_EDGES;
            let piece = RowRun { batch, start: start + from, rows: PIECE_EDGES.min(rows - from) };
            if !self.show(piece, visit)? {
                break;
            }
        }
        Ok(())
    }

    fn read(
        &self,
        part: usize,
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        self.show(self.rows.parts[part], visit).map(|_| ())
    }
}
