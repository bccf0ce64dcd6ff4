//! Memory of runs whose edges lie on storage, against the most that their plans stated.
//!
//! One test, because the meter counts what the whole process holds.
#![expect(clippy::unwrap_used, reason = "a test")]

use welter_algorithms::bp::Potential;
use welter_algorithms::pagerank::{Dangling, PageRank};
use welter_algorithms::{
    Bfs, Cdlp, ForestLabels, Mcst, Scc, StrongLabels, SumProduct, Triangles, Wcc,
};
use welter_engine::plan::{Layout, Plan, Route, Settings, Shape, StorageMode};
use welter_engine::{EngineError, Graph, Storage, Workers, meter};
use welter_model::edges::{Duplicates, EdgeList, EdgeStream, Reading};
use welter_model::group::Grouped;
use welter_model::ids::IdMap;
use welter_progress::Progress;
use welter_store::frame::Compression;
use welter_store::io::{IoOptions, Requests};
use welter_testing::executors::MACHINE;
use welter_testing::patterns::Pattern;

const ROUTES: [Route; 2] = [Route::Ranges, Route::Spill { combined: true, fused: true }];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    Ranks,
    Search,
    Components,
    Communities,
    Triangles,
    Strong,
    Forest,
    Beliefs,
    StrongLabels,
    ForestLabels,
}

impl Task {
    fn reading(self) -> Reading {
        match self {
            Self::Ranks | Self::Search | Self::Components | Self::Strong | Self::Forest => {
                Reading::default()
            }
            Self::Communities | Self::Beliefs | Self::ForestLabels => {
                Reading { undirected: true, ..Reading::default() }
            }
            Self::StrongLabels => Reading {
                drop_self_loops: true,
                duplicates: Duplicates::Directions,
                ..Reading::default()
            },
            Self::Triangles => Reading {
                undirected: true,
                drop_self_loops: true,
                duplicates: Duplicates::First,
                ..Reading::default()
            },
        }
    }

    /// A route that it can be made to take.
    fn route(self, number: usize) -> Route {
        match self {
            Self::Ranks
            | Self::Search
            | Self::Beliefs
            | Self::StrongLabels
            | Self::ForestLabels => ROUTES[number],
            Self::Communities | Self::Triangles => ROUTES[1],
            _ => Route::Fold,
        }
    }

    fn plan(self, list: &EdgeList, settings: &Settings) -> Result<Plan, EngineError> {
        let shape = Shape {
            slots: list.slots().unwrap(),
            edges: list.edges() * if self.reading().both_ways() { 2 } else { 1 },
            weighted: list.weighted() || self.reading().makes_weights(),
            estimated: false,
            // The list is not on the meter.
            input_bytes: 0,
        };
        let layout = match self {
            Self::Ranks => Layout::of::<PageRank<f64>>(),
            Self::Search => Layout::of::<Bfs>(),
            Self::Components => Layout::of_stream::<Wcc>(),
            Self::Communities => Layout::of::<Grouped<Cdlp>>(),
            Self::Triangles => Layout::of_intersect::<Triangles>(),
            Self::Strong => Layout::of_stream::<Scc>(),
            Self::Forest => Layout::of_stream::<Mcst>(),
            Self::Beliefs => Layout::of_extended::<SumProduct<4, 3>>(),
            Self::StrongLabels => Layout::of::<StrongLabels>(),
            Self::ForestLabels => Layout::of::<ForestLabels>(),
        };
        Plan::new(shape, layout, settings, &MACHINE)
    }

    fn run(self, graph: &Graph, workers: &Workers) -> Result<(), EngineError> {
        let progress = Progress::new();
        match self {
            Self::Ranks => {
                let program =
                    PageRank::<f64>::new(graph.vertices(), 0.85, 2, 0.0, Dangling::Spread);
                welter_engine::run(graph, &program, workers, &progress).map(drop)
            }
            Self::Search => {
                welter_engine::run(graph, &Bfs::new(vec![17]), workers, &progress).map(drop)
            }
            Self::Components => welter_engine::pass(graph, &Wcc, workers, &progress).map(drop),
            Self::Communities => {
                welter_engine::run(graph, &Grouped(Cdlp::new(2)), workers, &progress).map(drop)
            }
            Self::Triangles => {
                welter_engine::intersect(graph, &Triangles, workers, &progress).map(drop)
            }
            Self::Strong => {
                welter_engine::pass(graph, &Scc::default(), workers, &progress).map(drop)
            }
            Self::Forest => {
                welter_engine::pass(graph, &Mcst::default(), workers, &progress).map(drop)
            }
            Self::StrongLabels => {
                welter_engine::run(graph, &StrongLabels, workers, &progress).map(drop)
            }
            Self::ForestLabels => {
                welter_engine::run(graph, &ForestLabels::default(), workers, &progress).map(drop)
            }
            Self::Beliefs => {
                let program =
                    SumProduct::<4, 3>::new(Potential::coupled(0.5).unwrap(), 2, 0.0).unwrap();
                welter_engine::extend(graph, &program, workers, &progress).map(drop)
            }
        }
    }
}

/// The peaks of the plan and of the meter.
struct Peaks {
    planned: u64,
    ingest: u64,
    taken: u64,
}

