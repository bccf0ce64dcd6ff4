//! Rules that GML and GraphML share, through either of them.

use rayon::ThreadPoolBuilder;
use welter_model::edges::EdgeStream;
use welter_model::ids::IdMap;
use welter_progress::{FailureKind, Progress};

use super::bytes::Bytes;
use super::number::number;
use super::*;
use crate::collect::Collector;
use crate::dot::DOT;
use crate::format::Format;
use crate::fuzzing::weighing;
use crate::gml::GML;
use crate::json::JSON;
use crate::options::WeightChoice;
use crate::tables::ColumnRef;

/// A graph as a person sees it.
#[derive(Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) edges: Vec<(String, String)>,
    pub(crate) weights: Option<Vec<f64>>,
    pub(crate) vertices: Vec<String>,
    pub(crate) undirected: Option<bool>,
}

/// Options that take a weight where there is one.
pub(crate) fn weighted(ids: IdKind) -> ReadOptions {
    ReadOptions { ids, weight: WeightChoice::IfPresent, ..ReadOptions::default() }
}

/// Reads text as a file of a format.
pub(crate) fn see(
    reader: &DocumentReader,
    text: &str,
    options: &ReadOptions,
) -> Result<Seen, InputError> {
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let collector = Collector::new(options.limits.memory_bytes_max);
    collector.begin("f");
    reader.read_bytes("f", Bytes::of_slice("f", text.as_bytes()), options, &collector)?;
    let undirected = collector.undirected()?;
    let (list, ids) = collector.finish_list(options.vertices, &pool, &Progress::new())?;
    let shown = |slot: u32| match &ids {
        IdMap::Names(names) => names.get(slot as usize).to_owned(),
        IdMap::NonCompact(ids) => ids.named()[slot as usize].to_string(),
        IdMap::Sparse(ids) => ids[slot as usize].to_string(),
        IdMap::Offset(first) => (u64::from(slot) + first).to_string(),
        _ => slot.to_string(),
    };
    Ok(Seen {
        edges: list.pairs().map(|[source, target]| (shown(source), shown(target))).collect(),
        weights: list.weighted().then(|| list.weights().collect()),
        vertices: (0..list.slots().unwrap_or(0) as u32).map(shown).collect(),
        undirected,
    })
}

/// The error that reading ends with, which is one about content.
pub(crate) fn refuse(reader: &DocumentReader, text: &str, options: &ReadOptions) -> String {
    let error = see(reader, text, options).unwrap_err();
    assert_eq!(error.kind(), FailureKind::Input, "{error}");
    error.to_string()
}

/// Pairs of names.
pub(crate) fn named(edges: &[(&str, &str)]) -> Vec<(String, String)> {
    edges.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
}

const NODES: &str = "node [ id 0 ] node [ id 1 ] node [ id 2 ]";

fn gml(edges: &str) -> String {
    format!("graph [\n{NODES}\n{edges}\n]")
}

#[test]
fn either_all_edges_have_a_weight_or_none() {
    let options = weighted(IdKind::Integers);
    let see = |edges: &str| see(&GML, &gml(edges), &options).unwrap().weights;
    let edge = "edge [ source 0 target 1 ]";
    let value = "edge [ source 0 target 1 value 2 ]";
    let both = "edge [ source 0 target 1 value 2 weight 3.5 ]";
    assert_eq!(see(edge), None);
    assert_eq!(see(value), Some(vec![2.0]));
    assert_eq!(see(both), Some(vec![3.5]));
    assert_eq!(see("edge [ source 0 target 1 value \"friend\" ]"), None);
    for (edges, expected) in [
        ([value, edge], "f:4: expected an edge with a weight"),
        ([both, "edge [ source 0 target 1 weight \"x\" ]"], "f:4: expected a number as weight"),
        ([both, "edge [ source 0 target 1 weight NAN ]"], "f:4: expected a weight, found \"NAN\""),
    ] {
        let error = refuse(&GML, &gml(&edges.join("\n")), &options);
        assert!(error.starts_with(expected), "{error}");
    }
    let named = WeightChoice::Column(ColumnRef::Name("length".to_owned()));
    let options = ReadOptions { weight: named, ..options };
    let error = refuse(&GML, &gml(value), &options);
    assert!(error.contains("with the attribute \"length\""), "{error}");
    let by_number = WeightChoice::Column(ColumnRef::Number(3));
    let options = ReadOptions { weight: by_number, ..options };
    let error = super::tests::see(&GML, &gml(value), &options).unwrap_err();
    assert_eq!(error.kind(), FailureKind::Usage);
}

