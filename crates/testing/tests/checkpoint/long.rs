//! Runs of more iterations than a run keeps the totals of.

use std::num::NonZero;

use bytemuck::{Pod, Zeroable};
use welter_engine::{CheckpointOptions, Checkpoints, Every};
use welter_model::limit::Limit;
use welter_model::program::{Applied, Next, Program, Total, Value, Vertex};
use welter_model::table::ColumnData;
use welter_testing::executors::Folder;

use crate::{JOB, PLAIN, alone, ladder, options, place, routes};

/// Totals of which few fill a mebibyte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
struct Wide([u64; WORDS]);

const WORDS: usize = 512;

/// Totals that fill it.
const LISTED: u64 = (1 << 20) / (8 * WORDS as u64);

impl Default for Wide {
    fn default() -> Self {
        Self::zeroed()
    }
}

impl Total for Wide {
    fn merge(self, other: Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word].wrapping_add(other.0[word])))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
struct Mixed(u64);

impl Value for Mixed {
    fn columns(values: &[Self]) -> Vec<(&'static str, ColumnData)> {
        vec![("mixed", ColumnData::U64(values.iter().map(|value| value.0).collect()))]
    }
}

/// A number of iterations, each of which mixes what the totals of the one before say into all
/// values.
struct Long(u64);

impl Program for Long {
    type Value = Mixed;
    type Signal = u64;
    type Update = u64;
    type Accum = u64;
    type Total = Wide;

    const WEIGHTED: bool = false;

    fn init(&self, vertex: Vertex) -> Applied<Mixed, Wide> {
        Applied::active(Mixed(vertex.index), Wide::default())
    }

    fn signal(&self, value: &Mixed) -> u64 {
        value.0
    }

    fn scatter(&self, signal: u64, _: f64) -> Option<u64> {
        Some(signal)
    }

    fn identity(&self) -> u64 {
        0
    }

    fn gather(&self, accum: u64, update: u64) -> u64 {
        accum.wrapping_add(update)
    }

    fn merge(&self, left: u64, right: u64) -> u64 {
        left.wrapping_add(right)
    }

    fn apply(&self, value: Mixed, accum: u64, last: &Wide) -> Applied<Mixed, Wide> {
        let mixed = value.0.wrapping_mul(31) ^ accum ^ last.0[WORDS - 1];
        Applied::active(Mixed(mixed), Wide([mixed; WORDS]))
    }

    fn next(&self, iterations: u64, _: &Wide) -> Next {
        if iterations < self.0 { Next::Iterate } else { Next::Stop }
    }

    fn limit(&self) -> Limit {
        Limit::Stated(self.0)
    }
}

#[test]
fn the_first_totals_are_kept_and_the_last_and_a_run_goes_on_with_these() {
    let (graph, iterations, every) = (ladder(30, 1), LISTED + 40, LISTED / 2 + 2);
    let expected = alone().run(&graph, PLAIN, &Long(iterations));
    assert_eq!(expected.totals.len() as u64, LISTED);
    assert!(!expected.totals.contains(&expected.total));
    for executor in [alone()].into_iter().chain(routes()) {
        let folder = Folder::new();
        let every = Every::Iterations(NonZero::new(every).unwrap());
        let options = CheckpointOptions { every, ..options(&place(&folder), None) };
        let begun = Checkpoints::begin(&options, JOB).unwrap();
        let part = Long(iterations - 20);
        executor.run_resumable(&graph, PLAIN, &part, Some(&begun)).unwrap();
        let bytes = |totals| graph.vertices() as u64 * 8 + totals * size_of::<Wide>() as u64;
        let written = bytes(LISTED / 2 + 3) + bytes(LISTED + 1);
        assert_eq!((begun.stats().written, begun.stats().bytes), (2, written));
        drop(begun);
        let opened = Checkpoints::open(&place(&folder), None).unwrap();
        let found =
            executor.run_resumable(&graph, PLAIN, &Long(iterations), Some(&opened)).unwrap();
        assert_eq!(opened.stats().resumed_at, Some(LISTED + 4), "{executor:?}");
        assert_eq!((found.bits(), found.iterations), (expected.bits(), iterations));
        assert!(found.totals == expected.totals && found.total == expected.total);
    }
}
