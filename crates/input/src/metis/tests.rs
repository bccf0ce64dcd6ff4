//! METIS files of all formats, and those that do not hold what they say.

use welter_model::ids::IdMap;

use crate::Format;
use crate::fuzzing::{edges, refusals, weighing};

const FORMAT: Format = Format::Metis;

#[test]
fn a_line_is_a_vertex_and_a_blank_one_is_alone() {
    let input = weighing("x.graph", "% c\n4 2 0\n2 4\n%c\n 1\r\n\n1 \n", FORMAT).unwrap();
    assert_eq!(edges(&input), (vec![[0, 1], [0, 3], [1, 0], [3, 0]], vec![]));
    assert_eq!((&input.ids, input.edges.slots()), (&IdMap::Offset(1), Some(4)));
    assert_eq!(input.summary.undirected, Some(false));
    // Blank lines behind the last vertex are nothing, and the last newline may be missing.
    assert!(weighing("x", "2 1\n2\n1\n\n\n", FORMAT).is_ok());
    assert!(weighing("x", "2 1\n2\n1", FORMAT).is_ok());
}

#[test]
fn formats_say_what_stands_before_and_between_neighbours() {
    let pairs = vec![[0, 1], [1, 0]];
    for (text, weights) in [
        ("2 1 1\n2 0.5\n1 0.5\n", vec![0.5, 0.5]),
        ("2 1 001\n2 7\n1 7\n", vec![7.0, 7.0]),
        ("2 1 10\n9 2\n9 1\n", vec![]),
        ("2 1 10 2\n9 9 2\n9 9 1\n", vec![]),
        ("2 1 11\n9 2 3\n9 1 3\n", vec![3.0, 3.0]),
        ("2 1 111 1\n5 9 2 3\n5 9 1 3\n", vec![3.0, 3.0]),
        ("2 1 101\n5 2 3\n5 1 3\n", vec![3.0, 3.0]),
        ("2 1 100\n5 2\n5 1\n", vec![]),
        ("2 1 100\n2\n1\n", vec![]),
    ] {
        let input = weighing("x", text, FORMAT).unwrap();
        assert_eq!(edges(&input), (pairs.clone(), weights), "{text}");
    }
}

#[test]
fn a_header_may_count_arcs() {
    let input = weighing("x", "3 2\n2\n3\n\n", FORMAT).unwrap();
    assert_eq!(edges(&input).0, [[0, 1], [1, 2]]);
    assert_eq!(input.summary.notes, ["x: the header counts 2 arcs, and not edges"]);
}

#[test]
fn what_is_wrong_is_said() {
    refusals(
        FORMAT,
        &[
            ("", "f:1: expected a line with vertices and edges"),
            ("% c\n", "f:1: expected a line with vertices and edges"),
            ("3\n", "f:1: expected vertices, edges"),
            ("x 3\n", "f:1: expected vertices, edges"),
            ("2 1 2\n2\n1\n", "f:1: expected vertices, edges"),
            ("2 1 0 5\n2\n1\n", "f:1: expected weights a vertex that go with the format"),
            ("2 1\n2\n3\n", "f:3: expected a vertex id from 1 to 2, found 3"),
            ("2 1\n2\n0\n", "f:3: expected a vertex id from 1 to 2, found 0"),
            ("2 1\n2\nx\n", "f:3: expected an integer as vertex id"),
            ("2 1 1\n2 5\n1\n", "f:3: expected a weight after the last neighbour"),
            ("2 1 10 3\n5 5\n5 5 5 1\n", "f:2: expected the weights of the vertex"),
            ("3 1\n2\n1\n", "expected 3 lines of vertices, found 2"),
            ("2 1\n2\n\n1\n", "expected vertex ids from 1 to 2 and as many lines, found 3"),
            ("2 2\n2\n\n", "expected each of 2 edges at both of its ends, found 1 neighbours"),
            ("1152921504606846976 1\n2\n1\n", "f:1: expected at most 4294967295 vertices"),
        ],
    );
}
