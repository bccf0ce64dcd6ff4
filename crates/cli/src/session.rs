//! The session that all commands share: progress, Ctrl-C, the machine, and the plan of a graph.

mod begins;
mod budget;
mod device;
mod execute;
mod fit;
mod idle;
mod input_requests;
mod keep;
mod process;
mod rates;
mod uploads;
mod wanted;

use std::cell::{Cell, OnceCell, RefCell};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use welter_engine::Machine;
use welter_engine::kept::{KeptGraph, Manifest};
use welter_engine::plan::{Device, Plan, Shape};
use welter_engine::{Checkpoints, Generation, Graph, Storage, Throughput, Workers};
use welter_input::{Estimate, FileSummary, Frame, ReadOptions, WeightChoice};
use welter_model::edges::{EdgeStream, Pair, Reading};
use welter_model::ids::IdMap;
use welter_objects::{ReadRequests, Traffic, WriteRequests};
use welter_progress::Progress;
use welter_store::io::{IoOptions, VolumeStats};

use self::begins::begins;
use self::fit::{Fit, fit};
pub(crate) use self::input_requests::InputRequests;
use self::process::{PROCESS_BYTES, WITHIN_BYTES};
use self::rates::WORTH_A_QUESTION;
pub(crate) use self::uploads::UploadRequests;
use self::uploads::Uploads;
pub(crate) use self::wanted::GraphRequest;
use crate::args::{ResourceArgs, RouteArg};
use crate::bars::Bars;
use crate::endpoints::{BipartiteRoles, EdgeEndpoints};
use crate::failure::Failure;
use crate::input_traffic::InputTraffic;
use crate::interrupt;
use crate::load::Source;
use crate::loaded::Loaded;
use crate::price::Prices;
use crate::say;
use crate::summed::Summed;

/// A command at work.
#[derive(Debug)]
pub(crate) struct Session {
    /// Progress of this command.
    pub(crate) progress: Progress,
    /// Resources that the user grants.
    pub(crate) resources: ResourceArgs,
    /// Time at which the command began.
    pub(crate) started: Instant,
    /// Where the run is kept, if it can be resumed.
    pub(crate) checkpoints: Option<Checkpoints>,
    /// Tables of vertices that a caller in this process has, by what messages call them.
    pub(crate) frames: Vec<Frame>,
    /// Prices of what it takes, where the user wants to know.
    pub(crate) prices: Option<Prices>,
    /// Requests of stores that this process had made when it began.
    objects: Traffic,
    /// Bytes and requests that iterations moved to and from storage.
    moved: Cell<Option<VolumeStats>>,
    /// Edges of each newer generation that passes wrote of those that were left.
    left: RefCell<Vec<Generation>>,
    /// When the last run of a program ended.
    ended: Cell<Instant>,
    /// The device of temporary files by a probe that was kept there, once it was looked for,
    device: OnceCell<Option<Device>>,
    /// and by a short look.
    looked: Cell<Option<Device>>,
    /// Requests for inputs by a probe that was kept beside them, once it was looked for.
    probed_requests: OnceCell<ReadRequests>,
    /// Whether the input has raw records in files, once that was looked for.
    holds_raw: OnceCell<bool>,
    /// Objects that it sends to buckets.
    uploads: Uploads,
    machine: Machine,
    /// Bytes of memory that the process takes whatever it does.
    process_bytes: u64,
    /// Bytes beside these that it takes when nothing of a plan is in memory any more.
    least_bytes: u64,
    bars: Option<Bars>,
    /// Notes for a person meanwhile, where standard error is not read.
    notes: Option<Mutex<Vec<String>>>,
}

/// A plan made before reading.
#[derive(Debug)]
pub(crate) struct Forecast {
    /// The plan.
    pub(crate) plan: Plan,
    /// Estimate that it was made from.
    pub(crate) estimate: Estimate,
    /// Requests for what it is made of, where these are known.
    pub(crate) requests: Option<InputRequests>,
    /// Reading of what it is made of, where that is foreseen.
    pub(crate) traffic: Option<InputTraffic>,
}

