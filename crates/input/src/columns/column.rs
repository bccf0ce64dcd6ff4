//! Columns of a table, as far as the choice among them depends on it.

/// Content of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
    /// Unknown content.
    Unknown,
    /// No values.
    Nothing,
    /// Integers, or numbers that can be read as such.
    Integers,
    /// Numbers with fractions.
    Numbers,
    /// Floats, perhaps without fractions.
    Floats,
    /// Numbers, and a few strings among them.
    Mostly,
    /// Strings.
    Names,
    /// Integers and strings.
    Mixed,
    /// Dictionaries of attributes.
    Dictionaries,
    /// Values that are neither ids nor weights, such as dates.
    Others,
}

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column<'a> {
    /// Name of the column, where columns have names.
    pub(crate) name: Option<&'a str>,
    pub(crate) holds: Holds,
    /// Whether it numbers the rows, from 0 or 1.
    pub(crate) counts_rows: bool,
}

/// A column as messages show it.
pub(super) fn show(columns: &[Column<'_>], place: usize) -> String {
    match columns.get(place).and_then(|column| column.name) {
        Some(name) => format!("\"{name}\""),
        None => (place + 1).to_string(),
    }
}

/// Columns as messages show them.
pub(super) fn list(columns: &[Column<'_>], places: &[usize]) -> String {
    let shown: Vec<_> = places.iter().take(20).map(|place| show(columns, *place)).collect();
    format!("the columns {}", shown.join(", "))
}
