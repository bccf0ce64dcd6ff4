//! Columns of a table that are the source, the target and the weight of an edge. One rule serves
//! text, tables and frames, with and without names of columns.
//!
//! - **Ends**: what the user said; else two columns whose names tell ([`names`]); else the
//!   first two columns, leaving out an index (a column of row numbers under an empty name or one
//!   such as `id`), if both hold ids of one kind and no third column of names could be an end as
//!   well. What is left is refused with the options that decide.
//! - **Weight**: what the user said; else the column called `weight`; else the one whose name is a
//!   word for a weight ([`names::WEIGHTS`]: `cost`, `distance`, `capacity`, `rating` ...); else the
//!   one further column that holds numbers, unless its name is one for something else (`year`,
//!   `timestamp`, `type`, `..._id`). Of several without a telling name, a table without names takes
//!   the first column behind the ends, and one with names is refused.

mod column;
mod ends;
pub(crate) mod kinds;
pub(crate) mod names;

pub(crate) use self::column::{Column, Holds};
use self::column::{list, show};
use crate::error::InputError;
use crate::options::{IdKind, ReadOptions, WeightChoice};
use crate::tables::ColumnRef;

/// Places of the columns, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Columns {
    pub(crate) source: usize,
    pub(crate) target: usize,
    pub(crate) weight: Option<usize>,
}

/// The columns that were chosen, and what a person should know about that.
#[derive(Debug)]
pub(crate) struct ColumnChoice {
    pub(crate) columns: Columns,
    pub(crate) notes: Vec<String>,
}

/// Picks the columns of a table by their names alone.
pub(crate) fn by_name(
    file: &str,
    names: &[&str],
    options: &ReadOptions,
) -> Result<Columns, InputError> {
    by_type(file, names, &vec![Holds::Unknown; names.len()], options)
}

/// Picks the columns of a table whose columns have names and types.
pub(crate) fn by_type(
    file: &str,
    names: &[&str],
    holds: &[Holds],
    options: &ReadOptions,
) -> Result<Columns, InputError> {
    let mut columns = Vec::new();
    for (name, holds) in names.iter().zip(holds) {
        columns.push(Column { name: Some(name), holds: *holds, counts_rows: false });
    }
    choose(file, &columns, options).map(|chosen| chosen.columns)
}

