//! The money of a run, by a table of prices that the user may edit.
//!
//! ```text
//! machine   seconds, by the hour, of each machine
//! storage   bytes of edges on disks of machines or in a bucket, for as long as the run takes
//! requests  reads and writes of disks; GET, PUT and lists of buckets, and bytes that went there
//!           and came from there
//! ```
//! Prices that a table leaves out are those of [`DEFAULTS`], which say of when they are.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Serialize;
use welter_objects::Traffic;
use welter_progress::FailureKind;
use welter_store::io::VolumeStats;

use crate::failure::Failure;

/// The table that is taken where none says otherwise.
const DEFAULTS: &str = include_str!("prices.txt");
/// Bytes of a table at most.
const BYTES_MAX: u64 = 1 << 16;
/// Hours of a month, as clouds reckon.
const MONTH_HOURS: f64 = 730.0;
const GB: f64 = 1e9;
const MILLION: f64 = 1e6;

/// A table of prices.
#[derive(Clone, Debug)]
pub(crate) struct Prices {
    numbers: BTreeMap<String, f64>,
    currency: String,
    date: String,
}

/// Time, bytes and requests of a run, or those that are expected of a part of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    pub(crate) seconds: f64,
    /// Machines beside this one, for as long.
    pub(crate) others: usize,
    /// Bytes of edges that lie on disks of machines meanwhile, and in a bucket.
    pub(crate) bytes_kept: [u64; 2],
    /// Reads and writes of disks.
    pub(crate) requests: [u64; 2],
    pub(crate) objects: Traffic,
}

/// The price of that, by parts.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Price {
    currency: String,
    /// When the prices were so.
    date: String,
    /// Of machines.
    machine: f64,
    storage: f64,
    requests: f64,
    total: f64,
    #[serde(skip)]
    others: usize,
}

impl Prices {
    /// The table of a file.
    ///
    /// # Errors
    /// When it cannot be read, or a line of it says nothing that is known.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let name = path.display();
        let failed = |error: std::io::Error| {
            let kind = match error.kind() {
                std::io::ErrorKind::NotFound => FailureKind::Missing,
                _ => FailureKind::Storage,
            };
            Failure::new(kind, format!("{name}: cannot read it: {error}"))
        };
        let bytes = fs::metadata(path).map_err(failed)?.len();
        if bytes > BYTES_MAX {
            let what = format!("{name}: {bytes} bytes are no table of prices");
            return Err(Failure::new(FailureKind::Input, what));
        }
        let text = fs::read_to_string(path).map_err(failed)?;
        let mut prices = Self::defaults();
        prices.put(&text).map_err(|(line, what)| {
            Failure::new(FailureKind::Input, format!("{name}:{line}: {what}"))
                .hint("docs/object-stores.md has the names, and their prices of a day")
        })?;
        Ok(prices)
    }

    fn defaults() -> Self {
        let (numbers, currency, date) = (BTreeMap::new(), String::new(), String::new());
        let mut prices = Self { numbers, currency, date };
        for (name, value) in lines(DEFAULTS).filter_map(|(_, line)| line.split_once('=')) {
            prices.set(name.trim(), value.trim());
        }
        prices
    }

    /// Puts the lines of a table over the prices of before. An error says which line, and why.
    fn put(&mut self, text: &str) -> Result<(), (usize, String)> {
        for (number, line) in lines(text) {
            let wrong = |what: String| (number, what);
            let Some((name, value)) = line.split_once('=') else {
                return Err(wrong(format!("expected NAME = PRICE, found {line:?}")));
            };
            let (name, value) = (name.trim(), value.trim());
            let is_text = ["currency", "date"].contains(&name);
            if !is_text && !self.numbers.contains_key(name) {
                return Err(wrong(format!("no price is called {name:?}")));
            }
            let is_price = |value: f64| value.is_finite() && value >= 0.0;
            if value.is_empty() || !(is_text || value.parse().is_ok_and(is_price)) {
                return Err(wrong(format!("expected a price, found {value:?}")));
            }
            self.set(name, value);
        }
        Ok(())
    }

    fn set(&mut self, name: &str, value: &str) {
        match name {
            "currency" => value.clone_into(&mut self.currency),
            "date" => value.clone_into(&mut self.date),
            _ => {
                self.numbers.insert(name.to_owned(), value.parse().unwrap_or(0.0));
            }
        }
    }

    fn of(&self, name: &str) -> f64 {
        self.numbers.get(name).copied().unwrap_or(0.0)
    }

    /// The price of a run.
    pub(crate) fn price(&self, spent: &Spent) -> Price {
        let hours = spent.seconds / 3600.0;
        let Traffic { reads, writes, bytes_received, bytes_sent } = spent.objects;
        let sum = |terms: &[(&str, u64)], unit: f64| -> f64 {
            terms.iter().map(|(name, count)| self.of(name) * *count as f64 / unit).sum()
        };
        let [here, elsewhere] = spent.bytes_kept;
        let kept = [("disk_gb_month", here), ("object_gb_month", elsewhere)];
        let [read, written] = spent.requests;
        let requests = [
            ("disk_million_reads", read),
            ("disk_million_writes", written),
            ("object_million_reads", reads),
            ("object_million_writes", writes),
        ];
        let moved = [("object_gb_received", bytes_received), ("object_gb_sent", bytes_sent)];
        let machine = self.of("machine_hour") * hours * (1 + spent.others) as f64;
        let storage = sum(&kept, GB) * hours / MONTH_HOURS;
        let requests = sum(&requests, MILLION) + sum(&moved, GB);
        let (currency, date) = (self.currency.clone(), self.date.clone());
        let total = machine + storage + requests;
        Price { currency, date, machine, storage, requests, total, others: spent.others }
    }

    /// When the prices were so.
    pub(crate) fn date(&self) -> &str {
        &self.date
    }
}

