//! Alternating least squares on the command line.

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use welter_algorithms::Sides;
use welter_algorithms::als::{Als, Als4, Als8, Als16, Errors};
use welter_engine::Outcome;
use welter_engine::plan::Layout;
use welter_input::{ReadOptions, WeightChoice};
use welter_model::edges::Reading;
use welter_model::table::Id;
use welter_programs::CompiledFold;
use welter_progress::FailureKind;

use super::algorithm::{Algorithm, Answer, Entry, StatedIterations};
use super::on_cluster::{Beforehand, ClusterGraph, ClusterProgram, Finding};
use super::tables::KnownVertices;
use crate::args::{WeightArgs, above_zero};
use crate::directions::Directions;
use crate::endpoints::EdgeEndpoints;
use crate::failure::Failure;
use crate::number_format::counted;
use crate::preview::Top;
use crate::session::{LoadedGraph, Session};

pub(super) const ENTRY: Entry = Entry {
    name: "als",
    about: "Matrix factorisation by alternating least squares: users and items from ratings",
    formula: &[
        "minimise sum over edges u -> i of (rating(u, i) - x(u) . y(i))^2",
        "         + LAMBDA * (sum over users of n(u) |x(u)|^2 + sum over items of n(i) |y(i)|^2)",
        "x: factors of the users, that edges leave; y: of the items, that they come to",
        "n: number of ratings; in an iteration all x are solved for, and then all y",
    ],
    kind: "fold with a frontier; reads all edges twice an iteration",
    weights: "the ratings; there must be some",
    columns: "vertex, factor_1, factor_2 and so on (f64 each)",
    source: "X-Stream; Zhou, Wilkinson, Schreiber and Pan (2008)",
    examples: "\
Examples:
  welter run als ratings.csv -o factors.parquet        rows: user, item, rating
  welter run als ratings.csv --factors 16 --lambda 0.1 --iterations 20
  welter run als ratings.csv --report report.json      also the RMSE after each iteration

Ids of users and items must differ: if both count from 1, put a letter before the items.",
    python: "\
>>> graph = welter.from_numpy([0, 0, 1], [2, 3, 2], [5.0, 1.0, 4.0])
>>> welter.als(graph, factors=4, iterations=5).num_rows
4",
    options: Options::augment_args,
};

/// Options of the algorithm.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Alternating least squares")]
pub(crate) struct Options {
    /// Factors of a vertex
    #[arg(long, value_name = "FACTORS", default_value = "8")]
    factors: Factors,
    /// Weight of the penalty on large factors, above 0
    #[arg(long, value_name = "LAMBDA", default_value_t = 0.05, value_parser = above_zero)]
    lambda: f64,
    /// Solve for both sides so often
    #[arg(long, value_name = "N", default_value_t = 10)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    iterations: u64,
    /// Picks the factors to begin with
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    weights: WeightArgs,
}

/// Factors of a vertex.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Factors {
    #[value(name = "4")]
    F4,
    #[value(name = "8")]
    F8,
    #[value(name = "16")]
    F16,
}

impl Factors {
    fn count(self) -> u64 {
        match self {
            Self::F4 => 4,
            Self::F8 => 8,
            Self::F16 => 16,
        }
    }
}

impl Options {
    fn run_as<const K: usize, const N: usize>(
        &self,
        ready: &LoadedGraph,
        session: &Session,
    ) -> Result<Answer, Failure>
    where
        Als<K, N>: CompiledFold<Total = Errors>,
    {
        let weighted = ready.graph.plan().premises.shape.weighted;
        let Some(ends) = &ready.ends else {
            return Err(Failure::bug("ratings have no direction"));
        };
        let (items, counts) =
            items(&KnownVertices::of(ready, session), weighted.then_some(&**ends))?;
        let program = Als::<K, N>::new(items, self.lambda, self.iterations, self.seed);
        let Outcome { values, iterations, total, totals, levels } =
            session.iterate(ready, &program)?;
        let Finding { iterations, note, found } = finding(iterations, &totals, &total, counts)?;
        Ok(Answer {
            columns: Box::new(values),
            iterations,
            note,
            found,
            levels: Some(levels),
            top: Top::Highest,
        })
    }

    fn cluster_program<const K: usize, const N: usize>(
        &self,
        graph: &ClusterGraph<'_>,
    ) -> Result<ClusterProgram, Failure>
    where
        Als<K, N>: CompiledFold<Total = Errors>,
    {
        let ends = graph.weighted.then(|| graph.ends()).transpose()?;
        let (items, counts) = items(&graph.known(), ends.as_ref())?;
        let program = Als::<K, N>::new(items, self.lambda, self.iterations, self.seed);
        Ok(ClusterProgram::fold(program, Top::Highest, move |ended| {
            finding(ended.iterations, &ended.totals, &ended.total(), counts)
        }))
    }
}

