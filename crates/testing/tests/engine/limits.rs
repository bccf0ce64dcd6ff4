//! Limits of runs: a program that never settles is ended on every schedule, and those that do stay
//! within their limits on graphs that take them longest.
//!
//! Core numbers by peeling have no limit to exceed: `peel` shows beside its loop why.

use std::sync::atomic::{AtomicU32, Ordering};

use welter_algorithms::mcst::Cost;
use welter_algorithms::{
    Bfs, ForestLabels, HyperBall, KCore, LabelPropagation, Mcst, Mis, Scc, Sssp, StrongLabels,
};
use welter_engine::plan::{FrontierMode, InputScanCost, Layout, Plan, Route, Settings, Shape};
use welter_engine::{EngineError, pass, pass_over};
use welter_model::edges::{Duplicates, Reading};
use welter_model::extended::Extended;
use welter_model::group::{Group, Grouped};
use welter_model::ids::IdMap;
use welter_model::limit::Limit;
use welter_model::program::{Applied, Next, Program, Vertex};
use welter_model::stream::{self, Edge, OverInput, StateView, StepStats, Stream};
use welter_progress::{FailureKind, Progress};
use welter_testing::executors::{Executor, MACHINE, executors, workers};
use welter_testing::graph::Graph;
use welter_testing::interpreter::interpret_extended;
use welter_testing::reading::read_as;

use crate::programs::One;

const UNDIRECTED: Reading = Reading {
    undirected: true,
    stated_directed: false,
    reversed: false,
    drop_self_loops: false,
    duplicates: Duplicates::Keep,
};

/// Invariant that none of the programs here keeps to.
const INVARIANT: &str = "each iteration settles a vertex";
/// The limit of all of them, on graphs of fewer vertices than they have iterations.
const MOST: u64 = 10;

fn limit() -> Limit {
    Limit::Proved { most: |vertices| vertices.min(MOST), invariant: INVARIANT }
}

/// Whether a run was ended because it contradicts the invariant.
fn is_ended<T>(found: Result<T, EngineError>, by: &str) {
    match found {
        Ok(_) => panic!("{by}: a run that never settles has ended by itself"),
        Err(error) => {
            assert_eq!(error.kind(), FailureKind::Damaged, "{by}: {error}");
            assert!(matches!(error, EngineError::Invariant(INVARIANT)), "{by}: {error}");
            assert!(error.to_string().contains("and here it did not"), "{error}");
        }
    }
}

/// The longest walk, which never ends on a cycle: values only rise, and no edge is ever done.
struct Longest<const ORDER_INDEPENDENT: bool>;

impl<const ORDER_INDEPENDENT: bool> Program for Longest<ORDER_INDEPENDENT> {
    type Value = One<u32>;
    type Signal = u32;
    type Update = u32;
    type Accum = u32;
    type Total = ();

    const WEIGHTED: bool = false;
    const FRONTIER: bool = true;
    const MONOTONE: bool = ORDER_INDEPENDENT;
    const ORDER_INDEPENDENT: bool = ORDER_INDEPENDENT;
    const UPDATES_ARE_COMPLETE: bool = ORDER_INDEPENDENT;

    fn init(&self, _: Vertex) -> Applied<One<u32>, ()> {
        Applied::active(One(0), ())
    }

    fn signal(&self, value: &One<u32>) -> u32 {
        value.0
    }

    fn scatter(&self, signal: u32, _: f64) -> Option<u32> {
        Some(signal + 1)
    }

    fn identity(&self) -> u32 {
        0
    }

    fn gather(&self, accum: u32, update: u32) -> u32 {
        accum.max(update)
    }

    fn merge(&self, left: u32, right: u32) -> u32 {
        left.max(right)
    }

    fn apply(&self, value: One<u32>, accum: u32, (): &()) -> Applied<One<u32>, ()> {
        Applied { value: One(value.0.max(accum)), total: (), active: accum > value.0 }
    }

