//! The report of a run, as JSON or as a page: what was planned, and what each phase took.

mod figures;
pub(crate) mod page;

use std::path::Path;

use serde::Serialize;
use serde_json::Value;
use welter_engine::plan::{Measured, PlannedRequests, human_bytes};
use welter_engine::{CheckpointStats, Graph, resident_bytes_max};
use welter_objects::Traffic;
use welter_output::write_file;
use welter_progress::{FailureKind, PhaseReport};

use crate::algorithms::{Algorithm, Answer};
use crate::argv;
use crate::cache_figures::CacheFigures;
use crate::expected::Compared;
use crate::failure::Failure;
use crate::levels::{Iterations, summarised};
use crate::load::Source;
use crate::number_format::counted;
use crate::price::{Price, spent};
use crate::readings;
use crate::session::{InputRequests, Origin, Session, UploadRequests};
use crate::stdout::{is_stdout, print};

/// Everything but the phases, which continue until the report is written.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    version: &'static str,
    command: Vec<String>,
    algorithm: &'static str,
    parameters: Value,
    input: Input,
    graph: GraphFigures,
    plan: PlanFigures,
    /// Of algorithms whose iterations meet all edges.
    #[serde(skip_serializing_if = "Option::is_none")]
    times: Option<Compared>,
    storage: StorageFigures,
    /// Where a disk of this machine keeps a part of a graph that lies elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    edge_cache: Option<CacheFigures>,
    /// Whether the graph lies in a bucket.
    #[serde(skip)]
    lies_elsewhere: bool,
    /// Where the run can be resumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoints: Option<CheckpointFigures>,
    /// Requests by which results and checkpoints go to buckets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    uploads: Vec<UploadRequests>,
    iterations: u64,
    /// Of programs with a frontier.
    #[serde(skip_serializing_if = "Option::is_none")]
    levels: Option<Vec<Iterations>>,
    note: Option<String>,
    /// Of the graph as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    found: Option<Value>,
}

#[derive(Debug, Serialize)]
struct Input {
    files: Vec<File>,
    bytes: Option<u64>,
    /// Bytes as stored, of an edge: those that each pass of a run over its input reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_per_edge: Option<f64>,
    /// Of inputs in a bucket or on a web server, and of raw records where they are stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    requests: Option<InputRequests>,
    edges: u64,
    undirected: bool,
    reversed: bool,
    notes: Vec<String>,
}

#[derive(Debug, Serialize)]
struct File {
    name: String,
    format: String,
    #[serde(flatten)]
    reading: Option<readings::Figures>,
}

#[derive(Debug, Serialize)]
struct GraphFigures {
    vertices: u64,
    edges: u64,
    weighted: bool,
    stripes: usize,
    chunks: usize,
    tiles: usize,
    chunk_bytes: u64,
    bytes_per_edge: f64,
}

#[derive(Debug, Serialize)]
struct PlanFigures {
    route: &'static str,
    threads: usize,
    encoding: &'static str,
    /// Compression of chunks on storage.
    #[serde(skip_serializing_if = "Option::is_none")]
    compression: Option<&'static str>,
    stripe_bits: u32,
    block_bits: u32,
    budget_bytes: u64,
    memory_bytes: u64,
    /// Requests to storage.
    #[serde(skip_serializing_if = "Option::is_none")]
    requests: Option<RequestFigures>,
    /// Requests in flight, where the device of a kept graph was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    in_flight_bytes: Option<u64>,
}

/// Sizes and numbers of requests to storage.
#[derive(Debug, Serialize)]
struct RequestFigures {
    /// Bytes of a read at most; of edges, where these lie in a bucket.
    read_bytes: u64,
    write_bytes: u64,
    /// Of each thread.
    reads_in_flight: u64,
    writes_in_flight: u64,
    /// Bytes of a read of temporary files, where edges lie in a bucket.
    #[serde(skip_serializing_if = "Option::is_none")]
    temporary_read_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temporary_reads_in_flight: Option<u64>,
    io: &'static str,
    /// Measurement of the device that requests follow, if they do.
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<&'static str>,
}