/// A graph that was read.
pub(crate) struct LoadedGraph {
    /// The graph.
    pub(crate) graph: Graph,
    /// Origin that it was read from, without the edges.
    pub(crate) loaded: Origin,
    /// Threads to run on it with.
    pub(crate) workers: Workers,
    /// The ends of its edges, where they were wanted.
    pub(crate) ends: Option<Arc<EdgeEndpoints>>,
}

/// Where a graph came from.
pub(crate) struct Origin {
    /// Ids by slot.
    pub(crate) ids: IdMap,
    /// Name and format of each input.
    pub(crate) files: Vec<(String, String)>,
    /// Summaries of how each file was read.
    pub(crate) readings: Vec<FileSummary>,
    /// Bytes as stored.
    pub(crate) bytes: Option<u64>,
    /// Bytes that each pass over it reads anew, where its edges are neither in memory nor made.
    pub(crate) pass_bytes: Option<u64>,
    /// Requests for it, where these are known and it is no kept graph.
    pub(crate) requests: Option<InputRequests>,
    /// Edges in the input.
    pub(crate) edges: u64,
    /// Whether each of them stands for both directions.
    pub(crate) undirected: bool,
    /// Whether each was read from its target to its source.
    pub(crate) reversed: bool,
    /// Notes for a person about how it was read.
    pub(crate) notes: Vec<String>,
}

impl Session {
    /// Begins to listen for Ctrl-C, and to show progress.
    pub(crate) fn start(resources: ResourceArgs) -> Result<Self, Failure> {
        let session = Self::within(resources, &Progress::new())?;
        interrupt::listen(&session.progress)?;
        let bars = Bars::start(&session.progress, session.resources.quiet);
        Ok(Self { process_bytes: PROCESS_BYTES, bars: Some(bars), notes: None, ..session })
    }

    /// Counts `bytes` bytes of memory with those that the process takes anyway.
    pub(crate) fn holds(&mut self, bytes: u64) {
        self.process_bytes += bytes;
    }

    /// Takes `bytes` bytes once nothing of its plans is in memory any more: budgets with less are
    /// refused.
    pub(crate) fn needs(&mut self, bytes: u64) {
        self.least_bytes = self.least_bytes.max(bytes);
    }

    /// Sends objects to this place, if it is in a bucket: `objects` at a time, whose parts are in
    /// memory beside its plans.
    pub(crate) fn sends(&mut self, to: &Path, objects: u64) {
        self.uploads.add(to, objects);
    }

    /// Requests by which objects are sent to a place: as the user states, else as the rates say
    /// that a probe kept there, once they were looked for. Those that neither says are usual.
    pub(crate) fn write_requests(&self, to: &Path) -> WriteRequests {
        self.write_requests_within(to, u64::MAX)
    }

    /// Requests likewise, where a probe decides in no more memory than this.
    pub(crate) fn write_requests_within(&self, to: &Path, memory_bytes: u64) -> WriteRequests {
        self.uploads.requests(to, memory_bytes, self.budget())
    }

    /// Requests for all places that it sends to.
    pub(crate) fn upload_requests(&self) -> Vec<UploadRequests> {
        self.uploads.listed(self.budget())
    }

    /// Looks for rates where it sends objects that are made of `bytes` bytes. Of few, usual
    /// requests are as good; where none is stated, there may be many.
    pub(crate) fn look_where_it_sends(&self, bytes: Option<u64>) {
        if bytes.is_none_or(|bytes| bytes >= WORTH_A_QUESTION) {
            for failure in self.uploads.look() {
                self.say(&format!("note: rates of the probe are not used: {failure}"));
            }
        }
    }