#[test]
fn edges_of_nodes_that_are_not_there_are_refused() {
    let options = weighted(IdKind::Integers);
    assert_eq!(
        refuse(&GML, &gml("edge [ source 0 target 1 ]\nedge [ source 7 target 1 ]"), &options),
        "f:4: expected an edge between nodes of the graph, found \"7\", which is none"
    );
    let error = refuse(&GML, &gml("node [ id 01 ]"), &options);
    assert_eq!(error, "f:3: expected another id than that of the node in line 2");
    let error = refuse(&GML, &gml("edge [ source 0 ]"), &options);
    assert_eq!(error, "f:3: expected an edge with a target");
    let error = refuse(&GML, &gml("node [ id -5 ]"), &options);
    assert_eq!(
        error,
        "f:3: expected a vertex id, found the negative number \"-5\" \
         (for ids that are strings: --ids strings)"
    );
}

#[test]
fn nodes_are_vertices_with_or_without_edges() {
    let options = weighted(IdKind::Integers);
    let seen = see(&GML, &gml(""), &options).unwrap();
    assert_eq!(seen.vertices, ["0", "1", "2"]);
    assert_eq!((seen.edges, seen.undirected), (vec![], Some(true)));
    let sparse = "graph [ node [ id 70 ] node [ id 1234567890123 ] node [ id 7 ] ]";
    let seen = see(&GML, sparse, &options).unwrap();
    assert_eq!(seen.vertices, ["7", "70", "1234567890123"]);
}

