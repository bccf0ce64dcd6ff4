//! Resumed runs against undisturbed ones: the same bits, iterations and totals.

use std::fmt::Debug;

use proptest::prelude::*;
use welter_algorithms::pagerank::{Dangling, PageRank};
use welter_algorithms::spmv::Vector;
use welter_algorithms::{Bfs, BfsTree, Cdlp, HyperBall, LabelPropagation, Spmv, Sssp};
use welter_engine::plan::{FrontierMode, Layout, Route, Settings, StorageMode};
use welter_engine::{Checkpoints, EngineError};
use welter_model::edges::Reading;
use welter_model::group::Grouped;
use welter_model::program::{Program, Value};
use welter_store::io::{Call, Fault, Faults};
use welter_testing::executors::{Executor, Folder, Memory, executors, is_float};
use welter_testing::graph::Graph;
use welter_testing::interpreter::Answer;
use welter_testing::relative_error;
use welter_testing::strategies::wide_graphs;

use crate::{JOB, PLAIN, alone, ladder, options, place, routes, stored, strands};
use welter_progress::FailureKind;

const BOTH_WAYS: Reading = Reading { undirected: true, ..PLAIN };

/// A run that ends by force once it has written a given number of checkpoints, and continues
/// elsewhere, if it can.
fn interrupted<P: Program>(
    [first, second]: [&Executor; 2],
    graph: &Graph,
    reading: Reading,
    program: &P,
    checkpoints: u64,
) -> Result<Answer<P::Value, P::Total>, EngineError> {
    let folder = Folder::new();
    // The directory, the first manifest, and two files for each checkpoint.
    let calls = 2 + 2 * checkpoints;
    let faults = Faults::nth_of(Call::Create, calls + 1, Fault::Errno(5));
    let begun = Checkpoints::begin(&options(&place(&folder), Some(faults.clone())), JOB).unwrap();
    let ended = first.run_resumable(graph, reading, program, Some(&begun));
    assert_eq!(ended.is_err(), faults.fired());
    let last = begun.last();
    if faults.fired() {
        assert_eq!(last, Some(checkpoints).filter(|count| *count > 0));
    }
    drop(begun);
    let opened = Checkpoints::open(&place(&folder), None).unwrap();
    assert_eq!(opened.job(), JOB.to_vec());
    let found = second.run_resumable(graph, reading, program, Some(&opened));
    assert_eq!(opened.stats().resumed_at, last);
    assert_eq!(opened.notes(), [""; 0]);
    found
}

/// Whether an executor has no room to relax edges.
fn is_streamed(executor: &Executor) -> bool {
    let (Executor::Memory(Memory { settings, .. }) | Executor::Kept(_, settings)) = executor else {
        return false;
    };
    !matches!(settings.route, None | Some(Route::Fold))
}

/// Compares runs that continued from every iteration with an undisturbed one.
fn judge<P: Program<Total: PartialEq + Debug>>(
    pair: [&Executor; 2],
    graph: &Graph,
    reading: Reading,
    program: &P,
) {
    let expected = pair[0].run(graph, reading, program);
    // By another route sums of floats may be rounded otherwise.
    let rounds = pair[0] != pair[1]
        && pair.iter().any(|executor| executor.sums_in_another_order())
        && P::Value::columns(&expected.values).iter().any(is_float);
    // Storage takes its time: from every other iteration there.
    let is_memory = pair.iter().all(|executor| match executor {
        Executor::Memory(memory) => memory.settings.storage == StorageMode::Never,
        _ => false,
    });
    for checkpoints in (0..=expected.iterations).step_by(if is_memory { 1 } else { 2 }) {
        let found = match interrupted(pair, graph, reading, program, checkpoints) {
            Err(error) if !expected.in_step && !P::UPDATES_ARE_COMPLETE && is_streamed(pair[1]) => {
                assert!(error.to_string().contains("allow it more"), "{error}");
                continue;
            }
            found => found.unwrap(),
        };
        let what = format!("from iteration {checkpoints} on {:?}", pair[1]);
        if rounds {
            let error = relative_error(&expected.numbers(), &found.numbers());
            assert!(error <= 1e-5, "{what}: {error:.1e} from the answer of {:?}", pair[0]);
            continue;
        }
        assert!(found.bits() == expected.bits(), "{what}: other bits");
        if found.in_step && expected.in_step {
            assert_eq!(found.iterations, expected.iterations, "{what}");
            assert_eq!(found.totals, expected.totals, "{what}");
        }
    }
}

