//! Machines whose datagrams are lost, repeated, late and damaged.

use std::sync::atomic::Ordering;

use welter_algorithms::pagerank::Rank;

use super::*;

/// A run whose datagrams have these faults, of machines with as many sender threads.
fn run_with(senders: usize, faults: Option<Faults>) -> Finished {
    let make = move || {
        let mut job = job(Transport::Udp, 20);
        job.settings.faults = faults.clone();
        job.settings.senders = senders;
        job
    };
    ended(make).unwrap()
}

#[test]
fn lost_repeated_late_and_damaged_datagrams_change_no_answer() {
    let expected = run_with(0, None);
    let values = |finished: &Finished| -> Vec<f64> {
        // A rank comes first of its vertex, and a flag last.
        let bytes = size_of::<Rank<f64>>() + 1;
        let vertices = finished.vertices();
        let values = vertices.chunks_exact(bytes).map(|it| it[..8].try_into().unwrap());
        values.map(f64::from_ne_bytes).collect()
    };
    assert_eq!(values(&expected).len(), VERTICES as usize);
    for (seed, lost, senders) in [(1, 0, 0), (2, 10, 1), (3, 200, 0), (4, 200, 2)] {
        let faults =
            Faults { seed, lost, repeated: 100, late: 100, damaged: 100, ..Faults::default() };
        let finished = run_with(senders, Some(faults.clone()));
        assert_eq!((finished.restarts, finished.decided.len()), (0, expected.decided.len()));
        assert_eq!(finished.manifest.records, 600);
        for (found, right) in values(&finished).into_iter().zip(values(&expected)) {
            assert!((found - right).abs() < 1e-12, "{found} for {right}");
        }
        let counts = faults.counts.each_ref().map(|count| count.load(Ordering::Relaxed));
        let [of_lost, others @ ..] = counts;
        assert!((of_lost > 0) == (lost > 0) && others.iter().all(|&it| it > 0), "{counts:?}");
    }
}

#[test]
fn faults_are_read_from_words() {
    let faults = Faults::of("lost=200,seed=7,late=3").unwrap();
    assert_eq!((faults.seed, faults.lost, faults.late, faults.damaged), (7, 200, 3, 0));
    for wrong in ["", "lost", "lost=x", "lost=1,", "loss=1"] {
        assert!(Faults::of(wrong).is_none(), "{wrong}");
    }
}
