//! N-Triples and N-Quads: statements of RDF, of which those between things are edges.
//!
//! ```text
//! <http://e.x/ann> <http://e.x/knows> <http://e.x/bob> .     an edge from ann to bob
//! _:b0 <http://e.x/knows> <http://e.x/bob> <http://e.x/g> .  in a named graph
//! <http://e.x/ann> <http://e.x/age> "42" .                   no edge
//! ```
//!
//! Vertices are named by their IRIs, without the brackets, or as blank nodes (`_:b0`). Statements
//! whose object is a literal say something of one vertex; they are counted and passed over, and so
//! are the names of graphs. All predicates are read alike.

use std::borrow::Cow;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::collect::Collector;
use crate::error::InputError;
use crate::head::{Head, sample};
use crate::options::{IdKind, ReadOptions, WeightChoice};
use crate::reader::{Context, Estimate, Reader};
use crate::reading::PassedOver;
use crate::source::Source;
use crate::text::known::Known;
use crate::text::lines::Lines;
use crate::text::rows::Rows;
use crate::text::workers;
use crate::words::show;

/// The reader of N-Triples and N-Quads.
pub(crate) struct NTriples;

/// Whether a file that begins so is surely of this format: its first statement is one.
pub(crate) fn begins(head: &[u8]) -> bool {
    let mut lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with(b"#"));
    first.is_some_and(|line| Statement::read(line).is_ok())
}

impl Reader for NTriples {
    fn id_kind(&self, _source: &Source, _context: &Context<'_>) -> Result<IdKind, InputError> {
        Ok(IdKind::Names)
    }

    fn read(
        &self,
        source: &Source,
        context: &Context<'_>,
        collector: &Collector,
    ) -> Result<(), InputError> {
        check_options(source, context.options)?;
        let statements = Statements::default();
        workers::read(source, &statements, context, collector)?;
        collector.state_undirected(false);
        let literals = statements.literals.into_inner();
        collector.pass_over(PassedOver { others: literals, ..PassedOver::default() });
        if literals > 0 {
            collector.note(&format!(
                "statements whose object is a literal were passed over: {literals}"
            ));
        }
        if statements.graphs.into_inner() {
            collector.note("has named graphs, which are read as one");
        }
        if statements.several.into_inner() {
            collector.note(
                "has several predicates, which are read alike (to have one, leave out the \
                 statements of others before)",
            );
        }
        Ok(())
    }

    fn estimate(&self, source: &Source, options: &ReadOptions) -> Result<Estimate, InputError> {
        check_options(source, options)?;
        let sample = sample(source, &options.limits)?;
        let mut head = Head::new(source.name(), &sample);
        let mut seen = 0_u64;
        while let Some(line) = head.next() {
            let edge = |statement: Statement<'_>| statement.object.is_some();
            seen += u64::from(Statement::read(line.trim_ascii()).is_ok_and(edge));
        }
        let bytes = source.bytes();
        let scaled = |bytes: u64| {
            let stored = u128::from(sample.stored.max(1));
            (u128::from(seen) * u128::from(bytes) / stored) as u64
        };
        Ok(Estimate {
            bytes,
            edges: if sample.whole { Some(seen) } else { bytes.map(scaled) },
            exact: sample.whole,
            ids: IdKind::Names,
            undirected: Some(false),
            ..Estimate::default()
        })
    }
}

/// Refuses options that mean nothing here.
fn check_options(source: &Source, options: &ReadOptions) -> Result<(), InputError> {
    let what = if options.ids == IdKind::Integers {
        "expected integers as ids, found a format that has names"
    } else if options.source.is_some() || options.target.is_some() {
        "expected subjects as sources and objects as targets, as this format has them"
    } else if matches!(options.weight, WeightChoice::Column(_)) {
        "expected no weight, as statements have none"
    } else {
        return Ok(());
    };
    Err(InputError::content(source.name(), what))
}

/// Counts of statements that are read.
#[derive(Default)]
struct Statements {
    literals: AtomicU64,
    graphs: AtomicBool,
    predicate: OnceLock<Vec<u8>>,
    /// Whether a predicate came that is another than the first.
    several: AtomicBool,
}

impl Lines for Statements {
    fn start(&self) -> usize {
        0
    }

