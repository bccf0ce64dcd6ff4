//! DOT files as programs write them, good and bad.

use super::tokens::begins;
use super::*;
use crate::documents::tests::{named, refuse, see, weighted};
use crate::format::Format;
use crate::fuzzing::weighing;
use crate::options::{IdKind, ReadOptions};
use crate::tables::ColumnRef;

const DEPS: &str = "digraph deps {\n  a -> b;\n  b -> c;\n  c -> a;\n  d -> e;\n}\n";

/// As pydot and pygraphviz write what NetworkX gives them.
const NETWORKX: &str = "strict graph \"\" {\n0;\n1;\n2;\n7;\n0 -- 1  [key=0, weight=4];\n\
                        1 -- 2  [key=0,\n\t\tweight=5.5];\n}\n";

/// As graph-tool, igraph, Graphviz and people write.
const QUIRKS: &str = r#"/* made
by hand */ // twice
# and by cpp
digraph "G 1" {
  graph [bb="0,0,1,1", rankdir=LR];
  node [shape=box, label="\N"]; edge [color=red]
  rankdir = TB; "a b":port:ne -> "say \"hi\"" -> <<b>x</b>> [label="1" weight = "3"; style=dotted]
  subgraph cluster_0 { edge [weight=2]; x -> y; node[x=1] { z } }
  x -> { p q; r } [label=<a<br/>>]
  "long " + "name" -> été
  subgraph s { n1; n2 } -> subgraph { m }
  Node_1[label="lonely"] 7.5
}
"#;

