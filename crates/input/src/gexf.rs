//! GEXF, the format of Gephi, for small graphs: versions 1.1 to 1.3.
//!
//! ```xml
//! <gexf version="1.3">
//!   <graph defaultedgetype="undirected">
//!     <attributes class="edge"><attribute id="0" title="length" type="float"/></attributes>
//!     <nodes> <node id="a" label="Ann"/> <node id="b" label="Bob"/> </nodes>
//!     <edges>
//!       <edge source="a" target="b" type="directed" weight="2.5">
//!         <attvalues><attvalue for="0" value="7"/></attvalues>
//!       </edge>
//!     </edges>
//!   </graph>
//! </gexf>
//! ```
//!
//! Ids are those of nodes; where strings are wanted (`--ids strings`), the labels. A weight that is
//! missing is 1, as the format says. An edge of the type `mutual` is two arcs. Nodes inside nodes
//! are vertices like others. Of a graph that changes in time the edges of all times are read.

mod elements;

#[cfg(test)]
mod tests;

use crate::documents::bytes::Bytes;
use crate::documents::{Document, DocumentReader, xml};
use crate::error::InputError;
use elements::Elements;

/// The reader of GEXF.
pub(crate) static GEXF: DocumentReader =
    DocumentReader { name: "GEXF", labelled: true, attributes: true, parse };

fn parse(bytes: Bytes<'_>, small: &mut Document<'_>) -> Result<(), InputError> {
    let bytes_max = small.options().limits.line_bytes_max;
    small.default_weight(1.0);
    let mut elements = Elements::new(small);
    xml::walk(bytes, bytes_max, &mut elements)
}
