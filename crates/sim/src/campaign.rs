//! Many seeds, on all cores, and what they came to in all.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use welter_protocol::counters::{Counters, PATHS};

use crate::checkers::progress::End;
use crate::fault_counts::{FaultCounts, KINDS};
use crate::schedule::Overrides;
use crate::world::attempt;

/// One seed in `AGAIN` runs twice, and must have the same hash of all events both times.
const AGAIN: u64 = 16;

/// Seeds of a campaign before a release.
pub const RELEASE: u64 = 100_000;

/// Shares of schedules, in thousandths, in which a path or a kind of fault must occur at least.
const LEAST: u64 = 10;

/// Paths and faults that may be rarer, with their own least shares.
const RARE: [(&str, u64); 4] =
    [("gone for good", 2), ("ScatterLost", 3), ("manifest torn", 1), ("WorkWaited", 3)];

/// Results of many seeds, added up.
#[derive(Clone, Debug)]
pub struct CampaignTotals {
    /// Schedules that were run.
    pub schedules: u64,
    /// Number of seeds among them that ran twice.
    pub twice: u64,
    /// Events in all.
    pub events: u64,
    /// Seeds that failed, and what was found.
    pub failures: BTreeMap<u64, String>,
    /// Paths in all.
    pub counters: Counters,
    /// In how many schedules each path was taken.
    pub taken: [u64; PATHS.len()],
    /// In how many schedules each kind of fault happened.
    pub faults: [u64; KINDS.len()],
    /// Number of faults of each kind, in all.
    pub fault_counts: FaultCounts,
    /// Number of runs by the kind of their end.
    pub ends: BTreeMap<String, u64>,
}

impl Default for CampaignTotals {
    fn default() -> Self {
        Self {
            schedules: 0,
            twice: 0,
            events: 0,
            failures: BTreeMap::new(),
            counters: Counters::default(),
            taken: [0; PATHS.len()],
            faults: [0; KINDS.len()],
            fault_counts: FaultCounts::default(),
            ends: BTreeMap::new(),
        }
    }
}

impl CampaignTotals {
    /// Runs the seeds of a range one by one.
    pub fn of(seeds: impl Iterator<Item = u64>, overrides: &Overrides) -> Self {
        let mut tally = Self::default();
        for seed in seeds {
            tally.run(seed, overrides);
        }
        tally
    }

    fn run(&mut self, seed: u64, overrides: &Overrides) {
        self.schedules += 1;
        let report = match attempt(seed, overrides) {
            Ok(report) => report,
            Err(panic) => {
                self.failures.insert(seed, panic);
                return;
            }
        };
        self.events += report.events;
        if let Some(failure) = report.failure {
            self.failures.insert(seed, failure);
        } else if seed.is_multiple_of(AGAIN) {
            self.rerun(seed, overrides, report.hash);
        }
        self.counters.add(&report.counters);
        for (taken, path) in self.taken.iter_mut().zip(PATHS) {
            *taken += u64::from(report.counters.get(*path) > 0);
        }
        self.fault_counts.add(&report.fault_counts);
        for (sum, kind) in self.faults.iter_mut().zip(KINDS) {
            *sum += u64::from(report.fault_counts.get(*kind) > 0);
        }
        let end = match report.end {
            End::Finished if report.judged => "finished, result judged".to_owned(),
            End::Finished => "finished, then damaged".to_owned(),
            End::Exited(why) => format!("exited: {why:?}"),
            End::Stuck { .. } => "did not end".to_owned(),
        };
        *self.ends.entry(end).or_default() += 1;
    }

    /// Runs a seed a second time, which must go through the same events.
    fn rerun(&mut self, seed: u64, overrides: &Overrides, hash: u64) {
        self.twice += 1;
        if !attempt(seed, overrides).is_ok_and(|again| again.hash == hash) {
            self.failures.insert(seed, "another hash the second time".to_owned());
        }
    }

    /// Adds what other seeds came to.
    fn add(&mut self, other: Self) {
        self.schedules += other.schedules;
        self.twice += other.twice;
        self.events += other.events;
        self.failures.extend(other.failures);
        self.counters.add(&other.counters);
        self.fault_counts.add(&other.fault_counts);
        for (sum, more) in self.taken.iter_mut().zip(other.taken) {
            *sum += more;
        }
        for (sum, more) in self.faults.iter_mut().zip(other.faults) {
            *sum += more;
        }
        for (end, count) in other.ends {
            *self.ends.entry(end).or_default() += count;
        }
    }

    /// Paths and faults that no schedule saw.
    pub fn never(&self) -> Vec<String> {
        let paths = PATHS.iter().zip(self.taken).filter(|(_, taken)| *taken == 0);
        let faults = KINDS.iter().zip(self.faults).filter(|(_, count)| *count == 0);
        let paths = paths.map(|(path, _)| format!("{path:?}"));
        paths.chain(faults.map(|(kind, _)| kind.name().to_owned())).collect()
    }

    /// Paths and faults that too few schedules saw, with what is asked of them.
    pub fn too_rare(&self) -> Vec<String> {
        let paths = PATHS.iter().map(|path| format!("{path:?}")).zip(self.taken);
        let faults = KINDS.iter().map(|kind| kind.name().to_owned()).zip(self.faults);
        let short = |(name, taken): (String, u64)| {
            let rare = RARE.iter().find(|(rare, _)| *rare == name);
            let least = rare.map_or(LEAST, |(_, least)| *least);
            let share = 1000 * taken / self.schedules.max(1);
            (share < least).then(|| format!("{name}: in {share} of 1000 schedules, not in {least}"))
        };
        paths.chain(faults).filter_map(short).collect()
    }

    /// A table of all of it.
    pub fn table(&self) -> String {
        let share = |count: u64| 100.0 * count as f64 / self.schedules.max(1) as f64;
        let mut lines = vec![format!(
            "{} schedules, {} of them twice, {} events, {} failures",
            self.schedules,
            self.twice,
            self.events,
            self.failures.len()
        )];
        for (end, count) in &self.ends {
            lines.push(format!("  {end:<28}{:>7.2} % of schedules", share(*count)));
        }
        lines.push("faults".to_owned());
        for (kind, count) in KINDS.iter().zip(self.faults) {
            let (kind, times) = (kind.name(), self.fault_counts.get(*kind));
            lines.push(format!("  {kind:<28}{:>7.2} % of schedules{times:>12}", share(count)));
        }
        lines.push("paths".to_owned());
        for (path, taken) in PATHS.iter().zip(self.taken) {
            let (path, count) = (format!("{path:?}"), self.counters.get(*path));
            lines.push(format!("  {path:<28}{:>7.2} % of schedules{count:>12}", share(taken)));
        }
        lines.join("\n")
    }
}

/// Runs seeds on `threads` threads.
#[expect(clippy::disallowed_methods, reason = "threads run whole schedules, each alone in one")]
pub fn run(first: u64, count: u64, threads: usize, overrides: &Overrides) -> CampaignTotals {
    let next = AtomicU64::new(first);
    let part = || {
        let claim = || {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            (seed < first + count).then_some(seed)
        };
        CampaignTotals::of(std::iter::from_fn(claim), overrides)
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(part)).collect();
        let mut tally = CampaignTotals::default();
        for worker in workers {
            // Schedules that panic are caught, so this is a bug of the campaign's own.
            tally.add(worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        tally
    })
}
