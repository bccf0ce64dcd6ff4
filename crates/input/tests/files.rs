//! Whole inputs: files, patterns, pipes, compression, limits, and what is said when they are bad.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use welter_input::{
    Estimate, Format, IdKind, Input, InputError, Limits, ReadOptions, WeightChoice, estimate, read,
};
use welter_model::ids::IdMap;
use welter_progress::{FailureKind, Progress};

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap();
        path
    }
}

fn load(path: &str, options: &ReadOptions) -> Result<Input, InputError> {
    read(&[path.to_owned()], options, &Progress::new())
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
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Rows that grow in length, about `bytes` bytes of them.
fn rows(bytes: usize) -> String {
    let mut text = String::new();
    for row in 0.. {
        if text.len() >= bytes {
            break;
        }
        writeln!(text, "{row}\t{}", row * 7 % 100_003).unwrap();
    }
    text
}

#[test]
fn all_ways_to_store_a_text_read_the_same() {
    let folder = Folder::new();
    let text = rows(5 << 20);
    let (start, end) = text.split_at(text.len() / 3);
    let members = [gzip(start.as_bytes()), gzip(end.as_bytes())].concat();
    let frames = [start, end].map(|half| zstd::encode_all(half.as_bytes(), 1).unwrap()).concat();
    let expected = load(&folder.write("a.txt", text.as_bytes()), &ReadOptions::default()).unwrap();
    assert_eq!(expected.edges.edges(), text.lines().count() as u64);
    assert_eq!(expected.ids, IdMap::Same);
    let expected = pairs(&expected);
    for (name, bytes) in [("b.txt.gz", &members), ("c.tsv.zst", &frames), ("d", &frames)] {
        let path = folder.write(name, bytes);
        for threads in [1, 3] {
            let options = ReadOptions { threads, ..ReadOptions::default() };
            let input = load(&path, &options).unwrap();
            assert_eq!(pairs(&input), expected, "{name}");
            assert_eq!(input.summary.formats, [Format::Text]);
        }
    }
}

#[test]
fn several_files_and_patterns_are_read_in_order() {
    let folder = Folder::new();
    let last = folder.write("z.txt", b"9 9\n");
    folder.write("part-2.txt", b"2 2\n");
    folder.write("part-1.csv", b"source,target\n1,1");
    fs::create_dir(folder.path("part-dir")).unwrap();
    let inputs = [last, folder.path("part-*")];
    let input = read(&inputs, &ReadOptions::default(), &Progress::new()).unwrap();
    assert_eq!(pairs(&input), [[9, 9], [1, 1], [2, 2]]);
    assert_eq!(input.summary.files.len(), 3);
    let estimate = estimate(&inputs, &ReadOptions::default()).unwrap();
    assert_eq!((estimate.edges, estimate.exact, estimate.bytes), (Some(3), true, Some(25)));
    assert_eq!(estimate.ids, IdKind::Integers);
}

#[test]
fn an_estimate_sees_that_lines_grow() {
    let folder = Folder::new();
    let mut text = String::new();
    for row in 0..600_000u64 {
        writeln!(text, "{}\t{}", row * row / 1000, row).unwrap();
    }
    let path = folder.write("growing.txt", text.as_bytes());
    let estimate = estimate(&[path], &ReadOptions::default()).unwrap();
    let edges = estimate.edges.unwrap();
    assert!((540_000..660_000).contains(&edges) && !estimate.exact, "{edges}");
}

#[test]
fn one_file_with_names_makes_all_ids_names() {
    let folder = Folder::new();
    let inputs = [folder.write("a.txt", b"1 2\n"), folder.write("b.txt", b"x y\n")];
    let input = read(&inputs, &ReadOptions::default(), &Progress::new()).unwrap();
    assert_eq!(input.ids, IdMap::Names(["1", "2", "x", "y"].into_iter().collect()));
}

#[test]
fn a_pipe_is_read_as_it_comes_and_not_by_an_estimate() {
    let folder = Folder::new();
    let path = folder.path("pipe");
    let status = std::process::Command::new("mkfifo").arg(&path).status();
    if !status.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: there is no mkfifo, so no pipe was read");
        return;
    }
    assert_eq!(
        estimate(std::slice::from_ref(&path), &ReadOptions::default()).unwrap(),
        Estimate { bytes: None, edges: None, exact: false, ..Estimate::default() }
    );
    let text = rows(3 << 20);
    for bytes in [text.clone().into_bytes(), gzip(text.as_bytes())] {
        let writer = PathBuf::from(&path);
        let thread = std::thread::spawn(move || fs::write(writer, bytes).unwrap());
        let input = load(&path, &ReadOptions::default()).unwrap();
        thread.join().unwrap();
        assert_eq!(input.edges.edges(), text.lines().count() as u64);
        assert_eq!(input.summary.bytes, None);
    }
}

