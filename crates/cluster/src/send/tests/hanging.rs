//! Machines whose disks hang: all end, and with the name of the file.

use std::time::Duration;

use welter_protocol::Rank;
use welter_protocol::failure::Failure;
use welter_store::io::{Call, Fault};

use super::lost::Killer;
use super::*;

/// Time in which a disk must answer.
const PATIENCE: Duration = Duration::from_secs(8);

/// Time that a call takes which hangs. After it the run would go on, and come to its end.
const HANG: Duration = Duration::from_secs(20);

/// Machine whose disk hangs.
const HUNG: Rank = 1;

/// End of a run with these settings in which the `nth` call of a kind to one disk hangs, and these
/// machines are killed.
fn failure_of(
    (call, nth): (Call, u64),
    settings: fn(Settings) -> Settings,
    kills: &[(Rank, u32, bool)],
) -> Failure {
    let directory = TempDir::new().unwrap();
    let mut it = run_of(MACHINES);
    let mut config = (*it.config).clone();
    config.timing.patience = PATIENCE.as_nanos() as u64;
    it.config = Arc::new(config);
    let task = move |_| {
        let mut job = job(Transport::Tcp, 600);
        job.settings = settings(job.settings);
        Ok(Task::from(job))
    };
    let faults = welter_store::io::Faults::nth_of(call, nth, Fault::Slow(HANG));
    let inner = Threads::new(it, directory.path(), Box::new(task));
    let inner = inner.with_faults(HUNG, faults.clone());
    let mut host = Killer::new(inner, directory.path(), kills);
    let ended = run(&mut host, MACHINES, &Progress::new());
    assert!(faults.fired(), "the run has such a call");
    let Err(ClusterError::Failed(failure)) = ended else { panic!("{ended:?}") };
    failure
}

/// Whether the disk of the machine has not answered on a file whose name begins so.
fn is_of(failure: &Failure, file: &str) -> bool {
    let file = format!("machine-{HUNG}/messages/{file}");
    let begin = format!("its disk has not answered for {} s: ", PATIENCE.as_secs());
    let names = failure.what.starts_with(&begin) && failure.what.contains(&file);
    (failure.why, failure.rank) == (Exit::Stalled, HUNG) && names
}

fn stored(settings: Settings) -> Settings {
    Settings { edge_bytes: 0, chunk_edges: 16, ..settings }
}

#[test]
fn a_checkpoint_that_hangs_ends_the_run() {
    let often = |settings| Settings { checkpoint_every: Duration::ZERO, ..settings };
    // The first write is that of the incarnation.
    let failure = failure_of((Call::Write, 2), often, &[]);
    assert!(is_of(&failure, "1-"), "{failure:?}");
}

#[test]
fn stored_edges_that_hang_end_the_run() {
    for call in [(Call::Write, 2), (Call::Read, 1)] {
        let failure = failure_of(call, stored, &[]);
        assert!(is_of(&failure, "edges-"), "{failure:?}");
    }
}

#[test]
fn rank_0_does_not_wait_for_a_machine_that_hangs() {
    // Machine 2 is lost while machine 1 is in the call, and so cannot come to the next epoch.
    let failure = failure_of((Call::Read, 1), stored, &[(2, 0, false)]);
    assert!(is_of(&failure, "edges-"), "{failure:?}");
}
