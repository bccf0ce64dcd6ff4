//! Every row of the graphs in the data folder beside the repository, ids and weights in order, as
//! the plain parser of `welter_testing::samples` reads them, which shares no code with this crate.
//! Where the folder is absent, that is said aloud.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use welter_input::{Input, ReadOptions, WeightChoice, read};
use welter_model::ids::IdMap;
use welter_progress::Progress;
use welter_testing::samples::{Rows, samples};

/// All rows of an input, by their own ids.
fn rows(input: &Input) -> Rows {
    let id = |slot: u32| match &input.ids {
        IdMap::Sparse(ids) => ids[slot as usize],
        IdMap::Same | IdMap::Declared => u64::from(slot),
        IdMap::Offset(first) => first + u64::from(slot),
        IdMap::Names(_) | IdMap::NonCompact(_) | IdMap::TwoKinds(_) => {
            panic!("ids are integers of one kind, and few")
        }
    };
    let mut rows = Rows::default();
    for part in 0..input.edges.parts() {
        let read = input.edges.read(part, &mut |batch| {
            rows.pairs.extend(batch.pairs.iter().map(|[from, to]| (id(*from), id(*to))));
            rows.weights.extend_from_slice(batch.weights.unwrap_or_default());
            true
        });
        read.unwrap();
    }
    rows
}

#[test]
fn every_row_is_that_of_the_plain_parser() {
    for sample in samples() {
        let expected = welter_testing::samples::read(&sample.path, sample.shape);
        let weight = if expected.weights.is_empty() {
            WeightChoice::Ignore
        } else {
            WeightChoice::IfPresent
        };
        let path = sample.path.to_string_lossy().into_owned();
        for threads in [1, 3] {
            let options = ReadOptions { weight: weight.clone(), threads, ..ReadOptions::default() };
            let input = read(std::slice::from_ref(&path), &options, &Progress::new()).unwrap();
            assert!(rows(&input) == expected, "{} with {threads} threads", sample.name);
        }
    }
}