fn failure(path: &str, options: &ReadOptions) -> (FailureKind, String) {
    match load(path, options) {
        Ok(input) => panic!("{path}: {:?} edges", input.edges.edges()),
        Err(error) => {
            let folder = Path::new(path).parent().unwrap().to_str().unwrap();
            (error.kind(), error.to_string().replace(&format!("{folder}/"), ""))
        }
    }
}

#[test]
fn what_is_not_there_is_66() {
    let folder = Folder::new();
    let options = ReadOptions::default();
    let error = failure(&folder.path("none.txt"), &options);
    assert_eq!(error, (FailureKind::Missing, "none.txt: no such file".into()));
    let error = failure(&folder.path("none-*.txt"), &options);
    assert_eq!(error, (FailureKind::Missing, "none-*.txt: no file matches this pattern".into()));
    fs::create_dir(folder.path("folder")).unwrap();
    assert_eq!(failure(&folder.path("folder"), &options).0, FailureKind::Missing);
    assert_eq!(
        read::<&str>(&[], &options, &Progress::new()).err().unwrap().kind(),
        FailureKind::Usage
    );
}

#[test]
fn bad_content_is_65_with_its_place() {
    let folder = Folder::new();
    let options = ReadOptions::default();
    let text = rows(4 << 20);
    let bad = format!("{text}7\tseven\n{text}-1\t5\n");
    let line = text.lines().count() + 1;
    let expected = "expected an integer as vertex id, found \"seven\" \
                    (for ids that are strings: --ids strings)";
    for (name, bytes) in [
        ("bad.txt", bad.clone().into_bytes()),
        ("bad.gz", gzip(bad.as_bytes())),
        ("bad.zst", zstd::encode_all(bad.as_bytes(), 1).unwrap()),
    ] {
        let path = folder.write(name, &bytes);
        for threads in [1, 2] {
            let error = failure(&path, &ReadOptions { threads, ..ReadOptions::default() });
            assert_eq!(error, (FailureKind::Input, format!("{name}:{line}: {expected}")));
        }
    }
    for (name, bytes, expected) in [
        ("empty.txt", &b""[..], "empty.txt: expected edges, found none"),
        ("comments.txt", b"# nothing\n\n", "comments.txt: expected edges, found none"),
        (
            "cut.txt",
            b"1\t2\n3",
            "cut.txt:2: expected at least 2 columns separated by tabs, found 1; \
            the file ends here without a newline and may be cut short",
        ),
        (
            "one.txt",
            b"1\n2\n",
            "one.txt: expected rows of at least 2 columns, found one column in most of them if \
            spaces separate columns (--separator says what does)",
        ),
        (
            "x.bin",
            b"\0\0\0\x01\0\0\0\x02",
            "x.bin: expected a known format, found binary data; \
            say which format",
        ),
    ] {
        assert_eq!(
            failure(&folder.write(name, bytes), &options),
            (FailureKind::Input, expected.into())
        );
    }
}

