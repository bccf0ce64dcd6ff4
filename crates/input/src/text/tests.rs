//! The text reader against itself: fast against careful, parts against the whole, and one small
//! case for each rule about what a row is.

use proptest::prelude::*;
use welter_objects::Ahead;

use super::file::Grain;
use super::in_memory::parse;
use super::records::RecordEnd;
use super::*;
use crate::collect::{EdgeRun, Ids};
use crate::layout::Separator;
use crate::options::WeightChoice;
use crate::tables::ColumnRef;
use welter_progress::{Progress, Unit};

fn read(text: &str, options: &ReadOptions) -> Result<EdgeRun, String> {
    let fast = parse(text.as_bytes(), options, false).map_err(|error| error.to_string());
    let careful = parse(text.as_bytes(), options, true).map_err(|error| error.to_string());
    assert_eq!(fast, careful);
    fast
}

fn pairs(text: &str) -> Vec<[u32; 2]> {
    match read(text, &ReadOptions::default()).unwrap().ids {
        Ids::Narrow { pairs, .. } => pairs,
        other => panic!("{other:?}"),
    }
}

fn names(text: &str, options: &ReadOptions) -> Vec<[String; 2]> {
    match read(text, options).unwrap().ids {
        Ids::Names { names, pairs } => {
            pairs.iter().map(|pair| pair.map(|place| names.get(place as usize).into())).collect()
        }
        other => panic!("{other:?}"),
    }
}

fn error(text: &str, options: &ReadOptions) -> String {
    read(text, options).unwrap_err()
}

#[test]
fn separators_line_ends_comments_and_blank_lines() {
    let expected = [[1, 2], [3, 40]];
    for text in [
        "1\t2\n3\t40\n",
        "1\t2\n3 40\n",
        "1 2\n3 40",
        "1,2\r\n3,40\r\n",
        "1;2\n3;40\n",
        "1|2\n3|40\n",
        "  1   2  \n\t3\t 40 \n",
        "# Nodes: 2 Edges: 1\n% more\n\n1\t2\n   \n# in the middle\n3\t40\n#end",
        "\u{feff}1\t2\n3\t40\n",
        "\"1\",\"2\"\n\"3\",\"40\"\n",
        "1, 2\n 3 ,40\n",
        "1\t2\t2008-01-01\textra\n3\t40\t\n",
        "source,target\n1,2\n3,40\n",
        "a b\n1 2\n3 40\n",
        "id,target,source\n0,2,1\n0,40,3\n",
    ] {
        assert_eq!(pairs(text), expected, "{text:?}");
    }
}

#[test]
fn a_header_of_numbers_is_an_edge_unless_it_is_said_to_be_a_header() {
    let text = "36692 367662\n0 1\n1 0\n";
    assert_eq!(pairs(text).len(), 3);
    let options = ReadOptions { header: Some(true), ..ReadOptions::default() };
    assert_eq!(read(text, &options).unwrap().ids.len(), 2);
    let options = ReadOptions { header: Some(false), ..ReadOptions::default() };
    assert!(error("x y\n1 2\n", &options).starts_with("text:1: expected an integer"));
}

#[test]
fn names_are_read_with_quotes_and_spaces() {
    let options = ReadOptions::default();
    let text = "\"Smith, J.\",\"say \"\"x\"\"\"\n Bob ,New York\n";
    let expected = [["Smith, J.", "say \"x\""], ["Bob", "New York"]];
    assert_eq!(names(text, &options), expected);
    assert_eq!(names("libc6\tgcc-12-base\n1\t2\nz\ty\n", &options)[1], ["1", "2"]);
    let options = ReadOptions { ids: IdKind::Names, ..options };
    assert_eq!(names("007 7\n", &options), [["007", "7"]]);
}

#[test]
fn names_may_hold_other_separators_than_their_header() {
    let names_of = |text: &str| names(text, &ReadOptions::default());
    let twice = |name: &str| vec![[name.to_owned(), name.to_owned()]; 2];
    assert_eq!(names_of("source,target\n_;A,_;A\n_;A,_;A\n"), twice("_;A"));
    assert_eq!(names_of("source;target\na|b,c;a|b,c\na|b,c;a|b,c\n"), twice("a|b,c"));
    assert_eq!(names_of("source,target\n1 2 3,1 2 3\n1 2 3,1 2 3\n"), twice("1 2 3"));
    let tie = error("_;A,_;A\n_;A,_;A\n", &ReadOptions::default());
    assert!(tie.contains("commas and semicolons both give rows of columns"), "{tie}");
}

