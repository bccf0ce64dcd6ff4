//! Profiles of the ten algorithms, in a file of the repository: times of kernels, and updates and
//! active sources of each iteration, by runs of the worker of a real machine.
//!
//! ```text
//! # KEY: WORDS             command, scale, date, machine; times: assumed, or measured
//! algorithm,quantity,value
//! BFS,spill.scatter,20.00  ns of one core for a record on a route, the least of several runs
//! BFS,updates,2379 568755  updates of a million edges, by iteration
//! BFS,sources,0 1204       active vertices of a million that have an edge, by iteration
//! ```
//!
//! `cargo xtask profiles` writes the file ([`super::profiler`]). Until it has run, times are
//! assumed, and the file says so: then it may have no sources, and as many vertices of a million
//! are active as edges of a million make an update.

use std::fmt::Write;
use std::sync::OnceLock;

use welter_protocol::config::Route;

use crate::sized_job::{Iteration, KernelTimes, WorkKind};

/// Text of the file.
const FILE: &str = include_str!("../../../../docs/experiments/chaos/profiles.csv");

/// Head of its columns.
const HEAD: &str = "algorithm,quantity,value";

/// Kinds of work on route `spill`.
pub const SPILL: [WorkKind; 5] =
    [WorkKind::Ingest, WorkKind::Open, WorkKind::Scatter, WorkKind::Gather, WorkKind::Apply];

/// Kinds of work on route `fold`.
pub const FOLD: [WorkKind; 4] = [WorkKind::Ingest, WorkKind::Open, WorkKind::Fold, WorkKind::Apply];

/// Origin of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nothing was measured: each record takes what is assumed.
    Assumed,
    /// Runs that were measured.
    Measured,
}

impl Origin {
    fn name(self) -> &'static str {
        match self {
            Self::Assumed => "assumed",
            Self::Measured => "measured",
        }
    }
}

/// Profile of an algorithm.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AlgorithmProfile {
    /// Nanoseconds of a record on route `spill`.
    pub spill: KernelTimes,
    /// Nanoseconds of a record on route `fold`.
    pub fold: KernelTimes,
    /// Updates of a million edges, by iteration.
    pub updates: Vec<u32>,
    /// Active vertices of a million that have an edge, by iteration; none where they were not
    /// recorded.
    pub sources: Vec<u32>,
}

impl AlgorithmProfile {
    /// From quantities and their values.
    fn parse(rows: &[(&str, &str)], origin: Origin) -> Result<Self, String> {
        let find = |quantity: &str| rows.iter().find(|row| row.0 == quantity).map(|row| row.1);
        let times = |route: &str, kinds: &[WorkKind]| {
            kinds.iter().try_fold(KernelTimes::default(), |times, &kind| {
                let quantity = format!("{route}.{}", kind.name());
                let nanos = find(&quantity).and_then(|value| value.parse::<f64>().ok());
                let nanos = nanos.filter(|nanos| nanos.is_finite() && *nanos > 0.0);
                let nanos = nanos.ok_or(format!("{quantity} is no time above 0"))?;
                Ok::<_, String>(times.with(kind, nanos))
            })
        };
        let counts = |quantity: &str| {
            let parts = find(quantity).unwrap_or_default().split_whitespace();
            let counts: Result<Vec<u32>, _> = parts.map(str::parse).collect();
            let are_parts = |counts: &Vec<u32>| counts.iter().all(|count| *count <= 1_000_000);
            counts.ok().filter(are_parts).ok_or(format!("{quantity} are no parts of a million"))
        };
        let (spill, fold) = (times("spill", &SPILL)?, times("fold", &FOLD)?);
        let (updates, sources) = (counts("updates")?, counts("sources")?);
        if updates.is_empty() {
            return Err("no updates".to_owned());
        }
        let may_lack = origin == Origin::Assumed && sources.is_empty();
        if sources.len() != updates.len() && !may_lack {
            let (sources, updates) = (sources.len(), updates.len());
            return Err(format!("sources of {sources} iterations, and updates of {updates}"));
        }
        let known = SPILL.len() + FOLD.len() + 1 + usize::from(find("sources").is_some());
        if rows.len() != known {
            return Err(format!("{} quantities, of which {known} are known", rows.len()));
        }
        Ok(Self { spill, fold, updates, sources })
    }

    /// Lines of the file, after the algorithm.
    fn lines(&self) -> Vec<String> {
        let times = |route: &'static str, times: KernelTimes, kinds: &'static [WorkKind]| {
            kinds.iter().map(move |&kind| format!("{route}.{},{:.2}", kind.name(), times.of(kind)))
        };
        let counts = |counts: &[u32]| counts.iter().map(u32::to_string).collect::<Vec<_>>();
        let spill = times("spill", self.spill, &SPILL);
        let mut lines: Vec<String> = spill.chain(times("fold", self.fold, &FOLD)).collect();
        lines.push(format!("updates,{}", counts(&self.updates).join(" ")));
        if !self.sources.is_empty() {
            lines.push(format!("sources,{}", counts(&self.sources).join(" ")));
        }
        lines
    }