#[test]
fn truncated_and_damaged_compression_is_65() {
    let folder = Folder::new();
    let options = ReadOptions::default();
    let text = rows(3 << 20);
    let zst = zstd::encode_all(text.as_bytes(), 1).unwrap();
    for (name, whole) in [("t.gz", gzip(text.as_bytes())), ("t.zst", zst)] {
        for kept in [whole.len() / 2, whole.len() - 1, 20] {
            let (code, message) = failure(&folder.write(name, &whole[..kept]), &options);
            assert_eq!(code, FailureKind::Input, "{message}");
            assert!(message.contains("truncated"), "{message}");
        }
        let mut damaged = whole.clone();
        let middle = whole.len() / 2;
        damaged[middle..middle + 64].fill(0x55);
        let (code, message) = failure(&folder.write(name, &damaged), &options);
        assert_eq!(code, FailureKind::Input, "{message}");
    }
}

#[test]
fn what_grows_too_much_is_refused_early() {
    let folder = Folder::new();
    let options = ReadOptions::default();
    let limit = |limits: Limits| ReadOptions { limits, ..ReadOptions::default() };
    let bomb = zstd::encode_all(&b"0 0\n".repeat(24 << 20)[..], 1).unwrap();
    let path = folder.write("bomb.zst", &bomb);
    let (code, message) = failure(&path, &options);
    assert_eq!(code, FailureKind::Input);
    assert!(message.contains("decompresses to more than 200 times its size"), "{message}");
    let generous = Limits { ratio_max: u64::MAX, ..Limits::default() };
    assert_eq!(load(&path, &limit(generous)).unwrap().edges.edges(), 24 << 20);
    let endless = folder.write("endless.gz", &gzip(&vec![b'7'; 8 << 20]));
    let error = failure(&endless, &options);
    let expected = "endless.gz:1: expected a line of at most 1048576 bytes, found a longer one";
    assert_eq!(error, (FailureKind::Input, expected.into()));
    let endless = folder.write("endless.txt", &vec![b'7'; 8 << 20]);
    assert_eq!(failure(&endless, &options).0, FailureKind::Input);
    let path = folder.write("rows.txt", rows(2 << 20).as_bytes());
    let small = Limits { memory_bytes_max: Some(100_000), ..Limits::default() };
    assert_eq!(failure(&path, &limit(small)).0, FailureKind::Budget);
}

#[test]
fn a_cancelled_run_ends_with_130() {
    let folder = Folder::new();
    let text = rows(2 << 20);
    let progress = Progress::new();
    progress.cancel();
    for (name, bytes) in [("a.txt", text.clone().into_bytes()), ("a.gz", gzip(text.as_bytes()))] {
        let path = folder.write(name, &bytes);
        let error = read(&[path], &ReadOptions::default(), &progress).err().unwrap();
        assert_eq!(error.kind(), FailureKind::Cancelled);
    }
}

#[test]
fn progress_counts_stored_bytes() {
    let folder = Folder::new();
    let text = rows(3 << 20);
    for (name, bytes) in [("a.txt", text.clone().into_bytes()), ("a.gz", gzip(text.as_bytes()))] {
        let progress = Progress::new();
        let path = folder.write(name, &bytes);
        read(&[path], &ReadOptions::default(), &progress).unwrap();
        let phases = progress.finished();
        assert_eq!((phases[0].name, phases[0].total), ("read", Some(bytes.len() as u64)));
        // Lines that cross the border of two parts are read by both.
        let done = phases[0].done as f64 / bytes.len() as f64;
        assert!((1.0..1.05).contains(&done), "{name}: {done}");
    }
}

#[test]
fn weights_and_declared_vertices_arrive() {
    let folder = Folder::new();
    let path = folder.write("w.txt", b"0 1 2.5\n1 2 1e3\n");
    let options = ReadOptions {
        weight: WeightChoice::IfPresent,
        vertices: Some(10),
        ..ReadOptions::default()
    };
    let input = load(&path, &options).unwrap();
    assert_eq!((input.edges.slots(), input.edges.weighted()), (Some(10), true));
    assert_eq!(input.ids, IdMap::Declared);
    let empty = folder.write("none.txt", b"");
    assert_eq!(load(&empty, &options).unwrap().edges.slots(), Some(10));
}
