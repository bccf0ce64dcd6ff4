//! A kept graph gives the bits that the same graph gives in memory, in any budget and with any
//! number of threads.

use std::fmt::Debug;

use bytemuck::bytes_of;
use welter_algorithms::pagerank::Dangling;
use welter_algorithms::spmv::Vector;
use welter_algorithms::{Bfs, LabelPropagation, PageRank, Spmv, Sssp, Wcc};
use welter_engine::plan::{IndexMode, Layout, Measured, OutOfCore, Route, Settings, StorageMode};
use welter_engine::{EngineError, Graph, Storage, Workers, pass, run};
use welter_model::edges::Reading;
use welter_model::program::Program;
use welter_progress::{FailureKind, Progress};
use welter_store::io::IoOptions;
use welter_store::probe::{Probe, Rate};
use welter_testing::executors::{Folder, MACHINE, workers};

use crate::{Input, loaded};

/// Bytes that are read at once.
const SLAB: u64 = 512 << 10;

/// Ways to run on a kept graph, that change no answer.
fn ways() -> Vec<Settings> {
    let way = |threads, storage, index| Settings {
        threads: Some(threads),
        storage,
        index,
        ..Settings::default()
    };
    vec![
        way(1, StorageMode::Auto, IndexMode::Auto),
        way(3, StorageMode::Auto, IndexMode::Rows),
        way(2, StorageMode::Auto, IndexMode::Granules),
        way(2, StorageMode::Always { cache_bytes: 0, values: true }, IndexMode::Auto),
        way(4, StorageMode::Always { cache_bytes: 4 << 20, values: false }, IndexMode::Rows),
    ]
}

fn bits<P: Program<Total: Debug>>(graph: &Graph, program: &P, threads: usize) -> Vec<u8> {
    let outcome = run(graph, program, workers(threads), &Progress::new()).unwrap();
    outcome.values.whole().unwrap().iter().flat_map(|value| bytes_of(value).to_vec()).collect()
}

fn same<P: Program<Total: Debug>>(input: &Input, program: impl Fn(&Graph) -> P) {
    let held = input.held::<P>();
    let expected = bits(&held, &program(&held), 2);
    let folder = Folder::new();
    let kept = input.kept(&folder);
    for way in ways() {
        let graph = loaded::<P>(&kept, &way).unwrap();
        assert_eq!((graph.vertices(), graph.edges()), (held.vertices(), held.edges()), "{way:?}");
        assert_eq!(graph.vertex_column(&kept.ids().unwrap()), held.vertex_column(&input.ids));
        let found = bits(&graph, &program(&graph), way.threads.unwrap());
        assert!(found == expected, "other bits by {way:?}");
    }
}

/// A graph large enough for several extents in a stripe, with slots that are no vertices.
fn input(weighted: bool) -> Input {
    Input::random(60_000, 400_000, weighted, 3)
}

#[test]
fn pagerank_and_spmv() {
    same(&input(false), |graph| {
        PageRank::<f32>::new(graph.vertices(), 0.85, 4, 0.0, Dangling::Spread)
    });
    same(&input(true), |graph| {
        PageRank::<f64>::new(graph.vertices(), 0.85, 4, 0.0, Dangling::Spread)
    });
    same(&input(true), |_| Spmv::<f64>::new(Vector::Random { seed: 4 }, 2));
}

#[test]
fn searches_and_components() {
    same(&input(false), |_| Bfs::new(vec![5]));
    same(&input(true), |graph| Sssp::<f64>::new(vec![5], graph.mean_weight().unwrap()));
    let reading = Reading { undirected: true, drop_self_loops: true, ..Reading::default() };
    same(&Input { reading, ..input(false) }, |_| LabelPropagation);
    same(&Input { reading, ..input(false) }, |_| Bfs::new(vec![9]));
}

/// Tiles of a kept graph may be of many blocks, in programs with a frontier too.
#[test]
fn many_windows_of_signals() {
    const SLOTS: u32 = 600_000;
    let input = Input::random(SLOTS, 800_000, false, 7);
    let held = input.held::<Bfs>();
    let program = Bfs::new(vec![5]);
    let expected = bits(&held, &program, 2);
    let folder = Folder::new();
    let kept = input.kept(&folder);
    for threads in [1, 2] {
        let storage = StorageMode::Always { cache_bytes: 0, values: true };
        let route = Some(Route::Ranges);
        let way = Settings { threads: Some(threads), storage, route, ..Settings::default() };
        let with = |bytes| Settings { memory_bytes: Some(bytes), ..way };
        let refused = kept.plan(Layout::of::<Bfs>(), &with(1), &MACHINE).unwrap_err();
        let EngineError::Budget { need, .. } = refused else { panic!("{refused}") };
        let graph = loaded::<Bfs>(&kept, &with(need)).unwrap();
        let Some(OutOfCore::Ranges(ranges)) = graph.plan().out_of_core() else {
            panic!("{}", graph.plan())
        };
        assert!(ranges.window_sources < u64::from(SLOTS) / 2, "{ranges:?}");
        assert!(bits(&graph, &program, threads) == expected, "other bits by {ranges:?}");
    }
}

