//! The outcome of an algorithm: a line for the terminal, a part of the report, a failure if it is
//! not right.

use std::time::Duration;

use serde_json::{Value, json};
use welter_progress::FailureKind;

use super::dataset::{DataSet, Job};
use super::validate::{Comparison, Rule};
use crate::failure::{Failure, printable};
use crate::number_format::{about, counted};

/// Outcome of an algorithm.
pub(super) enum Outcome {
    /// The run ended.
    Run {
        vertices: u64,
        /// As the data set has them: undirected ones count once.
        edges: u64,
        load: Duration,
        processing: Duration,
        validation: Validation,
        /// Report of the run.
        report: Value,
    },
    /// The run failed.
    Failed(Failure),
}

/// Outcome of validation.
pub(super) enum Validation {
    /// No reference is there.
    Absent,
    /// The reference is none of this graph, or cannot be read.
    Unfit(Failure),
    /// Comparison of all vertices.
    Done(Comparison),
}

/// The name of the data set, and the titles of the table.
pub(super) fn heads(set: &DataSet) -> String {
    let benchmark = &set.benchmark;
    let way = benchmark.directed().map(|directed| if directed { "directed" } else { "undirected" });
    let counts = benchmark.counts().map(|(vertices, edges)| {
        let vertices = counted(vertices, "vertex", "vertices");
        format!("{vertices}, {}", counted(edges, "edge", "edges"))
    });
    let name = printable(benchmark.name());
    let parts: Vec<String> = way.map(str::to_owned).into_iter().chain(counts).collect();
    let heading = if parts.is_empty() { name } else { format!("{name}: {}", parts.join(", ")) };
    let titles = ["algorithm", "load s", "processing s", "EVPS", "EPS"].map(str::to_owned);
    format!("{heading}\n{}  validation\n", columns(titles))
}

fn columns([algorithm, load, processing, evps, eps]: [String; 5]) -> String {
    format!("{algorithm:<9}  {load:>8}  {processing:>12}  {evps:>7}  {eps:>7}")
}

/// Things a second.
fn rate(things: u64, time: Duration) -> f64 {
    // A clock that has not moved makes no infinite rate, which JSON has no number for.
    things as f64 / time.as_secs_f64().max(1e-9)
}

impl Outcome {
    pub(super) fn of(done: Result<Self, Failure>) -> Self {
        done.unwrap_or_else(Self::Failed)
    }

    /// The failure that ends the command, where that was asked for.
    pub(super) fn interrupted(&self) -> Option<Failure> {
        let Self::Failed(failure) = self else { return None };
        (failure.kind() == Some(FailureKind::Cancelled))
            .then(|| Failure::new(FailureKind::Cancelled, failure.message()))
    }

    fn validation(&self) -> Option<&Validation> {
        if let Self::Run { validation, .. } = self { Some(validation) } else { None }
    }

    /// Whether its output is as the reference has it.
    pub(super) fn is_right(&self) -> bool {
        matches!(self.validation(), Some(Validation::Done(found)) if found.first.is_none())
    }

    /// Whether there is an output and nothing to compare it with.
    pub(super) fn is_unvalidated(&self) -> bool {
        matches!(self.validation(), Some(Validation::Absent))
    }

    /// Row of the table for this outcome.
    pub(super) fn line(&self, job: &Job) -> String {
        let name = job.kind.acronym().to_owned();
        let cells = match self {
            Self::Run { vertices, edges, load, processing, .. } => {
                let seconds = |time: &Duration| format!("{:.3}", time.as_secs_f64());
                let rates = [vertices + edges, *edges].map(|things| rate(things, *processing));
                let [evps, eps] = rates.map(about);
                [name, seconds(load), seconds(processing), evps, eps]
            }
            Self::Failed(_) => [name, "-".into(), "-".into(), "-".into(), "-".into()],
        };
        format!("{}  {}\n", columns(cells), printable(&self.verdict(job)))
    }

    /// Verdict of validation, for people.
    fn verdict(&self, job: &Job) -> String {
        match self {
            Self::Failed(failure) => format!("failed: {}", failure.message()),
            Self::Run { validation, .. } => match validation {
                Validation::Absent => format!("not validated: there is no {}", job.name),
                Validation::Unfit(failure) => format!("not validated: {}", failure.message()),
                Validation::Done(Comparison { first: Some(_), .. }) => {
                    format!("WRONG: {}", self.mismatch().unwrap_or_default())
                }
                Validation::Done(found) => {
                    let rule = match job.kind.rule() {
                        Rule::Exact => "exact",
                        Rule::Near => "within 1e-4",
                        Rule::Partition => "the same partition",
                    };
                    let order = if found.passes > 0 { "; the reference is not sorted" } else { "" };
                    format!("right ({rule}{order})")
                }
            },
        }
    }

    /// The first vertex that differs, and how many do.
    fn mismatch(&self) -> Option<String> {
        let Some(Validation::Done(found)) = self.validation() else { return None };
        let first = found.first.as_ref()?;
        let all = counted(found.vertices, "vertex", "vertices");
        let many = if found.differing == 1 { "differs" } else { "differ" };
        Some(format!(
            "vertex {}: expected {}, found {}; {} of {all} {many}",
            first.vertex, first.expected, first.found, found.differing
        ))
    }

    /// Part of the report for this outcome.
    pub(super) fn report(&self, job: &Job) -> Value {
        let mut all = json!({
            "algorithm": job.kind.acronym(),
            "run": job.words.join(" "),
            "parameters": job.algorithm.parameters(),
            "reference": job.reference.as_ref().map(|path| path.display().to_string()),
            "output": job.output.as_ref().map(|path| path.display().to_string()),
            "validation": self.state(),
            "verdict": self.verdict(job),
        });
        if let Self::Run { vertices, edges, load, processing, validation, report } = self {
            all["vertices"] = json!(vertices);
            all["edges"] = json!(edges);
            all["load_seconds"] = json!(load.as_secs_f64());
            all["processing_seconds"] = json!(processing.as_secs_f64());
            all["evps"] = json!(rate(vertices + edges, *processing));
            all["eps"] = json!(rate(*edges, *processing));
            all["report"] = report.clone();
            if let Validation::Done(found) = validation {
                all["compared"] = json!(found.vertices);
                all["differing"] = json!(found.differing);
                all["first"] = json!(found.first.as_ref().map(|first| json!({
                    "vertex": first.vertex,
                    "expected": first.expected,
                    "found": first.found,
                })));
            }
        }
        all
    }

    /// In one word.
    fn state(&self) -> &'static str {
        match self.validation() {
            None => "failed",
            Some(Validation::Absent) => "absent",
            Some(Validation::Unfit(_)) => "unfit",
            Some(Validation::Done(_)) if self.is_right() => "right",
            Some(Validation::Done(_)) => "wrong",
        }
    }

    /// Reason why it is not right, where it should be.
    pub(super) fn failure(&self, job: &Job) -> Option<Failure> {
        let name = &job.name;
        match self {
            Self::Failed(failure) => Some(failure.saying(format!("{name}: {}", failure.message()))),
            // The message names the reference.
            Self::Run { validation: Validation::Unfit(failure), .. } => {
                Some(failure.saying(failure.message()))
            }
            Self::Run { .. } => {
                let what = format!("{name}: {}", self.mismatch()?);
                let hint = "the reference is of other parameters or another graph, or welter has a \
                            bug; please report it then";
                Some(Failure::new(FailureKind::Internal, what).hint(hint))
            }
        }
    }
}
