//! Kinds of files, by their first bytes and names, and which files inputs name.

use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;

use tempfile::TempDir;
use welter_progress::{FailureKind, Progress};
use zip::write::{SimpleFileOptions, ZipWriter};

use super::*;
use crate::fuzzing::edges;
use crate::{Input, ReadOptions, read};

fn zip_of(files: &[(&str, &[u8])], method: zip::CompressionMethod) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(method);
    for (name, bytes) in files {
        if name.ends_with('/') {
            writer.add_directory(*name, options).unwrap();
        } else {
            writer.start_file(*name, options).unwrap();
            writer.write_all(bytes).unwrap();
        }
    }
    writer.finish().unwrap().into_inner()
}

fn read_as(name: &str, bytes: &[u8]) -> Result<Input, InputError> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    fs::write(&path, bytes).unwrap();
    read(&[path], &ReadOptions::default(), &Progress::new())
}

fn refused(name: &str, bytes: &[u8]) -> String {
    let error = read_as(name, bytes).err().unwrap();
    assert_eq!(error.kind(), FailureKind::Input, "{error}");
    error.to_string()
}

const MATRIX: &[u8] = b"%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n2 3\n";

#[test]
fn zip_archives_of_one_file_are_that_file() {
    let edges_csv: &[u8] = b"source,target\n0,1\n1,2\n";
    for method in [zip::CompressionMethod::Stored, zip::CompressionMethod::Deflated] {
        let one =
            zip_of(&[("out/", b""), ("__MACOSX/._e.csv", b"x"), ("out/e.csv", edges_csv)], method);
        let input = read_as("e.zip", &one).unwrap();
        assert_eq!(edges(&input).0, [[0, 1], [1, 2]]);
        // By the name inside: nothing else says that this is DIMACS.
        let coloured = zip_of(&[("g.col", b"c 1\nc 2\np edge 2 1\ne 1 2\n")], method);
        assert_eq!(read_as("g.zip", &coloured).unwrap().summary.undirected, Some(true));
        let matrix = read_as("data", &zip_of(&[("a", MATRIX)], method)).unwrap();
        assert_eq!(matrix.summary.formats, [Format::MatrixMarket]);
        for cut in [1, one.len() / 2, one.len() - 40] {
            let message = refused("e.zip", &one[..one.len() - cut]);
            assert!(message.contains("zip archive"), "{cut}: {message}");
        }
        let mut changed = one.clone();
        let at = memchr::memmem::find(&one, b"out/e.csv").unwrap() + 9;
        changed[at + 15] ^= 1;
        assert!(refused("e.zip", &changed).contains("zip data"));
    }
    let several =
        zip_of(&[("a.csv", b"1,2\n"), ("b.csv", b"1,2\n")], zip::CompressionMethod::Stored);
    let message = refused("e.zip", &several);
    assert!(message.contains("found \"a.csv\" and \"b.csv\"; unpack it (unzip)"), "{message}");
    let sheet = zip_of(&[("[Content_Types].xml", b"<x/>")], zip::CompressionMethod::Stored);
    assert!(refused("e.xlsx", &sheet).contains("save the sheet of edges as CSV"));
}

#[test]
fn names_are_looked_at_under_each_ending() {
    let archive = crate::unpack::tests::tar_of(&[("list.adj", b"0 1 2\n1 2\n2\n")]);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&archive).unwrap();
    let gzip = gzip.finish().unwrap();
    for (name, bytes) in [("a.tar", &archive), ("a.tgz", &gzip), ("a.tar.gz", &gzip), ("a", &gzip)]
    {
        let input = read_as(name, bytes).unwrap();
        assert_eq!((input.summary.formats[0], input.summary.edges), (Format::Adjacency, 3));
    }
    let brotli = [&[0x8f, 0x03, 0x80][..], b"1 2\n2 3\n", &[3]].concat();
    assert_eq!(read_as("e.txt.br", &brotli).unwrap().summary.edges, 2);
    assert!(refused("e.7z", b"7z\xbc\xaf\x27\x1c\0\x04").contains("found a 7-Zip archive"));
    assert!(refused("e.Z", b"\x1f\x9d\x90\x31").contains("compress (.Z)"));
}

#[test]
fn text_is_read_in_the_encoding_that_it_shows() {
    let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let input = read_as("e.csv", &wide("\u{feff}source,target\n4,5\n5,6\n")).unwrap();
    assert_eq!(edges(&input).0, [[4, 5], [5, 6]]);
    let matrix = [b"\xef\xbb\xbf", MATRIX].concat();
    assert_eq!(read_as("m.mtx", &matrix).unwrap().summary.edges, 2);
    let message = refused("e.csv", &wide("source,target\n4,5\n5,6\n"));
    assert!(message.contains("UTF-16LE without a mark; convert it: `iconv"), "{message}");
    let latin =
        b"<?xml version='1.0' encoding='ISO-8859-1'?><graphml><graph edgedefault='directed'>\
        <node id='\xe4'/><node id='b'/><edge source='\xe4' target='b'/></graph></graphml>";
    let input = read_as("g.graphml", latin).unwrap();
    let welter_model::ids::IdMap::Names(names) = &input.ids else { panic!("{:?}", input.ids) };
    assert_eq!(names.iter().collect::<Vec<_>>(), ["b", "ä"]);
    let input = read_as("e.csv", b"1,2\r2,3\r").unwrap();
    assert_eq!(edges(&input).0, [[1, 2], [2, 3]]);
    // Raw records may begin with anything.
    let raw = [0xfe_ff_u32, 1].map(u32::to_be_bytes).concat();
    assert_eq!(read_as("r.u32", &raw).unwrap().summary.edges, 1);
}