    fn next(&self, _: u64, (): &()) -> Next {
        Next::Iterate
    }

    fn limit(&self) -> Limit {
        limit()
    }
}

/// A cycle through all vertices, whose stripes are many.
fn cycle() -> Graph {
    let vertices = 4200_u32;
    let pairs = (0..vertices).map(|vertex| [vertex, (vertex + 1) % vertices]).collect();
    Graph::new(vertices as usize, pairs)
}

/// A cycle that leads out of a stripe and back, whatever its width; no edge leads from a stripe to
/// itself where stripes are narrow.
fn wide_cycle() -> Graph {
    Graph::new(4200, vec![[0, 4199], [4199, 0]])
}

#[test]
fn a_fold_program_that_never_settles_is_ended_on_every_route() {
    let mut routes = [0; 4];
    for executor in executors().into_iter().filter(|it| *it != Executor::Reference) {
        let by = format!("{executor:?}");
        for graph in [cycle(), wide_cycle()] {
            let program = &Longest::<false>;
            is_ended(executor.run_resumable(&graph, Reading::default(), program, None), &by);
        }
        let (Executor::Memory(welter_testing::executors::Memory { settings, .. })
        | Executor::Kept(_, settings)) = &executor
        else {
            continue;
        };
        let relaxes = settings.frontier == FrontierMode::Asynchronous;
        routes[match settings.route {
            None | Some(Route::Fold) => usize::from(relaxes),
            Some(Route::Ranges) => 2,
            Some(Route::Spill { .. }) => 3,
        }] += 1;
    }
    assert!(routes.iter().all(|executors| *executors > 0), "{routes:?}");
}

/// Sparse iterations, pushes, and parts that are relaxed: inside a stripe, and between two.
#[test]
fn a_program_that_relaxes_and_never_settles_is_ended() {
    for executor in executors().into_iter().filter(|it| *it != Executor::Reference) {
        for graph in [cycle(), wide_cycle()] {
            let found = executor.run_resumable(&graph, Reading::default(), &Longest::<true>, None);
            is_ended(found, &format!("{executor:?}"));
        }
    }
}

/// Vertices that change in every iteration.
struct Restless;

impl Group for Restless {
    type Value = One<u32>;
    type Update = u32;
    type Accum = u32;
    type Total = ();

    fn init(&self, _: Vertex) -> (One<u32>, ()) {
        (One(0), ())
    }

    fn update(&self, value: &One<u32>) -> u32 {
        value.0
    }

    fn nothing(&self) -> u32 {
        0
    }

    fn gather(&self, accum: u32, update: u32) -> u32 {
        accum.max(update + 1)
    }

    fn unchanged(&self, value: &One<u32>) -> u32 {
        value.0
    }

    fn apply(&self, _: One<u32>, accum: u32, (): &()) -> (One<u32>, ()) {
        (One(accum), ())
    }

    fn next(&self, _: u64, (): &()) -> Next {
        Next::Iterate
    }

    fn limit(&self) -> Limit {
        limit()
    }
}

#[test]
fn a_group_program_that_never_settles_is_ended() {
    let takes = Executor::takes::<Grouped<Restless>>;
    for executor in executors().into_iter().filter(takes) {
        if executor != Executor::Reference {
            let found = executor.run_resumable(&cycle(), UNDIRECTED, &Grouped(Restless), None);
            is_ended(found, &format!("{executor:?}"));
        }
    }
}

/// Edges that count on for ever.
struct Counting;

impl Extended for Counting {
    type Value = One<u32>;
    type Signal = u32;
    type State = u32;
    type Update = u32;
    type Accum = u32;
    type Total = ();

    const WEIGHTED: bool = false;
    const SYMMETRIC: bool = false;

    fn init(&self, _: Vertex) -> (One<u32>, ()) {
        (One(0), ())
    }

    fn signal(&self, value: &One<u32>) -> u32 {
        value.0
    }

    fn edge(&self, _: Edge, source: &u32, _: &u32, state: &mut u32) -> u32 {
        *state += 1;
        source + *state
    }

