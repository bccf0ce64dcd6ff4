//! Slices that are handed out in parts, and the order in which parts are handed out.

/// A column of which stripes take their parts, one after the other.
pub(crate) struct Slices<'a, T>(pub(crate) &'a mut [T]);

impl<'a, T> Slices<'a, T> {
    pub(crate) fn take(&mut self, count: usize) -> &'a mut [T] {
        let (front, rest) = std::mem::take(&mut self.0).split_at_mut(count);
        self.0 = rest;
        front
    }
}

/// Parts in another order, by the numbers that they have now.
pub(crate) fn arranged<T>(parts: impl Iterator<Item = T>, order: &[usize]) -> Vec<T> {
    let mut parts: Vec<_> = parts.map(Some).collect();
    order.iter().filter_map(|&number| parts[number].take()).collect()
}
