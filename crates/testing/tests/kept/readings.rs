//! The edges of a kept graph as a stream: what was kept comes out again.

use welter_engine::kept::KeptStream;
use welter_model::edges::{Batch, Duplicates, EdgeStream, Reading};
use welter_model::ids::IdMap;
use welter_testing::executors::Folder;

use crate::Input;

/// All edges of a stream by ids, with the bits of weights, sorted.
fn sorted(stream: &dyn EdgeStream, ids: &IdMap) -> Vec<(u64, u64, u64)> {
    let id = |slot: u32| match ids {
        IdMap::Sparse(ids) => ids[slot as usize],
        _ => slot.into(),
    };
    let mut all = Vec::new();
    for part in 0..stream.parts() {
        stream
            .read(part, &mut |batch| {
                for (edge, [source, target]) in batch.pairs.iter().enumerate() {
                    let weight = batch.weights.map_or(1.0, |weights| weights[edge]);
                    all.push((id(*source), id(*target), weight.to_bits()));
                }
                true
            })
            .unwrap();
    }
    assert_eq!(all.len() as u64, stream.edges());
    all.sort_unstable();
    all
}

fn streamed(input: &Input, weighted: bool) -> (KeptStream, IdMap) {
    let folder = Folder::new();
    // The files stay open after their folder is gone.
    input.kept(&folder).stream(weighted).unwrap()
}

#[test]
fn directed_edges_come_out_as_they_went_in() {
    for weighted in [true, false] {
        let input = Input::random(30_000, 100_000, weighted, 8);
        let (stream, ids) = streamed(&input, true);
        assert!(matches!(ids, IdMap::Sparse(_)), "some slots have no edge");
        assert_eq!(stream.weighted(), weighted);
        assert_eq!(sorted(&stream, &ids), sorted(&input.list, &input.ids));
    }
    let input = Input::random(300, 10_000, true, 8);
    let (stream, ids) = streamed(&input, false);
    assert!(!stream.weighted());
    let plain = Input::random(300, 10_000, false, 8);
    assert_eq!(sorted(&stream, &ids), sorted(&plain.list, &plain.ids));
}

#[test]
fn a_visitor_of_edges_that_has_enough_is_not_called_again() {
    // Few vertices, so that edges lie in few extents.
    let input = Input::random(3000, 400_000, false, 8);
    let (stream, _) = streamed(&input, false);
    let mut most = 0;
    for part in 0..stream.parts() {
        let (mut calls, mut edges) = (0, 0);
        let visit = &mut |batch: Batch<'_>| {
            calls += 1;
            edges += batch.pairs.len();
            false
        };
        stream.read(part, visit).unwrap();
        assert!(calls <= 1, "{calls} calls");
        most = most.max(edges);
    }
    assert!(most >= 1 << 15, "some part has more edges than come at a time: {most}");
}

#[test]
fn undirected_edges_come_once_from_their_lower_end() {
    let reading = Reading { undirected: true, ..Reading::default() };
    let input = Input { reading, ..Input::random(400, 5000, true, 9) };
    let (stream, ids) = streamed(&input, true);
    let mut expected: Vec<_> = sorted(&input.list, &input.ids)
        .into_iter()
        .map(|(source, target, weight)| (source.min(target), source.max(target), weight))
        .collect();
    expected.sort_unstable();
    assert_eq!(sorted(&stream, &ids), expected);
}

#[test]
fn what_was_dropped_or_merged_stays_so() {
    let reading =
        Reading { drop_self_loops: true, duplicates: Duplicates::Sum, ..Reading::default() };
    let input = Input { reading, ..Input::random(40, 5000, false, 9) };
    let (stream, ids) = streamed(&input, true);
    let mut counts = std::collections::BTreeMap::new();
    for [source, target] in input.list.pairs().filter(|pair| pair[0] != pair[1]) {
        *counts.entry((source, target)).or_insert(0.0) += 1.0;
    }
    let expected: Vec<_> = counts
        .into_iter()
        .map(|((source, target), count): (_, f64)| (source.into(), target.into(), count.to_bits()))
        .collect();
    assert_eq!(sorted(&stream, &ids), expected);
}
