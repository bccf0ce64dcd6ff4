//! Graphs that do not fit in memory while they are read.

use std::fs::File;
use std::io::{BufRead, BufReader};

use crate::sandbox::Sandbox;

/// What the run may use.
const MEMORY: &str = "64MiB";
/// Resident memory that it may take, which is far less than the edges do: twice its limit, and as
/// much again because the system counts the process of this test too.
const PEAK_BYTES_MAX: u64 = 192 << 20;

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
    // What is not needed need not be there.
    let ended = command.env("TMPDIR", sandbox.path().join("missing")).output().unwrap();
    assert_eq!(ended.status.code(), Some(0));
}
