//! The `welter` command.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: welter_cli::allocator::Noting = welter_cli::allocator::Noting;

fn main() -> ExitCode {
    ExitCode::from(welter_cli::command(std::env::args_os().collect()))
}
