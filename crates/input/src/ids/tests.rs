//! Ids and the slots that they become.

use proptest::prelude::*;
use rayon::ThreadPoolBuilder;
use welter_model::edges::EdgeStream;
use welter_model::non_compact::NonCompact;

use super::*;
use crate::collect::{DeclaredVertices, EdgeRun};

fn finish(
    parts: Vec<(Ids, Option<Vec<f64>>)>,
    vertices: Option<u64>,
) -> Result<(EdgeList, IdMap), String> {
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let collector = Collector::new(None);
    for (number, (ids, weights)) in parts.into_iter().enumerate() {
        collector.begin(&format!("f{number}"));
        collector.push(0, EdgeRun { ids, weights }).unwrap();
    }
    collector.finish_list(vertices, &pool, &Progress::new()).map_err(|error| error.to_string())
}

/// Finishes sources of integers that state their vertices, or do not.
fn finish_stated(
    sources: &[(Option<DeclaredVertices>, &[[u64; 2]])],
) -> Result<(Vec<Pair>, Option<u64>, IdMap), String> {
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let collector = Collector::new(Some(1 << 20));
    for (number, (stated, pairs)) in sources.iter().enumerate() {
        collector.begin(&format!("f{number}"));
        if let Some(stated) = stated {
            collector.state(stated.clone()).unwrap();
        }
        let ids = Ids::integers(pairs.to_vec());
        collector.push(0, EdgeRun { ids, weights: None }).unwrap();
    }
    let (list, ids) =
        collector.finish_list(None, &pool, &Progress::new()).map_err(|error| error.to_string())?;
    Ok((list.pairs().collect(), list.slots(), ids))
}

fn range(first: u64, count: u64) -> DeclaredVertices {
    DeclaredVertices::Range { first, count }
}

fn integers(pairs: &[[u64; 2]]) -> (Ids, Option<Vec<f64>>) {
    (Ids::integers(pairs.to_vec()), None)
}

fn named(pairs: &[[&str; 2]]) -> (Ids, Option<Vec<f64>>) {
    let mut names = Names::new();
    let places = pairs.iter().map(|pair| {
        pair.map(|name| {
            names.push(name);
            names.len() as u32 - 1
        })
    });
    let pairs = places.collect();
    (Ids::Names { names, pairs }, None)
}

#[test]
fn a_cancelled_run_maps_nothing() {
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let progress = Progress::new();
    progress.cancel();
    for (ids, weights) in
        [integers(&[[1 << 40, 7]]), integers(&[[u64::MAX, 7]]), named(&[["b", "a"]])]
    {
        let collector = Collector::new(None);
        collector.begin("f");
        collector.push(0, EdgeRun { ids, weights }).unwrap();
        let error = collector.finish_list(None, &pool, &progress).unwrap_err();
        assert!(matches!(error, InputError::Cancelled));
    }
}

#[test]
fn nearly_dense_ids_stay() {
    let (list, ids) = finish(vec![integers(&[[0, 1031], [5, 5]])], None).unwrap();
    assert_eq!((ids, list.slots()), (IdMap::Same, Some(1032)));
    assert_eq!(list.pairs().collect::<Vec<_>>(), [[0, 1031], [5, 5]]);
}

#[test]
fn sparse_ids_are_ranked() {
    let wide = 1 << 40;
    let parts = vec![integers(&[[wide, 7]]), integers(&[[3, 7], [100_000, 3]])];
    let (list, ids) = finish(parts, None).unwrap();
    assert_eq!(ids, IdMap::Sparse(vec![3, 7, 100_000, wide]));
    assert_eq!(list.pairs().collect::<Vec<_>>(), [[3, 1], [0, 1], [2, 0]]);
    assert_eq!(list.slots(), Some(4));
}

#[test]
fn names_are_ranked_by_their_bytes() {
    let parts = vec![named(&[["b", "é"], ["b", "a"]]), named(&[["Z", "a"]])];
    let (list, ids) = finish(parts, None).unwrap();
    assert_eq!(ids, IdMap::Names(["Z", "a", "b", "é"].into_iter().collect()));
    assert_eq!(list.pairs().collect::<Vec<_>>(), [[2, 3], [2, 1], [0, 1]]);
}

