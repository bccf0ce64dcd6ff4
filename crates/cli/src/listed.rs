//! A list as a result: rows that are not one a vertex, all of them in memory.

use std::ops::Range;

use welter_model::edges::StreamError;
use welter_model::table::{Column, Columns};

/// Columns of a list.
#[derive(Debug)]
pub(crate) struct Listed {
    columns: Vec<Column>,
    rows: usize,
}

impl Listed {
    /// Columns of `rows` rows.
    pub(crate) fn new(columns: Vec<Column>, rows: usize) -> Self {
        Self { columns, rows }
    }
}

impl Columns for Listed {
    fn part(&self, rows: Range<usize>) -> Result<Vec<Column>, StreamError> {
        self.columns.part(rows)
    }

    fn listed(&self) -> Option<usize> {
        Some(self.rows)
    }

    /// Rows name vertices, of which there may be more or fewer than rows: those are not looked at.
    fn check(&self, rows: usize) -> Result<(), String> {
        self.columns.iter().try_for_each(|column| column.check(rows, usize::MAX))
    }
}

#[cfg(test)]
mod tests {
    use welter_model::table::ColumnData;

    use super::*;

    #[test]
    fn a_list_has_rows_of_its_own() {
        let column = |name: &str, data| Column { name: name.to_owned(), data };
        let columns = vec![
            column("source", ColumnData::Vertices(vec![0, 7])),
            column("weight", ColumnData::F64(vec![0.5, 2.0])),
        ];
        let list = Listed::new(columns.clone(), 2);
        assert_eq!((list.listed(), list.check(2)), (Some(2), Ok(())));
        assert!(list.check(3).unwrap_err().contains("has 2 rows, expected 3"));
        assert_eq!(list.part(1..2).unwrap()[1].data, ColumnData::F64(vec![2.0]));
        assert!(columns.check(2).is_err(), "rows of vertices name no other vertices");
    }
}
