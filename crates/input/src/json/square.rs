//! Whether lists of numbers are the rows of a matrix and no edges: as many rows as columns, of
//! zeros and ones, or with zeros on the diagonal.

use super::record::Scalar;

/// Rows seen so far, while they can be those of a square.
#[derive(Debug, Default)]
pub(super) struct Square {
    rows: usize,
    /// Items of every row.
    width: Option<usize>,
    /// Items that are neither 0 nor 1, and those on the diagonal that are not 0.
    others: usize,
    filled: usize,
    /// Rows of another length than the first.
    unlike: usize,
}

impl Square {
    /// Sees an item of the row that is open.
    pub(super) fn item(&mut self, place: usize, value: &Scalar) {
        let text = match value {
            Scalar::Text(text) => &text[..],
            _ => b"",
        };
        let zero = !text.is_empty() && text.iter().all(|byte| matches!(byte, b'0' | b'.'));
        self.others += usize::from(!zero && !matches!(text, b"1" | b"1.0"));
        self.filled += usize::from(place == self.rows && !zero);
    }

    /// Sees the end of a row of `items` items.
    pub(super) fn end_row(&mut self, items: usize) {
        self.unlike += usize::from(*self.width.get_or_insert(items) != items);
        self.rows += 1;
    }

    /// Whether all rows together are a matrix. Three edges with weights may have zeros there too.
    pub(super) fn is_matrix(&self) -> bool {
        let square = self.rows > 2 && self.width == Some(self.rows) && self.unlike == 0;
        square && (self.others == 0 || self.filled == 0 && self.rows > 3)
    }
}