impl From<PlannedRequests> for RequestFigures {
    fn from(planned: PlannedRequests) -> Self {
        Self {
            read_bytes: planned.reads.bytes,
            write_bytes: planned.write_bytes,
            reads_in_flight: planned.reads.in_flight,
            writes_in_flight: planned.writes_in_flight,
            temporary_read_bytes: planned.temporary.map(|reads| reads.bytes),
            temporary_reads_in_flight: planned.temporary.map(|reads| reads.in_flight),
            io: if planned.cached { "cached" } else { "direct" },
            measured: planned.measured.map(|by| match by {
                Measured::Probe => "probe",
                Measured::AtStart => "look",
            }),
        }
    }
}

/// Figures of checkpoints.
#[derive(Debug, Serialize)]
struct CheckpointFigures {
    written: u64,
    bytes: u64,
    seconds: f64,
    /// Iterations that were done before the run was resumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    resumed_at: Option<u64>,
}

impl From<CheckpointStats> for CheckpointFigures {
    fn from(stats: CheckpointStats) -> Self {
        let CheckpointStats { written, bytes, elapsed, resumed_at } = stats;
        Self { written, bytes, seconds: elapsed.as_secs_f64(), resumed_at }
    }
}

/// Figures of what iterations moved to and from storage: nothing, where all is in memory. Passes
/// over an input that stays where it lies count by their bytes, without requests and waits.
#[derive(Debug, Serialize)]
struct StorageFigures {
    /// Of edges.
    bytes_on_storage: u64,
    bytes_written: u64,
    bytes_read: u64,
    /// Both, of an edge in an iteration or a pass.
    bytes_per_edge: f64,
    /// Requests, of edges in a bucket too; those of a disk in front of it are in `edge_cache`.
    reads: u64,
    writes: u64,
    /// Seconds that each thread waited for it, on average.
    seconds_waited: f64,
    limit: &'static str,
    /// Edges of each newer generation that passes wrote of those that were left, and read from then
    /// on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    edges_left: Vec<u64>,
    /// Of each that was contracted, edges that were left out because better ones lie between the
    /// same two components.
    #[serde(skip_serializing_if = "is_plain")]
    edges_parallel: Vec<Option<u64>>,
}

/// Whether no generation was contracted.
fn is_plain(parallel: &[Option<u64>]) -> bool {
    parallel.iter().all(Option::is_none)
}

impl StorageFigures {
    fn of(graph: &Graph, iterations: u64, (origin, session): (&Origin, &Session)) -> Self {
        let stats = session.moved();
        let waited = stats.waited.as_secs_f64() / graph.plan().premises.threads as f64;
        let phases = session.progress.finished();
        let run = phases.iter().filter(|phase| matches!(phase.name, "iterate" | "pass"));
        let seconds: f64 = run.map(|phase| phase.elapsed.as_secs_f64()).sum();
        let bytes_read = stats.bytes_read + scanned_bytes(graph, origin, &phases);
        Self {
            bytes_on_storage: graph.stored_bytes(),
            bytes_written: stats.bytes_written,
            bytes_read,
            bytes_per_edge: (bytes_read + stats.bytes_written) as f64
                / (graph.edges().max(1) * iterations.max(1)) as f64,
            reads: stats.reads,
            writes: stats.writes,
            seconds_waited: waited,
            limit: if waited > seconds * WAITING { "storage" } else { "processor" },
            edges_left: session.left().iter().map(|left| left.edges).collect(),
            edges_parallel: session.left().iter().map(|left| left.parallel).collect(),
        }
    }
}

/// Bytes that passes over an input have read, if the graph stayed there.
fn scanned_bytes(graph: &Graph, origin: &Origin, phases: &[PhaseReport]) -> u64 {
    let bytes = origin.pass_bytes.filter(|_| graph.plan().scans_input());
    // Edges that a search keeps in memory are not counted by its phase.
    let passes = phases.iter().filter(|phase| matches!(phase.name, "mark" | "count" | "pass"));
    let edges: u64 = passes.map(|phase| phase.done).sum();
    bytes.map_or(0, |bytes| (bytes as f64 * edges as f64 / origin.edges.max(1) as f64) as u64)
}