fn peaks(task: Task, list: EdgeList, plan: &Plan) -> Result<Peaks, EngineError> {
    // Memory, if it can be had: what a device does is not asked here.
    let shared = std::path::PathBuf::from("/dev/shm");
    let directory = if shared.is_dir() { shared } else { std::env::temp_dir() };
    let storage = Storage { directories: vec![directory], io: plan.io(&IoOptions::default()) };
    let workers = Workers::new(plan.premises.threads)?.with_storage(storage);
    meter::restart();
    let before = meter::held_bytes();
    let (list, ids, reading) = (Box::new(list), IdMap::Declared, task.reading());
    let graph = Graph::ingest(list, &ids, reading, plan, &workers, &Progress::new())?;
    let ingest = meter::peak_bytes() - before;
    task.run(&graph, &workers)?;
    Ok(Peaks { planned: plan.memory.peak(), ingest, taken: meter::peak_bytes() - before })
}

/// The smallest budget that a plan accepts, to a few KiB.
fn least_budget(task: Task, list: &EdgeList, settings: &Settings) -> u64 {
    let (mut refused, mut accepted) = (0_u64, 1_u64 << 40);
    while accepted - refused > 4096 {
        let middle = refused.midpoint(accepted);
        let settings = Settings { memory_bytes: Some(middle), ..*settings };
        let taken = task.plan(list, &settings).is_ok();
        if taken { accepted = middle } else { refused = middle }
    }
    accepted
}

#[test]
fn no_run_takes_more_than_its_plan_and_its_budget_say() {
    let tasks = [
        Task::Ranks,
        Task::Communities,
        Task::Search,
        Task::Triangles,
        Task::Components,
        Task::Strong,
        Task::Forest,
    ];
    let none = Requests::default();
    let requests = [
        none,
        Requests { in_flight: Some(24), ..none },
        Requests { read_bytes: Some(4 << 20), write_bytes: Some(2 << 20), ..none },
        Requests { read_bytes: Some(1 << 14), write_bytes: Some(1 << 16), ..none },
        Requests { in_flight: Some(1), ..none },
        Requests { write_bytes: Some(1 << 13), in_flight: Some(256), ..none },
    ];
    let mut wrong = Vec::new();
    let mut nearest: f64 = 0.0;
    let (mut ranges, mut grouped) = (0, 0);
    for (number, (count, slots)) in
        [(3 << 20, 200_000), (1 << 20, 1_500_000)].into_iter().enumerate()
    {
        for (case, pattern) in Pattern::all([64, 2048][number]).into_iter().enumerate() {
            // Heavy bins and few slabs too, where a bin is far fuller than the others.
            let alone = matches!(pattern, Pattern::Dense(_)).then_some(1);
            let threads = [1 + case % 2, 3 + case % 2].into_iter().chain(alone);
            let runs = threads.map(|threads| (threads, tasks[(case + threads) % tasks.len()]));
            let beliefs = (case % 3 == number).then_some((3 - case % 2, Task::Beliefs));
            // Not along near ends, whose paths have some ten thousand edges.
            let labels = (case % 2 == number && pattern != Pattern::Near)
                .then_some([(2 + number, Task::StrongLabels), (3 - number, Task::ForestLabels)]);
            // Rows that travel: of the many that are short, and of the few that are long.
            let rows = matches!(pattern, Pattern::Dense(_)).then_some((1, Task::Triangles));
            let more = beliefs.into_iter().chain(labels.into_iter().flatten()).chain(rows);
            for (threads, task) in runs.chain(more) {
                let weighted = (case + number) % 3 == 2 || alone == Some(threads);
                let list = pattern.edges(count, slots, weighted);
                let always = threads % 2 == 0;
                let storage = if always {
                    StorageMode::Always { cache_bytes: [0, 8 << 20][case % 2], values: case > 1 }
                } else {
                    StorageMode::Auto
                };
                let settings = Settings {
                    threads: Some(threads),
                    stripe_bits: (case != 3).then_some(14),
                    storage,
                    compression: if case % 4 == 3 { Compression::Zstd } else { Compression::None }
                        .into(),
                    requests: requests[(case + threads) % requests.len()],
                    route: (always && case > 2 || rows == Some((threads, task)))
                        .then(|| task.route(case % 2)),
                    ..Settings::default()
                };
                let least = least_budget(task, &list, &settings);
                for more in [0, 1 << 20, 20 << 20] {
                    let memory_bytes = Some(least + more);
                    let plan = task.plan(&list, &Settings { memory_bytes, ..settings }).unwrap();
                    let name = format!(
                        "{count} edges, {slots} slots, weighted {weighted}, {pattern:?}, {task:?}, \
                         {threads} threads, {storage:?}, {:?}, {:?}, {} more than the least \
                         budget: {}: {:?}",
                        settings.compression,
                        settings.requests,
                        more,
                        if plan.storage().is_some() { "stored" } else { "in memory" },
                        (&plan.memory, plan.storage()),
                    );
                    ranges += u32::from(plan.out_of_core().is_some());
                    match peaks(task, list.clone(), &plan) {
                        Ok(Peaks { planned, ingest, taken }) => {
                            let groups = matches!(task, Task::Communities | Task::Triangles);
                            grouped += u32::from(groups);
                            if taken > planned || planned > least + more {
                                wrong.push(format!(
                                    "{taken} taken ({ingest} by ingest), {planned} planned: {name}"
                                ));
                            }
                            nearest = nearest.max(taken as f64 / planned as f64);
                        }
                        // Where too many edges are parallel, or a group is too large.
                        Err(EngineError::Budget { .. }) => {}
                        Err(error) => panic!("{name}: {error}"),
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} runs:\n{}", wrong.len(), wrong.join("\n"));
    assert!(ranges > 5, "only {ranges} runs had their signals on storage");
    assert!(grouped > 10, "only {grouped} runs had groups or rows");
    // A bound that no run comes near to would refuse what fits.
    assert!(nearest > 0.5, "no run took more than {nearest:.2} of its plan");
}
