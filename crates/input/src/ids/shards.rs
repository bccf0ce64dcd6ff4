//! Numbers distinct keys in ascending order, on all threads and in time proportional to their
//! count.
//!
//! Keys are spread over many small hash tables by their hash, each behind a lock that is taken once
//! for a few hundred keys; so threads seldom meet and a table in use stays in the cache. The hash
//! is seeded at random, so no input can be made that collides.
//!
//! Invariant: the number of a key is its rank among all distinct keys, whatever thread saw it
//! first. Tested by `numbers_are_ranks`.

use std::hash::{BuildHasher, Hash};
use std::sync::{Mutex, PoisonError};

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rayon::prelude::*;

/// Number of tables, a power of two.
const SHARDS: usize = 256;
/// Keys that are spread at once: a few hundred a table.
const CHUNK_KEYS: usize = 64 << 10;

/// Tables of keys with their numbers.
pub(super) struct Shards<K> {
    state: RandomState,
    tables: Vec<Mutex<HashTable<(K, u32)>>>,
}

/// Keys of one chunk with their hashes and numbers, by shard.
pub(super) struct Spread<K>(Vec<Vec<(u64, K, u32)>>);

impl<K> Default for Spread<K> {
    fn default() -> Self {
        Self((0..SHARDS).map(|_| Vec::with_capacity(CHUNK_KEYS / SHARDS * 2)).collect())
    }
}

impl<K: Copy + Ord + Hash + Send + Sync> Shards<K> {
    /// No keys.
    pub(super) fn new() -> Self {
        let tables = (0..SHARDS).map(|_| Mutex::new(HashTable::new())).collect();
        Self { state: RandomState::default(), tables }
    }

    /// Adds keys, of which any may be there already. From any thread.
    pub(super) fn add(&self, keys: impl Iterator<Item = K>, spread: &mut Spread<K>) {
        self.each(keys.map(|key| (key, 0)), spread, |table, state, hash, key, number| {
            let rehash = |entry: &(K, u32)| state.hash_one(entry.0);
            if let Entry::Vacant(free) = table.entry(hash, |entry| entry.0 == key, rehash) {
                free.insert((key, number));
            }
        });
    }

    /// All keys, ascending; afterwards each key's number is its place there. At most `count_max`
    /// keys, otherwise their count.
    pub(super) fn number(&mut self, count_max: usize) -> Result<Vec<K>, usize> {
        let count = self.tables.iter_mut().map(|table| exclusive(table).len()).sum();
        if count > count_max {
            return Err(count);
        }
        let mut keys: Vec<K> = Vec::with_capacity(count);
        for table in &mut self.tables {
            keys.extend(exclusive(table).iter().map(|entry| entry.0));
        }
        keys.par_sort_unstable();
        keys.par_chunks(CHUNK_KEYS).enumerate().for_each_init(
            Spread::default,
            |spread, (chunk, keys)| {
                let numbered =
                    keys.iter().zip(chunk * CHUNK_KEYS..).map(|(key, at)| (*key, at as u32));
                self.each(numbered, spread, |table, _, hash, key, number| {
                    if let Some(entry) = table.find_mut(hash, |entry| entry.0 == key) {
                        entry.1 = number;
                    }
                });
            },
        );
        Ok(keys)
    }

    /// The numbered keys, to be looked up.
    pub(super) fn into_numbers(self) -> Numbers<K> {
        let tables = self.tables.into_iter();
        let unlocked =
            tables.map(|table| table.into_inner().unwrap_or_else(PoisonError::into_inner));
        Numbers { state: self.state, tables: unlocked.collect() }
    }

    /// Visits each key with its table, a chunk and a table at a time.
    fn each(
        &self,
        keys: impl Iterator<Item = (K, u32)>,
        spread: &mut Spread<K>,
        visit: impl Fn(&mut HashTable<(K, u32)>, &RandomState, u64, K, u32),
    ) {
        let mut pending = 0;
        for (key, number) in keys {
            let hash = self.state.hash_one(key);
            spread.0[shard(hash)].push((hash, key, number));
            pending += 1;
            if pending == CHUNK_KEYS {
                self.flush(spread, &visit);
                pending = 0;
            }
        }
        self.flush(spread, &visit);
    }

    fn flush(
        &self,
        spread: &mut Spread<K>,
        visit: &impl Fn(&mut HashTable<(K, u32)>, &RandomState, u64, K, u32),
    ) {
        for (table, keys) in self.tables.iter().zip(&mut spread.0) {
            if keys.is_empty() {
                continue;
            }
            let mut table = table.lock().unwrap_or_else(PoisonError::into_inner);
            for (hash, key, number) in keys.drain(..) {
                visit(&mut table, &self.state, hash, key, number);
            }
        }
    }
}

fn exclusive<K>(table: &mut Mutex<HashTable<(K, u32)>>) -> &mut HashTable<(K, u32)> {
    table.get_mut().unwrap_or_else(PoisonError::into_inner)
}

/// The table of a hash: by bits that the tables themselves look at last.
fn shard(hash: u64) -> usize {
    (hash >> 40) as usize % SHARDS
}

/// Numbers of keys.
pub(super) struct Numbers<K> {
    state: RandomState,
    tables: Vec<HashTable<(K, u32)>>,
}

impl<K: Copy + Eq + Hash> Numbers<K> {
    /// The number of a key that was added.
    #[inline]
    pub(super) fn of(&self, key: K) -> u32 {
        let hash = self.state.hash_one(key);
        let entry = self.tables[shard(hash)].find(hash, |entry| entry.0 == key);
        debug_assert!(entry.is_some(), "every key was added");
        entry.map_or(0, |entry| entry.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_ranks() {
        let mut shards = Shards::new();
        let key = |step: u64| step.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 100_003;
        (0..4u64).into_par_iter().for_each_init(Spread::default, |spread, thread| {
            shards.add((0..50_000).map(|step| key(step + thread * 25_000)), spread);
        });
        let mut expected: Vec<u64> = (0..125_000).map(key).collect();
        expected.sort_unstable();
        expected.dedup();
        assert_eq!(shards.number(expected.len() - 1), Err(expected.len()));
        assert_eq!(shards.number(expected.len()), Ok(expected.clone()));
        let numbers = shards.into_numbers();
        assert!(expected.iter().enumerate().all(|(rank, key)| numbers.of(*key) == rank as u32));
    }
}
