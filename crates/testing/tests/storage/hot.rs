//! Bin groups that are much fuller than others: the same bits, and damage is found, although they
//! are read in pieces. That they take no more memory is shown by `storage_budget`.

use std::sync::Arc;

use welter_store::io::{Call, Fault, Faults};
use welter_testing::patterns::Pattern;

use crate::{Setup, Task, folder_in_memory, is_empty};
use welter_progress::FailureKind;

const EDGES: u32 = 600_000;
const SLOTS: u32 = 60_000;

#[test]
fn bins_that_are_read_in_pieces_give_the_same_bits() {
    for pattern in [Pattern::Dense(64), Pattern::Dense(3000), Pattern::StarIn, Pattern::StarOut] {
        for (task, threads) in [(Task::Ranks32, 1), (Task::Paths, 2), (Task::Search, 3)] {
            let input = || Box::new(pattern.edges(EDGES, SLOTS, task == Task::Paths));
            let expected = Setup::memory().run(task, input()).unwrap();
            let directory = folder_in_memory();
            let way = Setup { threads, ..Setup::stored(0, &directory) };
            let found = way.run(task, input()).unwrap();
            assert!(found == expected, "other bits of {task:?}, {pattern:?}, {threads} threads");
            assert!(is_empty(directory.path()));
        }
    }
}

#[test]
fn a_bit_of_them_that_is_another_one_is_found() {
    let input = || Box::new(Pattern::Dense(64).edges(EDGES, SLOTS, false));
    let directory = folder_in_memory();
    let way = |faults: &Arc<Faults>| {
        let way = Setup { threads: 1, ..Setup::stored(0, &directory) };
        way.with_faults(faults).run(Task::Ranks32, input())
    };
    let expected = Setup::memory().run(Task::Ranks32, input()).unwrap();
    let (mut binned, mut failed) = (0, 0);
    // The reads of ingest; most are of what was left apart.
    for nth in (1..150).step_by(4) {
        match way(&Faults::nth_of(Call::Read, nth, Fault::FlipBit(8 * 2000 + 5))) {
            Ok(found) => assert!(found == expected, "a wrong answer after read {nth}"),
            Err(error) => {
                assert_eq!(error.kind(), FailureKind::Damaged, "read {nth}: {error}");
                binned += u32::from(error.to_string().contains("binned edges are not what"));
            }
        }
        if let Err(error) = way(&Faults::nth_of(Call::Read, nth, Fault::Errno(5))) {
            assert_eq!(error.kind(), FailureKind::Storage, "read {nth}: {error}");
            failed += 1;
        }
    }
    assert!(binned > 0 && failed > 5, "{binned} damaged bins and {failed} errors");
}
