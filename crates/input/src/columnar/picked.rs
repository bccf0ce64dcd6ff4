//! The columns of a table that are read, by their places.

use crate::options::WeightBounds;

/// The columns to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Picked {
    /// Places in the schema, counted from 0; those of columns in the path come last.
    pub(crate) source: usize,
    pub(crate) target: usize,
    pub(crate) weight: Option<usize>,
    /// Of a column that says of each edge whether it is directed, or may say it as long as no row
    /// was seen.
    pub(crate) direction: Option<usize>,
    /// Whether ids are strings.
    pub(crate) names: bool,
    /// Bounds of the weights that are allowed.
    pub(crate) bounds: WeightBounds,
    /// Number of columns that the table has itself.
    pub(crate) stored: usize,
}

impl Picked {
    /// The places of all columns that are read of the table itself, ascending and distinct.
    pub(crate) fn places(&self) -> Vec<usize> {
        let mut places = vec![self.source, self.target];
        places.extend(self.weight.into_iter().chain(self.direction));
        places.retain(|place| *place < self.stored);
        places.sort_unstable();
        places.dedup();
        places
    }

    /// The columns, as they lie in a table that holds only [`Picked::places`].
    pub(crate) fn projected(&self) -> Self {
        let places = self.places();
        let place = |old: usize| match old.checked_sub(self.stored) {
            None => places.partition_point(|other| *other < old),
            Some(beyond) => places.len() + beyond,
        };
        Self {
            stored: places.len(),
            source: place(self.source),
            target: place(self.target),
            weight: self.weight.map(place),
            direction: self.direction.map(place),
            ..*self
        }
    }
}
