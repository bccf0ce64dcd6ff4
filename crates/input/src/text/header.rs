//! Whether the first row of a text names the columns.
//!
//! It does if the user says so or names a column; if its names tell by themselves; or if it is
//! unlike the rows below it: words above numbers, dates or identifiers. A pair of words above other
//! words is a header if it tells source from target and neither is an id below. A comment right
//! before the first row is one on the same condition.

use std::borrow::Cow;

use super::fields::{Fields, Row};
use super::kinds::{Column, Kind};
use crate::columns::names;
use crate::layout::Layout;
use crate::options::{ReadOptions, WeightChoice};
use crate::tables::ColumnRef;

/// Kind of the first row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Header {
    /// Names of columns.
    Names,
    /// A row as others.
    Row,
    /// A row as far as can be known, which looks like names all the same.
    Perhaps,
}

/// Rows that must be there before words that never come again are said to be suspicious.
const ROWS_MIN: usize = 3;

/// Looks at the first of some rows.
pub(super) fn of(rows: &[Row<'_>], options: &ReadOptions) -> Header {
    let named = |column: &Option<ColumnRef>| matches!(column, Some(ColumnRef::Name(_)));
    let weight_named = matches!(options.weight, WeightChoice::Column(ColumnRef::Name(_)));
    let is_header = match options.header {
        Some(header) => header,
        None => named(&options.source) || named(&options.target) || weight_named,
    };
    match (is_header, options.header, rows.split_first()) {
        (true, ..) => Header::Names,
        (false, Some(_), _) | (_, _, None) => Header::Row,
        (false, None, Some((first, rest))) => looks(first, rest, options.source.is_some()),
    }
}

/// Guesses. `single`: one column is enough.
fn looks(first: &Row<'_>, rest: &[Row<'_>], single: bool) -> Header {
    let texts: Vec<Cow<'_, str>> = first.iter().map(|cell| String::from_utf8_lossy(cell)).collect();
    let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
    if names::are_surely(&texts) {
        return Header::Names;
    }
    if is_of_pandas(first, rest) {
        return Header::Names;
    }
    let kinds: Vec<Kind> = first.iter().map(|cell| Kind::of(cell)).collect();
    let words = kinds.iter().all(|kind| matches!(kind, Kind::Word | Kind::Missing));
    if !words || !kinds.contains(&Kind::Word) || rest.is_empty() || first.len() < 2 && !single {
        // So pandas numbers columns without names.
        let number =
            |(place, cell): (usize, &Cow<'_, [u8]>)| cell[..] == *place.to_string().as_bytes();
        let numbered = first.len() > 2 && first.iter().enumerate().all(number);
        // Such as years above names.
        let unlike = first.len() > 1
            && rest.len() > 1
            && kinds[..2].iter().all(|kind| *kind == Kind::Integer)
            && (0..2).all(|place| Column::of(rest, place).count(Kind::Word) == rest.len());
        return if numbered || unlike { Header::Perhaps } else { Header::Row };
    }
    let typed =
        |(place, kind): (usize, &Kind)| *kind == Kind::Word && Column::of(rest, place).is_typed();
    if kinds.iter().enumerate().any(typed) {
        return Header::Names;
    }
    let below = |cell: &str| rest.iter().flatten().any(|other| &other[..] == cell.as_bytes());
    match names::ends(&texts) {
        Some(ends) if !ends.iter().any(|place| below(texts[*place])) => Header::Names,
        Some(_) => Header::Row,
        None => {
            // A quadratic look; a few rows tell.
            let shown = &rest[..rest.len().min(50)];
            let times = |cell: &[u8]| {
                shown.iter().flat_map(|row| row.iter().take(2)).filter(|id| id[..] == *cell).count()
            };
            let again = |row: &&Row<'_>| row.iter().take(2).any(|cell| times(cell) > 1);
            let never = !texts.iter().take(2).any(|cell| below(cell));
            let connected =
                rest.len() >= ROWS_MIN && shown.iter().filter(again).count() == shown.len();
            if never && connected { Header::Perhaps } else { Header::Row }
        }
    }
}

/// Whether a comment before the rows names the columns: it has as many words as rows have fields,
/// and they tell source from target.
pub(super) fn in_comment(comment: &[u8], layout: Layout, fields: usize) -> Option<Vec<String>> {
    let line = comment.trim_ascii();
    let line = line.strip_prefix(b"#").or_else(|| line.strip_prefix(b"%"))?.trim_ascii_start();
    let cells: Row<'_> = Fields::new(line, layout).collect::<Result<_, _>>().ok()?;
    let words = cells.iter().all(|cell| Kind::of(cell) == Kind::Word);
    let names: Vec<String> =
        cells.iter().map(|cell| String::from_utf8_lossy(cell).into_owned()).collect();
    let shown: Vec<&str> = names.iter().map(String::as_str).collect();
    (words && fields > 1 && cells.len() == fields && names::ends(&shown).is_some()).then_some(names)
}

/// Whether the first row is that which pandas writes above an index: an empty name, then names or
/// the numbers of columns.
fn is_of_pandas(first: &Row<'_>, rest: &[Row<'_>]) -> bool {
    let empty = first.first().is_some_and(|cell| cell.is_empty() || cell.starts_with(b"Unnamed"));
    let numbers = first.iter().skip(1).enumerate().all(|(number, cell)| {
        matches!(Kind::of(cell), Kind::Word) || cell[..] == *number.to_string().as_bytes()
    });
    let filled = rest.iter().all(|row| row.first().is_some_and(|cell| !cell.is_empty()));
    empty && first.len() > 2 && numbers && filled
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Separator;

    fn header(text: &str) -> Header {
        let cell = |cell: &str| Cow::Owned(cell.as_bytes().to_vec());
        let rows: Vec<Row<'_>> =
            text.split('/').map(|row| row.split(',').map(cell).collect()).collect();
        of(&rows, &ReadOptions::default())
    }

    #[test]
    fn words_above_other_kinds_and_telling_words_are_headers() {
        for text in [
            "a,b/1,2/3,4",
            "protein1,protein2,score/P1,P2,490/P2,P3,7",
            "person,friend,since/ann,bob,2020-01-31",
            "x,y/123e4567-e89b-12d3-a456-426614174000,123e4567-e89b-12d3-a456-426614174001",
            "caller,callee/main,init/init,read",
            "u,v/ann,bob",
            ",u,v/0,ann,bob/1,bob,cat",
            ",0,1/0,5,6/1,6,7",
            "source,target",
            "from,to/from,x",
            "a,b,weight/x,y,z",
        ] {
            assert_eq!(header(text), Header::Names, "{text}");
        }
        assert_eq!(header("0,1,2/5,6,0.5"), Header::Perhaps);
        assert_eq!(header("2019,2020/ann,bob/bob,cat"), Header::Perhaps);
        for text in [
            "1,2/3,4",
            "ann,bob/bob,cat",
            "node1,node2/node2,node3",
            "u,v/v,w",
            "ann,bob,NA/bob,cat,0.5",
            "a,1/b,2",
            "a,b",
            "x,5/y,6",
        ] {
            assert_eq!(header(text), Header::Row, "{text}");
        }
        assert_eq!(header("Boss,Clerk/ann,bob/bob,ann/ann,bob"), Header::Perhaps);
    }

    #[test]
    fn a_comment_can_name_the_columns() {
        let names = |line: &str, fields| {
            in_comment(line.as_bytes(), Layout::usual(Separator::Tab), fields).is_some()
        };
        assert!(names("# FromNodeId\tToNodeId\n", 2) && names("#id\tgene a\tgene b\n", 3));
        assert!(!names("# FromNodeId\tToNodeId\n", 3) && !names("#ann\tbob\n", 2));
        assert!(!names("# Nodes: 3\tEdges: 4\n", 2) && !names("from\tto", 2));
    }

    #[test]
    fn what_the_user_says_decides() {
        let rows: Vec<Row<'_>> = vec![vec![Cow::Borrowed(b"1"), Cow::Borrowed(b"2")]];
        let say = |header| ReadOptions { header, ..ReadOptions::default() };
        assert_eq!(of(&rows, &say(Some(true))), Header::Names);
        assert_eq!(of(&rows, &say(Some(false))), Header::Row);
        let source = Some(ColumnRef::Name("x".into()));
        assert_eq!(of(&rows, &ReadOptions { source, ..say(None) }), Header::Names);
    }
}
