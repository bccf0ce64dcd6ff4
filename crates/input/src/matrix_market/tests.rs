//! Matrices that are graphs, and those that are not.

use welter_model::ids::IdMap;

use crate::fuzzing::{edges, read_bytes};
use crate::options::{ReadOptions, WeightChoice};
use crate::{Format, Input, InputError};
use welter_progress::FailureKind;

fn read(text: &str) -> Result<Input, InputError> {
    let options = ReadOptions { weight: WeightChoice::IfPresent, ..ReadOptions::default() };
    read_bytes("m.mtx", text.as_bytes(), Format::MatrixMarket, &options)
}

#[test]
fn entries_are_edges_between_rows_and_columns() {
    let text = "%%MATRIXMARKET Matrix Coordinate REAL General\r\n% c\r\n\r\n4 4 3\r\n\
                1 4 0.5\r\n% c\r\n\r\n 4\t1 -2 \r\n3 3 1e3";
    let input = read(text).unwrap();
    assert_eq!(edges(&input), (vec![[0, 3], [3, 0], [2, 2]], vec![0.5, -2.0, 1000.0]));
    assert_eq!((&input.ids, input.edges.slots()), (&IdMap::Offset(1), Some(4)));
    assert_eq!(input.summary.undirected, Some(false));
}

#[test]
fn symmetric_entries_are_undirected_edges_and_skew_ones_both_arcs() {
    let input =
        read("%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 3\n").unwrap();
    assert_eq!(edges(&input), (vec![[1, 0], [2, 2]], vec![]));
    assert_eq!(input.summary.undirected, Some(true));
    let input =
        read("%%MatrixMarket matrix coordinate integer skew-symmetric\n3 3 1\n2 1 7\n").unwrap();
    assert_eq!(edges(&input), (vec![[1, 0], [0, 1]], vec![7.0, -7.0]));
    assert_eq!(input.summary.undirected, Some(false));
}

#[test]
fn banners_are_read_as_programs_write_them() {
    for (text, weights, undirected) in [
        ("%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n", vec![], true),
        (
            "\u{feff}%%MatrixMarket matrix coordinate real general\n%\n3 3 2\n2 1 1.5\n3 2 2\n",
            vec![1.5, 2.0],
            false,
        ),
        (
            "\n%%MatrixMarket matrix coordinate unsigned-integer general\n%\n3 3 2\n2 1 7\n3 2 8\n",
            vec![7.0, 8.0],
            false,
        ),
        (
            "%%matrixmarket MATRIX coordinate DOUBLE symmetric \n3 3 2\n2 1 1e0\n3 2 2\n",
            vec![1.0, 2.0],
            true,
        ),
    ] {
        let input = read(text).unwrap();
        assert_eq!(edges(&input), (vec![[1, 0], [2, 1]], weights), "{text}");
        assert_eq!(input.summary.undirected, Some(undirected), "{text}");
    }
    let unsigned = "%%MatrixMarket matrix coordinate unsigned-integer general\n3 3 1\n2 1 -7\n";
    let error = read(unsigned).err().unwrap().to_string();
    assert!(error.starts_with("m.mtx:3: expected an integer from 0 to"), "{error}");
}

#[test]
fn a_matrix_without_entries_has_vertices() {
    let input = read("%%MatrixMarket matrix coordinate real general\n5 5 0\n").unwrap();
    assert_eq!((input.edges.edges(), input.edges.slots()), (0, Some(5)));
}

#[test]
fn without_a_banner_the_first_entry_shows_what_there_is() {
    let input = read("% c\n3 3 2\n\n% c\n1 2\n3 1\n").unwrap();
    assert_eq!(edges(&input), (vec![[0, 1], [2, 0]], vec![]));
    assert_eq!(input.summary.notes.len(), 1);
    assert_eq!(edges(&read("3 3 1\n1 2 -5\n").unwrap()).1, [-5.0]);
}

#[test]
fn weights_are_checked_also_where_nobody_wants_them() {
    let text = "%%MatrixMarket matrix coordinate real general\n3 3 1\n1 2 pi\n";
    let options = ReadOptions::default();
    let error = read_bytes("m", text.as_bytes(), Format::MatrixMarket, &options).err().unwrap();
    assert_eq!(error.to_string(), "m:3: expected a number as weight, found \"pi\"");
    let text = text.replace("pi", "3");
    let input = read_bytes("m", text.as_bytes(), Format::MatrixMarket, &options).unwrap();
    assert!(!input.summary.weighted);
}

#[test]
fn what_is_no_graph_is_refused_with_its_line() {
    const GENERAL: &str = "%%MatrixMarket matrix coordinate real general\n";
    for (text, expected) in [
        ("", "m.mtx:1: expected a line with the size"),
        ("1 2\n2 1\n", "m.mtx:1: expected the banner %%MatrixMarket, or the numbers of rows"),
        ("3 3 1\n1 2\n1 3\n", "expected entries, found more than the 1 that the header states"),
        ("%%MatrixMarketing matrix coordinate real general\n", "m.mtx:1: expected the banner"),
        ("%%MatrixMarket mangled coordinate real general\n", "m.mtx:1: expected matrix"),
        ("%%MatrixMarket matrix array real general\n", "found a dense array"),
        ("%%MatrixMarket matrix coordinate complex general\n", "complex numbers"),
        ("%%MatrixMarket matrix coordinate real hermitian\n", "found \"hermitian\""),
        ("%%MatrixMarket matrix coordinate pattern skew-symmetric\n", "found a pattern"),
        ("%%MatrixMarket matrix coordinate real\n", "found \"\""),
        (&format!("{GENERAL}% c\n"), "m.mtx:2: expected a line with the size"),
        (&format!("{GENERAL}3\n"), "m.mtx:2: expected the numbers of rows"),
        (&format!("{GENERAL}3 4 1\n4 4 1\n"), "found one in row 4 and column 4"),
        ("%%MatrixMarket matrix coordinate real symmetric\n3 4 0\n", "expected a square matrix"),
        (&format!("{GENERAL}3 3 1\n1 4 1\n"), "m.mtx:3: expected a vertex id from 1 to 3, found 4"),
        (&format!("{GENERAL}3 3 1\n0 1 1\n"), "m.mtx:3: expected a vertex id from 1 to 3, found 0"),
        (&format!("{GENERAL}3 3 1\n1 1\n"), "m.mtx:3: expected at least 3 columns"),
        (&format!("{GENERAL}3 3 1\n1 1 1 1\n"), "m.mtx:3: expected 3 columns, found more"),
        (&format!("{GENERAL}3 3 2\n1 1 1\n"), "expected 2 entries, as the size line says, found 1"),
        (&format!("{GENERAL}3 3 1\n1 1 1\n2 2 2\n"), "expected entries, found more than the 1"),
        (&format!("{GENERAL}0 0 1\n1 1 1\n"), "m.mtx:3: expected no vertex"),
        (&format!("{GENERAL}%%GraphBLAS type gunk\n3 3 1\n1 1 1\n"), "m.mtx:2: expected a type"),
        (
            &format!("{GENERAL}%%GraphBLAS type int8_t\n3 3 1\n1 1 128\n"),
            "m.mtx:4: expected an integer from -128 to 127, found \"128\"",
        ),
        (
            "%%MatrixMarket matrix coordinate integer general\n3 3 1\n1 1 1.5\n",
            "m.mtx:3: expected an integer",
        ),
    ] {
        let error = read(text).err().unwrap();
        assert!(error.to_string().contains(expected), "{text}: {error}");
        assert_eq!(error.kind(), FailureKind::Input, "{text}");
    }
}
