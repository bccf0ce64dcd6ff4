//! Makes the figures of Chaos, or (`blitzg`) those of `BlitzG`, into a page with charts or on the
//! terminal, each as soon as it is there: a run that is interrupted loses none. With `profiles` it
//! records what those of Chaos are made of, and with `forecast` it says how long an iteration takes
//! on machines that are stated.

#![expect(clippy::disallowed_macros, reason = "this is the command")]

use std::path::Path;
use std::process::ExitCode;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use welter_sim::figures::forecast::StatedRun;
use welter_sim::figures::grid::{Grid, assign, build};
use welter_sim::figures::measured::Measured;
use welter_sim::figures::profiler::{Runs, profile};
use welter_sim::figures::profiles::{Origin, Profiles};
use welter_sim::figures::recorder::{record, rmat};
use welter_sim::figures::{
    BLITZG, CHAOS, Extent, FIGURES, Figure, Maker, Page, Paper, blitzg, svg,
};
use welter_sim::sized_job::Iteration;

const USAGE: &str = "\
usage: cargo xtask experiment chaos [OPTION...]

  --figure N    these figures alone (5 to 19, 9.3, 1: Table 1, or W1 to W7: beyond the paper;
                several are separated by commas); else all of them
  --shrink S    on graphs whose scale is less by S than the paper's (4; 9.3, 12 and W1: by 4
                more); 0, the paper's own, takes hours, and gigabytes of memory
  --machines M  on at most M machines, a power of two (32)
  --threads T   on T threads (2)
  --page P      writes each figure, as soon as it is made, into this page (Markdown), in the place
                of its section there, and its chart and numbers (SVG, CSV) into a folder `chaos`
                beside it; else figures are printed
  --record S    instead: of each algorithm, by iteration on R-MAT S, from 10 to 24, updates of a
                million edges and active vertices of a million that have an edge
  --partition S instead: how long a grid partitioner takes for R-MAT S, from 10 to 24
";

const USAGE_BLITZG: &str = "\
usage: cargo xtask experiment blitzg [OPTION...]

  --figure N    these figures alone (5 to 9, or W1: beyond the paper; several are separated by
                commas); else all of them
  --page P      writes each figure into this page (Markdown), in the place of its section there,
                and its chart and numbers (SVG, CSV) into a folder `blitzg` beside it; else figures
                are printed
  --measure     measures first, and keeps what was found (network namespaces need root; with
                --figure 8 memory alone is measured)
  --measured F  numbers that were measured (docs/experiments/blitzg/measured.csv)
";

const USAGE_PROFILES: &str = "\
usage: cargo xtask profiles [OPTION...]

  --scale S      of the R-MAT graph, from 10 to 24 (20, which takes some GB of memory)
  --runs N       runs of each algorithm and route, of which the least times count (3)
  --partitions P partitions of the one machine, at least (8)
  --machine W    words on the machine, in general
  --date D       the day (today)
  --file F       the file (docs/experiments/chaos/profiles.csv)
";

const USAGE_FORECAST: &str = "\
usage: cargo xtask forecast [OPTION VALUE...]

Seconds of an iteration of ranks by route fold on machines with a disk each, and bytes that disks
transfer in it, as a line of JSON.

  --scale S         of the R-MAT graph, from 16 to 32 (22)
  --edges E         edges (16 an id)
  --edge-bytes B    bytes of an edge on storage (4.02, as packed ones have)
  --vertex-bytes B  bytes of a vertex on storage (16)
  --disks R,R,..    bytes a second of the disk of each machine, 64 at most (200000000: one)
  --link M          megabits a second of the interface of a machine (20000)
  --cores C         cores of a machine, less than one where machines share one (2)
  --nanos N         nanoseconds of a core for a record, in place of those of the file of profiles
  --placement P     even, random, owner or weighted:W,W,.. (even)
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).map(String::as_str)
    };
    match arguments.first().map(String::as_str) {
        Some("blitzg") => return messages(&arguments),
        Some("profiles") => return profiles(&arguments[1..]),
        Some("forecast") => return forecast(&arguments[1..]),
        _ => {}
    }
    let number = |name: &str, usual: u32| value(name).map_or(Some(usual), |text| text.parse().ok());
    if let Some(scale @ 10..=24) = value("--record").and_then(|text| text.parse().ok()) {
        for one in record(rmat(scale, 1)) {
            let parts = one.iterations.iter().map(Iteration::parts_of_million);
            let parts: Vec<[u32; 2]> = parts.collect();
            println!("{} {:?} {parts:?}", one.name, one.bytes);
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
    let wanted: Option<Vec<&str>> = value("--figure").map(|wanted| wanted.split(',').collect());
    let is_wanted = |number: &&str| wanted.as_ref().is_none_or(|all| all.contains(number));
    let of_wanted = FIGURES.iter().filter(|(numbers, _)| numbers.iter().any(is_wanted));
    let makers: Vec<Maker> = of_wanted.map(|(_, make)| *make).collect();
    if makers.is_empty() || !most.is_power_of_two() || arguments.iter().any(|a| a == "--help") {
        eprint!("{USAGE}");
        return ExitCode::from(2);
    }
    let extent = Extent { shrink, most: most as usize };
    let page = value("--page").map(Path::new);
    let threads = number("--threads", 2).unwrap_or(2).max(1) as usize;
    let show = |figure: &Figure| {
        if !is_wanted(&figure.number) {
            return Ok(());
        }
        let Some(page) = page else {
            println!("{}", figure.section(CHAOS, Some(extent), None));
            return Ok(());
        };
        write(page, figure, CHAOS, Some(extent))
    };
    match made(&makers, extent, threads, show) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", page.unwrap_or(Path::new("figure")).display());
            ExitCode::FAILURE
        }
    }
}