/// Picks the columns of a table.
pub(crate) fn choose(
    file: &str,
    columns: &[Column<'_>],
    options: &ReadOptions,
) -> Result<ColumnChoice, InputError> {
    let mut notes = Vec::new();
    let stated = |role: &str, choice: Option<&ColumnRef>| {
        choice.map(|column| resolve(file, columns, role, column)).transpose()
    };
    let (source, target) =
        (stated("source", options.source.as_ref())?, stated("target", options.target.as_ref())?);
    let (source, target) = match (source, target) {
        (Some(source), Some(target)) => (source, target),
        (source, target) => {
            let guess = ends::guess(columns, options)
                .or_else(|what| ends::beside(source.or(target), columns).ok_or(what))
                .map_err(|what| InputError::content(file, what))?;
            notes.extend(guess.note.filter(|_| source.is_none() && target.is_none()));
            let [first, second] = guess.ends;
            // A column that is said to be one end is not the other.
            let source = source.unwrap_or(if target == Some(first) { second } else { first });
            (source, target.unwrap_or(if source == second { first } else { second }))
        }
    };
    let weight = weight(file, columns, [source, target], options, &mut notes)?;
    Ok(ColumnChoice { columns: Columns { source, target, weight }, notes })
}

/// The column of the weights, by the rule above.
fn weight(
    file: &str,
    columns: &[Column<'_>],
    ends: [usize; 2],
    options: &ReadOptions,
    notes: &mut Vec<String>,
) -> Result<Option<usize>, InputError> {
    match &options.weight {
        WeightChoice::Ignore => return Ok(None),
        WeightChoice::Column(column) => {
            return resolve(file, columns, "weight", column).map(Some);
        }
        WeightChoice::IfPresent => {}
    }
    let further = |place: &usize| !ends.contains(place);
    let places: Vec<usize> = (0..columns.len()).filter(further).collect();
    let name = |place: usize| columns[place].name.unwrap_or_default();
    let called = |word| places.iter().copied().find(|&place| names::is_called(name(place), word));
    if let Some(place) = called("weight").or_else(|| called("weights")) {
        return Ok(Some(place));
    }
    let evident: Vec<usize> = places
        .iter()
        .copied()
        .filter(|&place| is_numeric(&columns[place]) || columns[place].holds == Holds::Unknown)
        .filter(|&place| names::is_weight(name(place)))
        .collect();
    match evident[..] {
        [place] => Ok(Some(place)),
        [] => weight_of_numbers(file, columns, (ends, &places), notes),
        _ => Err(several(file, columns, &evident)),
    }
}

/// The column of the weights where no name says it, of those at `places`.
fn weight_of_numbers(
    file: &str,
    columns: &[Column<'_>],
    (ends, places): ([usize; 2], &[usize]),
    notes: &mut Vec<String>,
) -> Result<Option<usize>, InputError> {
    let named = columns.iter().any(|column| column.name.is_some());
    let name = |place: usize| columns[place].name.unwrap_or_default();
    let ordinary = |place: usize| {
        !named || !(names::is_attribute(name(place)) || names::is_index(name(place)))
    };
    let numbers: Vec<usize> = places
        .iter()
        .copied()
        .filter(|&place| is_numeric(&columns[place]) && ordinary(place))
        .collect();
    match numbers[..] {
        [] => {
            let mut texts = places
                .iter()
                .filter(|place| has_words(&columns[**place]) && names::is_weight(name(**place)));
            notes.extend(texts.next().map(|&place| {
                let column = show(columns, place);
                format!("{column} holds texts and no numbers, and is not read as the weight")
            }));
            Ok(None)
        }
        [place] if !named => Ok(Some(place)),
        [place] => {
            notes.push(format!("the weight is taken from {}", show(columns, place)));
            Ok(Some(place))
        }
        // By a custom of files without names, the weight comes right behind the ends.
        [place, ..] if !named && place == ends[0].max(ends[1]) + 1 => {
            notes.push(format!(
                "of {} columns of numbers behind the ends the first is taken for the weight",
                numbers.len()
            ));
            Ok(Some(place))
        }
        _ => Err(several(file, columns, &numbers)),
    }
}

fn is_numeric(column: &Column<'_>) -> bool {
    use Holds::{Dictionaries, Floats, Integers, Mostly, Numbers};
    matches!(column.holds, Integers | Numbers | Floats | Mostly | Dictionaries)
}

fn has_words(column: &Column<'_>) -> bool {
    matches!(column.holds, Holds::Mixed | Holds::Names | Holds::Others)
}

/// The error where more than one column can be the weight.
fn several(file: &str, columns: &[Column<'_>], places: &[usize]) -> InputError {
    let what = format!(
        "expected one column that can be the weight, found {} (--weight COLUMN says which it is, \
         --no-weights that there is none)",
        list(columns, places)
    );
    InputError::content(file, what)
}

/// Whether weights are to be read from a format whose columns are fixed: source, target, and the
/// weight if there is one. Refuses what a user says of columns or ids that such a format has not.
pub(crate) fn fixed(file: &str, weighted: bool, options: &ReadOptions) -> Result<bool, InputError> {
    if options.ids == IdKind::Names {
        let what = "expected names as ids, found a format that has integers";
        return Err(InputError::content(file, what));
    }
    let names = &["source", "target", "weight"][..if weighted { 3 } else { 2 }];
    let picked = by_name(file, names, options)?;
    if (picked.source, picked.target) != (0, 1) || picked.weight.is_some_and(|place| place != 2) {
        let what = "expected source, target and weight where this format has them";
        return Err(InputError::content(file, what));
    }
    Ok(picked.weight.is_some())
}

/// Finds a column that the user named.
fn resolve(
    file: &str,
    columns: &[Column<'_>],
    role: &str,
    column: &ColumnRef,
) -> Result<usize, InputError> {
    let named = columns.iter().any(|column| column.name.is_some());
    let found = match column {
        // Rows of text that are shorter are errors with their lines.
        ColumnRef::Number(number) if !named => number.checked_sub(1),
        ColumnRef::Number(number) => number.checked_sub(1).filter(|place| *place < columns.len()),
        ColumnRef::Name(name) => columns.iter().position(|other| other.name == Some(name)),
    };
    found.ok_or_else(|| {
        let what = if named || columns.is_empty() {
            let all: Vec<usize> = (0..columns.len()).collect();
            format!("expected a {role} column {column}, found {}", list(columns, &all))
        } else {
            format!("expected a {role} column named {column}, found no header")
        };
        InputError::content(file, what)
    })
}

#[cfg(test)]
mod tests;
