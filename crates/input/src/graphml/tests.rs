//! GraphML files, good and bad.

use std::fmt::Write as _;

use super::*;
use crate::documents::tests::{named, refuse, see, weighted};
use crate::options::{IdKind, ReadOptions, WeightChoice};
use crate::tables::ColumnRef;

const FRIENDS: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE graphml>
<g:graphml xmlns:g="http://graphml.graphdrawing.org/xmlns">
  <!-- keys first -->
  <key id="d0" for="node" attr.name="weight" attr.type="string"/>
  <key id="d1" for="edge" attr.name="weight" attr.type="double"><default> 4 </default></key>
  <key id="d2" for="edge" attr.name="length" attr.type="double"/>
  <graph id="G" edgedefault="undirected" parse.nodes="1152921504606846976">
    <node id="n&#48;"><data key="d0">x<graph/></data></node>
    <edge source="n0" target="a &amp; b"><data key="d1">2<![CDATA[.]]>&#53;</data>
      <data key="d2">7</data></edge>
    <node id="a &amp; b"/><node id="lonely"/>
    <edge source="n0" target="n0"><data key="d2">8</data><desc>a loop</desc></edge>
  </graph>
</g:graphml>
"#;

fn document(graph: &str) -> String {
    format!("<graphml>{graph}</graphml>")
}

#[test]
fn a_graph_is_read_with_its_quirks() {
    let seen = see(&GRAPHML, FRIENDS, &weighted(IdKind::Names)).unwrap();
    assert_eq!(seen.edges, named(&[("n0", "a & b"), ("n0", "n0")]));
    assert_eq!(seen.weights, Some(vec![2.5, 4.0]));
    assert_eq!(seen.vertices, ["a & b", "lonely", "n0"]);
    assert_eq!(seen.undirected, Some(true));
    let length = WeightChoice::Column(ColumnRef::Name("length".to_owned()));
    let options = ReadOptions { weight: length, ..weighted(IdKind::Names) };
    assert_eq!(see(&GRAPHML, FRIENDS, &options).unwrap().weights, Some(vec![7.0, 8.0]));
    let options = ReadOptions { weight: WeightChoice::Ignore, ..options };
    assert_eq!(see(&GRAPHML, FRIENDS, &options).unwrap().weights, None);
}

#[test]
fn edges_of_both_kinds_become_arcs() {
    let text = document(
        r#"<graph edgedefault="undirected"><node id="1"/><node id="2"/>
        <edge source="1" target="2"/><edge source="2" target="2"/>
        <edge source="2" target="1" directed="true"/></graph>"#,
    );
    let seen = see(&GRAPHML, &text, &weighted(IdKind::Integers)).unwrap();
    assert_eq!(seen.edges, named(&[("1", "2"), ("2", "1"), ("2", "2"), ("2", "1")]));
    assert_eq!(seen.undirected, Some(false));
    let one = text.replace("directed=\"true\"", "");
    let seen = see(&GRAPHML, &one, &weighted(IdKind::Integers)).unwrap();
    assert_eq!((seen.edges.len(), seen.undirected), (3, Some(true)));
}

#[test]
fn what_is_no_graph_is_refused_with_its_line() {
    for (text, expected) in [
        (String::new(), "f:1: expected a graph"),
        ("<html/>".to_owned(), "f:1: expected the element graphml, found \"html\""),
        (document(""), "f:1: expected a graph"),
        ("<graphml>\n<graph edgedefault=\"directed\">".to_owned(), "f:2: expected the end of an"),
        ("<graphml>\n<graph edgedefault=\"dir".to_owned(), "f:2: not valid XML"),
        (document("\n<graph/>"), "f:2: expected the attribute edgedefault of graph"),
        (document("<graph edgedefault=\"no\"/>"), "f:1: expected edgedefault directed or"),
        (
            document("<graph edgedefault='directed'><node/></graph>"),
            "f:1: expected the attribute id",
        ),
        (document("<graph edgedefault='directed'/><graph/>"), "f:1: expected one graph"),
        (
            document(
                "<graph edgedefault='directed'><node id='1'/>\n<edge source='1' target='1'><graph/>\
                 </edge></graph>",
            ),
            "f:2: expected nodes and edges, found the element graph",
        ),
        (document("<graph edgedefault='directed'><hyperedge/></graph>"), "f:1: expected nodes and"),
        ("<graphml><a></b></graphml>".to_owned(), "f:1: not valid XML"),
        (
            "<?xml version='1.0' encoding='latin-77'?><graphml/>".to_owned(),
            "f:1: expected an encoding that is known, found \"latin-77\"",
        ),
        ("\u{feff}1 2\n3 4\n".to_owned(), "f:"),
    ] {
        let error = refuse(&GRAPHML, &text, &weighted(IdKind::Names));
        assert!(error.starts_with(expected), "{text}: {error}");
    }
}

