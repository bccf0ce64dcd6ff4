//! Edges that overflow to temporary files are those that memory would have held.
//!
//! Judged: each edge with its weight in input order, the number of slots, the map of ids, notes and
//! counts, for several limits and numbers of threads, and the folder of the files afterwards. Not
//! judged here: that a damaged file is noticed (unit tests of `scratch`), and how much memory a
//! whole process takes (tests of the command).

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use arrow_ipc::writer::StreamWriter;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use tempfile::TempDir;
use welter_input::{Input, InputError, ReadOptions, WeightChoice, read};
use welter_progress::{FailureKind, Progress};

/// Files to be read, and a folder for what does not fit.
struct Folder {
    inputs: TempDir,
    scratch: TempDir,
}

impl Folder {
    fn new() -> Self {
        Self { inputs: tempfile::tempdir().unwrap(), scratch: tempfile::tempdir().unwrap() }
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.inputs.path().join(name);
        fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn options(&self, memory_bytes_max: u64, threads: usize) -> ReadOptions {
        let mut options = ReadOptions { threads, ..ReadOptions::default() };
        options.limits.memory_bytes_max = Some(memory_bytes_max);
        options.scratch = vec![self.scratch.path().to_owned()];
        options
    }
}

fn load(names: &[String], options: &ReadOptions) -> Result<Input, InputError> {
    read(names, options, &Progress::new())
}

/// All edges with the bits of their weights.
fn edges(input: &Input) -> Vec<([u32; 2], u64)> {
    let mut all = Vec::new();
    for part in 0..input.edges.parts() {
        let read = input.edges.read(part, &mut |batch| {
            let weight = |edge: usize| batch.weights.map_or(0, |weights| weights[edge].to_bits());
            all.extend(batch.pairs.iter().enumerate().map(|(edge, pair)| (*pair, weight(edge))));
            true
        });
        read.unwrap();
    }
    assert_eq!(all.len() as u64, input.edges.edges());
    all
}

/// Whether nothing is left in a folder, and no file without a name is open there.
fn empty(folder: &Path) -> bool {
    let open = fs::read_dir("/proc/self/fd").unwrap();
    let mut open = open.filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
    fs::read_dir(folder).unwrap().next().is_none() && !open.any(|file| file.starts_with(folder))
}

/// Reads with and without enough memory and holds both to be the same.
fn same(folder: &Folder, names: &[String], with: &dyn Fn(&mut ReadOptions), limits: &[u64]) {
    let mut options = ReadOptions { threads: 2, ..ReadOptions::default() };
    with(&mut options);
    let whole = load(names, &options).unwrap();
    assert_eq!(whole.summary.scratch_bytes, 0);
    let expected = edges(&whole);
    for limit in limits {
        for threads in [1, 3] {
            let mut options = folder.options(*limit, threads);
            with(&mut options);
            let spilled = load(names, &options).unwrap();
            let case = format!("{names:?}, {limit} bytes, {threads} threads");
            assert!(spilled.summary.scratch_bytes > 0, "{case}");
            assert!(spilled.edges.resident_bytes() < limit / 2, "{case}");
            assert_eq!(spilled.edges.slots(), whole.edges.slots(), "{case}");
            assert_eq!(spilled.edges.weighted(), whole.edges.weighted(), "{case}");
            assert!(edges(&spilled) == expected, "{case}: other edges");
            assert!(edges(&spilled) == expected, "{case}: other edges when read again");
            assert!(spilled.ids == whole.ids, "{case}: other ids");
            let mut summary = spilled.summary.clone();
            summary.scratch_bytes = 0;
            summary.notes.retain(|note| !note.contains("temporary files"));
            assert_eq!(summary, whole.summary, "{case}");
            drop(spilled);
            assert!(empty(folder.scratch.path()), "{case}");
        }
    }
}

/// Rows of pseudo-random ids below `ids`, through `show`.
fn rows(count: u64, ids: u64, show: impl Fn(u64) -> String, weight: &str) -> String {
    let mut text = String::new();
    let mut state = 1_u64;
    for row in 0..count {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        let [source, target] = [state >> 33, state >> 12].map(|id| show(id % ids));
        let weight = weight.replace("ROW", &(row % 300).to_string());
        writeln!(text, "{source}\t{target}{weight}").unwrap();
    }
    text
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn dense_ids_from_every_kind_of_source() {
    let folder = Folder::new();
    let text = rows(200_000, 50_000, |id| id.to_string(), "");
    let more = rows(1000, 60_000, |id| id.to_string(), "");
    let names = [
        folder.write("a.txt", &text),
        folder.write("b.txt", &more),
        folder.write("c.txt.gz", gzip(&text)),
        folder.write("none.txt", ""),
    ];
    let none = |_: &mut ReadOptions| {};
    for name in [0, 2] {
        same(&folder, &names[name..=name], &none, &[1 << 16, 1 << 20]);
    }
    same(&folder, &names, &none, &[1 << 16, 1 << 20]);
    let declared = |options: &mut ReadOptions| options.vertices = Some(70_000);
    same(&folder, &names, &declared, &[1 << 16]);
    let mut options = folder.options(1 << 16, 2);
    options.vertices = Some(100);
    let error = load(&names, &options).err().unwrap();
    assert_eq!(error.kind(), FailureKind::Input, "{error}");
}

#[test]
fn weights_keep_every_bit() {
    let folder = Folder::new();
    let weighted = |options: &mut ReadOptions| options.weight = WeightChoice::IfPresent;
    for (name, weight) in [
        ("bytes.txt", "\t7"),
        ("singles.txt", "\tROW.25"),
        ("singles.txt", "\t-0"),
        ("doubles.txt", "\t0.1ROW"),
        ("huge.txt", "\t1e300"),
    ] {
        let text = rows(100_000, 30_000, |id| id.to_string(), weight);
        same(&folder, &[folder.write(name, text)], &weighted, &[1 << 16]);
    }
}

#[test]
fn ids_that_count_from_somewhere() {
    let folder = Folder::new();
    let entries = rows(100_000, 40_000, |id| (id + 1).to_string(), "");
    let market = "%%MatrixMarket matrix coordinate pattern general\n40000 40000 100000\n";
    let market = folder.write("g.mtx", format!("{market}{entries}"));
    same(&folder, &[market], &|_| {}, &[1 << 16]);
    let problem = entries.lines().fold("p sp 40000 100000\n".to_owned(), |mut text, row| {
        writeln!(text, "a {row} 5").unwrap();
        text
    });
    let problem = folder.write("g.gr", problem);
    same(&folder, &[problem], &|options| options.weight = WeightChoice::IfPresent, &[1 << 16]);
}

#[test]
fn lines_of_vertices() {
    let folder = Folder::new();
    for (name, header, row) in [
        ("plain.graph", "30000 60000", "A B C D"),
        // The header counts arcs.
        ("arcs.graph", "30000 120000", "A B C D"),
        ("weighted.graph", "30000 60000 1", "A 0.5 B 1.5 C 2 D 3"),
        // Sizes, which are told from neighbours by their number.
        ("sizes.graph", "30000 60000 100", "7 A B C D"),
    ] {
        let mut text = format!("{header}\n");
        for vertex in 0..30_000_u64 {
            let mut row = row.to_owned();
            for (number, letter) in ["A", "B", "C", "D"].into_iter().enumerate() {
                let neighbour = (vertex * 7 + number as u64 * 11) % 30_000 + 1;
                row = row.replace(letter, &neighbour.to_string());
            }
            writeln!(text, "{row}").unwrap();
        }
        let names = [folder.write(name, text)];
        let weighted = |options: &mut ReadOptions| options.weight = WeightChoice::IfPresent;
        same(&folder, &names, &weighted, &[1 << 16, 1 << 20]);
    }
}

#[test]
fn sparse_integers() {
    let folder = Folder::new();
    let spread = |id: u64| id.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_string();
    let mut names = vec![folder.write("huge.txt", rows(200_000, 20_000, spread, ""))];
    same(&folder, &names, &|_| {}, &[300_000, 1 << 20]);
    // Integers of which a bitmap is small, and a file with narrow ids beside wide ones.
    names.push(folder.write("gaps.txt", rows(100_000, 20_000, |id| (id * 60).to_string(), "")));
    same(&folder, &names[1..], &|_| {}, &[300_000, 1 << 20]);
    same(&folder, &names, &|_| {}, &[400_000]);
    let weighted = |options: &mut ReadOptions| options.weight = WeightChoice::IfPresent;
    for weight in ["\tROW", "\t0.3ROW"] {
        let text = rows(100_000, 20_000, spread, weight);
        same(&folder, &[folder.write("weighted.txt", text)], &weighted, &[300_000]);
    }
    let error = load(&names, &folder.options(100_000, 2)).err().unwrap();
    assert_eq!(error.kind(), FailureKind::Budget);
    assert!(error.to_string().contains("distinct ids take"), "{error}");
}

#[test]
fn mapping_that_takes_more_than_the_edges() {
    let folder = Folder::new();
    // 1.6 MB of edges fit in half of the limit; tables of twice as many ids do not fit beside them.
    let spread = |id: u64| (id + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_string();
    let names = [folder.write("many.txt", rows(100_000, 1 << 40, spread, ""))];
    same(&folder, &names, &|_| {}, &[6_000_000]);
    let named = |id: u64| format!("n{id}");
    let names = [folder.write("names.txt", rows(20_000, 1 << 40, named, ""))];
    same(&folder, &names, &|_| {}, &[4_200_000]);
    // Few ids take little.
    let names = [folder.write("few.txt", rows(100_000, 900, spread, ""))];
    let input = load(&names, &folder.options(6_000_000, 2)).unwrap();
    assert_eq!(input.summary.scratch_bytes, 0);
}

#[test]
fn names_as_ids() {
    let folder = Folder::new();
    let name =
        |id: u64| format!("{}-{}", ["ü", "http://example.org/", "", "z"][id as usize % 4], id * 7);
    let names = [
        folder.write("a.txt", rows(100_000, 9_000, name, "")),
        folder.write("b.txt", rows(100_000, 12_000, name, "")),
        folder.write("c.txt.gz", gzip(&rows(10_000, 12_000, name, ""))),
    ];
    same(&folder, &names, &|_| {}, &[1_300_000, 1 << 21]);
    let error = load(&names, &folder.options(200_000, 2)).err().unwrap();
    assert_eq!(error.kind(), FailureKind::Budget);
    let weighted = |options: &mut ReadOptions| options.weight = WeightChoice::IfPresent;
    let text = rows(100_000, 9_000, name, "\tROW");
    same(&folder, &[folder.write("weighted.txt", text)], &weighted, &[1_000_000]);
}

#[test]
fn vertices_that_a_format_lists() {
    let folder = Folder::new();
    let id = |id: u64| (id * id + 5).to_string();
    let listed = (0..25_000).map(id).collect::<Vec<_>>().join("\n");
    folder.write("g.v", listed + "\n");
    let edges = rows(100_000, 20_000, id, "").replace('\t', " ");
    same(&folder, &[folder.write("g.e", &edges)], &|_| {}, &[500_000]);
    // A list beside a range that lies elsewhere.
    let market = "%%MatrixMarket matrix coordinate pattern general\n4 4 1\n1 2\n";
    let names = [folder.write("g.mtx", market), folder.write("g.txt", edges.replace(' ', "\t"))];
    same(&folder, &names, &|_| {}, &[500_000]);
}

#[test]
fn a_folder_that_cannot_be_used_is_named() {
    let folder = Folder::new();
    let text = folder.write("a.txt", rows(100_000, 50_000, |id| id.to_string(), ""));
    let names = [text];
    let mut options = folder.options(1 << 16, 2);
    options.scratch.push(folder.scratch.path().join("missing"));
    let error = load(&names, &options).err().unwrap();
    assert_eq!(error.kind(), FailureKind::Output, "{error}");
    assert!(error.to_string().contains("/missing: cannot make a temporary file"), "{error}");
    // An input that fits needs no folder.
    options.limits.memory_bytes_max = Some(1 << 30);
    load(&names, &options).unwrap();
    // Without a folder, the edges do not fit.
    let mut options = folder.options(1 << 16, 2);
    options.scratch.clear();
    assert_eq!(load(&names, &options).err().unwrap().kind(), FailureKind::Budget);
}

/// Mounts a file system in memory of `bytes` bytes; `None`, loudly, where that is refused.
fn small_disk(bytes: usize) -> Option<TempDir> {
    let folder = tempfile::tempdir().unwrap();
    let size = format!("size={bytes}");
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(folder.path());
    if mount.output().is_ok_and(|output| output.status.success()) {
        return Some(folder);
    }
    let required = std::env::var("WELTER_REQUIRE").unwrap_or_default();
    assert!(!required.split(',').any(|name| name == "mount"), "mounting is refused");
    eprintln!("SKIPPED: no file system can be mounted here, so no disk is full");
    None
}

#[test]
fn a_full_disk_is_an_error_that_names_it() {
    let folder = Folder::new();
    let plain = folder.write("a.txt", rows(200_000, 50_000, |id| id.to_string(), ""));
    let spread = |id: u64| (id + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_string();
    let sparse = folder.write("b.txt", rows(100_000, 10_000, spread, ""));
    let Some(disk) = small_disk(1 << 20) else { return };
    for name in [&plain, &sparse] {
        let mut options = folder.options(200_000, 2);
        options.scratch = vec![disk.path().to_owned()];
        let error = load(std::slice::from_ref(name), &options).err().unwrap();
        assert_eq!(error.kind(), FailureKind::Storage, "{error}");
        // It is foreseen, or comes before anything can be.
        let ways = ["this run may need ", "no space is left there"];
        let messages = ways.map(|way| format!("{}: {way}", disk.path().display()));
        assert!(messages.iter().any(|message| error.to_string().starts_with(message)), "{error}");
        assert!(empty(disk.path()));
        // A file that does not fit there goes to another directory, and a note says where files
        // are.
        options.scratch.push(folder.scratch.path().to_owned());
        let input = load(std::slice::from_ref(name), &options).unwrap();
        assert!(input.summary.notes[0].ends_with("lies in memory itself"));
        edges(&input);
    }
    let unmounted = Command::new("umount").arg(disk.path()).output().unwrap();
    assert!(unmounted.status.success(), "{unmounted:?}");
}

#[test]
fn a_run_that_is_ended_leaves_nothing() {
    let folder = Folder::new();
    let spread = |id: u64| (id + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_string();
    let names = [folder.write("a.txt", rows(200_000, 20_000, spread, ""))];
    let mut ended = 0;
    for millis in [0, 1, 2, 4, 8, 16, 32, 64, 128] {
        let progress = Progress::new();
        let done = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(millis));
                progress.cancel();
            });
            read(&names, &folder.options(300_000, 2), &progress).map(|_| ())
        });
        if let Err(error) = done {
            assert_eq!(error.kind(), FailureKind::Cancelled, "{error}");
            ended += 1;
        }
        assert!(empty(folder.scratch.path()));
    }
    assert!(ended > 0);
}

