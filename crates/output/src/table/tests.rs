//! Tables written in every format and read back by independent means.

use std::fs::{self, File};
use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use welter_model::edges::StreamError;
use welter_model::ids::Names;
use welter_model::table::{Column, ColumnData, NO_VERTEX, VertexColumn};

use super::*;
use welter_progress::FailureKind;

fn column(name: &str, data: ColumnData) -> Column {
    Column { name: name.to_owned(), data }
}

fn small() -> Table {
    let names: Names = ["a,b", "libc6", "ä\"x\""].into_iter().collect();
    Table {
        vertices: VertexColumn::Names(names),
        columns: vec![
            column("rank", ColumnData::F64(vec![0.1, f64::NAN, 1e-7])),
            column("label", ColumnData::U32(vec![7, 0, u32::MAX])),
            column("delta", ColumnData::I64(vec![-1, i64::MIN, 3])),
        ],
    }
}

fn large(rows: usize) -> Table {
    Table {
        vertices: VertexColumn::Integers((0..rows as u64).map(|row| row * 3).collect()),
        columns: vec![
            column("rank", ColumnData::F32((0..rows).map(|row| row as f32 / 7.0).collect())),
            column("size", ColumnData::U64((0..rows as u64).map(|row| row * row).collect())),
        ],
    }
}

/// Large table with as many columns as a format has a place for.
fn large_for(format: TableFormat, rows: usize) -> Table {
    let mut table = large(rows);
    if format == TableFormat::Ldbc {
        table.columns.truncate(1);
    }
    table
}

/// A path of three vertices with these ids, and one that it does not reach.
fn tree(vertices: VertexColumn) -> Table {
    let parents = ColumnData::Vertices(vec![0, 0, NO_VERTEX, 1]);
    let depths = ColumnData::I64(vec![0, 1, -1, 2]);
    Table { vertices, columns: vec![column("depth", depths), column("parent", parents)] }
}

fn trees() -> [Table; 3] {
    let names: Names = ["a", "b,c", "d", "libc6"].into_iter().collect();
    [
        tree(VertexColumn::Range(5..9)),
        tree(VertexColumn::Integers(vec![3, 70, 1 << 40, u64::MAX - 1])),
        tree(VertexColumn::Names(names)),
    ]
}

/// Columns whose rows are edges.
#[derive(Clone, Debug)]
struct List(Vec<Column>);

impl Columns for List {
    fn part(&self, rows: Range<usize>) -> Result<Vec<Column>, StreamError> {
        self.0.part(rows)
    }

    fn listed(&self) -> Option<usize> {
        self.0.first().map(|column| column.data.len())
    }

    fn check(&self, rows: usize) -> Result<(), String> {
        self.0.iter().try_for_each(|column| column.check(rows, usize::MAX))
    }
}

fn list(vertices: VertexColumn) -> Table<List> {
    let columns = vec![
        column("source", ColumnData::Vertices(vec![0, 2])),
        column("target", ColumnData::Vertices(vec![3, 1])),
        column("weight", ColumnData::F64(vec![0.5, 2.0])),
    ];
    Table { vertices, columns: List(columns) }
}

fn bytes(table: &Table<impl Columns>, format: TableFormat, threads: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_table_to(table, &mut bytes, "out", format, threads, &Progress::new()).unwrap();
    bytes
}

#[test]
fn text_has_a_header_and_quotes_names() {
    let text = String::from_utf8(bytes(&small(), TableFormat::Csv, 1)).unwrap();
    let expected = "vertex,rank,label,delta\n\"a,b\",0.1,7,-1\n\
        libc6,NaN,0,-9223372036854775808\n\"ä\"\"x\"\"\",1e-7,4294967295,3\n";
    assert_eq!(text, expected);
    let text = String::from_utf8(bytes(&small(), TableFormat::Tsv, 1)).unwrap();
    assert!(text.starts_with("vertex\trank\tlabel\tdelta\na,b\t0.1\t"), "{text}");
}

