//! Graphs in parts: their edges are those of all parts, and a part is told from any other.

use std::fs;
use std::path::Path;

use welter_engine::kept::{self, KeptParts, PartDraft, PartsList, is_kept, is_kept_in_parts};
use welter_model::edges::{EdgeStream, Reading};
use welter_model::ids::IdMap;
use welter_progress::FailureKind;
use welter_store::io::IoOptions;
use welter_testing::executors::Folder;

use crate::Input;

/// Some edges of a graph of 300 vertices.
fn input(edges: usize, seed: u64) -> Input {
    Input { ids: IdMap::Declared, ..Input::random(300, edges, true, seed) }
}

/// Begins a part and keeps it.
fn begun(directory: &Path, input: &Input, of: (usize, usize)) -> PartDraft {
    let (draft, _) = PartDraft::begin(directory, of).unwrap();
    input.keep(draft.path(), &IoOptions::default(), None).unwrap();
    draft
}

/// Keeps inputs as the parts of a graph.
fn kept(directory: &Path, inputs: &[Input]) -> KeptParts {
    let of = |part| (part, inputs.len());
    let drafts = inputs.iter().enumerate().map(|(part, it)| begun(directory, it, of(part)));
    let mut drafts: Vec<PartDraft> = drafts.collect();
    let entries = drafts.iter_mut().map(|draft| draft.entry().unwrap());
    let list = PartsList::of(entries.collect()).unwrap();
    // The machine of the first part writes the list.
    for (part, draft) in drafts.iter_mut().enumerate().rev() {
        assert!(!is_kept_in_parts(directory));
        draft.publish(&list).unwrap();
        assert_eq!(is_kept_in_parts(directory), part == 0);
    }
    drafts.into_iter().for_each(PartDraft::end);
    open(directory).unwrap()
}

fn open(directory: &Path) -> Result<KeptParts, FailureKind> {
    KeptParts::open(directory, &IoOptions::default()).map_err(|error| error.kind())
}

/// All edges of a stream with the bits of their weights, in order.
fn edges(stream: &dyn EdgeStream) -> Vec<([u32; 2], u64)> {
    let mut all = Vec::new();
    for part in 0..stream.parts() {
        let read = stream.read(part, &mut |batch| {
            let weights = batch.weights.unwrap();
            all.extend(batch.pairs.iter().zip(weights).map(|(pair, it)| (*pair, it.to_bits())));
            true
        });
        read.unwrap();
    }
    assert_eq!(all.len() as u64, stream.edges());
    all
}

#[test]
fn parts_are_read_one_after_the_other() {
    for undirected in [false, true] {
        let folder = Folder::new();
        let reading = Reading { undirected, ..Reading::default() };
        let inputs = [(4000, 1), (0, 2), (8000, 3)];
        let inputs = inputs.map(|(edges, seed)| Input { reading, ..input(edges, seed) });
        let parts = kept(&folder.graph(), &inputs);
        assert!(parts.are_all_here());
        let list = parts.list();
        assert_eq!((list.slots(), list.vertices(), list.edges()), (300, 300, 12_000));
        assert_eq!((list.is_weighted(), list.is_undirected()), (true, undirected));
        assert_eq!(parts.ids().unwrap(), IdMap::Declared);
        let all = parts.stream(0..3, true).unwrap();
        assert_eq!((all.slots(), all.weighted()), (Some(300), true));
        let each = |part| edges(&parts.stream([part], true).unwrap());
        assert_eq!(edges(&all), [each(0), each(1), each(2)].concat());
        let mut found: Vec<_> = edges(&all);
        let list_of = |input: &Input| {
            let weights = input.list.weights().map(f64::to_bits);
            input.list.pairs().zip(weights).collect::<Vec<_>>()
        };
        let mut expected: Vec<_> = inputs.iter().flat_map(list_of).collect();
        if undirected {
            // An edge comes from its lower end.
            for (pair, _) in &mut expected {
                pair.sort_unstable();
            }
        }
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected);
        let plain = parts.stream([2], false).unwrap();
        assert!(!plain.weighted() && plain.edges() == 8000);
    }
}

