//! The top of a table, for the terminal: the vertices with the highest results.
//!
//! Vertices with equal results come in the order of their ids.

use std::cmp::Ordering;
use std::fmt::Write;

use unicode_width::UnicodeWidthStr;
use welter_model::table::{ColumnData, Table, VertexColumn};

use crate::failure::printable;

/// Digits that tell results apart.
const DIGITS: i32 = 6;

/// The `count` rows with the highest values of the first column, highest first.
pub(crate) fn render(table: &Table, count: usize) -> String {
    let Some(first) = table.columns.first() else { return String::new() };
    let rows = highest(&first.data, count);
    let mut columns = vec![numbers(rows.len()), ids(&table.vertices, &rows)];
    columns.extend(table.columns.iter().map(|column| Shown {
        title: column.name.clone(),
        cells: cells(&column.data, &rows),
        left: false,
    }));
    let mut text = String::new();
    // One line for the titles, then one for each row.
    for line in 0..=rows.len() {
        let cells: Vec<String> = columns.iter().map(|column| column.padded(line)).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", cells.join("  ").trim_end());
    }
    text
}

/// A column as text.
struct Shown {
    title: String,
    cells: Vec<String>,
    /// Whether it is aligned on the left, as text is.
    left: bool,
}

impl Shown {
    /// The title (line 0) or a cell, as wide as the widest.
    fn padded(&self, line: usize) -> String {
        let lines = || std::iter::once(&self.title).chain(&self.cells);
        let width = lines().map(|cell| cell.width()).max().unwrap_or(0);
        let cell = lines().nth(line).map_or("", String::as_str);
        let padding = " ".repeat(width - cell.width());
        if self.left { format!("{cell}{padding}") } else { format!("{padding}{cell}") }
    }
}

fn numbers(rows: usize) -> Shown {
    let cells = (1..=rows).map(|number| number.to_string()).collect();
    Shown { title: String::new(), cells, left: false }
}

fn ids(vertices: &VertexColumn, rows: &[usize]) -> Shown {
    let cell = |row: &usize| match vertices {
        VertexColumn::Range(ids) => (ids.start + *row as u64).to_string(),
        VertexColumn::Integers(ids) => ids[*row].to_string(),
        VertexColumn::Names(names) => printable(names.get(*row)),
    };
    let left = matches!(vertices, VertexColumn::Names(_));
    Shown { title: "vertex".to_owned(), cells: rows.iter().map(cell).collect(), left }
}

/// The rows with the highest values, highest first.
fn highest(data: &ColumnData, count: usize) -> Vec<usize> {
    match data {
        ColumnData::F32(values) => select(values, count, f32::total_cmp),
        ColumnData::F64(values) => select(values, count, f64::total_cmp),
        ColumnData::U32(values) => select(values, count, Ord::cmp),
        ColumnData::U64(values) => select(values, count, Ord::cmp),
        ColumnData::I64(values) => select(values, count, Ord::cmp),
        _ => Vec::new(),
    }
}

fn select<T>(values: &[T], count: usize, compare: impl Fn(&T, &T) -> Ordering) -> Vec<usize> {
    let falling = |a: &usize, b: &usize| compare(&values[*b], &values[*a]).then_with(|| a.cmp(b));
    let count = count.min(values.len());
    let mut rows: Vec<usize> = (0..values.len()).collect();
    if count > 0 && count < rows.len() {
        rows.select_nth_unstable_by(count - 1, falling);
    }
    rows.truncate(count);
    rows.sort_unstable_by(falling);
    rows
}

/// The values of some rows as text. Floats of one column have equally many digits after the point.
fn cells(data: &ColumnData, rows: &[usize]) -> Vec<String> {
    match data {
        ColumnData::F32(values) => floats(rows.iter().map(|&row| values[row].into())),
        ColumnData::F64(values) => floats(rows.iter().map(|&row| values[row])),
        ColumnData::U32(values) => rows.iter().map(|&row| values[row].to_string()).collect(),
        ColumnData::U64(values) => rows.iter().map(|&row| values[row].to_string()).collect(),
        ColumnData::I64(values) => rows.iter().map(|&row| values[row].to_string()).collect(),
        _ => vec![String::new(); rows.len()],
    }
}

fn floats(values: impl Iterator<Item = f64> + Clone) -> Vec<String> {
    let largest = values
        .clone()
        .filter(|value| value.is_finite())
        .fold(0.0, |largest: f64, value| largest.max(value.abs()));
    let whole = values.clone().all(|value| value.fract() == 0.0);
    let magnitude = if largest > 0.0 { largest.log10().floor() as i32 } else { 0 };
    if !(-9..15).contains(&magnitude) {
        return values.map(|value| format!("{value:.5e}")).collect();
    }
    let digits = if whole { 0 } else { (DIGITS - 1 - magnitude).max(1) as usize };
    values.map(|value| format!("{value:.digits$}")).collect()
}

#[cfg(test)]
mod tests {
    use welter_model::ids::Names;
    use welter_model::table::Column;

    use super::*;

    fn table(vertices: VertexColumn, values: Vec<f64>) -> Table {
        Table {
            vertices,
            columns: vec![Column { name: "rank".into(), data: ColumnData::F64(values) }],
        }
    }

    #[test]
    fn the_highest_come_first_and_equal_ones_in_the_order_of_ids() {
        let names: Names = ["a", "bb", "c", "d"].into_iter().collect();
        let table = table(VertexColumn::Names(names), vec![0.1, 0.25, 0.1, 0.55]);
        let lines = [
            "   vertex      rank",
            "1  d       0.550000",
            "2  bb      0.250000",
            "3  a       0.100000",
        ];
        assert_eq!(render(&table, 3), lines.join("\n") + "\n");
        assert_eq!(render(&table, 99).lines().count(), 5);
        assert_eq!(render(&table, 0).lines().count(), 1);
    }

    #[test]
    fn integers_are_aligned_on_the_right_and_whole_numbers_have_no_fraction() {
        let table = table(VertexColumn::Integers(vec![7, 1000]), vec![3.0, 12.0]);
        assert_eq!(render(&table, 2), "   vertex  rank\n1    1000    12\n2       7     3\n");
    }

    #[test]
    fn numbers_of_any_size_are_shown() {
        assert_eq!(floats([1234.5, 0.25].into_iter()), ["1234.50", "0.25"]);
        assert_eq!(floats([1e-12].into_iter()), ["1.00000e-12"]);
        assert_eq!(floats([0.000_123_456_7].into_iter()), ["0.000123457"]);
        assert_eq!(floats([f64::NAN, f64::INFINITY].into_iter()), ["NaN", "inf"]);
    }
}
