//! Totals of iterations, of which a run keeps the first ones and the last.
//!
//! The next iteration is told the last one; the others are for answers that are made of their
//! course, as a neighbourhood function is, and a checkpoint has what is kept. Deep graphs have
//! millions of iterations, so not all can be.
//!
//! Invariant: the list takes 1 MiB at most, however many iterations there are. Plans have that as
//! part of a worker's buffers, half of which are for making chunks.

/// Bytes of the list, at most; a total that is larger is listed alone.
const LIST_BYTES: u64 = 1 << 20;

/// Totals that are listed of so many, each of so many bytes.
fn listed(count: u64, total_bytes: u64) -> u64 {
    count.min((LIST_BYTES / total_bytes.max(1)).max(1))
}

/// Totals that are kept of so many, each of so many bytes: those that are listed, and the last.
pub(crate) fn kept(count: u64, total_bytes: u64) -> u64 {
    let listed = listed(count, total_bytes);
    listed + u64::from(listed < count)
}

/// The totals of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals<T> {
    listed: Vec<T>,
    last: T,
    count: u64,
}

impl<T: Copy + Default> Totals<T> {
    /// Totals of a run that has just begun.
    pub(crate) fn of(init: T) -> Self {
        let mut totals = Self::default();
        totals.note(init);
        totals
    }

    /// Totals that were kept of so many, as they come.
    pub(crate) fn restored<E>(
        kept: u64,
        count: u64,
        mut next: impl FnMut() -> Result<T, E>,
    ) -> Result<Self, E> {
        let mut totals = Self::default();
        for _ in 0..kept {
            totals.note(next()?);
        }
        Ok(Self { count, ..totals })
    }

    /// Adds the totals of another iteration.
    pub(crate) fn note(&mut self, total: T) {
        self.count += 1;
        self.last = total;
        if listed(self.count, size_of::<T>() as u64) == self.count {
            self.listed.push(total);
        }
    }

    /// Totals of the last iteration.
    pub(crate) fn last(&self) -> T {
        self.last
    }
}

impl<T> Totals<T> {
    /// Number of totals that were noted.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Totals that are kept: the listed ones, and the last one where that is not among them.
    pub(crate) fn parts(&self) -> [&[T]; 2] {
        let is_listed = self.listed.len() as u64 == self.count;
        let last = if is_listed { &[] } else { std::slice::from_ref(&self.last) };
        [&self.listed, last]
    }

    /// Totals that are listed.
    pub(crate) fn into_listed(self) -> Vec<T> {
        self.listed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_ones_and_the_last_are_kept_within_a_mebibyte() {
        let most = LIST_BYTES / 8;
        for count in [1, 2, most - 1, most, most + 1, 3 * most] {
            let mut totals = Totals::of(0);
            (1..count).for_each(|number| totals.note(number));
            let all = totals.parts().concat();
            assert_eq!((all.len() as u64, totals.count()), (kept(count, 8), count));
            assert!(totals.listed.capacity() as u64 * 8 <= LIST_BYTES);
            assert_eq!((totals.last(), *all.last().unwrap()), (count - 1, count - 1));
            assert!(all[..all.len() - 1].iter().copied().eq(0..all.len() as u64 - 1));
            let mut rest = all.iter();
            let next = || rest.next().copied().ok_or(());
            let mut again = Totals::restored(kept(count, 8), count, next).unwrap();
            again.note(count);
            totals.note(count);
            assert_eq!((again.parts(), again.count()), (totals.parts(), totals.count()));
        }
    }

    #[test]
    fn a_total_of_any_size_is_kept() {
        assert_eq!([kept(1, 1 << 30), kept(9, 1 << 30), kept(9, 0)], [1, 2, 9]);
        let mut none = Totals::of(());
        (0..1000).for_each(|_| none.note(()));
        assert_eq!(none.count(), 1001);
    }
}