#[test]
fn columns_are_chosen_by_number_or_name() {
    let options = ReadOptions {
        source: Some(ColumnRef::Number(3)),
        target: Some(ColumnRef::Name("to".into())),
        weight: WeightChoice::Column(ColumnRef::Name("w".into())),
        ..ReadOptions::default()
    };
    let part = read("w,to,who\n0.5,2,1\n1e-3,40,3\n", &options).unwrap();
    assert_eq!(part.ids, Ids::narrow(vec![[1, 2], [3, 40]]));
    assert_eq!(part.weights, Some(vec![0.5, 0.001]));
    let message = error("w,to\n1,2\n", &options);
    assert_eq!(message, "text: expected a source column 3, found the columns \"w\", \"to\"");
}

#[test]
fn a_row_may_have_the_columns_that_are_read_whatever_the_first_rows_have() {
    let weight = WeightChoice::Column(ColumnRef::Number(3));
    let options = ReadOptions { weight, ..ReadOptions::default() };
    for text in ["1\t2\t3\n4\t5\n6\t7\n", "1\t2\n3\t4\t5\n6\t7\n"] {
        let message = error(text, &options);
        assert!(message.contains("expected at least 3 columns"), "{message}");
    }
}

#[test]
fn the_third_column_is_a_weight_if_asked_for_and_most_of_it_numbers() {
    let weights = |text: &str, weight: WeightChoice| {
        read(text, &ReadOptions { weight, ..ReadOptions::default() }).unwrap().weights
    };
    let text = "1 2 0.25\n3 4 -7\n5 6 inf\n7 8 123456789012345678\n";
    let expected = vec![0.25, -7.0, f64::INFINITY, 123_456_789_012_345_678.0];
    assert_eq!(weights(text, WeightChoice::IfPresent), Some(expected));
    assert_eq!(weights(text, WeightChoice::Ignore), None);
    assert_eq!(weights("1 2\n3 4\n", WeightChoice::IfPresent), None);
    assert_eq!(weights("1 2 x\n3 4 y\n", WeightChoice::IfPresent), None);
    let options = ReadOptions { weight: WeightChoice::IfPresent, ..ReadOptions::default() };
    for (text, what) in [
        ("1 2 0.5\n3 4 nan\n", "not a number"),
        ("1 2 1e999\n3 4 1\n", "64-bit float"),
        ("1 2 1\n3 4 1\n5 6 x\n", "expected a number as weight"),
        ("1 2 1\n3 4 1\n5 6\n", "expected at least 3 columns"),
    ] {
        let message = error(text, &options);
        assert!(message.contains(what), "{text:?}: {message}");
    }
    assert_eq!(weights("a,b,weight\n1,2,3\n", WeightChoice::IfPresent), Some(vec![3.0]));
}

#[test]
fn ids_take_64_bits_where_they_must() {
    let text = "1 2\n18446744073709551615 4294967296\n3 4\n";
    let ids = read(text, &ReadOptions::default()).unwrap().ids;
    let expected = vec![[1, 2], [u64::MAX, 4_294_967_296], [3, 4]];
    assert_eq!(ids, Ids::Wide { pairs: expected, max: u64::MAX });
}

