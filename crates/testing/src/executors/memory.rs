//! The engine on a plain graph: what it is handed, and what it says.

use std::sync::OnceLock;

use welter_engine::kept::{self, KeepOptions, KeptGraph};
use welter_engine::plan::{InputScanCost, Layout, Plan, ProgramKind, Route, Settings, Shape};
use welter_engine::{
    Checkpoints, EngineError, Mode, Outcome, Storage, StreamOutcome, Workers, count, extend,
    extend_resumable, intersect, pass, pass_over, pass_resumable, peel, run_resumable,
};
use welter_model::checkpointable::Checkpointable;
use welter_model::edges::{EdgeList, EdgeStream, Reading};
use welter_model::extended::Extended;
use welter_model::ids::IdMap;
use welter_model::input_scan::InputScan;
use welter_model::intersect::Intersect;
use welter_model::program::{Program, Value};
use welter_model::stream::{OverInput, Stream};
use welter_model::table::VertexColumn;
use welter_progress::Progress;
use welter_store::io::IoOptions;

use super::{MACHINE, Memory};
use crate::blind::Blind;
use crate::folder::Folder;
use crate::graph::Graph;
use crate::interpreter::Answer;

/// Memory that a graph which stays in its input has beside what is planned for that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// Memory beyond what it needs.
    All,
    /// As much as this number of edges takes when they are kept.
    Edges(u64),
    /// As much as it takes to make the graph after all.
    ToBeMade,
}

/// Settings without a route for programs that have one only, which are refused otherwise.
fn with_its_routes(settings: &Settings, layout: Layout) -> Settings {
    let has = |route: &Route| match layout.kind {
        ProgramKind::Fold(_) | ProgramKind::Extended { .. } | ProgramKind::Unknown => true,
        ProgramKind::Triangles => matches!(route, Route::Spill { .. }),
        ProgramKind::Stream { .. } | ProgramKind::InputScan => false,
    };
    Settings { route: settings.route.filter(has), ..*settings }
}

/// Bytes that the engine grants an edge that it keeps.
const EDGE_BYTES: u64 = 64;

impl Memory {
    pub(super) fn run<P: Program>(
        &self,
        (graph, ids): (&Graph, Option<&IdMap>),
        reading: Reading,
        program: &P,
        checkpoints: Option<&Checkpoints>,
    ) -> Result<Answer<P::Value, P::Total>, EngineError> {
        let (list, ids) = self.input_as(graph, ids);
        let plan = self.plan(graph, reading, Layout::of::<P>())?;
        let workers = workers(plan.premises.threads);
        let progress = Progress::new();
        let list = self.stream(list);
        let held = welter_engine::Graph::ingest(list, &ids, reading, &plan, workers, &progress)?;
        self.judge_vertices(&held, &ids, graph);
        answer(&held, program, workers, checkpoints)
    }

    /// Keeps a graph, and runs a program on what was kept.
    pub(super) fn keep_and_run<P: Program>(
        &self,
        (graph, ids): (&Graph, Option<&IdMap>),
        reading: Reading,
        settings: &Settings,
        program: &P,
        checkpoints: Option<&Checkpoints>,
    ) -> Result<Answer<P::Value, P::Total>, EngineError> {
        let folder = Folder::new();
        let kept = self.keep_as((graph, ids), reading, &folder)?;
        let plan = kept.plan(Layout::of::<P>(), settings, &MACHINE)?;
        let workers = workers(plan.premises.threads);
        let progress = Progress::new();
        let held = kept.load(&plan, workers, &progress)?;
        let found = kept.ids()?;
        assert!(ids.is_none_or(|ids| *ids == found), "{found:?} are not {ids:?}");
        self.judge_vertices(&held, &found, graph);
        answer(&held, program, workers, checkpoints)
    }

    /// Keeps a graph in a folder, and opens it.
    ///
    /// # Errors
    /// As those of [`kept::keep`] and [`KeptGraph::open`].
    pub fn keep(
        &self,
        graph: &Graph,
        reading: Reading,
        folder: &Folder,
    ) -> Result<KeptGraph, EngineError> {
        self.keep_as((graph, None), reading, folder)
    }

    fn keep_as(
        &self,
        (graph, ids): (&Graph, Option<&IdMap>),
        reading: Reading,
        folder: &Folder,
    ) -> Result<KeptGraph, EngineError> {
        let (list, ids) = self.input_as(graph, ids);
        let plan = self.plan(graph, reading, Layout::kept())?;
        let list: Box<dyn EdgeStream> = Box::new(list);
        let (directory, io) = (folder.graph(), IoOptions::default());
        let options = KeepOptions { directory, io: io.clone(), ..KeepOptions::default() };
        let workers = workers(plan.premises.threads);
        kept::keep(list, &ids, reading, &plan, &options, workers, &Progress::new())?;
        KeptGraph::open(&folder.graph(), &io)
    }

