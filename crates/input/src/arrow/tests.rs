//! Arrow files and streams, good and bad.

use std::fs;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Float32Array, Int32Array, LargeStringArray, RecordBatch,
    StringArray, UInt32Array, UInt64Array,
};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{DictionaryHandling, FileWriter, IpcWriteOptions, StreamWriter};
use welter_model::ids::IdMap;
use welter_progress::{FailureKind, Progress};

use crate::{
    ColumnRef, IdKind, Input, InputError, Limits, ReadOptions, WeightChoice, estimate, read,
};

fn batches() -> Vec<RecordBatch> {
    let batch = |start: i32, rows: i32| {
        let rows = start..start + rows;
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("src", Arc::new(Int32Array::from_iter_values(rows.clone().map(|row| row % 1_000)))),
            (
                "dst",
                Arc::new(UInt64Array::from_iter_values(rows.clone().map(|row| row as u64 % 7))),
            ),
            ("weight", Arc::new(Float32Array::from_iter_values(rows.map(|row| row as f32)))),
        ];
        RecordBatch::try_from_iter(columns).unwrap()
    };
    vec![batch(0, 10), batch(10, 0), batch(10, 200_000), batch(200_010, 50)]
}

const ROWS: usize = 200_060;

fn file_bytes(batches: &[RecordBatch], compression: Option<CompressionType>) -> Vec<u8> {
    let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
    let schema = batches[0].schema();
    let mut writer = FileWriter::try_new_with_options(Vec::new(), &schema, options).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.into_inner().unwrap()
}

fn stream_bytes(batches: &[RecordBatch]) -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), &batches[0].schema()).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.into_inner().unwrap()
}

fn read_as(name: &str, bytes: &[u8], options: &ReadOptions) -> Result<Input, InputError> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    fs::write(&path, bytes).unwrap();
    read(&[path.to_str().unwrap().to_owned()], options, &Progress::new())
}

fn assert_complete(input: &Input) {
    let mut row = 0;
    for part in 0..input.edges.parts() {
        input
            .edges
            .read(part, &mut |batch| {
                for (pair, weight) in batch.pairs.iter().zip(batch.weights.unwrap()) {
                    assert_eq!(*pair, [row % 1_000, row % 7]);
                    assert!((weight - f64::from(row)).abs() < 1e-9);
                    row += 1;
                }
                true
            })
            .unwrap();
    }
    assert_eq!(row as usize, ROWS);
}

#[test]
fn files_and_streams_are_read_in_order() {
    let options = ReadOptions { weight: WeightChoice::IfPresent, ..ReadOptions::default() };
    let batches = batches();
    for compression in [None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)] {
        let bytes = file_bytes(&batches, compression);
        assert_complete(&read_as("e.arrow", &bytes, &options).unwrap());
    }
    let stream = stream_bytes(&batches);
    assert_complete(&read_as("e.arrows", &stream, &options).unwrap());
    let packed = zstd::encode_all(stream.as_slice(), 1).unwrap();
    assert_complete(&read_as("e.arrows.zst", &packed, &options).unwrap());
    // A stream may end without its end mark.
    assert_complete(&read_as("e.arrows", &stream[..stream.len() - 8], &options).unwrap());
}

/// Options by which an Arrow file is read in pieces of 128 KiB.
fn small() -> ReadOptions {
    let limits = Limits { memory_bytes_max: Some(8 << 20), ..Limits::default() };
    let scratch = vec![std::env::temp_dir()];
    ReadOptions { limits, scratch, threads: 2, ..ReadOptions::default() }
}

