//! The `welter` command: glue between readers, engine, algorithms and writers; and the same for a
//! caller in its own process ([`library`]), such as the Python package.
//!
//! Invariants of the command: every way out has a documented exit code ([`failure`]); nothing is
//! printed to standard output but results; what takes long shows its progress ([`bars`]) and ends
//! soon after Ctrl-C ([`interrupt`]). Tested by `wrong_usage_ends_with_2`, `quiet_is_quiet`,
//! `a_long_phase_is_drawn_with_rate_and_time_left_and_goes_away` and `iterations_end`.
//!
//! The allocator is the system's. With mimalloc, runs on names, Parquet, raw pairs and weighted
//! text were no faster and took 2 to 25 % more memory: what is large here is allocated a few times,
//! and the engine maps its own.

// Macros that print panic where standard output is closed.
#![warn(clippy::print_stderr, clippy::print_stdout)]

mod actors;
mod algorithms;
pub mod allocator;
mod args;
mod argv;
mod attempt;
mod bars;
mod beside;
mod cache_figures;
mod checkpoint;
mod choice;
mod cluster;
mod cluster_codecs;
mod cluster_copies;
mod cluster_directory;
mod cluster_explain;
mod cluster_forecast;
mod cluster_ingest;
mod cluster_options;
mod cluster_parts;
mod cluster_placement;
mod cluster_plan;
mod cluster_report;
mod cluster_routes;
mod commandline;
mod computers;
mod contents;
mod convert;
mod dealt_parts;
mod directions;
mod docs;
mod elsewhere;
mod endpoints;
mod environment;
mod exit;
mod exit_code;
mod expected;
mod explain;
mod failure;
mod finite;
mod generate;
mod graphalytics;
mod hosted;
mod html;
mod in_memory_edges;
mod info;
mod ingest;
mod input_traffic;
mod interrupt;
mod kept;
mod kept_parts;
mod laid;
mod levels;
pub mod library;
mod listed;
mod load;
mod loaded;
mod local;
mod local_machines;
mod long_run;
mod metrics;
mod near;
mod number_format;
mod numbered;
mod parts;
mod preview;
mod price;
mod price_forecast;
mod probe;
mod promise;
mod python;
mod readings;
mod renamed;
mod report;
mod resume;
mod run;
mod say;
mod session;
mod shares;
mod spec;
mod stdout;
mod summed;

use std::ffi::OsString;

use clap::FromArgMatches;

use crate::commandline::{Cli, ClusterCommand, Command};
use crate::failure::Failure;

/// As [`command`], for a program that an interpreter runs: it is started again by these words.
pub fn command_of(starter: Vec<OsString>, line: Vec<OsString>) -> u8 {
    argv::keep_starter(starter);
    command(line)
}

/// Does what a command line asks for, its name first, and returns the exit code. Once a process: it
/// listens for signals, and says what goes wrong on standard error.
pub fn command(line: Vec<OsString>) -> u8 {
    welter_engine::keep_little();
    exit::hook_panics();
    interrupt::ignore_file_limit();
    allocator::end_with_words();
    let words = argv::with_help(&line);
    let parsed = commandline::command()
        .try_get_matches_from(&words)
        .and_then(|all| Cli::from_arg_matches(&all));
    argv::keep(line);
    let command = match parsed {
        Ok(Cli { command }) => command,
        Err(error) => {
            if let Some(failure) = near::explained(&error, &argv::shown()) {
                return exit::code_of(|| Err(failure));
            }
            // The reader of the help is gone, as in `welter --help | head`: no error.
            let _ = error.print();
            return error.exit_code() as u8;
        }
    };
    exit::code_of(|| perform(command))
}

fn perform(command: Command) -> Result<(), Failure> {
    match command {
        Command::Run { algorithm } => {
            let (algorithm, options) = algorithm.split();
            run::run(&*algorithm, &options, None)
        }
        Command::Resume(args) => resume::resume(args),
        Command::Explain { algorithm } => {
            let (algorithm, options) = algorithm.split();
            explain::explain(&*algorithm, &options)
        }
        Command::Ingest(args) => match &args.place.cluster {
            Some(cluster) => cluster_ingest::ingest(&args, cluster),
            None => ingest::ingest(&args),
        },
        Command::Remove(args) => ingest::remove(&args),
        Command::Check(args) => ingest::check(&args),
        Command::Info(args) => info::info(&args),
        Command::Convert(args) => convert::convert(&args),
        Command::Generate { generator } => generate::generate(generator),
        Command::Graphalytics(args) => graphalytics::graphalytics(&args),
        Command::Probe(args) => probe::probe(&args),
        Command::Cluster { what: ClusterCommand::Init { file } } => computers::init(&file),
        Command::Algorithms => stdout::print(&algorithms::list()),
        Command::Completions { shell } => docs::completions(shell),
        Command::Man { output } => docs::manual(output.as_deref()),
        Command::Markdown { page } => stdout::print(&docs::markdown(page)),
    }
}
