//! What all commands have in common: progress, Ctrl-C, the machine, and the plan of a graph.

mod execute;
mod wanted;

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use welter_engine::kept::{self, Checked, KeepOptions, Kept, Leftovers, Manifest};
use welter_engine::machine::Machine;
use welter_engine::plan::{Layout, Plan, Settings, Shape, StorageMode, human_bytes};
use welter_engine::{Checkpoints, Generation, Graph, Pace, Storage, Workers};
use welter_input::{Estimate, FileSummary, Frame, ReadOptions, WeightChoice};
use welter_model::edges::{Duplicates, EdgeStream, Reading};
use welter_progress::Progress;
use welter_store::io::{IoOptions, VolumeStats};

pub(crate) use self::wanted::Wanted;
use self::wanted::arcs;
use crate::algorithms::begins;
use crate::args::ResourceArgs;
use crate::bars::Bars;
use crate::ends::{Ends, WithEnds};
use crate::failure::Failure;
use crate::interrupt;
use crate::kept::{Fit, fit};
use crate::load::{Loaded, Source};
use crate::say;
use crate::summed::Summed;

/// Edges a vertex where the number of vertices is not known before reading. Real graphs have more
/// and fewer; what is decided with it is decided again once the graph is read.
const FACTOR_GUESS: u64 = 8;

/// A command at work.
#[derive(Debug)]
pub(crate) struct Session {
    /// Of this command.
    pub(crate) progress: Progress,
    /// What the user grants.
    pub(crate) resources: ResourceArgs,
    /// When the command began.
    pub(crate) started: Instant,
    /// Where the run is kept, if it can be gone on with.
    pub(crate) checkpoints: Option<Checkpoints>,
    /// Tables of vertices that a caller in this process has, by what messages call them.
    pub(crate) frames: Vec<Frame>,
    /// What iterations moved to and from storage.
    moved: Cell<Option<VolumeStats>>,
    /// Edges of each newer generation that passes wrote of those that were left.
    left: RefCell<Vec<Generation>>,
    /// When the last run of a program ended.
    ended: Cell<Instant>,
    machine: Machine,
    bars: Option<Bars>,
    /// What a person should know meanwhile, where nobody reads standard error.
    said: Option<Mutex<Vec<String>>>,
}

/// A plan made before reading.
#[derive(Debug)]
pub(crate) struct Forecast {
    /// The plan.
    pub(crate) plan: Plan,
    /// What it was made from.
    pub(crate) estimate: Estimate,
}

/// A graph that was read.
pub(crate) struct Ready {
    /// The graph.
    pub(crate) graph: Graph,
    /// What it was read from, without the edges.
    pub(crate) loaded: Origin,
    /// Threads to run on it with.
    pub(crate) workers: Workers,
    /// The ends of its edges, where they were wanted.
    pub(crate) ends: Option<Arc<Ends>>,
}

/// Where a graph came from.
pub(crate) struct Origin {
    /// Ids by slot.
    pub(crate) ids: welter_model::ids::IdMap,
    /// Name and format of each input.
    pub(crate) files: Vec<(String, String)>,
    /// How each was read.
    pub(crate) readings: Vec<FileSummary>,
    /// Bytes as stored.
    pub(crate) bytes: Option<u64>,
    /// Edges in the input.
    pub(crate) edges: u64,
    /// Whether each of them stands for both directions.
    pub(crate) undirected: bool,
    /// Whether each was read from its target to its source.
    pub(crate) reversed: bool,
    /// What a person should know about how it was read.
    pub(crate) notes: Vec<String>,
}

impl Session {
    /// Begins to listen for Ctrl-C, and to show progress.
    pub(crate) fn start(resources: ResourceArgs) -> Result<Self, Failure> {
        let session = Self::within(resources, &Progress::new())?;
        interrupt::listen(&session.progress)?;
        let bars = Bars::start(&session.progress, session.resources.quiet);
        Ok(Self { bars: Some(bars), said: None, ..session })
    }

