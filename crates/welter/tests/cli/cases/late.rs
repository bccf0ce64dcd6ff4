//! Rows that come after the sample by which a file is known, and first rows that may be sizes.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::{converted, refused, with};
use crate::sandbox::Sandbox;

/// Rows that are alike, more than a sample has.
const ROWS: usize = 60_000;

#[test]
fn a_late_row_of_more_fields_is_refused_with_its_line() {
    let separators = [(",", "csv"), ("\t", "tsv"), (" ", "txt")];
    for (separator, extension) in separators {
        for (row, late) in [(["1", "2"].as_slice(), "7 8 9"), (&["1", "2", "0.5"], "7 8 0.5 9")] {
            let row = format!("{}\n", row.join(separator));
            let late = late.replace(' ', separator);
            let name = format!("e.{extension}");
            let sandbox = with(&name, format!("{}{late}\n1{separator}2\n", row.repeat(ROWS)));
            let line = format!("{name}:60001: ");
            let convert = format!("convert {name} -o -");
            refused(&sandbox, &convert, 65, &[&line, "as in the first rows", "--source-column"]);
        }
    }
    // Columns of both ends that the user names let other columns be.
    let sandbox = with("e.csv", format!("{}7,8,9\n", "1,2\n".repeat(ROWS)));
    let ended = sandbox.must("convert e.csv -o - --source-column 1 --target-column 2");
    assert!(ended.ends_with("1\t2\n7\t8\n"), "{}", &ended[ended.len() - 20..]);
}

#[test]
fn rows_with_blank_columns_behind_them_are_read_until_one_holds_something() {
    for (rows, good) in [("1,2,,\n", "3,4,\n"), ("1 2 \n", "3 4  \n"), ("1\t2\t\r\n", "3\t4\r\n")] {
        let text = format!("{}{good}", rows.repeat(ROWS));
        let sandbox = with("e.txt", &text);
        let written = sandbox.must("convert e.txt -o -");
        let edges = written.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(edges, ROWS + 1, "{rows:?}");
        let late =
            good.trim_end().replace(['3', '4'], "5") + rows.trim_end()[1..2].as_ref() + "6\n";
        sandbox.write("e.txt", text + &late);
        refused(&sandbox, "convert e.txt -o -", 65, &["e.txt:60002: expected 2 columns"]);
    }
}

#[test]
fn a_first_row_that_may_count_is_said_to_be_an_edge_or_left_out() {
    let sandbox = with("e.txt", "4 3\n0 1\n1 2\n2 3\n");
    assert_eq!(converted(&sandbox, "e.txt"), "4>3 0>1 1>2 2>3");
    let stderr = sandbox.run("convert e.txt -o -").stderr;
    assert!(stderr.contains("the first row, 4 3, is read as an edge, though it may"), "{stderr}");
    assert_eq!(converted(&sandbox, "e.txt --header"), "0>1 1>2 2>3");
    // Nothing else lacks a weight.
    sandbox.write("w.txt", "4 3\n0 1 0.5\n1 2 2\n2 3 1\n");
    assert_eq!(converted(&sandbox, "w.txt"), "0>1@0.5 1>2@2 2>3@1");
    for text in ["4 2\n0 1\n1 2\n2 3\n", "2 3\n0 1\n1 2\n2 4\n", "1 2\n2 3\n"] {
        sandbox.write("e.txt", text);
        let stderr = sandbox.run("convert e.txt -o -").stderr;
        assert!(!stderr.contains("the first row"), "{text}: {stderr}");
    }
}

#[test]
fn a_late_row_of_another_direction_is_refused() {
    let row = "1,2,Undirected,0.5\n";
    let text = format!("Source,Target,Type,Weight\n{}", row.repeat(ROWS));
    let sandbox = with("e.csv", &text);
    let info = sandbox.must("info e.csv");
    assert!(info.contains("undirected"), "{info}");
    sandbox.write("e.csv", format!("{text}3,4,Directed,1\n"));
    let words = ["e.csv:60002: expected \"Undirected\" in the column \"Type\"", "--undirected"];
    refused(&sandbox, "convert e.csv -o -", 65, &words);
    let ended = sandbox.must("convert e.csv -o - --directed");
    assert!(ended.ends_with("3\t4\t1\n"), "{}", &ended[ended.len() - 20..]);
}

#[test]
fn inputs_of_different_kinds_of_ids_are_said_to_be_so() {
    let sandbox = with("a.csv", "1,2\n2,3\n");
    sandbox.write("b.csv", "ann,bob\nbob,cat\n");
    let stderr = sandbox.run("run wcc a.csv b.csv -o -").stderr;
    let expected = "note: a.csv: ids are integers and those of b.csv are names; all are read as";
    assert!(stderr.contains(expected), "{stderr}");
    for line in ["run wcc a.csv b.csv -o - --ids strings", "run wcc a.csv a.csv -o -"] {
        assert!(!sandbox.run(line).stderr.contains("ids are integers and"), "{line}");
    }
}

#[test]
fn a_pattern_matches_names_that_are_not_utf_8() {
    let sandbox = Sandbox::new();
    sandbox.write("a.tsv", "1\t2\n");
    let odd = sandbox.path().join(OsStr::from_bytes(b"b\xff.tsv"));
    std::fs::write(odd, "3\t4\n").unwrap();
    assert_eq!(converted(&sandbox, "'*.tsv'"), "1>2 3>4");
}

#[test]
fn rows_of_more_fields_than_their_header_are_refused() {
    // So `DataFrame.to_string` writes names of two words.
    let table = "source target name w\n0 1 2 Ann Lee 0.5\n1 2 3 Bob Ray 0.7\n2 3 4 Eve Fox 0.9\n";
    let sandbox = with("e.txt", table);
    refused(
        &sandbox,
        "convert e.txt -o -",
        65,
        &["e.txt: ", "as many fields as the header has names"],
    );
    // An index without a name, and separators at the ends of rows, are known.
    sandbox.write("e.txt", "source target w\n0 1 2 0.5\n1 2 3 0.7\n");
    assert_eq!(converted(&sandbox, "e.txt"), "1>2@0.5 2>3@0.7");
    sandbox.write("e.txt", "source,target\n1,2,,\n2,3,,\n");
    assert_eq!(converted(&sandbox, "e.txt"), "1>2 2>3");
}
