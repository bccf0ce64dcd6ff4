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
//! Ids are `id` (`key` of graphology), else the place; where names are wanted (`--ids names`),
//! `label`, else `name`. The source is `source`, `from` or `src`, the target `target`, `to`, `dst`
//! or `dest`. A file of another shape is refused with the keys that it has.
//!
//! Invariant: a file is read once, from its beginning to its end; what no shape asks for is passed
//! over without being kept.

mod graph;
mod record;
mod shape;
mod square;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::io::Read;
use std::rc::Rc;

use serde::de::DeserializeSeed as _;
use serde_json::Deserializer;

use crate::error::InputError;
use crate::small::bytes::Bytes;
use crate::small::{Small, SmallReader};
use graph::Graph;
use shape::{Place, Visit};

/// The reader of JSON.
pub(crate) static JSON: SmallReader =
    SmallReader { name: "JSON", labelled: true, attributes: true, parse };

/// Whether a file that begins so is surely of this format: an object, or a list of objects or of
/// lists.
pub(crate) fn begins(head: &[u8]) -> bool {
    let Some((first, rest)) = head.split_first() else { return false };
    let next = rest.trim_ascii_start().first();
    match first {
        b'{' => matches!(next, Some(b'"' | b'}')),
        b'[' => matches!(next, Some(b'{' | b'[' | b']')),
        _ => false,
    }
}

/// The bytes of a file, which the decoder and what is made of it both look at.
#[derive(Clone)]
struct Feed<'a>(Rc<RefCell<Bytes<'a>>>);

impl Feed<'_> {
    /// Lets the decoder gather so many more bytes.
    fn allow(&self, bytes: usize) {
        self.0.borrow_mut().allow(bytes);
    }

    fn line(&self) -> u64 {
        self.0.borrow().line()
    }
}

impl Read for Feed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.borrow_mut().read(buffer)
    }
}

fn parse(bytes: Bytes<'_>, small: &mut Small<'_>) -> Result<(), InputError> {
    let file = bytes.file();
    let feed = Feed(Rc::new(RefCell::new(bytes)));
    let mut graph = Graph::new(small, feed.clone());
    let mut decoder = Deserializer::from_reader(feed.clone());
    loop {
        let values = graph.values();
        feed.allow(graph.bytes_max());
        let read = Visit { graph: &mut graph, place: Place::Top }.deserialize(&mut decoder);
        let Err(error) = read else {
            graph.end_document()?;
            continue;
        };
        if error.is_eof() && graph.values() == values && values > 0 {
            break;
        }
        let failure = graph.take_failure().or_else(|| feed.0.borrow_mut().take_failure());
        return Err(failure.unwrap_or_else(|| {
            let text = error.to_string();
            let text = text.split(" at line ").next().unwrap_or_default();
            let what = format!("not valid JSON: {text}");
            InputError::Line { file: file.to_owned(), line: error.line().max(1) as u64, what }
        }));
    }
    graph.finish()
}
