//! GML, GraphML and Graph500's packed edges as whole files: how they are recognised, what they
//! hold, and what hostile ones may cost.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::io::Write as _;
use std::path::Path;

use welter_input::{
    Format, IdKind, Input, InputError, Limits, ReadOptions, WeightChoice, estimate, read,
};
use welter_model::ids::IdMap;
use welter_progress::{FailureKind, Progress};

const GML: &str = "graph [\n  node [ id 3 label \"c\" ]\n  node [ id 1 label \"a\" ]\n  \
                   node [ id 2 label \"b\" ]\n  edge [ source 1 target 3 value 2 ]\n]\n";

const GRAPHML: &str = "<?xml version=\"1.0\"?>\n<graphml>\n<graph edgedefault=\"directed\">\n\
                       <node id=\"x\"/><node id=\"y\"/><edge source=\"y\" target=\"x\"/>\n\
                       </graph></graphml>\n";

/// Reads bytes as a file of this name.
fn load(name: &str, bytes: &[u8], options: &ReadOptions) -> Result<Input, InputError> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    fs::write(&path, bytes).unwrap();
    let path = path.to_str().unwrap().to_owned();
    let estimate = estimate(std::slice::from_ref(&path), options);
    let input = read(&[path], options, &Progress::new());
    if let (Ok(estimate), Ok(input)) = (&estimate, &input) {
        assert_eq!(estimate.exact.then_some(estimate.edges), Some(Some(input.summary.edges)));
        assert_eq!(estimate.undirected, input.summary.undirected);
        assert_eq!(estimate.ids == IdKind::Names, matches!(input.ids, IdMap::Names(_)));
        assert_eq!(estimate.weighted, input.summary.weighted);
    }
    input
}