/// All programs that have iterations.
fn judge_all(pair: [&Executor; 2], graph: &Graph, source: u64) {
    let count = graph.vertices() as u64;
    let spread = Dangling::Spread;
    judge(pair, graph, PLAIN, &PageRank::<f32>::new(count, 0.85, 4, 0.0, spread));
    judge(pair, graph, PLAIN, &PageRank::<f64>::new(count, 0.85, 60, 1e-3, Dangling::NetworkX));
    judge(pair, graph, PLAIN, &Spmv::<f64>::new(Vector::Random { seed: 3 }, 3));
    judge(pair, graph, PLAIN, &Bfs::new(vec![source]));
    judge(pair, graph, BOTH_WAYS, &BfsTree::new(vec![source]));
    judge(pair, graph, BOTH_WAYS, &LabelPropagation);
    judge(pair, graph, PLAIN, &HyperBall::<16>::new(3, Some(3)));
    if pair.iter().all(|executor| executor.takes::<Grouped<Cdlp>>()) {
        judge(pair, graph, BOTH_WAYS, &Grouped(Cdlp::new(4)));
    }
}

/// Paths too, whose iterations depend on how edges are found: they must be found alike.
fn judge_paths(executor: &Executor, graph: &Graph, source: u64) {
    for bucket in [2.0, f64::INFINITY] {
        judge([executor; 2], graph, PLAIN, &Sssp::<f64>::new(vec![source], bucket));
    }
}

#[test]
fn a_run_that_goes_on_ends_as_an_undisturbed_one() {
    let graph = ladder(300, 5);
    let engines: Vec<Executor> = executors().into_iter().filter(Executor::is_resumable).collect();
    for (number, first) in engines.iter().enumerate() {
        // Each with another one, so that every two neighbours in the list meet.
        judge_all([first, &engines[(number + 1) % engines.len()]], &graph, 7);
        judge_paths(first, &graph, 7);
    }
}

#[test]
fn values_on_storage_are_kept_and_read_stripe_by_stripe() {
    // Several stripes of 4,096 vertices.
    let graph = ladder(13_000, 6);
    let (memory, storage) = (alone(), stored());
    for pair in [[&memory, &storage], [&storage, &memory], [&storage, &storage]] {
        let count = graph.vertices() as u64;
        let ranks = PageRank::<f64>::new(count, 0.85, 3, 0.0, Dangling::Spread);
        judge(pair, &graph, PLAIN, &ranks);
        judge(pair, &graph, PLAIN, &Bfs::new(vec![7]));
    }
}

#[test]
fn a_state_on_storage_is_kept_and_gone_on_with_by_any_route() {
    // Slots without edges, so that the vertices of a stripe are no multiple of 8.
    let apart = |slot: u32| slot + slot / 7;
    let pairs = ladder(13_000, 6).pairs.iter().map(|pair| pair.map(apart)).collect();
    let graph = Graph::new(apart(13_000) as usize, pairs);
    let graph = Graph { present: graph.used(), ..graph };
    let others = [alone(), stored()].into_iter().chain(routes());
    let all: Vec<Executor> = others.collect();
    let sum = Spmv::<f64>::new(Vector::Ones, 2);
    for (number, first) in all.iter().enumerate() {
        for second in [&all[(number + 1) % all.len()], &all[(number + 2) % all.len()], first] {
            judge([first, second], &graph, PLAIN, &Bfs::new(vec![7]));
            judge([first, second], &graph, PLAIN, &sum);
        }
    }
}

