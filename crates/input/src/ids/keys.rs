//! Keys of the external sort: integers or names, many of them side by side.

use std::ops::Range;

use bytemuck::cast_slice;
use welter_model::ids::Names;

/// Keys in an order.
pub(super) trait Keys: Default + Send + Sync {
    /// A key.
    type Key: ?Sized + Ord + Sync;
    /// The beginning of a key: all of it, unless it is long. Heads are in the order of their keys,
    /// and a head that is less than another is of a key that is less than all keys of that.
    type Head: Ord + Clone + Send + Sync;

    /// No keys yet, and room for `count`, whose text takes `text_bytes` bytes.
    fn with_room(count: usize, text_bytes: usize) -> Self;
    /// Number of keys.
    fn count(&self) -> usize;
    /// Bytes of text; 0 of integers.
    fn text_bytes(&self) -> usize;
    /// Key number `at`.
    fn key(&self, at: usize) -> &Self::Key;
    /// Appends a key.
    fn add(&mut self, key: &Self::Key);
    /// Takes all keys out, and keeps their memory.
    fn clear(&mut self);
    /// Bytes that the keys take while they are being sorted.
    fn sort_bytes(&self) -> u64;
    /// Bytes that `count` other keys, of `encoded_bytes` bytes as they are written, take while they
    /// are being sorted, when there is room for them.
    fn sort_bytes_of(count: u64, encoded_bytes: u64) -> u64;
    /// The head of a key.
    fn head(key: &Self::Key) -> Self::Head;
    /// Whether a key is less than a head.
    fn is_before(key: &Self::Key, head: &Self::Head) -> bool;
    /// Makes the keys ascending and distinct.
    fn sort(&mut self);
    /// Writes keys down.
    fn encode(&self, keys: Range<usize>, out: &mut Vec<u8>);
    /// Visits keys that were written down, in order.
    fn decode(bytes: &[u8], visit: &mut dyn FnMut(&Self::Key));
    /// Bytes that a key takes when it is written down.
    fn encoded_bytes(key: &Self::Key) -> usize;
}

impl Keys for Vec<u64> {
    type Key = u64;
    type Head = u64;

    fn with_room(count: usize, _text_bytes: usize) -> Self {
        Self::with_capacity(count)
    }

    fn count(&self) -> usize {
        self.len()
    }

    fn text_bytes(&self) -> usize {
        0
    }

    fn key(&self, at: usize) -> &u64 {
        &self[at]
    }

    fn add(&mut self, key: &u64) {
        self.push(*key);
    }

    fn clear(&mut self) {
        self.clear();
    }

    fn sort_bytes(&self) -> u64 {
        (self.capacity() * size_of::<u64>()) as u64
    }

    fn sort_bytes_of(_: u64, encoded_bytes: u64) -> u64 {
        encoded_bytes
    }

    fn head(key: &u64) -> u64 {
        *key
    }

    fn is_before(key: &u64, head: &u64) -> bool {
        key < head
    }

    fn sort(&mut self) {
        self.sort_unstable();
        self.dedup();
    }

    fn encode(&self, keys: Range<usize>, out: &mut Vec<u8>) {
        out.extend_from_slice(cast_slice(&self[keys]));
    }

    fn decode(bytes: &[u8], visit: &mut dyn FnMut(&u64)) {
        for key in bytes.as_chunks::<8>().0 {
            visit(&u64::from_ne_bytes(*key));
        }
    }

    fn encoded_bytes(_key: &u64) -> usize {
        size_of::<u64>()
    }
}

/// Bytes of a name by which its place is chosen, at most. Few in tests, so that some names are
/// longer.
const HEAD_BYTES: usize = if cfg!(test) { 5 } else { 1 << 10 };

/// Bytes before each name that is written down: its length.
const LENGTH_BYTES: usize = size_of::<u32>();

impl Keys for Names {
    type Key = str;
    type Head = Box<[u8]>;

