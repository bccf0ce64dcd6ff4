//! Where a traversal begins: vertices by their ids, said one by one or listed in files.
//!
//! Invariant: none is guessed. That a source is missing is found before anything is read, that one
//! is no vertex of the graph right after. Tested by
//! `a_source_that_is_missing_or_no_vertex_is_an_error`.

use clap::Args;
use serde_json::{Value, json};
use welter_input::attributes::listed;
use welter_progress::FailureKind;

use super::tables::{self, KnownVertices};
use crate::failure::Failure;

/// The sources.
#[derive(Clone, Debug, Args)]
pub(super) struct SourceArgs {
    /// Id of a vertex to begin at, as in the input; may be said several times
    #[arg(long, value_name = "ID")]
    source: Vec<String>,
    /// Files of such ids, the first column of a table or one a line; `-` is standard input
    #[arg(long, value_name = "FILE")]
    sources_from: Vec<String>,
}

impl SourceArgs {
    /// Refuses to begin nowhere. `inputs`: what the graph is read from.
    pub(super) fn check(&self, algorithm: &str, inputs: &[String]) -> Result<(), Failure> {
        if self.source.is_empty() && self.sources_from.is_empty() {
            let what = format!("{algorithm} needs the vertex to begin at");
            let hint = "say its id with --source ID, or list many with --sources-from FILE";
            return Err(Failure::usage(what).hint(hint));
        }
        tables::check(&self.sources_from, "the list of sources", inputs)
    }

    /// Sources that were said one by one and are integers.
    pub(super) fn integers(&self) -> Vec<u64> {
        self.source.iter().filter_map(|id| id.parse().ok()).collect()
    }

    /// The numbers of the sources, ascending, each once.
    pub(super) fn find(&self, known: &KnownVertices<'_>) -> Result<Vec<u64>, Failure> {
        let slots = self.slots(known)?.into_iter();
        Ok(slots.filter_map(|slot| known.number(slot)).collect())
    }

    /// The slots of the sources, ascending, each once.
    pub(super) fn slots(&self, known: &KnownVertices<'_>) -> Result<Vec<u64>, Failure> {
        let session = known.session;
        let slots = known.with(|vertices, options| {
            let mut slots = Vec::new();
            for id in &self.source {
                let slot = vertices.find(id).map_err(|what| {
                    Failure::new(FailureKind::Input, format!("--source {id}: {what}"))
                })?;
                slots.push(slot);
            }
            if !self.sources_from.is_empty() {
                let table = tables::place(&self.sources_from, session);
                slots.extend(listed(table, vertices, &options, &session.progress)?);
            }
            Ok::<_, Failure>(slots)
        })?;
        let is_vertex = |slot: &u64| known.number(*slot).is_some();
        let mut slots: Vec<u64> = slots.into_iter().map(u64::from).filter(is_vertex).collect();
        slots.sort_unstable();
        slots.dedup();
        if slots.is_empty() {
            let files = self.sources_from.join(", ");
            return Err(Failure::new(
                FailureKind::Input,
                format!("{files}: expected ids of sources, found none"),
            ));
        }
        Ok(slots)
    }

    /// The files.
    pub(super) fn files(&self) -> &[String] {
        &self.sources_from
    }

    /// For the report.
    pub(super) fn described(&self) -> Value {
        json!({ "source": self.source, "sources_from": self.sources_from })
    }
}
