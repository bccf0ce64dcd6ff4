//! A machine among others, as lanes see it.

/// Buckets of a ring over datagrams, which wait for an acknowledgement.
pub(super) const BUCKETS_OF_DATAGRAMS: usize = 8;

/// A machine among others, each with as many sub-ranges.
#[derive(Clone, Copy, Debug)]
pub(super) struct MachinePosition {
    pub(super) rank: usize,
    pub(super) machines: usize,
    pub(super) sub_ranges: usize,
}

impl MachinePosition {
    pub(super) fn all(self) -> usize {
        self.machines * self.sub_ranges
    }

    /// Threads of a kind of other machines: machine and number.
    pub(super) fn others(self) -> impl Iterator<Item = (usize, usize)> {
        let all = (0..self.all()).map(move |at| (at % self.machines, at / self.machines));
        all.filter(move |&(rank, _)| rank != self.rank)
    }
}
