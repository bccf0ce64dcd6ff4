//! Local clustering coefficients on the command line.

use clap::Args;
use serde_json::{Value, json};
use welter_algorithms::Lcc;
use welter_engine::plan::Layout;
use welter_input::ReadOptions;
use welter_model::edges::{Duplicates, Reading};
use welter_model::table::{ColumnData, Columns};

use super::algorithm::{Algorithm, Answer, Entry};
use super::on_cluster::{Beforehand, ClusterGraph, ClusterProgram};
use super::triangles::{KIND, NO_ITERATIONS};
use crate::failure::Failure;
use crate::parts::for_parts;
use crate::preview::Top;
use crate::session::{LoadedGraph, Session};

pub(super) const ENTRY: Entry = Entry {
    name: "lcc",
    about: "Local clustering coefficients: the share of pairs of neighbours that an edge joins",
    formula: &[
        "N(v)   = what an edge joins to v, in either direction, v left out",
        "lcc(v) = (number of edges u -> w with u, w in N(v)) / (|N(v)| * (|N(v)| - 1))",
        "0 for fewer than two neighbours; an undirected edge counts both ways, parallel ones once",
    ],
    kind: KIND,
    weights: "not looked at",
    columns: "vertex, lcc (f64)",
    source: "LDBC Graphalytics (LCC); Watts and Strogatz (1998); Hu, Tao and Chung (2013)",
    examples: "\
Examples:
  welter run lcc links.tsv                          the 20 highest, and the mean
  welter run lcc friends.csv --undirected -o lcc.parquet",
    python: "\
>>> graph = welter.from_numpy([0, 1, 2, 2], [1, 2, 0, 3], undirected=True)
>>> welter.lcc(graph).top(2)
   vertex  lcc
1       0    1
2       1    1",
    options: Options::augment_args,
};

/// Options of the algorithm: none.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Clustering")]
pub(crate) struct Options {}

/// The mean over `vertices` vertices, and what is said of it.
fn finding(
    columns: &dyn Columns,
    rows: usize,
    vertices: u64,
) -> Result<(Option<String>, Option<Value>), Failure> {
    let mut sum = 0.0;
    for_parts(columns, rows, |_, part| {
        if let Some(ColumnData::F64(shares)) = part.first().map(|column| &column.data) {
            sum += shares.iter().sum::<f64>();
        }
    })?;
    let mean = sum / vertices.max(1) as f64;
    let note = format!("the mean over all vertices is {mean:.6}");
    Ok((Some(note), Some(json!({ "mean": mean }))))
}

impl Algorithm for Options {
    fn entry(&self) -> &'static Entry {
        &ENTRY
    }

    fn layout(&self) -> Layout {
        Layout::of_intersect::<Lcc>()
    }

    /// Weights say the ways that edges go.
    fn weighs(&self) -> bool {
        true
    }

    fn read(&self, _: &mut ReadOptions, reading: &mut Reading) {
        reading.drop_self_loops = true;
        reading.duplicates = Duplicates::Directions;
    }

    fn has_no_iterations(&self) -> Option<&'static str> {
        Some(NO_ITERATIONS)
    }

    fn beforehand(&self) -> Beforehand {
        Beforehand::Sizes
    }

    fn on_cluster(&self, _: &ClusterGraph<'_>) -> Result<ClusterProgram, Failure> {
        Ok(ClusterProgram::triangles(Lcc, Top::Highest, |ended| {
            let (note, found) = finding(ended.columns, ended.rows, ended.vertices)?;
            Ok(ended.found(note, found))
        }))
    }

    fn parameters(&self) -> Value {
        json!({})
    }

    fn run(&self, ready: &LoadedGraph, session: &Session) -> Result<Answer, Failure> {
        let values = session.intersect(ready, &Lcc)?;
        let (note, found) = finding(&values, values.len(), ready.graph.all_vertices())?;
        let columns = Box::new(values);
        Ok(Answer { columns, iterations: 1, note, found, levels: None, top: Top::Highest })
    }
}
