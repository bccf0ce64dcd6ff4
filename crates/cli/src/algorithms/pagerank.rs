//! `PageRank` on the command line.
//!
//! Without `--iterations` it runs until the ranks settle; with it alone, exactly so often; with
//! `--tolerance` too, until the first of both. Where the walk heeds weights, or does not treat
//! all vertices alike, another program does it ([`Walk`]), which holds more for each vertex.

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use welter_algorithms::pagerank::{Dangling, PageRank};
use welter_algorithms::{Float, Walk, pagerank, walk};
use welter_engine::plan::Layout;
use welter_input::attributes::AttributeOptions;
use welter_input::{ColumnRef, ReadOptions, WeightChoice};
use welter_model::edges::Reading;
use welter_programs::CompiledFold;
use welter_progress::FailureKind;

use super::algorithm::{Algorithm, Answer, Entry, Precision, StatedIterations};
use super::on_cluster::{Beforehand, ClusterGraph, ClusterProgram, Ended};
use super::tables::{self, KnownVertices};
use crate::args::{not_negative, parsed, share};
use crate::failure::Failure;
use crate::finite::named;
use crate::preview::Top;
use crate::session::{LoadedGraph, Session};

pub(super) const ENTRY: Entry = Entry {
    name: "pagerank",
    about: "PageRank: the share of time that a random walk along the edges spends at each vertex",
    formula: &[
        "rank(v) = (1 - d) / V  +  d * (sum over edges u -> v of rank(u) / out-degree(u))",
        "                       +  d * (sum over sinks s of rank(s)) / V",
    ],
    kind: "fold; reads all edges once an iteration",
    weights: "not looked at; with --weighted the walk follows edges in proportion to them",
    columns: "vertex, rank (f64 or f32)",
    source: "Chaos, Table 1; BlitzG; LDBC Graphalytics (PR); Page and others (1999)",
    examples: "\
Examples:
  welter run pagerank links.tsv                       until the ranks settle; the top 20
  welter run pagerank links.tsv -o ranks.csv          the ranks of all vertices
  welter run pagerank links.tsv --iterations 10       exactly ten iterations
  welter run pagerank links.tsv --dangling networkx   the same numbers as NetworkX
  welter run pagerank calls.csv --weighted            edges by their weights
  welter run pagerank links.tsv --personalization me.csv --personalization-default 0
                                                      as one sees it from these vertices
  welter run pagerank friends.csv --undirected --source-column 3 --target-column 4",
    python: "\
>>> graph = welter.from_numpy([0, 1, 2, 2], [1, 2, 0, 3])
>>> welter.pagerank(graph).top(2)
   vertex      rank
1       2  0.307853
2       1  0.264622",
    options: Options::augment_args,
};