#[test]
fn a_declared_number_of_vertices_is_kept_to() {
    let (list, ids) = finish(vec![integers(&[[0, 1]])], Some(1_000_000)).unwrap();
    assert_eq!((ids, list.slots()), (IdMap::Declared, Some(1_000_000)));
    let (list, ids) = finish(vec![], Some(3)).unwrap();
    assert_eq!((ids, list.slots(), list.edges()), (IdMap::Declared, Some(3), 0));
    let message = finish(vec![integers(&[[0, 1]]), integers(&[[0, 9]])], Some(9)).unwrap_err();
    assert!(message.starts_with("f1: expected vertex ids below 9, found 9; "), "{message}");
    assert!(finish(vec![named(&[["a", "b"]])], Some(9)).is_err());
}

#[test]
fn of_very_many_vertices_those_that_are_named_have_slots() {
    let count = SLOTS_MAX + 1;
    let wide = 1 << 32;
    let pairs = || vec![integers(&[[7, 3]]), integers(&[[wide - 1, 7]])];
    let (list, ids) = finish(pairs(), Some(count)).unwrap();
    let form = |named: Vec<u64>, all| IdMap::NonCompact(NonCompact::new(named, all).unwrap());
    assert_eq!(ids, form(vec![3, 7, wide - 1], 0..count));
    assert_eq!(list.pairs().collect::<Vec<_>>(), [[1, 0], [2, 1]]);
    assert_eq!(list.slots(), Some(4));
    let error = finish(vec![integers(&[[0, wide]])], Some(count)).unwrap_err();
    let expected = "f0: expected vertex ids below 4294967296, found 4294967296; ";
    assert!(error.starts_with(expected), "{error}");
    // Declared by the source, from 1 on.
    let stated = finish_stated(&[(Some(range(1, 1 << 60)), &[[1 << 60, 9]])]).unwrap();
    assert_eq!(stated, (vec![[1, 0]], Some(3), form(vec![9, 1 << 60], 1..(1 << 60) + 1)));
    // No edges at all, and a vertex that is asked for.
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let collector = Collector::new(None);
    collector.name(&[5, 1 << 61, 5, 2]);
    let (list, ids) = collector.finish_list(Some(1 << 61), &pool, &Progress::new()).unwrap();
    assert_eq!((ids, list.slots()), (form(vec![2, 5], 0..1 << 61), Some(3)));
    // Where all have slots, no vertex is named.
    let collector = Collector::new(None);
    collector.name(&[5]);
    let (_, ids) = collector.finish_list(Some(9), &pool, &Progress::new()).unwrap();
    assert_eq!(ids, IdMap::Declared);
}

#[test]
fn a_stated_range_takes_off_its_first_id() {
    let done = finish_stated(&[(Some(range(1, 5)), &[[1, 5], [2, 1]])]).unwrap();
    assert_eq!(done, (vec![[0, 4], [1, 0]], Some(5), IdMap::Offset(1)));
    let done = finish_stated(&[(Some(range(0, 5)), &[[1, 4]]), (None, &[[2, 2]])]).unwrap();
    assert_eq!(done, (vec![[1, 4], [2, 2]], Some(5), IdMap::Declared));
    let wide = 1 << 40;
    let done = finish_stated(&[(Some(range(wide, 3)), &[[wide + 2, wide]])]).unwrap();
    assert_eq!(done, (vec![[2, 0]], Some(3), IdMap::Offset(wide)));
    let done = finish_stated(&[(Some(range(1, 7)), &[])]).unwrap();
    assert_eq!(done, (vec![], Some(7), IdMap::Offset(1)));
    assert!(finish_stated(&[(Some(range(1, 0)), &[])]).is_err());
}

#[test]
fn stated_lists_are_vertices_with_or_without_edges() {
    let list = |ids: &[u64]| Some(DeclaredVertices::Integers(ids.to_vec()));
    let done = finish_stated(&[(list(&[90, 7, 80]), &[[80, 7]])]).unwrap();
    assert_eq!(done, (vec![[1, 0]], Some(3), IdMap::Sparse(vec![7, 80, 90])));
    // Without statements of their own, other sources add vertices.
    let done = finish_stated(&[(list(&[9]), &[[9, 9]]), (None, &[[9, 1 << 50]])]).unwrap();
    assert_eq!(done, (vec![[0, 0], [0, 1]], Some(2), IdMap::Sparse(vec![9, 1 << 50])));
    let done = finish_stated(&[(Some(range(1, 3)), &[[1, 2]]), (None, &[[9, 1]])]).unwrap();
    assert_eq!(done, (vec![[0, 1], [3, 0]], Some(4), IdMap::Sparse(vec![1, 2, 3, 9])));
}