#[test]
fn outputs_of_graphalytics_are_a_vertex_and_a_value_a_line() {
    let text = |data| {
        let vertices = VertexColumn::Integers(vec![3, 70, u64::MAX - 1]);
        let table = Table { vertices, columns: vec![column("value", data)] };
        String::from_utf8(bytes(&table, TableFormat::Ldbc, 2)).unwrap()
    };
    let last = u64::MAX - 1;
    let depths = text(ColumnData::I64(vec![0, -1, 2]));
    assert_eq!(depths, format!("3 0\n70 9223372036854775807\n{last} 2\n"));
    let distances = text(ColumnData::F64(vec![0.0, f64::INFINITY, 1.5]));
    assert_eq!(distances, format!("3 0.0\n70 Infinity\n{last} 1.5\n"));
    assert_eq!(text(ColumnData::F32(vec![f32::INFINITY; 3])).matches("Infinity").count(), 3);
    let labels = text(ColumnData::Vertices(vec![0, 0, 2]));
    assert_eq!(labels, format!("3 3\n70 3\n{last} {last}\n"));
    for table in [small(), tree(VertexColumn::Range(5..9))] {
        let mut sink = Vec::new();
        let written =
            write_table_to(&table, &mut sink, "out", TableFormat::Ldbc, 1, &Progress::new());
        assert!(matches!(written, Err(OutputError::Unfit { .. })) && sink.is_empty());
    }
    let mut names = small();
    names.columns.truncate(1);
    let view = View::of(&names, "out").unwrap();
    assert!(check(&view, TableFormat::Ldbc).unwrap_err().to_string().contains("found names"));
}

#[test]
fn vertices_are_written_as_their_ids() {
    let text = |table| String::from_utf8(bytes(table, TableFormat::Csv, 1)).unwrap();
    let [range, integers, names] = trees();
    assert_eq!(text(&range), "vertex,depth,parent\n5,0,5\n6,1,5\n7,-1,\n8,2,6\n");
    let expected = "vertex,depth,parent\n3,0,3\n70,1,3\n1099511627776,-1,\n\
        18446744073709551614,2,70\n";
    assert_eq!(text(&integers), expected);
    assert_eq!(text(&names), "vertex,depth,parent\na,0,a\n\"b,c\",1,a\nd,-1,\nlibc6,2,\"b,c\"\n");
}

#[test]
fn no_vertex_is_a_null_in_parquet_and_arrow() {
    for table in trees() {
        for batches in [
            parquet_batches(&bytes(&table, TableFormat::Parquet, 1)),
            arrow_batches(&bytes(&table, TableFormat::Arrow, 1)),
        ] {
            let (ids, parents) = (batches[0].column(0), batches[0].column(2));
            assert_eq!(ids.data_type(), parents.data_type());
            assert!((0..4).all(|row| parents.is_null(row) == (row == 2)));
            for (row, parent) in [(0, 0), (1, 0), (3, 1)] {
                assert_eq!(parents.slice(row, 1).as_ref(), ids.slice(parent, 1).as_ref());
            }
            assert!(batches[0].schema().field(2).is_nullable());
        }
    }
}

#[test]
fn npy_has_the_largest_number_or_no_characters_for_no_vertex() {
    let [range, integers, names] = trees();
    for (table, ids) in [(range, [5, 5, u64::MAX, 6]), (integers, [3, 3, u64::MAX, 70])] {
        let file = bytes(&table, TableFormat::Npy, 1);
        assert!(String::from_utf8_lossy(&file).contains("('depth', '<i8'), ('parent', '<u8'), "));
        for (record, id) in file[file.len() - 4 * 24..].chunks_exact(24).zip(ids) {
            assert_eq!(record[16..], id.to_le_bytes());
        }
    }
    let file = bytes(&names, TableFormat::Npy, 1);
    assert!(String::from_utf8_lossy(&file).contains("('depth', '<i8'), ('parent', '<U5'), "));
    let parents = file[file.len() - 4 * 48..].chunks_exact(48).map(|record| {
        let characters = record[28..].chunks_exact(4).map(|bytes| char::from(bytes[0]));
        characters.filter(|character| *character != '\0').collect::<String>()
    });
    assert_eq!(parents.collect::<Vec<_>>(), ["a", "a", "", "b,c"]);
}