#[test]
fn a_bad_row_is_one_error_with_its_line() {
    let options = ReadOptions { weight: WeightChoice::IfPresent, ..ReadOptions::default() };
    for (rows, expected) in [
        (
            "1\tabc",
            "expected an integer as vertex id, found \"abc\" (for ids that are strings: --ids \
             strings)",
        ),
        (
            "1.0\t2",
            "expected an integer as vertex id, found \"1.0\" (for ids that are strings: --ids \
             strings)",
        ),
        ("3\n", "expected at least 2 columns separated by tabs, found 1"),
        (
            "3",
            "expected at least 2 columns separated by tabs, found 1; \
             the file ends here without a newline and may be cut short",
        ),
        ("3\t\n", "expected a vertex id, found an empty field"),
        (
            "\"3\t4\n",
            "expected a closing quote before the end of the line (--quote none reads quotes as \
             they are, --quote '\"' fields of several lines)",
        ),
    ] {
        let good = "0\t1\n".repeat(20);
        let message = error(&format!("# x\n{good}\n{rows}"), &options);
        assert_eq!(message, format!("text:23: {expected}"));
    }
    let good = "0 1 0.5\n".repeat(3);
    for (row, expected) in [
        ("1 2 nan", "expected a weight, found \"nan\" (not a number)"),
        ("1 2 x", "expected a number as weight, found \"x\""),
        ("1 2", "expected at least 3 columns separated by spaces, found 2"),
    ] {
        let options = ReadOptions {
            weight: WeightChoice::Column(ColumnRef::Number(3)),
            ..ReadOptions::default()
        };
        let message = error(&format!("{good}{row}\n{row}\n"), &options);
        assert_eq!(message, format!("text:4: {expected}"));
    }
    let options = ReadOptions { vertices: Some(5), ..ReadOptions::default() };
    let message = error("0 1\n1 4\n2 5\n9 9\n", &options);
    let expected = "text:3: expected a vertex id from 0 to 4, found 5 (where ids do not count";
    assert!(message.starts_with(expected), "{message}");
    let message = error("a b\nc \u{1}\nd \n", &ReadOptions::default());
    assert!(message.starts_with("text:3: expected at least 2 columns"), "{message}");
    let message = error("a b\nc \u{0}\nd e\n", &ReadOptions::default());
    assert!(message.starts_with("text: expected rows of text, found binary data"), "{message}");
}

#[test]
fn files_that_were_put_behind_each_other_are_refused() {
    let options = ReadOptions::default();
    for text in ["source,target\nann,bob\nsource,target\n", "\u{feff}ann,bob\nc,d\n\u{feff}e,f\n"] {
        let message = error(text, &options);
        assert!(message.starts_with("text:3: expected a row, found"), "{message}");
    }
    assert!(read("source,target\nsource,x\ny,target\n", &options).is_ok());
    // Where the first row is so, vertices may be called so.
    let again = "source,target\nsource,target\na,b\nsource,target\n";
    assert_eq!(read(again, &options).unwrap().ids.len(), 3);
}

#[test]
fn names_must_be_utf8() {
    let text = b"a\tb\nc\t\xff\xfe\n";
    let message = parse(text, &ReadOptions::default(), false).unwrap_err().to_string();
    assert_eq!(message, "text:2: expected a name in UTF-8, found \"\u{fffd}\u{fffd}\"");
}

/// Lines that a fast path could get wrong, as often as lines that it should take.
fn nasty_line() -> impl Strategy<Value = String> {
    let id = prop_oneof![
        6 => "[0-9]{1,8}",
        2 => "[0-9]{9,21}",
        1 => Just(String::new()),
        1 => "[-+.a\"#%\r 0-9é]{1,4}",
    ];
    let separator = prop_oneof![8 => Just("\t"), 1 => Just(" "), 1 => Just(","), 1 => Just(" \t ")];
    let end = prop_oneof![6 => Just("\n"), 3 => Just("\r\n"), 1 => Just("\r"), 1 => Just("\n\n")];
    let tail = prop_oneof![
        6 => Just(String::new()),
        1 => "\t[0-9.]{0,18}",
        1 => "[\t ,][-+.0-9einaf]{0,5}",
    ];
    (id.clone(), separator, id, tail, end)
        .prop_map(|(a, separator, b, tail, end)| format!("{a}{separator}{b}{tail}{end}"))
}

fn plain_line() -> impl Strategy<Value = String> {
    prop_oneof![
        30 => "[0-9]{1,8}\t[0-9]{1,8}\n",
        1 => "[0-9]{1,11}\t[0-9]{1,17}\n",
        1 => "# .{0,9}\n",
    ]
}

/// Rows of three columns, most of them as a fast path likes them.
fn heavy_line() -> impl Strategy<Value = String> {
    let weight = prop_oneof![
        10 => "[0-9]{1,3}",
        10 => "-?[0-9]{1,4}[.][0-9]{1,12}",
        2 => "[0-9]{0,2}[.][0-9]{14,20}",
        1 => "[-+0-9.einfINF]{0,9}",
        1 => "[^\n]{0,9}",
    ];
    let id = || prop_oneof![30 => "[0-9]{1,8}", 3 => "[0-9]{9,16}", 1 => "[0-9 \t]{0,20}"];
    let end =
        prop_oneof![40 => Just("\n"), 2 => Just("\r\n"), 1 => Just("\t9\n"), 1 => Just("\n\n")];
    (id(), id(), weight, end).prop_map(|(a, b, weight, end)| format!("{a}\t{b}\t{weight}{end}"))
}