#[test]
fn edges_outside_of_the_range_that_their_source_states_are_refused() {
    let error = finish_stated(&[(Some(range(1, 3)), &[[1, 2], [2, 4]])]).unwrap_err();
    assert_eq!(error, "f0: expected only ids that the file states as vertices, found 4");
    // A list need not be all; its reader knows whether it is.
    let list = DeclaredVertices::Integers(vec![1, 5]);
    let done = finish_stated(&[(Some(list), &[[1, 2], [2, 4]])]).unwrap();
    assert_eq!(done, (vec![[0, 1], [1, 2]], Some(4), IdMap::Sparse(vec![1, 2, 4, 5])));
}

#[test]
fn stated_names_are_vertices() {
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let collector = Collector::new(None);
    collector.begin("f");
    collector.state(DeclaredVertices::Names(["z", "a", "a"].into_iter().collect())).unwrap();
    let (ids, weights) = named(&[["b", "a"]]);
    collector.push(0, EdgeRun { ids, weights }).unwrap();
    let (list, ids) = collector.finish_list(None, &pool, &Progress::new()).unwrap();
    assert_eq!(ids, IdMap::Names(["a", "b", "z"].into_iter().collect()));
    assert_eq!((list.pairs().collect::<Vec<_>>(), list.slots()), (vec![[1, 0]], Some(3)));
}

#[test]
fn a_number_of_vertices_must_hold_the_stated_ones() {
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    for (vertices, fits) in [(3, false), (4, true), (9, true)] {
        let collector = Collector::new(None);
        collector.begin("f");
        collector.state(DeclaredVertices::Range { first: 1, count: 3 }).unwrap();
        let done = collector.finish_list(Some(vertices), &pool, &Progress::new());
        assert_eq!(done.is_ok(), fits, "{vertices}");
        assert!(done.is_err() || done.is_ok_and(|(_, ids)| ids == IdMap::Declared));
    }
}

#[test]
fn what_does_not_go_together_is_refused() {
    let message = finish(vec![named(&[["a", "b"]]), integers(&[[0, 9]])], None).unwrap_err();
    assert_eq!(message, "f0 has names as ids and f1 integers; read all as names");
    let weighted = (Ids::narrow(vec![[0, 1]]), Some(vec![0.5]));
    let message = finish(vec![integers(&[[0, 9]]), weighted], None).unwrap_err();
    assert_eq!(message, "f1 has weights and f0 has none");
    assert_eq!(finish(vec![], None).unwrap_err(), "expected edges, found none");
}

fn id() -> impl Strategy<Value = u64> {
    prop_oneof![any::<u64>(), 0..1u64 << 33, 0..3000u64]
}

proptest! {
    #[test]
    fn mapped_edges_lead_back_to_the_ids(
        parts in prop::collection::vec(
            prop::collection::vec(prop::array::uniform2(id()), 1..50),
            1..5,
        ),
        middle in any::<bool>(),
    ) {
        // Ids up to some thousands are sparse enough to be mapped and dense enough for a bitmap.
        let limit = if middle { 3000 } else { u64::MAX };
        let parts: Vec<Vec<[u64; 2]>> = parts
            .into_iter()
            .map(|part| part.into_iter().map(|pair| pair.map(|id| id.min(limit))).collect())
            .collect();
        let pairs: Vec<[u64; 2]> = parts.concat();
        let inputs = parts.iter().map(|part| integers(part)).collect();
        let (list, ids) = finish(inputs, None).unwrap();
        let back: Vec<[u64; 2]> = match &ids {
            IdMap::Sparse(ids) => {
                prop_assert!(ids.is_sorted_by(|a, b| a < b));
                list.pairs().map(|pair| pair.map(|slot| ids[slot as usize])).collect()
            }
            _ => list.pairs().map(|pair| pair.map(u64::from)).collect(),
        };
        prop_assert_eq!(back, pairs);
    }
}
