//! A column that says of each edge whether it is directed, as Gephi writes it: `Type`, with
//! `Directed` or `Undirected` in each row.
//!
//! Invariant: all rows say the same; the first one that does not is an error with its line, unless
//! the user says what edges are, so that nothing is looked at.

use super::fields::show;
use super::sniff::Row;
use crate::columns::{Columns, names};
use crate::options::ReadOptions;

/// Direction of all edges, as rows say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Direction {
    /// Place of the column, from 0.
    pub(super) column: usize,
    pub(super) undirected: bool,
    name: String,
    /// The word of the first row.
    word: String,
}

impl Direction {
    /// The column of this kind, if there is one.
    ///
    /// # Errors
    /// The difference, where rows differ.
    pub(super) fn find(
        header: Option<&[String]>,
        body: &[Row<'_>],
        columns: Columns,
        options: &ReadOptions,
    ) -> Result<Option<Self>, String> {
        let Some(header) = header.filter(|_| options.undirected.is_none()) else { return Ok(None) };
        let used = [Some(columns.source), Some(columns.target), columns.weight];
        for (column, name) in header.iter().enumerate() {
            let kind = names::plain(name);
            let known = matches!(&kind[..], "type" | "directed" | "edge_type" | "directionality");
            if !known || used.contains(&Some(column)) {
                continue;
            }
            let mut cells = body.iter().filter_map(|row| row.get(column));
            let Some(first) = cells.next() else { continue };
            let Some(undirected) = said(&kind, first) else { continue };
            let word = String::from_utf8_lossy(first).into_owned();
            let direction = Self { column, undirected, name: name.clone(), word };
            // A column of other words says nothing of directions.
            if cells.clone().all(|cell| said(&kind, cell).is_some()) {
                cells.try_for_each(|cell| direction.check(cell))?;
                return Ok(Some(direction));
            }
        }
        Ok(None)
    }

    /// Refuses what says otherwise than the first row.
    pub(super) fn check(&self, cell: &[u8]) -> Result<(), String> {
        if said(&names::plain(&self.name), cell) == Some(self.undirected) {
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
    pub(super) fn note(&self) -> String {
        let kind = if self.undirected { "undirected" } else { "directed" };
        format!("edges are {kind}, as the column {:?} says", self.name)
    }
}

/// Whether an edge is undirected by the value of a column of this name.
fn said(kind: &str, cell: &[u8]) -> Option<bool> {
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
    use std::borrow::Cow;

    use super::*;

    fn find(name: &str, cells: &[&str], options: &ReadOptions) -> Result<Option<bool>, String> {
        let header = ["Source", "Target", name].map(str::to_owned);
        let row = |cell: &&str| -> Row<'static> {
            [*b"1", *b"2"]
                .iter()
                .map(|cell| Cow::Owned(cell.to_vec()))
                .chain([Cow::Owned(cell.as_bytes().to_vec())])
                .collect()
        };
        let body: Vec<Row<'_>> = cells.iter().map(row).collect();
        let columns = Columns { source: 0, target: 1, weight: None };
        let found = Direction::find(Some(&header), &body, columns, options)?;
        Ok(found.map(|direction| direction.undirected))
    }

    #[test]
    fn a_column_of_one_word_says_what_edges_are() {
        let free = ReadOptions::default();
        assert_eq!(find("Type", &["Undirected", "undirected"], &free), Ok(Some(true)));
        assert_eq!(find("type", &["Directed"], &free), Ok(Some(false)));
        assert_eq!(find("directed", &["FALSE", "false"], &free), Ok(Some(true)));
        assert_eq!(find("directed", &["1"], &free), Ok(Some(false)));
        assert_eq!(find("Type", &["KNOWS", "Directed"], &free), Ok(None));
        assert_eq!(find("Type", &["1"], &free), Ok(None));
        assert_eq!(find("Kind", &["Directed"], &free), Ok(None));
        let error = find("Type", &["Directed", "Undirected"], &free).unwrap_err();
        assert!(error.contains("expected \"Directed\" in the column \"Type\""), "{error}");
        let said = ReadOptions { undirected: Some(true), ..free };
        assert_eq!(find("Type", &["Directed", "Undirected"], &said), Ok(None));
    }
}
