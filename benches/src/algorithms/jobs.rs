//! Jobs that are run: welter's command line for each algorithm, and how its answer is summed up.

use anyhow::{Context, Result};

use super::summary::Summary;
use crate::outofcore::JOB;
use crate::outofcore::job::{self, JobCost};

/// Iterations of algorithms that are asked for a number of them.
pub(super) const ITERATIONS: u64 = 10;

/// An algorithm.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    /// Arguments of the algorithm for welter's command.
    pub(super) command: job::Job,
    answer: Answer,
    /// By how much answers may differ, relative: 0 where they are integers, or sums of integers.
    pub(super) tolerance: f64,
    /// Seconds that were stated for X-Stream on R-MAT 22, out of core.
    xstream_seconds: Option<f64>,
    /// Seconds of X-Stream and of Chaos on one machine, on the graph of [`TABLE_EDGES`].
    table: Option<[f64; 2]>,
}

/// Kind of an answer, with the column that it is in.
#[derive(Clone, Copy, Debug)]
enum Answer {
    Groups(&'static str),
    Numbers(&'static str),
    /// Lengths, of which negative and infinite ones were not reached.
    Paths(&'static str),
    Ranks,
    Triangles,
    Forest,
    Members,
    Cut,
    /// Of an algorithm that no other program has.
    Nothing,
}

impl Job {
    const fn new(arguments: &'static [&'static str], answer: Answer) -> Self {
        let command = job::Job { name: arguments[0], arguments, ..JOB };
        Self { command, answer, tolerance: 0.0, xstream_seconds: None, table: None }
    }

    const fn searches(mut self) -> Self {
        self.command.searches = true;
        self
    }

    const fn weighs(mut self) -> Self {
        self.command.weighs = true;
        self
    }

    /// For answers that are no integers.
    const fn rounds(mut self) -> Self {
        self.tolerance = 1e-9;
        self
    }

    const fn xstream(mut self, seconds: f64) -> Self {
        self.xstream_seconds = Some(seconds);
        self
    }

    const fn table(mut self, xstream: f64, chaos: f64) -> Self {
        self.table = Some([xstream, chaos]);
        self
    }

    /// Million edges a second of X-Stream and of Chaos, on one machine of 16 cores with an SSD.
    pub(super) fn table_pace(&self) -> Option<[f64; 2]> {
        self.table.map(|seconds| seconds.map(|seconds| TABLE_EDGES / 1e6 / seconds))
    }

    /// The name, for the command and for the others.
    pub(super) fn name(&self) -> &'static str {
        self.command.name
    }

    /// Seconds that were stated for X-Stream on R-MAT of a scale.
    pub(super) fn xstream_seconds(&self, scale: u32) -> Option<f64> {
        self.xstream_seconds.filter(|_| scale == XSTREAM_SCALE)
    }

    /// Whether there is a plain loop.
    pub(super) fn has_loop(&self) -> bool {
        !matches!(self.answer, Answer::Nothing)
    }

    /// Sums up what a run of the command found: its report, and the columns that it wrote.
    pub(super) fn summary(&self, taken: &JobCost, npy: &[u8]) -> Result<Summary> {
        let column = |name: &str| -> Result<Vec<f64>> {
            let mut columns = super::npy::columns(npy)?;
            columns.remove(name).with_context(|| format!("{}: no column {name}", self.name()))
        };
        let found = |name: &str| {
            taken.found(name).with_context(|| format!("{}: no {name} in the report", self.name()))
        };
        Ok(match self.answer {
            Answer::Groups(name) => {
                Summary::groups(column(name)?.into_iter().map(|label| label as u64))
            }
            Answer::Numbers(name) => Summary::numbers(column(name)?.into_iter()),
            Answer::Paths(name) => {
                let reached = |length: &f64| (0.0..f64::INFINITY).contains(length);
                Summary::paths(column(name)?.into_iter().filter(reached))
            }
            Answer::Ranks => Summary::ranks(column("rank")?.into_iter()),
            Answer::Triangles => Summary::triangles(column("triangles")?.into_iter()),
            Answer::Forest => Summary::forest(column("weight")?.into_iter()),
            Answer::Members => Summary::members(column("in_set")?.into_iter().sum()),
            Answer::Cut => Summary::cut(found("cut")?, found("volume/set")?, found("volume/rest")?),
            Answer::Nothing => Summary::default(),
        })
    }
}

/// The scale of the graph of X-Stream's times.
const XSTREAM_SCALE: u32 = 22;

/// Edges of R-MAT 27, the graph of Chaos' table 1 (SOSP 2015, section 8), each counted once.
const TABLE_EDGES: f64 = (16_u64 << 27) as f64;

/// All jobs. LCC is that of the graph without directions, which is the one that others have.
pub(super) const JOBS: [Job; 15] = [
    Job::new(&["wcc"], Answer::Groups("component")).xstream(14.8).table(729.0, 995.0),
    Job::new(&["scc"], Answer::Groups("component")).xstream(8.1).table(1689.0, 1962.0),
    Job::new(&["mcst"], Answer::Forest).weighs().table(1239.0, 2129.0),
    Job::new(&["kcore"], Answer::Numbers("core")),
    Job::new(&["triangles"], Answer::Triangles),
    Job::new(&["lcc", "--undirected"], Answer::Numbers("lcc")).rounds(),
    Job::new(&["cdlp", "--iterations", "10"], Answer::Groups("community")),
    Job::new(&["bfs"], Answer::Paths("depth")).searches().table(497.0, 594.0),
    Job::new(&["sssp"], Answer::Paths("distance"))
        .searches()
        .weighs()
        .xstream(18.9)
        .table(2688.0, 3243.0),
    Job::new(&["pagerank", "--iterations", "10"], Answer::Ranks).rounds().table(884.0, 1358.0),
    Job::new(&["mis"], Answer::Members).xstream(24.0).table(983.0, 944.0),
    Job::new(&["conductance"], Answer::Cut).xstream(2.9).table(123.0, 273.0),
    Job::new(&["spmv"], Answer::Numbers("value")).weighs().xstream(5.8).table(206.0, 508.0),
    Job::new(&["bp", "--iterations", "5"], Answer::Nothing).xstream(51.9).table(601.0, 610.0),
    Job::new(&["hyperball", "--iterations", "5"], Answer::Nothing),
];

/// Jobs with these names, in their order; all where there are no names.
///
/// # Errors
/// When a name is none of them.
pub(super) fn named(only: &[String]) -> Result<Vec<Job>> {
    if only.is_empty() {
        return Ok(JOBS.to_vec());
    }
    let find = |name: &String| {
        let all = JOBS.map(|job| job.name()).join(", ");
        let job = JOBS.into_iter().find(|job| job.name() == name);
        job.with_context(|| format!("--only {name}: expected some of {all}"))
    };
    only.iter().map(find).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_found_by_name() {
        let names = |only: &[&str]| {
            let only: Vec<String> = only.iter().map(ToString::to_string).collect();
            named(&only).map(|jobs| jobs.iter().map(Job::name).collect::<Vec<_>>())
        };
        assert_eq!(names(&["mis", "wcc"]).unwrap(), ["mis", "wcc"]);
        assert_eq!(names(&[]).unwrap().len(), JOBS.len());
        assert!(names(&["nothing"]).unwrap_err().to_string().contains("triangles"));
    }

    #[test]
    fn answers_are_in_columns_or_in_the_report() {
        let report =
            serde_json::json!({ "found": { "cut": 3, "volume": { "set": 4, "rest": 5 } } });
        let taken = JobCost { seconds: 1.0, peak_bytes: None, report };
        let header = "{'descr': [('depth', '<i8')]}";
        let mut npy = [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..]].concat();
        npy.extend_from_slice(header.as_bytes());
        for depth in [0_i64, 1, -1] {
            npy.extend_from_slice(&depth.to_le_bytes());
        }
        let summary = |name: &str| named(&[name.to_owned()]).unwrap()[0].summary(&taken, &npy);
        assert_eq!(summary("conductance").unwrap(), Summary::cut(3.0, 4.0, 5.0));
        assert_eq!(summary("bfs").unwrap(), Summary::paths([0.0, 1.0].into_iter()));
        assert!(summary("kcore").unwrap_err().to_string().contains("core"));
    }

    #[test]
    fn stated_times_are_of_one_graph_only() {
        let wcc = JOBS[0];
        assert_eq!(wcc.xstream_seconds(22), Some(14.8));
        assert_eq!(wcc.xstream_seconds(21), None);
        let triangles = JOBS.into_iter().find(|job| job.name() == "triangles").unwrap();
        assert_eq!(triangles.xstream_seconds(22), None);
        assert_eq!(
            (triangles.table_pace(), JOBS.iter().filter(|job| job.table.is_some()).count()),
            (None, 10)
        );
    }
}