    /// Begins a session for a caller in this process, who draws progress, ends the run and prints
    /// what is to be said.
    pub(crate) fn within(resources: ResourceArgs, progress: &Progress) -> Result<Self, Failure> {
        check_scratch(&resources)?;
        if let Some(option) = resources.misplaced() {
            return Err(Failure::usage(format!("{option} is of --route spill")));
        }
        if resources.route == Some(RouteArg::Send) {
            let what = "--route send: messages travel between the machines of a cluster";
            return Err(Failure::usage(what).hint("say --cluster, or another route"));
        }
        Ok(Self {
            progress: progress.clone(),
            uploads: Uploads::new(resources.write_requests()),
            resources,
            started: Instant::now(),
            checkpoints: None,
            frames: Vec::new(),
            prices: None,
            objects: Traffic::so_far(),
            moved: Cell::new(None),
            left: RefCell::default(),
            ended: Cell::new(Instant::now()),
            device: OnceCell::new(),
            looked: Cell::new(None),
            probed_requests: OnceCell::new(),
            holds_raw: OnceCell::new(),
            machine: Machine::detect(),
            process_bytes: WITHIN_BYTES,
            least_bytes: 0,
            bars: None,
            notes: Some(Mutex::default()),
        })
    }

    /// Requests of stores since it began, and bytes; where a caller has several at a time, those of
    /// all.
    pub(crate) fn objects(&self) -> Traffic {
        Traffic::so_far().since(self.objects)
    }

    /// Requests of stores that this process had made when it began.
    pub(crate) fn objects_before(&self) -> Traffic {
        self.objects
    }

    /// Notes that were left for a caller in this process.
    pub(crate) fn notes(&self) -> Vec<String> {
        let lines = |notes: &Mutex<Vec<String>>| {
            std::mem::take(&mut *notes.lock().unwrap_or_else(PoisonError::into_inner))
        };
        self.notes.as_ref().map(lines).unwrap_or_default()
    }

    /// Begins anew, for another run of the same command: its time, its phases and their drawing.
    pub(crate) fn begin_again(&mut self) {
        self.progress.forget();
        self.started = Instant::now();
        self.objects = Traffic::so_far();
        self.moved.set(None);
        self.left.take();
        self.bars = Some(Bars::start(&self.progress, self.resources.quiet));
    }

    /// Ends the drawing of progress, so that results can be printed.
    pub(crate) fn end_progress(&mut self) {
        self.bars = None;
    }

    /// Whether what is said is seen while the run continues.
    fn speaks(&self) -> bool {
        self.notes.is_none() && !self.resources.quiet
    }

    /// Says something to the user, on standard error, unless the session is quiet.
    pub(crate) fn say(&self, text: &str) {
        if let Some(notes) = &self.notes {
            notes.lock().unwrap_or_else(PoisonError::into_inner).push(text.to_owned());
        } else if !self.resources.quiet {
            say::line(text);
        }
    }

    /// Reads a graph: plans, loads, plans again with what is known then, and ingests.
    pub(crate) fn graph(&self, wanted: &GraphRequest<'_>) -> Result<LoadedGraph, Failure> {
        let mut note = None;
        if let Source::Kept(input, kept) = wanted.source {
            match fit(kept, wanted)? {
                Fit::Reuse => return self.open(input, kept, wanted),
                Fit::Reread(how) => note = Some(format!("{input} is read again, {how}")),
            }
        }
        if let Source::Parts(_, parts) = wanted.source {
            // A choice by an order that was not kept is refused, as of any kept graph.
            parts.here().try_for_each(|(_, part)| fit(part, wanted).map(drop))?;
        }
        let mut ready = guessing(wanted, |wanted| self.graph_with_ends(wanted))?;
        ready.loaded.notes.extend(note);
        Ok(ready)
    }

