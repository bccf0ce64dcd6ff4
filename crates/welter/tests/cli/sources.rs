//! Where bytes come from: directories, archives, compressions and encodings, by the command.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::sandbox::Sandbox;

/// Rows that `convert` makes of an input.
fn rows(sandbox: &Sandbox, input: &str) -> String {
    let ended = sandbox.run(&format!("convert {input} -o - --output-format csv"));
    assert_eq!(ended.code, Some(0), "{input}: {}", ended.stderr);
    ended.stdout
}

/// Rows of the edges 0 -> 1 and 1 -> 2.
const ROWS: &str = "source,target\n0,1\n1,2\n";

#[test]
fn directories_are_their_files() {
    let sandbox = Sandbox::new();
    for (name, text) in [
        ("out/part-0.csv", "0,1\n"),
        ("out/part-1.csv", "1,2\n"),
        ("out/_SUCCESS", ""),
        ("out/.part-0.csv.crc", "crc\u{1}"),
        ("years/year=1/a.csv", "0,1\n"),
        ("years/year=2/a.csv", "1,2\n"),
        ("empty/_SUCCESS", ""),
    ] {
        std::fs::create_dir_all(sandbox.path().join(name).parent().unwrap()).unwrap();
        sandbox.write(name, text);
    }
    for input in ["out", "out/", "'out/part-*'", "years", "'years/*/*.csv'", "'years/year=*'"] {
        assert_eq!(rows(&sandbox, input), ROWS, "{input}");
    }
    let ended = sandbox.run("run wcc empty");
    assert_eq!(ended.code, Some(66));
    assert!(ended.stderr.contains("empty: is a directory without files"), "{}", ended.stderr);
}

#[test]
fn packed_files_are_unpacked_by_name_and_by_what_they_are() {
    let sandbox = Sandbox::new();
    let text = "0 1\n1 2\n";
    let brotli = [&[0x8f, 0x03, 0x80][..], text.as_bytes(), &[3]].concat();
    sandbox.write("e.txt.br", brotli);
    let wide: Vec<u8> = "\u{feff}source;target\r\n0;1\r\n1;2\r\n"
        .encode_utf16()
        .flat_map(u16::to_be_bytes)
        .collect();
    sandbox.write("e.csv", wide);
    sandbox.write("e.seven", b"7z\xbc\xaf\x27\x1c\0\x04");
    for input in ["e.txt.br", "e.csv"] {
        assert_eq!(rows(&sandbox, input), ROWS, "{input}");
    }
    let ended = sandbox.run("run wcc e.seven");
    assert_eq!(ended.code, Some(65));
    assert!(ended.stderr.contains("found a 7-Zip archive"), "{}", ended.stderr);
}

#[test]
fn names_of_files_need_not_be_text() {
    let sandbox = Sandbox::new();
    let folder = sandbox.path().join("odd");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join(OsStr::from_bytes(b"a\xff.tsv")), "0\t1\n1\t2\n").unwrap();
    assert_eq!(rows(&sandbox, "odd"), ROWS);
}
