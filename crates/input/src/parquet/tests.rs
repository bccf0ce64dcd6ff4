//! Parquet files, good and bad.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, UInt32Array};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, GzipLevel, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use welter_model::edges::EdgeStream;
use welter_model::ids::IdMap;
use welter_progress::{FailureKind, Progress};

use crate::{IdKind, Input, InputError, ReadOptions, WeightChoice, read};

fn written(batch: &RecordBatch, properties: WriterProperties) -> Vec<u8> {
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter(columns).unwrap()
}

fn integers(rows: u32) -> RecordBatch {
    batch(vec![
        ("note", Arc::new(StringArray::from_iter_values((0..rows).map(|row| row.to_string())))),
        ("src", Arc::new(UInt32Array::from_iter_values((0..rows).map(|row| row * 7 % 1_000)))),
        ("dst", Arc::new(Int64Array::from_iter_values((0..rows).map(|row| i64::from(row % 999))))),
        ("weight", Arc::new(Float64Array::from_iter_values((0..rows).map(f64::from)))),
    ])
}

fn properties(compression: Compression) -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_compression(compression)
        .set_max_row_group_row_count(Some(30_000))
        .set_data_page_size_limit(20_000)
}

fn file(directory: &Path, bytes: &[u8]) -> PathBuf {
    let path = directory.join("edges.parquet");
    fs::write(&path, bytes).unwrap();
    path
}

fn read_bytes(bytes: &[u8], options: &ReadOptions) -> Result<Input, InputError> {
    let directory = tempfile::tempdir().unwrap();
    let path = file(directory.path(), bytes);
    read(&[path.to_str().unwrap().to_owned()], options, &Progress::new())
}

fn edges(stream: &dyn EdgeStream) -> Vec<([u32; 2], f64)> {
    let mut all = Vec::new();
    for part in 0..stream.parts() {
        stream
            .read(part, &mut |batch| {
                let weight = |edge: usize| batch.weights.map_or(1.0, |weights| weights[edge]);
                all.extend(
                    batch.pairs.iter().enumerate().map(|(edge, pair)| (*pair, weight(edge))),
                );
                true
            })
            .unwrap();
    }
    all
}

fn expected(row: u32) -> ([u32; 2], f64) {
    ([row * 7 % 1_000, row % 999], f64::from(row))
}

#[test]
fn every_compression_and_encoding_is_read_in_order() {
    let options = ReadOptions { weight: WeightChoice::IfPresent, ..ReadOptions::default() };
    let table = integers(100_000);
    let zstd = Compression::ZSTD(ZstdLevel::default());
    let gzip = Compression::GZIP(GzipLevel::default());
    for compression in
        [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::LZ4_RAW, zstd, gzip]
    {
        let plain = properties(compression);
        let packed = properties(compression)
            .set_writer_version(parquet::file::properties::WriterVersion::PARQUET_2_0)
            .set_dictionary_enabled(false)
            .set_column_encoding("src".into(), Encoding::DELTA_BINARY_PACKED);
        for properties in [plain, packed] {
            let input = read_bytes(&written(&table, properties.build()), &options).unwrap();
            assert!(edges(&*input.edges).into_iter().eq((0..100_000).map(expected)));
            assert_eq!((input.edges.slots(), input.ids), (Some(1_000), IdMap::Same));
        }
    }
}

#[test]
fn names_are_read_by_dictionary_and_by_prefix() {
    let names: Vec<String> = (0..20_000).map(|row| format!("package-{:04}", row % 3_000)).collect();
    let column: ArrayRef = Arc::new(StringArray::from_iter_values(&names));
    let table = batch(vec![("a", Arc::clone(&column)), ("b", column)]);
    let coded = properties(Compression::SNAPPY);
    let prefixed = properties(Compression::SNAPPY)
        .set_dictionary_enabled(false)
        .set_encoding(Encoding::DELTA_BYTE_ARRAY);
    for properties in [coded, prefixed] {
        let input = read_bytes(&written(&table, properties.build()), &ReadOptions::default());
        let input = input.unwrap();
        let IdMap::Names(ids) = &input.ids else { panic!("{:?}", input.ids) };
        assert_eq!(ids.len(), 3_000);
        let read: Vec<_> = edges(&*input.edges);
        assert!(
            read.iter().zip(&names).all(|((pair, _), name)| {
                pair[0] == pair[1] && ids.get(pair[0] as usize) == name
            })
        );
        assert_eq!(read.len(), names.len());
    }
}

