//! The top of a table, for the terminal: the vertices with the highest results, or the largest
//! groups of them.
//!
//! Equal rows come in the order of the ids. Results are looked through in one pass: of each part
//! the best rows are kept, and of these the best now and then. Groups take four bytes a vertex to
//! count.

use std::cmp::Ordering;
use std::fmt::Write;

use unicode_width::UnicodeWidthStr;
use welter_model::table::{Column, ColumnData, Columns, Id, NO_VERTEX, Table, VertexColumn};
use welter_model::two_kinds::Side;

use crate::failure::{Failure, printable};
use crate::number_format::grouped;
use crate::parts::{PART_ROWS, for_parts};

/// Digits by which results differ.
const DIGITS: i32 = 6;

/// Top of a table, judged by its first column; of a list, by its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Top {
    /// The vertices with the highest values.
    Highest,
    /// The vertices with the highest values, but infinity is for those that were not reached, which
    /// come last.
    Farthest,
    /// The rows of a list with the highest values.
    Heaviest,
    /// The rows of a list with the lowest values.
    Lightest,
    /// The vertices that most vertices have as their value, with the number of those.
    Groups,
}

/// The `count` first rows.
pub(crate) fn render(
    table: &Table<dyn Columns>,
    top: Top,
    count: usize,
) -> Result<String, Failure> {
    let Table { vertices, columns } = table;
    let heads = columns.part(0..0).map_err(Failure::read)?;
    let Some(first) = judged(&heads) else { return Ok(String::new()) };
    if let (Top::Groups, ColumnData::Vertices(_)) = (top, &first.data) {
        return groups(&first.name, vertices, sizes(columns, vertices.len())?, count);
    }
    let is_list = columns.listed().is_some();
    let rows = columns.listed().unwrap_or(vertices.len());
    let Best { rows, columns } = Best::of(columns, rows, top, count)?;
    let mut shown = vec![numbers(rows.len())];
    if !is_list {
        shown.push(ids("vertex", vertices, rows));
    }
    shown.extend(columns.into_iter().map(|Column { name, data }| match &data {
        ColumnData::Vertices(values) => {
            ids(&name, vertices, values.iter().map(|&vertex| vertex as usize))
        }
        _ => of_values(Column { name, data }),
    }));
    Ok(lines(&shown))
}

/// The `count` first rows as they are shown: their numbers, where rows are vertices, and their
/// columns. Of groups, the vertex that each is named by, and how many have it.
pub(crate) fn best(
    table: &Table<dyn Columns>,
    top: Top,
    count: usize,
) -> Result<(Option<Vec<usize>>, Vec<Column>), Failure> {
    let Table { vertices, columns } = table;
    let heads = columns.part(0..0).map_err(Failure::read)?;
    if let (Top::Groups, Some(Column { name, data: ColumnData::Vertices(_) })) =
        (top, heads.into_iter().find(|head| !is_sides(head)))
    {
        let (rows, sizes) = largest(sizes(columns, vertices.len())?, count)?;
        let rows: Vec<u64> = rows.into_iter().map(|row| row as u64).collect();
        let sizes = Column { name: "vertices".to_owned(), data: ColumnData::U32(sizes) };
        let sides = sides(&name, vertices, &rows);
        let groups = Column { name, data: ColumnData::Vertices(rows) };
        return Ok((None, [groups].into_iter().chain(sides).chain([sizes]).collect()));
    }
    let listed = columns.listed();
    let Best { rows, columns } = Best::of(columns, listed.unwrap_or(vertices.len()), top, count)?;
    Ok((Some(rows).filter(|_| listed.is_none()), columns))
}

/// The groups with the most vertices, and how many these are.
fn largest(sizes: Vec<u32>, count: usize) -> Result<(Vec<usize>, Vec<u32>), Failure> {
    let rows = sizes.len();
    let sizes = vec![Column { name: String::new(), data: ColumnData::U32(sizes) }];
    let Best { mut rows, mut columns } = Best::of(&sizes, rows, Top::Highest, count)?;
    let mut sizes = match columns.pop().map(|column| column.data) {
        Some(ColumnData::U32(sizes)) => sizes,
        _ => Vec::new(),
    };
    sizes.truncate(sizes.iter().take_while(|size| **size > 0).count());
    rows.truncate(sizes.len());
    Ok((rows, sizes))
}

