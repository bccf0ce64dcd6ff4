//! Triangles on the command line.

use clap::Args;
use serde_json::{Value, json};
use welter_algorithms::Triangles;
use welter_engine::plan::Layout;
use welter_input::ReadOptions;
use welter_model::edges::{Duplicates, Reading};
use welter_model::table::{ColumnData, Columns};

use super::algorithm::{Algorithm, Answer, Entry};
use super::on_cluster::{Beforehand, ClusterGraph, ClusterProgram};
use crate::directions::Directions;
use crate::failure::Failure;
use crate::number_format::counted;
use crate::parts::for_parts;
use crate::preview::Top;
use crate::session::{LoadedGraph, Session};

pub(super) const ENTRY: Entry = Entry {
    name: "triangles",
    about: "Triangle counts: the pairs of neighbours of a vertex that are neighbours too",
    formula: &[
        "triangles(v) = number of pairs u, w of neighbours of v with an edge u -> w or w -> u",
        "the triangles of the graph are a third of the sum",
        "edges have no direction; parallel ones count once, self-loops do not",
    ],
    kind: KIND,
    weights: "not looked at",
    columns: "vertex, triangles (u64)",
    source: "Hu, Tao and Chung, Massive Graph Triangulation (2013)",
    examples: "\
Examples:
  welter run triangles friends.csv                  the 20 with the most, and how many exist
  welter run triangles links.tsv -o triangles.parquet",
    python: r#">>> graph = welter.from_numpy([0, 1, 2, 2], [1, 2, 0, 3], undirected=True)
>>> welter.triangles(graph).report["found"]
{'triangles': 1}"#,
    options: Options::augment_args,
};

/// Kind of programs over triangles.
pub(super) const KIND: &str = "intersection; reads all edges three times, more often where rows do \
                               not fit in memory, about once by spill";

/// Reason why there is nothing to keep between iterations.
pub(super) const NO_ITERATIONS: &str =
    "triangles take no iterations, so there is nothing to resume from";

/// Options of the algorithm: none.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Triangles")]
pub(crate) struct Options {}

/// Number of triangles, and a note on it.
fn finding(columns: &dyn Columns, rows: usize) -> Result<(Option<String>, Option<Value>), Failure> {
    let mut corners = 0;
    for_parts(columns, rows, |_, part| {
        if let Some(ColumnData::U64(counts)) = part.first().map(|column| &column.data) {
            corners += counts.iter().sum::<u64>();
        }
    })?;
    let triangles = corners / 3;
    let note = counted(triangles, "triangle", "triangles");
    Ok((Some(note), Some(json!({ "triangles": triangles }))))
}

impl Algorithm for Options {
    fn entry(&self) -> &'static Entry {
        &ENTRY
    }

    fn layout(&self) -> Layout {
        Layout::of_intersect::<Triangles>()
    }

    fn ways(&self) -> Directions {
        Directions::Simple
    }

    fn read(&self, _: &mut ReadOptions, reading: &mut Reading) {
        reading.drop_self_loops = true;
        reading.duplicates = Duplicates::First;
    }

    fn has_no_iterations(&self) -> Option<&'static str> {
        Some(NO_ITERATIONS)
    }

    fn beforehand(&self) -> Beforehand {
        Beforehand::Sizes
    }

    fn on_cluster(&self, _: &ClusterGraph<'_>) -> Result<ClusterProgram, Failure> {
        Ok(ClusterProgram::triangles(Triangles, Top::Highest, |ended| {
            let (note, found) = finding(ended.columns, ended.rows)?;
            Ok(ended.found(note, found))
        }))
    }

    fn parameters(&self) -> Value {
        json!({})
    }

    fn run(&self, ready: &LoadedGraph, session: &Session) -> Result<Answer, Failure> {
        let values = session.intersect(ready, &Triangles)?;
        let (note, found) = finding(&values, values.len())?;
        let columns = Box::new(values);
        Ok(Answer { columns, iterations: 1, note, found, levels: None, top: Top::Highest })
    }
}
