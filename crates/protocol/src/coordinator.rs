//! The coordinator: begins epochs, opens barriers, commits checkpoints. It is the machine of rank
//! 0.
//!
//! ```text
//! Summoning --all joined--> Installing --all have installed--> Arriving <--------------------+
//!     ^                         |                                  | all arrived             |
//!     +-- a machine says hello, | vertices lost: one manifest      v                         |
//!         at any time           | less, and again              (Deciding)                    |
//!                                                                  v                         |
//!                                            (Committing) <-- Closing: all closed, audited --+
//! ```
//!
//! It may be any process that fills rank 0: all that it knows of a run lies in the manifests that
//! those who join bring along, so a successor of it continues like any restarted machine.
//!
//! **Invariant:** an epoch is installed only when all ranks have left all epochs before it.
//! Asserted in `Coordinator::install`. **Invariant:** a checkpoint is announced only when its
//! manifest is durable here and, where copies are kept, on the machine that mirrors this one.
//! Checked in `Coordinator::persisted`, and by the simulator in `Checkpoints::is_kept`.

mod committing;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::audit::{Served, Sum, Worked};
use crate::barrier::Barrier;
use crate::carrying;
use crate::checkpoint::{Age, CheckpointShard, Manifest};
use crate::config::{Loss, Route, Shape};
use crate::context::Context;
use crate::counters::Path;
use crate::directory::Directory;
use crate::due::{Due, is_due_scattered};
use crate::ids::{Bytes, Cell, Epoch, Generation, Kind, Phase, Rank, Step};
use crate::messages::{Begin, Exit, Install, Message, MissingBlocks, PartitionOutcome};
use crate::planted::Bug;
use crate::rewriting;
use crate::work::Work;

/// State of the coordinator, and its knowledge of the run.
pub(crate) struct Coordinator {
    count: u32,
    stage: Stage,
    joined: BTreeSet<Rank>,
    /// Manifests that some machine keeps, by age.
    found: BTreeMap<Age, Arc<Manifest>>,
    /// Shape of another cluster of which some machine keeps a manifest.
    foreign: Option<Shape>,
    /// Whether an ingest was begun, by this process or one before it.
    begun: bool,
    /// States of which vertices are lost.
    unusable: BTreeSet<(Epoch, u32)>,
    installed: BTreeMap<Rank, MissingBlocks>,
    /// The newest that was installed, or committed in this epoch.
    manifest: Option<Arc<Manifest>>,
    barrier: Barrier,
    control: Bytes,
    /// Ranges of each partition that have active vertices.
    active: Arc<[u64]>,
    decision: Decision,
    made: Epoch,
    generation: Generation,
    edges: Vec<Sum>,
    /// Number of edges of the input.
    records: u64,
    edges_only: bool,
    /// Updates that wait for the next gather.
    updates: u64,
    due: Due,
    /// Committed, and not announced yet.
    committed: Option<Arc<Manifest>>,
    /// The newest that this process committed, or was about to.
    newest: Option<Arc<Manifest>>,
    pub(crate) directory: Directory,
}

/// Decision of the program: whether there is another iteration, and whether that rewrites edges.
#[derive(Clone, Copy, Debug)]
struct Decision {
    goes_on: bool,
    rewrites: bool,
}

#[derive(Clone, Debug)]
enum Stage {
    Summoning,
    Installing,
    Arriving,
    Deciding(u64),
    Closing { checkpoint: bool },
    Committing { manifest: Arc<Manifest>, token: Option<u64>, mirrored: bool },
    Finished,
}

impl Coordinator {
    pub(crate) fn new() -> Self {
        Self {
            count: 0,
            stage: Stage::Finished,
            joined: BTreeSet::new(),
            found: BTreeMap::new(),
            foreign: None,
            begun: false,
            unusable: BTreeSet::new(),
            installed: BTreeMap::new(),
            manifest: None,
            barrier: Barrier::of(Step { iteration: 0, phase: Phase::Ingest }, false),
            control: Bytes::from([]),
            active: Arc::from([]),
            decision: Decision { goes_on: true, rewrites: false },
            made: Epoch::default(),
            generation: Generation::default(),
            edges: Vec::new(),
            records: 0,
            edges_only: false,
            updates: 0,
            due: Due::default(),
            committed: None,
            newest: None,
            directory: Directory::default(),
        }
    }

