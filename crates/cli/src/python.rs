//! `python/welter/_algorithms.py`: a function for each algorithm, with the options, defaults and
//! texts of the command line, so that the two cannot drift apart.

use std::fmt::Write;

use crate::library::{Described, Kind, Parameter, algorithms, checkpoints, prices, resources};

/// Columns of the code.
const COLUMNS: usize = 99;

const HEAD: &str = r#""""One function for each algorithm, with the options of the command line.

Made by `cargo run -- markdown python`; a test compares it with the code.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal

from ._old_names import with_old_names
from ._result import Result
from ._run import run

Path = str | os.PathLike[str]
"#;

/// The text of the module.
pub(crate) fn module() -> String {
    let all = algorithms();
    let of_runs: Vec<Parameter> = [undirected()]
        .into_iter()
        .chain(checkpoints())
        .chain(resources())
        .chain(prices())
        .collect();
    let mut text = HEAD.to_owned();
    let names: Vec<String> =
        all.iter().map(|algorithm| format!("    \"{}\",\n", algorithm.name)).collect();
    // Writing to a string cannot fail.
    let _ = write!(text, "\n__all__ = [\n{}]\n", names.concat());
    text.push_str("\n#: Names of the field, and the functions that they name.\nNAMES = {\n");
    for algorithm in &all {
        for name in algorithm.names.iter().filter(|name| !name.contains('-')) {
            let _ = writeln!(text, "    \"{name}\": \"{}\",", algorithm.name);
        }
    }
    text.push_str("}\n");
    for algorithm in &all {
        let _ = write!(text, "\n\n{}", function(algorithm, &of_runs));
    }
    text
}

/// Directions of edges, which are an option of the graph on the command line.
fn undirected() -> Parameter {
    Parameter {
        name: "undirected".to_owned(),
        help: "Whether every edge goes both ways [default: as the graph was made]".to_owned(),
        kind: Kind::Choice,
        default: None,
        many: false,
    }
}

fn function(algorithm: &Described, of_runs: &[Parameter]) -> String {
    // `weight=False` says the one, and functions say nothing that could be kept quiet.
    let is_left_out = |name: &str| matches!(name, "no_weights" | "quiet");
    let parameters = algorithm.parameters.iter().chain(of_runs);
    let parameters: Vec<&Parameter> =
        parameters.filter(|parameter| !is_left_out(&parameter.name)).collect();
    let mut text = format!("@with_old_names\ndef {}(\n    graph: Any,\n    *,\n", algorithm.name);
    for parameter in &parameters {
        let (kind, default) = typed(parameter);
        let line = format!("    {}: {kind} = {default},\n", parameter.name);
        text.push_str(&if line.len() > COLUMNS { opened(&line) } else { line });
    }
    text.push_str("    cluster: Any = None,\n    progress: bool | None = None,\n) -> Result:\n");
    text.push_str(&docstring(algorithm, &parameters));
    text.push_str("    options = {\n");
    for parameter in &parameters {
        let _ = writeln!(text, "        \"{0}\": {0},", parameter.name);
    }
    text.push_str("        \"cluster\": cluster,\n");
    let name = algorithm.name;
    let _ = writeln!(text, "    }}\n    return run({name}, graph, options, progress)");
    text
}

