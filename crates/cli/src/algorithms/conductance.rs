//! Conductance on the command line.

use clap::Args;
use serde_json::{Value, json};
use welter_algorithms::conductance::{Across, Amount, Cut};
use welter_algorithms::{Conductance, Sides};
use welter_engine::Outcome;
use welter_engine::plan::{InputScanCost, Layout};
use welter_input::attributes::AttributeOptions;
use welter_input::{ColumnRef, ReadOptions, WeightChoice};
use welter_model::edges::Reading;
use welter_model::ids::IdMap;
use welter_programs::CompiledFold;
use welter_progress::FailureKind;

use super::algorithm::{Algorithm, Answer, Entry, StatedIterations};
use super::on_cluster::{ClusterGraph, ClusterProgram};
use super::tables::{self, KnownVertices};
use super::traversal::Direction;
use crate::args::{finite, parsed};
use crate::directions::Directions;
use crate::failure::Failure;
use crate::number_format::{counted, grouped};
use crate::preview::Top;
use crate::session::{LoadedGraph, Session};

pub(super) const ENTRY: Entry = Entry {
    name: "conductance",
    about: "Conductance of a cut: the share of the smaller side's edges that cross it",
    formula: &[
        "conductance = cut / min(volume(S), volume(rest))      none where a side has no edges",
        "cut         = number of edges from S to the rest",
        "volume(X)   = sum of the degrees of the vertices in X; a self-loop counts once",
        "S           = vertices of odd ids, or those with a value above a limit in a table",
    ],
    kind: "scan of the input, or fold with weights and on kept graphs; reads all edges once",
    weights: "added up with --weighted, else not looked at",
    columns: "vertex, across (edges to the other side: u32, f64 if weighted), side (u32; 1 in S)",
    source: "Chaos, Table 1; X-Stream; Leskovec, Lang, Dasgupta and Mahoney (2008)",
    examples: "\
Examples:
  welter run conductance friends.csv                            odd ids against even ones
  welter run conductance friends.csv --membership groups.csv    1 or 0 in the second column
  welter run conductance friends.csv --membership people.csv --membership-column age \\
    --membership-above 40
  welter run conductance calls.csv --weighted --membership groups.csv --membership-default 0
  welter run conductance links.tsv --direction out              links from S, of all that leave",
    python: r#">>> graph = welter.from_numpy([0, 1, 2, 0], [2, 3, 0, 1], undirected=True)
>>> welter.conductance(graph).report["found"]["conductance"]
0.3333333333333333"#,
    options: Options::augment_args,
};

/// Options of the algorithm.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Conductance")]
pub(crate) struct Options {
    /// Tables (text, Parquet, Arrow) of the sides: ids in the first column, numbers in another; `-`
    /// is standard input [default: odd ids are one side; of strings, every second]
    #[arg(long, alias = "side-from", value_name = "FILE")]
    membership: Vec<String>,
    /// Column of the numbers, by number (from 1) or name [default: the second]
    #[arg(long, alias = "side-column", value_name = "COLUMN", requires = "membership")]
    #[arg(value_parser = parsed::<ColumnRef>)]
    membership_column: Option<ColumnRef>,
    /// Numbers above this one are in S, all others in the rest
    #[arg(long, alias = "side-above", value_name = "NUMBER", requires = "membership")]
    #[arg(allow_negative_numbers = true, value_parser = finite, default_value = "0")]
    membership_above: f64,
    /// Number of vertices without a row [default: an error]
    #[arg(long, alias = "side-default", value_name = "NUMBER", requires = "membership")]
    #[arg(allow_negative_numbers = true, value_parser = finite)]
    membership_default: Option<f64>,
    /// Add up weights instead of counting edges
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
    /// Direction of edges: out counts those that leave S, of all that leave a side
    #[arg(long, value_name = "WAY", default_value = "both")]
    direction: Direction,
}

