//! Belief propagation on the command line.

use std::str::FromStr;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use welter_algorithms::bp::{Beliefs, Potential};
use welter_algorithms::sum_product::RATIO_MAX;
use welter_algorithms::{BeliefPropagation, SumProduct};
use welter_engine::Outcome;
use welter_engine::plan::Layout;
use welter_input::attributes::AttributeOptions;
use welter_input::{ColumnRef, ReadOptions, WeightChoice};
use welter_model::edges::Reading;
use welter_model::program::Value as VertexValue;
use welter_model::table::Id;
use welter_programs::{CompiledExtended, CompiledFold};
use welter_progress::FailureKind;

use super::algorithm::{Algorithm, Answer, Entry, StatedIterations};
use super::on_cluster::{ClusterGraph, ClusterProgram, Ended};
use super::tables::{self, KnownVertices};
use crate::args::{WeightArgs, not_negative, parsed, share};
use crate::directions::Directions;
use crate::failure::{Failure, printable};
use crate::preview::Top;
use crate::session::{LoadedGraph, Session};

pub(super) const ENTRY: Entry = Entry {
    name: "bp",
    about: "Belief propagation: which state each vertex is likely in, by its neighbours",
    formula: &[
        "belief(v)[j] = prior(v)[j] / Z * product over edges u - v of m(u, v)[j]",
        "m(u, v)[j]   = 1 / Z * sum over states i of psi(i, j) ^ weight(u, v)",
        "               * belief(u)[i] / m(v, u)[i], of the iteration before",
        "psi(i, j)    = COUPLING where i = j, (1 - COUPLING) / (STATES - 1) elsewhere",
        "The sum-product algorithm: exact on trees, after as many iterations as the longest path",
        "has edges. With --messages vertex a vertex sends all neighbours one message, in which",
        "theirs count too: no state on edges, and beliefs that are surer than they should be.",
    ],
    kind: "extended, or fold with --messages vertex; reads all edges once an iteration, and \
           rewrites their messages",
    weights: "an edge counts as often as its weight says, and makes no state more than 2^126 times \
              as likely; 1 where edges have none",
    columns: "vertex, belief_1, belief_2 and so on (f64 each; they add up to 1)",
    source: "Chaos, Table 1; Pearl (1988); Kang, Chau and Faloutsos (2011)",
    examples: "\
Examples:
  welter run bp calls.csv --priors-from known.csv                   rows: id, prior of 1, prior of 2
  welter run bp calls.csv --priors-from known.csv --coupling 0.9    neighbours are mostly alike
  welter run bp web.tsv --states 3 --priors-from known.csv --iterations 50 --tolerance 1e-6
  welter run bp web.tsv --states 3 --priors-from known.csv --potential \"3,1,1, 1,3,1, 1,1,3\"
  welter run bp calls.csv --priors-from known.csv --coupling 0.1 --damping 0.7    mostly unlike
  welter run bp calls.csv --priors-from known.csv --messages vertex    less memory, less exact",
    python: "\
>>> graph = welter.from_numpy([0, 1], [1, 2], undirected=True)
>>> welter.bp(graph, coupling=0.9).column_names
['vertex', 'belief_1', 'belief_2']",
    options: Options::augment_args,
};

/// Options of the algorithm.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Belief propagation")]
pub(crate) struct Options {
    /// States that a vertex may be in
    #[arg(long, value_name = "STATES", default_value = "2")]
    states: States,
    /// Tables (text, Parquet, Arrow) of what is known: ids in the first column, then a number for
    /// each state, in any proportion; all are as likely for vertices without a row [default:
    /// nothing is known, and all beliefs stay even]
    #[arg(long, value_name = "FILE")]
    priors_from: Vec<String>,
    /// Probability that neighbours are in the same state, between 0 and 1
    #[arg(long, value_name = "COUPLING", default_value_t = 0.6, value_parser = share)]
    coupling: f64,
    /// Psi itself, row after row, such as "3,1, 1,2": numbers above 0 that are the same both ways
    #[arg(long, value_name = "NUMBERS", conflicts_with = "coupling")]
    #[arg(value_parser = parsed::<Numbers>)]
    potential: Option<Numbers>,
    /// Iterations, at most
    #[arg(long, value_name = "N", default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    iterations: u64,
    /// Stop when no belief changes by as much in an iteration; 0 does them all
    #[arg(long, value_name = "CHANGE", default_value_t = 0.0, value_parser = not_negative)]
    tolerance: f64,
    /// Place where messages are kept
    #[arg(long, value_name = "WHAT", default_value = "edge")]
    messages: MessagesOf,
    /// Share of a message of an edge that stays as it was, from 0 to below 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = share)]
    damping: f64,
    #[command(flatten)]
    weights: WeightArgs,
}

