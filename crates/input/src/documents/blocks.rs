//! A list in blocks, so that it grows without being copied, and gives memory back block by block
//! while its items are taken.

use std::collections::VecDeque;

/// Items of a block.
const BLOCK_ITEMS: usize = 1 << 16;

/// A list of items that are small and copied.
#[derive(Clone, Debug)]
pub(super) struct Blocks<T> {
    /// All but the last one are full.
    blocks: VecDeque<Vec<T>>,
    length: usize,
}

impl<T> Default for Blocks<T> {
    fn default() -> Self {
        Self { blocks: VecDeque::new(), length: 0 }
    }
}

impl<T: Copy> Blocks<T> {
    /// Number of items.
    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// Whether there is no item.
    pub(super) fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Appends an item.
    pub(super) fn push(&mut self, item: T) {
        if self.length.is_multiple_of(BLOCK_ITEMS) {
            // The first block grows with what is in it: most graphs are small.
            let room = if self.length == 0 { 0 } else { BLOCK_ITEMS };
            self.blocks.push_back(Vec::with_capacity(room));
        }
        if let Some(last) = self.blocks.back_mut() {
            last.push(item);
            self.length += 1;
        }
    }

    /// The item at a place.
    pub(super) fn get(&self, place: usize) -> Option<T> {
        self.blocks.get(place / BLOCK_ITEMS)?.get(place % BLOCK_ITEMS).copied()
    }

    /// Puts an item in the place of another.
    pub(super) fn set(&mut self, place: usize, item: T) {
        let block = self.blocks.get_mut(place / BLOCK_ITEMS);
        if let Some(known) = block.and_then(|block| block.get_mut(place % BLOCK_ITEMS)) {
            *known = item;
        }
    }

    /// Leaves the first items.
    pub(super) fn truncate(&mut self, length: usize) {
        if length < self.length {
            self.blocks.truncate(length.div_ceil(BLOCK_ITEMS));
            if let Some(last) = self.blocks.back_mut() {
                last.truncate(length - (length - 1) / BLOCK_ITEMS * BLOCK_ITEMS);
            }
            self.length = length;
        }
    }

    /// The items in their order.
    pub(super) fn iter(&self) -> impl Iterator<Item = T> {
        self.blocks.iter().flatten().copied()
    }

    /// Takes the items in their order; the memory of each block goes with its last item.
    pub(super) fn drain(self) -> impl Iterator<Item = T> {
        self.blocks.into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_keeps_its_order_across_blocks() {
        let count = 2 * BLOCK_ITEMS + 3;
        let mut list = Blocks::default();
        assert!(list.is_empty() && list.get(0).is_none());
        (0..count).for_each(|item| list.push(item));
        assert_eq!(
            (list.len(), list.get(BLOCK_ITEMS), list.get(count)),
            (count, Some(BLOCK_ITEMS), None)
        );
        list.set(BLOCK_ITEMS, 7);
        assert!(list.iter().enumerate().all(|(place, item)| item == place || place == BLOCK_ITEMS));
        for length in [count, 2 * BLOCK_ITEMS + 1, 2 * BLOCK_ITEMS, BLOCK_ITEMS + 1, 1, 0] {
            list.truncate(length);
            assert_eq!((list.len(), list.iter().count()), (length, length));
            list.push(9);
            assert_eq!(list.get(length), Some(9));
            list.truncate(length);
        }
        (0..count).for_each(|item| list.push(item));
        assert!(list.drain().eq(0..count));
    }
}
