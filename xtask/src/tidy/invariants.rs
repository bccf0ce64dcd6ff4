//! Invariants that a module states, and where each of them is held.
//!
//! ```text
//! //! Invariant: rows are counted once. Asserted in `Rows::add`. Tested by `each_row_counts_once`.
//! ```
//!
//! From one "Invariant:" or "Invariants:" of a module's documentation to the next stands a
//! sentence, or part of one before a semicolon, that begins as one of [`FORMS`] and names functions
//! in backticks, with their type or module where the name alone says too little. A name that
//! nothing bears is a finding, and so are a function without an assertion that is said to have one,
//! and a test that is none.

use std::collections::BTreeMap;

use super::source::{Finding, Source};

/// Crates whose modules all say so.
const CRATES: [&str; 18] = [
    "benches/src/",
    "crates/algorithms/src/",
    "crates/cli/src/",
    "crates/cluster/src/",
    "crates/engine/src/",
    "crates/input/src/",
    "crates/model/src/",
    "crates/objects/src/",
    "crates/output/src/",
    "crates/programs/src/",
    "crates/progress/src/",
    "crates/protocol/src/",
    "crates/python/src/",
    "crates/sim/src/",
    "crates/store/src/",
    "crates/testing/src/",
    "crates/transport/src/",
    "crates/worker/src/",
];

/// Beginnings of the sentences, in small letters, and which functions they may name.
const FORMS: [(&str, Kind); 4] = [
    ("asserted in ", Kind::Asserting),
    ("tested by ", Kind::Test),
    ("checked in ", Kind::Function),
    ("checked by the simulator in ", Kind::Function),
];

/// Kind of functions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Functions whose bodies have an assertion.
    Asserting,
    /// The test harness runs them.
    Test,
    /// Any: an error path, a checksum, a checker of the simulator.
    Function,
}

/// Function of some Rust file.
struct Function<'a> {
    source: &'a Source,
    asserts: bool,
    is_test: bool,
}

/// Functions by their names.
type Functions<'a> = BTreeMap<&'a str, Vec<Function<'a>>>;

/// Invariants without a place where they are held, and places that are not there.
pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    check_in(sources, &CRATES)
}

fn check_in(sources: &[Source], crates: &[&str]) -> Vec<Finding> {
    let mut functions = Functions::new();
    for source in sources.iter().filter(|source| source.is("rs")) {
        collect(source, &mut functions);
    }
    let stated = |source: &&Source| crates.iter().any(|begin| source.path.starts_with(begin));
    let mut findings = Vec::new();
    for source in sources.iter().filter(|source| source.is("rs")).filter(stated) {
        for (line, text) in invariants(source) {
            let messages = wrong(&text, &functions);
            findings.extend(messages.into_iter().map(|text| Finding::new(source, line, text)));
        }
    }
    findings
}

/// Invariants in the documentation of a module: where they begin, and their text up to the next.
fn invariants(source: &Source) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    for (number, line) in source.numbered() {
        let Some(mut text) = line.strip_prefix("//!") else { break };
        while let Some(at) = marker(text) {
            if let Some((_, last)) = found.last_mut() {
                last.push_str(&text[..at]);
            }
            let rest = at + "Invariant".len();
            found.push((number, String::new()));
            text = &text[rest..];
        }
        if let Some((_, last)) = found.last_mut() {
            last.push_str(text);
        }
    }
    found
}

/// Where the next invariant of a line begins.
fn marker(text: &str) -> Option<usize> {
    let begins = |at: usize| text[..at].ends_with([' ', '*']);
    let states = |at: usize| {
        let rest = &text[at + "Invariant".len()..];
        rest.strip_prefix('s').unwrap_or(rest).starts_with([':', ',', ' '])
    };
    text.match_indices("Invariant").map(|(at, _)| at).find(|&at| begins(at) && states(at))
}

/// Everything that is wrong with where an invariant is held.
fn wrong(text: &str, functions: &Functions) -> Vec<String> {
    let mut messages = Vec::new();
    let mut is_held = false;
    for (begin, kind) in FORMS {
        for (at, _) in text.to_ascii_lowercase().match_indices(begin) {
            let rest = &text[at + begin.len()..];
            let ends = [". ", "; "].iter().filter_map(|end| rest.find(end)).min();
            let clause = &rest[..ends.unwrap_or(rest.len())];
            let names: Vec<&str> = clause.split('`').skip(1).step_by(2).collect();
            is_held |= !names.is_empty();
            let unknown = names.iter().filter(|name| !is_there(name, kind, functions));
            messages.extend(unknown.map(|name| match kind {
                Kind::Asserting => format!("no function `{name}` has an assertion"),
                Kind::Test => format!("no test is called `{name}`"),
                Kind::Function => format!("no function is called `{name}`"),
            }));
        }
    }
    if !is_held {
        let forms = FORMS.map(|(begin, _)| format!("\"{begin}`name`\""));
        messages.push(format!("an invariant says where it is held: {}", forms.join(" or ")));
    }
    messages
}

/// Whether a function of this kind has such a name, in a file of its type or module where the name
/// has one.
fn is_there(name: &str, kind: Kind, functions: &Functions) -> bool {
    let (owner, name) = name.rsplit_once("::").map_or((None, name), |(of, name)| (Some(of), name));
    let of_kind = |function: &&Function| match kind {
        Kind::Asserting => function.asserts,
        Kind::Test => function.is_test,
        Kind::Function => true,
    };
    let found = functions.get(name).into_iter().flatten().filter(of_kind);
    owner.map_or(found.clone().next().is_some(), |owner| {
        found.into_iter().any(|function| is_of(function.source, owner))
    })
}

