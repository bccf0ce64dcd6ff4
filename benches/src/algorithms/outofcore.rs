//! Jobs of this benchmark with less memory than the graph wants, beside the times stated for
//! X-Stream.

use anyhow::{Context, Result, bail, ensure};

use super::bench::Bench;
use super::jobs::Job;
use super::summary::Summary;
use crate::outofcore::job::{BEYOND_BYTES, JobCost, JobOutcome};
use crate::report::{Table, digits, ratio};

pub(super) const MIB: u64 = 1 << 20;

/// Budgets that are tried, MiB, the least first.
const BUDGETS: [u64; 6] = [32, 64, 128, 256, 512, 1024];

/// Every job with the least budget that it runs in.
pub(super) fn table(bench: &Bench<'_>, jobs: &[Job]) -> Table {
    let columns = [
        "algorithm",
        "budget",
        "route",
        "threads",
        "peak MiB",
        "seconds",
        "ingest s",
        "iterations s",
        "read GB",
        "written GB",
        "limit",
        "X-Stream, stated s",
        "vs X-Stream",
        "M edges/s",
        "Table 1: X-Stream",
        "Table 1: Chaos",
        "vs Chaos",
    ];
    let mut table = Table::new(format!("Out of core, {}", bench.shape), &columns);
    for job in jobs {
        let cells = checked(bench, job).unwrap_or_else(|error| {
            let remark = format!("{}: {error:#}.", job.name());
            eprintln!("{remark}");
            table.note(remark);
            let mut cells = vec!["-".to_owned(); columns.len()];
            job.name().clone_into(&mut cells[0]);
            cells
        });
        eprintln!("{}", cells.join("  "));
        table.row(cells);
    }
    table.note(format!(
        "Each job has the least of {BUDGETS:?} MiB that is no less than a quarter of the raw pairs \
         and that it does not refuse, in a control group that is killed beyond that and {} MiB. \
         Read and written: by iterations, of temporary files, past the page cache, which holds the \
         input. X-Stream's seconds on R-MAT 22 are stated ones, of its own out-of-core runs; they \
         were not measured here, and other scales have none. Edges a second are those of the \
         graph, each counted once however often it is met, beside those of table 1 of Chaos \
         (SOSP 2015): R-MAT 27, 16 cores, an SSD of 400 MB/s, numbers of iterations not stated.",
        BEYOND_BYTES / MIB
    ));
    table
}

/// Sums of floats in another order.
pub(super) const ROUNDING: f64 = 1e-9;

/// A run with the least budget, whose answer is that of a run with all the memory there is.
fn checked(bench: &Bench<'_>, job: &Job) -> Result<Vec<String>> {
    let (_, expected) = bench.welter(job, None)?;
    let (budget, taken, summary) = least(bench, job)?;
    let differences = expected.differences(&summary, job.tolerance.max(ROUNDING));
    ensure!(differences.is_empty(), "another answer than in memory: {}", differences.join("; "));
    Ok(row(job, bench.shape.scale, budget, &taken))
}

/// A run with the least budget that is not refused.
fn least(bench: &Bench<'_>, job: &Job) -> Result<(u64, JobCost, Summary)> {
    let raw = std::fs::metadata(&bench.raw).context("looking at the raw pairs")?.len();
    for budget in budgets(raw) {
        eprintln!("{}: {}, {} MiB", bench.shape, job.name(), budget / MIB);
        match bench.welter(job, Some(budget)) {
            Ok((taken, summary)) => return Ok((budget, taken, summary)),
            Err(error) => match error.downcast_ref() {
                Some(JobOutcome::DoesNotFit(_)) => {}
                _ => return Err(error),
            },
        }
    }
    bail!("refused with every budget from a quarter of the raw pairs")
}

/// Budgets that are tried for a number of bytes of raw pairs.
fn budgets(raw_bytes: u64) -> impl Iterator<Item = u64> {
    BUDGETS.into_iter().map(|budget| budget * MIB).filter(move |&budget| budget >= raw_bytes / 4)
}

/// A row of the table.
fn row(job: &Job, scale: u32, budget: u64, taken: &JobCost) -> Vec<String> {
    let (read, written) = taken.moved();
    let stated = job.xstream_seconds(scale);
    let pace = (16_u64 << scale) as f64 / 1e6 / taken.seconds;
    let table = job.table_pace();
    vec![
        job.name().to_owned(),
        format!("{} MiB", budget / MIB),
        taken.route(),
        taken.threads().to_string(),
        taken.peak_bytes.map_or("-".to_owned(), |bytes| (bytes / MIB).to_string()),
        digits(taken.seconds),
        digits(taken.seconds - taken.iterating()),
        digits(taken.iterating()),
        digits(read / 1e9),
        digits(written / 1e9),
        taken.limit(),
        stated.map_or("-".to_owned(), digits),
        ratio(stated.map(|stated| stated / taken.seconds)),
        digits(pace),
        table.map_or("-".to_owned(), |[xstream, _]| digits(xstream)),
        table.map_or("-".to_owned(), |[_, chaos]| digits(chaos)),
        ratio(table.map(|[_, chaos]| pace / chaos)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::jobs::JOBS;

    #[test]
    fn a_row_says_how_many_times_the_stated_time_a_run_is() {
        let report = serde_json::json!({
            "plan": { "route": "fold", "threads": 2 },
            "phases": [
                { "name": "sort", "seconds": 1.0 },
                { "name": "pass", "seconds": 0.5 },
                { "name": "pass", "seconds": 0.2 },
            ],
            "storage": { "bytes_read": 2_500_000_000_u64, "bytes_written": 0, "limit": "storage" },
        });
        let taken = JobCost { seconds: 3.7, peak_bytes: Some(130 * MIB), report };
        let cells = |scale| row(&JOBS[0], scale, 128 * MIB, &taken);
        let expected = ["wcc", "128 MiB", "fold", "2", "130", "3.70", "3.00", "0.70", "2.50"];
        assert_eq!(cells(22)[..9], expected);
        assert_eq!(cells(22)[9..13], ["0.00", "storage", "14.8", "4.00x"]);
        assert_eq!(cells(22)[13..], ["18.1", "2.95", "2.16", "8.40x"]);
        assert_eq!(cells(20)[11..13], ["-", "-"]);
    }

    #[test]
    fn budgets_are_from_a_quarter_of_the_pairs() {
        let tried = |raw: u64| budgets(raw).map(|bytes| bytes / MIB).collect::<Vec<_>>();
        assert_eq!(tried(512 * MIB), [128, 256, 512, 1024]);
        assert_eq!(tried(MIB).len(), BUDGETS.len());
        assert!(tried(8192 * MIB).is_empty());
    }
}
