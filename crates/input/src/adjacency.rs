//! Adjacency lists: each line is a vertex and the vertices that its edges lead to.
//!
//! ```text
//! # a comment
//! 1 2 3          edges from 1 to 2 and from 1 to 3
//! 4              a vertex, perhaps without edges
//! ```
//!
//! Each neighbour is one edge as it is listed: files that list an edge at both of its ends are
//! directed graphs here with both arcs. Ids are integers or names. A vertex may have more than one
//! line, and a neighbour none. White space separates, or what the [`mod@dialect`] finds.

mod dialect;

use welter_model::ids::Names;

use crate::collect::{Collector, DeclaredVertices, Ids};
use crate::error::InputError;
use crate::foreign;
use crate::head::sample;
use crate::layout::Separator;
use crate::options::{IdKind, ReadOptions, WeightChoice};
use crate::reader::{Context, Estimate, Reader};
use crate::source::Source;
use crate::text::allowed_ids::AllowedIds;
use crate::text::fields::{Spelling, is_no_row};
use crate::text::lines::Lines;
use crate::text::rows::Rows;
use crate::text::workers;
use dialect::{Dialect, fields, spelling};

/// Lines of a sample that are looked at.
const LINES_MAX: usize = 2000;

/// The reader of adjacency lists.
pub(crate) struct Adjacency;

impl Reader for Adjacency {
    fn id_kind(&self, source: &Source, context: &Context<'_>) -> Result<IdKind, InputError> {
        Ok(dialect(source, context.options)?.ids)
    }

    fn read(
        &self,
        source: &Source,
        context: &Context<'_>,
        collector: &Collector,
    ) -> Result<(), InputError> {
        check(source, context.options)?;
        let Dialect { separator, ids, notes } = dialect(source, context.options)?;
        for note in &notes {
            collector.note(note);
        }
        let (names, spelling) = (ids == IdKind::Names, spelling(context.options));
        let known = match context.options.vertices {
            Some(vertices) => AllowedIds::Range(0..vertices),
            None => AllowedIds::Any,
        };
        let lists = Neighbours { separator, names, spelling, known };
        workers::read(source, &lists, context, collector)
    }

    fn estimate(&self, source: &Source, options: &ReadOptions) -> Result<Estimate, InputError> {
        check(source, options)?;
        let Dialect { separator, ids, .. } = dialect(source, options)?;
        let sample = sample(source, &options.limits)?;
        let lines = sample.bytes.split(|byte| *byte == b'\n').filter(|line| !is_no_row(line));
        let neighbours = |line| fields(line, separator).count().saturating_sub(1) as u64;
        let edges: u64 = lines.map(neighbours).sum();
        let scale = |bytes: u64| bytes as f64 / sample.stored.max(1) as f64;
        let edges = match source.bytes() {
            _ if sample.whole => Some(edges),
            bytes => bytes.map(|bytes| (edges as f64 * scale(bytes)) as u64),
        };
        Ok(Estimate {
            bytes: source.bytes(),
            edges,
            exact: sample.whole,
            ids,
            ..Estimate::default()
        })
    }
}

/// Refuses what a user says of columns, which there are none of, and files of another kind, such as
/// multiline adjacency lists.
fn check(source: &Source, options: &ReadOptions) -> Result<(), InputError> {
    foreign::check(source.name(), &sample(source, &options.limits)?.bytes)?;
    let column = matches!(options.weight, WeightChoice::Column(_));
    if !column && options.source.is_none() && options.target.is_none() {
        return Ok(());
    }
    let what = "expected columns, found an adjacency list, which has none";
    Err(InputError::content(source.name(), what))
}

/// Dialect of the lines of a file.
fn dialect(source: &Source, options: &ReadOptions) -> Result<Dialect, InputError> {
    let sample = sample(source, &options.limits)?;
    let lines = sample.bytes.split(|byte| *byte == b'\n').filter(|line| !is_no_row(line));
    let lines: Vec<&[u8]> = lines.take(LINES_MAX).collect();
    Dialect::of(&lines, options).map_err(|what| InputError::content(source.name(), what))
}

/// Whether a line that begins with a mark of comments could be a list all the same: nothing parts
/// the mark from a word.
fn may_be_row(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    line.get(1).is_some_and(u8::is_ascii_alphanumeric)
}

fn doubt(line: &[u8]) -> String {
    let mark = char::from(line.trim_ascii_start()[0]);
    format!(
        "expected a vertex or a comment, found a line that begins with {mark} and could be either \
         (put a space behind the mark of a comment, or give such names in columns, with --comment \
         none)"
    )
}