/// Edges of a file from a column to column `b`, by their names, with weights.
fn named(bytes: &[u8], source: &str, options: &ReadOptions) -> Vec<(String, String, f64)> {
    let [source, target] = [source, "b"].map(|name| Some(ColumnRef::Name(name.to_owned())));
    let options = ReadOptions {
        source,
        target,
        weight: WeightChoice::Column(ColumnRef::Name("weight".to_owned())),
        ids: IdKind::Names,
        ..options.clone()
    };
    let input = read_as("e.arrow", bytes, &options).unwrap();
    let IdMap::Names(names) = &input.ids else { panic!("{:?}", input.ids) };
    let names: Vec<String> = names.iter().map(str::to_owned).collect();
    let mut all = Vec::new();
    for part in 0..input.edges.parts() {
        let mut take = |batch: welter_model::edges::Batch<'_>| {
            let rows = batch.pairs.iter().zip(batch.weights.unwrap());
            all.extend(rows.map(|([source, target], weight)| {
                let [source, target] = [source, target].map(|at| names[*at as usize].clone());
                (source, target, *weight)
            }));
            true
        };
        input.edges.read(part, &mut take).unwrap();
    }
    all
}

#[test]
fn large_batches_are_read_by_pieces() {
    let weighted = ReadOptions { weight: WeightChoice::IfPresent, ..small() };
    assert_complete(&read_as("e.arrow", &file_bytes(&batches(), None), &weighted).unwrap());
    assert_complete(&read_as("e.arrows", &stream_bytes(&batches()), &weighted).unwrap());
    assert_complete(&read_as("e.arrow", &without_stream(&batches()), &weighted).unwrap());
    // All shapes of columns, of which some are not read, with nulls in one that is not.
    let rows = 0..60_003_u32;
    let name = |row: u32| "n".repeat(1 + row as usize % 5 * usize::from(row % 900 < 30) * 20);
    let names =
        |shift: u32| rows.clone().map(move |row| format!("{}{}", name(row), row / 7 + shift));
    let gaps = rows.clone().map(|row| (row % 3 > 0).then_some(row));
    let nested = arrow_array::StructArray::from(vec![(
        Arc::new(arrow_schema::Field::new("in", arrow_schema::DataType::Utf8, false)),
        Arc::new(StringArray::from_iter_values(names(3))) as ArrayRef,
    )]);
    let words = rows.clone().map(|row| if row % 2 > 0 { "odd" } else { "even" });
    let coded: DictionaryArray<Int32Type> = words.collect();
    let weights = Float32Array::from_iter_values(rows.clone().map(|row| row as f32 / 4.0));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("gaps", Arc::new(gaps.collect::<UInt32Array>())),
        ("nested", Arc::new(nested)),
        ("a", Arc::new(StringArray::from_iter_values(names(0)))),
        ("views", Arc::new(arrow_array::StringViewArray::from_iter_values(names(1)))),
        ("b", Arc::new(LargeStringArray::from_iter_values(names(2)))),
        ("parity", Arc::new(coded)),
        ("weight", Arc::new(weights)),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let bytes = file_bytes(&[batch], None);
    for source in ["a", "parity"] {
        let whole = named(&bytes, source, &ReadOptions::default());
        assert_eq!(whole.len(), rows.len());
        assert!(named(&bytes, source, &small()) == whole, "{source}");
    }
    // A null is found in its row, whichever piece that is in.
    let nulls = rows.clone().map(|row| (row != 50_001).then_some(row));
    let column: ArrayRef = Arc::new(nulls.collect::<UInt32Array>());
    let batch = RecordBatch::try_from_iter(vec![("a", Arc::clone(&column)), ("b", column)]);
    let error = read_as("e.arrow", &file_bytes(&[batch.unwrap()], None), &small()).err().unwrap();
    assert!(error.to_string().contains("row 50002: "), "{error}");
}