/// Makes the figures of `BlitzG`, of a file of measurements.
#[expect(clippy::disallowed_methods, reason = "this is the command")]
fn messages(arguments: &[String]) -> ExitCode {
    let value = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).map(String::as_str)
    };
    let (wanted, page) = (value("--figure"), value("--page"));
    let is_wanted = |number: &str| wanted.is_none_or(|all| all.split(',').any(|it| it == number));
    let makers: Vec<_> = blitzg::FIGURES.iter().filter(|(number, _)| is_wanted(number)).collect();
    if makers.is_empty() || arguments.iter().any(|a| a == "--help") {
        eprint!("{USAGE_BLITZG}");
        return ExitCode::from(2);
    }
    let file = value("--measured").unwrap_or("docs/experiments/blitzg/measured.csv");
    let made = std::fs::read_to_string(file).and_then(|text| {
        let measured = Measured::parse(&text);
        for (number, make) in makers {
            eprintln!("figure {number}");
            let figure = make(&measured);
            match page {
                None => println!("{}", figure.section(BLITZG, None, None)),
                Some(page) => write(Path::new(page), &figure, BLITZG, None)?,
            }
        }
        Ok(())
    });
    match made {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{file}, {}: {error}", page.unwrap_or("no page"));
            ExitCode::FAILURE
        }
    }
}

/// Prints the forecast of an iteration on machines that are stated.
fn forecast(arguments: &[String]) -> ExitCode {
    let Some(stated) = StatedRun::parse(arguments) else {
        eprint!("{USAGE_FORECAST}");
        return ExitCode::from(2);
    };
    println!("{}", stated.json());
    ExitCode::SUCCESS
}

/// Records profiles of the ten algorithms into a file.
#[expect(clippy::disallowed_types, reason = "the clock is what is measured by")]
#[expect(clippy::disallowed_methods, reason = "this is the command")]
fn profiles(arguments: &[String]) -> ExitCode {
    let value = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).map(String::as_str)
    };
    let number = |name: &str, usual: u32| value(name).map_or(Some(usual), |text| text.parse().ok());
    let numbers = [("--scale", 20), ("--runs", 3), ("--partitions", 8)];
    let [Some(scale @ 10..=24), Some(count @ 1..), Some(partitions @ 1..)] =
        numbers.map(|(name, usual)| number(name, usual))
    else {
        eprint!("{USAGE_PROFILES}");
        return ExitCode::from(2);
    };
    if arguments.iter().any(|argument| argument == "--help") {
        eprint!("{USAGE_PROFILES}");
        return ExitCode::from(2);
    }
    let began = std::time::Instant::now();
    let clock = || began.elapsed().as_nanos() as u64;
    let file = value("--file").unwrap_or("docs/experiments/chaos/profiles.csv");
    let written = profile(rmat(scale, 1), Runs { partitions, count }, &clock)
        .map_err(|error| error.to_string())
        .and_then(|algorithms| {
            let shown = |words: &str| words.replace(['\n', '\r'], " ");
            let usual = format!("a core of {}", std::env::consts::ARCH);
            let profiles = Profiles {
                command: format!(
                    "cargo xtask profiles --scale {scale} --runs {count} --partitions {partitions}"
                ),
                scale,
                date: shown(value("--date").unwrap_or("on an unknown day")),
                machine: shown(value("--machine").unwrap_or(&usual)),
                times: Origin::Measured,
                algorithms,
            };
            let text = profiles.text();
            // Times of less than a hundredth of a nanosecond are none, and the figures refuse them.
            Profiles::parse(&text)?;
            std::fs::write(file, text).map_err(|error| error.to_string())
        });
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{file}: {error}");
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

/// Does something with all of these on `threads` threads.
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

/// Runs several makers at a time, and shows each figure when it is made, one after the other.
#[expect(clippy::disallowed_methods, reason = "each run is alone in its thread")]
#[expect(clippy::disallowed_types, reason = "who shows a figure waits for its turn")]
fn made(
    makers: &[Maker],
    extent: Extent,
    threads: usize,
    show: impl Fn(&Figure) -> std::io::Result<()> + Sync,
) -> std::io::Result<()> {
    let next = AtomicUsize::new(0);
    let turn = std::sync::Mutex::new(());
    let work = || {
        while let Some(make) = makers.get(next.fetch_add(1, Ordering::Relaxed)) {
            let figures = make(extent);
            let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
            for figure in &figures {
                eprintln!("figure {}", figure.number);
                show(figure)?;
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let ended = all.into_iter().map(|one| match one.join() {
            Ok(outcome) => outcome,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        ended.collect()
    })
}

/// Writes a figure into the page, and its chart and numbers beside it.
#[expect(clippy::disallowed_methods, reason = "this is the command")]
fn write(
    path: &Path,
    figure: &Figure,
    paper: Paper,
    extent: Option<Extent>,
) -> std::io::Result<()> {
    let charts = path.with_file_name(paper.name);
    std::fs::create_dir_all(&charts)?;
    let file = charts.join(figure.file(paper.name));
    std::fs::write(file.with_extension("svg"), svg(figure))?;
    std::fs::write(file.with_extension("csv"), figure.csv())?;
    let before = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        read => read?,
    };
    let mut page = Page::parse(&before);
    page.put(figure, paper, extent);
    std::fs::write(path, page.text(paper))
}
