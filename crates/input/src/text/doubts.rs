//! Content of rows that is seldom meant as edges: refused where it is surely none, else reported.

use std::borrow::Cow;
use std::collections::HashSet;

use super::fields::{Row, parse_id};
use super::kinds::Kind;
use crate::columns::{Columns, kinds};
use crate::options::{IdKind, ReadOptions};
use crate::words::show;

/// Seconds from 1990 to 2038 since the beginning of 1970, which is what Unix times of data are.
const TIMES: std::ops::Range<u64> = 631_152_000..2_147_483_648;

/// Refuses rows that are no edges: lines of a drawn table, and lists of keys with values.
pub(super) fn refuse(rows: &[Row<'_>]) -> Result<(), String> {
    if rows.iter().take(3).any(is_drawn) {
        return Err(
            "expected rows of values, found a table that is drawn with lines (write it as \
                    CSV, without them)"
                .to_owned(),
        );
    }
    let keyed = |row: &&Row<'_>| {
        let colon = |place: usize| row.get(place).is_some_and(|cell| cell.ends_with(b":"));
        let word = row.first().is_some_and(|cell| Kind::of(cell) == Kind::Word);
        word && colon(0) && row[0].first().is_some_and(|byte| !byte.is_ascii_digit())
    };
    if 2 * rows.iter().filter(keyed).count() > rows.len() {
        let shown = rows.iter().find(keyed).map(|row| show(&row[0])).unwrap_or_default();
        return Err(format!(
            "expected two ends in each row, found keys with a colon behind them, such as {shown} \
             (write edges as rows of source and target; --separator says that this is what they \
             are)"
        ));
    }
    Ok(())
}

/// Whether a row is a line of a drawn table, such as `---|---`.
fn is_drawn(row: &Row<'_>) -> bool {
    let mut filled = row.iter().filter(|cell| !cell.is_empty()).peekable();
    let line = |cell: &Cow<'_, [u8]>| {
        cell.len() > 1 && cell.iter().all(|byte| matches!(byte, b'-' | b'+' | b'=' | b':'))
    };
    filled.peek().is_some() && filled.all(line)
}

/// Notes for a person on rows whose ids are of this kind.
pub(super) fn notes(
    body: &[Row<'_>],
    columns: Columns,
    header: Option<&[String]>,
    ids: IdKind,
    options: &ReadOptions,
) -> Vec<String> {
    let mut notes = Vec::new();
    let name = |place: usize| header.and_then(|names| names.get(place)).map(String::as_str);
    if let (Some(source), Some(target)) = (name(columns.source), name(columns.target)) {
        notes.extend(kinds::one_kind_note([source, target], ids, options));
    }
    if ids == IdKind::Names && (options.ids == IdKind::Auto || options.guessed_ids) {
        let ends = || {
            body.iter().flat_map(|row| {
                [columns.source, columns.target].into_iter().filter_map(|place| row.get(place))
            })
        };
        notes.extend(ends().find(|cell| is_nothing(cell)).map(|cell| {
            format!(
                "{} is read as the name of a vertex (leave rows out where it means that nothing is \
                 there; --ids strings says that it is one)",
                show(cell)
            )
        }));
        notes.extend(
            ends().find(|cell| is_padded(cell)).map(|cell| {
                format!("blanks around names, such as {}, are parts of them", show(cell))
            }),
        );
        let lists = ends().filter(|cell| is_list(cell)).count();
        let list = ends().find(|cell| is_list(cell)).filter(|_| 2 * lists >= body.len());
        let known: HashSet<&[u8]> = ends().map(|cell| &cell[..]).collect();
        let list = list.or_else(|| ends().find(|cell| is_of_others(cell, &known)));
        notes.extend(list.map(|cell| {
            format!("{} is read as one name, though it looks like several", show(cell))
        }));
    }
    let time = |row: &Row<'_>, place: usize| {
        let number = row.get(place).and_then(|cell| parse_id(cell).ok());
        number.is_some_and(|number| TIMES.contains(&number) || TIMES.contains(&(number / 1000)))
    };
    if let Some(place) = columns.weight.filter(|_| header.is_none() && body.len() > 1)
        && body.iter().all(|row| time(row, place))
    {
        notes.push(format!(
            "column {}, which is read as the weight, looks like times (--no-weights leaves it out)",
            place + 1
        ));
    }
    notes
}

/// Whether a cell is a word for nothing.
fn is_nothing(cell: &[u8]) -> bool {
    let words = ["na", "n/a", "nan", "null", "none", "\\n", "nil", "undefined"];
    words.iter().any(|word| word.as_bytes().eq_ignore_ascii_case(cell))
}

