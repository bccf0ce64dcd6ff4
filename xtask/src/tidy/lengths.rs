//! Lengths of functions: at most [`LINES_MAX`] lines of code, so that a function fits in a glance.
//!
//! Counted are the lines from `fn` to the closing brace that are neither blank nor a comment. The
//! end of a function is found by its indentation, which rustfmt fixes; what a raw string has at the
//! same indentation would end it early. Functions that are longer are listed with their lines: a
//! table or a `match` over all of an enumeration may be, and others wait to be split. An entry
//! never grows, and one that its function has become shorter than is a finding too, so the list can
//! only shrink.

use super::source::{Finding, Source};

/// Lines of code that a function has at most.
const LINES_MAX: usize = 60;

/// A function that is longer, by its file and name, with its lines.
type Long = (&'static str, &'static str, usize);

/// Functions that are longer than [`LINES_MAX`].
const LONG: &[Long] = &[
    ("benches/src/algorithms/plain.rs", "measure", 81),
    ("crates/cli/src/cluster.rs", "of", 70),
    (
        "crates/input/src/columnar/tests.rs",
        "whole_decimals_and_floats_are_ids_and_fractions_are_none",
        64,
    ),
    ("crates/input/src/foreign.rs", "each_is_named_with_a_way_out", 65),
    ("crates/input/src/text/sniff.rs", "guess", 78),
    ("crates/protocol/src/computation_engine.rs", "done", 79),
    ("crates/protocol/src/machine.rs", "on_message", 83),
    ("crates/sim/src/catalogue.rs", "job", 86),
    ("crates/sim/src/world/host.rs", "fault", 74),
    ("crates/testing/tests/chunks/cluster.rs", "run", 64),
    (
        "crates/testing/tests/storage_budget.rs",
        "no_run_takes_more_than_its_plan_and_its_budget_say",
        92,
    ),
];

/// Functions that are too long, and entries of the list that are longer than their functions.
pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    check_against(sources, LONG)
}

fn check_against(sources: &[Source], long: &[Long]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources.iter().filter(|source| source.is("rs")) {
        let lines: Vec<&str> = source.text.lines().collect();
        let listed: Vec<&Long> = long.iter().filter(|(path, ..)| *path == source.path).collect();
        let mut longest = vec![0; listed.len()];
        for (number, line) in lines.iter().enumerate() {
            let Some(name) = function(line) else { continue };
            let length = length(&lines[number..]);
            let entry = listed.iter().position(|(_, listed, _)| *listed == name);
            let most = entry.map_or(LINES_MAX, |entry| listed[entry].2.max(LINES_MAX));
            if let Some(entry) = entry {
                longest[entry] = length.max(longest[entry]);
            }
            if length > most {
                let message = format!("`{name}` has {length} lines of code, {most} at most");
                findings.push(Finding::new(source, number + 1, message));
            }
        }
        let stale = listed.iter().zip(longest).filter(|((.., lines), longest)| lines > longest);
        findings.extend(stale.map(|((_, name, lines), longest)| {
            let list = "xtask/src/tidy/lengths.rs";
            let message = format!("`{name}` has {longest} lines now, and {lines} in {list}");
            Finding::new(source, 0, message)
        }));
    }
    findings
}

/// The name of the function that a line begins.
fn function(line: &str) -> Option<&str> {
    const BEFORE: [&str; 6] = ["pub", "default", "const", "async", concat!("un", "safe"), "extern"];
    let (before, after) = line.split_once("fn ")?;
    let is_before =
        |word: &str| BEFORE.contains(&word) || word.starts_with("pub(") || word == "\"C\"";
    // `pub(in a::b)` has a blank, and is used nowhere.
    if !before.split_whitespace().all(is_before) || !(before.is_empty() || before.ends_with(' ')) {
        return None;
    }
    let end = after.find(|c: char| !(c.is_alphanumeric() || c == '_'))?;
    Some(&after[..end]).filter(|name| !name.is_empty())
}

/// Lines of code of the function that the first line begins.
fn length(lines: &[&str]) -> usize {
    let indent = lines[0].len() - lines[0].trim_start().len();
    let is_end = |(number, line): (usize, &&str)| {
        let ends = line.ends_with('}') || line.ends_with(';');
        if number == 0 { ends } else { ends && line.len() - line.trim_start().len() == indent }
    };
    let last = lines.iter().enumerate().position(is_end).unwrap_or(lines.len() - 1);
    let is_code = |line: &&&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    lines[..=last].iter().filter(is_code).count()
}

#[cfg(test)]
mod tests {
    use super::super::source::source;
    use super::*;

    /// A function of a number of lines, with a comment and a blank line that do not count.
    fn text(lines: usize) -> String {
        let body = "        let a = { 1 };\n".repeat(lines - 2);
        format!("impl A {{\n    pub(crate) fn a() {{\n\n        // One.\n{body}    }}\n}}\n")
    }

    #[test]
    fn long_functions_are_found() {
        let all = [source("a.rs", &text(LINES_MAX)), source("b.rs", &text(LINES_MAX + 1))];
        let found = check_against(&all, &[]);
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found, ["b.rs:2: `a` has 61 lines of code, 60 at most"]);
    }

    #[test]
    fn the_list_can_only_shrink() {
        let listed = [("a.rs", "a", 70)];
        let with = |lines| check_against(&[source("a.rs", &text(lines))], &listed).len();
        assert_eq!([71, 70, 69, 60].map(with), [1, 0, 1, 1]);
        assert_eq!(check_against(&[source("a.rs", "")], &listed).len(), 1);
    }

    #[test]
    fn functions_begin_with_their_name() {
        for line in ["fn a() {", "    pub const extern fn a(", "pub(super) async fn a<T>() {"] {
            assert_eq!(function(line), Some("a"), "{line}");
        }
        for line in ["// fn a() {", "let f: fn (u8) = a;", "    each: fn a()", "an fn of"] {
            assert_eq!(function(line), None, "{line}");
        }
    }

    #[test]
    fn the_list_is_in_order() {
        assert!(LONG.is_sorted());
    }
}
