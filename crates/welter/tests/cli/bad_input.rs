//! Whatever is wrong with an input or an option: one clear line with its place, the documented exit
//! code, nothing left behind.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::sandbox::{Ended, Sandbox};

/// Checks how a command failed, and that no file but the inputs is there.
fn failed(sandbox: &Sandbox, line: &str, ended: &Ended, code: i32, messages: &[&str]) {
    let Ended { stderr, stdout, .. } = ended;
    assert_eq!(ended.code, Some(code), "welter {line}\n{stderr}");
    assert!(stderr.starts_with("error: "), "welter {line}\n{stderr}");
    assert!(!stderr.contains("panicked") && !stderr.contains("invariant"), "{stderr}");
    assert_eq!(stdout, "", "welter {line}");
    for message in messages {
        assert!(stderr.contains(message), "welter {line}\nsaid {stderr}and not \"{message}\"");
    }
    let left: Vec<_> = sandbox.files().into_iter().filter(|name| name.contains("out")).collect();
    assert_eq!(left, [""; 0], "welter {line}");
}

/// Runs a command with an output and checks that it fails as it should.
fn fails(sandbox: &Sandbox, line: &str, code: i32, messages: &[&str]) -> Ended {
    let line = format!("{line} -o out.csv");
    let ended = sandbox.run(&line);
    failed(sandbox, &line, &ended, code, messages);
    ended
}

#[test]
fn every_malformed_line_is_named_with_its_place() {
    let sandbox = Sandbox::new();
    let many = "1 2\n".repeat(50_000);
    let late = format!("{many}1 x\n");
    let negative = format!("{many}3 -4\n");
    let large = format!("{many}3 18446744073709551616\n");
    for (text, place, message) in [
        ("1 2\n2 3\n3 x\n", ":3:", "expected an integer"),
        ("1 2\n3\n2 3\n", ":2:", "2 columns"),
        ("1 2\n2 3\n3 ", ":3:", "2 columns"),
        (&negative, ":50001:", "-4"),
        (&large, ":50001:", "18446744073709551616"),
        ("1 2\n3 1.5\n", ":", "fractions"),
        ("# comment\n\n1,2\n3,\n", ":4:", "vertex id"),
        (&late, ":50001:", "expected an integer"),
    ] {
        sandbox.write("edges.txt", text);
        fails(&sandbox, "run pagerank edges.txt", 65, &[&format!("edges.txt{place}"), message]);
        fails(&sandbox, "convert edges.txt", 65, &[&format!("edges.txt{place}"), message]);
    }
}

#[test]
fn the_place_is_told_for_packed_and_piped_text_too() {
    let sandbox = Sandbox::new();
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(b"1 2\n2 3\nx y\n").unwrap();
    sandbox.write("edges.txt.gz", packer.finish().unwrap());
    fails(&sandbox, "run pagerank edges.txt.gz", 65, &["edges.txt.gz:3:"]);
    let line = "run pagerank - -o out.csv";
    let ended = sandbox.run_with(line, b"1 2\n2 three\n");
    failed(&sandbox, line, &ended, 65, &["<stdin>:2:", "three"]);
}

#[test]
fn weights_are_looked_at() {
    let sandbox = Sandbox::new();
    for (text, message) in [
        ("1 2 0.5\n2 3 nan\n", "not a number"),
        ("1 2 0.5\n2 3 1\n3 4 heavy\n", "number as weight"),
        ("1 2 0.5\n2 3 1\n3 4\n", "3 columns"),
    ] {
        sandbox.write("edges.txt", text);
        let line = text.lines().count();
        fails(&sandbox, "run spmv edges.txt", 65, &[&format!("edges.txt:{line}:"), message]);
        // Where weights are not asked for, nothing is wrong.
        sandbox.must("run pagerank edges.txt");
    }
    sandbox.write("edges.txt", "1 2\n");
    fails(&sandbox, "run spmv edges.txt --weight 3", 65, &["edges.txt", "3"]);
}

#[test]
fn files_that_are_empty_cut_or_hostile_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("empty.txt", "");
    fails(&sandbox, "run pagerank empty.txt", 65, &["empty.txt", "expected edges"]);
    sandbox.write("comments.txt", "# nothing\n# here\n");
    fails(&sandbox, "run pagerank comments.txt", 65, &["comments.txt", "expected edges"]);

    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all("1 2\n3 4\n5 1\n".repeat(10_000).as_bytes()).unwrap();
    let packed = packer.finish().unwrap();
    sandbox.write("cut.txt.gz", &packed[..packed.len() / 2]);
    fails(&sandbox, "run pagerank cut.txt.gz", 65, &["cut.txt.gz: byte"]);

    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    let block = vec![b'\n'; 1 << 20];
    (0..100).for_each(|_| packer.write_all(&block).unwrap());
    sandbox.write("bomb.txt.gz", packer.finish().unwrap());
    fails(&sandbox, "run pagerank bomb.txt.gz", 65, &["bomb.txt.gz"]);

    sandbox.write("edges.u32", [0_u8; 20]);
    fails(&sandbox, "run pagerank edges.u32", 65, &["edges.u32: byte 16"]);
    sandbox.write("binary.bin", [0_u8; 64]);
    fails(&sandbox, "run pagerank binary.bin", 65, &["binary.bin", "say which format"]);
}