/// The largest groups, named by their vertices.
fn groups(
    title: &str,
    vertices: &VertexColumn,
    sizes: Vec<u32>,
    count: usize,
) -> Result<String, Failure> {
    let (rows, sizes) = largest(sizes, count)?;
    let cell = |(&row, &size): (&usize, &u32)| match vertices.get(row) {
        Id::Others(_) => format!("{} each", grouped(size.into())),
        _ => grouped(size.into()),
    };
    let cells = rows.iter().zip(&sizes).map(cell).collect();
    let sizes = TextColumn { title: "vertices".to_owned(), cells, left: false };
    let groups: Vec<u64> = rows.iter().map(|row| *row as u64).collect();
    let sides = sides(title, vertices, &groups).map(of_values);
    let groups = [numbers(rows.len()), ids(title, vertices, rows)];
    Ok(lines(&groups.into_iter().chain(sides).chain([sizes]).collect::<Vec<_>>()))
}

/// The column by which rows are judged: the first that says more than which side a vertex is of.
fn judged(columns: &[Column]) -> Option<&Column> {
    columns.iter().find(|column| !is_sides(column))
}

fn is_sides(column: &Column) -> bool {
    matches!(column.data, ColumnData::Sides(_))
}

/// The sides of groups that are named by these vertices, where there are two.
fn sides(title: &str, vertices: &VertexColumn, groups: &[u64]) -> Option<Column> {
    let VertexColumn::TwoKinds(ids) = vertices else { return None };
    let sides = groups.iter().map(|vertex| Some(ids.side(*vertex))).collect();
    Some(Column { name: format!("{title}_side"), data: ColumnData::Sides(sides) })
}

/// A column of values as text.
fn of_values(Column { name, data }: Column) -> TextColumn {
    let left = matches!(data, ColumnData::Sides(_));
    TextColumn { title: name, cells: cells(&data), left }
}

/// Number of rows that have each vertex as the value of their first column.
pub(crate) fn sizes(columns: &dyn Columns, rows: usize) -> Result<Vec<u32>, Failure> {
    let mut sizes = vec![0; rows];
    for_parts(columns, rows, |_, part| {
        let Some(ColumnData::Vertices(values)) = judged(&part).map(|column| &column.data) else {
            return;
        };
        for value in values {
            if let Some(size) = sizes.get_mut(*value as usize) {
                *size += 1;
            }
        }
    })?;
    Ok(sizes)
}

/// The rows with the highest values in the first column, highest first.
struct Best {
    rows: Vec<usize>,
    columns: Vec<Column>,
}

impl Best {
    fn of(columns: &dyn Columns, rows: usize, top: Top, count: usize) -> Result<Self, Failure> {
        let heads = columns.part(0..0).map_err(Failure::read)?;
        let mut best = Self { rows: Vec::new(), columns: heads };
        // Seldom enough that all times together cost no more than the parts do.
        let full = count.saturating_mul(2).saturating_add(PART_ROWS);
        for_parts(columns, rows, |first, part| {
            let chosen = highest(&part, top, count);
            best.rows.extend(chosen.iter().map(|row| first + row));
            for (column, more) in best.columns.iter_mut().zip(part) {
                column.data.append(more.data.picked(&chosen));
            }
            if best.rows.len() > full {
                best.keep(top, count);
            }
        })?;
        best.keep(top, count);
        Ok(best)
    }

    /// Keeps the first `count` in order. Rows with equal values ascend before and after.
    fn keep(&mut self, top: Top, count: usize) {
        let chosen = highest(&self.columns, top, count);
        self.rows = chosen.iter().map(|&place| self.rows[place]).collect();
        for column in &mut self.columns {
            column.data = column.data.picked(&chosen);
        }
    }
}

