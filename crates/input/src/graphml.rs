//! GraphML, for small graphs.
//!
//! ```xml
//! <graphml>
//!   <key id="w" for="edge" attr.name="weight" attr.type="double"><default>1</default></key>
//!   <graph edgedefault="undirected">
//!     <node id="n0"/> <node id="n1"/>
//!     <edge source="n0" target="n1"><data key="w">2.5</data></edge>
//!   </graph>
//! </graphml>
//! ```
//!
//! Elements that are no part of the graph's shape are passed over, whatever stands in them, and so
//! are ports, which are places at a node. A graph inside a node, as yEd writes groups, is part of
//! the one graph, and the node that it stands in is a vertex too. Hyperedges, graphs inside edges,
//! a second graph, and parts in other files are refused: they are no graph of vertices and edges.

mod elements;

#[cfg(test)]
mod tests;

use crate::documents::bytes::Bytes;
use crate::documents::{Document, DocumentReader, xml};
use crate::error::InputError;
use elements::Elements;

/// The reader of GraphML.
pub(crate) static GRAPHML: DocumentReader =
    DocumentReader { name: "GraphML", labelled: false, attributes: true, parse };

fn parse(bytes: Bytes<'_>, small: &mut Document<'_>) -> Result<(), InputError> {
    let bytes_max = small.options().limits.line_bytes_max;
    let mut elements = Elements::new(small);
    xml::walk(bytes, bytes_max, &mut elements)?;
    elements.note();
    Ok(())
}