#[test]
fn tables_of_the_wrong_shape_are_refused() {
    let sandbox = Sandbox::new();
    for format in ["parquet", "arrow"] {
        // Ranks are no vertex ids.
        sandbox.must(&format!("run pagerank rmat:6 -o ranks.{format}"));
        let name = format!("ranks.{format}");
        fails(&sandbox, &format!("run pagerank {name}"), 65, &[&name, "rank"]);
        fails(&sandbox, &format!("run pagerank {name} --source-column from"), 65, &[&name, "from"]);
        let bytes = sandbox.read(&name);
        let cut = format!("cut.{format}");
        sandbox.write(&cut, &bytes[..bytes.len() / 2]);
        fails(&sandbox, &format!("run pagerank {cut}"), 65, &[&cut]);
    }
    sandbox.write("named.csv", "source,target\n1,2\n");
    let options = "--source-column who --target-column whom";
    fails(&sandbox, &format!("run pagerank named.csv {options}"), 65, &["named.csv", "who"]);
    sandbox.write("ids.txt", "0 1\n1 7\n");
    fails(&sandbox, "run pagerank ids.txt --vertices 5", 65, &["ids.txt", "7"]);
}

#[test]
fn what_is_not_there_is_said() {
    let sandbox = Sandbox::new();
    fails(&sandbox, "run pagerank none.txt", 66, &["none.txt: no such file"]);
    fails(&sandbox, "run pagerank 'none-*.txt'", 66, &["none-*.txt: no file matches"]);
    fails(&sandbox, "run pagerank .", 66, &[".: is a directory"]);
    for command in ["info", "explain pagerank"] {
        let ended = sandbox.run(&format!("{command} none.txt"));
        failed(&sandbox, command, &ended, 66, &["none.txt: no such file"]);
    }
}

#[test]
fn wrong_usage_ends_with_2() {
    let sandbox = Sandbox::new();
    for (line, message) in [
        ("run pagerank", "<INPUT>"),
        ("run nonsense rmat:6", "nonsense"),
        ("run pagerank rmat:6 --damping 1.5", "from 0 to 1"),
        ("run pagerank rmat:6 --damping NaN", "from 0 to 1"),
        ("run pagerank rmat:6 --tolerance -1", "not negative"),
        ("run pagerank rmat:6 --tolerance=-1", "not negative"),
        ("run pagerank rmat:6 --iterations 0", "1.."),
        ("run pagerank rmat:6 --threads 0", "1 to 4096"),
        ("run pagerank rmat:6 --memory lots", "4GiB"),
        ("run pagerank rmat:6 --dangling none", "spread"),
        ("run pagerank rmat:6 --weight 3", "--weight"),
        ("run pagerank rmat:99", "scale 99"),
        ("run pagerank rmat:6,colour=red", "colour"),
        ("run pagerank rmat:6 rmat:7", "alone"),
        ("run pagerank rmat:6 --vertices 9", "--vertices"),
        ("run pagerank rmat:6 --output-format npy", "--output"),
        ("run pagerank rmat:6 -o ranks.docx", "docx"),
        ("run pagerank rmat:6 -o ranks", "no extension"),
        ("run pagerank rmat:6 -o ranks.npy.gz", "not compressed"),
        ("run pagerank rmat:6 -o a.csv --report a.csv", "report"),
        ("generate rmat 0", "scale 0"),
        ("generate web 1", "1 pages"),
        ("generate rmat 6 --quadrants 1,1,1,1", "sum to 1"),
        ("convert rmat:6 -o graph.docx", "docx"),
    ] {
        failed(&sandbox, line, &sandbox.run(line), 2, &[message]);
        assert_eq!(sandbox.files(), [""; 0], "{line}");
    }
}

#[test]
fn what_is_said_of_rows_of_text_is_refused_where_there_are_none() {
    let sandbox = Sandbox::new();
    sandbox.write("edges.u32", [0; 8]);
    sandbox.write("g.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n");
    sandbox.write("g.adj", "1 2\n");
    sandbox.write("g.gml", "graph [ node [ id 1 ] edge [ source 1 target 1 ] ]\n");
    sandbox.must("convert g.mtx -o g.arrow");
    for name in ["edges.u32", "g.mtx", "g.adj", "g.gml", "g.arrow"] {
        for option in ["--separator comma", "--header", "--no-header"] {
            // An adjacency list may have any separator.
            if name == "g.adj" && option.starts_with("--separator") {
                continue;
            }
            let line = format!("run pagerank {name} {option}");
            let (option, _) = option.split_once(' ').unwrap_or((option, ""));
            fails(&sandbox, &line, 2, &[name, option, "rows of text"]);
        }
    }
    sandbox.write("edges.txt", "1,2\n");
    fails(&sandbox, "run pagerank edges.txt g.mtx --separator comma", 2, &["g.mtx: --separator"]);
    sandbox.must("run pagerank edges.txt --separator comma --no-header");
    for option in ["--separator tab", "--no-header", "--format csv", "--source-column 2"] {
        fails(&sandbox, &format!("run pagerank rmat:6 {option}"), 2, &["rmat:6", "generated"]);
    }
}

#[test]
fn what_cannot_fit_is_refused_before_it_is_read() {
    let sandbox = Sandbox::new();
    let messages = ["the budget is 40.0 MiB", "give it --memory "];
    fails(&sandbox, "run pagerank rmat:22 --memory 40MiB", 78, &messages[..1]);
    let ended = sandbox.run("explain pagerank rmat:22 --memory 40MiB");
    failed(&sandbox, "explain", &ended, 78, &messages);
    // Numbers that are merely stated take no memory.
    sandbox.write("edges.txt", "0 1\n");
    let line = "run pagerank edges.txt --vertices 4_000_000_000 --memory 1GiB";
    fails(&sandbox, line, 78, &["budget"]);
}
