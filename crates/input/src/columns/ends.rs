//! Columns that are the ends of edges where the user does not say.

use super::column::{Column, Holds, list, show};
use super::names;
use crate::options::{IdKind, ReadOptions};

/// Two columns, and what a person should know about the choice.
#[derive(Debug)]
pub(super) struct Guess {
    pub(super) ends: [usize; 2],
    pub(super) note: Option<String>,
}

/// Advice where the ends cannot be known.
const REMEDY: &str = "--source-column and --target-column say which they are";

/// Guesses the ends, or says why that cannot be done.
pub(super) fn guess(columns: &[Column<'_>], options: &ReadOptions) -> Result<Guess, String> {
    if columns.len() < 2 {
        // Rows of text without a second column are errors with their lines.
        if columns.iter().all(|column| column.name.is_none()) {
            return Ok(Guess { ends: [0, 1], note: None });
        }
        let all: Vec<usize> = (0..columns.len()).collect();
        return Err(format!(
            "expected a source and a target column, found {}",
            list(columns, &all)
        ));
    }
    let names: Option<Vec<&str>> = columns.iter().map(|column| column.name).collect();
    let telling = names.as_deref().and_then(names::ends);
    let guess = match telling {
        Some(ends) => Guess { ends, note: None },
        None => first_two(columns, names.is_some())?,
    };
    alike(columns, guess.ends, options)?;
    Ok(guess)
}

/// The column beside one that was said, where there are but two.
pub(super) fn beside(stated: Option<usize>, columns: &[Column<'_>]) -> Option<Guess> {
    let stated = stated?;
    (columns.len() == 2).then_some(Guess { ends: [stated, 1 - stated.min(1)], note: None })
}

/// Refuses ends of different kinds, unless the user says what ids are.
fn alike(columns: &[Column<'_>], ends: [usize; 2], options: &ReadOptions) -> Result<(), String> {
    let [source, target] = ends.map(|place| columns[place].holds);
    let differ = matches!(
        (source, target),
        (Holds::Integers, Holds::Names) | (Holds::Names, Holds::Integers)
    );
    if !differ || options.ids != IdKind::Auto && !options.guessed_ids {
        return Ok(());
    }
    let [source, target] = ends.map(|place| show(columns, place));
    let (integers, names) =
        if columns[ends[0]].holds == Holds::Integers { (source, target) } else { (target, source) };
    Err(format!(
        "expected two columns of ids of one kind, found integers in column {integers} and names in \
         column {names} ({REMEDY}; --ids strings takes them as they are)"
    ))
}

/// The first two columns, an index left out, if nothing speaks against them.
fn first_two(columns: &[Column<'_>], named: bool) -> Result<Guess, String> {
    let index = |place: usize| {
        let column = &columns[place];
        let name = column.name.unwrap_or_default();
        let unnamed = name.trim().is_empty() || name.starts_with("Unnamed");
        named && names::is_index(name) && (unnamed || column.counts_rows)
    };
    let empty = |place: usize| columns[place].holds == Holds::Nothing;
    let mut places: Vec<usize> =
        (0..columns.len()).filter(|place| !index(*place) && !empty(*place)).collect();
    if places.len() < 2 {
        places = (0..columns.len()).collect();
    }
    let ends = [places[0], places[1]];
    let unfit = |place: &&usize| {
        matches!(columns[**place].holds, Holds::Numbers | Holds::Others | Holds::Dictionaries)
    };
    if let Some(place) = ends.iter().find(unfit) {
        let what = match columns[*place].holds {
            Holds::Numbers => "numbers with fractions",
            Holds::Dictionaries => "dictionaries",
            _ => "dates or other values",
        };
        let column = show(columns, *place);
        return Err(format!("expected ids in column {column}, found {what} ({REMEDY})"));
    }
    let is_word = |place: &usize| columns[*place].holds == Holds::Names;
    let further: Vec<usize> = places[2..].iter().copied().filter(is_word).collect();
    let attribute = |place: &usize| columns[*place].name.is_some_and(names::is_attribute);
    let words = ends.iter().all(is_word);
    if words && !further.iter().all(attribute) {
        let count = ends.len() + further.len();
        return Err(format!(
            "expected two columns that are the ends, found {count} columns of names ({REMEDY})"
        ));
    }
    let [first, second] = ends.map(|place| columns[place].name.unwrap_or_default());
    let described = words && ends.iter().any(attribute) && !names::are_of_one_sort(first, second);
    let numbers = ends.iter().all(|place| columns[*place].holds == Holds::Integers);
    if described || numbers && names::describes(second, first) {
        let [first, second] = ends.map(|place| show(columns, place));
        return Err(format!(
            "expected two columns that are the ends, found {first} and {second}, of which one \
             seems to say something of the other ({REMEDY})"
        ));
    }
    let sure = columns.len() == 2 || !named;
    let note = (!sure).then(|| {
        let [source, target] = ends.map(|place| show(columns, place));
        format!("no names of columns tell source from target; taken are {source} and {target}")
    });
    Ok(Guess { ends, note })
}