/// Relaxes parts on two threads, with values in memory or on storage.
fn relaxing(values: bool) -> Executor {
    let storage = StorageMode::Always { cache_bytes: 0, values };
    with(&stored(), |settings| Settings {
        threads: Some(2),
        block_bits: Some(6),
        frontier: FrontierMode::Asynchronous,
        storage,
        ..settings
    })
}

/// Executor with other settings.
fn with(executor: &Executor, change: impl FnOnce(Settings) -> Settings) -> Executor {
    let Executor::Memory(memory) = executor else { panic!("{executor:?} has no settings") };
    Executor::Memory(Memory { settings: change(memory.settings), ..memory.clone() })
}

/// Interrupts a run that relaxes parts after each of its passes; each time it continues in another
/// of some ways, with the same bits or, where edges cannot be relaxed there, an error that says so.
fn judge_out_of_step<P: Program<Total: PartialEq + Debug>>(
    first: &Executor,
    seconds: &[(Executor, bool)],
    (graph, reading): (&Graph, Reading),
    program: &P,
) {
    let expected = Executor::Reference.run(graph, reading, program).bits();
    let undisturbed = first.run(graph, reading, program);
    assert!(undisturbed.iterations >= seconds.len() as u64, "{} passes", undisturbed.iterations);
    for checkpoints in 1..=undisturbed.iterations {
        let (second, relaxes) = &seconds[checkpoints as usize % seconds.len()];
        let what = format!("from pass {checkpoints} on {second:?}");
        match interrupted([first, second], graph, reading, program, checkpoints) {
            Ok(found) => {
                assert!(*relaxes || P::UPDATES_ARE_COMPLETE, "{what}");
                assert!(found.bits() == expected, "other bits {what}");
                assert!(!found.in_step && found.iterations >= checkpoints, "{what}");
            }
            Err(error) => {
                assert!(!relaxes && !P::UPDATES_ARE_COMPLETE, "{what}: {error}");
                assert!(error.to_string().contains("allow it more"), "{what}: {error}");
                assert_eq!(error.kind(), FailureKind::Budget, "{what}: {error}");
            }
        }
    }
}

/// Ways to continue that have the memory to relax edges.
fn relaxing_ways() -> Vec<(Executor, bool)> {
    let in_memory = |frontier, block_bits| {
        with(&alone(), |settings| Settings { frontier, block_bits, ..settings })
    };
    let all = [
        relaxing(false),
        in_memory(FrontierMode::Auto, None),
        relaxing(true),
        in_memory(FrontierMode::Dense, Some(8)),
        with(&relaxing(false), |it| Settings { threads: Some(3), block_bits: Some(9), ..it }),
        stored(),
    ];
    all.into_iter().map(|executor| (executor, true)).collect()
}

#[test]
fn a_run_that_relaxes_parts_is_gone_on_with_from_every_pass() {
    let graph = strands(4, 6, 40);
    let mut seconds = relaxing_ways();
    seconds.extend(routes().map(|executor| (executor, false)));
    let (first, source) = (relaxing(false), 3 << 12);
    judge_out_of_step(&first, &seconds, (&graph, PLAIN), &Bfs::new(vec![source]));
    judge_out_of_step(&first, &seconds, (&graph, PLAIN), &BfsTree::new(vec![source]));
    judge_out_of_step(&first, &seconds, (&graph, BOTH_WAYS), &LabelPropagation);
    let paths = Sssp::<f64>::new(vec![source], 2.0);
    judge_out_of_step(&first, &seconds, (&graph, PLAIN), &paths);
}