#[test]
fn groups_of_yed_are_parts_of_the_graph() {
    let text = document(
        r#"<key for="node" id="d6" yfiles.type="nodegraphics"/><graph edgedefault="directed" id="G">
        <data key="d0"/><node id="n0" yfiles.foldertype="group">
        <data key="d6"><x><graph/></x></data>
        <port name="north"/>
        <graph edgedefault="undirected" id="n0:"><node id="n0::n0"/><node id="n0::n1">
        <graph id="n0::n1:"><node id="deep"/></graph></node>
        <edge source="n0::n0" target="deep"/></graph></node>
        <node id="n1"/><edge source="n0::n1" target="n1" targetport="north"/></graph>"#,
    );
    let seen = see(&GRAPHML, &text, &weighted(IdKind::Names)).unwrap();
    let arcs = [("n0::n0", "deep"), ("deep", "n0::n0"), ("n0::n1", "n1")];
    assert_eq!(seen.edges, named(&arcs));
    assert_eq!(seen.vertices, ["deep", "n0", "n0::n0", "n0::n1", "n1"]);
}

#[test]
fn text_is_in_the_encoding_that_is_named() {
    let graph = |encoding: &str| {
        let name = "M\u{fc}ller";
        format!(
            "<?xml version=\"1.0\" encoding='{encoding}' ?>\n<graphml>\
             <graph edgedefault=\"directed\">\
             <node id=\"{name}\"/><edge source=\"{name}\" target=\"{name}\"/></graph></graphml>"
        )
    };
    let read = |bytes: &[u8]| {
        let options = weighted(IdKind::Names);
        crate::fuzzing::read_bytes("f", bytes, crate::Format::GraphMl, &options)
    };
    let single = |text: String| text.chars().map(|c| u32::from(c) as u8).collect::<Vec<u8>>();
    let expected = welter_model::ids::IdMap::Names(["M\u{fc}ller"].into_iter().collect());
    for bytes in [
        graph("UTF-8").into_bytes(),
        graph("UTF-16").into_bytes(),
        single(graph("ISO-8859-1")),
        single(graph("windows-1252")),
    ] {
        assert_eq!(read(&bytes).unwrap().ids, expected);
    }
    let error = read(&single(graph("Shift_JIS"))).err().unwrap();
    assert!(error.to_string().starts_with("f:2: expected text in Shift_JIS"), "{error}");
}

#[test]
fn a_billion_laughs_are_not_laughed() {
    let mut text = "<!DOCTYPE graphml [<!ENTITY a0 \"ha\">".to_owned();
    for level in 1..10 {
        let inner = format!("&a{};", level - 1).repeat(10);
        write!(text, "<!ENTITY a{level} \"{inner}\">").unwrap();
    }
    text += "]>\n<graphml><key id='w' attr.name='weight'/><graph edgedefault='directed'>";
    let in_id = format!("{text}<node id='&a9;'/></graph></graphml>");
    let error = refuse(&GRAPHML, &in_id, &weighted(IdKind::Names));
    assert!(error.starts_with("f:2: not valid XML"), "{error}");
    let in_data = "<node id='1'/><edge source='1' target='1'><data key='w'>&a9;</data></edge>";
    let in_data = format!("{text}{in_data}</graph></graphml>");
    let error = refuse(&GRAPHML, &in_data, &weighted(IdKind::Names));
    assert!(error.starts_with("f:2: "), "{error}");
}

#[test]
fn nothing_is_gathered_without_end() {
    let options = weighted(IdKind::Names);
    let nested = "<a>".repeat(1_000_000);
    let error = refuse(&GRAPHML, &format!("<graphml>{nested}"), &options);
    assert!(error.contains("at most 100 elements"), "{error}");
    let long = "x".repeat(3 << 20);
    for text in [
        format!("<graphml>{long}"),
        format!("<graphml><!--{long}"),
        format!("<graphml><a {long}"),
        format!("<!DOCTYPE [{long}"),
        format!("<graphml><![CDATA[{long}"),
    ] {
        let error = refuse(&GRAPHML, &text, &options);
        assert!(error.contains("less text and fewer attributes"), "{error}");
    }
    let mut many = String::new();
    (0..150_000).for_each(|number| write!(many, "a{number}='' ").unwrap());
    let mut wide = options;
    wide.limits.line_bytes_max = 4 << 20;
    let text = document(&format!("<graph edgedefault='directed'><node {many} id='1'/></graph>"));
    assert_eq!(see(&GRAPHML, &text, &wide).unwrap().vertices, ["1"]);
}
