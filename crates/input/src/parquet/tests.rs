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
use welter_progress::Progress;

use crate::{Input, InputError, ReadOptions, WeightChoice, read};

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
        let error = read_bytes(&bytes, &ReadOptions::default()).err().unwrap();
        assert_eq!(error.exit_code(), 65);
        error.to_string()
    };
    assert!(
        failure(&values)
            .ends_with("row 70001: expected a vertex id, which is never negative, found -1")
    );
    values[70_000] = Some(1);
    assert!(failure(&values).ends_with("row 80001: expected a vertex id, found a null"));
}

#[test]
fn wrong_types_and_no_rows_are_refused() {
    let column: ArrayRef = Arc::new(Float64Array::from(vec![1.0]));
    let table = batch(vec![("a", Arc::clone(&column)), ("b", column)]);
    let bytes = written(&table, WriterProperties::default());
    let error = read_bytes(&bytes, &ReadOptions::default()).err().unwrap().to_string();
    assert!(error.contains("column \"a\", found the type Float64"), "{error}");
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
    assert_eq!(error.exit_code(), 65);
    assert!(error.to_string().contains("200 times its size"), "{error}");
}

#[test]
fn files_cut_anywhere_are_refused() {
    let bytes = written(&integers(300), properties(Compression::SNAPPY).build());
    for end in (0..bytes.len()).step_by(13).chain([bytes.len() - 1]) {
        if let Err(error) = read_bytes(&bytes[..end], &ReadOptions::default()) {
            assert_eq!(error.exit_code(), 65, "{error}");
        } else {
            panic!("cut at {end}");
        }
    }
}