/// Whether a name has white space around it, which quotes keep.
fn is_padded(cell: &[u8]) -> bool {
    // Spaces without width are none of white space, and as easily overlooked.
    let blank = |character: char| {
        character.is_whitespace() || matches!(character, '\u{200b}'..='\u{200d}' | '\u{feff}')
    };
    let text = String::from_utf8_lossy(cell);
    text.trim_matches(blank) != text && !text.trim_matches(blank).is_empty()
}

/// Whether a cell is several words with marks between them that are separators elsewhere.
fn is_list(cell: &[u8]) -> bool {
    let parts = |mark: u8| {
        let mut parts = cell.split(|byte| *byte == mark);
        let filled = parts.clone().all(|part| !part.trim_ascii().is_empty());
        filled && parts.by_ref().nth(1).is_some()
    };
    parts(b';') || parts(b'|')
}

/// Whether a name is several with commas and the like between them, of which one is a name by
/// itself in other places.
fn is_of_others(cell: &[u8], known: &HashSet<&[u8]>) -> bool {
    let bare = match cell {
        [b'[', inner @ .., b']'] | [b'{', inner @ .., b'}'] | [b'(', inner @ .., b')'] => inner,
        cell => cell,
    };
    b",;|".iter().any(|mark| {
        let mut parts = bare.split(|byte| byte == mark).map(<[u8]>::trim_ascii);
        bare.contains(mark) && parts.any(|part| !part.is_empty() && known.contains(part))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &'static str) -> Vec<Row<'static>> {
        let row = |row: &'static str| row.split(',').map(|cell| cell.as_bytes().into()).collect();
        text.split('/').map(row).collect()
    }

    #[test]
    fn what_is_surely_no_edge_is_refused() {
        for text in
            ["a,b/---,---/c,d", ",a,b,/,:--,--:,/,c,d,", "Id:,1/ASIN:,2/title:,x", "+--+/a,b"]
        {
            assert!(refuse(&rows(text)).is_err(), "{text}");
        }
        for text in ["a,b/c,d", "-,-/a,b", "1:,2/2:,3", "a:,b/c,d/e,f", "--x,y/a,b", "5,6"] {
            assert!(refuse(&rows(text)).is_ok(), "{text}");
        }
    }

    #[test]
    fn what_may_be_meant_otherwise_is_told_of() {
        let notes_of = |text: &'static str, ids| {
            let columns = Columns { source: 0, target: 1, weight: Some(2) };
            notes(&rows(text), columns, None, ids, &ReadOptions::default()).join(" ")
        };
        let names = IdKind::Names;
        assert!(notes_of("ann,NA/bob,cat", names).starts_with("\"NA\" is read as the name"));
        assert!(
            notes_of("ann, bob/bob,cat", names)
                .starts_with("blanks around names, such as \" bob\"")
        );
        assert!(notes_of("ann\u{a0},bob/bob,cat", names).starts_with("blanks around names"));
        assert!(notes_of("\u{200b}ann,bob/ann,cat", names).starts_with("blanks around names"));
        let one: Vec<Row<'_>> = vec![
            vec![b"ann"[..].into(), b"[bob, cat]"[..].into()],
            vec![b"bob"[..].into(), b"dan"[..].into()],
        ];
        let columns = Columns { source: 0, target: 1, weight: None };
        let found = notes(&one, columns, None, names, &ReadOptions::default()).join(" ");
        assert!(found.contains("\"[bob, cat]\" is read as one name"), "{found}");
        let header = ["user_id".to_owned(), "item_id".to_owned()];
        let kinds = |ids, options: &ReadOptions| notes(&[], columns, Some(&header), ids, options);
        let free = ReadOptions::default();
        assert!(kinds(IdKind::Integers, &free).join(" ").contains("--bipartite"));
        assert!(kinds(names, &free).is_empty());
        let one_kind = ReadOptions { two_kinds: Some(false), ..free };
        assert!(kinds(IdKind::Integers, &one_kind).is_empty());
        assert!(notes_of("ann,bob;cat/bob,cat;dan", names).contains("looks like several"));
        assert!(notes_of("1,2,1082040961/2,3,1082155839", IdKind::Integers).contains("column 3"));
        assert!(
            notes_of("1,2,1082040961000/2,3,1082155839000", IdKind::Integers).contains("times")
        );
        for text in ["ann,bob,7/bob,cat,1082155839", "nana,nuller/a;,;b", "a;b,c/d,e/f,g/h,i"] {
            assert_eq!(notes_of(text, names), "", "{text}");
        }
    }
}