    /// The same for a caller in this process, who draws progress, ends the run and says what there
    /// is to be said.
    pub(crate) fn within(resources: ResourceArgs, progress: &Progress) -> Result<Self, Failure> {
        check_scratch(&resources)?;
        Ok(Self {
            progress: progress.clone(),
            resources,
            started: Instant::now(),
            checkpoints: None,
            frames: Vec::new(),
            moved: Cell::new(None),
            left: RefCell::default(),
            ended: Cell::new(Instant::now()),
            machine: Machine::detect(),
            bars: None,
            said: Some(Mutex::default()),
        })
    }

    /// What was said to a caller in this process.
    pub(crate) fn said(&self) -> Vec<String> {
        let lines = |said: &Mutex<Vec<String>>| {
            std::mem::take(&mut *said.lock().unwrap_or_else(PoisonError::into_inner))
        };
        self.said.as_ref().map(lines).unwrap_or_default()
    }

    /// Begins anew, for another run of the same command: its time, its phases and their drawing.
    pub(crate) fn begin_again(&mut self) {
        self.progress.forget();
        self.started = Instant::now();
        self.moved.set(None);
        self.left.take();
        self.bars = Some(Bars::start(&self.progress, self.resources.quiet));
    }

    /// Ends the drawing of progress, so that results can be printed.
    pub(crate) fn end_progress(&mut self) {
        self.bars = None;
    }

    /// Says something to the user, on standard error, unless told to be quiet.
    pub(crate) fn say(&self, text: &str) {
        if let Some(said) = &self.said {
            said.lock().unwrap_or_else(PoisonError::into_inner).push(text.to_owned());
        } else if !self.resources.quiet {
            say::line(text);
        }
    }

    /// Plans a run before reading. `None` where nothing is known, as of a pipe.
    ///
    /// What certainly cannot fit is refused here; what perhaps can is decided after reading.
    pub(crate) fn forecast(&self, wanted: &Wanted<'_>) -> Result<Option<Forecast>, Failure> {
        let mut estimate = wanted.source.estimate(&wanted.options)?;
        let reading = wanted.reading(estimate.undirected.unwrap_or(false));
        estimate.undirected = Some(reading.undirected);
        if let Source::Kept(_, kept) = wanted.source
            && fit(kept, wanted)? == Fit::AsKept
        {
            let plan = kept.plan(wanted.layout, &self.settings(wanted, 0), &self.machine)?;
            return Ok(Some(Forecast { plan, estimate }));
        }
        let weighted = wanted.keeps_weights(estimate.weighted);
        let Some(edges) = estimate.edges else {
            // Settings that make no sense are still refused.
            let shape = Shape { slots: 0, edges: 0, weighted, estimated: true, input_bytes: 0 };
            self.plan(shape, wanted, 0)?;
            return Ok(None);
        };
        let read = wanted.reads_weights(estimate.weighted);
        let edge_bytes = wanted.source.edge_bytes_min(&wanted.options, read)?;
        let shape = |slots| Shape {
            slots,
            edges: arcs(edges, reading),
            weighted,
            estimated: !estimate.exact || estimate.slots.is_none(),
            // What is more goes to temporary files.
            input_bytes: edges.saturating_mul(edge_bytes).min(self.budget() / 2),
        };
        let known = estimate.slots.or(estimate.slots_seen);
        let likely = known.unwrap_or((edges / FACTOR_GUESS).max(1));
        // What is guessed refuses nobody.
        let plan = self
            .plan(shape(likely), wanted, 0)
            .or_else(|_| self.plan(shape(known.unwrap_or(1)), wanted, 0))?;
        Ok(Some(Forecast { plan, estimate }))
    }

    /// Reads a graph: plans, loads, plans again with what is known then, and ingests.
    pub(crate) fn graph(&self, wanted: &Wanted<'_>) -> Result<Ready, Failure> {
        let mut note = None;
        if let Source::Kept(input, kept) = wanted.source {
            match fit(kept, wanted)? {
                Fit::AsKept => return self.open(input, kept, wanted),
                Fit::Anew(how) => note = Some(format!("{input} is read again, {how}")),
            }
        }
        let mut ready = guessing(wanted, |wanted| self.graph_with_ends(wanted))?;
        ready.loaded.notes.extend(note);
        Ok(ready)
    }