/// Columns side by side.
fn lines(columns: &[TextColumn]) -> String {
    let rows = columns.iter().map(|column| column.cells.len()).max().unwrap_or(0);
    let widths: Vec<usize> = columns.iter().map(TextColumn::width).collect();
    let mut text = String::new();
    // One line for the titles, then one for each row.
    for line in 0..=rows {
        let padded = |(column, width): (&TextColumn, &usize)| column.padded(line, *width);
        let cells: Vec<String> = columns.iter().zip(&widths).map(padded).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", cells.join("  ").trim_end());
    }
    text
}

/// A column as text.
struct TextColumn {
    title: String,
    cells: Vec<String>,
    /// Whether it is aligned on the left, as text is.
    left: bool,
}

impl TextColumn {
    /// Width of the widest of the title and the cells, in columns of a terminal.
    fn width(&self) -> usize {
        let lines = std::iter::once(&self.title).chain(&self.cells);
        lines.map(|cell| cell.width()).max().unwrap_or(0)
    }

    /// The title (line 0) or a cell, as wide as that.
    fn padded(&self, line: usize, width: usize) -> String {
        let cell = match line.checked_sub(1) {
            None => Some(&self.title),
            Some(row) => self.cells.get(row),
        };
        let cell = cell.map_or("", String::as_str);
        let padding = " ".repeat(width - cell.width());
        if self.left { format!("{cell}{padding}") } else { format!("{padding}{cell}") }
    }
}

fn numbers(rows: usize) -> TextColumn {
    let cells = (1..=rows).map(|number| number.to_string()).collect();
    TextColumn { title: String::new(), cells, left: false }
}

fn ids(title: &str, vertices: &VertexColumn, rows: impl IntoIterator<Item = usize>) -> TextColumn {
    let cell = |row: usize| {
        if row == NO_VERTEX as usize {
            return "-".to_owned();
        }
        match vertices.get(row) {
            Id::Integer(id) => id.to_string(),
            Id::Name(name) => printable(name),
            Id::Others(count) => format!("({} others)", grouped(count)),
        }
    };
    let left = vertices.are_names();
    TextColumn { title: title.to_owned(), cells: rows.into_iter().map(cell).collect(), left }
}