    fn with_room(count: usize, text_bytes: usize) -> Self {
        Self::with_capacity(count, text_bytes)
    }

    fn count(&self) -> usize {
        self.len()
    }

    fn text_bytes(&self) -> usize {
        self.text().len()
    }

    fn key(&self, at: usize) -> &str {
        self.get(at)
    }

    fn add(&mut self, key: &str) {
        self.push(key);
    }

    fn clear(&mut self) {
        self.clear();
    }

    fn sort_bytes(&self) -> u64 {
        // The keys, once more those that are of use, and their order.
        let used = self.text().len() + self.len() * (size_of::<u64>() + size_of::<Order>());
        self.bytes() + used as u64
    }

    fn sort_bytes_of(count: u64, encoded_bytes: u64) -> u64 {
        let text = encoded_bytes - count * LENGTH_BYTES as u64;
        2 * text + count * (2 * size_of::<u64>() + size_of::<Order>()) as u64
    }

    fn head(key: &str) -> Box<[u8]> {
        key.as_bytes()[..key.len().min(HEAD_BYTES)].into()
    }

    fn is_before(key: &str, head: &Box<[u8]>) -> bool {
        key.as_bytes() < &head[..]
    }

    fn sort(&mut self) {
        let mut sorted = Self::with_capacity(self.len(), self.text().len());
        let mut last = None;
        for (_, at) in order(self) {
            let name = self.get(at as usize);
            if last.replace(name) != Some(name) {
                sorted.push(name);
            }
        }
        *self = sorted;
    }

    fn encode(&self, keys: Range<usize>, out: &mut Vec<u8>) {
        for name in keys.map(|at| self.get(at)) {
            out.extend_from_slice(&(name.len() as u32).to_ne_bytes());
            out.extend_from_slice(name.as_bytes());
        }
    }

    fn decode(bytes: &[u8], visit: &mut dyn FnMut(&str)) {
        let mut rest = bytes;
        while let Some((length, after)) = rest.split_first_chunk::<LENGTH_BYTES>() {
            let length = (u32::from_ne_bytes(*length) as usize).min(after.len());
            let (name, after) = after.split_at(length);
            // The bytes that were written are text, and its checksum is right.
            visit(std::str::from_utf8(name).unwrap_or_default());
            rest = after;
        }
    }

    fn encoded_bytes(key: &str) -> usize {
        LENGTH_BYTES + key.len()
    }
}

/// The first bytes of a name, most significant first, and its number.
type Order = (u64, u32);

/// The order of names by their bytes.
pub(super) fn order(names: &Names) -> Vec<Order> {
    let prefix = |name: &str| {
        let mut bytes = [0; 8];
        let length = name.len().min(8);
        bytes[..length].copy_from_slice(&name.as_bytes()[..length]);
        u64::from_be_bytes(bytes)
    };
    let mut order: Vec<Order> =
        names.iter().zip(0..).map(|(name, at)| (prefix(name), at)).collect();
    order.sort_unstable_by(|a, b| {
        a.0.cmp(&b.0).then_with(|| names.get(a.1 as usize).cmp(names.get(b.1 as usize)))
    });
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_by_their_bytes_and_come_back() {
        let mut names: Names =
            ["b", "", "a\0", "a", "ü", "abcdefgh2", "abcdefgh1", "a", "abcdefgh"]
                .into_iter()
                .collect();
        Keys::sort(&mut names);
        let sorted: Vec<_> = names.iter().collect();
        assert_eq!(sorted, ["", "a", "a\0", "abcdefgh", "abcdefgh1", "abcdefgh2", "b", "ü"]);
        let (mut bytes, mut back) = (Vec::new(), Vec::new());
        names.encode(1..8, &mut bytes);
        assert_eq!(
            bytes.len(),
            sorted[1..].iter().map(|name| Names::encoded_bytes(name)).sum::<usize>()
        );
        <Names as Keys>::decode(&bytes, &mut |name| back.push(name.to_owned()));
        assert_eq!(back, sorted[1..]);
    }
}
