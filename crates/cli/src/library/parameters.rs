//! The options of the command line, described for those who make functions of them.

use std::any::TypeId as Id;
use std::num::NonZero;

use clap::builder::ValueParser;
use clap::{Arg, ArgAction, Args, Command};

use crate::algorithms::{Entry, REGISTRY, words};
use crate::args::{CheckpointArgs, PriceArgs, ResourceArgs};

/// An algorithm.
#[derive(Debug)]
pub struct Algorithm {
    /// Name of the algorithm.
    pub name: &'static str,
    /// Description of the algorithm in one line.
    pub about: &'static str,
    /// Other words for the result.
    pub words: &'static str,
    /// Other names that are taken for the algorithm.
    pub names: &'static [&'static str],
    /// The mathematics, a line each.
    pub formula: &'static [&'static str],
    /// Columns of the result.
    pub columns: &'static str,
    /// Whether weights are looked at.
    pub weights: &'static str,
    /// Papers and benchmarks that the algorithm is from.
    pub source: &'static str,
    /// An example in Python, with what it prints.
    pub example: &'static str,
    /// Options of the algorithm.
    pub parameters: Vec<Parameter>,
}

impl Algorithm {
    /// Whether an option lets it read no weights.
    pub fn ignores_weights(&self) -> bool {
        self.parameters.iter().any(|parameter| parameter.name == "no_weights")
    }
}

/// An option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Name, words joined by `_`, and one behind it where Python has another use for the word.
    pub name: String,
    /// Help text, a sentence or two.
    pub help: String,
    /// Kind of its values.
    pub kind: Kind,
    /// The value that it has if nothing is said, as text.
    pub default: Option<String>,
    /// Whether it can be said several times.
    pub many: bool,
}

/// Kinds of values that an option has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Said or not.
    Flag,
    /// Yes, no, or not said.
    Choice,
    /// One of these words; whether nothing can be said after the name, too.
    Word(Vec<String>, bool),
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// A number of bytes, or text such as `2GiB`.
    Bytes,
    /// Name of a file or directory.
    Path,
    /// Names of files that hold a table of vertices.
    Table,
    /// A column, by its name or its number from 1.
    Column,
    /// Other text: a name, an id.
    Text,
}

/// All algorithms, in the order of the registry.
pub fn algorithms() -> Vec<Algorithm> {
    REGISTRY.iter().map(described).collect()
}

/// Where a run is kept, so that it can be resumed.
pub fn checkpoints() -> Vec<Parameter> {
    parameters(&CheckpointArgs::augment_args(Command::new("checkpoints")))
}

/// Parameters that say what of the machine may be taken.
pub fn resources() -> Vec<Parameter> {
    parameters(&ResourceArgs::augment_args(Command::new("resources")))
}

/// Prices of what a run takes.
pub fn prices() -> Vec<Parameter> {
    parameters(&PriceArgs::augment_args(Command::new("prices")))
}

fn described(entry: &Entry) -> Algorithm {
    Algorithm {
        name: entry.name,
        about: entry.about,
        words: words::of(entry.name),
        names: words::names(entry.name),
        formula: entry.formula,
        columns: entry.columns,
        weights: entry.weights,
        source: entry.source,
        example: entry.python,
        parameters: parameters(&entry.command()),
    }
}

fn parameters(command: &Command) -> Vec<Parameter> {
    command.get_arguments().filter_map(parameter).collect()
}

fn parameter(arg: &Arg) -> Option<Parameter> {
    let name = arg.get_long()?.replace('-', "_");
    let help = arg.get_long_help().or_else(|| arg.get_help())?.to_string();
    let default = arg.get_default_values().first();
    let many = matches!(arg.get_action(), ArgAction::Append);
    let default = default.map(|value| value.to_string_lossy().into_owned());
    let name = if name == "lambda" { "lambda_".to_owned() } else { name };
    Some(Parameter { name, help, kind: kind(arg), default, many })
}

fn kind(arg: &Arg) -> Kind {
    const WHOLE: [Id; 5] = [
        Id::of::<u64>(),
        Id::of::<usize>(),
        Id::of::<u32>(),
        Id::of::<u16>(),
        Id::of::<NonZero<u64>>(),
    ];
    if matches!(arg.get_action(), ArgAction::SetTrue) {
        return Kind::Flag;
    }
    let words = arg.get_possible_values();
    if !words.is_empty() {
        let words = words.iter().filter(|word| !word.is_hide_set());
        let words = words.map(|word| word.get_name().to_owned()).collect();
        let may_be_bare = arg.get_num_args().is_some_and(|count| count.min_values() == 0);
        return Kind::Word(words, may_be_bare);
    }
    let parser: &ValueParser = arg.get_value_parser();
    let id = parser.type_id();
    let value =
        arg.get_value_names().and_then(|names| names.first()).map(clap::builder::Str::as_str);
    let is = |others: &[Id]| others.iter().any(|other| id == *other);
    if value == Some("SIZE") {
        Kind::Bytes
    } else if is(&WHOLE) {
        Kind::Integer
    } else if is(&[Id::of::<f64>(), Id::of::<f32>()]) {
        Kind::Number
    } else if value == Some("FILE") && matches!(arg.get_action(), ArgAction::Append) {
        Kind::Table
    } else if matches!(value, Some("FILE" | "DIR")) {
        Kind::Path
    } else if value == Some("COLUMN") {
        Kind::Column
    } else {
        Kind::Text
    }
}
