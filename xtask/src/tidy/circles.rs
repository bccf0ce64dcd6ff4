//! Circles among the files of a crate: there are none.
//!
//! Files that reach each other by [imports](super::imports) are a circle: no reader can read, test
//! or move one of them without the others.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::imports::{Module, ModulePath, arrows, crates};
use super::source::{Finding, Source};

/// The circles of each crate.
pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (folder, modules) in crates(sources) {
        let circles = circles(&modules);
        let files: usize = circles.iter().map(Vec::len).sum();
        if files > 0 {
            let message = format!("{files} files lie on circles:{}", listed(&circles));
            findings.push(Finding { path: format!("{folder}/src"), line: 0, message });
        }
    }
    findings
}

fn listed(circles: &[Vec<(String, Vec<String>)>]) -> String {
    let mut text = String::new();
    for circle in circles {
        for (file, to) in circle {
            let _ = write!(text, "\n    {file} -> {}", to.join(", "));
        }
        text.push('\n');
    }
    text
}

/// Groups of files that reach each other, each file with those of the group that it depends on.
fn circles(modules: &BTreeMap<ModulePath, Module>) -> Vec<Vec<(String, Vec<String>)>> {
    let paths: Vec<&ModulePath> = modules.keys().collect();
    let index: BTreeMap<&ModulePath, usize> =
        paths.iter().enumerate().map(|(index, path)| (*path, index)).collect();
    let arrows: Vec<BTreeSet<usize>> =
        arrows(modules).values().map(|to| to.iter().map(|to| index[to]).collect()).collect();
    let reached: Vec<BTreeSet<usize>> = (0..paths.len()).map(|from| reach(&arrows, from)).collect();
    let mut seen = BTreeSet::new();
    let mut circles = Vec::new();
    for from in 0..paths.len() {
        let circle: Vec<usize> =
            reached[from].iter().copied().filter(|to| reached[*to].contains(&from)).collect();
        if circle.is_empty() || !seen.insert(circle.clone()) {
            continue;
        }
        let file = |index: usize| modules[paths[index]].file.clone();
        let inside = |from: usize| arrows[from].iter().filter(|to| circle.contains(to));
        circles.push(
            circle
                .iter()
                .map(|&from| (file(from), inside(from).map(|&to| file(to)).collect()))
                .collect(),
        );
    }
    circles
}

/// Files that are reached from `from` by one arrow or more.
fn reach(arrows: &[BTreeSet<usize>], from: usize) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut left = vec![from];
    while let Some(at) = left.pop() {
        left.extend(arrows[at].iter().copied().filter(|to| reached.insert(*to)));
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::super::source::source;
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<Finding> {
        let sources: Vec<Source> = files
            .iter()
            .map(|(path, text)| source(&format!("crates/a/src/{path}"), text))
            .collect();
        check(&sources)
    }

    #[test]
    fn files_that_use_each_other_are_found() {
        let findings = found(&[
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "use crate::b::B;"),
            ("b.rs", "fn f() { super::c::g() }"),
            ("c.rs", "use super::{a::{self, A}, other};"),
        ]);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].message.starts_with("3 files"), "{}", findings[0]);
    }

    #[test]
    fn reexports_are_followed_and_tests_are_free() {
        let files = [
            ("lib.rs", "mod a; mod b; pub use a::A; pub use b::B;"),
            ("a.rs", "pub struct A; #[cfg(test)] mod tests { use crate::B; }"),
            ("b.rs", "use crate::A; pub struct B(A);"),
        ];
        assert_eq!(found(&files), []);
        let back = ("a.rs", "use crate::B; pub struct A;");
        assert_eq!(found(&[files[0], back, files[2]]).len(), 1);
    }

    #[test]
    fn arguments_of_macros_and_attributes_count() {
        let back = ("b.rs", "use crate::a::A; pub const B: u8 = 1;");
        for text in
            ["#[error(\"{}\", crate::b::B)] pub struct A;", "fn f() { g!([1, super::b::B]) }"]
        {
            let findings = found(&[("lib.rs", "mod a; mod b;"), ("a.rs", text), back]);
            assert_eq!(findings.len(), 1, "{text}");
        }
        let other = ("a.rs", "#[error(\"{}\", b::B)] pub struct A { b: B }");
        assert_eq!(found(&[("lib.rs", "mod a; mod b;"), other, back]), []);
    }

    #[test]
    fn parents_and_children_may_not_use_each_other() {
        let files = [("lib.rs", "mod a; use a::A; pub fn f() {}"), ("a.rs", "use super::f;")];
        assert_eq!(found(&files).len(), 1);
        assert_eq!(found(&[("lib.rs", "mod a; pub use a::A;"), files[1]]), []);
    }
}