/// Threads that wait for a larger share of the iterations wait for the device.
const WAITING: f64 = 0.1;

/// The file.
#[derive(Debug, Serialize)]
struct Written<'a> {
    #[serde(flatten)]
    report: &'a Report,
    phases: Vec<Phase>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    iteration_times: Vec<IterationTime>,
    seconds: f64,
    /// Requests of stores, if there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    objects: Option<ObjectFigures>,
    /// Price of the run, if prices were named.
    #[serde(skip_serializing_if = "Option::is_none")]
    price: Option<Price>,
    /// The most memory that the process had at any time.
    resident_bytes_max: Option<u64>,
}

/// Requests of stores.
#[derive(Debug, Serialize)]
pub(crate) struct ObjectFigures {
    /// For objects, and for their heads.
    reads: u64,
    /// Requests that put, copy or list.
    writes: u64,
    bytes_received: u64,
    bytes_sent: u64,
}

impl ObjectFigures {
    pub(crate) fn of(traffic: Traffic) -> Option<Self> {
        let Traffic { reads, writes, bytes_received, bytes_sent } = traffic;
        (traffic != Traffic::default()).then_some(Self {
            reads,
            writes,
            bytes_received,
            bytes_sent,
        })
    }
}

#[derive(Debug, Serialize)]
struct Phase {
    name: &'static str,
    unit: &'static str,
    done: u64,
    bytes: u64,
    seconds: f64,
}

/// Time and bytes of consecutive iterations.
#[derive(Debug, Serialize)]
struct IterationTime {
    iterations: u64,
    seconds: f64,
    bytes: u64,
}

impl From<welter_progress::Iterations> for IterationTime {
    fn from(entry: welter_progress::Iterations) -> Self {
        let welter_progress::Iterations { count, bytes, elapsed } = entry;
        Self { iterations: count, seconds: elapsed.as_secs_f64(), bytes }
    }
}

impl From<PhaseReport> for Phase {
    fn from(phase: PhaseReport) -> Self {
        Self {
            name: phase.name,
            unit: phase.unit.noun(),
            done: phase.done,
            bytes: phase.bytes,
            seconds: phase.elapsed.as_secs_f64(),
        }
    }
}

impl Report {
    /// Gathers what is known once the algorithm has run.
    pub(crate) fn of(
        algorithm: &dyn Algorithm,
        graph: &Graph,
        origin: &Origin,
        answer: &Answer,
        session: &Session,
    ) -> Result<Self, Failure> {
        let plan = graph.plan();
        let meets_all = answer.levels.is_none() && !plan.scans_input();
        let times =
            meets_all.then(|| Compared::of(graph, answer.iterations, session)).transpose()?;
        Ok(Self {
            version: env!("CARGO_PKG_VERSION"),
            command: argv::shown(),
            algorithm: algorithm.entry().name,
            parameters: algorithm.parameters(),
            input: Input::of(origin),
            graph: GraphFigures::of(graph),
            plan: PlanFigures::of(plan),
            times,
            storage: StorageFigures::of(graph, answer.iterations, (origin, session)),
            edge_cache: None,
            lies_elsewhere: false,
            checkpoints: session.checkpoints.as_ref().map(|all| all.stats().into()),
            uploads: session.upload_requests(),
            iterations: answer.iterations,
            levels: answer.levels.as_deref().map(summarised),
            note: answer.note.clone(),
            found: answer.found.clone(),
        })
    }

    /// A line on what was read from storage, if anything was.
    pub(crate) fn storage_line(&self) -> Option<String> {
        let storage = &self.storage;
        if storage.bytes_on_storage == 0 {
            return None;
        }
        let left = storage.edges_left.last().map_or(String::new(), |last| {
            let times = counted(storage.edges_left.len() as u64, "time", "times");
            let parallel: u64 = storage.edges_parallel.iter().flatten().sum();
            let contracted = match parallel {
                _ if is_plain(&storage.edges_parallel) => String::new(),
                _ => format!("contracted without {parallel} parallel ones, "),
            };
            format!("those that were left written anew {times}, {contracted}{last} at last, ")
        });
        Some(format!(
            "{} of edges on storage, {left}{} read; the limit was the {}{}",
            human_bytes(storage.bytes_on_storage),
            human_bytes(storage.bytes_read),
            storage.limit,
            self.times.and_then(|times| times.ratio()).map_or(String::new(), |ratio| format!(
                "; iterations took {ratio:.2} times as long as expected"
            )),
        ))
    }