    /// Begins a new epoch, and returns its name. All machines are summoned, and again until all
    /// came.
    pub(crate) fn begin_epoch(&mut self, cx: &mut Context) -> Epoch {
        if matches!(self.stage, Stage::Summoning | Stage::Installing) {
            cx.counters.count(Path::EpochAgain);
        }
        if let Stage::Committing { manifest, .. } = &self.stage {
            // All that it names is durable, and soon it will be too: it must not turn up when what
            // it names was deleted.
            self.newest = Some(manifest.clone());
        }
        self.count += 1;
        self.stage = Stage::Summoning;
        self.joined.clear();
        self.found.clear();
        self.foreign = None;
        // The last one may have reached no machine yet.
        self.found.extend(self.newest.iter().map(|manifest| (manifest.age(), manifest.clone())));
        self.installed.clear();
        self.directory.clear();
        self.committed = None;
        (self.due, self.updates) = (Due::default(), 0);
        Epoch { coordinator: cx.incarnation, count: self.count }
    }

    /// Summons those who have not joined.
    pub(crate) fn summon(&mut self, cx: &mut Context) {
        if matches!(self.stage, Stage::Summoning) {
            for rank in (0..cx.machines()).filter(|rank| !self.joined.contains(rank)) {
                cx.send_unreliable(rank, Message::Summon);
            }
        }
    }

    /// Whether a new process, or one in distress, needs a new epoch: not if it can still join this.
    pub(crate) fn needs_epoch(&self, rank: Rank) -> bool {
        self.joined.contains(&rank) || !matches!(self.stage, Stage::Summoning)
    }

    /// A machine has left all older epochs.
    pub(crate) fn join(&mut self, cx: &mut Context, from: Rank, manifests: &[Bytes]) {
        if !matches!(self.stage, Stage::Summoning) || !self.joined.insert(from) {
            return;
        }
        for manifest in manifests.iter().filter_map(|bytes| Manifest::decode(bytes)) {
            if manifest.shape == cx.config.shape() || cx.config.has(Bug::AnotherShape) {
                self.found.insert(manifest.age(), Arc::new(manifest));
            } else {
                self.foreign = Some(manifest.shape);
            }
        }
        if self.joined.len() == cx.machines() {
            self.install(cx);
        }
    }

    /// Goes back to the newest checkpoint that can be had.
    fn install(&mut self, cx: &mut Context) {
        assert_eq!(self.joined.len(), cx.machines(), "all have left the epochs before");
        let usable = |one: &&Arc<Manifest>| !self.unusable.contains(&one.state());
        let mut usable = self.found.values().rev().filter(usable);
        let newest = usable.next().cloned();
        let state = newest.as_ref().map(|newest| newest.state());
        let previous = usable.find(|one| Some(one.state()) != state).cloned();
        if newest.is_none() && !self.found.is_empty() && cx.config.loss == Loss::Refuse {
            return cx
                .fail(Exit::Lost, "no checkpoint can be had, and the input is not to be read");
        }
        if newest.is_none() && self.foreign.is_some() {
            cx.counters.count(Path::Reshaped);
            if cx.config.loss == Loss::Refuse {
                return cx.fail(Exit::Reshaped, "what is stored is of a cluster of another shape");
            }
        }
        let begun = self.begun || cx.incarnation > 1;
        cx.counters.count(match newest {
            Some(_) => Path::WentBack,
            None if begun => Path::Restarted,
            None => Path::Started,
        });
        self.manifest.clone_from(&newest);
        self.stage = Stage::Installing;
        let incarnations = cx.incarnations.clone();
        let install = Install { incarnations, manifest: newest, previous };
        cx.send_all(&Message::Install(Box::new(install)));
    }

