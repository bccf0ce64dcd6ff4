//! DIMACS: graphs of the challenges, for shortest paths (`.gr`), maximum flow (`.max`), colouring
//! (`.col`) and, as PACE has them, for treewidth (`.gr`) and the like.
//!
//! ```text
//! c a comment, anywhere                 c a comment
//! p sp 3 2        vertices, arcs        p edge 3 2      vertices, edges (also `p col`)
//! a 1 2 7         an arc, its weight    e 1 2           an undirected edge
//!
//! p max 3 2       vertices, arcs        p tw 3 2        vertices, edges (also cep, ds, td)
//! n 1 s           source or sink        1 2             an undirected edge
//! a 1 2 7         an arc, its capacity
//! ```
//!
//! Vertices count from 1. The number of arcs must be the stated one. Lines that describe vertices
//! (`n`, and `d`, `v`, `x` of colouring) are counted and passed over. Other problems, such as
//! minimum-cost flow, are no graphs with one weight an edge, and are refused. Of colouring graphs
//! there are two kinds: most list each edge once; some list both of its directions and state half
//! as many, and are read as the arcs that they list. Those that list both directions and count both
//! cannot be told from graphs with parallel edges: dropping duplicates helps.

pub(crate) mod problem;

use std::sync::atomic::{AtomicU64, Ordering};

use crate::collect::{Collector, DeclaredVertices};
use crate::columns;
use crate::error::InputError;
use crate::head::{BoundedCount, Head, plausible, sample};
use crate::options::{IdKind, ReadOptions};
use crate::reader::{Context, Estimate, Reader};
use crate::reading::PassedOver;
use crate::source::Source;
use crate::text::allowed_ids::AllowedIds;
use crate::text::fast_path::Plain;
use crate::text::fields::parse_id;
use crate::text::lines::Lines;
use crate::text::parse::{self, Fault};
use crate::text::rows::Rows;
use crate::text::workers;
use crate::words::{show, words};
use problem::{KINDS, OTHERS, Row};

/// Bytes of the shortest row: `1 2` and its line end.
const ROW_BYTES_MIN: u64 = 4;

/// The reader of DIMACS files.
pub(crate) struct Dimacs;

/// Statements of a problem line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Problem {
    row: Row,
    vertices: u64,
    edges: u64,
    /// Byte at which the next line begins.
    start: usize,
}

impl Reader for Dimacs {
    fn read(
        &self,
        source: &Source,
        context: &Context<'_>,
        collector: &Collector,
    ) -> Result<(), InputError> {
        let problem = problem(source, context.options)?;
        let arcs = problem.row == Row::Arc;
        let weighted = columns::fixed(source.name(), arcs, context.options)?;
        collector.state(DeclaredVertices::Range { first: 1, count: problem.vertices })?;
        let listed = if arcs { 1 } else { 2 };
        let tally = BoundedCount::new(problem.edges.saturating_mul(listed));
        let passed = AtomicU64::new(0);
        let challenge = Challenge { problem, weighted, tally, passed, file: source.name() };
        workers::read(source, &challenge, context, collector)?;
        let (found, stated) = (challenge.tally.found(), problem.edges);
        let both = !arcs && found == stated.saturating_mul(2) && found > 0;
        if found != stated && !both {
            let what = format!("expected {stated} rows, as the problem line says, found {found}");
            return Err(InputError::content(source.name(), what));
        }
        if both {
            collector.note("each edge is listed in both directions, and read as two arcs");
        }
        let passed = challenge.passed.into_inner();
        collector.pass_over(PassedOver { others: passed, ..PassedOver::default() });
        if passed > 0 {
            collector.note(&format!(
                "lines that describe vertices and not edges were passed over: {passed}"
            ));
        }
        collector.state_undirected(!arcs && !both);
        Ok(())
    }

    fn estimate(&self, source: &Source, options: &ReadOptions) -> Result<Estimate, InputError> {
        let problem = problem(source, options)?;
        Ok(Estimate {
            bytes: source.bytes(),
            edges: Some(problem.edges),
            exact: problem.row == Row::Arc,
            slots: Some(problem.vertices),
            slots_seen: None,
            ids: IdKind::Integers,
            weighted: columns::fixed(source.name(), problem.row == Row::Arc, options)?,
            undirected: Some(problem.row != Row::Arc),
        })
    }
}