/// Things that messages are kept for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum MessagesOf {
    /// Each edge, in each direction: 8 bytes for each state but one
    Edge,
    /// Each vertex, which sends its belief to all neighbours
    Vertex,
}

impl MessagesOf {
    fn name(self) -> &'static str {
        match self {
            Self::Edge => "edge",
            Self::Vertex => "vertex",
        }
    }
}

/// Number of states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum States {
    #[value(name = "2")]
    S2,
    #[value(name = "3")]
    S3,
    #[value(name = "4")]
    S4,
    #[value(name = "8")]
    S8,
}

impl States {
    fn count(self) -> usize {
        match self {
            Self::S2 => 2,
            Self::S3 => 3,
            Self::S4 => 4,
            Self::S8 => 8,
        }
    }
}

impl Options {
    /// Runs it with `K` states; `R` is `K - 1`.
    fn run_as<const K: usize, const R: usize>(
        &self,
        ready: &LoadedGraph,
        session: &Session,
    ) -> Result<Answer, Failure>
    where
        SumProduct<K, R>: CompiledExtended<Total = Beliefs<K>>,
        BeliefPropagation<K>: CompiledFold<Total = Beliefs<K>>,
    {
        let known = KnownVertices::of(ready, session);
        Ok(match self.messages {
            MessagesOf::Edge => answer(session.extend(ready, &self.of_edges::<K, R>(&known)?)?),
            MessagesOf::Vertex => answer(session.iterate(ready, &self.of_vertices::<K>(&known)?)?),
        })
    }