#[test]
fn tables() {
    let folder = Folder::new();
    let edges = rows(150_000, 40_000, |id| id.to_string(), "");
    let column = |place: usize| -> ArrayRef {
        let ids = edges.lines().map(|row| row.split('\t').nth(place).unwrap().parse::<u64>());
        Arc::new(ids.map(Result::unwrap).collect::<UInt64Array>())
    };
    let columns = [("source", column(0)), ("target", column(1))];
    let table = RecordBatch::try_from_iter(columns).unwrap();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(40_000)).build();
    let mut writer = ArrowWriter::try_new(Vec::new(), table.schema(), Some(properties)).unwrap();
    writer.write(&table).unwrap();
    let parquet = folder.write("a.parquet", writer.into_inner().unwrap());
    let mut writer = StreamWriter::try_new(Vec::new(), &table.schema()).unwrap();
    (0..3).for_each(|run| writer.write(&table.slice(run * 50_000, 50_000)).unwrap());
    let arrow = folder.write("b.arrows", writer.into_inner().unwrap());
    same(&folder, &[parquet, arrow], &|_| {}, &[1 << 16]);
}

#[test]
fn several_folders_take_turns() {
    let (folder, second) = (Folder::new(), tempfile::tempdir().unwrap());
    let names = [folder.write("a.txt", rows(400_000, 50_000, |id| id.to_string(), ""))];
    let path = second.path().to_owned();
    let both = move |options: &mut ReadOptions| {
        if !options.scratch.is_empty() {
            options.scratch.push(path.clone());
        }
    };
    same(&folder, &names, &both, &[1 << 16]);
    assert!(empty(second.path()));
}