    fn identity(&self) -> u32 {
        0
    }

    fn gather(&self, accum: u32, update: u32) -> u32 {
        accum.max(update)
    }

    fn apply(&self, _: One<u32>, accum: u32, (): &()) -> (One<u32>, ()) {
        (One(accum), ())
    }

    fn next(&self, _: u64, (): &()) -> Next {
        Next::Iterate
    }

    fn limit(&self) -> Limit {
        limit()
    }
}

#[test]
fn an_extended_program_that_never_stops_is_ended() {
    let mut routes = Vec::new();
    for executor in executors() {
        let Executor::Memory(memory) = &executor else { continue };
        let found = memory.extend_resumable(&cycle(), Reading::default(), &Counting, None);
        is_ended(found, &format!("{executor:?}"));
        routes.push(executor.route());
    }
    assert!(routes.contains(&None) && routes.contains(&Some(Route::Ranges)));
    assert!(routes.iter().any(|route| matches!(route, Some(Route::Spill { .. }))));
}

/// Passes that always find something new.
struct Wandering;

impl Stream for Wandering {
    type Value = One<u32>;
    type VertexState = AtomicU32;
    type Aux = ();
    type Step = ();
    type Total = ();

    fn init(&self, _: Vertex) -> (AtomicU32, ()) {
        (AtomicU32::new(0), ())
    }

    fn first(&self) -> stream::Next<()> {
        stream::Next::SamplePass(())
    }

    /// Nothing but the number of passes may end it, however passes and other steps follow.
    fn next(&self, (): (), stats: &StepStats<()>) -> stream::Next<()> {
        if stats.looked > 0 { stream::Next::Finalize(()) } else { stream::Next::Pass(()) }
    }

    fn limit(&self) -> Limit {
        limit()
    }

    fn is_candidate(&self, (): (), _: &AtomicU32, _: &AtomicU32) -> bool {
        true
    }

    fn edge(&self, (): (), view: StateView<'_, Self>, edge: Edge) -> bool {
        view.states[edge.target as usize].fetch_add(1, Ordering::Relaxed);
        true
    }