impl Options {
    fn run_as<A: Amount>(&self, ready: &LoadedGraph, session: &Session) -> Result<Answer, Failure>
    where
        Conductance<A>: CompiledFold<Value = Across<A>, Total = Cut>,
    {
        let weighted = ready.graph.plan().premises.shape.weighted;
        let program = self.program::<A>(&KnownVertices::of(ready, session), weighted)?;
        let outcome = session.iterate(ready, &program)?;
        check_sums(&outcome.total)?;
        Ok(answer::<A>(outcome))
    }

    /// The program on a graph of these vertices, with weights or without.
    fn program<A: Amount>(
        &self,
        known: &KnownVertices<'_>,
        weighted: bool,
    ) -> Result<Conductance<A>, Failure> {
        if A::WEIGHTED && !weighted {
            return Err(Failure::new(FailureKind::Input, "there are no weights to add up")
                .hint("say their column with --weight COLUMN"));
        }
        let sides = self.sides(known)?;
        let within = (0..known.slots).filter(|slot| sides.has(*slot));
        let within = within.filter_map(|slot| known.number(slot));
        Ok(Conductance::new(Sides::of(known.vertices(), within)))
    }

    fn cluster_program<A: Amount>(
        &self,
        graph: &ClusterGraph<'_>,
    ) -> Result<ClusterProgram, Failure>
    where
        Conductance<A>: CompiledFold<Value = Across<A>, Total = Cut>,
    {
        let program = self.program::<A>(&graph.known(), graph.weighted)?;
        Ok(ClusterProgram::fold(program, Top::Highest, |ended| {
            let total = ended.total();
            check_sums(&total)?;
            Ok(ended.found(Some(note(&total)), Some(found::<A>(&total))))
        }))
    }

    /// The sides of all slots.
    fn sides(&self, known: &KnownVertices<'_>) -> Result<Sides, Failure> {
        if self.membership.is_empty() {
            return odd(known);
        }
        let value = self.membership_column.clone();
        let numbers = tables::slot_values(&self.membership, known, |options| {
            let missing = self.membership_default;
            AttributeOptions { value, missing, refuse_shared: true, ..options }
        })?;
        let within = (0..).zip(&numbers).filter(|(_, number)| **number > self.membership_above);
        Ok(Sides::of(numbers.len() as u64, within.map(|(slot, _)| slot)))
    }
}

/// Refuses sums beyond floats.
fn check_sums(Cut { cut, volumes, .. }: &Cut) -> Result<(), Failure> {
    if [cut, &volumes[0], &volumes[1]].iter().all(|sum| sum.is_finite()) {
        return Ok(());
    }
    let what = "the weights of a side add up to more than floats hold";
    Err(Failure::new(FailureKind::Input, what).hint("divide all weights by the same number"))
}

/// Odd ids are within; of names every second one, in their order.
fn odd(&KnownVertices { ids, slots, .. }: &KnownVertices<'_>) -> Result<Sides, Failure> {
    let id = |slot: u64| match ids {
        IdMap::Same | IdMap::Declared | IdMap::Names(_) | IdMap::TwoKinds(_) => slot,
        IdMap::Offset(first) => first + slot,
        IdMap::Sparse(ids) => ids[slot as usize],
        IdMap::NonCompact(ids) => ids.named().get(slot as usize).copied().unwrap_or_default(),
    };
    if ids.others() > 0 {
        let what = "of more than 2^32 vertices those without edges are not told apart here, so \
                    their ids cannot part them";
        let hint = "say the sides of the others with --membership FILE --membership-default 0";
        return Err(Failure::new(FailureKind::Input, what).hint(hint));
    }
    Ok(Sides::of(slots, (0..slots).filter(|slot| id(*slot) % 2 == 1)))
}

/// The answer of a run.
fn answer<A: Amount>(outcome: Outcome<Across<A>, Cut>) -> Answer {
    let total = outcome.total;
    Answer {
        columns: Box::new(outcome.values),
        iterations: outcome.iterations,
        note: Some(note(&total)),
        found: Some(found::<A>(&total)),
        levels: None,
        top: Top::Highest,
    }
}

