//! A statement of N-Triples or N-Quads, and its terms.

use std::borrow::Cow;

use crate::words::show;

/// A statement, its terms as they are written.
pub(super) struct Statement<'a> {
    pub(super) subject: &'a [u8],
    pub(super) predicate: &'a [u8],
    /// Object of the statement; `None` where it is a literal.
    pub(super) object: Option<&'a [u8]>,
    /// Whether it belongs to a named graph.
    pub(super) graph: bool,
}

impl<'a> Statement<'a> {
    /// Reads a line.
    pub(super) fn read(line: &'a [u8]) -> Result<Self, String> {
        let (subject, rest) = resource(line, "a subject (<...> or _:name)")?;
        let (predicate, rest) = resource(rest, "a predicate (<...>)")?;
        let (object, rest) = if rest.starts_with(b"\"") {
            (None, literal(rest)?)
        } else {
            let (object, rest) = resource(rest, "an object (<...>, _:name or a literal)")?;
            (Some(object), rest)
        };
        let graph = !rest.starts_with(b".");
        let rest = if graph { resource(rest, "a full stop")?.1 } else { rest };
        let after = rest.strip_prefix(b".").map(<[u8]>::trim_ascii_start);
        match after {
            Some([] | [b'#', ..]) => Ok(Self { subject, predicate, object, graph }),
            _ => Err(format!("expected a full stop at the end, found {}", show(rest))),
        }
    }
}

/// Whether a file that begins so is surely of this format: its first statement is one.
pub(crate) fn begins(head: &[u8]) -> bool {
    let mut lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with(b"#"));
    first.is_some_and(|line| Statement::read(line).is_ok())
}

/// Takes an IRI in its brackets or a blank node, and what follows.
fn resource<'a>(text: &'a [u8], expected: &str) -> Result<(&'a [u8], &'a [u8]), String> {
    let wrong = || format!("expected {expected}, found {}", show(text));
    let end = match text {
        [b'<', b'<', ..] => {
            return Err(
                "expected a name, found a statement inside another, which is not read".to_owned()
            );
        }
        [b'<', ..] => memchr::memchr(b'>', text).ok_or_else(wrong)? + 1,
        [b'_', b':', ..] => {
            let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'<' | b'"');
            let end = text.iter().position(ends).unwrap_or(text.len());
            // A full stop may stand in a name but not at its end.
            text[..end].iter().rposition(|byte| *byte != b'.').ok_or_else(wrong)? + 1
        }
        _ => return Err(wrong()),
    };
    let iri = text.starts_with(b"<");
    let term = &text[..end];
    if (iri && term.iter().any(u8::is_ascii_whitespace)) || term.len() < 3 {
        return Err(wrong());
    }
    Ok((term, text[end..].trim_ascii_start()))
}

/// Passes over a literal, its language or type, and returns what follows.
fn literal(text: &[u8]) -> Result<&[u8], String> {
    let mut at = 1;
    loop {
        match text.get(at) {
            None => return Err("expected a closing quote before the end of the line".to_owned()),
            Some(b'"') => break,
            Some(b'\\') => at += 2,
            Some(_) => at += 1,
        }
    }
    let rest = &text[at + 1..];
    if let Some(iri) = rest.strip_prefix(b"^^") {
        return resource(iri, "the type of a literal").map(|(_, rest)| rest);
    }
    let language = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'@');
    let end = if rest.starts_with(b"@") {
        rest.iter().position(|byte| !language(byte)).unwrap_or(rest.len())
    } else {
        0
    };
    Ok(rest[end..].trim_ascii_start())
}

/// The name of a term: without brackets, and with characters in the place of their numbers.
pub(super) fn name(term: &[u8]) -> Cow<'_, [u8]> {
    let term = term.strip_prefix(b"<").and_then(|term| term.strip_suffix(b">")).unwrap_or(term);
    if memchr::memchr(b'\\', term).is_none() {
        return Cow::Borrowed(term);
    }
    let mut plain = Vec::with_capacity(term.len());
    let mut at = 0;
    while at < term.len() {
        let digits = match term.get(at..at + 2) {
            Some(b"\\u") => 4,
            Some(b"\\U") => 8,
            _ => 0,
        };
        let number = term.get(at + 2..at + 2 + digits).filter(|_| digits > 0);
        let number = number.and_then(|digits| std::str::from_utf8(digits).ok());
        let character = number.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        if let Some(character) = character.and_then(char::from_u32) {
            plain.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            at += 2 + digits;
        } else {
            plain.push(term[at]);
            at += 1;
        }
    }
    Cow::Owned(plain)
}
