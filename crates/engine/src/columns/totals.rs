//! Totals of iterations, of which a run keeps the first ones and the last.
//!
//! The next iteration receives the last one; the others are for answers that are made of their
//! course, as a neighbourhood function is, and a checkpoint has what is kept. Deep graphs have
//! millions of iterations, so not all can be.
//!
//! Invariant: the list takes 1 MiB at most, however many iterations there are. Plans have that as
//! part of a worker's buffers, half of which are for making chunks. Tested by
//! `the_first_ones_and_the_last_are_kept_within_a_mebibyte`.

use bytemuck::{Pod, pod_read_unaligned};

/// Bytes of the list, at most; a total that is larger is listed alone.
const LIST_BYTES: u64 = 1 << 20;

/// Totals that are listed of `count`, each of `total_bytes` bytes.
fn listed(count: u64, total_bytes: u64) -> u64 {
    count.min((LIST_BYTES / total_bytes.max(1)).max(1))
}

/// Totals that are kept of `count`, each of `total_bytes` bytes: those that are listed, and the
/// last.
pub(crate) fn kept(count: u64, total_bytes: u64) -> u64 {
    let listed = listed(count, total_bytes);
    listed + u64::from(listed < count)
}

/// The totals of a run, as plain data of a width that the program gives.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    /// Bytes of the totals that are listed, one after the other.
    listed: Vec<u8>,
    /// Bytes of the totals of the last iteration.
    last: Vec<u8>,
    /// Number of totals that are listed, and that were noted.
    listed_count: u64,
    count: u64,
}

impl Totals {
    /// Totals of a run that has just begun.
    pub(crate) fn of(init: &[u8]) -> Self {
        let mut totals = Self::default();
        totals.note(init);
        totals
    }

    /// Totals of `width` bytes that were kept of `count`, as they come.
    pub(crate) fn restored<E>(
        width: usize,
        (kept, count): (u64, u64),
        mut next: impl FnMut(&mut [u8]) -> Result<(), E>,
    ) -> Result<Self, E> {
        let mut totals = Self::default();
        let mut total = vec![0; width];
        for _ in 0..kept {
            next(&mut total)?;
            totals.note(&total);
        }
        Ok(Self { count, ..totals })
    }

    /// Adds the totals of another iteration.
    pub(crate) fn note(&mut self, total: &[u8]) {
        self.count += 1;
        self.last.clear();
        self.last.extend_from_slice(total);
        if listed(self.count, total.len() as u64) == self.count {
            self.listed.extend_from_slice(total);
            self.listed_count = self.count;
        }
    }

    /// Totals of the last iteration.
    pub(crate) fn last(&self) -> &[u8] {
        &self.last
    }

    /// Number of totals that were noted.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Totals that are kept: the listed ones, and the last one where that is not among them.
    pub(crate) fn parts(&self) -> [&[u8]; 2] {
        let is_listed = self.listed_count == self.count;
        [&self.listed, if is_listed { &[] } else { &self.last }]
    }

    /// Totals that are listed.
    pub(crate) fn into_listed<T: Pod>(self) -> Vec<T> {
        let one = |number: u64| {
            let first = number as usize * size_of::<T>();
            pod_read_unaligned(&self.listed[first..first + size_of::<T>()])
        };
        (0..self.listed_count).map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_ones_and_the_last_are_kept_within_a_mebibyte() {
        let most = LIST_BYTES / 8;
        for count in [1, 2, most - 1, most, most + 1, 3 * most] {
            let mut totals = Totals::of(&0_u64.to_ne_bytes());
            (1..count).for_each(|number| totals.note(&number.to_ne_bytes()));
            let bytes = totals.parts().concat();
            let all: Vec<u64> = bytes.chunks_exact(8).map(pod_read_unaligned).collect();
            assert_eq!((all.len() as u64, totals.count()), (kept(count, 8), count));
            assert!(totals.listed.capacity() as u64 <= LIST_BYTES);
            let last = pod_read_unaligned::<u64>(totals.last());
            assert_eq!((last, *all.last().unwrap()), (count - 1, count - 1));
            assert!(all[..all.len() - 1].iter().copied().eq(0..all.len() as u64 - 1));
            let mut rest = bytes.chunks_exact(8);
            let next = |total: &mut [u8]| {
                total.copy_from_slice(rest.next().ok_or(())?);
                Ok::<_, ()>(())
            };
            let mut again = Totals::restored(8, (kept(count, 8), count), next).unwrap();
            again.note(&count.to_ne_bytes());
            totals.note(&count.to_ne_bytes());
            assert_eq!((again.parts(), again.count()), (totals.parts(), totals.count()));
            let listed: Vec<u64> = totals.into_listed();
            assert!(listed.iter().copied().eq(0..(count + 1).min(most)));
        }
    }

    #[test]
    fn a_total_of_any_size_is_kept() {
        assert_eq!([kept(1, 1 << 30), kept(9, 1 << 30), kept(9, 0)], [1, 2, 9]);
        let mut none = Totals::of(&[]);
        (0..1000).for_each(|_| none.note(&[]));
        assert_eq!((none.count(), none.into_listed::<()>().len()), (1001, 1001));
    }
}
