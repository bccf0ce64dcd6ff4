//! Comments, ids, quotes, line ends and encodings of text.

use super::{components, converted, kept, refused, with};
use crate::csv;

#[test]
fn names_that_begin_as_comments_do_are_rows() {
    let sandbox = with("e.tsv", "#rust\t#python\nann\t#rust\n#go\tbob\n%off\tcat\n");
    assert_eq!(components(&sandbox, "e.tsv"), "#go bob | #python #rust ann | %off cat");
}

#[test]
fn comments_that_are_no_rows_stay_comments() {
    for text in [
        "# a crawl\n# FromNodeId\tToNodeId\n1\t2\n2\t3\n",
        "% asym unweighted\n1\t2\n2\t3\n",
        "1\t2\n# the other half\n2\t3\n",
    ] {
        assert_eq!(converted(&with("e.txt", text), "e.txt"), "1>2 2>3", "{text}");
    }
}

#[test]
fn what_is_not_written_as_an_integer_is_a_name() {
    let sandbox = with("e.csv", "from,to\n01234,02139\n1234,94110\n");
    assert_eq!(components(&sandbox, "e.csv"), "01234 02139 | 1234 94110");
    // The first of rows without a header may not be taken for sizes.
    let sandbox = with("e.csv", "01234,02139\n1234,94110\n");
    assert_eq!(components(&sandbox, "e.csv"), "01234 02139 | 1234 94110");
    let sandbox = with("e.csv", "+4915,+3361\n+3361,4915\n");
    assert_eq!(components(&sandbox, "e.csv"), "+3361 +4915 4915");
    let rare = |rows: usize| with("e.csv", format!("{}7,007\n", "7,8\n".repeat(rows)));
    assert_eq!(components(&rare(50), "e.csv"), "007 7 8");
    // Behind what the guess has seen it is an error with its line.
    let sandbox = rare(60_000);
    refused(&sandbox, "run wcc e.csv -o -", 65, &["e.csv:60001:", "007", "--ids"]);
    assert_eq!(components(&sandbox, "e.csv --ids strings"), "007 7 8");
}

#[test]
fn negative_ids_are_read() {
    let sandbox = with("e.csv", "src,dst\n-1,2\n2,-3\n");
    assert_eq!(components(&sandbox, "e.csv"), "-1 -3 2");
    let sandbox = with("e.txt", "-1 -2\n-2 3\n3 -9223372036854775808\n");
    assert_eq!(converted(&sandbox, "e.txt"), "-1>-2 -2>3 3>-9223372036854775808");
}

#[test]
fn whole_floats_are_ids_or_the_remedy_is_named() {
    let sandbox = with("e.csv", "src,dst\n1.0,2.0\n2.0,3.0\n");
    let ended = sandbox.run("convert e.csv -o - --output-format csv");
    if ended.code == Some(0) {
        assert_eq!(ended.stdout, "source,target\n1,2\n2,3\n");
    } else {
        refused(&sandbox, "run wcc e.csv -o -", 65, &["e.csv", "--ids strings"]);
    }
    assert_eq!(components(&sandbox, "e.csv --ids strings"), "1.0 2.0 3.0");
    refused(&with("e.csv", "1.5,2\n2,3\n"), "run wcc e.csv -o -", 65, &["e.csv", "column"]);
}

#[test]
fn lines_that_end_with_carriage_returns_are_lines() {
    for (text, parts) in [
        ("1,2\r2,3\r4,5\r", "1 2 3 | 4 5"),
        ("source,target\r1,2\r2,3\r4,5\r", "1 2 3 | 4 5"),
        ("ann\tbob\rbob\tcat\r", "ann bob cat"),
        ("1,2\r\n2,3\r\n4,5\r\n", "1 2 3 | 4 5"),
    ] {
        assert_eq!(components(&with("e.csv", text), "e.csv"), parts, "{text:?}");
    }
}

