//! Lines that are comments.
//!
//! A line whose first character is `#` or `%` is a comment where it cannot be a row: before the
//! first row, or where it does not have as many fields as rows have, or where it has no ids. Else
//! it is a row, whose first name begins so. What the user says is kept to as it is.

use std::collections::HashSet;

use super::fields::{Fields, Row, Spelling};
use super::records::RecordEnd;
use crate::columns::Columns;
use crate::layout::{Comment, Layout};
use crate::words::show;

/// Lines of a file that are comments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Comments {
    /// Lines that begin with `#` or `%` and cannot be rows.
    Usual,
    /// No lines.
    None,
    /// Lines with this beginning.
    Prefix(Vec<u8>),
}

/// Shape by which a line is known as a row.
pub(super) struct Shape {
    pub(super) layout: Layout,
    pub(super) columns: Columns,
    /// Spelling of integers; `None` where ids are strings.
    pub(super) spelling: Option<Spelling>,
    /// Fields of every row, where all have as many.
    pub(super) fields: Option<usize>,
}

impl Comments {
    /// The comments that the user says, or else the usual ones.
    pub(super) fn of(stated: Option<&Comment>) -> Self {
        match stated {
            None => Self::Usual,
            Some(Comment::None) => Self::None,
            Some(Comment::Prefix(prefix)) => Self::Prefix(prefix.as_bytes().to_vec()),
        }
    }

    /// Whether a line could be a comment.
    pub(super) fn may_be(&self, line: &[u8]) -> bool {
        match self {
            Self::Usual => matches!(line.trim_ascii_start().first(), Some(b'#' | b'%')),
            Self::None => false,
            Self::Prefix(prefix) => line.starts_with(prefix),
        }
    }

    /// Whether a line that could be a comment is one, once rows have begun.
    pub(super) fn is(&self, line: &[u8], shape: &Shape) -> bool {
        match self {
            Self::Usual => !shape.is_row(line),
            Self::None => false,
            Self::Prefix(_) => true,
        }
    }
}

impl Shape {
    /// Whether a line that begins with `#` or `%` is a row.
    pub(super) fn is_row(&self, line: &[u8]) -> bool {
        let Some(expected) = self.fields else { return false };
        let mut after = line.trim_ascii_start()[1..].iter();
        // A mark before a space, another mark or nothing begins a comment.
        if after.next().is_none_or(|byte| byte.is_ascii_whitespace() || matches!(byte, b'#' | b'%'))
        {
            return false;
        }
        let fields: Vec<_> =
            Fields::new(line, self.layout).take(expected + 1).map_while(Result::ok).collect();
        if fields.len() != expected {
            return false;
        }
        let id = |place: usize| match (fields.get(place), self.spelling) {
            (Some(field), Some(spelling)) => spelling.parse(field).is_ok(),
            (Some(field), None) => !field.is_empty(),
            (None, _) => false,
        };
        id(self.columns.source) && id(self.columns.target)
    }
}

/// Note for a person where comments before the rows say that edges are undirected, which is
/// prose and may mean that each is there twice.
pub(super) fn undirected(text: &[u8], comments: &Comments) -> Option<String> {
    let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let mut before = lines.take_while(|line| line.is_empty() || comments.may_be(line));
    let says = |line: &&[u8]| {
        let line = line.to_ascii_lowercase();
        let words = [&b"undirected"[..], b"unordered pair", b"symmetric"];
        words.iter().any(|word| memchr::memmem::find(&line, word).is_some())
    };
    let line = before.find(says)?;
    Some(format!(
        "a comment, {}, may say that edges are undirected; they are read as directed (--undirected \
         if each is there once, --directed if they are meant so)",
        show(line)
    ))
}

