//! Results of a graph of two kinds of vertices, with the side of each.

use std::ops::Range;

use crate::edges::StreamError;
use crate::table::{Column, ColumnData, Columns, NO_VERTEX};
use crate::two_kinds::Side;

/// Results with the side of each vertex that they name: a column `side`, and `..._side` behind each
/// column of vertices.
#[derive(Debug)]
pub struct WithSides<C> {
    columns: C,
    sources: u64,
    /// Vertex of the first row.
    first: u64,
}

impl<C: Columns> WithSides<C> {
    /// Columns of vertices of which `sources` are sources.
    pub fn new(columns: C, sources: u64) -> Self {
        Self { columns, sources, first: 0 }
    }

    /// Columns of the vertices from one on.
    #[must_use]
    pub fn at(self, first: u64) -> Self {
        Self { first, ..self }
    }

    fn sides(&self, name: String, vertices: impl Iterator<Item = u64>) -> Column {
        let side = |vertex| match vertex {
            NO_VERTEX => None,
            vertex if vertex < self.sources => Some(Side::Source),
            _ => Some(Side::Target),
        };
        Column { name, data: ColumnData::Sides(vertices.map(side).collect()) }
    }
}

impl<C: Columns> Columns for WithSides<C> {
    fn part(&self, rows: Range<usize>) -> Result<Vec<Column>, StreamError> {
        let mut all = Vec::new();
        if self.listed().is_none() {
            let [start, end] = [rows.start, rows.end].map(|row| self.first + row as u64);
            all.push(self.sides("side".to_owned(), start..end));
        }
        for column in self.columns.part(rows)? {
            let sides = match &column.data {
                ColumnData::Vertices(vertices) => {
                    Some(self.sides(format!("{}_side", column.name), vertices.iter().copied()))
                }
                _ => None,
            };
            all.push(column);
            all.extend(sides);
        }
        Ok(all)
    }

    fn listed(&self) -> Option<usize> {
        self.columns.listed()
    }

    fn check(&self, rows: usize) -> Result<(), String> {
        self.columns.check(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_stand_beside_vertices() {
        let named = |name: &str, data| Column { name: name.to_owned(), data };
        let parents = named("parent", ColumnData::Vertices(vec![0, NO_VERTEX, 1]));
        let columns = vec![named("depth", ColumnData::I64(vec![0, -1, 1])), parents];
        let all = WithSides::new(columns, 1);
        let part = all.part(0..3).unwrap();
        let names: Vec<_> = part.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["side", "depth", "parent", "parent_side"]);
        let [source, target] = [Some(Side::Source), Some(Side::Target)];
        assert_eq!(part[0].data, ColumnData::Sides(vec![source, target, target]));
        assert_eq!(part[3].data, ColumnData::Sides(vec![source, None, target]));
        let part = all.at(1).part(0..1).unwrap();
        assert_eq!(part[0].data, ColumnData::Sides(vec![target]));
    }
}
