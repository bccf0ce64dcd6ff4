//! Graphs of WebGraph, good and bad. `tests/webgraph` holds files that another program wrote:
//! webgraph-rs 0.7, from `web.txt`, with codes, window and intervals of several kinds.

use std::fs;
use std::path::{Path, PathBuf};

use welter_model::ids::IdMap;
use welter_progress::{FailureKind, Progress};

use super::bits::{Code, Fault};
use super::*;
use crate::{Input, Limits, read as read_inputs};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/webgraph")
}

fn load(path: &Path, options: &ReadOptions) -> Result<Input, InputError> {
    read_inputs(&[path.to_str().unwrap().to_owned()], options, &Progress::new())
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

/// A graph whose lists are these bytes.
fn graph(properties: &str, bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("g.properties");
    fs::write(&path, properties).unwrap();
    fs::write(path.with_extension("graph"), bytes).unwrap();
    (directory, path)
}

fn properties(nodes: u64, arcs: u64, more: &str) -> String {
    format!(
        "#BVGraph properties\ngraphclass=it.unimi.dsi.webgraph.BVGraph\nnodes={nodes}\n\
         arcs = {arcs}\nwindowsize:7\nminintervallength=4\n{more}\n"
    )
}

fn failure(properties: &str, bytes: &[u8]) -> String {
    let (_directory, path) = graph(properties, bytes);
    let error = load(&path, &ReadOptions::default()).err().unwrap();
    assert_eq!(error.kind(), FailureKind::Input, "{error}");
    let text = error.to_string();
    text[text.find("/g.").unwrap() + 1..].to_owned()
}

/// Bits written as text, padded with zeros.
fn bytes(bits: &str) -> Vec<u8> {
    let bits: Vec<u8> = bits.bytes().filter(|bit| *bit != b' ').map(|bit| bit - b'0').collect();
    let byte = |bits: &[u8]| bits.iter().enumerate().map(|(place, bit)| bit << (7 - place)).sum();
    bits.chunks(8).map(byte).collect()
}

#[test]
fn codes_are_read_as_they_are_defined() {
    let cases: &[(Code, &str, &[u64])] = &[
        (Code::Unary, "1 01 0001", &[0, 1, 3]),
        (Code::Gamma, "1 010 011 00100 00111", &[0, 1, 2, 3, 6]),
        (Code::Delta, "1 0100 0101 01100", &[0, 1, 2, 3]),
        (Code::Zeta(3), "100 1010 1011 1111 0100000 0100001", &[0, 1, 2, 6, 7, 8]),
        (Code::Zeta(1), "1 010 011 00100", &[0, 1, 2, 3]),
        (Code::Nibble, "1000 1111 0001 1010", &[0, 7, 10]),
    ];
    for (code, bits, expected) in cases {
        let bytes = bytes(bits);
        let mut bits = Bits::of_slice(&bytes);
        for number in *expected {
            assert_eq!(bits.read(*code), Ok(*number), "{code:?}");
        }
    }
    let mut long = vec![0; 100];
    long.push(1);
    assert_eq!(Bits::of_slice(&long).read(Code::Unary), Ok(807));
    assert!(matches!(Bits::of_slice(&long).gamma(), Err(Fault::Wrong(_))));
    assert_eq!(Bits::of_slice(&[0; 9]).gamma(), Err(Fault::Cut));
}

#[test]
fn graphs_that_another_program_wrote_hold_the_same_edges() {
    let text = load(&folder().join("web.txt"), &ReadOptions::default()).unwrap();
    let expected = pairs(&text);
    for name in ["web", "gamma", "delta", "plain"] {
        let path = folder().join(format!("{name}.properties"));
        let input = load(&path, &ReadOptions::default()).unwrap();
        assert!(pairs(&input) == expected, "{name}");
        assert_eq!((input.edges.slots(), &input.ids), (Some(400), &IdMap::Declared));
        assert_eq!(input.summary.undirected, Some(false));
        let estimate =
            crate::estimate(&[path.to_str().unwrap().to_owned()], &ReadOptions::default());
        let estimate = estimate.unwrap();
        assert_eq!((estimate.edges, estimate.slots), (Some(expected.len() as u64), Some(400)));
    }
}

#[test]
fn lists_are_read_as_drawn() {
    // 0: nothing; 1: 3 (residual, +2); 2: as 1, and the interval 4 to 7; 3: nothing.
    // outdegree 1, no reference, no interval, residual +2 as 4 in zeta 3: 1101
    let one = "010 1 1 1101";
    // outdegree 5, reference 1 back, no blocks (all copied), 1 interval: +2 as 4, length 4 as 0
    let two = "00110 01 1 010 00101 1";
    let bits = format!("1 {one} {two} 1 1 1 1 1");
    let (_directory, path) = graph(&properties(8, 6, ""), &bytes(&bits));
    let input = load(&path, &ReadOptions::default()).unwrap();
    assert_eq!(pairs(&input), [[1, 3], [2, 3], [2, 4], [2, 5], [2, 6], [2, 7]]);
}

#[test]
fn damaged_lists_are_refused_with_their_place() {
    for (nodes, arcs, bits, expected) in [
        (8, 9, "1 010", "g.graph: byte 1: expected more bits"),
        (8, 0, "1 010 1 1 1101", "g.graph: byte 0: expected no more edges than are stated"),
        (8, 5, "1111 1111", "g.graph: expected 5 edges as stated, found 5 fewer"),
        (8, 1, "010 01", "g.graph: byte 0: expected a reference to one of the lists"),
        (8, 1, "010 1 1 1010", "g.graph: byte 1: expected successors below"),
        (2, 1, "010 1 1 1111", "g.graph: byte 1: expected successors below"),
        (8, 2, "1 010 1 1 1101 010 01 010 0001111", "g.graph: byte 3: expected blocks within"),
        (8, 1, "010 1 010 1 1", "g.graph: byte 1: expected a list as long as"),
    ] {
        let error = failure(&properties(nodes, arcs, ""), &bytes(bits));
        assert!(error.starts_with(expected), "{bits}: {error}");
        assert!(error.contains("stated") || error.contains("(successors of vertex"), "{error}");
    }
}

#[test]
fn properties_that_cannot_be_are_refused() {
    for (text, expected) in [
        (properties(1 << 60, 1, ""), "g.properties:3: expected at most 4294967295 vertices"),
        (properties(1 << 20, 1, ""), "g.properties: expected at most 8 vertices a byte"),
        (properties(8, 1 << 60, ""), "g.properties: states 1152921504606846976 edges, more than"),
        (properties(8, 1, "endianness=little"), "g.properties:7: expected big-endian bits"),
        (properties(8, 1, "compressionflags=BLOCKS_DELTA"), "g.properties:7: expected a code that"),
        (properties(8, 1, "compressionflags=X"), "g.properties:7: expected a code that is read"),
        (properties(8, 1, "zetak=99"), "g.properties:7: expected a number up to 16 as zetak"),
        (properties(8, 1, "windowsize=1000000"), "g.properties:7: expected a number up to 65536"),
        ("graphclass=BVGraph\nnodes=1\n".to_owned(), "g.properties: expected arcs, found no"),
    ] {
        let error = failure(&text, &[255]);
        assert!(error.starts_with(expected), "{text}: {error}");
    }
    let (_directory, path) = graph(&properties(1, 0, ""), &[255]);
    fs::remove_file(path.with_extension("graph")).unwrap();
    assert_eq!(load(&path, &ReadOptions::default()).err().unwrap().kind(), FailureKind::Missing);
}

#[test]
fn intervals_of_everything_in_a_few_bits_are_no_bomb() {
    // The first list is an interval of all vertices, each later one a copy, in 44 bits.
    let nodes = 1 << 20;
    let degree = "00000000000000000000 1 00000000000000000001";
    let first = format!("{degree} 1 010 1 00000000000000000001 1111111111111111101");
    let later = format!("{degree} 01 1").repeat(63);
    let mut bytes = bytes(&format!("{first} {later}"));
    bytes.resize(nodes as usize / 8, 255);
    let error = failure(&properties(nodes, 64 * nodes, ""), &bytes);
    assert!(error.contains("which no graph is compressed to"), "{error}");
    let (_directory, path) = graph(&properties(nodes, 64 * nodes, ""), &bytes);
    for (memory, ratio_max) in [(1 << 20, 1 << 20), (32 << 20, 1 << 20)] {
        let limits = Limits { ratio_max, memory_bytes_max: Some(memory), ..Limits::default() };
        let options = ReadOptions { limits, ..ReadOptions::default() };
        assert_eq!(load(&path, &options).err().unwrap().kind(), FailureKind::Budget, "{memory}");
    }
}

#[test]
fn what_webgraph_has_not_is_refused() {
    let path = folder().join("web.properties");
    let names = ReadOptions { ids: IdKind::Names, ..ReadOptions::default() };
    assert!(load(&path, &names).err().unwrap().to_string().contains("which has numbers"));
    let weight = WeightChoice::Column("w".parse().unwrap());
    let weighted = ReadOptions { weight, ..ReadOptions::default() };
    assert!(load(&path, &weighted).err().unwrap().to_string().contains("which has none"));
}