/// Refuses lines before the first of some rows of names that may be rows as well as comments: each
/// has as many fields as rows have, and ends with a name of theirs.
pub(super) fn refuse_doubtful(
    before: &[u8],
    rows: &[Row<'_>],
    layout: Layout,
    fields: usize,
) -> Result<(), String> {
    let known: HashSet<&[u8]> =
        rows.iter().flat_map(|row| row.iter().take(2)).map(|cell| &cell[..]).collect();
    let columns = Columns { source: 0, target: 1, weight: None };
    let shape = Shape { layout, columns, spelling: None, fields: Some(fields) };
    let lines = before.split(|byte| *byte == b'\n');
    // A row may go over several lines, where a name in quotes does.
    let mut at = 0;
    let records = std::iter::from_fn(|| {
        let start = Some(at).filter(|start| *start < before.len())?;
        let end = RecordEnd::Records(layout).end(before, start).unwrap_or(before.len());
        at = end + 1;
        Some(&before[start..end])
    });
    let mut all = lines.chain(records).map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
    let doubtful = |line: &&[u8]| {
        let second = Fields::new(line, layout).nth(1).and_then(Result::ok);
        shape.is_row(line) && second.is_some_and(|cell| known.contains(&cell[..]))
    };
    match all.find(doubtful) {
        None => Ok(()),
        Some(line) => Err(format!(
            "expected rows or comments, found lines that may be either, such as {} (--comment none \
             reads them as rows, --comment {} passes over them)",
            show(line),
            char::from(line[0])
        )),
    }
}

/// Refuses a file of which every line begins with a mark of comments and could be a row for that.
pub(super) fn refuse_hidden(text: &[u8]) -> Result<(), String> {
    let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let mut lines = lines.filter(|line| !line.is_empty()).peekable();
    let marked = |line: &[u8]| match line {
        [b'#' | b'%', next, rest @ ..] => {
            let apart = |byte: &u8| byte.is_ascii_whitespace() || b",;|".contains(byte);
            !next.is_ascii_whitespace() && !b"#%".contains(next) && rest.iter().any(apart)
        }
        _ => false,
    };
    if lines.peek().is_none() || !lines.all(marked) {
        return Ok(());
    }
    Err("expected rows, found only lines that begin with # or %, which are taken for comments \
         (--comment none reads them as rows)"
        .to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Separator;

    #[test]
    fn rows_that_all_look_like_comments_are_refused() {
        for text in ["#a,#b\n#b,#c\n", "%41 %42\n\n%42 %43", "#go\tbob\n"] {
            assert!(refuse_hidden(text.as_bytes()).is_err(), "{text}");
        }
        for text in ["", "# a b\n", "#a b\n# c d\n", "#!/bin/sh\n", "##a b\n", "#a,#b\n1,2\n"] {
            assert!(refuse_hidden(text.as_bytes()).is_ok(), "{text}");
        }
    }

    #[test]
    fn lines_that_may_be_rows_or_comments_are_refused() {
        let rows: Vec<Row<'_>> = vec![vec![b"bob"[..].into(), b"cat"[..].into()]];
        let layout = Layout::usual(Separator::Tab);
        let refused = |text: &str| refuse_doubtful(text.as_bytes(), &rows, layout, 2).is_err();
        assert!(refused("# names\n%41\tbob\n") && refused("#ann\tcat\n"));
        assert!(refused("%41\t\"bob\"\n") && refused("# it's 5\" long\n%41\tbob\n"));
        assert!(!refused("#from\tto\n") && !refused("# ann\tbob\n") && !refused("#a\tb\tcat\n"));
    }

    #[test]
    fn a_row_over_two_lines_may_look_like_a_comment() {
        let rows: Vec<Row<'_>> = vec![vec![b"bob"[..].into(), b"two\nlines"[..].into()]];
        let layout = Layout::usual(Separator::Tab);
        let refused = |text: &str| refuse_doubtful(text.as_bytes(), &rows, layout, 2).is_err();
        assert!(refused("%41\t\"two\nlines\"\n") && refused("# a\n#b\t\"two\nlines\"\n"));
        assert!(!refused("# a \"quote\n# that ends\" here\n"));
    }

    #[test]
    fn comments_that_speak_of_directions_are_told_of() {
        let is_undirected = |text: &str| undirected(text.as_bytes(), &Comments::Usual).is_some();
        assert!(is_undirected("# Undirected graph: com.txt\n# Nodes: 3\n1 2\n"));
        assert!(is_undirected(
            "# a\n\n# Directed graph (each unordered pair of nodes is saved once)\n1 2"
        ));
        assert!(
            !is_undirected("# Directed graph\n1 2\n# undirected\n")
                && !is_undirected("undirected x\n")
        );
    }

    #[test]
    fn a_line_with_the_fields_of_a_row_is_one() {
        let columns = Columns { source: 0, target: 1, weight: None };
        let layout = Layout::usual(Separator::Tab);
        let names = Shape { layout, columns, spelling: None, fields: Some(2) };
        let usual = Comments::of(None);
        for (line, comment) in [
            ("#go\tbob", false),
            ("%off\tcat", false),
            ("# go\tbob", true),
            ("#go", true),
            ("#a\tb\tc", true),
            ("##a\tb", true),
            ("#", true),
        ] {
            assert!(usual.may_be(line.as_bytes()));
            assert_eq!(usual.is(line.as_bytes(), &names), comment, "{line}");
        }
        let integers = Shape { spelling: Some(Spelling::Printed), ..names };
        assert!(usual.is(b"#1\t2", &integers));
        let irregular = Shape { spelling: None, fields: None, ..integers };
        assert!(usual.is(b"#go\tbob", &irregular));
        let slashes = Comments::of(Some(&Comment::Prefix("//".into())));
        assert!(slashes.may_be(b"// 1 2") && slashes.is(b"// 1 2", &irregular));
        assert!(!slashes.may_be(b"#1 2") && !Comments::of(Some(&Comment::None)).may_be(b"#"));
    }
}
