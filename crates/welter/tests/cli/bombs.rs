//! Small files that stand for at least a gigabyte, of every format, in gzip and in zstd, and some
//! of them in bzip2, xz and lz4: refused with 65, in less than 256 MiB of resident memory.
//!
//! A bomb is a head and a run that repeats, packed as members of gzip or frames of zstd behind each
//! other, which every decoder reads as one stream; so a gigabyte is packed by packing its first
//! 16 MiB. One bomb of each kind is a single stream, to be sure.
//!
//! `WELTER_FIGURES=1 cargo test -p welter bombs -- --nocapture` prints what each one took.

use std::io::Write;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use bzip2::write::BzEncoder;
use flate2::write::GzEncoder;
use lzma_rust2::{XzOptions, XzWriter};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use crate::hostile::refused;
use crate::sandbox::Sandbox;

/// Bytes that a bomb stands for.
const BOMB_BYTES: usize = 1 << 30;
/// Bytes of one member or frame.
const MEMBER_BYTES: usize = 16 << 20;

/// Extension, head, and what repeats.
type Text = (&'static str, &'static str, &'static str);

/// Rows that are repeated to a gigabyte, by format.
const ROWS: &[Text] = &[
    ("txt", "", "1 1\n"),
    ("csv", "source,target,weight\n", "1,1,1\n"),
    ("jlg", "9,268435456,u,graph\n", "1,1\n"),
    ("mtx", "%%MatrixMarket matrix coordinate pattern general\n9 9 8000000\n", "1 1\n"),
    ("mtx", "%%MatrixMarket matrix coordinate real symmetric\n9 9 9\n", "2 1 1\n"),
    ("graph", "9 16000000\n", "1 1 1\n"),
    ("graph", "9 9 1\n", "1 1\n"),
    ("gr", "p sp 9 5000000\n", "a 1 1 1\n"),
    ("col", "p edge 9 9\n", "e 1 1\n"),
    ("tntp", "<NUMBER OF NODES> 9\n<NUMBER OF LINKS> 9\n<END OF METADATA>\n", "1 2 1 1 1 ;\n"),
    ("adj", "", "1 1 1\n"),
    ("e", "", "1 1 1\n"),
    ("gml", "graph [\nnode [ id 1 ]\n", "edge [ source 1 target 1 ]\n"),
    ("graphml", GRAPHML, "<edge source=\"a\" target=\"a\"/>\n"),
    ("gexf", GEXF, "<edge source=\"a\" target=\"a\"/>\n"),
    ("net", "*Vertices 9\n*Arcs\n", "1 2\n"),
    ("net", "*Vertices 9\n*Arcslist\n", "1 2 3\n"),
    ("dot", "digraph {\n", "a -> b;\n"),
    ("tgf", "1 a\n#\n", "1 1\n"),
    ("json", "{\"nodes\": [1], \"links\": [\n", "{\"source\": 1, \"target\": 1},\n"),
    ("json", "", "{\"source\": 1, \"target\": 1}\n"),
    ("nt", "", "<a:b> <c:d> <a:b> .\n"),
    ("s6", ":~~~", "?"),
    ("g6", "~~??~~~~", "?"),
];

/// Head of a file of GEXF, up to the first edge.
const GEXF: &str = "<gexf><graph><nodes><node id=\"a\"/></nodes><edges>\n";

/// Head of a file of GraphML, up to the first node.
const GRAPHML: &str = "<graphml><graph edgedefault=\"directed\">\n<node id=\"a\"/>\n";

/// Other ways not to come to an end.
const ENDLESS: &[Text] = &[
    // Blank lines, comments, and a line without an end.
    ("txt", "", "\n"),
    ("txt", "", "# nothing\n"),
    ("txt", "1 ", "1"),
    ("csv", "a,\"", "b"),
    ("txt", "", "name name\n"),
    ("mtx", "%%MatrixMarket matrix coordinate real general\n", "%\n"),
    ("graph", "", "%\n"),
    ("graph", "9 9\n", "\n"),
    ("graph", "9 9\n", "1 "),
    ("gr", "", "c\n"),
    ("tntp", "<NUMBER OF NODES> 9\n", "~\n"),
    ("tntp", "<NUMBER OF NODES> 9\n<NUMBER OF LINKS> 9\n<END OF METADATA>\n", "~\n"),
    ("adj", "", "1 "),
    ("properties", "", "# nothing\n"),
    // Strings, lists and elements that never close.
    ("gml", "", "# nothing\n"),
    ("gml", "graph [ label \"", "a"),
    ("gml", "graph ", "[ a "),
    ("graphml", GRAPHML, "<!-- nothing -->"),
    ("graphml", "<graphml><!-- ", "a"),
    ("graphml", "<graphml><graph><node id=\"", "a"),
    ("graphml", GRAPHML, "<data>"),
    ("gexf", GEXF, "<!-- nothing -->"),
    ("gexf", GEXF, "<edge source=\"a\" "),
    ("net", "*Vertices 9\n", "% nothing\n"),
    ("net", "*Vertices 9\n1 \"", "a"),
    ("net", "*Vertices 9\n*Arcslist\n1 ", "2 "),
    ("dot", "digraph {", "/* nothing */"),
    ("dot", "digraph { \"", "a"),
    ("dot", "digraph { ", "{ "),
    ("dot", "digraph { a ", "-> a "),
    ("json", "{\"nodes\": [", "1, "),
    ("json", "{\"a\": \"", "b"),
    ("json", "{\"a\": ", "["),
    ("json", "{", "\n"),
    ("nt", "", "# nothing\n"),
    ("nt", "<a:b> <c:d> \"", "e"),
    ("tgf", "", "\n"),
    ("tgf", "1 ", "a"),
    ("graphml", GRAPHML, "a"),
];

/// Texts that are packed otherwise as well: rows, a line and a list without an end, short edges of
/// a small format.
const SOME: &[Text] = &[
    ("txt", "", "1 1\n"),
    ("csv", "a,\"", "b"),
    ("adj", "", "1 "),
    ("net", "*Vertices 9\n*Arcslist\n", "1 2 3\n"),
    ("json", "{\"a\": ", "["),
];

/// Format in which bytes are packed.
#[derive(Clone, Copy, Debug)]
enum Packing {
    Gzip,
    Zstd,
    Bzip2,
    Xz,
    Lz4,
}

impl Packing {
    fn extension(self) -> &'static str {
        match self {
            Self::Gzip => "gz",
            Self::Zstd => "zst",
            Self::Bzip2 => "bz2",
            Self::Xz => "xz",
            Self::Lz4 => "lz4",
        }
    }

    /// Packs bytes, `times` times behind each other as one stream.
    fn pack(self, bytes: &[u8], times: usize) -> Vec<u8> {
        let write = |packer: &mut dyn Write| {
            (0..times).for_each(|_| packer.write_all(bytes).unwrap());
        };
        match self {
            Self::Gzip => {
                let mut packer = GzEncoder::new(Vec::new(), flate2::Compression::best());
                write(&mut packer);
                packer.finish().unwrap()
            }
            Self::Zstd => {
                let mut packer = zstd::Encoder::new(Vec::new(), 1).unwrap();
                write(&mut packer);
                packer.finish().unwrap()
            }
            Self::Bzip2 => {
                let mut packer = BzEncoder::new(Vec::new(), bzip2::Compression::best());
                write(&mut packer);
                packer.finish().unwrap()
            }
            Self::Xz => {
                let mut packer = XzWriter::new(Vec::new(), XzOptions::with_preset(1)).unwrap();
                write(&mut packer);
                packer.finish().unwrap()
            }
            Self::Lz4 => {
                let mut packer = lz4_flex::frame::FrameEncoder::new(Vec::new());
                write(&mut packer);
                packer.finish().unwrap()
            }
        }
    }

    /// Packs a head and a run until it stands for a gigabyte.
    fn bomb(self, head: &[u8], run: &[u8]) -> Vec<u8> {
        let member_bytes = match self {
            Self::Gzip | Self::Zstd => MEMBER_BYTES,
            // Packing these takes its time.
            Self::Bzip2 | Self::Xz | Self::Lz4 => MEMBER_BYTES / 16,
        };
        let run = run.repeat(member_bytes.div_ceil(run.len()));
        let member = self.pack(&run, 1);
        let mut bomb = self.pack(head, 1);
        bomb.extend(member.repeat(BOMB_BYTES.div_ceil(run.len())));
        bomb
    }
}