    /// Runs a stream program on a graph.
    ///
    /// # Panics
    /// Failure of the engine.
    pub fn pass<S: Stream>(&self, graph: &Graph, reading: Reading, program: &S) -> Vec<S::Value> {
        self.pass_as(graph, None, reading, program).0
    }

    /// Runs a stream program on a graph whose slots have these ids, where that is said; also says
    /// how many passes it took.
    ///
    /// # Panics
    /// Failure of the engine.
    pub fn pass_as<S: Stream>(
        &self,
        graph: &Graph,
        ids: Option<&IdMap>,
        reading: Reading,
        program: &S,
    ) -> (Vec<S::Value>, u64) {
        self.hold((graph, ids), reading, Layout::of_stream::<S>(), |held, workers| {
            passed(held, program, workers)
        })
    }

    /// Runs a stream program on a graph, from its last checkpoint where there is one.
    ///
    /// # Errors
    /// What the engine says of the run.
    ///
    /// # Panics
    /// When the engine fails before.
    pub fn pass_resumable<S: Checkpointable>(
        &self,
        graph: &Graph,
        reading: Reading,
        program: &S,
        checkpoints: Option<&Checkpoints>,
    ) -> Result<(Vec<S::Value>, u64), EngineError> {
        self.hold((graph, None), reading, Layout::of_stream::<S>(), |held, workers| {
            let progress = Progress::new();
            let done = pass_resumable(held, program, workers, &progress, checkpoints);
            Ok(done.and_then(|StreamOutcome { values, passes, .. }| {
                Ok((values.whole()?.into_owned(), passes))
            }))
        })
    }

    /// Keeps a graph, and walks over the triangles of what was kept.
    pub(super) fn keep_and_intersect<I: Intersect>(
        &self,
        graph: &Graph,
        reading: Reading,
        settings: &Settings,
        program: &I,
    ) -> Result<Vec<I::Value>, EngineError> {
        let folder = Folder::new();
        let kept = self.keep_as((graph, None), reading, &folder)?;
        let layout = Layout::of_intersect::<I>();
        let plan = kept.plan(layout, &with_its_routes(settings, layout), &MACHINE)?;
        let workers = workers(plan.premises.threads);
        let held = kept.load(&plan, workers, &Progress::new())?;
        Ok(intersect(&held, program, workers, &Progress::new())?.whole()?.into_owned())
    }

    /// Walks over a graph's triangles.
    ///
    /// # Panics
    /// Failure of the engine.
    pub fn intersect<I: Intersect>(
        &self,
        graph: &Graph,
        reading: Reading,
        program: &I,
    ) -> Vec<I::Value> {
        self.hold((graph, None), reading, Layout::of_intersect::<I>(), |held, workers| {
            Ok(intersect(held, program, workers, &Progress::new())?.whole()?.into_owned())
        })
    }

    /// Peels a graph that was planned for a program; none where there are no rows.
    ///
    /// # Panics
    /// Failure of the engine.
    pub fn peel<V: Value>(
        &self,
        graph: &Graph,
        reading: Reading,
        layout: Layout,
        value: impl Fn(u32) -> V,
    ) -> Option<Vec<V>> {
        self.hold((graph, None), reading, layout, |held, workers| {
            let values = peel(held, workers, &Progress::new(), value)?;
            values.map(|values| Ok(values.whole()?.into_owned())).transpose()
        })
    }

    /// Runs an extended program on a graph.
    ///
    /// # Panics
    /// Failure of the engine.
    pub fn extend<E: Extended>(
        &self,
        graph: &Graph,
        reading: Reading,
        program: &E,
    ) -> Answer<E::Value, E::Total> {
        self.hold((graph, None), reading, Layout::of_extended::<E>(), |held, workers| {
            ended(extend(held, program, workers, &Progress::new())?)
        })
    }

    /// Runs an extended program. Where there are checkpoints, the run begins at the last one, and
    /// writes more.
    ///
    /// # Errors
    /// Failure of the run.
    ///
    /// # Panics
    /// When the graph cannot be made.
    pub fn extend_resumable<E: Extended>(
        &self,
        graph: &Graph,
        reading: Reading,
        program: &E,
        checkpoints: Option<&Checkpoints>,
    ) -> Result<Answer<E::Value, E::Total>, EngineError> {
        self.hold((graph, None), reading, Layout::of_extended::<E>(), |held, workers| {
            let progress = Progress::new();
            let done = extend_resumable(held, program, workers, &progress, checkpoints);
            Ok(done.and_then(ended))
        })
    }