#[test]
fn bad_rows_are_errors_with_their_number() {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..100_000));
    let mut values: Vec<Option<i64>> = (0..100_000).map(Some).collect();
    values[70_000] = Some(-1);
    values[80_000] = None;
    let failure = |values: &[Option<i64>]| {
        let column: ArrayRef = Arc::new(Int64Array::from(values.to_vec()));
        let table = batch(vec![("a", Arc::clone(&ids)), ("b", column)]);
        let bytes = written(&table, properties(Compression::SNAPPY).build());
        let integers = ReadOptions { ids: IdKind::Integers, ..ReadOptions::default() };
        let error = read_bytes(&bytes, &integers).err().unwrap();
        assert_eq!(error.kind(), FailureKind::Input);
        error.to_string()
    };
    let message = failure(&values);
    assert!(
        message.contains("row 70001: expected a vertex id") && message.contains("found -1"),
        "{message}"
    );
    values[70_000] = Some(1);
    assert!(failure(&values).ends_with("row 80001: expected a vertex id, found a null"));
}

#[test]
fn wrong_types_and_no_rows_are_refused() {
    let column: ArrayRef = Arc::new(arrow_array::Date32Array::from(vec![1]));
    let table = batch(vec![("a", Arc::clone(&column)), ("b", column)]);
    let bytes = written(&table, WriterProperties::default());
    let error = read_bytes(&bytes, &ReadOptions::default()).err().unwrap().to_string();
    assert!(error.contains("column \"a\", found the type Date32"), "{error}");
    let bytes = written(&integers(0), WriterProperties::default());
    let error = read_bytes(&bytes, &ReadOptions::default()).err().unwrap().to_string();
    assert!(error.contains("expected edges, found none"), "{error}");
}

#[test]
fn what_unpacks_out_of_all_proportion_is_refused() {
    let rows = 40_000_000;
    let column: ArrayRef = Arc::new(Int64Array::from_value(7, rows));
    let table = batch(vec![("a", Arc::clone(&column)), ("b", column)]);
    let bytes = written(&table, WriterProperties::default());
    assert!(bytes.len() < 1 << 20, "{}", bytes.len());
    let error = read_bytes(&bytes, &ReadOptions::default()).err().unwrap();
    assert_eq!(error.kind(), FailureKind::Input);
    assert!(error.to_string().contains("200 times its size"), "{error}");
}

#[test]
fn files_cut_anywhere_are_refused() {
    let bytes = written(&integers(300), properties(Compression::SNAPPY).build());
    for end in (0..bytes.len()).step_by(13).chain([bytes.len() - 1]) {
        if let Err(error) = read_bytes(&bytes[..end], &ReadOptions::default()) {
            assert_eq!(error.kind(), FailureKind::Input, "{error}");
        } else {
            panic!("cut at {end}");
        }
    }
}

#[test]
fn negative_ids_are_names_where_the_footer_tells() {
    let ids = |ids: &[i64]| Arc::new(Int64Array::from(ids.to_vec())) as ArrayRef;
    let table = batch(vec![("a", ids(&[1, -5])), ("b", ids(&[2, 3]))]);
    let bytes = written(&table, properties(Compression::SNAPPY).build());
    let input = read_bytes(&bytes, &ReadOptions::default()).unwrap();
    let IdMap::Names(names) = &input.ids else { panic!("{:?}", input.ids) };
    assert_eq!(names.iter().collect::<Vec<_>>(), ["-5", "1", "2", "3"]);
    let reading = input.summary.readings[0].to_string();
    assert!(
        reading.contains("source is column 1 \"a\"") && reading.contains("ids are strings"),
        "{reading}"
    );
    let silent = properties(Compression::SNAPPY)
        .set_statistics_enabled(parquet::file::properties::EnabledStatistics::None);
    let error = read_bytes(&written(&table, silent.build()), &ReadOptions::default());
    let error = error.err().unwrap().to_string();
    assert!(error.contains("row 2: ") && error.contains("--ids strings"), "{error}");
}

#[test]
fn decimals_and_every_codec_are_read() {
    use arrow_array::{Decimal128Array, FixedSizeBinaryArray};
    use parquet::basic::BrotliLevel;
    let decimals = Decimal128Array::from(vec![7, 9]).with_precision_and_scale(38, 0).unwrap();
    let decimals: ArrayRef = Arc::new(decimals);
    let weights = Decimal128Array::from(vec![25, 50]).with_precision_and_scale(4, 2).unwrap();
    let table =
        batch(vec![("a", Arc::clone(&decimals)), ("b", decimals), ("weight", Arc::new(weights))]);
    let options = ReadOptions { weight: WeightChoice::IfPresent, ..ReadOptions::default() };
    for codec in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::BROTLI(BrotliLevel::default()),
        Compression::LZ4_RAW,
        Compression::LZ4,
        Compression::ZSTD(ZstdLevel::default()),
    ] {
        let input = read_bytes(&written(&table, properties(codec).build()), &options).unwrap();
        assert_eq!(edges(&*input.edges).iter().map(|edge| edge.1).collect::<Vec<_>>(), [0.25, 0.5]);
        assert_eq!(input.summary.edges, 2, "{codec:?}");
    }
    let uuids = FixedSizeBinaryArray::try_from_iter([[1_u8; 16], [2; 16]].iter()).unwrap();
    let uuids: ArrayRef = Arc::new(uuids);
    let table = batch(vec![("a", Arc::clone(&uuids)), ("b", uuids)]);
    let input = read_bytes(&written(&table, properties(Compression::SNAPPY).build()), &options);
    let input = input.unwrap();
    let IdMap::Names(names) = &input.ids else { panic!("{:?}", input.ids) };
    assert_eq!(names.get(0), "01010101-0101-0101-0101-010101010101");
    assert!(input.summary.notes[0].contains("ids are these as UUIDs"), "{:?}", input.summary.notes);
}

