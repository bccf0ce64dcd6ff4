//! Signals of ghost vertices: those of other sub-ranges that one has edges of, for edges that look
//! at both their ends.
//!
//! ```text
//! subscription   place of a vertex (the destination of the message)
//!                record: sub-range that has edges of it u32, its number among the ghosts there u32
//! signal         that number (the destination of the message)
//!                record: the signal
//! ```
//!
//! An edge lies at the owner of its target, which says once, when its edges have come, which
//! sources it has edges of. From then on it is told their signals in each iteration, each once
//! however many edges there are, and the message says by itself where it belongs.
//!
//! **Invariant:** ghosts of one sub-range at another have consecutive numbers, in the order of
//! their places. Checked in `SignalSet::subscribers`. Tested by
//! `subscriptions_become_lists_and_signals_columns`.

use bytemuck::pod_read_unaligned;
use welter_engine::chunks::Column;

use super::error::Stop;
use super::folding::Gather;

/// Bytes of the record of a subscription.
pub(super) const SUBSCRIPTION_BYTES: usize = 2 * size_of::<u32>();

/// The record of a subscription of this sub-range, in which the vertex has this number.
pub(super) fn subscription(sub_range: u32, number: u32) -> [u8; SUBSCRIPTION_BYTES] {
    let mut record = [0; SUBSCRIPTION_BYTES];
    let (one, other) = record.split_at_mut(size_of::<u32>());
    one.copy_from_slice(&sub_range.to_ne_bytes());
    other.copy_from_slice(&number.to_ne_bytes());
    record
}

/// Vertices of a sub-range that are ghosts at another one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ghosts {
    /// Number of the first of them.
    pub(super) first: u32,
    /// Their places in the sub-range, ascending.
    pub(super) places: Vec<u32>,
}

impl Ghosts {
    /// Sets their signals, of those of all ghosts, at their places in a column of `vertices`
    /// signals of `width` bytes. Others may be as they were before.
    pub(super) fn spread(
        &self,
        (signals, width): (&[u8], usize),
        vertices: usize,
        column: &mut Column,
    ) {
        column.resize(vertices * width);
        let own = signals[self.first as usize * width..].chunks_exact(width);
        for (&place, signal) in self.places.iter().zip(own) {
            column[place as usize * width..][..width].copy_from_slice(signal);
        }
    }
}

/// Set of a sub-range of an extended program.
pub(super) enum SignalSet {
    /// Places and numbers of vertices that each sub-range has edges of, of `vertices` vertices.
    Subscriptions { by: Vec<Vec<[u32; 2]>>, vertices: u32 },
    /// Signals of `width` bytes of all ghosts.
    Signals { column: Column, width: usize },
}

impl SignalSet {
    /// The set of subscriptions of `sub_ranges` sub-ranges for one of `vertices` vertices.
    pub(super) fn subscriptions(sub_ranges: u32, vertices: u32) -> Self {
        Self::Subscriptions { by: vec![Vec::new(); sub_ranges as usize], vertices }
    }

    /// The set of `count` signals of `width` bytes.
    pub(super) fn signals(count: usize, width: usize) -> Self {
        Self::Signals { column: Column::zeroed(count * width), width }
    }

    /// Vertices that are ghosts at each sub-range.
    ///
    /// # Errors
    /// When their numbers do not follow each other.
    pub(super) fn subscribers(self) -> Result<Vec<Ghosts>, Stop> {
        let Self::Subscriptions { by, .. } = self else {
            return Err(Stop::broken("signals before subscriptions"));
        };
        let ghosts = |mut subscriptions: Vec<[u32; 2]>| {
            subscriptions.sort_unstable();
            let first = subscriptions.first().map_or(0, |&[_, number]| number);
            let follows = (first..)
                .zip(&subscriptions)
                .all(|(number, subscription)| subscription[1] == number);
            let places: Vec<u32> = subscriptions.iter().map(|&[place, _]| place).collect();
            let is_each_once = places.is_sorted_by(|one, next| one < next);
            if follows && is_each_once {
                Ok(Ghosts { first, places })
            } else {
                Err(Stop::broken("ghosts have no order"))
            }
        };
        by.into_iter().map(ghosts).collect()
    }

    /// All signals that have come.
    ///
    /// # Errors
    /// When subscriptions have come.
    pub(super) fn column(&self) -> Result<&Column, Stop> {
        match self {
            Self::Signals { column, .. } => Ok(column),
            Self::Subscriptions { .. } => Err(Stop::broken("subscriptions among signals")),
        }
    }
}

impl Gather for SignalSet {
    fn record_bytes(&self) -> Option<usize> {
        Some(match self {
            Self::Subscriptions { .. } => SUBSCRIPTION_BYTES,
            Self::Signals { width, .. } => *width,
        })
    }

    fn gather(&mut self, (targets, records): (&[u32], &[u8])) -> Result<(), Stop> {
        let outside = || Stop::broken("a signal of a vertex that is no ghost");
        match self {
            Self::Subscriptions { by, vertices } => {
                for (&place, record) in targets.iter().zip(records.chunks_exact(SUBSCRIPTION_BYTES))
                {
                    let [sub_range, number]: [u32; 2] = pod_read_unaligned(record);
                    let subscriptions =
                        by.get_mut(sub_range as usize).filter(|_| place < *vertices);
                    subscriptions.ok_or_else(outside)?.push([place, number]);
                }
            }
            Self::Signals { column, width } => {
                for (&number, record) in targets.iter().zip(records.chunks_exact(*width)) {
                    let from = (number as usize).saturating_mul(*width);
                    let room = column.get_mut(from..from.saturating_add(*width));
                    room.ok_or_else(outside)?.copy_from_slice(record);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subscriptions_become_lists_and_signals_columns() {
        let mut set = SignalSet::subscriptions(3, 9);
        let subscriptions = [(2, [8, 11]), (0, [3, 0]), (2, [1, 10]), (0, [7, 1])];
        for (sub_range, [place, number]) in subscriptions {
            set.gather((&[place], &subscription(sub_range, number))).unwrap();
        }
        assert!(set.gather((&[9], &subscription(0, 2))).is_err(), "there are nine vertices");
        assert!(set.gather((&[1], &subscription(3, 2))).is_err(), "there are three sub-ranges");
        let ghosts = |first, places: &[u32]| Ghosts { first, places: places.to_vec() };
        let lists = set.subscribers().unwrap();
        assert_eq!(lists, [ghosts(0, &[3, 7]), ghosts(0, &[]), ghosts(10, &[1, 8])]);
        for wrong in [[[1, 5], [2, 7]], [[2, 5], [1, 6]], [[1, 5], [1, 6]]] {
            let mut set = SignalSet::subscriptions(1, 9);
            for [place, number] in wrong {
                set.gather((&[place], &subscription(0, number))).unwrap();
            }
            assert!(set.subscribers().is_err(), "{wrong:?}");
        }

        let mut set = SignalSet::signals(4, 2);
        set.gather((&[3, 0, 2], &[7, 7, 5, 5, 6, 6])).unwrap();
        assert!(set.gather((&[4], &[1, 1])).is_err(), "there are four ghosts");
        assert_eq!(set.column().unwrap()[..], [5, 5, 0, 0, 6, 6, 7, 7]);
        let mut spread = Column::default();
        ghosts(2, &[1, 4]).spread((set.column().unwrap(), 2), 5, &mut spread);
        assert_eq!(spread[..], [0, 0, 6, 6, 0, 0, 0, 0, 7, 7]);
    }
}
