//! The same jobs with less memory than the graph wants, beside the times stated for X-Stream.

use anyhow::{Context, Result, ensure};

use super::Bench;
use super::jobs::Job;
use super::summary::Summary;
use crate::outofcore::job::{BEYOND_BYTES, Ended, Taken};
use crate::report::{Table, digits, ratio};

const MIB: u64 = 1 << 20;

/// Budgets that are tried, MiB, the least first.
const BUDGETS: [u64; 6] = [32, 64, 128, 256, 512, 1024];

/// Every job with the least budget that it runs in.
pub(super) fn table(bench: &Bench<'_>, jobs: &[Job]) -> Result<Table> {
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
    ];
    let mut table = Table::new(format!("Out of core, {}", bench.shape), &columns);
    for job in jobs {
        let (_, expected) = bench.welter(job, None)?;
        match least(bench, job)? {
            Ok((budget, taken, summary)) => {
                let differences = expected.differences(&summary, job.tolerance.max(ROUNDING));
                ensure!(differences.is_empty(), "{}: {}", job.name(), differences.join("; "));
                table.row(row(job, bench.shape.scale, budget, &taken));
            }
            Err(ended) => {
                let mut cells = vec!["-".to_owned(); columns.len()];
                job.name().clone_into(&mut cells[0]);
                table.row(cells);
                table.note(format!("{}: {ended}.", job.name()));
            }
        }
    }
    table.note(format!(
        "Each job has the least of {BUDGETS:?} MiB that is no less than a quarter of the raw pairs \
         and that it does not refuse, in a control group that is killed beyond that and {} MiB. \
         Read and written: by iterations, of temporary files, past the page cache, which holds the \
         input. X-Stream's seconds on R-MAT 22 are stated ones, of its own out-of-core runs; they \
         were not measured here, and other scales have none.",
        BEYOND_BYTES / MIB
    ));
    Ok(table)
}

/// Sums of floats in another order.
const ROUNDING: f64 = 1e-9;

/// A run with the least budget, or how the last one ended.
type Least = std::result::Result<(u64, Taken, Summary), Ended>;

fn least(bench: &Bench<'_>, job: &Job) -> Result<Least> {
    let raw = std::fs::metadata(&bench.raw).context("looking at the raw pairs")?.len();
    let mut last = Ended::DoesNotFit("no budget is small enough for so few edges".to_owned());
    for budget in budgets(raw) {
        eprintln!("{}: {}, {} MiB", bench.shape, job.name(), budget / MIB);
        match bench.welter(job, Some(budget)) {
            Ok((taken, summary)) => return Ok(Ok((budget, taken, summary))),
            Err(error) => last = error.downcast::<Ended>()?,
        }
        if matches!(last, Ended::TooLong(_)) {
            break;
        }
    }
    Ok(Err(last))
}

/// What is tried for so many bytes of raw pairs.
fn budgets(raw_bytes: u64) -> impl Iterator<Item = u64> {
    BUDGETS.into_iter().map(|budget| budget * MIB).filter(move |&budget| budget >= raw_bytes / 4)
}

fn row(job: &Job, scale: u32, budget: u64, taken: &Taken) -> Vec<String> {
    let (read, written) = taken.moved();
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
        digits(job.xstream_seconds()),
        ratio(job.of_xstream(scale, taken.seconds)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_from_a_quarter_of_the_pairs() {
        let tried = |raw: u64| budgets(raw).map(|bytes| bytes / MIB).collect::<Vec<_>>();
        assert_eq!(tried(512 * MIB), [128, 256, 512, 1024]);
        assert_eq!(tried(MIB).len(), BUDGETS.len());
        assert!(tried(8192 * MIB).is_empty());
    }
}
