//! Frames of random and of wrong rows.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use arrow_schema::{Field, Schema};
use proptest::prelude::*;
use welter_model::edge_sample::{PIECE_EDGES, ROUNDS, Sample};
use welter_model::edges::{Batch, EdgeStream};
use welter_model::ids::IdMap;
use welter_progress::{FailureKind, Progress};

use super::*;
use crate::columnar::PART_ROWS;
use crate::options::WeightChoice;

/// A frame of columns in batches of some rows.
fn frame(columns: Vec<(&str, ArrayRef)>, rows: usize) -> Frame {
    let fields: Vec<Field> = columns
        .iter()
        .map(|(name, array)| Field::new(*name, array.data_type().clone(), true))
        .collect();
    let schema = Arc::new(Schema::new(fields));
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    let whole = RecordBatch::try_new(Arc::clone(&schema), arrays).unwrap();
    let starts = (0..whole.num_rows()).step_by(rows.max(1));
    let batches =
        starts.map(|start| whole.slice(start, rows.min(whole.num_rows() - start))).collect();
    Frame { name: "frame".to_owned(), schema, batches }
}

fn weighted() -> ReadOptions {
    ReadOptions { weight: WeightChoice::IfPresent, threads: 2, ..ReadOptions::default() }
}

fn read(frame: Frame, options: &ReadOptions) -> Result<Ready, InputError> {
    read_frame(frame, options, &Progress::new())
}

/// All edges of a stream, in order, with their weights.
fn edges(stream: &dyn EdgeStream) -> Vec<([u32; 2], Option<f64>)> {
    let mut all = Vec::new();
    for part in 0..stream.parts() {
        let visit = &mut |batch: Batch<'_>| {
            let weight = |edge: usize| batch.weights.map(|weights| weights[edge]);
            all.extend(batch.pairs.iter().enumerate().map(|(edge, pair)| (*pair, weight(edge))));
            true
        };
        stream.read(part, visit).unwrap();
    }
    all
}

proptest! {
    /// Whatever the type and the batches, edges are the rows, and nothing is held.
    #[test]
    fn close_ids_are_streamed(
        rows in proptest::collection::vec(([0_u32..50, 0..50], -9.0..9.0_f64), 1..200),
        batch in 1_usize..90,
        is_wide in any::<bool>(),
    ) {
        let end = |end: usize| -> ArrayRef {
            let ids = rows.iter().map(|(pair, _)| pair[end]);
            if is_wide {
                Arc::new(Int64Array::from_iter_values(ids.map(i64::from)))
            } else {
                Arc::new(UInt32Array::from_iter_values(ids))
            }
        };
        let weights = Float64Array::from_iter_values(rows.iter().map(|(_, weight)| *weight));
        let columns = vec![("a", end(0)), ("b", end(1)), ("weight", Arc::new(weights) as _)];
        let ready = read(frame(columns, batch), &weighted()).unwrap();
        let expected: Vec<_> = rows.iter().map(|(pair, weight)| (*pair, Some(*weight))).collect();
        prop_assert_eq!(edges(&*ready.edges), expected);
        prop_assert_eq!(ready.ids, IdMap::Same);
        prop_assert_eq!(ready.edges.resident_bytes(), 0);
        let largest = rows.iter().flat_map(|(pair, _)| pair).max().unwrap();
        prop_assert_eq!(ready.edges.slots(), Some(u64::from(*largest) + 1));
    }
}

#[test]
fn rounds_of_a_sample_are_pieces_of_parts() {
    let count = PART_ROWS + 3 * PIECE_EDGES + 17;
    let ids = || Arc::new(UInt32Array::from_iter_values(0..count as u32)) as ArrayRef;
    let ready = read(frame(vec![("a", ids()), ("b", ids())], PART_ROWS), &weighted()).unwrap();
    let sample = Sample::of(count as u64);
    let mut seen = 0;
    for round in 0..ROUNDS {
        for part in 0..ready.edges.parts() {
            let visit = &mut |batch: Batch<'_>| {
                assert!(batch.pairs.windows(2).all(|two| two[0][0] + 1 == two[1][0]));
                seen += batch.pairs.len();
                true
            };
            ready.edges.sample(part, (sample, round), visit).unwrap();
        }
    }
    assert!(seen > 0 && seen <= count);
}

#[test]
fn sparse_ids_and_names_are_numbered_in_their_order() {
    let far = vec![1_u64 << 40, 7];
    let columns = vec![
        ("a", Arc::new(UInt64Array::from(far)) as ArrayRef),
        ("b", Arc::new(UInt64Array::from(vec![7, 9])) as ArrayRef),
    ];
    let ready = read(frame(columns, 1), &weighted()).unwrap();
    assert_eq!(ready.ids, IdMap::Sparse(vec![7, 9, 1 << 40]));
    assert_eq!(edges(&*ready.edges), [([2, 0], None), ([0, 1], None)]);
    let names = |names: [&str; 2]| Arc::new(StringArray::from(names.to_vec())) as ArrayRef;
    let columns = vec![("a", names(["x", "ü"])), ("b", names(["a", "x"]))];
    let ready = read(frame(columns, 2), &weighted()).unwrap();
    let IdMap::Names(found) = ready.ids else { panic!("{:?}", ready.ids) };
    assert_eq!(found.iter().collect::<Vec<_>>(), ["a", "x", "ü"]);
}