#[test]
fn batches_that_cannot_be_cut_and_do_not_fit_are_refused() {
    let batches = batches();
    for (name, bytes) in [
        ("e.arrow", file_bytes(&batches, Some(CompressionType::LZ4_FRAME))),
        ("e.arrows.zst", zstd::encode_all(stream_bytes(&batches).as_slice(), 1).unwrap()),
    ] {
        let error = read_as(name, &bytes, &small()).err().unwrap();
        assert_eq!(error.kind(), FailureKind::Budget, "{error}");
        assert!(error.to_string().contains("a batch of 200000 rows takes "), "{error}");
    }
    let weighted = ReadOptions { weight: WeightChoice::IfPresent, ..small() };
    let cut: Vec<_> = (0..4).map(|part| batches[2].slice(part * 50_000, 50_000)).collect();
    let rows = [&batches[..2], &cut[..], &batches[3..]].concat();
    for compression in [CompressionType::LZ4_FRAME, CompressionType::ZSTD] {
        let bytes = file_bytes(&rows, Some(compression));
        assert_complete(&read_as("e.arrow", &bytes, &weighted).unwrap());
    }
}

/// Flipped bytes of metadata and bodies are an error or another graph, and never a panic.
#[test]
fn damaged_batches_that_are_cut_end_in_an_error() {
    let bytes = file_bytes(&batches()[2..3], None);
    for at in (0..bytes.len()).step_by(bytes.len() / 40).chain((200..900).step_by(9)) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x81;
        if let Err(error) = read_as("e.arrow", &damaged, &small()) {
            assert!(matches!(error.kind(), FailureKind::Input | FailureKind::Budget), "{error}");
        }
    }
}

#[test]
fn rows_are_counted_without_reading_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("e.arrow");
    fs::write(&path, file_bytes(&batches(), None)).unwrap();
    let found = estimate(&[path.to_str().unwrap().to_owned()], &ReadOptions::default()).unwrap();
    assert_eq!((found.edges, found.exact), (Some(ROWS as u64), true));
}

#[test]
fn dictionaries_may_change_on_the_way() {
    let bytes = stream_bytes(&[coded(&["x", "y", "x"]), coded(&["z", "x"])]);
    assert_names(&bytes, ["x", "y", "z"]);
}

#[test]
fn dictionaries_may_grow_on_the_way() {
    let words = ["x", "y", "z"].map(|word| word.repeat(1_000));
    let [x, y, z] = words.each_ref().map(String::as_str);
    let batches = [coded(&[x, y, x]), coded_by(&[x, y, z], &[2, 0])];
    let options = IpcWriteOptions::default().with_dictionary_handling(DictionaryHandling::Delta);
    let schema = batches[0].schema();
    let mut writer = StreamWriter::try_new_with_options(Vec::new(), &schema, options).unwrap();
    for batch in &batches {
        writer.write(batch).unwrap();
    }
    let bytes = writer.into_inner().unwrap();
    assert_names(&bytes, [x, y, z]);
    // The second batch has but the value that is new, and not all of them again.
    assert!(bytes.len() + 2_000 <= stream_bytes(&batches).len());
}

/// Two columns of the same words, by a dictionary in the order of their first appearance.
fn coded(words: &[&str]) -> RecordBatch {
    let coded: DictionaryArray<Int32Type> = words.iter().copied().collect();
    of_two(Arc::new(coded))
}

/// Two columns of the same words, by this dictionary.
fn coded_by(dictionary: &[&str], keys: &[i32]) -> RecordBatch {
    let values = StringArray::from_iter_values(dictionary);
    let keys = Int32Array::from_iter_values(keys.iter().copied());
    of_two(Arc::new(DictionaryArray::new(keys, Arc::new(values))))
}

fn of_two(column: ArrayRef) -> RecordBatch {
    RecordBatch::try_from_iter(vec![("a", Arc::clone(&column)), ("b", column)]).unwrap()
}

/// Reads a stream of loops at the first, second, first, third and first of these names.
fn assert_names(bytes: &[u8], expected: [&str; 3]) {
    let input = read_as("e.arrows", bytes, &ReadOptions::default()).unwrap();
    let IdMap::Names(names) = &input.ids else { panic!("{:?}", input.ids) };
    assert_eq!(names.iter().collect::<Vec<_>>(), expected);
    let mut pairs = Vec::new();
    for part in 0..input.edges.parts() {
        let mut take = |batch: welter_model::edges::Batch<'_>| {
            pairs.extend_from_slice(batch.pairs);
            true
        };
        input.edges.read(part, &mut take).unwrap();
    }
    assert_eq!(pairs, [0, 1, 0, 2, 0].map(|slot| [slot, slot]));
}