    /// Adds what came from a cache, if the graph was read through one.
    pub(crate) fn cached(self, source: &Source) -> Self {
        let lies_elsewhere = source.lies_elsewhere();
        Self { edge_cache: CacheFigures::of(source), lies_elsewhere, ..self }
    }

    /// A line on the cache, if there was one.
    pub(crate) fn cache_line(&self) -> Option<String> {
        self.edge_cache.as_ref().map(CacheFigures::line)
    }

    /// A line on checkpoints, if the run was resumed or wrote any.
    pub(crate) fn checkpoints_line(&self) -> Option<String> {
        let CheckpointFigures { written, bytes, seconds, resumed_at } =
            *self.checkpoints.as_ref()?;
        let resumed = resumed_at.map(|iteration| format!("resumed from iteration {iteration}"));
        let written = (written > 0).then(|| {
            let count = counted(written, "checkpoint", "checkpoints");
            format!("{count}, {}, {seconds:.2} s", human_bytes(bytes))
        });
        let lines: Vec<String> = resumed.into_iter().chain(written).collect();
        (!lines.is_empty()).then(|| lines.join("; "))
    }

    /// The price of the run until now, where prices were named.
    pub(crate) fn price(&self, session: &Session) -> Option<Price> {
        let kept = self.storage.bytes_on_storage;
        let took = (session.started.elapsed().as_secs_f64(), kept);
        let objects = (session.objects(), self.lies_elsewhere);
        Some(session.prices.as_ref()?.price(&spent(took, session.moved(), objects)))
    }

    /// The report with the phases until now.
    pub(crate) fn with_phases(&self, session: &Session) -> impl Serialize {
        Written {
            report: self,
            phases: session.progress.finished().into_iter().map(Phase::from).collect(),
            iteration_times: session.progress.iterations().into_iter().map(Into::into).collect(),
            seconds: session.started.elapsed().as_secs_f64(),
            objects: ObjectFigures::of(session.objects()),
            price: self.price(session),
            resident_bytes_max: resident_bytes_max(),
        }
    }

    /// Writes it, whole or not at all.
    pub(crate) fn write(&self, path: &Path, session: &Session) -> Result<(), Failure> {
        write_run(path, &self.with_phases(session))
    }
}

/// Writes something as JSON, whole or not at all.
pub(crate) fn write(path: &Path, what: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(what).map_err(|error| unwritten(path, &error))?;
    Ok(write_file(path, (text + "\n").as_bytes())?)
}

/// Writes the report of a run, whole or not at all: as a page where its name ends in `.html`, else
/// as JSON; to standard output where it is `-`.
pub(crate) fn write_run(path: &Path, what: &impl Serialize) -> Result<(), Failure> {
    if is_stdout(path) {
        let text = serde_json::to_string_pretty(what).map_err(|error| unwritten(path, &error))?;
        return print(&(text + "\n"));
    }
    if !is_page(path) {
        return write(path, what);
    }
    let report = serde_json::to_value(what).map_err(|error| unwritten(path, &error))?;
    Ok(write_file(path, page::page(&report).as_bytes())?)
}

/// Writes a report that was made before, likewise: its JSON, or the page of that.
pub(crate) fn write_made(path: &Path, json: &str) -> Result<(), Failure> {
    let text = if is_page(path) {
        let report = serde_json::from_str(json).map_err(|error| unwritten(path, &error))?;
        page::page(&report)
    } else {
        format!("{json}\n")
    };
    Ok(write_file(path, text.as_bytes())?)
}

fn unwritten(path: &Path, what: &serde_json::Error) -> Failure {
    Failure::new(FailureKind::Storage, format!("{}: cannot write: {what}", path.display()))
}

fn is_page(path: &Path) -> bool {
    path.extension()
        .is_some_and(|it| it.eq_ignore_ascii_case("html") || it.eq_ignore_ascii_case("htm"))
}