fn any_options() -> impl Strategy<Value = ReadOptions> {
    let separator = prop_oneof![
        3 => Just(Some(Separator::Tab)),
        1 => Just(Some(Separator::Comma)),
        2 => Just(Some(Separator::Spaces)),
        3 => Just(None)
    ];
    let weight = prop_oneof![
        2 => Just(WeightChoice::Ignore),
        1 => Just(WeightChoice::IfPresent),
        1 => Just(WeightChoice::Column(ColumnRef::Number(3)))
    ];
    let ids =
        prop_oneof![3 => Just(IdKind::Integers), 1 => Just(IdKind::Auto), 1 => Just(IdKind::Names)];
    let vertices = prop_oneof![3 => Just(None), 1 => (0..100_000_000u64).prop_map(Some)];
    let header = prop_oneof![Just(None), Just(Some(false))];
    (separator, weight, ids, vertices, header).prop_map(
        |(separator, weight, ids, vertices, header)| ReadOptions {
            separator,
            header,
            weight,
            vertices,
            ids,
            ..ReadOptions::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn fast_reads_what_careful_reads_nasty(
        lines in prop::collection::vec(nasty_line(), 0..8),
        good in prop::collection::vec(plain_line(), 0..60),
        options in any_options(),
    ) {
        let text = format!("{}{}", good.concat(), lines.concat());
        let _ = read(&text, &options);
        let text = format!("{}{}", lines.concat(), good.concat());
        let _ = read(&text, &options);
    }

    #[test]
    fn fast_reads_what_careful_reads_heavy(
        lines in prop::collection::vec(heavy_line(), 0..300),
        plain in 0..300usize,
        options in any_options(),
        crlf in any::<bool>(),
    ) {
        let first = "1\t2\t0.5\n".repeat(plain) + &lines.concat();
        let first = if crlf { first.replace('\n', "\r\n") } else { first };
        let _ = read(&first, &options);
        let good = first.lines().filter(|line| parse(line.as_bytes(), &options, true).is_ok());
        let good: Vec<&str> = good.collect();
        let _ = read(&(good.join("\n") + "\n"), &options);
    }

    #[test]
    fn fast_reads_what_careful_reads_plain(
        lines in prop::collection::vec(plain_line(), 0..700),
        crlf in any::<bool>(),
        cut in 0..10usize,
    ) {
        let text = if crlf { lines.concat().replace('\n', "\r\n") } else { lines.concat() };
        let text = &text[..text.floor_char_boundary(text.len().saturating_sub(cut))];
        let _ = read(text, &ReadOptions { ids: IdKind::Integers, ..ReadOptions::default() });
    }

    #[test]
    fn parts_and_streams_read_what_the_whole_reads(
        lines in prop::collection::vec(prop_oneof![4 => plain_line(), 1 => nasty_line()], 0..200),
        options in any_options(),
        part_bytes in 1..300u64,
        read_bytes in 1..200usize,
        threads in 1..4usize,
    ) {
        let text = lines.concat();
        let options = ReadOptions { threads, ..options };
        let expected = parse(text.as_bytes(), &options, true);
        let grain = Grain { part_bytes, read_bytes, ahead: Ahead::within(part_bytes) };
        for compress in [false, true] {
            let found = through_file(text.as_bytes(), &options, grain, compress);
            match (&expected, found) {
                (Ok(expected), Ok(found)) => {
                    prop_assert_eq!(flat(std::slice::from_ref(expected)), flat(&found));
                }
                (Err(expected), Err(found)) => {
                    let expected = expected.to_string();
                    let rest = expected.strip_prefix("text").unwrap();
                    prop_assert!(found.to_string().ends_with(rest), "{} {}", found, expected);
                }
                (expected, found) => prop_assert!(false, "{:?} {:?}", expected, found),
            }
        }
    }
}

#[test]
fn a_first_row_that_counts_rows_is_a_header_and_any_other_an_edge() {
    let rows: String =
        (0..120).fold(String::new(), |rows, row| format!("{rows}{} {}\n", row % 30, row % 7));
    let read = |first: &str| {
        let input = crate::fuzzing::read_bytes(
            "t",
            format!("{first}\n{rows}").as_bytes(),
            crate::Format::Text,
            &ReadOptions::default(),
        );
        let input = input.unwrap();
        (input.edges.edges(), input.summary.notes.len())
    };
    assert_eq!(read("30 120"), (120, 1));
    for edge in ["30 119", "28 120", "120 30"] {
        assert_eq!(read(edge), (121, 0), "{edge}");
    }
    // An edge from the largest id, or sizes of a graph with hardly an edge a vertex.
    assert_eq!(read("121 120"), (121, 1));
}

#[test]
fn a_first_row_with_a_direction_states_vertices_and_edges() {
    let read = |text: &str| {
        let options = ReadOptions::default();
        crate::fuzzing::read_bytes("t", text.as_bytes(), crate::Format::Text, &options)
    };
    let input = read("4,2,u,graph\n1,2\n2,3\n").unwrap();
    assert_eq!((input.edges.edges(), input.edges.slots()), (2, Some(4)));
    assert_eq!(input.ids, welter_model::ids::IdMap::Offset(1));
    assert_eq!(input.summary.undirected, Some(true));
    assert_eq!(read("4,1,d\n1,2\n").unwrap().summary.undirected, Some(false));
    let many = read("9999999999,1,u\n1,9999999999\n").unwrap();
    assert_eq!((many.edges.slots(), many.ids.others()), (Some(3), 9_999_999_997));
    for (text, expected) in [
        ("4,2,u,graph\n1,2\n2,5\n", "t:3: expected a vertex id from 1 to 4, found 5"),
        ("4,2,u,graph\n0,2\n2,4\n", "t:2: expected a vertex id from 1 to 4, found 0"),
        ("4,3,u,graph\n1,2\n2,4\n", "t: expected 3 edges, as the first row says, found 2"),
        ("9999999999,1,u\n1,10000000000\n", "t:2: expected a vertex id from 1 to 9999999999"),
    ] {
        let error = read(text).err().unwrap().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// Reads text by way of a file, in parts or as a compressed stream.
fn through_file(
    text: &[u8],
    options: &ReadOptions,
    grain: Grain,
    compress: bool,
) -> Result<Vec<EdgeRun>, InputError> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t");
    let stored = if compress { zstd::encode_all(text, 1).unwrap() } else { text.to_vec() };
    std::fs::write(&path, stored).unwrap();
    let source = Source::open(path.to_str().unwrap(), Some(crate::Format::Text))?;
    let progress = Progress::new();
    let phase = progress.phase("read", Unit::Bytes, None);
    let pool = crate::reader::pool(options.threads)?;
    let context = Context { options, progress: &progress, phase: &phase, pool: &pool };
    let collector = Collector::new(None);
    collector.begin(source.name());
    let (dialect, sample) = sample(&source, SAMPLE_BYTES, options)?;
    let line = dialect.start_line(&sample.bytes).saturating_sub(1);
    counting::read(source.name(), line, &dialect, &collector, |lines| {
        if compress || dialect.cut != RecordEnd::Lines {
            stream::read(&source, lines, &context, &collector)
        } else {
            file::read(&source, text.len() as u64, grain, lines, &context, &collector)
        }
    })?;
    Ok(collector.gathered().parts.into_iter().map(|placed| placed.part).collect())
}

/// Ids as text and bits of weights, in order.
fn flat(parts: &[EdgeRun]) -> Vec<([String; 2], Option<u64>)> {
    let mut rows = Vec::new();
    for part in parts {
        let ids: Vec<[String; 2]> = match &part.ids {
            Ids::Narrow { pairs, .. } => {
                pairs.iter().map(|pair| pair.map(|id| id.to_string())).collect()
            }
            Ids::Wide { pairs, .. } => {
                pairs.iter().map(|pair| pair.map(|id| id.to_string())).collect()
            }
            Ids::Names { names, pairs } => pairs
                .iter()
                .map(|pair| pair.map(|place| names.get(place as usize).to_owned()))
                .collect(),
        };
        for (row, ids) in ids.into_iter().enumerate() {
            rows.push((ids, part.weights.as_ref().map(|weights| weights[row].to_bits())));
        }
    }
    rows
}