#[test]
fn parts_are_those_of_their_list_or_damage() {
    let (folder, other) = (Folder::new(), Folder::new());
    let (graph, other) = (folder.graph(), other.graph());
    kept(&graph, &[input(800, 1), input(800, 2)]);
    kept(&other, &[input(800, 1), input(800, 2)]);
    let part = |graph: &Path| graph.join("part-1");
    let aside = graph.with_file_name("aside");
    // A part of another graph, with the same edges.
    fs::rename(part(&graph), &aside).unwrap();
    fs::rename(part(&other), part(&graph)).unwrap();
    assert_eq!(open(&graph).unwrap_err(), FailureKind::Damaged);
    // A part in the place of another.
    fs::remove_dir_all(part(&graph)).unwrap();
    let missing = open(&graph).unwrap();
    assert_eq!(missing.here().map(|(part, _)| part).collect::<Vec<_>>(), [0]);
    let error = missing.stream(0..2, true).unwrap_err();
    assert_eq!(error.kind(), FailureKind::Missing);
    assert!(error.to_string().contains("graph/part-1/manifest"), "{error}");
    fs::rename(graph.join("part-0"), part(&graph)).unwrap();
    fs::rename(&aside, graph.join("part-0")).unwrap();
    assert_eq!(open(&graph).unwrap_err(), FailureKind::Damaged);
    // Each byte of a list counts.
    let list = other.join("parts");
    let bytes = fs::read(&list).unwrap();
    for at in 0..bytes.len() {
        let mut wrong = bytes.clone();
        wrong[at] ^= 16;
        fs::write(&list, &wrong).unwrap();
        assert!(open(&other).is_err(), "byte {at}");
    }
    fs::write(&list, &bytes[..bytes.len() - 1]).unwrap();
    assert!(open(&other).is_err());
}

#[test]
fn parts_without_a_list_are_no_graph() {
    let folder = Folder::new();
    let graph = folder.graph();
    // A part that is dropped before the graph is whole goes.
    let mut dropped = begun(&graph, &input(80, 1), (0, 2));
    let list = PartsList::of(vec![dropped.entry().unwrap()]).unwrap();
    dropped.publish(&list).unwrap();
    assert!(is_kept_in_parts(&graph));
    drop(dropped);
    assert!(!graph.exists());
    // Parts that killed processes left: whole ones, and one that was not.
    fs::create_dir(&graph).unwrap();
    for part in ["part-0", "part-3"] {
        input(80, 2).keep(graph.join(part), &IoOptions::default(), None).unwrap();
    }
    fs::create_dir_all(graph.join(".part-2.tmp-1/gen-0")).unwrap();
    assert!(kept::has_left_parts(&graph) && !is_kept_in_parts(&graph));
    assert_eq!(open(&graph).unwrap_err(), FailureKind::Missing);
    let (draft, stale) = PartDraft::begin(&graph, (1, 2)).unwrap();
    assert_eq!(stale.removed, [graph.join("part-3")]);
    let (other, mut stale) = PartDraft::begin(&graph, (0, 2)).unwrap();
    stale.removed.sort();
    assert_eq!(stale.removed, [graph.join(".part-2.tmp-1"), graph.join("part-0")]);
    drop((draft, other));
    assert!(!graph.exists());
    // Nothing else is in the way, and nothing else goes.
    fs::create_dir(&graph).unwrap();
    fs::write(graph.join("letters.txt"), "mine").unwrap();
    let refused = PartDraft::begin(&graph, (0, 2)).unwrap_err();
    assert_eq!(refused.kind(), FailureKind::Output);
    assert!(kept::remove_parts(&graph).is_err());
    kept::clear_left_parts(&graph);
    assert_eq!(fs::read(graph.join("letters.txt")).unwrap(), b"mine");
    // A file is no part, whatever its name is.
    fs::rename(graph.join("letters.txt"), graph.join("part-0")).unwrap();
    assert!(!kept::has_left_parts(&graph));
    let refused = PartDraft::begin(&graph, (0, 2)).unwrap_err();
    assert_eq!(refused.kind(), FailureKind::Output);
    assert_eq!(kept::remove_parts(&graph).unwrap_err().kind(), FailureKind::Missing);
    kept::clear_left_parts(&graph);
    assert_eq!(fs::read(graph.join("part-0")).unwrap(), b"mine");
}

