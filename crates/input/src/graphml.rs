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
//! Elements inside each other are held on a stack of bounded height. What is no part of the graph's
//! shape is passed over, whatever stands in it. Hyperedges, ports, graphs inside of nodes and
//! edges, a second graph, and parts in other files are refused: they are no graph of vertices and
//! edges. Entities are not expanded, but for the five that XML has itself and characters by number;
//! a document type may be there, and is not looked at.

mod elements;

#[cfg(test)]
mod tests;

use quick_xml::Reader as XmlReader;
use quick_xml::events::{BytesStart, Event};

use crate::error::InputError;
use crate::small::bytes::Bytes;
use crate::small::{Small, SmallReader};
use crate::text::fields::show;
use elements::Elements;

/// The reader of GraphML.
pub(crate) static GRAPHML: SmallReader = SmallReader { labelled: false, parse };

/// Elements inside each other.
const DEPTH_MAX: usize = 100;

fn parse(mut bytes: Bytes<'_>, small: &mut Small<'_>) -> Result<(), InputError> {
    let bytes_max = small.options().limits.line_bytes_max;
    bytes.allow(bytes_max);
    let mut reader = XmlReader::from_reader(bytes);
    let mut elements = Elements::new(small);
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        let line = reader.get_ref().line();
        reader.get_mut().allow(bytes_max);
        let event = reader.read_event_into(&mut buffer);
        let event = match event {
            Ok(event) => event,
            Err(error) => {
                let failure = reader.get_mut().take_failure();
                let invalid = || elements.wrong(line, format!("not valid XML: {error}"));
                return Err(failure.unwrap_or_else(invalid));
            }
        };
        match event {
            Event::Start(element) => elements.open(&Element { element: &element, line })?,
            Event::Empty(element) => {
                elements.open(&Element { element: &element, line })?;
                elements.close()?;
            }
            Event::End(_) => elements.close()?,
            Event::Text(text) => elements.text(&text),
            Event::CData(text) => elements.text(&text),
            Event::GeneralRef(name) => {
                let text = format!("&{};", &*name);
                let text = quick_xml::escape::unescape(&text);
                elements.text(&text.map_err(|error| elements.wrong(line, error.to_string()))?);
            }
            Event::Decl(declaration) => {
                let encoding = declaration.encoding().and_then(Result::ok);
                let known = |name: &str| {
                    name.eq_ignore_ascii_case("utf-8") || name.eq_ignore_ascii_case("us-ascii")
                };
                if let Some(other) = encoding.filter(|name| !known(name)) {
                    let found = show(other.as_bytes());
                    return Err(elements.wrong(line, format!("expected UTF-8, found {found}")));
                }
            }
            Event::Comment(_) | Event::PI(_) | Event::DocType(_) => {}
            Event::Eof => return elements.end(line),
        }
    }
}

/// The beginning of an element.
struct Element<'a> {
    element: &'a BytesStart<'a>,
    line: u64,
}

impl Element<'_> {
    /// Its name, without what says whose name it is.
    fn name(&self) -> String {
        self.element.local_name().as_ref().to_owned()
    }

    /// The value of an attribute, if it is there.
    fn attribute(&self, name: &str) -> Result<Option<String>, String> {
        // The check for attributes that come twice takes time with the square of their number.
        for attribute in self.element.attributes().with_checks(false) {
            let attribute = attribute.map_err(|error| format!("not valid XML: {error}"))?;
            if attribute.key.as_ref() == name {
                let value = attribute.normalized_value(quick_xml::XmlVersion::Implicit1_0);
                let value = value.map_err(|error| format!("not valid XML: {error}"))?;
                return Ok(Some(value.into_owned()));
            }
        }
        Ok(None)
    }
}
