//! Results looked through a part at a time, because the whole may not fit in memory.

use welter_model::table::{Column, Columns};

use crate::failure::Failure;

/// Rows of a part.
pub(crate) const PART_ROWS: usize = 1 << 16;

/// Shows all rows, in order: the number of the first row of each part, and the part.
pub(crate) fn for_parts(
    columns: &dyn Columns,
    rows: usize,
    mut visit: impl FnMut(usize, Vec<Column>),
) -> Result<(), Failure> {
    for first in (0..rows).step_by(PART_ROWS) {
        visit(first, columns.part(first..rows.min(first + PART_ROWS)).map_err(Failure::read)?);
    }
    Ok(())
}