    /// Reads a graph, and marks the ends of its edges where they are wanted.
    fn graph_with_ends(&self, wanted: &Wanted<'_>) -> Result<Ready, Failure> {
        if !wanted.ends {
            return self.graph_through(wanted, |edges, _| edges);
        }
        let ends = Arc::new(Ends::new(wanted.reading.drop_self_loops));
        let marked = Arc::clone(&ends);
        let ready =
            self.graph_through(wanted, |edges, _| Box::new(WithEnds { edges, ends: marked }))?;
        Ok(Ready { ends: Some(ends), ..ready })
    }

    /// Opens a graph that is kept as it is wanted.
    fn open(&self, input: &str, kept: &Kept, wanted: &Wanted<'_>) -> Result<Ready, Failure> {
        if let WeightChoice::Column(column) = &wanted.options.weight {
            let what = format!("{input}: columns were chosen when it was kept: {column}");
            return Err(Failure::usage(what));
        }
        if wanted.ends {
            let what = "was kept with every edge both ways; which end was which is not known";
            return Err(Failure::usage(format!("{input}: {what}")));
        }
        let plan = kept.plan(wanted.layout, &self.settings(wanted, 0), &self.machine)?;
        let workers = self.workers(plan.threads, kept.io())?;
        let graph = kept.load(&plan, &workers, &self.progress)?;
        let Manifest { input_edges, reading, .. } = *kept.manifest();
        let loaded = Origin {
            ids: kept.ids()?,
            files: vec![(input.to_owned(), "kept".to_owned())],
            readings: Vec::new(),
            bytes: Some(kept.manifest().bytes()),
            edges: input_edges,
            undirected: reading.undirected,
            reversed: reading.reversed,
            notes: Vec::new(),
        };
        Ok(Ready { graph, loaded, workers, ends: None })
    }

    /// Reads a graph into a directory; also says what a person should know about how it was read.
    pub(crate) fn keep(
        &self,
        wanted: &Wanted<'_>,
        options: &KeepOptions,
    ) -> Result<(Manifest, Leftovers, Vec<String>), Failure> {
        self.forecast(wanted)?;
        guessing(wanted, |wanted| self.keep_with(wanted, options))
    }

    fn keep_with(
        &self,
        wanted: &Wanted<'_>,
        options: &KeepOptions,
    ) -> Result<(Manifest, Leftovers, Vec<String>), Failure> {
        let Loaded { edges, ids, undirected, readings, notes, .. } =
            self.load(wanted.source, wanted.options.clone())?;
        let reading = wanted.reading(undirected);
        let shape = wanted.shape(&*edges, reading);
        let held_bytes = ids.bytes() + wanted.source.held_bytes();
        let settings = kept::settings(&self.resources.settings(held_bytes));
        let plan = Plan::new(shape, wanted.layout, &settings, &self.machine)?;
        let workers = self.workers(plan.threads, &IoOptions::default())?;
        let (manifest, leftovers) =
            kept::keep(edges, &ids, reading, &plan, options, &workers, &self.progress)?;
        Ok((
            manifest,
            leftovers,
            crate::readings::lines(&readings).into_iter().chain(notes).collect(),
        ))
    }

    /// Verifies a graph that is kept.
    pub(crate) fn check(&self, kept: &Kept) -> Result<Checked, Failure> {
        let threads = self.resources.threads.unwrap_or(self.machine.cores);
        let workers = self.workers(threads, &IoOptions::default())?;
        Ok(kept.check(&workers, &self.progress)?)
    }

    /// The same, with something put around the edges, once it is known how they are read.
    pub(crate) fn graph_through(
        &self,
        wanted: &Wanted<'_>,
        around: impl FnOnce(Box<dyn EdgeStream>, &mut Reading) -> Box<dyn EdgeStream>,
    ) -> Result<Ready, Failure> {
        if let Some(Forecast { plan, .. }) = self.forecast(wanted)? {
            self.storage().check_room(&plan, 0)?;
        }
        let Loaded { edges, ids, files, readings, bytes, undirected, notes } =
            self.load(wanted.source, wanted.options.clone())?;
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
        let plan = self.plan(shape, wanted, ids.bytes())?;
        let workers = self.workers(plan.threads, &IoOptions::default())?;
        let begins = begins(&wanted.options.named, &ids, edges.slots());
        let edges = (edges, &begins[..]);
        let progress = &self.progress;
        let graph = Graph::ingest_for_search(edges, &ids, reading, &plan, &workers, progress)?;
        if let (Some(checkpoints), Some(sums)) = (&self.checkpoints, sums) {
            checkpoints.read_edges(sums.total());
        }
        let reversed = reading.reversed && !undirected;
        let edges = count;
        let loaded = Origin { ids, files, readings, bytes, edges, undirected, reversed, notes };
        Ok(Ready { graph, loaded, workers, ends: None })
    }

