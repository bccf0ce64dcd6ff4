//! A contender in a process of its own: how it ended, and what it says that it took.

use std::process::{Command, ExitStatus};
use std::time::Instant;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::summary::Summary;

/// Line of JSON that a contender prints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ContenderLine {
    /// Seconds from the start of reading to a graph in memory.
    pub(crate) load_s: f64,
    /// Seconds from there to an answer in memory.
    pub(crate) run_s: f64,
    /// The most memory that the process had.
    pub(crate) peak_bytes: f64,
    /// Reason why its answer is another by its own rules, if it is.
    pub(crate) rule: Option<String>,
    pub(crate) summary: Summary,
}

/// Times and memory of a contender.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Took {
    /// Seconds from the raw pairs to the answer.
    pub(crate) total: f64,
    pub(crate) line: ContenderLine,
}

/// Result of a contender.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    Ran(Took),
    /// Seconds after which the command was ended.
    TooLong(u64),
    Failed(String),
}

impl Outcome {
    pub(crate) fn took(&self) -> Option<&Took> {
        match self {
            Self::Ran(took) => Some(took),
            _ => None,
        }
    }
}

/// Runs a command that is ended after `seconds_most` seconds, and reads what it says.
pub(super) fn of(mut command: Command, seconds_most: u64) -> Result<Outcome> {
    let begun = Instant::now();
    let ended = command.output().with_context(|| format!("starting {command:?}"))?;
    if begun.elapsed().as_secs_f64() >= seconds_most as f64 {
        return Ok(Outcome::TooLong(seconds_most));
    }
    Ok(judged(ended.status, &ended.stdout, &ended.stderr))
}

fn judged(status: ExitStatus, stdout: &[u8], stderr: &[u8]) -> Outcome {
    let why = String::from_utf8_lossy(stderr);
    let why = why.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("said nothing");
    // `timeout` hands on that a program was killed as 128 and the signal.
    match status.code() {
        Some(0) => {}
        Some(137) => return Outcome::Failed("killed, as by a lack of memory".to_owned()),
        Some(139) => return Outcome::Failed("a segmentation fault".to_owned()),
        _ => return Outcome::Failed(format!("{status}: {}", why.trim())),
    }
    match serde_json::from_slice::<ContenderLine>(stdout) {
        Ok(line) => Outcome::Ran(Took { total: line.load_s + line.run_s, line }),
        Err(error) => Outcome::Failed(format!("what it says cannot be read: {error}")),
    }
}

/// The one of several runs that took the time in the middle; of two in the middle the faster one.
/// None unless all of them ran.
pub(crate) fn middle(outcomes: &[Outcome]) -> Option<&Took> {
    let mut ran: Vec<&Took> = outcomes.iter().map(Outcome::took).collect::<Option<_>>()?;
    ran.sort_by(|one, other| one.total.total_cmp(&other.total));
    ran.get(ran.len().checked_sub(1)? / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    const SAID: &str = r#"{"peer": "x", "version": "1", "algorithm": "wcc", "load_s": 1.5,
        "run_s": 0.25, "peak_bytes": 1024, "rule": null, "summary": {"groups": 3, "largest": 7}}"#;

    fn ended(code: i32, stdout: &str) -> Outcome {
        judged(ExitStatus::from_raw(code << 8), stdout.as_bytes(), b"Traceback\nno module x\n\n")
    }

    #[test]
    fn what_a_peer_prints_is_read() {
        let Outcome::Ran(took) = ended(0, SAID) else { panic!("it ran") };
        assert_eq!((took.total, took.line.run_s), (1.75, 0.25));
        let summary = Summary::groups([1, 2, 3, 3, 3, 3, 3, 3, 3].into_iter());
        assert_eq!(took.line.summary, summary);
        assert_eq!(took.line.rule, None);
    }

    #[test]
    fn what_went_wrong_is_told() {
        let failed = |code, stdout| match ended(code, stdout) {
            Outcome::Failed(why) => why,
            other => panic!("{other:?}"),
        };
        assert!(failed(1, "").ends_with("no module x"));
        assert!(failed(137, SAID).contains("memory"));
        assert!(failed(139, SAID).contains("segmentation"));
        assert!(failed(0, "{}").contains("load_s"));
    }

    #[test]
    fn a_program_that_takes_too_long_is_ended() {
        let sleep = std::path::Path::new("sleep");
        let command = || {
            let mut command = crate::outofcore::job::ended_after(1, sleep);
            command.arg("60");
            command
        };
        assert_eq!(of(command(), 1).unwrap(), Outcome::TooLong(1));
    }

    #[test]
    fn the_middle_is_of_all_runs_or_none() {
        let ran = |total| {
            let line = serde_json::from_str(SAID).unwrap();
            Outcome::Ran(Took { total, line })
        };
        let total = |outcomes: &[Outcome]| middle(outcomes).map(|took| took.total);
        assert_eq!(total(&[ran(3.0), ran(1.0), ran(2.0)]), Some(2.0));
        assert_eq!(total(&[ran(3.0), ran(1.0)]), Some(1.0));
        assert_eq!(total(&[ran(3.0), Outcome::TooLong(9)]), None);
        assert_eq!(total(&[]), None);
    }
}
