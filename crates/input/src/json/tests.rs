//! JSON as programs write it, good and bad.

use super::*;
use crate::beginnings::json;
use crate::documents::tests::{Seen, named, refuse, see, weighted};
use crate::options::{IdKind, ReadOptions, WeightChoice};
use crate::tables::ColumnRef;

fn read(text: &str) -> Seen {
    see(&JSON, text, &weighted(IdKind::Integers)).unwrap()
}

fn names(text: &str) -> Seen {
    see(&JSON, text, &weighted(IdKind::Names)).unwrap()
}

#[test]
fn node_link_of_networkx() {
    let text = r#"{"directed": true, "multigraph": false,
        "graph": {"name": "x", "data": [1, {"nodes": 2}]},
        "nodes": [{"id": 0, "x": NULL}, {"id": 7}, {"size": [1, {"id": 5}], "id": 3}],
        "links": [{"weight": 2.5, "source": 0, "target": 7},
        {"source": 7, "target": 0, "weight": 1}]}"#;
    let text = text.replace("NULL", "null");
    let seen = read(&text);
    assert_eq!(seen.edges, named(&[("0", "7"), ("7", "0")]));
    assert_eq!((seen.weights, seen.undirected), (Some(vec![2.5, 1.0]), Some(false)));
    assert_eq!(seen.vertices, ["0", "3", "7"]);
    let text = text.replace("\"links\"", "\"edges\"").replace("true", "false");
    assert_eq!(read(&text).undirected, Some(true));
    // Multigraphs have keys, and graphs of strings names.
    let text = r#"{"edges": [{"source": "a", "target": "b", "key": 0}],
        "nodes": [{"id": "a"}, {"id": "b"}],
        "graph": {}, "multigraph": true, "directed": false}"#;
    assert_eq!(names(text).edges, named(&[("a", "b")]));
}

#[test]
fn ends_are_ids_or_places() {
    let d3 = r#"{"nodes": [{"name": "Myriel", "group": 1}, {"name": "Napoleon"}],
        "links": [{"source": 1, "target": 0, "value": 3}]}"#;
    let seen = names(d3);
    assert_eq!(seen.edges, named(&[("Napoleon", "Myriel")]));
    assert_eq!((seen.weights, seen.undirected), (Some(vec![3.0]), None));
    let old = r#"{"nodes": [{"id": "a"}, {"id": "b"}], "links": [{"source": 0, "target": 1}]}"#;
    assert_eq!(names(old).edges, named(&[("a", "b")]));
    let ids = r#"{"nodes": [{"id": 1}, {"id": 0}], "links": [{"source": 0, "target": 1}]}"#;
    assert_eq!(read(ids).edges, named(&[("0", "1")]));
    let resolved = r#"{"nodes": [{"id": "a", "index": 0}, {"id": "b"}],
        "links": [{"source": {"id": "a", "x": 1}, "target": {"id": "b"}, "index": 0}]}"#;
    assert_eq!(names(resolved).edges, named(&[("a", "b")]));
    let neither = r#"{"nodes": [{"id": 1}], "links": [
        {"source": 1, "target": 9}]}"#;
    let error = refuse(&JSON, neither, &weighted(IdKind::Integers));
    assert!(error.starts_with("f:2: expected an edge between nodes"), "{error}");
}

#[test]
fn adjacency_of_networkx() {
    let text = r#"{"directed": false, "multigraph": false, "graph": [],
        "nodes": [{"id": 5}, {"id": 3}, {"id": 9}],
        "adjacency": [[{"id": 3, "weight": 4}, {"id": 5}], [{"id": 5, "weight": 4}], []]}"#;
    let seen = see(
        &JSON,
        text,
        &ReadOptions { weight: WeightChoice::Ignore, ..weighted(IdKind::Integers) },
    );
    let seen = seen.unwrap();
    assert_eq!(seen.edges, named(&[("5", "3"), ("5", "5")]));
    assert_eq!(seen.undirected, Some(true));
    assert_eq!(seen.vertices, ["3", "5", "9"]);
    let directed = text.replace("false, \"multi", "true, \"multi");
    let options = ReadOptions { weight: WeightChoice::Ignore, ..weighted(IdKind::Integers) };
    assert_eq!(see(&JSON, &directed, &options).unwrap().edges.len(), 3);
    let lopsided = text.replace("[{\"id\": 5, \"weight\": 4}]", "[]");
    assert!(refuse(&JSON, &lopsided, &options).contains("in the lists of both"));
}

