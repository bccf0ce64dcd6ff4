//! The jobs of this benchmark under stated budgets: whether they run, and what they take.

use anyhow::{Result, ensure};

use super::bench::Bench;
use super::jobs::Job;
use super::outofcore::{MIB, ROUNDING};
use super::summary::Summary;
use crate::outofcore::job::{BEYOND_BYTES, JobCost, JobOutcome};
use crate::report::{Table, digits};

/// Each job under each budget.
pub(super) fn table(bench: &Bench<'_>, jobs: &[Job]) -> Table {
    let columns = ["algorithm", "budget MiB", "route", "threads", "peak MiB", "seconds", "read GB"];
    let mut table = Table::new(format!("Under budgets, {}", bench.shape), &columns);
    for job in jobs {
        eprintln!("{}: {}", bench.shape, job.name());
        let expected = bench.welter(job, None).map(|(_, summary)| summary);
        let expected = expected.inspect_err(|error| {
            table.note(format!("{}, in memory: {error:#}.", job.name()));
        });
        for &budget in &bench.settings.budgets {
            let cells = row(bench, job, budget, expected.as_ref().ok()).unwrap_or_else(|error| {
                let mut cells = vec!["-".to_owned(); columns.len()];
                (cells[0], cells[1]) = (job.name().to_owned(), budget.to_string());
                cells[2] = match error.downcast_ref() {
                    Some(JobOutcome::DoesNotFit(message)) => need(message),
                    Some(JobOutcome::TooLong(most)) => format!("longer than {most} s"),
                    None => {
                        table.note(format!("{}, {budget} MiB: {error:#}.", job.name()));
                        "FAILED".to_owned()
                    }
                };
                cells
            });
            eprintln!("{}", cells.join("  "));
            table.row(cells);
        }
    }
    table.note(format!(
        "Each run is in a control group that is killed beyond its budget and {} MiB, which its \
         code, its stacks and what the kernel keeps for it are in. Answers are compared with those \
         of runs with all the memory there is. Read: by iterations, of temporary files.",
        BEYOND_BYTES / MIB
    ));
    table
}

/// A run under a budget, whose answer is the expected one.
fn row(
    bench: &Bench<'_>,
    job: &Job,
    budget: u64,
    expected: Option<&Summary>,
) -> Result<Vec<String>> {
    let (taken, found) = bench.welter(job, Some(budget * MIB))?;
    if let Some(expected) = expected {
        let differences = expected.differences(&found, job.tolerance.max(ROUNDING));
        ensure!(differences.is_empty(), "another answer: {}", differences.join("; "));
    }
    Ok(cells(job.name(), budget, &taken))
}

fn cells(name: &str, budget: u64, taken: &JobCost) -> Vec<String> {
    vec![
        name.to_owned(),
        budget.to_string(),
        taken.route(),
        taken.threads().to_string(),
        taken.peak_bytes.map_or("-".to_owned(), |bytes| (bytes / MIB).to_string()),
        digits(taken.seconds),
        digits(taken.moved().0 / 1e9),
    ]
}

/// Memory that the command says it needs.
fn need(message: &str) -> String {
    let needs = message.split_once("needs ").and_then(|(_, rest)| rest.split_once(" of memory"));
    needs.map_or("refused".to_owned(), |(bytes, _)| format!("refused: needs {bytes}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_what_a_run_took() {
        let report = serde_json::json!({
            "plan": { "route": "spill", "threads": 2 },
            "storage": { "bytes_read": 2_500_000_000_u64 },
        });
        let taken = JobCost { seconds: 3.7, peak_bytes: Some(130 * MIB), report };
        let expected = ["mcst", "128", "spill", "2", "130", "3.70", "2.50"];
        assert_eq!(cells("mcst", 128, &taken), expected);
    }

    #[test]
    fn who_is_refused_says_what_he_needs() {
        let message = "error: this run needs 112 MiB of memory and the budget is 64.0 MiB; give it";
        assert_eq!(need(message), "refused: needs 112 MiB");
        assert_eq!(need("error: another"), "refused");
    }
}
