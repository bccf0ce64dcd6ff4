//! JSON, for small graphs, in the shapes that programs write.
//!
//! - Node-link (NetworkX, d3, sigma, graphology): `{"directed": true, "nodes": [{"id": 7}],
//!   "links": [{"source": 7, "target": 7, "weight": 2}]}`; `edges` for `links`; ends are ids, or
//!   places in the list of nodes where they are no ids, which is said.
//! - Adjacency (NetworkX): `{"nodes": [{"id": 7}], "adjacency": [[{"id": 7}]]}`.
//! - JGF: `{"graph": {"nodes": {"a": {"label": "Ann"}}, "edges": [{"source": "a", ...}]}}`.
//! - Cytoscape: `{"elements": {"nodes": [{"data": {"id": "a"}}], "edges": [{"data": ...}]}}`, or
//!   one list of elements.
//! - Objects with a source and a target, or lists of two and perhaps a weight, one a line or in one
//!   list; they bring their nodes with them.
//!
//! Ids are `id` (`key` of graphology), else the place; where names are wanted (`--ids strings`),
//! `label`, else `name`. The source is `source`, `from` or `src`, the target `target`, `to`, `dst`
//! or `dest`. A file of another shape is refused with the keys that it has.
//!
//! Invariant: a file is read once, from its beginning to its end; what no shape asks for is passed
//! over without being kept. Tested by `nothing_is_gathered_without_end`.

mod feed;
mod graph;
mod nesting;
mod record;
mod shape;
mod square;
#[cfg(test)]
mod tests;

use serde::de::DeserializeSeed as _;
use serde_json::Deserializer;

use crate::documents::bytes::Bytes;
use crate::documents::{Document, DocumentReader};
use crate::error::InputError;
use feed::Feed;
use graph::Graph;
use nesting::Nesting;
use shape::Visit;

/// The reader of JSON.
pub(crate) static JSON: DocumentReader =
    DocumentReader { name: "JSON", labelled: true, attributes: true, parse };

fn parse(bytes: Bytes<'_>, small: &mut Document<'_>) -> Result<(), InputError> {
    let file = bytes.file();
    let feed = Feed::new(bytes);
    let mut graph = Graph::new(small, feed.clone());
    let mut decoder = Deserializer::from_reader(feed.clone());
    loop {
        let values = graph.values();
        feed.allow(graph.bytes_max());
        let read = Visit { graph: &mut graph, place: Nesting::Top }.deserialize(&mut decoder);
        let Err(error) = read else {
            graph.end_document()?;
            continue;
        };
        if error.is_eof() && graph.values() == values && values > 0 {
            break;
        }
        let failure = graph.take_failure().or_else(|| feed.take_failure());
        return Err(failure.unwrap_or_else(|| {
            let text = error.to_string();
            let text = text.split(" at line ").next().unwrap_or_default();
            let what = format!("not valid JSON: {text}");
            InputError::Line { file: file.to_owned(), line: error.line().max(1) as u64, what }
        }));
    }
    graph.finish()
}