    /// A machine has installed the checkpoint. True where a new epoch must be begun.
    pub(crate) fn installed(
        &mut self,
        cx: &mut Context,
        from: Rank,
        lost: MissingBlocks,
        chunk_sets: &[(Kind, Cell, u64)],
    ) -> bool {
        for &(kind, cell, count) in chunk_sets {
            let iteration = match kind {
                Kind::Edges => {
                    self.manifest.as_ref().map_or(0, |manifest| manifest.generation.iteration)
                }
                _ => self.version(),
            };
            self.directory.add(cx.machines(), from, (kind, iteration, cell), count);
        }
        assert!(self.joined.contains(&from), "who installs has joined");
        self.installed.insert(from, lost);
        if self.installed.len() < cx.machines() {
            return false;
        }
        let lost = |of: fn(&MissingBlocks) -> bool| self.installed.values().any(of);
        let Some(manifest) = self.manifest.clone() else {
            self.begin_ingest(cx, false);
            return false;
        };
        // Data of edges is not in the input.
        let states_lost = manifest.generation.iteration > 0 && !manifest.finished;
        if lost(|lost| lost.vertices) || states_lost && lost(|lost| lost.edges) {
            cx.counters.count(Path::FellBack);
            self.unusable.insert(manifest.state());
            return true;
        }
        let stale = cx.config.has(Bug::StaleTotals) && !self.control.is_empty();
        if !stale {
            self.control = manifest.control.clone();
        }
        self.active = manifest.active.clone();
        self.made = manifest.made;
        self.generation = manifest.generation;
        self.edges.clone_from(&manifest.edges);
        self.records = manifest.records;
        let Manifest { finished, rewrites, .. } = *manifest;
        self.decision = Decision { goes_on: !finished, rewrites };
        let scattered = !lost(|lost| lost.updates) || cx.config.has(Bug::LostUpdates);
        if lost(|lost| lost.edges) && self.decision.goes_on {
            if cx.config.loss == Loss::Refuse {
                cx.fail(Exit::Lost, "edges are lost, and the input is not to be read");
            } else {
                cx.counters.count(Path::EdgesReingested);
                self.begin_ingest(cx, true);
            }
        } else {
            self.go_back(cx, &manifest, scattered);
        }
        false
    }

    /// Continues after a checkpoint: with a gather, if it has updates and they are all there.
    fn go_back(&mut self, cx: &mut Context, manifest: &Manifest, all_there: bool) {
        let iteration = manifest.version;
        match &manifest.scattered {
            Some(scattered) if all_there => {
                cx.counters.count(Path::ScatterKept);
                self.updates = scattered.updates;
                self.begin(cx, Step { iteration, phase: Phase::Gather });
            }
            scattered => {
                if scattered.is_some() {
                    cx.counters.count(Path::ScatterLost);
                    self.directory.forget(Kind::Updates);
                }
                self.next_iteration(cx, iteration);
            }
        }
    }

    fn begin_ingest(&mut self, cx: &mut Context, edges_only: bool) {
        self.begun = true;
        self.edges_only = edges_only;
        self.generation = Generation { epoch: cx.epoch, iteration: 0 };
        for kind in [Kind::Edges, Kind::Rough, Kind::Updates] {
            self.directory.forget(kind);
        }
        let iteration = if edges_only { self.version() } else { 0 };
        if !edges_only {
            self.made = cx.epoch;
            self.control = Bytes::from([]);
        }
        self.begin(cx, Step { iteration, phase: Phase::Ingest });
    }

    /// The iterations of the checkpoint that was installed.
    fn version(&self) -> u32 {
        self.manifest.as_ref().map_or(0, |manifest| manifest.version)
    }

    fn next_iteration(&mut self, cx: &mut Context, iteration: u32) {
        if self.decision.goes_on {
            let phase = match cx.config.route {
                Route::Fold => Phase::Fold,
                Route::Spill => Phase::Scatter,
            };
            return self.begin(cx, Step { iteration, phase });
        }
        self.stage = Stage::Finished;
        if let Some(manifest) = self.committed.take().or_else(|| self.manifest.clone()) {
            cx.send_all(&Message::Finish(manifest));
        }
    }

    fn begin(&mut self, cx: &mut Context, step: Step) {
        self.stage = Stage::Arriving;
        let streams = matches!(step.phase, Phase::Scatter | Phase::Fold);
        let rewrites = self.decision.rewrites && streams;
        self.barrier = Barrier::of(step, rewrites);
        if streams && cx.config.rewrites() && !rewrites {
            cx.counters.count(Path::NotRewritten);
        }
        cx.send_all(&Message::Begin(Begin {
            step,
            control: self.control.clone(),
            made: self.made,
            generation: self.generation,
            rewrites,
            edges_only: step.phase == Phase::Ingest && self.edges_only,
            active: self.active.clone(),
            committed: self.committed.take(),
        }));
    }

    /// A computation engine has done all it can.
    pub(crate) fn arrive(
        &mut self,
        cx: &mut Context,
        (from, step): (Rank, Step),
        worked: Worked,
        made: Vec<PartitionOutcome>,
    ) {
        if step != self.barrier.step || !matches!(self.stage, Stage::Arriving) {
            return;
        }
        let is_early = cx.config.has(Bug::EarlyBarrier) && step.phase.stores();
        let early = usize::from(is_early && cx.machines() > 1);
        if self.barrier.arrive(from, worked, made) < cx.machines() - early {
            return;
        }
        let decides = !step.phase.stores() && !self.edges_only_now();
        if decides {
            let iterations = step.iteration + u32::from(step.phase != Phase::Ingest);
            let made = self.barrier.partitions(cx.config.partitions.count());
            self.active = made.iter().map(|one| one.active).collect();
            let totals = made.into_iter().map(|one| (one.partition, one.total)).collect();
            let control = self.control.clone();
            self.stage = Stage::Deciding(cx.work(Work::Decide { iterations, control, totals }));
        } else {
            self.close(cx);
        }
    }