/// The rows with the highest values in the column that is judged, highest first.
fn highest(columns: &[Column], top: Top, count: usize) -> Vec<usize> {
    let by = match top {
        Top::Heaviest | Top::Lightest => columns.last(),
        Top::Highest | Top::Farthest | Top::Groups => judged(columns),
    };
    let Some(Column { data, .. }) = by else { return Vec::new() };
    let key = |value: f64| match top {
        Top::Farthest if value.is_infinite() => f64::NEG_INFINITY,
        Top::Lightest => -value,
        _ => value,
    };
    match data {
        ColumnData::F32(values) => {
            select(values, count, |a, b| key((*a).into()).total_cmp(&key((*b).into())))
        }
        ColumnData::F64(values) => select(values, count, |a, b| key(*a).total_cmp(&key(*b))),
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

/// Values as text. Floats of one column have equally many digits after the point.
fn cells(data: &ColumnData) -> Vec<String> {
    match data {
        ColumnData::F32(values) => floats(values.iter().map(|&value| value.into())),
        ColumnData::F64(values) => floats(values.iter().copied()),
        ColumnData::U32(values) => values.iter().map(u32::to_string).collect(),
        ColumnData::U64(values) => values.iter().map(u64::to_string).collect(),
        ColumnData::I64(values) => values.iter().map(i64::to_string).collect(),
        ColumnData::Sides(values) => {
            values.iter().map(|side| side.map_or("-", Side::name).to_owned()).collect()
        }
        _ => vec![String::new(); data.len()],
    }
}

fn floats(values: impl Iterator<Item = f64> + Clone) -> Vec<String> {
    let largest = values
        .clone()
        .filter(|value| value.is_finite())
        .fold(0.0, |largest: f64, value| largest.max(value.abs()));
    let whole = values.clone().all(|value| !value.is_finite() || value.fract() == 0.0);
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

    use super::*;

    fn render(table: &Table, top: Top, count: usize) -> String {
        super::render(table, top, count).unwrap()
    }

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
        assert_eq!(render(&table, Top::Highest, 3), lines.join("\n") + "\n");
        assert_eq!(render(&table, Top::Highest, 99).lines().count(), 5);
        assert_eq!(render(&table, Top::Highest, 0).lines().count(), 1);
    }

    #[test]
    fn integers_are_aligned_on_the_right_and_whole_numbers_have_no_fraction() {
        let table = table(VertexColumn::Integers(vec![7, 1000]), vec![3.0, 12.0]);
        let lines = "   vertex  rank\n1    1000    12\n2       7     3\n";
        assert_eq!(render(&table, Top::Highest, 2), lines);
    }

    #[test]
    fn what_was_not_reached_comes_last() {
        let table = table(VertexColumn::Range(0..3), vec![7.0, f64::INFINITY, 12.0]);
        let lines = "   vertex  rank\n1       2    12\n2       0     7\n3       1   inf\n";
        assert_eq!(render(&table, Top::Farthest, 3), lines);
        assert!(render(&table, Top::Highest, 1).contains("inf"));
    }

    #[test]
    fn vertices_are_shown_as_their_ids() {
        let names: Names = ["a", "bb", "c"].into_iter().collect();
        let column = |name: &str, data| Column { name: name.into(), data };
        let depths = column("depth", ColumnData::I64(vec![0, 1, -1]));
        let parents = column("parent", ColumnData::Vertices(vec![0, 0, NO_VERTEX]));
        let table = Table { vertices: VertexColumn::Names(names), columns: vec![depths, parents] };
        let lines = [
            "   vertex  depth  parent",
            "1  bb          1  a",
            "2  a           0  a",
            "3  c          -1  -",
        ];
        assert_eq!(render(&table, Top::Farthest, 9), lines.join("\n") + "\n");
    }

    #[test]
    fn the_largest_groups_come_first() {
        let data = ColumnData::Vertices(vec![0, 1, 1, 0, 1, 5]);
        let columns = vec![Column { name: "component".into(), data }];
        let table = Table { vertices: VertexColumn::Range(10..16), columns };
        let lines = ["   component  vertices", "1         11         3", "2         10         2"];
        assert_eq!(render(&table, Top::Groups, 2), lines.join("\n") + "\n");
        assert_eq!(render(&table, Top::Groups, 9).lines().count(), 4);
    }

    #[test]
    fn as_many_rows_as_are_wanted_are_shown() {
        // In time that is proportional to them: otherwise this takes minutes.
        let rows = 200_000_u32;
        let values = (0..rows).map(|row| f64::from(row) / 7.0).collect();
        let table = table(VertexColumn::Range(0..rows.into()), values);
        assert_eq!(render(&table, Top::Highest, usize::MAX).lines().count(), rows as usize + 1);
    }

    #[test]
    fn parts_have_the_same_top_as_the_whole() {
        let rows = 3 * PART_ROWS + 777;
        let value = |row: usize| (row.wrapping_mul(0x9e37_79b9) >> 7) % 5000;
        let values: Vec<i64> = (0..rows).map(|row| value(row) as i64).collect();
        let mut expected: Vec<usize> = (0..rows).collect();
        expected.sort_by_key(|&row| std::cmp::Reverse(value(row)));
        let columns = vec![Column { name: "size".into(), data: ColumnData::I64(values) }];
        for count in [0, 1, 20, 1000, PART_ROWS, rows / 2, rows, usize::MAX] {
            let best = Best::of(&columns, rows, Top::Highest, count).unwrap();
            assert_eq!(best.rows, expected[..count.min(rows)]);
            let ColumnData::I64(found) = &best.columns[0].data else { unreachable!() };
            assert!(found.iter().zip(&best.rows).all(|(found, &row)| *found == value(row) as i64));
        }
    }

    #[test]
    fn numbers_of_any_size_are_shown() {
        assert_eq!(floats([1234.5, 0.25].into_iter()), ["1234.50", "0.25"]);
        assert_eq!(floats([1e-12].into_iter()), ["1.00000e-12"]);
        assert_eq!(floats([0.000_123_456_7].into_iter()), ["0.000123457"]);
        assert_eq!(floats([f64::NAN, f64::INFINITY].into_iter()), ["NaN", "inf"]);
    }
}
