//! Graphs that do not fit in memory while they are read.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};

use crate::kept::Small;
use crate::sandbox::Sandbox;

/// Memory that the run may use.
const MEMORY: &str = "64MiB";
/// Resident memory that it may take, which is far less than the edges do: twice its limit.
const PEAK_BYTES_MAX: u64 = 128 << 20;

/// Whether two files hold the same bytes, looked at piece by piece.
fn same(sandbox: &Sandbox, a: &str, b: &str) -> bool {
    let open = |name| BufReader::new(File::open(sandbox.path().join(name)).unwrap());
    let (mut a, mut b) = (open(a), open(b));
    loop {
        let (left, right) = (a.fill_buf().unwrap(), b.fill_buf().unwrap());
        let length = left.len().min(right.len());
        if length == 0 || left[..length] != right[..length] {
            return left.is_empty() && right.is_empty();
        }
        a.consume(length);
        b.consume(length);
    }
}

#[test]
fn edges_beyond_memory_wait_in_files_without_names() {
    let sandbox = Sandbox::new();
    // 335 MB of edges with weights.
    sandbox.must("generate rmat 20 --factor 20 --weights 255 -q -o graph.tsv");
    sandbox.must("generate rmat 20 --factor 20 --weights 255 -q -o expected.u32f64");
    std::fs::create_dir(sandbox.path().join("scratch")).unwrap();
    let line = format!("convert graph.tsv -o read.u32f64 --memory {MEMORY} --threads 2");
    let measured = sandbox.measured(&format!("{line} --scratch scratch"));
    assert_eq!(measured.code, Some(0), "{}", measured.stderr);
    assert!(measured.peak_bytes < PEAK_BYTES_MAX, "{} bytes", measured.peak_bytes);
    assert!(same(&sandbox, "read.u32f64", "expected.u32f64"));
    assert!(std::fs::read_dir(sandbox.path().join("scratch")).unwrap().next().is_none());
}

#[test]
fn a_directory_that_is_none_is_refused_at_once() {
    let sandbox = Sandbox::new();
    sandbox.write("graph.tsv", "1\t2\n");
    let ended = sandbox.run("info graph.tsv --scratch graph.tsv");
    assert_eq!(ended.code, Some(73), "{}", ended.stderr);
    assert_eq!(ended.stderr, "error: graph.tsv: no directory for temporary files\n");
    let mut command = sandbox.command("info graph.tsv -q");
    // A folder that is not needed need not be there.
    let ended = command.env("TMPDIR", sandbox.path().join("missing")).output().unwrap();
    assert_eq!(ended.status.code(), Some(0));
}

#[test]
fn a_disk_that_will_be_full_is_told_before_it_is() {
    let sandbox = Sandbox::new();
    let at = sandbox.path().join("small");
    fs::create_dir(&at).unwrap();
    // 16 MiB of edges, and 20 of edges with as many ids as can be, which are no line of text each.
    sandbox.must("generate rmat 17 -q -o graph.tsv");
    let mut text = sandbox.read("graph.tsv");
    text.extend(b"no edge\n");
    sandbox.write("odd.tsv", text);
    let id = |place: u64| place.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let edge = |edge: u64| format!("{}\t{}\n", id(2 * edge), id(2 * edge + 1));
    sandbox.write("sparse.tsv", (0..1_310_720).map(edge).collect::<String>());
    let convert = |input: &str, memory: &str, kilobytes: u32| {
        let mounted = Small::mount(&at, kilobytes)?;
        let line =
            format!("convert {input} -o all.u64 --memory {memory} --threads 1 --scratch small -q");
        let ended = sandbox.run(&line);
        assert!(fs::read_dir(&at).unwrap().next().is_none());
        drop(mounted);
        Some((ended.code, ended.stderr))
    };
    let Some(right) = convert("graph.tsv", "16MiB", 18 << 10) else {
        let required = std::env::var("WELTER_REQUIRE").unwrap_or_default();
        assert!(required.split(',').all(|it| it != "mount"), "WELTER_REQUIRE asks for mounts");
        eprintln!("SKIPPED: nobody lets this test mount a small file system");
        return;
    };
    assert_eq!(right, (Some(0), String::new()));
    // Formats that are read piece by piece are not taken to be longer than they are.
    for format in ["parquet", "arrow", "mtx", "tsv.gz"] {
        sandbox.must(&format!("convert graph.tsv -o graph.{format} -q"));
        let ended = convert(&format!("graph.{format}"), "16MiB", 18 << 10).unwrap();
        assert_eq!(ended, (Some(0), String::new()), "{format}");
    }
    // The last line is read where there is room for all, and where there is not it never is.
    assert_eq!(convert("odd.tsv", "16MiB", 18 << 10).unwrap().0, Some(65));
    let (code, stderr) = convert("odd.tsv", "16MiB", 12 << 10).unwrap();
    assert_eq!(code, Some(74), "{stderr}");
    assert!(stderr.starts_with("error: small: this run may need "), "{stderr}");
    assert!(stderr.contains("\nhint: name another directory "), "{stderr}");

    // Ids in order take about as much as edges did, and once more when they are put together.
    assert_eq!(convert("sparse.tsv", "44MiB", 80 << 10), Some((Some(0), String::new())));
    for kilobytes in [34 << 10, 48 << 10] {
        let (code, stderr) = convert("sparse.tsv", "44MiB", kilobytes).unwrap();
        assert_eq!(code, Some(74), "{stderr}");
        assert!(stderr.starts_with("error: small: this run may need "), "{stderr}");
    }
}
