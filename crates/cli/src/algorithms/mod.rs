//! The registry: what there is to run, said once for help, `welter algorithms` and the manual.
//!
//! An algorithm is one file here: its options, and the call of the engine with its program. It also
//! has a line in [`REGISTRY`] and one in [`Algorithm`].

mod als;
mod bfs;
mod bp;
mod cdlp;
mod conductance;
mod hyperball;
mod kcore;
mod lcc;
mod mcst;
mod mis;
mod pagerank;
mod scc;
mod sources;
mod spmv;
mod sssp;
mod tables;
mod traversal;
mod triangles;
mod wcc;
pub(crate) mod words;

pub(crate) use self::sources::begins;
pub use self::tables::MEMORY;

use std::fmt::Write;

use clap::{Args, FromArgMatches, Subcommand, ValueEnum};
use serde_json::Value;
use welter_engine::Level;
use welter_engine::plan::{FrontierMode, IndexMode, Layout};
use welter_input::{ReadOptions, WeightChoice};
use welter_model::edges::Reading;
use welter_model::table::Columns;

use crate::choice::{Taken, Why};
use crate::failure::Failure;
use crate::session::{Ready, Session};
use crate::top::Top;
use crate::ways::Ways;

/// Algorithms that there are to run.
pub(crate) const REGISTRY: &[Entry] = &[
    pagerank::ENTRY,
    bfs::ENTRY,
    sssp::ENTRY,
    wcc::ENTRY,
    spmv::ENTRY,
    hyperball::ENTRY,
    cdlp::ENTRY,
    kcore::ENTRY,
    triangles::ENTRY,
    lcc::ENTRY,
    mis::ENTRY,
    conductance::ENTRY,
    bp::ENTRY,
    als::ENTRY,
    scc::ENTRY,
    mcst::ENTRY,
];

/// Entry of an algorithm in the list of all.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Name on the command line.
    pub(crate) name: &'static str,
    /// One line.
    pub(crate) about: &'static str,
    /// The mathematics, a line each.
    pub(crate) formula: &'static [&'static str],
    /// Kind of the program; behind a semicolon, how often it reads the edges.
    pub(crate) kind: &'static str,
    /// Whether weights are looked at.
    pub(crate) weights: &'static str,
    /// Columns of the result, `vertex` first unless it is a list.
    pub(crate) columns: &'static str,
    /// Whose it is.
    pub(crate) source: &'static str,
    /// For `--help`.
    pub(crate) examples: &'static str,
    /// Examples in Python, with what is printed: `graph` is a small one with weights.
    pub(crate) python: &'static str,
    /// Adds its options to a command.
    options: fn(clap::Command) -> clap::Command,
}

impl Entry {
    /// The first lines of `--help`.
    pub(crate) fn long_about(&self) -> String {
        format!("{}\n\n  {}", self.about, self.formula.join("\n  "))
    }

    /// Bytes that it takes for a vertex, with the options that it has if nothing is said.
    pub(crate) fn layout(&self) -> Option<Layout> {
        let command = clap::Command::new("run");
        let command = Algorithm::<Nothing>::augment_subcommands(command);
        let found = command.try_get_matches_from(["run", self.name]).ok()?;
        let algorithm = Algorithm::<Nothing>::from_arg_matches(&found).ok()?;
        Some(algorithm.split().0.layout())
    }

    /// A command with its own options only.
    pub(crate) fn command(&self) -> clap::Command {
        (self.options)(clap::Command::new(self.name))
    }

    /// Names of its own options.
    pub(crate) fn options(&self) -> Vec<String> {
        let command = self.command();
        command.get_arguments().filter_map(|arg| Some(format!("--{}", arg.get_long()?))).collect()
    }
}

/// No options beside those of the algorithm.
#[derive(Debug, Args)]
struct Nothing {}

/// The text of `welter algorithms`.
pub(crate) fn list() -> String {
    let mut text = String::new();
    for entry in REGISTRY {
        let options = entry.options().join(" ");
        let rows = [
            ("kind", entry.kind),
            ("weights", entry.weights),
            ("columns", entry.columns),
            ("options", &options),
            ("source", entry.source),
        ];
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}: {}\n", entry.name, entry.about);
        for line in entry.formula {
            let _ = writeln!(text, "    {line}");
        }
        text.push('\n');
        for (name, value) in rows.into_iter().filter(|(_, value)| !value.is_empty()) {
            let _ = writeln!(text, "    {name:<9}{value}");
        }
        text.push('\n');
    }
    text + "`welter run ALGORITHM --help` says more of each.\n"
}

/// An algorithm with its options, and `C`, what the command takes beside them.
#[derive(Debug, Subcommand)]
#[command(subcommand_value_name = "ALGORITHM", subcommand_help_heading = "Algorithms")]
pub(crate) enum Algorithm<C: Args> {
    /// See the registry.
    Pagerank(With<pagerank::Options, C>),
    /// See the registry.
    Bfs(With<bfs::Options, C>),
    /// See the registry.
    Sssp(With<sssp::Options, C>),
    /// See the registry.
    Wcc(With<wcc::Options, C>),
    /// See the registry.
    Scc(With<scc::Options, C>),
    /// See the registry.
    Mcst(With<mcst::Options, C>),
    /// See the registry.
    Spmv(With<spmv::Options, C>),
    /// See the registry.
    Hyperball(With<hyperball::Options, C>),
    /// See the registry.
    Cdlp(With<cdlp::Options, C>),
    /// See the registry.
    Kcore(With<kcore::Options, C>),
    /// See the registry.
    Triangles(With<triangles::Options, C>),
    /// See the registry.
    Lcc(With<lcc::Options, C>),
    /// See the registry.
    Mis(With<mis::Options, C>),
    /// See the registry.
    Conductance(With<conductance::Options, C>),
    /// See the registry.
    Bp(With<bp::Options, C>),
    /// See the registry.
    Als(With<als::Options, C>),
}

