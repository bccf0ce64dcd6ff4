//! Tables: aligned for people, Markdown for docs/notebook.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

/// A table with a title and remarks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) title: String,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    /// Sentences below the table.
    pub(crate) notes: Vec<String>,
}

impl Table {
    pub(crate) fn new(title: impl Into<String>, columns: &[&str]) -> Self {
        let columns = columns.iter().map(|&column| column.to_owned()).collect();
        Self { title: title.into(), columns, ..Self::default() }
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells);
    }

    pub(crate) fn note(&mut self, sentence: impl Into<String>) {
        self.notes.push(sentence.into());
    }

    /// The table as text; the first column is left-aligned, the others right.
    pub(crate) fn show(&self, markdown: bool) -> String {
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|column| {
                let cells = self.rows.iter().map(|row| row[column].chars().count());
                cells.chain([self.columns[column].chars().count(), 3]).max().unwrap_or(0)
            })
            .collect();
        let line = |cells: &[String]| {
            let mut text = String::new();
            for (column, (cell, width)) in cells.iter().zip(&widths).enumerate() {
                let gap = if markdown { " | " } else { "  " };
                text.push_str(if column == 0 { "" } else { gap });
                let pad = " ".repeat(width - cell.chars().count());
                let both = if column == 0 { [cell, &pad] } else { [&pad, cell] };
                text.extend(both.map(String::as_str));
            }
            if markdown { format!("| {text} |") } else { text.trim_end().to_owned() }
        };
        let mut out = String::new();
        let _ = writeln!(out, "{}{}", if markdown { "## " } else { "== " }, self.title);
        if markdown {
            out.push('\n');
        }
        let _ = writeln!(out, "{}", line(&self.columns));
        if markdown {
            let rule = widths.iter().enumerate().map(|(column, &width)| {
                let dashes = "-".repeat(width);
                if column == 0 { format!(" {dashes} ") } else { format!(" {}: ", &dashes[1..]) }
            });
            let _ = writeln!(out, "|{}|", rule.collect::<Vec<_>>().join("|"));
        }
        for row in &self.rows {
            let _ = writeln!(out, "{}", line(row));
        }
        let mut notes = self.notes.iter();
        if let Some(first) = notes.next() {
            let _ = writeln!(out, "{}{first}", if markdown { "\n" } else { "" });
        }
        for note in notes {
            let _ = writeln!(out, "{note}");
        }
        out
    }
}

/// `1.23`, with about three digits that count.
pub(crate) fn digits(value: f64) -> String {
    let places = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        _ => 2,
    };
    if value.is_finite() { format!("{value:.places$}") } else { "-".to_owned() }
}

/// `1.23x`, or a dash where there is nothing to compare with.
pub(crate) fn ratio(value: Option<f64>) -> String {
    match value {
        Some(value) if value.is_finite() => format!("{}x", digits(value)),
        _ => "-".to_owned(),
    }
}

/// Gigabytes, 10^9 bytes.
pub(crate) fn gigabytes(bytes: u64) -> String {
    format!("{:.2}", bytes as f64 / 1e9)
}

/// Puts `text` between the lines `<!-- begin NAME -->` and `<!-- end NAME -->` of a file.
///
/// # Errors
/// When the file cannot be read or written, or has no such lines.
pub(crate) fn replace_section(path: &Path, name: &str, text: &str) -> Result<()> {
    let old = fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    let Some(new) = with_section(&old, name, text) else {
        bail!("{} has no lines `<!-- begin {name} -->`, `<!-- end {name} -->`", path.display());
    };
    fs::write(path, new).with_context(|| format!("writing {}", path.display()))
}

fn with_section(old: &str, name: &str, text: &str) -> Option<String> {
    let (begin, end) = (format!("<!-- begin {name} -->\n"), format!("<!-- end {name} -->"));
    let start = old.find(&begin)? + begin.len();
    let length = old[start..].find(&end)?;
    Some(format!("{}{}\n{}", &old[..start], text.trim_end(), &old[start + length..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new("speed", &["who", "ns"]);
        table.row(vec!["welter".to_owned(), "0.70".to_owned()]);
        table.row(vec!["CSR".to_owned(), "12.5".to_owned()]);
        table.note("Lower is better.");
        table
    }

    #[test]
    fn tables_are_aligned() {
        let text = "== speed\nwho       ns\nwelter  0.70\nCSR     12.5\nLower is better.\n";
        assert_eq!(table().show(false), text);
        let text = "## speed\n\n| who    |   ns |\n| ------ | ---: |\n| welter | 0.70 |\n\
            | CSR    | 12.5 |\n\nLower is better.\n";
        assert_eq!(table().show(true), text);
    }

    #[test]
    fn numbers_keep_three_digits() {
        assert_eq!([0.123, 12.34, 123.4, f64::NAN].map(digits), ["0.12", "12.3", "123", "-"]);
        assert_eq!([Some(2.5), None].map(ratio), ["2.50x", "-"]);
    }

    #[test]
    fn a_section_is_replaced_and_the_rest_kept() {
        let old = "a\n<!-- begin x -->\nold\n<!-- end x -->\nb\n";
        let new = "a\n<!-- begin x -->\nnew\n<!-- end x -->\nb\n";
        assert_eq!(with_section(old, "x", "new\n").as_deref(), Some(new));
        assert_eq!(with_section(old, "y", "new"), None);
    }
}
