//! Makes the figures of Chaos: all of them as a page with charts, or one on the terminal.

#![expect(clippy::disallowed_macros, reason = "this is the command")]

use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

use welter_sim::figures::grid::{Grid, assign, build};
use welter_sim::figures::recorder::{record, rmat};
use welter_sim::figures::{Extent, FIGURES, Figure, Maker, svg};

const USAGE: &str = "\
usage: cargo xtask experiment chaos [OPTION...]

  --figure N    this figure alone (5 to 19, 9.3, 1: Table 1, or W1 to W3: welter's own layout),
                on the terminal; else all of them
  --shrink S    on graphs whose scale is less by S than the paper's (4); 0 takes hours
  --machines M  on at most so many machines, a power of two (32)
  --page P      writes all tables into this page (Markdown), and a chart and the numbers of each
                figure (SVG, CSV) into a folder `chaos` beside it
  --record S    instead: the updates of each algorithm by iteration on R-MAT S, from 10 to 24
  --partition S instead: how long a grid partitioner takes for R-MAT S, from 10 to 24
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).map(String::as_str)
    };
    let number = |name: &str, usual: u32| value(name).map_or(Some(usual), |text| text.parse().ok());
    if let Some(scale @ 10..=24) = value("--record").and_then(|text| text.parse().ok()) {
        for one in record(&rmat(scale, 1)) {
            println!("{} {:?} {:?}", one.name, one.bytes, one.updates);
        }
        return ExitCode::SUCCESS;
    }
    if let Some(scale @ 10..=24) = value("--partition").and_then(|text| text.parse().ok()) {
        partition(&rmat(scale, 1).pairs);
        return ExitCode::SUCCESS;
    }
    let (Some(shrink @ 0..=6), Some(most)) = (number("--shrink", 4), number("--machines", 32))
    else {
        eprint!("{USAGE}");
        return ExitCode::from(2);
    };
    let wanted = value("--figure");
    let is_wanted = |numbers: &[&str]| wanted.is_none_or(|wanted| numbers.contains(&wanted));
    let makers: Vec<Maker> =
        FIGURES.iter().filter(|(numbers, _)| is_wanted(numbers)).map(|(_, make)| *make).collect();
    if makers.is_empty() || !most.is_power_of_two() || arguments.iter().any(|a| a == "--help") {
        eprint!("{USAGE}");
        return ExitCode::from(2);
    }
    let extent = Extent { shrink, most: most as usize };
    let mut figures = made(&makers, extent);
    figures.retain(|figure| is_wanted(&[figure.number]));
    let Some(page) = value("--page") else {
        for figure in &figures {
            println!("{}", section(figure, None));
        }
        return ExitCode::SUCCESS;
    };
    match write(Path::new(page), &figures, extent) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{page}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Partitions edges over 32 machines, one after the other and two at a time, and says how long each
/// step takes.
#[expect(clippy::disallowed_types, reason = "the clock is what is measured by")]
fn partition(edges: &[[u32; 2]]) {
    let grid = Grid::new(32);
    let nanos = |began: std::time::Instant| began.elapsed().as_nanos() as f64 / edges.len() as f64;
    for threads in [1, 2] {
        let began = std::time::Instant::now();
        let shares: Vec<&[[u32; 2]]> = edges.chunks(edges.len().div_ceil(32)).collect();
        let bins = on_threads(threads, &shares, |share| assign(grid, share));
        let assigned = nanos(began);
        let of = |machine: usize| bins.iter().map(|bins| &bins[machine][..]).collect::<Vec<_>>();
        let all: Vec<Vec<&[[u32; 2]]>> = (0..32).map(of).collect();
        let began = std::time::Instant::now();
        let parts = on_threads(threads, &all, |edges| build(grid, edges));
        let built = nanos(began);
        let copies: usize = parts.iter().map(|part| part.vertices.len()).sum();
        println!(
            "{threads} threads: {assigned:.1} ns an edge to assign, {built:.1} to build, \
             {copies} copies of vertices"
        );
    }
}