/// The lines of a file.
struct Neighbours {
    separator: Separator,
    names: bool,
    /// Spellings that integers may have.
    spelling: Spelling,
    known: AllowedIds,
}

impl Lines for Neighbours {
    fn start(&self) -> usize {
        0
    }

    fn rows(&self) -> Rows {
        Rows::new(self.names, false, self.known.clone())
    }

    fn line(&self, line: &[u8], _cut: bool, rows: &mut Rows) -> Result<(), String> {
        if is_no_row(line) {
            let begun = rows.len() > 0 || !rows.alone.is_empty();
            return if begun && may_be_row(line) { Err(doubt(line)) } else { Ok(()) };
        }
        let mut fields = fields(line, self.separator);
        let vertex = fields.next().unwrap_or_default();
        let mut alone = true;
        if self.names {
            for neighbour in fields {
                alone = false;
                rows.push_fields(vertex, neighbour, None)?;
            }
        } else {
            alone = !rows.push_neighbours(vertex, fields, self.spelling)?;
        }
        if alone && !self.names {
            self.spelling.parse(vertex)?;
        }
        if alone { rows.push_alone(vertex) } else { Ok(()) }
    }

    fn keep(&self, number: u64, mut rows: Rows, collector: &Collector) -> Result<(), InputError> {
        let alone = std::mem::take(&mut rows.alone);
        if !alone.is_empty() {
            collector.state(DeclaredVertices::Integers(alone))?;
        }
        let part = rows.into_part();
        // Names that no edge of the part has are vertices too, but a part without edges is dropped.
        if let Ids::Names { names, pairs } = &part.ids
            && pairs.is_empty()
            && !names.is_empty()
        {
            collector.state(DeclaredVertices::Names(names.iter().collect::<Names>()))?;
        }
        collector.push(number, part)
    }
}

#[cfg(test)]
mod tests {
    use welter_model::ids::IdMap;

    use crate::Format;
    use crate::fuzzing::{edges, refusals, weighing};

    const FORMAT: Format = Format::Adjacency;

    #[test]
    fn a_line_is_a_vertex_with_its_neighbours() {
        let input = weighing("x.adj", "# c\n1 2 3\r\n\n7\n2 1 1", FORMAT).unwrap();
        assert_eq!(input.ids, IdMap::Sparse(vec![1, 2, 3, 7]));
        assert_eq!(edges(&input).0, [[0, 1], [0, 2], [1, 0], [1, 0]]);
        assert_eq!(input.summary.undirected, None);
    }

    #[test]
    fn lines_that_may_be_comments_or_lists_are_refused_once_lists_have_begun() {
        for text in ["a b\n%41 c\n", "x y\n#41 c\n", "1\n%2 3\n"] {
            let error = weighing("x.adj", text, FORMAT).err().unwrap().to_string();
            assert!(error.starts_with("x.adj:2: expected a vertex or a comment"), "{error}");
        }
        let input = weighing("x.adj", "#!/bin/x\n#y\na b\n# c\n%\nb c\n", FORMAT).unwrap();
        assert_eq!(edges(&input).0, [[0, 1], [1, 2]]);
    }

    #[test]
    fn names_are_vertices_with_or_without_edges() {
        let input = weighing("x.adj", "b a\nd\nc\n", FORMAT).unwrap();
        assert_eq!(input.ids, IdMap::Names(["a", "b", "c", "d"].into_iter().collect()));
        assert_eq!(edges(&input).0, [[1, 0]]);
        let input = weighing("x.adj", "x\ny\n", FORMAT).unwrap();
        assert_eq!((input.edges.edges(), input.edges.slots()), (0, Some(2)));
    }

    #[test]
    fn ids_are_as_they_are_written() {
        let input = weighing("x.adj", "007 7\n7 07\n", FORMAT).unwrap();
        assert_eq!(input.ids, IdMap::Names(["007", "07", "7"].into_iter().collect()));
        let input = weighing("x.adj", "1,2,3\n2,3\n", FORMAT).unwrap();
        assert_eq!(edges(&input).0.len(), 3);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        refusals(
            FORMAT,
            &[
                ("", "expected edges, found none"),
                ("1 2\n2 x\n3 1\n", "f:2: expected an integer as vertex id, found \"x\""),
                ("1 2\n3 -1\n", "f:2: expected a vertex id, found the negative number"),
                ("# c\n1 1\n2 {'weight': 3}\n2 0\n", "a multiline adjacency list of NetworkX"),
                ("1 2\n3 99999999999999999999\n", "f:2: expected a vertex id of at most"),
            ],
        );
    }
}