    /// Reads a graph, and marks the ends of its edges where they are wanted.
    fn graph_with_ends(&self, wanted: &GraphRequest<'_>) -> Result<LoadedGraph, Failure> {
        if !wanted.ends {
            return self.graph_through(wanted, |edges, _| edges);
        }
        let ends = Arc::new(EdgeEndpoints::new(wanted.reading.drop_self_loops));
        let marked = Arc::clone(&ends);
        let ready = self
            .graph_through(wanted, |edges, _| Box::new(BipartiteRoles { edges, ends: marked }))?;
        Ok(LoadedGraph { ends: Some(ends), ..ready })
    }

    /// Opens a graph that is kept as it is wanted.
    fn open(
        &self,
        input: &str,
        kept: &KeptGraph,
        wanted: &GraphRequest<'_>,
    ) -> Result<LoadedGraph, Failure> {
        if let WeightChoice::Column(column) = &wanted.options.weight {
            let what = format!("{input}: columns were chosen when it was kept: {column}");
            return Err(Failure::usage(what));
        }
        if wanted.ends {
            let what = "was kept with every edge both ways; which end was which is not known";
            return Err(Failure::usage(format!("{input}: {what}")));
        }
        self.look_where_it_sends(Some(kept.manifest().bytes()));
        let plan = self.plan_kept(kept, wanted)?;
        let workers = self.workers(plan.premises.threads, &plan.io(kept.io()))?;
        let graph = kept.load(&plan, &workers, &self.progress)?;
        let Manifest { input_edges, reading, .. } = *kept.manifest();
        let loaded = Origin {
            ids: kept.ids()?,
            files: vec![(input.to_owned(), "kept".to_owned())],
            readings: Vec::new(),
            bytes: Some(kept.manifest().bytes()),
            pass_bytes: None,
            requests: None,
            edges: input_edges,
            undirected: reading.undirected,
            reversed: reading.reversed,
            notes: Vec::new(),
        };
        Ok(LoadedGraph { graph, loaded, workers, ends: None })
    }

    /// Makes a graph with something put around the edges, once it is known how they are read.
    pub(crate) fn graph_through(
        &self,
        wanted: &GraphRequest<'_>,
        around: impl FnOnce(Box<dyn EdgeStream>, &mut Reading) -> Box<dyn EdgeStream>,
    ) -> Result<LoadedGraph, Failure> {
        if let Some(Forecast { plan, .. }) = self.forecast(wanted)? {
            self.storage().check_room(plan.disk_bytes(), 0)?;
            self.look(&plan)?;
        }
        let Loaded { edges, ids, files, readings, bytes, undirected, notes } = self
            .load(wanted.source, wanted.options.clone())
            .map_err(|failure| self.with_enough(failure, wanted))?;
        let mut reading = wanted.reading(undirected);
        let undirected = reading.undirected;
        let mut edges = around(edges, &mut reading);
        let mut sums = None;
        if self.checkpoints.is_some() {
            let (summed, sum) = Summed::of(edges);
            (edges, sums) = (summed, Some(sum));
        }
        let count = edges.edges();
        let shape = wanted.shape(&*edges, reading);
        let edge_bytes = wanted.source.edge_bytes_min(&wanted.options, shape.weighted)?;
        let budget = self.budget();
        let pass_bytes = bytes.filter(|_| edge_bytes == 0 && is_read_anew(wanted, &*edges, &ids));
        let plan = self.plan(wanted, ids.bytes(), |more| {
            // With more memory less of it goes to temporary files.
            let all = count.saturating_mul(edge_bytes).min(more / 2);
            let all = if more > budget { all } else { 0 };
            Shape { input_bytes: shape.input_bytes.max(all), ..shape }
        })?;
        let workers = self.workers(plan.premises.threads, &plan.io(&IoOptions::default()))?;
        let begins = begins(&wanted.options.named, &ids, edges.slots());
        let edges = (edges, &begins[..]);
        let progress = &self.progress;
        let graph = Graph::ingest_for_search(edges, &ids, reading, &plan, &workers, progress)?;
        if let (Some(checkpoints), Some(sums)) = (&self.checkpoints, sums) {
            checkpoints.read_edges(sums.total());
        }
        let reversed = reading.reversed && !undirected;
        let requests = self.input_requests(wanted.source, &wanted.options);
        let edges = count;
        let loaded = Origin {
            ids,
            files,
            readings,
            bytes,
            pass_bytes,
            requests,
            edges,
            undirected,
            reversed,
            notes,
        };
        Ok(LoadedGraph { graph, loaded, workers, ends: None })
    }

