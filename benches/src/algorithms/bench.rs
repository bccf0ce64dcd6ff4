//! One graph of `algorithms`, on which contenders run in turns.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Error, Result};

use super::jobs::{ITERATIONS, Job};
use super::outcome::{self, ContenderLine, Outcome, Took, middle};
use super::peers::{Peers, Task};
use super::summary::Summary;
use crate::Settings;
use crate::inputs::Shape;
use crate::outofcore::first_source;
use crate::outofcore::job::{self, JobCost, JobOutcome, JobSetup, ended_after};
use crate::report::{Table, digits, ratio};

/// Seconds beyond which a contender is run once only.
const LONG: f64 = 60.0;

/// Names of contenders in the table.
const WELTER: &str = "welter";
const COST: &str = "COST";

/// Bench of one graph.
pub(super) struct Bench<'a> {
    pub(super) shape: Shape,
    pub(super) settings: &'a Settings,
    peers: &'a Peers,
    pub(super) raw: PathBuf,
    weighted: PathBuf,
    folder: PathBuf,
    /// Where searches begin: the source of the first edge, so that they get somewhere.
    source: u32,
    threads: usize,
}

impl<'a> Bench<'a> {
    pub(super) fn new(shape: Shape, settings: &'a Settings, peers: &'a Peers) -> Result<Self> {
        let raw = settings.inputs.raw(shape)?;
        let weighted = settings.inputs.raw_weighted(shape)?;
        let folder = settings.inputs.subfolder("algorithms")?;
        let source = first_source(&raw)?;
        let threads = settings.threads_most();
        Ok(Self { shape, settings, peers, raw, weighted, folder, source, threads })
    }

    fn input(&self, job: &Job) -> &Path {
        if job.command.weighs { &self.weighted } else { &self.raw }
    }

    /// Runs welter's command and sums its answer up.
    pub(super) fn welter(
        &self,
        job: &Job,
        budget_bytes: Option<u64>,
    ) -> Result<(JobCost, Summary)> {
        let input = self.input(job).display().to_string();
        let threads = self.threads.to_string();
        // Under budgets that are said there are as many as fit.
        let extra: &[&str] =
            if self.settings.budgets.is_empty() { &["--threads", &threads] } else { &[] };
        let way = JobSetup {
            input: &input,
            source: self.source,
            folder: &self.folder,
            budget_bytes,
            rate: None,
            extra,
            seconds_most: Some(self.settings.timeout),
        };
        let output = self.folder.join("answer.npy");
        let taken = job::run(job.command, way, &output)?;
        let summary = job.summary(&taken, &crate::inputs::bytes(&output)?)?;
        std::fs::remove_file(&output).context("removing an answer")?;
        Ok((taken, summary))
    }

    /// Measures welter as others are measured. The answer is written, which is part of the time.
    fn welter_beside_others(&self, job: &Job) -> Outcome {
        let (taken, summary) = match self.welter(job, None) {
            Ok(ran) => ran,
            Err(error) => return failed(&error),
        };
        let (total, run_s) = (taken.seconds, taken.iterating());
        let peak_bytes = taken.resident_bytes();
        let line = ContenderLine { load_s: total - run_s, run_s, peak_bytes, rule: None, summary };
        Outcome::Ran(Took { total, line })
    }

    /// Runs a plain loop.
    fn cost(&self, job: &Job) -> Result<Outcome> {
        let program = std::env::current_exe().context("finding this program")?;
        let mut command: Command = ended_after(self.settings.timeout, &program);
        command.args(["plain-child", "--algorithm", job.name(), "--input"]).arg(self.input(job));
        command.args(["--source", &self.source.to_string()]);
        command.args(["--iterations", &ITERATIONS.to_string()]);
        outcome::of(command, self.settings.timeout)
    }

    /// Contenders that have an algorithm; welter is the first.
    fn contenders(&self, job: &Job) -> Vec<String> {
        let peers = self.peers.all.iter().filter(|peer| peer.has(job.name()));
        let cost = job.has_loop().then(|| COST.to_owned());
        let others = cost.into_iter().chain(peers.map(|peer| peer.name.clone()));
        std::iter::once(WELTER.to_owned()).chain(others).collect()
    }

