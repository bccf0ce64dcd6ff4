//! Core numbers on the command line.

use clap::Args;
use serde_json::{Value, json};
use welter_algorithms::{KCore, MultigraphCore};
use welter_engine::Outcome;
use welter_engine::plan::Layout;
use welter_input::ReadOptions;
use welter_model::edges::{Duplicates, Reading};
use welter_model::group::Grouped;
use welter_model::table::{ColumnData, Columns};

use super::algorithm::{Algorithm, Answer, Entry};
use super::on_cluster::{Beforehand, ClusterGraph, ClusterProgram};
use crate::directions::Directions;
use crate::failure::Failure;
use crate::parts::for_parts;
use crate::preview::Top;
use crate::session::{LoadedGraph, Session};

pub(super) const ENTRY: Entry = Entry {
    name: "kcore",
    about: "Core numbers: the largest k whose k-core has the vertex",
    formula: &[
        "k-core  = the largest part in which each vertex has k neighbours or more",
        "core(v) = the largest k whose core v belongs to",
        "edges have no direction; parallel ones count once, self-loops do not",
    ],
    kind: "group; reads all edges in each iteration until no bound falls, which on grids and paths \
           are as many as these are long, or peels rows that fit",
    weights: "not looked at",
    columns: "vertex, core (u32)",
    source: "Lü, Zhou, Zhang and Stanley (2016); Montresor, De Pellegrini and Miorandi (2011)",
    examples: "\
Examples:
  welter run kcore friends.csv                      the 20 best connected, the degeneracy
  welter run kcore links.tsv -o cores.parquet       the core number of every vertex",
    python: "\
>>> graph = welter.from_numpy([0, 1, 2, 2], [1, 2, 0, 3], undirected=True)
>>> welter.kcore(graph).to_dict()
{0: 2, 1: 2, 2: 2, 3: 1}",
    options: Options::augment_args,
};

/// Options of the algorithm: none.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Core numbers")]
pub(crate) struct Options {}

/// The largest core number.
fn degeneracy(columns: &dyn Columns, rows: usize) -> Result<u32, Failure> {
    let mut largest = 0;
    for_parts(columns, rows, |_, part| {
        if let Some(ColumnData::U32(cores)) = part.first().map(|column| &column.data) {
            largest = cores.iter().copied().fold(largest, u32::max);
        }
    })?;
    Ok(largest)
}

/// The note and the finding on it.
fn finding(largest: u32) -> (Option<String>, Option<Value>) {
    let note = format!("the innermost core is a {largest}-core");
    (Some(note), Some(json!({ "degeneracy": largest })))
}

impl Algorithm for Options {
    fn entry(&self) -> &'static Entry {
        &ENTRY
    }

    fn layout(&self) -> Layout {
        Layout::of::<Grouped<KCore>>()
    }

    fn ways(&self) -> Directions {
        Directions::Simple
    }

    fn read(&self, _: &mut ReadOptions, reading: &mut Reading) {
        reading.drop_self_loops = true;
        reading.duplicates = Duplicates::First;
    }

    /// Parallel edges stay on a cluster, where each may be on another machine.
    fn beforehand(&self) -> Beforehand {
        Beforehand::Sizes
    }

    fn on_cluster(&self, _: &ClusterGraph<'_>) -> Result<ClusterProgram, Failure> {
        Ok(ClusterProgram::fold(Grouped(MultigraphCore), Top::Highest, |ended| {
            let (note, found) = finding(degeneracy(ended.columns, ended.rows)?);
            Ok(ended.found(note, found))
        }))
    }

    fn parameters(&self) -> Value {
        json!({})
    }

    fn run(&self, ready: &LoadedGraph, session: &Session) -> Result<Answer, Failure> {
        let (values, iterations) = if let Some(values) = session.peel(ready)? {
            (values, 1)
        } else {
            let Outcome { values, iterations, .. } = session.iterate(ready, &Grouped(KCore))?;
            (values, iterations)
        };
        let (note, found) = finding(degeneracy(&values, values.len())?);
        let columns = Box::new(values);
        Ok(Answer { columns, iterations, note, found, levels: None, top: Top::Highest })
    }
}
