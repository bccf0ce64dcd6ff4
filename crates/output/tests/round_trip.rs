//! Readers read what the writers write: the same edges, ids, weights, in the same order.

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
        IdMap::NonCompact(ids) => ids.named()[slot as usize].to_string(),
        IdMap::TwoKinds(ids) => ids.get(slot as usize).integer().unwrap().to_string(),
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
    let options = EdgeFormatOptions { drop_weights, ..EdgeFormatOptions::default() };
    back_with(graph, name, &options)
}

fn back_with(graph: &Graph, name: &str, options: &EdgeFormatOptions) -> Input {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    write_edges(&graph.list(), &graph.ids, &path, options, 2, &Progress::new()).unwrap();
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
    // Names that every text format can hold: no line ends, and not what looks like a comment.
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

/// The vertices as a person sees them.
fn vertices(input: &Input) -> Vec<String> {
    (0..input.edges.slots().unwrap_or(0) as u32).map(|slot| shown(&input.ids, slot)).collect()
}

/// Both arcs of each edge, sorted; one of a self-loop.
fn both_ways(edges: Vec<Seen>) -> Vec<Seen> {
    let back = |(a, b, w): &Seen| (a != b).then(|| (b.clone(), a.clone(), *w));
    let mut arcs: Vec<Seen> =
        edges.into_iter().flat_map(|edge| [back(&edge), Some(edge)]).flatten().collect();
    arcs.sort();
    arcs
}

/// Options for a graph that is undirected or not.
fn directed(undirected: bool, drop_weights: bool) -> EdgeFormatOptions {
    EdgeFormatOptions { undirected, drop_weights, ..EdgeFormatOptions::default() }
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

    #[test]
    fn matrices_give_back_vertices_and_direction(
        graph in graph().prop_map(|graph| Graph { ids: IdMap::Offset(1), ..graph }),
        undirected in any::<bool>(),
    ) {
        let input = back_with(&graph, "g.mtx", &directed(undirected, false));
        prop_assert_eq!(input.summary.undirected, Some(undirected));
        prop_assert_eq!(input.edges.weighted(), graph.weighted);
        let (found, expected) = (seen(&*input.edges, &input.ids), seen(&graph.list(), &graph.ids));
        if undirected {
            prop_assert_eq!(both_ways(found), both_ways(expected));
        } else {
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn dimacs_gives_back_arcs(
        graph in graph().prop_map(|graph| Graph { ids: IdMap::Offset(1), ..graph }),
        undirected in any::<bool>(),
    ) {
        let input = back_with(&graph, "g.gr.gz", &directed(undirected, false));
        let (mut found, expected) =
            (seen(&*input.edges, &input.ids), seen(&graph.list(), &graph.ids));
        if undirected {
            found.sort();
            prop_assert_eq!(found, both_ways(expected));
        } else {
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn metis_gives_back_both_arcs(
        graph in graph().prop_map(|graph| Graph { ids: IdMap::Offset(1), ..graph }),
    ) {
        let plain = |part: &mut Vec<([u32; 2], f64)>| {
            part.retain(|([source, target], _)| source != target);
            for (_, weight) in part.iter_mut() {
                *weight = weight.abs().min(1e6).ceil().max(1.0);
            }
        };
        let mut graph = graph;
        graph.parts.iter_mut().for_each(plain);
        prop_assume!(graph.parts.iter().any(|part| !part.is_empty()));
        let input = back_with(&graph, "g.metis", &directed(true, false));
        let mut found = seen(&*input.edges, &input.ids);
        found.sort();
        prop_assert_eq!(&found, &both_ways(seen(&graph.list(), &graph.ids)));
        // A graph from METIS is directed, and can be written as METIS again.
        let parts = vec![arcs(&input)];
        let again = back_with(&Graph { parts, ..graph }, "h.metis", &directed(false, false));
        let mut found_again = seen(&*again.edges, &again.ids);
        found_again.sort();
        prop_assert_eq!(found_again, found);
    }

    #[test]
    fn adjacency_lists_give_back_arcs(graph in graph(), undirected in any::<bool>()) {
        let spaced = |names: &str| names.contains([' ', '"']);
        prop_assume!(!matches!(&graph.ids, IdMap::Names(names) if names.iter().any(spaced)));
        let input = back_with(&graph, "g.adj", &directed(undirected, true));
        let plain = Graph { weighted: false, ..graph };
        let mut found = seen(&*input.edges, &input.ids);
        let mut expected = seen(&plain.list(), &plain.ids);
        if undirected {
            expected = both_ways(expected);
        }
        found.sort();
        expected.sort();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn graphalytics_gives_back_all(
        graph in graph().prop_filter("integers", |graph| !graph.names()),
        undirected in any::<bool>(),
    ) {
        let input = back_with(&graph, "g.properties", &directed(undirected, false));
        prop_assert_eq!(seen(&*input.edges, &input.ids), seen(&graph.list(), &graph.ids));
        prop_assert_eq!(input.summary.undirected, Some(undirected));
        if let IdMap::Sparse(ids) = &graph.ids {
            let stated: Vec<String> = ids.iter().map(ToString::to_string).collect();
            prop_assert_eq!(vertices(&input), stated);
        }
    }
}

/// The edges as a graph is made of them.
fn arcs(input: &Input) -> Vec<([u32; 2], f64)> {
    let mut all = Vec::new();
    for part in 0..input.edges.parts() {
        let mut visit = |batch: welter_model::edges::Batch<'_>| {
            for (edge, pair) in batch.pairs.iter().enumerate() {
                all.push((*pair, batch.weights.map_or(1.0, |weights| weights[edge])));
            }
            true
        };
        input.edges.read(part, &mut visit).unwrap();
    }
    all
}