/// The finding on factors after `steps` steps: of the errors of each, and of the last.
fn finding(
    steps: u64,
    totals: &[Errors],
    total: &Errors,
    counts: [u64; 2],
) -> Result<Finding, Failure> {
    // Users and items in turns, users first.
    let rmse: Vec<f64> = totals.iter().skip(2).step_by(2).map(Errors::rmse).collect();
    let last = total.rmse();
    if !rmse.iter().chain([&last]).all(|rmse| rmse.is_finite()) {
        let what = "squares of the ratings add up to more than floats hold";
        return Err(
            Failure::new(FailureKind::Input, what).hint("divide all ratings by the same number")
        );
    }
    let ratings = total.ratings as u64;
    let [users, items] = counts;
    let found = json!({ "rmse": rmse, "ratings": ratings, "users": users, "items": items });
    let note = note(&rmse, last, ratings, counts);
    Ok(Finding { iterations: steps / 2, note: Some(note), found: Some(found) })
}

/// The items, that edges come to, and how many users and items there are. `ends` of edges, where
/// these have weights.
fn items(
    known: &KnownVertices<'_>,
    ends: Option<&EdgeEndpoints>,
) -> Result<(Sides, [u64; 2]), Failure> {
    let Some(ends) = ends else {
        let what = "als needs ratings, and the edges have no weights";
        return Err(
            Failure::new(FailureKind::Input, what).hint("say their column with --weight COLUMN")
        );
    };
    let mut items = Vec::new();
    let mut users = 0;
    for slot in 0..known.slots {
        let end = slot as u32;
        match (ends.is_source(end), ends.is_target(end), known.number(slot)) {
            (true, true, vertex) => {
                let column = known.column();
                let id = match column.get(vertex.unwrap_or_default() as usize) {
                    Id::Integer(id) => id.to_string(),
                    Id::Name(name) => name.to_owned(),
                    Id::Others(count) => format!("one of {count}"),
                };
                let what = format!("{id} rates and is rated: ratings go from users to items");
                let hint = "say --bipartite where users and items are two kinds of vertices that \
                            have the same ids";
                return Err(Failure::new(FailureKind::Input, what).hint(hint));
            }
            (false, true, Some(vertex)) => items.push(vertex),
            (is_user, _, _) => users += u64::from(is_user),
        }
    }
    let counts = [users, items.len() as u64];
    Ok((Sides::of(known.vertices(), items), counts))
}

/// Distance of products from ratings.
fn note(rmse: &[f64], last: f64, ratings: u64, [users, items]: [u64; 2]) -> String {
    let of = format!(
        "{} of {} and {}",
        counted(ratings, "rating", "ratings"),
        counted(users, "user", "users"),
        counted(items, "item", "items")
    );
    match rmse {
        [] => of,
        [first, _, ..] => format!("RMSE {last:.6}, {first:.6} after one iteration; {of}"),
        [only] => format!("RMSE {only:.6}; {of}"),
    }
}

impl Algorithm for Options {
    fn entry(&self) -> &'static Entry {
        &ENTRY
    }

    fn layout(&self) -> Layout {
        let layout = match self.factors {
            Factors::F4 => Layout::of::<Als4>(),
            Factors::F8 => Layout::of::<Als8>(),
            Factors::F16 => Layout::of::<Als16>(),
        };
        // The numbers of the items, while their bits are made; and the bits of the ends.
        Layout { value: layout.value + 9, ..layout }
    }

    fn ways(&self) -> Directions {
        Directions::Both
    }

    fn read(&self, options: &mut ReadOptions, _: &mut Reading) {
        options.finite = true;
    }

    fn sees_ends(&self) -> bool {
        true
    }

    fn weighs(&self) -> bool {
        true
    }

    fn weights(&self) -> WeightChoice {
        self.weights.choice()
    }

    fn stated_iterations(&self) -> Option<StatedIterations> {
        // One for each of the two sides.
        Some(StatedIterations { count: 2 * self.iterations, exact: true })
    }

    fn beforehand(&self) -> Beforehand {
        Beforehand::Edges
    }

    fn on_cluster(&self, graph: &ClusterGraph<'_>) -> Result<ClusterProgram, Failure> {
        match self.factors {
            Factors::F4 => self.cluster_program::<4, 16>(graph),
            Factors::F8 => self.cluster_program::<8, 46>(graph),
            Factors::F16 => self.cluster_program::<16, 154>(graph),
        }
    }

    fn parameters(&self) -> Value {
        json!({
            "factors": self.factors.count(),
            "lambda": self.lambda,
            "iterations": self.iterations,
            "seed": self.seed,
        })
    }

    fn run(&self, ready: &LoadedGraph, session: &Session) -> Result<Answer, Failure> {
        match self.factors {
            Factors::F4 => self.run_as::<4, 16>(ready, session),
            Factors::F8 => self.run_as::<8, 46>(ready, session),
            Factors::F16 => self.run_as::<16, 154>(ready, session),
        }
    }
}