/// Whether a file is a module of this name, or implements a type of it.
fn is_of(source: &Source, owner: &str) -> bool {
    let module = [format!("/{owner}.rs"), format!("/{owner}/mod.rs")];
    let implements = |line: &str| {
        let mut words = line.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        ["impl", "trait"].contains(&words.next().unwrap_or_default())
            && words.any(|word| word == owner)
    };
    let begins =
        |line: &str| implements(line.trim_start_matches("pub ").trim_start_matches("pub(crate) "));
    module.iter().any(|end| source.path.ends_with(end.as_str())) || source.text.lines().any(begins)
}

/// Adds the functions of a file. A body ends at the first line that is indented as its head is and
/// closes a brace: rustfmt sees to that.
fn collect<'a>(source: &'a Source, functions: &mut Functions<'a>) {
    let lines: Vec<&str> = source.text.lines().collect();
    let mut is_test = false;
    for (at, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        if code == "#[test]" {
            is_test = true;
        } else if let Some(name) = defined(code) {
            let indent = &line[..line.len() - code.len()];
            let ends = |line: &&&str| line.strip_prefix(indent).is_some_and(|rest| rest == "}");
            let length = if code.ends_with(['}', ';']) {
                1
            } else {
                lines[at..].iter().position(|line| ends(&line)).unwrap_or(0)
            };
            let asserts = lines[at..at + length].iter().any(|line| is_assertion(line));
            functions.entry(name).or_default().push(Function { source, asserts, is_test });
            is_test = false;
        } else if !code.starts_with("#[") {
            is_test = false;
        }
    }
}

/// The name of the function that a line of code begins.
fn defined(code: &str) -> Option<&str> {
    const BEFORE: [&str; 7] =
        ["pub", "pub(crate)", "pub(super)", "const", concat!("un", "safe"), "async", "extern"];
    let mut words = code.split(' ');
    words.find(|word| !BEFORE.contains(word)).filter(|word| *word == "fn")?;
    let name = words.next()?;
    name.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().filter(|name| !name.is_empty())
}

fn is_assertion(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    ["assert!(", "assert_eq!(", "assert_ne!("].iter().any(|word| code.contains(word))
}

#[cfg(test)]
mod tests {
    use super::super::source::source;
    use super::*;

    const CODE: &str = "\
//! Rows.

impl Rows {
    pub(crate) fn add(&mut self) {
        assert!(true);
    }

    fn sum(&self) -> u64 {
        // assert!(
        0
    }
}

#[test]
#[should_panic]
fn each_once() {
}
";

    /// Messages on an invariant with this text, whose functions are in [`CODE`].
    fn messages(text: &str) -> Vec<String> {
        let module = format!("//! A module.\n//!\n{text}\n\nuse x;\n");
        let sources = [source("crates/a/src/m.rs", &module), source("crates/a/src/rows.rs", CODE)];
        check_in(&sources, &["crates/a/src/"]).iter().map(ToString::to_string).collect()
    }

    fn is_clean(text: &str) -> bool {
        messages(text).is_empty()
    }

    #[test]
    fn places_where_invariants_are_held_are_found() {
        assert!(is_clean("//! Nothing is claimed."));
        assert!(is_clean("//! Invariant: each once. Asserted in `add`."));
        assert!(is_clean(
            "//! **Invariant:** each once. Asserted in `Rows::add`, not in a\n//! row."
        ));
        assert!(is_clean("//! Invariants: a · b. Tested by\n//! `each_once`. Checked in `sum`."));
        assert!(is_clean("//! Errors are `EngineError::Invariant`."));
        let block =
            "//! Invariant:\n//!\n//! ```text\n//! a <= b\n//! ```\n//! Checked in `rows::sum`.";
        assert!(is_clean(block));
    }

    #[test]
    fn an_invariant_that_is_held_nowhere_is_found() {
        let held = "an invariant says where it is held";
        let found = messages("//! Invariant: each once.");
        assert!(found.len() == 1 && found[0].starts_with("crates/a/src/m.rs:3: "), "{found:?}");
        assert!(found[0].contains(held));
        assert!(
            messages("//! Invariants, while it lasts: each once. Asserted in add.")[0]
                .contains(held)
        );
        let second = "//! Invariant: a. Checked in `sum`. **Invariant:** b\n//! and c.";
        assert!(messages(second).len() == 1 && messages(second)[0].contains(held));
    }

    #[test]
    fn names_that_nothing_bears_are_found() {
        for (text, expected) in [
            ("//! Invariant: a. Asserted in `sum`.", "no function `sum` has an assertion"),
            ("//! Invariant: a. Asserted in `each_once`.", "`each_once` has an assertion"),
            ("//! Invariant: a. Tested by `add`.", "no test is called `add`"),
            ("//! Invariant: a. Checked in `sum` and `gone`.", "no function is called `gone`"),
            ("//! Invariant: a. Asserted in `Columns::add`.", "no function `Columns::add` has"),
            (
                "//! Invariant: a. Checked in `columns::sum`.",
                "no function is called `columns::sum`",
            ),
        ] {
            let found = messages(text);
            assert!(found.len() == 1 && found[0].contains(expected), "{text}: {found:?}");
        }
    }

    #[test]
    fn crates_that_are_not_listed_are_left_alone() {
        let module = source("crates/b/src/m.rs", "//! Invariant: each once.\n");
        assert_eq!(check_in(&[module], &["crates/a/src/"]), []);
    }
}