#[test]
fn vertices_that_cannot_be_told_or_do_not_exist_are_refused() {
    let refuse = |table: &Table, format| {
        let mut sink = Vec::new();
        let error = write_table_to(table, &mut sink, "out", format, 1, &Progress::new());
        let error = error.unwrap_err();
        assert_eq!((error.kind(), sink.len()), (FailureKind::Output, 0));
        error.to_string()
    };
    let largest = tree(VertexColumn::Integers(vec![1, 2, 3, u64::MAX]));
    assert!(refuse(&largest, TableFormat::Npy).contains("\"parent\" npy has 1844674407370955"));
    assert!(!bytes(&largest, TableFormat::Parquet, 1).is_empty());
    let mut wrong = tree(VertexColumn::Range(0..4));
    wrong.columns[1].data = ColumnData::Vertices(vec![0, 1, 4, 2]);
    for format in [TableFormat::Csv, TableFormat::Npy, TableFormat::Arrow] {
        assert!(refuse(&wrong, format).contains("vertex number 4 of 4 vertices"));
    }
}

#[test]
fn bytes_do_not_depend_on_threads() {
    for (_, format) in FORMATS {
        let table = large_for(*format, 100_000);
        let one = bytes(&table, *format, 1);
        for threads in [2, 7] {
            assert!(one == bytes(&table, *format, threads), "{format} with {threads} threads");
        }
    }
}

#[test]
fn text_reads_back_bit_for_bit() {
    let table = large(100_000);
    let text = String::from_utf8(bytes(&table, TableFormat::Csv, 3)).unwrap();
    let ColumnData::F32(ranks) = &table.columns[0].data else { unreachable!() };
    for (row, line) in text.lines().skip(1).enumerate() {
        let fields: Vec<_> = line.split(',').collect();
        assert_eq!(fields[0].parse::<usize>().unwrap(), 3 * row);
        assert_eq!(fields[1].parse::<f32>().unwrap().to_bits(), ranks[row].to_bits());
        assert_eq!(fields[2].parse::<usize>().unwrap(), row * row);
    }
    assert_eq!(text.lines().count(), 100_001);
}

#[test]
fn npy_has_a_header_that_numpy_reads_and_packed_records() {
    let file = bytes(&large(30_000), TableFormat::Npy, 2);
    assert_eq!(&file[..8], b"\x93NUMPY\x01\x00");
    let length = usize::from(u16::from_le_bytes([file[8], file[9]]));
    assert_eq!((10 + length) % 64, 0);
    let header = std::str::from_utf8(&file[10..10 + length]).unwrap();
    let expected = "{'descr': [('vertex', '<u8'), ('rank', '<f4'), ('size', '<u8'), ], \
        'fortran_order': False, 'shape': (30000,), }";
    assert_eq!(header.trim_end(), expected);
    let records = &file[10 + length..];
    assert_eq!(records.len(), 30_000 * 20);
    for (row, record) in records.chunks_exact(20).enumerate() {
        assert_eq!(record[..8], (3 * row as u64).to_le_bytes());
        assert_eq!(record[8..12], (row as f32 / 7.0).to_le_bytes());
        assert_eq!(record[12..], (row as u64 * row as u64).to_le_bytes());
    }
}

#[test]
fn npy_pads_names_to_the_longest() {
    let file = bytes(&small(), TableFormat::Npy, 1);
    let header = String::from_utf8_lossy(&file[10..]);
    assert!(header.starts_with("{'descr': [('vertex', '<U5'), ('rank', '<f8'), "), "{header}");
    let record = &file[file.len() - 3 * 40..][..40];
    let characters: Vec<u32> = record[..20]
        .chunks_exact(4)
        .map(|bytes| u32::from_le_bytes(bytes.try_into().unwrap()))
        .collect();
    assert_eq!(characters, ["a,b".chars().map(u32::from).collect::<Vec<_>>(), vec![0; 2]].concat());
}