    /// Runs an input scan on a graph that stays in its input. `program` receives the ids of slots.
    ///
    /// # Panics
    /// When the engine fails, or plans to make a graph.
    pub fn count<P: InputScan>(
        &self,
        graph: &Graph,
        reading: Reading,
        program: impl FnOnce(&IdMap) -> P,
    ) -> Answer<P::Value, P::Total> {
        let layout = Layout::of_input_scan::<P>(8);
        let (_, ids) = self.input(graph);
        let program = program(&ids);
        self.hold((graph, None), reading, layout, |held, workers| {
            assert!(held.plan().scans_input());
            self.judge_vertices(held, &ids, graph);
            assert_eq!(held.edges(), graph.arcs(reading), "{self:?}");
            ended(count(held, &program, workers, &Progress::new())?)
        })
    }

    /// Runs a stream program on a graph that stays in its input; none if the program gave up.
    /// `program` receives the ids of slots, `made` the graph that is made then, which has this
    /// layout. `begun`: whether the edges that it begins with are noted before.
    ///
    /// # Panics
    /// When the engine fails, or plans to make a graph.
    pub fn pass_over<S: OverInput>(
        &self,
        graph: &Graph,
        reading: Reading,
        (program, layout, room, begun): (impl FnOnce(&IdMap) -> S, Layout, Room, bool),
        made: impl FnOnce(&welter_engine::Graph, &Workers),
    ) -> Option<Vec<S::Value>> {
        let input_scan = Some(InputScanCost { always: true, ..InputScanCost::of_stream::<S>() });
        let layout = Layout { input_scan, ..layout };
        let (_, ids) = self.input(graph);
        let program = program(&ids);
        let mut executor = self.clone();
        let plan = self.plan(graph, reading, layout).expect("the graph fits");
        executor.settings.memory_bytes = match room {
            Room::All => self.settings.memory_bytes,
            Room::Edges(edges) => Some(plan.memory.peak() + edges * EDGE_BYTES),
            Room::ToBeMade => plan.instead().map(|made| made.memory.peak()),
        };
        let begins = program.begins().filter(|_| begun).unwrap_or_default();
        executor.hold_for_search((graph, None, begins), reading, layout, |held, workers| {
            assert!(held.plan().scans_input());
            let progress = Progress::new();
            if let Some(passed) = pass_over(held, &program, workers, &progress)? {
                return Ok(Some(passed.values.whole()?.into_owned()));
            }
            made(held.make(&ids, workers, &progress)?, workers);
            assert!(!held.plan().scans_input());
            Ok(None)
        })
    }

    /// Keeps a graph, and runs an extended program on what was kept.
    pub(super) fn keep_and_extend<E: Extended>(
        &self,
        graph: &Graph,
        reading: Reading,
        settings: &Settings,
        program: &E,
    ) -> Result<Answer<E::Value, E::Total>, EngineError> {
        let folder = Folder::new();
        let kept = self.keep_as((graph, None), reading, &folder)?;
        let plan = kept.plan(Layout::of_extended::<E>(), settings, &MACHINE)?;
        let workers = workers(plan.premises.threads);
        let held = kept.load(&plan, workers, &Progress::new())?;
        ended(extend(&held, program, workers, &Progress::new())?)
    }

    /// The result of `run` on a graph that was read.
    fn hold<R>(
        &self,
        (graph, ids): (&Graph, Option<&IdMap>),
        reading: Reading,
        layout: Layout,
        run: impl FnOnce(&welter_engine::Graph, &Workers) -> Result<R, EngineError>,
    ) -> R {
        self.hold_for_search((graph, ids, &[]), reading, layout, run)
    }

    /// The result of `run` on a graph that was read for a search from these slots.
    fn hold_for_search<R>(
        &self,
        (graph, ids, begins): (&Graph, Option<&IdMap>, &[u64]),
        reading: Reading,
        layout: Layout,
        run: impl FnOnce(&welter_engine::Graph, &Workers) -> Result<R, EngineError>,
    ) -> R {
        let (list, ids) = self.input_as(graph, ids);
        let done = || {
            let plan = self.plan(graph, reading, layout)?;
            let workers = workers(plan.premises.threads);
            let list = self.stream(list);
            let progress = Progress::new();
            let held = welter_engine::Graph::ingest_for_search(
                (list, begins),
                &ids,
                reading,
                &plan,
                workers,
                &progress,
            )?;
            run(&held, workers)
        };
        done().unwrap_or_else(|error: EngineError| panic!("{self:?}: {error}"))
    }

    /// Keeps a graph, and runs a stream program on what was kept.
    pub(super) fn keep_and_pass<S: Stream>(
        &self,
        graph: &Graph,
        reading: Reading,
        settings: &Settings,
        program: &S,
    ) -> Result<(Vec<S::Value>, u64), EngineError> {
        let folder = Folder::new();
        let kept = self.keep_as((graph, None), reading, &folder)?;
        let layout = Layout::of_stream::<S>();
        let plan = kept.plan(layout, &with_its_routes(settings, layout), &MACHINE)?;
        let workers = workers(plan.premises.threads);
        passed(&kept.load(&plan, workers, &Progress::new())?, program, workers)
    }