    /// Reads the edges, in the memory that the user grants.
    pub(crate) fn load(
        &self,
        source: &Source,
        mut options: ReadOptions,
    ) -> Result<Loaded, Failure> {
        self.limit(&mut options);
        source.load(&options, &self.progress)
    }

    /// Says what of the machine reading may take.
    pub(crate) fn limit(&self, options: &mut ReadOptions) {
        options.limits.memory_bytes_max = Some(self.budget());
        let left = self.machine.memory_bytes.saturating_sub(self.budget());
        options.limits.cache_bytes_max = Some(left);
        options.scratch = self.resources.scratch();
    }

    /// Threads, and where they may put what does not fit in memory.
    fn workers(&self, threads: usize, io: &IoOptions) -> Result<Workers, Failure> {
        let storage = Storage { io: io.clone(), ..self.storage() };
        Ok(Workers::new(threads)?.with_storage(storage))
    }

    fn storage(&self) -> Storage {
        Storage { directories: self.resources.scratch(), io: IoOptions::default() }
    }

    /// How fast this machine is, and its storage where the plan needs it.
    pub(crate) fn pace(&self, plan: &Plan) -> Result<Pace, Failure> {
        let Some(storage) = plan.storage else { return Ok(Pace::of_core()) };
        Ok(self.workers(plan.threads, &IoOptions::default())?.pace(storage.room.peak())?)
    }

    /// Bytes of memory that may be used.
    pub(crate) fn budget(&self) -> u64 {
        self.resources.memory.unwrap_or(self.machine.memory_bytes / 16 * 15)
    }

    /// Refuses what a program holds beside its plan and does not fit.
    pub(crate) fn check_left(&self, graph: &Graph, bytes: u64, what: &str) -> Result<(), Failure> {
        let held = graph.resident_bytes().saturating_add(bytes);
        if held <= self.budget() {
            return Ok(());
        }
        let least = human_bytes(held.next_multiple_of(1 << 20));
        Err(Failure::new(
            78,
            format!("{what} do not fit into memory beside the graph: {least} at least"),
        )
        .hint("give it more with --memory, where the machine has it"))
    }

    fn plan(&self, shape: Shape, wanted: &Wanted<'_>, held_bytes: u64) -> Result<Plan, Failure> {
        let settings = self.settings(wanted, held_bytes);
        // Edges that are merged must meet, and iterations that are kept are those of a graph.
        let merged = wanted.reading.duplicates != Duplicates::Keep;
        let straight = wanted.layout.straight.filter(|takes| {
            // Edges that are made take longer than edges that are read, in each pass.
            let pays = takes.always || !matches!(wanted.source, Source::Generator(..));
            pays && !merged && self.checkpoints.is_none()
        });
        let layout = Layout { straight, ..wanted.layout };
        Ok(Plan::new(shape, layout, &settings, &self.machine)?)
    }

    fn settings(&self, wanted: &Wanted<'_>, held_bytes: u64) -> Settings {
        Settings {
            frontier: wanted.frontier,
            index: wanted.index,
            storage: match self.resources.cache {
                Some(cache_bytes) => StorageMode::Always { cache_bytes, values: false },
                None => StorageMode::Auto,
            },
            ..self.resources.settings(held_bytes + wanted.source.held_bytes())
        }
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
    wanted: &Wanted<'_>,
    read: impl Fn(&Wanted<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let with = |sampled| {
        let options = ReadOptions { sampled, ..wanted.options.clone() };
        read(&Wanted { options, ..*wanted })
    };
    match with(true) {
        Err(failure) if failure.is_wrong_guess() => with(false),
        done => done,
    }
}
