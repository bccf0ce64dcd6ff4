//! The problem line of DIMACS, which says what a graph is for.

use crate::words::words;

/// Kind of the rows of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Row {
    /// `a SOURCE TARGET WEIGHT`
    Arc,
    /// `e U V`
    Edge,
    /// `U V`
    Bare,
}

/// The kinds of problems that are read, with what their rows are.
pub(super) const KINDS: &[(&[u8], Row)] = &[
    (b"sp", Row::Arc),
    (b"max", Row::Arc),
    (b"edge", Row::Edge),
    (b"edges", Row::Edge),
    (b"col", Row::Edge),
    (b"tw", Row::Bare),
    (b"td", Row::Bare),
    (b"cep", Row::Bare),
    (b"ds", Row::Bare),
];

/// The kinds of problems that are known and not read.
pub(super) const OTHERS: &[&[u8]] =
    &[b"min", b"asn", b"mat", b"mod", b"cnf", b"wcnf", b"ghd", b"hs", b"ocr"];

/// Whether a file that begins so is surely of this format: comments, then a problem line.
pub(crate) fn begins(head: &[u8]) -> bool {
    let mut lines = head.split(|byte| *byte == b'\n');
    let problem = lines.find(|line| {
        let line = line.trim_ascii();
        !(line.is_empty() || line == b"c" || line.starts_with(b"c "))
    });
    problem.is_some_and(|line| {
        let mut words = words(line);
        let is_known = words.next() == Some(b"p")
            && words.next().is_some_and(|kind| {
                OTHERS.contains(&kind) || KINDS.iter().any(|(known, _)| *known == kind)
            });
        let mut numbers = 0;
        is_known
            && words.all(|word| {
                numbers += 1;
                word.iter().all(u8::is_ascii_digit)
            })
            && numbers > 0
    })
}