    /// Its iterations.
    pub fn iterations(&self) -> Vec<Iteration> {
        let sources = if self.sources.is_empty() { &self.updates } else { &self.sources };
        let parts = self.updates.iter().zip(sources);
        let parts = parts.map(|(&updates, &sources)| [updates, sources].map(u64::from));
        parts.map(Iteration::per_million).collect()
    }

    /// Nanoseconds of a record on a route.
    pub fn times(&self, route: Route) -> KernelTimes {
        match route {
            Route::Spill => self.spill,
            Route::Fold => self.fold,
        }
    }
}

/// Profiles, and where they are from.
#[derive(Clone, Debug, PartialEq)]
pub struct Profiles {
    /// Command that made them.
    pub command: String,
    /// Scale of the R-MAT graph.
    pub scale: u32,
    /// Day on which it ran, or, of what is assumed, since when it is.
    pub date: String,
    /// Words on the machine.
    pub machine: String,
    /// Origin of the times.
    pub times: Origin,
    /// Algorithms, by their names in Table 1 of the paper.
    pub algorithms: Vec<(String, AlgorithmProfile)>,
}

impl Profiles {
    /// From the text of a file.
    ///
    /// # Errors
    /// The line or algorithm that is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (mut words, mut rows) = (Vec::new(), Vec::<(&str, Vec<(&str, &str)>)>::new());
        for (number, line) in (1..).zip(text.lines()) {
            if let Some(comment) = line.strip_prefix("# ") {
                words.extend(comment.split_once(": "));
                continue;
            }
            if line == HEAD {
                continue;
            }
            let row =
                line.split_once(',').and_then(|(name, row)| Some((name, row.split_once(',')?)));
            let (name, row) = row.ok_or(format!("line {number} has no three columns"))?;
            match rows.iter_mut().find(|one| one.0 == name) {
                Some((_, of)) if of.iter().any(|one| one.0 == row.0) => {
                    return Err(format!("line {number} says {} again", row.0));
                }
                Some((_, of)) => of.push(row),
                None => rows.push((name, vec![row])),
            }
        }
        let word = |key: &str| {
            let found = words.iter().find(|word| word.0 == key).map(|word| word.1.to_owned());
            found.ok_or(format!("a line `# {key}: ...` is missing"))
        };
        let times = match word("times")?.as_str() {
            "assumed" => Origin::Assumed,
            "measured" => Origin::Measured,
            other => return Err(format!("times are assumed or measured, not {other}")),
        };
        let algorithm = |(name, rows): (&str, Vec<(&str, &str)>)| {
            let profile = AlgorithmProfile::parse(&rows, times);
            Ok::<_, String>((name.to_owned(), profile.map_err(|wrong| format!("{name}: {wrong}"))?))
        };
        Ok(Self {
            command: word("command")?,
            scale: word("scale")?.parse().map_err(|_| "the scale is no number")?,
            date: word("date")?,
            machine: word("machine")?,
            times,
            algorithms: rows.into_iter().map(algorithm).collect::<Result<_, _>>()?,
        })
    }

    /// Text of the file.
    pub fn text(&self) -> String {
        let Self { command, scale, date, machine, times, algorithms } = self;
        let mut text = format!(
            "# Profiles of the ten algorithms of Chaos, which its figures are made of.\n\
             # units: ns of one core for a record (an edge, an update, a vertex); \
             parts of a million\n\
             # command: {command}\n# scale: {scale}\n# date: {date}\n# machine: {machine}\n\
             # times: {}\n{HEAD}\n",
            times.name()
        );
        for (name, profile) in algorithms {
            for line in profile.lines() {
                let _ = writeln!(text, "{name},{line}");
            }
        }
        text
    }

    /// Profile of the algorithm of this name.
    pub fn of(&self, name: &str) -> Option<&AlgorithmProfile> {
        self.algorithms.iter().find(|one| one.0 == name).map(|one| &one.1)
    }

    /// Sentences on where they are from, for the page of the figures.
    pub fn origin(&self) -> String {
        let Self { command, scale, date, machine, .. } = self;
        match self.times {
            Origin::Assumed => format!(
                "Times of kernels are assumed ([profiles.csv](chaos/profiles.csv)): 20 ns of a \
                 core for a record of any algorithm, and 2 in welter's own layout. Updates by \
                 iteration are recorded, on R-MAT {scale}, and active sources are not: an \
                 iteration has as many of a million vertices as updates of a million edges. \
                 `cargo xtask profiles` records all of them."
            ),
            Origin::Measured => format!(
                "Times of kernels, updates and active sources by iteration are recorded \
                 ([profiles.csv](chaos/profiles.csv)) by `{command}` on R-MAT {scale}, {date}, on \
                 one core: {machine}. Figure 9 has 20 ns for each record beside them, since the \
                 paper's cores are not known."
            ),
        }
    }
}