#[test]
fn what_is_not_written_as_an_integer_is_printed_is_a_name() {
    let weighing = |format, text: &str| weighing("f", text, format).unwrap();
    for (format, text) in [
        (Format::Dot, "digraph { \"007\" -> 7 }"),
        (Format::Json, r#"[{"source": "007", "target": 7}]"#),
        (
            Format::Json,
            r#"{"nodes": ["007", {"id": "7"}], "links": [{"source": "007", "target": 7}]}"#,
        ),
        (Format::Tgf, "007\n7\n#\n007 7\n"),
        (
            Format::GraphMl,
            "<graphml><graph edgedefault=\"directed\"><node id=\"007\"/><node id=\"7\"/>\
             <edge source=\"007\" target=\"7\"/></graph></graphml>",
        ),
        (
            Format::Gexf,
            "<gexf><graph><nodes><node id=\"007\"/><node id=\"7\"/></nodes><edges>\
             <edge source=\"007\" target=\"7\"/></edges></graph></gexf>",
        ),
        (
            Format::Gml,
            "graph [ node [ id \"007\" ] node [ id 7 ] edge [ source \"007\" target 7 ] ]",
        ),
    ] {
        let input = weighing(format, text);
        let names = ["007", "7"].into_iter().collect();
        assert_eq!(input.ids, IdMap::Names(names), "{text}");
        let has_note =
            input.summary.notes.iter().any(|note| note.contains("because \"007\" is not"));
        assert!(has_note, "{text}: {:?}", input.summary.notes);
    }
    // Numbers by the format itself, and strings that are all written as integers are printed.
    for (format, text) in [
        (Format::Pajek, "*Vertices 2\n01 \"a\"\n*Arcs\n01 2\n"),
        (Format::Gml, "graph [ node [ id 01 ] node [ id 2 ] edge [ source 1 target 02 ] ]"),
        (Format::Json, r#"[{"source": "1", "target": 2}]"#),
    ] {
        assert_eq!(weighing(format, text).ids, IdMap::Offset(1), "{text}");
    }
    let document = see(&DOT, "graph { \"007\" -- 7 }", &weighted(IdKind::Integers)).unwrap();
    assert_eq!(document.vertices, ["7"]);
    let options = ReadOptions { guessed_ids: true, ..weighted(IdKind::Integers) };
    let error = refuse(&DOT, "graph { 1 -- 2\n2 -- 03 }", &options);
    assert!(error.starts_with("f:2: expected an integer as it is printed"), "{error}");
}

#[test]
fn labels_that_do_not_tell_nodes_apart_are_no_ids_unless_the_user_says_so() {
    let text = r#"{"nodes": [{"id": "a", "label": "x"}, {"id": "b", "label": "x"}],
        "links": [{"source": "a", "target": "b"}]}"#;
    let input = weighing("f", text, Format::Json).unwrap();
    assert_eq!(input.ids, IdMap::Names(["a", "b"].into_iter().collect()));
    assert!(input.summary.notes.iter().any(|note| note.contains("such as \"x\"")));
    let error = refuse(&JSON, text, &weighted(IdKind::Names));
    assert!(error.contains("labels that tell nodes apart"), "{error}");
}

#[test]
fn weights_may_be_hexadecimal() {
    for (text, value) in [
        ("0x1.8p+1", 3.0),
        ("-0x1p-1", -0.5),
        ("0x1.999999999999ap-4", 0.1),
        ("0x0p+0", 0.0),
        ("0X1.FP3", 15.5),
        ("0x1.fffffffffffffp+1023", f64::MAX),
        ("0x0.0000000000001p-1022", f64::from_bits(1)),
        ("0xc.ccccccccccccccdp-7", 0.1),
    ] {
        assert_eq!(number(text.as_bytes()), Ok(value), "{text}");
    }
    for text in ["0x", "0x1", "0xp1", "0x1.8p", "0x-1p1", "0xgp1", "0x1p99999", "0x1p+1024"] {
        assert!(number(text.as_bytes()).is_err(), "{text}");
    }
}

#[test]
fn memory_is_held_against_the_budget_while_it_grows() {
    let mut options = weighted(IdKind::Integers);
    options.limits.memory_bytes_max = Some(20_000);
    // 16 bytes an edge, and 8 more where edges have weights.
    let edges =
        |edge: &str, count| gml(&format!("edge [ source 0 target 1 {edge} ]\n").repeat(count));
    for (edge, few, many) in [("", 1000, 1300), ("value 2", 700, 900), ("label 2", 1000, 1300)] {
        assert!(see(&GML, &edges(edge, few), &options).is_ok(), "{edge}");
        let error = see(&GML, &edges(edge, many), &options).unwrap_err();
        assert_eq!(error.kind(), FailureKind::Budget, "{edge}");
    }
}

#[test]
fn weights_are_known_by_the_words_of_columns() {
    let see = |edges: &str| see(&GML, &gml(edges), &weighted(IdKind::Integers)).unwrap().weights;
    let edge = |attributes: &str| format!("edge [ source 0 target 1 {attributes} ]\n");
    for (attributes, weight) in [
        ("cost 3", 3.0),
        ("Weight 4 cost 3", 4.0),
        ("distance 5 value 6", 6.0),
        ("cost 3 value 6 weight 7", 7.0),
        ("n_trips 8 year 1999 label \"9\"", 8.0),
        ("cost \"x\" capacity 9", 9.0),
    ] {
        assert_eq!(see(&edge(attributes)), Some(vec![weight]), "{attributes}");
    }
    assert_eq!(see(&edge("year 1999 relation 3")), None);
    // The first edges have none of the attribute that wins, or only of others.
    let edges = [edge("value 1"), edge("value 2 cost 9"), edge("value 3")].concat();
    assert_eq!(see(&edges), Some(vec![1.0, 2.0, 3.0]));
    let edges = [edge("cost 1"), edge("cost 2 weight 9")].concat();
    let error = refuse(&GML, &gml(&edges), &weighted(IdKind::Integers));
    assert!(error.starts_with("f:3: expected an edge with a weight, as others"), "{error}");
    let error = refuse(&GML, &gml(&edge("cost 1 capacity 2")), &weighted(IdKind::Integers));
    assert!(error.contains("found \"cost\", \"capacity\" (--weight NAME"), "{error}");
    let input = weighing("f", &gml(&edge("weight NAN label \"x\"")), Format::Gml).unwrap();
    let is_warning = |note: &String| note.contains("\"weight\" of edges holds no numbers");
    assert!(input.summary.notes.iter().any(is_warning), "{:?}", input.summary.notes);
    let input = weighing("f", &gml(&edge("loudness 3")), Format::Gml).unwrap();
    assert!(
        input.summary.notes.iter().any(|note| note.contains("not read: \"loudness\" (--weight"))
    );
    assert!(!input.edges.weighted());
}

#[test]
fn weights_keep_all_of_their_digits() {
    for weight in ["0.12345678901234567", "1.7976931348623157e308", "5e-324", "2.0", "-0.1"] {
        let text = format!("[{{\"source\": 1, \"target\": 2, \"cost\": {weight}}}]");
        let seen = see(&JSON, &text, &weighted(IdKind::Integers)).unwrap();
        assert_eq!(seen.weights, Some(vec![weight.parse().unwrap()]));
    }
    let mut random = 1_u64;
    for _ in 0..2000 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let weight = f64::from_bits(random & !(1 << 62));
        let text = format!("[[1, 2, {weight:e}]]");
        let seen = see(&JSON, &text, &weighted(IdKind::Integers)).unwrap();
        assert_eq!(seen.weights, Some(vec![weight]), "{weight:e}");
    }
    // Of ids none is lost.
    let rounded = r#"[{"source": "a", "target": 18446744073709551616}]"#;
    let error = refuse(&JSON, rounded, &weighted(IdKind::Names));
    assert!(error.contains("write ids of more digits as texts"), "{error}");
}

#[test]
fn a_decoder_is_given_as_much_as_it_may_take() {
    use std::io::BufRead;
    let mut bytes = Bytes::of_slice("f", b"ab\ncd\n");
    bytes.allow(4);
    assert_eq!(bytes.fill_buf().unwrap(), b"ab\nc");
    bytes.consume(4);
    assert_eq!(bytes.line(), 2);
    assert!(bytes.fill_buf().is_err());
    assert!(bytes.take_failure().unwrap().to_string().starts_with("f:2: expected less"));
    bytes.allow(9);
    assert_eq!(bytes.fill_buf().unwrap(), b"d\n");
    bytes.consume(2);
    assert_eq!(bytes.fill_buf().unwrap(), b"");
}