    fn turn(&self, job: &Job, contender: &str) -> Result<Outcome> {
        eprintln!("{}: {}, {contender}", self.shape, job.name());
        match contender {
            WELTER => Ok(self.welter_beside_others(job)),
            COST => self.cost(job),
            peer => {
                let (algorithm, input) = (job.name(), self.input(job));
                let (source, threads, iterations) = (self.source, self.threads, ITERATIONS);
                let task = Task { algorithm, input, source, threads, iterations };
                self.peers.run(peer, &task, self.settings.timeout)
            }
        }
    }

    /// All contenders in turns; each with how its runs ended.
    fn rounds(&self, job: &Job) -> Result<Vec<(String, Vec<Outcome>)>> {
        let mut all: Vec<(String, Vec<Outcome>)> =
            self.contenders(job).into_iter().map(|name| (name, Vec::new())).collect();
        let count = all.len();
        for round in 0..self.settings.rounds {
            for turn in 0..count {
                let (name, outcomes) = &mut all[(round + turn) % count];
                if outcomes.last().is_none_or(is_worth_another) {
                    outcomes.push(self.turn(job, name)?);
                }
            }
        }
        Ok(all)
    }

    /// Every algorithm, beside all programs that have it.
    pub(super) fn beside_others(&self, jobs: &[Job]) -> Result<Table> {
        let columns = [
            "algorithm",
            "program",
            "end to end s",
            "loading s",
            "running s",
            "peak MiB",
            "welter is, end to end",
            "welter is, after loading",
            "answer",
        ];
        let title =
            format!("From raw pairs to an answer, {}, {} threads", self.shape, self.threads);
        let mut table = Table::new(title, &columns);
        for job in jobs {
            let rounds = self.rounds(job)?;
            let welter = rounds.first().and_then(|(_, outcomes)| middle(outcomes));
            for (name, outcomes) in &rounds {
                let (cells, remark) = row(job, name, outcomes, welter);
                eprintln!("{}", cells.join("  "));
                table.row(cells);
                if let Some(remark) = remark {
                    eprintln!("{remark}");
                    table.note(format!("{remark}."));
                }
            }
        }
        table.note(format!(
            "Peers: {}. welter's time is that of its process, in which the answer of every vertex \
             is written to a file; that of the others begins when their libraries are there and \
             ends with an answer in memory. COST is one thread.",
            self.peers.described()
        ));
        Ok(table)
    }
}

/// Outcome of a run of welter that did not end well.
fn failed(error: &Error) -> Outcome {
    match error.downcast_ref() {
        Some(&JobOutcome::TooLong(most)) => Outcome::TooLong(most),
        _ => Outcome::Failed(format!("{error:#}")),
    }
}

/// Whether a contender that ended so is run again.
fn is_worth_another(outcome: &Outcome) -> bool {
    outcome.took().is_some_and(|took| took.total <= LONG)
}

/// A row of the table, and what is to be said below it. A contender with another answer than
/// welter has no time: one of them is wrong.
fn row(
    job: &Job,
    name: &str,
    outcomes: &[Outcome],
    welter: Option<&Took>,
) -> (Vec<String>, Option<String>) {
    let without_time = |time: String, answer: &str, why: String| {
        let dash = || "-".to_owned();
        let cells = [job.name().to_owned(), name.to_owned(), time];
        let rest = [dash(), dash(), dash(), dash(), dash(), answer.to_owned()];
        (cells.into_iter().chain(rest).collect(), Some(format!("{}: {name} {why}", job.name())))
    };
    let Some(took) = middle(outcomes) else {
        return match outcomes.last() {
            Some(Outcome::TooLong(most)) => {
                without_time(format!("> {most}"), "none", "took too long".to_owned())
            }
            Some(Outcome::Failed(why)) => {
                without_time("-".to_owned(), "none", format!("failed: {why}"))
            }
            _ => without_time("-".to_owned(), "none", "was not run".to_owned()),
        };
    };
    let (answer, why) = judge(job, took, welter);
    if answer == DIFFERS {
        return without_time("-".to_owned(), answer, why.unwrap_or_default());
    }
    let line = &took.line;
    let times = |of: fn(&Took) -> f64| ratio(welter.map(|welter| of(took) / of(welter)));
    let cells = vec![
        job.name().to_owned(),
        name.to_owned(),
        digits(took.total),
        digits(line.load_s),
        digits(line.run_s),
        format!("{:.0}", line.peak_bytes / f64::from(1 << 20)),
        times(|took| took.total),
        times(|took| took.line.run_s),
        answer.to_owned(),
    ];
    (cells, why.map(|why| format!("{}: {name} {why}", job.name())))
}