#[test]
fn parts_of_another_process_are_left() {
    let folder = Folder::new();
    let mut draft = begun(&folder.graph(), &input(80, 1), (0, 1));
    draft.entry().unwrap();
    // The lock of a process is told from that of a file that is opened anew.
    assert!(PartDraft::begin(&folder.graph(), (0, 1)).is_err());
    kept::clear_left_parts(&folder.graph());
    assert!(is_kept(&draft.path()));
}

#[test]
fn a_draft_that_ends_leaves_the_parts_of_others() {
    let folder = Folder::new();
    let graph = folder.graph();
    let inputs = [input(80, 1), input(80, 2)];
    // Two that began before there was anything: one finds a part in its place, one keeps none.
    let (late, _) = PartDraft::begin(&graph, (0, 2)).unwrap();
    let (idle, _) = PartDraft::begin(&graph, (1, 2)).unwrap();
    kept(&graph, &inputs);
    late.make_again().unwrap();
    let refused = inputs[0].keep(late.path(), &IoOptions::default(), None).unwrap_err();
    assert_eq!(refused.kind(), FailureKind::Output);
    drop((late, idle));
    let parts = open(&graph).unwrap();
    assert!(parts.are_all_here());
    assert_eq!(edges(&parts.stream(0..2, true).unwrap()).len(), 160);
    kept::remove_parts(&graph).unwrap();
    // One that ends removes what is empty, and others make it again.
    let (mut draft, _) = PartDraft::begin(&graph, (0, 1)).unwrap();
    drop(PartDraft::begin(&graph, (0, 1)).unwrap());
    kept::clear_left_parts(&graph);
    assert!(!graph.exists());
    draft.make_again().unwrap();
    inputs[0].keep(draft.path(), &IoOptions::default(), None).unwrap();
    draft.entry().unwrap();
    drop(draft);
    assert!(!graph.exists());
}

#[test]
fn parts_that_a_list_does_not_name_go_before_it_is_written() {
    let (folder, other) = (Folder::new(), Folder::new());
    let (graph, other) = (folder.graph(), other.graph());
    // More machines were killed here, one of them while it kept its part.
    fs::create_dir(&graph).unwrap();
    for part in ["part-1", "part-3"] {
        input(80, 9).keep(graph.join(part), &IoOptions::default(), None).unwrap();
    }
    fs::create_dir(graph.join("part-5")).unwrap();
    let mut draft = begun(&graph, &input(80, 1), (0, 2));
    let mut apart = begun(&other, &input(80, 2), (1, 2));
    let entries = vec![draft.entry().unwrap(), apart.entry().unwrap()];
    let list = PartsList::of(entries).unwrap();
    let stale = draft.publish(&list).unwrap();
    assert_eq!(stale.removed, [graph.join("part-1"), graph.join("part-3")]);
    assert!(graph.join("part-5").is_dir());
    // A list that is there is that of another ingest.
    let refused = draft.publish(&list).unwrap_err();
    assert_eq!(refused.kind(), FailureKind::Output);
    assert!(apart.publish(&list).unwrap().removed.is_empty());
    draft.end();
    apart.end();
    for (graph, part) in [(&graph, 0), (&other, 1)] {
        let parts = open(graph).unwrap();
        assert_eq!(parts.here().map(|(part, _)| part).collect::<Vec<_>>(), [part]);
    }
}

#[test]
fn a_graph_in_parts_is_removed_and_not_replaced() {
    let folder = Folder::new();
    let graph = folder.graph();
    kept(&graph, &[input(80, 1), input(80, 2)]);
    assert_eq!(PartDraft::begin(&graph, (0, 2)).unwrap_err().kind(), FailureKind::Output);
    kept::clear_left_parts(&graph);
    assert!(open(&graph).unwrap().are_all_here());
    // Some of a graph of this computer is none.
    fs::rename(graph.join("part-1"), graph.with_file_name("aside")).unwrap();
    assert_eq!(kept::clear_left_parts(&graph).removed, [graph.join("part-0")]);
    assert!(!graph.exists());
    kept(&graph, &[input(80, 1), input(80, 2)]);
    kept::remove_parts(&graph).unwrap();
    assert!(!graph.exists());
    assert_eq!(kept::remove_parts(&graph).unwrap_err().kind(), FailureKind::Missing);
}