/// Reads up to the problem line.
fn problem(source: &Source, options: &ReadOptions) -> Result<Problem, InputError> {
    let sample = sample(source, &options.limits)?;
    let mut head = Head::new(source.name(), &sample);
    let line = loop {
        let line = head.next().ok_or_else(|| head.missing("a problem line (p sp or p edge)"))?;
        if !is_comment(line) {
            break line;
        }
    };
    let stated = problem_line(line).map_err(|what| head.error(what))?;
    plausible(source, &options.limits, stated.edges, ROW_BYTES_MIN, "rows")
        .map_err(|what| head.error(what))?;
    Ok(Problem { start: head.at(), ..stated })
}

fn is_comment(line: &[u8]) -> bool {
    matches!(words(line).next(), None | Some([b'c', ..]))
}

fn problem_line(line: &[u8]) -> Result<Problem, String> {
    let fields: Vec<&[u8]> = words(line).take(6).collect();
    let wrong = || format!("expected p sp or p edge, vertices and edges, found {}", show(line));
    if let [b"p", kind, ..] = fields[..]
        && OTHERS.contains(&kind)
    {
        return Err(format!(
            "expected p sp, p max, p edge or p tw, found a problem of another kind, {}, which is \
             not read (write its edges as rows of source, target and the weight that is meant)",
            show(kind)
        ));
    }
    let [b"p", kind, vertices, edges] = fields[..] else { return Err(wrong()) };
    let row = KINDS.iter().find(|(known, _)| *known == kind).map(|(_, row)| *row);
    let row = row.ok_or_else(wrong)?;
    let (Ok(vertices), Ok(edges)) = (parse_id(vertices), parse_id(edges)) else {
        return Err(wrong());
    };
    Ok(Problem { row, vertices, edges, start: 0 })
}

/// The rows of a graph.
struct Challenge<'a> {
    problem: Problem,
    /// Whether weights are kept.
    weighted: bool,
    /// Rows found so far.
    tally: BoundedCount,
    /// Lines that describe vertices.
    passed: AtomicU64,
    file: &'a str,
}

impl Challenge<'_> {
    /// Whether lines with this word describe a vertex here.
    fn describes(&self, word: &[u8]) -> bool {
        match self.problem.row {
            Row::Arc => word == b"n",
            Row::Edge => matches!(word, b"n" | b"d" | b"v" | b"x"),
            Row::Bare => false,
        }
    }
}

impl Lines for Challenge<'_> {
    fn start(&self) -> usize {
        self.problem.start
    }

    fn rows(&self) -> Rows {
        let known = AllowedIds::Range(1..self.problem.vertices + 1);
        Rows::new(false, self.problem.row == Row::Arc, known)
    }

    fn line(&self, line: &[u8], cut: bool, rows: &mut Rows) -> Result<(), String> {
        if is_comment(line) {
            return Ok(());
        }
        let fields: Vec<&[u8]> = words(line).take(5).collect();
        match (self.problem.row, &fields[..]) {
            (Row::Arc, [b"a", source, target, weight]) => {
                rows.push_fields(source, target, Some(weight))
            }
            (Row::Edge, [b"e", source, target]) | (Row::Bare, [source, target]) => {
                rows.push_fields(source, target, None)
            }
            (_, [first, ..]) if self.describes(first) => {
                self.passed.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
            (row, _) => {
                let row = match row {
                    Row::Arc => "a SOURCE TARGET WEIGHT",
                    Row::Edge => "e U V",
                    Row::Bare => "U V",
                };
                let cut = if cut { "; the file ends here and may be cut short" } else { "" };
                Err(format!("expected {row}, found {}{cut}", show(line)))
            }
        }
    }

    fn parse(&self, text: &[u8], rows: &mut Rows) -> Result<(), Fault> {
        let plain = match self.problem.row {
            Row::Arc => Some(Plain::tagged(b'a', true)),
            Row::Edge => Some(Plain::tagged(b'e', false)),
            Row::Bare => None,
        };
        parse::lines(text, plain, rows, &|line, cut, rows| self.line(line, cut, rows))
    }

    fn keep(&self, number: u64, rows: Rows, collector: &Collector) -> Result<(), InputError> {
        let many = |what| InputError::content(self.file, format!("expected rows, {what}"));
        self.tally.add(rows.len()).map_err(many)?;
        let mut part = rows.into_part();
        if !self.weighted {
            part.weights = None;
        }
        collector.push(number, part)
    }
}

#[cfg(test)]
mod tests {
    use super::problem::begins;
    use crate::Format;
    use crate::fuzzing::{edges, refusals, weighing};

    const FORMAT: Format = Format::Dimacs;

