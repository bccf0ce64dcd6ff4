//! Rooms of the engine: each says which others it uses.
//!
//! A room is a folder of `crates/engine/src`. Its page, the documentation of its module, has a line
//! `Uses: ...` that names the rooms that its files depend on, and no others. So an arrow that was
//! not there before is seen by who reviews the change, and what the page says is true.

use std::collections::{BTreeMap, BTreeSet};

use super::imports::{ModulePath, arrows, crates};
use super::source::{Finding, Source};

/// The crate whose rooms are looked at.
const CRATE: &str = "crates/engine";
/// How the line of a page begins.
const BEGIN: &str = "//! Uses: ";

/// Rooms whose pages name other rooms than those that they use.
pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    let crates = crates(sources);
    let Some(modules) = crates.get(CRATE) else { return Vec::new() };
    let room = |path: &ModulePath| path.first().cloned();
    let is_room = |name: &String| modules.keys().any(|path| path.len() > 1 && path[0] == *name);
    let mut used: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (from, to) in arrows(modules) {
        let Some(from) = room(from).filter(is_room) else { continue };
        let others = to.into_iter().filter_map(room).filter(|to| *to != from && is_room(to));
        used.entry(from.clone()).or_default().extend(others);
    }
    let page = |room: &String| modules.get(&vec![room.clone()]).map(|module| &module.file);
    let compare = |(room, used): (String, BTreeSet<String>)| {
        let source = page(&room).and_then(|file| sources.iter().find(|it| it.path == *file))?;
        let line = source.numbered().find(|(_, line)| line.starts_with(BEGIN));
        let stated: BTreeSet<String> = line.map(|(_, line)| named(line)).unwrap_or_default();
        let list = |rooms: &BTreeSet<String>| {
            let quoted: Vec<String> = rooms.iter().map(|room| format!("`{room}`")).collect();
            if quoted.is_empty() { "nothing".to_owned() } else { quoted.join(", ") }
        };
        let message = format!("expected the line {BEGIN}{}", list(&used));
        let number = line.map_or(0, |(number, _)| number);
        (line.is_none() || stated != used).then(|| Finding::new(source, number, message))
    };
    used.into_iter().filter_map(compare).collect()
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