    fn rows(&self) -> Rows {
        Rows::new(true, false, Known::Any)
    }

    fn line(&self, line: &[u8], cut: bool, rows: &mut Rows) -> Result<(), String> {
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii();
        if line.is_empty() || line.starts_with(b"#") {
            return Ok(());
        }
        let statement = Statement::read(line).map_err(|what| {
            let cut = if cut { "; the file ends here and may be cut short" } else { "" };
            format!("{what}{cut}")
        })?;
        if statement.graph {
            self.graphs.store(true, Ordering::Relaxed);
        }
        let Some(object) = statement.object else {
            self.literals.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        };
        if *self.predicate.get_or_init(|| statement.predicate.to_vec()) != statement.predicate {
            self.several.store(true, Ordering::Relaxed);
        }
        rows.push_fields(&name(statement.subject), &name(object), None)
    }
}

/// A statement, its terms as they are written.
struct Statement<'a> {
    subject: &'a [u8],
    predicate: &'a [u8],
    /// None where it is a literal.
    object: Option<&'a [u8]>,
    /// Whether it belongs to a named graph.
    graph: bool,
}

impl<'a> Statement<'a> {
    /// Reads a line.
    fn read(line: &'a [u8]) -> Result<Self, String> {
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
fn name(term: &[u8]) -> Cow<'_, [u8]> {
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

#[cfg(test)]
mod tests {
    use welter_model::ids::IdMap;

    use super::*;
    use crate::fuzzing::{edges, read_bytes};
    use crate::{Format, Input};

    fn read(text: &str) -> Result<Input, InputError> {
        read_bytes("f", text.as_bytes(), Format::NTriples, &ReadOptions::default())
    }

    #[test]
    fn statements_between_things_are_edges() {
        let text = "# made by rapper\n<http://e.x/a> <http://e.x/knows> <http://e.x/b> .\r\n\n\
                    _:b.0 <http://e.x/likes> <http://e.x/a>. # c\n\
                    <http://e.x/a> <http://e.x/age> \"4\\\"2\"^^<http://e.x/int> .\n\
                    <http://e.x/a>\t<http://e.x/name>\t\"A . b\"@en-GB .\n\
                    <http://e.x/\\u00fc> <http://e.x/knows> _:b.0 <http://e.x/g> .";
        let input = read(text).unwrap();
        let names = ["_:b.0", "http://e.x/a", "http://e.x/b", "http://e.x/\u{fc}"];
        assert_eq!(input.ids, IdMap::Names(names.into_iter().collect()));
        assert_eq!(edges(&input).0, [[1, 2], [0, 1], [3, 0]]);
        assert_eq!(input.summary.undirected, Some(false));
        let notes = input.summary.notes.join("\n");
        for said in ["passed over: 2", "named graphs", "several predicates"] {
            assert!(notes.contains(said), "{notes}");
        }
        assert!(begins(text.as_bytes()));
        assert!(!begins(b"<a> <b>\n") && !begins(b"<a> <b> <c>\n") && !begins(b"1 2 .\n"));
    }

    #[test]
    fn what_is_no_statement_is_refused_with_its_line() {
        for (line, expected) in [
            ("a <b> <c> .", "expected a subject"),
            ("<a> b <c> .", "expected a predicate"),
            ("<a> <b> c .", "expected an object"),
            ("<a> <b> <c>", "expected a full stop"),
            ("<a> <b> <c> . x", "expected a full stop at the end"),
            ("<a> <b> \"c .", "expected a closing quote"),
            ("<a> <b> \"c\\", "expected a closing quote"),
            ("<a <b> <c> .", "expected a subject"),
            ("<< <a> <b> <c> >> <d> <e> .", "found a statement inside another"),
            ("<a> <b> <c", "the file ends here and may be cut short"),
        ] {
            let error = read(&format!("<a> <b> <c> .\n{line}")).err().unwrap();
            let text = error.to_string();
            assert!(text.starts_with("f:2: ") && text.contains(expected), "{line}: {text}");
            assert_eq!(error.exit_code(), 65);
        }
        let options = ReadOptions { ids: IdKind::Integers, ..ReadOptions::default() };
        assert!(read_bytes("f", b"<a> <b> <c> .\n", Format::NTriples, &options).is_err());
    }
}
