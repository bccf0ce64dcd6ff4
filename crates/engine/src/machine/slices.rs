//! Slices that are handed out in parts.

/// A column of which stripes take their parts, one after the other.
pub(crate) struct Slices<'a, T>(pub(crate) &'a mut [T]);

impl<'a, T> Slices<'a, T> {
    pub(crate) fn take(&mut self, count: usize) -> &'a mut [T] {
        let (front, rest) = std::mem::take(&mut self.0).split_at_mut(count);
        self.0 = rest;
        front
    }
}