fn docstring(algorithm: &Described, parameters: &[&Parameter]) -> String {
    let mut text = wrapped(&format!("\"\"\"{}.", algorithm.about), 4, 4);
    text.push('\n');
    let words = format!("Also known as: {}.", algorithm.words);
    let _ = writeln!(text, "{}", wrapped(&words, 4, 4));
    text.push_str("    ::\n\n");
    for line in algorithm.formula {
        let translated = line.contains("--").then(|| in_python(line, parameters));
        let _ = writeln!(text, "        {}", translated.as_deref().unwrap_or(line));
    }
    text.push_str("\n    Parameters\n    ----------\n");
    text.push_str("    graph : a graph, or what :func:`welter.as_graph` makes one of\n");
    for parameter in parameters {
        let has_none = parameter.name == "weight" && algorithm.ignores_weights();
        let none = if has_none { "; False: none [" } else { " [" };
        let help = in_python(&parameter.help, parameters).replacen(" [", none, 1);
        let entry = format!("{} : {help}", parameter.name);
        text.push_str(&wrapped(&entry, 4, 8));
    }
    text.push_str(
        "    cluster : run on several machines: ``\"local:4\"``, or see :mod:`welter.cluster`\n",
    );
    text.push_str("    progress : whether bars are drawn; None: on terminals and in notebooks\n");
    let columns = in_python(algorithm.columns, parameters);
    let columns = ["-1", "inf"].iter().fold(columns, |columns, missing| {
        columns.replace(&format!("{missing} where no path leads"), "None where no path leads")
    });
    let columns = format!("Result: {columns}");
    let _ = write!(text, "\n    Returns\n    -------\n{}", wrapped(&columns, 4, 8));
    let _ = write!(text, "\n    Source: {}\n", algorithm.source);
    text.push_str("\n    Examples\n    --------\n    >>> import welter\n");
    for line in algorithm.example.lines() {
        let _ = writeln!(text, "    {line}");
    }
    text.push_str("    \"\"\"\n");
    text
}

/// A line whose words stand one below the other.
fn opened(line: &str) -> String {
    let words = line.replacen('[', "[\n        ", 1).replace("\", \"", "\",\n        \"");
    words.replacen("\"]", "\",\n    ]", 1).replacen("] |", "]\n    |", 1)
}

/// The type of a parameter, and its default.
fn typed(parameter: &Parameter) -> (String, String) {
    let quoted = |word: &str| format!("\"{word}\"");
    let default = parameter.default.as_deref();
    let (kind, default) = match &parameter.kind {
        Kind::Flag => return ("bool".to_owned(), "False".to_owned()),
        Kind::Word(words, bare) => {
            // Words that are numbers are numbers.
            let literal = |word: &str| match word.parse::<u64>() {
                Ok(_) => word.to_owned(),
                Err(_) => quoted(word),
            };
            let words: Vec<String> = words.iter().map(|word| literal(word)).collect();
            let kind = format!("Literal[{}]", words.join(", "));
            (if *bare { format!("bool | {kind}") } else { kind }, default.map(literal))
        }
        Kind::Integer => ("int".to_owned(), default.map(str::to_owned)),
        Kind::Number => ("float".to_owned(), default.map(number)),
        Kind::Choice => ("bool".to_owned(), default.map(str::to_owned)),
        Kind::Column if parameter.name == "weight" => {
            ("int | str | Literal[False]".to_owned(), default.map(quoted))
        }
        Kind::Column | Kind::Bytes => ("int | str".to_owned(), default.map(quoted)),
        // A data frame or a dictionary, too.
        Kind::Table => ("Any".to_owned(), default.map(quoted)),
        Kind::Path if parameter.many => ("Path | Sequence[Path]".to_owned(), default.map(quoted)),
        Kind::Path => ("Path".to_owned(), default.map(quoted)),
        Kind::Text if parameter.name == "edge_cache" => {
            ("str | Sequence[str]".to_owned(), default.map(quoted))
        }
        Kind::Text if parameter.many => ("Any".to_owned(), default.map(quoted)),
        Kind::Text => ("str | int | float".to_owned(), default.map(quoted)),
    };
    match default {
        Some(default) => (kind, default),
        None if kind == "Any" => (kind, "None".to_owned()),
        None => (format!("{kind} | None"), "None".to_owned()),
    }
}

/// A number as Python writes floats.
fn number(text: &str) -> String {
    if text.contains(['.', 'e', 'i']) { text.to_owned() } else { format!("{text}.0") }
}

/// Phrases of the command line, and what a function says in their place.
const OTHERWISE: &[(&str, &str)] = &[
    ("; `-` is standard input", ""),
    ("; may be said several times", "; a list of several"),
    ("; may be given more than once", "; a list of several"),
    ("Tables (text, Parquet, Arrow)", "A dictionary, a data frame or files (text, Parquet, Arrow)"),
    ("Files of such ids", "A data frame or files of such ids"),
    ("Tables of", "A dictionary, a data frame or files of"),
    ("`welter resume DIR`", "`welter.resume(DIR)`"),
    ("is removed when the results are written", "is removed when the result is there"),
];

