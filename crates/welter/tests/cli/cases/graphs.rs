//! Graphs as they are stated: weights, directions, duplicates, vertices without edges, two kinds of
//! vertices, and what people look for.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::with;
use crate::csv;
use crate::sandbox::{Ended, Sandbox};

#[test]
fn duplicates_are_those_of_the_graph_that_was_stated() {
    let sandbox = with("f.tsv", "5\t9\n9\t5\n5\t1\n5\t2\n");
    let expected = "vertex,community\n1,5\n2,5\n5,9\n9,5\n";
    for options in ["", "--drop-duplicates", "--drop-duplicates=min"] {
        let line = format!("run cdlp f.tsv --iterations 1 {options} -q -o -");
        assert_eq!(sandbox.must(&line), expected, "{options}");
    }
    sandbox.write("twice.tsv", "5\t9\n9\t5\n5\t1\n5\t2\n5\t2\n9\t5\n");
    let line = "run cdlp twice.tsv --iterations 1 --drop-duplicates -q -o -";
    assert_eq!(sandbox.must(line), expected);
}

#[test]
fn a_path_is_bytes() {
    let sandbox = Sandbox::new();
    let name = OsStr::from_bytes(b"a\xff.tsv");
    std::fs::write(sandbox.path().join(name), "1\t2\n").unwrap();
    let mut command = sandbox.command("run wcc -q -o -");
    let ended = Ended::of(command.arg(name).output().unwrap());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(csv::groups(&ended.stdout), "1 2");
}
