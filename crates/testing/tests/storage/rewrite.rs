//! States of edges: what is moved of them, and that they are what was written.

use welter_engine::EngineError;
use welter_engine::plan::{Route, StorageMode};
use welter_store::header::Encoding;

use crate::{Progress, Setup, Task, edges, folder, is_empty};

#[test]
fn states_move_once_there_and_once_back() {
    const EDGES: u32 = 600_000;
    let directory = folder();
    let way = Setup::stored(0, &directory);
    let input = || Box::new(edges(EDGES, 100_000, false));
    let progress = Progress::new();
    let (graph, workers) = way.ingest(Task::Rewritten, input(), &progress).unwrap();
    let tally = &workers.storage().unwrap().io.totals;
    let before = tally.stats();
    Task::Rewritten.run(&graph, &workers, &progress).unwrap();
    let moved = tally.stats().since(before);
    let states = u64::from(EDGES) * 8;
    // Nothing is read in the first iteration, and pages are not quite full.
    assert!((3 * states..7 * states / 2).contains(&moved.bytes_written), "{moved:?}");
    let read = 2 * states + 3 * graph.chunk_bytes();
    assert!((read..read + states).contains(&moved.bytes_read), "{moved:?}");
    let planned = graph.plan().traffic();
    assert!(planned.read >= states + graph.chunk_bytes() && planned.written == states);
}

/// Bytes of an iteration on route `spill`: edges twice, states there and back, values, and what
/// sources say.
#[test]
fn signals_move_once_to_each_stripe() {
    const EDGES: u32 = 1_500_000;
    let directory = folder();
    for (combined, fused) in [(true, true), (true, false), (false, true)] {
        let route = Some(Route::Spill { combined, fused });
        let encoding = Some(Encoding::Compressed);
        let way = Setup { route, encoding, ..Setup::stored(0, &directory) };
        let input = Box::new(edges(EDGES, 100_000, false));
        let progress = Progress::new();
        let (graph, workers) = way.ingest(Task::Rewritten, input, &progress).unwrap();
        let tally = &workers.storage().unwrap().io.totals;
        let before = tally.stats();
        Task::Rewritten.run(&graph, &workers, &progress).unwrap();
        let moved = tally.stats().since(before);
        // Destinations are encoded: those in no order take three bytes.
        let updates = if combined { 0 } else { 11 * u64::from(EDGES) };
        let states = 8 * u64::from(EDGES);
        let expected = graph.plan().traffic_expected();
        assert!(expected.written > states + updates, "{expected:?}");
        // Of four turns the first one meets no edges, and the last one sends nothing.
        for (expected, moved, less) in [
            (4 * expected.read, moved.bytes_read, expected.read),
            (4 * expected.written, moved.bytes_written, expected.written),
        ] {
            let range = (expected - less) * 2 / 3..expected * 3 / 2;
            assert!(range.contains(&moved), "{route:?}: {moved} of {expected}");
        }
    }
}

#[test]
fn a_budget_between_none_and_all_of_the_states_changes_no_bit() {
    const EDGES: u32 = 5_000_000;
    let directory = folder();
    let input = || Box::new(edges(EDGES, 100_000, false));
    let expected = Setup::memory().run(Task::Rewritten, input()).unwrap();
    let auto = Setup { storage: StorageMode::Auto, ..Setup::stored(0, &directory) };
    let with = |bytes| Setup { memory_bytes: Some(bytes), ..auto.clone() };
    let Err(EngineError::Budget { need, .. }) = with(1).plan(Task::Rewritten, &*input()) else {
        panic!("a byte is enough")
    };
    let all = u64::from(EDGES) * 8;
    let mut some = 0;
    for more in [0, 1 << 20, 5 << 20] {
        let plan = with(need + more).plan(Task::Rewritten, &*input()).unwrap();
        let bytes = plan.storage().unwrap().edge_states_bytes;
        assert!(plan.memory.peak() <= need + more, "{plan}");
        some += u32::from(bytes > 0 && bytes < all);
        let found = with(need + more).run(Task::Rewritten, input()).unwrap();
        assert!(found == expected, "other bits with {bytes} bytes of states in memory");
    }
    assert!(some > 1, "some states were in memory in {some} runs");
    assert!(is_empty(directory.path()));
}
