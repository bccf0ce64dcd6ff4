//! The column of a text that says whether edges are directed ([`crate::direction`]).

use super::fields::Row;
use crate::columns::Columns;
use crate::direction::{self, Direction};
use crate::options::ReadOptions;

/// The direction of edges that a column says, if one does and the user does not.
pub(super) fn of(
    header: Option<&[String]>,
    body: &[Row<'_>],
    columns: Columns,
    options: &ReadOptions,
) -> Result<Option<Direction>, String> {
    let header = header.filter(|_| options.undirected.is_none()).unwrap_or_default();
    let used = [Some(columns.source), Some(columns.target), columns.weight];
    for (column, name) in header.iter().enumerate() {
        if direction::is_called(name) && !used.contains(&Some(column)) {
            let cells = body.iter().filter_map(|row| row.get(column)).map(|cell| &cell[..]);
            if let Some(found) = Direction::of(column, name, cells)? {
                return Ok(Some(found));
            }
        }
    }
    Ok(None)
}