    /// Reads the edges, in the memory that the user grants.
    pub(crate) fn load(
        &self,
        source: &Source,
        mut options: ReadOptions,
    ) -> Result<Loaded, Failure> {
        self.limit(source, &mut options);
        let loaded = source.load(&options, &self.progress)?;
        welter_engine::trim();
        Ok(loaded)
    }

    /// Threads, and where they may put what does not fit in memory.
    fn workers(&self, threads: usize, io: &IoOptions) -> Result<Workers, Failure> {
        // Temporary files are of this machine, wherever the graph lies.
        let io = IoOptions { remote: None, ..io.clone() };
        let storage = Storage { io, ..self.storage() };
        let workers = Workers::new(threads)?.with_storage(storage);
        if workers.threads() < threads {
            let started = workers.threads();
            self.say(&format!("note: the system starts {started} of {threads} threads"));
        }
        Ok(workers)
    }

    fn storage(&self) -> Storage {
        Storage { directories: self.resources.scratch(), io: IoOptions::default() }
    }

    /// Throughput of this machine, and of its storage where the plan needs it.
    pub(crate) fn throughput(&self, plan: &Plan) -> Result<Throughput, Failure> {
        let Some(storage) = plan.storage() else { return Ok(Throughput::of_core()) };
        let workers = self.workers(plan.premises.threads, &plan.io(&IoOptions::default()))?;
        Ok(plan.at_rates_of_device(workers.throughput(storage.room.peak())?))
    }

    /// Throughput of this machine, where edges are those of a kept graph.
    pub(crate) fn throughput_of(
        &self,
        plan: &Plan,
        kept: &KeptGraph,
    ) -> Result<Throughput, Failure> {
        let throughput = self.throughput(plan)?;
        let workers = self.workers(plan.premises.threads, &plan.io(&IoOptions::default()))?;
        Ok(kept.at_its_rate(throughput, plan, &workers)?)
    }
}

/// Whether edges that take no memory while they are read lie where they are stored in each pass.
fn is_read_anew(wanted: &GraphRequest<'_>, edges: &dyn EdgeStream, ids: &IdMap) -> bool {
    // Other ids were looked up, so edges are kept with the slots that were found.
    let is_same = matches!(ids, IdMap::Same | IdMap::Declared | IdMap::Offset(_));
    match wanted.source {
        Source::Kept(..) | Source::Parts(..) => true,
        Source::Files(_) => is_same && wanted.options.vertex_tables.is_empty(),
        Source::InMemoryEdges(_) => {
            let held = edges.edges().saturating_mul(size_of::<Pair>() as u64);
            is_same && edges.resident_bytes() < held
        }
        Source::Generator(..) => false,
    }
}

/// Refuses directories for temporary files that are none.
fn check_scratch(resources: &ResourceArgs) -> Result<(), Failure> {
    match resources.scratch.iter().find(|directory| !directory.is_dir()) {
        None => Ok(()),
        Some(other) => {
            let other = other.display();
            Err(Failure::output(format!("{other}: no directory for temporary files")))
        }
    }
}

/// Reads with slots that were guessed from a sample; anew without, if the guess was wrong.
fn guessing<T>(
    wanted: &GraphRequest<'_>,
    read: impl Fn(&GraphRequest<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let with = |sampled| {
        let options = ReadOptions { sampled, ..wanted.options.clone() };
        read(&GraphRequest { options, ..*wanted })
    };
    match with(true) {
        Err(failure) if failure.is_wrong_guess() => with(false),
        done => done,
    }
}
