//! Beginnings of comments: with the noun that they are about.
//!
//! A comment that begins with "What", "The same" or "They" is read twice, and says nothing in a
//! list of items, as help and the pages of rustdoc are.

use super::source::{Finding, Source};

/// Beginnings of comments that are given up.
const RETIRED: [&str; 13] = [
    "Everybody",
    "How",
    "Nobody",
    "Somebody",
    "That of",
    "The same",
    "These",
    "They",
    "Those",
    "What",
    "Which",
    "Who",
    "Whoever",
];

/// Comments that begin so.
pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    let code = sources.iter().filter(|source| source.is("rs") || source.is("py"));
    let finding = |source: &Source, line| Finding {
        path: source.path.clone(),
        line,
        message: format!("comments begin with none of {RETIRED:?}: name the thing"),
    };
    code.flat_map(|source| begun(source).map(move |line| finding(source, line))).collect()
}

/// The lines at which a paragraph of a comment begins so, or a docstring of Python.
fn begun(source: &Source) -> impl Iterator<Item = usize> {
    let prefixes: &[&str] = if source.is("py") { &["\"\"\"", "#"] } else { &["///", "//!", "//"] };
    let mut above = None;
    source.numbered().filter_map(move |(number, line)| {
        let line = line.trim_start();
        let comment = prefixes.iter().find_map(|prefix| {
            let text = line.strip_prefix(prefix)?.trim();
            (!text.is_empty()).then_some((*prefix, text))
        });
        let begins =
            comment.is_some_and(|(prefix, text)| above != Some(prefix) && is_retired(text));
        above = comment.map(|(prefix, _)| prefix).filter(|prefix| *prefix != "\"\"\"");
        begins.then_some(number)
    })
}

fn is_retired(text: &str) -> bool {
    RETIRED.iter().any(|words| {
        let rest = text.strip_prefix(words);
        rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    })
}

#[cfg(test)]
mod tests {
    use super::super::source::source;
    use super::*;

    #[test]
    fn comments_are_counted_where_they_begin() {
        let text = "/// What it is.\n/// The same.\nfn a() {}\n/// Whole.\n\n    /// They.\n";
        assert_eq!(begun(&source("crates/x/src/a.rs", text)).collect::<Vec<_>>(), [1, 6]);
        let text = "/// Whole.\n/// What.\n///\n/// Those.\n";
        assert_eq!(begun(&source("crates/x/src/a.rs", text)).collect::<Vec<_>>(), [4]);
        let text = "//! Those.\n//! They.\n\n    // What.\n    // Who.\n    let a; // They\n";
        assert_eq!(begun(&source("crates/x/src/a.rs", text)).collect::<Vec<_>>(), [1, 4]);
        let text = "\"\"\"What it is.\"\"\"\ndef a():\n    \"\"\"Whole.\n\n    What.\n    \"\"\"\n";
        assert_eq!(begun(&source("python/a.py", text)).collect::<Vec<_>>(), [1]);
        let text = "/// However.\nfn a() {}\n/// How.\nfn b() {}\n/// Which of them.\n";
        assert_eq!(begun(&source("crates/x/src/a.rs", text)).collect::<Vec<_>>(), [3, 5]);
    }

    #[test]
    fn each_one_is_found_with_its_place_and_not_in_pages() {
        let sources = [
            source("new/a.rs", "/// A name.\n"),
            source("new/b.rs", "\n/// Who.\n"),
            source("new/c.md", "/// They.\n"),
        ];
        let findings = check(&sources);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].to_string().starts_with("new/b.rs:2: comments begin with none of"));
    }
}