fn all_refused(bombs: &[Text], packing: Packing) {
    let sandbox = Sandbox::new();
    for (extension, head, run) in bombs {
        let name = format!("bomb.{extension}.{}", packing.extension());
        sandbox.write(&name, packing.bomb(head.as_bytes(), run.as_bytes()));
        refused(&sandbox, &name);
    }
}

#[test]
fn rows_in_gzip() {
    all_refused(ROWS, Packing::Gzip);
}

#[test]
fn rows_in_zstd() {
    all_refused(ROWS, Packing::Zstd);
}

#[test]
fn no_end_in_gzip() {
    all_refused(ENDLESS, Packing::Gzip);
}

#[test]
fn no_end_in_zstd() {
    all_refused(ENDLESS, Packing::Zstd);
}

#[test]
fn rows_and_no_end_in_other_packings() {
    for packing in [Packing::Bzip2, Packing::Xz, Packing::Lz4] {
        all_refused(SOME, packing);
    }
}

#[test]
fn one_stream_of_a_gigabyte() {
    let sandbox = Sandbox::new();
    let run = b"1 1\n".repeat(MEMBER_BYTES / 4);
    for packing in [Packing::Gzip, Packing::Zstd] {
        let name = format!("bomb.txt.{}", packing.extension());
        sandbox.write(&name, packing.pack(&run, BOMB_BYTES / run.len()));
        refused(&sandbox, &name);
    }
}