/// A directory with files, and what is read of an input in it.
fn listed(files: &[&str], input: &str) -> Result<Vec<String>, InputError> {
    let directory = TempDir::new().unwrap();
    for file in files {
        let path = directory.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "1,2\n").unwrap();
    }
    let short =
        |path: &PathBuf| path.strip_prefix(directory.path()).unwrap().to_str().unwrap().to_owned();
    Ok(names(&[directory.path().join(input)])?.iter().map(short).collect())
}

#[test]
fn directories_are_their_files_without_notes() {
    let files = ["out/b.csv", "out/a.csv", "out/_SUCCESS", "out/.a.csv.crc"];
    assert_eq!(listed(&files, "out").unwrap(), ["out/a.csv", "out/b.csv"]);
    let parts = ["t/y=2/_x", "t/y=2/src=3/p.csv", "t/y=1/src=4/q.csv", "t/_log/1.json"];
    let both = ["t/y=1/src=4/q.csv", "t/y=2/src=3/p.csv"];
    assert_eq!(listed(&parts, "t").unwrap(), both);
    assert_eq!(listed(&parts, "t/*").unwrap(), both);
    assert_eq!(listed(&parts, "t/**/*.csv").unwrap(), both);
    let error = listed(&["d/_a", "d/.b"], "d").unwrap_err();
    assert_eq!(error.kind(), FailureKind::Missing);
    assert!(error.to_string().contains("is a directory without files to read"), "{error}");
    let error = listed(&["d/a", "d/more/b"], "d").unwrap_err();
    assert!(error.to_string().contains("d/more: is a directory inside of one"), "{error}");
}

#[test]
fn patterns_match_dots_that_they_say() {
    let files = ["o/.x.csv", "o/y.csv", "o/_z.csv", "o/d/w.csv"];
    assert_eq!(listed(&files, "o/*").unwrap(), ["o/_z.csv", "o/y.csv"]);
    assert_eq!(listed(&files, "o/.*").unwrap(), ["o/.x.csv"]);
    assert_eq!(listed(&files, "o/[a-z].csv").unwrap(), ["o/y.csv"]);
    assert_eq!(listed(&files, "o/n*").unwrap_err().kind(), FailureKind::Missing);
}

#[test]
fn paths_need_not_be_text() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join(OsStr::from_bytes(b"a\xff.tsv"));
    fs::write(&path, "1\t2\n").unwrap();
    for input in [path.as_path(), directory.path()] {
        let input = read(&[input], &ReadOptions::default(), &Progress::new()).unwrap();
        assert_eq!((input.summary.edges, edges(&input).0), (1, vec![[1, 2]]));
        assert!(input.summary.files[0].ends_with("a\u{fffd}.tsv"));
    }
    let raw = directory.path().join(OsStr::from_bytes(b"\xfe.u32"));
    fs::write(&raw, [1_u32, 2].map(u32::to_le_bytes).concat()).unwrap();
    let input = read(&[&raw], &ReadOptions::default(), &Progress::new()).unwrap();
    assert_eq!(edges(&input).0, [[1, 2]]);
}

#[test]
fn files_that_change_while_they_are_read_are_refused() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("e.txt");
    fs::write(&path, "1 2\n").unwrap();
    let source = Source::open(&path, None).unwrap();
    let witness = source.witness().unwrap();
    witness.check().unwrap();
    fs::write(&path, "1 2\n2 3\n").unwrap();
    let error = witness.check().unwrap_err();
    assert_eq!(error.kind(), FailureKind::Storage);
    assert!(error.to_string().contains("had 4 bytes when it was opened and has 8 now"), "{error}");
    let witness = Source::open(&path, None).unwrap().witness().unwrap();
    let other = directory.path().join("f.txt");
    fs::write(&other, "3 2\n2 1\n").unwrap();
    fs::rename(&other, &path).unwrap();
    assert!(witness.check().unwrap_err().to_string().contains("was written to while"));
    // Raw records are read when they are wanted.
    let raw = directory.path().join("r.u32");
    fs::write(&raw, [0_u32, 1].map(u32::to_le_bytes).concat()).unwrap();
    let input = read(&[&raw], &ReadOptions::default(), &Progress::new()).unwrap();
    assert_eq!(edges(&input).0, [[0, 1]]);
    fs::write(&raw, [0_u32, 1, 1, 0].map(u32::to_le_bytes).concat()).unwrap();
    let message = input.edges.read(0, &mut |_| true).unwrap_err().to_string();
    assert!(message.contains("has 16 now"), "{message}");
}
