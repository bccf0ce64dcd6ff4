//! Figures of a graph that a caller in this process asks for: how many vertices there are, and how
//! many edges each has.
//!
//! Edges count as they were listed: parallel ones each, and one from a vertex to itself once at
//! either end, so twice where edges have no direction.

use std::sync::Arc;

use welter_algorithms::spmv::{Spmv, Vector};
use welter_engine::plan::{FrontierMode, IndexMode, Layout};
use welter_engine::run;
use welter_input::WeightChoice;
use welter_model::edges::{Batch, Duplicates, EdgeStream, Reading};
use welter_model::ids::IdMap;
use welter_model::table::{Column, ColumnData, Columns, Table, VertexColumn};
use welter_model::with_sides::WithSides;
use welter_progress::Progress;

use super::{Answer, Graph, ResourceWords, panics, parsed};
use crate::directions::Directions;
use crate::endpoints::{BipartiteRoles, EdgeEndpoints};
use crate::failure::Failure;
use crate::load::Source;
use crate::loaded::Loaded;
use crate::parts::for_parts;
use crate::session::{GraphRequest, LoadedGraph, Session};

/// Said where the loops of a vertex are not known apart from its other edges.
const LOOPS_ONCE: &str = "an edge from a vertex to itself counts once";

impl Graph {
    /// Number of vertices. Looks at all edges where that is not known before, once.
    ///
    /// # Errors
    /// When edges cannot be read.
    pub fn vertices(&self, progress: &Progress) -> Result<u64, Failure> {
        if let Some(count) = self.vertices.get() {
            return Ok(*count);
        }
        let count = panics::wanted(progress, || self.counted(progress))?;
        Ok(*self.vertices.get_or_init(|| count))
    }

    fn counted(&self, progress: &Progress) -> Result<u64, Failure> {
        if let Source::Kept(_, kept) = &self.source {
            return Ok(kept.manifest().vertices);
        }
        let options = self.input.options(WeightChoice::Ignore, None);
        let Loaded { edges, ids, .. } = self.source.load(&options, progress)?;
        match (&ids, edges.slots()) {
            (IdMap::NonCompact(ids), _) => return Ok(ids.vertices()),
            (ids, Some(slots)) if ids.all_present() => return Ok(slots),
            _ => {}
        }
        let ends = Arc::new(EdgeEndpoints::new(false));
        let marked = BipartiteRoles { edges, ends: Arc::clone(&ends) };
        for part in 0..marked.parts() {
            let mut goes_on = |_: Batch<'_>| !progress.cancelled();
            marked.read(part, &mut goes_on).map_err(Failure::read)?;
        }
        if progress.cancelled() {
            return Err(Failure::interrupted());
        }
        Ok(ends.count())
    }

    /// Number of edges of each vertex: `out_degree` and `in_degree`, or `degree` where edges have
    /// no direction. `words`: what of the machine may be taken.
    ///
    /// # Errors
    /// As of a run.
    pub fn degrees(&self, words: &[String], progress: &Progress) -> Result<Answer, Failure> {
        panics::wanted(progress, || {
            let ResourceWords { resources } = parsed(words)?;
            let asked = self.source.read_by(&resources)?;
            let source = asked.as_ref().unwrap_or(&self.source);
            let session = Session::within(resources, progress)?;
            let facts = self.facts()?;
            let reading: Reading = self.reading.into();
            // Ends are told apart where edges are as they were listed.
            let merged = reading.duplicates != Duplicates::Keep;
            let is_kept = matches!(self.source, Source::Kept(..) | Source::Parts(..));
            let apart = !facts.undirected || !merged && !is_kept;
            let mut options = self.input.options(WeightChoice::Ignore, session.resources.threads);
            if apart {
                options.undirected = Some(false);
            }
            let ready = session.graph(&GraphRequest {
                source,
                options,
                reading,
                ways: Directions::Stated,
                layout: Layout::of::<Spmv<f64>>(),
                frontier: FrontierMode::Auto,
                index: IndexMode::Auto,
                weighs: false,
                ends: false,
            })?;
            let out: Vec<u64> = ready.graph.out_degrees().iter().map(|&out| out.into()).collect();
            let columns = if !facts.undirected {
                vec![named("out_degree", out), named("in_degree", in_degrees(&ready, progress)?)]
            } else if apart {
                let both =
                    out.iter().zip(in_degrees(&ready, progress)?).map(|(out, into)| out + into);
                vec![named("degree", both.collect())]
            } else {
                vec![named("degree", out)]
            };
            let note = (!apart).then(|| LOOPS_ONCE.to_owned());
            let LoadedGraph { graph, loaded, workers, .. } = ready;
            drop(workers);
            let vertices = graph.into_vertex_column(loaded.ids);
            let columns: Box<dyn Columns> = match &vertices {
                VertexColumn::TwoKinds(ids) => Box::new(WithSides::new(columns, ids.sources())),
                _ => Box::new(columns),
            };
            Answer::plain(Table { vertices, columns }, note, self.files.clone())
        })
    }
}

fn named(name: &str, data: Vec<u64>) -> Column {
    Column { name: name.to_owned(), data: ColumnData::U64(data) }
}

/// Each vertex has as many in-edges as ones reach it.
fn in_degrees(ready: &LoadedGraph, progress: &Progress) -> Result<Vec<u64>, Failure> {
    let program = Spmv::<f64>::new(Vector::Ones, 1);
    let outcome = run(&ready.graph, &program, &ready.workers, progress)?;
    let columns: &dyn Columns = &outcome.values;
    let mut degrees = Vec::with_capacity(outcome.values.len());
    for_parts(columns, outcome.values.len(), |_, part| {
        if let Some(ColumnData::F64(values)) = part.first().map(|column| &column.data) {
            degrees.extend(values.iter().map(|degree| *degree as u64));
        }
    })?;
    Ok(degrees)
}
