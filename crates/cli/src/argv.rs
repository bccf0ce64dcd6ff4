//! The command line of this process, which reports and checkpoints keep, and how another process
//! of this program is started.

use std::ffi::OsString;
use std::process::Command;
use std::sync::OnceLock;

static ARGV: OnceLock<Vec<OsString>> = OnceLock::new();

static STARTER: OnceLock<Vec<OsString>> = OnceLock::new();

/// Keeps the words by which this program is started, where it is no program of its own.
pub(crate) fn keep_starter(words: Vec<OsString>) {
    STARTER.get_or_init(|| words);
}

/// Whether it is started by other words than its own name.
pub(crate) fn is_started() -> bool {
    STARTER.get().is_some()
}

/// The command that starts this program, without words for it.
pub(crate) fn program() -> Command {
    match STARTER.get().map(Vec::as_slice) {
        Some([program, words @ ..]) => {
            let mut command = Command::new(program);
            command.args(words);
            command
        }
        _ => Command::new(std::env::current_exe().unwrap_or_else(|_| "welter".into())),
    }
}

/// Keeps the command line. The first one stays: a process is one command.
pub(crate) fn keep(argv: Vec<OsString>) {
    ARGV.get_or_init(|| argv);
}

/// The words that were kept; none where no command was given, as in a library.
pub(crate) fn words() -> &'static [OsString] {
    ARGV.get().map_or(&[], Vec::as_slice)
}

/// Words of the run that a command resumes.
static RESUMED: OnceLock<Vec<OsString>> = OnceLock::new();

/// Keeps the words, but for the name of the program, of the run that this command resumes.
pub(crate) fn resume(words: Vec<String>) {
    let words = words.into_iter().map(OsString::from);
    RESUMED.get_or_init(|| std::iter::once(OsString::from("welter")).chain(words).collect());
}

/// Whether this command resumes a run.
pub(crate) fn is_resumed() -> bool {
    RESUMED.get().is_some()
}

/// The words of the run: of the one that is resumed, else of this command.
pub(crate) fn run_words() -> &'static [OsString] {
    RESUMED.get().map_or(words(), Vec::as_slice)
}

/// The words as text, for people.
pub(crate) fn shown() -> Vec<String> {
    words().iter().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// The words of the run as text.
pub(crate) fn run_shown() -> Vec<String> {
    run_words().iter().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// Commands that another word follows before options do.
const WITH_NAMES: [&str; 3] = ["run", "explain", "generate"];

/// The words with `--help` at their end where they begin with `help`, as in `welter help run bfs`
/// or `welter run help`.
pub(crate) fn with_help(words: &[OsString]) -> Vec<OsString> {
    let is = |place: usize, word: &str| words.get(place).is_some_and(|found| found == word);
    let names = WITH_NAMES.iter().any(|name| is(1, name));
    let place = if is(1, "help") { 1 } else { 2 };
    if !is(place, "help") || place == 2 && !(names && words.len() == 3) {
        return words.to_vec();
    }
    let others = words.iter().enumerate().filter(|(number, _)| *number != place);
    others.map(|(_, word)| word.clone()).chain([OsString::from("--help")]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_may_come_first() {
        let with_help = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let words = super::with_help(&words);
            words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(with_help("welter help"), "welter --help");
        assert_eq!(with_help("welter help run bfs"), "welter run bfs --help");
        assert_eq!(with_help("welter run help"), "welter run --help");
        for line in ["welter", "welter run bfs help", "welter info help", "welter run help me"] {
            assert_eq!(with_help(line), line);
        }
    }
}
