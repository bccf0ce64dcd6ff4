//! Core numbers on the command line.

use clap::Args;
use serde_json::{Value, json};
use welter_algorithms::KCore;
use welter_engine::Outcome;
use welter_engine::plan::Layout;
use welter_input::ReadOptions;
use welter_model::edges::{Duplicates, Reading};
use welter_model::group::Grouped;

use super::{Answer, Chosen, Entry};
use crate::failure::Failure;
use crate::session::{Ready, Session};
use crate::top::Top;

pub(super) const ENTRY: Entry = Entry {
    name: "kcore",
    about: "How well connected the best connected part is that a vertex belongs to (core numbers)",
    formula: &[
        "k-core  = the largest part in which each vertex has k neighbours or more",
        "core(v) = the largest k whose core v belongs to",
        "edges have no direction; parallel ones count once, self-loops do not",
    ],
    kind: "group; reads all edges in each iteration, until no bound falls",
    weights: "not looked at",
    columns: "vertex, core (u32)",
    source: "Lü, Zhou, Zhang and Stanley (2016); Montresor, De Pellegrini and Miorandi (2011)",
    examples: "\
Examples:
  welter run kcore friends.csv                      the 20 best connected, the degeneracy
  welter run kcore links.tsv -o cores.parquet       the core number of every vertex",
    options: Options::augment_args,
};

/// What can be said.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Core numbers")]
pub(crate) struct Options {}

impl Chosen for Options {
    fn entry(&self) -> &'static Entry {
        &ENTRY
    }

    fn layout(&self) -> Layout {
        Layout::of::<Grouped<KCore>>()
    }

    fn read(&self, options: &mut ReadOptions, reading: &mut Reading) {
        options.undirected = Some(true);
        reading.drop_self_loops = true;
        reading.duplicates = Duplicates::First;
    }

    fn parameters(&self) -> Value {
        json!({})
    }

    fn run(&self, ready: &Ready, session: &Session) -> Result<Answer, Failure> {
        let Outcome { values, iterations, total, .. } = session.iterate(ready, &Grouped(KCore))?;
        let note = Some(format!("the innermost core is a {}-core", total.largest));
        let found = Some(json!({ "degeneracy": total.largest }));
        let columns = Box::new(values);
        Ok(Answer { columns, iterations, note, found, levels: None, top: Top::Highest })
    }
}
