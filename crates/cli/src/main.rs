//! The `welter` command: glue between readers, engine, algorithms and writers.
//!
//! Invariants: every way out has a documented exit code ([`failure`]); nothing is printed to
//! standard output but results; what takes long shows its progress ([`bars`]) and ends soon after
//! Ctrl-C ([`interrupt`]).
//!
//! The allocator is the system's. With mimalloc, runs on names, Parquet, raw pairs and weighted
//! text were no faster and took 2 to 25 % more memory: what is large here is allocated a few times,
//! and the engine maps its own.

mod algorithms;
mod args;
mod bars;
mod checkpoint;
mod convert;
mod docs;
mod ends;
mod expected;
mod explain;
mod failure;
mod generate;
mod graphalytics;
mod info;
mod interrupt;
mod kept;
mod levels;
mod load;
mod parts;
mod probe;
mod report;
mod run;
mod session;
mod spec;
mod text;
mod top;

use std::process::ExitCode;

use clap::FromArgMatches;

use crate::args::{Cli, Command};
use crate::failure::Failure;

fn main() -> ExitCode {
    failure::hook_panics();
    let parsed = args::command().try_get_matches().and_then(|all| Cli::from_arg_matches(&all));
    let command = match parsed {
        Ok(Cli { command }) => command,
        Err(error) => {
            // Nobody reads the help any more, as in `welter --help | head`: no error.
            let _ = error.print();
            return ExitCode::from(error.exit_code() as u8);
        }
    };
    ExitCode::from(failure::code_of(|| perform(command)))
}

fn perform(command: Command) -> Result<(), Failure> {
    match command {
        Command::Run { algorithm } => {
            let (algorithm, options) = algorithm.split();
            run::run(&*algorithm, &options, None)
        }
        Command::Resume(args) => checkpoint::resume(args),
        Command::Explain { algorithm } => {
            let (algorithm, options) = algorithm.split();
            explain::explain(&*algorithm, &options)
        }
        Command::Ingest(args) => kept::ingest(&args),
        Command::Check(args) => kept::check(&args),
        Command::Info(args) => info::info(&args),
        Command::Convert(args) => convert::convert(&args),
        Command::Generate { generator } => generate::generate(generator),
        Command::Graphalytics(args) => graphalytics::graphalytics(&args),
        Command::Probe(args) => probe::probe(&args),
        Command::Algorithms => run::print(&algorithms::list()),
        Command::Completions { shell } => docs::completions(shell),
        Command::Man { output } => docs::manual(output.as_deref()),
        Command::Markdown { page } => run::print(&docs::markdown(page)),
    }
}
