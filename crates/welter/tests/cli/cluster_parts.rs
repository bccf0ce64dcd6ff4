//! Results that machines write in parts: one after the other they are the file of one process.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::cluster::rows;
use crate::computers::{together, with_key};
use crate::sandbox::Sandbox;

/// Names of the parts of a directory, in their order.
fn names(directory: &Path) -> Vec<String> {
    let names = fs::read_dir(directory).unwrap().map(|it| it.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names.remove(0), "_SUCCESS", "{names:?}");
    names
}

/// All parts as one text, with one header where each has one.
fn joined(directory: &Path, has_header: bool) -> (usize, String) {
    let names = names(directory);
    let mut all = String::new();
    for (number, name) in names.iter().enumerate() {
        assert!(name.starts_with(&format!("part-{number:05}.")), "{names:?}");
        let text = fs::read_to_string(directory.join(name)).unwrap();
        let (header, rows) = text.split_once('\n').unwrap();
        match (has_header, number) {
            (true, 1..) => {
                assert_eq!(Some(header), all.lines().next(), "{name}");
                all.push_str(rows);
            }
            _ => all.push_str(&text),
        }
    }
    (names.len(), all)
}

fn text(sandbox: &Sandbox, name: &str) -> String {
    String::from_utf8(sandbox.read(name)).unwrap()
}

/// Lines of `run`, the extension of the output, and whether that has a header.
const CASES: &[(&str, &str, bool)] = &[
    ("bfs rmat:7 --source 3 --direction both --parents --route fold", "csv", true),
    ("bfs rmat:7 --source 3 --direction both --route spill", "ldbc", false),
    ("bfs rmat:7 --source 3 --route send", "csv", true),
    ("sssp names.csv --source n7 --parents --direction both --route fold", "jsonl", false),
    ("wcc names.csv", "tsv", true),
    ("wcc holes.tsv", "csv", true),
    ("triangles rmat:7", "csv", true),
    ("bfs shop.csv --bipartite --source source:c1 --direction both --parents", "csv", true),
    ("mcst rmat:7,weights=9", "csv", true),
];

fn inputs() -> Sandbox {
    let sandbox = with_key();
    let mut edges = [("names.csv", "from,to,km\n"), ("holes.tsv", ""), ("shop.csv", "a,b\n")]
        .map(|(name, head)| (name, head.to_owned()));
    for at in 0..300_u32 {
        let [one, two] = [at * 7 % 97, at * at % 89];
        writeln!(edges[0].1, "n{one},n{two},{}", 1 + at % 9).unwrap();
        writeln!(edges[1].1, "{}\t{}", one * 3, two * 5).unwrap();
        writeln!(edges[2].1, "c{},p{two}", 1 + one).unwrap();
    }
    for (name, text) in edges {
        sandbox.write(name, text);
    }
    sandbox
}

#[test]
fn parts_are_the_file_of_one_process() {
    let sandbox = inputs();
    for (number, (line, extension, has_header)) in CASES.iter().enumerate() {
        let one = format!("one-{number}.{extension}");
        let words = line.split(" --route ").next().unwrap();
        let expected = sandbox.run(&format!("run {words} -o {one}"));
        assert_eq!(expected.code, Some(0), "{words}: {}", expected.stderr);
        let many = format!("many-{number}.{extension}/");
        let line = format!("run {line} -o {many} --cluster local:3 --report r.json");
        let found = sandbox.run(&line);
        assert_eq!(found.code, Some(0), "{line}: {}", found.stderr);
        let (parts, all) = joined(&sandbox.path().join(&many), *has_header);
        assert!(parts >= 3, "{line}: {parts}");
        let one = text(&sandbox, &one);
        if words.starts_with("mcst") {
            // A list is in no order of vertices.
            assert_eq!(rows(&all), rows(&one), "{line}");
        } else {
            assert_eq!(all, one, "{line}");
        }
        // Of the result as a whole; how a file was read one process says alone.
        let of_file = |line: &str| ["names", "holes", "shop"].iter().any(|it| line.contains(it));
        let notes = |stderr: &str| -> Vec<String> {
            let notes = stderr.lines().filter(|line| line.starts_with("note: ") && !of_file(line));
            notes.map(str::to_owned).collect()
        };
        assert!(!notes(&expected.stderr).is_empty(), "{line}");
        assert_eq!(notes(&found.stderr), notes(&expected.stderr), "{line}");
        let done: Value =
            serde_json::from_slice(&sandbox.read(&format!("{many}_SUCCESS"))).unwrap();
        let lines = one.lines().count() - usize::from(*has_header);
        assert_eq!([&done["parts"], &done["rows"]], [&Value::from(parts), &Value::from(lines)]);
    }
}

#[test]
fn parts_are_files_of_every_format() {
    let sandbox = inputs();
    sandbox.must("run wcc names.csv -q -o one.csv");
    let sum = |table: &str| table.lines().skip(1).count();
    for format in ["parquet", "arrow", "npy", "csv.zst", "csv.gz"] {
        let many = format!("many.{format}/");
        sandbox.must(&format!("run wcc names.csv -q -o {many} --cluster local:2"));
        let names = names(&sandbox.path().join(&many));
        let done: Value =
            serde_json::from_slice(&sandbox.read(&format!("{many}_SUCCESS"))).unwrap();
        assert_eq!(done["rows"], sum(&text(&sandbox, "one.csv")), "{format}");
        let is_one = |name: &String| name.ends_with(&format!(".{format}"));
        assert!(names.len() >= 2 && names.iter().all(is_one), "{names:?}");
    }
    // The name of a directory that says nothing stands for CSV.
    sandbox.must("run wcc names.csv -q -o many/ --cluster local:2");
    assert_eq!(joined(&sandbox.path().join("many"), true).1, text(&sandbox, "one.csv"));
}

#[test]
fn computers_write_parts() {
    let sandbox = inputs();
    sandbox.must("run wcc names.csv -q -o one.csv");
    let line = "run wcc names.csv -q --credentials key -o many.csv/";
    for ended in together(&sandbox, line, 3) {
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }
    let (parts, all) = joined(&sandbox.path().join("many.csv"), true);
    assert!(parts >= 3 && all == text(&sandbox, "one.csv"));
}

#[test]
fn parts_are_all_there_or_none_is() {
    let sandbox = inputs();
    let refused = |line: &str, code, says: &str| {
        let ended = sandbox.run(line);
        assert_eq!(ended.code, Some(code), "{line}: {}", ended.stderr);
        assert!(ended.stderr.contains(says), "{line}: {}", ended.stderr);
    };
    refused("run wcc names.csv -o many/", 2, "machines of a cluster write parts");
    refused("run wcc names.csv -o many.odd/ --cluster local:2", 2, "many.odd");
    sandbox.write("taken", "");
    refused("run wcc names.csv -o taken/ --cluster local:2", 73, "taken/");
    fs::create_dir(sandbox.path().join("full")).unwrap();
    sandbox.write("full/old.csv", "");
    refused("run wcc names.csv -o full/ --cluster local:2", 73, "is not empty");
    // Names have no place in LDBC's format, which machines find out when they write.
    refused("run wcc names.csv -o many.ldbc/ --cluster local:2", 73, "integer ids, found names");
    let left = fs::read_dir(sandbox.path().join("many.ldbc")).map_or(0, Iterator::count);
    assert_eq!(left, 0, "nothing is left in it");
}