/// Options of the algorithm.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "PageRank")]
pub(crate) struct Options {
    /// d, the probability that the walk follows an edge and does not jump anywhere
    #[arg(long, value_name = "D", default_value_t = 0.85, allow_negative_numbers = true)]
    #[arg(value_parser = share)]
    damping: f64,
    /// Stop after N iterations [default: when the ranks settle, or after 200; networkx: 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    iterations: Option<u64>,
    /// Stop when an iteration changes all ranks together by less than this share of them
    /// [default: 1e-9, with f32 or networkx 1e-6; none where iterations are given]
    #[arg(long, value_name = "T", allow_negative_numbers = true, value_parser = not_negative)]
    tolerance: Option<f64>,
    /// Treatment of the rank of sinks, which have no edge to carry it on
    #[arg(long, value_name = "MODE", default_value = "spread")]
    dangling: Mode,
    /// Width of the ranks
    #[arg(long, value_name = "TYPE", default_value = "f64")]
    precision: Precision,
    /// Follow edges in proportion to their weights, which may not be negative; f64 only
    #[arg(long)]
    weighted: bool,
    /// Column of the weights, by number (from 1) or name [default: the one called weight, else by a
    /// word for it such as cost, distance or rating, else the one further column of numbers]
    ///
    /// One rule holds for text, tables and frames. A column whose name is for something else
    /// (year, timestamp, type, or what ends in _id) is no weight. Where several columns could be
    /// it, names are refused, and without names the first one behind the ends is taken. Of
    /// dictionaries at the end of a row, as NetworkX writes them, the value of weight is.
    #[arg(long, value_name = "COLUMN", requires = "weighted", help_heading = "Input")]
    #[arg(value_parser = parsed::<ColumnRef>)]
    weight: Option<ColumnRef>,
    /// Tables (text, Parquet, Arrow) of where the walk jumps to, and not to all vertices alike: ids
    /// in the first column, in another how often, in proportion; `-` is standard input. The rank of
    /// sinks goes there too, without --dangling-weights; f64 only
    #[arg(long, alias = "teleport-from", value_name = "FILE")]
    personalization: Vec<String>,
    /// Column of the proportions, by number (from 1) or name [default: the second]
    #[arg(long, alias = "teleport-column", value_name = "COLUMN", requires = "personalization")]
    #[arg(value_parser = parsed::<ColumnRef>)]
    personalization_column: Option<ColumnRef>,
    /// Proportion of vertices without a row [default: an error]
    #[arg(long, alias = "teleport-default", value_name = "NUMBER", requires = "personalization")]
    #[arg(value_parser = not_negative)]
    personalization_default: Option<f64>,
    /// Tables of where the rank of sinks goes, as those of --personalization; f64 only
    #[arg(long, alias = "sinks-from", value_name = "FILE")]
    dangling_weights: Vec<String>,
    /// Column of the proportions, by number (from 1) or name [default: the second]
    #[arg(long, alias = "sinks-column", value_name = "COLUMN", requires = "dangling_weights")]
    #[arg(value_parser = parsed::<ColumnRef>)]
    dangling_weights_column: Option<ColumnRef>,
    /// Proportion of vertices without a row [default: an error]
    #[arg(long, alias = "sinks-default", value_name = "NUMBER", requires = "dangling_weights")]
    #[arg(value_parser = not_negative)]
    dangling_weights_default: Option<f64>,
    /// Tables of ranks to begin with, in proportion to each other, as those of --personalization:
    /// those of a graph that was a little different, say; f64 only
    #[arg(long, alias = "start-from", value_name = "FILE")]
    initial: Vec<String>,
    /// Column of the ranks, by number (from 1) or name [default: the second]
    #[arg(long, alias = "start-column", value_name = "COLUMN", requires = "initial")]
    #[arg(value_parser = parsed::<ColumnRef>)]
    initial_column: Option<ColumnRef>,
    /// Rank of vertices without a row [default: an error]
    #[arg(long, alias = "start-default", value_name = "NUMBER", requires = "initial")]
    #[arg(value_parser = not_negative)]
    initial_default: Option<f64>,
}

/// Tables of proportions.
struct Proportions<'a> {
    files: &'a [String],
    column: &'a Option<ColumnRef>,
    default: Option<f64>,
    what: &'static str,
}

impl Proportions<'_> {
    /// The program with these proportions, in the order of the vertices; unchanged where there are
    /// none.
    fn apply(
        &self,
        program: Walk,
        known: &KnownVertices<'_>,
        with: impl FnOnce(Walk, Vec<f64>) -> Option<Walk>,
    ) -> Result<Walk, Failure> {
        if self.files.is_empty() {
            return Ok(program);
        }
        let proportions = tables::values(self.files, known, |options| AttributeOptions {
            value: self.column.clone(),
            missing: self.default,
            refuse_shared: true,
            ..options
        })?;
        with(program, proportions).ok_or_else(|| {
            let what = "expected proportions that are not negative and sum to more than 0";
            Failure::new(FailureKind::Input, format!("{}: {what}", self.files.join(", ")))
        })
    }
}

/// Treatment of the rank of sinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// Rank is spread over all vertices, as in LDBC Graphalytics; ranks sum to 1
    Spread,
    /// As spread, with the stopping rule of NetworkX: the tolerance is for each vertex
    Networkx,
    /// Rank is lost
    Drop,
    /// As in the papers of X-Stream and Chaos: rank = 1 - d + d * sum, not normalised; it is lost
    #[value(alias = "papers")]
    Unnormalized,
}

/// Iterations after which unsettled ranks are given up.
const ITERATIONS_MAX: u64 = 200;
/// Iterations at most in `NetworkX`.
const ITERATIONS_MAX_NETWORKX: u64 = 100;