/// A text of the command line in the words of Python: options are arguments with their values.
fn in_python(help: &str, parameters: &[&Parameter]) -> String {
    let help =
        OTHERWISE.iter().fold(help.to_owned(), |help, (phrase, here)| help.replace(phrase, here));
    let mut words: Vec<String> = Vec::new();
    let mut of: Option<&Parameter> = None;
    for word in help.split_whitespace() {
        if let Some(parameter) = of.take()
            && let Some(last) = words.last_mut()
            && let Some(value) = literal(parameter, word)
        {
            last.push_str(&value);
            continue;
        }
        let Some((before, option)) = word.split_once("--") else {
            words.push(word.to_owned());
            continue;
        };
        let letter = |c: char| c.is_ascii_lowercase() || c == '-';
        let end = option.find(|c| !letter(c)).unwrap_or(option.len());
        let (name, after) = (option[..end].replace('-', "_"), &option[end..]);
        let parameter = parameters.iter().find(|parameter| parameter.name == name).copied();
        of = parameter.filter(|_| after.is_empty());
        let value =
            if parameter.is_some_and(|known| known.kind == Kind::Flag) { "=True" } else { "" };
        words.push(format!("{before}{name}{value}{after}"));
    }
    words.join(" ")
}

/// The value of an option that may stand behind its name, as a call says it.
fn literal(parameter: &Parameter, word: &str) -> Option<String> {
    let Kind::Word(words, _) = &parameter.kind else { return None };
    let end = word.find(|c: char| !c.is_alphanumeric() && c != '-').unwrap_or(word.len());
    let (value, after) = word.split_at(end);
    words.iter().any(|known| known == value).then(|| format!("=\"{value}\"{after}"))
}

/// A paragraph in lines, the first behind `first` spaces and the others behind `others`.
fn wrapped(text: &str, first: usize, others: usize) -> String {
    let mut out = String::new();
    let mut line = " ".repeat(first);
    let mut is_empty = true;
    for word in text.split_whitespace() {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > COLUMNS {
            out.push_str(&line);
            out.push('\n');
            line = " ".repeat(others);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    out.push_str(&line);
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_named_as_in_python() {
        let parameter = |name: &str, kind| {
            let name = name.to_owned();
            Parameter { name, help: String::new(), kind, default: None, many: false }
        };
        let words = Kind::Word(vec!["vertex".to_owned(), "edge".to_owned()], false);
        let (messages, all) = (parameter("messages", words), parameter("all", Kind::Flag));
        let text =
            "say --membership FILE\n(--all) and 1e-9, or --messages vertex, or --messages of";
        assert_eq!(
            in_python(text, &[&messages, &all]),
            "say membership FILE (all=True) and 1e-9, or messages=\"vertex\", or messages of"
        );
    }

    #[test]
    fn paragraphs_are_wrapped() {
        let text = wrapped(&"word ".repeat(30), 4, 8);
        assert!(text.lines().all(|line| line.len() <= COLUMNS));
        assert!(
            text.starts_with("    word") && text.lines().nth(1).unwrap().starts_with("        w")
        );
        assert_eq!(text.matches("word").count(), 30);
    }

    #[test]
    fn every_algorithm_has_a_function_with_its_options_and_an_example() {
        let text = module();
        for algorithm in algorithms() {
            assert!(text.contains(&format!("\ndef {}(\n", algorithm.name)), "{}", algorithm.name);
            assert!(algorithm.example.contains(">>> "), "{}", algorithm.name);
            for parameter in algorithm.parameters {
                let is_listed = text.contains(&format!("    {} : ", parameter.name));
                assert_eq!(is_listed, parameter.name != "no_weights", "{}", parameter.name);
            }
        }
        assert!(text.contains("    damping: float = 0.85,\n"));
        assert!(text.contains("    memory: int | str | None = None,\n"));
    }
}