#[test]
fn wrong_rows_are_named_also_behind_others() {
    let ids = |ids: Vec<Option<i64>>| Arc::new(Int64Array::from(ids)) as ArrayRef;
    let fine = || ids(vec![Some(0), Some(1), Some(2)]);
    for (wrong, what) in [
        (vec![Some(0), Some(1), None], "frame: row 3: expected a vertex id, found a null"),
        (vec![Some(0), Some(-4), Some(1)], "frame: row 2: expected a vertex id from 0 to"),
    ] {
        let integers = ReadOptions { ids: IdKind::Integers, ..weighted() };
        for batch in 1..4 {
            let columns = vec![("a", fine()), ("b", ids(wrong.clone()))];
            let error = read(frame(columns, batch), &integers).err().unwrap();
            assert!(error.to_string().starts_with(what), "{error}");
            assert_eq!(error.kind(), FailureKind::Input);
        }
    }
    let declared = ReadOptions { vertices: Some(2), ..weighted() };
    let error = read(frame(vec![("a", fine()), ("b", fine())], 2), &declared).err().unwrap();
    assert!(error.to_string().contains("row 3: expected ids within the stated"), "{error}");
    let fraction = vec![
        ("a", Arc::new(Float64Array::from(vec![1.0, 0.5])) as ArrayRef),
        ("b", ids(vec![Some(1), Some(2)])),
    ];
    let error = read(frame(fraction, 1), &weighted()).err().unwrap();
    assert!(error.to_string().contains("row 2: expected a vertex id, found 0.5"), "{error}");
    let dense = ReadOptions { vertices: Some(5), ..weighted() };
    let ready = read(frame(vec![("a", fine()), ("b", fine())], 2), &dense).unwrap();
    assert_eq!((ready.ids, ready.edges.slots()), (IdMap::Declared, Some(5)));
}

#[test]
fn nothing_is_no_edge() {
    let none = || Arc::new(UInt32Array::from(Vec::<u32>::new())) as ArrayRef;
    let declared = ReadOptions { vertices: Some(3), ..weighted() };
    let ready = read(frame(vec![("a", none()), ("b", none())], 1), &declared).unwrap();
    assert_eq!((ready.edges.edges(), ready.edges.slots()), (0, Some(3)));
}

#[test]
fn negative_ids_are_names_and_what_is_read_is_said() {
    let ids = |ids: [i64; 3]| Arc::new(Int64Array::from(ids.to_vec())) as ArrayRef;
    let columns = vec![("from", ids([0, 1, -7])), ("to", ids([1, 2, 3]))];
    let ready = read(frame(columns, 2), &weighted()).unwrap();
    let IdMap::Names(found) = &ready.ids else { panic!("{:?}", ready.ids) };
    assert_eq!(found.iter().collect::<Vec<_>>(), ["-7", "0", "1", "2", "3"]);
    let reading = ready.readings[0].to_string();
    assert!(reading.contains("\"from\"") && reading.ends_with("ids are strings"), "{reading}");
    let columns = vec![("from", ids([0, 1, 2])), ("to", ids([1, 2, 3]))];
    let ready = read(frame(columns, 2), &weighted()).unwrap();
    assert!(ready.readings[0].to_string().contains("target column 2 \"to\""));
}

#[test]
fn a_table_without_rows_is_a_graph_without_edges() {
    for ids in [
        Arc::new(UInt32Array::from(vec![0; 0])) as ArrayRef,
        Arc::new(StringArray::from(vec![""; 0])),
    ] {
        let ready = read(frame(vec![("a", ids.clone()), ("b", ids)], 8), &weighted()).unwrap();
        assert_eq!((ready.edges.edges(), ready.edges.slots()), (0, Some(0)));
    }
}

#[test]
fn a_column_of_directions_is_looked_at_in_all_rows() {
    let ids = |ids: [i64; 3]| Arc::new(Int64Array::from(ids.to_vec())) as ArrayRef;
    let table = |from: [i64; 3], types: [&str; 3], batch: usize| {
        let types = Arc::new(StringArray::from(types.to_vec())) as ArrayRef;
        frame(vec![("Source", ids(from)), ("Target", ids([1, 2, 3])), ("Type", types)], batch)
    };
    for from in [[0, 1, 2], [1 << 40, 1, 2]] {
        for batch in 1..4 {
            let ready = read(table(from, ["Undirected"; 3], batch), &weighted()).unwrap();
            assert_eq!((ready.edges.edges(), ready.undirected), (3, Some(true)));
            assert!(ready.notes[0].contains("as the column \"Type\" says"), "{:?}", ready.notes);
            let ready = read(table(from, ["KNOWS", "Directed", ""], batch), &weighted()).unwrap();
            assert_eq!(ready.undirected, None);
            let mixed = table(from, ["Directed", "Directed", "Undirected"], batch);
            let options = ReadOptions { undirected: Some(false), ..weighted() };
            assert_ne!(read(mixed.clone(), &options).unwrap().undirected, Some(true));
            let error = read(mixed, &weighted()).err().unwrap();
            assert_eq!(error.kind(), FailureKind::Input);
            assert!(error.to_string().contains("found \"Undirected\""), "{error}");
        }
    }
    let truths = Arc::new(arrow_array::BooleanArray::from(vec![false; 3])) as ArrayRef;
    let columns = vec![("a", ids([0, 1, 2])), ("b", ids([1, 2, 3])), ("directed", truths)];
    assert_eq!(read(frame(columns, 2), &weighted()).unwrap().undirected, Some(true));
}

#[test]
fn ends_of_two_kinds_are_told_of() {
    let ids = || Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef;
    let table = || frame(vec![("user_id", ids()), ("movie_id", ids())], 2);
    let ready = read(table(), &weighted()).unwrap();
    assert!(ready.notes[0].contains("--bipartite"), "{:?}", ready.notes);
    let options = ReadOptions { two_kinds: Some(false), ..weighted() };
    assert!(read(table(), &options).unwrap().notes.is_empty());
}