#[test]
fn names_that_npy_cannot_hold_are_refused() {
    let refuse = |names: Vec<String>| {
        let vertices = VertexColumn::Names(names.iter().map(String::as_str).collect());
        let table = Table { vertices, columns: Vec::new() };
        let mut sink = Vec::new();
        let format = TableFormat::Npy;
        let error = write_table_to(&table, &mut sink, "out", format, 1, &Progress::new());
        let error = error.unwrap_err();
        assert_eq!((error.kind(), sink.len()), (FailureKind::Output, 0));
        error.to_string()
    };
    assert!(refuse(vec!["x".repeat(1_025)]).contains("1025 characters"));
    assert!(refuse(vec!["x\0".to_owned()]).contains("zero character"));
    let mut names: Vec<String> = (0..300_000).map(|index| format!("{index:06}")).collect();
    names.push("x".repeat(1_000));
    assert!(refuse(names).contains("as wide as"));
}

fn parquet_batches(file: &[u8]) -> Vec<RecordBatch> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(file_of(file)).unwrap();
    builder.build().unwrap().map(Result::unwrap).collect()
}

fn file_of(file: &[u8]) -> File {
    use std::io::{Seek, Write};
    let mut temporary = tempfile::tempfile().unwrap();
    temporary.write_all(file).unwrap();
    temporary.rewind().unwrap();
    temporary
}

fn arrow_batches(file: &[u8]) -> Vec<RecordBatch> {
    let reader = arrow_ipc::reader::FileReader::try_new(file_of(file), None).unwrap();
    reader.map(Result::unwrap).collect()
}

#[test]
fn parquet_and_arrow_read_back() {
    let rows = BATCH + 5_000;
    let table = large(rows);
    for batches in [
        parquet_batches(&bytes(&table, TableFormat::Parquet, 2)),
        arrow_batches(&bytes(&table, TableFormat::Arrow, 2)),
    ] {
        let mut row = 0;
        for batch in batches {
            assert_eq!(batch.schema().field(0).name(), "vertex");
            let ids = batch.column(0).as_primitive::<UInt64Type>();
            let ranks = batch.column(1).as_primitive::<Float32Type>();
            assert_eq!(batch.num_columns(), 3);
            for (id, rank) in ids.values().iter().zip(ranks.values()) {
                assert_eq!(*id, 3 * row as u64);
                assert_eq!(rank.to_bits(), (row as f32 / 7.0).to_bits());
                row += 1;
            }
        }
        assert_eq!(row, rows);
    }
}

const BATCH: usize = crate::batches::BATCH_ROWS;

#[test]
fn names_read_back_from_parquet_and_arrow() {
    let expected = ["a,b", "libc6", "ä\"x\""];
    let batches = parquet_batches(&bytes(&small(), TableFormat::Parquet, 1));
    let names = batches[0].column(0).as_string::<i32>();
    assert!(names.iter().eq(expected.map(Some)));
    let batches = arrow_batches(&bytes(&small(), TableFormat::Arrow, 1));
    let names = batches[0].column(0).as_string::<i64>();
    assert!(names.iter().eq(expected.map(Some)));
}

#[test]
fn tables_without_rows_are_files_of_their_format() {
    let mut table = large(0);
    assert!(parquet_batches(&bytes(&table, TableFormat::Parquet, 2)).is_empty());
    assert!(arrow_batches(&bytes(&table, TableFormat::Arrow, 2)).is_empty());
    assert_eq!(bytes(&table, TableFormat::Npy, 2).len() % 64, 0);
    table.columns.clear();
    assert_eq!(bytes(&table, TableFormat::Csv, 2), b"vertex\n");
}

#[test]
fn compressed_text_unpacks_to_the_same() {
    let (usual, progress) = (WriteRequests::default(), Progress::new());
    let directory = tempfile::tempdir().unwrap();
    let table = large(100_000);
    let plain = bytes(&table, TableFormat::Csv, 2);
    let path = directory.path().join("out.csv.zst");
    write_table(&table, &path, None, usual, 2, &progress).unwrap();
    assert!(zstd::decode_all(File::open(&path).unwrap()).unwrap() == plain);
    let path = directory.path().join("out.csv.gz");
    write_table(&table, &path, None, usual, 2, &progress).unwrap();
    let mut unpacked = Vec::new();
    let mut decoder = flate2::read::MultiGzDecoder::new(File::open(&path).unwrap());
    std::io::Read::read_to_end(&mut decoder, &mut unpacked).unwrap();
    assert!(unpacked == plain);
}

