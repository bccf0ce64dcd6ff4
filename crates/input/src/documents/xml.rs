//! Elements of XML one after the other, for the formats that are written in it.
//!
//! Entities are not expanded, but for the five that XML has itself and characters by number; a
//! document type may be there, and is not looked at. Text in another encoding that the first line
//! names is decoded on the way.
//!
//! Invariant: elements inside each other are of bounded depth, and what is gathered at once is of
//! bounded size. Checked in `walk`.

use quick_xml::Reader as XmlReader;
use quick_xml::events::{BytesStart, Event};

use super::Document;
use super::bytes::Bytes;
use crate::error::InputError;
use crate::words::show;

/// Elements inside each other.
pub(crate) const DEPTH_MAX: usize = 100;

/// Meaning of the elements of a format.
pub(crate) trait Elements {
    /// An element begins; its depth says how many are open around it.
    fn open(&mut self, element: &Element<'_>) -> Result<(), InputError>;

    /// The innermost element ends.
    fn close(&mut self) -> Result<(), InputError>;

    /// Text inside the innermost element.
    fn text(&mut self, text: &str);

    /// The file ends, with all elements closed.
    fn end(&self, line: u64) -> Result<(), InputError>;

    /// The error for a line.
    fn wrong(&self, line: u64, what: String) -> InputError;
}

/// Hands the elements of a file to what they mean, and gathers at most `bytes_max` bytes at once.
pub(crate) fn walk(
    bytes: Bytes<'_>,
    bytes_max: usize,
    elements: &mut impl Elements,
) -> Result<(), InputError> {
    let mut bytes = bytes.decoded()?;
    bytes.allow(bytes_max);
    let mut reader = XmlReader::from_reader(bytes);
    let mut buffer = Vec::new();
    let mut depth = 0;
    loop {
        buffer.clear();
        let line = reader.get_ref().line();
        reader.get_mut().allow(bytes_max);
        let event = match reader.read_event_into(&mut buffer) {
            Ok(event) => event,
            Err(error) => {
                let failure = reader.get_mut().take_failure();
                let invalid = || elements.wrong(line, format!("not valid XML: {error}"));
                return Err(failure.unwrap_or_else(invalid));
            }
        };
        match event {
            Event::Start(_) if depth == DEPTH_MAX => {
                let what = format!("expected at most {DEPTH_MAX} elements inside each other");
                return Err(elements.wrong(line, what));
            }
            Event::Start(element) => {
                depth += 1;
                elements.open(&Element { element: &element, line })?;
            }
            Event::Empty(element) => {
                elements.open(&Element { element: &element, line })?;
                elements.close()?;
            }
            Event::End(_) => {
                depth -= 1;
                elements.close()?;
            }
            Event::Text(text) => elements.text(&text),
            Event::CData(text) => elements.text(&text),
            Event::GeneralRef(name) => {
                let text = format!("&{};", &*name);
                let text = quick_xml::escape::unescape(&text);
                elements.text(&text.map_err(|error| elements.wrong(line, error.to_string()))?);
            }
            Event::Decl(_) | Event::Comment(_) | Event::PI(_) | Event::DocType(_) => {}
            Event::Eof if depth > 0 => {
                let what = "expected the end of an element, found the end of the file, \
                            which may be cut off";
                return Err(elements.wrong(line, what.to_owned()));
            }
            Event::Eof => return elements.end(line),
        }
    }
}

/// The beginning of an element.
pub(crate) struct Element<'a> {
    element: &'a BytesStart<'a>,
    pub(crate) line: u64,
}

impl Element<'_> {
    /// Name of the element, without what says whose name it is.
    pub(crate) fn name(&self) -> String {
        self.element.local_name().as_ref().to_owned()
    }

    /// The value of an attribute, if it is there.
    pub(crate) fn attribute(
        &self,
        name: &str,
        small: &Document<'_>,
    ) -> Result<Option<String>, InputError> {
        let invalid = |error: &dyn std::fmt::Display| {
            small.wrong(self.line, format!("not valid XML: {error}"))
        };
        // The check for attributes that come twice takes time with the square of their number.
        for attribute in self.element.attributes().with_checks(false) {
            let attribute = attribute.map_err(|error| invalid(&error))?;
            if attribute.key.as_ref() == name {
                let value = attribute.normalized_value(quick_xml::XmlVersion::Implicit1_0);
                return Ok(Some(value.map_err(|error| invalid(&error))?.into_owned()));
            }
        }
        Ok(None)
    }

    /// The value of an attribute that must be there.
    pub(crate) fn required(&self, name: &str, small: &Document<'_>) -> Result<String, InputError> {
        self.attribute(name, small)?.ok_or_else(|| {
            small.wrong(self.line, format!("expected the attribute {name} of {}", self.name()))
        })
    }

    /// The error for an element that is not the outermost one of a format.
    pub(crate) fn stranger(&self, expected: &str, small: &Document<'_>) -> InputError {
        let found = show(self.name().as_bytes());
        small.wrong(self.line, format!("expected the element {expected}, found {found}"))
    }
}

/// Text of a weight so far.
#[derive(Default)]
pub(crate) struct WeightText(Vec<u8>);

impl WeightText {
    /// Begins anew.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Appends to the text of the weight.
    pub(crate) fn add(&mut self, text: &str) {
        // No number is longer; what is, is no number either way.
        const BYTES_MAX: usize = 1000;
        if self.0.len() < BYTES_MAX {
            self.0.extend_from_slice(text.as_bytes());
        }
    }

    /// Takes the whole text of the weight.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.0)
    }
}