#[test]
fn vertices_that_wait_for_another_part_of_their_stripe_are_kept() {
    // Even vertices of one stripe are a path that hops between its parts, of which there are some
    // because the edges of all odd ones leave a search no room for those of a stripe.
    let hop = |number: u32| (1 << 12) + number * 1010 % (1 << 12);
    let near = |slot: u32| (0..40).map(move |turn| [slot, slot ^ (2 * turn)]);
    let mut pairs: Vec<_> = (0..2 << 12).filter(|slot| slot % 2 == 1).flat_map(near).collect();
    pairs.extend((0..40).map(|number| [hop(number), hop(number + 1)]));
    let graph = Graph::new(2 << 12, pairs);
    let (stripe_bits, chunk_bytes) = (Some(16), Some(1 << 10));
    let first = with(&relaxing(false), |it| Settings { stripe_bits, chunk_bytes, ..it });
    let search = Bfs::new(vec![hop(0).into()]);
    judge_out_of_step(&first, &relaxing_ways(), (&graph, PLAIN), &search);
}

/// The least budget of a search.
fn least(executor: &Executor, graph: &Graph) -> u64 {
    let Executor::Memory(memory) = with(executor, |it| Settings { memory_bytes: Some(1), ..it })
    else {
        panic!("it has no plan")
    };
    match memory.plan(graph, PLAIN, Layout::of::<Bfs>()) {
        Err(EngineError::Budget { need, .. }) => need,
        other => panic!("{other:?}"),
    }
}

#[test]
fn where_edges_cannot_be_relaxed_a_run_says_so() {
    // Signals on storage leave no place for it; the least budget does.
    let graph = strands(32, 6, 64);
    let one = with(&stored(), |it| Settings { threads: Some(1), stripe_bits: Some(17), ..it });
    let little = with(&one, |it| Settings { memory_bytes: Some(least(&one, &graph)), ..it });
    let ranges = with(&one, |it| Settings { route: Some(Route::Ranges), ..it });
    let search = Bfs::new(vec![31 << 12]);
    let seconds = [(ranges, false), (little, true)];
    judge_out_of_step(&relaxing(false), &seconds, (&graph, PLAIN), &search);
}

#[test]
fn only_the_last_two_are_kept() {
    let (graph, folder) = (ladder(300, 5), Folder::new());
    let program = PageRank::<f64>::new(graph.vertices() as u64, 0.85, 12, 0.0, Dangling::Drop);
    let begun = crate::begin(&place(&folder));
    alone().run_resumable(&graph, PLAIN, &program, Some(&begun)).unwrap();
    assert_eq!(crate::names(&place(&folder)), ["checkpoint", "state-11", "state-12"]);
    let stats = begun.stats();
    // Values, and the totals of the beginning and of 1 to 12 iterations.
    assert_eq!((stats.written, stats.bytes), (12, 12 * 300 * 16 + (2..14).sum::<u64>() * 16));
    let again = Checkpoints::open(&place(&folder), None).unwrap_err();
    assert!(again.to_string().contains("is another run at work"), "{again}");
    std::fs::write(place(&folder).join("notes.txt"), "mine").unwrap();
    begun.remove().unwrap();
    assert_eq!(crate::names(&place(&folder)), ["notes.txt"]);
    let error = Checkpoints::begin(&options(&place(&folder), None), JOB).unwrap_err();
    assert_eq!(error.kind(), FailureKind::Output, "{error}");
    std::fs::remove_file(place(&folder).join("notes.txt")).unwrap();
    crate::begin(&place(&folder)).remove().unwrap();
    assert!(!place(&folder).exists());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn random_graphs_are_gone_on_with(
        graph in wide_graphs(20, 40), source in 0_u64..1000, pick in any::<prop::sample::Index>(),
    ) {
        prop_assume!(graph.vertices() > 0);
        let engines: Vec<Executor> =
            executors().into_iter().filter(Executor::is_resumable).collect();
        let number = pick.index(engines.len());
        let pair = [&engines[number], &engines[(number + 1) % engines.len()]];
        let source = source % graph.vertices() as u64;
        judge_all(pair, &graph, source);
        judge_paths(pair[0], &graph, source);
    }
}