impl Options {
    fn dangling(&self) -> Dangling {
        match self.dangling {
            Mode::Spread => Dangling::Spread,
            Mode::Networkx => Dangling::NetworkX,
            Mode::Drop => Dangling::Drop,
            Mode::Unnormalized => Dangling::Papers,
        }
    }

    fn iterations(&self) -> u64 {
        let networkx = self.dangling == Mode::Networkx;
        let most = if networkx { ITERATIONS_MAX_NETWORKX } else { ITERATIONS_MAX };
        self.iterations.unwrap_or(most)
    }

    fn tolerance(&self) -> f64 {
        match (self.tolerance, self.iterations) {
            (Some(tolerance), _) => tolerance,
            (None, Some(_)) => 0.0,
            // Rounding alone moves f32 ranks by about 1e-7 of their sum.
            (None, None) if self.precision == Precision::F32 => 1e-6,
            (None, None) if self.dangling == Mode::Networkx => 1e-6,
            (None, None) => 1e-9,
        }
    }

    /// Where the walk jumps to, where it jumps from sinks, and where it begins.
    fn proportions(&self) -> [Proportions<'_>; 3] {
        [
            Proportions {
                files: &self.personalization,
                column: &self.personalization_column,
                default: self.personalization_default,
                what: "the table of jumps",
            },
            Proportions {
                files: &self.dangling_weights,
                column: &self.dangling_weights_column,
                default: self.dangling_weights_default,
                what: "the table of where sinks go",
            },
            Proportions {
                files: &self.initial,
                column: &self.initial_column,
                default: self.initial_default,
                what: "the table of ranks to begin with",
            },
        ]
    }

    /// Whether the walk heeds weights, or does not treat all vertices alike.
    fn is_partial(&self) -> bool {
        self.weighted || !self.tables().is_empty()
    }

    /// Bytes that a walk holds for a vertex: a sum of weights with what rounding lost of it, and
    /// the sum before it was scaled; a number of each table, and one more while they are read.
    fn own_bytes(&self) -> u64 {
        let tables = self.proportions().iter().filter(|table| !table.files.is_empty()).count();
        let sums = if self.weighted { 3 } else { 0 };
        (sums + tables + usize::from(tables > 0)) as u64 * size_of::<f64>() as u64
    }

    fn walk(&self, ready: &LoadedGraph, session: &Session) -> Result<Answer, Failure> {
        let graph = &ready.graph;
        let weighted = graph.plan().premises.shape.weighted;
        let premises = (weighted, graph.edges(), graph.all_vertices());
        let sums = |scale| Ok(graph.out_weights_times(scale)?);
        let program = self.walking(&KnownVertices::of(ready, session), premises, sums)?;
        let outcome = session.iterate(ready, &program)?;
        Ok(Answer {
            columns: Box::new(outcome.values),
            iterations: outcome.iterations,
            note: self.unsettled_walk(premises.2, outcome.total),
            found: None,
            levels: None,
            top: Top::Highest,
        })
    }

    /// The walk on a graph with weights or without, with its numbers of edges and vertices. `sums`
    /// of the weights of edges that leave vertices, times a number.
    fn walking(
        &self,
        known: &KnownVertices<'_>,
        (weighted, edges, vertices): (bool, u64, u64),
        sums: impl Fn(f64) -> Result<Vec<f64>, Failure>,
    ) -> Result<Walk, Failure> {
        let weighted = self.weighted && weighted;
        // Where there are no edges, none lacks a weight.
        if self.weighted && !weighted && edges > 0 {
            return Err(Failure::new(
                FailureKind::Input,
                "there are no weights to follow edges by",
            )
            .hint("say their column with --weight COLUMN, or leave --weighted out"));
        }
        let change_min = self.tolerance() * self.each(vertices);
        let mut program = Walk::new(vertices, self.damping, self.iterations(), change_min);
        if self.dangling == Mode::Drop {
            program = program.losing_sinks();
        }
        if weighted {
            program = follow_weights(program, known, sums)?;
        }
        let [jumps, exits, starts] = self.proportions();
        program = jumps.apply(program, known, Walk::jumping)?;
        program = exits.apply(program, known, Walk::leaving_sinks)?;
        starts.apply(program, known, Walk::starting)
    }