#[test]
fn files_that_others_lead_to() {
    let sandbox = Sandbox::new();
    let rows = Packing::Zstd.bomb(b"", b"1\n");
    sandbox.write("listed.v.zst", &rows);
    sandbox.write("listed.e", "1 1\n");
    refused(&sandbox, "listed.e");
    sandbox.write("named.properties", "graph.x.vertex-file = listed.v\ngraph.x.edge-file = n.e\n");
    sandbox.write("n.e", "1 1\n");
    refused(&sandbox, "named.properties");
    sandbox.write("bits.properties.zst", Packing::Zstd.bomb(b"graphclass=BVGraph\n", b"#\n"));
    refused(&sandbox, "bits.properties.zst");
}

#[test]
fn records() {
    let sandbox = Sandbox::new();
    for packing in [Packing::Gzip, Packing::Zstd] {
        let zeros = packing.bomb(b"", &[0; 48]);
        for extension in ["u32", "u64", "u32f32", "u32f64", "u64f32", "u64f64", "graph500"] {
            let name = format!("bomb.{extension}.{}", packing.extension());
            sandbox.write(&name, &zeros);
            refused(&sandbox, &name);
        }
    }
}

/// Tables of 16 MiB: of zeros, and of long names, which are few rows.
fn tables() -> [(&'static str, RecordBatch); 2] {
    let zeros: ArrayRef = Arc::new(UInt64Array::from_value(0, MEMBER_BYTES / 16));
    let long = "a".repeat(MEMBER_BYTES / 16);
    let names: ArrayRef = Arc::new(StringArray::from_iter_values(vec![long; 8]));
    [("zeros", zeros), ("names", names)].map(|(name, column)| {
        let columns = ["source", "target"].map(|name| (name, Arc::clone(&column)));
        (name, RecordBatch::try_from_iter(columns).unwrap())
    })
}

/// A stream of Arrow that repeats a table.
fn arrow(table: &RecordBatch, times: usize, compression: Option<CompressionType>) -> Vec<u8> {
    let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
    let mut writer =
        StreamWriter::try_new_with_options(Vec::new(), &table.schema(), options).unwrap();
    (0..times).for_each(|_| writer.write(table).unwrap());
    writer.into_inner().unwrap()
}

#[test]
fn arrow_tables() {
    let sandbox = Sandbox::new();
    for (kind, table) in tables() {
        let times = BOMB_BYTES / MEMBER_BYTES;
        let inside = arrow(&table, times, Some(CompressionType::ZSTD));
        assert!(inside.len() < 4 << 20, "{}", inside.len());
        let name = format!("{kind}.arrows");
        sandbox.write(&name, inside);
        refused(&sandbox, &name);
        // This layer around the whole stream, whose end mark takes eight bytes.
        let (none, one) = (arrow(&table, 0, None), arrow(&table, 1, None));
        let (schema, end) = none.split_at(none.len() - 8);
        let message = &one[schema.len()..one.len() - end.len()];
        for packing in [Packing::Gzip, Packing::Zstd] {
            let name = format!("{kind}.arrows.{}", packing.extension());
            sandbox.write(&name, packing.bomb(schema, message));
            refused(&sandbox, &name);
        }
    }
}

#[test]
fn parquet_pages() {
    let sandbox = Sandbox::new();
    for (kind, table) in tables() {
        let properties = WriterProperties::builder()
            .set_dictionary_enabled(kind == "zeros")
            .set_compression(Compression::ZSTD(ZstdLevel::default()));
        let mut writer =
            ArrowWriter::try_new(Vec::new(), table.schema(), Some(properties.build())).unwrap();
        for _ in 0..BOMB_BYTES / MEMBER_BYTES {
            writer.write(&table).unwrap();
            writer.flush().unwrap();
        }
        let bytes = writer.into_inner().unwrap();
        assert!(bytes.len() < 4 << 20, "{kind}: {}", bytes.len());
        let name = format!("{kind}.parquet");
        sandbox.write(&name, bytes);
        refused(&sandbox, &name);
    }
}
