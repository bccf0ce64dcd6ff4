//! Which columns of a table with named columns are the source, the target and the weight.
//!
//! The same rule serves every format: what the user said, else a telling pair of names, else the
//! first two columns; the weight is the column named `weight`.

use crate::error::InputError;
use crate::options::{ColumnRef, IdKind, ReadOptions, WeightChoice};

/// Places of the columns, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Columns {
    pub(crate) source: usize,
    pub(crate) target: usize,
    pub(crate) weight: Option<usize>,
}

/// Pairs of names that tell source from target, in any case.
const TELLING: &[(&str, &str)] = &[
    ("source", "target"),
    ("source", "destination"),
    ("src", "dst"),
    ("src", "dest"),
    ("from", "to"),
    ("source_id", "target_id"),
    ("from_id", "to_id"),
    ("fromnodeid", "tonodeid"),
    (":start_id", ":end_id"),
];

/// Whether names such as these are surely a header and not the names of two vertices.
pub(crate) fn tells(names: &[&str]) -> bool {
    let has = |name: &str| names.iter().any(|other| other.eq_ignore_ascii_case(name));
    has("weight") || TELLING.iter().any(|(from, to)| has(from) && has(to))
}

/// Picks the columns of a table whose columns have these names.
pub(crate) fn by_name(
    file: &str,
    names: &[&str],
    options: &ReadOptions,
) -> Result<Columns, InputError> {
    let position = |name: &str| names.iter().position(|other| other.eq_ignore_ascii_case(name));
    let telling = TELLING.iter().find_map(|(from, to)| Some((position(from)?, position(to)?)));
    let (first, second) = telling.unwrap_or((0, 1));
    let pick = |role: &str, choice: Option<&ColumnRef>, guess: usize| match choice {
        Some(column) => resolve(file, names, role, column),
        None if guess < names.len() => Ok(guess),
        None => Err(InputError::content(
            file,
            format!("expected a source and a target column, found {}", list(names)),
        )),
    };
    let weight = match &options.weight {
        WeightChoice::Ignore => None,
        WeightChoice::IfPresent => position("weight"),
        WeightChoice::Column(column) => Some(resolve(file, names, "weight", column)?),
    };
    let source = pick("source", options.source.as_ref(), first)?;
    let target = pick("target", options.target.as_ref(), second)?;
    Ok(Columns { source, target, weight })
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
    names: &[&str],
    role: &str,
    column: &ColumnRef,
) -> Result<usize, InputError> {
    let found = match column {
        ColumnRef::Number(number) => number.checked_sub(1).filter(|place| *place < names.len()),
        ColumnRef::Name(name) => names.iter().position(|other| other == name),
    };
    found.ok_or_else(|| {
        let what = format!("expected a {role} column {column}, found {}", list(names));
        InputError::content(file, what)
    })
}

fn list(names: &[&str]) -> String {
    let shown: Vec<_> = names.iter().take(20).map(|name| format!("\"{name}\"")).collect();
    format!("the columns {}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn telling_names_win_over_places_and_the_user_over_both() {
        let names = ["id", "Source", "Target", "Weight"];
        let mut options = ReadOptions { weight: WeightChoice::IfPresent, ..Default::default() };
        let columns = by_name("f", &names, &options).unwrap();
        assert_eq!(columns, Columns { source: 1, target: 2, weight: Some(3) });
        options.source = Some(ColumnRef::Number(1));
        options.weight = WeightChoice::Column(ColumnRef::Name("id".into()));
        let columns = by_name("f", &names, &options).unwrap();
        assert_eq!(columns, Columns { source: 0, target: 2, weight: Some(0) });
        let columns = by_name("f", &["a", "b"], &ReadOptions::default()).unwrap();
        assert_eq!(columns, Columns { source: 0, target: 1, weight: None });
    }

    #[test]
    fn a_missing_column_is_named_with_those_that_exist() {
        let options =
            ReadOptions { source: Some(ColumnRef::Name("x".into())), ..Default::default() };
        let error = by_name("f.csv", &["a", "b"], &options).unwrap_err();
        assert_eq!(
            error.to_string(),
            "f.csv: expected a source column \"x\", found the columns \"a\", \"b\""
        );
        assert!(by_name("f.csv", &["a"], &ReadOptions::default()).is_err());
    }
}