    fn finalize(&self, (): (), _: StateView<'_, Self>, _: u32) {}

    fn value(&self, view: StateView<'_, Self>, vertex: u32) -> One<u32> {
        One(view.states[vertex as usize].load(Ordering::Relaxed))
    }
}

impl OverInput for Wandering {
    fn numbered(&self, value: One<u32>, _: impl Fn(u32) -> u32) -> One<u32> {
        value
    }
}

/// A graph as the engine has it, in its input or made.
fn held(graph: &Graph, layout: Layout) -> welter_engine::Graph {
    let shape = Shape {
        slots: graph.slots() as u64,
        edges: graph.pairs.len() as u64,
        weighted: false,
        estimated: false,
        input_bytes: 0,
    };
    let settings = Settings { threads: Some(2), ..Settings::default() };
    let plan = Plan::new(shape, layout, &settings, &MACHINE).unwrap();
    let (list, progress) = (Box::new(graph.edge_list(100)), Progress::new());
    let (ids, reading) = (IdMap::Declared, Reading::default());
    welter_engine::Graph::ingest(list, &ids, reading, &plan, workers(2), &progress).unwrap()
}

#[test]
fn a_stream_program_that_never_stops_is_ended_over_a_graph_and_over_its_input() {
    let layout = Layout::of_stream::<Wandering>();
    let made = held(&cycle(), layout);
    is_ended(pass(&made, &Wandering, workers(2), &Progress::new()), "a graph");
    let input_scan = InputScanCost { always: true, ..InputScanCost::of_stream::<Wandering>() };
    let left = held(&cycle(), Layout { input_scan: Some(input_scan), ..layout });
    assert!(left.plan().scans_input());
    is_ended(pass_over(&left, &Wandering, workers(2), &Progress::new()), "its input");
}

/// Executors of each schedule, a few: long paths take long.
fn some() -> Vec<Executor> {
    let all: Vec<Executor> = executors().into_iter().skip(1).collect();
    let is_local = |executor: &&Executor| match executor {
        Executor::Memory(it) => it.settings.frontier == FrontierMode::Asynchronous,
        _ => false,
    };
    let by = |route: fn(Option<Route>) -> bool| all.iter().find(|it| route(it.route()));
    [
        all.iter().find(|executor| executor.route().is_none()),
        all.iter().find(is_local),
        by(|route| route == Some(Route::Ranges)),
        by(|route| matches!(route, Some(Route::Spill { .. }))),
    ]
    .into_iter()
    .flatten()
    .cloned()
    .collect()
}

/// Runs a program to its end wherever it can be, and says how many iterations it took.
fn ends<P: Program>(graph: &Graph, reading: Reading, program: &P) -> u64 {
    // The interpreter compares each iteration with the limit.
    let answer = Executor::Reference.run(graph, reading, program);
    for executor in some().iter().filter(|executor| executor.takes::<P>()) {
        let found = executor.run(graph, reading, program);
        assert!(!found.in_step || found.iterations == answer.iterations, "{executor:?}");
    }
    answer.iterations
}

const PATH: u32 = 60;

/// A path whose vertices stand in the order of their numbers, and one whose do not.
fn paths() -> [Graph; 2] {
    let graph = |place: fn(u32) -> u32| {
        let pairs = (1..PATH).map(|step| [place(step - 1), place(step)]).collect();
        Graph::new(PATH as usize, pairs)
    };
    [graph(|step| step), graph(|step| step * 77 % PATH)]
}

#[test]
fn programs_that_settle_stay_within_their_limits_on_long_paths() {
    let vertices = u64::from(PATH);
    for graph in paths() {
        // The last one finds that nothing is left to do.
        assert_eq!(ends(&graph, Reading::default(), &Bfs::new(vec![0])), vertices);
        assert_eq!(ends(&graph, UNDIRECTED, &Sssp::<f64>::new(vec![0], 1.0)), vertices);
        assert_eq!(ends(&graph, UNDIRECTED, &LabelPropagation), vertices);
        assert_eq!(ends(&graph, UNDIRECTED, &Grouped(KCore)), vertices / 2);
        assert!(ends(&graph, UNDIRECTED, &HyperBall::<16>::new(1, None)) <= vertices);
        for seed in 0..2 {
            assert!(ends(&graph, UNDIRECTED, &Mis::new(seed)) <= vertices);
        }
        let directions = Reading { duplicates: Duplicates::Directions, ..Reading::default() };
        ends(&graph, directions, &StrongLabels);
        let weights = Some((1..PATH).map(f64::from).collect());
        let weighted = Graph { weights, ..graph };
        ends(&weighted, UNDIRECTED, &ForestLabels::new(Cost::Minimum));
        for executor in some() {
            executor.pass(&weighted, Reading::default(), &Scc::with_rest(0));
            executor.pass(&weighted, UNDIRECTED, &Mcst::default());
        }
    }
}

#[test]
fn core_numbers_of_a_path_that_hangs_on_a_triangle_take_an_iteration_a_vertex() {
    // Core numbers fall from the free end of the path alone, a vertex an iteration.
    let mut pairs: Vec<[u32; 2]> = (1..PATH).map(|vertex| [vertex - 1, vertex]).collect();
    pairs.push([PATH - 3, PATH - 1]);
    let graph = Graph::new(PATH as usize, pairs);
    let iterations = ends(&graph, UNDIRECTED, &Grouped(KCore));
    assert!((u64::from(PATH) - 5..=u64::from(PATH)).contains(&iterations), "{iterations}");
}

#[test]
#[should_panic(expected = "more than 10 iterations")]
fn the_interpreter_checks_limits_too() {
    interpret_extended(&read_as(&cycle(), Reading::default()), &Counting);
}
