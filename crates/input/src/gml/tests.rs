//! GML files, good and bad.

use super::tokens::{DEPTH_MAX, begins};
use super::*;
use crate::documents::tests::{named, refuse, see, weighted};
use crate::options::IdKind;

const FRIENDS: &str = r#"# made by hand
Creator "me [ and ] you"
Version 1
graph [
  comment "two lines
of text"
  directed 1
  node [ id 10 label "J&#246;rg &amp; &quot;x&quot; & co;" graphics [ x 1.5 y [ z -2e3 ] ] ]
  node [ id 30 label "b" ]
  node
  [
    id 20
  ]
  edge [ source 30 target 10 value 2.5 ]
  edge [ source 10 target 10 value 1 ]
]
"#;

#[test]
fn a_graph_is_read_with_its_quirks() {
    let seen = see(&GML, FRIENDS, &weighted(IdKind::Integers)).unwrap();
    assert_eq!(seen.edges, named(&[("30", "10"), ("10", "10")]));
    assert_eq!(seen.weights, Some(vec![2.5, 1.0]));
    assert_eq!(seen.vertices, ["10", "20", "30"]);
    assert_eq!(seen.undirected, Some(false));
}

#[test]
fn labels_are_the_names() {
    let seen = see(&GML, FRIENDS, &weighted(IdKind::Names)).unwrap();
    assert_eq!(seen.vertices, ["20", "Jörg & \"x\" & co;", "b"]);
    assert_eq!(seen.edges[0], ("b".to_owned(), "Jörg & \"x\" & co;".to_owned()));
    let twice = "graph [ node [ id 1 label \"a\" ]\nnode [ id 2 label \"a\" ] ]";
    let error = refuse(&GML, twice, &weighted(IdKind::Names));
    assert!(error.starts_with("f:2: expected labels that tell nodes apart"), "{error}");
    assert_eq!(see(&GML, twice, &weighted(IdKind::Integers)).unwrap().vertices, ["1", "2"]);
}

#[test]
fn what_is_no_graph_is_refused_with_its_line() {
    for (text, expected) in [
        ("", "f:1: expected a graph, found the end"),
        ("Creator \"x\"", "f:1: expected a graph"),
        ("graph [\nnode [ id 1 ]", "f:2: expected a key or the end of the graph, found the end of"),
        ("graph [\nnode [ id", "f:2: expected a number or a text, found the end of the file"),
        ("graph [ node [\nid \"abc", "f:2: expected a closing quote"),
        ("graph [ node [ label \"a\" ] ]", "f:1: expected a node with an id"),
        ("graph [ ]\ngraph [ ]", "f:2: expected one graph"),
        ("graph [ node [ id 1 graph [ ] ] ]", "f:1: expected no graph inside"),
        ("graph 1", "f:1: expected a list, found \"1\""),
        ("graph [ directed 2 ]", "f:1: expected 0 or 1"),
        ("1 2 3\n", "f:1: expected a key, found \"1\""),
        ("graph [ { ]", "f:1: expected a key or the end of the graph, found \"{\""),
        ("graph [ x ]", "f:1: expected a value, found the end of a list"),
        ("x [\n y [ z 1 ]", "f:2: expected the end of a list"),
    ] {
        let error = refuse(&GML, text, &weighted(IdKind::Integers));
        assert!(error.starts_with(expected), "{text}: {error}");
    }
}

#[test]
fn attributes_that_are_not_needed_refuse_no_file() {
    let text = "Version 1\ngraph\n[\n  bounds +INF\n  node [ id 1 x NAN y -INF fill #FF0000 ]\n\
                # a comment ]\nnode [ id 2 label {x} size inf ]\n  edge [ source 1 target 2 \
                weight +INF p NAN ]\n]\n";
    let seen = see(&GML, text, &weighted(IdKind::Integers)).unwrap();
    assert_eq!(seen.edges, named(&[("1", "2")]));
    assert_eq!(seen.weights, Some(vec![f64::INFINITY]));
}

#[test]
fn the_beginning_tells() {
    for head in [
        "graph [",
        "graph\n[\n directed 1",
        "# c\ngraph[",
        "Graph [ ]",
        "Creator \"igraph version 0.10 [x]\"\nVersion 1\ngraph\n[",
        "Creator \"yFiles\"\nVersion 2.2\ngraph\n[\n\thierarchic\t1",
        "comment [ a [ b 1 ] ] graph [",
    ] {
        assert!(begins(head.as_bytes()), "{head}");
    }
    for head in ["", "graph", "graph {", "graph a\nb c", "a b\ngraph [", "1 2\n", "# graph ["] {
        assert!(!begins(head.as_bytes()), "{head}");
    }
}

#[test]
fn lists_inside_each_other_end_somewhere() {
    let options = weighted(IdKind::Integers);
    let nested = |depth: usize| {
        format!("{}{} graph [ node [ id 1 ] ]", "x [ ".repeat(depth), "] ".repeat(depth))
    };
    assert!(see(&GML, &nested(DEPTH_MAX), &options).is_ok());
    let error = refuse(&GML, &nested(1_000_000), &options);
    assert!(error.contains("at most 100 lists"), "{error}");
    let inside = format!("graph [ node [ id 1 x [ {}", "y [ ".repeat(1_000_000));
    assert!(refuse(&GML, &inside, &options).contains("at most 100 lists"));
}

#[test]
fn words_are_not_gathered_without_end() {
    let mut options = weighted(IdKind::Integers);
    options.limits.line_bytes_max = 1000;
    for text in ["x".repeat(2000), format!("x \"{}", "y".repeat(2000))] {
        let error = refuse(&GML, &text, &options);
        assert!(error.contains("a word of at most 1000 bytes"), "{error}");
    }
}

#[test]
fn labels_that_are_not_read_are_said() {
    let notes = |text: &str, ids: IdKind| {
        let options = weighted(ids);
        let input =
            crate::fuzzing::read_bytes("f", text.as_bytes(), crate::Format::Gml, &options).unwrap();
        input.summary.notes.join("\n")
    };
    let same = "graph [ node [ id 1 label \"1\" ] node [ id 2 ] edge [ source 1 target 2 ] ]";
    let other = same.replace("label \"1\"", "label \"Ann\"");
    assert_eq!(notes(same, IdKind::Integers), "");
    assert!(notes(&other, IdKind::Integers).contains("--ids strings: labels are ids"));
    assert_eq!(notes(&other, IdKind::Names), "");
}
