//! A column that says of each edge whether it is directed, as Gephi writes it: `Type`, with
//! `Directed` or `Undirected` in each row. One rule serves text, tables and frames.
//!
//! Invariant: all rows say the same; the first one that does not is an error with its line
//! or row, unless the user says what edges are, so that nothing is looked at. Tested by
//! `a_column_of_one_word_says_what_edges_are` and `what_the_user_says_about_direction_wins`.

use crate::columns::names;
use crate::words::show;

/// Direction of all edges, as rows say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Direction {
    /// Place of the column, from 0.
    pub(crate) column: usize,
    pub(crate) undirected: bool,
    name: String,
    /// The word of the first row that has one.
    word: String,
}

/// Whether a column of this name may say what edges are.
pub(crate) fn is_called(name: &str) -> bool {
    matches!(&names::plain(name)[..], "type" | "directed" | "edge_type" | "directionality")
}

impl Direction {
    /// The direction that a column of the name says in the first rows, if it says one.
    ///
    /// # Errors
    /// The difference, where these rows differ.
    pub(crate) fn of<'a>(
        column: usize,
        name: &str,
        mut cells: impl Iterator<Item = &'a [u8]> + Clone,
    ) -> Result<Option<Self>, String> {
        let kind = names::plain(name);
        let first = cells.clone().find(|cell| !cell.is_empty()).filter(|_| is_called(name));
        let first = first.and_then(|cell| Some((cell, undirected_by(&kind, cell)?)));
        let Some((first, undirected)) = first else {
            return Ok(None);
        };
        // A column of other words says nothing of directions; one that lacks some does.
        if !cells.clone().all(|cell| cell.is_empty() || undirected_by(&kind, cell).is_some()) {
            return Ok(None);
        }
        let word = String::from_utf8_lossy(first).into_owned();
        let direction = Self { column, undirected, name: name.to_owned(), word };
        cells.try_for_each(|cell| direction.check(cell))?;
        Ok(Some(direction))
    }

    /// Refuses what says otherwise than the first row.
    pub(crate) fn check(&self, cell: &[u8]) -> Result<(), String> {
        if undirected_by(&names::plain(&self.name), cell) == Some(self.undirected) {
            return Ok(());
        }
        Err(format!(
            "expected {:?} in the column {:?}, as in the first rows, found {} (--directed and \
             --undirected take all edges alike; GEXF and GraphML keep edges of both kinds)",
            self.word,
            self.name,
            show(cell)
        ))
    }

    /// Note for a person.
    pub(crate) fn note(&self) -> String {
        let kind = if self.undirected { "undirected" } else { "directed" };
        format!("edges are {kind}, as the column {:?} says", self.name)
    }
}

/// Whether an edge is undirected by the value of a column of this name.
fn undirected_by(kind: &str, cell: &[u8]) -> Option<bool> {
    let is = |words: &[&str]| words.iter().any(|word| word.as_bytes().eq_ignore_ascii_case(cell));
    match kind {
        _ if is(&["undirected"]) => Some(true),
        _ if is(&["directed"]) => Some(false),
        "directed" if is(&["false", "0", "no"]) => Some(true),
        "directed" if is(&["true", "1", "yes"]) => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(name: &str, cells: &[&str]) -> Result<Option<bool>, String> {
        let cells = cells.iter().map(|cell| cell.as_bytes());
        let found = Direction::of(2, name, cells)?;
        Ok(found.map(|direction| direction.undirected))
    }

    #[test]
    fn a_column_of_one_word_says_what_edges_are() {
        assert_eq!(find("Type", &["Undirected", "undirected"]), Ok(Some(true)));
        assert_eq!(find("type", &["Directed"]), Ok(Some(false)));
        assert_eq!(find("directed", &["FALSE", "false"]), Ok(Some(true)));
        assert_eq!(find("directed", &["1"]), Ok(Some(false)));
        for cells in [&["KNOWS", "Directed"][..], &["Directed", "KNOWS"], &["1"], &["", ""], &[]] {
            assert_eq!(find("Type", cells), Ok(None), "{cells:?}");
        }
        assert_eq!(find("Kind", &["Directed"]), Ok(None));
        for cells in [["Directed", "Undirected"], ["Directed", ""], ["", "Directed"]] {
            let error = find("Type", &cells).unwrap_err();
            assert!(error.contains("expected \"Directed\" in the column \"Type\""), "{error}");
        }
    }
}