#[test]
fn files_cut_anywhere_are_refused() {
    let bytes = file_bytes(&batches()[..1], None);
    for end in (0..bytes.len()).step_by(7) {
        let error = read_as("e.arrow", &bytes[..end], &ReadOptions::default()).err().unwrap();
        assert_eq!(error.kind(), FailureKind::Input, "{error}");
        assert!(!error.to_string().ends_with('\n'), "{error}");
    }
    let stream = stream_bytes(&batches()[..1]);
    let error = read_as("e.arrows", &stream[..stream.len() - 50], &ReadOptions::default());
    let error = error.err().unwrap().to_string();
    assert!(error.contains("found the end of the file"), "{error}");
}

#[test]
fn lengths_that_are_not_there_cost_nothing() {
    let hostile: [&[u8]; 5] = [
        b"ARROW1\0\0\xff\xff\xff\xff\xff\xff\xff\x7f",
        b"\xff\xff\xff\xff\x00\x00\x00\x03",
        b"ARROW1\0\0",
        b"ARROW1",
        b"ARROW1\0\0\x20\0\0\0aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    ];
    for bytes in hostile {
        let error = read_as("e.arrow", bytes, &ReadOptions::default()).err().unwrap();
        assert_eq!(error.kind(), FailureKind::Input, "{error}");
    }
}

#[test]
fn bombs_in_buffers_are_refused() {
    let zeros: ArrayRef = Arc::new(UInt64Array::from_value(0, 20_000_000));
    let batch = RecordBatch::try_from_iter(vec![("a", Arc::clone(&zeros)), ("b", zeros)]).unwrap();
    let bytes = file_bytes(&[batch], Some(CompressionType::ZSTD));
    assert!(bytes.len() < 1 << 20);
    let error = read_as("e.arrow", &bytes, &ReadOptions::default()).err().unwrap();
    assert!(error.to_string().contains("200 times its size"), "{error}");
}

/// Bytes of a file without a stream: messages are moved apart, and the footer says where to.
fn without_stream(batches: &[RecordBatch]) -> Vec<u8> {
    let whole = file_bytes(batches, None);
    let end = whole.len() - 10;
    let length = i32::from_le_bytes(whole[end..end + 4].try_into().unwrap()) as usize;
    let mut footer = whole[end - length..end].to_vec();
    let mut bytes = b"ARROW1\0\0no stream in this file".to_vec();
    let found = arrow_ipc::root_as_footer(&whole[end - length..end]).unwrap();
    let listed = [found.dictionaries(), found.recordBatches()];
    for block in listed.into_iter().flatten().flatten() {
        let (from, size) = (block.offset() as usize, block.metaDataLength() as usize);
        let size = size + block.bodyLength() as usize;
        bytes.resize(bytes.len().next_multiple_of(64), 7);
        let moved = block.offset().to_le_bytes();
        let place = footer.windows(8).position(|window| window == moved).unwrap();
        footer[place..place + 8].copy_from_slice(&(bytes.len() as i64).to_le_bytes());
        bytes.extend_from_slice(&whole[from..from + size]);
    }
    bytes.extend_from_slice(&footer);
    bytes.extend_from_slice(&whole[end..]);
    bytes
}

#[test]
fn files_are_read_by_their_footer() {
    let options = ReadOptions { weight: WeightChoice::IfPresent, ..ReadOptions::default() };
    let bytes = without_stream(&batches());
    assert_complete(&read_as("e.arrow", &bytes, &options).unwrap());
    assert_complete(&read_as("named.otherwise", &bytes, &options).unwrap());
    let coded: DictionaryArray<Int32Type> = ["x", "y", "x"].into_iter().collect();
    let column: ArrayRef = Arc::new(coded);
    let batch = RecordBatch::try_from_iter(vec![("a", Arc::clone(&column)), ("b", column)]);
    let input = read_as("d.arrow", &without_stream(&[batch.unwrap()]), &options).unwrap();
    assert_eq!(input.summary.edges, 3);
    // Through a pipe there is no end to begin with.
    let packed = zstd::encode_all(bytes.as_slice(), 1).unwrap();
    let error = read_as("e.arrow.zst", &packed, &options).err().unwrap();
    assert!(error.to_string().contains("holds no stream"), "{error}");
    let whole = zstd::encode_all(file_bytes(&batches(), None).as_slice(), 1).unwrap();
    assert_complete(&read_as("e.arrow.zst", &whole, &options).unwrap());
}

#[test]
fn footers_that_list_a_message_twice_are_refused() {
    let bytes = file_bytes(&batches()[2..], None);
    let end = bytes.len() - 10;
    let length = i32::from_le_bytes(bytes[end..end + 4].try_into().unwrap()) as usize;
    let found = arrow_ipc::root_as_footer(&bytes[end - length..end]).unwrap();
    let first = *found.recordBatches().unwrap().get(0);
    let second = *found.recordBatches().unwrap().get(1);
    let mut changed = bytes.clone();
    let at = changed.windows(24).rposition(|window| window == second.0).unwrap();
    changed[at..at + 24].copy_from_slice(&first.0);
    let error = read_as("e.arrow", &changed, &ReadOptions::default()).err().unwrap();
    assert!(error.to_string().contains("over one another"), "{error}");
    let mut changed = bytes;
    changed[at + 16..at + 24].copy_from_slice(&i64::MAX.to_le_bytes());
    let error = read_as("e.arrow", &changed, &ReadOptions::default()).err().unwrap();
    assert!(error.to_string().contains("outside of the file"), "{error}");
}

#[test]
fn a_column_of_directions_is_looked_at_in_all_batches() {
    let coded = |words: Vec<&str>| -> ArrayRef {
        let codes: DictionaryArray<Int32Type> = words.into_iter().collect();
        Arc::new(codes)
    };
    let table = |words: Vec<&str>| {
        let ids = |shift: i32| -> ArrayRef {
            Arc::new(Int32Array::from_iter_values((0..words.len() as i32).map(|row| row + shift)))
        };
        let (source, target) = (ids(0), ids(1));
        let columns = vec![("type", coded(words)), ("src", source), ("dst", target)];
        RecordBatch::try_from_iter(columns).unwrap()
    };
    let whole = table(vec!["undirected"; 5]);
    let mixed = table(vec!["undirected", "undirected", "undirected", "directed", "undirected"]);
    let empty = whole.slice(0, 0);
    for (name, bytes) in [
        ("e.arrow", file_bytes(&[empty.clone(), whole.clone()], None)),
        ("e.arrows", stream_bytes(&[empty.clone(), whole])),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(name);
        fs::write(&path, &bytes).unwrap();
        let input = read_as(name, &bytes, &ReadOptions::default()).unwrap();
        assert_eq!(input.summary.undirected, Some(true));
        let inputs = [path.to_str().unwrap().to_owned()];
        let found = estimate(&inputs, &ReadOptions::default()).unwrap();
        assert_eq!((found.edges, found.undirected), (Some(5), Some(true)));
    }
    for batches in [vec![mixed.clone()], vec![mixed.slice(0, 3), mixed.slice(3, 2)]] {
        let bytes = file_bytes(&batches, None);
        let error = read_as("e.arrow", &bytes, &ReadOptions::default()).err().unwrap();
        assert!(error.to_string().contains("found \"directed\""), "{error}");
        let options = ReadOptions { undirected: Some(true), ..ReadOptions::default() };
        assert!(read_as("e.arrow", &bytes, &options).is_ok());
    }
}
