//! State of each worker, apart from that of the others.
//!
//! States that lie beside one another share cache lines, and then a worker that counts in its own
//! takes the line from its neighbour, at every edge if it comes to that. Processors fetch lines in
//! pairs, so a state has 128 bytes where lines have 64.
//!
//! Invariant: no two states share a cache line. Tested by `states_share_no_cache_line`.

use std::iter::Map;
use std::slice;

use crossbeam_utils::CachePadded;

type Iter<'a, S> = Map<slice::Iter<'a, CachePadded<S>>, fn(&CachePadded<S>) -> &S>;
type IterMut<'a, S> = Map<slice::IterMut<'a, CachePadded<S>>, fn(&mut CachePadded<S>) -> &mut S>;

/// One state a worker, in the order of the workers, each on cache lines of its own.
#[derive(Debug)]
pub(crate) struct PerWorker<S>(Vec<CachePadded<S>>);

impl<S> PerWorker<S> {
    /// No states, for a schedule that has not begun.
    pub(crate) const fn none() -> Self {
        Self(Vec::new())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn iter(&self) -> Iter<'_, S> {
        self.0.iter().map(|state| &**state)
    }

    pub(crate) fn iter_mut(&mut self) -> IterMut<'_, S> {
        self.0.iter_mut().map(|state| &mut **state)
    }
}

impl<S> FromIterator<S> for PerWorker<S> {
    fn from_iter<I: IntoIterator<Item = S>>(states: I) -> Self {
        Self(states.into_iter().map(CachePadded::new).collect())
    }
}

impl<S> IntoIterator for PerWorker<S> {
    type Item = S;
    type IntoIter = Map<std::vec::IntoIter<CachePadded<S>>, fn(CachePadded<S>) -> S>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter().map(CachePadded::into_inner)
    }
}

impl<'a, S> IntoIterator for &'a mut PerWorker<S> {
    type Item = &'a mut S;
    type IntoIter = IterMut<'a, S>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<'a, S> IntoIterator for &'a PerWorker<S> {
    type Item = &'a S;
    type IntoIter = Iter<'a, S>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_share_no_cache_line() {
        let states: PerWorker<u8> = (0..4).collect();
        let lines: Vec<usize> =
            states.iter().map(|state| &raw const *state as usize / 64).collect();
        assert!(lines.windows(2).all(|pair| pair[0] < pair[1]), "{lines:?}");
        assert_eq!(states.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3]);
    }
}
