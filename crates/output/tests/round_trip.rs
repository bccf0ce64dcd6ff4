//! What the writers write, the readers read: the same edges, ids, weights, in the same order.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use proptest::sample::select;
use welter_input::{IdKind, Input, ReadOptions, WeightChoice, read};
use welter_model::edges::{EdgeList, EdgeStream};
use welter_model::ids::IdMap;
use welter_output::{EdgeFormatOptions, write_edges};
use welter_progress::Progress;

/// An edge as a person sees it; weights by their bits.
type Seen = (String, String, u64);

/// A graph as it is written: edges in parts, and the ids of their slots.
#[derive(Clone, Debug)]
struct Graph {
    parts: Vec<Vec<([u32; 2], f64)>>,
    weighted: bool,
    ids: IdMap,
}

impl Graph {
    fn list(&self) -> EdgeList {
        let mut list = EdgeList::new(None, self.weighted);
        for part in &self.parts {
            let pairs = part.iter().map(|(pair, _)| *pair).collect();
            let weights = part.iter().map(|(_, weight)| *weight).filter(|_| self.weighted);
            list.push(pairs, weights.collect());
        }
        list
    }

    fn names(&self) -> bool {
        matches!(self.ids, IdMap::Names(_))
    }
}

fn shown(ids: &IdMap, slot: u32) -> String {
    match ids {
        IdMap::Same | IdMap::Declared => slot.to_string(),
        IdMap::Offset(first) => (first + u64::from(slot)).to_string(),
        IdMap::Sparse(ids) => ids[slot as usize].to_string(),
        IdMap::Names(names) => names.get(slot as usize).to_owned(),
    }
}

fn seen(stream: &dyn EdgeStream, ids: &IdMap) -> Vec<Seen> {
    let mut all = Vec::new();
    for part in 0..stream.parts() {
        let mut visit = |batch: welter_model::edges::Batch<'_>| {
            for (edge, [source, target]) in batch.pairs.iter().enumerate() {
                let weight = batch.weights.map_or(1.0, |weights| weights[edge]);
                all.push((shown(ids, *source), shown(ids, *target), weight.to_bits()));
            }
            true
        };
        stream.read(part, &mut visit).unwrap();
    }
    all
}

fn back(graph: &Graph, name: &str, drop_weights: bool) -> Input {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    let options = EdgeFormatOptions { drop_weights, ..EdgeFormatOptions::default() };
    write_edges(&graph.list(), &graph.ids, &path, &options, 2, &Progress::new()).unwrap();
    let options = ReadOptions {
        weight: WeightChoice::IfPresent,
        ids: if graph.names() { IdKind::Names } else { IdKind::Auto },
        ..ReadOptions::default()
    };
    let input = read(&[path.to_str().unwrap().to_owned()], &options, &Progress::new()).unwrap();
    // Raw files are read when the edges are used: that must happen before the directory goes.
    let edges = Box::new(kept(&*input.edges));
    Input { edges, ..input }
}

fn kept(stream: &dyn EdgeStream) -> EdgeList {
    let mut list = EdgeList::new(stream.slots(), stream.weighted());
    for part in 0..stream.parts() {
        let mut visit = |batch: welter_model::edges::Batch<'_>| {
            list.push(batch.pairs.to_vec(), batch.weights.map(<[f64]>::to_vec).unwrap_or_default());
            true
        };
        stream.read(part, &mut visit).unwrap();
    }
    list
}

fn ids(slots: usize) -> impl Strategy<Value = IdMap> {
    // What every text format can hold: no line ends, and not what looks like a comment.
    let name = "[a-zA-Z0-9äß_][a-zA-Z0-9äß_.,;| \"'-]{0,10}[a-zA-Z0-9äß]";
    prop_oneof![
        Just(IdMap::Same),
        prop_oneof![Just(1), any::<u32>().prop_map(u64::from)].prop_map(IdMap::Offset),
        proptest::collection::btree_set(any::<u64>(), slots)
            .prop_map(|ids| IdMap::Sparse(ids.into_iter().collect())),
        proptest::collection::btree_set(name, slots)
            .prop_map(|names| IdMap::Names(names.iter().map(String::as_str).collect())),
    ]
}

fn graph() -> impl Strategy<Value = Graph> {
    let weight = prop_oneof![
        (0..1_000_u32).prop_map(f64::from),
        any::<f32>().prop_filter("a number", |w| !w.is_nan()).prop_map(f64::from),
    ];
    (1_usize..40).prop_flat_map(move |slots| {
        let end = 0..slots as u32;
        let edge = ((end.clone(), end).prop_map(|(a, b)| [a, b]), weight.clone());
        let part = proptest::collection::vec(edge, 1..30);
        let parts = proptest::collection::vec(part, 1..4);
        (parts, any::<bool>(), ids(slots)).prop_map(|(parts, weighted, ids)| Graph {
            parts,
            weighted,
            ids,
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn every_format_gives_back_what_it_was_given(
        graph in graph(),
        extension in select(vec!["csv", "tsv", "csv.gz", "tsv.zst", "parquet", "arrow"]),
    ) {
        let input = back(&graph, &format!("edges.{extension}"), false);
        prop_assert_eq!(seen(&*input.edges, &input.ids), seen(&graph.list(), &graph.ids));
        prop_assert_eq!(input.edges.weighted(), graph.weighted);
    }

    #[test]
    fn raw_and_snap_formats_give_back_integers(
        graph in graph().prop_filter("integers", |graph| !graph.names()),
        extension in select(vec!["u64", "u64f32", "u64f64", "txt", "txt.gz", "graph500"]),
    ) {
        let packed = extension == "graph500";
        let fits = |id: &u64| !packed || id >> 47 == 0;
        prop_assume!(!matches!(&graph.ids, IdMap::Sparse(ids) if !ids.iter().all(fits)));
        let drop_weights = extension == "u64" || packed;
        let input = back(&graph, &format!("edges.{extension}"), drop_weights);
        let plain = Graph { weighted: graph.weighted && !drop_weights, ..graph };
        prop_assert_eq!(seen(&*input.edges, &input.ids), seen(&plain.list(), &plain.ids));
    }

    #[test]
    fn narrow_raw_formats_give_back_slots(
        graph in graph().prop_map(|graph| Graph { ids: IdMap::Same, ..graph }),
        extension in select(vec!["u32", "u32f32", "u32f64"]),
    ) {
        let drop_weights = extension == "u32";
        let input = back(&graph, &format!("edges.{extension}"), drop_weights);
        let plain = Graph { weighted: graph.weighted && !drop_weights, ..graph };
        prop_assert_eq!(seen(&*input.edges, &input.ids), seen(&plain.list(), &plain.ids));
    }
}