    fn cluster_program<const K: usize, const R: usize>(
        &self,
        graph: &ClusterGraph<'_>,
    ) -> Result<ClusterProgram, Failure>
    where
        SumProduct<K, R>: CompiledExtended<Total = Beliefs<K>>,
        BeliefPropagation<K>: CompiledFold<Total = Beliefs<K>>,
    {
        let (known, top) = (graph.known(), Top::Highest);
        let finding_of = |ended: &Ended<'_, Beliefs<K>>| {
            let (note, found) = finding(&ended.total());
            Ok(ended.found(note, found))
        };
        Ok(match self.messages {
            MessagesOf::Edge => {
                ClusterProgram::extended(self.of_edges::<K, R>(&known)?, top, finding_of)
            }
            MessagesOf::Vertex => {
                ClusterProgram::fold(self.of_vertices::<K>(&known)?, top, finding_of)
            }
        })
    }

    /// The program with messages of edges.
    fn of_edges<const K: usize, const R: usize>(
        &self,
        known: &KnownVertices<'_>,
    ) -> Result<SumProduct<K, R>, Failure> {
        let program = self.sum_product::<K, R>()?.with_damping(self.damping);
        let priors = self.priors(known)?;
        Ok(if let Some(priors) = priors { program.with_priors(priors) } else { program })
    }

    /// The program with messages of vertices.
    fn of_vertices<const K: usize>(
        &self,
        known: &KnownVertices<'_>,
    ) -> Result<BeliefPropagation<K>, Failure> {
        let potential = self.potential::<K>()?;
        let program = BeliefPropagation::new(potential, self.iterations, self.tolerance);
        let priors = self.priors(known)?;
        Ok(if let Some(priors) = priors { program.with_priors(priors) } else { program })
    }

    fn layout_as<const K: usize, const R: usize>(&self) -> Layout {
        match self.messages {
            MessagesOf::Edge => Layout::of_extended::<SumProduct<K, R>>(),
            MessagesOf::Vertex => Layout::of::<BeliefPropagation<K>>(),
        }
    }

    /// Psi, as it was said or of a coupling.
    fn potential<const K: usize>(&self) -> Result<Potential<K>, Failure> {
        let Some(Numbers(psi)) = &self.potential else {
            let what = format!("--coupling must lie between 0 and 1, not be {}", self.coupling);
            return Potential::coupled(self.coupling).ok_or_else(|| Failure::usage(what));
        };
        let (wanted, found) = (K * K, psi.len());
        if found != wanted {
            let what = format!("--potential: {K} states take {wanted} numbers, not {found}");
            return Err(Failure::usage(what));
        }
        let square = std::array::from_fn(|i| std::array::from_fn(|j| psi[i * K + j]));
        Potential::of(square).ok_or_else(|| {
            let what = "--potential: expected numbers above 0 that are the same both ways, those \
                        in row i, column j and in row j, column i";
            Failure::usage(what)
        })
    }

    /// The program with messages of edges, nothing being known.
    fn sum_product<const K: usize, const R: usize>(&self) -> Result<SumProduct<K, R>, Failure> {
        let potential = self.potential::<K>()?;
        let program = SumProduct::new(potential, self.iterations, self.tolerance);
        program.ok_or_else(|| {
            let (which, numbers) = match self.potential {
                Some(_) => ("--potential", "these"),
                None => ("--coupling", "those of this one"),
            };
            let what = format!(
                "{which}: messages of edges take no potential with numbers more than \
                 {RATIO_MAX:.1e} times as large as others, as {numbers} are; --messages vertex \
                 takes any",
            );
            Failure::usage(what)
        })
    }

    /// Refuses a potential that messages cannot hold.
    fn check_potential<const K: usize, const R: usize>(&self) -> Result<(), Failure> {
        match self.messages {
            MessagesOf::Edge => self.sum_product::<K, R>().map(drop),
            MessagesOf::Vertex => self.potential::<K>().map(drop),
        }
    }

    /// The priors that tables say of each vertex, a column for each state; none without tables.
    fn priors<const K: usize>(
        &self,
        known: &KnownVertices<'_>,
    ) -> Result<Option<Vec<[f64; K]>>, Failure> {
        if self.priors_from.is_empty() {
            return Ok(None);
        }
        let mut priors = vec![[0.0; K]; known.vertices() as usize];
        for state in 0..K {
            let value = Some(ColumnRef::Number(state + 2));
            let missing = Some(1.0 / K as f64);
            let read = tables::values(&self.priors_from, known, |options| AttributeOptions {
                value,
                missing,
                refuse_shared: true,
                ..options
            })?;
            for (prior, number) in priors.iter_mut().zip(read) {
                prior[state] = number;
            }
        }
        let is_fit = |prior: &[f64; K]| {
            prior.iter().all(|number| *number >= 0.0) && prior.iter().sum::<f64>().is_normal()
        };
        if let Some(vertex) = priors.iter().position(|prior| !is_fit(prior)) {
            let column = known.column();
            let id = match column.get(vertex) {
                Id::Integer(id) => id.to_string(),
                Id::Name(name) => name.to_owned(),
                Id::Others(count) => format!("{count} vertices without edges"),
            };
            let what = "expected priors that are not negative, and not all 0, found others of";
            let tables = self.priors_from.join(", ");
            return Err(Failure::new(FailureKind::Input, format!("{tables}: {what} {id}")));
        }
        Ok(Some(priors))
    }
}

/// Numbers of a matrix, row after row.
#[derive(Clone, Debug, PartialEq)]
struct Numbers(Vec<f64>);

impl FromStr for Numbers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words = text.split(|c: char| c.is_whitespace() || ",;".contains(c));
        let number = |word: &str| {
            word.parse().map_err(|_| format!("expected numbers, found {}", printable(word)))
        };
        words.filter(|word| !word.is_empty()).map(number).collect::<Result<_, _>>().map(Self)
    }
}

/// The answer of a run.
fn answer<V: VertexValue, const K: usize>(outcome: Outcome<V, Beliefs<K>>) -> Answer {
    let (note, found) = finding(&outcome.total);
    let (columns, iterations) = (Box::new(outcome.values), outcome.iterations);
    Answer { columns, iterations, note, found, levels: None, top: Top::Highest }
}

