//! Names of modules and items on the pages that are maps of the code.
//!
//! | on the page | must be |
//! |---|---|
//! | `name` in a row of a crate or of a room ([`TABLES`]) | a file or folder there |
//! | `module::name`, `crate::module::name` | a module, or a word of that module's file |
//! | `Type::name` | two words of one file |
//! | `name` in a table of the papers | a word of some Rust file |
//! | `name` in a module's table of files | a file or folder of that module |
//!
//! Files and folders that a page names by their whole path are compared by [`super::links`].

use std::collections::BTreeSet;

use super::source::{Finding, Source};

/// The map, and where each mechanism of the papers is.
const MAP: &str = "ARCHITECTURE.md";
const PAPERS: &str = "docs/papers.md";

/// Heads of tables of the map whose rows each begin with places, and where these lie.
const TABLES: [(&str, &str); 2] =
    [("| crate |", "crates/{}/src"), ("| room |", "crates/engine/src/{}")];

/// Names on the maps that nothing bears.
pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    let code = Code::of(sources);
    let page = |path: &str| sources.iter().find(|source| source.path == path);
    let mut findings = Vec::new();
    for source in [MAP, PAPERS].into_iter().filter_map(page) {
        let mut table = None;
        for (line, text) in source.numbered() {
            let mut find = |message| findings.push(Finding::new(source, line, message));
            for name in quoted(text).filter(|name| name.contains("::") && !code.has_path(name)) {
                find(format!("there is no `{name}`"));
            }
            table = if text.starts_with('|') { of_table(text).or(table) } else { None };
            if let Some(place) = table {
                missing(text, place, &code).into_iter().for_each(&mut find);
            }
            if source.path == PAPERS && text.starts_with('|') {
                let unknown = quoted(text).filter(|name| is_name(name) && !code.has_word(name));
                unknown.for_each(|name| find(format!("no Rust file has the word `{name}`")));
            }
        }
    }
    let rust = sources.iter().filter(|source| source.is("rs"));
    findings.extend(rust.flat_map(|source| files(source, &code)));
    findings
}

/// Rust files as they are named in prose, and the words in them.
struct Code<'a> {
    /// Paths of modules with `/` between their names, without `src`, `mod`, `lib` and `.rs`; and
    /// the words of their files.
    modules: Vec<(String, BTreeSet<&'a str>)>,
    /// Paths of files without `.rs`, and of their folders.
    places: BTreeSet<&'a str>,
}

impl<'a> Code<'a> {
    fn of(sources: &'a [Source]) -> Self {
        // The list of retired words has those that no other file should have.
        let rust = sources.iter().filter(|it| it.is("rs") && !it.path.ends_with("tidy/words.rs"));
        let (mut modules, mut places) = (Vec::new(), BTreeSet::new());
        for source in rust {
            let path = source.path.trim_end_matches(".rs");
            places.insert(path);
            let ends = path.match_indices('/').map(|(at, _)| at);
            places.extend(ends.map(|end| &path[..end]));
            let names = path.split('/').filter(|name| !["src", "mod", "lib"].contains(name));
            let path = format!("/{}", names.collect::<Vec<_>>().join("/"));
            modules.push((path, parts(&source.text).collect()));
        }
        Self { modules, places }
    }

    fn has_word(&self, word: &str) -> bool {
        self.modules.iter().any(|(_, words)| words.contains(word))
    }

    /// Whether a path with `::` leads to a module, or to a word in the file of one or of a type.
    fn has_path(&self, path: &str) -> bool {
        let names: Vec<&str> = path.split("::").map(|name| name.trim_end_matches("()")).collect();
        let [modules @ .., item] = &names[..] else { return false };
        let (whole, within) = (format!("/{}", names.join("/")), format!("/{}", modules.join("/")));
        let of_type = modules.last().filter(|name| name.starts_with(char::is_uppercase));
        self.modules.iter().any(|(module, words)| {
            let is_within = of_type.map_or(module.ends_with(&within), |name| words.contains(name));
            module.ends_with(&whole) || is_within && words.contains(item)
        })
    }
}

/// Where the places of a table lie, if this is the head of one.
fn of_table(line: &str) -> Option<&'static str> {
    TABLES.iter().find(|(head, _)| line.starts_with(head)).map(|(_, place)| *place)
}

