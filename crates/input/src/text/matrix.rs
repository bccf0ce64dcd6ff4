//! Rows that are those of a matrix and no edges.

use std::borrow::Cow;

use super::fields::Row;
use super::kinds::Kind;
use crate::columns::names;

/// Columns of numbers beyond which rows are no edges with attributes.
const COLUMNS_MAX: usize = 64;

/// Form of rows that are surely no edges. `whole`: whether there are no others.
pub(super) fn found(rows: &[Row<'_>], whole: bool) -> Option<&'static str> {
    let (first, rest) = rows.split_first()?;
    let words = first.iter().all(|cell| matches!(Kind::of(cell), Kind::Word | Kind::Missing));
    let texts = || first.iter().map(|cell| String::from_utf8_lossy(cell)).collect::<Vec<_>>();
    let telling = || names::ends(&texts().iter().map(AsRef::as_ref).collect::<Vec<_>>()).is_some();
    let below = words && is_square(rest) && !telling();
    if is_named(first, rest) || is_square(rows) || below {
        return Some("a matrix of as many rows as columns");
    }
    let wide = rows.iter().all(|row| row.len() > COLUMNS_MAX && are_numbers(row));
    let pair = whole && rows.len() == 2 && first.len() > 4 && rows[1].len() == first.len();
    if pair && rows.iter().flatten().all(|cell| Kind::of(cell) == Kind::Integer) {
        return Some("two rows of many ids, as of sources and of targets: write them as columns");
    }
    wide.then_some("rows of more numbers than edges have, as those of a matrix")
}

fn are_numbers(row: &Row<'_>) -> bool {
    let number = |kind| matches!(kind, Kind::Integer | Kind::Other | Kind::Whole | Kind::Number);
    row.iter().all(|cell| number(Kind::of(cell)))
}

/// Whether rows and columns have the same names.
fn is_named(first: &Row<'_>, rest: &[Row<'_>]) -> bool {
    rest.len() > 1
        && first.len() > 3
        && first.len() == rest.len() + 1
        && rest.iter().zip(&first[1..]).all(|(row, name)| row.first() == Some(name))
}

/// Whether rows are a square of zeros and ones, or one of numbers with zeros on the diagonal; a
/// small one must be the same on both sides of it, as three edges with weights may look so.
fn is_square(rows: &[Row<'_>]) -> bool {
    let size = rows.len();
    if size < 3 || rows.iter().any(|row| row.len() != size || !are_numbers(row)) {
        return false;
    }
    let bit = |cell: &Cow<'_, [u8]>| matches!(&cell[..], b"0" | b"1");
    let zero = |cell: &[u8]| cell.iter().all(|byte| matches!(byte, b'0' | b'.' | b','));
    let same =
        || (0..size).all(|row| (0..row).all(|column| rows[row][column] == rows[column][row]));
    rows.iter().flatten().all(bit)
        || (0..size).all(|place| zero(&rows[place][place])) && (size > 3 || same())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Vec<Row<'static>> {
        let cell = |cell: &str| Cow::Owned(cell.as_bytes().to_vec());
        text.split('/').map(|row| row.split(',').map(cell).collect()).collect()
    }

    #[test]
    fn matrices_are_known_by_their_form() {
        for text in [
            "0,1,0/0,0,1/1,0,0",
            "0,3,4/3,0,5/4,5,0",
            "0,2.5,0,7/0,0.0,1,8/1,0,0,9/4,5,6,0",
            "A,B,C/0,1,0/0,0,1/1,0,0",
            ",A,B,C/A,0,2,0/B,0,0,1/C,1,0,0",
            "0,1,1,2,3/1,0,2,1,4",
            &["7"; 65].join(","),
        ] {
            assert!(found(&rows(text), true).is_some(), "{text}");
        }
        for text in [
            "0,1,2/2,0,7/4,5,0",
            "source,target,weight/0,1,0/2,0,1/3,4,0",
            "1,2/2,3",
            "1,2,5,9/2,3,6,9",
            "a,b,c/b,c,d/c,d,e",
        ] {
            assert!(found(&rows(text), true).is_none(), "{text}");
        }
        assert!(found(&rows("0,1,1,2,3/1,0,2,1,4"), false).is_none());
    }
}
