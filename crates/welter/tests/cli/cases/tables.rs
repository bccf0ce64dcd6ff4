//! Tables of Arrow and Parquet, and the folders that hold them.

use std::fs;

use super::{components, converted, kept, refused, with};
use crate::sandbox::Sandbox;

#[test]
fn an_arrow_file_is_read_by_its_footer() {
    let sandbox = with("int.arrow", kept("polars.arrow"));
    let written = sandbox.must("convert int.arrow -o - --output-format csv");
    assert_eq!(written, "source,target\n1,2\n2,3\n");
    // A pipe has no end to begin with.
    let ended = sandbox.run_with("convert - -o - --output-format csv", &kept("polars.arrow"));
    assert!(ended.code == Some(65) || ended.stdout == written, "{}{}", ended.stdout, ended.stderr);
    assert!(!ended.stderr.contains("\n\n"), "{}", ended.stderr);
}

#[test]
fn decimals_and_whole_floats_are_ids() {
    for name in ["decimals.parquet", "floats.parquet"] {
        assert_eq!(converted(&with(name, kept(name)), name), "1>2 2>3", "{name}");
    }
}

#[test]
fn brotli_is_read_within_parquet() {
    let sandbox = with("e.parquet", kept("brotli.parquet"));
    let mut vertices: Vec<u32> =
        components(&sandbox, "e.parquet").split(' ').map(|id| id.parse().unwrap()).collect();
    vertices.sort_unstable();
    assert_eq!(vertices, (0..=500).collect::<Vec<_>>());
}

#[test]
fn columns_in_the_path_are_columns() {
    let sandbox = Sandbox::new();
    for source in [1, 2] {
        fs::create_dir_all(sandbox.path().join(format!("edges/src={source}"))).unwrap();
        let name = format!("edges/src={source}/part-0.parquet");
        sandbox.write(&name, kept(&format!("hive-{source}.parquet")));
    }
    for input in ["'edges/**/*.parquet'", "edges"] {
        assert_eq!(converted(&sandbox, input), "1>2 2>3 2>4", "{input}");
    }
}

#[test]
fn a_folder_is_its_files_without_those_that_are_hidden() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path().join("out")).unwrap();
    for (name, text) in [
        ("part-00000-abc-c000.csv", &b"1,2\n2,3\n"[..]),
        ("part-00001-abc-c000.csv", b"4,5\n"),
        (".part-00000-abc-c000.csv.crc", b"crc\0\0\0\x02\0\x1a\x11\xff"),
        ("._SUCCESS.crc", b"crc\0\0\0\x02\0\0\0\0"),
        ("_SUCCESS", b""),
    ] {
        sandbox.write(&format!("out/{name}"), text);
    }
    for input in ["'out/*'", "out", "out/", "'o*/part-*'"] {
        assert_eq!(components(&sandbox, input), "1 2 3 | 4 5", "{input}");
    }
    fs::create_dir(sandbox.path().join("empty")).unwrap();
    refused(&sandbox, "run wcc empty -o -", 66, &["empty"]);
}