#[test]
fn one_pass() {
    let input = input(false);
    let held = input.held::<Bfs>();
    let expected = pass(&held, &Wcc, workers(2), &Progress::new()).unwrap().values;
    let folder = Folder::new();
    let kept = input.kept(&folder);
    for way in ways() {
        let plan = kept.plan(Layout::of_stream::<Wcc>(), &way, &MACHINE).unwrap();
        let workers = workers(plan.premises.threads);
        let graph = kept.load(&plan, workers, &Progress::new()).unwrap();
        let found = pass(&graph, &Wcc, workers, &Progress::new()).unwrap().values;
        let [found, expected] = [&found, &expected]
            .map(|values| bytemuck::cast_slice::<_, u8>(&values.whole().unwrap()).to_vec());
        assert!(found == expected, "{way:?}");
    }
}

#[test]
fn a_budget_that_cannot_work_is_refused_and_the_least_that_can_works() {
    let folder = Folder::new();
    let kept = input(false).kept(&folder);
    let refused = kept.plan(
        Layout::of::<PageRank<f64>>(),
        &Settings { memory_bytes: Some(1 << 20), ..Settings::default() },
        &MACHINE,
    );
    let error = refused.unwrap_err();
    assert_eq!(error.kind(), FailureKind::Budget);
    let welter_engine::EngineError::Budget { need, .. } = error else { panic!("{error}") };
    let settings = Settings { memory_bytes: Some(need), ..Settings::default() };
    let plan = kept.plan(Layout::of::<PageRank<f64>>(), &settings, &MACHINE).unwrap();
    assert_eq!(plan.memory.peak(), need);
    assert!(plan.storage().is_some());
}

#[test]
fn requests_follow_the_device() {
    // Two stripes of many slabs each: more than those of the next one are not asked for ahead.
    let input = Input::random(8_000, 1_600_000, true, 3);
    let folder = Folder::new();
    let kept = input.kept(&folder);
    let storage = StorageMode::Always { cache_bytes: 0, values: false };
    let settings = Settings { threads: Some(1), storage, ..Settings::default() };
    let program = Spmv::<f64>::new(Vector::Random { seed: 4 }, 2);
    let mut seen: Vec<Vec<u8>> = Vec::new();
    for (request_bytes, window) in [(1 << 16, 2), (3 << 19, 12)] {
        let rate = Rate { request_bytes, depth: 4, bytes_per_second: 1e9, processor_share: 0.1 };
        kept.keep_rates(&Probe {
            read: vec![rate],
            write: vec![],
            direct: true,
            ..Probe::default()
        })
        .unwrap();
        let plan = kept.plan(Layout::of::<Spmv<f64>>(), &settings, &MACHINE).unwrap();
        assert_eq!(plan.in_flight(), Some(window * SLAB));
        let directories = vec![std::env::temp_dir()];
        let storage = Storage { directories, io: IoOptions::default() };
        // Workers of its own, of which no other run took slabs.
        let workers = Workers::new(1).unwrap().with_storage(storage);
        let graph = kept.load(&plan, &workers, &Progress::new()).unwrap();
        let outcome = run(&graph, &program, &workers, &Progress::new()).unwrap();
        let values = outcome.values.whole().unwrap();
        let bits = values.iter().flat_map(|value| bytes_of(value).to_vec()).collect();
        // All that were in flight at a time, and the one that was looked at.
        assert_eq!(graph.resident_bytes(), (window + 1) * SLAB);
        seen.push(bits);
    }
    assert!(seen[0] == seen[1], "other bits");
}

#[test]
fn a_short_look_raises_what_is_in_flight_and_replaces_no_probe() {
    let folder = Folder::new();
    let kept = Input::random(8_000, 100_000, true, 3).kept(&folder);
    let storage = StorageMode::Always { cache_bytes: 0, values: false };
    let settings = Settings { threads: Some(1), storage, ..Settings::default() };
    let planned = || kept.plan(Layout::of::<Spmv<f64>>(), &settings, &MACHINE).unwrap();
    let rate = |request_bytes, depth, bytes_per_second| Rate {
        request_bytes,
        depth,
        bytes_per_second,
        processor_share: 0.1,
    };
    let slab = SLAB as u32;
    assert_eq!(planned().requests().unwrap().measured, None);
    let look = |read| Probe { read, direct: true, short: true, ..Probe::default() };
    let keep = |read| {
        let look = look(read);
        kept.keep_rates(&look).unwrap();
        assert_eq!(kept.rates().unwrap(), Some(look));
        let plan = planned();
        let requests = plan.requests().unwrap();
        assert_eq!(requests.measured, Some(Measured::AtStart));
        (plan.in_flight(), requests.reads.bytes)
    };
    // Fewer than usual, as a probe would have it, are not taken from a look; more are.
    assert_eq!(keep(vec![rate(1 << 16, 1, 1e9)]), (Some(4 * SLAB), SLAB));
    assert_eq!(keep(vec![rate(slab, 16, 1e9)]), (Some(16 * SLAB), SLAB));
    // Neither are smaller requests, unless these are faster for sure.
    let both = |small| vec![rate(1 << 16, 16, small), rate(slab, 4, 1e9)];
    assert_eq!(keep(both(1.1e9)).1, SLAB);
    assert_eq!(keep(both(1.5e9)).1, 1 << 16);
    let probe = Probe { short: false, ..look(both(1.1e9)) };
    kept.keep_rates(&probe).unwrap();
    kept.keep_rates(&look(vec![rate(slab, 1, 1e9)])).unwrap();
    assert_eq!(kept.rates().unwrap(), Some(probe.clone()));
    assert_eq!(planned().requests().unwrap().measured, Some(Measured::Probe));
    // Rates of a bucket that were copied along say nothing of a disk.
    kept.keep_rates(&Probe { elsewhere: true, ..probe }).unwrap();
    assert_eq!(kept.rates().unwrap(), None);
}
