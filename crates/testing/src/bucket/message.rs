//! Requests and answers of the store, as bytes of HTTP.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, BufRead, Read, Write};
use std::ops::Range;

/// Header with the generation of an object.
pub(super) const GENERATION: &str = "x-goog-generation";

/// A request as the server saw it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Method, such as `GET`.
    pub method: String,
    /// Bucket and key, such as `bucket/edges/a.csv`.
    pub path: String,
    /// Parameters behind the `?`.
    pub query: BTreeMap<String, String>,
    /// Range that was asked for: first byte and the one behind the last.
    pub range: Option<Range<u64>>,
    /// Number of bytes at the end that were asked for.
    pub(super) last_bytes: Option<u64>,
    /// Entity tag that the object must have.
    pub if_match: Option<String>,
    /// Whether no object may be there.
    pub if_none: bool,
    /// Generation that the object must have, as Google counts: 0 where no object may be there.
    pub if_generation: Option<u64>,
    /// Whether it was signed, by the key of the server.
    pub signed: bool,
    /// Metadata by which its writer knows an object again.
    pub mark: Option<String>,
    /// Bytes that are put.
    pub bytes: usize,
    /// Path and query as they were sent.
    pub(super) target: String,
    /// Headers in their order, names in small letters.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

/// Headers that an object is put with, and that are given with it.
pub(super) type Attributes = Vec<(String, String)>;

/// Names of such headers, but for those of metadata.
const ATTRIBUTES: [&str; 5] = [
    "cache-control",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-type",
];
/// Beginnings of the names of metadata at the clouds.
const METADATA: [&str; 3] = ["x-amz-meta-", "x-goog-meta-", "x-ms-meta-"];

/// An answer before it is written.
#[derive(Default)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) attributes: Attributes,
    pub(super) body: Vec<u8>,
    /// Bytes of the body that are written; then the connection ends.
    pub(super) cut: Option<usize>,
}

impl Request {
    /// Reads a request; `None` at the end.
    pub(super) fn read(reader: &mut impl BufRead) -> io::Result<Option<Self>> {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let mut words = line.split_whitespace();
        let (method, target) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let part = |text: &str| decoded(&text.replace('+', " "));
            (part(name), part(value))
        };
        let mut request = Self {
            method: method.to_owned(),
            path: decoded(path.trim_start_matches('/')),
            query: query.split('&').filter(|it| !it.is_empty()).map(pair).collect(),
            target: target.to_owned(),
            ..Self::default()
        };
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            let value = value.trim();
            let name = name.to_ascii_lowercase();
            match &*name {
                "content-length" => length = value.parse().unwrap_or(0),
                "range" => {
                    request.range = range(value);
                    let last = value.strip_prefix("bytes=-");
                    request.last_bytes = last.and_then(|count| count.parse().ok());
                }
                "if-match" => request.if_match = Some(value.to_owned()),
                "if-none-match" => request.if_none = value == "*",
                "x-goog-if-generation-match" => request.if_generation = value.parse().ok(),
                "x-amz-meta-welter" | "x-goog-meta-welter" | "x-ms-meta-welter" => {
                    request.mark = Some(value.to_owned());
                }
                _ => {}
            }
            request.headers.push((name, value.to_owned()));
        }
        // A body that breaks off is no request.
        let count = reader.take(length).read_to_end(&mut request.body)? as u64;
        request.bytes = request.body.len();
        Ok((count == length).then_some(request))
    }

    /// Headers that the object is given with.
    pub(super) fn attributes(&self) -> Attributes {
        let is = |name: &str| {
            ATTRIBUTES.contains(&name) || METADATA.iter().any(|begin| name.starts_with(begin))
        };
        self.headers.iter().filter(|(name, _)| is(name)).cloned().collect()
    }

    /// The value of a header, with one space where there are some; those of several, by commas.
    pub(super) fn header(&self, name: &str) -> Option<String> {
        let found = self.headers.iter().filter(|(other, _)| other == name);
        let words = |value: &String| value.split_whitespace().collect::<Vec<_>>().join(" ");
        let values: Vec<String> = found.map(|(_, value)| words(value)).collect();
        (!values.is_empty()).then(|| values.join(","))
    }
}

impl Answer {
    /// An error as S3 words it, with what some stores tell of the key that was used.
    pub(super) fn error(status: u16, code: &str) -> Self {
        let text = format!(
            "<Error><Code>{code}</Code><Message>m</Message>\
             <AWSAccessKeyId>WELTERKEY</AWSAccessKeyId></Error>"
        );
        Self { status, ..Self::text(text) }
    }

    /// An error that repeats a request, as it was sent and decoded, where others have a word.
    pub(super) fn repeated(status: u16, request: &Request) -> Self {
        let Request { method, target, query, headers, .. } = request;
        Self::error(status, &text_of_xml(&format!("{method} {target} {query:?} {headers:?}")))
    }

    /// Success, with this text.
    pub(super) fn text(text: impl Into<Vec<u8>>) -> Self {
        Self { status: 200, body: text.into(), ..Self::default() }
    }

    /// Writes it; whether the connection continues.
    pub(super) fn write(&self, to: &mut impl Write, is_head: bool) -> io::Result<bool> {
        let mut head = format!("HTTP/1.1 {} -\r\n", self.status);
        if self.status != 204 && self.status != 304 {
            let _ = write!(head, "Content-Length: {}\r\n", self.body.len());
        }
        for (name, value) in &self.headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        for (name, value) in &self.attributes {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        head += "\r\n";
        to.write_all(head.as_bytes())?;
        if !is_head {
            to.write_all(&self.body[..self.cut.unwrap_or(self.body.len())])?;
        }
        to.flush()?;
        Ok(self.cut.is_none())
    }
}

/// Bytes that a header asks for.
fn range(value: &str) -> Option<Range<u64>> {
    let (first, last) = value.strip_prefix("bytes=")?.split_once('-')?;
    let end = if last.is_empty() { u64::MAX } else { last.parse::<u64>().ok()? + 1 };
    Some(first.parse().ok()?..end)
}

/// Text as it stands in XML.
pub(super) fn text_of_xml(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;")
}

/// Text without percent signs.
pub(super) fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let digits = behind.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = &behind[2..];
            }
            _ => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