    #[test]
    fn arcs_have_weights_and_edges_have_none() {
        let text = "c x\n\np sp 4 3\nc y\na 1 2 7\r\na 4  1\t-2.5\na 2 2 0";
        let input = weighing("x.gr", text, FORMAT).unwrap();
        assert_eq!(edges(&input), (vec![[0, 1], [3, 0], [1, 1]], vec![7.0, -2.5, 0.0]));
        assert_eq!((input.edges.slots(), input.summary.undirected), (Some(4), Some(false)));
        let input = weighing("x.col", "p edge 3 2\ne 1 2\ne 3 2\n", FORMAT).unwrap();
        assert_eq!(edges(&input), (vec![[0, 1], [2, 1]], vec![]));
        assert_eq!(input.summary.undirected, Some(true));
    }

    #[test]
    fn lines_of_vertices_are_passed_over_and_counted() {
        let flow = "c max flow\np max 4 3\nn 1 s\nn 4 t\na 1 2 5\na 2 3 4\na 3 4 3\n";
        let input = weighing("x.max", flow, FORMAT).unwrap();
        assert_eq!(edges(&input), (vec![[0, 1], [1, 2], [2, 3]], vec![5.0, 4.0, 3.0]));
        assert_eq!(input.summary.undirected, Some(false));
        assert!(input.summary.notes[0].ends_with("passed over: 2"), "{:?}", input.summary.notes);
        let colours = "p edge 4 2\nn 1 5\nd 2\nv 1 2\nx 3 4\ne 1 2\nn 2 7\ne 4 3\n";
        let input = weighing("x.col", colours, FORMAT).unwrap();
        assert_eq!(edges(&input), (vec![[0, 1], [3, 2]], vec![]));
        assert!(input.summary.notes[0].ends_with("passed over: 5"), "{:?}", input.summary.notes);
    }

    #[test]
    fn rows_of_treewidth_have_no_letter() {
        let input = weighing("x.gr", "c x\np tw 4 2\n1 2\nc y\n 4\t3 \n", FORMAT).unwrap();
        assert_eq!(edges(&input), (vec![[0, 1], [3, 2]], vec![]));
        assert_eq!((input.edges.slots(), input.summary.undirected), (Some(4), Some(true)));
    }

    #[test]
    fn edges_in_both_directions_are_arcs() {
        let text = "p col 3 2\ne 1 2\ne 2 1\ne 2 3\ne 3 2\n";
        let input = weighing("x.col", text, FORMAT).unwrap();
        assert_eq!((input.edges.edges(), input.summary.undirected), (4, Some(false)));
        assert_eq!(input.summary.notes.len(), 1);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        refusals(
            FORMAT,
            &[
                ("", "f:1: expected a problem line"),
                ("c only\n", "f:1: expected a problem line"),
                ("a 1 2 3\n", "f:1: expected p sp or p edge"),
                ("p min 3 1\n", "f:1: expected p sp, p max, p edge or p tw, found a problem"),
                ("p max 3\n", "f:1: expected p sp or p edge"),
                ("p tw 3 1\n1 2 3\n", "f:2: expected U V"),
                ("p sp 3 1\nv 1 2 3\n", "f:2: expected a SOURCE"),
                ("p sp 3\n", "f:1: expected p sp or p edge"),
                ("p sp 3 x\n", "f:1: expected p sp or p edge"),
                ("p sp 3 1\na 1 4 1\n", "f:2: expected a vertex id from 1 to 3, found 4"),
                ("p sp 3 1\na 0 1 1\n", "f:2: expected a vertex id from 1 to 3, found 0"),
                ("p sp 3 1\na 1 2\n", "f:2: expected a SOURCE TARGET WEIGHT"),
                ("p sp 3 1\na 1 2 3 4\n", "f:2: expected a SOURCE TARGET WEIGHT"),
                ("p sp 3 1\ne 1 2\n", "f:2: expected a SOURCE TARGET WEIGHT"),
                ("p sp 3 1\na 1 2 x\n", "f:2: expected a number as weight"),
                ("p sp 3 2\na 1 2 3\n", "expected 2 rows, as the problem line says, found 1"),
                ("p sp 3 1\na 1 2 3\na 1 2 3\n", "expected rows, found more than the 1"),
                ("p edge 3 1\ne 1 2 3\n", "f:2: expected e U V"),
            ],
        );
    }

    #[test]
    fn a_problem_line_after_comments_tells_the_format() {
        assert!(begins(b"c a\nc\n\np sp 3 4\na 1 2 3\n"));
        assert!(begins(b"p col 3 4") && begins(b"p max 3 4") && begins(b"p cnf 3 4"));
        assert!(!begins(b"p max\n") && !begins(b"p max a 4\n"));
        assert!(!begins(b"p\nq\n") && !begins(b"c a\n1 2\n") && !begins(b""));
    }
}
