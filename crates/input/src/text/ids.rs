//! Kind of the ids in the rows of a text: integers, or names.
//!
//! Ids are names if most of a column are neither integers nor numbers, so that one bad line in a
//! file of integers is an error; and where an integer is not written as it is printed (`007`,
//! `-7`), so that ids come out as they came in. Columns of floats without fractions are integers.

use super::fields::{Row, Spelling};
use super::kinds::{Column, Kind};
use crate::columns::Columns;
use crate::options::{IdKind, ReadOptions};
use crate::words::show;

/// Kind of the ids, and how they may be written where they are integers.
pub(super) fn decide(
    body: &[Row<'_>],
    columns: Columns,
    options: &ReadOptions,
    notes: &mut Vec<String>,
) -> (IdKind, Option<Spelling>) {
    let (guessed, floats, note) = guess(body, columns);
    let ids = if options.ids == IdKind::Auto { guessed } else { options.ids };
    let is_stated = options.ids != IdKind::Auto && !options.guessed_ids;
    if !is_stated && ids == guessed {
        notes.extend(note);
    }
    let spelling = match (is_stated, floats) {
        (true, _) => Spelling::Any,
        (false, true) => Spelling::Floats,
        (false, false) => Spelling::Printed,
    };
    (ids, (ids == IdKind::Integers).then_some(spelling))
}

/// Kind of the ids by their looks, whether they are floats without fractions, and a note on it.
pub(super) fn guess(body: &[Row<'_>], columns: Columns) -> (IdKind, bool, Option<String>) {
    let places = [columns.source, columns.target];
    let ends = places.map(|place| Column::of(body, place));
    let any = |kind: Kind| ends.iter().any(|end| end.count(kind) > 0);
    let words = [Kind::Word, Kind::Uuid, Kind::Date, Kind::Dictionary];
    let named =
        |end: &Column| 2 * words.iter().map(|kind| end.count(*kind)).sum::<usize>() > body.len();
    if ends.iter().any(named) {
        return (IdKind::Names, false, None);
    }
    let mut cells = body.iter().flat_map(|row| places.map(|place| row.get(place))).flatten();
    if let Some(cell) = cells.find(|cell| Kind::of(cell) == Kind::Other) {
        let why = if cell.starts_with(b"-") {
            "is negative, and integers that are ids are not"
        } else {
            "is not an integer as it is printed (--ids integers takes it for one)"
        };
        let note = format!("ids are read as names, because {} {why}", show(cell));
        return (IdKind::Names, false, Some(note));
    }
    let whole = |end: &Column| [0, end.filled()].contains(&end.count(Kind::Whole));
    if any(Kind::Whole) && ends.iter().all(whole) {
        let note = "ids are floats without fractions, and are read as integers (--ids strings \
                    keeps them as they are)";
        return (IdKind::Integers, true, Some(note.to_owned()));
    }
    (IdKind::Integers, false, None)
}
