//! Rows of a range of vertices: gathered as keys, kept, and in the chunks of a vertex set.
//!
//! ```text
//! entry    of a neighbour above: its number, and a bit                u32
//!          as it is told: whether the edge comes down from it; in a row: whether both ways exist
//! key      vertex in its partition, entry as it is told               u64
//! row      entries, by number
//! in a vertex set, behind the vertices of a chunk: for each of them that is in the range that is
//! held the entries of its row, u32; then the rows
//! ```
//!
//! **Invariant:** no more keys are kept than there is room for, but for as many that may be kept
//! already. Checked in `Keys::compact`. Tested by `keys_are_kept_once`.

use std::ops::Range;

use bytemuck::{cast_slice, pod_read_unaligned};
use welter_engine::EngineError;

use crate::other;

/// Bytes of memory for each key that there is room for: two keys as they come, and entries of rows
/// that pass and of rows that are kept.
pub const KEY_BYTES: u64 = 2 * 8 + 2 * 4;

/// Vertices that entries can name.
pub(crate) const VERTICES_MOST: u64 = 1 << 31;

/// Keys of rows, each once but for those that came lately.
///
/// ```
/// use welter_worker::Keys;
///
/// let mut keys = Keys::default();
/// keys.begin(9);
/// // Vertex 0 has 3 above it, to which edges lead both ways, and 1.
/// [7, 2, 6, 7].into_iter().try_for_each(|entry| keys.push(0, entry))?;
/// keys.compact()?;
/// let rows = keys.rows(0..2);
/// assert_eq!((rows.of(0), rows.of(1)), (&[2, 7][..], &[][..]));
/// # Ok::<(), welter_engine::EngineError>(())
/// ```
#[derive(Debug, Default)]
pub struct Keys {
    keys: Vec<u64>,
    room: usize,
}

impl Keys {
    /// Begins anew, with room for `room` keys.
    pub fn begin(&mut self, room: u64) {
        self.keys.clear();
        self.room = usize::try_from(room).unwrap_or(usize::MAX);
    }

    /// Keeps an entry of a vertex.
    ///
    /// # Errors
    /// When there are more keys than there is room for.
    pub fn push(&mut self, vertex: u32, entry: u32) -> Result<(), EngineError> {
        let most = self.room.saturating_mul(2).max(2);
        if self.keys.len() >= most {
            self.compact()?;
        }
        if self.keys.len() == self.keys.capacity() {
            self.keys.reserve_exact(self.keys.len().max(32).min(most - self.keys.len()));
        }
        self.keys.push(u64::from(vertex) << 32 | u64::from(entry));
        Ok(())
    }

    /// Sorts the keys, and keeps each once.
    ///
    /// # Errors
    /// When there are more of them than there is room for.
    pub fn compact(&mut self) -> Result<(), EngineError> {
        self.keys.sort_unstable();
        self.keys.dedup();
        if self.keys.len() <= self.room {
            return Ok(());
        }
        Err(other(format!("{} keys of rows, of which {} have room", self.keys.len(), self.room)))
    }

    /// Vertices and their entries, of keys that were compacted.
    pub(crate) fn all(&self) -> impl Iterator<Item = (u32, u32)> {
        self.keys.iter().map(|&key| ((key >> 32) as u32, key as u32))
    }

    /// Rows of a range of vertices, of keys that were compacted.
    pub fn rows(&self, range: Range<u64>) -> Rows {
        let place = |vertex| self.keys.partition_point(|key| key >> 32 < vertex);
        let keys = &self.keys[place(range.start)..place(range.end)];
        let mut rows = Rows::begin(range.clone());
        let mut keys = keys.iter().peekable();
        for vertex in range {
            let mut last = None;
            while let Some(key) = keys.next_if(|key| **key >> 32 == vertex) {
                let entry = *key as u32;
                if last == Some(entry >> 1) {
                    if let Some(before) = rows.entries.last_mut() {
                        *before |= 1;
                    }
                } else {
                    rows.entries.push(entry & !1);
                }
                last = Some(entry >> 1);
            }
            rows.ends.push(rows.entries.len());
        }
        rows
    }
}

/// Rows of consecutive vertices of a partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    first: u64,
    ends: Vec<usize>,
    entries: Vec<u32>,
}

impl Rows {
    fn begin(range: Range<u64>) -> Self {
        Self { first: range.start, ends: Vec::new(), entries: Vec::new() }
    }

    /// Vertices, relative to their partition.
    pub(crate) fn vertices(&self) -> Range<u64> {
        self.first..self.first + self.ends.len() as u64
    }