    /// The plan for a graph.
    ///
    /// # Errors
    /// When the settings are out of range.
    pub fn plan(
        &self,
        graph: &Graph,
        reading: Reading,
        layout: Layout,
    ) -> Result<Plan, EngineError> {
        let arcs_an_edge = if reading.both_ways() { 2 } else { 1 };
        let shape = Shape {
            slots: graph.slots() as u64,
            edges: graph.pairs.len() as u64 * arcs_an_edge,
            weighted: graph.weights.is_some() || reading.makes_weights(),
            estimated: false,
            input_bytes: 0,
        };
        Plan::new(shape, layout, &with_its_routes(&self.settings, layout), &MACHINE)
    }

    /// Compares the vertices that the engine knows with those that there are.
    fn judge_vertices(&self, held: &welter_engine::Graph, ids: &IdMap, graph: &Graph) {
        match ids {
            IdMap::NonCompact(ids) => assert_eq!(held.all_vertices(), ids.vertices(), "{self:?}"),
            ids => assert_eq!(integers(&held.vertex_column(ids)), graph.ids(), "{self:?}"),
        }
    }

    /// The graph as an input would hand it over that gives its slots these ids.
    fn input_as(&self, graph: &Graph, ids: Option<&IdMap>) -> (EdgeList, IdMap) {
        match ids {
            Some(ids) => (graph.edge_list(self.part_edges_max), ids.clone()),
            None => self.input(graph),
        }
    }

    fn stream(&self, list: EdgeList) -> Box<dyn EdgeStream> {
        if self.blind { Box::new(Blind(list)) } else { Box::new(list) }
    }

    /// The graph as an input would hand it over. Vertices without edges beside slots that are no
    /// vertices can only come from ids that were mapped, so then the slots are numbered anew.
    pub fn input(&self, graph: &Graph) -> (EdgeList, IdMap) {
        if graph.vertices() == graph.slots() {
            return (graph.edge_list(self.part_edges_max), IdMap::Declared);
        }
        if graph.used() == graph.present {
            let list = if self.slots_stated {
                graph.edge_list(self.part_edges_max)
            } else {
                graph.edge_list_without_slots(self.part_edges_max)
            };
            return (list, IdMap::Same);
        }
        let numbers = graph.numbers();
        let pair = |pair: &[u32; 2]| pair.map(|slot| numbers[slot as usize] as u32);
        let pairs = graph.pairs.iter().map(pair).collect();
        let packed =
            Graph { weights: graph.weights.clone(), ..Graph::new(graph.vertices(), pairs) };
        (packed.edge_list(self.part_edges_max), IdMap::Sparse(graph.ids()))
    }
}

fn answer<P: Program>(
    held: &welter_engine::Graph,
    program: &P,
    workers: &Workers,
    checkpoints: Option<&Checkpoints>,
) -> Result<Answer<P::Value, P::Total>, EngineError> {
    let progress = Progress::new();
    ended(run_resumable(held, program, workers, &progress, checkpoints)?)
}

/// The answer of a run.
fn ended<V: Value, T>(outcome: Outcome<V, T>) -> Result<Answer<V, T>, EngineError> {
    Ok(Answer {
        values: outcome.values.whole()?.into_owned(),
        iterations: outcome.iterations,
        in_step: outcome.levels.iter().all(|level| level.mode != Mode::Asynchronous),
        total: outcome.total,
        totals: outcome.totals,
    })
}

fn passed<S: Stream>(
    held: &welter_engine::Graph,
    program: &S,
    workers: &Workers,
) -> Result<(Vec<S::Value>, u64), EngineError> {
    let StreamOutcome { values, passes, .. } = pass(held, program, workers, &Progress::new())?;
    Ok((values.whole()?.into_owned(), passes))
}

/// Workers that all tests of a process share: their memory has been used by others.
///
/// # Panics
/// When the system starts no threads, or for more than 8 of them.
pub fn workers(threads: usize) -> &'static Workers {
    static WORKERS: [OnceLock<Workers>; 9] = [const { OnceLock::new() }; 9];
    WORKERS[threads].get_or_init(|| {
        let storage = Storage { directories: vec![std::env::temp_dir()], io: IoOptions::default() };
        Workers::new(threads).expect("threads can be started").with_storage(storage)
    })
}

/// The ids of a vertex column of integers.
///
/// # Panics
/// Column that holds names.
pub fn integers(column: &VertexColumn) -> Vec<u64> {
    column.integers(0..column.len()).expect("ids are integers").into_owned()
}
