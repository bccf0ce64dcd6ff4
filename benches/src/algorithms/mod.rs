//! `algorithms`: the papers' algorithms, whole jobs from a file of raw pairs to an answer.
//!
//! Each job is a process of its own: welter's command, a plain loop of one thread, and, where there
//! is a Python that has them, other programs. Answers are compared with welter's by a summary,
//! which is not timed. Then the same jobs of welter with less memory than the graph wants, in
//! control groups.

mod bench;
mod budgets;
mod jobs;
pub(crate) mod npy;
pub(crate) mod outcome;
mod outofcore;
mod peers;
pub(crate) mod plain;
pub(crate) mod summary;

use anyhow::Result;

use crate::Settings;
use crate::report::Table;
use bench::Bench;
use peers::Peers;

/// Measures all graphs of the settings.
pub(crate) fn bench(settings: &Settings) -> Result<Vec<Table>> {
    let jobs = jobs::named(&settings.only)?;
    let peers = Peers::find(settings.peers.as_deref())?;
    let mut tables = Vec::new();
    for shape in settings.shapes() {
        let bench = Bench::new(shape, settings, &peers)?;
        if !settings.budgets.is_empty() {
            tables.push(budgets::table(&bench, &jobs));
            continue;
        }
        tables.push(bench.beside_others(&jobs)?);
        tables.push(outofcore::table(&bench, &jobs));
    }
    Ok(tables)
}