#[test]
fn a_quoted_field_behind_the_ends_may_hold_lines() {
    let text = "source,target,comment\nann,bob,\"first line\nsecond, line\"\nbob,cat,ok\n";
    assert_eq!(components(&with("e.csv", text), "e.csv"), "ann bob cat");
    let text = "source,target,note\n1,2,\"see\n7,8\n9,10\nend\"\n2,3,w\n";
    assert_eq!(components(&with("e.csv", text), "e.csv"), "1 2 3");
    let text = "note,source,target\n\"7,8\n9,10\",1,2\n\"one \"\"two\"\"\",2,3\n";
    assert_eq!(components(&with("e.csv", text), "e.csv"), "1 2 3");
    let open = with("e.csv", "source,target,note\n1,2,\"open\n2,3,w\n");
    refused(&open, "run wcc e.csv -o -", 65, &["e.csv:2:", "quote"]);
}

#[test]
fn what_is_written_is_read() {
    let sandbox = with("e.parquet", kept("newline.parquet"));
    sandbox.must("convert e.parquet -o names.csv");
    let written = String::from_utf8(sandbox.read("names.csv")).unwrap();
    assert_eq!(csv::rows(&written)[1], ["a\nb", "c"]);
    let again = sandbox.must("convert names.csv -o - --output-format csv");
    assert_eq!(again, written);
    sandbox.must("convert e.parquet -o names.arrow");
    assert_eq!(sandbox.must("convert names.arrow -o - --output-format csv"), written);
}

#[test]
fn quotes_within_a_field_are_text() {
    let sandbox = with("e.tsv", "\"Weird Al\" Yankovic\tMadonna\nMadonna\tPrince\n");
    assert_eq!(components(&sandbox, "e.tsv"), "\"Weird Al\" Yankovic Madonna Prince");
    let sandbox = with("e.csv", "bolt,5\" pipe\n5\" pipe,nut\n");
    assert_eq!(components(&sandbox, "e.csv"), "5\" pipe bolt nut");
}

#[test]
fn quotes_behind_a_backslash_are_text_or_refused() {
    let sandbox = with("e.csv", "src,dst\n\"say \\\"hi\\\"\",bob\nbob,\"c\\\\d\"\n");
    let ended = sandbox.run("convert e.csv -o - --output-format csv");
    if ended.code == Some(0) {
        let rows = csv::rows(&ended.stdout);
        assert_eq!(rows[1..], [["say \"hi\"", "bob"], ["bob", "c\\d"]]);
    } else {
        refused(&sandbox, "run wcc e.csv -o -", 65, &["e.csv:2:", "\\"]);
    }
}

#[test]
fn text_in_utf_16_with_a_mark_is_read() {
    let text = "source,target\nann,bob\nbob,cat\ndan,eve\n";
    let bytes = |order: fn(u16) -> [u8; 2]| -> Vec<u8> {
        format!("\u{feff}{text}").encode_utf16().flat_map(order).collect()
    };
    for bytes in [bytes(u16::to_le_bytes), bytes(u16::to_be_bytes)] {
        let sandbox = with("e.csv", &bytes);
        assert_eq!(components(&sandbox, "e.csv"), "ann bob cat | dan eve");
        refused(&with("e.csv", &bytes[..bytes.len() - 1]), "run wcc e.csv -o -", 65, &["e.csv"]);
    }
}

#[test]
fn prose_is_no_graph() {
    for text in [
        "It was the best of times,\nit was the worst of times,\nit was the age of wisdom\n",
        "<html>\n<head><title>403 Forbidden</title></head>\n<body>\n</body>\n</html>\n",
        "INSERT INTO `edges` VALUES (1,2),(2,3);\nINSERT INTO `edges` VALUES (3,4);\n",
        "main.o: main.c a.h \\\n b.h\na.o: a.c a.h\n",
    ] {
        refused(&with("e.txt", text), "run wcc e.txt -o -", 65, &["e.txt"]);
    }
}
