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

pub(crate) mod statement;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::collect::Collector;
use crate::error::InputError;
use crate::head::{Head, sample};
use crate::options::{IdKind, ReadOptions, WeightChoice};
use crate::reader::{Context, Estimate, Reader};
use crate::reading::PassedOver;
use crate::source::Source;
use crate::text::allowed_ids::AllowedIds;
use crate::text::lines::Lines;
use crate::text::rows::Rows;
use crate::text::workers;
use statement::{Statement, name};

/// The reader of N-Triples and N-Quads.
pub(crate) struct NTriples;

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
        Rows::new(true, false, AllowedIds::Any)
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

#[cfg(test)]
mod tests {
    use welter_model::ids::IdMap;

    use super::statement::begins;
    use super::*;
    use crate::fuzzing::{edges, read_bytes};
    use crate::{Format, Input};
    use welter_progress::FailureKind;

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
        for part in ["passed over: 2", "named graphs", "several predicates"] {
            assert!(notes.contains(part), "{notes}");
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
            assert_eq!(error.kind(), FailureKind::Input);
        }
        let options = ReadOptions { ids: IdKind::Integers, ..ReadOptions::default() };
        assert!(read_bytes("f", b"<a> <b> <c> .\n", Format::NTriples, &options).is_err());
    }
}