/// The result, for people.
fn note(total: &Cut) -> String {
    let Cut { cut, volumes: [rest, set], vertices } = *total;
    let [others, members] = vertices.map(|count| counted(count, "vertex", "vertices"));
    let sums = format!(
        "the cut is {}, the volumes {} ({members}) and {} ({others})",
        amount(cut),
        amount(set),
        amount(rest)
    );
    match total.conductance() {
        Some(phi) => format!("conductance {phi:.6}: {sums}"),
        None => format!("no conductance, as a side has no edges: {sums}"),
    }
}

/// A sum of weights or a number of edges.
fn amount(sum: f64) -> String {
    if sum.fract() == 0.0 && (0.0..9e15).contains(&sum) {
        grouped(sum as u64)
    } else {
        format!("{sum:.6e}")
    }
}

/// The result, for the report.
fn found<A: Amount>(total: &Cut) -> Value {
    let number = |sum: f64| if A::WEIGHTED { json!(sum) } else { json!(sum as u64) };
    let Cut { cut, volumes, vertices } = *total;
    let [rest, set] = volumes.map(number);
    json!({
        "conductance": total.conductance(),
        "cut": number(cut),
        "volume": { "set": set, "rest": rest },
        "vertices": { "set": vertices[1], "rest": vertices[0] },
    })
}

impl Algorithm for Options {
    fn entry(&self) -> &'static Entry {
        &ENTRY
    }

    fn layout(&self) -> Layout {
        let layout = if self.weighted {
            Layout::of::<Conductance<f64>>()
        } else {
            Layout::of::<Conductance<u32>>()
        };
        // A number by the slot and one by the vertex, as tables are read; then a bit.
        let given = if self.membership.is_empty() { 1 } else { 16 };
        let input_scan = (!self.weighted).then(|| InputScanCost::of::<Conductance<u32>>(given));
        Layout { value: layout.value + given, input_scan, ..layout }
    }

    fn check(&self, inputs: &[String]) -> Result<(), Failure> {
        tables::check(&self.membership, "the table of sides", inputs)
    }

    fn weights(&self) -> WeightChoice {
        match &self.weight {
            _ if !self.weighted => WeightChoice::Ignore,
            Some(column) => WeightChoice::Column(column.clone()),
            None => WeightChoice::IfPresent,
        }
    }

    fn ways(&self) -> Directions {
        self.direction.ways()
    }

    fn read(&self, options: &mut ReadOptions, reading: &mut Reading) {
        self.direction.put(reading);
        options.non_negative = self.weighted;
        options.finite = self.weighted;
    }

    fn tables(&self) -> Vec<String> {
        self.membership.clone()
    }

    fn stated_iterations(&self) -> Option<StatedIterations> {
        Some(StatedIterations { count: 1, exact: true })
    }

    fn on_cluster(&self, graph: &ClusterGraph<'_>) -> Result<ClusterProgram, Failure> {
        if self.weighted {
            self.cluster_program::<f64>(graph)
        } else {
            self.cluster_program::<u32>(graph)
        }
    }

    fn parameters(&self) -> Value {
        let above = (!self.membership.is_empty()).then_some(self.membership_above);
        json!({
            "membership": self.membership,
            "membership_column": self.membership_column.as_ref().map(ToString::to_string),
            "membership_above": above,
            "membership_default": self.membership_default,
            "weighted": self.weighted,
            "direction": self.direction.name(),
        })
    }

    fn run(&self, ready: &LoadedGraph, session: &Session) -> Result<Answer, Failure> {
        if self.weighted {
            self.run_as::<f64>(ready, session)
        } else if ready.graph.plan().scans_input() {
            let program = Conductance::<u32>::new(self.sides(&KnownVertices::of(ready, session))?);
            Ok(answer::<u32>(session.count(ready, &program)?))
        } else {
            self.run_as::<u32>(ready, session)
        }
    }
}