/// Said of an answer that is wrong, welter's or the other.
const DIFFERS: &str = "DIFFERS";

/// Whether an answer is welter's, and what is to be said of it.
fn judge(job: &Job, took: &Took, welter: Option<&Took>) -> (&'static str, Option<String>) {
    let Some(welter) = welter else {
        return ("-", None);
    };
    if let Some(rule) = &took.line.rule {
        return ("another rule", Some(format!("has another rule: {rule}")));
    }
    let differences = welter.line.summary.differences(&took.line.summary, job.tolerance);
    if differences.is_empty() {
        return ("same", None);
    }
    (DIFFERS, Some(format!("{DIFFERS} from welter: {}", differences.join("; "))))
}

#[cfg(test)]
mod tests {
    use super::super::jobs::JOBS;
    use super::*;

    fn took(load_s: f64, run_s: f64, groups: &[u64], rule: Option<&str>) -> Outcome {
        let summary = Summary::groups(groups.iter().copied());
        let rule = rule.map(str::to_owned);
        let line = ContenderLine { load_s, run_s, peak_bytes: 3e6, rule, summary };
        Outcome::Ran(Took { total: load_s + run_s, line })
    }

    #[test]
    fn ratios_are_of_welters_times() {
        let welter = took(1.0, 0.5, &[1, 1, 2], None);
        let peer = [took(2.0, 4.0, &[7, 8, 8], None)];
        let (cells, remark) = row(&JOBS[0], "x", &peer, welter.took());
        let expected = ["wcc", "x", "6.00", "2.00", "4.00", "3", "4.00x", "8.00x", "same"];
        assert_eq!((&cells[..], remark), (&expected.map(str::to_owned)[..], None));
    }

    #[test]
    fn another_answer_is_said_loudly_and_has_no_time() {
        let welter = took(1.0, 0.5, &[1, 1, 2], None);
        let other = [took(1.0, 0.5, &[1, 1, 1], None)];
        let (cells, remark) = row(&JOBS[0], "x", &other, welter.took());
        let expected = ["wcc", "x", "-", "-", "-", "-", "-", "-", "DIFFERS"];
        assert_eq!(cells, expected);
        assert!(remark.unwrap().contains("DIFFERS from welter: groups: 1, not 2"));
        let ruled = [took(1.0, 0.5, &[1, 1, 1], Some("by chance"))];
        let (cells, remark) = row(&JOBS[0], "x", &ruled, welter.took());
        assert_eq!((&*cells[2], &*cells[8]), ("1.50", "another rule"));
        assert!(remark.unwrap().ends_with("by chance"));
    }

    #[test]
    fn who_takes_too_long_or_fails_is_in_the_table_and_not_run_again() {
        let late = [failed(&Error::new(JobOutcome::TooLong(600)))];
        let (cells, remark) = row(&JOBS[0], "x", &late, None);
        assert_eq!((cells.len(), &*cells[2], &*cells[8]), (9, "> 600", "none"));
        assert!(remark.unwrap().contains("too long"));
        let broken = [failed(&anyhow::anyhow!("out of luck"))];
        assert!(row(&JOBS[0], "x", &broken, None).1.unwrap().ends_with("out of luck"));
        assert!(!is_worth_another(&late[0]) && !is_worth_another(&broken[0]));
        assert!(!is_worth_another(&took(50.0, 11.0, &[], None)));
        assert!(is_worth_another(&took(1.0, 1.0, &[], None)));
    }
}