/// The profiles of the repository.
pub fn recorded() -> &'static Profiles {
    static RECORDED: OnceLock<Profiles> = OnceLock::new();
    RECORDED.get_or_init(|| match Profiles::parse(FILE) {
        Ok(profiles) => profiles,
        Err(wrong) => unreachable!("the file of profiles is one, but {wrong}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A profile of one algorithm.
    fn profiles(times: Origin) -> Profiles {
        let even = KernelTimes::default();
        let spill = SPILL.iter().fold(even, |times, &kind| times.with(kind, 3.25));
        let fold = FOLD.iter().fold(even, |times, &kind| times.with(kind, 1.5));
        let (updates, sources) = (vec![1000, 900_000, 0], vec![1, 400_000, 30]);
        let algorithm = AlgorithmProfile { spill, fold, updates, sources };
        Profiles {
            command: "cargo xtask profiles --scale 20".to_owned(),
            scale: 20,
            date: "2026-11-30".to_owned(),
            machine: "a core: of some kind".to_owned(),
            times,
            algorithms: vec![("BFS".to_owned(), algorithm)],
        }
    }

    #[test]
    fn the_file_of_the_repository_is_as_it_is_written() {
        let profiles = Profiles::parse(FILE).unwrap();
        assert_eq!(profiles.text(), FILE);
        assert_eq!(&profiles, recorded());
    }

    #[test]
    fn profiles_are_read_as_they_were_written() {
        for origin in [Origin::Assumed, Origin::Measured] {
            let written = profiles(origin);
            let read = Profiles::parse(&written.text()).unwrap();
            assert_eq!(read, written);
            let algorithm = read.of("BFS").unwrap();
            let second = algorithm.iterations()[1];
            assert_eq!(second, Iteration::per_million([900_000, 400_000]));
            assert_eq!(algorithm.times(Route::Fold).of(WorkKind::Fold).to_bits(), 1.5f64.to_bits());
            assert!(read.of("PR").is_none());
        }
    }

    #[test]
    fn sources_may_be_missing_where_times_are_assumed() {
        let text = |origin| profiles(origin).text().replace("BFS,sources,1 400000 30\n", "");
        let assumed = Profiles::parse(&text(Origin::Assumed)).unwrap();
        let second = assumed.of("BFS").unwrap().iterations()[1];
        assert_eq!(second.sources, second.updates);
        let wrong = Profiles::parse(&text(Origin::Measured)).unwrap_err();
        assert!(wrong.contains("sources of 0 iterations"), "{wrong}");
    }

    #[test]
    fn files_that_lack_something_or_say_it_twice_are_errors() {
        let text = profiles(Origin::Measured).text();
        for (old, new, expected) in [
            ("# times: measured\n", "", "`# times: ...` is missing"),
            ("measured", "guessed", "not guessed"),
            ("scale: 20", "scale: large", "the scale"),
            ("BFS,spill.gather,3.25\n", "", "BFS: spill.gather is no time"),
            ("BFS,spill.gather,3.25", "BFS,spill.gather,0.00", "spill.gather is no time"),
            ("BFS,fold.fold,1.50", "BFS,fold.fold,NaN", "fold.fold is no time"),
            ("BFS,fold.fold,1.50", "BFS,fold.fold,1.50\nBFS,fold.more,1", "quantities"),
            ("BFS,fold.fold,1.50", "BFS,fold.fold,1.50\nBFS,fold.fold,1", "line 17 says fold.fold"),
            ("BFS,fold.fold,1.50", "BFS;1", "line 16 has no three columns"),
            ("900000", "9000000", "updates are no parts"),
            ("1 400000 30", "1 400000", "sources of 2 iterations"),
        ] {
            assert!(text.contains(old), "{old} is in {text}");
            let wrong = Profiles::parse(&text.replacen(old, new, 1));
            let wrong = wrong.unwrap_err();
            assert!(wrong.contains(expected), "{old} as {new}: {wrong}");
        }
    }

    #[test]
    fn the_page_says_where_numbers_are_from() {
        assert!(profiles(Origin::Assumed).origin().contains("are assumed"));
        let measured = profiles(Origin::Measured).origin();
        assert!(measured.contains("`cargo xtask profiles --scale 20` on R-MAT 20"), "{measured}");
    }
}
