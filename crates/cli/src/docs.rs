//! Completions, manual pages and `docs/cli.md`, all made from the same description of the command
//! line.

mod commands;
mod places;
mod reference;

use std::fmt::Write;
use std::path::Path;

use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;
use welter_output::write_file;
use welter_progress::FailureKind;

use self::commands::all;
use crate::algorithms::{REGISTRY, layout};
use crate::commandline::{Page, command};
use crate::failure::Failure;
use crate::python;
use crate::stdout::print;

/// `welter completions`.
pub(crate) fn completions(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command(), "welter", &mut script);
    print(&String::from_utf8_lossy(&script))
}

/// `welter man`: the first page, or all into a folder.
pub(crate) fn manual(folder: Option<&Path>) -> Result<(), Failure> {
    let Some(folder) = folder else { return print(&page(&command(), "welter")?) };
    let cannot = |path: &Path, error: std::io::Error| {
        Failure::output(format!("{}: cannot create it: {error}", path.display()))
    };
    std::fs::create_dir_all(folder).map_err(|error| cannot(folder, error))?;
    for (words, command) in all() {
        let name = words.join("-");
        let path = folder.join(format!("{name}.1"));
        write_file(&path, page(&command, &name)?.as_bytes())?;
    }
    Ok(())
}

fn page(command: &Command, name: &str) -> Result<String, Failure> {
    let mut page = Vec::new();
    Man::new(command.clone().disable_help_flag(true)).title(name).render(&mut page).map_err(
        |error| Failure::new(FailureKind::Storage, format!("cannot make the page: {error}")),
    )?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

/// The text of a page.
pub(crate) fn markdown(page: Page) -> String {
    match page {
        Page::Cli => reference::page(),
        Page::Algorithms => algorithms(),
        Page::Python => python::module(),
    }
}

/// The text of `docs/algorithms.md`.
fn algorithms() -> String {
    let mut text = String::from(
        "# The algorithms\n\n\
         Made by `cargo run -- markdown algorithms > docs/algorithms.md`; a test compares \
         it with the code. Bytes are those of values, signals and what else a program has \
         for a vertex, with the default options; edges, degrees and ids are not \
         among them, but what a program has for each edge and direction is said. \
         `welter run NAME --help` says more of each.\n\n\
         | algorithm | what it finds | kind | passes | bytes a vertex | options | source |\n\
         |---|---|---|---|---:|---|---|\n",
    );
    for entry in REGISTRY {
        let (kind, passes) = entry.kind.split_once("; ").unwrap_or((entry.kind, ""));
        let formula: Vec<String> = entry.formula.iter().map(|line| code(line)).collect();
        let options: Vec<String> = entry.options().iter().map(|name| code(name)).collect();
        let bytes = layout(entry).map(|layout| match (layout.bytes_a_vertex(), layout.edge()) {
            (vertex, 0) => vertex.to_string(),
            (vertex, edge) => format!("{vertex}, and {edge} an edge"),
        });
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| `{}` | {}<br>{} | {kind} | {passes} | {} | {} | {} |",
            entry.name,
            cell(entry.about),
            formula.join("<br>"),
            bytes.unwrap_or_default(),
            options.join(" "),
            cell(entry.source),
        );
    }
    text
}

/// Text in a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// Text as code in a cell, whose runs of spaces say nothing.
fn code(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    format!("`{}`", cell(&words.join(" ")))
}
