//! Tables of attributes, good and bad.

use std::fs;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};

use super::*;
use welter_progress::FailureKind;

/// Reads a table that is this text.
fn read_text(
    text: &str,
    ids: &IdMap,
    slots: u64,
    options: &AttributeOptions,
) -> Result<Attributes, InputError> {
    with_file(text, |path| {
        let vertices = Vertices { ids, slots, is_vertex: &|slot| slot != 1 };
        attributes(Table::Files(&[path.to_owned()]), &vertices, options, &Progress::new())
    })
}

fn with_file<T>(text: &str, read: impl FnOnce(&str) -> T) -> T {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("table.csv");
    fs::write(&path, text).unwrap();
    read(path.to_str().unwrap())
}

fn failure(text: &str, ids: &IdMap, slots: u64, options: &AttributeOptions) -> String {
    let error = read_text(text, ids, slots, options).unwrap_err();
    assert_eq!(error.kind(), FailureKind::Input, "{error}");
    let text = error.to_string();
    text[text.find("table.csv").unwrap()..].to_owned()
}

fn or(missing: f64) -> AttributeOptions {
    AttributeOptions { missing: Some(missing), ..AttributeOptions::default() }
}

#[test]
fn values_go_to_the_vertices_that_their_rows_name() {
    let wanted = AttributeOptions::default();
    let sparse = IdMap::Sparse(vec![7, 1 << 40, u64::MAX]);
    let text = "18446744073709551615,1.5\n7,-2\n1099511627776,3\n";
    let read = read_text(text, &sparse, 3, &wanted).unwrap();
    assert_eq!(read.values, [-2.0, 3.0, 1.5]);
    assert_eq!((read.rows, read.missing, read.foreign), (3, 0, 0));
    let read = read_text("2 5\n1 4\n", &IdMap::Offset(1), 2, &wanted).unwrap();
    assert_eq!(read.values, [4.0, 5.0]);
    let names = IdMap::Names(["a b", "b", "c"].into_iter().collect());
    let text = "name,size,rank\nc,9,3\n\"a b\",9,1\nb,9,2\n";
    let third = AttributeOptions { value: Some(ColumnRef::Number(3)), ..wanted.clone() };
    assert_eq!(read_text(text, &names, 3, &third).unwrap().values, [1.0, 2.0, 3.0]);
    let rank = AttributeOptions { value: Some(ColumnRef::Name("rank".into())), ..wanted };
    assert_eq!(read_text(text, &names, 3, &rank).unwrap().values, [1.0, 2.0, 3.0]);
}

#[test]
fn vertices_without_a_row_are_an_error_or_get_what_was_said() {
    let text = "id,x\n0,10\n2,12\n";
    // Slot 1 is no vertex where ids are slots as they are, and one where their number was stated.
    let read = read_text(text, &IdMap::Same, 3, &AttributeOptions::default()).unwrap();
    assert_eq!((read.values, read.missing), (vec![10.0, 0.0, 12.0], 0));
    let error = failure(text, &IdMap::Declared, 5, &AttributeOptions::default());
    assert!(error.contains("found none for 3 of them, such as 1;"), "{error}");
    let read = read_text(text, &IdMap::Declared, 4, &or(-1.0)).unwrap();
    assert_eq!((read.values, read.missing), (vec![10.0, -1.0, 12.0, -1.0], 2));
    let read = read_text(text, &IdMap::Same, 4, &or(-1.0)).unwrap();
    assert_eq!((read.values, read.missing), (vec![10.0, 0.0, 12.0, -1.0], 1));
}

#[test]
fn ids_that_are_no_vertices_are_counted_or_refused() {
    let text = "0,10\n1,11\n2,12\n99,1\n";
    let read = read_text(text, &IdMap::Same, 3, &AttributeOptions::default()).unwrap();
    assert_eq!((read.values, read.rows, read.foreign), (vec![10.0, 0.0, 12.0], 4, 2));
    let strict = AttributeOptions { refuse_foreign: true, ..AttributeOptions::default() };
    let error = failure(text, &IdMap::Same, 3, &strict);
    let expected =
        "table.csv: row 2: expected the id of a vertex, found 1, which the graph has not";
    assert_eq!(error, expected);
}

#[test]
fn tables_in_memory_are_read_as_files_are() {
    let names: IdMap = IdMap::Names(["a", "b", "c"].into_iter().collect());
    let vertices = Vertices { ids: &names, slots: 3, is_vertex: &|_| true };
    let read = |ids: Vec<&str>| {
        let ids: ArrayRef = Arc::new(StringArray::from(ids));
        let values: ArrayRef =
            Arc::new(Float64Array::from_iter_values((1..).map(f64::from).take(ids.len())));
        let batch = RecordBatch::try_from_iter([("who", ids), ("share", values)]).unwrap();
        let frame =
            Frame { name: "shares".to_owned(), schema: batch.schema(), batches: vec![batch] };
        let options = AttributeOptions { refuse_foreign: true, ..or(0.5) };
        attributes(Table::Frame(&frame), &vertices, &options, &Progress::new())
    };
    assert_eq!(read(vec!["c", "a"]).unwrap().values, [2.0, 0.5, 1.0]);
    assert_eq!(read(vec![]).unwrap().values, [0.5, 0.5, 0.5]);
    let error = read(vec!["c", "z"]).unwrap_err().to_string();
    assert_eq!(
        error,
        "shares: row 2: expected the id of a vertex, found \"z\", which the graph has not"
    );
}

#[test]
fn what_is_wrong_with_a_table_is_said_with_its_place() {
    for (text, expected) in [
        ("0,1\n0,2\n", "table.csv: row 2: expected one row for each id, found 0 again"),
        ("0,1\n1,x\n", "table.csv:2: expected a number as weight"),
        ("0,1\n1\n", "table.csv:2: expected at least 2 columns"),
        ("0,1\n-1,2\n", "table.csv:2: expected a vertex id, found the negative number"),
        ("0,NaN\n", "table.csv:1: expected a weight, found \"NaN\""),
    ] {
        let error = failure(text, &IdMap::Declared, 2, &or(0.0));
        assert!(error.starts_with(expected), "{error}");
    }
    let raw = AttributeOptions { format: "u32".parse().ok(), ..or(0.0) };
    assert!(failure("12345678", &IdMap::Declared, 2, &raw).contains("expected a table"));
}

#[test]
fn vertices_are_listed_one_a_line() {
    let list = |text: &str, ids: &IdMap| {
        with_file(text, |path| {
            let vertices = Vertices { ids, slots: 3, is_vertex: &|_| true };
            let options = AttributeOptions::default();
            listed(Table::Files(&[path.to_owned()]), &vertices, &options, &Progress::new())
        })
    };
    assert_eq!(list("# hubs\n2\n0\n2\n", &IdMap::Same).unwrap(), [2, 0, 2]);
    assert_eq!(list("vertex\n3\n", &IdMap::Offset(1)).unwrap(), [2]);
    let names = IdMap::Names(["a", "b", "c"].into_iter().collect());
    assert_eq!(list("c\na", &names).unwrap(), [2, 0]);
    let error = list("0\n3\n", &IdMap::Declared).unwrap_err();
    let expected = "row 2: expected the id of a vertex, found 3, which the graph has not";
    assert!(error.to_string().ends_with(expected), "{error}");
}