    /// Number of vertices, where the tolerance is for each.
    fn each(&self, vertices: u64) -> f64 {
        if self.dangling == Mode::Networkx { vertices as f64 } else { 1.0 }
    }

    /// The note of a walk that does not treat all vertices alike, if its ranks have not settled.
    fn unsettled_walk(&self, vertices: u64, total: pagerank::RankTotal) -> Option<String> {
        self.unsettled(total, self.tolerance() * self.each(vertices), 1.0)
    }

    fn run_as<F: Float>(&self, ready: &LoadedGraph, session: &Session) -> Result<Answer, Failure>
    where
        PageRank<F>: CompiledFold<Total = pagerank::RankTotal>,
    {
        let vertices = ready.graph.all_vertices();
        let outcome = session.iterate(ready, &self.program::<F>(vertices))?;
        Ok(Answer {
            columns: Box::new(outcome.values),
            iterations: outcome.iterations,
            note: self.unsettled_of(vertices, outcome.total),
            found: None,
            levels: None,
            top: Top::Highest,
        })
    }

    /// Sum of the ranks of `vertices` vertices: the papers' sum to about that number.
    fn sum(&self, vertices: u64) -> f64 {
        if self.dangling == Mode::Unnormalized { vertices as f64 } else { 1.0 }
    }

    fn program<F: Float>(&self, vertices: u64) -> PageRank<F> {
        let tolerance = self.tolerance() * self.sum(vertices);
        PageRank::new(vertices, self.damping, self.iterations(), tolerance, self.dangling())
    }

    /// The note of a walk that treats all vertices alike, if its ranks have not settled.
    fn unsettled_of(&self, vertices: u64, total: pagerank::RankTotal) -> Option<String> {
        let sum = self.sum(vertices);
        self.unsettled(total, self.tolerance() * sum * self.each(vertices), sum)
    }

    fn cluster_program<F: Float>(&self, vertices: u64) -> ClusterProgram
    where
        PageRank<F>: CompiledFold<Total = pagerank::RankTotal>,
    {
        let options = self.clone();
        let note = move |ended: &Ended<'_, pagerank::RankTotal>| {
            Ok(ended.found(options.unsettled_of(vertices, ended.total()), None))
        };
        ClusterProgram::fold(self.program::<F>(vertices), Top::Highest, note)
    }

    fn cluster_walk(&self, graph: &ClusterGraph<'_>) -> Result<ClusterProgram, Failure> {
        let premises = (graph.weighted, graph.edges.edges(), graph.vertices);
        let sums = |scale| graph.out_weights(scale);
        let program = self.walking(&graph.known(), premises, sums)?;
        let options = self.clone();
        Ok(ClusterProgram::fold(program, Top::Highest, move |ended| {
            Ok(ended.found(options.unsettled_walk(ended.vertices, ended.total()), None))
        }))
    }

    /// Says so where iterations ended before the ranks had settled.
    fn unsettled(&self, total: pagerank::RankTotal, change_max: f64, sum: f64) -> Option<String> {
        let settled = self.tolerance() <= 0.0 || total.change < change_max;
        (!settled).then(|| {
            format!(
                "the ranks have not settled after {} iterations: the last one changed them by \
                 {:.1e}, and {:.1e} was asked for; give more --iterations or a larger --tolerance",
                self.iterations(),
                total.change / sum,
                change_max / sum,
            )
        })
    }
}

/// The walk along edges in proportion to their weights, which are scaled where their sums would
/// leave the range of floats.
fn follow_weights(
    program: Walk,
    known: &KnownVertices<'_>,
    sums_times: impl Fn(f64) -> Result<Vec<f64>, Failure>,
) -> Result<Walk, Failure> {
    let sums = sums_times(1.0)?;
    let scale = walk::scale(&sums);
    if scale.to_bits() == 1.0_f64.to_bits() {
        return Ok(program.weighted(sums));
    }
    let scaled = sums_times(scale)?;
    let Some(number) = walk::misfit(&scaled, &sums) else {
        return Ok(program.weighted(scaled).scaled(scale));
    };
    let vertex = named(&known.column(), number);
    let sum = sums[number];
    let what = format!("the weights of the edges that leave vertex {vertex} add up to {sum:e}");
    let hint = "divide all weights by the same number, or leave out edges of tiny weights";
    Err(if sum.is_finite() {
        Failure::new(FailureKind::Input, format!("{what}, too little beside those of others"))
            .hint(hint)
    } else {
        Failure::new(FailureKind::Input, format!("{what}, and expected is a finite sum"))
    })
}

