//! Graphs as NetworkX, nauty and Sage write them, and what is none.

use super::*;
use crate::beginnings::graph6;
use crate::fuzzing::{edges, read_bytes};
use crate::{Format, Input};
use welter_progress::FailureKind;

fn read(text: &str) -> Result<Input, InputError> {
    read_bytes("f", text.as_bytes(), Format::Graph6, &ReadOptions::default())
}

/// Pairs and the number of vertices.
fn seen(text: &str) -> (Vec<[u32; 2]>, Option<u64>, Option<bool>) {
    let input = read(text).unwrap();
    (edges(&input).0, input.edges.slots(), input.summary.undirected)
}

#[test]
fn triangles_of_bits() {
    // The example of the format: 5 vertices and the edges 0-2, 0-4, 1-3, 3-4.
    let example = vec![[0, 2], [1, 3], [0, 4], [3, 4]];
    assert_eq!(seen("DQc\n"), (example.clone(), Some(5), Some(true)));
    assert_eq!(seen(">>graph6<<DQc").0, example);
    assert_eq!(seen("@\n"), (vec![], Some(1), Some(true)));
    assert_eq!(seen("A_\r\n"), (vec![[0, 1]], Some(2), Some(true)));
    assert_eq!(seen("~??A_\n").0, [[0, 1]]);
}

#[test]
fn squares_of_bits() {
    // The example of the format: 5 vertices and the arcs 0-2, 0-4, 3-1, 3-4.
    let arcs = vec![[0, 2], [0, 4], [3, 1], [3, 4]];
    assert_eq!(seen("&DI?AO?\n"), (arcs.clone(), Some(5), Some(false)));
    assert_eq!(seen(">>digraph6<<&DI?AO?\n").0, arcs);
}

#[test]
fn lists_of_steps() {
    // The example of the format: 7 vertices and the edges 0-1, 0-2, 1-2, 5-6.
    let example = vec![[0, 1], [0, 2], [1, 2], [5, 6]];
    assert_eq!(seen(":Fa@x^\n"), (example.clone(), Some(7), Some(true)));
    assert_eq!(seen(">>sparse6<<:Fa@x^").0, example);
    assert_eq!(seen(":@\n"), (vec![], Some(1), Some(true)));
    // Zachary's karate club, as NetworkX writes it.
    let club = ">>sparse6<<:a_O?K?AA_OG?OJ??__[?DA_@?kA?B_?OOM_DBO?LK?@i_?LcmWl_axaDVLOPC?oXMO`?w]Q\
                IDaxs{^cAPgw]QHdAp[sZMFRp|@\n";
    let (edges, slots, undirected) = seen(club);
    assert_eq!((edges.len(), slots, undirected), (78, Some(34), Some(true)));
}

#[test]
fn what_is_no_graph_is_refused_with_its_byte() {
    for (text, expected) in [
        ("", "f: byte 0: expected the number of vertices"),
        ("D\n", "f: byte 1: expected more bits for 5 vertices"),
        ("DQ", "expected more bits"),
        ("DQcc\n", "expected the end of the line after"),
        ("DQc\nDQc\n", "f: byte 4: expected one graph, found a second line"),
        ("D c\n", "f: byte 1: expected a byte from ? to ~, found 0x20"),
        (";Fa@x^\n", "incremental sparse6"),
        ("~~~~~~~~", "expected more bits for 68719476735 vertices"),
    ] {
        let error = read(text).err().unwrap();
        assert_eq!(error.kind(), FailureKind::Input);
        assert!(error.to_string().contains(expected), "{text}: {error}");
    }
    assert!(graph6(b">>graph6<<DQc") && !graph6(b"DQc"));
}
