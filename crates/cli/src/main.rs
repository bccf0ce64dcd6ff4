//! The `welter` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(welter_cli::command(std::env::args_os().collect()))
}
