//! Headers, footers and options that state what no file holds: refused with 65, in little memory,
//! whatever the format. Small files that do stand for large ones are the matter of `bombs`.
//!
//! Raw records, packed edges of Graph500, rows of text, adjacency lists, GML and their like state
//! no counts: there, an id of 2^60 is one id among others.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, ParquetMetaDataBuilder, ParquetMetaDataReader,
    ParquetMetaDataWriter,
};

use crate::sandbox::{Measured, Sandbox};

/// Resident memory that a refusal may take.
const PEAK_BYTES_MAX: u64 = 256 << 20;

/// Count that is stated.
const COUNT: u64 = 1 << 60;

/// Header with a count in it, and a row.
const HEADERS: &[(&str, &str, &str)] = &[
    ("mtx", "%%MatrixMarket matrix coordinate pattern general\n9 9 COUNT\n", "1 1\n"),
    ("mtx", "%%MatrixMarket matrix coordinate real general\nCOUNT COUNT 9\n", "1 1 1\n"),
    ("mtx", "%%MatrixMarket matrix coordinate real symmetric\nCOUNT COUNT COUNT\n", "1 1 1\n"),
    ("graph", "9 COUNT\n", "1 1 1\n"),
    ("graph", "COUNT 9\n", "1 1 1\n"),
    ("graph", "COUNT COUNT 11 COUNT\n", "1 1 1\n"),
    ("graph", "9 9 10 COUNT\n", "1 1 1\n"),
    ("gr", "p sp 9 COUNT\n", "a 1 1 1\n"),
    ("gr", "p sp COUNT COUNT\n", "a 1 1 1\n"),
    ("col", "p edge COUNT 9\n", "e 1 1\n"),
    ("tntp", "<NUMBER OF NODES> 9\n<NUMBER OF LINKS> COUNT\n<END OF METADATA>\n", "1 1;\n"),
    ("tntp", "<NUMBER OF NODES> COUNT\n<NUMBER OF LINKS> 9\n<END OF METADATA>\n", "1 1;\n"),
    ("net", "*Vertices 9\n", "*Arcs\n1 COUNT\n"),
    ("jlg", "COUNT,9,u,graph\n", "1,1\n"),
    ("jlg", "9,COUNT,u,graph\n", "1,1\n"),
    ("properties", WEBGRAPH, "nodes=COUNT\narcs=9\nwindowsize=7\nminintervallength=4\n"),
    ("properties", WEBGRAPH, "nodes=9\narcs=COUNT\nwindowsize=7\nminintervallength=4\n"),
    ("properties", WEBGRAPH, "nodes=9\narcs=9\nwindowsize=COUNT\nminintervallength=4\n"),
    ("properties", WEBGRAPH, "nodes=9\narcs=9\nwindowsize=7\nminintervallength=COUNT\n"),
    ("properties", LDBC, "graph.g.meta.vertices = COUNT\n"),
    ("properties", LDBC, "graph.g.meta.edges = COUNT\n"),
];

/// Properties whose lists are those of [`beside`].
const WEBGRAPH: &str = "graphclass=BVGraph\n";

/// Properties that lead to the files of [`beside`].
const LDBC: &str = "graph.g.vertex-file = g.v\ngraph.g.edge-file = g.e\n";

/// Files that know no counts, with ids that are as large.
const IDS: &[(&str, &str)] = &[
    ("txt", "COUNT 1\n"),
    ("adj", "COUNT 1 2\n3\n"),
    ("e", "COUNT 1 1\n"),
    ("gml", "graph [ node [ id COUNT ] node [ id 1 ] edge [ source COUNT target 1 ] ]\n"),
    ("net", "*Vertices COUNT\n*Arcs\n1 COUNT\n"),
    ("dot", "digraph { COUNT -> 1 }\n"),
    ("tgf", "COUNT\n1\n#\n1 COUNT\n"),
    ("json", "{\"nodes\": [COUNT, 1], \"links\": [{\"source\": COUNT, \"target\": 1}]}\n"),
    ("gexf", "<gexf><graph><nodes count=\"COUNT\"><node id=\"1\"/></nodes></graph></gexf>\n"),
    (
        "graphml",
        "<graphml><graph edgedefault=\"directed\" parse.nodes=\"COUNT\" parse.edges=\"COUNT\">\
         <node id=\"1\"/><edge source=\"1\" target=\"1\"/></graph></graphml>\n",
    ),
];

/// Runs the command on a file and holds it to be refused in little memory.
pub(crate) fn refused(sandbox: &Sandbox, name: &str) {
    let measured = frugal(sandbox, name);
    assert_eq!(measured.code, Some(65), "{name}: {}", measured.stderr);
    assert!(measured.stderr.starts_with("error: "), "{name}: {}", measured.stderr);
}

/// Runs the command on a file and holds it to little memory.
fn frugal(sandbox: &Sandbox, name: &str) -> Measured {
    let measured = sandbox.measured(&format!("run spmv {name} --threads 2"));
    let (stderr, peak) = (&measured.stderr, measured.peak_bytes);
    if std::env::var_os("WELTER_FIGURES").is_some() {
        let (mib, seconds) = (peak >> 20, measured.elapsed.as_secs_f64());
        eprintln!("{mib:4} MiB {seconds:.2} s  {}", stderr.lines().next().unwrap_or_default());
    }
    assert!(peak > 0 && peak < PEAK_BYTES_MAX, "{name} took {peak} bytes: {stderr}");
    measured
}

fn stated(text: &str) -> String {
    text.replace("COUNT", &COUNT.to_string())
}

/// Files that others lead to: a graph of one vertex and one edge.
fn beside(sandbox: &Sandbox) {
    sandbox.write("g.v", "1\n");
    sandbox.write("g.e", "1 1\n");
    sandbox.write("g.graph", [0xff; 100]);
}