/// Options of an algorithm, and of the command.
#[derive(Debug, Args)]
pub(crate) struct With<A: Args, C: Args> {
    #[command(flatten)]
    algorithm: A,
    #[command(flatten)]
    command: C,
}

impl<C: Args> Algorithm<C> {
    /// The algorithm apart from the rest.
    pub(crate) fn split(self) -> (Box<dyn Chosen>, C) {
        match self {
            Self::Pagerank(With { algorithm, command }) => (Box::new(algorithm), command),
            Self::Bfs(With { algorithm, command }) => (Box::new(algorithm), command),
            Self::Sssp(With { algorithm, command }) => (Box::new(algorithm), command),
            Self::Wcc(With { algorithm, command }) => (Box::new(algorithm), command),
            Self::Scc(With { algorithm, command }) => (Box::new(algorithm), command),
            Self::Mcst(With { algorithm, command }) => (Box::new(algorithm), command),
            Self::Spmv(With { algorithm, command }) => (Box::new(algorithm), command),
            Self::Hyperball(With { algorithm, command }) => (Box::new(algorithm), command),
            Self::Cdlp(With { algorithm, command }) => (Box::new(algorithm), command),
            Self::Kcore(With { algorithm, command }) => (Box::new(algorithm), command),
            Self::Triangles(With { algorithm, command }) => (Box::new(algorithm), command),
            Self::Lcc(With { algorithm, command }) => (Box::new(algorithm), command),
            Self::Mis(With { algorithm, command }) => (Box::new(algorithm), command),
            Self::Conductance(With { algorithm, command }) => (Box::new(algorithm), command),
            Self::Bp(With { algorithm, command }) => (Box::new(algorithm), command),
            Self::Als(With { algorithm, command }) => (Box::new(algorithm), command),
        }
    }
}

/// An algorithm that was chosen, with its parameters.
pub(crate) trait Chosen {
    /// The entry of the algorithm.
    fn entry(&self) -> &'static Entry;

    /// Bytes that the program takes for a vertex, and what it can do.
    fn layout(&self) -> Layout;

    /// Whether it looks at weights, those that merged edges get included.
    fn weighs(&self) -> bool {
        self.weights() != WeightChoice::Ignore
    }

    /// Which weights are read for it.
    fn weights(&self) -> WeightChoice {
        WeightChoice::Ignore
    }

    /// Refuses parameters that a run cannot begin with, before anything is read. `inputs`: what the
    /// graph is read from.
    fn check(&self, _inputs: &[String]) -> Result<(), Failure> {
        Ok(())
    }

    /// Which ways it reads edges.
    fn ways(&self) -> Ways {
        Ways::Stated
    }

    /// Says how it wants the edges, over what the user says of the graph.
    fn read(&self, _options: &mut ReadOptions, _reading: &mut Reading) {}

    /// Whether it must know which vertices edges leave and come to, as they were listed.
    fn sees_ends(&self) -> bool {
        false
    }

    /// The algorithm by another method, if it has one and the user leaves the choice.
    fn otherwise(&self, _why: Why) -> Option<Box<dyn Chosen>> {
        None
    }

    /// Which way it goes, where there are two.
    fn taken(&self) -> Option<Taken> {
        None
    }

    /// Files of vertices that it reads beside the graph.
    fn tables(&self) -> Vec<String> {
        Vec::new()
    }

    /// Why nothing is kept between its iterations, where it has none or too much.
    fn has_no_iterations(&self) -> Option<&'static str> {
        None
    }

    /// How its iterations find their edges, where it has a frontier.
    fn frontier(&self) -> FrontierMode {
        FrontierMode::Auto
    }

    /// Index by which iterations look up single vertices.
    fn index(&self) -> IndexMode {
        IndexMode::Auto
    }

    /// Its parameters with their defaults filled in, for the report.
    fn parameters(&self) -> Value;

    /// Runs it.
    fn run(&self, ready: &Ready, session: &Session) -> Result<Answer, Failure>;
}

/// Answer of an algorithm.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Results of all vertices, in the order of the graph, or a list.
    pub(crate) columns: Box<dyn Columns>,
    /// Iterations that were done.
    pub(crate) iterations: u64,
    /// Note for the user about the result, such as that it is not settled.
    pub(crate) note: Option<String>,
    /// Findings about the graph as a whole, for the report.
    pub(crate) found: Option<Value>,
    /// Levels, one an iteration, of programs with a frontier.
    pub(crate) levels: Option<Vec<Level>>,
    /// Part of the table that is shown where the whole is not wanted.
    pub(crate) top: Top,
}

/// Width of the numbers of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Precision {
    /// About 16 digits
    F64,
    /// About 7 digits; half the memory, and faster
    F32,
}

impl Precision {
    fn name(self) -> &'static str {
        match self {
            Self::F64 => "f64",
            Self::F32 => "f32",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_names_all_there_is() {
        let list = list();
        for entry in REGISTRY {
            assert!(list.contains(&format!("{}: {}", entry.name, entry.about)));
        }
        assert!(list.contains("options  --damping"));
    }
}