    /// The row of a vertex, which must be one of these.
    ///
    /// # Panics
    /// When it is not.
    pub fn of(&self, vertex: u64) -> &[u32] {
        &self.entries[self.places(vertex)]
    }

    /// Places of the row of a vertex among the entries of all.
    ///
    /// # Panics
    /// As [`Self::of`].
    pub fn places(&self, vertex: u64) -> Range<usize> {
        let place = (vertex - self.first) as usize;
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        start..self.ends[place]
    }

    /// Entries of all rows, in the order of their vertices.
    pub fn entries(&self) -> &[u32] {
        &self.entries
    }

    /// Appends those of some vertices to the bytes of their chunk.
    pub(crate) fn put(&self, vertices: Range<u64>, bytes: &mut Vec<u8>) {
        let own = common(&self.vertices(), &vertices);
        for vertex in own.clone() {
            bytes.extend((self.of(vertex).len() as u32).to_le_bytes());
        }
        for vertex in own {
            bytes.extend_from_slice(cast_slice(self.of(vertex)));
        }
    }

    /// Begins to read rows of a range.
    pub(crate) fn reading(range: Range<u64>) -> Self {
        Self::begin(range)
    }

    /// Reads the rows of some vertices from the bytes behind them, if they are that: they must be
    /// read in order.
    pub(crate) fn read(
        &mut self,
        range: &Range<u64>,
        vertices: Range<u64>,
        bytes: &[u8],
    ) -> Result<(), EngineError> {
        let own = common(range, &vertices);
        let count = (own.end - own.start) as usize;
        let wrong = || other(format!("{} bytes of {count} rows", bytes.len()));
        let (lengths, entries) = bytes.split_at_checked(4 * count).ok_or_else(wrong)?;
        let mut rest = entries;
        for length in lengths.chunks_exact(4) {
            let length = pod_read_unaligned::<u32>(length) as usize;
            let row;
            (row, rest) = rest.split_at_checked(4 * length).ok_or_else(wrong)?;
            self.entries.extend(row.chunks_exact(4).map(pod_read_unaligned::<u32>));
            self.ends.push(self.entries.len());
        }
        if rest.is_empty() { Ok(()) } else { Err(wrong()) }
    }
}

/// Vertices that are in both ranges.
fn common(one: &Range<u64>, other: &Range<u64>) -> Range<u64> {
    let start = one.start.max(other.start);
    start..one.end.min(other.end).max(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_kept_once() {
        let mut keys = Keys::default();
        keys.begin(3);
        for _ in 0..50 {
            for (vertex, entry) in [(4, 14), (1, 21), (4, 15)] {
                keys.push(vertex, entry).unwrap();
                assert!(keys.keys.capacity() <= 6, "no more than twice the room");
            }
        }
        keys.compact().unwrap();
        assert_eq!(keys.all().collect::<Vec<_>>(), [(1, 21), (4, 14), (4, 15)]);
        keys.push(5, 2).unwrap();
        keys.compact().expect_err("four keys, and room for three");
        keys.begin(0);
        assert!(keys.compact().is_ok() && keys.all().next().is_none());
    }

    #[test]
    fn rows_are_those_of_a_range_and_come_back_from_chunks() {
        let mut keys = Keys::default();
        keys.begin(9);
        // Vertex 2 has 5, both ways, and 7, down; vertex 4 has 6, up; 9 is in another range.
        for (vertex, entry) in [(4, 12), (2, 15), (2, 10), (2, 11), (9, 2), (1, 8)] {
            keys.push(vertex, entry).unwrap();
        }
        keys.compact().unwrap();
        let range = 2..6;
        let rows = keys.rows(range.clone());
        let of: Vec<_> = range.clone().map(|vertex| rows.of(vertex).to_vec()).collect();
        assert_eq!(of, [vec![11, 14], vec![], vec![12], vec![]]);
        let chunks = [0..3, 3..4, 4..8, 8..9];
        let mut read = Rows::reading(range.clone());
        for vertices in chunks {
            let mut bytes = Vec::new();
            rows.put(vertices.clone(), &mut bytes);
            for damaged in [&[&bytes[..], &[0; 4]].concat()[..], &[0xff; 4][..]] {
                let mut read = read.clone();
                let found = read.read(&range, vertices.clone(), damaged);
                assert!(found.is_err() || damaged == bytes, "{vertices:?}");
            }
            read.read(&range, vertices, &bytes).unwrap();
        }
        assert_eq!(read, rows);
    }
}