impl Spent {
    /// Sum of this and another part of a run beside it, which occurs this number of times.
    pub(crate) fn and(&self, part: &Self, times: u64) -> Self {
        let add = |sum: u64, part: u64| sum.saturating_add(part.saturating_mul(times));
        let (sum, more) = (self.objects, part.objects);
        Self {
            seconds: self.seconds + part.seconds * times as f64,
            others: self.others.max(part.others),
            bytes_kept: [0, 1].map(|at| self.bytes_kept[at].max(part.bytes_kept[at])),
            requests: [0, 1].map(|at| add(self.requests[at], part.requests[at])),
            objects: Traffic {
                reads: add(sum.reads, more.reads),
                writes: add(sum.writes, more.writes),
                bytes_received: add(sum.bytes_received, more.bytes_received),
                bytes_sent: add(sum.bytes_sent, more.bytes_sent),
            },
        }
    }
}

impl Price {
    /// A line for a person.
    pub(crate) fn line(&self) -> String {
        format!("{}, by prices of {}", self.text(), self.date)
    }

    /// The sum alone.
    pub(crate) fn sum(&self) -> String {
        format!("{} {}", money(self.total), self.currency)
    }

    /// The sum and its parts.
    pub(crate) fn text(&self) -> String {
        let Self { machine, storage, requests, others, .. } = self;
        let machines = match others {
            0 => "the machine".to_owned(),
            others => format!("{} machines", others + 1),
        };
        let parts = [(&*machines, machine), ("storage", storage), ("requests", requests)];
        let parts: Vec<String> =
            parts.iter().map(|(what, price)| format!("{what} {}", money(**price))).collect();
        format!("{} ({})", self.sum(), parts.join(", "))
    }
}