#[test]
fn nothing_is_left_behind_by_what_fails() {
    let directory = tempfile::tempdir().unwrap();
    let entries = || fs::read_dir(directory.path()).unwrap().count();
    let write = |name: &str, table: &Table, progress: &Progress| {
        let (path, usual) = (directory.path().join(name), WriteRequests::default());
        write_table(table, &path, None, usual, 2, progress).unwrap_err()
    };
    let progress = Progress::new();
    assert_eq!(write("out", &small(), &progress).kind(), FailureKind::Usage);
    assert_eq!(write("out.xyz", &small(), &progress).kind(), FailureKind::Usage);
    assert_eq!(write("out.npy.gz", &small(), &progress).kind(), FailureKind::Usage);
    assert_eq!(write("no/out.csv", &small(), &progress).kind(), FailureKind::Output);
    let mut uneven = small();
    uneven.columns[1].data = ColumnData::U32(vec![1]);
    assert_eq!(write("out.csv", &uneven, &progress).kind(), FailureKind::Output);
    let mut twice = small();
    twice.columns[1].name = "rank".to_owned();
    assert_eq!(write("out.csv", &twice, &progress).kind(), FailureKind::Output);
    progress.cancel();
    for (name, format) in FORMATS {
        let error = write(&format!("out.{name}"), &large_for(*format, 100_000), &progress);
        assert_eq!(error.kind(), FailureKind::Cancelled, "{name}");
    }
    assert_eq!(entries(), 0);
}

/// A disk that is full after some bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.0 == 0 {
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        Ok(taken)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_an_error_wherever_it_happens() {
    for (_, format) in FORMATS {
        let table = large_for(*format, 70_000);
        let size = bytes(&table, *format, 1).len();
        for room in [0, 1, 100, size / 2, size - 1] {
            let mut sink = Full(room);
            let error = write_table_to(&table, &mut sink, "out", *format, 3, &Progress::new());
            let error = error.unwrap_err();
            assert_eq!(
                error.kind(),
                FailureKind::Storage,
                "{format} with room for {room} of {size} bytes"
            );
            assert!(error.to_string().starts_with("out: cannot write: "), "{error}");
        }
    }
}

#[test]
fn a_list_has_no_column_of_vertices() {
    let names: Names = ["a", "b,c", "d", "libc6"].into_iter().collect();
    let (named, numbered) = (list(VertexColumn::Names(names)), list(VertexColumn::Range(5..9)));
    let text = |table, format| String::from_utf8(bytes(table, format, 2)).unwrap();
    let expected = "source,target,weight\na,libc6,0.5\nd,\"b,c\",2.0\n";
    assert_eq!(text(&named, TableFormat::Csv), expected);
    assert_eq!(text(&numbered, TableFormat::Tsv), "source\ttarget\tweight\n5\t8\t0.5\n7\t6\t2.0\n");
    for table in [&named, &numbered] {
        let batch = parquet_batches(&bytes(table, TableFormat::Parquet, 1)).remove(0);
        let titles: Vec<_> = batch.schema().fields().iter().map(|f| f.name().clone()).collect();
        assert_eq!(titles, ["source", "target", "weight"]);
        assert_eq!(batch.num_rows(), 2);
    }
    let array = bytes(&numbered, TableFormat::Npy, 1);
    let record = |ends: [u64; 2], weight: f64| {
        [ends[0].to_le_bytes(), ends[1].to_le_bytes(), weight.to_le_bytes()].concat()
    };
    assert!(array.ends_with(&[record([5, 8], 0.5), record([7, 6], 2.0)].concat()));
    let wide = bytes(&named, TableFormat::Npy, 1);
    assert_eq!(wide.len() % 64, 2 * (2 * 5 * 4 + 8) % 64);
}