impl Algorithm for Options {
    fn entry(&self) -> &'static Entry {
        &ENTRY
    }

    fn layout(&self) -> Layout {
        if self.is_partial() {
            return Layout { own: self.own_bytes(), ..Layout::of::<Walk>() };
        }
        match self.precision {
            Precision::F64 => Layout::of::<PageRank<f64>>(),
            Precision::F32 => Layout::of::<PageRank<f32>>(),
        }
    }

    fn weighs(&self) -> bool {
        self.weighted
    }

    fn weights(&self) -> WeightChoice {
        match (&self.weight, self.weighted) {
            (Some(column), _) => WeightChoice::Column(column.clone()),
            (None, true) => WeightChoice::IfPresent,
            (None, false) => WeightChoice::Ignore,
        }
    }

    fn read(&self, options: &mut ReadOptions, _reading: &mut Reading) {
        options.non_negative = self.weighted;
        options.finite = self.weighted;
    }

    fn check(&self, inputs: &[String]) -> Result<(), Failure> {
        if self.is_partial() && self.precision == Precision::F32 {
            return Err(Failure::usage("ranks by weights, or of some vertices, are f64 only"));
        }
        if self.is_partial() && self.dangling == Mode::Unnormalized {
            let what = "this mode knows no weights, and jumps to all vertices alike";
            return Err(Failure::usage(format!("--dangling unnormalized: {what}")));
        }
        if !self.dangling_weights.is_empty() && self.dangling == Mode::Drop {
            let what = "the rank of sinks is lost, and goes nowhere";
            return Err(Failure::usage(format!("--dangling drop: {what}")));
        }
        let tables = self.proportions();
        if tables.iter().filter(|table| table.files.iter().any(|name| name == "-")).count() > 1 {
            return Err(Failure::usage("standard input is one of the tables only"));
        }
        tables.iter().try_for_each(|table| tables::check(table.files, table.what, inputs))
    }

    fn tables(&self) -> Vec<String> {
        self.proportions().iter().flat_map(|table| table.files).cloned().collect()
    }

    fn stated_iterations(&self) -> Option<StatedIterations> {
        // Without a tolerance no change is too small.
        Some(StatedIterations { count: self.iterations(), exact: self.tolerance() <= 0.0 })
    }

    fn beforehand(&self) -> Beforehand {
        let walks = if self.weighs() { Beforehand::Edges } else { Beforehand::Ids };
        if self.is_partial() { walks } else { Beforehand::Sizes }
    }

    fn on_cluster(&self, graph: &ClusterGraph<'_>) -> Result<ClusterProgram, Failure> {
        Ok(match self.precision {
            _ if self.is_partial() => self.cluster_walk(graph)?,
            Precision::F64 => self.cluster_program::<f64>(graph.vertices),
            Precision::F32 => self.cluster_program::<f32>(graph.vertices),
        })
    }

    fn parameters(&self) -> Value {
        let mode = self.dangling.to_possible_value();
        json!({
            "damping": self.damping,
            "iterations_max": self.iterations(),
            "tolerance": self.tolerance(),
            "dangling": mode.map(|mode| mode.get_name().to_owned()),
            "precision": self.precision.name(),
            "weighted": self.weighted,
            "personalization": self.personalization,
            "dangling_weights": self.dangling_weights,
            "initial": self.initial,
        })
    }

    fn run(&self, ready: &LoadedGraph, session: &Session) -> Result<Answer, Failure> {
        if self.is_partial() {
            return self.walk(ready, session);
        }
        match self.precision {
            Precision::F64 => self.run_as::<f64>(ready, session),
            Precision::F32 => self.run_as::<f32>(ready, session),
        }
    }
}