#[test]
fn stated_counts_take_no_memory() {
    for (extension, header, row) in HEADERS {
        let sandbox = Sandbox::new();
        beside(&sandbox);
        let name = format!("g.{extension}");
        sandbox.write(&name, stated(header) + &stated(row));
        refused(&sandbox, &name);
    }
}

#[test]
fn ids_are_no_counts() {
    let sandbox = Sandbox::new();
    for (extension, text) in IDS {
        let name = format!("ids.{extension}");
        sandbox.write(&name, stated(text));
        let measured = frugal(&sandbox, &name);
        assert_eq!(measured.code, Some(0), "{name}: {}", measured.stderr);
    }
    // A list of vertices is a list of ids too.
    sandbox.write("listed.v", format!("1\n{COUNT}\n"));
    sandbox.write("listed.e", format!("1 {COUNT}\n"));
    assert_eq!(frugal(&sandbox, "listed.e").code, Some(0));
}

#[test]
fn options_that_state_counts() {
    let sandbox = Sandbox::new();
    sandbox.write("g.u32", [0; 8]);
    // Of more than there are slots for only those with edges have values.
    let most = frugal(&sandbox, &format!("g.u32 --vertices {COUNT}"));
    assert_eq!(most.code, Some(0), "{}", most.stderr);
    // That many vertices have a slot each, and these do not fit a small budget.
    let many = frugal(&sandbox, "g.u32 --vertices 4_000_000_000 --memory 1GiB");
    assert_eq!(many.code, Some(78), "{}", many.stderr);
}

const ROWS: u64 = 77_777;

fn table() -> RecordBatch {
    let column: ArrayRef = Arc::new(UInt64Array::from_iter_values(0..ROWS));
    RecordBatch::try_from_iter(["a", "b"].map(|name| (name, Arc::clone(&column)))).unwrap()
}

#[test]
fn arrow_messages() {
    let sandbox = Sandbox::new();
    let table = table();
    let mut file = FileWriter::try_new(Vec::new(), &table.schema()).unwrap();
    file.write(&table).unwrap();
    let mut stream = StreamWriter::try_new(Vec::new(), &table.schema()).unwrap();
    stream.write(&table).unwrap();
    let (file, stream) = (file.into_inner().unwrap(), stream.into_inner().unwrap());
    // Rows and values are stated as such; buffers, and in the file its blocks, in bytes.
    let claims = [ROWS, ROWS * 8, (ROWS * 8).next_multiple_of(64)];
    for (name, bytes) in [("g.arrow", file), ("g.arrows", stream)] {
        let places: Vec<usize> = (0..bytes.len() - 8)
            .filter(|at| claims.iter().any(|claim| bytes[*at..].starts_with(&claim.to_le_bytes())))
            .filter(|at| !bytes[..*at].ends_with(&(ROWS - 1).to_le_bytes()))
            .collect();
        assert!(places.len() >= 5, "{name}: {places:?}");
        let each = places.iter().map(|place| vec![*place]);
        for places in each.chain([places.clone()]) {
            let mut hostile = bytes.clone();
            for place in &places {
                hostile[*place..*place + 8].copy_from_slice(&COUNT.to_le_bytes());
            }
            sandbox.write(name, hostile);
            let measured = frugal(&sandbox, name);
            // A claim of the footer alone is not asked.
            let fine = measured.code == Some(0) && places.len() == 1;
            assert!(fine || measured.code == Some(65), "{name} {places:?}: {}", measured.stderr);
        }
    }
}

#[test]
fn parquet_footers() {
    let sandbox = Sandbox::new();
    let table = table();
    let mut writer = ArrowWriter::try_new(Vec::new(), table.schema(), None).unwrap();
    writer.write(&table).unwrap();
    let bytes = writer.into_inner().unwrap();
    let tail = bytes.len() - 8;
    let footer = tail - u32::from_le_bytes(bytes[tail..tail + 4].try_into().unwrap()) as usize;
    let known = ParquetMetaDataReader::decode_metadata(&bytes[footer..tail]).unwrap();
    // Rows, and of each column its values, stored bytes and unpacked bytes; then all of them.
    for lies in [[0].as_slice(), &[1], &[2], &[3], &[0, 1, 2, 3]] {
        let number = |place: usize, truth: i64| {
            if lies.contains(&place) { COUNT as i64 } else { truth }
        };
        let group = known.row_group(0);
        let column = |column: &ColumnChunkMetaData| {
            let builder = column.clone().into_builder();
            let builder = builder.set_num_values(number(1, column.num_values()));
            let builder = builder.set_total_compressed_size(number(2, column.compressed_size()));
            let unpacked = number(3, column.uncompressed_size());
            builder.set_total_uncompressed_size(unpacked).build().unwrap()
        };
        let rows = number(0, group.num_rows());
        let columns = group.columns().iter().map(column).collect();
        let group = group.clone().into_builder().set_num_rows(rows).set_column_metadata(columns);
        let old = known.file_metadata();
        let file = FileMetaData::new(old.version(), rows, None, None, old.schema_descr_ptr(), None);
        let lying = ParquetMetaDataBuilder::new(file).add_row_group(group.build().unwrap());
        let mut hostile = bytes[..footer].to_vec();
        ParquetMetaDataWriter::new(&mut hostile, &lying.build()).finish().unwrap();
        sandbox.write("g.parquet", hostile);
        let measured = frugal(&sandbox, "g.parquet");
        // The values and the unpacked bytes of a column are not asked for: its pages say more.
        let fine = matches!(lies, [1 | 3]) && measured.code == Some(0);
        assert!(fine || measured.code == Some(65), "{lies:?}: {}", measured.stderr);
    }
}
