//! A machine among others, as lanes see it.

/// Buckets of a ring over datagrams, which wait for an acknowledgement.
pub(super) const BUCKETS_OF_DATAGRAMS: usize = 8;

/// A machine among others, each with as many sub-ranges and sender threads.
#[derive(Clone, Copy, Debug)]
pub(super) struct MachinePosition {
    pub(super) rank: usize,
    pub(super) machines: usize,
    pub(super) sub_ranges: usize,
    /// Sender threads; none where computation threads send for themselves.
    pub(super) senders: usize,
}

impl MachinePosition {
    pub(super) fn all(self) -> usize {
        self.machines * self.sub_ranges
    }

    /// Threads of a machine that have lanes to others.
    pub(super) fn sending(self) -> usize {
        if self.senders == 0 { self.sub_ranges } else { self.senders }
    }

    /// Accumulator threads of other machines: machine and number.
    pub(super) fn others(self) -> impl Iterator<Item = (usize, usize)> {
        self.of_others(self.sub_ranges)
    }

    /// Threads of other machines that have lanes to this one, likewise.
    pub(super) fn other_senders(self) -> impl Iterator<Item = (usize, usize)> {
        self.of_others(self.sending())
    }

    fn of_others(self, count: usize) -> impl Iterator<Item = (usize, usize)> {
        let all =
            (0..self.machines * count).map(move |at| (at % self.machines, at / self.machines));
        all.filter(move |&(rank, _)| rank != self.rank)
    }
}
