//! Maximal independent sets on the command line.

use clap::Args;
use serde_json::{Value, json};
use welter_algorithms::Mis;
use welter_engine::Outcome;
use welter_engine::plan::Layout;

use super::algorithm::{Algorithm, Answer, Entry};
use super::on_cluster::{Beforehand, ClusterGraph, ClusterProgram};
use crate::directions::Directions;
use crate::failure::Failure;
use crate::number_format::{counted, grouped};
use crate::preview::Top;
use crate::session::{LoadedGraph, Session};

pub(super) const ENTRY: Entry = Entry {
    name: "mis",
    about: "Maximal independent set: no two are neighbours, every other vertex has one among them",
    formula: &[
        "in_set(v) = 1 when in_set(u) = 0 for all neighbours u of an earlier priority, else 0",
        "priority(v): a hash of the seed and the vertex; edges are followed both ways",
    ],
    kind: "fold with a frontier; reads the edges of vertices that are undecided or just joined",
    weights: "not looked at",
    columns: "vertex, in_set (u32; 1 or 0)",
    source: "Chaos, Table 1; Luby (1986); Blelloch, Fineman and Shun (2012)",
    examples: "\
Examples:
  welter run mis friends.csv                    how many there are, and the first 20 of them
  welter run mis friends.csv -o set.csv         of every vertex whether it is one of them
  welter run mis friends.csv --seed 7           another set",
    python: "\
>>> graph = welter.from_numpy([0, 0, 0], [1, 2, 3], undirected=True)
>>> welter.mis(graph, seed=1).to_dict()
{0: 0, 1: 1, 2: 1, 3: 1}",
    options: Options::augment_args,
};

/// Options of the algorithm.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Maximal independent set")]
pub(crate) struct Options {
    /// Picks the priorities, and with them the set
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// The share of vertices in the set, `size` of `vertices`, and what is said of it.
fn finding(size: u64, vertices: u64) -> (Option<String>, Option<Value>) {
    let vertices = counted(vertices, "vertex", "vertices");
    let note = format!("{} of {vertices} are in the set", grouped(size));
    (Some(note), Some(json!({ "set": size })))
}

impl Algorithm for Options {
    fn entry(&self) -> &'static Entry {
        &ENTRY
    }

    fn layout(&self) -> Layout {
        Layout::of::<Mis>()
    }

    fn ways(&self) -> Directions {
        Directions::Both
    }

    fn beforehand(&self) -> Beforehand {
        Beforehand::Sizes
    }

    fn on_cluster(&self, _: &ClusterGraph<'_>) -> Result<ClusterProgram, Failure> {
        Ok(ClusterProgram::fold(Mis::new(self.seed), Top::Highest, |ended| {
            let (note, found) = finding(ended.total().joined, ended.vertices);
            Ok(ended.found(note, found))
        }))
    }

    fn parameters(&self) -> Value {
        json!({ "seed": self.seed })
    }

    fn run(&self, ready: &LoadedGraph, session: &Session) -> Result<Answer, Failure> {
        let Outcome { values, iterations, total, levels, .. } =
            session.iterate(ready, &Mis::new(self.seed))?;
        let (note, found) = finding(total.joined, ready.graph.all_vertices());
        Ok(Answer {
            columns: Box::new(values),
            iterations,
            note,
            found,
            levels: Some(levels),
            top: Top::Highest,
        })
    }
}
