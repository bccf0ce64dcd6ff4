//! The edges of a stream that are to be written, with what formats share of them.

use welter_model::edges::{Batch, EdgeStream};
use welter_model::ids::IdMap;
use welter_progress::{Progress, Unit};

use super::format::{EdgeFormat, EdgeFormatOptions};
use super::id_view::IdView;
use crate::error::OutputError;
use crate::ordered::{Job, check};
use crate::thread_count;

/// Edges that are known to fit the format.
pub(super) struct Edges<'a> {
    pub(super) stream: &'a dyn EdgeStream,
    pub(super) ids: IdView<'a>,
    /// Whether the weights of the stream are written.
    pub(super) weighted: bool,
    /// Whether every slot is a vertex.
    pub(super) all_present: bool,
    /// Whether each edge stands for both directions.
    pub(super) undirected: bool,
    pub(super) memory_bytes_max: Option<u64>,
}

impl<'a> Edges<'a> {
    /// Refuses ids that do not fit the format, before a file is created.
    pub(super) fn of(
        stream: &'a dyn EdgeStream,
        ids: &'a IdMap,
        options: &EdgeFormatOptions,
        format: EdgeFormat,
        name: &str,
    ) -> Result<Self, OutputError> {
        let all_present = ids.all_present();
        let ids = match ids {
            IdMap::Same | IdMap::Declared => IdView::Slots,
            IdMap::Offset(first) => {
                let slots = stream.slots().unwrap_or(u32::MAX.into());
                IdView::Offset { first: *first, last: first + slots.saturating_sub(1) }
            }
            IdMap::Sparse(ids) => IdView::Integers(ids),
            IdMap::Names(names) => IdView::Names(names),
            IdMap::TwoKinds(_) if !format.has_two_columns() => {
                let what = "two kinds of vertices have two columns of ids; write CSV, TSV, \
                            Parquet or Arrow";
                return Err(OutputError::unfit(name, what));
            }
            IdMap::TwoKinds(ids) => IdView::TwoKinds(ids),
            IdMap::NonCompact(ids) => {
                if format.counts_vertices() {
                    let what = format!(
                        "{} vertices are more than a file of this format can be written with; \
                         write rows, Parquet, Arrow or raw pairs",
                        ids.vertices()
                    );
                    return Err(OutputError::unfit(name, what));
                }
                IdView::Integers(ids.named())
            }
        };
        Ok(Self {
            stream,
            ids,
            weighted: stream.weighted() && !options.drop_weights,
            all_present,
            undirected: options.undirected,
            memory_bytes_max: options.memory_bytes_max,
        })
    }

    pub(super) fn job<'j>(&self, name: &'j str, threads: usize, progress: &'j Progress) -> Job<'j> {
        let phase = progress.phase("write", Unit::Edges, Some(self.stream.edges()));
        Job { name, threads: thread_count(threads), progress, phase }
    }

    /// Number of slots; looks at all edges where it is not known.
    pub(super) fn slots(&self, job: &Job<'_>) -> Result<u64, OutputError> {
        match self.ids {
            IdView::Integers(ids) => return Ok(ids.len() as u64),
            IdView::Names(names) => return Ok(names.len() as u64),
            IdView::TwoKinds(ids) => return Ok(ids.len() as u64),
            IdView::Slots | IdView::Offset { .. } => {}
        }
        if let Some(slots) = self.stream.slots() {
            return Ok(slots);
        }
        let mut slots = 0;
        self.visit_all(job, |batch| {
            let last = batch.pairs.as_flattened().iter().max();
            slots = slots.max(last.map_or(0, |last| u64::from(*last) + 1));
            Ok(())
        })?;
        Ok(slots)
    }

    /// Visits the batches of all parts in order.
    pub(super) fn visit_all(
        &self,
        job: &Job<'_>,
        mut each: impl FnMut(Batch<'_>) -> Result<(), OutputError>,
    ) -> Result<(), OutputError> {
        (0..self.stream.parts() as u64).try_for_each(|part| self.visit(part, job, &mut each))
    }

    /// Visits the batches of a part until one of them fails.
    pub(super) fn visit(
        &self,
        part: u64,
        job: &Job<'_>,
        mut each: impl FnMut(Batch<'_>) -> Result<(), OutputError>,
    ) -> Result<(), OutputError> {
        let mut result = Ok(());
        let read = self.stream.read(part as usize, &mut |mut batch| {
            if !self.weighted {
                batch.weights = None;
            }
            result = check(job).and_then(|()| each(batch));
            result.is_ok()
        });
        result.and(read.map_err(OutputError::Input))
    }
}