/// Names of a row, `| `crate` | text with `module` | ... |`, that are no files or folders there.
fn missing(row: &str, place: &str, code: &Code<'_>) -> Vec<String> {
    let mut cells = row.split('|').skip(1);
    let rooms: Vec<&str> = cells.next().map(quoted).into_iter().flatten().collect();
    let folders: Vec<String> = rooms.iter().map(|room| place.replace("{}", room)).collect();
    let is_there = |path: &str| code.places.contains(path);
    let lost = folders.iter().filter(|folder| !is_there(folder));
    let mut messages: Vec<String> = lost.map(|folder| format!("there is no `{folder}`")).collect();
    for name in cells.next().into_iter().flat_map(quoted).filter(|name| is_name(name)) {
        if !folders.iter().any(|folder| is_there(&format!("{folder}/{name}"))) {
            messages.push(format!("`{name}` is no file or folder of `{}`", rooms.join("`, `")));
        }
    }
    messages
}

/// Names in a module's table of its files, `| file | what it has |`, that are none.
fn files(source: &Source, code: &Code<'_>) -> Vec<Finding> {
    let path = source.path.trim_end_matches(".rs");
    let folder = path.trim_end_matches("/mod").trim_end_matches("/lib");
    let (mut is_table, mut findings) = (false, Vec::new());
    for (line, text) in source.numbered().take_while(|(_, text)| text.starts_with("//!")) {
        let row = text.strip_prefix("//! |");
        is_table = row.is_some_and(|row| is_table || row.starts_with(" file"));
        let names = row.and_then(|row| row.split('|').next()).filter(|_| is_table);
        for name in names.into_iter().flat_map(quoted) {
            if !code.places.contains(&*format!("{folder}/{name}")) {
                let message = format!("`{name}` is no file or folder of `{folder}`");
                findings.push(Finding::new(source, line, message));
            }
        }
    }
    findings
}

/// Text of a line that stands as code.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// Whether this is one name, and no option, path or call.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::source::source;
    use super::*;

    /// Messages on a page with this text, where two crates have a few files.
    fn messages(page: &str, text: &str) -> Vec<String> {
        let sources = [
            source(page, text),
            source("crates/engine/src/lib.rs", "pub mod machine;\n"),
            source("crates/engine/src/machine/mod.rs", "mod arena;\n"),
            source("crates/engine/src/machine/arena.rs", "pub struct Slab;\n"),
            source("crates/model/src/lib.rs", "pub mod edges;\n"),
            source("crates/model/src/edges.rs", "pub trait EdgeStream {}\n"),
            source("xtask/src/tidy/words.rs", "(\"Desk\", \"ColumnIo\")\n"),
        ];
        check(&sources).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn rooms_without_such_files_are_found() {
        let table = "| room | files |\n|---|---|\n| `machine` | `arena` (slabs), `gone` |\n";
        let found = messages(MAP, table);
        assert_eq!(found, ["ARCHITECTURE.md:3: `gone` is no file or folder of `machine`"]);
        let found = messages(MAP, "| room | files |\n|---|---|\n| `cellar` | wine |\n");
        assert_eq!(found, ["ARCHITECTURE.md:3: there is no `crates/engine/src/cellar`"]);
        let crates =
            "| crate | holds | must not know |\n|---|---|---|\n| `model` | `edges` | `x` |\n";
        assert!(messages(MAP, crates).is_empty());
        assert_eq!(messages(MAP, &crates.replace("`edges`", "`ids`")).len(), 1);
        // Another table, and text below the table.
        assert!(messages(MAP, "| route | x |\n|---|---|\n| `fold` | `y` |\n\n`gone`\n").is_empty());
    }

    #[test]
    fn files_that_a_module_has_not_are_found() {
        let table = "//! A.\n//!\n//! | file | has |\n//! |---|---|\n//! | `b`, `c` | `d` |\n";
        let sources =
            [source("crates/x/src/a.rs", table), source("crates/x/src/a/b.rs", "mod d;\n")];
        let found: Vec<String> = check(&sources).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["crates/x/src/a.rs:5: `c` is no file or folder of `crates/x/src/a`"]);
    }

    #[test]
    fn paths_that_lead_nowhere_are_found() {
        let text = "`engine::machine::arena`, `arena::Slab`, `Slab::Slab`,\n\
            `model::EdgeStream`, `edges::Slab`,\n\
            `Slab::gone`\n";
        let found = messages(MAP, text);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].ends_with("there is no `model::EdgeStream`"), "{found:?}");
    }

    #[test]
    fn words_of_the_papers_that_no_file_has_are_found() {
        let text = "| 1 | x | `Slab`, `--edge-memory`, `Desk` |\n`Nothing`\n";
        assert_eq!(messages(PAPERS, text), ["docs/papers.md:1: no Rust file has the word `Desk`"]);
    }
}
