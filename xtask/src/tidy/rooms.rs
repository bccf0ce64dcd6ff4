//! Rooms of the engine: each says which others it uses.
//!
//! A room is a folder of `crates/engine/src`. Its page, the documentation of its module, has a line
//! `Uses: ...` that names the rooms that its files depend on, and no others. So an arrow that was
//! not there before is seen by who reviews the change, and what the page says is true.
//!
//! No two rooms use each other, directly or by way of others, so that one can be read, tested or
//! moved with those below it alone. Files at the root of the crate count as rooms there.

use std::collections::{BTreeMap, BTreeSet};

use super::imports::{Module, ModulePath, arrows, crates};
use super::source::{Finding, Source};

/// The crate whose rooms are looked at.
const CRATE: &str = "crates/engine";
/// Beginning of the line of a page.
const BEGIN: &str = "//! Uses: ";

/// Rooms that each room or file at the root of the crate uses.
type Used = BTreeMap<String, BTreeSet<String>>;

/// Rooms whose pages name other rooms than those that they use, and rooms on circles.
pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    let crates = crates(sources);
    let Some(modules) = crates.get(CRATE) else { return Vec::new() };
    let used = used(modules);
    let mut findings = pages(sources, modules, &used);
    let circles = on_circles(used);
    if !circles.is_empty() {
        let line = |(room, to): (&String, &BTreeSet<String>)| format!("{room} -> {}", listed(to));
        let lines: Vec<String> = circles.iter().map(line).collect();
        let message = format!("rooms lie on circles:\n    {}", lines.join("\n    "));
        findings.push(Finding { path: format!("{CRATE}/src"), line: 0, message });
    }
    findings
}

/// Rooms, and files at the root, that each of them uses.
fn used(modules: &BTreeMap<ModulePath, Module>) -> Used {
    let mut used = Used::new();
    for (from, to) in arrows(modules) {
        // The root itself has all of them.
        let Some(from) = from.first() else { continue };
        let others = to.into_iter().filter_map(|to| to.first()).filter(|to| *to != from);
        used.entry(from.clone()).or_default().extend(others.cloned());
    }
    used
}

/// Pages that name other rooms than those that are used.
fn pages(sources: &[Source], modules: &BTreeMap<ModulePath, Module>, used: &Used) -> Vec<Finding> {
    let is_room = |name: &&String| modules.keys().any(|path| path.len() > 1 && path[0] == **name);
    let page = |room: &String| modules.get(&vec![room.clone()]).map(|module| &module.file);
    let compare = |room: &String| {
        let used: BTreeSet<String> = used[room].iter().filter(is_room).cloned().collect();
        let source = page(room).and_then(|file| sources.iter().find(|it| it.path == *file))?;
        let line = source.numbered().find(|(_, line)| line.starts_with(BEGIN));
        let stated: BTreeSet<String> = line.map(|(_, line)| named(line)).unwrap_or_default();
        let message = format!("expected the line {BEGIN}{}", listed(&used));
        let number = line.map_or(0, |(number, _)| number);
        (line.is_none() || stated != used).then(|| Finding::new(source, number, message))
    };
    used.keys().filter(is_room).filter_map(compare).collect()
}

/// Rooms on circles, and between two of them, each with those of them that it uses: rooms that use
/// no other one are taken away as long as there are any, and so are those that none uses.
fn on_circles(mut left: Used) -> Used {
    loop {
        let targets: BTreeSet<String> = left.values().flatten().cloned().collect();
        let count = left.len();
        left.retain(|room, to| !to.is_empty() && targets.contains(room));
        if left.len() == count {
            return left;
        }
        let rooms: BTreeSet<String> = left.keys().cloned().collect();
        for to in left.values_mut() {
            to.retain(|room| rooms.contains(room));
        }
    }
}

/// Names between backticks, with commas.
fn listed(rooms: &BTreeSet<String>) -> String {
    let quoted: Vec<String> = rooms.iter().map(|room| format!("`{room}`")).collect();
    if quoted.is_empty() { "nothing".to_owned() } else { quoted.join(", ") }
}

/// Names between backticks.
fn named(line: &str) -> BTreeSet<String> {
    line.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::super::source::source;
    use super::*;

    fn found(pages: [&str; 2]) -> Vec<Finding> {
        let [a, b] = pages.map(|page| format!("//! A room.\n{page}\nmod inner;\n"));
        let at = |path: &str, text: &str| source(&format!("crates/engine/src/{path}"), text);
        check(&[
            at("lib.rs", "mod a; mod b;"),
            at("a/mod.rs", &a),
            at("a/inner.rs", "use crate::b::inner::B;"),
            at("b/mod.rs", &b),
            at("b/inner.rs", "pub struct B; #[cfg(test)] mod tests { use crate::a::inner; }"),
        ])
    }

    #[test]
    fn rooms_that_use_each_other_are_found() {
        let at = |path: &str, text: &str| source(&format!("crates/engine/src/{path}"), text);
        let found = |bottom: &str| {
            check(&[
                at("lib.rs", "mod a; mod b; mod c; mod d;"),
                at("a/mod.rs", "//! Uses: `b`.\nmod inner;"),
                at("a/inner.rs", "use crate::b::inner::B;"),
                at("b/mod.rs", "//! Uses: `c`.\nmod inner; mod other;"),
                at("b/inner.rs", "pub struct B;"),
                at("b/other.rs", "use crate::c::inner::C;"),
                at("c/mod.rs", "//! Uses: nothing.\nmod inner;"),
                at("c/inner.rs", "use crate::d::D; pub struct C;"),
                at("d.rs", bottom),
            ])
        };
        assert_eq!(found("pub struct D;"), []);
        // No two files use each other there.
        let circle = found("use crate::b::inner::B; pub struct D;");
        assert_eq!(circle.len(), 1);
        let message = &circle[0].message;
        assert!(message.contains("d -> `b`") && !message.contains("a ->"), "{message}");
    }

    #[test]
    fn pages_name_the_rooms_that_are_used() {
        assert_eq!(found(["//! Uses: `b`.", "//! Uses: nothing."]), []);
        for pages in [
            ["", "//! Uses: nothing."],
            ["//! Uses: nothing.", "//! Uses: nothing."],
            ["//! Uses: `b`.", "//! Uses: `a`."],
            ["//! Uses: `b`.", ""],
        ] {
            assert_eq!(found(pages).len(), 1, "{pages:?}");
        }
    }
}