/// A sum of money with four digits that say something, or cents of larger ones.
pub(crate) fn money(sum: f64) -> String {
    if sum == 0.0 || sum >= 10.0 {
        return format!("{sum:.2}");
    }
    let digits = (3 - sum.log10().floor() as i64).clamp(2, 12) as usize;
    let text = format!("{sum:.digits$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Lines that say something, with their numbers, without comments.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let end = |line: &'_ str| line.find('#').unwrap_or(line.len());
    let lines = text.lines().zip(1..);
    let lines = lines.map(move |(line, number)| (number, line[..end(line)].trim()));
    lines.filter(|(_, line)| !line.is_empty())
}

/// Time, bytes and requests of a run, of which the edges lie elsewhere or here.
pub(crate) fn spent(
    (seconds, bytes_kept): (f64, u64),
    moved: VolumeStats,
    (objects, elsewhere): (Traffic, bool),
) -> Spent {
    let kept = if elsewhere { [0, bytes_kept] } else { [bytes_kept, 0] };
    // Reads of a graph in a bucket are requests of objects, which count there.
    let requests = [moved.reads - moved.fetches, moved.writes];
    Spent { seconds, bytes_kept: kept, requests, objects, ..Spent::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(text: &str) -> Result<Prices, (usize, String)> {
        let mut prices = Prices::defaults();
        prices.put(text).map(|()| prices)
    }

    #[test]
    fn a_run_costs_what_its_parts_cost() {
        let table = "machine_hour = 3.6\ndisk_gb_month = 73 # dear\nobject_gb_month=7.3\n\
                     disk_million_reads = 1\ndisk_million_writes = 2\nobject_million_reads = 4\n\
                     object_million_writes = 5\nobject_gb_received = 6\nobject_gb_sent = 7\n";
        let objects = Traffic {
            reads: 1_000_000,
            writes: 2_000_000,
            bytes_received: 3_000_000_000,
            bytes_sent: 4_000_000_000,
        };
        let requests = [10_000_000, 20_000_000];
        let bytes_kept = [36_000_000_000, 72_000_000_000];
        let spent = Spent { seconds: 100.0, others: 2, bytes_kept, requests, objects };
        let price = put(table).unwrap().price(&spent);
        let near = |found: f64, sum: f64| assert!((found - sum).abs() < 1e-9, "{found} {sum}");
        near(price.machine, 0.3);
        near(price.storage, 0.1 + 0.02);
        near(price.requests, 10.0 + 40.0 + 4.0 + 10.0 + 18.0 + 28.0);
        near(price.total, price.machine + price.storage + price.requests);
        // Hours of a machine alone.
        let idle = put("").unwrap().price(&Spent { seconds: 3600.0, ..Spent::default() });
        near(idle.total, Prices::defaults().of("machine_hour"));
    }

    #[test]
    fn parts_add_up_as_often_as_they_are_made() {
        let objects = Traffic { reads: 3, bytes_received: 100, ..Traffic::default() };
        let part = Spent { seconds: 0.5, requests: [1, 2], objects, ..Spent::default() };
        let first = Spent { seconds: 2.0, bytes_kept: [7, 0], ..Spent::default() };
        let all = first.and(&part, 4);
        assert!((all.seconds - 4.0).abs() < 1e-9, "{all:?}");
        assert_eq!((all.requests, all.bytes_kept), ([4, 8], [7, 0]));
        assert_eq!((all.objects.reads, all.objects.bytes_received), (12, 400));
        assert_eq!(first.and(&part, 0).objects, Traffic::default());
        // More iterations than can ever be made are no reason to panic.
        assert_eq!(first.and(&part, u64::MAX).requests, [u64::MAX; 2]);
    }

    #[test]
    fn tables_say_what_is_wrong_and_where() {
        for (text, line, what) in [
            ("machine_hour = 1\n\nmachine_hours = 2", 3, "no price is called \"machine_hours\""),
            ("# only\nmachine_hour", 2, "expected NAME = PRICE"),
            ("machine_hour = cheap", 1, "expected a price, found \"cheap\""),
            ("machine_hour = -1", 1, "expected a price"),
            ("machine_hour = inf", 1, "expected a price"),
            ("date =", 1, "expected a price"),
        ] {
            let (found, message) = put(text).unwrap_err();
            assert!(found == line && message.contains(what), "{text}: line {found}: {message}");
        }
        let prices = put("currency = EUR # ours\ndate = 2026-11\n").unwrap();
        assert_eq!((&*prices.currency, &*prices.date), ("EUR", "2026-11"));
    }

    #[test]
    fn the_defaults_are_a_whole_table_with_a_date() {
        let prices = put(DEFAULTS).unwrap();
        assert_eq!(prices.numbers.len(), 9);
        assert!(!prices.date.is_empty() && prices.of("object_million_writes") > 0.0);
    }

    #[test]
    fn money_has_digits_that_say_something() {
        let sums = [0.0, 12.345, 1.5, 0.1, 0.000_123_46, 1e-15];
        assert_eq!(sums.map(money), ["0.00", "12.35", "1.5", "0.1", "0.0001235", "0"]);
    }
}
