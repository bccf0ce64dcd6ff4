//! Pajek networks as programs write them, good and bad.

use super::*;
use crate::beginnings::pajek;
use crate::documents::tests::{named, refuse, see, weighted};
use crate::format::Format;
use crate::fuzzing::weighing;
use crate::options::IdKind;

const FRIENDS: &str = "*Vertices 5\r\n1 \"Ann\"\r\n2 \"Bob\"\r\n3 \"Cat\"\r\n4 \"Dan\"\r\n\
                       5 \"Eve Lu\" 0.5 0.5 0.5 box ic Red\r\n*Edges\r\n1 2\r\n2 3\r\n*Arcs\r\n\
                       4 5 2.5\r\n";

/// As NetworkX writes.
const NETWORKX: &str = "*vertices 3\n1 0 0.0 0.0 ellipse\n2 1 0.0 0.0 ellipse\n\
                        3 \"a b\" 0.0 0.0 ellipse\n*arcs\n1 2 4.0\n2 3 1.5\n";

/// As igraph and Pajek itself write: labels left out, lists, comments.
const LISTS: &str = "% made by Pajek\n*Network ties\n*Vertices 4\n\n*Arcslist\n1 2 3\n 2 4\n\
                     % c\n*Edgeslist\n3 4\n";

#[test]
fn edges_and_arcs_have_values() {
    let seen = see(&PAJEK, FRIENDS, &weighted(IdKind::Integers)).unwrap();
    let arcs = [("1", "2"), ("2", "1"), ("2", "3"), ("3", "2"), ("4", "5")];
    assert_eq!(seen.edges, named(&arcs));
    assert_eq!(seen.weights, Some(vec![1.0, 1.0, 1.0, 1.0, 2.5]));
    assert_eq!((seen.vertices.len(), seen.undirected), (5, Some(false)));
    let seen = see(&PAJEK, FRIENDS, &weighted(IdKind::Names)).unwrap();
    assert_eq!(seen.vertices, ["Ann", "Bob", "Cat", "Dan", "Eve Lu"]);
    assert_eq!(seen.edges[4], ("Dan".to_owned(), "Eve Lu".to_owned()));
}

#[test]
fn networks_of_other_programs_are_read() {
    let seen = see(&PAJEK, NETWORKX, &weighted(IdKind::Names)).unwrap();
    assert_eq!(seen.edges, named(&[("0", "1"), ("1", "a b")]));
    assert_eq!((seen.weights, seen.undirected), (Some(vec![4.0, 1.5]), Some(false)));
    let seen = see(&PAJEK, LISTS, &weighted(IdKind::Integers)).unwrap();
    let arcs = [("1", "2"), ("1", "3"), ("2", "4"), ("3", "4"), ("4", "3")];
    assert_eq!((seen.edges, seen.weights), (named(&arcs), None));
    let undirected = "*Vertices 3 2\n*Edges :1 \"a\"\n1 2 c Blue\n*Edges :2 \"b\"\n1 3 2\n";
    let seen = see(&PAJEK, undirected, &weighted(IdKind::Integers)).unwrap();
    assert_eq!((seen.weights, seen.undirected), (Some(vec![1.0, 2.0]), Some(true)));
}

#[test]
fn vertices_need_not_be_listed_nor_have_edges() {
    let seen = see(&PAJEK, "*Vertices 3\n", &weighted(IdKind::Integers)).unwrap();
    assert_eq!(seen.vertices, ["1", "2", "3"]);
    let stated = format!("*Vertices {}\n1 a\n*Arcs\n1 2\n", 1_u64 << 60);
    assert!(
        refuse(&PAJEK, &stated, &weighted(IdKind::Names)).contains("expected a label for each")
    );
}

#[test]
fn times_are_told_of() {
    let has_note = |text: &str| {
        let input = weighing("f", text, Format::Pajek).unwrap();
        input.summary.notes.iter().any(|note| note.contains("changes in time"))
    };
    assert!(has_note("*Vertices 2\n1 a\n2 b\n*Arcs\n1 2 1 [1-3]\n"));
    assert!(has_note("*Vertices 2\n1 a [1-3]\n2 b\n*Arcs\n1 2 1\n"));
    assert!(!has_note("*Vertices 2\n1 a\n2 b\n*Arcs\n1 2 1\n"));
}

#[test]
fn labels_are_whole_or_refused_where_they_are_ids() {
    let tabs = "*Vertices 2\n1 tab\there 0.0 0.0 ellipse\n2 b 0.0 0.0 ellipse\n*arcs\n1 2\n";
    let error = refuse(&PAJEK, tabs, &weighted(IdKind::Names));
    assert!(error.starts_with("f:2: expected a label in quotes"), "{error}");
    let numbers = see(&PAJEK, tabs, &weighted(IdKind::Integers)).unwrap();
    assert_eq!(numbers.edges, named(&[("1", "2")]));
    let quotes = tabs.replace("tab\there", "\"say \"hi\"\"");
    let seen = see(&PAJEK, &quotes, &weighted(IdKind::Names)).unwrap();
    assert_eq!(seen.edges, named(&[("say \"hi\"", "b")]));
}

#[test]
fn what_is_no_network_is_refused_with_its_line() {
    for (text, expected) in [
        ("", "f:1: expected *Vertices, found the end"),
        ("1 2\n", "f:1: expected *Vertices, found \"1 2\""),
        ("*Vertices x\n", "f:1: expected the number of vertices"),
        ("*Arcs\n1 2\n", "f:1: expected *Vertices before"),
        ("*Vertices 2\n*Matrix\n0 1\n", "f:2: expected lists of edges or arcs, found *Matrix"),
        ("*Vertices 2\n*Partition p\n", "f:2: expected *Edges, *Arcs"),
        ("*Vertices 2\n*Arcs\n1 2\n*Vertices 2\n", "f:4: expected one network"),
        ("*Vertices 2\n*Arcs\n1 3\n", "f:3: expected a vertex from 1 to 2, found \"3\""),
        ("*Vertices 2\n3 \"x\"\n", "f:2: expected a vertex from 1 to 2, found \"3\""),
        ("*Vertices 2\n*Arcs\n1\n", "f:3: expected a source and a target"),
        ("*Vertices 2\n*Arcs\n1 b\n", "f:3: expected the number of a vertex, found \"b\""),
        ("*Vertices 2\n1 \"x\n", "f:2: expected a closing quote"),
        ("*Vertices 2\n1 x\n1 y\n", "f:3: expected another id"),
        ("*Vertices 2\n*Arcs\n1 2 nan\n2 1 2\n", "f:3: expected a weight, found \"nan\""),
    ] {
        let error = refuse(&PAJEK, text, &weighted(IdKind::Integers));
        assert!(error.starts_with(expected), "{text}: {error}");
    }
    assert!(pajek(b"%c\n\n*vertices 3") && pajek(b"*Network x") && !pajek(b"*node data"));
}
