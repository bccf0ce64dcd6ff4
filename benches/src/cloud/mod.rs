//! `cloud`: the experiments of "X-Stream in the cloud" on devices of this machine that are as slow
//! as its storage types were.
//!
//! Each figure runs the command on volumes of one storage type ([`storage`]), in the way of
//! X-Stream (edges and updates on storage, one by one; vertices in memory) and in welter's own, and
//! states the paper's words beside the seconds. It needs root: volumes are loop devices, and
//! control groups slow them down. Remote ones are served over a network of their own ([`remote`]),
//! which needs Debian's packages `nbdkit` and `libnbd-bin`.

mod bucket;
mod disks;
mod figures;
#[path = "../../../crates/transport/benches/links/namespaces.rs"]
mod namespaces;
mod ratios;
mod remote;
mod run;
mod storage;
mod streaming;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Args;
use welter_sim::figures::{Figure, svg};

use crate::inputs::Inputs;
use crate::report::replace_section;
use crate::system;
use run::Graph;

/// Scale of the graph where none is stated; the paper's is 25.
const SCALE: u32 = 18;

/// Figures to make, and where they are written.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Figures to make [default: all].
    #[arg(long, value_name = "N", value_delimiter = ',')]
    figure: Vec<String>,
    /// Writes the figures into this page (Markdown), each in its place there or at the end, and a
    /// chart and the numbers of each (SVG, CSV) into a folder `cloud` beside it.
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Times that each job is run, of which the median counts.
    #[arg(long, value_name = "N", default_value_t = 1)]
    runs: usize,
}

/// Makes figures of a graph with the least volumes that hold it.
pub(crate) fn run(arguments: &Arguments, scale: Option<u32>, inputs: &Inputs) -> Result<()> {
    let wanted = |number: &str| {
        arguments.figure.is_empty() || arguments.figure.iter().any(|figure| figure == number)
    };
    let known: Vec<&str> = figures::FIGURES.iter().map(|(number, _)| *number).collect();
    if let Some(unknown) = arguments.figure.iter().find(|it| !known.contains(&it.as_str())) {
        anyhow::bail!("--figure {unknown}: expected some of {}", known.join(", "));
    }
    ensure!(rustix::process::geteuid().is_root(), "loop devices and control groups need root");
    let mut graph = Graph::new(scale.unwrap_or(SCALE), inputs)?;
    graph.runs = arguments.runs.max(1);
    let mut made = Vec::new();
    for (number, make) in figures::FIGURES {
        if wanted(number) {
            eprintln!("figure {number}");
            let figure = make(&graph).with_context(|| format!("figure {number}"))?;
            println!("{}", section(&figure, &graph, None));
            made.push(figure);
        }
    }
    match &arguments.page {
        Some(page) => write(page, &graph, &made),
        None => Ok(()),
    }
}

/// Text of a figure, with a chart from a folder.
fn section(figure: &Figure, graph: &Graph, folder: Option<&str>) -> String {
    let Graph { scale, runs, .. } = graph;
    let runs = if *runs == 1 { String::new() } else { format!(" --runs {runs}") };
    let Figure { number, title, paper, notes, .. } = figure;
    let head = if number.starts_with(|it: char| it.is_ascii_digit()) { "Figure " } else { "" };
    let file = figure.file("cloud");
    let chart = folder.map_or_else(String::new, |folder| {
        format!("![{title}]({folder}/{file}.svg) ([numbers]({folder}/{file}.csv))\n\n")
    });
    let (table, verdict) = (figure.markdown(), figure.verdict());
    let call = format!("`cargo xtask experiment cloud --scale {scale} --figure {number}{runs}`");
    format!(
        "## {head}{number}: {title}\n\n{call}\n\n{table}\n{chart}The paper: {paper} \
         {verdict}\n\nHere: {notes}\n"
    )
}

/// Writes figures into the page, each in the place of its older self or at the end, and what they
/// show into the folder beside it.
fn write(page: &Path, graph: &Graph, figures: &[Figure]) -> Result<()> {
    let charts = page.with_file_name("cloud");
    fs::create_dir_all(&charts).with_context(|| charts.display().to_string())?;
    if !page.exists() {
        fs::write(page, head()).with_context(|| page.display().to_string())?;
    }
    for figure in figures {
        let file = charts.join(figure.file("cloud"));
        fs::write(file.with_extension("svg"), svg(figure))?;
        fs::write(file.with_extension("csv"), figure.csv())?;
        let name = format!("figure {}", figure.number);
        let text = fs::read_to_string(page).with_context(|| page.display().to_string())?;
        if !text.contains(&format!("<!-- begin {name} -->")) {
            let markers = format!("<!-- begin {name} -->\n<!-- end {name} -->\n");
            fs::write(page, format!("{}\n\n{markers}", text.trim_end()))?;
        }
        replace_section(page, &name, &section(figure, graph, Some("cloud")))?;
    }
    Ok(())
}

/// Opening of a page that is not there yet: how runs went, and on which devices.
fn head() -> String {
    let machine = system::describe();
    format!(
        "# The figures of X-Stream in the cloud\n\nMeasured on: {machine}.\n\n{}\n\n{}\n",
        storage::ASSUMED,
        run::WAYS
    )
}
