//! An algorithm as the command knows it: what is said of it, which graph it wants, and its answer.

use clap::ValueEnum;
use serde_json::Value;
use welter_engine::IterationStats;
use welter_engine::plan::{FrontierMode, IndexMode, Layout};
use welter_input::{ReadOptions, WeightChoice};
use welter_model::edges::Reading;
use welter_model::table::Columns;

use super::on_cluster::{Beforehand, ClusterGraph, ClusterProgram};
use crate::args::{GraphArgs, InputArgs, ResourceArgs};
use crate::choice::{FallbackReason, MethodUsed};
use crate::directions::Directions;
use crate::failure::Failure;
use crate::load::Source;
use crate::preview::Top;
use crate::session::{GraphRequest, LoadedGraph, Session};

/// Entry of an algorithm in the list of all.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Name on the command line.
    pub(crate) name: &'static str,
    /// Description of the algorithm in one line.
    pub(crate) about: &'static str,
    /// The mathematics, a line each.
    pub(crate) formula: &'static [&'static str],
    /// Kind of the program; behind a semicolon, how often it reads the edges.
    pub(crate) kind: &'static str,
    /// Whether weights are looked at.
    pub(crate) weights: &'static str,
    /// Columns of the result, `vertex` first unless it is a list.
    pub(crate) columns: &'static str,
    /// Papers and benchmarks that the algorithm is from.
    pub(crate) source: &'static str,
    /// Examples for `--help`.
    pub(crate) examples: &'static str,
    /// Examples in Python, with what is printed: `graph` is a small one with weights.
    pub(crate) python: &'static str,
    /// Adds its options to a command.
    pub(super) options: fn(clap::Command) -> clap::Command,
}

impl Entry {
    /// The first lines of `--help`.
    pub(crate) fn long_about(&self) -> String {
        format!("{}\n\n  {}", self.about, self.formula.join("\n  "))
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

/// An algorithm that was chosen, with its parameters.
pub(crate) trait Algorithm {
    /// The entry of the algorithm.
    fn entry(&self) -> &'static Entry;

    /// Bytes that the program takes for a vertex, and what it can do.
    fn layout(&self) -> Layout;

    /// Whether it looks at weights, those that merged edges get included.
    fn weighs(&self) -> bool {
        self.weights() != WeightChoice::Ignore
    }

    /// Weights that are read for the algorithm.
    fn weights(&self) -> WeightChoice {
        WeightChoice::Ignore
    }

    /// Refuses parameters that a run cannot begin with, before anything is read. `inputs`: what the
    /// graph is read from.
    fn check(&self, _inputs: &[String]) -> Result<(), Failure> {
        Ok(())
    }

    /// Directions in which the algorithm reads edges.
    fn ways(&self) -> Directions {
        Directions::Stated
    }

    /// Says how it wants the edges, over what the user says of the graph.
    fn read(&self, _options: &mut ReadOptions, _reading: &mut Reading) {}

    /// Whether it must know which vertices edges leave and come to, as they were listed.
    fn sees_ends(&self) -> bool {
        false
    }

    /// The algorithm by another method, if it has one and the user leaves the choice.
    fn otherwise(&self, _why: FallbackReason) -> Option<Box<dyn Algorithm>> {
        None
    }

    /// Method of the algorithm, where there are two.
    fn taken(&self) -> Option<MethodUsed> {
        None
    }

    /// Files of vertices that it reads beside the graph.
    fn tables(&self) -> Vec<String> {
        Vec::new()
    }

    /// Reason why nothing is kept between its iterations, where it has none or too much.
    fn has_no_iterations(&self) -> Option<&'static str> {
        None
    }

    /// Iterations of a run, where its options state a number.
    fn stated_iterations(&self) -> Option<StatedIterations> {
        None
    }

    /// Mode by which iterations find their edges, where the algorithm has a frontier.
    fn frontier(&self) -> FrontierMode {
        FrontierMode::Auto
    }

    /// Index by which iterations look up single vertices.
    fn index(&self) -> IndexMode {
        IndexMode::Auto
    }

    /// Facts of the graph that a machine of a cluster must have before it makes the program.
    fn beforehand(&self) -> Beforehand {
        Beforehand::Ids
    }

    /// The program for a cluster; an option that it has not is refused by its name.
    fn on_cluster(&self, graph: &ClusterGraph<'_>) -> Result<ClusterProgram, Failure>;

    /// Parameters of the algorithm with their defaults filled in, for the report.
    fn parameters(&self) -> Value;

    /// Runs it.
    fn run(&self, ready: &LoadedGraph, session: &Session) -> Result<Answer, Failure>;
}

impl dyn Algorithm + '_ {
    /// The graph that it wants of what the user said.
    pub(crate) fn wanted<'a>(
        &self,
        source: &'a Source,
        (input, graph): (&InputArgs, GraphArgs),
        resources: &ResourceArgs,
    ) -> GraphRequest<'a> {
        let mut options = input.options(self.weights(), resources.threads);
        let mut reading = graph.into();
        self.read(&mut options, &mut reading);
        GraphRequest {
            source,
            options,
            reading,
            ways: self.ways(),
            layout: self.layout(),
            weighs: self.weighs(),
            frontier: self.frontier(),
            index: self.index(),
            ends: self.sees_ends(),
        }
    }
}

/// Iterations that the options of an algorithm state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StatedIterations {
    /// Number of iterations.
    pub(crate) count: u64,
    /// Whether there are no fewer, whatever the graph.
    pub(crate) exact: bool,
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
    pub(crate) levels: Option<Vec<IterationStats>>,
    /// Part of the table that is shown where the whole is not wanted.
    pub(crate) top: Top,
}

/// Width of the numbers of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Precision {
    /// About 16 digits
    F64,
    /// About 7 digits; half the memory, and faster
    F32,
}

impl Precision {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::F64 => "f64",
            Self::F32 => "f32",
        }
    }
}
