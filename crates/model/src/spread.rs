//! Results of a graph in the non-compact form, with a row for each vertex.

use std::ops::Range;

use crate::edges::StreamError;
use crate::non_compact::NonCompact;
use crate::table::{Column, ColumnData, Columns, NO_VERTEX, Table, VertexColumn};

/// The results of all vertices of a graph in the non-compact form, made from those of its slots.
#[derive(Debug)]
pub struct Spread<'a> {
    columns: &'a dyn Columns,
    vertices: &'a NonCompact,
}

impl<'a> Spread<'a> {
    /// A table with a row for each vertex, if `table` has one for each slot.
    pub fn of(table: &'a Table<dyn Columns + 'a>) -> Option<Table<Self>> {
        let VertexColumn::NonCompact(vertices) = &table.vertices else { return None };
        let columns = Self { columns: &table.columns, vertices };
        Some(Table { vertices: VertexColumn::Range(vertices.all()), columns })
    }

    /// The row of a vertex that is named by its slot, in row `row`.
    fn row_of(&self, slot: u64, row: u64) -> u64 {
        let (named, all) = (self.vertices.named(), self.vertices.all());
        match named.get(slot as usize) {
            _ if slot == NO_VERTEX => NO_VERTEX,
            Some(id) => id - all.start,
            // One of the others, of which none knows but itself.
            None if slot == named.len() as u64 => row,
            None => self.vertices.vertices(),
        }
    }
}

impl Columns for Spread<'_> {
    fn part(&self, rows: Range<usize>) -> Result<Vec<Column>, StreamError> {
        let (named, all) = (self.vertices.named(), self.vertices.all());
        if self.columns.listed().is_some() {
            let mut part = self.columns.part(rows)?;
            for column in &mut part {
                if let ColumnData::Vertices(slots) = &mut column.data {
                    // Rows of a list name vertices with edges, which have slots of their own.
                    for slot in slots {
                        *slot = self.row_of(*slot, NO_VERTEX);
                    }
                }
            }
            return Ok(part);
        }
        let [first, end] = [rows.start, rows.end].map(|row| all.start + row as u64);
        let [from, to] = [first, end].map(|id| named.partition_point(|named| *named < id));
        let mut part = self.columns.part(from..to)?;
        let mut next = from;
        let places: Vec<usize> = (first..end)
            .map(|id| {
                let is_named = next < to && named[next] == id;
                next += usize::from(is_named);
                if is_named { next - 1 - from } else { to - from }
            })
            .collect();
        if to - from < rows.len() {
            let others = self.columns.part(named.len()..named.len() + 1)?;
            for (column, others) in part.iter_mut().zip(others) {
                column.data.append(others.data);
            }
        }
        for column in &mut part {
            column.data = column.data.picked(&places);
            if let ColumnData::Vertices(slots) = &mut column.data {
                for (slot, row) in slots.iter_mut().zip(rows.clone()) {
                    *slot = self.row_of(*slot, row as u64);
                }
            }
        }
        Ok(part)
    }

    fn listed(&self) -> Option<usize> {
        self.columns.listed()
    }

    fn check(&self, rows: usize) -> Result<(), String> {
        if self.columns.listed().is_some() {
            return self.columns.check(rows);
        }
        match self.vertices.vertices() {
            vertices if vertices == rows as u64 => {
                self.columns.check(self.vertices.slots() as usize)
            }
            vertices => Err(format!("results have {vertices} rows, expected {rows}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(named: Vec<u64>, all: Range<u64>, values: Vec<f64>, labels: Vec<u64>) -> Table {
        let vertices = VertexColumn::NonCompact(NonCompact::new(named, all).unwrap());
        let named = |name: &str, data| Column { name: name.to_owned(), data };
        let columns = vec![
            named("rank", ColumnData::F64(values)),
            named("component", ColumnData::Vertices(labels)),
        ];
        Table { vertices, columns }
    }

    #[test]
    fn every_vertex_has_a_row() {
        let slots = table(vec![3, 4, 7], 2..9, vec![0.3, 0.4, 0.7, 0.1], vec![0, NO_VERTEX, 1, 3]);
        let all = Spread::of(&slots).unwrap();
        assert_eq!(all.vertices, VertexColumn::Range(2..9));
        all.columns.check(7).unwrap();
        assert!(all.columns.check(4).is_err());
        let ranks = [0.1, 0.3, 0.4, 0.1, 0.1, 0.7, 0.1];
        let components = [0, 1, NO_VERTEX, 3, 4, 2, 6];
        for start in 0..=7 {
            for end in start..=7 {
                let part = all.columns.part(start..end).unwrap();
                assert_eq!(part[0].data, ColumnData::F64(ranks[start..end].to_vec()));
                assert_eq!(part[1].data, ColumnData::Vertices(components[start..end].to_vec()));
            }
        }
    }

    #[test]
    fn a_graph_all_of_whose_vertices_are_named_has_no_slot_for_others() {
        let all = NonCompact::new(vec![5, 6], 5..7).unwrap();
        assert_eq!((all.others(), all.slots(), all.vertices()), (0, 2, 2));
        assert_eq!((all.slot(6), all.slot(7)), (Some(1), None));
        let slots = table(vec![5, 6], 5..7, vec![0.5, 0.6], vec![1, 1]);
        let part = Spread::of(&slots).unwrap().columns.part(0..2).unwrap();
        assert_eq!(part[1].data, ColumnData::Vertices(vec![1, 1]));
    }

    #[test]
    fn ids_that_make_no_sense_are_no_graph() {
        for named in [vec![4, 3], vec![3, 3], vec![1], vec![9], vec![u64::MAX]] {
            assert_eq!(NonCompact::new(named, 2..9), None);
        }
        let wide = NonCompact::new(vec![0, u64::MAX - 1], 0..u64::MAX).unwrap();
        assert_eq!((wide.others(), wide.slots()), (u64::MAX - 2, 3));
    }

    #[test]
    fn a_slot_that_does_not_exist_is_found_out() {
        let slots = table(vec![3], 2..9, vec![0.3, 0.1], vec![0, 7]);
        let all = Spread::of(&slots).unwrap();
        let part = all.columns.part(0..1).unwrap();
        assert!(part[1].check(1, 7).unwrap_err().contains("names vertex number 7 of 7"));
    }
}