#[test]
fn chains_groups_and_quotes() {
    let seen = see(&DOT, QUIRKS, &weighted(IdKind::Names)).unwrap();
    let html = "<<b>x</b>>";
    let edges = [
        ("a b", "say \"hi\""),
        ("say \"hi\"", html),
        ("x", "y"),
        ("x", "p"),
        ("x", "q"),
        ("x", "r"),
        ("long name", "\u{e9}t\u{e9}"),
        ("n1", "m"),
        ("n2", "m"),
    ];
    assert_eq!(seen.edges, named(&edges));
    let weights = vec![3.0, 3.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
    assert_eq!((seen.weights, seen.undirected), (Some(weights), Some(false)));
    let mut vertices = [
        "a b",
        "say \"hi\"",
        html,
        "x",
        "y",
        "z",
        "p",
        "q",
        "r",
        "long name",
        "\u{e9}t\u{e9}",
        "n1",
        "n2",
        "m",
        "Node_1",
        "7.5",
    ];
    vertices.sort_unstable();
    assert_eq!(seen.vertices, vertices);
}

#[test]
fn graphs_of_programs_are_read() {
    let seen = see(&DOT, DEPS, &weighted(IdKind::Names)).unwrap();
    assert_eq!(seen.edges, named(&[("a", "b"), ("b", "c"), ("c", "a"), ("d", "e")]));
    assert_eq!((seen.weights, seen.undirected), (None, Some(false)));
    let seen = see(&DOT, NETWORKX, &weighted(IdKind::Integers)).unwrap();
    assert_eq!(seen.edges, named(&[("0", "1"), ("1", "2")]));
    assert_eq!((seen.weights, seen.undirected), (Some(vec![4.0, 5.5]), Some(true)));
    assert_eq!(seen.vertices, ["0", "1", "2", "7"]);
}

#[test]
fn lengths_are_told_of_and_read_where_they_are_asked_for() {
    let text = "graph { edge [len=4]; a -- b [len=2.5]; b -- c; }";
    let input = weighing("f", text, Format::Dot).unwrap();
    assert!(!input.edges.weighted());
    let is_hint = |note: &String| note.contains("\"len\"") && note.contains("--weight len");
    assert!(input.summary.notes.iter().any(is_hint), "{:?}", input.summary.notes);
    let length = WeightChoice::Column(ColumnRef::Name("len".to_owned()));
    let options = ReadOptions { weight: length, ..weighted(IdKind::Names) };
    assert_eq!(see(&DOT, text, &options).unwrap().weights, Some(vec![2.5, 4.0]));
    let both = "graph { a -- b [len=2.5, weight=3]; b -- c [weight=2] }";
    let seen = see(&DOT, both, &weighted(IdKind::Names)).unwrap();
    assert_eq!(seen.weights, Some(vec![3.0, 2.0]));
}

#[test]
fn strict_graphs_have_no_parallel_edges() {
    let text = "strict graph { a -- b [weight=1]; b -- a [weight=5]; a -- c; c -- a; a -- a }";
    let seen = see(&DOT, text, &weighted(IdKind::Names)).unwrap();
    assert_eq!(seen.edges, named(&[("a", "b"), ("a", "c"), ("a", "a")]));
    assert_eq!(seen.weights, Some(vec![5.0, 1.0, 1.0]));
    let text = text.replace("strict graph", "strict digraph").replace("--", "->");
    let seen = see(&DOT, &text, &weighted(IdKind::Names)).unwrap();
    assert_eq!(seen.edges, named(&[("a", "b"), ("b", "a"), ("a", "c"), ("c", "a"), ("a", "a")]));
}

#[test]
fn what_is_no_graph_is_refused_with_its_line() {
    for (text, expected) in [
        ("", "f:1: expected graph or digraph, found the end"),
        ("1 2\n", "f:1: expected graph or digraph, found \"1\""),
        ("graph x y {", "f:1: expected {, found \"y\""),
        ("graph {\na -- b\n", "f:3: expected a node, a group or }, found the end of the file"),
        ("graph {\na -> b }", "f:2: expected -- in a graph, found \"->\""),
        ("digraph {\na -- b }", "f:2: expected -> in a digraph"),
        ("digraph { a -> }", "f:1: expected a node, a group or }, found \"}\""),
        ("digraph { a ->\n\"b }", "f:2: expected a closing quote"),
        ("digraph { a }\ndigraph { b }", "f:2: expected one graph, found a second one"),
        ("digraph { a }\nb", "f:2: expected the end of the file, found \"b\""),
        ("digraph { 2a -> b }", "f:1: expected a name, found \"2a\""),
        ("digraph { a.b }", "f:1: expected a name, found \".b\""),
        ("digraph { a - b }", "f:1: expected -> or --"),
        ("digraph { a [weight=] }", "f:1: expected a name, a number"),
        ("digraph { a [=] }", "f:1: expected an attribute or ]"),
        ("digraph { /* a }", "f:1: expected the end of a comment"),
        ("digraph { <a }", "f:1: expected a closing >"),
        ("digraph { \"a\" + b }", "f:1: expected a text between quotes after +"),
        ("digraph { subgraph -> b }", "f:1: expected {"),
        ("digraph { a -> b [weight=x]; a -> c [weight=1] }", "f:1: expected a number as weight"),
    ] {
        let error = refuse(&DOT, text, &weighted(IdKind::Names));
        assert!(error.starts_with(expected), "{text}: {error}");
    }
}

#[test]
fn little_text_stands_for_few_edges() {
    let mut options = weighted(IdKind::Integers);
    options.limits.ratio_free_bytes = 1 << 20;
    let group = (0..2000).map(|node| node.to_string()).collect::<Vec<_>>().join(" ");
    let error = refuse(&DOT, &format!("digraph {{ {{{group}}} -> {{{group}}} }}"), &options);
    assert!(error.contains("found groups with 4000000 edges"), "{error}");
    let deep = format!("digraph {{ {}", "{ ".repeat(1_000_000));
    assert!(refuse(&DOT, &deep, &options).contains("at most 100 blocks"));
    options.limits.line_bytes_max = 1000;
    let long = format!("digraph {{ {} }}", "x".repeat(2000));
    assert!(refuse(&DOT, &long, &options).contains("a name of at most 1000 bytes"));
}

#[test]
fn the_beginning_tells() {
    for head in ["digraph {", "graph G{a--b}", "/* c */ strict Digraph \"x y\"\n{", "graph {\n"] {
        assert!(begins(head.as_bytes()), "{head}");
    }
    for head in ["", "graph [", "graph a\nb c", "digraph", "1 2\n", "a {", "strict {"] {
        assert!(!begins(head.as_bytes()), "{head}");
    }
}
