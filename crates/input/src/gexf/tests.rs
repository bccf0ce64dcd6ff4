//! GEXF files as programs write them, good and bad.

use super::*;
use crate::documents::tests::{named, refuse, see, weighted};
use crate::options::{IdKind, ReadOptions, WeightChoice};
use crate::tables::ColumnRef;

/// As Gephi writes.
const GEPHI: &str = r#"<?xml version='1.0' encoding='UTF-8'?>
<gexf xmlns="http://gexf.net/1.3" version="1.3" xmlns:viz="http://gexf.net/1.3/viz">
  <meta lastmodifieddate="2024-01-01"><creator>Gephi 0.10.1</creator></meta>
  <graph defaultedgetype="undirected" idtype="string">
    <attributes class="node" mode="static">
      <attribute id="w" title="weight" type="float"/></attributes>
    <attributes class="edge" mode="static">
      <attribute id="len" title="length" type="double"><default>4.5</default></attribute>
    </attributes>
    <nodes count="3">
      <node id="n0" label="Ann"><attvalues><attvalue for="w" value="9"/></attvalues>
        <viz:color r="1" g="2" b="3"/></node>
      <node id="n1" label="Bob"/>
      <node id="n2"/>
    </nodes>
    <edges count="2">
      <edge id="0" source="n0" target="n1" weight="2.5"/>
      <edge id="1" source="n1" target="n0">
        <attvalues><attvalue for="len" value="7"/></attvalues></edge>
    </edges>
  </graph>
</gexf>
"#;

/// As NetworkX writes.
const NETWORKX: &str = r#"<?xml version='1.0' encoding='utf-8'?>
<gexf xmlns="http://www.gexf.net/1.2draft" version="1.2">
  <graph defaultedgetype="directed" mode="static" name="">
    <nodes><node id="5" label="5" /><node id="7" label="7" /><node id="9" label="9" /></nodes>
    <edges>
      <edge source="5" target="7" id="0" weight="4" />
      <edge source="7" target="9" id="1" weight="5.0" />
    </edges>
  </graph>
</gexf>"#;

#[test]
fn a_graph_of_gephi_is_read() {
    let seen = see(&GEXF, GEPHI, &weighted(IdKind::Names)).unwrap();
    assert_eq!(seen.edges, named(&[("Ann", "Bob"), ("Bob", "Ann")]));
    assert_eq!(seen.weights, Some(vec![2.5, 1.0]));
    assert_eq!(seen.vertices, ["Ann", "Bob", "n2"]);
    assert_eq!(seen.undirected, Some(true));
    let length = WeightChoice::Column(ColumnRef::Name("length".to_owned()));
    let options = ReadOptions { weight: length, ..weighted(IdKind::Names) };
    assert_eq!(see(&GEXF, GEPHI, &options).unwrap().weights, Some(vec![4.5, 7.0]));
}

#[test]
fn a_graph_of_networkx_is_read() {
    let seen = see(&GEXF, NETWORKX, &weighted(IdKind::Integers)).unwrap();
    assert_eq!(seen.edges, named(&[("5", "7"), ("7", "9")]));
    assert_eq!(seen.weights, Some(vec![4.0, 5.0]));
    assert_eq!(seen.vertices, ["5", "7", "9"]);
    assert_eq!(seen.undirected, Some(false));
}

#[test]
fn kinds_of_edges_and_nodes_inside_nodes() {
    let text = r#"<gexf version="1.1"><graph mode="dynamic">
        <nodes><node id="1"><nodes><node id="2"/></nodes>
        <edges><edge source="1" target="2" type="mutual"/></edges></node><node id="3"/></nodes>
        <edges><edge source="2" target="3"/><edge source="3" target="3" type="directed"/></edges>
        </graph></gexf>"#;
    let seen = see(&GEXF, text, &weighted(IdKind::Integers)).unwrap();
    let arcs = [("1", "2"), ("2", "1"), ("2", "3"), ("3", "2"), ("3", "3")];
    assert_eq!(seen.edges, named(&arcs));
    assert_eq!((seen.undirected, seen.weights), (Some(false), None));
    assert_eq!(seen.vertices, ["1", "2", "3"]);
}

#[test]
fn what_is_no_graph_is_refused_with_its_line() {
    let graph = |inner: &str| format!("<gexf><graph>{inner}</graph></gexf>");
    for (text, expected) in [
        (String::new(), "f:1: expected a graph"),
        ("<graphml/>".to_owned(), "f:1: expected the element gexf, found \"graphml\""),
        ("<gexf>\n<graph>".to_owned(), "f:2: expected the end of an element"),
        ("<gexf><graph/>\n<graph/></gexf>".to_owned(), "f:2: expected one graph"),
        (graph("<nodes>\n<node/></nodes>"), "f:2: expected the attribute id of node"),
        (graph("<edges>\n<edge source='1'/></edges>"), "f:2: expected the attribute target"),
        (graph("<edges>\n<edge source='1' target='1'/></edges>"), "f:2: expected an edge between"),
        (
            graph("<nodes><node id='1'/></nodes><edges><edge source='1' target='1' type='x'/>"),
            "f:1: expected type directed, undirected or mutual",
        ),
    ] {
        let error = refuse(&GEXF, &text, &weighted(IdKind::Integers));
        assert!(error.starts_with(expected), "{text}: {error}");
    }
}