/// Does something with all of these on so many threads.
#[expect(clippy::disallowed_methods, reason = "threads are what is measured")]
fn on_threads<'a, T: Sync, U: Send>(
    threads: usize,
    of: &'a [T],
    work: impl Fn(&'a T) -> U + Sync,
) -> Vec<U> {
    let each = of.len().div_ceil(threads);
    std::thread::scope(|scope| {
        let work = &work;
        let run = |part: &'a [T]| scope.spawn(move || part.iter().map(work).collect::<Vec<U>>());
        let parts: Vec<_> = of.chunks(each).map(run).collect();
        parts.into_iter().flat_map(|part| part.join().unwrap_or_default()).collect()
    })
}

/// Runs two makers at a time, and says which figures are there.
#[expect(clippy::disallowed_methods, reason = "each run is alone in its thread")]
fn made(makers: &[Maker], extent: Extent) -> Vec<Figure> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut made = Vec::new();
        while let Some(make) = makers.get(next.fetch_add(1, Ordering::Relaxed)) {
            let figures = make(extent);
            for figure in &figures {
                eprintln!("figure {}", figure.number);
            }
            made.extend(figures);
        }
        made
    };
    let mut figures = std::thread::scope(|scope| {
        let other = scope.spawn(work);
        let mut made = work();
        match other.join() {
            Ok(others) => made.extend(others),
            Err(panic) => std::panic::resume_unwind(panic),
        }
        made
    });
    let key = |figure: &Figure| (figure.number.parse::<f64>().unwrap_or(1e6) * 10.0) as u32;
    figures.sort_by_key(key);
    figures
}

/// Text of a figure, with a chart from a folder.
fn section(figure: &Figure, folder: Option<&str>) -> String {
    let Figure { number, title, paper, notes, .. } = figure;
    let head = match number {
        number if number.starts_with('W') => "Beyond the paper,",
        &"1" => "Table",
        number if number.contains('.') => "Section",
        _ => "Figure",
    };
    let file = figure.file("chaos");
    let chart = folder.map_or_else(String::new, |folder| {
        format!("![{title}]({folder}/{file}.svg) ([numbers]({folder}/{file}.csv))\n\n")
    });
    let table = figure.markdown();
    let verdict = if number.starts_with('W') { String::new() } else { figure.verdict() + " " };
    let paper = format!("The paper: {paper}\n\nHere: {verdict}{notes}\n");
    format!("## {head} {number}: {title}\n\n{table}\n{chart}{paper}")
}

/// Writes the page, and what it shows beside it.
#[expect(clippy::disallowed_methods, reason = "this is the command")]
fn write(page: &Path, figures: &[Figure], extent: Extent) -> std::io::Result<()> {
    let charts = page.with_file_name("chaos");
    std::fs::create_dir_all(&charts)?;
    let mut text = head(extent);
    for figure in figures {
        let file = charts.join(figure.file("chaos"));
        std::fs::write(file.with_extension("svg"), svg(figure))?;
        std::fs::write(file.with_extension("csv"), figure.csv())?;
        text.push('\n');
        text.push_str(&section(figure, Some("chaos")));
    }
    std::fs::write(page, text)
}

/// Opening of the page: what was run.
fn head(Extent { shrink, most }: Extent) -> String {
    format!(
        "# The figures of Chaos, simulated\n\n\
         Made by `cargo xtask experiment chaos --shrink {shrink} \
         --machines {most} --page PAGE` in virtual time, so another run gives the same \
         numbers. The protocol is the one of `crates/protocol`; jobs have sizes and times but no \
         contents. Graphs are of a scale less by {shrink} than the paper's (Figures 7 and 18: as \
         the paper's; Section 9.3, Figure 12 and W1 before signals are fetched: less by {}; \
         W3: as it says), chunks are of 4 MiB as there, so there are fewer of them. The cluster, \
         and what is assumed of it, is `crates/sim/src/figures/cluster.rs`; the algorithms, with \
         updates by iteration as welter's programs make them on R-MAT 16, are `algorithms.rs` \
         beside it. No constant was fitted to a result; time of a grid partitioner for an edge \
         (Figure 19) was measured. The text of the paper gives few numbers of its figures; these \
         stand in the last column, and as rings in the charts. No number was read from a chart of \
         the paper.\n",
        shrink + 4,
    )
}
