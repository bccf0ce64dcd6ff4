//! Arrays as NumPy writes them, and what is no edges.

use super::*;
use crate::fuzzing::{edges, read_bytes};
use crate::options::WeightChoice;
use crate::tables::ColumnRef;
use crate::{Format, Input};
use welter_progress::FailureKind;

/// An array as `numpy.save` writes it.
fn array(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let mut header =
        format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let length = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\0", &length[..], header.as_bytes(), data].concat()
}

fn wide(numbers: &[i64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn floats(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_be_bytes()).collect()
}

fn with(bytes: &[u8], options: &ReadOptions) -> Result<Input, InputError> {
    read_bytes("f", bytes, Format::Npy, options)
}

fn read(bytes: &[u8]) -> Result<Input, InputError> {
    with(bytes, &ReadOptions { weight: WeightChoice::IfPresent, ..ReadOptions::default() })
}

#[test]
fn rows_are_edges() {
    let numbers = wide(&[0, 1, 1, 2, 2, 0, 2, 1]);
    let input = read(&array("<i8", false, "(4, 2)", &numbers)).unwrap();
    assert_eq!(edges(&input), (vec![[0, 1], [1, 2], [2, 0], [2, 1]], vec![]));
    let bytes = [0_u8, 1, 2, 1, 2, 5, 3, 0, 9, 0, 2, 250];
    let input = read(&array("|u1", false, "(4, 3)", &bytes)).unwrap();
    assert_eq!(edges(&input), (vec![[0, 1], [1, 2], [3, 0], [0, 2]], vec![2.0, 5.0, 9.0, 250.0]));
    let numbers = floats(&[0.0, 1.0, 0.5, 1.0, 2.0, -1.5, 7.0, 0.0, 3.0, 1.0, 0.0, 0.0]);
    let input = read(&array(">f4", false, "(4, 3)", &numbers)).unwrap();
    assert_eq!(edges(&input).1, [0.5, -1.5, 3.0, 0.0]);
    let error = read(&array("<i8", false, "(0, 2)", &[])).err().unwrap();
    assert_eq!(error.to_string(), "f: expected edges, found none");
}

#[test]
fn two_rows_are_sources_and_targets() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: Vec<u8>| {
        let path = directory.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let options = ReadOptions { weight: WeightChoice::IfPresent, ..ReadOptions::default() };
        let path = path.to_str().unwrap().to_owned();
        let estimate = crate::estimate(std::slice::from_ref(&path), &options).unwrap();
        let input = crate::read(&[path], &options, &welter_progress::Progress::new()).unwrap();
        assert_eq!(estimate.edges, Some(input.summary.edges));
        edges(&input)
    };
    let pairs = vec![[0, 1], [1, 2], [2, 0], [3, 0]];
    let runs = wide(&[0, 1, 2, 3, 1, 2, 0, 0]);
    assert_eq!(file("pyg.npy", array("<i8", false, "(2, 4)", &runs)).0, pairs);
    assert_eq!(file("f.npy", array("<i8", true, "(4, 2)", &runs)).0, pairs);
    let rows = wide(&[0, 1, 1, 2, 2, 0, 3, 0]);
    assert_eq!(file("t.npy", array("<i8", true, "(2, 4)", &rows)).0, pairs);
    let weighted = wide(&[0, 1, 2, 3, 1, 2, 0, 0, 5, 6, 7, 8]);
    let (found, weights) = file("w.npy", array("<i8", true, "(4, 3)", &weighted));
    assert_eq!((found, weights), (pairs, vec![5.0, 6.0, 7.0, 8.0]));
    // Both ways give one answer.
    assert_eq!(
        file("s.npy", array("<i8", true, "(2, 2)", &wide(&[0, 1, 1, 2]))).0,
        [[0, 1], [1, 2]]
    );
}

#[test]
fn columns_can_be_said() {
    let columns = |source: usize, target: usize| ReadOptions {
        source: Some(ColumnRef::Number(source)),
        target: Some(ColumnRef::Number(target)),
        ..ReadOptions::default()
    };
    let numbers = wide(&[9, 0, 1, 8, 1, 2]);
    let input = with(&array("<i8", false, "(2, 3)", &numbers), &columns(2, 3)).unwrap();
    assert_eq!(edges(&input).0, [[0, 1], [1, 2]]);
    let square = array("<i8", false, "(2, 2)", &wide(&[0, 1, 2, 0]));
    assert_eq!(edges(&with(&square, &columns(1, 2)).unwrap()).0, [[0, 1], [2, 0]]);
    let error = with(&square, &columns(1, 3)).err().unwrap();
    assert!(error.to_string().contains("expected a target column from 1 to 2, found 3"), "{error}");
}

#[test]
fn what_is_no_edges_is_refused() {
    let numbers = wide(&[0; 64]);
    for (descr, shape, expected) in [
        ("<i8", "(4,)", "found the shape (4,)"),
        ("<i8", "(2, 2, 2)", "found the shape (2, 2, 2)"),
        ("<i8", "(4, 4)", "may be an adjacency matrix"),
        ("<i8", "(4, 5)", "found the shape (4, 5)"),
        ("<i8", "(3, 3)", "rows of edges with weights, or an adjacency matrix"),
        ("<i8", "(2, 3)", "rows of edges with weights, or sources and targets"),
        ("|O", "(4, 2)", "found the type \"|O\""),
        ("<c16", "(4, 2)", "found the type \"<c16\""),
        ("<U8", "(4, 2)", "found the type \"<U8\""),
        ("<i8", "(9, 2)", "found more"),
        ("<i8", "(99, 2)", "row 33: expected as many numbers as the shape (99, 2) states"),
        ("<i8", "(1152921504606846976, 2)", "row 33: expected as many numbers"),
    ] {
        let error = read(&array(descr, false, shape, &numbers)).err().unwrap();
        assert_eq!(error.kind(), FailureKind::Input, "{error}");
        assert!(error.to_string().contains(expected), "{descr} {shape}: {error}");
    }
    let negative = array("<i8", false, "(4, 2)", &wide(&[0, 1, 1, -2, 2, 0, 0, 0]));
    let error = read(&negative).err().unwrap().to_string();
    assert_eq!(error, "f: row 2: expected a vertex id, found -2");
    let half = array(">f4", false, "(4, 2)", &floats(&[0.0, 1.0, 1.0, 2.0, 2.5, 0.0, 0.0, 0.0]));
    let error = read(&half).err().unwrap().to_string();
    assert!(error.contains("row 3: expected a whole number as vertex id, found 2.5"), "{error}");
    for bytes in [&b"\x93NUMPY"[..], b"\x93NUMPY\x09\0ab", b"\x93NUMPY\x01\0\xff\xff{", b"x"] {
        assert_eq!(read(bytes).err().unwrap().kind(), FailureKind::Input);
    }
    let table = array("<i8", false, "(4, 2)", &[]);
    let table =
        String::from_utf8_lossy(&table).replace("'<i8'", "[('a', '<i8')]").replace('\u{fffd}', "");
    let table = [b"\x93", table.as_bytes()].concat();
    assert!(read(&table).is_err());
}
