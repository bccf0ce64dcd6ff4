//! TGF, the trivial graph format of yEd, for small graphs.
//!
//! ```text
//! 1 First node        an id and a label, up to a line of `#` alone
//! 2 Second node
//! #
//! 1 2 a label         source, target and a label
//! ```
//!
//! Ids are the first words; where strings are wanted (`--ids strings`), the labels. Edges are
//! directed. Their labels are texts and no weights, unless `--weight label` says that they are;
//! where all are numbers, a note says so.

use std::io::BufRead as _;

use crate::documents::bytes::Bytes;
use crate::documents::{Described, Document, DocumentReader};
use crate::error::InputError;
use crate::options::WeightChoice;
use crate::words::show;

/// The reader of TGF.
pub(crate) static TGF: DocumentReader =
    DocumentReader { name: "TGF", labelled: true, attributes: false, parse };

fn parse(mut bytes: Bytes<'_>, small: &mut Document<'_>) -> Result<(), InputError> {
    let bytes_max = small.options().limits.line_bytes_max;
    small.state_directed(true);
    let mut nodes = true;
    let mut text = Vec::new();
    loop {
        let number = bytes.line();
        text.clear();
        bytes.allow(bytes_max);
        if let Err(error) = bytes.read_until(b'\n', &mut text) {
            let failure = bytes.take_failure();
            return Err(failure.unwrap_or_else(|| InputError::io(bytes.file(), "read", error)));
        }
        let line = text.trim_ascii();
        if text.is_empty() {
            break;
        } else if line == b"#" && nodes {
            nodes = false;
        } else if line == b"#" {
            return Err(small.wrong(number, "expected one graph, found a second line of # alone"));
        } else if line.is_empty() {
        } else if nodes {
            let (id, label) = first_word(line);
            small.node(id, Some(label), number)?;
        } else {
            edge(line, number, small)?;
        }
    }
    if nodes {
        let what = "expected a line of # alone between nodes and edges, found the end of the file";
        return Err(small.wrong(bytes.line(), what));
    }
    Ok(())
}

fn edge(line: &[u8], number: u64, small: &mut Document<'_>) -> Result<(), InputError> {
    let (source, rest) = first_word(line);
    let (target, label) = first_word(rest);
    if target.is_empty() {
        let what = format!("expected a source and a target, found {}", show(line));
        return Err(small.wrong(number, what));
    }
    let (source, target) = (Some(source.to_vec()), Some(target.to_vec()));
    let mut edge = Described { source, target, line: number, ..Described::default() };
    let guessed = small.options().weight == WeightChoice::IfPresent;
    let rank = if guessed { small.number_rank(b"label") } else { small.weight_rank(b"label") };
    if let Some(rank) = rank.filter(|_| !label.is_empty()) {
        *edge.weights.at(rank) = Some(label.to_vec());
    }
    small.edge(&edge)
}

/// A word and what follows it.
fn first_word(line: &[u8]) -> (&[u8], &[u8]) {
    let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
    (&line[..end], line[end..].trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::beginnings::tgf;
    use crate::documents::tests::{named, refuse, see, weighted};
    use crate::format::Format;
    use crate::fuzzing::weighing;
    use crate::options::{IdKind, ReadOptions};
    use crate::tables::ColumnRef;

    #[test]
    fn nodes_come_before_edges() {
        let text = "1 First\n2 Second node\n3\n#\n1 2 edge\n2 3 2.5\n";
        let seen = see(&TGF, text, &weighted(IdKind::Integers)).unwrap();
        assert_eq!(seen.edges, named(&[("1", "2"), ("2", "3")]));
        assert_eq!((seen.weights, seen.undirected), (None, Some(false)));
        let seen = see(&TGF, text, &weighted(IdKind::Names)).unwrap();
        assert_eq!(seen.vertices, ["3", "First", "Second node"]);
        let label = WeightChoice::Column(ColumnRef::Name("label".to_owned()));
        let options = ReadOptions { weight: label, ..weighted(IdKind::Integers) };
        let seen =
            see(&TGF, "a\r\nb x\r\n#\r\na b 3\r\n", &ReadOptions { ids: IdKind::Names, ..options });
        assert_eq!(seen.unwrap().weights, Some(vec![3.0]));
        assert_eq!(
            see(&TGF, "7\n9\n#\n", &weighted(IdKind::Integers)).unwrap().vertices,
            ["7", "9"]
        );
    }

    #[test]
    fn labels_that_are_all_numbers_are_told_of() {
        let has_note = |text: &str| {
            let input = weighing("f", text, Format::Tgf).unwrap();
            assert!(!input.edges.weighted());
            input.summary.notes.iter().any(|note| note.contains("--weight label"))
        };
        assert!(has_note("1\n2\n#\n1 2 3.5\n2 1 4\n"));
        assert!(!has_note("1\n2\n#\n1 2 3.5\n2 1 likes\n") && !has_note("1\n2\n#\n1 2\n"));
    }

    #[test]
    fn what_is_no_graph_is_refused_with_its_line() {
        for (text, expected) in [
            ("1 a\n2 b\n", "f:3: expected a line of # alone"),
            ("1 a\n#\n1\n", "f:3: expected a source and a target"),
            ("1 a\n#\n1 2\n", "f:3: expected an edge between nodes of the graph, found \"2\""),
            ("1 a\n1 b\n#\n", "f:2: expected another id"),
            ("1 a\n#\n1 1\n#\n", "f:4: expected one graph"),
        ] {
            let error = refuse(&TGF, text, &weighted(IdKind::Integers));
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }

    #[test]
    fn the_beginning_tells() {
        assert!(tgf(b"1 First\n2 Second\n3 Third\n#\n1 2 edge\n2 3 other\n"));
        assert!(tgf(b"a\nb\n#\na b\nb a\na"));
        for text in [
            "1 2\n#\n2 3\n",
            "1 2\n2 3\n",
            "#\n1 2\n",
            "1 2\n1 3\n#\n1 1\n",
            "1 a\n#\n",
            "0 1\n1 5\n#\n0 1\n",
            "",
        ] {
            assert!(!tgf(text.as_bytes()), "{text}");
        }
    }
}
