//! Running commands aloud: each is printed, each step is timed.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// Result of a task; the error is a sentence for the person who ran it.
pub(crate) type Outcome = Result<(), String>;

/// A command that prints itself when it is run.
pub(crate) struct Aloud {
    command: Command,
}

/// `cargo`, the one that runs this task, in the folder `root`.
pub(crate) fn cargo(root: &Path) -> Aloud {
    command(root, std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Any program, in the folder `root`.
pub(crate) fn command(root: &Path, program: impl AsRef<OsStr>) -> Aloud {
    let mut command = Command::new(program);
    command.current_dir(root);
    Aloud { command }
}

impl Aloud {
    pub(crate) fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    pub(crate) fn args(mut self, many: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.command.args(many);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// The command as a person would type it, without the folder of the program.
    fn line(&self) -> String {
        let program = Path::new(self.command.get_program());
        let mut words = vec![program.file_name().unwrap_or(program.as_os_str())];
        words.extend(self.command.get_args());
        words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    /// Runs the command to its end with this process's streams; a failure is an error.
    pub(crate) fn finish(mut self) -> Outcome {
        let line = self.line();
        println!("$ {line}");
        match self.command.status() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("`{line}` ended with {status}")),
            Err(error) => Err(format!("`{line}` cannot be run: {error}")),
        }
    }

    /// The command itself, for callers that read its output. It is printed now.
    pub(crate) fn into_inner(self) -> Command {
        println!("$ {}", self.line());
        self.command
    }
}

/// Does one step of a task under a heading, and says how long it took.
pub(crate) fn step(name: &str, work: impl FnOnce() -> Outcome) -> Outcome {
    println!("== {name}");
    let started = Instant::now();
    let outcome = work();
    let ended = if outcome.is_ok() { "done" } else { "FAILED" };
    println!("== {name}: {ended} in {:.1} s", started.elapsed().as_secs_f64());
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_typed() {
        let aloud = command(Path::new("."), "/some/where/cargo").arg("test").args(["-p", "xtask"]);
        assert_eq!(aloud.line(), "cargo test -p xtask");
    }

    #[test]
    fn a_failing_or_missing_program_is_an_error() {
        let failed = command(Path::new("."), "false").finish();
        assert!(failed.unwrap_err().contains("`false` ended with"));
        let missing = command(Path::new("."), "no-such-program-here").finish();
        assert!(missing.unwrap_err().contains("cannot be run"));
    }
}