/// The note and the finding on the last totals.
fn finding<const K: usize>(
    &Beliefs { expected, change }: &Beliefs<K>,
) -> (Option<String>, Option<Value>) {
    let found = json!({ "expected": expected.to_vec(), "change": change });
    (Some(note(expected, change)), Some(found))
}

/// Number of vertices that are expected in each state, and whether it may change.
fn note<const K: usize>(expected: [f64; K], change: f64) -> String {
    let expected: Vec<String> = expected.iter().map(|sum| format!("{sum:.1}")).collect();
    format!(
        "expected vertices in each state: {}; beliefs changed by {change:.1e} at most in the last \
         iteration",
        expected.join(", ")
    )
}

impl Algorithm for Options {
    fn entry(&self) -> &'static Entry {
        &ENTRY
    }

    fn layout(&self) -> Layout {
        let layout = match self.states {
            States::S2 => self.layout_as::<2, 1>(),
            States::S3 => self.layout_as::<3, 2>(),
            States::S4 => self.layout_as::<4, 3>(),
            States::S8 => self.layout_as::<8, 7>(),
        };
        // A column by the slot and by the vertex, as tables are read, and the priors.
        let given = if self.priors_from.is_empty() { 0 } else { 16 + 8 * self.states.count() };
        Layout { value: layout.value + given as u64, ..layout }
    }

    fn check(&self, inputs: &[String]) -> Result<(), Failure> {
        if self.priors_from.iter().any(|name| name == "-") {
            let what = "priors are read a column at a time, which standard input cannot be";
            return Err(Failure::usage(what));
        }
        tables::check(&self.priors_from, "the table of priors", inputs)?;
        if self.damping >= 1.0 {
            return Err(Failure::usage("--damping must be below 1, or messages would be empty"));
        }
        if self.messages == MessagesOf::Vertex && self.damping > 0.0 {
            let what = "--damping is for messages of edges, which --messages vertex does without";
            return Err(Failure::usage(what));
        }
        match self.states {
            States::S2 => self.check_potential::<2, 1>(),
            States::S3 => self.check_potential::<3, 2>(),
            States::S4 => self.check_potential::<4, 3>(),
            States::S8 => self.check_potential::<8, 7>(),
        }
    }

    fn ways(&self) -> Directions {
        Directions::Both
    }

    fn read(&self, options: &mut ReadOptions, _: &mut Reading) {
        options.non_negative = true;
        options.finite = true;
    }

    fn weighs(&self) -> bool {
        true
    }

    fn weights(&self) -> WeightChoice {
        self.weights.choice()
    }

    fn tables(&self) -> Vec<String> {
        self.priors_from.clone()
    }

    fn stated_iterations(&self) -> Option<StatedIterations> {
        Some(StatedIterations { count: self.iterations, exact: self.tolerance <= 0.0 })
    }

    fn on_cluster(&self, graph: &ClusterGraph<'_>) -> Result<ClusterProgram, Failure> {
        match self.states {
            States::S2 => self.cluster_program::<2, 1>(graph),
            States::S3 => self.cluster_program::<3, 2>(graph),
            States::S4 => self.cluster_program::<4, 3>(graph),
            States::S8 => self.cluster_program::<8, 7>(graph),
        }
    }

    fn parameters(&self) -> Value {
        let potential = self.potential.as_ref().map(|Numbers(psi)| psi);
        let coupling = potential.is_none().then_some(self.coupling);
        json!({
            "states": self.states.count(),
            "priors_from": self.priors_from,
            "coupling": coupling,
            "potential": potential,
            "iterations": self.iterations,
            "tolerance": self.tolerance,
            "messages": self.messages.name(),
            "damping": self.damping,
        })
    }

    fn run(&self, ready: &LoadedGraph, session: &Session) -> Result<Answer, Failure> {
        match self.states {
            States::S2 => self.run_as::<2, 1>(ready, session),
            States::S3 => self.run_as::<3, 2>(ready, session),
            States::S4 => self.run_as::<4, 3>(ready, session),
            States::S8 => self.run_as::<8, 7>(ready, session),
        }
    }
}
