//! Strongly connected components on the command line.

use clap::Args;
use serde_json::{Value, json};
use welter_algorithms::Scc;
use welter_engine::Passed;
use welter_engine::plan::Layout;

use super::{Answer, Chosen, Entry, wcc};
use crate::failure::Failure;
use crate::session::{Ready, Session};
use crate::top::Top;

pub(super) const ENTRY: Entry = Entry {
    name: "scc",
    about: "Which vertices reach each other along edges",
    formula: &["component(v) = the smallest id of all vertices that v reaches and that reach v"],
    kind: "stream; several passes over the edges that can still tell something",
    weights: "not looked at",
    columns: "vertex, component (the id of its smallest vertex)",
    source: "Chaos, Table 1; Fleischer, Hendrickson and Pınar (2000); Orzan (2004); Tarjan (1972)",
    examples: "\
Examples:
  welter run scc links.tsv                            the 20 largest components, and how many exist
  welter run scc links.tsv -o components.parquet      the component of every vertex
  welter run scc web --memory 2G --report report.json",
    python: "\
>>> graph = welter.from_numpy([0, 1, 2, 2], [1, 2, 0, 3])
>>> welter.scc(graph).top()
   component  vertices
1          0         3
2          3         1",
    options: Options::augment_args,
};

/// What can be said.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Strongly connected components")]
pub(crate) struct Options {}

impl Chosen for Options {
    fn entry(&self) -> &'static Entry {
        &ENTRY
    }

    fn layout(&self) -> Layout {
        Layout::of_stream::<Scc>()
    }

    fn has_no_iterations(&self) -> Option<&'static str> {
        Some("strongly connected components are found in a few passes, which keep no checkpoints")
    }

    fn parameters(&self) -> Value {
        json!({})
    }

    fn run(&self, ready: &Ready, session: &Session) -> Result<Answer, Failure> {
        let Passed { values, passes, .. } = session.pass(ready, &Scc::default())?;
        let rows = ready.graph.vertices();
        let alone = ready.graph.all_vertices() - rows;
        let called = ("strongly connected component", "strongly connected components");
        let note = wcc::note(&values, rows as usize, (alone, called.0, called.1))?;
        let columns = Box::new(values);
        Ok(Answer {
            columns,
            iterations: passes,
            note,
            found: None,
            levels: None,
            top: Top::Groups,
        })
    }
}