fn pairs(input: &Input) -> Vec<[u32; 2]> {
    let mut all = Vec::new();
    for part in 0..input.edges.parts() {
        let read = input.edges.read(part, &mut |batch| {
            all.extend_from_slice(batch.pairs);
            true
        });
        read.unwrap();
    }
    all
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn formats_are_known_by_name_or_beginning() {
    let options = ReadOptions { weight: WeightChoice::IfPresent, ..ReadOptions::default() };
    for (name, bytes) in [
        ("a.gml", GML.as_bytes().to_vec()),
        ("a.txt", GML.into()),
        ("b.gml.gz", gzip(GML.as_bytes())),
    ] {
        let input = load(name, &bytes, &options).unwrap();
        assert_eq!(input.summary.formats, [Format::Gml], "{name}");
        assert_eq!((pairs(&input), &input.ids), (vec![[0, 2]], &IdMap::Offset(1)));
        assert_eq!(input.edges.slots(), Some(3));
        assert_eq!((input.summary.undirected, input.summary.weighted), (Some(true), true));
    }
    let named = ReadOptions { ids: IdKind::Names, ..options.clone() };
    let input = load("a.gml", GML.as_bytes(), &named).unwrap();
    assert_eq!(input.ids, IdMap::Names(["a", "b", "c"].into_iter().collect()));
    for name in ["a.graphml", "a.xml"] {
        let input = load(name, GRAPHML.as_bytes(), &options).unwrap();
        assert_eq!(input.summary.formats, [Format::GraphMl], "{name}");
        assert_eq!(input.ids, IdMap::Names(["x", "y"].into_iter().collect()));
        assert_eq!((pairs(&input), input.summary.undirected), (vec![[1, 0]], Some(false)));
    }
}

#[test]
fn what_the_user_says_about_direction_wins() {
    let options = ReadOptions { undirected: Some(false), ..ReadOptions::default() };
    let input = load("a.gml", GML.as_bytes(), &options).unwrap();
    assert_eq!(input.summary.undirected, Some(false));
}

#[test]
fn beginnings_tell_whatever_the_name_is() {
    let options = ReadOptions { weight: WeightChoice::IfPresent, ..ReadOptions::default() };
    let gexf = "<?xml version=\"1.0\"?>\n<gexf><graph>\
                <nodes><node id=\"1\"/><node id=\"2\"/></nodes>\
                <edges><edge source=\"1\" target=\"2\"/></edges></graph></gexf>";
    let gml = "Creator \"x\"\nVersion 1\ngraph\n[\nnode [ id 1 ]\nnode [ id 2 ]\n\
               edge [ source 1 target 2 ]\n]\n";
    for (format, text) in [
        (Format::Gml, gml),
        (Format::Gexf, gexf),
        (Format::Pajek, "% c\n*Vertices 2\n*Edges\n1 2\n"),
        (Format::Dot, "graph { 1 -- 2 }"),
        (Format::Tgf, "1\n2\n#\n1 2\n"),
        (Format::Dimacs, "c flow\np max 2 1\nn 1 s\na 1 2 3\n"),
        (Format::MatrixMarket, "%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n1 2\n"),
    ] {
        for start in ["", "\u{feff}", "\n\n"] {
            let input = load("a.txt", format!("{start}{text}").as_bytes(), &options).unwrap();
            assert_eq!(
                (input.summary.formats.clone(), pairs(&input)),
                (vec![format], vec![[0, 1]])
            );
            assert_eq!(input.edges.slots(), Some(2), "{text}");
        }
    }
}

#[test]
fn foreign_formats_are_named_before_anything_is_guessed() {
    let options = ReadOptions::default();
    for (name, bytes, message) in [
        ("a.txt", &b"LEDA.GRAPH\nstring\nint\n-1\n2\n|{}|\n"[..], "LEDA"),
        ("a.csv", b"nodedef>name VARCHAR\na\nedgedef>a VARCHAR,b VARCHAR\n", "GDF"),
        ("a.graph", b"DL n=2\nformat = edgelist1\ndata:\n1 2\n", "UCINET"),
        ("a.db", b"SQLite format 3\0\x10\0", "an SQLite database"),
        ("a", b"@prefix e: <http://e.x/> .\ne:a e:knows e:b .\n", "Turtle"),
    ] {
        for bytes in [bytes.to_vec(), gzip(bytes)] {
            let error = load(name, &bytes, &options).err().unwrap();
            assert_eq!(error.kind(), FailureKind::Input);
            assert!(error.to_string().contains(message), "{error}");
        }
    }
}

#[test]
fn bombs_are_refused_while_they_unpack() {
    let limits = Limits { ratio_free_bytes: 1 << 20, ..Limits::default() };
    let options = ReadOptions { limits, ..ReadOptions::default() };
    let spaces = vec![b' '; 64 << 20];
    let zeros = vec![0; 48 << 20];
    for (name, bytes) in [
        ("a.gml.gz", gzip(&[b"graph [ ", &spaces[..]].concat())),
        ("a.graphml.gz", gzip(&[b"<graphml> ", &spaces[..]].concat())),
        ("a.graph500.gz", gzip(&zeros)),
        ("a.gml.zst", zstd::encode_all(&spaces[..], 1).unwrap()),
        ("a.graph500.zst", zstd::encode_all(&zeros[..], 1).unwrap()),
    ] {
        let error = load(name, &bytes, &options).err().unwrap();
        assert_eq!(error.kind(), FailureKind::Input, "{name}: {error}");
        let text = error.to_string();
        assert!(text.contains("decompresses to more") || text.contains("less text"), "{text}");
    }
}

#[test]
fn stated_counts_take_no_memory() {
    let limits = Limits { memory_bytes_max: Some(1 << 20), ..Limits::default() };
    let options = ReadOptions { limits, ids: IdKind::Names, ..ReadOptions::default() };
    let count = 1_u64 << 60;
    let claims =
        format!("edgedefault=\"directed\" parse.nodes=\"{count}\" parse.edges=\"{count}\"");
    let text = GRAPHML.replace("edgedefault=\"directed\"", &claims);
    assert_eq!(pairs(&load("a.graphml", text.as_bytes(), &options).unwrap()), [[1, 0]]);
    let ids = ReadOptions { ids: IdKind::Integers, ..options };
    let text = format!("graph [ nodes {count} node [ id {count} ] node [ id 0 ] ]");
    let input = load("a.gml", text.as_bytes(), &ids).unwrap();
    assert_eq!(input.ids, IdMap::Sparse(vec![0, count]));
}

#[test]
fn published_gml_files_hold_what_their_names_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/suites");
    let folder = folder.join("networkit-input");
    if !folder.exists() {
        eprintln!("SKIPPED: no {}", folder.display());
        return;
    }
    // Vertices and edges as `grep -c` counts them in the files.
    for (name, vertices, edges, undirected) in [
        ("jazz2_directed.gml", 5, 4, false),
        ("jazz2_undirected.gml", 5, 4, true),
        ("looptest1.gml", 9, 12, true),
        ("looptest2.gml", 9, 14, true),
    ] {
        let bytes = fs::read(folder.join(name)).unwrap();
        let input = load(name, &bytes, &ReadOptions::default()).unwrap();
        assert_eq!(
            (input.edges.slots(), input.summary.edges, input.summary.undirected),
            (Some(vertices), edges, Some(undirected)),
            "{name}"
        );
        assert_eq!(input.ids, IdMap::Declared, "{name}");
    }
}