#[test]
fn jgf_cytoscape_and_graphology() {
    let jgf = r#"{"graph": {"directed": false, "nodes": {"a": {"label": "Ann"}, "b": {}, "c": null},
        "edges": [{"source": "a", "target": "b", "metadata": {"weight": 2}}]}}"#;
    let seen = names(jgf);
    assert_eq!((seen.edges, seen.weights), (named(&[("Ann", "b")]), Some(vec![2.0])));
    assert_eq!((seen.vertices.len(), seen.undirected), (3, Some(true)));
    let cytoscape = r#"{"data": [], "directed": false, "elements": {
        "nodes": [{"data": {"id": "0", "value": 0, "name": "0"}},
        {"data": {"id": "1", "name": "1"}}],
        "edges": [{"data": {"weight": 7, "source": 0, "target": 1}}]}}"#;
    let seen = read(cytoscape);
    assert_eq!((seen.edges, seen.weights), (named(&[("0", "1")]), Some(vec![7.0])));
    let list = r#"[{"group": "nodes", "data": {"id": "a"}}, {"data": {"id": "b"}},
        {"data": {"id": "ab", "source": "a", "target": "b"}}]"#;
    assert_eq!(names(list).edges, named(&[("a", "b")]));
    let within = format!("{{\"elements\": {list}}}");
    assert_eq!(names(&within).vertices, ["a", "b"]);
    let graphology = r#"{"options": {"type": "directed", "multi": false}, "attributes": {},
        "nodes": [{"key": "a", "attributes": {"label": "A", "x": 1}}, {"key": "b"}],
        "edges": [{"key": "e", "source": "a", "target": "b",
        "attributes": {"weight": 3}, "undirected": true}]}"#;
    let seen = names(graphology);
    assert_eq!((seen.edges, seen.undirected), (named(&[("A", "b")]), Some(true)));
}

#[test]
fn rows_bring_their_nodes_with_them() {
    let lines = "{\"source\": \"a\", \"target\": \"b\", \"weight\": 2}\n\
                 {\"source\": \"b\", \"target\": \"c\", \"weight\": 1}\n";
    let seen = names(lines);
    assert_eq!(seen.edges, named(&[("a", "b"), ("b", "c")]));
    assert_eq!((seen.weights, seen.undirected), (Some(vec![2.0, 1.0]), None));
    assert_eq!(read("[[0, 1, 7], [1, 2, 5]]\n").edges, named(&[("0", "1"), ("1", "2")]));
    assert_eq!(read("[{\"from\": 1, \"to\": 2}, {\"to\": 1, \"from\": 2}]").edges.len(), 2);
    let links = "{\"links\": [{\"source\": 0, \"target\": 1}, [1, 2]]}";
    assert_eq!(read(links).edges, named(&[("0", "1"), ("1", "2")]));
    let length = WeightChoice::Column(ColumnRef::Name("len".to_owned()));
    let options = ReadOptions { weight: length, ..weighted(IdKind::Integers) };
    let seen = see(&JSON, "{\"src\": 1, \"dst\": 2, \"len\": \"4\"}", &options).unwrap();
    assert_eq!(seen.weights, Some(vec![4.0]));
}

#[test]
fn what_is_no_graph_is_refused_with_its_line() {
    for (text, expected) in [
        ("", "f:1: not valid JSON: EOF"),
        ("{\n\"nodes\": [{\"id\": 1}", "f:2: not valid JSON: EOF"),
        ("{\"nodes\": [1,\n}", "f:2: not valid JSON"),
        ("{\"name\": \"x\", \"children\": []}", "f:1: expected nodes with links"),
        ("{\"nodes\": [{\"id\": 1}], \"relations\": []}", "f:1: expected nodes with links, edges"),
        ("{\"graphs\": [{}]}", "f:1: expected one graph"),
        ("[{\"a\": 1}]", "f:1: expected an object or a list with a source"),
        ("[1, 2, 3]", "f:1: expected"),
        ("[[0, 1, 0], [0, 0, 1], [1, 0, 0]]", "f:1: expected edges, found a matrix"),
        ("[[0,2,0,3],[0,0,2,0],[1,5,0,1],[7,8,9,0]]", "f:1: expected edges, found a matrix"),
        (
            "{\"nodes\": [{\"id\": 1}],\n\"links\": [{\"source\": 1}]}",
            "f:2: expected an edge with a",
        ),
        ("{\"nodes\": [{\"id\": 1}, {\"id\": 1}], \"links\": []}", "f:1: expected another id"),
        (
            "{\"nodes\": [], \"links\": []}\n{\"nodes\": [], \"links\": []}",
            "f:2: expected one graph",
        ),
        ("{\"source\": 1, \"target\": 2}\n{\"source\": 1}", "f:2: expected an object or"),
    ] {
        let error = refuse(&JSON, text, &weighted(IdKind::Integers));
        assert!(error.starts_with(expected), "{text}: {error}");
    }
    let keys = refuse(&JSON, "{\"name\": 1, \"children\": 2}", &weighted(IdKind::Integers));
    assert!(keys.contains("the keys \"name\", \"children\""), "{keys}");
}

#[test]
fn nothing_is_gathered_without_end() {
    let options = weighted(IdKind::Names);
    let error = refuse(&JSON, &format!("{{\"graph\": {}", "[".repeat(1_000_000)), &options);
    assert!(error.contains("recursion limit"), "{error}");
    let long = "x".repeat(3 << 20);
    let error = refuse(&JSON, &format!("{{\"nodes\": [{{\"id\": \"{long}\"}}"), &options);
    assert!(error.contains("less text"), "{error}");
    let many =
        format!("{{\"graph\": [{}0], \"nodes\": [1], \"links\": []}}", "0, ".repeat(1 << 20));
    assert!(see(&JSON, &many, &options).unwrap().edges.is_empty());
}

#[test]
fn the_beginning_tells() {
    for head in ["{\"a\": 1}", "{\n \"nodes\"", "[[0, 1]]", "[ {\"source\"", "{}", "[]"] {
        assert!(json(head.as_bytes()), "{head}");
    }
    for head in ["", "1 2", "{a} {b}", "[a] [b]", "{", "["] {
        assert!(!json(head.as_bytes()), "{head}");
    }
}
