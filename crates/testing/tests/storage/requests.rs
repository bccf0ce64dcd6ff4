//! Requests of any size, and any number of them at a time, give the same answer.

use proptest::prelude::*;
use welter_engine::EngineError;
use welter_engine::plan::Route;
use welter_progress::{FailureKind, Progress};
use welter_store::io::{IN_FLIGHT_MOST, Requests};

use crate::{IoOptions, Setup, TASKS, Task, edges, folder, is_empty};

const EDGES: u32 = 300_000;
const SLOTS: u32 = 60_000;

fn size() -> impl Strategy<Value = Option<u32>> {
    prop::option::of((12..=26_u32).prop_map(|bits| 1 << bits))
}

fn requests() -> impl Strategy<Value = Requests> {
    let in_flight = prop::option::of(prop_oneof![1..9_u32, Just(64), Just(IN_FLIGHT_MOST)]);
    let all = (size(), size(), in_flight, any::<bool>()).prop_map(
        |(read_bytes, write_bytes, in_flight, cached)| Requests {
            read_bytes,
            write_bytes,
            in_flight,
            cached,
        },
    );
    all.prop_filter("more memory than a plan has", |requests| {
        let bytes = requests.read_bytes.max(requests.write_bytes).unwrap_or(0);
        u64::from(requests.in_flight.unwrap_or(1)) * u64::from(bytes) <= 256 << 20
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn requests_of_any_size_give_the_same_answer(
        requests in requests(),
        task in prop::sample::select(&TASKS[..]),
        streams in any::<bool>(),
        fused in any::<bool>(),
        threads in 1..4_usize,
    ) {
        let input = || Box::new(edges(EDGES, SLOTS, task == Task::Paths));
        let directory = folder();
        let route = match task {
            // Spilled updates are of whole numbers, or minima.
            Task::Search | Task::Rewritten | Task::Corners => {
                Some(Route::Spill { combined: false, fused })
            }
            _ => Some(Route::Ranges),
        };
        let route = route.filter(|_| streams);
        let usual = Setup { threads, route, ..Setup::stored(0, &directory) };
        let expected = usual.run(task, input()).unwrap();
        let found = Setup { requests, ..usual }.run(task, input()).unwrap();
        prop_assert!(found == expected, "other bits of {task:?} with {requests:?}");
        prop_assert!(is_empty(directory.path()));
    }
}

#[test]
fn smaller_requests_are_more_of_them() {
    let moved = |read_bytes| {
        let directory = folder();
        let requests = Requests { read_bytes, ..Requests::default() };
        let way = Setup { requests, ..Setup::stored(0, &directory) };
        let input = Box::new(edges(EDGES, SLOTS, false));
        let progress = Progress::new();
        let (graph, workers) = way.ingest(Task::Ranks32, input, &progress).unwrap();
        Task::Ranks32.run(&graph, &workers, &progress).unwrap();
        let planned = graph.plan().requests().unwrap();
        (planned, graph.storage_stats().unwrap())
    };
    let (whole, cut) = (moved(None), moved(Some(1 << 14)));
    assert_eq!((whole.0.reads.bytes, cut.0.reads.bytes), (512 << 10, 16 << 10));
    assert!(cut.0.reads.count > 20 * whole.0.reads.count, "{:?} {:?}", cut.0, whole.0);
    assert!(cut.1.reads > 4 * whole.1.reads, "{:?} {:?}", cut.1, whole.1);
    assert_eq!(cut.1.bytes_read, whole.1.bytes_read);
    assert!(cut.1.bytes_read / cut.1.reads <= 16 << 10);
}

#[test]
fn larger_requests_are_fewer_of_them() {
    let moved = |bytes, threads| {
        let directory = folder();
        let requests = Requests { read_bytes: bytes, write_bytes: bytes, ..Requests::default() };
        let way = Setup { threads, requests, ..Setup::stored(0, &directory) };
        let input = Box::new(edges(8 * EDGES, SLOTS, false));
        let progress = Progress::new();
        let (graph, workers) = way.ingest(Task::Ranks32, input, &progress).unwrap();
        let ingested = graph.storage_stats().unwrap();
        Task::Ranks32.run(&graph, &workers, &progress).unwrap();
        let planned = graph.plan().requests().unwrap();
        (planned, ingested, graph.storage_stats().unwrap().since(ingested))
    };
    for threads in [1, 2] {
        let (whole, joined) = (moved(None, threads), moved(Some(4 << 20), threads));
        assert_eq!((whole.0.reads.bytes, joined.0.reads.bytes), (512 << 10, 4 << 20));
        assert_eq!((joined.0.reads.in_flight, joined.0.writes_in_flight), (2, 2));
        assert_eq!(joined.2.bytes_read, whole.2.bytes_read);
        assert!(3 * joined.2.reads < 2 * whole.2.reads, "{:?} {:?}", joined.2, whole.2);
        assert!(joined.1.writes < whole.1.writes, "{:?} {:?}", joined.1, whole.1);
    }
}

#[test]
fn what_no_device_is_asked_for_is_refused() {
    let directory = folder();
    let none = Requests::default();
    for requests in [
        Requests { read_bytes: Some(2048), ..none },
        Requests { write_bytes: Some(128 << 20), ..none },
        Requests { in_flight: Some(0), ..none },
        Requests { in_flight: Some(IN_FLIGHT_MOST + 1), ..none },
    ] {
        let way = Setup { requests, ..Setup::stored(0, &directory) };
        let error = way.plan(Task::Search, &edges(100, 100, false)).unwrap_err();
        assert!(matches!(error, EngineError::Setting { .. }), "{error}");
        assert_eq!(error.kind(), FailureKind::Usage);
    }
}

/// A storage that would take more memory than was planned is a mistake of the caller.
#[test]
fn a_storage_of_another_plan_is_refused() {
    let directory = folder();
    let requests = Requests { in_flight: Some(40), ..Requests::default() };
    let way = Setup::stored(0, &directory);
    let way = Setup { io: IoOptions { requests, ..way.io.clone() }, applies: false, ..way };
    let input = Box::new(edges(EDGES, SLOTS, false));
    let error = way.ingest(Task::Search, input, &Progress::new()).err().unwrap();
    assert_eq!(error.kind(), FailureKind::Internal, "{error}");
}