    /// The central directory has looked something up.
    pub(crate) fn consulted(&mut self, cx: &mut Context, token: u64) {
        self.directory.consulted(cx, token, self.generation.iteration);
    }

    fn edges_only_now(&self) -> bool {
        self.edges_only && matches!(self.barrier.step.phase, Phase::Ingest | Phase::Split)
    }

    /// The program has decided what follows.
    pub(crate) fn decided(
        &mut self,
        cx: &mut Context,
        token: u64,
        (goes_on, rewrites): (bool, bool),
        next: Bytes,
    ) {
        if matches!(self.stage, Stage::Deciding(waited) if waited == token) {
            assert!(!rewrites || cx.config.rewrites(), "edges are as the program says they are");
            self.decision = Decision { goes_on, rewrites };
            if rewrites && !cx.config.has(Bug::IdleNotRewritten) {
                // Edges of a cell that is left out would be in no generation any more.
                self.active = self.active.iter().map(|_| u64::MAX).collect();
            }
            self.control = next;
            self.close(cx);
        }
    }

    fn close(&mut self, cx: &mut Context) {
        let (step, newest) = (self.barrier.step, self.manifest.as_deref());
        let checkpoint = match step.phase {
            Phase::Ingest => !cx.config.splits() || cx.config.has(Bug::CommitBeforeSplit),
            Phase::Split => true,
            Phase::Scatter => is_due_scattered(cx, newest, (self.made, step.iteration)),
            Phase::Gather | Phase::Fold => {
                let carried = self.barrier.made() > 0;
                self.due.after(cx, step.iteration + 1, (self.decision.goes_on, carried))
            }
        };
        self.stage = Stage::Closing { checkpoint };
        cx.send_all(&Message::Close { step, checkpoint });
    }

    /// A storage engine has closed the step.
    pub(crate) fn closed(
        &mut self,
        cx: &mut Context,
        (from, step): (Rank, Step),
        served: Served,
        parts: Vec<CheckpointShard>,
        stored: [Sum; 2],
    ) {
        let Stage::Closing { checkpoint } = self.stage else { return };
        if step != self.barrier.step
            || self.barrier.close(from, served, stored, parts) < cx.machines()
        {
            return;
        }
        let is_whole = self.barrier.is_whole() || cx.config.tolerates(Bug::EarlyBarrier);
        assert!(is_whole, "who closes has arrived");
        match self.barrier.audit(self.updates) {
            Ok(made) => self.updates = carrying::waiting(step, self.updates, made),
            Err(why) if cx.config.audited => {
                return cx.fail(Exit::Broken, format!("{step} does not add up: {why:?}"));
            }
            Err(_) => {}
        }
        if matches!(step.phase, Phase::Ingest | Phase::Split) {
            let (read, before) = (self.barrier.made(), self.records);
            let again = self.edges_only || step.phase == Phase::Split;
            if again && read != before && cx.config.audited {
                let what = format!("{step} has seen {read} edges, {before} were read before");
                return cx.fail(Exit::Broken, what);
            }
            self.records = read;
            self.edges = self.barrier.edges();
        }
        if self.barrier.rewrites {
            self.edges = self.barrier.edges();
            self.generation = rewriting::after(cx, step, true, self.generation);
            self.directory.forget_edges_before(self.generation.iteration);
        }
        if step.phase != Phase::Scatter && !self.edges_only_now() {
            self.made = cx.epoch;
        }
        if checkpoint { self.commit(cx) } else { self.open(cx) }
    }

    /// Opens the barrier.
    fn open(&mut self, cx: &mut Context) {
        let Step { iteration, phase } = self.barrier.step;
        match phase {
            Phase::Scatter => self.begin(cx, Step { iteration, phase: Phase::Gather }),
            Phase::Ingest if cx.config.splits() => {
                self.begin(cx, Step { iteration, phase: Phase::Split });
            }
            Phase::Ingest | Phase::Split => {
                self.directory.forget(Kind::Rough);
                self.next_iteration(cx, iteration);
            }
            Phase::Gather | Phase::Fold => {
                self.directory.forget_updates_before(iteration + 1);
                self.next_iteration(cx, iteration + 1);
            }
        }
    }
}