#[test]
fn columns_in_the_path_are_ends_by_their_names() {
    let ids = |ids: &[i64]| Arc::new(Int64Array::from(ids.to_vec())) as ArrayRef;
    let names = |names: &[&str]| Arc::new(StringArray::from(names.to_vec())) as ArrayRef;
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, table: &RecordBatch| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, written(table, WriterProperties::default())).unwrap();
    };
    let read = |name: &str, options: &ReadOptions| {
        read(&[folder.path().join(name)], options, &Progress::new())
    };
    put("t/src=1/p.parquet", &batch(vec![("dst", ids(&[2]))]));
    put("t/src=2/p.parquet", &batch(vec![("dst", ids(&[3, 4]))]));
    let input = read("t", &ReadOptions::default()).unwrap();
    let pairs: Vec<_> = edges(&*input.edges).into_iter().map(|edge| edge.0).collect();
    assert_eq!(pairs, [[1, 2], [2, 3], [2, 4]]);
    // Strings in the file make the integers of the path strings too.
    put("n/target=7/p.parquet", &batch(vec![("source", names(&["x"]))]));
    let input = read("n", &ReadOptions::default()).unwrap();
    let IdMap::Names(found) = &input.ids else { panic!("{:?}", input.ids) };
    assert_eq!(found.iter().collect::<Vec<_>>(), ["7", "x"]);
    put("w/weight=5/p.parquet", &batch(vec![("a", ids(&[1])), ("b", ids(&[2]))]));
    let options = ReadOptions { weight: WeightChoice::IfPresent, ..ReadOptions::default() };
    assert_eq!(edges(&*read("w", &options).unwrap().edges)[0].1.to_bits(), 5_f64.to_bits());
    // A column that is no end by its name is none.
    put("y/year=2024/p.parquet", &batch(vec![("a", ids(&[1])), ("b", ids(&[2]))]));
    let input = read("y", &options).unwrap();
    assert!(!input.summary.weighted && input.summary.edges == 1);
    put("z/year=2024/p.parquet", &batch(vec![("a", ids(&[1]))]));
    let error = read("z", &options).err().unwrap().to_string();
    assert!(error.contains("of which one stands in the path"), "{error}");
    put("m/src=__HIVE_DEFAULT_PARTITION__/p.parquet", &batch(vec![("dst", ids(&[2]))]));
    let options = ReadOptions { ids: IdKind::Names, ..ReadOptions::default() };
    let error = read("m", &options).err().unwrap().to_string();
    assert!(error.contains("\"src\" in the path, found a null"), "{error}");
    fs::write(folder.path().join("t/src=1/rows.csv"), "dst,weight\n1,2\n").unwrap();
    let error = read("t/src=1/rows.csv", &ReadOptions::default()).err().unwrap().to_string();
    assert!(error.contains("found \"src\" in the path"), "{error}");
}

#[test]
fn a_column_of_directions_is_looked_at_in_all_groups() {
    let rows = 70_000;
    let input_with = |odd: Option<usize>| {
        let word = |row| if Some(row) == odd { "Directed" } else { "Undirected" };
        let words = Arc::new(StringArray::from_iter_values((0..rows).map(word)));
        let ids = |shift: i64| -> ArrayRef {
            Arc::new(Int64Array::from_iter_values((0..rows as i64).map(|row| (row + shift) % 999)))
        };
        let table = batch(vec![("Type", words), ("Source", ids(0)), ("Target", ids(1))]);
        read_bytes(
            &written(&table, properties(Compression::SNAPPY).build()),
            &ReadOptions::default(),
        )
    };
    let summary = input_with(None).unwrap().summary;
    assert_eq!(summary.undirected, Some(true));
    assert!(summary.notes.iter().any(|note| note.contains("as the column \"Type\" says")));
    for odd in [7, 65_000] {
        let error = input_with(Some(odd)).err().unwrap().to_string();
        assert!(error.contains("expected \"Undirected\" in the column \"Type\""), "{error}");
        assert_eq!(error.contains("row 65001"), odd > 60_000, "{error}");
    }
}

#[test]
fn columns_of_other_types_are_not_read() {
    let ids = || -> ArrayRef { Arc::new(Int64Array::from_iter_values(0..3)) };
    let words: ArrayRef = Arc::new(StringArray::from(vec!["likes", "Directed", "knows"]));
    let table = batch(vec![("Source", ids()), ("Target", ids()), ("Type", words)]);
    let bytes = written(&table, WriterProperties::default());
    assert_eq!(read_bytes(&bytes, &ReadOptions::default()).unwrap().summary.undirected, None);
}
