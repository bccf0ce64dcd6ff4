//! Two sides of a graph: a set of vertices, and the rest.

use std::sync::Arc;

/// A set of vertices, a bit each, by their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sides(Arc<[u64]>);

impl Sides {
    /// The side of the vertices, of `vertices` in all, whose numbers are listed; numbers beyond are
    /// ignored.
    pub fn of(vertices: u64, within: impl IntoIterator<Item = u64>) -> Self {
        let mut words = vec![0; vertices.div_ceil(64) as usize];
        for index in within {
            if let Some(word) = words.get_mut((index / 64) as usize) {
                *word |= 1 << (index % 64);
            }
        }
        Self(words.into())
    }

    /// Whether a vertex is in the set.
    #[inline(always)]
    pub fn has(&self, index: u64) -> bool {
        self.0.get((index / 64) as usize).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_those_that_are_listed() {
        let sides = Sides::of(130, [0, 63, 64, 129, 4000]);
        let within: Vec<u64> = (0..5000).filter(|&index| sides.has(index)).collect();
        assert_eq!(within, [0, 63, 64, 129]);
        assert!(!Sides::default().has(0));
    }
}
